//! `Switches`: the control flow of TensorFlow 1: loops of `Enter`, `Merge`, `Switch`, `NextIteration` and `Exit` nodes, and
//! branches between `Switch` and `Merge` nodes.

use std::collections::{BTreeSet, HashMap};

/// A predicate: the node that computes it, and the number of the output.
pub(super) type Predicate = (usize, usize);

/// A state value of a loop.
#[derive(Clone, Copy, Debug)]
pub(super) struct LoopState {
    pub merge: usize,
    pub enter: usize,
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
    /// The innermost loop.
    pub in_loop: Option<usize>,
    /// The sides of predicates on which the node runs.
    pub sides: BTreeSet<(Predicate, usize)>,
}

/// The role of a node in control flow.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Role {
    Plain,
    /// A node that passes its first input on.
    Pass,
    Switch,
    /// A `Merge` of two sides of this predicate.
    Merge(Predicate),
    /// A node of this loop. The import of the loop gives the node its value.
    State,
    Exit(usize),
}

/// The control flow of a frame.
#[derive(Default)]
pub(super) struct Switches {
    pub loops: Vec<Loop>,
    pub loop_of_enter: HashMap<usize, usize>,
    /// The inputs that lead back in a loop, by node and number.
    pub back: BTreeSet<(usize, usize)>,
    /// Nodes that must come before a node, in addition to the nodes that it reads.
    pub before: HashMap<usize, Vec<usize>>,
    pub roles: HashMap<usize, Role>,
    pub places: HashMap<usize, Place>,
}

impl Switches {
    /// Returns whether the search for an order must not follow an input.
    pub(super) fn leads_back(&self, node: usize, input: usize) -> bool {
        self.back.contains(&(node, input))
    }

    /// Returns the nodes that must come before a node, in addition to the nodes that it reads.
    pub(super) fn before(&self, node: usize) -> &[usize] {
        self.before.get(&node).map_or(&[], Vec::as_slice)
    }

    /// Returns whether the frame has no control flow of TensorFlow 1.
    pub(super) fn is_empty(&self) -> bool {
        self.roles.is_empty()
    }
}
