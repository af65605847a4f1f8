//! `Node`: an op with its operands, and the values it makes.

use std::panic::Location;

use shapeflow_shape_fns::{Attrs, DType, Dim, PartialElements, TensorShape};
use smallvec::SmallVec;

use crate::op::OpRef;

/// A node's number: its place in the order in which nodes were added.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) struct NodeIx(pub u32);

/// A value's number: values are numbered as their nodes are.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) struct ValueIx(pub u32);

impl NodeIx {
    pub(crate) fn at(self) -> usize {
        self.0 as usize
    }
}

impl ValueIx {
    pub(crate) fn at(self) -> usize {
        self.0 as usize
    }
}

impl std::fmt::Display for ValueIx {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "%{}", self.0)
    }
}

/// Parameters that the shape function has normalised for the body.
pub(crate) type Derived = Vec<(&'static str, Vec<Dim>)>;

/// What most nodes do not have.
#[derive(Clone, Default)]
pub(crate) struct Extra {
    pub attrs: Attrs,
    pub derived: Derived,
    pub name: Option<String>,
}

/// An op applied to values. Operand order is the truth about the edges.
#[derive(Clone)]
pub(crate) struct Node {
    pub op: OpRef,
    pub operands: SmallVec<[ValueIx; 2]>,
    /// Which of the op's declared operands are values (bit `i` for entry `i`); the others came as
    /// attributes of the same name or were left out.
    pub given: u32,
    pub first_output: ValueIx,
    pub outputs: u32,
    pub extra: Option<Box<Extra>>,
    pub location: &'static Location<'static>,
    /// The innermost scope it was built in; 0 is none.
    pub scope: u32,
}

static NO_ATTRS: std::sync::LazyLock<Attrs> = std::sync::LazyLock::new(Attrs::default);

impl Node {
    pub(crate) fn attrs(&self) -> &Attrs {
        match &self.extra {
            Some(extra) => &extra.attrs,
            None => &NO_ATTRS,
        }
    }

    pub(crate) fn derived(&self) -> &[(&'static str, Vec<Dim>)] {
        match &self.extra {
            Some(extra) => &extra.derived,
            None => &[],
        }
    }

    /// The name the user gave it.
    pub(crate) fn own_name(&self) -> Option<&str> {
        self.extra.as_ref().and_then(|extra| extra.name.as_deref())
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = ValueIx> + use<> {
        (self.first_output.0..self.first_output.0 + self.outputs).map(ValueIx)
    }

    /// The names of the operands that are values, in order.
    pub(crate) fn operand_names(&self) -> SmallVec<[&'static str; 4]> {
        if let Some(names) = self.op.operand_names() {
            return SmallVec::from_slice(names);
        }
        let Some(declared) = self.op.operand_list() else {
            return SmallVec::new();
        };
        declared
            .iter()
            .enumerate()
            .filter(|(i, _)| self.given & (1 << i) != 0)
            .map(|(_, operand)| operand.name())
            .collect()
    }

    /// Which operand value carries parameter `name`.
    pub(crate) fn operand_named(&self, name: &str) -> Option<ValueIx> {
        let at = self.operand_names().iter().position(|n| *n == name)?;
        self.operands.get(at).copied()
    }
}

/// What is known of a node's output.
#[derive(Clone)]
pub(crate) struct ValueInfo {
    pub node: NodeIx,
    pub dtype: DType,
    pub shape: TensorShape,
    /// The elements, where they are dimensions or known integers.
    pub elements: Option<Box<PartialElements>>,
}
