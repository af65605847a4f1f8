//! Ops between the items of a list and the rows of a tensor.

use shapeflow_shape_fns::{Attribute, Attrs, Dim, InferenceContext, ShapeError, TensorShape, counted};

use super::items::{
    Sizes, absent_sizes, check_item, fail, index_in, integer, integers, item_dtype, item_shape, known,
    list_dtype, list_input, list_shape, merge, sizes_of, text,
};
use super::make::rows_of;
use crate::error::{ErrorKind, Result};
use crate::op::{HostCx, OpDef, Operand};
use crate::tensor::{Tensor, TensorList, TensorView, collected_vec};

/// `list, shape -> [n, a, …]`: all items as the rows of a tensor. Attribute `count` is the number of items, or -1. As
/// TensorFlow's `TensorListStack`.
pub(crate) static STACK: OpDef = OpDef::host("tensor_list_stack", stack)
    .attrs(&[Attribute::dtype("dtype"), Attribute::shape("shape").optional(), Attribute::int_or("count", -1)])
    .operands(&[Operand::Data("list"), Operand::Data("shape")])
    .shape_fn(|cx| {
        let count = declared_count(cx.attrs());
        let count = count.map_or_else(|| cx.fresh(), |count| Dim::known(count as i64));
        set_rows(cx, count)
    })
    .dtype_rule(item_dtype);

/// `list, indices [n], shape -> [n, a, …]`: the items at the indices. As TensorFlow's `TensorListGather`.
pub(crate) static GATHER: OpDef = OpDef::host("tensor_list_gather", gather)
    .attrs(&[Attribute::dtype("dtype"), Attribute::shape("shape").optional()])
    .operands(&[Operand::Data("list"), Operand::Data("indices"), Operand::Data("shape")])
    .shape_fn(|cx| {
        let indices = cx.with_rank(1, 1)?;
        let count = indices.dim(0).cloned().unwrap_or_else(|| cx.fresh());
        set_rows(cx, count)
    })
    .dtype_rule(item_dtype);

/// `x [n, a, …], indices [n], shape, count[] -> variant[]`: a list with the rows of `x` at the indices. The list has
/// `count` items. If `count` is -1 or absent, the number of items is the greatest index plus 1. As TensorFlow's
/// `TensorListScatterV2`.
pub(crate) static SCATTER: OpDef = OpDef::host("tensor_list_scatter", scatter)
    .attrs(&[Attribute::dtype("dtype"), Attribute::shape("shape").optional()])
    .operands(&[
        Operand::Data("x"),
        Operand::Data("indices"),
        Operand::Data("shape"),
        Operand::Variadic("count.."),
    ])
    .shape_fn(list_shape)
    .dtype_rule(list_dtype);

/// `list, x [n, a, …], indices [n] -> variant[]`: the list with the rows of `x` at the indices. If attribute
/// `resizes` is true or the list itself grows, it grows to the greatest index. As TensorFlow's
/// `TensorListScatterIntoExistingList`.
pub(crate) static SCATTER_INTO: OpDef = OpDef::host("tensor_list_scatter_into", scatter_into)
    .attrs(&[
        Attribute::dtype("dtype").optional(),
        Attribute::shape("shape").optional(),
        Attribute::bool_or("resizes", true),
    ])
    .operands(&[Operand::Data("list"), Operand::Data("x"), Operand::Data("indices")])
    .shape_fn(list_shape)
    .dtype_rule(list_dtype);

/// Returns the number of items that the attributes declare; none if it is negative.
fn declared_count(attrs: &Attrs) -> Option<usize> {
    usize::try_from(attrs.int("count")).ok()
}

fn set_rows(cx: &mut InferenceContext<'_>, count: Dim) -> std::result::Result<(), ShapeError> {
    let row = item_shape(cx);
    cx.set_output(0, TensorShape::new([count]).concatenate(&row));
    Ok(())
}

fn stack(cx: &mut HostCx<'_>) -> Result<()> {
    let list = list_input(cx, 0)?;
    if let Some(count) = declared_count(cx.attrs())
        && count != list.len()
    {
        let message =
            format!("the list must have {count}, got {}", list.len(), count = counted(count, "item"));
        return fail(ErrorKind::Shape, message);
    }
    let declared = sizes_of(cx.input(1)?)?;
    let indices = collected_vec(0..list.len())?;
    cx.set_output(0, joined_rows(list, &indices, &declared)?)
}

fn gather(cx: &mut HostCx<'_>) -> Result<()> {
    let list = list_input(cx, 0)?;
    let indices = integers(cx.input(1)?)?;
    let indices: Vec<usize> =
        indices.into_iter().map(|index| index_in(list, index)).collect::<Result<_>>()?;
    let declared = sizes_of(cx.input(2)?)?;
    cx.set_output(0, joined_rows(list, &indices, &declared)?)
}

/// Returns the items at `indices` as the rows of a tensor.
///
/// # Errors
/// The items differ in their sizes or do not fit the declaration, or neither an item nor the declaration gives the
/// sizes of a row.
fn joined_rows(list: &TensorList, indices: &[usize], declared: &Sizes) -> Result<Tensor> {
    let mut sizes = merge(&list.shape, declared)?;
    for item in indices.iter().filter_map(|index| list.get(*index)) {
        sizes = merge(&sizes, &Some(item.sizes().iter().copied().map(Some).collect()))?;
    }
    let sizes = match known(&sizes) {
        Some(sizes) => sizes,
        None if indices.is_empty() => {
            let message = format!("the items of an empty list must have a known shape, got {}", text(&sizes));
            return fail(ErrorKind::Shape, message);
        }
        None => absent_sizes(list, &sizes)?,
    };
    let zeros = match indices.iter().all(|index| list.get(*index).is_some()) {
        true => None,
        false => Some(Tensor::zeros(list.dtype, &sizes)?),
    };
    let rows: Vec<TensorView<'_>> = collected_vec(indices.iter().map(|index| {
        let item = list.get(*index).or(zeros.as_ref());
        item.expect("zeros stand for absent items").view()
    }))?;
    let all: Vec<usize> = [indices.len()].into_iter().chain(sizes).collect();
    Tensor::joined(list.dtype, &all, &rows)
}

fn scatter(cx: &mut HostCx<'_>) -> Result<()> {
    let (x, shape) = (cx.input(0)?, sizes_of(cx.input(2)?)?);
    let count = if cx.inputs() > 3 { integer(cx, 3, "the number of items")? } else { -1 };
    let mut list = TensorList::new(x.dtype(), shape, usize::try_from(count).unwrap_or(0));
    put_rows(&mut list, &x, &integers(cx.input(1)?)?, count < 0)?;
    cx.set_output(0, Tensor::of_list(list))
}

fn scatter_into(cx: &mut HostCx<'_>) -> Result<()> {
    let mut list = cx.input(0)?.list()?.clone();
    let (x, indices) = (cx.input(1)?, integers(cx.input(2)?)?);
    let grows = list.grows || cx.attrs().bool("resizes");
    put_rows(&mut list, &x, &indices, grows)?;
    cx.set_output(0, Tensor::of_list(list))
}

/// Sets the items at `indices` to the rows of `x`.
///
/// # Errors
/// The numbers of rows and indices differ, an index is negative, or a row does not fit the list.
fn put_rows(list: &mut TensorList, x: &TensorView<'_>, indices: &[i64], grows: bool) -> Result<()> {
    let rows = rows_of(x, &list.shape)?;
    if rows.len() != indices.len() {
        let message = format!(
            "there must be an index for each of {}, got {}",
            counted(rows.len(), "row"),
            indices.len()
        );
        return fail(ErrorKind::Shape, message);
    }
    let greatest = indices.iter().max().and_then(|index| usize::try_from(*index).ok());
    if let Some(len) = greatest.and_then(|index| index.checked_add(1)).filter(|_| grows)
        && len > list.len()
    {
        list.resize(len);
    }
    for (row, index) in rows.into_iter().zip(indices) {
        check_item(list, &row.view())?;
        let index = index_in(list, *index)?;
        list.set(index, row);
    }
    Ok(())
}
