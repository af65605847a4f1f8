//! Tensors in functions: their values by name, for callers that fetch them.

use std::collections::BTreeMap;

use super::super::imported::InnerValue;
use super::built::ImportedValue;
use super::control::is_control;
use super::frame::Frame;
use super::importer::Importer;
use super::writes::node_index;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::NodeIx;
use crate::nearest::did_you_mean_or_try;

impl<'a, 'g> Importer<'a, 'g> {
    /// Returns the node of the frame that calls the function, or has the branch, in which a node of this name may lie.
    pub(super) fn call_around(&self, frame: &Frame<'a, 'g>, name: &str) -> Option<usize> {
        (0..frame.nodes.len()).find(|&index| self.is_around(frame, index, name))
    }

    /// Returns whether a node calls a function, or has a branch or a loop, and `name` may be the name of a node in it.
    fn is_around(&self, frame: &Frame<'a, 'g>, index: usize, name: &str) -> bool {
        let node = &frame.nodes[index];
        let has_function = matches!(node.op.as_str(), "PartitionedCall" | "StatefulPartitionedCall")
            || is_control(&node.op)
            || self.functions.contains_key(node.op.as_str());
        has_function && is_in(name, &frame.full_name(node))
    }

    /// Returns the nodes of a function that the caller fetches, and the nodes whose functions have fetched nodes. The
    /// outputs of the function need not need them.
    pub(super) fn fetched_nodes(&self, frame: &Frame<'a, 'g>) -> Vec<usize> {
        let is_fetched = |index: &usize| {
            self.fetched_inside.iter().any(|fetched| {
                *fetched == frame.full_name(&frame.nodes[*index]) || self.is_around(frame, *index, fetched)
            })
        };
        if self.fetched_inside.is_empty() {
            return Vec::new();
        }
        (0..frame.nodes.len()).filter(is_fetched).collect()
    }

    /// Returns whether the caller fetches a tensor in the function that the node `call` calls.
    pub(super) fn fetches_inside(&self, call: &str) -> bool {
        self.fetched_inside.iter().any(|fetched| is_in(fetched, call))
    }

    /// Returns the outputs of a node in a function, a branch or a loop. For a node in a function,
    /// [`Imported::value`](super::super::Imported::value) gives these outputs. Conditions that wait for the readers of an
    /// output guard the output itself if it is fetched.
    pub(super) fn inner_values(
        &mut self,
        frame: &Frame<'a, 'g>,
        name: &str,
        outputs: &[ImportedValue<'g>],
    ) -> Result<Box<[InnerValue]>> {
        if frame.depth == 0 && self.graph.read().open_regions == 0 {
            return Ok(Box::default());
        }
        let is_fetched = self.fetched_inside.iter().any(|fetched| fetched == name);
        let mut values = Vec::with_capacity(outputs.len());
        for output in outputs {
            let (mut value, mut blocking_error) = (output.value.id(), output.blocking_error.clone());
            if output.pending.is_some() && blocking_error.is_none() {
                match is_fetched {
                    true => value = self.with_pending_checks(output.clone())?.value.id(),
                    false => {
                        let message = format!(
                            "{name} must be among the fetches of the import, because a node that may fail runs before it"
                        );
                        blocking_error = Some(Error::new(ErrorKind::Attribute, Phase::Build, message));
                    }
                }
            }
            values.push(InnerValue { value, blocking_error });
        }
        Ok(values.into())
    }

    /// Checks that the import has built all fetched nodes in functions.
    ///
    /// # Errors
    /// A function has no node of a fetched name.
    pub(super) fn check_fetched_inside(&self) -> Result<()> {
        for fetched in &self.fetched_inside {
            let names = self.built_nodes.iter().map(|built| built.name.as_str());
            if !names.clone().any(|name| name == fetched) {
                let message = format!(
                    "there is no node named {fetched}{}",
                    did_you_mean_or_try(fetched, names.clone(), names)
                );
                return Err(Error::new(ErrorKind::Attribute, Phase::Build, message));
            }
        }
        Ok(())
    }

    /// Refuses the outputs of nodes in functions whose values could show a write.
    pub(super) fn block_written(&mut self, errors_of_writes: &BTreeMap<NodeIx, Error>) {
        if errors_of_writes.is_empty() {
            return;
        }
        let graph = self.graph;
        for inner in self.built_nodes.iter_mut().flat_map(|built| &mut built.values) {
            let node = graph.value(inner.value).ok().and_then(node_index);
            if let Some(error) = node.and_then(|node| errors_of_writes.get(&node)) {
                inner.blocking_error.get_or_insert_with(|| error.clone());
            }
        }
    }
}

/// Returns whether `name` is the name of a node in the function that the node `call` calls: it starts with `CALL/`.
fn is_in(name: &str, call: &str) -> bool {
    name.strip_prefix(call).is_some_and(|rest| rest.starts_with('/'))
}
