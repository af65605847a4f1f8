//! `qr`, `svd` and `self_adjoint_eig`: matrices as products with orthogonal factors.

use shapeflow_shape_fns::{Attribute, Attrs, DType};

use super::batch::{MatrixBatch, dtype_of, refuse, set_batch};
use super::hermitian::{Eigen, eigen};
use super::in_tensorflow;
use super::matrix::Matrix;
use super::number::{MatrixNumber, with_number_type};
use super::qr::qr;
use super::singular::{Factors, Singular, singular};
use crate::dtype::{self, Class};
use crate::error::Result;
use crate::graph::Value;
use crate::op::{HostCx, OpDef, Operand, TfFunction, TfOp};
use crate::ops::array::unstack::exactly;
use crate::shape_fns::linalg;

impl<'g> Value<'g> {
    /// Factors matrices into `q · r`, where the columns of `q` are orthonormal and `r` is upper triangular. With
    /// `full_matrices`, `q` is square.
    ///
    /// `[..batch, m, n] -> q [..batch, m, p], r [..batch, p, n]`, where `p` is `min(m, n)`, or `m` with
    /// `full_matrices`; floats and complex numbers, computed in f64 and rounded once. Householder reflections determine
    /// the signs. A NaN or an infinity gives factors with NaNs or infinities. As TensorFlow's `Qr`. Runs on the host.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let x = g.constant([[3.0, 1.0], [4.0, 2.0]])?;
    /// let [q, r] = x.qr(false)?;
    /// let y = q.matmul(r)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// y.allclose(&Tensor::from([[3.0, 1.0], [4.0, 2.0]]), 1e-3, 1e-12).unwrap();
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The element type is not supported, or the rank is below 2.
    #[track_caller]
    pub fn qr(self, full_matrices: bool) -> Result<[Value<'g>; 2]> {
        exactly(self.graph().op(&QR).data(self).attr("full_matrices", full_matrices).finish_all()?)
    }

    /// Factors matrices into `u · diag(s) · vᴴ`, where the columns of `u` and of `v` are orthonormal and the singular
    /// values `s` descend. Returns `[s, u, v]`. With `full_matrices`, `u` and `v` are square.
    ///
    /// `[..batch, m, n] -> s [..batch, p], u [..batch, m, p], v [..batch, n, p]`, where `p` is `min(m, n)`; floats and
    /// complex numbers, computed in f64 by one-sided Jacobi rotations of the triangular factor, and rounded once. `s`
    /// is real, also for complex matrices. The phase of each pair of columns of `u` and `v` is arbitrary. If an element
    /// of a matrix is a NaN or an infinity, all its singular values and all elements of its factors are NaN. As
    /// TensorFlow's `Svd`, whose singular values of complex matrices are complex numbers. Runs on the host.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let [s, _, _] = g.constant([[0.0, 2.0], [3.0, 0.0]])?.svd(false)?;
    /// let [s] = g.compile(s)?.run(&[])?;
    /// s.allclose(&Tensor::from([3.0, 2.0]), 1e-3, 1e-12).unwrap();
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The element type is not supported, or the rank is below 2.
    #[track_caller]
    pub fn svd(self, full_matrices: bool) -> Result<[Value<'g>; 3]> {
        let call = self.graph().op(&SVD).data(self).attr("full_matrices", full_matrices);
        let [s, u, v] = exactly(call.finish_all()?)?;
        Ok([if s.dtype().is_complex() { s.real()? } else { s }, u, v])
    }

    /// Returns the eigenvalues of Hermitian matrices in ascending order, and matrices whose columns are orthonormal
    /// eigenvectors in the same order. The op reads the lower triangles only.
    ///
    /// `[..batch, n, n] -> [..batch, n], [..batch, n, n]`, floats and complex numbers, computed in f64 by Householder
    /// tridiagonalization and the implicit QL iteration, and rounded once. The eigenvalues are real, also of complex
    /// matrices. The phase of each eigenvector is arbitrary. As TensorFlow's `SelfAdjointEigV2`, whose eigenvalues of
    /// complex matrices are complex numbers. Runs on the host.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let [values, _] = g.constant([[2.0, 1.0], [1.0, 2.0]])?.self_adjoint_eig()?;
    /// let [values] = g.compile(values)?.run(&[])?;
    /// values.allclose(&Tensor::from([1.0, 3.0]), 1e-3, 1e-12).unwrap();
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The element type is not supported, or the last two axes differ. The run fails if an element of
    /// a lower triangle is a NaN or an infinity.
    #[doc(alias = "eigh")]
    #[track_caller]
    pub fn self_adjoint_eig(self) -> Result<[Value<'g>; 2]> {
        let [e, v] = exactly(self.graph().op(&EIGEN).data(self).finish_all()?)?;
        Ok([if e.dtype().is_complex() { e.real()? } else { e }, v])
    }
}

/// An op for import only: the eigenvalues of Hermitian matrices and, in the rows below them, the eigenvectors.
pub(crate) static PACKED_EIGEN: OpDef =
    OpDef::host("self_adjoint_eig_packed", |cx| with_number_type!(dtype_of(cx)?, run_packed_eigen(cx)))
        .operands(&[Operand::Data("input")])
        .shape_fn(linalg::eigen_packed)
        .dtype_rule(dtype::unary::float)
        .tensorflow(&[TfOp::new("SelfAdjointEig"), TfOp::new("BatchSelfAdjointEig")])
        .in_tensorflow(TfFunction::Composed(in_tensorflow::packed_eigen));

pub(crate) static QR: OpDef = OpDef::host("qr", |cx| with_number_type!(dtype_of(cx)?, run_qr(cx)))
    .attrs(&[Attribute::bool_or("full_matrices", false)])
    .operands(&[Operand::Data("input")])
    .outputs(|_, _| 2)
    .shape_fn(linalg::qr)
    .dtype_rule(|dtypes, attrs| of_first(dtypes, attrs, 2))
    .tensorflow(&[TfOp::new("Qr")]);

pub(crate) static SVD: OpDef = OpDef::host("svd", |cx| with_number_type!(dtype_of(cx)?, run_svd(cx)))
    .attrs(&[Attribute::bool_or("compute_uv", true), Attribute::bool_or("full_matrices", false)])
    .operands(&[Operand::Data("input")])
    .outputs(|_, _| 3)
    .shape_fn(linalg::svd)
    .dtype_rule(|dtypes, attrs| of_first(dtypes, attrs, 3))
    .tensorflow(&[TfOp::new("Svd"), TfOp::new("BatchSvd")]);

pub(crate) static EIGEN: OpDef =
    OpDef::host("self_adjoint_eig", |cx| with_number_type!(dtype_of(cx)?, run_eigen(cx)))
        .attrs(&[Attribute::bool_or("compute_v", true)])
        .operands(&[Operand::Data("input")])
        .outputs(|_, _| 2)
        .shape_fn(linalg::eigen)
        .dtype_rule(|dtypes, attrs| of_first(dtypes, attrs, 2))
        .tensorflow(&[TfOp::new("SelfAdjointEigV2"), TfOp::new("BatchSelfAdjointEigV2")]);

fn of_first(dtypes: &[DType], _: &Attrs, outputs: usize) -> Result<Vec<DType>> {
    Ok(vec![dtype::common(dtypes, 0, 1, Class::Inexact)?; outputs])
}

/// Makes an output without elements. The empty output replaces factors that the call does not ask for.
fn set_empty(cx: &mut HostCx<'_>, output: usize) -> Result<()> {
    cx.output(output, &[0]).map(|_| ())
}

fn run_qr<T: MatrixNumber>(cx: &mut HostCx<'_>) -> Result<()> {
    let matrices = MatrixBatch::<T>::read(cx, 0)?;
    let [rows, columns] = matrices.shape();
    let kept = if cx.attrs().bool("full_matrices") { rows } else { rows.min(columns) };
    let factors = matrices.try_map(|a| {
        let (q, mut r) = qr(a, kept);
        r.data.truncate(kept * columns);
        Ok((q.data, r.data))
    })?;
    let (left, right) = factors.into_iter().unzip();
    let dtype = dtype_of(cx)?;
    set_batch(cx, 0, dtype, &matrices.sizes, &[rows, kept], left)?;
    set_batch(cx, 1, dtype, &matrices.sizes, &[kept, columns], right)
}

fn run_svd<T: MatrixNumber>(cx: &mut HostCx<'_>) -> Result<()> {
    let matrices = MatrixBatch::<T>::read(cx, 0)?;
    let [rows, columns] = matrices.shape();
    let p = rows.min(columns);
    let has_factors = cx.attrs().bool("compute_uv");
    let factors = match (has_factors, cx.attrs().bool("full_matrices")) {
        (false, _) => Factors::None,
        (true, false) => Factors::Reduced,
        (true, true) => Factors::Full,
    };
    let parts = matrices.try_map(|a| {
        let Singular { values, u, v } = singular(&a, factors);
        let values: Vec<T> = values.into_iter().map(T::from_real).collect();
        Ok((values, (u.data, v.data)))
    })?;
    let (values, sides): (_, Vec<_>) = parts.into_iter().unzip();
    let (left, right) = sides.into_iter().unzip();
    let dtype = dtype_of(cx)?;
    set_batch(cx, 0, dtype, &matrices.sizes, &[p], values)?;
    if !has_factors {
        set_empty(cx, 1)?;
        return set_empty(cx, 2);
    }
    let kept = |size: usize| if factors == Factors::Full { size } else { p };
    set_batch(cx, 1, dtype, &matrices.sizes, &[rows, kept(rows)], left)?;
    set_batch(cx, 2, dtype, &matrices.sizes, &[columns, kept(columns)], right)
}

/// Returns the eigenvalues of a matrix, and its eigenvectors with `has_vectors`.
///
/// # Errors
/// An element is not finite.
fn finite_eigen<T: MatrixNumber>(a: &Matrix<T>, has_vectors: bool) -> Result<(Vec<T>, Vec<T>)> {
    match eigen(a, has_vectors) {
        Some(Eigen { values, vectors }) => Ok((values.into_iter().map(T::from_real).collect(), vectors.data)),
        None => refuse("a matrix must have finite elements, got an infinity or a NaN"),
    }
}

fn run_packed_eigen<T: MatrixNumber>(cx: &mut HostCx<'_>) -> Result<()> {
    let matrices = MatrixBatch::<T>::read(cx, 0)?;
    let [size, _] = matrices.shape();
    let packed = matrices.try_map(|a| {
        let (mut packed, vectors) = finite_eigen(&a, true)?;
        packed.extend(vectors);
        Ok(packed)
    })?;
    let dtype = dtype_of(cx)?;
    set_batch(cx, 0, dtype, &matrices.sizes, &[size + 1, size], packed)
}

fn run_eigen<T: MatrixNumber>(cx: &mut HostCx<'_>) -> Result<()> {
    let matrices = MatrixBatch::<T>::read(cx, 0)?;
    let [size, _] = matrices.shape();
    let has_vectors = cx.attrs().bool("compute_v");
    let both = matrices.try_map(|a| finite_eigen(&a, has_vectors))?;
    let (values, vectors) = both.into_iter().unzip();
    let dtype = dtype_of(cx)?;
    set_batch(cx, 0, dtype, &matrices.sizes, &[size], values)?;
    match has_vectors {
        true => set_batch(cx, 1, dtype, &matrices.sizes, &[size, size], vectors),
        false => set_empty(cx, 1),
    }
}

#[cfg(test)]
mod tests {
    use num_complex::Complex64;

    use super::super::batch::numbers;
    use super::super::matrix::check_matrix;
    use super::*;
    use crate::ops::testing::{run, shape_table};
    use crate::tensor::Tensor;

    shape_table! { QR, {},
        "[b, 4, 3]" => "[d0_0, 4, 3]; [d0_0, 3, 3]",
        "[3]" => error "",
        "i32[2, 2]" => error "must be a float or a complex number, got i32",
    }
    shape_table! { full: SVD, {"full_matrices": true},
        "c64[4, 3]" => "c64[3]; c64[4, 4]; c64[3, 3]",
    }
    shape_table! { values_only: EIGEN, {"compute_v": false},
        "[b, n, 3]" => "[d0_0, 3]; [0]",
    }

    fn parts<T: MatrixNumber>(def: &OpDef, attrs: Attrs, x: &Tensor) -> Vec<Tensor> {
        run(def, &attrs, std::slice::from_ref(x)).unwrap()
    }

    fn matrix<T: MatrixNumber>(x: &Tensor) -> Matrix<T> {
        MatrixBatch::of(&x.view()).unwrap().at(0)
    }

    fn check<T: MatrixNumber + std::fmt::Debug>(dtype: DType) {
        for (rows, columns) in [(1, 1), (3, 3), (5, 3), (3, 5), (1, 4), (4, 1), (7, 7), (0, 2), (2, 0)] {
            let mut x = numbers(dtype, &[rows, columns]);
            if rows == 7 {
                // The last row repeats the first, so that a singular value is 0.
                let mut a = matrix::<T>(&x);
                a.data.copy_within(0..7, 42);
                x = T::write(dtype, &[7, 7], &a.data).unwrap();
            }
            let a = matrix::<T>(&x);
            for full in [false, true] {
                let attrs = Attrs::new().with("full_matrices", full);
                let [q, r] = &parts::<T>(&QR, attrs.clone(), &x)[..] else { panic!() };
                let (q, r) = (matrix::<T>(q), matrix::<T>(r));
                check_matrix(&q.times(&r), &a);
                check_matrix(&q.adjoint().times(&q), &Matrix::identity(q.columns));
                let [s, u, v] = &parts::<T>(&SVD, attrs, &x)[..] else { panic!() };
                let (s, u, v) = (T::read(&s.view()).unwrap(), matrix::<T>(u), matrix::<T>(v));
                let diagonal =
                    Matrix::from_fn(
                        u.columns,
                        v.columns,
                        |row, column| {
                            if row == column { s[row] } else { T::zero() }
                        },
                    );
                check_matrix(&u.times(&diagonal).times(&v.adjoint()), &a);
                check_matrix(&u.adjoint().times(&u), &Matrix::identity(u.columns));
                check_matrix(&v.adjoint().times(&v), &Matrix::identity(v.columns));
                assert!(s.windows(2).all(|pair| pair[0].real() >= pair[1].real()), "{s:?}");
            }
        }
        for size in [0, 1, 2, 6] {
            let a = matrix::<T>(&numbers(dtype, &[size, size]));
            let hermitian =
                Matrix::from_fn(size, size, |row, column| a[(row, column)] + a[(column, row)].conj());
            let x = T::write(dtype, &[size, size], &hermitian.data).unwrap();
            let [e, v] = &parts::<T>(&EIGEN, Attrs::new(), &x)[..] else { panic!() };
            let (e, v) = (T::read(&e.view()).unwrap(), matrix::<T>(v));
            let scaled = Matrix::from_fn(size, size, |row, column| v[(row, column)] * e[column]);
            check_matrix(&hermitian.times(&v), &scaled);
            check_matrix(&v.adjoint().times(&v), &Matrix::identity(size));
            assert!(e.windows(2).all(|pair| pair[0].real() <= pair[1].real()), "{e:?}");
        }
    }

    /// Squares of these elements overflow or underflow.
    #[test]
    fn matrices_of_extreme_scale_have_the_factors_of_the_scaled_matrix() {
        let numbers = matrix::<f64>(&numbers(DType::F64, &[4, 4]));
        let hermitian = Matrix::from_fn(4, 4, |row, column| numbers[(row, column)] + numbers[(column, row)]);
        for scale in [1e-300, 1e-160, 1e150, 1e300] {
            let a = Matrix::from_fn(4, 4, |row, column| hermitian[(row, column)] * scale);
            let x = f64::write(DType::F64, &[4, 4], &a.data).unwrap();
            for (def, attrs) in [(&SVD, Attrs::new()), (&EIGEN, Attrs::new())] {
                let plain = f64::write(DType::F64, &[4, 4], &hermitian.data).unwrap();
                let (got, expected) =
                    (parts::<f64>(def, attrs.clone(), &x), parts::<f64>(def, attrs, &plain));
                let (got, expected) = (got[0].to_vec::<f64>().unwrap(), expected[0].to_vec::<f64>().unwrap());
                for (got, expected) in got.iter().zip(&expected) {
                    assert!((got / scale - expected).abs() < 1e-12 * expected.abs(), "{scale}: {got}");
                }
            }
        }
    }

    #[test]
    fn elements_that_are_not_finite_have_no_factors() {
        for wrong in [f64::NAN, f64::INFINITY] {
            let x = f64::write(DType::F64, &[2, 2], &[1.0, wrong, wrong, 3.0]).unwrap();
            for part in parts::<f64>(&SVD, Attrs::new(), &x) {
                assert!(part.to_vec::<f64>().unwrap().iter().all(|element| element.is_nan()));
            }
            let error = run(&EIGEN, &Attrs::new(), &[x]).unwrap_err();
            assert_eq!(
                error.message(),
                "a matrix must have finite elements, got an infinity or a NaN in operand 0"
            );
        }
    }

    #[test]
    fn factors_of_elements_that_are_not_finite_are_not_finite() {
        for (size, wrong) in [(1, f64::NAN), (2, f64::INFINITY), (3, f64::NEG_INFINITY), (4, f64::NAN)] {
            for position in 0..size * size {
                // Only the last matrix of the batch has a wrong element.
                let mut elements = numbers(DType::F64, &[2, size, size]).to_vec::<f64>().unwrap();
                elements[size * size + position] = wrong;
                let x = f64::write(DType::F64, &[2, size, size], &elements).unwrap();
                let is_finite = |part: &Tensor| {
                    let part = part.to_vec::<f64>().unwrap();
                    let (first, last) = part.split_at(part.len() / 2);
                    assert!(first.iter().all(|element| element.is_finite()), "{first:?}");
                    last.iter().all(|element| element.is_finite())
                };
                let [_, r] = &parts::<f64>(&QR, Attrs::new(), &x)[..] else { panic!() };
                assert!(!is_finite(r), "{r}");
                for part in parts::<f64>(&SVD, Attrs::new(), &x) {
                    assert!(!is_finite(&part), "{part}");
                }
                let is_read = position / size >= position % size;
                match run(&EIGEN, &Attrs::new(), &[x]) {
                    Ok(both) => assert!(!is_read && both.iter().all(is_finite)),
                    Err(error) => assert!(
                        is_read
                            && error
                                .message()
                                .ends_with("got an infinity or a NaN at batch index [1] in operand 0"),
                        "{error}"
                    ),
                }
            }
        }
    }

    #[test]
    fn factors_are_orthonormal_and_give_the_matrices_back() {
        check::<f64>(DType::F64);
        check::<Complex64>(DType::C128);
    }
}
