//! `Tridiagonal`: the implicit QL iteration for eigenvalues of real symmetric tridiagonal matrices.

use super::matrix::Matrix;
use super::vectors::{Rotation, length, rotate, rotate_three};

/// The number of iterations for one eigenvalue that reach full precision. The iteration converges for every matrix, and
/// usually takes two iterations for an eigenvalue. Each iteration beyond the limit doubles the tolerance, so that the
/// iteration ends whatever the rounding errors are.
const PRECISE_ITERATIONS: i32 = 60;

/// A real symmetric tridiagonal matrix.
pub(super) struct Tridiagonal {
    pub(super) diagonal: Vec<f64>,
    /// Element `i` stands beside diagonal element `i`, in row `i + 1`. The last element is 0 and stands in no row.
    pub(super) beside: Vec<f64>,
}

impl Tridiagonal {
    /// Makes the matrix diagonal, and multiplies `rows` by the inverse of the orthogonal factor: for the eigenvectors
    /// `z` of the matrix, `rows` becomes `zᵀ · rows`. A matrix without columns is left alone.
    pub(super) fn diagonalize(&mut self, rows: &mut Matrix<f64>) {
        let mut rotations = Vec::new();
        for first in 0..self.diagonal.len() {
            let mut iterations = 0;
            loop {
                let tolerance = f64::EPSILON * f64::powi(2.0, (iterations - PRECISE_ITERATIONS).max(0));
                let last = self.block_end(first, tolerance);
                if last == first {
                    break;
                }
                self.step(first, last, &mut rotations);
                if rows.columns > 0 {
                    rotate_rows(rows, last, &rotations);
                }
                iterations += 1;
            }
        }
    }

    /// Returns the last row of the block that begins in row `first`, and sets the element after the block to 0.
    fn block_end(&mut self, first: usize, tolerance: f64) -> usize {
        let d = &self.diagonal;
        let is_small = |i: &usize| self.beside[*i].abs() <= tolerance * (d[*i].abs() + d[*i + 1].abs());
        let last = (first..d.len() - 1).find(is_small).unwrap_or(d.len() - 1);
        self.beside[last] = 0.0;
        last
    }

    /// Takes a step of the QL iteration with Wilkinson's shift on the block of rows `first..=last`. Rotation `i` of the
    /// step rotates rows `last - i - 1` and `last - i`.
    fn step(&mut self, first: usize, last: usize, rotations: &mut Vec<Rotation>) {
        let (d, e) = (&mut self.diagonal[..], &mut self.beside[..]);
        rotations.clear();
        let half = (d[first + 1] - d[first]) / (2.0 * e[first]);
        let larger = if half >= 0.0 { half + half.hypot(1.0) } else { half - half.hypot(1.0) };
        // The rotations chase the bulge `f` up from the end of the block.
        let mut g = d[last] - d[first] + e[first] / larger;
        let (mut cos, mut sin, mut shift) = (1.0, 1.0, 0.0);
        for i in (first..last).rev() {
            let (f, b) = (sin * e[i], cos * e[i]);
            let r = length(f, g);
            e[i + 1] = r;
            if r == 0.0 {
                // The block splits here.
                d[i + 1] -= shift;
                e[last] = 0.0;
                return;
            }
            (sin, cos) = (f / r, g / r);
            g = d[i + 1] - shift;
            let change = (d[i] - g) * sin + 2.0 * cos * b;
            shift = sin * change;
            d[i + 1] = g + shift;
            g = cos * change - b;
            rotations.push(Rotation { cos, sin });
        }
        d[first] -= shift;
        e[first] = g;
        e[last] = 0.0;
    }
}

/// Applies the rotations of a step whose block ends in row `last`.
fn rotate_rows(rows: &mut Matrix<f64>, last: usize, rotations: &[Rotation]) {
    let columns = rows.columns;
    let mut row = last;
    // Two rotations at once read and write the row between them once.
    let (pairs, single) = rotations.as_chunks::<2>();
    for [first, second] in pairs {
        let (x, rest) = rows.data[(row - 2) * columns..(row + 1) * columns].split_at_mut(columns);
        let (y, z) = rest.split_at_mut(columns);
        rotate_three(x, y, z, *first, *second);
        row -= 2;
    }
    if let [Rotation { cos, sin }] = single {
        let (x, y) = rows.two_rows_mut(row - 1, row);
        rotate(x, y, *cos, *sin);
    }
}
