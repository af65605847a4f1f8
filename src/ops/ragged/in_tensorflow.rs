//! Functions of TensorFlow ops for the ops on row partitions, for which TensorFlow has no op. An export writes them.
//!
//! Every function gives the results of the op for row splits that a check has passed, and fails if the op fails.

use shapeflow_shape_fns::DType;

use crate::error::Result;
use crate::graph::Value;
use crate::op::CompositeCx;
use crate::ops::SliceItem;
use crate::ops::array::concat::concat;
use crate::ops::in_tensorflow::{operands, parameter, rank_of, required_parameter, with_last_axes};
use crate::ops::sort::in_tensorflow::{positions, take_along};

/// Returns a vector without its first element, and without its last element.
pub(super) fn shifted(vector: Value<'_>) -> Result<[Value<'_>; 2]> {
    Ok([
        vector.slice_with(&[(1..).into()])?,
        vector.slice_with(&[SliceItem::Range(None, Some((-1).into()), 1)])?,
    ])
}

/// Returns whether no element of a vector is less than the element before it.
fn ascends(vector: Value<'_>) -> Result<Value<'_>> {
    let [after, before] = shifted(vector)?;
    after.greater_equal(before)?.reduce_all(0)
}

/// `ragged_row_splits`: passes row splits on, after it has checked them.
pub(super) fn checked_splits<'g>(cx: &CompositeCx<'_>, values: &[Value<'g>]) -> Result<Vec<Value<'g>>> {
    let [splits] = operands(values)?;
    let nvals = required_parameter(cx, values, "nvals", 1)?;
    let name = cx.attrs().str("encoding");
    let wide = splits.cast(DType::I64)?;
    let [first, last] = [0, -1].map(|position| wide.slice_with(&[SliceItem::at(position)]));
    let mut passed = splits;
    if cx.attrs().bool("validate") {
        passed = passed.checked(first?.equal(0)?, &format!("{name} must start at 0"))?;
        passed = passed.checked(ascends(wide)?, &format!("{name} must not decrease"))?;
    }
    let ends = last?.equal(nvals)?;
    Ok(vec![passed.checked(ends, &format!("{name} must end at the number of values"))?])
}

/// Returns the row of each of `nvals` values, i64.
pub(super) fn rowids<'g>(splits: Value<'g>, nvals: Value<'g>) -> Result<Value<'g>> {
    let positions = splits.graph().range(0, nvals, 1)?;
    let after = splits.cast(DType::I64)?.searchsorted(positions, true)?;
    (after - 1i64).maximum(0)
}

/// `ragged_value_rowids`: returns the row of each value.
pub(super) fn value_rowids<'g>(cx: &CompositeCx<'_>, values: &[Value<'g>]) -> Result<Vec<Value<'g>>> {
    let [splits] = operands(values)?;
    let nvals = required_parameter(cx, values, "nvals", 1)?;
    Ok(vec![rowids(splits, nvals)?.cast(splits.dtype())?])
}

/// `ragged_rowids_to_splits`: counts the values of each row, and sums the counts.
pub(super) fn rowids_to_splits<'g>(cx: &CompositeCx<'_>, values: &[Value<'g>]) -> Result<Vec<Value<'g>>> {
    let [given] = operands(values)?;
    let (graph, mut ids) = (given.graph(), given.cast(DType::I64)?);
    let nrows = match parameter(cx, values, "nrows", 1)? {
        Some(nrows) => nrows,
        // The greatest id plus 1; 0 if there is no id.
        None => concat(&[graph.constant([-1i64])?, ids], 0)?.reduce_max(0)? + 1i64,
    };
    if cx.attrs().bool("validate") {
        let is_row = ids.greater_equal(0)?.reduce_all(0)?.logical_and(ids.less(nrows)?.reduce_all(0)?)?;
        ids = ids.checked(ascends(ids)?, "value_rowids must be ascending")?;
        ids = ids.checked(is_row, "value_rowids must not be negative, and must be less than nrows")?;
    }
    // An id outside the rows adds no value: a segment sum skips a negative id.
    let rows = ids.less(nrows)?.select(ids, -1)?;
    let counts = ids.ones_like()?.unsorted_segment_sum(rows, nrows)?;
    let splits = concat(&[graph.constant([0i64])?, counts.cumsum(0)?], 0)?;
    Ok(vec![splits.cast(given.dtype())?])
}

/// `ragged_position`: returns the positions of items of rows.
pub(super) fn position<'g>(_: &CompositeCx<'_>, values: &[Value<'g>]) -> Result<Vec<Value<'g>>> {
    let [splits, rows, columns] = operands(values)?;
    let starts = splits.gather(rows, 0)?;
    let lengths = splits.gather((rows + 1).ok()?, 0)? - starts;
    let is_item = columns.greater_equal(0)?.logical_and(columns.less(lengths)?)?;
    let is_item = is_item.reshape([-1])?.reduce_all(0)?;
    let positions = (starts + columns).ok()?;
    Ok(vec![positions.checked(is_item, "an index into a row must be less than the length of the row")?])
}

/// `ragged_same_splits`: passes a part on, if both row splits of each pair are equal.
pub(super) fn same_splits<'g>(_: &CompositeCx<'_>, values: &[Value<'g>]) -> Result<Vec<Value<'g>>> {
    let [part] = operands(values)?;
    let mut passed = part;
    for pair in values[1..].chunks_exact(2) {
        let message = "ragged operands must have equal row splits";
        let is_as_long = pair[0].size_tensor()?.equal(pair[1].size_tensor()?)?;
        let ours = pair[0].checked(is_as_long, message)?;
        passed = passed.checked(ours.equal(pair[1])?.reduce_all(0)?, message)?;
    }
    Ok(vec![passed.identity()?])
}

/// `ragged_kept_encoding`: passes an encoding on, if it has `count` elements.
pub(super) fn kept_encoding<'g>(cx: &CompositeCx<'_>, values: &[Value<'g>]) -> Result<Vec<Value<'g>>> {
    let [encoding] = operands(values)?;
    let count = required_parameter(cx, values, "count", 2)?;
    let has_count = encoding.size_tensor()?.equal(count)?;
    Ok(vec![encoding.checked(has_count, "an encoding of row splits must have an element for each of them")?])
}

/// `ragged_broadcast`: passes a part on, if a dense operand fits.
pub(super) fn dense_fits<'g>(cx: &CompositeCx<'_>, values: &[Value<'g>]) -> Result<Vec<Value<'g>>> {
    let [part, fits] = operands(values)?;
    let requirement = match cx.attrs().int("axis") {
        0 => "the number of rows",
        _ => "the length of every row",
    };
    let message = format!("a dense operand must have size 1 or {requirement}");
    Ok(vec![part.checked(fits.reshape([-1])?.reduce_all(0)?, &message)?])
}

/// `ragged_equal_counts`: passes a part on, if two numbers are equal.
pub(super) fn equal_counts<'g>(cx: &CompositeCx<'_>, values: &[Value<'g>]) -> Result<Vec<Value<'g>>> {
    let [part, count, got] = operands(values)?;
    let is_equal = count.cast(DType::I64)?.equal(got.cast(DType::I64)?)?.reshape([-1])?.reduce_all(0)?;
    Ok(vec![part.checked(is_equal, cx.attrs().str("requirement"))?])
}

/// Returns the order that sorts each row, as positions in the values, and the row of each value.
fn row_order<'g>(cx: &CompositeCx<'_>, values: &[Value<'g>]) -> Result<[Value<'g>; 2]> {
    let [x, splits] = operands(values)?;
    let rank = rank_of(x)?;
    let count = x.shape_tensor()?.slice_with(&[SliceItem::at(0)])?;
    let rows = rowids(splits, count)?;
    // Values in the order of their elements, and then in the order of their rows. Equal rows keep their order.
    let by_element = positions(x, 0, cx.attrs().bool("descending"))?;
    let by_row = positions(rows.gather(by_element, 0)?, 0, false)?;
    Ok([take_along(by_element, by_row, 0)?, with_last_axes(rows, rank - 1)?])
}

/// `ragged_sort`: sorts the values of each row.
pub(super) fn row_sort<'g>(cx: &CompositeCx<'_>, values: &[Value<'g>]) -> Result<Vec<Value<'g>>> {
    let [order, _] = row_order(cx, values)?;
    Ok(vec![take_along(values[0], order, 0)?])
}

/// `ragged_argsort`: returns the positions of the sorted values in their rows.
pub(super) fn row_argsort<'g>(cx: &CompositeCx<'_>, values: &[Value<'g>]) -> Result<Vec<Value<'g>>> {
    let [order, rows] = row_order(cx, values)?;
    Ok(vec![(order - values[1].cast(DType::I64)?.gather(rows, 0)?).ok()?])
}
