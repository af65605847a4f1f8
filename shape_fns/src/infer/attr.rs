//! [`Attr`]: the value of one attribute.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use crate::{DType, Dim, PartialElements, TensorShape};

/// The value of an attribute. Two floats are equal if their bits are equal.
#[non_exhaustive]
#[derive(Clone, Debug)]
pub enum Attr {
    /// A bool.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A float.
    Float(f64),
    /// A dtype.
    DType(DType),
    /// A string.
    Str(Arc<str>),
    /// A byte string that is not UTF-8. [`Attr::of_bytes`] makes it.
    Bytes(Arc<[u8]>),
    /// A shape. A shape function may read a shape as the vector of its dimensions. In a target shape, -1 stands for the
    /// size to infer.
    Shape(TensorShape),
    /// A list of integers.
    Ints(Arc<[i64]>),
    /// A list of floats.
    Floats(Arc<[f64]>),
    /// A list of bools.
    Bools(Arc<[bool]>),
    /// A list of strings.
    Strs(Arc<[Arc<str>]>),
    /// A list of byte strings; at least one of them is not UTF-8. [`Attr::of_byte_strings`] makes it.
    ByteStrings(Arc<[Arc<[u8]>]>),
    /// A list of dtypes.
    DTypes(Arc<[DType]>),
    /// A list of shapes.
    Shapes(Arc<[TensorShape]>),
    /// The elements of a small integer tensor; some may be expressions.
    Elements(Arc<PartialElements>),
}

impl Attr {
    /// Makes an attribute of bytes: a string if the bytes are UTF-8.
    ///
    /// ```
    /// # use shapeflow_shape_fns::Attr;
    /// assert_eq!(Attr::of_bytes(b"a"), Attr::from("a"));
    /// assert_eq!(Attr::of_bytes(b"a\xff").to_string(), r#"b"a\xff""#);
    /// ```
    pub fn of_bytes(bytes: &[u8]) -> Attr {
        match std::str::from_utf8(bytes) {
            Ok(text) => Attr::from(text),
            Err(_) => Attr::Bytes(bytes.into()),
        }
    }

    /// Makes an attribute of a list of byte strings: a list of strings if all of them are UTF-8.
    pub fn of_byte_strings<T: AsRef<[u8]>>(strings: &[T]) -> Attr {
        let texts = strings.iter().map(|bytes| std::str::from_utf8(bytes.as_ref()).map(Arc::from));
        match texts.collect::<Result<Arc<[Arc<str>]>, _>>() {
            Ok(texts) => Attr::Strs(texts),
            Err(_) => Attr::ByteStrings(strings.iter().map(|bytes| Arc::from(bytes.as_ref())).collect()),
        }
    }

    /// Returns the kind of the value, for error messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Attr::Bool(_) => "a bool",
            Attr::Int(_) => "an integer",
            Attr::Float(_) => "a float",
            Attr::DType(_) => "a dtype",
            Attr::Str(_) => "a string",
            Attr::Bytes(_) => "a byte string",
            Attr::Shape(_) => "a shape",
            Attr::Ints(_) => "a list of integers",
            Attr::Floats(_) => "a list of floats",
            Attr::Bools(_) => "a list of bools",
            Attr::Strs(_) => "a list of strings",
            Attr::ByteStrings(_) => "a list of byte strings",
            Attr::DTypes(_) => "a list of dtypes",
            Attr::Shapes(_) => "a list of shapes",
            Attr::Elements(_) => "elements",
        }
    }

    /// Returns the elements that [`InferenceContext::param`](crate::InferenceContext::param) gives for the attribute:
    /// the elements of a bool, an integer, a list of bools or integers, or `Elements`, and the dimensions of a shape.
    /// Returns `None` for every other attribute and for a shape of unknown rank.
    pub fn to_elements(&self) -> Option<PartialElements> {
        match self {
            Attr::Bool(flag) => Some(PartialElements::scalar(Dim::known((*flag).into()))),
            Attr::Int(value) => Some(PartialElements::scalar(Dim::known(*value))),
            Attr::Ints(values) => Some(PartialElements::known(values)),
            Attr::Bools(flags) => {
                Some(PartialElements::vector(flags.iter().map(|flag| Dim::known((*flag).into()))))
            }
            Attr::Shape(shape) => Some(PartialElements::vector(shape.dims()?.iter().cloned())),
            Attr::Elements(elements) => Some(PartialElements::clone(elements)),
            _ => None,
        }
    }
}

impl PartialEq for Attr {
    fn eq(&self, other: &Attr) -> bool {
        match (self, other) {
            (Attr::Bool(a), Attr::Bool(b)) => a == b,
            (Attr::Int(a), Attr::Int(b)) => a == b,
            (Attr::Float(a), Attr::Float(b)) => a.to_bits() == b.to_bits(),
            (Attr::DType(a), Attr::DType(b)) => a == b,
            (Attr::Str(a), Attr::Str(b)) => a == b,
            (Attr::Bytes(a), Attr::Bytes(b)) => a == b,
            (Attr::Shape(a), Attr::Shape(b)) => a == b,
            (Attr::Ints(a), Attr::Ints(b)) => a == b,
            (Attr::Floats(a), Attr::Floats(b)) => {
                a.iter().map(|x| x.to_bits()).eq(b.iter().map(|x| x.to_bits()))
            }
            (Attr::Bools(a), Attr::Bools(b)) => a == b,
            (Attr::Strs(a), Attr::Strs(b)) => a == b,
            (Attr::ByteStrings(a), Attr::ByteStrings(b)) => a == b,
            (Attr::DTypes(a), Attr::DTypes(b)) => a == b,
            (Attr::Shapes(a), Attr::Shapes(b)) => a == b,
            (Attr::Elements(a), Attr::Elements(b)) => a == b,
            _ => false,
        }
    }
}

impl Eq for Attr {}

impl Hash for Attr {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::mem::discriminant(self).hash(state);
        match self {
            Attr::Bool(value) => value.hash(state),
            Attr::Int(value) => value.hash(state),
            Attr::Float(value) => value.to_bits().hash(state),
            Attr::DType(value) => value.hash(state),
            Attr::Str(value) => value.hash(state),
            Attr::Bytes(value) => value.hash(state),
            Attr::Shape(value) => value.hash(state),
            Attr::Ints(values) => values.hash(state),
            Attr::Floats(values) => values.iter().for_each(|value| value.to_bits().hash(state)),
            Attr::Bools(values) => values.hash(state),
            Attr::Strs(values) => values.hash(state),
            Attr::ByteStrings(values) => values.hash(state),
            Attr::DTypes(values) => values.hash(state),
            Attr::Shapes(values) => values.hash(state),
            Attr::Elements(values) => values.hash(state),
        }
    }
}

impl fmt::Display for Attr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn list<T>(f: &mut fmt::Formatter<'_>, items: &[T], show: impl Fn(&T) -> String) -> fmt::Result {
            write!(f, "[{}]", items.iter().map(show).collect::<Vec<_>>().join(", "))
        }
        match self {
            Attr::Bool(value) => write!(f, "{value}"),
            Attr::Int(value) => write!(f, "{value}"),
            Attr::Float(value) => write!(f, "{value:?}"),
            Attr::DType(value) => write!(f, "{value}"),
            Attr::Str(value) => write!(f, "{value:?}"),
            Attr::Bytes(value) => f.write_str(&quoted(value)),
            Attr::Shape(value) => write!(f, "{value}"),
            Attr::Ints(values) => list(f, values, i64::to_string),
            Attr::Floats(values) => list(f, values, |value| format!("{value:?}")),
            Attr::Bools(values) => list(f, values, bool::to_string),
            Attr::Strs(values) => list(f, values, |value| format!("{value:?}")),
            Attr::ByteStrings(values) => list(f, values, |value| quoted(value)),
            Attr::DTypes(values) => list(f, values, DType::to_string),
            Attr::Shapes(values) => list(f, values, TensorShape::to_string),
            Attr::Elements(values) => write!(f, "{values}"),
        }
    }
}

/// Returns bytes as a literal of Rust.
fn quoted(bytes: &[u8]) -> String {
    format!("b\"{}\"", bytes.escape_ascii())
}

macro_rules! attr_from {
    ($($source:ty => |$value:ident| $attr:expr;)*) => {$(
        impl From<$source> for Attr {
            fn from($value: $source) -> Attr {
                $attr
            }
        }
    )*};
}
attr_from! {
    bool => |value| Attr::Bool(value);
    i64 => |value| Attr::Int(value);
    i32 => |value| Attr::Int(value.into());
    f64 => |value| Attr::Float(value);
    f32 => |value| Attr::Float(value.into());
    DType => |value| Attr::DType(value);
    &str => |value| Attr::Str(value.into());
    String => |value| Attr::Str(value.into());
    TensorShape => |value| Attr::Shape(value);
    &TensorShape => |value| Attr::Shape(value.clone());
    &[i64] => |values| Attr::Ints(values.into());
    Vec<i64> => |values| Attr::Ints(values.into());
    &[f64] => |values| Attr::Floats(values.into());
    &[DType] => |values| Attr::DTypes(values.into());
    PartialElements => |value| Attr::Elements(Arc::new(value));
}

impl<const N: usize> From<[i64; N]> for Attr {
    fn from(values: [i64; N]) -> Attr {
        Attr::Ints(values.as_slice().into())
    }
}

impl<const N: usize> From<&[i64; N]> for Attr {
    fn from(values: &[i64; N]) -> Attr {
        Attr::Ints(values.as_slice().into())
    }
}
