//! Ops that join the items of a list along the first axis, and that split a tensor along its first axis into a list.

use shapeflow_shape_fns::{Attribute, DType, TensorShape};

use super::items::{
    Sizes, allows, fail, integers, item_shape, items_dtype, known, list_dtype, list_input, list_shape, merge,
    sizes_of, text,
};
use super::make::rows_of;
use crate::error::{ErrorKind, Result};
use crate::op::{HostCx, OpDef, Operand};
use crate::tensor::{Tensor, TensorList, TensorView, reserved_vec};

/// `list, shape, lengths -> [n, a, …], i64 [k]`: the items joined along axis 0, and the size of each item along this
/// axis. `lengths` gives the sizes of absent items. An absent item after the last length has the declared size or, if
/// no size is declared, the common size of the items that are present. Operand `shape` has the sizes of a whole item.
/// The attribute that is also named `shape` has only the sizes after the first axis. As TensorFlow's
/// `TensorListConcatV2`.
pub(crate) static CONCAT: OpDef = OpDef::host("tensor_list_concat", concat)
    .attrs(&[Attribute::dtype("dtype"), Attribute::shape("shape").optional()])
    .operands(&[Operand::Data("list"), Operand::Data("shape"), Operand::Data("lengths")])
    .outputs(|_, _| 2)
    .shape_fn(|cx| {
        let rest = item_shape(cx);
        let (size, count) = (cx.fresh(), cx.fresh());
        cx.set_output(0, TensorShape::new([size]).concatenate(&rest));
        cx.set_output(1, TensorShape::new([count]));
        Ok(())
    })
    .dtype_rule(|_, attrs| Ok(vec![items_dtype(attrs)?, DType::I64]));

/// `x [n, a, …], shape, lengths i64 [k] -> variant[]`: a list of parts of `x` along axis 0. As TensorFlow's
/// `TensorListSplit`.
pub(crate) static SPLIT: OpDef = OpDef::host("tensor_list_split", split)
    .attrs(&[Attribute::dtype("dtype").optional(), Attribute::shape("shape").optional()])
    .operands(&[Operand::Data("x"), Operand::Data("shape"), Operand::Data("lengths")])
    .shape_fn(list_shape)
    .dtype_rule(list_dtype);

fn concat(cx: &mut HostCx<'_>) -> Result<()> {
    let list = list_input(cx, 0)?;
    let declared = merge(&list.shape, &sizes_of(cx.input(1)?)?)?;
    let given = integers(cx.input(2)?)?;
    let scalar = || fail(ErrorKind::Shape, "the items must have an axis, got scalars".to_string());
    if declared.as_ref().is_some_and(Vec::is_empty) {
        return scalar();
    }
    let first = declared.as_ref().and_then(|sizes| sizes[0]);
    // The sizes of items along all axes but the first.
    let mut rest: Sizes = declared.map(|sizes| sizes.into_iter().skip(1).collect());
    // The first sizes of the items that are present: `Some(None)` if they differ.
    let mut common: Option<Option<usize>> = None;
    for (index, item) in list.present() {
        let Some((&length, sizes)) = item.sizes().split_first() else { return scalar() };
        if let Some(first) = first.filter(|first| *first != length) {
            let message = format!("the first axis of item {index} must have size {first}, got {length}");
            return fail(ErrorKind::Shape, message);
        }
        common = Some(common.unwrap_or(Some(length)).filter(|common| *common == length));
        rest = merge(&rest, &Some(sizes.iter().copied().map(Some).collect()))?;
    }
    let usual = first.or(common.flatten());
    let Some(rest) = known(&rest) else {
        let message = format!("the sizes of items after the first axis must be known, got {}", text(&rest));
        return fail(ErrorKind::Shape, message);
    };
    let mut lengths: Vec<usize> = reserved_vec(list.len())?;
    let mut absent: Vec<Tensor> = Vec::new();
    for (index, item) in list.items().enumerate() {
        if let Some(item) = item {
            lengths.push(item.sizes()[0]);
            continue;
        }
        let length = match given.get(index) {
            Some(given) => usize::try_from(*given).ok(),
            None => usual,
        };
        let Some(length) = length else {
            let message = match given.get(index) {
                Some(given) => format!("a length must not be negative, got {given} for item {index}"),
                None => format!("item {index}, which nothing has set, must have a length"),
            };
            return fail(ErrorKind::Shape, message);
        };
        lengths.push(length);
        absent.push(match absent.last() {
            Some(zeros) if zeros.sizes()[0] == length => zeros.clone(),
            _ => {
                let sizes: Vec<usize> = [length].into_iter().chain(rest.iter().copied()).collect();
                Tensor::zeros(list.dtype, &sizes)?
            }
        });
    }
    let mut zeros = absent.iter();
    let parts: Vec<TensorView<'_>> =
        list.items().filter_map(|item| item.or_else(|| zeros.next())).map(Tensor::view).collect();
    let Some(total) = sum(&lengths) else {
        return fail(ErrorKind::Shape, format!("the sum of the lengths must fit 64 bits, got {lengths:?}"));
    };
    let sizes: Vec<usize> = [total].into_iter().chain(rest).collect();
    let joined = Tensor::joined(list.dtype, &sizes, &parts)?;
    let lengths: Vec<i64> = lengths.into_iter().map(|length| length as i64).collect();
    cx.set_output(0, joined)?;
    cx.set_output(1, Tensor::from_slice(&[lengths.len()], &lengths)?)
}

/// Returns the sum of lengths; `None` if it does not fit.
fn sum(lengths: &[usize]) -> Option<usize> {
    lengths.iter().try_fold(0usize, |sum, length| sum.checked_add(*length))
}

fn split(cx: &mut HostCx<'_>) -> Result<()> {
    let (x, shape, lengths) = (cx.input(0)?, sizes_of(cx.input(1)?)?, integers(cx.input(2)?)?);
    let rows = rows_of(&x, &None)?;
    let lengths: Option<Vec<usize>> = lengths.iter().map(|length| usize::try_from(*length).ok()).collect();
    let lengths = lengths.filter(|lengths| sum(lengths) == Some(rows.len()));
    let Some(lengths) = lengths else {
        let message = format!("the lengths must be at least 0 and must add up to {}", rows.len());
        return fail(ErrorKind::Shape, message);
    };
    let (mut parts, mut start) = (Vec::with_capacity(lengths.len()), 0);
    for length in lengths {
        let sizes: Vec<usize> = [length].into_iter().chain(x.sizes()[1..].iter().copied()).collect();
        if !allows(&shape, &sizes) {
            return fail(ErrorKind::Shape, format!("a part must have shape {}, got {sizes:?}", text(&shape)));
        }
        let views: Vec<TensorView<'_>> = rows[start..start + length].iter().map(Tensor::view).collect();
        parts.push(Tensor::joined(x.dtype(), &sizes, &views)?);
        start += length;
    }
    cx.set_output(0, Tensor::of_list(TensorList::of(x.dtype(), shape, parts)))
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::{Attrs, DType};

    use super::*;
    use crate::ops::testing::{run, tensor};

    /// Joins a list of three items. `items` are the items that are present. Returns the sizes.
    fn joined(declared: [i64; 2], items: &[(usize, usize)], lengths: &[i64]) -> Result<Vec<i64>> {
        let mut list = TensorList::new(DType::F32, None, 3);
        for (index, rows) in items {
            list.set(*index, Tensor::zeros(DType::F32, &[*rows, 2])?);
        }
        let operands = [Tensor::of_list(list), tensor(&[2], &declared), tensor(&[lengths.len()], lengths)];
        run(&CONCAT, &Attrs::new().with("dtype", DType::F32), &operands)?[1].to_vec::<i64>()
    }

    /// The cases are recorded from TensorFlow 2.21.
    #[test]
    fn absent_items_have_the_given_or_the_declared_or_the_common_length() {
        assert_eq!(joined([-1, 2], &[(0, 4), (2, 2)], &[4, 1, 2]).unwrap(), [4, 1, 2]);
        assert_eq!(joined([5, 2], &[], &[2]).unwrap(), [2, 5, 5]);
        assert_eq!(joined([-1, 2], &[(0, 4), (2, 4)], &[]).unwrap(), [4, 4, 4]);
        let message = |result: Result<Vec<i64>>| result.unwrap_err().message().to_string();
        let error = message(joined([-1, 2], &[(0, 4), (2, 2)], &[9]));
        assert_eq!(error, "item 1, which nothing has set, must have a length");
        let error = message(joined([4, 2], &[(0, 4), (1, 2), (2, 4)], &[]));
        assert_eq!(error, "the first axis of item 1 must have size 4, got 2");
        let error = message(joined([-1, 2], &[(0, 4)], &[4, -1, 1]));
        assert_eq!(error, "a length must not be negative, got -1 for item 1");
        assert!(message(joined([-1, 0], &[], &[i64::MAX; 3])).contains("must fit 64 bits"));
    }

    #[test]
    fn more_absent_items_than_memory_holds_are_refused() {
        let list = Tensor::of_list(TensorList::new(DType::F32, None, 1 << 50));
        let attrs = Attrs::new().with("dtype", DType::F32);
        let shape = tensor(&[1], &[2i64]);
        let operands = [list.clone(), shape.clone(), tensor::<i64>(&[0], &[])];
        assert_eq!(run(&CONCAT, &attrs, &operands).unwrap_err().kind(), ErrorKind::Memory);
        let error = run(&crate::ops::list::gather::STACK, &attrs, &[list, shape]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Memory);
    }
}
