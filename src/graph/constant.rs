//! `IntoConstant`: types that convert into a constant: scalars, nested arrays, slices and tensors.

use crate::error::Result;
use crate::tensor::{Element, Tensor};

/// A type that converts into a constant, see [`Graph::constant`](super::Graph::constant).
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

impl<T: Element> IntoConstant for &[T] {
    fn into_constant(self) -> Result<Tensor> {
        Tensor::from_slice(&[self.len()], self)
    }
}

impl<T: Element> IntoConstant for Vec<T> {
    fn into_constant(self) -> Result<Tensor> {
        Tensor::from_slice(&[self.len()], &self)
    }
}

/// A scalar, or an array of nested arrays of one shape.
trait NestedArray {
    type Scalar: Element;
    fn sizes(out: &mut Vec<usize>);
    fn elements(self, out: &mut Vec<Self::Scalar>);
}

macro_rules! scalars {
    ($($T:ident),*) => {$(
        impl NestedArray for $T {
            type Scalar = $T;
            fn sizes(_: &mut Vec<usize>) {}
            fn elements(self, out: &mut Vec<$T>) {
                out.push(self);
            }
        }

        impl IntoConstant for $T {
            fn into_constant(self) -> Result<Tensor> {
                Tensor::from_slice(&[], &[self])
            }
        }
    )*};
}
scalars!(bool, u8, i8, u16, i16, u32, i32, u64, i64, f32, f64);

impl<T: NestedArray, const N: usize> NestedArray for [T; N] {
    type Scalar = T::Scalar;
    fn sizes(out: &mut Vec<usize>) {
        out.push(N);
        T::sizes(out);
    }
    fn elements(self, out: &mut Vec<T::Scalar>) {
        self.into_iter().for_each(|part| part.elements(out));
    }
}

impl<T: NestedArray, const N: usize> IntoConstant for [T; N] {
    fn into_constant(self) -> Result<Tensor> {
        let mut sizes = Vec::new();
        <[T; N] as NestedArray>::sizes(&mut sizes);
        let mut elements = Vec::new();
        self.elements(&mut elements);
        Tensor::from_slice(&sizes, &elements)
    }
}

impl IntoConstant for &str {
    fn into_constant(self) -> Result<Tensor> {
        Tensor::from_strings(&[], &[self])
    }
}

impl<const N: usize> IntoConstant for [&str; N] {
    fn into_constant(self) -> Result<Tensor> {
        Tensor::from_strings(&[N], &self)
    }
}
