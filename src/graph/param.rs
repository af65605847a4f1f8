//! `Param`: a size parameter or a structure parameter (such as an axis) of an op, and the types that convert into one.

use shapeflow_shape_fns::{Dim, IntoDim, PartialElements};

use super::Value;
use crate::error::{Error, ErrorKind, Phase, Result};

/// A parameter of an op: elements that are known or symbolic when the graph is built, or a value.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Param<'g> {
    /// Integers or dimensions given by the program.
    Elements(PartialElements),
    /// A value, computed or fed when the graph runs.
    Value(Value<'g>),
    /// An argument that cannot be a parameter. The text is the message of the error.
    Refused(String),
}

impl Param<'_> {
    /// Returns the integers of an argument, given as one integer or as a list, that must be known when the graph is
    /// built.
    pub(crate) fn known_ints(&self, name: &str) -> Result<Vec<i64>> {
        self.elements(name, "integers")?.as_known().ok_or_else(|| self.unknown(name, "integers"))
    }

    /// Returns the `N` integers of an argument that must be known when the graph is built.
    pub(crate) fn known_array<const N: usize>(&self, name: &str) -> Result<[i64; N]> {
        let ints = self.known_ints(name)?;
        <[i64; N]>::try_from(ints).map_err(|ints| {
            let message = format!("{name} must be {N} integers, got {}", ints.len());
            Error::new(ErrorKind::Attribute, Phase::Build, message)
        })
    }

    /// Returns the integer of an argument that must be known when the graph is built.
    pub(crate) fn known_int(&self, name: &str) -> Result<i64> {
        let elements = self.elements(name, "an integer")?;
        match elements.elements() {
            [element] if elements.rank() == 0 => element.as_known(),
            _ => None,
        }
        .ok_or_else(|| self.unknown(name, "an integer"))
    }

    fn elements(&self, name: &str, what: &str) -> Result<&PartialElements> {
        match self {
            Param::Elements(elements) => Ok(elements),
            _ => Err(self.unknown(name, what)),
        }
    }

    fn unknown(&self, name: &str, what: &str) -> Error {
        let message = match self {
            Param::Elements(elements) => {
                format!("{name} must be {what} known when the graph is built, got {elements}")
            }
            Param::Value(_) => format!("{name} must be {what} known when the graph is built, got a value"),
            Param::Refused(message) => message.clone(),
        };
        Error::new(ErrorKind::Attribute, Phase::Build, message)
    }
}

/// A type that converts into a size or structure parameter: a value, one element, an array, slice or vector of
/// elements, or a shape. An element is an integer or a [`Dim`]; a pair of elements (`[[0, 0], [1, 1]]`) counts as two.
///
/// A parameter that decides the rank of a result, or which nodes a method adds, must be known when the graph is built:
/// the axis of an op on ragged values, for example. Such a parameter refuses a value with the error `axis must be an
/// integer known when the graph is built`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a parameter of an op",
    note = "elements are integers, `Dim`s and pairs of these, in an array, slice or vector of one type: write `shape![&n, 2]` to mix"
)]
pub trait IntoParam<'g> {
    #[doc(hidden)]
    fn into_param(self) -> Param<'g>;
}

/// A type that converts into a parameter that a call may leave out: `None`, or a type that converts into a parameter.
pub trait IntoOptionalParam<'g> {
    #[doc(hidden)]
    fn into_optional_param(self) -> Option<Param<'g>>;
}

impl<'g, P: IntoParam<'g>> IntoOptionalParam<'g> for P {
    fn into_optional_param(self) -> Option<Param<'g>> {
        Some(self.into_param())
    }
}

impl<'g> IntoOptionalParam<'g> for Option<Param<'g>> {
    fn into_optional_param(self) -> Option<Param<'g>> {
        self
    }
}

/// An element of a parameter, or a pair of elements.
pub trait ParamElement {
    #[doc(hidden)]
    fn push_to(self, elements: &mut Vec<Dim>);
}

impl<T: ParamElement> ParamElement for [T; 2] {
    fn push_to(self, elements: &mut Vec<Dim>) {
        self.into_iter().for_each(|element| element.push_to(elements));
    }
}

impl<T: ParamElement> ParamElement for (T, T) {
    fn push_to(self, elements: &mut Vec<Dim>) {
        [self.0, self.1].push_to(elements);
    }
}

impl<T: ParamElement + Clone> ParamElement for &T {
    fn push_to(self, elements: &mut Vec<Dim>) {
        self.clone().push_to(elements);
    }
}

fn vector<'g>(given: impl IntoIterator<Item = impl ParamElement>) -> Param<'g> {
    let mut elements = Vec::new();
    given.into_iter().for_each(|element| element.push_to(&mut elements));
    Param::Elements(PartialElements::vector(elements))
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

macro_rules! params {
    ([$($element:ty)*] $([$($generics:tt)*] $List:ty,)*) => {
        $(impl ParamElement for $element {
            fn push_to(self, elements: &mut Vec<Dim>) {
                elements.push(self.into_dim());
            }
        }
        impl<'g> IntoParam<'g> for $element {
            fn into_param(self) -> Param<'g> {
                Param::Elements(PartialElements::scalar(self.into_dim()))
            }
        }
        impl<'g> IntoParam<'g> for &$element {
            fn into_param(self) -> Param<'g> {
                self.clone().into_param()
            }
        }
        impl<'g> IntoParam<'g> for &&$element {
            fn into_param(self) -> Param<'g> {
                (*self).into_param()
            }
        })*
        $(impl<'g, $($generics)*> IntoParam<'g> for $List {
            fn into_param(self) -> Param<'g> {
                vector(self)
            }
        })*
    };
}
params! {
    [i32 i64 u32 usize Dim]
    [T: ParamElement, const N: usize] [T; N],
    [T: ParamElement + Clone, const N: usize] &[T; N],
    [T: ParamElement + Clone] &[T],
    [T: ParamElement] Vec<T>,
    [T: ParamElement + Clone] &Vec<T>,
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::{DType, shape};

    use super::*;
    use crate::error::Result;
    use crate::graph::Graph;

    #[test]
    #[allow(clippy::needless_borrows_for_generic_args, reason = "a reference is one of the forms")]
    fn a_parameter_has_many_forms() -> Result<()> {
        let g = Graph::new();
        let x = g.input("x", DType::F32, shape!["n", 6])?;
        let n = x.shape().dims().expect("the rank is known")[0].clone();
        let (pairs, perm) = ([[0i64, 0], [1, 2]], [1i32, 0]);
        let padded = [
            x.pad([0, 0, 1, 2]),
            x.pad([[0, 0], [1, 2]]),
            x.pad(&pairs[..]),
            x.pad(vec![[0usize, 0], [1, 2]]),
            x.pad([(0, 0), (1, 2)]),
            x.pad(&vec![(0, 0), (1, 2)][..]),
            x.pad([[0, 0].map(Dim::known), [1, 2].map(Dim::known)]),
        ];
        for y in padded {
            assert_eq!(y?.shape().to_string(), "[n, 9]");
        }
        assert_eq!(x.pad([[&n, &n], [&n, &n]])?.shape().to_string(), "[3*n, 2*n+6]");
        for y in [x.transpose(vec![1, 0]), x.transpose([1usize, 0]), x.transpose(&perm[..])] {
            assert_eq!(y?.shape().to_string(), "[6, n]");
        }
        let (axis, one) = (1usize, &Dim::known(1));
        for y in [
            x.softmax(1),
            x.softmax(axis),
            x.softmax(&axis),
            x.softmax(-1i64),
            x.softmax(1u32),
            x.softmax(Dim::known(1)),
            x.softmax(one),
            x.softmax(&one),
        ] {
            assert_eq!(y?.shape().to_string(), "[n, 6]");
        }
        assert_eq!(
            x.slice([Dim::known(0), Dim::known(1)], [&n, &Dim::known(2)])?.shape().to_string(),
            "[n, 2]"
        );
        assert_eq!(x.slice([0, 1], shape![&n, 2])?.shape().to_string(), "[n, 2]");
        assert_eq!(x.pad(shape![&n, 0, 0, 1])?.shape().to_string(), "[2*n, 7]");
        Ok(())
    }
}
