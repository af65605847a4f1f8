//! Ops that join the items of a list along the first axis, and that split a tensor along its first axis into a list.

use shapeflow_shape_fns::{Attribute, DType, TensorShape};

use super::items::{
    Sizes, allows, fail, integers, item_shape, items_dtype, known, list_dtype, list_input, list_shape, merge,
    sizes_of, text,
};
use super::make::rows_of;
use crate::error::{ErrorKind, Result};
use crate::op::{HostCx, OpDef, Operand};
use crate::tensor::{Tensor, TensorList, TensorView};

/// `list, shape, lengths -> [n, a, …], i64 [k]`: the items joined along axis 0, and the size of each item along this
/// axis. `lengths` gives the sizes of absent items. Operand `shape` has the sizes of a whole item. The attribute that
/// is also named `shape` has only the sizes after the first axis. As TensorFlow's `TensorListConcatV2`.
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
    // The sizes of items along all axes but the first.
    let mut rest: Sizes = declared.map(|sizes| sizes.into_iter().skip(1).collect());
    for item in list.items().flatten() {
        let Some((_, sizes)) = item.sizes().split_first() else {
            return fail(ErrorKind::Shape, "the items must have an axis, got a scalar".to_string());
        };
        rest = merge(&rest, &Some(sizes.iter().copied().map(Some).collect()))?;
    }
    let Some(rest) = known(&rest) else {
        let message = format!("the sizes of items after the first axis must be known, got {}", text(&rest));
        return fail(ErrorKind::Shape, message);
    };
    let mut lengths = Vec::with_capacity(list.len());
    let mut absent = Vec::new();
    for (index, item) in list.items().enumerate() {
        let given = given.get(index).and_then(|length| usize::try_from(*length).ok());
        let length = match (item, given) {
            (Some(item), _) => item.sizes()[0],
            (None, Some(length)) => {
                let sizes: Vec<usize> = [length].into_iter().chain(rest.iter().copied()).collect();
                absent.push(Tensor::zeros(list.dtype, &sizes)?);
                length
            }
            (None, None) => {
                let message = format!("item {index}, which nothing has set, must have a length");
                return fail(ErrorKind::Shape, message);
            }
        };
        lengths.push(length);
    }
    let mut zeros = absent.iter();
    let parts: Vec<TensorView<'_>> =
        list.items().filter_map(|item| item.or_else(|| zeros.next())).map(Tensor::view).collect();
    let sizes: Vec<usize> = [lengths.iter().sum()].into_iter().chain(rest).collect();
    let joined = Tensor::joined(list.dtype, &sizes, &parts)?;
    let lengths: Vec<i64> = lengths.into_iter().map(|length| length as i64).collect();
    cx.set_output(0, joined)?;
    cx.set_output(1, Tensor::from_slice(&[lengths.len()], &lengths)?)
}

fn split(cx: &mut HostCx<'_>) -> Result<()> {
    let (x, shape, lengths) = (cx.input(0)?, sizes_of(cx.input(1)?)?, integers(cx.input(2)?)?);
    let rows = rows_of(&x, &None)?;
    let lengths: Option<Vec<usize>> = lengths.iter().map(|length| usize::try_from(*length).ok()).collect();
    let lengths = lengths.filter(|lengths| lengths.iter().sum::<usize>() == rows.len());
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
