//! [`Attrs`]: the attributes of a call. Methods read the attributes that the op declares.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::attr::Attr;
use super::attribute::{Attribute, Omitted};
use crate::{DType, TensorShape};

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

/// The attributes of a call, sorted by name, and the declaration of the op that is called.
#[derive(Clone, Debug, Default)]
pub struct Attrs {
    given: Vec<(AttrName, Attr)>,
    declared: &'static [Attribute],
}

impl Attrs {
    /// Makes an empty set of attributes.
    pub const fn new() -> Attrs {
        Attrs::declared(&[])
    }

    /// Makes an empty set of attributes of an op that declares `attributes`.
    pub const fn declared(attributes: &'static [Attribute]) -> Attrs {
        Attrs { given: Vec::new(), declared: attributes }
    }

    /// Sets the declaration by which the methods of `Attrs` read the attributes.
    #[must_use]
    pub fn declared_by(mut self, attributes: &'static [Attribute]) -> Attrs {
        self.declared = attributes;
        self
    }

    /// Returns the attributes that the op declares.
    pub fn declaration(&self) -> &'static [Attribute] {
        self.declared
    }

    /// Returns the attribute `name`.
    pub fn get(&self, name: &str) -> Option<&Attr> {
        self.position(name).ok().and_then(|position| self.given.get(position)).map(|entry| &entry.1)
    }

    /// Sets an attribute and returns the value that it replaces.
    pub fn insert(&mut self, name: impl Into<AttrName>, value: impl Into<Attr>) -> Option<Attr> {
        let (name, value) = (name.into(), value.into());
        match self.position(name.as_str()) {
            Ok(position) => self.given.get_mut(position).map(|entry| std::mem::replace(&mut entry.1, value)),
            Err(position) => {
                self.given.insert(position, (name, value));
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
        self.position(name).ok().map(|position| self.given.remove(position).1)
    }

    /// Returns names and values, sorted by name.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Attr)> {
        self.given.iter().map(|(name, attr)| (name.as_str(), attr))
    }

    /// Returns the number of attributes.
    pub fn len(&self) -> usize {
        self.given.len()
    }

    /// Returns whether there are no attributes.
    pub fn is_empty(&self) -> bool {
        self.given.is_empty()
    }

    /// Returns the index of an attribute, or the index at which it would be inserted.
    fn position(&self, name: &str) -> Result<usize, usize> {
        self.given.binary_search_by(|entry| entry.0.as_str().cmp(name))
    }
}

/// Two sets are equal if they have the same attributes with equal values. The declarations do not matter.
impl PartialEq for Attrs {
    fn eq(&self, other: &Attrs) -> bool {
        self.given == other.given
    }
}

impl Eq for Attrs {}

impl Hash for Attrs {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.given.hash(state);
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

macro_rules! readers {
    ($($(#[$doc:meta])* $name:ident -> $type:ty, $($attr:pat => $value:expr),+; $kind:ident;)*) => {$(
        $(#[$doc])*
        ///
        /// # Panics
        /// The call gives a value of another kind, or it gives none and the op declares no default of this kind. In the
        /// body of an op, such a panic becomes an error of the call.
        #[track_caller]
        pub fn $name(&self, name: &str) -> $type {
            match self.get(name) {
                $(Some($attr) => $value,)+
                None if let Some(Omitted::$kind(default)) = self.omitted(name) => default,
                value => unreadable(name, stringify!($name), value),
            }
        }
    )*};
}

/// Panics because the body of an op reads an attribute that has no value of the kind `kind`: the definition of the op
/// does not declare it with this kind, or the call omits it.
#[cold]
#[track_caller]
fn unreadable(name: &str, kind: &str, value: Option<&Attr>) -> ! {
    let value = value.map_or("no value".to_string(), Attr::to_string);
    panic!(
        "an op must declare an attribute that its body reads: {name} must be declared as {kind}, got {value}"
    )
}

/// These methods read an attribute that the op declares: the value that the call gives, or else the default value.
/// [`Attrs::get`] reads an optional attribute.
impl Attrs {
    readers! {
        /// Returns a declared bool.
        bool -> bool, Attr::Bool(value) => *value; Bool;
        /// Returns a declared integer.
        int -> i64, Attr::Int(value) => *value; Int;
        /// Returns a declared float.
        float -> f64, Attr::Float(value) => *value, Attr::Int(value) => *value as f64; Float;
        /// Returns a declared dtype.
        dtype -> DType, Attr::DType(value) => *value; DType;
        /// Returns a declared string.
        str -> &str, Attr::Str(value) => value; Str;
        /// Returns the integers of a declared list.
        ints -> &[i64], Attr::Ints(values) => values, Attr::Int(value) => std::slice::from_ref(value); Ints;
        /// Returns the dtypes of a declared list.
        dtypes -> &[DType], Attr::DTypes(values) => values; DTypes;
        /// Returns the shapes of a declared list.
        shapes -> &[TensorShape], Attr::Shapes(values) => values; Shapes;
    }

    /// Returns the floats of a declared list.
    ///
    /// # Panics
    /// As [`Attrs::int`].
    #[track_caller]
    pub fn floats(&self, name: &str) -> Vec<f64> {
        match self.get(name) {
            Some(Attr::Floats(values)) => values.to_vec(),
            Some(Attr::Ints(values)) => values.iter().map(|value| *value as f64).collect(),
            None if let Some(Omitted::Floats(default)) = self.omitted(name) => default.to_vec(),
            value => unreadable(name, "floats", value),
        }
    }

    /// Returns a declared byte string.
    ///
    /// # Panics
    /// As [`Attrs::int`].
    #[track_caller]
    pub fn bytes(&self, name: &str) -> &[u8] {
        match self.get(name) {
            Some(Attr::Str(value)) => value.as_bytes(),
            Some(Attr::Bytes(value)) => value,
            None if let Some(Omitted::Str(default)) = self.omitted(name) => default.as_bytes(),
            value => unreadable(name, "bytes", value),
        }
    }

    /// Returns the byte strings of a declared list.
    ///
    /// # Panics
    /// As [`Attrs::int`].
    #[track_caller]
    pub fn byte_strings(&self, name: &str) -> Vec<&[u8]> {
        match self.get(name) {
            Some(Attr::Bytes(value)) => vec![value],
            Some(Attr::ByteStrings(values)) => values.iter().map(|value| &**value).collect(),
            _ => self.strs(name).into_iter().map(str::as_bytes).collect(),
        }
    }

    /// Returns the strings of a declared list.
    ///
    /// # Panics
    /// As [`Attrs::int`].
    #[track_caller]
    pub fn strs(&self, name: &str) -> Vec<&str> {
        match self.get(name) {
            Some(Attr::Strs(values)) => values.iter().map(|value| &**value).collect(),
            Some(Attr::Str(value)) => vec![value],
            None if let Some(Omitted::Strs(default)) = self.omitted(name) => default.to_vec(),
            value => unreadable(name, "strs", value),
        }
    }

    /// Returns what an omitted attribute stands for, if the op declares the attribute.
    pub(super) fn omitted(&self, name: &str) -> Option<Omitted> {
        self.declaration()
            .iter()
            .find(|attribute| attribute.name() == name)
            .map(|attribute| attribute.omitted)
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

    static ATTRIBUTES: [Attribute; 6] = [
        Attribute::int("count"),
        Attribute::float_or("scale", 2.0),
        Attribute::ints_or("sizes", &[3]),
        Attribute::floats_or("limits", &[]),
        Attribute::strs("labels").optional(),
        Attribute::elements_or("axis", &[-1]),
    ];

    #[test]
    fn integers_are_accepted_for_floats_and_single_values_for_lists() {
        let attrs = Attrs::declared(&ATTRIBUTES).with("scale", 3).with("sizes", 4).with("limits", [1, 2]);
        let attrs = attrs.with("labels", "one");
        assert_eq!((attrs.float("scale"), attrs.ints("sizes")), (3.0, &[4][..]));
        assert_eq!((attrs.floats("limits"), attrs.strs("labels")), (vec![1.0, 2.0], vec!["one"]));
        let [count, scale, sizes, ..] = &ATTRIBUTES;
        assert!(count.accepts(&Attr::Int(1)) && !count.accepts(&Attr::Float(1.0)));
        assert!(scale.accepts(&Attr::Int(1)) && !scale.accepts(&Attr::Bool(true)));
        assert!(sizes.accepts(&Attr::Int(1)) && !sizes.accepts(&Attr::from("1")));
    }

    #[test]
    fn omitted_attributes_have_their_default_values() {
        let attrs = Attrs::declared(&ATTRIBUTES);
        assert_eq!((attrs.float("scale"), attrs.ints("sizes")), (2.0, &[3][..]));
        assert!(attrs.floats("limits").is_empty());
        let [count, scale, sizes, _, labels, axis] = &ATTRIBUTES;
        assert!(count.is_required() && !labels.is_required() && !scale.is_required());
        assert!(scale.is_default(&Attr::Int(2)) && !scale.is_default(&Attr::Float(2.5)));
        assert!(sizes.is_default(&Attr::Int(3)) && axis.is_default(&Attr::Int(-1)));
        assert_eq!((count.default(), labels.default()), (None, None));
    }

    #[test]
    #[should_panic = "offset must be declared as int, got no value"]
    fn an_undeclared_attribute_cannot_be_read() {
        Attrs::declared(&ATTRIBUTES).int("offset");
    }
}
