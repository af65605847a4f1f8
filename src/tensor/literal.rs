//! Tensors from Rust values: scalars, nested arrays, slices, vectors.

use std::alloc;

use super::{Element, Tensor};

/// A tensor of elements that are in memory already, so that their number fits. If there is no memory for
/// the copy the process ends, as with `Box::new`.
pub(super) fn tensor<T: Element>(sizes: &[usize], data: &[T]) -> Tensor {
    Tensor::from_slice(sizes, data)
        .unwrap_or_else(|_| alloc::handle_alloc_error(alloc::Layout::for_value(data)))
}

/// Rank 0.
impl<T: Element> From<T> for Tensor {
    fn from(value: T) -> Tensor {
        tensor(&[], &[value])
    }
}

/// Rank 1.
impl<T: Element> From<&[T]> for Tensor {
    fn from(values: &[T]) -> Tensor {
        tensor(&[values.len()], values)
    }
}

/// Rank 1.
impl<T: Element> From<Vec<T>> for Tensor {
    fn from(values: Vec<T>) -> Tensor {
        tensor(&[values.len()], &values)
    }
}

/// Rank 1.
impl<T: Element, const A: usize> From<[T; A]> for Tensor {
    fn from(values: [T; A]) -> Tensor {
        tensor(&[A], &values)
    }
}

/// Rank 2.
impl<T: Element, const A: usize, const B: usize> From<[[T; B]; A]> for Tensor {
    fn from(values: [[T; B]; A]) -> Tensor {
        tensor(&[A, B], values.as_flattened())
    }
}

/// Rank 3.
impl<T: Element, const A: usize, const B: usize, const C: usize> From<[[[T; C]; B]; A]> for Tensor {
    fn from(values: [[[T; C]; B]; A]) -> Tensor {
        tensor(&[A, B, C], values.as_flattened().as_flattened())
    }
}

/// Rank 4.
impl<T: Element, const A: usize, const B: usize, const C: usize, const D: usize> From<[[[[T; D]; C]; B]; A]>
    for Tensor
{
    fn from(values: [[[[T; D]; C]; B]; A]) -> Tensor {
        tensor(&[A, B, C, D], values.as_flattened().as_flattened().as_flattened())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nesting_is_rank() {
        assert!(Tensor::from(1.5).sizes().is_empty());
        assert_eq!(Tensor::from([1u8, 2]).sizes(), [2]);
        assert_eq!(Tensor::from([[1, 2, 3], [4, 5, 6]]).sizes(), [2, 3]);
        assert_eq!(Tensor::from([[[true]; 3]; 2]).sizes(), [2, 3, 1]);
        assert_eq!(Tensor::from([[[[0i8; 5]; 4]; 3]; 2]).sizes(), [2, 3, 4, 5]);
        assert_eq!(Tensor::from(vec![1i64, 2]), Tensor::from(&[1i64, 2][..]));
        assert_eq!(Tensor::from([[0f32; 0]; 3]).sizes(), [3, 0]);
    }
}
