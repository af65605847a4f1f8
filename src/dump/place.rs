//! `Places`: where each node stands in the tree of scopes.

use rustc_hash::FxHashMap;

use crate::graph::{GraphData, NodeIx};

/// The full names of the scopes of a graph. A call of a composite op is a scope with the name that the program gave its
/// result. Without such a name, the scope has the name of the op, and a number from the second call on. If two calls
/// shared a scope, the scope would read nodes that read the scope.
pub(super) struct Places {
    scopes: Vec<ScopePlace>,
}

#[derive(Clone, Default)]
struct ScopePlace {
    /// The full name of the scope.
    path: String,
    /// The name of the scope in labels of nodes: the full name without numbers of calls.
    label: String,
    /// The name that the program gave the call's result.
    result: Option<String>,
}

/// Where a node stands.
pub(super) struct Place {
    /// The label of the scope, then the name of the node. The result of a call has the label of the scope only.
    pub label: String,
    /// The full name of the innermost scope. The part of the node's own name before the last `/` counts as a scope.
    pub path: String,
}

impl Places {
    pub(super) fn of(data: &GraphData) -> Places {
        let mut scopes = vec![ScopePlace::default(); data.scopes.len()];
        for node in &data.nodes {
            let Some(name) = node.own_name() else { continue };
            let mut number = node.scope as usize;
            while let Some(scope) = data.scopes.get(number).filter(|scope| number > 0 && scope.is_call) {
                scopes[number].result = Some(name.to_string());
                number = scope.parent as usize;
            }
        }
        let mut calls: FxHashMap<String, usize> = FxHashMap::default();
        for (number, scope) in data.scopes.iter().enumerate().skip(1) {
            let outer = scopes[scope.parent as usize].clone();
            let made = &mut scopes[number];
            if scope.is_call && made.result.is_some() && made.result == outer.result {
                // The outer call returns the result of this call.
                (made.path, made.label) = (outer.path, outer.label);
                continue;
            }
            let name = made.result.as_deref().filter(|_| scope.is_call).unwrap_or(&scope.name);
            made.path = joined(&outer.path, name);
            made.label = joined(&outer.label, name);
            if scope.is_call && made.result.is_none() {
                let count = calls.entry(made.path.clone()).or_default();
                *count += 1;
                if *count > 1 {
                    made.path.push_str(&format!(" {count}"));
                }
            }
        }
        Places { scopes }
    }

    pub(super) fn place(&self, data: &GraphData, index: NodeIx) -> Place {
        let node = &data.nodes[index.index()];
        let scope = self.scopes.get(node.scope as usize).cloned().unwrap_or_default();
        let name = node.own_name();
        if name.is_some() && name == scope.result.as_deref() {
            return Place { label: scope.label, path: scope.path };
        }
        let name = name.unwrap_or(node.op.name());
        let path = match name.rsplit_once('/') {
            Some((inner, _)) => joined(&scope.path, inner),
            None => scope.path,
        };
        Place { label: joined(&scope.label, name), path }
    }
}

/// Joins two names that may be empty.
pub(super) fn joined(scope: &str, name: &str) -> String {
    let slash = if scope.is_empty() || name.is_empty() { "" } else { "/" };
    format!("{scope}{slash}{name}")
}

#[cfg(test)]
mod tests {
    use crate::{DType, Graph, Result, einsum, shape};

    /// Returns the label and the path of each node that is no constant.
    fn places(g: &Graph) -> Vec<(String, String)> {
        let nodes = g.snapshot().nodes.into_iter();
        nodes.filter(|node| node.content.is_none()).map(|node| (node.label, node.path)).collect()
    }

    #[test]
    fn a_call_is_a_scope_with_the_name_of_its_result() -> Result<()> {
        let g = Graph::new();
        let x = g.input("x", DType::F32, shape!["n", "m", 4])?;
        let w = g.input("w", DType::F32, shape![4, 2, 2])?;
        let _ = einsum("abc,cde->abde", &[x, w])?.named("model/layer/product");
        let all = places(&g);
        let inner: Vec<_> = all.iter().filter(|(_, path)| path == "model/layer/product").collect();
        assert!(inner.len() > 1 && inner.len() == all.len() - 2, "{all:?}");
        assert_eq!(inner.iter().filter(|(label, _)| label == "model/layer/product").count(), 1, "{all:?}");
        assert!(inner.iter().all(|(label, _)| label.starts_with("model/layer/product")), "{all:?}");
        Ok(())
    }

    #[test]
    fn calls_without_names_have_a_scope_each() -> Result<()> {
        let g = Graph::new();
        let x = g.input("x", DType::F32, shape!["n", "m", 4])?;
        let w = g.input("w", DType::F32, shape![4, 2, 2])?;
        for _ in 0..2 {
            let _ = einsum("abc,cde->abde", &[x, w])?;
        }
        let all = places(&g);
        for path in ["einsum", "einsum 2"] {
            let inner: Vec<_> = all.iter().filter(|place| place.1 == path).collect();
            assert!(inner.len() > 1 && inner.iter().all(|place| place.0.starts_with("einsum/")), "{all:?}");
        }
        Ok(())
    }
}
