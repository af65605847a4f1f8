//! [`Attrs`]: the attributes of an op, and [`Attr`], one of them.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use crate::{DType, Dim, PartialElements, TensorShape};

/// An attribute's value. Floats are equal when their bits are.
#[non_exhaustive]
#[derive(Clone, Debug)]
pub enum Attr {
    /// True or false.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A float.
    Float(f64),
    /// An element type.
    DType(DType),
    /// Text.
    Str(Arc<str>),
    /// A shape; read as a parameter it is the vector of its dimensions, where `-1` may stand.
    Shape(TensorShape),
    /// A list of integers.
    Ints(Arc<[i64]>),
    /// A list of floats.
    Floats(Arc<[f64]>),
    /// A list of flags.
    Bools(Arc<[bool]>),
    /// A list of texts.
    Strs(Arc<[Arc<str>]>),
    /// A list of element types.
    DTypes(Arc<[DType]>),
    /// A list of shapes.
    Shapes(Arc<[TensorShape]>),
    /// Elements of a small integer tensor, some of them expressions.
    Elements(Arc<PartialElements>),
}

impl Attr {
    /// What kind of value it is, for error messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Attr::Bool(_) => "a bool",
            Attr::Int(_) => "an integer",
            Attr::Float(_) => "a float",
            Attr::DType(_) => "a dtype",
            Attr::Str(_) => "a string",
            Attr::Shape(_) => "a shape",
            Attr::Ints(_) => "a list of integers",
            Attr::Floats(_) => "a list of floats",
            Attr::Bools(_) => "a list of bools",
            Attr::Strs(_) => "a list of strings",
            Attr::DTypes(_) => "a list of dtypes",
            Attr::Shapes(_) => "a list of shapes",
            Attr::Elements(_) => "elements",
        }
    }

    /// The elements it stands for where an op reads a parameter: bools and integers, lists of them, the dimensions of
    /// a shape. `None` for everything else and for an unknown rank.
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
            (Attr::Shape(a), Attr::Shape(b)) => a == b,
            (Attr::Ints(a), Attr::Ints(b)) => a == b,
            (Attr::Floats(a), Attr::Floats(b)) => {
                a.iter().map(|x| x.to_bits()).eq(b.iter().map(|x| x.to_bits()))
            }
            (Attr::Bools(a), Attr::Bools(b)) => a == b,
            (Attr::Strs(a), Attr::Strs(b)) => a == b,
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
            Attr::Shape(value) => value.hash(state),
            Attr::Ints(values) => values.hash(state),
            Attr::Floats(values) => values.iter().for_each(|value| value.to_bits().hash(state)),
            Attr::Bools(values) => values.hash(state),
            Attr::Strs(values) => values.hash(state),
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
            Attr::Shape(value) => write!(f, "{value}"),
            Attr::Ints(values) => list(f, values, i64::to_string),
            Attr::Floats(values) => list(f, values, |value| format!("{value:?}")),
            Attr::Bools(values) => list(f, values, bool::to_string),
            Attr::Strs(values) => list(f, values, |value| format!("{value:?}")),
            Attr::DTypes(values) => list(f, values, DType::to_string),
            Attr::Shapes(values) => list(f, values, TensorShape::to_string),
            Attr::Elements(values) => write!(f, "{values}"),
        }
    }
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

/// An attribute's name: borrowed from the program, or shared.
#[derive(Clone, Debug)]
pub enum AttrName {
    /// A name written in the program.
    Static(&'static str),
    /// A name read at run time.
    Shared(Arc<str>),
}

impl AttrName {
    /// The text.
    pub fn as_str(&self) -> &str {
        match self {
            AttrName::Static(name) => name,
            AttrName::Shared(name) => name,
        }
    }
}

impl From<&'static str> for AttrName {
    fn from(name: &'static str) -> AttrName {
        AttrName::Static(name)
    }
}

impl From<Arc<str>> for AttrName {
    fn from(name: Arc<str>) -> AttrName {
        AttrName::Shared(name)
    }
}

impl From<String> for AttrName {
    fn from(name: String) -> AttrName {
        AttrName::Shared(name.into())
    }
}

impl PartialEq for AttrName {
    fn eq(&self, other: &AttrName) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for AttrName {}

impl Hash for AttrName {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

/// The attributes of an op, by name, kept in the order of names.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Attrs(Vec<(AttrName, Attr)>);

impl Attrs {
    /// No attributes.
    pub const fn new() -> Attrs {
        Attrs(Vec::new())
    }

    /// The attribute of this name.
    pub fn get(&self, name: &str) -> Option<&Attr> {
        self.position(name).ok().and_then(|position| self.0.get(position)).map(|entry| &entry.1)
    }

    /// Sets an attribute; the one it replaces is returned.
    pub fn insert(&mut self, name: impl Into<AttrName>, value: impl Into<Attr>) -> Option<Attr> {
        let (name, value) = (name.into(), value.into());
        match self.position(name.as_str()) {
            Ok(position) => self.0.get_mut(position).map(|entry| std::mem::replace(&mut entry.1, value)),
            Err(position) => {
                self.0.insert(position, (name, value));
                None
            }
        }
    }

    /// The same attributes and this one.
    #[must_use]
    pub fn with(mut self, name: impl Into<AttrName>, value: impl Into<Attr>) -> Attrs {
        self.insert(name, value);
        self
    }

    /// Takes an attribute out.
    pub fn remove(&mut self, name: &str) -> Option<Attr> {
        self.position(name).ok().map(|position| self.0.remove(position).1)
    }

    /// Names and values in the order of names.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Attr)> {
        self.0.iter().map(|(name, attr)| (name.as_str(), attr))
    }

    /// The number of attributes.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn position(&self, name: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|entry| entry.0.as_str().cmp(name))
    }
}

/// `axis=0, perm=[1, 0]`.
impl fmt::Display for Attrs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, (name, attr)) in self.iter().enumerate() {
            write!(f, "{}{name}={attr}", if position > 0 { ", " } else { "" })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_of_insertion_does_not_show() {
        let a = Attrs::new().with("perm", [1, 0]).with("axis", 0).with("mode", "reflect");
        let mut b = Attrs::new().with("mode", "constant").with("axis", 0).with("perm", vec![1i64, 0]);
        assert_ne!(a, b);
        assert_eq!(b.insert(String::from("mode"), "reflect"), Some("constant".into()));
        assert_eq!(a, b);
        assert_eq!(a.to_string(), r#"axis=0, mode="reflect", perm=[1, 0]"#);
        assert_eq!((b.remove("axis"), b.len(), b.get("axis")), (Some(Attr::Int(0)), 2, None));
    }

    #[test]
    fn floats_are_equal_by_bits() {
        assert_eq!(Attr::Float(f64::NAN), Attr::Float(f64::NAN));
        assert_ne!(Attr::Float(0.0), Attr::Float(-0.0));
    }

    #[test]
    fn parameters_are_elements() {
        assert_eq!(Attr::from(crate::shape!["n", -1]).to_elements().unwrap().to_string(), "[n, -1]");
        assert_eq!(Attr::from(true).to_elements().unwrap().to_string(), "1");
        assert_eq!(Attr::from("x").to_elements(), None);
    }
}
