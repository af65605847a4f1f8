//! Ops that append an item to a list, and that remove the last item.

use shapeflow_shape_fns::{Attribute, DType, TensorShape, counted};

use super::items::{
    check_item, fail, item_or_zeros, item_shape, items_dtype, list_dtype, list_input, list_shape, sizes_of,
};
use crate::error::{ErrorKind, Result};
use crate::op::{HostCx, OpDef, Operand};
use crate::tensor::Tensor;

/// `list, item -> variant[]`: the list with another item at its end. As TensorFlow's `TensorListPushBack`.
pub(crate) static PUSH: OpDef = OpDef::host("tensor_list_push_back", push)
    .attrs(&[Attribute::dtype("dtype").optional(), Attribute::shape("shape").optional()])
    .operands(&[Operand::Data("list"), Operand::Data("item")])
    .shape_fn(list_shape)
    .dtype_rule(list_dtype);

/// `list, shape -> variant[], item`: the list without its last item, and this item. As TensorFlow's
/// `TensorListPopBack`.
pub(crate) static POP: OpDef = OpDef::host("tensor_list_pop_back", pop)
    .attrs(&[Attribute::dtype("dtype"), Attribute::shape("shape").optional()])
    .operands(&[Operand::Data("list"), Operand::Data("shape")])
    .outputs(|_, _| 2)
    .shape_fn(|cx| {
        let shape = item_shape(cx);
        cx.set_output(0, TensorShape::scalar());
        cx.set_output(1, shape);
        Ok(())
    })
    .dtype_rule(|_, attrs| Ok(vec![DType::Variant, items_dtype(attrs)?]));

fn push(cx: &mut HostCx<'_>) -> Result<()> {
    let mut list = cx.input(0)?.list()?.clone();
    let item = cx.input(1)?;
    check_item(&list, &item)?;
    if let Some(limit) = list.limit
        && list.len() >= limit
    {
        return fail(
            ErrorKind::Index,
            format!("the list must have at most {limit}, got one more", limit = counted(limit, "item")),
        );
    }
    list.push(item.to_tensor()?);
    cx.set_output(0, Tensor::of_list(list))
}

fn pop(cx: &mut HostCx<'_>) -> Result<()> {
    let mut list = list_input(cx, 0)?.clone();
    let Some(last) = list.len().checked_sub(1) else {
        return fail(ErrorKind::Index, "the list must have an item, got an empty list".to_string());
    };
    let item = item_or_zeros(&list, last, &sizes_of(cx.input(1)?)?)?;
    list.resize(last);
    cx.set_output(0, Tensor::of_list(list))?;
    cx.set_output(1, item)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Graph, Value};
    use crate::ops::list::make::EMPTY;

    /// Pushes a list into a new list, `count` times.
    fn nested(count: i64) -> Result<usize> {
        let g = Graph::new();
        let empty = || -> Result<Value<'_>> {
            let shape = g.constant(Vec::<i64>::new())?;
            let call = g.op(&EMPTY).data(shape).data(g.constant(-1i64)?);
            call.attr("dtype", DType::Variant).finish()
        };
        let start = [empty()?, g.constant(0i64)?];
        let result = g.while_loop(
            &start,
            |state| state[1].less(count),
            |state| {
                let outer = g.op(&PUSH).data(empty()?).data(state[0]).finish()?;
                Ok(vec![outer, state[1].add(1i64)?])
            },
        )?;
        let [list] = g.compile(result[0])?.run(&[])?;
        Ok(list.view().list_depth())
    }

    #[test]
    fn lists_nest_only_so_deep() -> Result<()> {
        assert_eq!(nested(200)?, 201);
        let error = nested(1_000_000).unwrap_err();
        assert!(error.message().contains("tensor lists may nest at most 256 levels, got 257"), "{error}");
        Ok(())
    }
}
