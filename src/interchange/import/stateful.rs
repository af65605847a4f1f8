//! Follows the values of the variables that nodes write, if the caller asks for it: see `ImportOptions::stateful`. With
//! `ImportOptions::variable_inputs`, the variables that nodes only read are inputs too.
//!
//! The value of such a variable before the run is an input of the graph. A write gives the variable another value,
//! which the nodes after the write read. The import builds nodes in an order that control edges allow, and TensorFlow
//! orders all nodes that use a variable by control edges.
//!
//! Only the nodes themselves show which variables they write. If a node writes a variable that is not an input yet, the
//! model is imported again, with this variable as an input. Then a branch has the last values of the variables that it
//! writes as further outputs, and a loop has their values as further state.

use std::rc::Rc;

use shapeflow_shape_fns::TensorShape;

use super::super::model::Model;
use super::super::options::ImportOptions;
use super::super::proto::AttrKind;
use super::super::shape;
use super::super::state_variable::{StateRecord, free_name};
use super::built::{Built, ImportedValue, union};
use super::frame::Frame;
use super::handle::Resource;
use super::importer::Importer;
use super::optimizers::optimizer_step;
use super::written::{State, Writes};
use crate::dtype::type_text;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::{Graph, Value};
use crate::ops::array::SliceMasks;

/// Calls `import` with an importer, and if the options ask for it, again until it knows all variables that become
/// inputs. Returns the graph and the result of the last import.
///
/// # Errors
/// An import fails.
pub(super) fn import_all<'a, R>(
    model: &'a Model,
    options: &'a ImportOptions,
    mut import: impl FnMut(&mut Importer<'a, '_>) -> Result<R>,
) -> Result<(Graph, R)> {
    let mut expected = Writes::default();
    loop {
        let graph = Graph::new();
        let mut importer = Importer::new(model, options, &graph);
        importer.state.expected = (options.stateful || options.variable_inputs).then(|| expected.clone());
        let result = import(&mut importer)?;
        let found = std::mem::take(&mut importer.state.found);
        drop(importer);
        if found.variables.is_empty() {
            return Ok((graph, result));
        }
        expected.variables.extend(found.variables);
        for (region, variables) in found.in_regions {
            expected.in_regions.entry(region).or_default().extend(variables);
        }
    }
}

impl<'a, 'g> Importer<'a, 'g> {
    /// Makes an input for each variable that nodes write, or read if the options ask for it.
    ///
    /// # Errors
    /// The variable has no value in the checkpoint.
    pub(super) fn add_state_inputs(&mut self) -> Result<Vec<StateRecord>> {
        let Some(expected) = &self.state.expected else { return Ok(Vec::new()) };
        let mut records = Vec::new();
        for (variable, declared) in expected.variables.clone() {
            let Some(initial) = self.variable_tensor(&variable)? else {
                let message = format!("the variable {variable} must be in the checkpoint: the model uses it");
                return Err(Error::new(ErrorKind::Attribute, Phase::Build, message));
            };
            let shape = match declared.rank() {
                Some(_) => declared,
                None => initial.sizes().into(),
            };
            let taken = self.graph.named_inputs();
            let input = free_name(&variable, |input| taken.iter().any(|(name, _)| name == input));
            let value = self.graph.input_at(&input, initial.dtype(), shape, self.location)?;
            self.state.values.insert(variable.clone(), ImportedValue::of(value));
            records.push(StateRecord {
                variable: variable.to_string(),
                input,
                initial,
                before: value.id(),
                after: Ok(value.id()),
            });
        }
        Ok(records)
    }

    /// Sets the values that the variables have after the run.
    pub(super) fn finish_state(&mut self, records: &mut [StateRecord]) -> Result<()> {
        for record in records {
            let Some(last) = self.state.values.get(record.variable.as_str()).cloned() else { continue };
            let last = self.with_pending_checks(last)?;
            record.after = last.blocking_error.map_or(Ok(last.value.id()), Err);
        }
        Ok(())
    }

    /// Records the shape that the model declares for a variable.
    pub(super) fn declare(&mut self, frame: &Frame<'a, 'g>, index: usize, variable: &Rc<str>) -> Result<()> {
        let declared = match frame.attr(index, "shape") {
            Some(AttrKind::Shape(proto)) => shape::from_proto(proto, &self.budget)?,
            _ => TensorShape::unranked(),
        };
        self.state.declared.insert(variable.clone(), declared);
        Ok(())
    }

    /// Gives variables the values that a node writes.
    pub(super) fn write(&mut self, variables: Vec<Rc<str>>, values: Vec<ImportedValue<'g>>) {
        for (variable, value) in variables.into_iter().zip(values) {
            if self.is_expected(&variable) {
                self.state.values.insert(variable, value);
            }
        }
    }

    /// Records that a node reads a variable which is no input. If the options ask for it, the model will be imported
    /// again, with this variable as an input.
    pub(super) fn note_read(&mut self, variable: &Rc<str>) {
        if self.options.variable_inputs && self.recording.is_none() {
            let shape = self.state.declared_shape(variable);
            self.state.found.variables.insert(variable.clone(), shape);
        }
    }

    /// Returns whether the import knows that the nodes which it builds now write a variable. If not, the model will be
    /// imported again.
    fn is_expected(&mut self, variable: &Rc<str>) -> bool {
        let shape = self.state.declared_shape(variable);
        let State { expected: Some(expected), found, open_regions, .. } = &mut self.state else {
            return true;
        };
        let is_known = |region: &String| {
            expected.in_regions.get(region).is_some_and(|variables| variables.contains(variable))
        };
        if expected.variables.contains_key(variable) && open_regions.iter().all(is_known) {
            return true;
        }
        found.variables.insert(variable.clone(), shape);
        for region in open_regions {
            found.in_regions.entry(region.clone()).or_default().insert(variable.clone());
        }
        false
    }

    /// Returns the variables that a branch or a loop writes.
    pub(super) fn written_in(&self, region: &str) -> Vec<Rc<str>> {
        let expected = self.state.expected.as_ref();
        let variables = expected.and_then(|expected| expected.in_regions.get(region));
        variables.into_iter().flatten().cloned().collect()
    }

    /// Returns the values of variables after the nodes imported so far.
    pub(super) fn values_of_variables(&self, variables: &[Rc<str>]) -> Vec<ImportedValue<'g>> {
        variables.iter().filter_map(|variable| self.state.values.get(variable).cloned()).collect()
    }

    /// Returns the value of a variable after the nodes imported so far, guarded by its conditions.
    ///
    /// # Errors
    /// The value depends on a refused node.
    pub(super) fn usable_value(&mut self, variable: &Rc<str>) -> Result<Value<'g>> {
        let value = self.variable(variable, variable)?;
        let value = self.with_pending_checks(value)?;
        value.blocking_error.map_or(Ok(value.value), Err)
    }

    /// Calls `import` for a branch or a part of a loop, in which the variables have the values `before`. Afterwards
    /// they have the values that they had at the call.
    pub(super) fn in_region<R>(
        &mut self,
        region: &str,
        before: impl IntoIterator<Item = (Rc<str>, ImportedValue<'g>)>,
        is_condition: bool,
        import: impl FnOnce(&mut Self) -> R,
    ) -> R {
        let (values, in_condition) = (self.state.values.clone(), self.state.in_condition);
        self.state.values.extend(before);
        self.state.in_condition |= is_condition;
        self.state.open_regions.push(region.to_string());
        let result = import(self);
        self.state.open_regions.pop();
        self.state.in_condition = in_condition;
        self.state.values = values;
        result
    }

    /// Returns whether the import follows what nodes write. It does not while it records the writes of an initializer.
    pub(super) fn follows_writes(&self) -> bool {
        self.state.is_followed() && self.recording.is_none()
    }

    /// Returns whether a random generator has advanced while all other variables are constants. A region that was
    /// recorded before may have read the earlier state.
    pub(super) fn has_advanced(&self) -> bool {
        !self.state.is_followed() && !self.state.values.is_empty()
    }

    /// Imports a node that writes variables, which are its first inputs. If the import cannot follow what the node
    /// writes, the variables have no value after it, and `refusal` is the reason.
    pub(super) fn write_node(
        &mut self,
        frame: &Frame<'a, 'g>,
        index: usize,
        name: &str,
        inputs: &[ImportedValue<'g>],
        refusal: Error,
    ) -> Result<Built<'g>> {
        let op = frame.nodes[index].op.as_str();
        let written = inputs.iter().map_while(|input| match &input.resource {
            Some(Resource::Variable(variable)) => Some(variable.clone()),
            _ => None,
        });
        let written: Vec<Rc<str>> = written.collect();
        let operands: Vec<Value<'g>> = inputs[written.len()..].iter().map(|input| input.value).collect();
        let mut old = Vec::with_capacity(written.len());
        if !matches!(op, "AssignVariableOp" | "Assign") {
            for variable in &written {
                old.push(self.variable(variable, name)?);
            }
        }
        let values: Vec<Value<'g>> = old.iter().map(|old| old.value).collect();
        let new = match self.state.in_condition {
            true => None,
            false => self.new_values(frame, index, &values, &operands)?,
        };
        let depends = old.iter().fold(None, |all: Option<ImportedValue<'g>>, old| {
            let Some(all) = all else { return Some(old.clone()) };
            Some(ImportedValue {
                blocking_error: all.blocking_error.or_else(|| old.blocking_error.clone()),
                checks: union(&all.checks, &old.checks),
                pending: union(&all.pending, &old.pending),
                may_fail: all.may_fail || old.may_fail,
                ..old.clone()
            })
        });
        let mut outputs = Vec::with_capacity(written.len() + 1);
        for (number, variable) in written.iter().enumerate() {
            let Some(value) = new.as_ref().and_then(|new| new.get(number)) else {
                let old = self.variable(variable, name)?;
                outputs.push(ImportedValue { blocking_error: Some(refusal.clone()), ..old });
                continue;
            };
            let value = self.as_declared(variable, *value)?;
            outputs.push(match &depends {
                Some(old) => ImportedValue { value, ..old.clone() },
                None => ImportedValue::of(value),
            });
        }
        // The ops of TensorFlow 1 return the variable.
        if matches!(op, "Assign" | "AssignAdd" | "AssignSub")
            && let ([variable], [new]) = (&written[..], &outputs[..])
        {
            outputs.insert(
                0,
                ImportedValue { resource: Some(Resource::Variable(variable.clone())), ..new.clone() },
            );
        }
        Ok(Built { outputs, written, ..Built::default() })
    }

    /// Returns the values that the variables have after a node, from their values `old` before it, and the operands of
    /// the node; `None` if the import does not know the op.
    fn new_values(
        &self,
        frame: &Frame<'a, 'g>,
        index: usize,
        old: &[Value<'g>],
        operands: &[Value<'g>],
    ) -> Result<Option<Vec<Value<'g>>>> {
        let op = frame.nodes[index].op.as_str();
        if op.starts_with("ResourceApply") {
            let attr = |name, default| match frame.attr(index, name) {
                Some(AttrKind::B(value)) => *value,
                _ => default,
            };
            return optimizer_step(op, old, operands, &attr);
        }
        let value = match (op, old, operands) {
            ("AssignVariableOp" | "Assign", [], [value]) => *value,
            ("AssignAddVariableOp" | "AssignAdd", [old], [value]) => {
                old.add(value.ensure_shape(old.shape())?)?
            }
            ("AssignSubVariableOp" | "AssignSub", [old], [value]) => {
                old.sub(value.ensure_shape(old.shape())?)?
            }
            ("ResourceStridedSliceAssign", [old], [begin, end, strides, value]) => {
                let mask = |name| match frame.attr(index, name) {
                    Some(AttrKind::I(mask)) => u32::try_from(*mask).unwrap_or_default(),
                    _ => 0,
                };
                let masks = SliceMasks {
                    begin: mask("begin_mask"),
                    end: mask("end_mask"),
                    ellipsis: mask("ellipsis_mask"),
                    new_axis: mask("new_axis_mask"),
                    shrink_axis: mask("shrink_axis_mask"),
                };
                old.strided_slice_update(*begin, *end, *strides, *value, masks)?
            }
            (_, [old], [indices, updates]) => return scattered(op, *old, *indices, *updates),
            _ => return Ok(None),
        };
        Ok(Some(vec![value]))
    }

    /// Returns a new value of a variable with the shape that the model declares.
    ///
    /// # Errors
    /// The value has another dtype or shape than the variable.
    fn as_declared(&self, variable: &Rc<str>, value: Value<'g>) -> Result<Value<'g>> {
        let Some(before) = self.state.values.get(variable) else { return Ok(value) };
        let dtype = before.value.dtype();
        if value.dtype() != dtype {
            let got = type_text(value.dtype(), &value.shape());
            let message = format!("the variable {variable} must be {dtype}, got {got}");
            return Err(Error::new(ErrorKind::DType, Phase::Build, message));
        }
        match self.state.declared.get(variable) {
            Some(declared) if declared.rank().is_some() => value.ensure_shape(declared.clone()),
            _ => Ok(value),
        }
    }
}

/// Returns the value of a variable after a node that scatters updates into it; `None` for another op.
fn scattered<'g>(
    op: &str,
    old: Value<'g>,
    indices: Value<'g>,
    updates: Value<'g>,
) -> Result<Option<Vec<Value<'g>>>> {
    let (indices, updates, change) =
        match (op.strip_prefix("ResourceScatterNd"), op.strip_prefix("ResourceScatter")) {
            (Some(change), _) => (indices, updates, change),
            (None, Some(change)) => {
                // Scalar updates apply to all rows.
                let updates = match updates.shape().rank() {
                    Some(0) => old.gather(indices, 0)?.zeros_like()?.add(updates)?,
                    _ => updates,
                };
                (indices.expand_dims(-1)?, updates, change)
            }
            (None, None) => return Ok(None),
        };
    let new = match change {
        "Update" => old.tensor_scatter_nd_update(indices, updates)?,
        "Add" => old.tensor_scatter_nd_add(indices, updates)?,
        "Sub" => old.tensor_scatter_nd_sub(indices, updates)?,
        "Max" => old.tensor_scatter_nd_max(indices, updates)?,
        "Min" => old.tensor_scatter_nd_min(indices, updates)?,
        _ => return Ok(None),
    };
    Ok(Some(vec![new]))
}
