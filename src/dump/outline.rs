//! `Outline`: the scopes of a graph as a tree, with the values that enter and leave each scope.

use std::collections::BTreeSet;

use indexmap::{IndexMap, IndexSet};
use rustc_hash::{FxHashMap, FxHashSet};

use super::Snapshot;
use super::snapshot::{NodeKind, ValueRef};

/// Maximum number of nodes of a scope that is not divided by the names of its nodes.
const SMALL: usize = 40;

/// Maximum number of children of a scope. A scope with more children is divided into parts, and so is a part with more
/// children.
const LARGE: usize = 64;

/// The scopes of a graph.
pub(super) struct Outline {
    /// The root is first.
    pub scopes: Vec<ScopeView>,
    /// For each node: the index of its scope in `scopes`, or `None` for a constant that is shown in the boxes of the
    /// nodes that read it.
    pub scope_of: Vec<Option<usize>>,
    /// The values that nodes read.
    read: FxHashSet<ValueRef>,
}

/// A scope.
pub(super) struct ScopeView {
    /// The name, without the names of the scopes around it.
    pub name: String,
    /// The full name. The names of the scope's nodes begin with it.
    pub path: String,
    pub parent: Option<usize>,
    pub children: Vec<Child>,
    /// The number of nodes in the scope and in its inner scopes.
    pub nodes: usize,
    /// Whether inference refused a node of the scope.
    pub is_refused: bool,
    /// The values from outside that nodes of the scope read, except constants that are shown in the boxes of the nodes
    /// that read them.
    pub inputs: IndexSet<ValueRef>,
    /// The values of the scope that nodes outside read.
    pub outputs: IndexSet<ValueRef>,
    /// The width and height of the scope when it and all its inner scopes are open; zero before they are known.
    pub open_size: (f64, f64),
}

/// What a scope holds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Child {
    Node(usize),
    Scope(usize),
}

impl Outline {
    /// Divides a graph into scopes by the names of its nodes: `a/b/c` is the node `c` of the scope `b` of the scope
    /// `a`. In a small scope, only branches and loops are inner scopes.
    pub(super) fn of(snapshot: &Snapshot) -> Outline {
        Outline::with_limit(snapshot, SMALL)
    }

    /// Returns the outline whose root holds all nodes.
    pub(super) fn flat(snapshot: &Snapshot) -> Outline {
        Outline::with_limit(snapshot, usize::MAX)
    }

    fn with_limit(snapshot: &Snapshot, small: usize) -> Outline {
        let shown = shown_nodes(snapshot);
        let mut outline = Outline {
            scopes: Vec::new(),
            scope_of: vec![None; snapshot.nodes.len()],
            read: snapshot.nodes.iter().flat_map(|node| node.operands.iter().copied()).collect(),
        };
        outline.add_scope(String::new(), String::new(), None);
        let paths: Vec<Vec<&str>> = snapshot.nodes.iter().map(|node| names_of(&node.path)).collect();
        // The number of scopes around a node up to the branch or the loop body that contains it. The names of the owner
        // and of the region begin the name of the node.
        let region_depth =
            |node: usize| snapshot.nodes[node].region.map_or(0, |owner| paths[owner].len() + 2);
        let mut open: Vec<(usize, Vec<usize>, usize)> = vec![(0, shown, 0)];
        while let Some((scope, members, depth)) = open.pop() {
            outline.scopes[scope].nodes = members.len();
            outline.scopes[scope].is_refused =
                members.iter().any(|node| snapshot.nodes[*node].error.is_some());
            if small == usize::MAX {
                outline.scopes[scope].children = members.into_iter().map(Child::Node).collect();
                continue;
            }
            let is_small = members.len() <= small;
            // A node that is in no inner scope is a group of its own.
            let mut groups: IndexMap<Result<&str, usize>, Vec<usize>> = IndexMap::new();
            for node in members {
                let is_inner = !is_small || depth < region_depth(node);
                let name = paths[node].get(depth).copied().filter(|_| is_inner).ok_or(node);
                groups.entry(name).or_default().push(node);
            }
            for (key, group) in groups {
                let child = match (key, &group[..]) {
                    (Ok(name), [_, _, ..]) => {
                        let path = outline.joined(scope, name);
                        let inner = outline.add_scope(name.to_string(), path, Some(scope));
                        open.push((inner, group, depth + 1));
                        Child::Scope(inner)
                    }
                    (_, [node, ..]) => Child::Node(*node),
                    (_, []) => continue,
                };
                outline.scopes[scope].children.push(child);
            }
        }
        outline.shorten_paths();
        if small < usize::MAX {
            outline.divide_large(snapshot);
        }
        outline.assign_nodes();
        outline.find_values(snapshot);
        outline
    }

    fn add_scope(&mut self, name: String, path: String, parent: Option<usize>) -> usize {
        self.scopes.push(ScopeView {
            name,
            path,
            parent,
            children: Vec::new(),
            nodes: 0,
            is_refused: false,
            inputs: IndexSet::new(),
            outputs: IndexSet::new(),
            open_size: (0.0, 0.0),
        });
        self.scopes.len() - 1
    }

    fn joined(&self, scope: usize, name: &str) -> String {
        match self.scopes[scope].path.as_str() {
            "" => name.to_string(),
            path => format!("{path}/{name}"),
        }
    }

    /// If a scope holds only another scope, gives the children of the inner scope to the outer scope: `a` with only `b`
    /// becomes the scope `a/b`.
    fn shorten_paths(&mut self) {
        for scope in 0..self.scopes.len() {
            while let [Child::Scope(inner)] = self.scopes[scope].children[..] {
                let children = std::mem::take(&mut self.scopes[inner].children);
                for child in &children {
                    if let Child::Scope(child) = child {
                        self.scopes[*child].parent = Some(scope);
                    }
                }
                if scope > 0 {
                    let name = format!("{}/{}", self.scopes[scope].name, self.scopes[inner].name);
                    self.scopes[scope].name = name;
                }
                self.scopes[scope].path = self.scopes[inner].path.clone();
                self.scopes[scope].children = children;
            }
        }
    }

    /// Divides scopes with many children into parts of consecutive children. All levels have about the same number of
    /// parts, so that no level is long.
    fn divide_large(&mut self, snapshot: &Snapshot) {
        self.assign_nodes();
        let mut scope = 0;
        while scope < self.scopes.len() {
            if self.scopes[scope].children.len() > LARGE {
                let children = self.in_order(scope, snapshot);
                let levels = (children.len() as f64).log(LARGE as f64).ceil();
                let count = (children.len() as f64).powf(1.0 / levels).ceil() as usize;
                let size = children.len().div_ceil(count);
                let path = self.scopes[scope].path.clone();
                let mut parts = Vec::with_capacity(count);
                for (number, children) in children.chunks(size).enumerate() {
                    let name = format!("part {} of {count}", number + 1);
                    let part = self.add_scope(name, path.clone(), Some(scope));
                    for child in children {
                        match child {
                            Child::Scope(child) => self.scopes[*child].parent = Some(part),
                            Child::Node(_) => {}
                        }
                        let (nodes, is_refused) = match child {
                            Child::Scope(child) => {
                                (self.scopes[*child].nodes, self.scopes[*child].is_refused)
                            }
                            Child::Node(node) => (1, snapshot.nodes[*node].error.is_some()),
                        };
                        self.scopes[part].nodes += nodes;
                        self.scopes[part].is_refused |= is_refused;
                    }
                    self.scopes[part].children = children.to_vec();
                    parts.push(Child::Scope(part));
                }
                self.scopes[scope].children = parts;
                self.assign_nodes();
            }
            scope += 1;
        }
    }

    fn assign_nodes(&mut self) {
        for (number, scope) in self.scopes.iter().enumerate() {
            for child in &scope.children {
                if let Child::Node(node) = child {
                    self.scope_of[*node] = Some(number);
                }
            }
        }
    }

    /// Returns the scopes that a node belongs to, the innermost first.
    fn scopes_around(&self, node: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(self.scope_of[node], |scope| self.scopes[*scope].parent)
    }

    /// Returns the child of a scope that is or holds a node; `None` for a node outside the scope.
    pub(super) fn child_with(&self, scope: usize, node: usize) -> Option<Child> {
        let mut inner = Child::Node(node);
        for around in self.scopes_around(node) {
            if around == scope {
                return Some(inner);
            }
            inner = Child::Scope(around);
        }
        None
    }

    /// Returns whether a node reads the value.
    pub(super) fn is_read(&self, value: &ValueRef) -> bool {
        self.read.contains(value)
    }

    /// Finds the values that enter and leave each scope.
    fn find_values(&mut self, snapshot: &Snapshot) {
        for (reader, node) in snapshot.nodes.iter().enumerate() {
            for value in &node.operands {
                if self.scope_of[value.node].is_none() || self.scope_of[value.node] == self.scope_of[reader] {
                    continue;
                }
                let sources: Vec<usize> = self.scopes_around(value.node).collect();
                let readers: Vec<usize> = self.scopes_around(reader).collect();
                for scope in readers.iter().filter(|scope| !sources.contains(scope)) {
                    self.scopes[*scope].inputs.insert(*value);
                }
                for scope in sources.iter().filter(|scope| !readers.contains(scope)) {
                    self.scopes[*scope].outputs.insert(*value);
                }
            }
        }
    }

    /// Returns the children of a scope in an order in which each child comes after the children that it reads. Among
    /// children that read each other, the child that is first in [`ScopeView::children`] comes first.
    pub(super) fn in_order(&self, scope: usize, snapshot: &Snapshot) -> Vec<Child> {
        let children = &self.scopes[scope].children;
        let place: FxHashMap<Child, usize> =
            children.iter().enumerate().map(|(place, child)| (*child, place)).collect();
        let mut readers: Vec<IndexSet<usize>> = vec![IndexSet::new(); children.len()];
        let mut waits = vec![0usize; children.len()];
        let mut stack: Vec<(usize, Child)> = children.iter().copied().enumerate().collect();
        while let Some((reader, child)) = stack.pop() {
            match child {
                Child::Scope(inner) => {
                    stack.extend(self.scopes[inner].children.iter().map(|child| (reader, *child)));
                }
                Child::Node(node) => {
                    for value in &snapshot.nodes[node].operands {
                        let source = self.child_with(scope, value.node).map(|source| place[&source]);
                        if let Some(source) = source.filter(|source| *source != reader)
                            && readers[source].insert(reader)
                        {
                            waits[reader] += 1;
                        }
                    }
                }
            }
        }
        let mut ready: BTreeSet<usize> = (0..children.len()).filter(|child| waits[*child] == 0).collect();
        let mut waiting: BTreeSet<usize> = (0..children.len()).filter(|child| waits[*child] > 0).collect();
        let mut order = Vec::with_capacity(children.len());
        while let Some(next) = ready.pop_first().or_else(|| waiting.pop_first()) {
            order.push(children[next]);
            for &reader in &readers[next] {
                waits[reader] = waits[reader].saturating_sub(1);
                if waits[reader] == 0 && waiting.remove(&reader) {
                    ready.insert(reader);
                }
            }
        }
        order
    }
}

/// Returns the names in a path, the outermost first.
fn names_of(path: &str) -> Vec<&str> {
    if path.is_empty() { Vec::new() } else { path.split('/').collect() }
}

/// Returns the nodes that have boxes: all nodes but the constants that a node reads. The boxes of the readers show such
/// a constant. A constant that is a result, or that was refused, has a box.
fn shown_nodes(snapshot: &Snapshot) -> Vec<usize> {
    let mut is_read = vec![false; snapshot.nodes.len()];
    for value in snapshot.nodes.iter().flat_map(|node| &node.operands) {
        is_read[value.node] = true;
    }
    let is_folded = |number: usize| {
        let node = &snapshot.nodes[number];
        let is_output = node.outputs.iter().any(|value| value.result.is_some());
        node.kind == NodeKind::Constant && is_read[number] && !is_output && node.error.is_none()
    };
    (0..snapshot.nodes.len()).filter(|number| !is_folded(*number)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DType, Graph, Result, shape};

    /// Returns a chain of nodes with the given names. Each node adds a constant.
    fn chain(names: impl Iterator<Item = String>) -> Result<Snapshot> {
        let g = Graph::new();
        let mut x = g.input("x", DType::F32, shape!["n"])?;
        for name in names {
            x = (x + 1.0).ok()?.named(&name);
        }
        Ok(g.snapshot())
    }

    /// Checks that each scope has few children, and that each node but the constants is in one scope.
    fn check(outline: &Outline, snapshot: &Snapshot) {
        let mut seen = vec![0; snapshot.nodes.len()];
        for scope in &outline.scopes {
            assert!(scope.children.len() <= LARGE, "{}: {}", scope.path, scope.children.len());
            for child in &scope.children {
                if let Child::Node(node) = child {
                    seen[*node] += 1;
                }
            }
        }
        for (node, count) in snapshot.nodes.iter().zip(seen) {
            assert_eq!(count, usize::from(node.kind != NodeKind::Constant), "{}", node.label);
        }
    }

    #[test]
    fn names_give_scopes() -> Result<()> {
        let snapshot = chain((0..200).map(|number| format!("model/net/layer_{}/add_{number}", number / 25)))?;
        let outline = Outline::of(&snapshot);
        check(&outline, &snapshot);
        let [Child::Node(_), Child::Scope(model)] = outline.scopes[0].children[..] else { panic!() };
        let model = &outline.scopes[model];
        assert_eq!((model.name.as_str(), model.path.as_str()), ("model/net", "model/net"));
        assert_eq!((model.children.len(), model.nodes), (8, 200));
        for child in &model.children {
            let Child::Scope(layer) = child else { panic!() };
            let layer = &outline.scopes[*layer];
            assert_eq!((layer.nodes, layer.inputs.len()), (25, 1));
        }
        Ok(())
    }

    #[test]
    fn branches_and_loops_of_small_graphs_are_scopes() -> Result<()> {
        let g = Graph::new();
        let x = g.input("x", DType::F32, shape!["n"])?;
        let flag = g.input("flag", DType::Bool, shape![])?;
        let _ = g.while_loop(
            &[x],
            |state| state[0].reduce_sum(0)?.less(9.0),
            |state| g.cond(flag, || state[0].tanh(), || state[0].exp()),
        )?;
        let snapshot = g.snapshot();
        let outline = Outline::of(&snapshot);
        check(&outline, &snapshot);
        let paths: Vec<&str> = outline.scopes.iter().map(|scope| scope.path.as_str()).collect();
        let inner = ["", "/condition", "/body", "/body/cond", "/body/cond/else", "/body/cond/then"];
        let expected: Vec<String> = inner.iter().map(|path| format!("while_loop{path}")).collect();
        assert_eq!(paths[1..], expected);
        assert_eq!(Outline::flat(&snapshot).scopes.len(), 1);
        Ok(())
    }

    #[test]
    fn large_graphs_without_names_are_divided() -> Result<()> {
        let snapshot = chain((0..5000).map(|number| format!("add_{number}")))?;
        let outline = Outline::of(&snapshot);
        check(&outline, &snapshot);
        assert!(outline.scopes[0].children.len() <= 20);
        Ok(())
    }

    #[test]
    fn scopes_may_read_each_other() -> Result<()> {
        let snapshot = chain((0..100).map(|number| format!("{}/add_{number}", ["a", "b"][number % 2])))?;
        let outline = Outline::of(&snapshot);
        let children = outline.in_order(0, &snapshot);
        assert_eq!(children.len(), 3);
        for scope in 0..3 {
            let picture = snapshot.picture(&outline, scope);
            assert_eq!(picture.boxes.len(), picture.layout.corners.len());
        }
        Ok(())
    }
}
