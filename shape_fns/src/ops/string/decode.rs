//! Ops that convert strings to numbers: raw bytes, comma-separated fields, fingerprints.

use crate::{Dim, Guard, InferenceContext, Result, TensorShape, counted};

/// `bytes[a..] -> [a.., u]`, where `u` depends on the data.
///
/// # Errors
/// Never fails.
pub fn decode_raw(cx: &mut InferenceContext<'_>) -> Result<()> {
    let numbers = cx.fresh();
    let output = cx.input(0).concatenate(&TensorShape::new([numbers]));
    cx.set_output(0, output);
    Ok(())
}

/// `input_bytes[a..], fixed_length=n -> [a.., n/b]`, where `b` is the size of an `out_type` in bytes.
///
/// # Errors
/// `fixed_length` is negative, not a scalar, or provably not a multiple of `b`.
pub fn decode_padded_raw(cx: &mut InferenceContext<'_>) -> Result<()> {
    let known = cx.attr("fixed_length").is_some()
        || cx.operand("fixed_length").is_some_and(|index| cx.input_value(index).is_some());
    let length = cx.make_dim_for_scalar_input("fixed_length")?;
    let bytes = cx.attr("out_type").map(|_| cx.dtype("out_type")).transpose()?.and_then(|to| to.size_bytes());
    let numbers = match bytes.and_then(|bytes| i64::try_from(bytes).ok()).map(Dim::known) {
        Some(bytes) if known => {
            cx.require(Guard::Divides { divisor: bytes.clone(), dividend: length.clone() }).map_err(
                |_| {
                    cx.blame_param(
                        "fixed_length",
                        format_args!(
                            "must be a multiple of {bytes}, the size of an element, got {length}",
                            bytes = counted(&bytes, "byte")
                        ),
                    )
                },
            )?;
            cx.floordiv(&length, &bytes)?
        }
        _ => cx.fresh(),
    };
    let output = cx.input(0).concatenate(&TensorShape::new([numbers]));
    cx.set_output(0, output);
    Ok(())
}

/// Gives all outputs the shape of the records. A default is a scalar or a vector of at most one element.
///
/// # Errors
/// A default has more axes or more elements.
pub fn decode_csv(cx: &mut InferenceContext<'_>) -> Result<()> {
    for index in 1..cx.len() {
        let default = cx.with_rank_at_most(index, 1)?;
        if let Some(count) = default.dim(0).and_then(Dim::as_known).filter(|count| *count > 1) {
            return Err(cx.blame(index, format_args!("must have at most one element, got {count}")));
        }
    }
    let records = cx.input(0).clone();
    for output in 0..cx.outputs() {
        cx.set_output(output, records.clone());
    }
    Ok(())
}

/// `data[n, a..], method[] -> [n, 8]`: eight bytes per row.
///
/// # Errors
/// `data` is a scalar, or `method` is not a scalar.
pub fn fingerprint(cx: &mut InferenceContext<'_>) -> Result<()> {
    let data = cx.with_rank_at_least(0, 1)?;
    cx.scalar(1)?;
    let rows = match data.dim(0) {
        Some(rows) => rows.clone(),
        None => cx.fresh(),
    };
    cx.set_output(0, TensorShape::new([rows, Dim::known(8)]));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{decode_csv, decode_padded_raw, decode_raw, fingerprint};
    use crate::DType;
    use crate::testing::shape_table;

    shape_table! { raw: decode_raw, ["bytes"];
        {} "string [5, ?]" => "[5, d0_1, ?]";
        {} "string ?" => "?";
    }
    shape_table! { padded: decode_padded_raw, ["input_bytes", "fixed_length"];
        {out_type: DType::F32} "string [n]; i32 [] = 8" => "[n, 2]";
        {out_type: DType::I8} "string [n]; i32 [] = m" => "[n, m]";
        {out_type: DType::F32} "string [n]; i32 [] = m" => "[n, floordiv(m, 4)] if 4 divides m";
        {out_type: DType::F32} "string [n]; i32 []" => "[n, ?]";
        {out_type: DType::F32} "string [n]; i32 [] = 7" => "error fixed_length must be a multiple of 4 bytes, the size of an element, got 7";
    }
    shape_table! { fields: decode_csv, ["records", "record_defaults.."];
        {} "string [5, n]; []; [1]" => "[5, n]; [5, n]";
        {} "string [5]; [2]" => "error operand 1 must have at most one element, got 2";
        {} "string [5]; [1, 1]" => "error must have rank at most 1";
    }
    shape_table! { hashes: fingerprint, ["data", "method"];
        {} "[?, 2]; string []" => "[d0_0, 8]";
        {} "?; ?" => "[?, 8]";
        {} "[]; ?" => "error data must have rank at least 1";
    }
}
