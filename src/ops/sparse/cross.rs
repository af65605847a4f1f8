//! `sparse_cross`: all combinations of the features of each row, as hashes or as strings.

use shapeflow_shape_fns::{Attribute, Attrs, DType};

use super::operand::refuse;
use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::ops::fingerprint::{concatenated, fingerprint64};
use crate::ops::row_major::RowMajor;
use crate::tensor::{Tensor, TensorView};

/// An op for import only. The operands are the indices of `N` sparse matrices, their values, their shapes, and any
/// number of dense matrices. Each matrix holds a feature of each row, with any number of values.
///
/// The result is a sparse matrix. Row `b` has an element for each combination of one value of every feature in row `b`;
/// the last feature changes fastest. An element is a hash modulo `num_buckets`, or, without `hashed_output`, the values
/// as text with `_X_` between them.
pub(crate) static DEF: OpDef = OpDef::host("sparse_cross", run)
    .attrs(&[
        Attribute::int("N"),
        Attribute::bool_or("hashed_output", false),
        Attribute::int_or("num_buckets", 0),
        Attribute::int_or("hash_key", 0),
    ])
    .operands(&[Operand::Variadic("operands..")])
    .outputs(|_, _| 3)
    .shape_fn(shapeflow_shape_fns::sparse::cross)
    .dtype_rule(dtypes)
    .tensorflow(&[TfOp::new("SparseCross")]);

/// The text between the values of neighbouring features.
const SEPARATOR: &[u8] = b"_X_";

fn is_hashed(attrs: &Attrs) -> bool {
    attrs.bool("hashed_output")
}

/// Returns the number of sparse features of a call with `operands` operands.
///
/// # Errors
/// There are too few operands.
fn sparse_features(attrs: &Attrs, operands: usize) -> Result<usize> {
    let count = attrs.int("N");
    match usize::try_from(count).ok().filter(|count| 3 * count <= operands) {
        Some(count) => Ok(count),
        None => dtype::refuse(format!(
            "there must be 3 operands for each of {count} sparse features, got {operands}"
        )),
    }
}

fn dtypes(operands: &[DType], attrs: &Attrs) -> Result<Vec<DType>> {
    let count = sparse_features(attrs, operands.len())?;
    let buckets = attrs.int("num_buckets");
    if buckets < 0 {
        let message = format!("num_buckets must be at least 0, got {buckets}");
        return Err(Error::new(ErrorKind::Attribute, Phase::Build, message));
    }
    for (number, dtype) in operands.iter().enumerate() {
        let is_feature = (count..2 * count).contains(&number) || number >= 3 * count;
        if *dtype != DType::I64 && !(is_feature && *dtype == DType::String) {
            let expected = if is_feature { "i64 or string" } else { "i64" };
            return dtype::refuse(format!("operand {number} must be {expected}, got {dtype}"));
        }
    }
    let value = if is_hashed(attrs) { DType::I64 } else { DType::String };
    Ok(vec![DType::I64, value, DType::I64])
}

/// A feature: the values of all rows, one row after the other.
struct Feature<'a> {
    values: TensorView<'a>,
    /// `starts[row]` is the position of the first value of a row. The last entry is the number of values.
    starts: Vec<usize>,
}

impl Feature<'_> {
    fn row(&self, row: usize) -> std::ops::Range<usize> {
        self.starts[row]..self.starts[row + 1]
    }

    /// Returns the hash of a value: the bits of an integer, or the fingerprint of a string.
    fn hash(&self, position: usize) -> Result<u64> {
        match self.values.dtype() {
            DType::String => Ok(fingerprint64(self.values.as_strings()?.at(position))),
            _ => Ok(self.values.as_slice::<i64>()?[position].cast_unsigned()),
        }
    }

    /// Appends a value as text.
    fn append(&self, position: usize, text: &mut Vec<u8>) -> Result<()> {
        match self.values.dtype() {
            DType::String => text.extend_from_slice(self.values.as_strings()?.at(position)),
            _ => text.extend_from_slice(self.values.as_slice::<i64>()?[position].to_string().as_bytes()),
        }
        Ok(())
    }
}

/// Returns the number of rows of a feature with these sizes.
///
/// # Errors
/// The feature is not a matrix.
fn row_count(sizes: &[i64]) -> Result<usize> {
    match sizes {
        [rows, _] if *rows >= 0 => Ok(rows.unsigned_abs() as usize),
        _ => refuse(format!("a feature must be a matrix, got sizes {sizes:?}")),
    }
}

/// Returns the starts of the rows of a sparse feature, see [`Feature`].
///
/// # Errors
/// The row numbers `indices[.., 0]` decrease or lie outside the matrix, or the operands do not fit each other.
fn starts_of(indices: &TensorView<'_>, values: usize, rows: usize) -> Result<Vec<usize>> {
    let [count, 2] = *indices.sizes() else {
        return refuse(format!("indices must have sizes [n, 2], got {:?}", indices.sizes()));
    };
    if count != values {
        return refuse(format!("there must be {count} values, one for each index, got {values}"));
    }
    let elements = indices.as_slice::<i64>()?;
    let mut starts = Vec::with_capacity(rows + 1);
    starts.push(0);
    for (number, index) in elements.chunks_exact(2).enumerate() {
        let row = usize::try_from(index[0]).ok().filter(|row| *row < rows && row + 1 >= starts.len());
        let Some(row) = row else {
            let message = format!(
                "the row numbers indices[.., 0] must not decrease and must lie in [0, {rows}), \
                 got {} at indices[{number}, 0]",
                index[0]
            );
            return Err(Error::new(ErrorKind::Index, Phase::Run, message));
        };
        starts.resize(row + 1, number);
    }
    starts.resize(rows + 1, count);
    Ok(starts)
}

fn run(cx: &mut HostCx<'_>) -> Result<()> {
    let count = sparse_features(cx.attrs(), cx.inputs())?;
    let inputs: Vec<RowMajor<'_>> =
        (0..cx.inputs()).map(|operand| RowMajor::new(cx.input(operand)?)).collect::<Result<_>>()?;
    let mut features = Vec::with_capacity(cx.inputs() - 2 * count);
    let mut rows = None;
    let mut checked_starts = |sizes: &[i64], values: TensorView<'_>, indices: Option<TensorView<'_>>| {
        let own = row_count(sizes)?;
        if *rows.get_or_insert(own) != own {
            return refuse(format!("all features must have the same number of rows, got {own} and others"));
        }
        let starts = match indices {
            Some(indices) => starts_of(&indices, values.len(), own)?,
            None => (0..=own).map(|row| row * sizes[1].unsigned_abs() as usize).collect(),
        };
        Ok(starts)
    };
    for feature in 0..count {
        let (indices, values) = (inputs[feature].view(), inputs[count + feature].view());
        let shape = inputs[2 * count + feature].view();
        let starts = checked_starts(shape.as_slice::<i64>()?, values.clone(), Some(indices))?;
        features.push(Feature { values, starts });
    }
    for input in &inputs[3 * count..] {
        let values = input.view();
        let sizes: Vec<i64> = values.sizes().iter().map(|size| *size as i64).collect();
        let starts = checked_starts(&sizes, values.clone(), None)?;
        features.push(Feature { values, starts });
    }
    let rows = rows.unwrap_or(0);
    let crossed = |row: usize| features.iter().map(|feature| feature.row(row).len()).product::<usize>();
    let (mut indices, mut longest) = (Vec::new(), 0);
    let (mut hashes, mut texts) = (Vec::new(), Vec::new());
    let is_hashed = is_hashed(cx.attrs());
    let buckets = match cx.attrs().int("num_buckets").unsigned_abs() {
        // Without buckets, the hash is taken modulo `i64::MAX`, so that it fits i64.
        0 => i64::MAX.unsigned_abs(),
        buckets => buckets,
    };
    let key = cx.attrs().int("hash_key").cast_unsigned();
    let mut chosen = vec![0; features.len()];
    for row in 0..rows {
        let combinations = crossed(row);
        longest = longest.max(combinations);
        for (position, feature) in chosen.iter_mut().zip(&features) {
            *position = feature.row(row).start;
        }
        for number in 0..combinations {
            indices.extend([row as i64, number as i64]);
            if is_hashed {
                let mut hash = key;
                for (position, feature) in chosen.iter().zip(&features) {
                    hash = concatenated(hash, feature.hash(*position)?);
                }
                hashes.push((hash % buckets).cast_signed());
            } else {
                let mut text = Vec::new();
                for (number, (position, feature)) in chosen.iter().zip(&features).enumerate() {
                    text.extend_from_slice(if number == 0 { b"" } else { SEPARATOR });
                    feature.append(*position, &mut text)?;
                }
                texts.push(text);
            }
            for (position, feature) in chosen.iter_mut().zip(&features).rev() {
                *position += 1;
                if *position < feature.row(row).end {
                    break;
                }
                *position = feature.row(row).start;
            }
        }
    }
    let total = indices.len() / 2;
    cx.set_output(0, Tensor::from_slice(&[total, 2], &indices)?)?;
    let values = match is_hashed {
        true => Tensor::from_slice(&[total], &hashes)?,
        false => Tensor::from_strings(&[total], &texts)?,
    };
    cx.set_output(1, values)?;
    cx.set_output(2, Tensor::from_slice(&[2], &[rows as i64, longest as i64])?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{run, shape_table, tensor};

    shape_table! { DEF, {"N": 1, "hashed_output": true, "num_buckets": 10},
        "i64[n, 2]; string[n]; i64[2]; i64[b, 1]" => "[?, 2]; [?]; [2]",
        "i64[n, 2]; f32[n]; i64[2]" => error "operand 1 must be i64 or string, got f32",
        "i64[n, 2]; string[n]" => error "there must be 3 operands for each of 1 sparse features, got 2",
    }

    #[test]
    fn texts_combine_all_values_of_a_row() {
        let attrs = Attrs::new().with("N", 1).with("hashed_output", false);
        let indices = tensor(&[3, 2], &[0i64, 0, 0, 3, 2, 1]);
        let dense = tensor(&[3, 2], &[1i64, 2, 3, 4, 5, 6]);
        let values = Tensor::from_strings(&[3], &["a", "b", "c"]).unwrap();
        let shape = tensor(&[2], &[3i64, 4]);
        let outputs = run(&DEF, &attrs, &[indices, values, shape, dense]).unwrap();
        let expected = ["a_X_1", "a_X_2", "b_X_1", "b_X_2", "c_X_5", "c_X_6"];
        assert_eq!(outputs[1], Tensor::from_strings(&[6], &expected).unwrap());
        assert_eq!(outputs[2].to_vec::<i64>().unwrap(), [3, 4]);
    }

    #[test]
    fn row_numbers_must_not_decrease() {
        let attrs = Attrs::new().with("N", 1).with("hashed_output", true);
        let values = tensor(&[2], &[7i64, 8]);
        for rows in [[1i64, 0], [0, 3], [-1, 0]] {
            let indices = tensor(&[2, 2], &[rows[0], 0, rows[1], 0]);
            let error = run(&DEF, &attrs, &[indices, values.clone(), tensor(&[2], &[3i64, 1])]).unwrap_err();
            assert!(error.message().contains("the row numbers indices[.., 0] must not decrease"), "{error}");
        }
    }
}
