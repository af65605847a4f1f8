//! Ops on the length of a list and the declared shape of its items.

use shapeflow_shape_fns::{Attribute, DType, TensorShape};

use super::items::{fail, integer, list_dtype, list_shape};
use crate::error::{ErrorKind, Result};
use crate::op::{HostCx, OpDef, Operand};
use crate::tensor::Tensor;

/// `list -> i32[]`: the number of items. As TensorFlow's `TensorListLength`.
pub(crate) static LENGTH: OpDef = OpDef::host("tensor_list_length", length)
    .operands(&[Operand::Data("list")])
    .shape_fn(list_shape)
    .dtype_rule(|_, _| Ok(vec![DType::I32]));

/// `list, size[] -> variant[]`: the list with another number of items. Each new item has no tensor yet. As
/// TensorFlow's `TensorListResize`.
pub(crate) static RESIZE: OpDef = OpDef::host("tensor_list_resize", resize)
    .operands(&[Operand::Data("list"), Operand::Data("size")])
    .shape_fn(list_shape)
    .dtype_rule(list_dtype);

/// `list -> shape`: the declared sizes of items, with -1 for an unknown size, or the scalar -1 for an unknown rank.
/// Attribute `out_type` is i32 or i64. As TensorFlow's `TensorListElementShape`.
pub(crate) static ELEMENT_SHAPE: OpDef = OpDef::host("tensor_list_element_shape", element_shape)
    .attrs(&[Attribute::dtype_or("out_type", DType::I32)])
    .operands(&[Operand::Data("list")])
    .shape_fn(|cx| {
        cx.set_output(0, TensorShape::unranked());
        Ok(())
    })
    .dtype_rule(|_, attrs| Ok(vec![attrs.dtype("out_type")]));

fn length(cx: &mut HostCx<'_>) -> Result<()> {
    let len = cx.input(0)?.list()?.len();
    match i32::try_from(len) {
        Ok(len) => cx.set_output(0, Tensor::scalar(len)),
        Err(_) => fail(ErrorKind::Shape, format!("the length of the list must fit i32, got {len}")),
    }
}

fn resize(cx: &mut HostCx<'_>) -> Result<()> {
    let mut list = cx.input(0)?.list()?.clone();
    let given = integer(cx, 1, "the number of items")?;
    match usize::try_from(given) {
        Ok(size) => list.resize(size),
        Err(_) => {
            return fail(ErrorKind::Shape, format!("the number of items must not be negative, got {given}"));
        }
    }
    cx.set_output(0, Tensor::of_list(list))
}

fn element_shape(cx: &mut HostCx<'_>) -> Result<()> {
    let list = cx.input(0)?.list()?;
    let sizes: Vec<i64> = match &list.shape {
        Some(sizes) => sizes.iter().map(|size| size.map_or(-1, |size| size as i64)).collect(),
        None => vec![-1],
    };
    let axes: &[usize] = if list.shape.is_some() { &[sizes.len()] } else { &[] };
    let tensor = match cx.attrs().dtype("out_type") {
        DType::I64 => Tensor::from_slice(axes, &sizes)?,
        _ => {
            let narrow = |size: &i64| match i32::try_from(*size) {
                Ok(size) => Ok(size),
                Err(_) => fail(ErrorKind::Shape, format!("a size of the items must fit i32, got {size}")),
            };
            Tensor::from_vec(axes, sizes.iter().map(narrow).collect::<Result<_>>()?)?
        }
    };
    cx.set_output(0, tensor)
}
