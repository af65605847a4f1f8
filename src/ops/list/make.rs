//! Ops that make a list: of absent items, and of the rows of a tensor.

use shapeflow_shape_fns::Attribute;

use super::items::{Sizes, allows, fail, integer, items_dtype, list_dtype, list_shape, sizes_of, text};
use crate::error::{ErrorKind, Result};
use crate::op::{HostCx, OpDef, Operand};
use crate::tensor::{Tensor, TensorList, TensorView};

/// `shape, count[] -> variant[]`: a list of absent items. Attribute `resizes` lets the list grow when an item
/// is set. As TensorFlow's `TensorListReserve`.
pub(crate) static RESERVE: OpDef = OpDef::host("tensor_list_reserve", |cx| make(cx, true))
    .attrs(&[Attribute::dtype("dtype"), Attribute::bool_or("resizes", false)])
    .operands(&[Operand::Data("shape"), Operand::Data("count")])
    .shape_fn(list_shape)
    .dtype_rule(list_dtype);

/// `shape, limit[] -> variant[]`: an empty list, which may get `limit` items, or any number if `limit` is -1. As
/// TensorFlow's `EmptyTensorList`.
pub(crate) static EMPTY: OpDef = OpDef::host("empty_tensor_list", |cx| make(cx, false))
    .attrs(&[Attribute::dtype("dtype"), Attribute::bool_or("resizes", false)])
    .operands(&[Operand::Data("shape"), Operand::Data("limit")])
    .shape_fn(list_shape)
    .dtype_rule(list_dtype);

/// `x [n, a, …], shape -> variant[]`: a list of the rows of `x`. As TensorFlow's `TensorListFromTensor`.
pub(crate) static FROM_TENSOR: OpDef = OpDef::host("tensor_list_from_tensor", from_tensor)
    .attrs(&[Attribute::dtype("dtype").optional(), Attribute::shape("shape").optional()])
    .operands(&[Operand::Data("x"), Operand::Data("shape")])
    .shape_fn(list_shape)
    .dtype_rule(list_dtype);

fn make(cx: &mut HostCx<'_>, is_reserved: bool) -> Result<()> {
    let shape = sizes_of(cx.input(0)?)?;
    let given = integer(cx, 1, "the number of items")?;
    let count = usize::try_from(given).ok();
    let len = match (is_reserved, count) {
        (true, None) => {
            return fail(ErrorKind::Shape, format!("the number of items must not be negative, got {given}"));
        }
        (true, Some(count)) => count,
        (false, _) => 0,
    };
    let mut list = TensorList::new(items_dtype(cx.attrs())?, shape, len);
    list.grows = cx.attrs().bool("resizes");
    list.limit = count.filter(|_| !is_reserved);
    cx.set_output(0, Tensor::of_list(list))
}

fn from_tensor(cx: &mut HostCx<'_>) -> Result<()> {
    let (x, shape) = (cx.input(0)?, sizes_of(cx.input(1)?)?);
    let rows = rows_of(&x, &shape)?;
    cx.set_output(0, Tensor::of_list(TensorList::of(x.dtype(), shape, rows)))
}

/// Splits a tensor into its rows, and checks that each row has the shape `shape`, which a list declares for its items.
///
/// # Errors
/// The tensor is a scalar, its rows do not fit, or memory is refused.
pub(super) fn rows_of(x: &TensorView<'_>, shape: &Sizes) -> Result<Vec<Tensor>> {
    let Some((&count, row)) = x.sizes().split_first() else {
        return fail(ErrorKind::Shape, "the tensor must have rows, got a scalar".to_string());
    };
    if !allows(shape, row) {
        return fail(ErrorKind::Shape, format!("a row must have shape {}, got {row:?}", text(shape)));
    }
    (0..count).map(|number| x.row(number).to_tensor()).collect()
}
