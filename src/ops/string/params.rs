//! Access to the operands and attributes of string ops.

use shapeflow_shape_fns::{Attrs, DType, ShapeError, counted};

use crate::dtype::{self, Class};
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::op::HostCx;
use crate::tensor::{Strings, StringsBuilder, Tensor, place_text};

/// Turns an error about an attribute into an error of a shape function. Shape functions check the attributes when a
/// graph is built.
///
/// # Errors
/// The error of `checked`.
pub(super) fn in_shape_fn<T>(checked: Result<T>) -> shapeflow_shape_fns::Result<T> {
    checked.map_err(|error| ShapeError::new(error.message().to_string()))
}

/// Makes an error about an attribute.
pub(super) fn attribute_error(message: String) -> Error {
    Error::new(ErrorKind::Attribute, Phase::Build, message)
}

/// Makes an error about an element.
pub(super) fn value_error(message: String) -> Error {
    Error::new(ErrorKind::Data, Phase::Run, message)
}

/// Quotes a string for a message.
pub(super) fn quoted(bytes: &[u8]) -> String {
    format!("{:?}", String::from_utf8_lossy(bytes))
}

/// Returns the strings of input `i`.
///
/// # Errors
/// There is no input `i`, or its elements are not strings.
pub(super) fn strings<'a>(cx: &HostCx<'a>, i: usize) -> Result<Strings<'a>> {
    cx.input(i)?.as_strings()
}

/// Returns the only string of input `i`, which must be a scalar.
///
/// # Errors
/// Input `i` is not a scalar string.
pub(super) fn scalar<'a>(cx: &HostCx<'a>, i: usize) -> Result<&'a [u8]> {
    let given = strings(cx, i)?;
    given.get(0).filter(|_| given.len() == 1).ok_or_else(|| {
        let message = format!("operand {i} must be a scalar, got {}", counted(given.len(), "string"));
        Error::new(ErrorKind::Shape, Phase::Run, message)
    })
}

/// Returns the integers of input `i`, i32 or i64, as i64.
///
/// # Errors
/// The elements are neither i32 nor i64.
pub(super) fn ints(cx: &HostCx<'_>, i: usize) -> Result<Vec<i64>> {
    let given = cx.input(i)?;
    match given.dtype() {
        DType::I32 => Ok(given.to_vec::<i32>()?.into_iter().map(i64::from).collect()),
        _ => given.to_vec::<i64>(),
    }
}

/// Makes a tensor of integers of `dtype`, i32 or i64.
///
/// # Errors
/// An integer does not fit `dtype`, or memory is refused.
pub(super) fn int_tensor(dtype: DType, sizes: &[usize], ints: &[i64]) -> Result<Tensor> {
    if dtype == DType::I64 {
        return Tensor::from_slice(sizes, ints);
    }
    let narrow = |int: &i64| {
        i32::try_from(*int).map_err(|_| value_error(format!("an offset must fit i32, got {int}")))
    };
    Tensor::from_vec(sizes, ints.iter().map(narrow).collect::<Result<_>>()?)
}

/// Sets output 0 to the strings that `f` appends to the builder, one for each string of input 0.
///
/// # Errors
/// `f` fails, or memory is refused.
pub(super) fn map(
    cx: &mut HostCx<'_>,
    mut f: impl FnMut(&[u8], &mut StringsBuilder) -> Result<()>,
) -> Result<()> {
    let (x, view) = (strings(cx, 0)?, cx.input(0)?);
    let mut made = StringsBuilder::with_capacity(x.len(), x.byte_len())?;
    for (position, string) in x.iter().enumerate() {
        f(string, &mut made).map_err(|error| match error.kind() {
            ErrorKind::Memory => error,
            _ => error.in_element(0, &place_text(position, view.sizes())),
        })?;
        made.end()?;
    }
    cx.set_output(0, made.finish(view.sizes())?)
}

/// Checks that the first `count` operands are strings, as a dtype rule does.
///
/// # Errors
/// An operand has another dtype.
pub(super) fn check_strings(operands: &[DType], count: usize) -> Result<()> {
    dtype::common(operands, 0, count, Class::String).map(|_| ())
}

/// The dtype rule of an op of strings that gives strings.
pub(super) fn string_to_string(operands: &[DType], _: &Attrs) -> Result<Vec<DType>> {
    check_strings(operands, operands.len().max(1))?;
    Ok(vec![DType::String])
}

/// Whether positions count bytes or UTF-8 characters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Unit {
    Byte,
    Utf8Char,
}

/// Returns attribute `unit`.
///
/// # Errors
/// The attribute is neither `BYTE` nor `UTF8_CHAR`.
pub(super) fn unit(attrs: &Attrs) -> Result<Unit> {
    match attrs.str("unit") {
        "BYTE" => Ok(Unit::Byte),
        "UTF8_CHAR" => Ok(Unit::Utf8Char),
        other => Err(attribute_error(format!("unit must be \"BYTE\" or \"UTF8_CHAR\", got {other:?}"))),
    }
}

/// Returns whether a byte continues a UTF-8 character.
pub(super) fn is_trail(byte: u8) -> bool {
    byte & 0xc0 == 0x80
}
