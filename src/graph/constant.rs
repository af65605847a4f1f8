//! `IntoConstant`: types that convert into a constant: scalars, strings, nested arrays, slices, vectors and tensors.

use crate::error::Result;
use crate::tensor::{Element, Tensor};

/// A type that converts into a constant, see [`Graph::constant`](super::Graph::constant): a tensor, a scalar, nested
/// arrays of scalars, or a slice or vector of scalars or of such arrays. A scalar is a number, a bool or a string.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a constant",
    note = "a constant is a `Tensor`, a scalar (a number, a bool or a string), nested arrays of scalars, \
            or a slice or vector of scalars or of such arrays; `Tensor::from_vec` takes sizes and elements"
)]
pub trait IntoConstant {
    #[doc(hidden)]
    fn into_constant(self) -> Result<Tensor>;
}

impl IntoConstant for Tensor {
    fn into_constant(self) -> Result<Tensor> {
        Ok(self)
    }
}

impl IntoConstant for &Tensor {
    fn into_constant(self) -> Result<Tensor> {
        Ok(self.clone())
    }
}

/// A type of scalars: numbers, bools and strings.
pub trait ConstantScalar: Sized {
    #[doc(hidden)]
    fn into_tensor(sizes: &[usize], elements: &[Self]) -> Result<Tensor>;
}

impl<T: Element> ConstantScalar for T {
    fn into_tensor(sizes: &[usize], elements: &[T]) -> Result<Tensor> {
        Tensor::from_slice(sizes, elements)
    }
}

impl ConstantScalar for &str {
    fn into_tensor(sizes: &[usize], elements: &[&str]) -> Result<Tensor> {
        Tensor::from_strings(sizes, elements)
    }
}

impl ConstantScalar for String {
    fn into_tensor(sizes: &[usize], elements: &[String]) -> Result<Tensor> {
        Tensor::from_strings(sizes, elements)
    }
}

/// A scalar, or nested arrays of scalars. The type determines the sizes.
pub trait ConstantArray: Sized {
    #[doc(hidden)]
    type Scalar: ConstantScalar;
    /// Appends the sizes of the nested arrays.
    #[doc(hidden)]
    fn push_sizes(sizes: &mut Vec<usize>);
    /// Returns the scalars of several arrays in row-major order.
    #[doc(hidden)]
    fn scalars(arrays: &[Self]) -> &[Self::Scalar];
}

impl<T: ConstantScalar> ConstantArray for T {
    type Scalar = T;
    fn push_sizes(_: &mut Vec<usize>) {}
    fn scalars(arrays: &[T]) -> &[T] {
        arrays
    }
}

impl<T: ConstantArray, const N: usize> ConstantArray for [T; N] {
    type Scalar = T::Scalar;
    fn push_sizes(sizes: &mut Vec<usize>) {
        sizes.push(N);
        T::push_sizes(sizes);
    }
    fn scalars(arrays: &[[T; N]]) -> &[T::Scalar] {
        T::scalars(arrays.as_flattened())
    }
}

impl<T: ConstantScalar> IntoConstant for T {
    fn into_constant(self) -> Result<Tensor> {
        T::into_tensor(&[], &[self])
    }
}

impl<T: ConstantArray> IntoConstant for &[T] {
    fn into_constant(self) -> Result<Tensor> {
        let mut sizes = vec![self.len()];
        T::push_sizes(&mut sizes);
        T::Scalar::into_tensor(&sizes, T::scalars(self))
    }
}

macro_rules! lists {
    ($([$($generics:tt)*] $List:ty,)*) => {$(
        impl<T: ConstantArray, $($generics)*> IntoConstant for $List {
            fn into_constant(self) -> Result<Tensor> {
                <&[T]>::into_constant(&self[..])
            }
        }
    )*};
}
lists! {
    [const N: usize] [T; N],
    [const N: usize] &[T; N],
    [] Vec<T>,
    [] &Vec<T>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Graph;

    #[test]
    #[allow(clippy::needless_borrows_for_generic_args, reason = "a reference is one of the forms")]
    fn constants_have_many_forms() -> Result<()> {
        let g = Graph::new();
        let words = vec!["a".to_string(), "b".to_string()];
        let rows = vec![[1i32, 2], [3, 4]];
        let shapes = [
            (g.constant(1.5f64)?, "f64[]"),
            (g.constant([[1u8, 2], [3, 4], [5, 6]])?, "u8[3, 2]"),
            (g.constant(&[1.0f32, 2.0])?, "f32[2]"),
            (g.constant(&rows)?, "i32[2, 2]"),
            (g.constant(&rows[..1])?, "i32[1, 2]"),
            (g.constant(rows)?, "i32[2, 2]"),
            (g.constant([[0i64; 0]; 3])?, "i64[3, 0]"),
            (g.constant("text")?, "string[]"),
            (g.constant([["a", "b"], ["c", "d"]])?, "string[2, 2]"),
            (g.constant(vec!["a", "b", "c"])?, "string[3]"),
            (g.constant(&words)?, "string[2]"),
            (g.constant(words)?, "string[2]"),
        ];
        for (value, expected) in shapes {
            assert_eq!(format!("{}{}", value.dtype(), value.shape()), expected);
        }
        Ok(())
    }
}
