//! Dtype rules: the dtypes that an op accepts and the dtypes of its results.

use shapeflow_shape_fns::{Attrs, DType, TensorShape, counted};

use crate::error::{Error, ErrorKind, Phase, Result};

/// Returns the text of a dtype and a shape, such as `f32[n, 3]`; `f32[..]` for unknown rank.
pub(crate) fn type_text(dtype: DType, shape: &TensorShape) -> String {
    format!("{dtype}{shape}")
}

/// A class of dtypes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Class {
    /// Every dtype.
    Any,
    /// Bool, integers and floats.
    Scalar,
    /// Bool, integers, floats and strings.
    ScalarOrString,
    /// Integers and floats.
    Number,
    /// Signed integers and floats.
    Signed,
    Float,
    /// Floats and complex numbers.
    Inexact,
    /// Integers, floats and complex numbers.
    Numeric,
    /// Signed integers, floats and complex numbers.
    SignedNumeric,
    /// Bool, integers, floats, complex numbers and quantized types.
    Equatable,
    /// Bool, integers, floats, complex numbers, quantized types and strings.
    EquatableOrString,
    /// Every dtype whose elements have a fixed size: not string, not variant.
    Fixed,
    /// Every dtype whose elements are bytes: not variant.
    Stored,
    Complex,
    Integer,
    Bool,
    #[cfg_attr(not(feature = "strings"), expect(dead_code))]
    String,
    /// Integers and bool.
    Bits,
}

impl Class {
    pub(crate) fn contains(self, dtype: DType) -> bool {
        let number = dtype.is_integer() || dtype.is_float();
        match self {
            Class::Any => true,
            Class::Scalar => number || dtype == DType::Bool,
            Class::ScalarOrString => number || matches!(dtype, DType::Bool | DType::String),
            Class::Number => number,
            Class::Signed => number && dtype.is_signed(),
            Class::Float => dtype.is_float(),
            Class::Inexact => dtype.is_float() || dtype.is_complex(),
            Class::Numeric => dtype.is_numeric(),
            Class::SignedNumeric => dtype.is_numeric() && dtype.is_signed(),
            Class::EquatableOrString => dtype == DType::String || Class::Equatable.contains(dtype),
            Class::Equatable => dtype == DType::Bool || dtype.is_numeric() || dtype.is_quantized(),
            Class::Fixed => dtype.size_bytes().is_some(),
            Class::Stored => dtype != DType::Variant,
            Class::Complex => dtype.is_complex(),
            Class::Integer => dtype.is_integer(),
            Class::Bool => dtype == DType::Bool,
            Class::String => dtype == DType::String,
            Class::Bits => dtype.is_integer() || dtype == DType::Bool,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Class::Any => "any",
            Class::Scalar => "bool, an integer or a float",
            Class::ScalarOrString => "bool, an integer, a float or a string",
            Class::Number => "an integer or a float",
            Class::Signed => "a signed integer or a float",
            Class::Float => "a float",
            Class::Inexact => "a float or a complex number",
            Class::Numeric => "an integer, a float or a complex number",
            Class::SignedNumeric => "a signed integer, a float or a complex number",
            Class::EquatableOrString => "bool, an integer, a float, a complex number, quantized or a string",
            Class::Equatable => "bool, an integer, a float, a complex number or quantized",
            Class::Fixed => "any but string and variant",
            Class::Stored => "any but variant",
            Class::Complex => "a complex number",
            Class::Integer => "an integer",
            Class::Bool => "bool",
            Class::String => "string",
            Class::Bits => "an integer or bool",
        }
    }

    /// Returns a dtype of the class, as Rust spells it, to which elements of a dtype outside the class can be cast.
    fn example(self, given: DType) -> &'static str {
        match self {
            Class::Integer => "DType::I64",
            Class::Bool | Class::Bits => "DType::Bool",
            Class::Complex if given == DType::F64 => "DType::C128",
            Class::Complex => "DType::C64",
            _ => "DType::F32",
        }
    }
}

/// Returns the names of dtypes for an error message: `i32, f32`.
pub(crate) fn names(dtypes: &[DType]) -> String {
    dtypes.iter().map(|dtype| dtype.name()).collect::<Vec<_>>().join(", ")
}

/// Fails with a `DType` error. The message gives the requirement, then what was got.
pub(crate) fn refuse<T>(message: String) -> Result<T> {
    Err(Error::new(ErrorKind::DType, Phase::Build, message))
}

/// Returns the cast to the float dtype in which TensorFlow divides integers of a dtype.
pub(crate) fn float_cast(integers: DType) -> &'static str {
    match integers {
        DType::I8 | DType::U8 | DType::I16 | DType::U16 => ".cast(DType::F32)",
        _ => ".cast(DType::F64)",
    }
}

/// Fails as [`refuse`] does, with advice.
pub(crate) fn refuse_with_help<T>(message: String, help: String) -> Result<T> {
    refuse(message).map_err(|error| error.with_help(help))
}

/// Returns the common dtype of operands `from..to`, which must be in `class`.
///
/// Operand `from` must be given. Operands missing after it are no error here: the check of the operand count reports
/// them.
pub(crate) fn common(dtypes: &[DType], from: usize, to: usize, class: Class) -> Result<DType> {
    let Some((&first, rest)) = dtypes.get(from..to.min(dtypes.len())).and_then(<[DType]>::split_first) else {
        return refuse(format!("operand {from} must be given, got {}", counted(dtypes.len(), "operand")));
    };
    if let Some((position, &other)) = rest.iter().enumerate().find(|(_, other)| **other != first) {
        let operand = from + 1 + position;
        let message = format!("operands must have one dtype, got {first} and {other}");
        // A cast neither reads nor writes strings.
        return match [first, other].map(|dtype| dtype == DType::String) {
            [true, false] => refuse_with_help(message, string_help(from, operand, other)),
            [false, true] => refuse_with_help(message, string_help(operand, from, first)),
            _ => {
                let mut casts = [(operand, other, first), (from, first, other)];
                // A float loses its fraction as an integer, so the cast of the integer comes first.
                if other.is_float() && !first.is_float() {
                    casts.swap(0, 1);
                }
                // A real number cannot hold a complex one.
                let casts = casts
                    .into_iter()
                    .filter(|(_, given, to)| class.contains(*to) && (to.is_complex() || !given.is_complex()));
                let casts: Vec<(usize, String)> =
                    casts.map(|(operand, _, to)| (operand, spelled(to))).collect();
                match casts.is_empty() {
                    true => refuse(message),
                    false => refuse(message).map_err(|error| error.with_casts(casts)),
                }
            }
        };
    }
    if !class.contains(first) {
        let (name, example) = (class.name(), class.example(first));
        let message = format!("the element type must be {name}, got {first} in operand {from}");
        let is_for_numbers = class.contains(DType::F32) || class.contains(DType::I32);
        if is_for_numbers && let Some(number) = number_of_stored(first) {
            let number = if class.contains(number) { spelled(number) } else { example.to_string() };
            let error = refuse(format!("{first} has no arithmetic: {message}"));
            return error.map_err(|error: Error| error.with_casts(vec![(from, number)]));
        }
        // A cast takes bools, integers and floats, the dtypes of `Class::Scalar`. No cast makes strings.
        return match (first, class) {
            (DType::String, _) if class.contains(DType::F32) || class.contains(DType::I64) => {
                let dtype = if class.contains(DType::F32) { DType::F32 } else { DType::I64 };
                refuse_with_help(message, read_help(from, dtype))
            }
            (_, Class::String) if Class::Scalar.contains(first) => {
                refuse_with_help(message, format!("write operand {from} as text with .as_string()"))
            }
            _ if Class::Scalar.contains(first) => {
                refuse(message).map_err(|error| error.with_casts(vec![(from, example.to_string())]))
            }
            _ => refuse(message),
        };
    }
    Ok(first)
}

/// Returns the dtype in which a program computes with elements of a dtype without arithmetic: f32 for floats of 8 bits,
/// i32 for integers of 4 bits, and `None` for any other dtype.
pub(crate) fn number_of_stored(dtype: DType) -> Option<DType> {
    match dtype {
        DType::F8E5M2 | DType::F8E4M3FN => Some(DType::F32),
        DType::I4 | DType::U4 => Some(DType::I32),
        _ => None,
    }
}

/// Returns advice about a call with a string operand and an operand of `dtype`.
fn string_help(string: usize, other: usize, dtype: DType) -> String {
    let written = format!("write operand {other} as text with .as_string()");
    match dtype {
        DType::F32 | DType::F64 | DType::I32 | DType::I64 | DType::U32 | DType::U64 => {
            format!("{written}, or {}", read_help(string, dtype))
        }
        _ => written,
    }
}

/// Returns advice to read the strings of an operand as numbers.
pub(crate) fn read_help(operand: usize, dtype: DType) -> String {
    format!("read operand {operand} as numbers with .string_to_number({})", spelled(dtype))
}

/// Checks that the operands `from..`, which are indices or parameters, are i32 or i64.
pub(crate) fn check_indices(dtypes: &[DType], from: usize) -> Result<()> {
    let mut parameters = dtypes.iter().enumerate().skip(from);
    match parameters.find(|(_, dtype)| !matches!(dtype, DType::I32 | DType::I64)) {
        Some((operand, other)) => {
            let message = format!("the element type must be i32 or i64, got {other} in operand {operand}");
            match other {
                DType::String => refuse_with_help(message, read_help(operand, DType::I64)),
                _ => refuse(message).map_err(|error| error.with_casts(vec![(operand, spelled(DType::I64))])),
            }
        }
        None => Ok(()),
    }
}

/// Checks that operand `operand`, if it is given, holds indices of 16, 32 or 64 bits.
pub(crate) fn check_narrow_indices(dtypes: &[DType], operand: usize) -> Result<()> {
    match dtypes.get(operand) {
        None | Some(DType::I16 | DType::I32 | DType::I64) => Ok(()),
        Some(other) => {
            let help = match other {
                // As numbers, the elements of a mask are the positions 0 and 1.
                DType::Bool => "boolean_mask selects the elements where a mask is true".to_string(),
                _ => format!("cast operand {operand} with .cast(DType::I64)"),
            };
            refuse_with_help(
                format!("an index must be i16, i32 or i64, got {other} in operand {operand}"),
                help,
            )
        }
    }
}

/// Spells a dtype as Rust code does.
pub(crate) fn spelled(dtype: DType) -> String {
    format!("DType::{dtype:?}")
}

/// Defines modules of dtype rules. A module has one function per class: the first `$data` operands must have one dtype
/// of that class, the remaining operands are structure operands, and `$result` maps the common dtype to the result's
/// dtype.
macro_rules! rules {
    ($($(#[$doc:meta])* $module:ident: $data:literal operands, $result:expr, [$($name:ident $Class:ident),* $(,)?];)*) => {$(
        $(#[$doc])*
        pub(crate) mod $module {
            use super::{Attrs, Class, DType, Result};

            $(pub(crate) fn $name(dtypes: &[DType], _: &Attrs) -> Result<Vec<DType>> {
                let dtype = super::common(dtypes, 0, $data, Class::$Class)?;
                super::check_indices(dtypes, $data)?;
                let result: fn(DType) -> DType = $result;
                Ok(vec![result(dtype)])
            })*
        }
    )*};
}
rules! {
    /// Rules of ops with one data operand. The result has the dtype of the data operand. Structure operands may follow.
    unary: 1 operands, |dtype| dtype, [
        any Any, fixed Fixed, number Number, numeric Numeric,
        signed Signed, float Float, signed_numeric SignedNumeric, inexact Inexact, complex Complex,
        equatable Equatable, boolean Bool, bits Bits, integer Integer,
    ];
    /// Rules of ops with one data operand. A complex operand gives a result of the dtype of its parts; any
    /// other operand gives a result of its own dtype.
    part: 1 operands, |dtype| dtype.part().unwrap_or(dtype), [inexact Inexact, complex Complex];
    /// Rules of ops with one data operand and a bool result.
    predicate: 1 operands, |_| DType::Bool, [float Float];
    /// Rules of ops with one data operand and a u8 result.
    count: 1 operands, |_| DType::U8, [integer Integer];
    /// Rules of ops with two data operands of the same dtype. The result has this dtype. Structure operands may follow.
    binary: 2 operands, |dtype| dtype, [
        number Number, numeric Numeric, float Float, inexact Inexact, integer Integer, boolean Bool, bits Bits,
    ];
    /// Rules of ops with three data operands of the same dtype. The result has this dtype.
    ternary: 3 operands, |dtype| dtype, [numeric Numeric, float Float];
    /// Rules of ops with two data operands of the same dtype and a bool result.
    comparison: 2 operands, |_| DType::Bool, [
        equatable_or_string EquatableOrString, number Number, float Float,
    ];
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(result: Result<Vec<DType>>) -> String {
        result.unwrap_err().message().to_string()
    }

    #[test]
    fn an_unknown_rank_has_its_own_text() {
        let text = |shape: &str| type_text(DType::F32, &shape.parse().unwrap());
        assert_eq!(["[n, 3]", "[]", "?"].map(text), ["f32[n, 3]", "f32[]", "f32[..]"]);
    }

    #[test]
    fn messages_give_the_requirement_first() {
        let none = Attrs::default();
        assert_eq!(binary::number(&[DType::F32, DType::F32], &none).unwrap(), [DType::F32]);
        assert_eq!(
            comparison::equatable_or_string(&[DType::Bool, DType::Bool], &none).unwrap(),
            [DType::Bool]
        );
        assert_eq!(
            message(binary::number(&[DType::F32, DType::F64], &none)),
            "operands must have one dtype, got f32 and f64"
        );
        assert_eq!(
            message(unary::float(&[DType::I32], &none)),
            "the element type must be a float, got i32 in operand 0"
        );
        assert_eq!(
            message(unary::number(&[DType::F32, DType::F32], &none)),
            "the element type must be i32 or i64, got f32 in operand 1"
        );
        assert_eq!(message(unary::any(&[], &none)), "operand 0 must be given, got 0 operands");
    }
}
