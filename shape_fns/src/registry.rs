//! [`lookup`]: the shape function of a TensorFlow op type.

use crate::{ShapeFn, array, common};

/// How a TensorFlow op is read by a shape function.
#[derive(Clone, Copy, Debug)]
pub struct Registered {
    /// TensorFlow's op type.
    pub op: &'static str,
    /// The names of the operands in TensorFlow's order; one that ends in `..` stands for any number.
    pub operands: &'static [&'static str],
    /// Attributes that have another name here: TensorFlow's, then ours.
    pub attrs: &'static [(&'static str, &'static str)],
    /// The number of outputs; `None` where an attribute decides it.
    pub outputs: Option<usize>,
    /// The shape function.
    pub shape_fn: ShapeFn,
}

/// The shape function of this TensorFlow op type.
pub fn lookup(tf_op: &str) -> Option<&'static Registered> {
    TABLE.binary_search_by(|row| row.op.cmp(tf_op)).ok().and_then(|position| TABLE.get(position))
}

const fn row(op: &'static str, operands: &'static [&'static str], shape_fn: ShapeFn) -> Registered {
    Registered { op, operands, attrs: &[], outputs: Some(1), shape_fn }
}

/// In the order of op types.
static TABLE: &[Registered] = &[
    row("Add", &["x", "y"], common::broadcast),
    row("AddV2", &["x", "y"], common::broadcast),
    row("Neg", &["x"], common::unary),
    row("Transpose", &["x", "perm"], array::transpose),
];
