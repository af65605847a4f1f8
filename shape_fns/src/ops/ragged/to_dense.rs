//! `ragged_to_dense`: the shape of a ragged tensor as a padded dense one.

use super::row_count::row_count;
use crate::error::bail;
use crate::{Attr, Dim, Guard, InferenceContext, List, Result, TensorShape, counted};

/// Converts a ragged tensor to a dense tensor of shape `shape`. A size of -1 means the number of rows, the length of
/// the longest row, or the size of the values, depending on the axis.
///
/// # Errors
/// The length of `shape` differs from the rank of the ragged tensor, a size is provably less than -1 or differs from
/// the size of the values, a scalar `shape` is provably not -1, or `default_value` provably does not broadcast to a row
/// of the values.
pub fn ragged_to_dense(cx: &mut InferenceContext<'_>) -> Result<()> {
    let types = match cx.attr("row_partition_types") {
        Some(Attr::Strs(types)) => types.to_vec(),
        Some(Attr::Str(one)) => vec![one.clone()],
        _ => bail!("row_partition_types must be given: it is a list of strings"),
    };
    let partitions = cx.operands_named("row_partition_tensors");
    let has_row_count = types.first().is_some_and(|kind| &**kind == "FIRST_DIM_SIZE");
    let ragged = types.len().saturating_sub(usize::from(has_row_count));
    let values = cx.input(1).clone();
    check_default(cx, &values)?;
    let given = if cx.input(0).rank() == Some(0) { List::Unknown(None) } else { cx.param_vector("shape")? };
    check_requested(cx, &given)?;
    let rank = match (values.rank(), given.known_len()) {
        (Some(inner), Some(len)) if ragged.saturating_add(inner) != len => {
            return Err(cx.blame(
                0,
                format_args!(
                    "must have one size for each of {}, got {len}",
                    counted(ragged.saturating_add(inner), "axis")
                ),
            ));
        }
        (Some(inner), _) => ragged.saturating_add(inner),
        (None, Some(len)) => len,
        (None, None) => return Ok(()),
    };
    let mut output = Vec::with_capacity(rank);
    for axis in 0..rank {
        let inner = match values.dims() {
            Some(dims) if axis > ragged => dims.get(axis - ragged).cloned(),
            _ => None,
        };
        output.push(match (requested_size(cx, &given, axis), inner) {
            (RequestedSize::Size(size), Some(inner)) => cx.merge(&inner, &size).map_err(|_| {
                cx.blame(
                    0,
                    format_args!(
                        "must have the sizes of the values, got {size} for size {inner} at axis {axis}"
                    ),
                )
            })?,
            (RequestedSize::Size(size), None) => size,
            // A requested size must equal the values' size, so the values' size holds in both cases.
            (_, Some(inner)) => inner,
            (RequestedSize::Natural, None) if axis == 0 => match types.first().map(|kind| &**kind) {
                Some("FIRST_DIM_SIZE") => first_dim_size(cx, partitions.start),
                Some("ROW_SPLITS") => row_count(cx, partitions.start)?,
                _ => cx.fresh(),
            },
            _ => cx.fresh(),
        });
    }
    cx.set_output(0, TensorShape::new(output));
    Ok(())
}

/// Requires sizes of at least -1. A scalar `shape` must be -1.
fn check_requested(cx: &mut InferenceContext<'_>, given: &List) -> Result<()> {
    let scalar = match cx.input(0).rank() {
        Some(0) => cx.input_value(0).and_then(|value| value.get(0).and_then(Dim::as_known)),
        _ => None,
    };
    if let Some(other) = scalar.filter(|size| *size != -1) {
        return Err(cx.blame(0, format_args!("must be -1 if it is a scalar, got {other}")));
    }
    let List::Elements(sizes) = given else { return Ok(()) };
    match sizes.iter().filter_map(Dim::as_known).find(|size| *size < -1) {
        Some(size) => Err(cx.blame(0, format_args!("must have sizes of at least -1, got {size}"))),
        None => Ok(()),
    }
}

/// The size that the operand `shape` requests for an axis.
enum RequestedSize {
    /// An explicit size.
    Size(Dim),
    /// -1: the size of the ragged tensor.
    Natural,
    /// An unknown element, which may be a size or -1.
    Either,
}

/// Returns the size that `given`, the operand `shape`, requests for an axis.
fn requested_size(cx: &mut InferenceContext<'_>, given: &List, axis: usize) -> RequestedSize {
    match given {
        List::Elements(sizes) => match sizes.get(axis) {
            Some(size) if *size == -1 => RequestedSize::Natural,
            Some(size) if cx.at_least(size, &Dim::known(0)) => RequestedSize::Size(size.clone()),
            _ => RequestedSize::Either,
        },
        _ => RequestedSize::Either,
    }
}

/// Returns the number of rows in the scalar operand `partition`, or a fresh dimension if the number is unknown.
fn first_dim_size(cx: &mut InferenceContext<'_>, partition: usize) -> Dim {
    let size = cx.input_value(partition).and_then(|value| value.get(0).cloned());
    match size {
        Some(size) if cx.at_least(&size, &Dim::known(0)) => size,
        _ => cx.fresh(),
    }
}

/// Requires the default value to broadcast to a row of the values.
fn check_default(cx: &mut InferenceContext<'_>, values: &TensorShape) -> Result<()> {
    let default = cx.input(2).clone();
    let (Some([_, inner @ ..]), Some(sizes)) = (values.dims(), default.dims()) else { return Ok(()) };
    let Some(offset) = inner.len().checked_sub(sizes.len()) else {
        return Err(
            cx.blame(2, format_args!("must broadcast to a row of the values, got {default} for {values}"))
        );
    };
    for (dim, size) in inner.iter().skip(offset).zip(sizes) {
        cx.require(Guard::OneOrEqual(size.clone(), dim.clone())).map_err(|_| {
            cx.blame(2, format_args!("must broadcast to a row of the values, got {default} for {values}"))
        })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::ragged_to_dense;
    use crate::testing::check;
    use crate::{Attr, Attrs};

    #[test]
    fn ragged_tensors_convert_to_dense_shapes() {
        let names = ["shape", "values", "default_value", "row_partition_tensors.."];
        let attrs = |types: &[&str]| {
            let types = types.iter().map(|kind| std::sync::Arc::from(*kind)).collect();
            Attrs::new().with("row_partition_types", Attr::Strs(types))
        };
        for (types, inputs, expected) in [
            (vec!["ROW_SPLITS"], "i64 [2] = [-1, -1]; [?]; []; i64 [n]", "[n-1, ?]"),
            (vec!["ROW_SPLITS"], "i64 [3] = [-1, 5, -1]; [?, 7]; []; i64 [4]", "[3, 5, 7]"),
            (vec!["ROW_SPLITS"], "i64 [3] = [m, -1, 7]; [?, k]; [1]; i64 [4]", "[m, ?, 7]"),
            (vec!["ROW_SPLITS"], "i64 []; [?, n]; []; i64 [4]", "[?, ?, n]"),
            (
                vec!["FIRST_DIM_SIZE", "VALUE_ROWIDS"],
                "i64 [3] = [4, 5, 6]; ?; []; i64 []; i64 [9]",
                "[4, 5, 6]",
            ),
            (
                vec!["FIRST_DIM_SIZE", "VALUE_ROWIDS"],
                "i64 [2] = [-1, -1]; [9]; []; i64 [] = 3; i64 [9]",
                "[3, ?]",
            ),
            (vec!["ROW_SPLITS"], "i64 ?; ?; []; i64 [4]", "?"),
            (
                vec!["ROW_SPLITS"],
                "i64 [3] = [4, 5, 6]; [?, 7]; []; i64 [4]",
                "error shape must have the sizes of the values, got 6 for size 7 at axis 2",
            ),
            (
                vec!["ROW_SPLITS"],
                "i64 [3] = [4, -2, 7]; [?, 7]; []; i64 [4]",
                "error shape must have sizes of at least -1, got -2",
            ),
            (
                vec!["ROW_SPLITS"],
                "i64 [] = 7; [?]; []; i64 [4]",
                "error shape must be -1 if it is a scalar, got 7",
            ),
            (vec!["ROW_SPLITS"], "i64 [] = -1; [?]; []; i64 [4]", "[?, ?]"),
            (
                vec!["ROW_SPLITS"],
                "i64 [2] = [4, 5]; [?, 7]; []; i64 [4]",
                "error shape must have one size for each of 3 axes, got 2",
            ),
            (
                vec!["ROW_SPLITS"],
                "i64 ?; [?, 7]; [3]; i64 [4]",
                "error default_value must broadcast to a row of the values, got [3] for [?, 7]",
            ),
        ] {
            check(ragged_to_dense, &names, &attrs(&types), inputs, expected);
        }
    }
}
