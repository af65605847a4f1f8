//! `SelectedValue`: a value of the body in the forms that instructions take.

use crate::codegen::simd::ir::{InlineList, VectorId};

/// The vectors of one value, in element order. A value with equal elements repeats one vector.
pub(crate) type VectorIds = InlineList<VectorId, 8>;

/// The forms of a value. An empty list is a form that does not exist yet.
#[derive(Clone, Copy, Default)]
pub(crate) struct SelectedValue {
    /// Vectors whose lanes have the size of the value's `Repr`: for a mask, 4 bytes.
    pub vectors: VectorIds,
    /// For a mask: vectors with lanes of 8 bytes.
    pub wide_mask: VectorIds,
    /// For a checked index: its low 4 bytes, in lanes of 4 bytes.
    pub index_words: VectorIds,
}
