//! `Matrix`: matrices of the operands of host ops, in f64 or in complex numbers of f64.

use std::ops::{Add, AddAssign, Index, IndexMut, Mul, Neg, Sub, SubAssign};

use num_complex::Complex64;
use shapeflow_shape_fns::DType;

use crate::error::{Error, ErrorKind, Phase, Result};
use crate::expr::{Scalar, eval_cast};
use crate::op::HostCx;
use crate::ops::row_major::RowMajor;
use crate::tensor::{Tensor, TensorView, collected_vec, index_of, reserved_vec};

/// A number of a matrix. Real dtypes are computed in f64 and complex ones in two f64, and rounded once.
pub(super) trait MatrixNumber:
    Copy
    + PartialEq
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
{
    fn from_real(x: f64) -> Self;
    fn conj(self) -> Self;
    fn real(self) -> f64;
    /// Returns the absolute value.
    fn magnitude(self) -> f64;
    /// Divides by a real number.
    fn over(self, divisor: f64) -> Self;
    /// Divides by a number. No square of a part of a complex divisor overflows or underflows. A division by 0 divides
    /// both parts by 0.
    fn divide(self, divisor: Self) -> Self;
    fn to_complex(self) -> Complex64;
    /// Returns a complex number, or its real part if the field is real.
    fn of_complex(x: Complex64) -> Self;
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
    fn from_real(x: f64) -> f64 {
        x
    }

    fn conj(self) -> f64 {
        self
    }

    fn real(self) -> f64 {
        self
    }

    fn magnitude(self) -> f64 {
        self.abs()
    }

    fn over(self, divisor: f64) -> f64 {
        self / divisor
    }

    fn divide(self, divisor: f64) -> f64 {
        self / divisor
    }

    fn to_complex(self) -> Complex64 {
        Complex64::new(self, 0.0)
    }

    fn of_complex(x: Complex64) -> f64 {
        x.re
    }

    fn read(x: &TensorView<'_>) -> Result<Vec<f64>> {
        let size = x.dtype().size_bytes().expect("the dtype rules accept numbers only");
        let x = RowMajor::new(x.clone())?;
        let x = x.view();
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
        let size = dtype.size_bytes().expect("the dtype rules accept numbers only");
        for (slot, x) in tensor.view_mut()?.bytes_mut().chunks_exact_mut(size).zip(data) {
            eval_cast(Scalar::F64(*x), dtype).write_bytes(slot).expect("a slot holds one element");
        }
        Ok(tensor)
    }
}

impl MatrixNumber for Complex64 {
    fn from_real(x: f64) -> Complex64 {
        Complex64::new(x, 0.0)
    }

    fn conj(self) -> Complex64 {
        Complex64::conj(&self)
    }

    fn real(self) -> f64 {
        self.re
    }

    fn magnitude(self) -> f64 {
        self.norm()
    }

    fn over(self, divisor: f64) -> Complex64 {
        Complex64::new(self.re / divisor, self.im / divisor)
    }

    fn divide(self, divisor: Complex64) -> Complex64 {
        let largest = divisor.re.abs().max(divisor.im.abs());
        if largest == 0.0 {
            return Complex64::new(self.re / divisor.re, self.im / divisor.re);
        }
        let is_finite = largest.is_finite();
        let exponent = if is_finite { (largest.log2().floor() as i32).clamp(-1000, 1000) } else { 0 };
        // A power of 2 rounds nothing.
        let unit = f64::powi(2.0, -exponent);
        self / (divisor * unit) * unit
    }

    fn to_complex(self) -> Complex64 {
        self
    }

    fn of_complex(x: Complex64) -> Complex64 {
        x
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

/// A matrix, row by row.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Matrix<T> {
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) data: Vec<T>,
}

impl<T> Index<(usize, usize)> for Matrix<T> {
    type Output = T;
    fn index(&self, (row, column): (usize, usize)) -> &T {
        &self.data[row * self.columns + column]
    }
}

impl<T> IndexMut<(usize, usize)> for Matrix<T> {
    fn index_mut(&mut self, (row, column): (usize, usize)) -> &mut T {
        &mut self.data[row * self.columns + column]
    }
}

impl<T: MatrixNumber> Matrix<T> {
    pub(super) fn from_fn(rows: usize, columns: usize, element: impl Fn(usize, usize) -> T) -> Matrix<T> {
        let mut data = Vec::with_capacity(rows * columns);
        for row in 0..rows {
            for column in 0..columns {
                data.push(element(row, column));
            }
        }
        Matrix { rows, columns, data }
    }

    pub(super) fn identity(size: usize) -> Matrix<T> {
        Matrix::from_fn(size, size, |row, column| if row == column { T::one() } else { T::zero() })
    }

    /// Returns the conjugate transpose.
    pub(super) fn adjoint(&self) -> Matrix<T> {
        Matrix::from_fn(self.columns, self.rows, |row, column| self[(column, row)].conj())
    }

    pub(super) fn times(&self, other: &Matrix<T>) -> Matrix<T> {
        let mut product = Matrix::from_fn(self.rows, other.columns, |_, _| T::zero());
        for row in 0..self.rows {
            for inner in 0..self.columns {
                product.add_scaled_row(
                    row,
                    self[(row, inner)],
                    &other.data[inner * other.columns..][..other.columns],
                );
            }
        }
        product
    }

    /// Adds `factor · values` to a row.
    pub(super) fn add_scaled_row(&mut self, row: usize, factor: T, values: &[T]) {
        let own = &mut self.data[row * self.columns..][..self.columns];
        for (own, value) in own.iter_mut().zip(values) {
            *own += factor * *value;
        }
    }

    /// Adds `factor` times row `from` to row `to`.
    pub(super) fn add_row(&mut self, to: usize, factor: T, from: usize) {
        for column in 0..self.columns {
            let value = self[(from, column)];
            self[(to, column)] += factor * value;
        }
    }

    pub(super) fn swap_rows(&mut self, a: usize, b: usize) {
        for column in 0..self.columns {
            self.data.swap(a * self.columns + column, b * self.columns + column);
        }
    }
}

/// A tensor whose last two axes are matrices.
pub(super) struct MatrixBatch<T> {
    /// The sizes of the other axes.
    pub(super) sizes: Vec<usize>,
    rows: usize,
    columns: usize,
    data: Vec<T>,
    /// The number of the operand.
    operand: usize,
}

impl<T: MatrixNumber> MatrixBatch<T> {
    /// Reads operand `operand`.
    ///
    /// # Errors
    /// The operand has no matrices, or more matrices than memory can hold results for. Matrices without elements count.
    pub(super) fn read(cx: &HostCx<'_>, operand: usize) -> Result<MatrixBatch<T>> {
        let batch = MatrixBatch::of_operand(operand, &cx.input(operand)?)?;
        reserved_vec::<Vec<T>>(batch.len())?;
        Ok(batch)
    }

    #[cfg(test)]
    pub(super) fn of(x: &TensorView<'_>) -> Result<MatrixBatch<T>> {
        MatrixBatch::of_operand(0, x)
    }

    fn of_operand(operand: usize, x: &TensorView<'_>) -> Result<MatrixBatch<T>> {
        let [sizes @ .., rows, columns] = x.sizes() else {
            return Err(Error::msg(format!(
                "a matrix must have rank at least 2, got rank {}",
                x.sizes().len()
            )));
        };
        Ok(MatrixBatch { sizes: sizes.to_vec(), rows: *rows, columns: *columns, data: T::read(x)?, operand })
    }

    pub(super) fn len(&self) -> usize {
        // A batch of matrices without elements may be too long for any memory.
        self.sizes.iter().fold(1, |count, size| count.saturating_mul(*size))
    }

    pub(super) fn at(&self, number: usize) -> Matrix<T> {
        let size = self.rows * self.columns;
        let data = self.data[number * size..][..size].to_vec();
        Matrix { rows: self.rows, columns: self.columns, data }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Matrix<T>> + '_ {
        (0..self.len()).map(|number| self.at(number))
    }

    /// Computes a result for each matrix.
    ///
    /// # Errors
    /// `compute` refuses a matrix; the error names the matrix.
    pub(super) fn try_map<R>(&self, mut compute: impl FnMut(Matrix<T>) -> Result<R>) -> Result<Vec<R>> {
        let result = |number| compute(self.at(number)).map_err(|error| self.in_matrix(number, error));
        (0..self.len()).map(result).collect()
    }

    /// Computes a result for each matrix and the matrix of `sides` with the same batch index.
    ///
    /// # Errors
    /// As [`MatrixBatch::try_map`].
    pub(super) fn try_map_with<R>(
        &self,
        sides: &MatrixBatch<T>,
        mut compute: impl FnMut(Matrix<T>, Matrix<T>) -> Result<R>,
    ) -> Result<Vec<R>> {
        let result = |number| {
            compute(self.at(number), sides.at(number)).map_err(|error| self.in_matrix(number, error))
        };
        (0..self.len()).map(result).collect()
    }

    /// Adds the operand and the index of a matrix in the batch to an error about the matrix.
    pub(super) fn in_matrix(&self, number: usize, error: Error) -> Error {
        let place = match &self.sizes[..] {
            [] => String::new(),
            sizes => format!(" at batch index {:?}", index_of(sizes, number)),
        };
        error.in_element(self.operand, &place).blame_element(self.operand)
    }

    /// Returns the numbers of rows and columns of every matrix.
    pub(super) fn shape(&self) -> [usize; 2] {
        [self.rows, self.columns]
    }
}

/// Sets an output to `parts`: one result, of sizes `sizes`, for each matrix of a batch.
pub(super) fn set_batch<T: MatrixNumber>(
    cx: &mut HostCx<'_>,
    output: usize,
    dtype: DType,
    batch: &[usize],
    sizes: &[usize],
    parts: Vec<Vec<T>>,
) -> Result<()> {
    let sizes: Vec<usize> = batch.iter().chain(sizes).copied().collect();
    let tensor = T::write(dtype, &sizes, &parts.concat())?;
    cx.set_output(output, tensor)
}

/// Returns the sizes that `a` and `b` broadcast to. Also returns, for each element of the result, the positions of the
/// elements of `a` and `b` that belong to this element.
///
/// # Errors
/// Memory is refused.
pub(super) fn broadcast(a: &[usize], b: &[usize]) -> Result<(Vec<usize>, Vec<[usize; 2]>)> {
    let rank = a.len().max(b.len());
    let size =
        |sizes: &[usize], axis: usize| (axis + sizes.len()).checked_sub(rank).map_or(1, |axis| sizes[axis]);
    let sizes: Vec<usize> =
        (0..rank).map(|axis| if size(a, axis) == 1 { size(b, axis) } else { size(a, axis) }).collect();
    let offset = |own: &[usize], number: usize| {
        let (mut rest, mut offset, mut stride) = (number, 0, 1);
        for axis in (0..rank).rev() {
            let length = size(own, axis);
            offset += rest % sizes[axis] % length * stride;
            rest /= sizes[axis];
            stride *= length;
        }
        offset
    };
    let count = sizes.iter().fold(1usize, |count, size| count.saturating_mul(*size));
    let numbers = collected_vec((0..count).map(|number| [offset(a, number), offset(b, number)]))?;
    Ok((sizes, numbers))
}

/// Checks that two matrices are equal up to rounding.
#[cfg(test)]
#[track_caller]
pub(super) fn check_matrix<T: MatrixNumber + std::fmt::Debug>(got: &Matrix<T>, expected: &Matrix<T>) {
    assert_eq!((got.rows, got.columns), (expected.rows, expected.columns));
    let is_close = |(got, expected): (&T, &T)| (*got - *expected).magnitude() < 1e-12;
    assert!(got.data.iter().zip(&expected.data).all(is_close), "{got:?} is not {expected:?}");
}

/// Returns numbers without a pattern, c128 or f64, of these sizes.
#[cfg(test)]
pub(super) fn numbers(dtype: DType, sizes: &[usize]) -> Tensor {
    let parts = if dtype.is_complex() { 2 } else { 1 };
    let number = |i: usize| {
        let mixed = (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed >> 40) as f64 / f64::from(1 << 23) - 1.0
    };
    let count = parts * sizes.iter().product::<usize>();
    Tensor::from_bits(dtype, sizes, &(0..count).map(number).collect::<Vec<f64>>()).expect("the count fits")
}

pub(super) fn refuse<T>(message: &str) -> Result<T> {
    Err(Error::new(ErrorKind::Guard, Phase::Run, message))
}
