//! Ops that convert a ragged tensor to a variant tensor, and back. Each element of the variant tensor is a ragged
//! tensor.
//!
//! An element is a list of variant scalars. Each scalar wraps one tensor, so that the items of a list have one dtype.
//! The first scalars wrap the splits, from the outermost ragged axis inward. The last scalar wraps the values.

use std::ops::Range;

use shapeflow_shape_fns::{Attribute, Attrs, DType, Dim, InferenceContext, ShapeError, TensorShape};

use super::items::{fail, integers, items_dtype, list_dtype};
use crate::error::{ErrorKind, Result};
use crate::op::{HostCx, OpDef, Operand};
use crate::tensor::{Tensor, TensorList, TensorView, collected_vec};

/// `splits.., values -> variant`: makes a variant scalar of a ragged tensor. With attribute `batched_input`, the result
/// is a variant vector that has the rows of the ragged tensor as its elements. As TensorFlow's `RaggedTensorToVariant`.
pub(crate) static TO_VARIANT: OpDef = OpDef::host("ragged_tensor_to_variant", to_variant)
    .attrs(&[Attribute::bool_or("batched_input", false)])
    .operands(&[Operand::Variadic("parts..")])
    .shape_fn(variant_shape)
    .dtype_rule(list_dtype);

/// `variant -> splits.., values`: the ragged tensor of a variant scalar, or the ragged tensor whose outer axes are the
/// axes of the variant and whose rows are its elements. As TensorFlow's `RaggedTensorFromVariant`.
///
/// Attribute `output_ragged_rank` is the number of splits of the result. `input_ragged_rank` is the number of splits of
/// each element; -1 means `output_ragged_rank` minus the rank of the variant. `Tvalues` is the dtype of the values, and
/// `Tsplits` is the dtype of the splits.
pub(crate) static FROM_VARIANT: OpDef = OpDef::host("ragged_tensor_from_variant", from_variant)
    .attrs(&[
        Attribute::dtype("dtype"),
        Attribute::dtype_or("Tsplits", DType::I64),
        Attribute::int("output_ragged_rank"),
        Attribute::int_or("input_ragged_rank", -1),
    ])
    .operands(&[Operand::Data("encoded")])
    .outputs(|attrs, _| split_count(attrs).unwrap_or(0) + 1)
    .shape_fn(ragged_shape)
    .dtype_rule(|_, attrs| {
        let splits = attrs.dtype("Tsplits");
        let count = split_count(attrs)?;
        let values = items_dtype(attrs)?;
        Ok(std::iter::repeat_n(splits, count).chain([values]).collect())
    });

/// Returns the number of splits that `from_variant` returns.
///
/// # Errors
/// The attribute is negative, or greater than the maximum rank of a tensor.
fn split_count(attrs: &Attrs) -> Result<usize> {
    const MAX_RANK: i64 = 254;
    match attrs.int("output_ragged_rank") {
        rank @ 0..=MAX_RANK => Ok(rank as usize),
        rank => {
            let message = format!("output_ragged_rank must be between 0 and {MAX_RANK}, got {rank}");
            fail(ErrorKind::Attribute, message)
        }
    }
}

fn variant_shape(cx: &mut InferenceContext<'_>) -> std::result::Result<(), ShapeError> {
    if !cx.attrs().bool("batched_input") {
        cx.set_output(0, TensorShape::scalar());
        return Ok(());
    }
    let has_splits = cx.operands_named("parts").len() > 1;
    let first = if has_splits { cx.with_rank(0, 1)? } else { cx.with_rank_at_least(0, 1)? };
    let count = match first.dim(0) {
        Some(size) if has_splits => size.checked_sub(Dim::known(1))?,
        Some(size) => size.clone(),
        None => cx.fresh(),
    };
    cx.set_output(0, TensorShape::new([count]));
    Ok(())
}

fn ragged_shape(cx: &mut InferenceContext<'_>) -> std::result::Result<(), ShapeError> {
    let values = cx.outputs() - 1;
    for output in 0..values {
        let size = cx.fresh();
        cx.set_output(output, TensorShape::new([size]));
    }
    cx.set_output(values, TensorShape::unranked());
    Ok(())
}

/// Makes the element that stands for a ragged tensor. `parts` has the splits and then the values.
fn element(parts: Vec<Tensor>) -> TensorList {
    let items = parts.into_iter().map(|part| {
        let dtype = part.dtype();
        Tensor::of_list(TensorList::of(dtype, None, vec![part]))
    });
    TensorList::of(DType::Variant, None, items.collect())
}

/// Returns the splits and the values of an element.
///
/// # Errors
/// The element is not a ragged tensor with `rank` splits and with values of dtype `values`.
fn parts_of(element: &TensorList, rank: usize, values: DType) -> Result<(Vec<Vec<i64>>, &Tensor)> {
    let parts: Option<Vec<&Tensor>> = element
        .items()
        .map(|part| {
            let view = part.filter(|_| element.dtype == DType::Variant)?.view();
            view.list().ok().filter(|list| list.len() == 1)?.get(0)
        })
        .collect();
    let Some((last, splits)) = parts.as_ref().and_then(|parts| parts.split_last()) else {
        return fail(ErrorKind::DType, "the variant must hold ragged tensors, got tensor lists".to_string());
    };
    if splits.len() != rank {
        let message = format!("an element must have ragged rank {rank}, got {}", splits.len());
        return fail(ErrorKind::Shape, message);
    }
    if last.dtype() != values {
        return fail(ErrorKind::DType, format!("the values must be {values}, got {}", last.dtype()));
    }
    Ok((splits.iter().map(|splits| integers(splits.view())).collect::<Result<_>>()?, last))
}

/// Makes a tensor of `splits` in `dtype`, which is i32 or i64.
///
/// # Errors
/// A split does not fit i32, or memory is refused.
fn splits_tensor(splits: &[i64], dtype: DType) -> Result<Tensor> {
    if dtype == DType::I64 {
        return Tensor::from_slice(&[splits.len()], splits);
    }
    match splits.iter().map(|split| i32::try_from(*split)).collect::<std::result::Result<Vec<i32>, _>>() {
        Ok(splits) => Tensor::from_slice(&[splits.len()], &splits),
        Err(_) => fail(ErrorKind::Shape, "the splits must fit i32".to_string()),
    }
}

fn to_variant(cx: &mut HostCx<'_>) -> Result<()> {
    let rank = cx.inputs() - 1;
    let values = cx.input(rank)?;
    let inputs: Vec<TensorView<'_>> = (0..rank).map(|number| cx.input(number)).collect::<Result<_>>()?;
    if !cx.attrs().bool("batched_input") {
        let parts = inputs.iter().chain([&values]).map(TensorView::to_tensor);
        return cx.set_output(0, Tensor::of_list(element(parts.collect::<Result<_>>()?)));
    }
    let splits: Vec<Vec<i64>> = inputs.iter().map(|view| integers(view.clone())).collect::<Result<_>>()?;
    let Some(&len) = values.sizes().first() else {
        return fail(ErrorKind::Shape, "the values must have rows, got a scalar".to_string());
    };
    let count = match splits.first() {
        Some(splits) if splits.is_empty() => {
            return fail(ErrorKind::Shape, "the splits must not be empty".to_string());
        }
        Some(splits) => splits.len() - 1,
        None => len,
    };
    let mut elements = Vec::with_capacity(count);
    for row in 0..count {
        let Some((outer, inner)) = splits.split_first() else {
            elements.push(element(vec![values.row(row).to_tensor()?]));
            continue;
        };
        let mut range = positions(outer, row..row + 1)?;
        let mut parts = Vec::with_capacity(rank);
        for (splits, view) in inner.iter().zip(&inputs[1..]) {
            let next = positions(splits, range.clone())?;
            let shifted: Vec<i64> =
                splits[range.start..=range.end].iter().map(|split| split - next.start as i64).collect();
            parts.push(splits_tensor(&shifted, view.dtype())?);
            range = next;
        }
        if range.end > len {
            let message =
                format!("the splits must be at most {len}, the number of values, got {}", range.end);
            return fail(ErrorKind::Index, message);
        }
        parts.push(values.rows(range).to_tensor()?);
        elements.push(element(parts));
    }
    cx.set_output(0, Tensor::from_lists(&[count], &elements)?)
}

/// Returns the range of the next axis that `rows` of a ragged axis cover.
///
/// # Errors
/// The splits have no entry for the end of the rows, are negative, or descend.
fn positions(splits: &[i64], rows: Range<usize>) -> Result<Range<usize>> {
    let at = |row: usize| splits.get(row).and_then(|split| usize::try_from(*split).ok());
    match (at(rows.start), at(rows.end)) {
        (Some(start), Some(end)) if splits[rows.start..=rows.end].is_sorted() => Ok(start..end),
        _ => {
            let message = format!("the splits must ascend and have an entry for row {}", rows.end);
            fail(ErrorKind::Index, message)
        }
    }
}

/// Checks that each of the nested splits ascends from 0 to the number of rows below it.
///
/// # Errors
/// The splits do not fit each other or the values.
fn check_splits(splits: &[Vec<i64>], values: &Tensor) -> Result<()> {
    for (axis, outer) in splits.iter().enumerate() {
        let rows = match splits.get(axis + 1) {
            Some(inner) => inner.len().saturating_sub(1),
            None => values.sizes().first().copied().unwrap_or(0),
        };
        if outer.first() != Some(&0) || outer.last() != Some(&(rows as i64)) || !outer.is_sorted() {
            let message =
                format!("the splits of an element must ascend from 0 to {rows}, its number of rows");
            return fail(ErrorKind::Index, message);
        }
    }
    Ok(())
}

/// Returns the number of splits of each element of a variant of rank `axes`.
///
/// # Errors
/// The attributes `output_ragged_rank` and `input_ragged_rank` do not fit the variant.
fn element_rank(attrs: &Attrs, axes: usize) -> Result<usize> {
    let output = attrs.int("output_ragged_rank");
    let rest = output - axes as i64;
    let message = match attrs.int("input_ragged_rank") {
        -1 if rest < 0 => {
            format!("output_ragged_rank must be at least {axes}, the rank of the variant, got {output}")
        }
        input if input < -1 => format!("input_ragged_rank must be at least -1, got {input}"),
        input if input != -1 && input != rest => format!(
            "output_ragged_rank must be {axes} + {input}, the rank of the variant plus input_ragged_rank, got {output}"
        ),
        _ => return Ok(rest as usize),
    };
    fail(ErrorKind::Shape, message)
}

fn from_variant(cx: &mut HostCx<'_>) -> Result<()> {
    let encoded = cx.input(0)?;
    let axes = encoded.sizes().to_vec();
    let elements = encoded.lists()?;
    let (values_dtype, attrs) = (items_dtype(cx.attrs())?, cx.attrs());
    let splits_dtype = attrs.dtype("Tsplits");
    let rank = element_rank(attrs, axes.len())?;
    let parts: Vec<(Vec<Vec<i64>>, &Tensor)> =
        elements.iter().map(|element| parts_of(element, rank, values_dtype)).collect::<Result<_>>()?;
    let mut splits: Vec<Vec<i64>> = Vec::with_capacity(rank + axes.len());
    if axes.is_empty() {
        let [(own, values)] = &parts[..] else { unreachable!("a scalar has one element") };
        splits.clone_from(own);
        let values = (*values).clone();
        return set_outputs(cx, &splits, values, splits_dtype);
    }
    // The rows of an outer axis all have the size of the next axis.
    let mut rows = axes[0];
    for size in &axes[1..] {
        splits.push(collected_vec((0..rows.saturating_add(1)).map(|row| row.saturating_mul(*size) as i64))?);
        rows = rows.saturating_mul(*size);
    }
    // The rows of the last axis are the elements.
    let mut lengths = vec![0];
    for (own, values) in &parts {
        check_splits(own, values)?;
        let length = match (own.first(), values.sizes().first()) {
            (Some(splits), _) => splits.len() as i64 - 1,
            (None, Some(length)) => *length as i64,
            (None, None) => {
                return fail(ErrorKind::Shape, "the values must have rows, got a scalar".to_string());
            }
        };
        lengths.push(lengths[lengths.len() - 1] + length.max(0));
    }
    splits.push(lengths);
    for axis in 0..rank {
        let mut joined = vec![0];
        for (own, _) in &parts {
            let end = joined[joined.len() - 1];
            joined.extend(own[axis].iter().skip(1).map(|split| split + end));
        }
        splits.push(joined);
    }
    let inner = parts.first().map_or(&[][..], |(_, values)| values.sizes().get(1..).unwrap_or_default());
    let mut len = 0;
    for (_, values) in &parts {
        if values.sizes().get(1..) != Some(inner) {
            let message = format!(
                "the values of all elements must have the same sizes after axis 0, got {:?} and {:?}",
                parts[0].1.sizes(),
                values.sizes()
            );
            return fail(ErrorKind::Shape, message);
        }
        len += values.sizes()[0];
    }
    let sizes: Vec<usize> = [len].into_iter().chain(inner.iter().copied()).collect();
    let views: Vec<TensorView<'_>> = parts.iter().map(|(_, values)| values.view()).collect();
    let values = Tensor::joined(values_dtype, &sizes, &views)?;
    set_outputs(cx, &splits, values, splits_dtype)
}

fn set_outputs(cx: &mut HostCx<'_>, splits: &[Vec<i64>], values: Tensor, dtype: DType) -> Result<()> {
    for (number, splits) in splits.iter().enumerate() {
        cx.set_output(number, splits_tensor(splits, dtype)?)?;
    }
    cx.set_output(splits.len(), values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_splits_has_a_bound() {
        let attrs = |rank: i64| Attrs::new().with("output_ragged_rank", rank);
        assert_eq!(split_count(&attrs(2)).unwrap(), 2);
        for rank in [-1, 255, i64::MAX] {
            let message = split_count(&attrs(rank)).unwrap_err().message().to_string();
            assert_eq!(message, format!("output_ragged_rank must be between 0 and 254, got {rank}"));
        }
    }
}
