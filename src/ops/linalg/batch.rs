//! `MatrixBatch`: operands and results of host ops, whose last two axes are matrices.

use std::sync::{Mutex, PoisonError};

use shapeflow_shape_fns::DType;

use super::matrix::Matrix;
use super::number::MatrixNumber;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::op::{HostCx, HostThreads};
use crate::tensor::{TensorView, collected_vec, index_of, reserved_vec};

/// A tensor whose last two axes are matrices.
pub(super) struct MatrixBatch<'a, T> {
    /// The sizes of the other axes.
    pub(super) sizes: Vec<usize>,
    rows: usize,
    columns: usize,
    data: Vec<T>,
    /// The number of the operand.
    operand: usize,
    threads: HostThreads<'a>,
}

impl<'a, T: MatrixNumber> MatrixBatch<'a, T> {
    /// Reads operand `operand`.
    ///
    /// # Errors
    /// The operand has no matrices, or more matrices than memory can hold results for. Matrices without elements count.
    pub(super) fn read(cx: &HostCx<'a>, operand: usize) -> Result<MatrixBatch<'a, T>> {
        let batch = MatrixBatch::of_operand(operand, &cx.input(operand)?, cx.threads())?;
        reserved_vec::<Vec<T>>(batch.len())?;
        Ok(batch)
    }

    #[cfg(test)]
    pub(super) fn of(x: &TensorView<'_>) -> Result<MatrixBatch<'a, T>> {
        MatrixBatch::of_operand(0, x, HostThreads::default())
    }

    fn of_operand(
        operand: usize,
        x: &TensorView<'_>,
        threads: HostThreads<'a>,
    ) -> Result<MatrixBatch<'a, T>> {
        let [sizes @ .., rows, columns] = x.sizes() else {
            return Err(Error::msg(format!(
                "a matrix must have rank at least 2, got rank {}",
                x.sizes().len()
            )));
        };
        Ok(MatrixBatch {
            sizes: sizes.to_vec(),
            rows: *rows,
            columns: *columns,
            data: T::read(x)?,
            operand,
            threads,
        })
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

    /// Computes a result for each matrix, on several threads if the batch is large.
    ///
    /// # Errors
    /// `compute` refuses a matrix; the error names the matrix.
    pub(super) fn try_map<R: Send>(&self, compute: impl Fn(Matrix<T>) -> Result<R> + Sync) -> Result<Vec<R>> {
        self.in_parts(self.len(), |number| {
            compute(self.at(number)).map_err(|error| self.in_matrix(number, error))
        })
    }

    /// Computes a result for each matrix and the matrix of `sides` with the same batch index, as
    /// [`MatrixBatch::try_map`].
    ///
    /// # Errors
    /// As [`MatrixBatch::try_map`].
    pub(super) fn try_map_with<R: Send>(
        &self,
        sides: &MatrixBatch<'_, T>,
        compute: impl Fn(Matrix<T>, Matrix<T>) -> Result<R> + Sync,
    ) -> Result<Vec<R>> {
        self.in_parts(self.len(), |number| {
            compute(self.at(number), sides.at(number)).map_err(|error| self.in_matrix(number, error))
        })
    }

    /// Returns `result(number)` for each number below `count`. Each result takes about the time that an op takes for a
    /// matrix. Several threads compute long lists of results.
    ///
    /// # Errors
    /// The first error of `result`.
    pub(super) fn in_parts<R: Send>(
        &self,
        count: usize,
        result: impl Fn(usize) -> Result<R> + Sync,
    ) -> Result<Vec<R>> {
        // The estimated time of a matrix, in ns, is the number of multiplications in a product of two such matrices.
        let products = self.rows.saturating_mul(self.columns).saturating_mul(self.rows.min(self.columns));
        let parts = self.threads.parts(count.saturating_mul(products.saturating_add(200))).min(count);
        if parts <= 1 {
            return (0..count).map(result).collect();
        }
        let results: Vec<Mutex<Result<Vec<R>>>> = (0..parts).map(|_| Mutex::new(Ok(Vec::new()))).collect();
        self.threads.for_each(parts, &|part| {
            let numbers = part * count / parts..(part + 1) * count / parts;
            // Each part is locked once, so the lock is free.
            let mut own = results[part].lock().unwrap_or_else(PoisonError::into_inner);
            *own = numbers.map(&result).collect();
        });
        let mut all = Vec::with_capacity(count);
        for part in results {
            all.extend(part.into_inner().unwrap_or_else(PoisonError::into_inner)?);
        }
        Ok(all)
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

/// Returns the dtype of operand 0.
pub(super) fn dtype_of(cx: &HostCx<'_>) -> Result<DType> {
    Ok(cx.input(0)?.dtype())
}

pub(super) fn refuse<T>(message: &str) -> Result<T> {
    Err(Error::new(ErrorKind::Guard, Phase::Run, message))
}

/// Returns numbers without a pattern, c128 or f64, of these sizes.
#[cfg(test)]
pub(super) fn numbers(dtype: DType, sizes: &[usize]) -> crate::tensor::Tensor {
    let parts = if dtype.is_complex() { 2 } else { 1 };
    let number = |i: usize| {
        let mixed = (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed >> 40) as f64 / f64::from(1 << 23) - 1.0
    };
    let count = parts * sizes.iter().product::<usize>();
    crate::tensor::Tensor::from_bits(dtype, sizes, &(0..count).map(number).collect::<Vec<f64>>())
        .expect("the count fits")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::Threads;

    /// Runs the last part first.
    #[derive(Debug)]
    struct Backwards;

    impl Threads for Backwards {
        fn count(&self) -> usize {
            3
        }

        fn for_each(&self, parts: usize, f: &(dyn Fn(usize) + Sync)) {
            (0..parts).rev().for_each(f);
        }
    }

    #[test]
    fn results_and_errors_are_those_of_one_thread() {
        let x = numbers(DType::F64, &[1000, 2, 2]);
        let one = MatrixBatch::<f64>::of(&x.view()).unwrap();
        let several =
            MatrixBatch { threads: HostThreads::new(&Backwards), ..MatrixBatch::of(&x.view()).unwrap() };
        let firsts = |batch: &MatrixBatch<'_, f64>| batch.try_map(|a| Ok(a.data[0])).unwrap();
        assert_eq!(firsts(&several), firsts(&one));
        let error = |batch: &MatrixBatch<'_, f64>| {
            let refused = |a: Matrix<f64>| if a.data[0] > 0.9 { refuse("too large") } else { Ok(()) };
            batch.try_map(refused).unwrap_err().to_string()
        };
        assert_eq!(error(&several), error(&one));
    }
}
