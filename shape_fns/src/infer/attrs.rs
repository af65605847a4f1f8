//! [`Attrs`]: the attributes of an op. [`Attr`]: the value of one attribute.

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
    /// A list of dtypes.
    DTypes(Arc<[DType]>),
    /// A list of shapes.
    Shapes(Arc<[TensorShape]>),
    /// The elements of a small integer tensor; some may be expressions.
    Elements(Arc<PartialElements>),
}

impl Attr {
    /// Returns the kind of the value, for error messages.
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

/// The name of an attribute: a `&'static str` or a shared string.
#[derive(Clone, Debug)]
pub enum AttrName {
    /// A name known at compile time.
    Static(&'static str),
    /// A name read at run time.
    Shared(Arc<str>),
}

impl AttrName {
    /// Returns the text.
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

/// The attributes of an op, sorted by name.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Attrs(Vec<(AttrName, Attr)>);

impl Attrs {
    /// Makes an empty set of attributes.
    pub const fn new() -> Attrs {
        Attrs(Vec::new())
    }

    /// Returns the attribute `name`.
    pub fn get(&self, name: &str) -> Option<&Attr> {
        self.position(name).ok().and_then(|position| self.0.get(position)).map(|entry| &entry.1)
    }

    /// Sets an attribute and returns the value that it replaces.
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

    /// Returns the attributes with attribute `name` set to `value`.
    #[must_use]
    pub fn with(mut self, name: impl Into<AttrName>, value: impl Into<Attr>) -> Attrs {
        self.insert(name, value);
        self
    }

    /// Removes and returns an attribute.
    pub fn remove(&mut self, name: &str) -> Option<Attr> {
        self.position(name).ok().map(|position| self.0.remove(position).1)
    }

    /// Returns names and values, sorted by name.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Attr)> {
        self.0.iter().map(|(name, attr)| (name.as_str(), attr))
    }

    /// Returns the number of attributes.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether there are no attributes.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the index of an attribute, or the index at which it would be inserted.
    fn position(&self, name: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|entry| entry.0.as_str().cmp(name))
    }
}

/// Writes `axis=0, perm=[1, 0]`.
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
    fn equality_does_not_depend_on_the_order_of_insertion() {
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
    fn attributes_convert_to_elements() {
        assert_eq!(Attr::from(crate::shape!["n", -1]).to_elements().unwrap().to_string(), "[n, -1]");
        assert_eq!(Attr::from(true).to_elements().unwrap().to_string(), "1");
        assert_eq!(Attr::from("x").to_elements(), None);
    }
}
