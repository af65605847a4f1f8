//! `ragged_cross`: the combinations of the features in each row of several matrices.

use std::ops::Range;

use shapeflow_shape_fns::{Attribute, Attrs, DType, counted};

use super::params::attribute_error;
use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::{AnyValue, RaggedValue, Value};
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::ops::fingerprint::{fingerprint64, join_fingerprints};
use crate::ops::integers::ints;
use crate::ops::row_major::RowMajor;
use crate::ops::sparse::cross::combinations;
use crate::ops::sparse::cross_features::{row_count, starts_of};
use crate::ragged::splits_tensor;
use crate::tensor::{Tensor, TensorView, collected_vec, reserved_vec};

impl<'g> RaggedValue<'g> {
    /// Returns the combinations of the features in each row of the inputs, as strings joined by `_X_`. The feature of
    /// the last input varies fastest.
    ///
    /// Each input is ragged `[n, (r)]` or dense `[n, k]`, of strings or integers; the result is `string[n, (s)]`. As
    /// TensorFlow's `tf.ragged.cross`. Runs on the host.
    ///
    /// ```
    /// use shapeflow::{Graph, RaggedValue, Tensor, ragged};
    ///
    /// let g = Graph::new();
    /// let words = RaggedValue::from_row_lengths(g.constant(["a", "b", "c"])?, g.constant([1i64, 2])?)?;
    /// let crossed = RaggedValue::cross(&[words.into(), g.constant([[1], [2]])?.into()])?;
    /// let crossed = g.compile(crossed)?.run_named(&[])?.ragged_at(0)?;
    /// assert_eq!(crossed.to_string(), "[[\"a_X_1\"], [\"b_X_2\", \"c_X_2\"]]");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// There are no inputs, or an input is not a matrix of strings or integers. The run fails if the numbers of rows
    /// differ.
    #[track_caller]
    pub fn cross(inputs: &[AnyValue<'g>]) -> Result<RaggedValue<'g>> {
        crossed(inputs, DType::String, 0, 0)
    }

    /// Hashes the combinations of [`RaggedValue::cross`], and returns the number of the bucket of each hash:
    /// `i64[n, (s)]`. With 0 buckets, the number is the hash itself.
    ///
    /// As TensorFlow's `tf.ragged.cross_hashed`, bit for bit; its default key is `0xDECAFCAFFE`. Runs on the host.
    ///
    /// ```
    /// use shapeflow::{Graph, RaggedValue};
    ///
    /// let g = Graph::new();
    /// let inputs = [g.constant([[1]])?.into(), g.constant([[2]])?.into()];
    /// let crossed = RaggedValue::cross_hashed(&inputs, 100, 0xDECA_FCAF_FE)?;
    /// let crossed = g.compile(crossed)?.run_named(&[])?.ragged_at(0)?;
    /// assert_eq!(crossed.flat_values().len(), 1);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// `buckets` is negative; else as [`RaggedValue::cross`].
    #[track_caller]
    pub fn cross_hashed(inputs: &[AnyValue<'g>], buckets: i64, key: u64) -> Result<RaggedValue<'g>> {
        crossed(inputs, DType::I64, buckets, key.cast_signed())
    }
}

#[track_caller]
fn crossed<'g>(inputs: &[AnyValue<'g>], dtype: DType, buckets: i64, key: i64) -> Result<RaggedValue<'g>> {
    let Some(first) = inputs.first() else {
        return Err(attribute_error("cross needs at least one input, got none".to_string()));
    };
    let graph = first.flat_values().graph();
    // Features are strings or i64.
    let feature = |value: Value<'g>| match value.dtype() {
        DType::String | DType::I64 => Ok(value),
        dtype if dtype.is_integer() => value.cast(DType::I64),
        other => dtype::refuse(format!("crossed features must be strings or integers, got {other}")),
    };
    let (mut values, mut splits, mut dense, mut order) = (Vec::new(), Vec::new(), Vec::new(), String::new());
    for input in inputs {
        let (rank, expected) = (input.flat_values().shape().rank(), 2 - input.partitions().len().min(2));
        if rank != Some(expected) || expected == 0 {
            let message = format!("a crossed input must have two axes, got {input:?}");
            return Err(Error::new(ErrorKind::Shape, Phase::Build, message));
        }
        match input {
            AnyValue::Dense(value) => dense.push(feature(*value)?),
            AnyValue::Ragged(value) => {
                values.push(feature(value.flat_values())?);
                splits.push(value.row_splits());
            }
        }
        order.push(if matches!(input, AnyValue::Dense(_)) { 'D' } else { 'R' });
    }
    let call = graph.op(&DEF).data_all(&values).data_all(&splits).data_all(&dense);
    let call = call
        .attr("input_order", order.as_str())
        .attr("out_values_type", dtype)
        .attr("out_row_splits_type", DType::I64);
    let call = call.attr("hashed_output", dtype == DType::I64).attr("num_buckets", buckets);
    let outputs = call.attr("hash_key", key).finish_all()?;
    RaggedValue::from_row_splits(outputs[0], outputs[1])
}

/// The operands are, in this order: ragged values, ragged row splits, sparse indices, sparse values, sparse shapes,
/// dense matrices. Attribute `input_order` has a letter for each input: `R` (ragged), `S` (sparse) or `D` (dense).
pub(crate) static DEF: OpDef = OpDef::host("ragged_cross", run)
    .attrs(&[
        Attribute::str_or("input_order", ""),
        Attribute::bool_or("hashed_output", false),
        Attribute::int_or("num_buckets", 0),
        Attribute::int_or("hash_key", 0),
        Attribute::dtype_or("out_values_type", DType::String),
        Attribute::dtype_or("out_row_splits_type", DType::I64),
    ])
    .operands(&[Operand::Variadic("operands..")])
    .outputs(|_, _| 2)
    .shape_fn(shapeflow_shape_fns::ragged::ragged_cross)
    .dtype_rule(dtypes)
    .tensorflow(&[TfOp::new("RaggedCross")]);

fn dtypes(_: &[DType], attrs: &Attrs) -> Result<Vec<DType>> {
    let values = attrs.dtype("out_values_type");
    let is_hashed = attrs.bool("hashed_output");
    if values != if is_hashed { DType::I64 } else { DType::String } {
        return dtype::refuse(format!("out_values_type must be i64 for hashes, else string, got {values}"));
    }
    let splits = attrs.dtype("out_row_splits_type");
    dtype::check_indices(&[splits], 0)?;
    let buckets = attrs.int("num_buckets");
    if buckets < 0 {
        return Err(attribute_error(format!("num_buckets must be at least 0, got {buckets}")));
    }
    Ok(vec![values, splits])
}

/// The features of an input: the text of each feature, and its hash.
struct Features {
    texts: Vec<Vec<u8>>,
    hashes: Vec<u64>,
    /// The features of each row.
    rows: Vec<Range<usize>>,
}

impl Features {
    fn new(values: TensorView<'_>, rows: Vec<Range<usize>>) -> Result<Features> {
        let values = RowMajor::new(values)?;
        let values = values.view();
        let (texts, hashes): (Vec<Vec<u8>>, Vec<u64>) = match values.dtype() {
            DType::String => {
                let strings = values.as_strings()?;
                strings.iter().map(|text| (text.to_vec(), fingerprint64(text))).unzip()
            }
            _ => {
                let numbers = ints(&values);
                numbers.into_iter().map(|x| (x.to_string().into_bytes(), x.cast_unsigned())).unzip()
            }
        };
        if rows.iter().any(|row| row.start > row.end || row.end > texts.len()) {
            return Err(shape(format!(
                "the rows of crossed features must lie in {}",
                counted(texts.len(), "value")
            )));
        }
        Ok(Features { texts, hashes, rows })
    }
}

fn shape(message: String) -> Error {
    Error::new(ErrorKind::Shape, Phase::Run, message)
}

/// Reads the inputs in the order of attribute `input_order`.
fn features(cx: &HostCx<'_>) -> Result<Vec<Features>> {
    let order = cx.attrs().str("input_order");
    let (ragged, sparse) = (order.matches('R').count(), order.matches('S').count());
    let first_dense = 2 * ragged + 3 * sparse;
    let (mut next_ragged, mut next_sparse, mut next_dense) = (0, 0, first_dense);
    let mut all = Vec::new();
    let position = |position: i64| usize::try_from(position).unwrap_or(usize::MAX);
    for kind in order.chars() {
        all.push(match kind {
            'R' => {
                let splits = ints(&cx.input(ragged + next_ragged)?);
                let rows = splits.windows(2).map(|pair| position(pair[0])..position(pair[1])).collect();
                next_ragged += 1;
                Features::new(cx.input(next_ragged - 1)?, rows)?
            }
            'S' => {
                let operand = |group: usize| cx.input(2 * ragged + group * sparse + next_sparse);
                let (indices, values) = (RowMajor::new(operand(0)?)?, operand(1)?);
                let count = row_count(&ints(&operand(2)?))?;
                let starts = starts_of(2 * ragged + next_sparse, &indices.view(), values.len(), count)?;
                let rows = collected_vec(starts.windows(2).map(|pair| pair[0]..pair[1]))?;
                let features = Features::new(values, rows)?;
                next_sparse += 1;
                features
            }
            'D' => {
                let x = cx.input(next_dense)?;
                let [rows, columns] = *x.sizes() else {
                    return Err(shape(format!("a dense input must be a matrix, got sizes {:?}", x.sizes())));
                };
                next_dense += 1;
                let mut ranges = reserved_vec(rows)?;
                ranges.extend((0..rows).map(|row| row * columns..(row + 1) * columns));
                Features::new(x, ranges)?
            }
            other => return Err(shape(format!("input_order must have letters R, S and D, got {other:?}"))),
        });
    }
    Ok(all)
}

fn run(cx: &mut HostCx<'_>) -> Result<()> {
    let all = features(cx)?;
    let Some(first) = all.first() else {
        return Err(shape("cross needs at least one input, got none".to_string()));
    };
    let count = first.rows.len();
    if let Some(other) = all.iter().find(|features| features.rows.len() != count) {
        let message =
            format!("crossed inputs must have one number of rows, got {count} and {}", other.rows.len());
        return Err(shape(message));
    }
    let is_hashed = cx.attrs().bool("hashed_output");
    let buckets = match cx.attrs().int("num_buckets") {
        0 => i64::MAX.unsigned_abs(),
        buckets => buckets.unsigned_abs(),
    };
    let key = cx.attrs().int("hash_key").cast_unsigned();
    let crossed = |row: usize| combinations(all.iter().map(|features| features.rows[row].len()));
    let total = (0..count).try_fold(0usize, |total, row| total.checked_add(crossed(row)?));
    let total = total.unwrap_or(usize::MAX);
    let (mut texts, mut hashes) =
        if is_hashed { (Vec::new(), reserved_vec(total)?) } else { (reserved_vec(total)?, Vec::new()) };
    let mut ends: Vec<usize> = reserved_vec(count.saturating_add(1))?;
    ends.push(0);
    let mut chosen = vec![0; all.len()];
    for row in 0..count {
        let rows: Vec<&Range<usize>> = all.iter().map(|features| &features.rows[row]).collect();
        let combinations = crossed(row).expect("the total has been computed");
        for mut combination in 0..combinations {
            // The digits of the number of the combination choose the features; the last input is the last digit.
            for (chosen, row) in chosen.iter_mut().zip(&rows).rev() {
                *chosen = row.start + combination % row.len();
                combination /= row.len();
            }
            let parts = all.iter().zip(&chosen);
            if is_hashed {
                let hash = parts
                    .fold(key, |hash, (features, &index)| join_fingerprints(hash, features.hashes[index]));
                hashes.push((hash % buckets).cast_signed());
            } else {
                let parts: Vec<&[u8]> = parts.map(|(features, &index)| &features.texts[index][..]).collect();
                texts.push(parts.join(&b"_X_"[..]));
            }
        }
        ends.push(ends[row] + combinations);
    }
    let values = match is_hashed {
        true => Tensor::from(hashes),
        false => Tensor::from_strings(&[texts.len()], &texts)?,
    };
    let splits = cx.attrs().dtype("out_row_splits_type");
    cx.set_output(0, values)?;
    cx.set_output(1, splits_tensor(splits, ends.into_iter())?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{run, shape_table, tensor};

    shape_table! { DEF, {"input_order": "RD"},
        "string[m]; i64[n]; i64[k, 2]" => "string[?]; i64[k+1]",
        "string[m]; i64[3]; i64[3, 2]" => error "the numbers of rows must agree, got 2 and 3",
    }

    #[test]
    fn the_last_input_varies_fastest() {
        let words = Tensor::from_strings(&[3], &["a", "b", "c"]).unwrap();
        let operands = [words, tensor(&[3], &[0i64, 2, 3]), tensor(&[2, 2], &[1i64, 2, 3, 4])];
        let outputs = run(&DEF, &Attrs::new().with("input_order", "RD"), &operands).unwrap();
        let texts = ["a_X_1", "a_X_2", "b_X_1", "b_X_2", "c_X_3", "c_X_4"];
        assert_eq!(outputs[0], Tensor::from_strings(&[6], &texts).unwrap());
        assert_eq!(outputs[1], tensor(&[3], &[0i64, 4, 6]));
        assert!(run(&DEF, &Attrs::new().with("input_order", "RX"), &operands).is_err());
    }

    #[test]
    fn rows_of_sparse_features_must_not_decrease() {
        let crossed = |rows: [i64; 2]| {
            let indices = tensor(&[2, 2], &[rows[0], 0, rows[1], 1]);
            let operands = [indices, tensor(&[2], &[7i64, 8]), tensor(&[2], &[3i64, 2])];
            run(&DEF, &Attrs::new().with("input_order", "S"), &operands)
        };
        assert_eq!(crossed([0, 2]).unwrap()[1], tensor(&[4], &[0i64, 1, 1, 2]));
        for rows in [[2, 0], [0, 5], [-1, 1]] {
            let error = crossed(rows).unwrap_err();
            assert!(error.message().contains("the row numbers indices[.., 0] must not decrease"), "{error}");
        }
    }

    #[test]
    fn more_rows_or_combinations_than_memory_holds_are_refused() {
        let sparse = [tensor(&[1, 2], &[0i64, 0]), tensor(&[1], &[7i64]), tensor(&[2], &[1i64 << 60, 1])];
        let error = run(&DEF, &Attrs::new().with("input_order", "S"), &sparse).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Memory, "{error}");
        let wide = tensor(&[1, 1 << 16], &[7i64; 1 << 16]);
        for order in ["DDDD", "DDDDD"] {
            let operands = vec![wide.clone(); order.len()];
            let error = run(&DEF, &Attrs::new().with("input_order", order), &operands).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Memory, "{error}");
        }
    }
}
