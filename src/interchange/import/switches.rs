//! `Switches`: the control flow of TensorFlow 1: loops of `Enter`, `Merge`, `Switch`, `NextIteration` and `Exit` nodes,
//! and branches between `Switch` or `_SwitchN` and `Merge` nodes.

use std::collections::{BTreeSet, HashMap};

/// What chooses a branch: a bool, or for `_SwitchN` an index.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum Predicate {
    /// An output of a node: the index of the node, and the number of the output.
    Node(usize, usize),
    /// An argument of the function: its number in `Frame::parameters`.
    Argument(usize),
}

/// The nodes of one state value of a loop.
#[derive(Clone, Copy, Debug)]
pub(super) struct LoopState {
    pub merge: usize,
    pub enter: usize,
    /// The `NextIteration` node.
    pub next: usize,
    pub switch: Option<usize>,
    pub exit: Option<usize>,
}

/// A loop.
#[derive(Clone, Debug)]
pub(super) struct Loop {
    pub states: Vec<LoopState>,
    /// The `LoopCond` node.
    pub condition: usize,
    pub enters: Vec<usize>,
}

/// Where a node runs.
#[derive(Clone, Default, PartialEq, Debug)]
pub(super) struct Place {
    /// The innermost loop: an index in [`Switches::loops`].
    pub in_loop: Option<usize>,
    /// The sides on which the node runs. A side is a predicate and its value: 0 for false, 1 for true, or the index.
    pub sides: BTreeSet<(Predicate, usize)>,
}

/// The role of a node in control flow.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Role {
    Plain,
    /// A node that passes its first input on.
    Pass,
    Switch,
    /// A `Merge` of all sides of this predicate.
    Merge(Predicate),
    /// A `Merge` or `Switch` node of a loop's state. The import of the loop gives the node its value.
    State,
    /// An `Exit` node of the loop with this index in [`Switches::loops`].
    Exit(usize),
}

/// The control flow of a [`Frame`](super::frame::Frame): the main graph, or one call of a function. Every number is
/// the number of a node in the frame, if no comment says otherwise.
#[derive(Default)]
pub(super) struct Switches {
    pub loops: Vec<Loop>,
    /// For each `Enter` node: the index of its loop in `loops`.
    pub loop_of_enter: HashMap<usize, usize>,
    /// The inputs that lead back in a loop: the node that reads, and the number of the node's input.
    pub back: BTreeSet<(usize, usize)>,
    /// For a node: the nodes that must come before this node, in addition to the nodes that it reads.
    pub predecessors: HashMap<usize, Vec<usize>>,
    pub roles: HashMap<usize, Role>,
    /// The number of sides of each predicate.
    pub side_counts: HashMap<Predicate, usize>,
    pub places: HashMap<usize, Place>,
}

impl Switches {
    /// Returns whether the search for an order must not follow an input.
    pub(super) fn leads_back(&self, node: usize, input: usize) -> bool {
        self.back.contains(&(node, input))
    }

    /// Returns the nodes that must come before `node`, in addition to the nodes that `node` reads.
    pub(super) fn predecessors(&self, node: usize) -> &[usize] {
        self.predecessors.get(&node).map_or(&[], Vec::as_slice)
    }

    /// Returns whether the frame has no control flow of TensorFlow 1.
    pub(super) fn is_empty(&self) -> bool {
        self.roles.is_empty()
    }
}
