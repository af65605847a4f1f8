//! `Lanes`: the accumulators of one fold, combined in exactly the order that [`FOLD_BYTES`] describes.

use shapeflow_shape_fns::DType;

use super::code::{FOLD_BYTES, FoldStep};
use crate::expr::{Scalar, accumulator, eval_cast};

/// The accumulators of one fold, in the order of their lanes.
pub(super) struct Lanes {
    pub step: FoldStep,
    identity: Scalar,
    pub own: Vec<Scalar>,
    totals: Vec<Scalar>,
}

impl Lanes {
    pub fn new(step: FoldStep, count: usize) -> Lanes {
        let identity = eval_cast(step.op.identity(step.dtype), wide(step.dtype));
        Lanes { step, identity, own: vec![identity; count], totals: vec![identity; count] }
    }

    pub fn add(&mut self, lane: usize, value: Scalar) {
        let value = eval_cast(value, wide(self.step.dtype));
        self.own[lane] = self.step.op.combine(self.own[lane], value);
    }

    pub fn end_tile(&mut self) {
        for (total, own) in self.totals.iter_mut().zip(&mut self.own) {
            *total = self.step.op.combine(*total, *own);
            *own = self.identity;
        }
    }

    pub fn finish(&self, total: Scalar) -> Scalar {
        eval_cast(self.step.op.finish(total), self.step.dtype)
    }

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

/// The dtype of accumulators; a bool stays one, whatever lanes hold it.
fn wide(dtype: DType) -> DType {
    if dtype == DType::Bool { dtype } else { accumulator(dtype) }
}

/// Accumulator lanes of a fold in a row.
pub(super) fn lanes_of(dtype: DType) -> usize {
    FOLD_BYTES / accumulator(dtype).size_bytes().unwrap_or(4)
}
