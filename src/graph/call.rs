//! A node as `eval` sees it: a call, and the template of its body.

use shapeflow_shape_fns::OperandInfo;

use super::{GraphData, NodeIx, ValueInfo};
use crate::error::{Phase, Result};
use crate::eval::{Call, Template, TypedCall};
use crate::expr::Scalar;

/// Returns the facts about a value that shape functions and bodies may use.
pub(crate) fn operand_info(value: &ValueInfo) -> OperandInfo<'_> {
    OperandInfo { shape: &value.shape, dtype: value.dtype, value: value.elements.as_deref() }
}

impl GraphData {
    /// Lowers output `output` of a compute node or a contraction.
    ///
    /// # Errors
    /// The body fails; the error names the node.
    pub(crate) fn template(&self, index: NodeIx, output: usize) -> Result<Template> {
        let node = &self.nodes[index.index()];
        let operands = node.operands.iter().map(|value| operand_info(&self.values[value.index()]));
        let outputs = node.values().map(|value| {
            let info = &self.values[value.index()];
            (info.dtype, &info.shape)
        });
        let scalar = |operand: usize| {
            let info = &self.values[node.operands[operand].index()];
            let tensor = self.constants.get(&info.node).filter(|tensor| tensor.sizes().is_empty())?;
            tensor.view().element(0).and_then(|bytes| Scalar::from_bytes(info.dtype, bytes))
        };
        let typed = TypedCall {
            call: Call {
                op: &node.op,
                given_operands: node.given_operands,
                attrs: node.attrs(),
                operands: operands.collect(),
            },
            outputs: outputs.collect(),
            derived: node.derived(),
            table: &self.table,
            scalar: &scalar,
        };
        Template::new(&typed, output).map_err(|error| {
            let call = self.named_call_text(&node.op, &node.operands, node.attrs());
            self.blame(error.with_phase(Phase::Compile), &node.op, call, node.origin)
                .with_node(self.node_name(index))
                .at(node.location)
        })
    }
}
