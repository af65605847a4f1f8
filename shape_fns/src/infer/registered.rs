//! [`Registered`]: a row of the registry, from a TensorFlow op type to its shape function.

use crate::ShapeFn;

/// How a TensorFlow op is read by a shape function.
#[derive(Clone, Copy, Debug)]
pub struct Registered {
    /// TensorFlow's op type.
    pub op: &'static str,
    /// The names of the operands in TensorFlow's order; one that ends in `..` stands for any number.
    pub operands: &'static [&'static str],
    /// Attributes that have another name here: TensorFlow's, then ours.
    pub attrs: &'static [(&'static str, &'static str)],
    /// The number of outputs; `None` where attributes or operands decide it.
    pub outputs: Option<usize>,
    /// The shape function.
    pub shape_fn: ShapeFn,
}

impl Registered {
    pub(crate) const fn renamed(mut self, attrs: &'static [(&'static str, &'static str)]) -> Registered {
        self.attrs = attrs;
        self
    }

    pub(crate) const fn outputs(mut self, outputs: Option<usize>) -> Registered {
        self.outputs = outputs;
        self
    }
}

/// A row of a family's table: one output, attributes of TensorFlow's names.
pub(crate) const fn row(
    op: &'static str,
    operands: &'static [&'static str],
    shape_fn: ShapeFn,
) -> Registered {
    Registered { op, operands, attrs: &[], outputs: Some(1), shape_fn }
}
