//! What bodies take from folds and give to them.

use shapeflow_shape_fns::DType;
use smallvec::SmallVec;

use super::block::{Home, Kind, Place, Tail, V};
use super::op;
use super::select::{Refusal, Selector};
use super::values::Vecs;
use crate::codegen::clif::Repr;
use crate::expr::ReduceOp;
use crate::lower::code::{Code, FoldStep, Layout};

impl Selector<'_> {
    /// The result of a fold: of the row, or of each element's own row.
    pub fn folded(&mut self, k: u32) -> Result<Vecs, Refusal> {
        if self.code.layout == Layout::Row {
            let at = self.layout.folded[k as usize];
            return Ok(Vecs::repeated(self.block.at(Home::Frame(at)), 1));
        }
        let fold = fold_of(self.code, k).ok_or("a fold is read before it is made")?;
        let lanes = self.load_tile(fold);
        Ok(self.map(&lanes, |s, x| s.finish_fold(fold, x)))
    }

    /// The last step of a fold: a float sum adds 0.0, and lanes wider than the dtype are settled.
    pub fn finish_fold(&mut self, fold: FoldStep, mut x: V) -> V {
        if fold.op == ReduceOp::Sum && fold.dtype.is_float() {
            let double = fold.dtype == DType::F64;
            let zero = self.splat(0, 8);
            x = self.op2(if double { op::ADD_PD } else { op::ADD_PS }, x, zero);
        }
        self.settle(fold.dtype, x)
    }

    /// Loads the accumulators of a column fold.
    pub fn load_tile(&mut self, fold: FoldStep) -> Vecs {
        let bytes = Repr::of(fold.dtype).bytes();
        let len = self.len();
        (0..self.vectors(bytes))
            .map(|j| {
                let place = Place::Tile(fold.into, bytes as u8, self.tile_offset(j));
                self.block.push(Kind::Load { op: op::MOV_LOAD, len, place, tail: Tail::Whole }, &[])
            })
            .collect()
    }

    fn tile_offset(&self, j: usize) -> i32 {
        j as i32 * self.len().bytes() as i32
    }

    /// Selects the copies of a body for a step, and folds its elements into the accumulators of their own rows,
    /// those of each copy in turn.
    pub fn fold_in_tile(&mut self, folds: &[FoldStep], copies: u32) -> Result<(), Refusal> {
        let mut sums: SmallVec<[Vecs; 2]> = SmallVec::new();
        for copy in 0..copies {
            self.restart(self.mode);
            self.copy = copy;
            self.body()?;
            for (at, fold) in folds.iter().enumerate() {
                let values = self.vecs(fold.value)?;
                if copy == 0 {
                    sums.push(self.load_tile(*fold));
                }
                let sum = sums[at];
                sums[at] = self.zip(&sum, &values, |s, x, y| s.combine(fold.dtype, fold.op.combiner(), x, y));
            }
        }
        let len = self.len();
        for (fold, sum) in folds.iter().zip(sums) {
            let bytes = Repr::of(fold.dtype).bytes();
            for (j, x) in sum.iter().enumerate() {
                let place = Place::Tile(fold.into, bytes as u8, self.tile_offset(j));
                self.block.effect(
                    Kind::Store { op: op::MOV_STORE, len, imm: None, place, tail: Tail::Whole },
                    &[*x],
                );
            }
        }
        Ok(())
    }

    /// The value a fold takes from each vector of the step; the identity where no element is.
    pub fn fold_values(&mut self, fold: FoldStep) -> Result<Vecs, Refusal> {
        let values = self.vecs(fold.value)?;
        if !self.masked() {
            return Ok(values);
        }
        let bytes = Repr::of(fold.dtype).bytes();
        let identity = self.splat_of(fold.op.identity(fold.dtype));
        Ok((0..values.len())
            .map(|j| {
                let live = self.live(j, bytes);
                self.choose(live, values[j], identity)
            })
            .collect())
    }
}

/// The step that makes fold result `k`.
fn fold_of(code: &Code, k: u32) -> Option<FoldStep> {
    code.passes.iter().flat_map(|pass| &pass.folds).find(|fold| fold.into == k).copied()
}
