//! `MatrixNumber`: the numbers of matrices, f64 or complex numbers of f64.

use std::ops::{Add, AddAssign, Mul, Neg, Sub, SubAssign};

use num_complex::Complex64;
use shapeflow_shape_fns::DType;

use crate::error::Result;
use crate::expr::{Scalar, eval_cast};
use crate::ops::row_major::RowMajor;
use crate::tensor::{Tensor, TensorView};
use crate::tiles::SliceMatMul;

/// The number of multiplications of a product of matrices below which simple loops are faster than [`SliceMatMul`].
const FEW_PRODUCTS: usize = 1000;

/// A number of a matrix. Real dtypes are computed in f64 and complex ones in two f64, and rounded once.
pub(super) trait MatrixNumber:
    Copy
    + Send
    + Sync
    + PartialEq
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
{
    /// The number of real parts: 1 or 2.
    const PARTS: usize;

    fn from_real(x: f64) -> Self;
    fn conj(self) -> Self;
    fn real(self) -> f64;
    /// Returns the absolute value.
    fn magnitude(self) -> f64;
    fn square_magnitude(self) -> f64;
    /// Multiplies by a real number.
    fn scaled(self, factor: f64) -> Self;
    /// Divides by a real number.
    fn over(self, divisor: f64) -> Self;
    /// Divides by a number. No square of a part of a complex divisor overflows or underflows. A division by 0 divides
    /// both parts by 0.
    fn divide(self, divisor: Self) -> Self;
    fn to_complex(self) -> Complex64;
    /// Returns a complex number, or its real part if the field is real.
    fn of_complex(x: Complex64) -> Self;
    /// Returns the product of a row-major `m` by `k` matrix and a `k` by `n` matrix; `sizes` is `[m, k, n]`.
    fn multiply(sizes: [usize; 3], a: &[Self], b: &[Self]) -> Vec<Self>;
    fn read(x: &TensorView<'_>) -> Result<Vec<Self>>;
    fn write(dtype: DType, sizes: &[usize], data: &[Self]) -> Result<Tensor>;

    fn zero() -> Self {
        Self::from_real(0.0)
    }

    fn one() -> Self {
        Self::from_real(1.0)
    }
}

impl MatrixNumber for f64 {
    const PARTS: usize = 1;

    #[inline]
    fn from_real(x: f64) -> f64 {
        x
    }

    #[inline]
    fn conj(self) -> f64 {
        self
    }

    #[inline]
    fn real(self) -> f64 {
        self
    }

    #[inline]
    fn magnitude(self) -> f64 {
        self.abs()
    }

    #[inline]
    fn square_magnitude(self) -> f64 {
        self * self
    }

    #[inline]
    fn scaled(self, factor: f64) -> f64 {
        self * factor
    }

    #[inline]
    fn over(self, divisor: f64) -> f64 {
        self / divisor
    }

    #[inline]
    fn divide(self, divisor: f64) -> f64 {
        self / divisor
    }

    #[inline]
    fn to_complex(self) -> Complex64 {
        Complex64::new(self, 0.0)
    }

    #[inline]
    fn of_complex(x: Complex64) -> f64 {
        x.re
    }

    fn multiply(sizes: [usize; 3], a: &[f64], b: &[f64]) -> Vec<f64> {
        let mut product = vec![0.0; sizes[0] * sizes[2]];
        if sizes.iter().product::<usize>() < FEW_PRODUCTS {
            multiply_rows(sizes, a, b, &mut product);
        } else {
            let matmul = SliceMatMul { sizes, transposed: [false; 2] };
            matmul.run(a, b, 0..sizes[0], &mut product, &mut Vec::new());
        }
        product
    }

    fn read(x: &TensorView<'_>) -> Result<Vec<f64>> {
        let x = RowMajor::new(x.clone())?;
        let x = x.view();
        match x.dtype() {
            DType::F64 => return Ok(x.as_slice::<f64>()?.to_vec()),
            DType::F32 => return Ok(x.as_slice::<f32>()?.iter().map(|x| f64::from(*x)).collect()),
            _ => {}
        }
        let size = x.dtype().size_bytes().expect("the dtype rules accept numbers only");
        let element = |position| {
            let bytes = x.element(position).expect("the position is in the tensor");
            Scalar::from_bytes(x.dtype(), &bytes[..size])
                .expect("the dtype rules accept numbers only")
                .to_f64()
        };
        Ok((0..x.len()).map(element).collect())
    }

    fn write(dtype: DType, sizes: &[usize], data: &[f64]) -> Result<Tensor> {
        let mut tensor = Tensor::zeros(dtype, sizes)?;
        match dtype {
            DType::F64 => tensor.as_mut_slice::<f64>()?.copy_from_slice(data),
            DType::F32 => {
                for (slot, x) in tensor.as_mut_slice::<f32>()?.iter_mut().zip(data) {
                    *slot = *x as f32;
                }
            }
            _ => {
                let size = dtype.size_bytes().expect("the dtype rules accept numbers only");
                for (slot, x) in tensor.view_mut()?.bytes_mut().chunks_exact_mut(size).zip(data) {
                    eval_cast(Scalar::F64(*x), dtype).write_bytes(slot).expect("a slot holds one element");
                }
            }
        }
        Ok(tensor)
    }
}

impl MatrixNumber for Complex64 {
    const PARTS: usize = 2;

    #[inline]
    fn from_real(x: f64) -> Complex64 {
        Complex64::new(x, 0.0)
    }

    #[inline]
    fn conj(self) -> Complex64 {
        Complex64::conj(&self)
    }

    #[inline]
    fn real(self) -> f64 {
        self.re
    }

    #[inline]
    fn magnitude(self) -> f64 {
        self.norm()
    }

    #[inline]
    fn square_magnitude(self) -> f64 {
        self.norm_sqr()
    }

    #[inline]
    fn scaled(self, factor: f64) -> Complex64 {
        Complex64::new(self.re * factor, self.im * factor)
    }

    #[inline]
    fn over(self, divisor: f64) -> Complex64 {
        Complex64::new(self.re / divisor, self.im / divisor)
    }

    fn divide(self, divisor: Complex64) -> Complex64 {
        let largest = divisor.re.abs().max(divisor.im.abs());
        if largest == 0.0 {
            return Complex64::new(self.re / divisor.re, self.im / divisor.re);
        }
        let exponent = (largest.to_bits() >> 52) as i32 - 1023;
        let exponent = if largest.is_finite() { exponent.clamp(-1000, 1000) } else { 0 };
        // A power of 2 rounds nothing.
        let unit = f64::from_bits(((1023 - exponent) as u64) << 52);
        self / (divisor * unit) * unit
    }

    #[inline]
    fn to_complex(self) -> Complex64 {
        self
    }

    #[inline]
    fn of_complex(x: Complex64) -> Complex64 {
        x
    }

    /// One product of real matrices gives the products of the real parts and of the imaginary parts of `a` with `b`.
    fn multiply([m, k, n]: [usize; 3], a: &[Complex64], b: &[Complex64]) -> Vec<Complex64> {
        if m * k * n < FEW_PRODUCTS {
            let mut product = vec![Complex64::ZERO; m * n];
            multiply_rows([m, k, n], a, b, &mut product);
            return product;
        }
        let parts: Vec<f64> = a.iter().map(|x| x.re).chain(a.iter().map(|x| x.im)).collect();
        let pairs: Vec<f64> = b.iter().flat_map(|x| [x.re, x.im]).collect();
        let products = f64::multiply([2 * m, k, 2 * n], &parts, &pairs);
        let (real, imaginary) = products.split_at(2 * m * n);
        let pairs = real.chunks_exact(2).zip(imaginary.chunks_exact(2));
        pairs.map(|(x, y)| Complex64::new(x[0] - y[1], x[1] + y[0])).collect()
    }

    fn read(x: &TensorView<'_>) -> Result<Vec<Complex64>> {
        let x = RowMajor::new(x.clone())?;
        let x = x.view();
        let pair = |parts: [f64; 2]| Complex64::new(parts[0], parts[1]);
        Ok(match x.dtype() {
            DType::C64 => x
                .as_bits::<f32>()?
                .chunks_exact(2)
                .map(|parts| pair([parts[0].into(), parts[1].into()]))
                .collect(),
            _ => x.as_bits::<f64>()?.chunks_exact(2).map(|parts| pair([parts[0], parts[1]])).collect(),
        })
    }

    fn write(dtype: DType, sizes: &[usize], data: &[Complex64]) -> Result<Tensor> {
        let parts = data.iter().flat_map(|x| [x.re, x.im]);
        match dtype {
            DType::C64 => Tensor::from_bits(dtype, sizes, &parts.map(|x| x as f32).collect::<Vec<f32>>()),
            _ => Tensor::from_bits(dtype, sizes, &parts.collect::<Vec<f64>>()),
        }
    }
}

/// Adds a product of row-major matrices to `product`; `[m, k, n]` as for [`MatrixNumber::multiply`].
fn multiply_rows<T: MatrixNumber>([_, k, n]: [usize; 3], a: &[T], b: &[T], product: &mut [T]) {
    if k == 0 || n == 0 {
        return;
    }
    for (row, factors) in product.chunks_exact_mut(n).zip(a.chunks_exact(k)) {
        for (factor, other) in factors.iter().zip(b.chunks_exact(n)) {
            for (sum, x) in row.iter_mut().zip(other) {
                *sum += *factor * *x;
            }
        }
    }
}

/// Calls a generic function with the number type in which a dtype is computed: `f64` or `Complex64`.
macro_rules! with_number_type {
    ($dtype:expr, $function:ident($($argument:expr),*)) => {
        match $dtype.is_complex() {
            true => $function::<num_complex::Complex64>($($argument),*),
            false => $function::<f64>($($argument),*),
        }
    };
}
pub(super) use with_number_type;

#[cfg(test)]
mod tests {
    use super::super::batch::{MatrixBatch, numbers};
    use super::super::matrix::{Matrix, check_matrix};
    use super::*;

    fn check<T: MatrixNumber + std::fmt::Debug>(dtype: DType) {
        for [m, k, n] in [[0, 2, 3], [2, 0, 3], [2, 3, 0], [1, 5, 1], [9, 7, 8], [20, 30, 10], [33, 1, 40]] {
            let matrix = |rows: usize, columns: usize| {
                MatrixBatch::<T>::of(&numbers(dtype, &[rows, columns]).view()).unwrap().at(0)
            };
            let (a, b) = (matrix(m, k), matrix(k, n));
            let product = Matrix::from_fn(m, n, |row, column| {
                (0..k).fold(T::zero(), |sum, i| sum + a[(row, i)] * b[(i, column)])
            });
            check_matrix(&a.times(&b), &product);
        }
    }

    #[test]
    fn products_are_sums_of_products() {
        check::<f64>(DType::F64);
        check::<Complex64>(DType::C128);
    }

    #[test]
    fn every_dtype_is_read_and_rounded_once() {
        let values = [1.0, -0.1, 1e-7, 1e5, f64::INFINITY];
        for dtype in [DType::F16, DType::BF16, DType::F32, DType::F64] {
            let x = f64::write(dtype, &[5], &values).unwrap();
            let read = f64::read(&x.view()).unwrap();
            assert_eq!(f64::write(dtype, &[5], &read).unwrap(), x);
            let error = if dtype == DType::F64 { 0.0 } else { 0.01 };
            assert!(read[..2].iter().zip(values).all(|(x, value)| (x - value).abs() <= error), "{read:?}");
        }
    }
}
