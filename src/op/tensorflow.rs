//! `TfOp`: how TensorFlow spells an op.

/// What an operand that was left out stands for, so that TensorFlow can be told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Absent {
    /// The scalar 0.
    Zero,
    /// The scalar 1.
    One,
    /// As many ones as operand 1 has elements.
    Ones,
    /// Every axis of the first data operand.
    AllAxes,
    /// Every axis of the first data operand, from the last to the first.
    ReversedAxes,
}

/// How TensorFlow spells an op.
///
/// [`shape_fns::lookup`](shapeflow_shape_fns::lookup) names the inputs of the op type in TensorFlow's order, and each
/// is the operand of that name. A spelling says where TensorFlow's op differs from ours beyond that.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TfOp {
    /// The op type in a GraphDef.
    pub op_type: &'static str,
    pub(crate) attrs: &'static [(&'static str, &'static str)],
    pub(crate) output_type: Option<&'static str>,
    pub(crate) rank: Option<usize>,
    pub(crate) absent: &'static [(&'static str, Absent)],
    pub(crate) pairs: &'static [&'static str],
    pub(crate) fixed: &'static [(&'static str, i64)],
    pub(crate) has_own_shape_fn: bool,
}

impl TfOp {
    /// The op type alone.
    pub const fn new(op_type: &'static str) -> TfOp {
        TfOp {
            op_type,
            attrs: &[],
            output_type: None,
            rank: None,
            absent: &[],
            pairs: &[],
            fixed: &[],
            has_own_shape_fn: false,
        }
    }

    /// The shape function that [`shape_fns::lookup`](shapeflow_shape_fns::lookup) has for the op type stands for the
    /// definition's: TensorFlow's op takes other shapes than ours does.
    #[must_use]
    pub const fn own_shape_fn(mut self) -> TfOp {
        self.has_own_shape_fn = true;
        self
    }

    /// Attributes that have another name here: TensorFlow's, then ours.
    #[must_use]
    pub const fn attrs(mut self, attrs: &'static [(&'static str, &'static str)]) -> TfOp {
        self.attrs = attrs;
        self
    }

    /// Our attribute for the dtype that TensorFlow's only output always has.
    #[must_use]
    pub const fn output_type(mut self, attr: &'static str) -> TfOp {
        self.output_type = Some(attr);
        self
    }

    /// The spelling is only for data operands of this rank.
    #[must_use]
    pub const fn of_rank(mut self, rank: usize) -> TfOp {
        self.rank = Some(rank);
        self
    }

    /// Parameters that may be a flat list here and are rows of two there.
    #[must_use]
    pub const fn pairs(mut self, parameters: &'static [&'static str]) -> TfOp {
        self.pairs = parameters;
        self
    }

    /// Integer attributes of ours that TensorFlow's op does not have, and the only value it knows.
    #[must_use]
    pub const fn fixed(mut self, attrs: &'static [(&'static str, i64)]) -> TfOp {
        self.fixed = attrs;
        self
    }

    /// What operands mean that may be left out here and not there.
    #[must_use]
    pub const fn absent(mut self, absent: &'static [(&'static str, Absent)]) -> TfOp {
        self.absent = absent;
        self
    }
}
