//! Structural nodes: placeholders, constants, calls, branches, loops, assertions, and nodes that pass values on.

use super::super::constant;
use super::super::proto::AttrKind;
use super::built::{Built, ImportedValue};
use super::control::is_control;
use super::frame::{Frame, damaged};
use super::importer::Importer;
use super::placeholder::is_placeholder;
use crate::error::Result;
use crate::tensor::Tensor;

/// The structural op types: placeholders, constants, calls, assertions, nodes that pass values on, nodes that do
/// nothing, and an op of XLA. The importer builds nodes of these types itself, without a definition.
const STRUCTURAL: &[&str] = &[
    "Placeholder",
    "PlaceholderV2",
    "PlaceholderWithDefault",
    "Const",
    "NoOp",
    "IdentityN",
    "Assert",
    "PartitionedCall",
    "StatefulPartitionedCall",
    "_Retval",
    "XlaDynamicUpdateSlice",
];

/// Returns whether the op type is structural.
pub(super) fn is_structural(op: &str) -> bool {
    STRUCTURAL.contains(&op) || is_control(op)
}

impl<'a, 'g> Importer<'a, 'g> {
    /// Builds a structural node: a placeholder, a constant, a call, a branch, a loop or an assertion.
    pub(super) fn structural_node(
        &mut self,
        frame: &Frame<'a, 'g>,
        index: usize,
        name: &str,
        inputs: &[ImportedValue<'g>],
    ) -> Result<Built<'g>> {
        let def = &frame.nodes[index];
        // A tensor that holds the path of an asset is a constant or a placeholder, which TensorFlow feeds at load time.
        if let Some(path) = self.saved.assets.get(&def.name).filter(|_| frame.depth == 0) {
            let tensor = Tensor::from_strings(&[], &[path.to_string_lossy().as_bytes()])?;
            return Ok(Built::of(vec![self.graph.constant_at(tensor, self.location).named(name)]));
        }
        match def.op.as_str() {
            op if is_placeholder(op)
                && (inputs.is_empty() || self.ignores_defaults || self.override_of(name).is_some()) =>
            {
                self.placeholder(frame, index, name)
            }
            "PlaceholderWithDefault" | "IdentityN" | "_Retval" => {
                let outputs = inputs.to_vec();
                Ok(Built { outputs, ..Built::default() })
            }
            "Const" => {
                let Some(AttrKind::Tensor(proto)) = frame.attr(index, "value") else {
                    return damaged("the attribute value of a Const must be a tensor".to_string());
                };
                let tensor = constant::from_proto(proto, &mut self.budget)?;
                let value = self.graph.constant_at(tensor, self.location);
                Ok(Built::of(vec![value.named(name)]))
            }
            "NoOp" => Ok(Built::default()),
            "XlaDynamicUpdateSlice" => self.dynamic_update_slice(name, inputs),
            "Assert" => self.assert(frame, index, inputs),
            "PartitionedCall" | "StatefulPartitionedCall" => match frame.attr(index, "f") {
                Some(AttrKind::Func(function)) => {
                    self.call(&function.name, &function.attr, frame, name, inputs)
                }
                _ => damaged("the attribute f of a call must name a function".to_string()),
            },
            op if is_control(op) => self.control(frame, index, name, inputs),
            op => self.call(op, &def.attr, frame, name, inputs),
        }
    }
}
