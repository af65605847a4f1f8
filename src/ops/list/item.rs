//! Ops that read and set one item of a list.

use shapeflow_shape_fns::Attribute;

use super::items::{
    check_item, fail, index_in, integer, item_dtype, item_or_zeros, item_shape, list_dtype, list_input,
    list_shape, sizes_of,
};
use crate::error::{ErrorKind, Result};
use crate::op::{HostCx, OpDef, Operand};
use crate::tensor::Tensor;

/// `list, index[], shape -> item`. An absent item is zero. As TensorFlow's `TensorListGetItem`.
pub(crate) static GET: OpDef = OpDef::host("tensor_list_get_item", get)
    .attrs(&[Attribute::dtype("dtype"), Attribute::shape("shape").optional()])
    .operands(&[Operand::Data("list"), Operand::Data("index"), Operand::Data("shape")])
    .shape_fn(|cx| {
        let shape = item_shape(cx);
        cx.set_output(0, shape);
        Ok(())
    })
    .dtype_rule(item_dtype);

/// `list, index[], item -> variant[]`: the list whose item at `index` is `item`. Attribute `resizes` lets the list grow
/// to the index, and attribute `once` refuses an index that has an item. As TensorFlow's `TensorListSetItem`.
pub(crate) static SET: OpDef = OpDef::host("tensor_list_set_item", set)
    .attrs(&[
        Attribute::dtype("dtype").optional(),
        Attribute::bool_or("resizes", false),
        Attribute::bool_or("once", false),
    ])
    .operands(&[Operand::Data("list"), Operand::Data("index"), Operand::Data("item")])
    .shape_fn(list_shape)
    .dtype_rule(list_dtype);

fn get(cx: &mut HostCx<'_>) -> Result<()> {
    let list = list_input(cx, 0)?;
    let index = index_in(list, integer(cx, 1, "the index")?)?;
    let item = item_or_zeros(list, index, &sizes_of(cx.input(2)?)?)?;
    cx.set_output(0, item)
}

fn set(cx: &mut HostCx<'_>) -> Result<()> {
    let mut list = cx.input(0)?.list()?.clone();
    let (index, item) = (integer(cx, 1, "the index")?, cx.input(2)?);
    check_item(&list, &item)?;
    let resizes = list.grows || cx.attrs().bool("resizes");
    if resizes
        && let Ok(index) = usize::try_from(index)
        && index >= list.len()
    {
        match index.checked_add(1) {
            Some(len) => list.resize(len),
            None => {
                let message = format!("the index must be less than {}, got {index}", usize::MAX);
                return fail(ErrorKind::Index, message);
            }
        }
    }
    let index = index_in(&list, index)?;
    if cx.attrs().bool("once") && list.get(index).is_some() {
        return fail(
            ErrorKind::Index,
            format!("an index of the array must be written once, got {index} again"),
        );
    }
    list.set(index, item.to_tensor()?);
    cx.set_output(0, Tensor::of_list(list))
}
