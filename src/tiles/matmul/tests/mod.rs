//! Matmuls of many shapes against sums in twice the precision, for every kernel that runs on this processor.

#[cfg(all(target_arch = "x86_64", target_os = "linux", not(miri)))]
mod software;

use super::kernel::{TileFunctions, kernel};
use super::register::Register;
use super::small::compute_small;
use super::tile::{COPYING, PACKED, STRIDED, Tile, compute};
use super::{Float, Gemm, LeftMatrix, NestedAxes, PackedMatrix, SmallMatrices, StridedMatrix};

/// A matrix of any layout, at an address that is not aligned for its elements.
struct Matrix<T> {
    start: *mut T,
    row: usize,
    column: usize,
    _bytes: Vec<u8>,
}

/// Bytes from an aligned address to the first element.
const MISALIGNMENT: usize = 1;

trait Number: Float + PartialEq + std::fmt::Debug {
    const EPSILON: f64;
    /// A kernel for any processor with the panel and tile sizes of 512-bit vectors.
    const LARGE: &'static TileFunctions<Self>;
    fn of(x: f64) -> Self;
    fn to_f64(self) -> f64;
    /// `self · factor + sum`, rounded once.
    fn fma(self, factor: Self, sum: Self) -> Self;
}

impl Number for f32 {
    const EPSILON: f64 = 6e-8;
    const LARGE: &'static TileFunctions<f32> = &kernel!([f32; 16], [1 2 3 4] 4 8);
    fn of(x: f64) -> f32 {
        x as f32
    }
    fn to_f64(self) -> f64 {
        self.into()
    }
    fn fma(self, factor: f32, sum: f32) -> f32 {
        self.mul_add(factor, sum)
    }
}

impl Number for f64 {
    const EPSILON: f64 = 1.2e-16;
    const LARGE: &'static TileFunctions<f64> = &kernel!([f64; 8], [1 2 3 4] 4 8);
    fn of(x: f64) -> f64 {
        x
    }
    fn to_f64(self) -> f64 {
        self
    }
    fn fma(self, factor: f64, sum: f64) -> f64 {
        self.mul_add(factor, sum)
    }
}

impl<T: Number> Matrix<T> {
    fn new(rows: usize, columns: usize, transposed: bool, f: impl Fn(usize, usize) -> f64) -> Matrix<T> {
        let (row, column) = if transposed { (1, rows) } else { (columns, 1) };
        let mut bytes = vec![0; rows * columns * size_of::<T>() + MISALIGNMENT];
        let start = bytes.as_mut_ptr().wrapping_add(MISALIGNMENT).cast::<T>();
        let matrix = Matrix { start, row, column, _bytes: bytes };
        for i in 0..rows {
            for j in 0..columns {
                // SAFETY: the element lies in `bytes`, which the matrix owns.
                unsafe { matrix.address(i, j).write_unaligned(T::of(f(i, j))) };
            }
        }
        matrix
    }

    fn address(&self, i: usize, j: usize) -> *mut T {
        self.start.wrapping_add(i * self.row + j * self.column)
    }

    fn get(&self, i: usize, j: usize) -> T {
        // SAFETY: the tests only read elements that the matrix has.
        unsafe { self.address(i, j).read_unaligned() }
    }

    /// Returns the matrix, which has `m` rows and `k` columns, as a left operand.
    fn left(&self, m: usize, k: usize) -> LeftMatrix<T> {
        let (rows, columns) = (NestedAxes::one(m, self.row), NestedAxes::one(k, self.column));
        LeftMatrix { start: self.start.cast_const(), first_row: 0, rows, columns }
    }

    fn strided(&self) -> StridedMatrix<T> {
        StridedMatrix { start: self.start.cast_const(), row: self.row, column: self.column }
    }
}

/// Returns a pseudo-random number in `-0.5..0.5` for an index.
fn number(i: usize, j: usize) -> f64 {
    ((i * 131 + j) as f64 * 0.618).fract() - 0.5
}

/// Computes `a · b` twice, with an unpacked and a packed right operand. Checks that the results are equal and that
/// nothing is written beyond the columns of the result.
fn matmul<T: Number>(
    kernel: &'static TileFunctions<T>,
    [m, k, n]: [usize; 3],
    a: &Matrix<T>,
    b: &Matrix<T>,
) -> Matrix<T> {
    product(kernel, [m, k, n], a.left(m, k), b)
}

/// As [`matmul`], with any left operand.
fn product<T: Number>(
    kernel: &'static TileFunctions<T>,
    [m, k, n]: [usize; 3],
    a: LeftMatrix<T>,
    b: &Matrix<T>,
) -> Matrix<T> {
    // The extra column at the end must keep its values.
    let out = Matrix::<T>::new(m, n + 1, false, |_, _| 7.0);
    let mut gemm = Gemm { m, k, n, a, b: b.strided(), packed: None, out: out.start, out_row: n + 1 };
    let mut workspace = vec![T::default(); gemm.workspace_len_for(kernel)];
    // SAFETY: the matrices have the sizes of the matmul, and this processor can run the kernel.
    unsafe { gemm.run_with(kernel, workspace.as_mut_ptr()) };
    assert!((0..m).all(|i| out.get(i, n) == T::of(7.0)), "{m} x {k} x {n} wrote beyond its columns");
    let from_packed = Matrix::<T>::new(m, n + 1, false, |_, _| 7.0);
    let mut panels = vec![T::default(); PackedMatrix::packed_len_for(kernel, k, n)];
    gemm.out = from_packed.start;
    // SAFETY: as above; `panels` holds the packed matrix.
    unsafe {
        PackedMatrix::pack_for(kernel, panels.as_mut_ptr(), &gemm.b, [k, n], a.columns.run());
        gemm.packed = Some(PackedMatrix::new_for(kernel, panels.as_ptr(), n));
        gemm.run_with(kernel, workspace.as_mut_ptr());
    }
    let equal = |i, j| out.get(i, j) == from_packed.get(i, j) || out.get(i, j).to_f64().is_nan();
    assert!((0..m).all(|i| (0..=n).all(|j| equal(i, j))), "{m} x {k} x {n} depends on packing");
    out
}

fn check<T: Number>(sizes: [usize; 3], kernels: &[&'static TileFunctions<T>]) {
    let [m, k, n] = sizes;
    let a = |i: usize, p: usize| T::of(number(i, p)).to_f64();
    let b = |p: usize, j: usize| T::of(number(j, p)).to_f64();
    let expected = Products::new(sizes, a, b);
    for transposed in [[false, false], [false, true], [true, false], [true, true]] {
        let a = Matrix::<T>::new(m, k, transposed[0], number);
        let b = Matrix::<T>::new(k, n, transposed[1], |i, j| number(j, i));
        for kernel in kernels {
            expected.assert_close(&matmul(kernel, sizes, &a, &b), &format!("{sizes:?} {transposed:?}"));
        }
    }
}

/// The elements of a product in double precision. Each element has the sum of its terms and the sum of their
/// magnitudes.
struct Products {
    columns: usize,
    sums: Vec<(f64, f64)>,
}

impl Products {
    fn new(
        [m, k, n]: [usize; 3],
        a: impl Fn(usize, usize) -> f64,
        b: impl Fn(usize, usize) -> f64,
    ) -> Products {
        let right: Vec<f64> = (0..n).flat_map(|j| (0..k).map(|p| b(p, j)).collect::<Vec<f64>>()).collect();
        let mut sums = Vec::with_capacity(m * n);
        for i in 0..m {
            let left: Vec<f64> = (0..k).map(|p| a(i, p)).collect();
            for j in 0..n {
                let (mut sum, mut magnitude) = (0.0, 0.0);
                for (a, b) in left.iter().zip(&right[j * k..][..k]) {
                    let term = a * b;
                    (sum, magnitude) = (sum + term, magnitude + term.abs());
                }
                sums.push((sum, magnitude));
            }
        }
        Products { columns: n, sums }
    }

    fn assert_close<T: Number>(&self, got: &Matrix<T>, what: &str) {
        for (index, (want, magnitude)) in self.sums.iter().enumerate() {
            let (i, j) = (index / self.columns, index % self.columns);
            let got = got.get(i, j).to_f64();
            let bound = 64.0 * T::EPSILON * magnitude;
            assert!((got - want).abs() <= bound, "{what} ({i}, {j}): {got} {want}");
        }
    }
}

#[test]
fn elements_are_the_sums_of_their_terms() {
    for m in [1, 2, 3, 4, 6, 7, 13, 30] {
        for n in [1, 5, 8, 15, 16, 17, 33, 70] {
            for k in [0, 1, 2, 5, 33] {
                check([m, k, n], &[f32::PORTABLE, f32::kernel()]);
                check([m, k, n], &[f64::PORTABLE, f64::kernel()]);
            }
        }
    }
}

#[test]
fn sizes_beyond_one_block_are_computed() {
    for sizes in [[3, 900, 40], [200, 20, 300], [200, 5, 2100], [200, 400, 33], [7, 800, 20]] {
        check(sizes, &[f32::PORTABLE, f32::kernel()]);
        check(sizes, &[f64::PORTABLE, f64::kernel()]);
    }
}

#[test]
fn panels_of_512_bit_width_are_computed() {
    for sizes in [
        [1, 5, 63],
        [2, 3, 130],
        [3, 4, 200],
        [5, 9, 129],
        [6, 1, 70],
        [7, 33, 65],
        [30, 5, 33],
        [13, 340, 70],
        [200, 3, 520],
    ] {
        check(sizes, &[f32::LARGE]);
        check(sizes, &[f64::LARGE]);
    }
}

/// Multiplies the windows of images by filters, all at once and from a row in the middle on. Compares each element with
/// the sum over the elements of its window.
fn check_windows<T: Number>(
    [images, height, width, channels]: [usize; 4],
    [window_rows, window_columns]: [usize; 2],
    [stride, dilation]: [usize; 2],
    n: usize,
    kernels: &[&'static TileFunctions<T>],
) {
    let positions = |size: usize, window: usize| (size - (window - 1) * dilation - 1) / stride + 1;
    let (rows, columns) = (positions(height, window_rows), positions(width, window_columns));
    let (line, k) = (width * channels, window_rows * window_columns * channels);
    let image = Matrix::<T>::new(images * height, line, false, number);
    let filter = Matrix::<T>::new(k, n, false, |i, j| number(j, i));
    let axes =
        NestedAxes::new([(images, height * line), (rows, stride * line), (columns, stride * channels)]);
    let window = NestedAxes::new([
        (window_rows, dilation * line),
        (window_columns, dilation * channels),
        (channels, 1),
    ]);
    let m = axes.len();
    let left = LeftMatrix { start: image.start.cast_const(), first_row: 0, rows: axes, columns: window };
    let element = |i: usize, p: usize| {
        let (number, y, x) = (i / (rows * columns), i / columns % rows, i % columns);
        let (dy, dx, c) = (p / (window_columns * channels), p / channels % window_columns, p % channels);
        let line = number * height + y * stride + dy * dilation;
        image.get(line, (x * stride + dx * dilation) * channels + c).to_f64()
    };
    let expected = Products::new([m, k, n], element, |p, j| filter.get(p, j).to_f64());
    for kernel in kernels {
        let out = product(kernel, [m, k, n], left, &filter);
        expected.assert_close(&out, "windows");
        let first_row = m / 2;
        let rest = product(kernel, [m - first_row, k, n], LeftMatrix { first_row, ..left }, &filter);
        let equal = |i, j| rest.get(i, j) == out.get(first_row + i, j);
        assert!((0..m - first_row).all(|i| (0..n).all(|j| equal(i, j))), "rows depend on the first row");
    }
}

#[test]
fn rows_may_be_windows_of_images() {
    for (images, window, steps, n) in [
        ([2, 9, 11, 3], [3, 3], [1, 1], 5),
        ([2, 9, 11, 3], [3, 3], [2, 1], 130),
        ([1, 7, 7, 40], [3, 3], [1, 1], 33),
        ([3, 6, 5, 17], [2, 3], [1, 2], 20),
        ([1, 1, 300, 1], [1, 64], [2, 1], 36),
        ([1, 1, 300, 1], [1, 40], [1, 1], 600),
        ([2, 5, 400, 2], [3, 180], [3, 1], 9),
        ([2, 4, 4, 3], [4, 4], [1, 1], 2),
        ([4, 3, 3, 8], [1, 1], [2, 1], 7),
        ([2, 8, 8, 33], [3, 2], [1, 3], 600),
    ] {
        check_windows(images, window, steps, n, &[f32::PORTABLE, f32::kernel(), f32::LARGE]);
        check_windows(images, window, steps, n, &[f64::PORTABLE, f64::kernel()]);
    }
}

#[test]
fn an_element_does_not_depend_on_the_size_of_the_result() {
    let (m, k, n) = (50, 800, 330);
    let (a, b) = (Matrix::<f32>::new(m, k, false, number), Matrix::<f32>::new(k, n, false, number));
    let (transposed_a, transposed_b) =
        (Matrix::<f32>::new(m, k, true, number), Matrix::<f32>::new(k, n, true, number));
    for kernel in [f32::PORTABLE, f32::kernel()] {
        let all = matmul(kernel, [m, k, n], &a, &b);
        for (rows, columns) in [(1, 330), (2, 40), (5, 17), (17, 300)] {
            for (a, b) in [(&a, &b), (&transposed_a, &b), (&a, &transposed_b)] {
                let part = matmul(kernel, [rows, k, columns], a, b);
                for i in 0..rows {
                    for j in 0..columns {
                        assert_eq!(part.get(i, j), all.get(i, j), "{rows} x {columns} at ({i}, {j})");
                    }
                }
            }
        }
    }
}

/// Multiplies a batch of small matrices whose indices do not ascend. Compares each result with the result of a
/// [`Gemm`]. Checks that a matrix that is no result keeps its elements.
fn check_small<T: Number>([m, k, n]: [usize; 3], transposed: bool, kernel: &'static TileFunctions<T>) {
    const COUNT: usize = 3;
    let matrices = |rows: usize, columns: usize, transposed: bool, seed: usize| -> Vec<Matrix<T>> {
        let matrix = |index: usize| move |i: usize, j: usize| number(i + 7 * index + seed, j);
        (0..COUNT).map(|index| Matrix::new(rows, columns, transposed, matrix(index))).collect()
    };
    let (lefts, rights) = (matrices(m, k, transposed, 0), matrices(k, n, false, 100));
    // The elements of all matrices, one matrix after the other, behind one byte.
    let joined = |matrices: &[Matrix<T>], len: usize| -> Vec<u8> {
        let elements = matrices.iter().flat_map(|matrix| (0..len).map(|at| matrix.start.wrapping_add(at)));
        let all = Matrix::<T>::new(1, COUNT * len, false, |_, _| 0.0);
        for (at, element) in elements.enumerate() {
            // SAFETY: both elements lie in their matrices.
            unsafe { all.address(0, at).write_unaligned(element.read_unaligned()) };
        }
        all._bytes
    };
    let (a, b) = (joined(&lefts, m * k), joined(&rights, k * n));
    let out = Matrix::<T>::new(COUNT, m * n, false, |_, _| 7.0);
    let batch = [[2, 0, 1], [1, 2, 0]];
    let start = |bytes: &Vec<u8>| bytes.as_ptr().wrapping_add(MISALIGNMENT).cast::<T>();
    let (a_row, a_column) = if transposed { (1, m) } else { (k, 1) };
    let (a, b) = (start(&a), start(&b));
    let small = SmallMatrices { m, k, n, batch: &batch, a, a_row, a_column, b, out: out.start };
    // SAFETY: the matrices have the sizes of the matmuls, and this processor can run the kernel.
    unsafe { (kernel.small)(&small) };
    for [left, right, result] in batch {
        let expected = matmul(kernel, [m, k, n], &lefts[left], &rights[right]);
        let equal = |i, j| out.get(result, i * n + j) == expected.get(i, j);
        assert!((0..m).all(|i| (0..n).all(|j| equal(i, j))), "{m} x {k} x {n}, {transposed}");
    }
    assert!((0..m * n).all(|at| out.get(2, at) == T::of(7.0)), "{m} x {k} x {n} wrote beyond its matrices");
}

#[test]
fn small_matrices_have_the_elements_of_their_own_matmuls() {
    for m in [1, 2, 3, 4, 5, 8, 11] {
        for k in [0, 1, 3, 4, 16] {
            for n in 1..=16 {
                for transposed in [false, true] {
                    for kernel in [f32::PORTABLE, f32::kernel()] {
                        if n <= kernel.lanes {
                            check_small([m, k, n], transposed, kernel);
                        }
                    }
                    for kernel in [f64::PORTABLE, f64::kernel()] {
                        if n <= kernel.lanes {
                            check_small([m, k, n], transposed, kernel);
                        }
                    }
                    #[cfg(target_arch = "x86_64")]
                    if crate::tiles::cpu::has_fma() && n <= 4 {
                        check_small([m, k, n], transposed, f32::FMA);
                        check_small([m, k, n], transposed, f64::FMA);
                    }
                }
            }
        }
    }
}

#[test]
fn nan_and_infinity_stay_in_their_row_and_column() {
    let (m, k, n) = (20, 30, 40);
    let a = Matrix::<f32>::new(m, k, false, |i, p| if (i, p) == (3, 4) { f64::NAN } else { number(i, p) });
    let b =
        Matrix::<f32>::new(k, n, false, |p, j| if (p, j) == (29, 39) { f64::INFINITY } else { number(p, j) });
    let out = matmul(f32::kernel(), [m, k, n], &a, &b);
    for i in 0..m {
        for j in 0..n {
            let got = out.get(i, j);
            assert_eq!(got.is_nan(), i == 3, "({i}, {j}): {got}");
            assert_eq!(got.is_finite(), i != 3 && j != 39, "({i}, {j}): {got}");
        }
    }
}

#[test]
fn the_length_of_a_packed_matrix_saturates() {
    assert_eq!(PackedMatrix::<f32>::packed_len(usize::MAX, 1), usize::MAX);
    assert_eq!(PackedMatrix::<f64>::packed_len(1, usize::MAX), usize::MAX);
}
