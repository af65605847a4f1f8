//! Products of many shapes against sums in twice the precision, by every kernel that runs here.

#[cfg(all(target_arch = "x86_64", target_os = "linux", not(miri)))]
mod software;

use super::kernel::{Kernel, kernel};
use super::register::Register;
use super::tile::{COPYING, PACKED, STRIDED, Tile, compute};
use super::{Float, Packed, Product, Strided};

/// Elements of a matrix of any layout, at an address that is no multiple of the element size.
struct Matrix<T> {
    start: *mut T,
    row: usize,
    column: usize,
    _bytes: Vec<u8>,
}

const SKEW: usize = 1;

trait Number: Float + PartialEq + std::fmt::Debug {
    const EPSILON: f64;
    /// Panels and tiles of the sizes that processors with 512-bit vectors have, for any processor.
    const LARGE: &'static Kernel<Self>;
    fn of(x: f64) -> Self;
    fn wide(self) -> f64;
    /// `self · factor + sum`, rounded once.
    fn fused(self, factor: Self, sum: Self) -> Self;
}

impl Number for f32 {
    const EPSILON: f64 = 6e-8;
    const LARGE: &'static Kernel<f32> = &kernel!([f32; 16], [1 2 3 4] 4 8);
    fn of(x: f64) -> f32 {
        x as f32
    }
    fn wide(self) -> f64 {
        self.into()
    }
    fn fused(self, factor: f32, sum: f32) -> f32 {
        self.mul_add(factor, sum)
    }
}

impl Number for f64 {
    const EPSILON: f64 = 1.2e-16;
    const LARGE: &'static Kernel<f64> = &kernel!([f64; 8], [1 2 3 4] 4 8);
    fn of(x: f64) -> f64 {
        x
    }
    fn wide(self) -> f64 {
        self
    }
    fn fused(self, factor: f64, sum: f64) -> f64 {
        self.mul_add(factor, sum)
    }
}

impl<T: Number> Matrix<T> {
    fn new(rows: usize, columns: usize, turned: bool, f: impl Fn(usize, usize) -> f64) -> Matrix<T> {
        let (row, column) = if turned { (1, rows) } else { (columns, 1) };
        let mut bytes = vec![0; rows * columns * size_of::<T>() + SKEW];
        let start = bytes.as_mut_ptr().wrapping_add(SKEW).cast::<T>();
        let matrix = Matrix { start, row, column, _bytes: bytes };
        for i in 0..rows {
            for j in 0..columns {
                // SAFETY: the element lies in the bytes, which are the matrix's own.
                unsafe { matrix.at(i, j).write_unaligned(T::of(f(i, j))) };
            }
        }
        matrix
    }

    fn at(&self, i: usize, j: usize) -> *mut T {
        self.start.wrapping_add(i * self.row + j * self.column)
    }

    fn get(&self, i: usize, j: usize) -> T {
        // SAFETY: the tests ask for elements of the matrix.
        unsafe { self.at(i, j).read_unaligned() }
    }

    fn strided(&self) -> Strided<T> {
        Strided { at: self.start.cast_const(), row: self.row, column: self.column }
    }
}

fn number(i: usize, j: usize) -> f64 {
    ((i * 131 + j) as f64 * 0.618).fract() - 0.5
}

fn product<T: Number>(
    kernel: &'static Kernel<T>,
    [m, k, n]: [usize; 3],
    a: &Matrix<T>,
    b: &Matrix<T>,
) -> Matrix<T> {
    // A column more than the product has, which must stay as it is.
    let out = Matrix::<T>::new(m, n + 1, false, |_, _| 7.0);
    let mut product =
        Product { m, k, n, a: a.strided(), b: b.strided(), packed: None, out: out.start, out_row: n + 1 };
    let mut room = vec![T::default(); product.room_for(kernel)];
    // SAFETY: the matrices have the sizes of the product, and the kernel is one of those that run here.
    unsafe { product.run_by(kernel, room.as_mut_ptr()) };
    assert!((0..m).all(|i| out.get(i, n) == T::of(7.0)), "{m} x {k} x {n} wrote beyond its columns");
    let again = Matrix::<T>::new(m, n + 1, false, |_, _| 7.0);
    let mut panels = vec![T::default(); Packed::room_for(kernel, k, n)];
    product.out = again.start;
    // SAFETY: as above, and there is room for the panels.
    unsafe {
        Packed::pack_for(kernel, panels.as_mut_ptr(), &product.b, k, n);
        product.packed = Some(Packed::new_for(kernel, panels.as_ptr(), n));
        product.run_by(kernel, room.as_mut_ptr());
    }
    let equal = |i, j| out.get(i, j) == again.get(i, j) || out.get(i, j).wide().is_nan();
    assert!((0..m).all(|i| (0..=n).all(|j| equal(i, j))), "{m} x {k} x {n} depends on who packs");
    out
}

fn check<T: Number>(sizes: [usize; 3], kernels: &[&'static Kernel<T>]) {
    let [m, k, n] = sizes;
    for turned in [[false, false], [false, true], [true, false], [true, true]] {
        let a = Matrix::<T>::new(m, k, turned[0], number);
        let b = Matrix::<T>::new(k, n, turned[1], |i, j| number(j, i));
        for kernel in kernels {
            let out = product(kernel, sizes, &a, &b);
            for i in 0..m {
                for j in 0..n {
                    let terms = (0..k).map(|p| a.get(i, p).wide() * b.get(p, j).wide());
                    let (want, size) = terms.fold((0.0, 0.0), |(sum, size), t| (sum + t, size + t.abs()));
                    let got = out.get(i, j).wide();
                    let bound = 64.0 * T::EPSILON * size;
                    assert!((got - want).abs() <= bound, "{sizes:?} {turned:?} ({i}, {j}): {got} {want}");
                }
            }
        }
    }
}

#[test]
fn products_are_the_sums_of_their_terms() {
    for m in [1, 2, 3, 4, 6, 7, 13, 30] {
        for n in [1, 5, 8, 15, 16, 17, 33, 70] {
            for k in [0, 1, 2, 5, 33] {
                check([m, k, n], &[f32::PLAIN, f32::kernel()]);
                check([m, k, n], &[f64::PLAIN, f64::kernel()]);
            }
        }
    }
}

#[test]
fn sizes_beyond_one_block() {
    for sizes in [[3, 900, 40], [200, 20, 300], [200, 5, 2100], [200, 400, 33], [7, 800, 20]] {
        check(sizes, &[f32::PLAIN, f32::kernel()]);
        check(sizes, &[f64::PLAIN, f64::kernel()]);
    }
}

#[test]
fn panels_of_the_widest_vectors() {
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

#[test]
fn an_element_does_not_depend_on_the_others() {
    let (m, k, n) = (50, 800, 330);
    let (a, b) = (Matrix::<f32>::new(m, k, false, number), Matrix::<f32>::new(k, n, false, number));
    let (turned_a, turned_b) =
        (Matrix::<f32>::new(m, k, true, number), Matrix::<f32>::new(k, n, true, number));
    for kernel in [f32::PLAIN, f32::kernel()] {
        let all = product(kernel, [m, k, n], &a, &b);
        for (rows, columns) in [(1, 330), (2, 40), (5, 17), (17, 300)] {
            for (a, b) in [(&a, &b), (&turned_a, &b), (&a, &turned_b)] {
                let part = product(kernel, [rows, k, columns], a, b);
                for i in 0..rows {
                    for j in 0..columns {
                        assert_eq!(part.get(i, j), all.get(i, j), "{rows} x {columns} at ({i}, {j})");
                    }
                }
            }
        }
    }
}

#[test]
fn what_is_not_a_number_stays_in_its_row_and_column() {
    let (m, k, n) = (20, 30, 40);
    let a = Matrix::<f32>::new(m, k, false, |i, p| if (i, p) == (3, 4) { f64::NAN } else { number(i, p) });
    let b =
        Matrix::<f32>::new(k, n, false, |p, j| if (p, j) == (29, 39) { f64::INFINITY } else { number(p, j) });
    let out = product(f32::kernel(), [m, k, n], &a, &b);
    for i in 0..m {
        for j in 0..n {
            let got = out.get(i, j);
            assert_eq!(got.is_nan(), i == 3, "({i}, {j}): {got}");
            assert_eq!(got.is_finite(), i != 3 && j != 39, "({i}, {j}): {got}");
        }
    }
}
