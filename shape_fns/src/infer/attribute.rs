//! [`Attribute`]: the declaration of an attribute of an op.

use std::sync::Arc;

use super::attr::Attr;
use crate::{DType, TensorShape};

/// The declaration of an attribute of an op: its name, its kind, and what a call without the attribute means.
///
/// A call must give an attribute, unless the declaration has a default value (`int_or`, `float_or`, ...) or is
/// [optional](Attribute::optional).
///
/// ```
/// use shapeflow_shape_fns::{Attr, Attribute, Attrs};
///
/// static ATTRIBUTES: [Attribute; 3] = [
///     Attribute::int("radius"),
///     Attribute::float_or("bias", 1.0),
///     Attribute::str("label").optional(),
/// ];
/// assert!(!ATTRIBUTES[0].accepts(&Attr::Float(3.0)));
///
/// let attrs = Attrs::declared(&ATTRIBUTES).with("radius", 3);
/// assert_eq!((attrs.int("radius"), attrs.float("bias")), (3, 1.0));
/// assert_eq!(attrs.get("label"), None);
/// ```
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Attribute {
    name: &'static str,
    kind: Kind,
    pub(super) omitted: Omitted,
}

/// The kind of the value of an attribute.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Bool,
    Int,
    Float,
    Number,
    DType,
    Str,
    Bytes,
    Shape,
    Ints,
    Floats,
    Strs,
    ByteStrings,
    DTypes,
    Shapes,
    Elements,
}

/// What a call without the attribute means.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Omitted {
    /// The call is refused.
    Refused,
    /// The op does without the attribute.
    Allowed,
    Bool(bool),
    Int(i64),
    Float(f64),
    DType(DType),
    Str(&'static str),
    Ints(&'static [i64]),
    Floats(&'static [f64]),
    Strs(&'static [&'static str]),
    DTypes(&'static [DType]),
    Shapes(&'static [TensorShape]),
}

macro_rules! declarations {
    ($($(#[$doc:meta])* $name:ident = $kind:ident;)*) => {$(
        $(#[$doc])*
        pub const fn $name(name: &'static str) -> Attribute {
            Attribute { name, kind: Kind::$kind, omitted: Omitted::Refused }
        }
    )*};
}

macro_rules! declarations_with_defaults {
    ($($(#[$doc:meta])* $name:ident($type:ty) = $kind:ident;)*) => {$(
        $(#[$doc])*
        pub const fn $name(name: &'static str, default: $type) -> Attribute {
            Attribute { name, kind: Kind::$kind, omitted: Omitted::$kind(default) }
        }
    )*};
}

impl Attribute {
    declarations! {
        /// Declares a bool.
        bool = Bool;
        /// Declares an integer.
        int = Int;
        /// Declares a float. A call may give an integer instead.
        float = Float;
        /// Declares an integer, a float or a bool.
        number = Number;
        /// Declares a dtype.
        dtype = DType;
        /// Declares a string.
        str = Str;
        /// Declares a string of any bytes, which need not be UTF-8.
        bytes = Bytes;
        /// Declares a shape.
        shape = Shape;
        /// Declares a list of integers. A call may give one integer instead.
        ints = Ints;
        /// Declares a list of floats. A call may give integers instead.
        floats = Floats;
        /// Declares a list of strings. A call may give one string instead.
        strs = Strs;
        /// Declares a list of dtypes.
        dtypes = DTypes;
        /// Declares a list of shapes.
        shapes = Shapes;
        /// Declares the elements of a parameter: an integer, a list of integers, or dimensions.
        elements = Elements;
    }

    declarations_with_defaults! {
        /// Declares a bool with a default value.
        bool_or(bool) = Bool;
        /// Declares an integer with a default value.
        int_or(i64) = Int;
        /// Declares a float with a default value.
        float_or(f64) = Float;
        /// Declares a dtype with a default value.
        dtype_or(DType) = DType;
        /// Declares a string with a default value.
        str_or(&'static str) = Str;
        /// Declares a list of integers with a default value.
        ints_or(&'static [i64]) = Ints;
        /// Declares a list of floats with a default value.
        floats_or(&'static [f64]) = Floats;
        /// Declares a list of strings with a default value.
        strs_or(&'static [&'static str]) = Strs;
        /// Declares a list of dtypes with a default value.
        dtypes_or(&'static [DType]) = DTypes;
        /// Declares a list of shapes with a default value.
        shapes_or(&'static [TensorShape]) = Shapes;
    }

    /// Declares a string of any bytes with a default value.
    pub const fn bytes_or(name: &'static str, default: &'static str) -> Attribute {
        Attribute { name, kind: Kind::Bytes, omitted: Omitted::Str(default) }
    }

    /// Declares a list of strings of any bytes, with a default value. A call may give one string instead.
    pub const fn byte_strings_or(name: &'static str, default: &'static [&'static str]) -> Attribute {
        Attribute { name, kind: Kind::ByteStrings, omitted: Omitted::Strs(default) }
    }

    /// Declares the elements of a parameter, with known default elements. A declared operand may have the same name:
    /// the default value is then the value of the omitted operand.
    pub const fn elements_or(name: &'static str, default: &'static [i64]) -> Attribute {
        Attribute { name, kind: Kind::Elements, omitted: Omitted::Ints(default) }
    }

    /// Lets a call omit the attribute, which has no default value.
    #[must_use]
    pub const fn optional(mut self) -> Attribute {
        self.omitted = Omitted::Allowed;
        self
    }

    /// Returns the name.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the kind of the value, such as "an integer", for error messages.
    pub const fn kind(&self) -> &'static str {
        match self.kind {
            Kind::Bool => "a bool",
            Kind::Int => "an integer",
            Kind::Float => "a float",
            Kind::Number => "a number or a bool",
            Kind::DType => "a dtype",
            Kind::Str | Kind::Bytes => "a string",
            Kind::Shape => "a shape",
            Kind::Ints => "a list of integers",
            Kind::Floats => "a list of floats",
            Kind::Strs | Kind::ByteStrings => "a list of strings",
            Kind::DTypes => "a list of dtypes",
            Kind::Shapes => "a list of shapes",
            Kind::Elements => "an integer or a list of integers",
        }
    }

    /// Returns whether a call must give the attribute.
    pub const fn is_required(&self) -> bool {
        matches!(self.omitted, Omitted::Refused)
    }

    /// Returns whether the value is of the declared kind.
    pub fn accepts(&self, value: &Attr) -> bool {
        let is_parameter = self.kind == Kind::Elements && may_be_parameter(value);
        is_parameter
            || matches!(
                (self.kind, value),
                (Kind::Bool | Kind::Number, Attr::Bool(_))
                    | (Kind::Int | Kind::Float | Kind::Number | Kind::Ints, Attr::Int(_))
                    | (Kind::Float | Kind::Number, Attr::Float(_))
                    | (Kind::DType, Attr::DType(_))
                    | (Kind::Str | Kind::Bytes, Attr::Str(_))
                    | (Kind::Bytes, Attr::Bytes(_))
                    | (Kind::Shape, Attr::Shape(_))
                    | (Kind::Ints | Kind::Floats, Attr::Ints(_))
                    | (Kind::Floats, Attr::Floats(_))
                    | (Kind::Strs | Kind::ByteStrings, Attr::Str(_) | Attr::Strs(_))
                    | (Kind::ByteStrings, Attr::Bytes(_) | Attr::ByteStrings(_))
                    | (Kind::DTypes, Attr::DTypes(_))
                    | (Kind::Shapes, Attr::Shapes(_))
            )
    }

    /// Returns the default value; none if the attribute has no default value.
    pub fn default(&self) -> Option<Attr> {
        match self.omitted {
            Omitted::Refused | Omitted::Allowed => None,
            Omitted::Bool(value) => Some(Attr::Bool(value)),
            Omitted::Int(value) => Some(Attr::Int(value)),
            Omitted::Float(value) => Some(Attr::Float(value)),
            Omitted::DType(value) => Some(Attr::DType(value)),
            Omitted::Str(value) => Some(Attr::from(value)),
            Omitted::Ints(values) => Some(Attr::from(values)),
            Omitted::Floats(values) => Some(Attr::from(values)),
            Omitted::Strs(values) => Some(Attr::Strs(values.iter().map(|text| Arc::from(*text)).collect())),
            Omitted::DTypes(values) => Some(Attr::from(values)),
            Omitted::Shapes(values) => Some(Attr::Shapes(values.into())),
        }
    }

    /// Returns whether the value is the default value. The integer 1 is the default value of a float that is 1.0.
    pub fn is_default(&self, value: &Attr) -> bool {
        match (self.omitted, value) {
            (Omitted::Float(default), Attr::Int(value)) => default == *value as f64,
            (Omitted::Ints(default), value) => {
                value.to_elements().and_then(|elements| elements.as_known()).as_deref() == Some(default)
            }
            _ => self.default().as_ref() == Some(value),
        }
    }
}

/// Returns whether the value may be the value of a parameter.
fn may_be_parameter(value: &Attr) -> bool {
    matches!(value, Attr::Shape(_)) || value.to_elements().is_some()
}
