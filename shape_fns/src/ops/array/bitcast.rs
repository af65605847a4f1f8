//! `bitcast(x, dtype)`: reinterprets the bytes of `x` as another element type.

use crate::{DType, Dim, InferenceContext, Result, ShapeError, TensorShape};

/// Keeps the shape if both types have the same width. A type `k` times narrower appends an axis of size `k`; a type
/// `k` times wider drops a last axis of size `k`. Attribute `dtype` is the new type.
///
/// # Errors
/// A type has no fixed size, neither width is a multiple of the other width, or the last dimension provably differs
/// from `k`.
pub fn bitcast(cx: &mut InferenceContext<'_>) -> Result<()> {
    let (Some(from), to) = (cx.input_dtype(0), cx.dtype("dtype")?) else { return Ok(()) };
    let (from_bytes, to_bytes) = (element_bytes(from)?, element_bytes(to)?);
    let shape = cx.input(0).clone();
    if from_bytes == to_bytes {
        cx.set_output(0, shape);
        return Ok(());
    }
    let (wide, narrow) = (from_bytes.max(to_bytes), from_bytes.min(to_bytes));
    if wide % narrow != 0 {
        return Err(ShapeError::new(format_args!(
            "one element size must be a multiple of the other, got {from_bytes} and {to_bytes} bytes"
        )));
    }
    let Some(dims) = shape.dims() else { return Ok(()) };
    let ratio = Dim::known((wide / narrow) as i64);
    let output = if to_bytes < from_bytes {
        TensorShape::new(dims.iter().cloned().chain([ratio]))
    } else {
        let Some((last, rest)) = dims.split_last() else {
            return Err(cx.blame(0, format_args!("must have a last axis of size {ratio}, got a scalar")));
        };
        cx.merge(last, &ratio).map_err(|_| {
            cx.blame(0, format_args!("must have a last axis of size {ratio}, got {last} in {shape}"))
        })?;
        TensorShape::from(rest)
    };
    cx.set_output(0, output);
    Ok(())
}

/// Returns the width of an element in bytes.
fn element_bytes(dtype: DType) -> Result<usize> {
    dtype
        .size_bytes()
        .ok_or_else(|| ShapeError::new(format_args!("bitcast must have types of a fixed size, got {dtype}")))
}

#[cfg(test)]
mod tests {
    use super::bitcast;
    use crate::DType;
    use crate::testing::shape_table;

    shape_table! { shapes: bitcast, ["x"];
        {dtype: DType::I32} "[n]" => "[n]";
        {dtype: DType::U8} "[n]" => "[n, 4]";
        {dtype: DType::F64} "[n, ?]" => "[n]";
        {dtype: DType::F64} "?" => "?";
        {dtype: DType::F64} "[3]" => "error x must have a last axis of size 2, got 3 in [3]";
        {dtype: DType::F64} "[]" => "error got a scalar";
        {dtype: DType::String} "[]" => "error types of a fixed size, got string";
    }
}
