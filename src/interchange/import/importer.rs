//! `Importer`: the state of one import. Every step of the import is a method of `Importer`.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::panic::Location;
use std::rc::Rc;

use indexmap::IndexSet;
use shapeflow_shape_fns::{Attr, DType};

use super::built::{Checks, Condition, ImportedValue, union};
use super::definitions::OpDefinitions;
use super::frame::Functions;
use super::list_items::ListItems;
use super::shared_function::SharedFunction;
use super::sharing::Sharing;
use super::state::{InitialState, TableContent, Tables};
use super::written::State;
use crate::error::Result;
use crate::graph::{Graph, Value, ValueId};
use crate::interchange::imported::BuiltNode;
use crate::interchange::limits::Budget;
use crate::interchange::model::Model;
use crate::interchange::options::ImportOptions;
use crate::interchange::proto::{FunctionDef, GraphDef};
use crate::interchange::saved_state::SavedState;
use crate::ops::array::checked;
use crate::tensor::Tensor;

/// The state of one import.
pub(super) struct Importer<'a, 'g> {
    pub source: &'a Model,
    pub model: &'a GraphDef,
    pub saved: &'a SavedState,
    pub options: &'a ImportOptions,
    pub graph: &'g Graph,
    pub functions: Functions<'a>,
    /// Which functions several calls share.
    pub sharing: Sharing<'a>,
    /// The regions of shared functions, by the names of the functions.
    pub shared_functions: HashMap<&'a str, SharedFunction<'a>>,
    /// The number of nodes that were inlined because their functions could not be shared.
    pub unshared_nodes: usize,
    pub definitions: OpDefinitions,
    pub budget: Budget,
    /// The conditions of all assertions; [`Checks`] holds indices into this list.
    pub conditions: Vec<Condition<'g>>,
    /// The dtypes of outputs of unknown ops, as the nodes that read the outputs declare them. The key is the node and
    /// the number of the output in the main graph. The value is `None` if the readers declare no dtype.
    pub reader_dtypes: HashMap<(usize, usize), Option<DType>>,
    /// What is known about the items of tensor lists.
    pub list_items: HashMap<ValueId, ListItems>,
    /// The loops whose bodies and conditions the import builds now, one inside the other: for each loop, the number of
    /// the iteration; `None` if the loop has no counter.
    pub open_loops: Vec<Option<Value<'g>>>,
    /// The names of the functions whose calls the import builds now, one inside the other.
    pub open_functions: Vec<&'a str>,
    /// The unknown ops of the nodes that the import has built, each with the names of its nodes.
    pub unknown_ops: BTreeMap<&'a str, IndexSet<String>>,
    /// Whether a placeholder that has a default becomes an input, as a placeholder without a default does.
    pub ignores_defaults: bool,
    /// All nodes that the import has built so far, also inside functions.
    pub built_nodes: Vec<BuiltNode>,
    /// The names of the nodes in functions that the caller fetches.
    pub fetched_inside: Vec<String>,
    /// The names of graph inputs, by tensor, if they differ from the names of the tensors.
    pub input_names: HashMap<&'a str, &'a str>,
    /// The constants of variables, by the names of the variables.
    pub constants: HashMap<Rc<str>, Value<'g>>,
    /// The variables whose constants were made more than once, because the first constant belongs to a region and
    /// nodes outside the region cannot read it.
    pub remade_constants: HashSet<Rc<str>>,
    /// The values that are used after a write to a variable, each with the position of the [`Condition::Written`].
    pub awaiting_writes: Vec<(Value<'g>, usize)>,
    /// The values of the variables that nodes write.
    pub state: State<'g>,
    /// The lookup tables that the nodes imported so far read.
    pub tables: Tables,
    /// The content of the tables that functions make and fill.
    pub filled_in_functions: HashMap<Rc<str>, TableContent>,
    /// The values of resources before any run. `None` until a node reads a resource.
    pub initial_state: Option<Rc<InitialState>>,
    /// The values that the nodes have written to resources so far, if this import records them.
    pub recording: Option<InitialState>,
    /// The location of every imported node. The location is a line of this crate, because no line of the user's program
    /// makes the node; messages name the node instead.
    pub location: &'static Location<'static>,
}

impl<'a, 'g> Importer<'a, 'g> {
    pub(super) fn new(source: &'a Model, options: &'a ImportOptions, graph: &'g Graph) -> Importer<'a, 'g> {
        let model: &'a GraphDef = &source.graph;
        let functions = model.library.iter().flat_map(|library| &library.function);
        let functions: HashMap<&str, &FunctionDef> = functions
            .filter_map(|function| Some((function.signature.as_ref()?.name.as_str(), function)))
            .collect();
        let functions: Functions<'a> = Rc::new(functions);
        Importer {
            sharing: Sharing::of(model, &functions),
            shared_functions: HashMap::new(),
            unshared_nodes: 0,
            source,
            model,
            saved: &source.saved,
            options,
            graph,
            functions,
            definitions: OpDefinitions::default(),
            budget: Budget::new(&options.limits),
            conditions: Vec::new(),
            reader_dtypes: HashMap::new(),
            list_items: HashMap::new(),
            open_loops: Vec::new(),
            open_functions: Vec::new(),
            unknown_ops: BTreeMap::new(),
            ignores_defaults: false,
            built_nodes: Vec::new(),
            fetched_inside: Vec::new(),
            input_names: HashMap::new(),
            constants: HashMap::new(),
            remade_constants: HashSet::new(),
            awaiting_writes: Vec::new(),
            state: State::default(),
            tables: Tables::new(),
            filled_in_functions: HashMap::new(),
            initial_state: None,
            recording: None,
            location: Location::caller(),
        }
    }

    /// Returns `imported` with its value guarded by `checks`. A condition that already guards the value is not added
    /// again.
    pub(super) fn checked(
        &mut self,
        imported: ImportedValue<'g>,
        checks: &Checks,
    ) -> Result<ImportedValue<'g>> {
        let Some(wanted) = checks else { return Ok(imported) };
        let missing: Vec<usize> = match &imported.checks {
            Some(present) => wanted.difference(present).copied().collect(),
            None => wanted.iter().copied().collect(),
        };
        if missing.is_empty() {
            return Ok(imported);
        }
        let mut value = imported.value;
        let mut computed: Vec<Value<'g>> = Vec::new();
        for number in missing {
            match self.conditions.get(number) {
                Some(Condition::Holds { value: condition, message, data, texts_after }) => {
                    let mut call = self.graph.op(&checked::DEF).data(value).data(*condition);
                    call = call.data_all(data).attr("message", message.clone());
                    if !texts_after.is_empty() {
                        let texts = texts_after.iter().map(|text| text.as_str().into()).collect();
                        call = call.attr("after", Attr::Strs(texts));
                    }
                    value = call.finish_at(self.location)?;
                }
                Some(Condition::Computed(values)) => computed.extend(values),
                Some(Condition::Written { .. }) => self.awaiting_writes.push((imported.value, number)),
                None => {}
            }
        }
        if !computed.is_empty() {
            // A run computes the operands of the op, whatever the condition is.
            let always = self.graph.constant_at(Tensor::scalar(true), self.location);
            let call = self.graph.op(&checked::DEF).data(value).data(always).data_all(&computed);
            value = call.finish_at(self.location)?;
        }
        // A guarded list has the same items.
        if let Some(items) = self.list_items.get(&imported.value.id()).cloned() {
            self.list_items.insert(value.id(), items);
        }
        let may_fail = imported.may_fail || value.id() != imported.value.id();
        Ok(ImportedValue { value, checks: union(&imported.checks, checks), may_fail, ..imported })
    }

    /// Returns `imported` guarded by `checks`. If a run need not compute the value, the conditions wait for the nodes
    /// that read it.
    pub(super) fn guarded(
        &mut self,
        imported: ImportedValue<'g>,
        checks: &Checks,
    ) -> Result<ImportedValue<'g>> {
        if !self.is_inferred(imported.value) {
            return self.checked(imported, checks);
        }
        Ok(ImportedValue { pending: union(&imported.pending, checks), ..imported })
    }

    /// Returns whether a run need not compute the value: it is a constant, or inference knows its elements.
    pub(super) fn is_inferred(&self, value: Value<'g>) -> bool {
        let data = self.graph.read();
        value.index().is_ok_and(|value| {
            let info = &data.values[value.index()];
            info.elements.is_some() || data.constants.contains_key(&info.node)
        })
    }

    /// Returns `imported` guarded by its pending conditions, for a node that reads it.
    pub(super) fn with_pending_checks(&mut self, imported: ImportedValue<'g>) -> Result<ImportedValue<'g>> {
        let pending = imported.pending.clone();
        self.checked(ImportedValue { pending: None, ..imported }, &pending)
    }
}
