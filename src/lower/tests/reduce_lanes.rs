//! [`ReduceLanes`]: the accumulators of one reduction, combined in the order that the docs of [`REDUCE_BYTES`]
//! describe.

use shapeflow_shape_fns::DType;

use crate::expr::{Scalar, accumulator, eval_cast};
use crate::lower::kernel_body::{REDUCE_BYTES, ReduceStep};

/// The accumulators of one reduction, by lane.
pub(super) struct ReduceLanes {
    pub step: ReduceStep,
    identity: Scalar,
    /// The accumulators of the current tile.
    pub current: Vec<Scalar>,
    /// The combination of all earlier tiles.
    totals: Vec<Scalar>,
}

impl ReduceLanes {
    /// Makes `count` lanes of a reduction.
    pub fn new(step: ReduceStep, count: usize) -> ReduceLanes {
        let identity = eval_cast(step.op.identity(step.dtype), wide(step.dtype));
        ReduceLanes { step, identity, current: vec![identity; count], totals: vec![identity; count] }
    }

    /// Combines an element into a lane.
    pub fn add(&mut self, lane: usize, value: Scalar) {
        let value = eval_cast(value, wide(self.step.dtype));
        self.current[lane] = self.step.op.combine(self.current[lane], value);
    }

    /// Combines the accumulators into the totals, and sets the accumulators to the identity.
    pub fn end_tile(&mut self) {
        for (total, current) in self.totals.iter_mut().zip(&mut self.current) {
            *total = self.step.op.combine(*total, *current);
            *current = self.identity;
        }
    }

    /// Makes the result from a total: applies the last step of the reduction, and converts to the dtype of the result.
    pub fn finish(&self, total: Scalar) -> Scalar {
        eval_cast(self.step.op.finish(total), self.step.dtype)
    }

    /// Combines the upper half of the totals with the lower half until one total is left, and makes the result.
    pub fn halve(mut self) -> Scalar {
        while self.totals.len() > 1 {
            let half = self.totals.len() / 2;
            for lane in 0..half {
                self.totals[lane] = self.step.op.combine(self.totals[lane], self.totals[lane + half]);
            }
            self.totals.truncate(half);
        }
        self.finish(self.totals[0])
    }
}

/// Returns the dtype in which a reduction computes. A bool stays a bool: the result of `all` and `any` is the same in
/// any dtype.
fn wide(dtype: DType) -> DType {
    if dtype == DType::Bool { dtype } else { accumulator(dtype) }
}

/// Returns the number of accumulator lanes of a reduction in a row kernel.
pub(super) fn lane_count(dtype: DType) -> usize {
    REDUCE_BYTES / accumulator(dtype).size_bytes().expect("accumulators have a fixed size")
}
