//! Dtype rules: which element types an op takes, and which its results have.

use shapeflow_shape_fns::{Attr, Attrs, DType};

use crate::error::{Error, ErrorKind, Phase, Result};

/// A class of element types.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Class {
    /// Whatever can be moved.
    Any,
    /// Whatever can be computed with: bool, integers, floats.
    Scalar,
    /// Integers and floats.
    Number,
    /// Integers and floats that have a sign.
    Signed,
    Float,
    Integer,
    Bool,
    /// Integers and bool.
    Bits,
}

impl Class {
    fn holds(self, dtype: DType) -> bool {
        let number = dtype.is_integer() || dtype.is_float();
        match self {
            Class::Any => true,
            Class::Scalar => number || dtype == DType::Bool,
            Class::Number => number,
            Class::Signed => number && dtype.is_signed(),
            Class::Float => dtype.is_float(),
            Class::Integer => dtype.is_integer(),
            Class::Bool => dtype == DType::Bool,
            Class::Bits => dtype.is_integer() || dtype == DType::Bool,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Class::Any => "any",
            Class::Scalar => "bool, an integer or a float",
            Class::Number => "an integer or a float",
            Class::Signed => "a signed integer or a float",
            Class::Float => "a float",
            Class::Integer => "an integer",
            Class::Bool => "bool",
            Class::Bits => "an integer or bool",
        }
    }

    fn example(self) -> &'static str {
        match self {
            Class::Integer => "DType::I64",
            Class::Bool | Class::Bits => "DType::Bool",
            _ => "DType::F32",
        }
    }
}

/// An error about element types: requirement first, then what was got.
pub(crate) fn refuse<T>(message: String) -> Result<T> {
    Err(Error::new(ErrorKind::DType, Phase::Build, message))
}

/// As [`refuse`], with what to do about it.
pub(crate) fn refuse_with_help<T>(message: String, help: String) -> Result<T> {
    refuse(message).map_err(|error| error.with_help(help))
}

/// The one dtype of operands `from..to`, which must be of `class`.
///
/// An op that is called with fewer operands is refused elsewhere.
pub(crate) fn common(dtypes: &[DType], from: usize, to: usize, class: Class) -> Result<DType> {
    let Some((&first, rest)) = dtypes.get(from..to.min(dtypes.len())).and_then(<[DType]>::split_first) else {
        return refuse(format!("operand {from} must be given, got {} operands", dtypes.len()));
    };
    if let Some(at) = rest.iter().position(|other| *other != first) {
        let (other, at) = (rest.get(at).copied().unwrap_or(first), from + 1 + at);
        return refuse_with_help(
            format!("operands must have one dtype, got {first} and {other}"),
            format!(
                "cast operand {at} with .cast({}), or operand {from} with .cast({})",
                spelled(first),
                spelled(other)
            ),
        );
    }
    if !class.holds(first) {
        let (name, example) = (class.name(), class.example());
        let message = format!("the element type must be {name}, got {first} in operand {from}");
        // Text has no cast.
        return match Class::Scalar.holds(first) {
            true => refuse_with_help(message, format!("cast operand {from} with .cast({example})")),
            false => refuse(message),
        };
    }
    Ok(first)
}

/// Parameters that are fed, operands `from..`, must be integers that can be an index.
pub(crate) fn indices(dtypes: &[DType], from: usize) -> Result<()> {
    let mut parameters = dtypes.iter().enumerate().skip(from);
    match parameters.find(|(_, dtype)| !matches!(dtype, DType::I32 | DType::I64)) {
        Some((at, other)) => {
            let message = format!("a parameter must be i32 or i64, got {other} in operand {at}");
            refuse_with_help(message, format!("cast operand {at} with .cast(DType::I64)"))
        }
        None => Ok(()),
    }
}

/// A dtype as a program writes it.
pub(crate) fn spelled(dtype: DType) -> String {
    format!("DType::{dtype:?}")
}

/// A dtype attribute.
pub(crate) fn attribute(attrs: &Attrs, name: &str) -> Result<Option<DType>> {
    match attrs.get(name) {
        None => Ok(None),
        Some(Attr::DType(dtype)) => Ok(Some(*dtype)),
        Some(other) => refuse(format!("{name} must be a dtype, got {other}")),
    }
}

macro_rules! rules {
    ($($(#[$doc:meta])* $module:ident: $data:literal operands, $result:expr, [$($name:ident $Class:ident),* $(,)?];)*) => {$(
        $(#[$doc])*
        pub(crate) mod $module {
            use super::{Attrs, Class, DType, Result};

            $(pub(crate) fn $name(dtypes: &[DType], _: &Attrs) -> Result<Vec<DType>> {
                let dtype = super::common(dtypes, 0, $data, Class::$Class)?;
                super::indices(dtypes, $data)?;
                let result: fn(DType) -> DType = $result;
                Ok(vec![result(dtype)])
            })*
        }
    )*};
}
rules! {
    /// Rules of ops with one data operand and the result of its dtype; fed parameters may follow.
    unary: 1 operands, |dtype| dtype, [
        any Any, scalar Scalar, number Number, signed Signed, float Float, boolean Bool, bits Bits,
    ];
    /// Rules of ops with two data operands of one dtype, which is the result's.
    binary: 2 operands, |dtype| dtype, [
        number Number, float Float, integer Integer, boolean Bool, bits Bits,
    ];
    /// Rules of ops with three data operands of one dtype, which is the result's.
    ternary: 3 operands, |dtype| dtype, [number Number];
    /// Rules of ops with two data operands of one dtype and a bool result.
    comparison: 2 operands, |_| DType::Bool, [scalar Scalar, number Number];
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(result: Result<Vec<DType>>) -> String {
        result.unwrap_err().message().to_string()
    }

    #[test]
    fn rules_say_what_they_want() {
        let none = Attrs::default();
        assert_eq!(binary::number(&[DType::F32, DType::F32], &none).unwrap(), [DType::F32]);
        assert_eq!(comparison::scalar(&[DType::Bool, DType::Bool], &none).unwrap(), [DType::Bool]);
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
            "a parameter must be i32 or i64, got f32 in operand 1"
        );
        assert_eq!(message(unary::any(&[], &none)), "operand 0 must be given, got 0 operands");
    }
}
