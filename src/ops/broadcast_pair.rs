//! [`BroadcastPair`]: the elements of two tensors that a host op pairs.

use crate::error::{Error, ErrorKind, Phase, Result};

/// The elements of two row-major tensors that broadcasting pairs.
pub(crate) struct BroadcastPair {
    /// The sizes of the result.
    pub sizes: Vec<usize>,
    /// For each axis of the result: the strides of both tensors, 0 along a repeated axis.
    strides: Vec<[usize; 2]>,
}

impl BroadcastPair {
    /// Pairs tensors of these sizes.
    ///
    /// # Errors
    /// The sizes do not broadcast.
    pub(crate) fn new(x: &[usize], y: &[usize]) -> Result<BroadcastPair> {
        let rank = x.len().max(y.len());
        let size = |sizes: &[usize], axis: usize| {
            (axis + sizes.len()).checked_sub(rank).map_or(1, |axis| sizes[axis])
        };
        let (mut sizes, mut strides) = (vec![0; rank], vec![[0; 2]; rank]);
        let mut inner = [1, 1];
        for axis in (0..rank).rev() {
            let pair = [size(x, axis), size(y, axis)];
            sizes[axis] = match pair {
                [a, b] if a == b || b == 1 => a,
                [1, b] => b,
                [a, b] => {
                    let message =
                        format!("sizes must be equal or 1 to broadcast, got {a} and {b} in {x:?} and {y:?}");
                    return Err(Error::new(ErrorKind::Shape, Phase::Run, message));
                }
            };
            for side in 0..2 {
                strides[axis][side] = if pair[side] == 1 { 0 } else { inner[side] };
                inner[side] *= pair[side];
            }
        }
        Ok(BroadcastPair { sizes, strides })
    }

    /// Returns the positions of the two elements of row-major element `element` of the result.
    pub(crate) fn position(&self, element: usize) -> (usize, usize) {
        let (mut rest, mut left, mut right) = (element, 0, 0);
        for (size, [x, y]) in self.sizes.iter().zip(&self.strides).rev() {
            let index = rest % size;
            rest /= size;
            left += index * x;
            right += index * y;
        }
        (left, right)
    }
}

#[cfg(any(test, feature = "strings"))]
impl BroadcastPair {
    /// Returns the number of elements of the result.
    pub(crate) fn len(&self) -> usize {
        self.sizes.iter().product()
    }

    /// Returns [`BroadcastPair::position`] of every element of the result.
    pub(crate) fn positions(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        (0..self.len()).map(|element| self.position(element))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_pair_from_the_last_axis() {
        let pair = BroadcastPair::new(&[3, 1], &[2]).unwrap();
        assert_eq!(pair.sizes, [3, 2]);
        assert_eq!(pair.positions().collect::<Vec<_>>(), [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)]);
        let repeated = BroadcastPair::new(&[], &[2]).unwrap();
        assert_eq!(repeated.positions().collect::<Vec<_>>(), [(0, 0), (0, 1)]);
        let refused = BroadcastPair::new(&[3], &[2]).err().unwrap();
        assert!(refused.message().contains("to broadcast"));
    }
}
