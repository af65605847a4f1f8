//! The `shape!` macro, and conversions from Rust values to shapes.

use crate::{Dim, IntoDim, TensorShape};

/// Makes a shape from its dimensions: `shape!["b", 64]`, `shape![?, 3]`, `shape![..]` (unranked), `shape![]` (scalar).
///
/// A string is a named symbol. Each `?` is a new unknown. Everything else is an expression (`i64`, `i32`, `usize`,
/// `Dim`), which is borrowed.
#[macro_export]
macro_rules! shape {
    (..) => { $crate::TensorShape::unranked() };
    ($($t:tt)*) => { $crate::__shape!([] $($t)*) };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __shape {
    ([$($done:expr,)*]) => { $crate::TensorShape::from([$($done,)*] as [$crate::Dim; _]) };
    ([$($done:expr,)*] ? $(, $($rest:tt)*)?) => {
        $crate::__shape!([$($done,)* $crate::IntoDim::into_dim($crate::Unknown),] $($($rest)*)?)
    };
    ([$($done:expr,)*] $e:expr $(, $($rest:tt)*)?) => {
        $crate::__shape!([$($done,)* $crate::IntoDim::into_dim(&$e),] $($($rest)*)?)
    };
}

impl<T: IntoDim, const N: usize> From<[T; N]> for TensorShape {
    fn from(dims: [T; N]) -> TensorShape {
        TensorShape::new(dims.into_iter().map(IntoDim::into_dim))
    }
}

impl<T: IntoDim + Clone> From<&[T]> for TensorShape {
    fn from(dims: &[T]) -> TensorShape {
        TensorShape::new(dims.iter().cloned().map(IntoDim::into_dim))
    }
}

impl<T: IntoDim> From<Vec<T>> for TensorShape {
    fn from(dims: Vec<T>) -> TensorShape {
        TensorShape::new(dims.into_iter().map(IntoDim::into_dim))
    }
}

impl From<&TensorShape> for TensorShape {
    fn from(shape: &TensorShape) -> TensorShape {
        shape.clone()
    }
}

impl<T: IntoDim + Clone, const N: usize> From<&[T; N]> for TensorShape {
    fn from(dims: &[T; N]) -> TensorShape {
        dims.as_slice().into()
    }
}

impl<T: IntoDim + Clone> From<&Vec<T>> for TensorShape {
    fn from(dims: &Vec<T>) -> TensorShape {
        dims.as_slice().into()
    }
}

macro_rules! vectors {
    ($($size:ty)*) => {$(
        /// Makes the shape of a vector of this size, as `tf.TensorShape(3)` is `[3]`.
        impl From<$size> for TensorShape {
            fn from(size: $size) -> TensorShape {
                TensorShape::new([size.into_dim()])
            }
        }
    )*};
}
vectors!(i32 i64 u32 usize Dim &Dim &&Dim);

/// Collects dimensions: `(1..4).collect()` is `[1, 2, 3]`.
impl<T: IntoDim> FromIterator<T> for TensorShape {
    fn from_iter<I: IntoIterator<Item = T>>(dims: I) -> TensorShape {
        TensorShape::new(dims.into_iter().map(IntoDim::into_dim))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_macro_takes_every_kind_of_entry() {
        let (n, b) = (64usize, Dim::symbol("b"));
        let shape = shape!["b", n, ?, 2 * &b + 1, 3, ?, b,];
        assert_eq!(shape.to_string(), "[b, 64, ?, 2*b+1, 3, ?, b]");
        assert_eq!((shape![].rank(), shape![..].rank()), (Some(0), None));
        let text = String::from("x");
        assert_eq!(shape![text.as_str(), -1].to_string(), "[x, -1]");
    }

    #[test]
    #[allow(clippy::needless_borrows_for_generic_args, reason = "a reference is one of the forms")]
    fn every_conversion_gives_the_same_shape() {
        let expected = shape![1, 2, 3];
        assert_eq!(TensorShape::from([1, 2, 3]), expected);
        assert_eq!(TensorShape::from(vec![1usize, 2, 3]), expected);
        assert_eq!(TensorShape::from(&[1u32, 2, 3][..]), expected);
        assert_eq!((1..4).collect::<TensorShape>(), expected);
        assert_eq!(TensorShape::from([Some(1), None]), shape![1, ?]);
        assert_eq!((TensorShape::from(3), TensorShape::from(Dim::symbol("n"))), (shape![3], shape!["n"]));
        assert_eq!(TensorShape::from(&expected), expected);
        let (array, list) = ([1i32, 2, 3], vec![1i64, 2, 3]);
        assert_eq!((TensorShape::from(&array), TensorShape::from(&list)), (expected.clone(), expected));
        let n = &Dim::symbol("n");
        assert_eq!((TensorShape::from(3usize), TensorShape::from(&n)), (shape![3], shape![n]));
    }
}
