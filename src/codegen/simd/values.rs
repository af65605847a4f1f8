//! `Val`: a selected value in the forms in which instructions take it.

use super::block::{Home, V};
use super::list::List;
use super::op;
use super::select::{Mode, Refusal, Selector};
use crate::codegen::clif::{Repr, lane_bits};
use crate::expr::Scalar;
use crate::lower::code::Vid;

/// Vectors of one value, in element order; a single one if it is the same for all elements.
pub(super) type Vecs = List<V, 8>;

/// A selected value: vectors with lanes of its own size, of a mask those with 8-byte lanes, and of a checked index
/// those with 4-byte lanes; none where it has not that form.
#[derive(Clone, Copy, Default)]
pub(super) struct Val {
    pub vecs: Vecs,
    pub wide: Vecs,
    pub words: Vecs,
}

impl Selector<'_> {
    /// Equal lanes of 4 or 8 bytes.
    pub fn splat(&mut self, bits: u64, bytes: u32) -> V {
        let at = self.pool.splat(bits, bytes);
        self.block.at(Home::Pool(at))
    }

    pub fn splat_of(&mut self, value: Scalar) -> V {
        self.splat(lane_bits(value), Repr::of(value.dtype()).bytes())
    }

    /// The set lanes of vector `j` of a masked step, for lanes of so many bytes.
    pub fn live(&mut self, j: usize, bytes: u32) -> V {
        let at = if bytes == 4 { self.layout.masks[0] } else { self.layout.masks[1 + j] };
        self.block.at(Home::Frame(at))
    }

    pub fn is_uniform(&self, v: Vid) -> bool {
        self.mode != Mode::Once && self.uniform[v.0 as usize]
    }

    /// A uniform value inside a step.
    fn resident(&mut self, v: Vid) -> Result<V, Refusal> {
        let home = self.homes[v.0 as usize].ok_or("a uniform value has no place")?;
        Ok(self.block.at(home))
    }

    /// The vectors of `v`; of a mask, those with 4-byte lanes.
    pub fn vecs(&mut self, v: Vid) -> Result<Vecs, Refusal> {
        if self.is_uniform(v) {
            let bytes = Repr::of(self.dtype(v)).bytes();
            let one = self.resident(v)?;
            return Ok(Vecs::repeated(one, self.vectors(bytes)));
        }
        let val = &self.vals[v.0 as usize];
        if !val.vecs.is_empty() {
            return Ok(val.vecs);
        }
        let Val { wide, words, .. } = *val;
        let made = match (wide.is_empty(), words.is_empty()) {
            (_, false) => self.widen(&words, op::ZX_DQ),
            (false, true) => self.narrow_pairs(&wide, Selector::even_words),
            (true, true) => return Err("a value is used before it is made"),
        };
        self.vals[v.0 as usize].vecs = made;
        Ok(made)
    }

    /// The low words of the checked index `v`.
    pub fn index_words(&mut self, v: Vid) -> Result<Vecs, Refusal> {
        if self.is_uniform(v) {
            let one = self.resident(v)?;
            let word = self.op_imm(op::SHUFFLE_D, &[one], Some(0xa0));
            return Ok(Vecs::repeated(word, self.vectors(4)));
        }
        let words = self.vals[v.0 as usize].words;
        if !words.is_empty() {
            return Ok(words);
        }
        let x = self.vecs(v)?;
        Ok(self.narrow_pairs(&x, Selector::even_words))
    }

    /// The mask `v` with lanes of so many bytes.
    pub fn mask(&mut self, v: Vid, bytes: u32) -> Result<Vecs, Refusal> {
        if bytes == 4 {
            return self.vecs(v);
        }
        if self.is_uniform(v) {
            let one = self.resident(v)?;
            return Ok(Vecs::repeated(one, self.vectors(8)));
        }
        let wide = self.vals[v.0 as usize].wide;
        if !wide.is_empty() {
            return Ok(wide);
        }
        let narrow = self.vecs(v)?;
        let made = self.widen(&narrow, op::SX_DQ);
        self.vals[v.0 as usize].wide = made;
        Ok(made)
    }

    /// Whether the mask `v` exists with 8-byte lanes only.
    pub fn is_wide(&self, v: Vid) -> bool {
        let val = &self.vals[v.0 as usize];
        !val.wide.is_empty() && val.vecs.is_empty()
    }
}
