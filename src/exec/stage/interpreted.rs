//! A stage run by the expression interpreter.

use super::{Sinks, Stage};
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::eval::{elements_of, evaluate_with};
use crate::graph::{NodeIx, ValueIx};
use crate::tensor::{Tensor, TensorView};
use rustc_hash::FxHashMap;

impl Stage {
    /// Computes every node by the expression interpreter.
    pub(super) fn run_interpreted(
        &self,
        inputs: &[TensorView<'_>],
        sinks: Option<Sinks<'_>>,
    ) -> Result<Vec<Tensor>> {
        let mut bindings = self.bind_inputs(inputs)?;
        let mut values: FxHashMap<ValueIx, Tensor> = FxHashMap::default();
        for ((_, value), view) in self.graph.inputs.iter().zip(inputs) {
            values.insert(*value, view.to_tensor()?);
        }
        for (number, node) in self.graph.nodes.iter().enumerate() {
            let index = NodeIx(number as u32);
            if let Some(tensor) = self.graph.constants.get(&index) {
                values.insert(node.first_output, tensor.clone());
                continue;
            }
            if values.contains_key(&node.first_output) {
                continue;
            }
            let operands: Vec<TensorView<'_>> =
                node.operands.iter().filter_map(|operand| values.get(operand)).map(Tensor::view).collect();
            let attrs = node.attrs().substitute(&mut |symbol| self.known(Some(&bindings), symbol));
            let is_constant = |number: usize| {
                let operand = node.operands[number];
                self.graph.constants.contains_key(&self.graph.values[operand.at()].node)
            };
            let made = evaluate_with(&node.op, node.given, &attrs, &operands, &is_constant)
                .map_err(|error| self.locate(index, error))?;
            drop(operands);
            for (value, tensor) in node.values().zip(made) {
                let dims = self.graph.values[value.at()].shape.dims().unwrap_or_default();
                for (dim, size) in dims.iter().zip(tensor.sizes()) {
                    bindings.bind(&self.graph.table, dim, *size as i64).map_err(|mismatch| {
                        let expected =
                            mismatch.expected.map_or_else(|| mismatch.dim.to_string(), |e| e.to_string());
                        let message = format!("a dimension must be {expected}, got {size}");
                        self.locate(index, Error::new(ErrorKind::Guard, Phase::Run, message))
                    })?;
                }
                if let (Some(symbolic), Some(found)) =
                    (&self.graph.values[value.at()].elements, elements_of(&tensor.view()))
                {
                    for (dim, element) in symbolic.elements().iter().zip(found.elements()) {
                        if let Some(element) = element.as_known() {
                            let _ = bindings.bind(&self.graph.table, dim, element);
                        }
                    }
                }
                values.insert(value, tensor);
            }
            self.check_guards(&bindings)?;
        }
        let outputs = self.program.outputs.iter().map(|buffer| self.program.buffers[buffer.index()].value);
        let results: Vec<Tensor> = outputs.filter_map(|value| values.get(&value).cloned()).collect();
        let Some(sinks) = sinks else { return Ok(results) };
        for (number, (sink, tensor)) in sinks.into_iter().zip(results).enumerate() {
            sink.fill(number, &tensor)?;
        }
        Ok(Vec::new())
    }
}
