//! Conversions of Rust values into tensors: scalars, nested arrays, slices, vectors.

use std::alloc;

use super::{Element, Tensor};

/// Copies `data` into a tensor. `data` is in memory, so its size in bytes is at most `isize::MAX`, and only the
/// allocation can fail. A failed allocation aborts the process, as in `Box::new`.
pub(super) fn tensor<T: Element>(sizes: &[usize], data: &[T]) -> Tensor {
    Tensor::from_slice(sizes, data)
        .unwrap_or_else(|_| alloc::handle_alloc_error(alloc::Layout::for_value(data)))
}

/// Shares the elements.
impl From<&Tensor> for Tensor {
    fn from(tensor: &Tensor) -> Tensor {
        tensor.clone()
    }
}

/// Makes a tensor of rank 0.
impl<T: Element> From<T> for Tensor {
    fn from(value: T) -> Tensor {
        tensor(&[], &[value])
    }
}

/// Makes a tensor of rank 1.
impl<T: Element> From<&[T]> for Tensor {
    fn from(values: &[T]) -> Tensor {
        tensor(&[values.len()], values)
    }
}

/// Makes a tensor of rank 1.
impl<T: Element> From<Vec<T>> for Tensor {
    fn from(values: Vec<T>) -> Tensor {
        tensor(&[values.len()], &values)
    }
}

/// Makes a tensor of rank 1.
impl<T: Element, const A: usize> From<[T; A]> for Tensor {
    fn from(values: [T; A]) -> Tensor {
        tensor(&[A], &values)
    }
}

/// Makes a tensor of rank 2.
impl<T: Element, const A: usize, const B: usize> From<[[T; B]; A]> for Tensor {
    fn from(values: [[T; B]; A]) -> Tensor {
        tensor(&[A, B], values.as_flattened())
    }
}

/// Makes a tensor of rank 3.
impl<T: Element, const A: usize, const B: usize, const C: usize> From<[[[T; C]; B]; A]> for Tensor {
    fn from(values: [[[T; C]; B]; A]) -> Tensor {
        tensor(&[A, B, C], values.as_flattened().as_flattened())
    }
}

/// Makes a tensor of rank 4.
impl<T: Element, const A: usize, const B: usize, const C: usize, const D: usize> From<[[[[T; D]; C]; B]; A]>
    for Tensor
{
    fn from(values: [[[[T; D]; C]; B]; A]) -> Tensor {
        tensor(&[A, B, C, D], values.as_flattened().as_flattened().as_flattened())
    }
}

/// Copies strings into a tensor. A failed allocation aborts the process, as in [`tensor`].
fn strings_of_sizes<S: AsRef<[u8]>>(sizes: &[usize], strings: &[S]) -> Tensor {
    Tensor::from_strings(sizes, strings)
        .unwrap_or_else(|_| alloc::handle_alloc_error(alloc::Layout::for_value(strings)))
}

/// Copies strings into a tensor of rank 1.
fn strings<S: AsRef<[u8]>>(strings: &[S]) -> Tensor {
    strings_of_sizes(&[strings.len()], strings)
}

/// Makes a string tensor of rank 0.
impl From<&str> for Tensor {
    fn from(value: &str) -> Tensor {
        strings_of_sizes(&[], &[value])
    }
}

/// Makes a string tensor of rank 2.
impl<const A: usize, const B: usize> From<[[&str; B]; A]> for Tensor {
    fn from(values: [[&str; B]; A]) -> Tensor {
        strings_of_sizes(&[A, B], values.as_flattened())
    }
}

/// Makes a string tensor of rank 1.
impl<const A: usize> From<[&str; A]> for Tensor {
    fn from(values: [&str; A]) -> Tensor {
        strings(&values)
    }
}

/// Makes a string tensor of rank 1.
impl From<&[&str]> for Tensor {
    fn from(values: &[&str]) -> Tensor {
        strings(values)
    }
}

/// Makes a string tensor of rank 1.
impl From<Vec<&str>> for Tensor {
    fn from(values: Vec<&str>) -> Tensor {
        strings(&values)
    }
}

/// Makes a string tensor of rank 1.
impl From<&[String]> for Tensor {
    fn from(values: &[String]) -> Tensor {
        strings(values)
    }
}

/// Makes a string tensor of rank 1.
impl From<Vec<String>> for Tensor {
    fn from(values: Vec<String>) -> Tensor {
        strings(&values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nesting_depth_is_the_rank() {
        assert!(Tensor::from(1.5).sizes().is_empty());
        assert_eq!(Tensor::from([1u8, 2]).sizes(), [2]);
        assert_eq!(Tensor::from([[1, 2, 3], [4, 5, 6]]).sizes(), [2, 3]);
        assert_eq!(Tensor::from([[[true]; 3]; 2]).sizes(), [2, 3, 1]);
        assert_eq!(Tensor::from([[[[0i8; 5]; 4]; 3]; 2]).sizes(), [2, 3, 4, 5]);
        assert_eq!(Tensor::from(vec![1i64, 2]), Tensor::from(&[1i64, 2][..]));
        assert_eq!(Tensor::from([[0f32; 0]; 3]).sizes(), [3, 0]);
        let words = Tensor::from_strings(&[2], &["a", "\u{e4}b"]).unwrap();
        let owned = vec!["a".to_string(), "\u{e4}b".to_string()];
        assert_eq!(Tensor::from(&owned[..]), words);
        assert_eq!(Tensor::from(owned), words);
        assert_eq!(Tensor::from(&["a", "\u{e4}b"][..]), words);
        assert_eq!(Tensor::from(vec!["a", "\u{e4}b"]), words);
        assert_eq!(Tensor::from(["a", "\u{e4}b"]), words);
        assert_eq!(Tensor::from([""; 0]).sizes(), [0]);
        assert_eq!(Tensor::from([["a", "b"], ["c", "d"], ["e", "f"]]).sizes(), [3, 2]);
        assert!(Tensor::from("a").sizes().is_empty());
    }
}
