//! [`Registered`]: a row of the registry, which maps a TensorFlow op type to its shape function.

use crate::ShapeFn;

/// The signature of a TensorFlow op and its shape function.
#[derive(Clone, Copy, Debug)]
pub struct Registered {
    /// The op type.
    pub op: &'static str,
    /// The names of the operands in TensorFlow's order. A name that ends in `..` stands for any number of operands.
    pub operands: &'static [&'static str],
    /// The attributes whose name here differs from TensorFlow's, as pairs of TensorFlow's name and the name here.
    pub attrs: &'static [(&'static str, &'static str)],
    /// The number of outputs, or `None` if attributes or operands determine it.
    pub outputs: Option<usize>,
    /// The shape function.
    pub shape_fn: ShapeFn,
}

impl Registered {
    /// Sets [`Registered::attrs`].
    pub(crate) const fn renamed(mut self, attrs: &'static [(&'static str, &'static str)]) -> Registered {
        self.attrs = attrs;
        self
    }

    /// Sets the number of outputs.
    pub(crate) const fn outputs(mut self, outputs: Option<usize>) -> Registered {
        self.outputs = outputs;
        self
    }
}

/// Makes a row with one output and with attributes of the same names as in TensorFlow.
pub(crate) const fn row(
    op: &'static str,
    operands: &'static [&'static str],
    shape_fn: ShapeFn,
) -> Registered {
    Registered { op, operands, attrs: &[], outputs: Some(1), shape_fn }
}
