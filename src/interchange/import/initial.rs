//! Finds the values that a SavedModel gives its resources before it serves.
//!
//! TensorFlow runs two nodes of a SavedModel after it has loaded the graph: one restores the variables from the
//! checkpoint, and one initializes all other resources. A graph outside a SavedModel may have nodes that fill lookup
//! tables. The import builds these nodes in a graph of their own, and records the values that the nodes write.

use std::rc::Rc;

use super::built::{Built, ImportedValue};
use super::frame::{Frame, damaged};
use super::handle::{Resource, Restored};
use super::importer::Importer;
use super::state::{Initial, InitialState, TableContent};
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::{Graph, Value};
use crate::tensor::Tensor;

impl<'a, 'g> Importer<'a, 'g> {
    /// Returns the values that the resources have before any run.
    ///
    /// # Errors
    /// The model is damaged or exceeds a limit.
    fn initial_state(&mut self) -> Result<Rc<InitialState>> {
        if let Some(state) = &self.initial_state {
            return Ok(state.clone());
        }
        let graph = Graph::new();
        let mut importer = Importer::new(self.source, self.options, &graph);
        importer.recording = Some(InitialState::default());
        importer.ignores_defaults = true;
        let mut frame = Frame::of_graph(importer.model, &importer.functions)?;
        let mut initializers = Vec::new();
        for name in &self.saved.initializers {
            match frame.tensor(name) {
                Some((node, _)) => initializers.push(node),
                None => {
                    return damaged(format!(
                        "the initializer {name} of the model must be a node of the graph"
                    ));
                }
            }
        }
        if !self.source.is_saved_model {
            // The model does not name the nodes that a program runs first. The nodes that fill a table must run first.
            let fills =
                |node: &usize| matches!(&*frame.nodes[*node].op, "InitializeTable" | "InitializeTableV2");
            initializers.extend((0..frame.nodes.len()).filter(fills));
        }
        for node in initializers {
            let order = frame.order(&[node])?;
            frame.place(&order)?;
            importer.build(&frame, &order)?;
        }
        let state = Rc::new(importer.recording.take().unwrap_or_default());
        self.initial_state = Some(state.clone());
        Ok(state)
    }

    /// Returns the value that the initializers give a variable. While the initializers are imported, the result is the
    /// value that the nodes imported so far give the variable.
    fn value_so_far(&mut self, variable: &str) -> Result<Option<Initial>> {
        match &self.recording {
            Some(state) => Ok(state.variables.get(variable).cloned()),
            None => Ok(self.initial_state()?.variables.get(variable).cloned()),
        }
    }

    /// Returns the tensor that a variable has before any run; `None` if nothing gives it one.
    ///
    /// # Errors
    /// The tensor is damaged in the checkpoint, or an initializer computes it from values that the import does not
    /// know.
    pub(super) fn variable_tensor(&mut self, variable: &str) -> Result<Option<Tensor>> {
        let value = self.value_so_far(variable)?;
        let checkpoint = self.saved.checkpoint.as_ref();
        match value {
            Some(Initial::Restored(restored)) => match checkpoint {
                Some(checkpoint) => checkpoint.tensor(&restored.key, &restored.slice).map(Some),
                None => Ok(None),
            },
            Some(Initial::Tensor(tensor)) => Ok(Some(tensor)),
            Some(Initial::Unknown(node)) => {
                let message = format!(
                    "the value of {variable} must be in the checkpoint, got one that {node} computes"
                );
                Err(Error::new(ErrorKind::Compile, Phase::Build, message))
            }
            None => {
                let key = self.saved.key_of_variable(variable)?;
                key.zip(checkpoint).map(|(key, checkpoint)| checkpoint.tensor(&key, "")).transpose()
            }
        }
    }

    /// Returns the keys and values that a table has before any run; `None` if nothing fills it.
    ///
    /// # Errors
    /// The model is damaged, or an initializer computes the content from values that the import does not know.
    pub(super) fn initial_content(&mut self, table: &str) -> Result<Option<(Tensor, Tensor)>> {
        let content = match &self.recording {
            Some(state) => state.tables.get(table).cloned(),
            None => self.initial_state()?.tables.get(table).cloned(),
        };
        match content.or_else(|| self.filled_in_functions.get(table).cloned()) {
            Some(TableContent::Known(content)) => {
                let [keys, values] = *content;
                Ok(Some((keys, values)))
            }
            Some(TableContent::Unknown(node)) => {
                let message = format!(
                    "the table {table} must be filled with constants, got values that {node} computes"
                );
                Err(Error::new(ErrorKind::Compile, Phase::Build, message))
            }
            Some(TableContent::Refused(error)) => Err(error),
            None => Ok(None),
        }
    }

    /// Returns the tensor of a value that an initializer writes, if it is a constant or comes from the checkpoint.
    ///
    /// # Errors
    /// The tensor is damaged in the checkpoint.
    pub(super) fn initial_tensor(&self, value: &ImportedValue<'g>) -> Result<Option<Tensor>> {
        match (&value.resource, &self.saved.checkpoint) {
            (Some(Resource::Restored(restored)), Some(checkpoint)) => {
                checkpoint.tensor(&restored.key, &restored.slice).map(Some)
            }
            _ => Ok(self.constant_tensor(value.value)),
        }
    }

    /// Records that a node fills a table.
    pub(super) fn record_table(&mut self, table: Rc<str>, content: TableContent) {
        self.tables.remove(&table);
        if let Some(state) = &mut self.recording {
            state.tables.insert(table, content);
        }
    }

    /// Returns whether something gives a variable a value before any run.
    ///
    /// # Errors
    /// The model or the checkpoint is damaged.
    pub(super) fn has_value(&mut self, variable: &str) -> Result<bool> {
        if self.value_so_far(variable)?.is_some() {
            return Ok(true);
        }
        Ok(self.saved.key_of_variable(variable)?.is_some())
    }

    /// Records that the node `name` stores a value in a variable.
    pub(super) fn record_variable(
        &mut self,
        variable: Rc<str>,
        value: Option<&ImportedValue<'g>>,
        name: &str,
    ) {
        let initial = match value {
            Some(ImportedValue { resource: Some(Resource::Restored(restored)), .. }) => {
                Initial::Restored(restored.clone())
            }
            Some(imported) => match self.constant_tensor(imported.value) {
                Some(tensor) => Initial::Tensor(tensor),
                None => Initial::Unknown(name.to_string()),
            },
            None => Initial::Unknown(name.to_string()),
        };
        self.constants.remove(&variable);
        if let Some(state) = &mut self.recording {
            state.variables.insert(variable, initial);
        }
    }

    /// Imports a node that restores tensors of the checkpoint. Its outputs stand for these tensors.
    ///
    /// # Errors
    /// The keys are not constants.
    pub(super) fn restore(
        &mut self,
        frame: &Frame<'a, 'g>,
        index: usize,
        name: &str,
        inputs: &[ImportedValue<'g>],
    ) -> Result<Built<'g>> {
        let texts = |input: usize| {
            let tensor = self.constant_tensor(inputs.get(input)?.value)?;
            let strings = tensor.as_strings().ok()?;
            Some(strings.iter().map(|text| String::from_utf8_lossy(text).into_owned()).collect::<Vec<_>>())
        };
        let (Some(keys), Some(slices)) = (texts(1), texts(2)) else {
            return damaged("the keys of restored tensors must be constants".to_string());
        };
        let restored = keys.into_iter().zip(slices).map(|(key, slice)| Restored { key, slice });
        let resources: Vec<Resource> =
            restored.map(|restored| Resource::Restored(Rc::new(restored))).collect();
        self.handle(frame, index, name, inputs, &resources)
    }

    /// Returns the tensor of a value that depends only on constants. The value may itself be a large constant.
    pub(super) fn constant_tensor(&self, value: Value<'g>) -> Option<Tensor> {
        let value = value.index().ok()?;
        let data = self.graph.read();
        let constant = data.constants.get(&data.values[value.index()].node);
        constant.cloned().or_else(|| data.const_fold(value))
    }
}
