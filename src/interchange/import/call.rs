//! Imports calls of functions, and assertions.

use std::collections::{BTreeMap, HashMap};

use shapeflow_shape_fns::{DType, counted};

use super::super::limits::refuse;
use super::super::proto::{AttrValue, FunctionDef};
use super::built::{Built, Condition, ImportedValue, union};
use super::control::is_true;
use super::frame::{Frame, Source, damaged, outputs_of};
use super::importer::Importer;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::Value;

/// Maximum number of elements that an assertion's message shows of each tensor.
const SHOWN: usize = 16;

impl<'a, 'g> Importer<'a, 'g> {
    /// Imports a call of a function: inlines the function, or adds a node that runs it, see
    /// [`Sharing`](super::sharing::Sharing). The nodes of the function are named `CALL/NODE`, after the first call that
    /// imports them.
    pub(super) fn call(
        &mut self,
        function: &str,
        attrs: &'a BTreeMap<String, AttrValue>,
        frame: &Frame<'a, 'g>,
        name: &str,
        inputs: &[ImportedValue<'g>],
    ) -> Result<Built<'g>> {
        let Some((&callee, &definition)) = self.functions.get_key_value(function) else {
            return damaged(format!("there is no function named {function}"));
        };
        if frame.depth == self.budget.limits.nesting {
            return refuse(format_args!(
                "calls may nest at most {}{}",
                counted(self.budget.limits.nesting, "level"),
                self.cycle(callee)
            ));
        }
        if let Some(built) = self.shared_call((callee, definition), attrs, frame, name, inputs)? {
            return Ok(built);
        }
        self.open_functions.push(callee);
        let built = self.inline(definition, attrs, frame, name, inputs);
        self.open_functions.pop();
        built
    }

    /// Returns `: f calls g, g calls f` if a call of `function` in the innermost open function closes a cycle, and
    /// otherwise an empty text.
    fn cycle(&self, function: &str) -> String {
        let Some(start) = self.open_functions.iter().rposition(|open| *open == function) else {
            return String::new();
        };
        let callers = &self.open_functions[start..];
        let called = callers[1..].iter().copied().chain([function]);
        let calls = callers.iter().zip(called).map(|(caller, called)| format!("{caller} calls {called}"));
        format!(": {}", calls.collect::<Vec<_>>().join(", "))
    }

    /// Imports the nodes of a function for one call.
    pub(super) fn inline(
        &mut self,
        function: &'a FunctionDef,
        attrs: &'a BTreeMap<String, AttrValue>,
        frame: &Frame<'a, 'g>,
        name: &str,
        inputs: &[ImportedValue<'g>],
    ) -> Result<Built<'g>> {
        let signature = function.signature.as_ref();
        let depth = frame.depth + 1;
        let parameters = signature.map_or(&[][..], |signature| &signature.input_arg);
        if parameters.len() != inputs.len() {
            return damaged(format!(
                "{} takes {}, got {}",
                signature.map_or("", |signature| &signature.name),
                counted(parameters.len(), "argument"),
                inputs.len()
            ));
        }
        let args: HashMap<&str, ImportedValue<'g>> =
            parameters.iter().map(|arg| arg.name.as_str()).zip(inputs.iter().cloned()).collect();
        let functions = self.functions.clone();
        let attrs = std::iter::once(attrs).chain(frame.attrs.iter().copied()).collect();
        let mut inner = Frame::of(&function.node_def, functions, args, format!("{name}/"), attrs, depth)?;
        let mut wanted: Vec<Source<'a>> = Vec::new();
        for (arg, source) in outputs_of(function) {
            let Some(source) = source else {
                return damaged(format!("a function must return all its outputs, got none for {}", arg.name));
            };
            wanted.push(inner.source(source)?);
        }
        let controls: Vec<usize> = function
            .control_ret
            .values()
            .filter_map(|node| inner.by_name.get(node.as_str()).copied())
            .collect();
        for &node in &controls {
            inner.is_awaited[node] = true;
        }
        let roots: Vec<usize> = wanted
            .iter()
            .filter_map(|source| match source {
                Source::Node(node, _) | Source::Control(node) => Some(*node),
                Source::Argument(_) | Source::ControlArgument(_) | Source::Fed(..) => None,
            })
            .chain(controls.iter().copied())
            .chain(self.fetched_nodes(&inner))
            .collect();
        let order = inner.order(&roots)?;
        inner.place(&order)?;
        let built = self.build(&inner, &order)?;
        // The call reports the first error of the function, because `Imported::nodes` lists only the main graph.
        let errors = order.iter().filter_map(|&index| built[index].as_ref()?.error.clone());
        let mut result = Built { error: errors.into_iter().next(), ..Built::default() };
        for node in controls {
            if let Some(built) = built.get(node).and_then(Option::as_ref) {
                result.checks = union(&result.checks, &built.checks);
                result.blocking_error = result.blocking_error.or_else(|| built.blocking_error.clone());
            }
        }
        for source in wanted {
            let imported = match source {
                Source::Argument(name) => inner.args.get(name).cloned(),
                Source::Node(node, output) => built
                    .get(node)
                    .and_then(Option::as_ref)
                    .and_then(|built| built.outputs.get(output).cloned()),
                Source::Control(_) | Source::ControlArgument(_) | Source::Fed(..) => None,
            };
            let Some(imported) = imported else {
                return damaged("an output of a function must be an output of one of its nodes".to_string());
            };
            let checks = result.checks.clone();
            result.outputs.push(self.guarded(imported, &checks)?);
        }
        Ok(result)
    }

    /// Records the condition of an assertion, unless the condition is a constant that is true. The condition guards the
    /// nodes that run after the assertion.
    pub(super) fn assert(
        &mut self,
        frame: &Frame<'a, 'g>,
        index: usize,
        inputs: &[ImportedValue<'g>],
    ) -> Result<Built<'g>> {
        let Some((condition, data)) = inputs.split_first() else {
            return damaged("an assertion must have a condition, got no inputs".to_string());
        };
        if condition.value.dtype() != DType::Bool {
            let message =
                format!("the condition of an assertion must be bool, got {}", condition.value.dtype());
            return Err(Error::new(ErrorKind::DType, Phase::Build, message));
        }
        if self.constant(condition.value).is_some_and(|constant| is_true(&constant)) {
            return Ok(Built::default());
        }
        let mut message = format!("the assertion of node {} must hold", frame.full_name(&frame.nodes[index]));
        let (mut shown, mut texts_after): (Vec<Value<'g>>, Vec<String>) = Default::default();
        let mut separator = ": ";
        for imported in data {
            match self.constant(imported.value) {
                Some(tensor) => {
                    let text = match tensor.as_strings() {
                        Ok(texts) if texts.len() == 1 => String::from_utf8_lossy(texts.at(0)).into_owned(),
                        _ => tensor.elements_text(SHOWN),
                    };
                    let end = texts_after.last_mut().unwrap_or(&mut message);
                    end.push_str(separator);
                    end.push_str(&text);
                }
                None if imported.value.dtype() != DType::String => {
                    texts_after.last_mut().unwrap_or(&mut message).push_str(separator);
                    shown.push(imported.value);
                    texts_after.push(String::new());
                }
                None => continue,
            }
            separator = " ";
        }
        let checks = self.add_condition(Condition::Holds {
            value: condition.value,
            message,
            data: shown,
            texts_after,
        });
        Ok(Built { checks, ..Built::default() })
    }
}
