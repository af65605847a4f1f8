//! [`LateKnowledge`]: sizes and elements of values that became known after some reader of the value was inferred.
//!
//! Inference visits the nodes once, in their order. In `s = x.squeeze(); y = [1, 2] + x`, the sum makes the size of `x`
//! known, after the squeeze was inferred without it. So the graph is built a second time, and each value then starts
//! with what is known of it at the end of the first time.

use rustc_hash::FxHashMap;
use shapeflow_shape_fns::{Dim, PartialElements, SymbolKind};

use super::resolve::lacking;
use crate::error::Result;
use crate::graph::{GraphData, NodeIx, ValueIx};

/// The nodes of a new graph whose inference lacked knowledge, each with the amount that it lacked (see [`lacking`]).
#[derive(Default)]
pub(super) struct Gaps(Vec<(NodeIx, (usize, usize))>);

impl Gaps {
    /// Records a node that was just inferred, if its inference lacked knowledge.
    pub(super) fn note(&mut self, graph: &GraphData, node: NodeIx) {
        let lacks = lacking(graph, &graph.nodes[node.index()]);
        if lacks != (0, 0) {
            self.0.push((node, lacks));
        }
    }

    /// Returns the amount of knowledge that the inferences lacked.
    pub(super) fn total(&self) -> usize {
        self.0.iter().map(|(_, (unknown, without_size))| unknown + without_size).sum()
    }

    /// Returns whether the graph now knows something that an inference lacked.
    pub(super) fn are_narrowed(&self, graph: &GraphData) -> bool {
        self.0.iter().any(|(node, then)| {
            let now = lacking(graph, &graph.nodes[node.index()]);
            now.0 < then.0 || now.1 < then.1
        })
    }
}

/// What a finished graph knows in numbers, by value of the old graph.
#[derive(Default)]
pub(super) struct LateKnowledge {
    sizes: FxHashMap<ValueIx, Vec<Option<i64>>>,
    elements: FxHashMap<ValueIx, PartialElements>,
}

impl LateKnowledge {
    /// Collects what `graph` knows. `values` gives values of the old graph with their values in `graph`.
    pub(super) fn of(graph: &GraphData, values: impl Iterator<Item = (ValueIx, ValueIx)>) -> LateKnowledge {
        let mut found = LateKnowledge::default();
        for (old, new) in values {
            let info = &graph.values[new.index()];
            let resolve = |dim: &Dim| graph.table.resolve(dim).as_known();
            let sizes: Vec<Option<i64>> = info.shape.dims().unwrap_or_default().iter().map(resolve).collect();
            if sizes.iter().any(Option::is_some) {
                found.sizes.insert(old, sizes);
            }
            if let Some(elements) = &info.elements {
                let elements = graph.table.resolve_elements(elements);
                if elements.elements().iter().any(Dim::is_known) {
                    found.elements.insert(old, elements);
                }
            }
        }
        found
    }

    /// Equates the sizes and elements of `new`, a value of `graph`, with what is known late of `old`. A run checks
    /// them, because the definition of a symbol also checks the number that replaces the symbol.
    ///
    /// # Errors
    /// `graph` contradicts what is known.
    pub(super) fn recall(&self, graph: &mut GraphData, old: ValueIx, new: ValueIx) -> Result<()> {
        let table = &mut graph.table;
        let info = &mut graph.values[new.index()];
        // The nodes that require these equalities come later. They have no numbers yet.
        table.set_origin(u32::MAX);
        if let (Some(sizes), Some(dims)) = (self.sizes.get(&old), info.shape.dims()) {
            for (dim, size) in dims.iter().zip(sizes) {
                if let Some(size) = size {
                    table.merge(dim, &Dim::known(*size))?;
                }
            }
        }
        let Some(late) = self.elements.get(&old) else { return Ok(()) };
        if info.elements.is_none() {
            let shape = table.resolve_shape(&info.shape);
            if shape.as_known().is_none_or(|sizes| &sizes[..] != late.sizes()) {
                return Ok(());
            }
            table.set_origin(info.node.0);
            let symbols: Vec<Dim> = (0..late.len()).map(|_| table.fresh(SymbolKind::Integer)).collect();
            info.elements = Some(Box::new(PartialElements::with_sizes(late.sizes(), symbols)?));
            table.set_origin(u32::MAX);
        }
        let own = info.elements.iter().flat_map(|elements| elements.elements());
        for (element, known) in own.zip(late.elements()).filter(|(_, known)| known.is_known()) {
            table.merge(element, known)?;
        }
        Ok(())
    }
}
