//! Adding a node: a transaction that infers dtypes and shapes, or is refused and changes nothing.

use std::panic::Location;

use rustc_hash::FxHashSet;
use shapeflow_shape_fns::{Attrs, Dim, Guard, Mark, PartialElements, SymbolKind};
use smallvec::SmallVec;

use super::call::operand_info;
use super::{CallOrigin, DimNames, Extra, GraphData, Node, NodeIx, ValueIx};
use crate::error::{Error, Result};
use crate::eval::{Call, Inference};
use crate::op::{Body, OpRef, Operand, OperandMask};

/// The lengths of a graph's lists at one time. A refused call takes the graph back to these lengths.
pub(super) struct Checkpoint {
    pub(super) nodes: usize,
    pub(super) values: usize,
    inputs: usize,
    assumed: usize,
    poisons: usize,
    mark: Mark,
}

impl GraphData {
    pub(super) fn checkpoint(&mut self) -> Checkpoint {
        Checkpoint {
            nodes: self.nodes.len(),
            values: self.values.len(),
            inputs: self.inputs.len(),
            assumed: self.assumed.len(),
            poisons: self.poisons.len(),
            mark: self.table.begin(),
        }
    }

    /// Keeps all changes since the checkpoint.
    pub(super) fn commit(&mut self, since: Checkpoint) {
        self.table.commit(since.mark);
    }

    pub(super) fn rollback(&mut self, to: Checkpoint) {
        self.forget_symbols(&to);
        for node in to.nodes..self.nodes.len() {
            self.constants.remove(&NodeIx(node as u32));
        }
        let first_node = to.nodes as u32;
        self.refused.retain(|node, _| node.0 < first_node);
        self.handles.retain(|value| value.index() < to.values);
        self.parameter_sources.retain(|value, _| value.index() < to.values);
        for (name, _) in self.inputs.drain(to.inputs..) {
            self.input_names.remove(&name);
        }
        self.assumed.truncate(to.assumed);
        self.output_names.retain(|value, _| value.index() < to.values);
        self.nodes.truncate(to.nodes);
        self.values.truncate(to.values);
        self.partitions.forget_values_from(to.values);
        self.poisons.truncate(to.poisons);
        self.table.rollback_and_retire(to.mark);
    }

    /// Infers and adds one node. `given_operands` is the set of the declared operands that `operands` holds, by index;
    /// the call passes the other declared operands as attributes, or omits them. An error leaves the graph unchanged.
    pub(crate) fn add(
        &mut self,
        op: &OpRef,
        operands: SmallVec<[ValueIx; 2]>,
        given_operands: OperandMask,
        attrs: &Attrs,
        name: Option<String>,
        location: &'static Location<'static>,
    ) -> Result<impl Iterator<Item = ValueIx> + use<>> {
        let attrs = &*attrs.with_new_unknowns();
        let mut node = Node {
            op: op.clone(),
            operands,
            given_operands,
            first_output: ValueIx(0),
            outputs: 0,
            extra: None,
            location,
            scope: self.scope,
            added_within_call: self.call.is_some(),
            origin: CallOrigin::default(),
        };
        node.origin = self.call_origin(&node.operands, attrs, location);
        let attempt = self.attempt(&node, attrs);
        match attempt.inferred {
            Ok(Inference { dtypes, result }) => {
                self.table.commit(attempt.mark);
                let assumed = result.assumed_shapes();
                let has_extra = !attrs.is_empty() || result.derived().len() > 0 || !assumed.is_empty();
                if has_extra || name.is_some() {
                    let derived = result.derived().map(|(name, dims)| (name, dims.to_vec())).collect();
                    let assumed = assumed.to_vec();
                    node.extra = Some(Box::new(Extra { attrs: attrs.clone(), derived, assumed, name }));
                }
                let count = dtypes.len() as u32;
                let outputs = dtypes
                    .into_iter()
                    .zip(result.into_outputs())
                    .map(|(dtype, (shape, elements))| (dtype, shape, elements.map(Box::new)));
                let first = self.push(node, outputs);
                Ok((first.0..first.0 + count).map(ValueIx))
            }
            Err(error) => {
                self.undo(attempt.mark, attempt.symbolized);
                Err(self.with_dim_names(error, &node, attrs))
            }
        }
    }

    /// Checks a call by the stricter shape function that some ops have for calls of the builder. This function refuses
    /// some calls that are accepted in imported models. Leaves the graph unchanged.
    ///
    /// # Errors
    /// The function refuses the call.
    pub(super) fn check_call(
        &mut self,
        op: &OpRef,
        operands: &[ValueIx],
        given_operands: OperandMask,
        attrs: &Attrs,
    ) -> Result<()> {
        let Some(shape_fn) = op.stricter_shape_function() else { return Ok(()) };
        let mark = self.table.begin();
        let operands = operands.iter().map(|value| operand_info(&self.values[value.index()]));
        let call = Call { op, given_operands, attrs, operands: operands.collect() };
        let inferred = call.infer_by(shape_fn, &mut self.table);
        self.table.rollback(mark);
        inferred.map(drop)
    }

    /// Infers the results of a node, in a transaction that stays open.
    fn attempt(&mut self, node: &Node, attrs: &Attrs) -> Attempt {
        let attempt = self.attempt_given(node, attrs, None);
        if !self.table.has_used_other_bounds() {
            return attempt;
        }
        // The guards of unrelated nodes must not simplify the shapes: see `DimTable::rely_only_on`.
        self.undo(attempt.mark, attempt.symbolized);
        let guards = self.guards_of_ancestors(node);
        self.attempt_given(node, attrs, Some(&guards))
    }

    /// Infers the results of a node, in a transaction that stays open. The guards of all nodes may simplify the shapes;
    /// if `guards` are given, only these and the guards of the node itself.
    fn attempt_given(&mut self, node: &Node, attrs: &Attrs, guards: Option<&[Guard]>) -> Attempt {
        let mark = self.table.begin();
        self.table.set_origin(self.nodes.len() as u32);
        if let Some(guards) = guards {
            self.table.rely_only_on(guards);
        }
        let symbolized = self.know_parameters(node);
        // A strict graph refuses a call that ties two names: makes their dimensions equal.
        let ties_before = self.tie_count();
        let inferred = self.infer(node, attrs).and_then(|inferred| {
            if self.strict {
                self.refuse_ties(ties_before, &node.operands).map(|()| inferred)
            } else {
                Ok(inferred)
            }
        });
        Attempt { mark, symbolized, inferred }
    }

    /// Returns the guards of the nodes that a node needs. The walk ends after [`MAX_ANCESTORS`] nodes, because a deep
    /// graph may ask for many nodes; fewer guards give shapes that are less simple.
    fn guards_of_ancestors(&self, node: &Node) -> Vec<Guard> {
        let mut seen: FxHashSet<u32> = FxHashSet::default();
        let mut pending: Vec<ValueIx> = node.operands.to_vec();
        while let Some(value) = pending.pop().filter(|_| seen.len() < MAX_ANCESTORS) {
            let maker = self.values[value.index()].node;
            if seen.insert(maker.0) {
                pending.extend(&self.nodes[maker.index()].operands);
            }
        }
        let records = self.table.guards().iter().filter(|record| seen.contains(&record.origin));
        records.map(|record| record.guard.clone()).collect()
    }

    /// Forgets the elements of values from before the checkpoint, if these elements mention symbols that were made
    /// after the checkpoint.
    fn forget_symbols(&mut self, checkpoint: &Checkpoint) {
        let first_node = checkpoint.nodes as u32;
        let read: FxHashSet<ValueIx> = self.nodes[checkpoint.nodes..]
            .iter()
            .flat_map(|node| node.operands.iter().copied())
            .filter(|value| value.index() < checkpoint.values)
            .collect();
        for value in read {
            let Some(elements) = &self.values[value.index()].elements else { continue };
            let mut is_inner = false;
            for element in elements.elements() {
                element.symbols(&mut |symbol| {
                    is_inner |= self.table.maker(symbol).is_some_and(|maker| maker >= first_node);
                });
            }
            if is_inner {
                self.values[value.index()].elements = None;
            }
        }
    }

    fn undo(&mut self, mark: Mark, symbolized: SmallVec<[ValueIx; 2]>) {
        self.table.rollback(mark);
        for value in symbolized {
            self.values[value.index()].elements = None;
        }
    }

    /// Returns the error of a refused call with the names of unknown dimensions, which inference does not know. The
    /// call is inferred again while the names are in force.
    fn with_dim_names(&mut self, error: Error, node: &Node, attrs: &Attrs) -> Error {
        let names = if error.message().contains('?') { self.names_for_error() } else { None };
        let Some(names) = names else { return error };
        let again = names.scope(|| self.attempt(node, attrs));
        self.undo(again.mark, again.symbolized);
        again.inferred.err().unwrap_or(error)
    }

    /// Returns the names of unknown dimensions for the error of a refused call. Naming visits the whole graph, so a
    /// graph with many refused calls names dimensions only in the errors of the first refused calls.
    pub(super) fn names_for_error(&self) -> Option<DimNames> {
        (self.poisons.len() + self.refused.len() < NAMED_ERRORS).then(|| self.dim_names())
    }

    /// Makes the elements of a node's parameters known where possible. Elements that depend only on constants get their
    /// values; other elements of size operands get new symbols, which a run binds. Returns the values with new symbols.
    fn know_parameters(&mut self, node: &Node) -> SmallVec<[ValueIx; 2]> {
        let mut symbolized = SmallVec::new();
        if matches!(node.op.body, Body::ShapeOnly) {
            // Nothing says which operands of such an op are parameters.
            node.operands.iter().for_each(|value| self.fold_elements(*value));
            return symbolized;
        }
        for (operand, value) in node.parameters() {
            self.fold_elements(value);
            let info = &self.values[value.index()];
            if !matches!(operand, Operand::Size(_)) || info.elements.is_some() || !info.dtype.is_integer() {
                continue;
            }
            let Some(sizes) = self.table.resolve_shape(&info.shape).as_known() else { continue };
            let count = sizes.iter().try_fold(1usize, |count, &size| count.checked_mul(size));
            let Some(count) = count.filter(|count| *count <= MAX_SYMBOLIC_ELEMENTS) else { continue };
            let elements: Vec<Dim> = (0..count).map(|_| self.table.fresh(SymbolKind::Integer)).collect();
            let Ok(elements) = PartialElements::with_sizes(&sizes, elements) else { continue };
            self.values[value.index()].elements = Some(Box::new(elements));
            symbolized.push(value);
        }
        symbolized
    }

    /// Records the elements of a value that depends only on constants.
    fn fold_elements(&mut self, value: ValueIx) {
        if self.values[value.index()].elements.is_none() {
            self.values[value.index()].elements = self.constant_elements(value);
        }
    }

    fn infer(&mut self, node: &Node, attrs: &Attrs) -> Result<Inference> {
        let operands = node.operands.iter().map(|value| operand_info(&self.values[value.index()]));
        let call =
            Call { op: &node.op, given_operands: node.given_operands, attrs, operands: operands.collect() };
        call.infer(&mut self.table)
    }
}

/// An open transaction that infers the results of a node.
struct Attempt {
    mark: Mark,
    /// The values whose elements got symbols.
    symbolized: SmallVec<[ValueIx; 2]>,
    inferred: Result<Inference>,
}

/// The maximum number of nodes whose guards may simplify the shapes of a node.
const MAX_ANCESTORS: usize = 4096;

/// The number of refused calls of a graph whose errors name unknown dimensions.
const NAMED_ERRORS: usize = 100;

/// The maximum number of elements of a size operand that gets symbols. The elements of a larger operand stay unknown.
const MAX_SYMBOLIC_ELEMENTS: usize = 64;
