//! Host ops that check, compare and convert row partitions.

use shapeflow_shape_fns::{Attribute, Attrs, DType, TensorShape, counted};

use super::in_tensorflow;
use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::op::{HostCx, OpDef, Operand, TfFunction};
use crate::ops::host_params::param_sizes;
use crate::ops::integers::{int_tensor, ints};
use crate::ops::row_major::RowMajor;
use crate::ragged::{
    first_mistake, message_of, mistake_in_last_split, rowids_of_splits, rows_of_rowids, splits_of_rowids,
    splits_of_unchecked_rowids, splits_tensor, with_ints,
};

/// Passes row splits on: `splits [n+1], nvals -> [n+1]`. The run fails unless they start at 0, never decrease, and end
/// at `nvals`. If attribute `validate` is false, the run fails only if there is no split or if the last split is not
/// `nvals`. Attribute `encoding` names the encoding that the splits come from; errors are about this encoding.
pub(crate) static CHECKED: OpDef = OpDef::host("ragged_row_splits", run_checked)
    .attrs(&[Attribute::bool_or("validate", true), Attribute::str_or("encoding", "row_splits")])
    .in_tensorflow(TfFunction::Composed(in_tensorflow::checked_splits))
    .internal()
    .operands(&[Operand::Data("row_splits"), Operand::Size("nvals")])
    .reinterprets()
    .shape_fn(|cx| {
        let splits = cx.with_rank(0, 1)?;
        cx.set_output(0, splits);
        Ok(())
    })
    .dtype_rule(|dtypes, _| {
        dtype::check_indices(dtypes, 0)?;
        Ok(dtypes[..1].to_vec())
    });

fn run_checked(cx: &mut HostCx<'_>) -> Result<()> {
    let splits = RowMajor::new(cx.input(0)?)?;
    let nvals = param_sizes(cx, "nvals", 1)?[0];
    let splits = splits.view();
    let is_validated = is_validated(cx.attrs());
    let encoding = cx.attrs().str("encoding");
    let bad = with_ints!(splits, |ints| {
        let mistake =
            if is_validated { first_mistake(ints, nvals) } else { mistake_in_last_split(ints, nvals) };
        mistake.map(|mistake| message_of(encoding, &mistake, ints, nvals))
    });
    match bad {
        Some(message) => Err(Error::new(ErrorKind::Guard, Phase::Run, message).blame_element(0)),
        None => cx.pass_on(),
    }
}

/// Returns whether encodings of row partitions are scanned for mistakes.
fn is_validated(attrs: &Attrs) -> bool {
    attrs.bool("validate")
}

/// Returns the row of each value: `splits [n+1], nvals -> [nvals]`.
pub(crate) static ROWIDS: OpDef = OpDef::host("ragged_value_rowids", run_rowids)
    .in_tensorflow(TfFunction::Composed(in_tensorflow::value_rowids))
    .operands(&[Operand::Data("row_splits"), Operand::Size("nvals")])
    .shape_fn(|cx| {
        cx.with_rank(0, 1)?;
        let nvals = cx.make_dim_for_scalar_input("nvals")?;
        cx.set_output(0, TensorShape::new([nvals]));
        Ok(())
    })
    .dtype_rule(|dtypes, _| {
        dtype::check_indices(dtypes, 0)?;
        Ok(dtypes[..1].to_vec())
    });

fn run_rowids(cx: &mut HostCx<'_>) -> Result<()> {
    let splits = RowMajor::new(cx.input(0)?)?;
    let nvals = param_sizes(cx, "nvals", 1)?;
    let mut rowids = cx.unfilled_output(0, &nvals)?;
    match splits.view().dtype() {
        DType::I32 => rowids_of_splits(splits.view().as_slice::<i32>()?, rowids.as_mut_slice::<i32>()?),
        _ => rowids_of_splits(splits.view().as_slice::<i64>()?, rowids.as_mut_slice::<i64>()?),
    }
    Ok(())
}

/// Returns the splits of ascending row ids: `rowids [nvals], nrows -> [nrows+1]`. If attribute `validate` is false, row
/// ids in any order are counted.
pub(crate) static FROM_ROWIDS: OpDef = OpDef::host("ragged_rowids_to_splits", run_from_rowids)
    .attrs(&[Attribute::bool_or("validate", true)])
    .in_tensorflow(TfFunction::Composed(in_tensorflow::rowids_to_splits))
    .operands(&[Operand::Data("value_rowids"), Operand::Size("nrows")])
    .shape_fn(|cx| {
        cx.with_rank(0, 1)?;
        let splits = match cx.len() > 1 || cx.attr("nrows").is_some() {
            true => {
                let rows = cx.make_dim_for_scalar_input("nrows")?;
                cx.add(&rows, &shapeflow_shape_fns::Dim::known(1))?
            }
            false => cx.fresh(),
        };
        cx.set_output(0, TensorShape::new([splits]));
        Ok(())
    })
    .dtype_rule(|dtypes, _| {
        dtype::check_indices(dtypes, 0)?;
        Ok(dtypes[..1].to_vec())
    });

fn run_from_rowids(cx: &mut HostCx<'_>) -> Result<()> {
    let rowids = RowMajor::new(cx.input(0)?)?;
    let nrows = param_sizes(cx, "nrows", 1)?.first().copied();
    let rowids = rowids.view();
    let is_validated = is_validated(cx.attrs());
    let splits = with_ints!(rowids, |ids| {
        let nrows = nrows.map_or_else(|| rows_of_rowids(ids), Ok)?;
        if is_validated { splits_of_rowids(ids, nrows)? } else { splits_of_unchecked_rowids(ids, nrows)? }
    });
    cx.set_output(0, splits_tensor(rowids.dtype(), splits.into_iter())?)
}

/// Returns the position of an item of a row: `splits [n+1], rows [..], columns [..] -> [..]`. The run fails if there is
/// no such item.
pub(crate) static POSITION: OpDef = OpDef::host("ragged_position", run_position)
    .in_tensorflow(TfFunction::Composed(in_tensorflow::position))
    .operands(&[Operand::Data("row_splits"), Operand::Data("rows"), Operand::Data("columns")])
    .shape_fn(|cx| {
        cx.with_rank(0, 1)?;
        let (rows, columns) = (cx.input(1).clone(), cx.input(2).clone());
        let same = cx.merge_shapes(&rows, &columns)?;
        cx.set_output(0, same);
        Ok(())
    })
    .dtype_rule(|dtypes, _| {
        dtype::check_indices(dtypes, 0)?;
        match dtypes {
            [splits, rest @ ..] if rest.iter().all(|dtype| dtype == splits) => Ok(vec![*splits]),
            _ => dtype::refuse(format!(
                "rows and columns must have the dtype of the splits, got {}",
                dtype::names(dtypes)
            )),
        }
    });

fn run_position(cx: &mut HostCx<'_>) -> Result<()> {
    let [splits, rows, columns] = [0, 1, 2].map(|operand| cx.input(operand));
    let (splits, rows, columns) = (RowMajor::new(splits?)?, RowMajor::new(rows?)?, RowMajor::new(columns?)?);
    let (splits, rows, columns) = (ints(&splits.view()), rows.view(), ints(&columns.view()));
    let position = |(row, column): (i64, &i64)| {
        let count = splits.len().saturating_sub(1);
        let Some(row) = usize::try_from(row).ok().filter(|row| *row < count) else {
            let message = format!("an index into axis 0 must lie in [0, {count}), got {row}");
            return Err(Error::new(ErrorKind::Index, Phase::Run, message));
        };
        let length = splits[row + 1].wrapping_sub(splits[row]);
        match (0..length).contains(column) {
            true => Ok((splits[row] + column) as usize),
            false => {
                let message = format!("an index into row {row} must lie in [0, {length}), got {column}");
                Err(Error::new(ErrorKind::Index, Phase::Run, message))
            }
        }
    };
    let positions = ints(&rows).into_iter().zip(&columns).map(position).collect::<Result<Vec<usize>>>()?;
    cx.set_output(0, int_tensor(rows.dtype(), rows.sizes(), positions.into_iter())?)
}

/// Passes a part of a ragged value on: `part [..], pairs of splits [a], [a], … -> [..]`. The run fails unless both
/// splits of each pair are equal.
pub(crate) static SAME: OpDef = OpDef::host("ragged_same_splits", run_same)
    .in_tensorflow(TfFunction::Composed(in_tensorflow::same_splits))
    .internal()
    .operands(&[Operand::Data("part"), Operand::Variadic("row_splits..")])
    .reinterprets()
    .shape_fn(|cx| {
        for first in (1..cx.len().saturating_sub(1)).step_by(2) {
            let ([a], [b]) = (cx.axes::<1>(first)?, cx.axes::<1>(first + 1)?);
            cx.agree("the numbers of row splits of ragged operands", &a, &b)?;
        }
        let part = cx.input(0).clone();
        cx.set_output(0, part);
        Ok(())
    })
    .dtype_rule(|dtypes, _| {
        dtype::check_indices(dtypes, 1)?;
        if let Some(other) = dtypes[1..].iter().find(|dtype| **dtype != dtypes[1]) {
            let message = format!("all row_splits must have one dtype, got {} and {other}", dtypes[1]);
            return dtype::refuse_with_help(
                message,
                "use with_row_splits_dtype to convert one of them".to_string(),
            );
        }
        Ok(dtypes[..1].to_vec())
    });

fn run_same(cx: &mut HostCx<'_>) -> Result<()> {
    for first in (1..cx.inputs().saturating_sub(1)).step_by(2) {
        let (a, b) = (RowMajor::new(cx.input(first)?)?, RowMajor::new(cx.input(first + 1)?)?);
        let (a, b) = (a.view(), b.view());
        let differing = match a.dtype() {
            DType::I32 => first_differing_row(a.as_slice::<i32>()?, b.as_slice::<i32>()?),
            _ => first_differing_row(a.as_slice::<i64>()?, b.as_slice::<i64>()?),
        };
        if let Some(Difference { message, ours, theirs }) = differing {
            let origins = vec![(first, ours), (first + 1, theirs)];
            return Err(Error::new(ErrorKind::Guard, Phase::Run, message).with_origins(origins));
        }
    }
    cx.pass_on()
}

/// Passes an encoding of a partition on, after the run has checked the row splits that come from it:
/// `encoding [..], splits [n+1], count -> [count]`. The run fails unless the encoding has `count` elements.
pub(crate) static KEPT: OpDef = OpDef::host("ragged_kept_encoding", run_kept)
    .in_tensorflow(TfFunction::Composed(in_tensorflow::kept_encoding))
    .operands(&[Operand::Data("encoding"), Operand::Data("row_splits"), Operand::Size("count")])
    .reinterprets()
    .shape_fn(|cx| {
        cx.with_rank(0, 1)?;
        let count = cx.make_dim_for_scalar_input("count")?;
        cx.set_output(0, TensorShape::new([count]));
        Ok(())
    })
    .dtype_rule(|dtypes, _| {
        dtype::check_indices(dtypes, 0)?;
        Ok(dtypes[..1].to_vec())
    });

fn run_kept(cx: &mut HostCx<'_>) -> Result<()> {
    let (got, count) = (cx.input(0)?.len(), param_sizes(cx, "count", 2)?[0]);
    if got != count {
        let message = format!("an encoding of row splits must have {}, got {got}", counted(count, "element"));
        return Err(Error::new(ErrorKind::Guard, Phase::Run, message));
    }
    cx.pass_on()
}

/// How the rows of two ragged operands differ.
struct Difference {
    message: String,
    /// What the first row splits have, such as `the length 2`.
    ours: String,
    /// What the second row splits have.
    theirs: String,
}

/// Returns the first row whose length differs.
fn first_differing_row<I: Copy + Into<i64> + PartialEq>(a: &[I], b: &[I]) -> Option<Difference> {
    // Splits in the same memory are equal.
    if std::ptr::eq(a, b) || a == b {
        return None;
    }
    let length = |splits: &[I], row: usize| splits[row + 1].into().wrapping_sub(splits[row].into());
    let rows = a.len().min(b.len()).saturating_sub(1);
    let row = (0..rows).find(|&row| length(a, row) != length(b, row));
    Some(match row {
        Some(row) => {
            let [a, b] = [a, b].map(|splits| length(splits, row));
            let message =
                format!("the rows of ragged operands must have equal lengths, got {a} and {b} at row {row}");
            Difference { message, ours: format!("the length {a}"), theirs: format!("the length {b}") }
        }
        None => {
            let [a, b] = [a, b].map(|splits| splits.len().saturating_sub(1));
            let message = format!("ragged operands must have equal numbers of rows, got {a} and {b} rows");
            Difference { message, ours: format!("the number {a}"), theirs: format!("the number {b}") }
        }
    })
}
