//! `qr` and `PivotedQr`: matrices as products of reflections and a triangular matrix.

use super::matrix::Matrix;
use super::number::MatrixNumber;
use super::reflection::Reflection;
use super::vectors::square_norm;

/// Returns the first `kept` columns of the unitary factor `q`, and the upper triangular factor with all its rows.
pub(super) fn qr<T: MatrixNumber>(mut r: Matrix<T>, kept: usize) -> (Matrix<T>, Matrix<T>) {
    let (rows, columns) = (r.rows, r.columns);
    let mut reflections = Vec::with_capacity(rows.min(columns));
    let mut below = Vec::with_capacity(rows);
    for step in 0..rows.min(columns) {
        below.clear();
        below.extend((step..rows).map(|row| r[(row, step)]));
        let reflection = Reflection::of(&below);
        if let Some(reflection) = &reflection {
            reflection.rows(&mut r, step, step + 1..columns);
            r[(step, step)] = reflection.image;
            for row in step + 1..rows {
                r[(row, step)] = T::zero();
            }
        }
        reflections.push(reflection);
    }
    let mut q = Matrix::from_fn(rows, kept, |row, column| if row == column { T::one() } else { T::zero() });
    for (step, reflection) in reflections.into_iter().enumerate().rev() {
        if let Some(reflection) = reflection {
            reflection.adjoint().rows(&mut q, step, step..kept);
        }
    }
    (q, r)
}

/// The factors of a matrix whose columns are permuted so that the diagonal of the triangular factor descends.
pub(super) struct PivotedQr<T> {
    /// The upper triangular factor, without its rows of zeros.
    pub(super) triangle: Matrix<T>,
    /// For each permuted column, its number in the matrix.
    pub(super) order: Vec<usize>,
    /// Reflection `i` acts on rows `i..` of the matrix.
    pub(super) reflections: Vec<Option<Reflection<T>>>,
}

impl<T: MatrixNumber> PivotedQr<T> {
    /// Factors the matrix whose columns are the rows of `columns`.
    pub(super) fn of_columns(mut columns: Matrix<T>) -> PivotedQr<T> {
        let (count, steps) = (columns.rows, columns.rows.min(columns.columns));
        let mut order: Vec<usize> = (0..count).collect();
        let mut squares: Vec<f64> = (0..count).map(|i| square_norm(columns.row(i))).collect();
        let mut reflections = Vec::with_capacity(steps);
        for step in 0..steps {
            let larger = |best: usize, i: usize| if squares[i] > squares[best] { i } else { best };
            let pivot = (step + 1..count).fold(step, larger);
            columns.swap_rows(step, pivot);
            order.swap(step, pivot);
            squares.swap(step, pivot);
            let reflection = Reflection::of(&columns.row(step)[step..]);
            if let Some(reflection) = &reflection {
                columns[(step, step)] = reflection.image;
            }
            for (i, square) in squares.iter_mut().enumerate().skip(step + 1) {
                let rest = &mut columns.row_mut(i)[step..];
                if let Some(reflection) = &reflection {
                    reflection.apply(rest);
                }
                *square = square_norm(&rest[1..]);
            }
            reflections.push(reflection);
        }
        let triangle = Matrix::from_fn(steps, count, |row, column| match row <= column {
            true => columns[(column, row)],
            false => T::zero(),
        });
        PivotedQr { triangle, order, reflections }
    }
}
