//! [`InferenceResult`]: the outputs that a shape function has set.

use smallvec::SmallVec;

use crate::{Dim, PartialElements, TensorShape};

/// The outputs that a shape function has set, returned by
/// [`InferenceContext::finish`](crate::InferenceContext::finish).
#[derive(Clone, Debug, Default)]
pub struct InferenceResult {
    pub(super) shapes: SmallVec<[TensorShape; 1]>,
    pub(super) values: SmallVec<[Option<PartialElements>; 1]>,
    pub(super) derived: Vec<(&'static str, SmallVec<[Dim; 4]>)>,
    pub(super) assumed: Vec<(usize, TensorShape)>,
}

impl InferenceResult {
    /// Makes a result of unranked outputs.
    pub(super) fn unknown(outputs: usize) -> InferenceResult {
        // Avoid iterators for one output, which nearly every op has.
        let (shapes, values) = match outputs {
            1 => (SmallVec::from_buf([const { TensorShape::unranked() }]), SmallVec::from_buf([None])),
            _ => (
                (0..outputs).map(|_| TensorShape::unranked()).collect(),
                (0..outputs).map(|_| None).collect(),
            ),
        };
        InferenceResult { shapes, values, derived: Vec::new(), assumed: Vec::new() }
    }

    /// Returns the shape of every output.
    pub fn shapes(&self) -> &[TensorShape] {
        &self.shapes
    }

    /// Returns the elements of every output. An entry is `None` unless the output is a small integer tensor with some
    /// known elements.
    pub fn values(&self) -> &[Option<PartialElements>] {
        &self.values
    }

    /// Returns the normalized parameters that the body of the op reads, as names and elements.
    pub fn derived(&self) -> impl ExactSizeIterator<Item = (&'static str, &[Dim])> {
        self.derived.iter().map(|(name, elements)| (*name, elements.as_slice()))
    }

    /// Returns the shapes of new sizes that stand for the shapes of unranked operands, each with the index of its
    /// operand: see [`InferenceContext::with_rank`](crate::InferenceContext::with_rank).
    pub fn assumed_shapes(&self) -> &[(usize, TensorShape)] {
        &self.assumed
    }

    /// Returns the shape and the elements of every output.
    pub fn into_outputs(self) -> impl Iterator<Item = (TensorShape, Option<PartialElements>)> {
        self.shapes.into_iter().zip(self.values)
    }
}
