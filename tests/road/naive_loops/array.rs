//! [`Array`]: small numbers with sizes, which stand for the elements of any dtype.

use shapeflow::{DType, Tensor};

use crate::tensor_compare::tensor_of;

/// Tokens in row-major order. A token is an integer from 0 to 7; 0 stands for the zero of every dtype, 1 for its one.
#[derive(Clone, Debug)]
pub struct Array {
    pub sizes: Vec<usize>,
    pub data: Vec<f64>,
}

impl Array {
    /// Makes an array from a function of the index.
    pub fn build(sizes: &[usize], element: impl Fn(&[usize]) -> f64) -> Array {
        let count = sizes.iter().product();
        let mut index = vec![0; sizes.len()];
        let data = (0..count).map(|number: usize| {
            let mut rest = number;
            for axis in (0..sizes.len()).rev() {
                index[axis] = rest % sizes[axis];
                rest /= sizes[axis];
            }
            element(&index)
        });
        let data = data.collect();
        Array { sizes: sizes.to_vec(), data }
    }

    /// Returns the element at an index, or `None` outside the array.
    pub fn get(&self, index: &[i64]) -> Option<f64> {
        let mut number = 0;
        for (position, size) in index.iter().zip(&self.sizes) {
            if !(0..*size as i64).contains(position) {
                return None;
            }
            number = number * size + *position as usize;
        }
        Some(self.data[number])
    }

    /// Returns the element at an index.
    pub fn at(&self, index: &[usize]) -> f64 {
        let index: Vec<i64> = index.iter().map(|position| *position as i64).collect();
        self.get(&index).expect("the index of a naive loop is inside the array")
    }

    /// Returns the tensor of a dtype whose elements the tokens stand for.
    pub fn tensor(&self, dtype: DType) -> Tensor {
        if dtype == DType::String {
            let texts: Vec<String> = self.data.iter().map(|token| "ab".repeat(*token as usize)).collect();
            return Tensor::from_strings(&self.sizes, &texts).unwrap();
        }
        if !dtype.is_complex() {
            return tensor_of(dtype, &self.sizes, &self.data);
        }
        // The imaginary part of 0 and of 1 is +0.
        let parts: Vec<f64> =
            self.data.iter().flat_map(|token| [*token, (token * (token - 1.0)).abs()]).collect();
        tensor_of(dtype, &self.sizes, &parts)
    }
}

/// Returns the sizes of a shape such as `[n, 2*n, 3]`.
pub fn sizes_of(shape: &str, n: usize) -> Vec<usize> {
    let dims = shape.trim_matches(['[', ']']).split(',').map(str::trim).filter(|dim| !dim.is_empty());
    let size = |dim: &str| match dim.split_once('*') {
        Some((factor, _)) => factor.parse::<usize>().unwrap() * n,
        None => dim.parse().unwrap_or(n),
    };
    dims.map(size).collect()
}
