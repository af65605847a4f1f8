//! `eig`: eigenvalues and eigenvectors of square matrices.

use num_complex::Complex64;
use shapeflow_shape_fns::{Attribute, Attrs, DType};

use super::batch::{MatrixBatch, dtype_of, refuse, set_batch};
use super::matrix::Matrix;
use super::number::{MatrixNumber, with_number_type};
use super::schur::Schur;
use super::vectors::dot;
use crate::dtype::{self, Class};
use crate::error::Result;
use crate::graph::Value;
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::ops::array::unstack::exactly;
use crate::shape_fns::linalg;

impl<'g> Value<'g> {
    /// Returns the eigenvalues of square matrices, and matrices whose columns are eigenvectors of length 1 in the same
    /// order.
    ///
    /// `[..batch, n, n] -> [..batch, n], [..batch, n, n]`, f32 and c64 to c64, f64 and c128 to c128, computed in f64
    /// and rounded once. The eigenvalues of a complex matrix ascend by absolute value. The eigenvalues of a real matrix
    /// have the order in which the QR iteration leaves them; a pair of conjugate eigenvalues stands side by side, the
    /// one with the positive imaginary part first. The phase of each eigenvector is arbitrary. As TensorFlow's `Eig`.
    /// Runs on the host.
    ///
    /// ```
    /// let g = shapeflow::Graph::new();
    /// let [values, _] = g.constant([[3.0, 1.0], [0.0, -2.0]])?.eig()?;
    /// let [values] = g.compile(values.real()?)?.run(&[])?;
    /// assert_eq!(values.to_vec::<f64>()?, [3.0, -2.0]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The element type is not supported, or the last two axes differ. The run fails if an element is not finite.
    #[doc(alias = "eigvals")]
    #[track_caller]
    pub fn eig(self) -> Result<[Value<'g>; 2]> {
        exactly(self.graph().op(&DEF).data(self).finish_all()?)
    }
}

pub(crate) static DEF: OpDef = OpDef::host("eig", |cx| with_number_type!(dtype_of(cx)?, run(cx)))
    .attrs(&[Attribute::bool_or("compute_v", true)])
    .operands(&[Operand::Data("input")])
    .outputs(|_, _| 2)
    .shape_fn(linalg::eigen)
    .dtype_rule(output_dtypes)
    .tensorflow(&[TfOp::new("Eig")]);

fn output_dtypes(dtypes: &[DType], _: &Attrs) -> Result<Vec<DType>> {
    match dtype::common(dtypes, 0, 1, Class::Inexact)? {
        DType::F32 | DType::C64 => Ok(vec![DType::C64; 2]),
        DType::F64 | DType::C128 => Ok(vec![DType::C128; 2]),
        other => dtype::refuse(format!("the element type must be f32, f64, c64 or c128, got {other}")),
    }
}

fn run<T: MatrixNumber>(cx: &mut HostCx<'_>) -> Result<()> {
    let given = dtype_of(cx)?;
    let matrices = MatrixBatch::<T>::read(cx, 0)?;
    let [size, _] = matrices.shape();
    let has_vectors = cx.attrs().bool("compute_v");
    let both = matrices.try_map(|a| {
        let Some(form) = Schur::of(&a) else {
            return refuse("the eigenvalues of a matrix must be finite, got an infinity or a NaN");
        };
        let e = form.values();
        let mut order: Vec<usize> = (0..size).collect();
        if given.is_complex() {
            order.sort_by(|a, b| e[*a].norm().total_cmp(&e[*b].norm()));
        }
        let values: Vec<Complex64> = order.iter().map(|i| e[*i]).collect();
        let v = if has_vectors { eigenvectors(&form) } else { return Ok((values, Vec::new())) };
        Ok((values, Matrix::from_fn(size, size, |row, column| v[(row, order[column])]).data))
    })?;
    let (values, vectors) = both.into_iter().unzip();
    let dtype = output_dtypes(&[given], cx.attrs())?[0];
    set_batch::<Complex64>(cx, 0, dtype, &matrices.sizes, &[size], values)?;
    match has_vectors {
        true => set_batch(cx, 1, dtype, &matrices.sizes, &[size, size], vectors),
        false => cx.output(1, &[0]).map(|_| ()),
    }
}

/// Returns eigenvectors of length 1, as columns in the order of the eigenvalues.
fn eigenvectors(form: &Schur) -> Matrix<Complex64> {
    let size = form.triangle.rows;
    let largest = form.triangle.data.iter().map(|x| x.norm()).fold(0.0, f64::max);
    let scale = if largest > 0.0 { largest } else { 1.0 };
    let t = Matrix::from_fn(size, size, |row, column| form.triangle[(row, column)].over(scale));
    let is_conjugate = |column: usize| form.is_real && t[(column, column)].im < 0.0;
    let mut of_triangle = Matrix::from_fn(size, size, |_, _| Complex64::ZERO);
    for column in (0..size).filter(|column| !is_conjugate(*column)) {
        for (row, element) in vector_of_triangle(&t, column).into_iter().enumerate() {
            of_triangle[(row, column)] = element;
        }
    }
    let mut vectors = form.vectors.times(&of_triangle);
    for column in 0..size {
        if is_conjugate(column) {
            for row in 0..size {
                vectors[(row, column)] = vectors[(row, column - 1)].conj();
            }
            continue;
        }
        let norm = (0..size).map(|row| vectors[(row, column)].norm_sqr()).sum::<f64>().sqrt();
        let is_real = form.is_real && t[(column, column)].im == 0.0;
        for row in 0..size {
            let element = vectors[(row, column)] / norm;
            vectors[(row, column)] = if is_real { Complex64::from(element.re) } else { element };
        }
    }
    vectors
}

/// Returns the first `column + 1` elements of an eigenvector of a triangular matrix, whose eigenvalue is diagonal
/// element `column`. The other elements are 0. The largest element of the matrix has the magnitude 1.
fn vector_of_triangle(t: &Matrix<Complex64>, column: usize) -> Vec<Complex64> {
    /// An element of this magnitude becomes 1, so that no later element overflows.
    const LARGE: f64 = 1e100;
    let mut x = vec![Complex64::ZERO; column + 1];
    x[column] = Complex64::ONE;
    for row in (0..column).rev() {
        let sum = dot(&t.row(row)[row + 1..=column], &x[row + 1..]);
        let difference = t[(row, row)] - t[(column, column)];
        // Eigenvalues that are equal up to rounding count as different.
        let is_equal = difference.norm() < f64::EPSILON;
        let divisor = if is_equal { Complex64::from(f64::EPSILON) } else { difference };
        x[row] = (-sum).divide(divisor);
        let magnitude = x[row].norm();
        if magnitude > LARGE {
            x.iter_mut().for_each(|x| *x /= magnitude);
        }
    }
    x
}

#[cfg(test)]
mod tests {
    use super::super::batch::numbers;
    use super::super::matrix::check_matrix;
    use super::*;
    use crate::ops::testing::{run, shape_table, tensor};

    shape_table! { DEF, {},
        "f64[b, n, 3]" => "c128[d0_0, 3]; c128[d0_0, 3, 3]",
        "[2, 3]" => error "must hold square matrices",
        "f16[2, 2]" => error "must be f32, f64, c64 or c128, got f16",
    }
    shape_table! { values_only: DEF, {"compute_v": false},
        "c64[n, n]" => "c64[d0_0]; c64[0]",
    }

    fn check<T: MatrixNumber>(a: &Matrix<T>, dtype: DType) -> Vec<Complex64> {
        let size = a.rows;
        let x = T::write(dtype, &[size, size], &a.data).unwrap();
        let outputs = run(&DEF, &Attrs::new(), &[x]).unwrap();
        let e = Complex64::read(&outputs[0].view()).unwrap();
        let v = MatrixBatch::<Complex64>::of(&outputs[1].view()).unwrap().at(0);
        let complex = Matrix::from_fn(size, size, |row, column| a[(row, column)].to_complex());
        let scaled = Matrix::from_fn(size, size, |row, column| v[(row, column)] * e[column]);
        check_matrix(&complex.times(&v), &scaled);
        for column in 0..size {
            let norm = (0..size).map(|row| v[(row, column)].norm_sqr()).sum::<f64>();
            assert!((norm - 1.0).abs() < 1e-12);
        }
        e
    }

    #[test]
    fn products_with_eigenvectors_are_multiples_of_the_eigenvectors() {
        for size in [0, 1, 2, 3, 6, 15] {
            check(
                &MatrixBatch::<f64>::of(&numbers(DType::F64, &[size, size]).view()).unwrap().at(0),
                DType::F64,
            );
            let complex =
                MatrixBatch::<Complex64>::of(&numbers(DType::C128, &[size, size]).view()).unwrap().at(0);
            let e = check(&complex, DType::C128);
            assert!(e.windows(2).all(|pair| pair[0].norm() <= pair[1].norm()), "{e:?}");
        }
    }

    #[test]
    fn defective_matrices_have_eigenvectors() {
        for size in [2, 3, 40] {
            let block = |row: usize, column: usize| match column.wrapping_sub(row) {
                0 | 1 => 1.0,
                _ => 0.0,
            };
            let e = check(&Matrix::from_fn(size, size, block), DType::F64);
            assert!(e.iter().all(|x| *x == Complex64::ONE));
            check(&Matrix::from_fn(size, size, |_, _| 0.0), DType::F64);
            check(&Matrix::from_fn(size, size, |row, column| block(row, column) * 1e-300), DType::F64);
        }
    }

    #[test]
    fn elements_that_are_not_finite_fail_the_run() {
        let error = run(&DEF, &Attrs::new(), &[tensor(&[1, 1], &[f64::NAN])]).unwrap_err();
        assert!(error.message().contains("must be finite, got an infinity or a NaN"));
    }
}
