//! Imports `If`, `Case` and `While`: the functions that they name become branches and loop bodies.

use std::cell::RefCell;
use std::rc::Rc;

use shapeflow_shape_fns::DType;

use super::super::LIMIT;
use super::super::proto::{AttrKind, NameAttrList};
use super::built::{Built, Condition, ImportedValue};
use super::counted_loop::{CountedRegions, counted_loop};
use super::frame::{Frame, damaged};
use super::importer::Importer;
use super::list_items::ListItems;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::expr::{Scalar, eval_cast};
use crate::graph::Value;
use crate::tensor::Tensor;

/// The end of the name of the region that is the condition of a loop.
const CONDITION: &str = "cond";

/// What a region returns.
enum Returns<'r> {
    /// The outputs of the function, and the values that these variables have after it.
    Outputs(&'r [Rc<str>]),
    /// A constant, because the function has no outputs.
    Done,
}

/// Returns whether the op type is control flow whose branches or bodies are functions.
pub(super) fn is_control(op: &str) -> bool {
    matches!(op, "If" | "StatelessIf" | "Case" | "StatelessCase" | "While" | "StatelessWhile")
}

impl<'a, 'g> Importer<'a, 'g> {
    /// Imports a node for which [`is_control`] holds.
    pub(super) fn control(
        &mut self,
        frame: &Frame<'a, 'g>,
        index: usize,
        name: &str,
        inputs: &[ImportedValue<'g>],
    ) -> Result<Built<'g>> {
        match frame.nodes[index].op.as_str() {
            "While" | "StatelessWhile" => self.while_node(frame, index, name, inputs),
            op => self.branch(op, frame, index, name, inputs),
        }
    }

    /// Imports an `If` or a `Case`. If the selector is constant, the function that it selects is inlined.
    fn branch(
        &mut self,
        op: &str,
        frame: &Frame<'a, 'g>,
        index: usize,
        name: &str,
        inputs: &[ImportedValue<'g>],
    ) -> Result<Built<'g>> {
        let Some((selector, arguments)) = inputs.split_first() else {
            return damaged("a branch must have a selector, got no inputs".to_string());
        };
        let is_case = op.ends_with("Case");
        let functions: Vec<&'a NameAttrList> = if is_case {
            match frame.attr(index, "branches") {
                Some(AttrKind::List(list)) if !list.func.is_empty() => list.func.iter().collect(),
                _ => return damaged("the attribute branches of a Case must list functions".to_string()),
            }
        } else {
            vec![function(frame, index, "else_branch")?, function(frame, index, "then_branch")?]
        };
        if let Some(constant) = self.constant(selector.value) {
            let branch = match is_case {
                true => {
                    let index = constant.item::<i32>().map_err(|error| error.with_phase(Phase::Build))?;
                    usize::try_from(index).unwrap_or(usize::MAX).min(functions.len() - 1)
                }
                false => usize::from(is_true(&constant)),
            };
            let function = functions[branch];
            return self.call(&function.name, &function.attr, frame, name, arguments);
        }
        let (op, names) = branch_names(is_case, functions.len());
        let selector = if is_case { selector.value } else { to_bool(selector.value)? };
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let (graph, location) = (self.graph, self.location);
        // For each branch and output: the items, if the output is a list.
        let mut items: Vec<Vec<ListItems>> = Vec::new();
        let built_before = self.built_nodes.len();
        let written = self.written_in(name);
        let has_outputs =
            !written.is_empty() || functions.iter().any(|function| self.has_outputs(&function.name));
        let mut build = |branch: usize| {
            let region = format!("{name}/{}", names[branch]);
            let imported = self.in_region(name, [], false, |importer| {
                let returns = if has_outputs { Returns::Outputs(&written) } else { Returns::Done };
                importer.region(functions[branch], frame, &region, arguments, built_before, returns)
            })?;
            let values: Vec<Value<'g>> = imported.into_iter().map(|imported| imported.value).collect();
            items.push(values.iter().map(|value| self.items_of(*value)).collect());
            Ok(values)
        };
        let values = graph.select_branch(op, selector, &names, false, &mut build, location)?;
        if !has_outputs {
            // The only output of each branch is the constant `true`. A run computes it before nodes that have a control
            // input from this node.
            let checks = self.add_condition(Condition::Computed(values));
            return Ok(Built { checks, ..Built::default() });
        }
        for (number, value) in values.iter().enumerate() {
            let first = items[0][number].clone();
            let common = items[1..].iter().fold(first, |common, branch| common.common(&branch[number]));
            self.list_items.insert(value.id(), common);
        }
        let values = values.into_iter().map(|value| value.named(name)).collect();
        Ok(Built { written, ..Built::of(values) })
    }

    /// Imports a loop.
    fn while_node(
        &mut self,
        frame: &Frame<'a, 'g>,
        index: usize,
        name: &str,
        inputs: &[ImportedValue<'g>],
    ) -> Result<Built<'g>> {
        let (condition, body) = (function(frame, index, "cond")?, function(frame, index, "body")?);
        // Handles are not state: every iteration has the same resources. The variables that the loop writes are state.
        let mut state = values_of(inputs);
        let tensors = state.len();
        let written = self.written_in(name);
        for variable in &written {
            state.push(self.usable_value(variable)?);
        }
        let (graph, location, built_before) = (self.graph, self.location, self.built_nodes.len());
        let loops = match frame.attr(index, LIMIT) {
            Some(AttrKind::I(limit)) => match u64::try_from(*limit) {
                Ok(limit) => self.options.loops.clone().at_most(limit),
                Err(_) => return damaged(format!("the limit of a loop must not be negative, got {limit}")),
            },
            _ => self.options.loops.clone(),
        };
        // Each iteration draws other random numbers, so random nodes read the number of the iteration.
        let needs_counter = self.sharing.is_random(&frame.nodes[index..=index]);
        // Both closures import a function, one after the other.
        let importer = RefCell::new(self);
        // The items of the lists in the state.
        let items: Vec<ListItems> = state.iter().map(|value| importer.borrow().items_of(*value)).collect();
        let items = RefCell::new(items);
        let import = |function: &'a NameAttrList, region: &str, state: &[Value<'g>], iteration| {
            let mut arguments = inputs.to_vec();
            let slots = arguments.iter_mut().filter(|argument| !argument.is_handle());
            for (argument, imported) in slots.zip(Built::of(state.to_vec()).outputs) {
                *argument = imported;
            }
            let mut importer = importer.borrow_mut();
            for (value, items) in state.iter().zip(items.borrow().iter()) {
                importer.list_items.insert(value.id(), items.clone());
            }
            let (is_condition, region) = (region == CONDITION, format!("{name}/{region}"));
            let values = Built::of(state[tensors..].to_vec()).outputs;
            let before: Vec<_> = written.iter().cloned().zip(values).collect();
            importer.open_loops.push(iteration);
            let outputs = importer.in_region(name, before, is_condition, |importer| {
                let returns = Returns::Outputs(if is_condition { &[] } else { &written });
                importer.region(function, frame, &region, &arguments, built_before, returns)
            });
            importer.open_loops.pop();
            outputs
        };
        let mut condition =
            |state: &[Value<'g>], iteration| match import(condition, CONDITION, state, iteration)?.first() {
                Some(imported) => to_bool(imported.value),
                None => damaged("the condition of a While must return a value".to_string()),
            };
        // Each import of the body assumes the items of the lists. If the body returns lists with other items, the next
        // import assumes what they have in common.
        let mut body = |state: &[Value<'g>], iteration| loop {
            let returned = import(body, "body", state, iteration)?;
            keeps_handles(inputs, &returned)?;
            let returned = values_of(&returned);
            let mut items = items.borrow_mut();
            let pairs = items.iter().zip(&returned);
            let common: Vec<ListItems> =
                pairs.map(|(items, value)| items.common(&importer.borrow().items_of(*value))).collect();
            if items.iter().zip(&common).all(|(items, common)| items.is_same(common)) {
                break Ok(returned);
            }
            *items = common;
        };
        let regions = CountedRegions { condition: &mut condition, body: &mut body, needs_counter };
        let values = counted_loop(graph, &loops, &state, regions, location)?;
        for (value, items) in values.iter().zip(items.borrow().iter()) {
            importer.borrow_mut().list_items.insert(value.id(), items.clone());
        }
        let mut outputs = inputs.to_vec();
        let mut last = Built::of(values.into_iter().map(|value| value.named(name)).collect()).outputs;
        let after = last.split_off(tensors);
        let slots = outputs.iter_mut().filter(|output| !output.is_handle());
        for (output, imported) in slots.zip(last) {
            *output = imported;
        }
        outputs.extend(after);
        Ok(Built { outputs, written, ..Built::default() })
    }

    /// Imports a function as a region, and returns its outputs. `built_before` is the number of nodes of the model that
    /// were built before the branch or the loop.
    ///
    /// # Errors
    /// A node of the function is refused.
    fn region(
        &mut self,
        function: &'a NameAttrList,
        frame: &Frame<'a, 'g>,
        name: &str,
        arguments: &[ImportedValue<'g>],
        built_before: usize,
        returns: Returns<'_>,
    ) -> Result<Vec<ImportedValue<'g>>> {
        let (conditions_before, first_built) = (self.conditions.len(), self.built_nodes.len());
        let mut built = self.call(&function.name, &function.attr, frame, name, arguments);
        if let (Ok(built), Returns::Outputs(written)) = (&mut built, &returns) {
            built.outputs.extend(self.values_of_variables(written));
        }
        let is_empty = matches!(returns, Returns::Done);
        self.finish_region(built, conditions_before, built_before, first_built, is_empty)
    }

    /// Returns the outputs of a region, as [`Importer::region`] does. `built` is the import of its function. The region
    /// has the conditions from number `conditions_before` on, and the nodes in `built_nodes` from number `first_built`
    /// on. If `is_empty`, the function has no outputs. The region then returns a constant `true`, which the conditions
    /// of the region guard, so that a run still checks them.
    ///
    /// # Errors
    /// A node of the function is refused.
    pub(super) fn finish_region(
        &mut self,
        built: Result<Built<'g>>,
        conditions_before: usize,
        built_before: usize,
        first_built: usize,
        is_empty: bool,
    ) -> Result<Vec<ImportedValue<'g>>> {
        let guarded = built.and_then(|mut built| {
            if is_empty {
                let done = self.graph.constant_at(Tensor::scalar(true), self.location);
                built.outputs = Built::of(vec![done]).outputs;
            }
            self.guarded_outputs(built)
        });
        // The conditions of the region guard its outputs already, and mean nothing outside.
        self.conditions.truncate(conditions_before);
        // The nodes of a refused region are recorded too, because the graph drops them as well.
        let values = guarded.as_ref().ok().map(|outputs| values_of(outputs));
        self.record_region(built_before, first_built, values.as_deref())?;
        guarded
    }

    /// Returns the outputs of a region, guarded by all conditions of the region.
    ///
    /// # Errors
    /// A node of the region is refused.
    fn guarded_outputs(&mut self, built: Built<'g>) -> Result<Vec<ImportedValue<'g>>> {
        let blocking = built.outputs.iter().find_map(|imported| imported.blocking_error.clone());
        if let Some(error) = blocking.or(built.blocking_error) {
            return Err(error);
        }
        let guarded = built.outputs.into_iter().map(|output| {
            if output.is_handle() {
                return Ok(output);
            }
            let output = self.with_pending_checks(output)?;
            self.checked(output, &built.checks)
        });
        guarded.collect()
    }

    /// Returns whether a function has outputs.
    pub(super) fn has_outputs(&self, function: &str) -> bool {
        let signature = self.functions.get(function).and_then(|function| function.signature.as_ref());
        signature.is_some_and(|signature| !signature.output_arg.is_empty())
    }

    /// Returns what is known about the items of a list.
    pub(super) fn items_of(&self, value: Value<'g>) -> ListItems {
        self.list_items.get(&value.id()).cloned().unwrap_or(ListItems::unknown())
    }

    /// Returns the elements of a value that depends only on constants.
    pub(super) fn constant(&self, value: Value<'g>) -> Option<Tensor> {
        self.graph.read().const_fold(value.index().ok()?)
    }
}

fn function<'a>(frame: &Frame<'a, '_>, index: usize, attr: &str) -> Result<&'a NameAttrList> {
    match frame.attr(index, attr) {
        Some(AttrKind::Func(function)) => Ok(function),
        _ => damaged(format!("the attribute {attr} must name a function")),
    }
}

/// Returns the op that chooses among `count` branches, and the names of the branches. `is_case` chooses by an index.
pub(super) fn branch_names(is_case: bool, count: usize) -> (&'static str, Vec<String>) {
    match is_case {
        true => ("case", (0..count).map(|number| format!("branch{number}")).collect()),
        false => ("cond", vec!["else".to_string(), "then".to_string()]),
    }
}

/// Returns the values of tensors that are not handles.
fn values_of<'g>(imported: &[ImportedValue<'g>]) -> Vec<Value<'g>> {
    imported.iter().filter(|imported| !imported.is_handle()).map(|imported| imported.value).collect()
}

/// Checks that a loop body returns the handles that it gets.
///
/// # Errors
/// The body returns another resource, or a value in place of a handle.
fn keeps_handles(inputs: &[ImportedValue<'_>], outputs: &[ImportedValue<'_>]) -> Result<()> {
    for (number, (input, output)) in inputs.iter().zip(outputs).enumerate() {
        let requirement = match (input.is_handle(), output.is_handle()) {
            (true, true) if output.resource == input.resource => continue,
            (false, false) => continue,
            (true, true) => format!("the resource of input {number}, got another resource"),
            (true, false) => format!("the resource of input {number}, got a tensor"),
            (false, true) => "a tensor, got a resource".to_string(),
        };
        let message = format!("output {number} of the loop body must be {requirement}");
        return Err(Error::new(ErrorKind::Compile, Phase::Build, message));
    }
    Ok(())
}

/// Returns a bool scalar that is true where TensorFlow takes a value for true, as [`is_true`] does.
///
/// # Errors
/// The value is a scalar, but not a bool, an integer, a float or a string.
fn to_bool(value: Value<'_>) -> Result<Value<'_>> {
    let dtype = value.dtype();
    if value.shape().rank().is_some_and(|rank| rank > 0) {
        return value.size_tensor()?.not_equal(0i64);
    }
    match dtype {
        DType::Bool => Ok(value),
        DType::String => value.not_equal(value.graph().constant("")?),
        _ if dtype.is_integer() || dtype.is_float() => value.not_equal(value.zeros_like()?),
        _ => {
            let message = format!(
                "a predicate must be a bool, a number, a string or a tensor with axes, got a {dtype} scalar"
            );
            Err(Error::new(ErrorKind::DType, Phase::Build, message))
        }
    }
}

/// Returns whether TensorFlow takes the tensor for true: a scalar that is not 0, a string that is not empty, or a
/// tensor of rank 1 or more that has elements. The number -0.0 is false, and NaN is true.
pub(super) fn is_true(tensor: &Tensor) -> bool {
    if !tensor.sizes().is_empty() {
        return !tensor.is_empty();
    }
    match tensor.as_strings() {
        Ok(strings) => strings.iter().any(|string| !string.is_empty()),
        Err(_) => {
            let bytes = tensor.view().bytes();
            match Scalar::from_bytes(tensor.dtype(), bytes) {
                Some(scalar) => eval_cast(scalar, DType::Bool) == Scalar::Bool(true),
                None => bytes.iter().any(|byte| *byte != 0),
            }
        }
    }
}
