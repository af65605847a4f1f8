//! `TfOp`: how TensorFlow spells an op. `TfFunction`: how TensorFlow computes an op that it lacks.

use super::CompositeFn;

/// The default value of an omitted operand. TensorFlow's op requires the operand, so an export writes this value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Absent {
    /// The scalar 0.
    Zero,
    /// The scalar 1.
    One,
    /// A vector of ones of the same length as operand 1.
    Ones,
    /// Every axis of the first data operand.
    AllAxes,
    /// Every axis of the first data operand, from the last to the first.
    ReversedAxes,
}

/// How an export writes an op that TensorFlow lacks: as a function that computes the op with TensorFlow's ops.
#[derive(Clone, Copy)]
#[cfg_attr(not(feature = "graphdef"), expect(dead_code, reason = "only an export writes functions"))]
pub(crate) enum TfFunction {
    /// The function composes other ops. It gets all operands in their declared order. A parameter that is an attribute
    /// of known integers stays an attribute; any other parameter is an i64 tensor. An error says that the function
    /// cannot express the call.
    Composed(CompositeFn),
    /// The function passes operand 0 on, after it has asserted operand 1.
    Assertion,
}

/// How TensorFlow spells an op.
///
/// [`shape_fns::lookup`](shapeflow_shape_fns::lookup) names the inputs of the op type in TensorFlow's order. Each input
/// is our operand of the same name. The methods below state every other difference between TensorFlow's spelling and
/// ours.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TfOp {
    /// The op type in a GraphDef.
    pub op_type: &'static str,
    pub(crate) attrs: &'static [(&'static str, &'static str)],
    pub(crate) output_type: Option<&'static str>,
    pub(crate) rank: Option<usize>,
    pub(crate) known_from: Option<usize>,
    pub(crate) magnitudes: Option<(usize, usize)>,
    pub(crate) absent: &'static [(&'static str, Absent)],
    pub(crate) pairs: &'static [&'static str],
    pub(crate) fixed: &'static [(&'static str, i64)],
    pub(crate) composite_attrs: &'static [(&'static str, i64)],
    pub(crate) implied: &'static [(&'static str, &'static str)],
    pub(crate) has_own_shape_fn: bool,
    pub(crate) padded: Option<PaddedInput>,
}

/// The sizes that the last axes of the first input of TensorFlow's op must have at least. Our op pads shorter axes with
/// zeros at their ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PaddedInput {
    /// The operand or attribute with the number of elements that the op reads along each of the last axes.
    pub lengths: &'static str,
    /// Whether the op reads `length / 2 + 1` elements of the last axis.
    pub is_half: bool,
}

impl TfOp {
    /// Makes a spelling that differs from ours only in the op type.
    pub const fn new(op_type: &'static str) -> TfOp {
        TfOp {
            op_type,
            attrs: &[],
            output_type: None,
            rank: None,
            known_from: None,
            magnitudes: None,
            absent: &[],
            pairs: &[],
            fixed: &[],
            composite_attrs: &[],
            implied: &[],
            has_own_shape_fn: false,
            padded: None,
        }
    }

    /// States that our op pads the last axes of its first operand to `lengths`, and TensorFlow's op does not. `is_half`
    /// says that the op reads `length / 2 + 1` elements of the last axis.
    #[must_use]
    pub(crate) const fn padded(mut self, lengths: &'static str, is_half: bool) -> TfOp {
        self.padded = Some(PaddedInput { lengths, is_half });
        self
    }

    /// States that the op type of TensorFlow has a shape function of its own, because it takes other shapes than our op
    /// does. An imported op then uses the shape function that [`shape_fns::lookup`](shapeflow_shape_fns::lookup) has
    /// for the op type, and not the shape function of the definition.
    #[must_use]
    pub const fn own_shape_fn(mut self) -> TfOp {
        self.has_own_shape_fn = true;
        self
    }

    /// Sets the pairs of attribute names that differ: TensorFlow's name, then ours.
    #[must_use]
    pub const fn attrs(mut self, attrs: &'static [(&'static str, &'static str)]) -> TfOp {
        self.attrs = attrs;
        self
    }

    /// Sets our attribute for the dtype of the output. TensorFlow's op has one output of one fixed dtype.
    #[must_use]
    pub const fn output_type(mut self, attr: &'static str) -> TfOp {
        self.output_type = Some(attr);
        self
    }

    /// Restricts the spelling to data operands of this rank.
    #[must_use]
    pub const fn of_rank(mut self, rank: usize) -> TfOp {
        self.rank = Some(rank);
        self
    }

    /// Restricts the spelling to data operands and results whose sizes are known before a run, from this axis on.
    #[must_use]
    pub(crate) const fn known_from(mut self, axis: usize) -> TfOp {
        self.known_from = Some(axis);
        self
    }

    /// Restricts the spelling to calls in which operand `magnitude` has the dtype of operand `values`, or the dtype of
    /// the parts of complex values. TensorFlow's op takes other dtypes too, but gives other results than our op.
    #[must_use]
    pub(crate) const fn with_magnitudes(mut self, values: usize, magnitude: usize) -> TfOp {
        self.magnitudes = Some((values, magnitude));
        self
    }

    /// Sets the parameters that may be a flat list in our op and are rows of two in TensorFlow's op.
    #[must_use]
    pub const fn pairs(mut self, parameters: &'static [&'static str]) -> TfOp {
        self.pairs = parameters;
        self
    }

    /// Sets the integer attributes that only our op has, each with the value that TensorFlow's op implies.
    #[must_use]
    pub const fn fixed(mut self, attrs: &'static [(&'static str, i64)]) -> TfOp {
        self.fixed = attrs;
        self
    }

    /// Sets integer attributes that only our op has, each with the value that TensorFlow's op implies. An import sets
    /// them in a call that is made of other ops.
    #[must_use]
    pub const fn in_composites(mut self, attrs: &'static [(&'static str, i64)]) -> TfOp {
        self.composite_attrs = attrs;
        self
    }

    /// Sets text attributes that only our op has, each with the value that TensorFlow's op implies. An imported op gets
    /// this value.
    #[must_use]
    pub const fn implied(mut self, attrs: &'static [(&'static str, &'static str)]) -> TfOp {
        self.implied = attrs;
        self
    }

    /// Sets the operands that a call of our op may omit and a call of TensorFlow's op may not, each with its default
    /// value.
    #[must_use]
    pub const fn absent(mut self, absent: &'static [(&'static str, Absent)]) -> TfOp {
        self.absent = absent;
        self
    }
}
