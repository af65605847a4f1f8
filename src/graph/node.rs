//! `Node`: an op applied to values; `ValueInfo`: what is known of its outputs.

use std::panic::Location;

use shapeflow_shape_fns::{Attrs, DType, Dim, PartialElements, TensorShape};
use smallvec::SmallVec;

use crate::op::{OpDef, OpRef, Operand, OperandMask};

/// The index of a node. Nodes are numbered in the order in which they were added.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) struct NodeIx(pub u32);

/// The index of a value. Values are numbered in the order of their nodes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) struct ValueIx(pub u32);

impl NodeIx {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

impl ValueIx {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

impl std::fmt::Display for ValueIx {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "%{}", self.0)
    }
}

/// Parameters that the shape function has normalized for the body, by name.
pub(crate) type Derived = Vec<(&'static str, Vec<Dim>)>;

/// Attributes, derived parameters and name; most nodes have none of them.
#[derive(Clone, Default)]
pub(crate) struct Extra {
    pub attrs: Attrs,
    pub derived: Derived,
    /// The shapes of new sizes that stand for the shapes of unranked operands, each with the index of its operand.
    pub assumed: Vec<(usize, TensorShape)>,
    pub name: Option<String>,
}

/// An op applied to values. The operands are the edges of the graph; nothing else stores edges.
#[derive(Clone)]
pub(crate) struct Node {
    pub op: OpRef,
    pub operands: SmallVec<[ValueIx; 2]>,
    /// The declared operands that `operands` holds. Other declared operands are attributes of the same name, or absent.
    pub given_operands: OperandMask,
    /// The value of output 0. The values of the other outputs have the indices after it.
    pub first_output: ValueIx,
    /// The number of outputs.
    pub outputs: u32,
    pub extra: Option<Box<Extra>>,
    pub location: &'static Location<'static>,
    /// The innermost scope in which the node was built; 0 is none.
    pub scope: u32,
    /// Whether the node was added while a call in the program that adds several nodes was open. Such a call reads the
    /// sizes of its operands as they are known at that time, and adds other nodes for other sizes.
    pub added_within_call: bool,
    /// The open call that added the node. There is none if another call in the program added the node, such as a call
    /// in a closure that the open call runs.
    pub origin: CallOrigin,
}

impl Node {
    /// Makes a node without operands and with one output.
    pub(crate) fn leaf(op: &'static OpDef, location: &'static Location<'static>, scope: u32) -> Node {
        Node {
            op: OpRef::from(op),
            operands: SmallVec::new(),
            given_operands: OperandMask::default(),
            first_output: ValueIx(0),
            outputs: 1,
            extra: None,
            location,
            scope,
            added_within_call: false,
            origin: CallOrigin::default(),
        }
    }

    pub(crate) fn attrs(&self) -> &Attrs {
        match &self.extra {
            Some(extra) if !extra.attrs.is_empty() => &extra.attrs,
            _ => self.op.no_attrs(),
        }
    }

    pub(crate) fn derived(&self) -> &[(&'static str, Vec<Dim>)] {
        match &self.extra {
            Some(extra) => &extra.derived,
            None => &[],
        }
    }

    /// Returns the shapes of new sizes that stand for the shapes of unranked operands, each with the index of its
    /// operand.
    pub(crate) fn assumed(&self) -> &[(usize, TensorShape)] {
        match &self.extra {
            Some(extra) => &extra.assumed,
            None => &[],
        }
    }

    /// Returns the name that the user gave the node.
    pub(crate) fn own_name(&self) -> Option<&str> {
        self.extra.as_ref().and_then(|extra| extra.name.as_deref())
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = ValueIx> + use<> {
        (self.first_output.0..self.first_output.0 + self.outputs).map(ValueIx)
    }

    /// Returns the size and structure operands, whose elements the compiler reads, each with its declaration.
    pub(crate) fn parameters(&self) -> impl Iterator<Item = (Operand, ValueIx)> {
        let declared = self.op.operands_of(self.given_operands);
        declared.zip(self.operands.iter().copied()).filter(|(operand, _)| operand.is_parameter())
    }
}

/// The open call that added a node, for the errors of the node.
#[derive(Clone, Copy, Default)]
pub(crate) struct CallOrigin {
    /// The index of the call in [`GraphData::calls`](super::GraphData::calls).
    pub(super) frame: Option<u32>,
    /// Whether the node has the operands and attributes of the call.
    pub(super) has_call_arguments: bool,
}

/// What is known of an output of a node.
#[derive(Clone)]
pub(crate) struct ValueInfo {
    pub node: NodeIx,
    pub dtype: DType,
    pub shape: TensorShape,
    /// The elements, if they are dimensions or known integers.
    pub elements: Option<Box<PartialElements>>,
}
