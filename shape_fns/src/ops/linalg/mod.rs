//! Shape functions of linear algebra.

mod decomposition;
mod einsum;
mod matmul;
mod solve;
mod spectral;
mod square;
mod tridiagonal;

pub use decomposition::{eigen, eigen_packed, lu, qr, svd};
pub use einsum::{EinsumTerm, einsum, einsum_terms};
pub use matmul::{matmul, matmul_2d, matmul_same_batch};
pub use solve::{banded_triangular_solve, matrix_solve, matrix_solve_ls, triangular_solve};
pub use spectral::{fft, fft_along, irfft, irfft_along, rfft, rfft_along};
pub use square::{cholesky_grad, cross, determinant, square_matrix};
pub use tridiagonal::{tridiagonal_matmul, tridiagonal_solve};

use crate::infer::registered::{Registered, row};

#[rustfmt::skip]
pub(crate) static OPS: &[Registered] = &[
    row("BandedTriangularSolve", &["matrix", "rhs"], banded_triangular_solve),
    row("BatchCholesky", &["input"], square_matrix),
    row("BatchCholeskyGrad", &["l", "grad"], cholesky_grad),
    row("BatchFFT", &["input"], fft::<1>),
    row("BatchFFT2D", &["input"], fft::<2>),
    row("BatchFFT3D", &["input"], fft::<3>),
    row("BatchIFFT", &["input"], fft::<1>),
    row("BatchIFFT2D", &["input"], fft::<2>),
    row("BatchIFFT3D", &["input"], fft::<3>),
    row("BatchMatMul", &["a", "b"], matmul_same_batch),
    row("BatchMatMulV2", &["a", "b"], matmul),
    row("BatchMatMulV3", &["a", "b"], matmul),
    row("BatchMatrixDeterminant", &["input"], determinant),
    row("BatchMatrixInverse", &["input"], square_matrix),
    row("BatchMatrixSolve", &["matrix", "rhs"], matrix_solve),
    row("BatchMatrixSolveLs", &["matrix", "rhs", "l2_regularizer"], matrix_solve_ls),
    row("BatchMatrixTriangularSolve", &["matrix", "rhs"], matrix_solve),
    row("BatchSelfAdjointEig", &["input"], eigen_packed),
    row("BatchSelfAdjointEigV2", &["input"], eigen).outputs(Some(2)),
    row("BatchSvd", &["input"], svd).outputs(Some(3)),
    row("Cholesky", &["input"], square_matrix),
    row("CholeskyGrad", &["l", "grad"], cholesky_grad),
    row("Cross", &["a", "b"], cross),
    row("Eig", &["input"], eigen).outputs(Some(2)),
    row("Einsum", &["inputs.."], einsum),
    row("FFT", &["input"], fft::<1>),
    row("FFT2D", &["input"], fft::<2>),
    row("FFT3D", &["input"], fft::<3>),
    row("FFTND", &["input", "fft_length", "axes"], fft_along),
    row("IFFT", &["input"], fft::<1>),
    row("IFFT2D", &["input"], fft::<2>),
    row("IFFT3D", &["input"], fft::<3>),
    row("IFFTND", &["input", "fft_length", "axes"], fft_along),
    row("IRFFT", &["input", "fft_length"], irfft::<1>),
    row("IRFFT2D", &["input", "fft_length"], irfft::<2>),
    row("IRFFT3D", &["input", "fft_length"], irfft::<3>),
    row("IRFFTND", &["input", "fft_length", "axes"], irfft_along),
    row("LogMatrixDeterminant", &["input"], determinant).outputs(Some(2)),
    row("Lu", &["input"], lu).outputs(Some(2)),
    row("MatMul", &["a", "b"], matmul_2d),
    row("MatrixDeterminant", &["input"], determinant),
    row("MatrixExponential", &["input"], square_matrix),
    row("MatrixInverse", &["input"], square_matrix),
    row("MatrixLogarithm", &["input"], square_matrix),
    row("MatrixSolve", &["matrix", "rhs"], matrix_solve),
    row("MatrixSolveLs", &["matrix", "rhs", "l2_regularizer"], matrix_solve_ls),
    row("MatrixSquareRoot", &["input"], square_matrix),
    row("MatrixTriangularSolve", &["matrix", "rhs"], triangular_solve),
    row("Qr", &["input"], qr).outputs(Some(2)),
    row("RFFT", &["input", "fft_length"], rfft::<1>),
    row("RFFT2D", &["input", "fft_length"], rfft::<2>),
    row("RFFT3D", &["input", "fft_length"], rfft::<3>),
    row("RFFTND", &["input", "fft_length", "axes"], rfft_along),
    row("SelfAdjointEig", &["input"], eigen_packed),
    row("SelfAdjointEigV2", &["input"], eigen).outputs(Some(2)),
    row("SparseMatMul", &["a", "b"], matmul_2d),
    row("Svd", &["input"], svd).outputs(Some(3)),
    row("TridiagonalMatMul", &["superdiag", "maindiag", "subdiag", "rhs"], tridiagonal_matmul),
    row("TridiagonalSolve", &["diagonals", "rhs"], tridiagonal_solve),
];
