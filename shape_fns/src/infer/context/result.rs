//! [`InferenceResult`]: what a shape function said of the outputs.

use smallvec::SmallVec;

use crate::{Dim, PartialElements, TensorShape};

/// What a shape function said of the outputs; made by [`InferenceContext::finish`](crate::InferenceContext::finish).
#[derive(Clone, Debug, Default)]
pub struct InferenceResult {
    pub(super) shapes: SmallVec<[TensorShape; 1]>,
    pub(super) values: SmallVec<[Option<PartialElements>; 1]>,
    pub(super) derived: Vec<(&'static str, SmallVec<[Dim; 4]>)>,
}

impl InferenceResult {
    /// Of so many outputs nothing yet.
    pub(super) fn unknown(outputs: usize) -> InferenceResult {
        // Nearly every op has one output.
        let (shapes, values) = match outputs {
            1 => (SmallVec::from_buf([const { TensorShape::unranked() }]), SmallVec::from_buf([None])),
            _ => (
                (0..outputs).map(|_| TensorShape::unranked()).collect(),
                (0..outputs).map(|_| None).collect(),
            ),
        };
        InferenceResult { shapes, values, derived: Vec::new() }
    }

    /// The shape of every output.
    pub fn shapes(&self) -> &[TensorShape] {
        &self.shapes
    }

    /// Of every output the elements, where it is a small integer tensor and something is known of them.
    pub fn values(&self) -> &[Option<PartialElements>] {
        &self.values
    }

    /// Normalised parameters the op's body reads: the name and the elements of each.
    pub fn derived(&self) -> impl ExactSizeIterator<Item = (&'static str, &[Dim])> {
        self.derived.iter().map(|(name, elements)| (*name, elements.as_slice()))
    }

    /// Shape and elements of every output.
    pub fn into_outputs(self) -> impl Iterator<Item = (TensorShape, Option<PartialElements>)> {
        self.shapes.into_iter().zip(self.values)
    }
}
