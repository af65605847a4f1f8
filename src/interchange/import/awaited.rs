//! Control edges. If a control edge leads from a node that may fail to another node, the first node runs before the
//! other node, even if no node reads the outputs of the first node.

use std::collections::BTreeSet;
use std::ops::Range;
use std::rc::Rc;

use shapeflow_shape_fns::TensorShape;

use super::built::{Built, Checks, Condition, ImportedValue, union};
use super::frame::{Frame, Source};
use super::importer::Importer;
use crate::error::{Error, Result};
use crate::graph::NodeIx;
use crate::op::Body;
use crate::passes::cannot_fail;

/// What a node gets through its control inputs.
#[derive(Default)]
pub(super) struct Controls {
    /// The conditions that guard the node.
    pub checks: Checks,
    /// The reason why the node cannot run, if it cannot.
    pub blocking_error: Option<Error>,
}

impl<'a, 'g> Importer<'a, 'g> {
    /// Returns what a node gets through its control inputs.
    ///
    /// # Errors
    /// A control input names a node that does not exist.
    pub(super) fn controls(
        &mut self,
        frame: &Frame<'a, 'g>,
        index: usize,
        built: &[Option<Built<'g>>],
    ) -> Result<Controls> {
        let mut controls = Controls::default();
        for input in frame.nodes[index].input.iter().filter(|input| input.starts_with('^')) {
            let (checks, blocking_error) = match frame.source(input)? {
                Source::Control(node) => match built.get(node).and_then(Option::as_ref) {
                    Some(built) => (built.checks.clone(), &built.blocking_error),
                    None => continue,
                },
                Source::ControlArgument(name) => {
                    let Some(argument) = frame.args.get(name) else { continue };
                    let mut checks = union(&argument.checks, &argument.pending);
                    if has_failing_value(argument) {
                        let number = self.add_condition(Condition::Computed(vec![argument.value]));
                        checks = union(&checks, &number);
                    }
                    (checks, &argument.blocking_error)
                }
                _ => continue,
            };
            controls.checks = union(&controls.checks, &checks);
            controls.blocking_error = controls.blocking_error.or_else(|| blocking_error.clone());
        }
        Ok(controls)
    }

    /// If a control edge leads from the node to other nodes, and the node may fail, this makes each run of the other
    /// nodes compute the node first. `inputs` are the inputs of the node. `is_transparent` says that the node is a call
    /// or passes its inputs on. A run may then compute one output of the node without the others.
    pub(super) fn complete_awaited(
        &mut self,
        frame: &Frame<'a, 'g>,
        index: usize,
        node: &mut Built<'g>,
        inputs: &[ImportedValue<'g>],
        is_transparent: bool,
    ) {
        if !frame.is_awaited[index] {
            return;
        }
        if is_transparent {
            for output in node.outputs.iter_mut().filter(|output| has_failing_value(output)) {
                let number = self.add_condition(Condition::Computed(vec![output.value]));
                output.checks = union(&output.checks, &number);
                node.checks = union(&node.checks, &number);
            }
            return;
        }
        let computes_inputs = |output: &ImportedValue<'g>| {
            !self.is_inferred(output.value) && !reads_shapes_only(&frame.nodes[index].op)
        };
        let failing = |tensors: &[ImportedValue<'g>]| -> Vec<_> {
            tensors.iter().filter(|tensor| has_failing_value(tensor)).map(|tensor| tensor.value).collect()
        };
        let covers: Vec<bool> = node.outputs.iter().map(computes_inputs).collect();
        let mut values = failing(&node.outputs);
        if !covers.contains(&true) {
            values.extend(failing(inputs));
        }
        if values.is_empty() {
            return;
        }
        let number = self.add_condition(Condition::Computed(values));
        node.checks = union(&node.checks, &number);
        for (output, _) in node.outputs.iter_mut().zip(covers).filter(|(_, covers)| *covers) {
            output.checks = union(&output.checks, &number);
        }
    }

    /// Adds a condition, and returns the set with this condition alone.
    pub(super) fn add_condition(&mut self, condition: Condition<'g>) -> Checks {
        self.conditions.push(condition);
        Some(Rc::new(BTreeSet::from([self.conditions.len() - 1])))
    }

    /// Returns whether the data of a run can make one of these nodes of the graph fail.
    pub(super) fn may_fail(&self, nodes: Range<u32>) -> bool {
        let data = self.graph.read();
        nodes.map(NodeIx).any(|index| {
            let node = &data.nodes[index.index()];
            match node.op.body {
                Body::Input | Body::Constant => false,
                Body::Compute(_) => {
                    let shapes = || node.operands.iter().map(|operand| &data.values[operand.index()].shape);
                    // The sizes of several operands may have to agree.
                    let is_open = match node.operands.len() {
                        0 => false,
                        1 => shapes().any(|shape| shape.rank().is_none()),
                        _ => !shapes().all(TensorShape::is_fully_defined),
                    };
                    is_open || !cannot_fail(&data, index)
                }
                // A lookup in a table of constants finds a value or takes the default.
                _ => node.op.held_table().is_none(),
            }
        })
    }
}

/// Returns whether the output is a tensor that a run may fail to compute.
fn has_failing_value(output: &ImportedValue<'_>) -> bool {
    output.may_fail && !output.is_handle() && output.blocking_error.is_none()
}

/// Returns whether an op reads the shapes of its inputs and no elements.
pub(super) fn reads_shapes_only(op: &str) -> bool {
    matches!(op, "Shape" | "ShapeN" | "Size" | "Rank" | "ZerosLike" | "OnesLike")
}
