//! `decode_raw`: the bytes of strings as numbers.

use shapeflow_shape_fns::{Attribute, Attrs, DType, counted};

use super::params::{check_strings, strings, value_error};
use crate::dtype;
use crate::error::Result;
use crate::graph::{IntoParam, Value};
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::ops::host_params::param_sizes;
use crate::tensor::size_of_element;

impl<'g> Value<'g> {
    /// Reads the bytes of each string as little-endian elements of `dtype`.
    ///
    /// `string[a..] -> dtype[a.., u]`; all strings have one length, a multiple of the size of an element. `dtype` is
    /// bool, an integer, a float or complex; a bool is true if its byte is not 0. As TensorFlow's `DecodeRaw`; imported
    /// graphs may read big-endian elements. Runs on the host.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant(["ab", "cd"])?.decode_raw(DType::U8)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([[97u8, 98], [99, 100]]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The elements are not strings, or `dtype` is not supported. Strings of other lengths fail the run.
    #[doc(alias = "frombuffer")]
    #[track_caller]
    pub fn decode_raw(self, dtype: DType) -> Result<Value<'g>> {
        self.graph().op(&DEF).data(self).attr("out_type", dtype).finish()
    }

    /// Reads the first `length` bytes of each string as little-endian elements of `dtype`. Zeros follow a shorter
    /// string.
    ///
    /// `string[a..] -> dtype[a.., length / b]`, where `b` is the size of an element in bytes and divides `length`. As
    /// TensorFlow's `DecodePaddedRaw`; else as [`Value::decode_raw`]. Runs on the host.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant(["ab", "c"])?.decode_padded_raw(2, DType::U8)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([[97u8, 98], [99, 0]]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The elements are not strings, `dtype` is not supported, or `length` is not a multiple of `b`. A length of 0
    /// fails the run.
    #[track_caller]
    pub fn decode_padded_raw(self, length: impl IntoParam<'g>, dtype: DType) -> Result<Value<'g>> {
        self.graph().op(&PADDED).data(self).size("fixed_length", length).attr("out_type", dtype).finish()
    }
}

pub(crate) static DEF: OpDef = OpDef::host("decode_raw", run)
    .attrs(&[Attribute::dtype("out_type"), Attribute::bool_or("little_endian", true)])
    .operands(&[Operand::Data("bytes")])
    .shape_fn(shapeflow_shape_fns::string::decode_raw)
    .dtype_rule(|operands, attrs| {
        check_strings(operands, 1)?;
        out_type(attrs).map(|dtype| vec![dtype])
    })
    .tensorflow(&[TfOp::new("DecodeRaw")]);

fn out_type(attrs: &Attrs) -> Result<DType> {
    match attrs.dtype("out_type") {
        dtype if dtype == DType::Bool || dtype.is_numeric() || dtype.is_float8() => Ok(dtype),
        other => dtype::refuse(format!("out_type must be bool, an integer, a float or complex, got {other}")),
    }
}

pub(crate) static PADDED: OpDef = OpDef::host("decode_padded_raw", run_padded)
    .attrs(&[Attribute::dtype("out_type"), Attribute::bool_or("little_endian", true)])
    .operands(&[Operand::Data("input_bytes"), Operand::Size("fixed_length")])
    .shape_fn(shapeflow_shape_fns::string::decode_padded_raw)
    .dtype_rule(|operands, attrs| {
        check_strings(operands, 1)?;
        dtype::check_indices(operands, 1)?;
        out_type(attrs).map(|dtype| vec![dtype])
    })
    .tensorflow(&[TfOp::new("DecodePaddedRaw")]);

fn run_padded(cx: &mut HostCx<'_>) -> Result<()> {
    let (x, dtype) = (strings(cx, 0)?, out_type(cx.attrs())?);
    let size = size_of_element(dtype)?;
    let length = param_sizes(cx, "fixed_length", 1)?.first().copied().unwrap_or(0);
    if length == 0 || !length.is_multiple_of(size) {
        let message = format!(
            "fixed_length must be a positive multiple of {size}, got {length}",
            size = counted(size, "byte")
        );
        return Err(value_error(message));
    }
    let sizes = [cx.input(0)?.sizes(), &[length / size]].concat();
    let is_little = cx.attrs().bool("little_endian");
    let mut numbers = cx.output(0, &sizes)?;
    let target = numbers.bytes_mut();
    for (to, string) in target.chunks_exact_mut(length).zip(x.iter()) {
        let kept = string.len().min(length);
        to[..kept].copy_from_slice(&string[..kept]);
    }
    as_elements(target, dtype, size, is_little);
    Ok(())
}

/// Turns bytes of a byte order into elements of the order of this machine.
fn as_elements(bytes: &mut [u8], dtype: DType, size: usize, is_little: bool) {
    if dtype == DType::Bool {
        bytes.iter_mut().for_each(|byte| *byte = u8::from(*byte != 0));
    }
    if is_little != cfg!(target_endian = "little") {
        let unit = if dtype.is_complex() { size / 2 } else { size };
        bytes.chunks_exact_mut(unit).for_each(<[u8]>::reverse);
    }
}

fn run(cx: &mut HostCx<'_>) -> Result<()> {
    let (x, dtype) = (strings(cx, 0)?, out_type(cx.attrs())?);
    let is_little = cx.attrs().bool("little_endian");
    let size = size_of_element(dtype)?;
    let length = x.get(0).map_or(0, <[u8]>::len);
    if let Some(other) = x.iter().find(|string| string.len() != length) {
        let got = other.len();
        return Err(value_error(format!("all strings must have one length, got {length} and {got}")));
    }
    if !length.is_multiple_of(size) {
        return Err(value_error(format!(
            "the length of the strings must be a multiple of {size}, the size of {dtype}, got {length}",
            size = counted(size, "byte")
        )));
    }
    let sizes = [cx.input(0)?.sizes(), &[length / size]].concat();
    let mut numbers = cx.unfilled_output(0, &sizes)?;
    let target = numbers.bytes_mut();
    for (to, string) in target.chunks_exact_mut(length.max(1)).zip(x.iter()) {
        to.copy_from_slice(string);
    }
    as_elements(target, dtype, size, is_little);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::shape_table;

    shape_table! { DEF, {"out_type": DType::I4},
        "string[n]" => error "out_type must be bool, an integer, a float or complex, got i4",
    }
    shape_table! { lists: DEF, {"out_type": DType::Variant},
        "string[n]" => error "out_type must be bool, an integer, a float or complex, got variant",
    }
}
