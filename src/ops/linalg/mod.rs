//! Products of matrices and vectors, systems of linear equations, factors of matrices, and Fourier transforms.
//!
//! ```
//! use shapeflow::{DType, Graph, shape};
//!
//! let g = Graph::new();
//! let x = g.input("x", DType::F32, shape!["b", "n", 4])?;
//! let w = g.input("w", DType::F32, [3, 4])?;
//! let y = x.matmul_transposed(w, false, true)?;
//! assert_eq!(y.shape().to_string(), "[b, n, 3]");
//! # Ok::<(), shapeflow::Error>(())
//! ```

pub(crate) mod banded;
mod batch;
pub(crate) mod cholesky_grad;
pub(crate) mod cross;
pub(crate) mod decompose;
pub(crate) mod eig;
pub(crate) mod einsum;
pub(crate) mod fourier;
mod hermitian;
mod implicit_ql;
mod in_tensorflow;
mod labeled;
pub(crate) mod least_squares;
pub(crate) mod lu;
pub(crate) mod lu_factors;
pub(crate) mod matmul;
pub(crate) mod matmul_to;
mod matrix;
pub(crate) mod matrix_functions;
mod number;
mod qr;
mod reflection;
mod schur;
mod singular;
pub(crate) mod sum_of_products;
#[cfg(feature = "fft")]
mod transform;
pub(crate) mod triangular;
pub(crate) mod tridiagonal;
mod vectors;

use crate::op::OpDef;

pub use einsum::einsum;

/// Every op of the family.
pub(crate) static ALL: &[&[&OpDef]] = &[
    &[
        &banded::DEF,
        &cholesky_grad::DEF,
        &cross::DEF,
        &decompose::EIGEN,
        &decompose::PACKED_EIGEN,
        &decompose::QR,
        &decompose::SVD,
        &eig::DEF,
        &einsum::DEF,
        &least_squares::DEF,
        &lu::DETERMINANT,
        &lu::INVERSE,
        &lu::LOG_DETERMINANT,
        &lu::SOLVE,
        &lu_factors::DEF,
        &matmul::DEF,
        &matmul_to::DEF,
        &matmul_to::OF_SPARSE,
        &matrix_functions::EXPONENTIAL,
        &matrix_functions::LOGARITHM,
        &matrix_functions::SQUARE_ROOT,
        &sum_of_products::DEF,
        &triangular::CHOLESKY,
        &triangular::SOLVE,
        &tridiagonal::MATMUL,
        &tridiagonal::SOLVE,
    ],
    fourier::COMPLEX,
    fourier::REAL,
];
