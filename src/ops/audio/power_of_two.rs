//! The Fourier transform of a power of two of numbers.

use std::f64::consts::PI;

use num_complex::Complex64;

use crate::error::Result;
use crate::tensor::reserved_vec;

/// What the Fourier transform of one length needs. The length is a power of two.
pub(super) struct Transform {
    /// `exp(-2πi k / length)` for `k` below half the length.
    turns: Vec<Complex64>,
}

impl Transform {
    /// # Errors
    /// Memory is refused.
    pub(super) fn new(length: usize) -> Result<Transform> {
        let mut turns = reserved_vec(length / 2)?;
        let turn = |k: usize| Complex64::cis(-2.0 * PI * k as f64 / length as f64);
        turns.extend((0..length / 2).map(turn));
        Ok(Transform { turns })
    }

    /// Replaces `x` by its Fourier transform: `y[k] = Σ x[j] exp(-2πi jk / length)`.
    pub(super) fn apply(&self, x: &mut [Complex64]) {
        let length = x.len();
        debug_assert_eq!(length.max(1) / 2, self.turns.len(), "the transform is for another length");
        // The numbers in the order of their reversed binary positions.
        let mut reversed = 0;
        for position in 1..length {
            let mut bit = length / 2;
            while reversed & bit != 0 {
                reversed ^= bit;
                bit /= 2;
            }
            reversed |= bit;
            if position < reversed {
                x.swap(position, reversed);
            }
        }
        let mut half = 1;
        while half < length {
            let stride = length / (2 * half);
            for block in x.chunks_exact_mut(2 * half) {
                let (low, high) = block.split_at_mut(half);
                for ((a, b), turn) in low.iter_mut().zip(high).zip(self.turns.iter().step_by(stride)) {
                    let turned = *b * turn;
                    (*a, *b) = (*a + turned, *a - turned);
                }
            }
            half *= 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transforms_are_sums_over_all_numbers() {
        for length in [1, 2, 4, 8, 64, 256] {
            let x: Vec<Complex64> = (0..length)
                .map(|j| Complex64::new((j * j % 17) as f64 - 8.0, (j * 5 % 13) as f64 - 6.0))
                .collect();
            let mut y = x.clone();
            Transform::new(length).unwrap().apply(&mut y);
            for (k, got) in y.iter().enumerate() {
                let turn = |j: usize| Complex64::cis(-2.0 * PI * (j * k % length) as f64 / length as f64);
                let expected: Complex64 = x.iter().enumerate().map(|(j, x)| x * turn(j)).sum();
                assert!((got - expected).norm() < 1e-9, "{length} {k}: {got} and {expected}");
            }
        }
    }
}
