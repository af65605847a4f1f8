//! `Param`: a size or structure parameter of an op, and the types that convert into one.

use shapeflow_shape_fns::{Dim, PartialElements};

use super::Value;

/// A parameter of an op: elements that are known or symbolic when the graph is built, or a value.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Param<'g> {
    /// Integers or dimensions given by the program.
    Elements(PartialElements),
    /// A value, computed or fed when the graph runs.
    Value(Value<'g>),
    /// An argument that is no parameter, with the reason.
    Refused(String),
}

/// A type that converts into a size or structure parameter.
pub trait IntoParam<'g> {
    #[doc(hidden)]
    fn into_param(self) -> Param<'g>;
}

impl<'g> IntoParam<'g> for Param<'g> {
    fn into_param(self) -> Param<'g> {
        self
    }
}

impl<'g> IntoParam<'g> for Value<'g> {
    fn into_param(self) -> Param<'g> {
        Param::Value(self)
    }
}

impl<'g> IntoParam<'g> for i64 {
    fn into_param(self) -> Param<'g> {
        Param::Elements(PartialElements::scalar(Dim::known(self)))
    }
}

impl<'g> IntoParam<'g> for Dim {
    fn into_param(self) -> Param<'g> {
        Param::Elements(PartialElements::scalar(self))
    }
}

impl<'g> IntoParam<'g> for &[i64] {
    fn into_param(self) -> Param<'g> {
        Param::Elements(PartialElements::vector(self.iter().map(|&element| Dim::known(element))))
    }
}

impl<'g, const N: usize> IntoParam<'g> for [i64; N] {
    fn into_param(self) -> Param<'g> {
        self[..].into_param()
    }
}

impl<'g, const N: usize> IntoParam<'g> for &[i64; N] {
    fn into_param(self) -> Param<'g> {
        self[..].into_param()
    }
}

impl<'g> IntoParam<'g> for &[Dim] {
    fn into_param(self) -> Param<'g> {
        Param::Elements(PartialElements::vector(self.iter().cloned()))
    }
}
