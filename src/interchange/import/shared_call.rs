//! Imports calls of shared functions: each function becomes a region once, and each call becomes a node that runs it.

use shapeflow_shape_fns::{DType, Dim};

use super::super::proto::{AttrKind, AttrValue, FunctionDef};
use super::built::{Built, Condition, ImportedValue};
use super::frame::Frame;
use super::importer::Importer;
use super::shared_function::{CallAttrs, RegionArgument, RegionVariant, SharedFunction};
use crate::control::{ParameterType, Size};
use crate::error::{ErrorKind, Result};
use crate::graph::Value;

/// Maximum number of elements of a constant argument that the function knows. Such constants are shapes, axes and the
/// like. A larger constant is a parameter.
const MAX_CONSTANT: usize = 64;

/// Maximum number of regions of a function that differ in known sizes or constants. Further calls share a region in
/// which all sizes above 1 are unknown and no argument is constant.
const MAX_EXACT: usize = 4;

/// Maximum number of nodes that are inlined because their functions cannot be shared after all.
const MAX_UNSHARED: usize = 4096;

/// The function of a call: its name and its definition.
type Named<'a> = (&'a str, &'a FunctionDef);

impl<'a, 'g> Importer<'a, 'g> {
    /// Imports a call of a shared function. Returns `None` if the call must be inlined: the function is not shared or
    /// returns a handle, an attribute of the call is a placeholder, a node before drew from a generator, an argument
    /// is a list or cannot be used, or the caller fetches a tensor in the function.
    ///
    /// # Errors
    /// A node of the function is refused.
    pub(super) fn shared_call(
        &mut self,
        function: Named<'a>,
        attrs: CallAttrs<'a>,
        frame: &Frame<'a, 'g>,
        name: &str,
        inputs: &[ImportedValue<'g>],
    ) -> Result<Option<Built<'g>>> {
        let mut error = inputs.iter().find_map(|input| input.blocking_error.clone());
        let can_share = error.is_some() || inputs.iter().all(is_usable);
        // A node in a region has no value in the graph.
        let is_fetched = self.fetches_inside(name);
        let is_excluded =
            self.recording.is_some() || self.has_advanced() || has_placeholder(attrs) || is_fetched;
        if is_excluded || !self.sharing.contains(function.0) || !can_share {
            return Ok(None);
        }
        if error.is_none() && !self.shared_function(function.0).is_refused {
            match self.variant(function, attrs, frame, name, inputs) {
                Ok(Some((variant, sizes))) => {
                    return self.call_variant(function.0, variant, name, inputs, &sizes).map(Some);
                }
                Err(error) if error.kind() == ErrorKind::Memory => return Err(error),
                refused => {
                    let shared = self.shared_function(function.0);
                    (shared.is_refused, shared.error) = (true, refused.err());
                }
            }
        }
        error = error.or_else(|| self.shared_function(function.0).error.clone());
        let Some(error) = error else { return Ok(None) };
        // Inlining finds which nodes are refused, and leaves the other nodes as they are.
        self.unshared_nodes += function.1.node_def.len();
        if self.unshared_nodes > MAX_UNSHARED {
            return Err(error.note(format!("in function {}, which {name} calls", function.0), None));
        }
        Ok(None)
    }

    fn shared_function(&mut self, function: &'a str) -> &mut SharedFunction<'a> {
        self.shared_functions.entry(function).or_default()
    }

    /// Returns the number of the region for a call, and the dims of the region's unknown sizes. Records the region if
    /// there is none. Returns `None` if no region can serve the call.
    ///
    /// # Errors
    /// A node of the function is refused.
    fn variant(
        &mut self,
        function: Named<'a>,
        attrs: CallAttrs<'a>,
        frame: &Frame<'a, 'g>,
        name: &str,
        inputs: &[ImportedValue<'g>],
    ) -> Result<Option<(usize, Vec<Dim>)>> {
        for is_exact in [true, false] {
            let (arguments, sizes) = self.arguments(inputs, is_exact);
            let variants = &self.shared_function(function.0).variants;
            let is_same =
                |variant: &RegionVariant<'_>| variant.attrs == attrs && variant.arguments == arguments;
            let number = variants.len();
            if let Some(known) = variants.iter().position(is_same) {
                return Ok(Some((known, sizes)));
            }
            if is_exact && number >= MAX_EXACT {
                continue;
            }
            let recorded = self.record(function, attrs, frame, name, arguments, inputs)?;
            let Some(variant) = recorded else { return Ok(None) };
            self.shared_function(function.0).variants.push(variant);
            return Ok(Some((number, sizes)));
        }
        Ok(None)
    }

    /// Returns what a region knows of these arguments, and the dims of their unknown sizes. If not `is_exact`, sizes
    /// above 1 are unknown, and no argument is constant.
    fn arguments(&self, inputs: &[ImportedValue<'g>], is_exact: bool) -> (Vec<RegionArgument>, Vec<Dim>) {
        let mut unknown: Vec<Dim> = Vec::new();
        let mut size = |dim: &Dim| match dim.as_known() {
            Some(size) if is_exact || size <= 1 => Size::Known(size),
            _ => Size::Unknown(unknown.iter().position(|other| other == dim).unwrap_or_else(|| {
                unknown.push(dim.clone());
                unknown.len() - 1
            })),
        };
        let mut arguments = Vec::with_capacity(inputs.len());
        for input in inputs {
            if let Some(resource) = &input.resource {
                arguments.push(RegionArgument::Handle(resource.clone()));
                continue;
            }
            let constant = if is_exact { self.constant(input.value) } else { None };
            arguments.push(match constant.filter(|constant| constant.len() <= MAX_CONSTANT) {
                Some(constant) => RegionArgument::Constant(constant),
                None => {
                    let shape = input.value.shape();
                    let sizes = shape.dims().map(|dims| dims.iter().map(&mut size).collect());
                    RegionArgument::Tensor((input.value.dtype(), sizes))
                }
            });
        }
        (arguments, unknown)
    }

    /// Records the region of a function for these arguments. `name` is the name of the first call. Returns `None` if no
    /// node can run the function, because it returns a handle or reads values of the graph around it.
    ///
    /// # Errors
    /// A node of the function is refused.
    fn record(
        &mut self,
        (opened, function): Named<'a>,
        attrs: CallAttrs<'a>,
        frame: &Frame<'a, 'g>,
        name: &str,
        arguments: Vec<RegionArgument>,
        inputs: &[ImportedValue<'g>],
    ) -> Result<Option<RegionVariant<'a>>> {
        let (graph, location) = (self.graph, self.location);
        let (built_before, conditions) = (self.built_nodes.len(), self.conditions.len());
        let is_empty = !self.has_outputs(opened);
        let types: Vec<ParameterType> =
            arguments.iter().filter_map(RegionArgument::parameter).cloned().collect();
        let (mut items, mut returns_handle) = (Vec::new(), false);
        let mut build = |values: &[Value<'g>]| {
            let mut parameters = values.iter().copied();
            let given = arguments.iter().zip(inputs).flat_map(|(argument, input)| match argument {
                RegionArgument::Handle(_) => {
                    vec![ImportedValue { checks: None, may_fail: false, ..input.clone() }]
                }
                RegionArgument::Constant(tensor) => {
                    Built::of(vec![graph.constant_at(tensor.clone(), location)]).outputs
                }
                RegionArgument::Tensor(_) => Built::of(parameters.by_ref().take(1).collect()).outputs,
            });
            let given: Vec<ImportedValue<'g>> = given.collect();
            self.open_functions.push(opened);
            let built = self.inline(function, attrs, frame, name, &given);
            self.open_functions.pop();
            let outputs = self.finish_region(built, conditions, built_before, built_before, is_empty)?;
            returns_handle = outputs.iter().any(|output| output.resource.is_some());
            items = outputs.iter().map(|output| self.items_of(output.value)).collect();
            Ok(outputs.into_iter().map(|output| output.value).collect())
        };
        let recorded = graph.record_function(opened, &types, &mut build, location);
        let recorded = recorded.map(|function| function.filter(|_| !returns_handle));
        if !matches!(recorded, Ok(Some(_))) {
            // The inlined calls record their nodes again.
            self.built_nodes.truncate(built_before);
        }
        Ok(recorded?.map(|function| RegionVariant { attrs, arguments, function, is_empty, items }))
    }

    /// Adds the node of a call.
    fn call_variant(
        &mut self,
        function: &str,
        variant: usize,
        name: &str,
        inputs: &[ImportedValue<'g>],
        sizes: &[Dim],
    ) -> Result<Built<'g>> {
        let RegionVariant { arguments, function, is_empty, items, .. } =
            &self.shared_functions[function].variants[variant];
        let given = arguments.iter().zip(inputs).filter(|(argument, _)| argument.parameter().is_some());
        let given: Vec<Value<'g>> = given.map(|(_, input)| input.value).collect();
        let values = self.graph.call_function(function, &given, sizes, self.location)?;
        for (value, items) in values.iter().zip(items).filter(|(value, _)| value.dtype() == DType::Variant) {
            self.list_items.insert(value.id(), items.clone());
        }
        if *is_empty {
            // A run computes the output that stands for the end of the function, for the nodes that wait for it.
            let checks = self.add_condition(Condition::Computed(values));
            return Ok(Built { checks, ..Built::default() });
        }
        Ok(Built::of(values.into_iter().map(|value| value.named(name)).collect()))
    }
}

/// Returns whether an attribute takes its value from the calls around, which differ from call to call.
fn has_placeholder(attrs: CallAttrs<'_>) -> bool {
    let mut open: Vec<&AttrValue> = attrs.values().collect();
    while let Some(attr) = open.pop() {
        match &attr.value {
            Some(AttrKind::Placeholder(_)) => return true,
            Some(AttrKind::Func(function)) => open.extend(function.attr.values()),
            Some(AttrKind::List(list)) => {
                open.extend(list.func.iter().flat_map(|function| function.attr.values()));
            }
            _ => {}
        }
    }
    false
}

/// Returns whether a region can take the argument: a handle, or a tensor that is not a list.
fn is_usable(input: &ImportedValue<'_>) -> bool {
    let is_tensor =
        input.has_known_dtype && input.resource.is_none() && input.value.dtype() != DType::Variant;
    input.is_handle() || is_tensor && input.blocking_error.is_none()
}
