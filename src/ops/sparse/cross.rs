//! `sparse_cross`, `sparse_cross_text` and `sparse_cross_hashed`: all combinations of the features of each row, as
//! hashes or as strings.

use shapeflow_shape_fns::{Attribute, Attrs, DType, counted};

use super::cross_features::{Hashing, features_of, sparse_features};
use super::operand::refuse;
use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::ops::fingerprint::join_fingerprints;
use crate::ops::integers::ints;
use crate::ops::row_major::RowMajor;
use crate::tensor::{Tensor, reserved_vec};

/// An op for import only. The operands are the indices of `N` sparse matrices, their values, their shapes, and any
/// number of dense matrices. Each matrix holds a feature of each row, with any number of values.
///
/// The result is a sparse matrix. Row `b` has an element for each combination of one value of every feature in row `b`;
/// the last feature changes fastest. An element is a hash modulo `num_buckets`, or, without `hashed_output`, the values
/// as text with `_X_` between them.
pub(crate) static DEF: OpDef = OpDef::host("sparse_cross", |cx| {
    let content = if is_hashed(cx.attrs()) {
        let start = cx.attrs().int("hash_key").cast_unsigned();
        CrossElement::Hashes { buckets: cx.attrs().int("num_buckets"), hashing: Hashing::Joined { start } }
    } else {
        CrossElement::Texts { separator: b"_X_".to_vec() }
    };
    run(cx, cx.inputs(), &content)
})
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

/// An op for import only: does the same as [`DEF`] without `hashed_output`, with the scalar `sep` between the values.
pub(crate) static TEXT: OpDef = OpDef::host("sparse_cross_text", |cx| {
    let features = cx.inputs() - 1;
    let separator = match cx.input(features)?.as_strings()? {
        separator if separator.len() == 1 => separator.at(0).to_vec(),
        separator => {
            return refuse(format!("sep must be one string, got {}", counted(separator.len(), "string")));
        }
    };
    run(cx, features, &CrossElement::Texts { separator })
})
.attrs(&[Attribute::int("N")])
.operands(&[Operand::Variadic("operands.."), Operand::Data("sep")])
.outputs(|_, _| 3)
.shape_fn(shapeflow_shape_fns::sparse::cross)
.dtype_rule(|operands, attrs| {
    trailing(operands, &[("sep", DType::String)]).and_then(|features| feature_dtypes(features, attrs))?;
    Ok(vec![DType::I64, DType::String, DType::I64])
})
.tensorflow(&[TfOp::new("SparseCrossV2")]);

/// An op for import only: does the same as [`DEF`] with `hashed_output`, but the hash starts with the first feature.
/// Scalar `num_buckets` is the number of buckets. With scalar `strong_hash`, the hash of a string is SipHash-2-4 with
/// the two numbers of `salt` as its key, else its fingerprint. A sparse integer is hashed as the string of its lowest 4
/// bytes, as TensorFlow does, and the hash of a dense integer is its bits.
pub(crate) static HASHED: OpDef = OpDef::host("sparse_cross_hashed", |cx| {
    let features = cx.inputs() - 3;
    let [buckets] = fixed("num_buckets", &numbers(cx, features)?)?;
    let [is_strong] = fixed("strong_hash", cx.input(features + 1)?.as_slice::<bool>()?)?;
    let salt = fixed::<i64, 2>("salt", &numbers(cx, features + 2)?)?;
    let key = is_strong.then_some(salt.map(i64::cast_unsigned));
    run(cx, features, &CrossElement::Hashes { buckets, hashing: Hashing::Keyed { key } })
})
.attrs(&[Attribute::int("N")])
.operands(&[
    Operand::Variadic("operands.."),
    Operand::Data("num_buckets"),
    Operand::Data("strong_hash"),
    Operand::Data("salt"),
])
.outputs(|_, _| 3)
.shape_fn(shapeflow_shape_fns::sparse::cross)
.dtype_rule(|operands, attrs| {
    let options = [("num_buckets", DType::I64), ("strong_hash", DType::Bool), ("salt", DType::I64)];
    trailing(operands, &options).and_then(|features| feature_dtypes(features, attrs))?;
    Ok(vec![DType::I64; 3])
})
.tensorflow(&[TfOp::new("SparseCrossHashed")]);

/// What an element of the result is.
enum CrossElement {
    /// A hash modulo `buckets`.
    Hashes { buckets: i64, hashing: Hashing },
    /// The values as text, with a separator between them.
    Texts { separator: Vec<u8> },
}

/// Returns the elements of an operand of integers.
fn numbers(cx: &HostCx<'_>, operand: usize) -> Result<Vec<i64>> {
    Ok(ints(&RowMajor::new(cx.input(operand)?)?.view()))
}

/// Returns the elements of an operand that must have `N` elements.
fn fixed<T: Copy, const N: usize>(name: &str, elements: &[T]) -> Result<[T; N]> {
    match elements.try_into() {
        Ok(elements) => Ok(elements),
        Err(_) => refuse(format!("{name} must have {N} elements, got {}", elements.len())),
    }
}

/// Returns the dtypes of the operands before the last ones, which are options.
///
/// # Errors
/// An option is absent or has another dtype.
fn trailing<'a>(operands: &'a [DType], options: &[(&str, DType)]) -> Result<&'a [DType]> {
    let Some(features) = operands.len().checked_sub(options.len()) else {
        return dtype::refuse(format!(
            "there must be {}, got {}",
            counted(options.len(), "operand"),
            operands.len()
        ));
    };
    let (features, got) = operands.split_at(features);
    for ((name, expected), got) in options.iter().zip(got) {
        if got != expected {
            return dtype::refuse(format!("{name} must be {expected}, got {got}"));
        }
    }
    Ok(features)
}

fn is_hashed(attrs: &Attrs) -> bool {
    attrs.bool("hashed_output")
}

fn dtypes(operands: &[DType], attrs: &Attrs) -> Result<Vec<DType>> {
    feature_dtypes(operands, attrs)?;
    let buckets = attrs.int("num_buckets");
    if buckets < 0 {
        let message = format!("num_buckets must be at least 0, got {buckets}");
        return Err(Error::new(ErrorKind::Attribute, Phase::Build, message));
    }
    let value = if is_hashed(attrs) { DType::I64 } else { DType::String };
    Ok(vec![DType::I64, value, DType::I64])
}

/// Checks the dtypes of the operands that are features.
fn feature_dtypes(operands: &[DType], attrs: &Attrs) -> Result<()> {
    let count = sparse_features(attrs, operands.len())?;
    for (number, dtype) in operands.iter().enumerate() {
        let is_feature = (count..2 * count).contains(&number) || number >= 3 * count;
        if *dtype != DType::I64 && !(is_feature && *dtype == DType::String) {
            let expected = if is_feature { "i64 or string" } else { "i64" };
            return dtype::refuse(format!("operand {number} must be {expected}, got {dtype}"));
        }
    }
    Ok(())
}

/// Returns the number of combinations of one value of each feature; `None` if it does not fit.
pub(crate) fn combinations(counts: impl Iterator<Item = usize> + Clone) -> Option<usize> {
    if counts.clone().any(|count| count == 0) {
        return Some(0);
    }
    counts.into_iter().try_fold(1usize, usize::checked_mul)
}

/// Crosses the features that the first `operands` operands hold.
fn run(cx: &mut HostCx<'_>, operands: usize, content: &CrossElement) -> Result<()> {
    let inputs: Vec<RowMajor<'_>> =
        (0..operands).map(|operand| RowMajor::new(cx.input(operand)?)).collect::<Result<_>>()?;
    let (features, rows) = features_of(&inputs, sparse_features(cx.attrs(), operands)?)?;
    let crossed = |row: usize| combinations(features.iter().map(|feature| feature.row(row).len()));
    let total = (0..rows).try_fold(0usize, |total, row| total.checked_add(crossed(row)?));
    let total = total.unwrap_or(usize::MAX);
    let (mut indices, mut longest) = (reserved_vec(total.saturating_mul(2))?, 0);
    let (mut hashes, mut texts) = match content {
        CrossElement::Hashes { .. } => (reserved_vec(total)?, Vec::new()),
        CrossElement::Texts { .. } => (Vec::new(), reserved_vec(total)?),
    };
    let mut chosen = vec![0; features.len()];
    for row in 0..rows {
        let combinations = crossed(row).expect("the total has been computed");
        longest = longest.max(combinations);
        for (position, feature) in chosen.iter_mut().zip(&features) {
            *position = feature.row(row).start;
        }
        for number in 0..combinations {
            indices.extend([row as i64, number as i64]);
            match content {
                CrossElement::Hashes { buckets, hashing } => {
                    let mut hash = if let Hashing::Joined { start } = hashing { Some(*start) } else { None };
                    for (position, feature) in chosen.iter().zip(&features) {
                        let next = feature.hash(*position, *hashing)?;
                        hash = Some(hash.map_or(next, |hash| join_fingerprints(hash, next)));
                    }
                    // Without buckets, the hash is taken modulo `i64::MAX`, so that it fits i64.
                    let modulus = if *buckets > 0 { *buckets } else { i64::MAX };
                    hashes.push((hash.unwrap_or(0) % modulus.unsigned_abs()).cast_signed());
                }
                CrossElement::Texts { separator } => {
                    let mut text = Vec::new();
                    for (number, (position, feature)) in chosen.iter().zip(&features).enumerate() {
                        text.extend_from_slice(if number == 0 { b"" } else { separator });
                        feature.append(*position, &mut text)?;
                    }
                    texts.push(text);
                }
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
    cx.set_output(0, Tensor::from_slice(&[total, 2], &indices)?)?;
    let values = match content {
        CrossElement::Hashes { .. } => Tensor::from_slice(&[total], &hashes)?,
        CrossElement::Texts { .. } => Tensor::from_strings(&[total], &texts)?,
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
        "i64[n, 2]; string[n]" => error "there must be 3 operands for each of 1 sparse feature, got 2",
    }

    mod text {
        use super::*;

        shape_table! { TEXT, {"N": 1},
            "i64[n, 2]; string[n]; i64[2]; i64[b, 1]; string[]" => "[?, 2]; [?]; [2]",
            "i64[n, 2]; string[n]; i64[2]; i64[]" => error "sep must be string, got i64",
        }
    }

    mod hashed {
        use super::*;

        shape_table! { HASHED, {"N": 1},
            "i64[n, 2]; string[n]; i64[2]; i64[]; bool[]; i64[2]" => "[?, 2]; [?]; [2]",
            "i64[n, 2]; f32[n]; i64[2]; i64[]; bool[]; i64[2]" => error "operand 1 must be i64 or string, got f32",
        }
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
        // More rows than any memory holds.
        let shape = tensor(&[2], &[1i64 << 45, 1]);
        let operands = [tensor(&[1, 2], &[0i64, 0]), tensor(&[1], &[7i64]), shape];
        assert_eq!(run(&DEF, &attrs, &operands).unwrap_err().kind(), ErrorKind::Memory);
    }

    #[test]
    fn more_rows_or_combinations_than_memory_holds_are_refused() {
        let attrs = Attrs::new().with("N", 1).with("hashed_output", true);
        let (indices, values) = (tensor(&[1, 2], &[0i64, 0]), tensor(&[1], &[7i64]));
        let error = run(&DEF, &attrs, &[indices, values, tensor(&[2], &[1i64 << 60, 1])]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Memory, "{error}");
        let attrs = Attrs::new().with("N", 0).with("hashed_output", true);
        let wide = tensor(&[1, 1 << 16], &[7i64; 1 << 16]);
        for count in [4, 5] {
            let error = run(&DEF, &attrs, &vec![wide.clone(); count]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Memory, "{error}");
        }
        let count = Attrs::new().with("N", i64::MAX).with("hashed_output", true);
        assert!(run(&DEF, &count, &[wide]).is_err());
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
