//! Imports nodes that make and read variables, and passes handles of all resources on. The values come from the
//! checkpoint of a SavedModel.

use std::rc::Rc;

use shapeflow_shape_fns::{DType, TensorShape};

use super::super::proto::AttrKind;
use super::super::saved_objects::name_of_resource;
use super::super::shape;
use super::built::{Built, Condition, ImportedValue};
use super::frame::{Frame, damaged};
use super::handle::{Resource, is_generator_op, is_silent_write};
use super::importer::Importer;
use super::structural::is_structural;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::op::dtype_number::dtype_of;
use crate::tensor::Tensor;

impl<'a, 'g> Importer<'a, 'g> {
    /// Imports a node that makes, reads or writes a resource; returns `None` for any other node.
    ///
    /// # Errors
    /// The node writes a resource, or reads a resource that has no value.
    pub(super) fn resource_node(
        &mut self,
        frame: &Frame<'a, 'g>,
        index: usize,
        name: &str,
        inputs: &[ImportedValue<'g>],
    ) -> Result<Option<Built<'g>>> {
        if let Some(built) = self.table_node(frame, index, name, inputs)? {
            return Ok(Some(built));
        }
        if !self.source.is_saved_model {
            return Ok(None);
        }
        let op = frame.nodes[index].op.as_str();
        let variable = inputs.iter().find_map(|input| match &input.resource {
            Some(Resource::Variable(variable)) => Some(variable.clone()),
            _ => None,
        });
        let built = match (op, variable) {
            ("VarHandleOp", _) => {
                let variable = resource_name(frame, index, name);
                self.declare(frame, index, &variable)?;
                self.handle(frame, index, name, inputs, &[Resource::Variable(variable)])?
            }
            ("Variable" | "VariableV2", _) => {
                let variable = resource_name(frame, index, name);
                self.declare(frame, index, &variable)?;
                if self.recording.is_some() {
                    self.handle(frame, index, name, inputs, &[Resource::Variable(variable)])?
                } else {
                    let mut built = self.read_variable(frame, index, &variable, name)?;
                    built.outputs[0].resource = Some(Resource::Variable(variable));
                    built
                }
            }
            ("RestoreV2", _) if self.recording.is_some() => self.restore(frame, index, name, inputs)?,
            ("Identity" | "RefIdentity", _) => match inputs {
                [input] if input.resource.is_some() => {
                    // The result of an Identity is a tensor, which later writes do not change.
                    let is_tensor = self.state.is_followed() && op == "Identity" && !input.is_handle();
                    let resource = input.resource.clone().filter(|_| !is_tensor);
                    Built { outputs: vec![ImportedValue { resource, ..input.clone() }], ..Built::default() }
                }
                _ => return Ok(None),
            },
            ("ReadVariableOp", Some(variable)) => self.read_variable(frame, index, &variable, name)?,
            ("ResourceGather" | "ResourceGatherNd", Some(variable)) => {
                let [_, indices] = inputs else {
                    return damaged(format!("a gather must have 2 inputs, got {}", inputs.len()));
                };
                let read = self.variable(&variable, &frame.full_name(&frame.nodes[index]))?;
                let variable = read.value;
                let value = match op {
                    "ResourceGather" => {
                        let batch_dims = match frame.attr(index, "batch_dims") {
                            Some(AttrKind::I(batch_dims)) => *batch_dims,
                            _ => 0,
                        };
                        variable.gather_batched(indices.value, batch_dims, batch_dims)?
                    }
                    _ => variable.gather_nd(indices.value)?,
                };
                Built {
                    outputs: vec![ImportedValue { value: value.named(name), ..read }],
                    ..Built::default()
                }
            }
            ("VarIsInitializedOp" | "IsVariableInitialized", Some(variable)) => {
                let is_initialized = self.has_value(&variable)?;
                let value = self.graph.constant_at(Tensor::scalar(is_initialized), self.location);
                Built::of(vec![value.named(name)])
            }
            ("VariableShape", Some(variable)) => {
                let read = self.variable(&variable, &frame.full_name(&frame.nodes[index]))?;
                let is_wide = matches!(
                    frame.attr(index, "out_type"),
                    Some(AttrKind::Type(number)) if dtype_of(*number) == Some(DType::I64)
                );
                let shape = read.value.shape_tensor_as(if is_wide { DType::I64 } else { DType::I32 })?;
                Built {
                    outputs: vec![ImportedValue { value: shape.named(name), ..read }],
                    ..Built::default()
                }
            }
            ("AssignVariableOp" | "Assign", Some(variable)) if self.recording.is_some() => {
                self.record_variable(variable, inputs.get(1), name);
                Built { outputs: inputs.iter().take(1).cloned().collect(), ..Built::default() }
            }
            ("RngReadAndSkip", Some(variable)) if self.follows_generators() => {
                self.read_and_skip(&variable, inputs, name)?
            }
            // Structural nodes pass resources on.
            (op, _) if is_structural(op) || self.functions.contains_key(op) => return Ok(None),
            // Ops of TensorFlow 1 read the value of a variable from the variable itself.
            (op, Some(variable)) if writes(op) || !self.reads_value(inputs) => {
                let node = frame.full_name(&frame.nodes[index]);
                if self.follows_writes() {
                    let message = format!(
                        "the variable {variable} must be written by an op that the import follows, outside of the \
                         condition of a loop, got {op} {node}"
                    );
                    let error = Error::new(ErrorKind::Compile, Phase::Build, message);
                    let error = error.with_help("ImportOptions::stateful lists the ops that it follows");
                    let error = error.with_node(name).at(self.location);
                    return self.write_node(frame, index, name, inputs, error).map(Some);
                }
                let message = format!(
                    "the variable {variable} must only be read, got {op} {node}: a graph does not change variables"
                );
                let help = match is_generator_op(op) {
                    true => "make the state of the generator an input and a result (ImportOptions::stateful; on the \
                             command line, run --state FILE or --stateful), or draw the numbers with the ops of tf.random.stateless_*, \
                             from a seed that is an input of the function, and save this function"
                        .to_string(),
                    false => format!(
                        "make {variable} an input and a result (ImportOptions::stateful; on the command line, \
                         run --state FILE or --stateful), or fetch only tensors that do not need {node}"
                    ),
                };
                let error = Error::new(ErrorKind::Compile, Phase::Build, message).with_help(help);
                let error = error.with_node(name).at(self.location);
                // The conditions of a region end with the region.
                if self.graph.read().open_regions > 0 || !is_silent_write(op) {
                    return Err(error);
                }
                let checks = self.add_condition(Condition::Written { variable, error });
                Built { checks, ..Built::default() }
            }
            _ => return Ok(None),
        };
        Ok(Some(built))
    }

    /// Returns whether every variable among the inputs comes with its value, as the variables of TensorFlow 1 do.
    fn reads_value(&self, inputs: &[ImportedValue<'g>]) -> bool {
        inputs.iter().all(|input| input.resource.is_none() || input.has_known_dtype)
    }

    /// Builds a node whose outputs are handles of these resources.
    pub(super) fn handle(
        &mut self,
        frame: &Frame<'a, 'g>,
        index: usize,
        name: &str,
        inputs: &[ImportedValue<'g>],
        resources: &[Resource],
    ) -> Result<Built<'g>> {
        let mut built = self.opaque(frame, index, name, inputs)?;
        for (output, resource) in built.outputs.iter_mut().zip(resources) {
            output.resource = Some(resource.clone());
            // The attribute `dtype` of the node is the dtype of the variable, not of its handle.
            output.has_known_dtype &= matches!(resource, Resource::Restored(_));
        }
        Ok(built)
    }

    /// Imports a read of a variable, and compares the tensor with the dtype and the shape of the node.
    fn read_variable(
        &mut self,
        frame: &Frame<'a, 'g>,
        index: usize,
        variable: &Rc<str>,
        name: &str,
    ) -> Result<Built<'g>> {
        let read = self.variable(variable, name)?;
        let value = read.value;
        if let Some(AttrKind::Type(number)) = frame.attr(index, "dtype")
            && dtype_of(*number) != Some(value.dtype())
        {
            let expected = dtype_of(*number).map_or("?", DType::name);
            let message = format!("the variable {variable} must be {expected}, got {}", value.dtype());
            return Err(Error::new(ErrorKind::DType, Phase::Build, message));
        }
        let declared = match frame.attr(index, "shape") {
            Some(AttrKind::Shape(proto)) => shape::from_proto(proto, &self.budget)?,
            _ => TensorShape::unranked(),
        };
        if !declared.is_compatible_with(&value.shape()) {
            let message =
                format!("the variable {variable} must have shape {declared}, got {}", value.shape());
            return Err(Error::new(ErrorKind::Shape, Phase::Build, message));
        }
        Ok(Built { outputs: vec![read], ..Built::default() })
    }

    /// Returns the value of a variable after the nodes imported so far. It is a constant, unless nodes write the
    /// variable. All reads of a constant share it. `reader` is the name of the node that reads the variable.
    pub(super) fn variable(&mut self, variable: &Rc<str>, reader: &str) -> Result<ImportedValue<'g>> {
        if let Some(value) = self.state.values.get(variable) {
            return Ok(value.clone());
        }
        self.note_read(variable);
        let known = self.constants.get(variable).copied();
        // If the constant was made in a branch or a loop body, it left the graph together with the region.
        if let Some(value) = known
            && value.ok().is_ok()
        {
            return Ok(ImportedValue::of(value));
        }
        let tensor = self.variable_tensor(variable)?;
        let Some(tensor) = tensor else {
            let message = format!("the variable {variable} must be in the checkpoint: {reader} reads it");
            let error = Error::new(ErrorKind::Attribute, Phase::Build, message);
            return Err(match self.saved.checkpoint {
                Some(_) => error,
                None => error.with_help("the folder of the model must have variables/variables.index"),
            });
        };
        if known.is_none() {
            self.budget.constant(tensor.view().bytes().len() as u64)?;
        }
        let value = self.graph.constant_at(tensor, self.location).named(variable);
        if self.constants.insert(variable.clone(), value).is_some() {
            self.remade_constants.insert(variable.clone());
        }
        Ok(ImportedValue::of(value))
    }
}

/// Returns the name that a resource has in all sessions.
pub(super) fn resource_name(frame: &Frame<'_, '_>, index: usize, name: &str) -> Rc<str> {
    name_of_resource(frame.attr(index, "shared_name"), name).into()
}

/// Returns whether an op changes the variable of TensorFlow 1 that it takes.
fn writes(op: &str) -> bool {
    ["Assign", "Scatter", "Apply", "SparseApply", "CountUpTo"].iter().any(|prefix| op.starts_with(prefix))
}
