//! Exports a node whose op TensorFlow lacks, or cannot express, under the name that the op has in this crate.

use shapeflow_shape_fns::{Attr, DType};

use super::super::OWN_OPERANDS;
use super::super::proto::{AttrKind, ListValue, NodeDef};
use super::attrs::add_own;
use super::parameter::Parameter;
use super::{Exporter, has_unnamed_sizes, node_def, put};
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::Node;
use crate::op::Body;

impl Exporter<'_> {
    /// Exports a node under this crate's op name, with all its attributes.
    ///
    /// # Errors
    /// The kernel of the op has content that a GraphDef cannot hold.
    pub(super) fn own_op(&mut self, node: &Node, name: &str) -> Result<NodeDef> {
        if let Some(what) = node.op.unwritable() {
            let message = format!("{what} cannot be written to a GraphDef");
            let error = Error::new(ErrorKind::Attribute, Phase::Build, message);
            return Err(error.with_node(name.to_string()).at(node.location));
        }
        let op = match (&node.op.body, node.attrs().get("op")) {
            (Body::ShapeOnly, Some(Attr::Str(op))) => op.to_string(),
            _ => node.op.name().to_string(),
        };
        let mut def = node_def(name, &op);
        let mut inputs: Vec<(usize, String)> = self
            .operand_positions(node)
            .map(|(position, operand)| (position, self.tensor_name(operand)))
            .collect();
        for (attr_name, attr) in node.attrs().iter() {
            let Some(elements) = attr.to_elements().filter(has_unnamed_sizes) else {
                add_own(&mut def, attr_name, attr)?;
                continue;
            };
            let declared = node.op.operand_list().unwrap_or_default();
            let position = declared.iter().position(|operand| operand.name() == attr_name);
            let parameter = Parameter::Elements(elements);
            let tensor = match position {
                Some(_) => self.parameter(&format!("{name}/{attr_name}"), &parameter, DType::I64)?,
                None => None,
            };
            let (Some(position), Some(tensor)) = (position, tensor) else {
                let message = format!("{attr_name} mentions a size that has no name, got {attr}");
                let error = Error::new(ErrorKind::Attribute, Phase::Build, message)
                    .with_help("name the dimensions of the inputs, for example shape![\"n\", 4]");
                return Err(error.with_node(name.to_string()).at(node.location));
            };
            inputs.push((position, tensor));
        }
        inputs.sort_by_key(|(position, _)| *position);
        let positions = inputs.iter().map(|(position, _)| *position as i64).collect();
        def.input = inputs.into_iter().map(|(_, tensor)| tensor).collect();
        put(&mut def, OWN_OPERANDS, AttrKind::List(ListValue { i: positions, ..ListValue::default() }));
        Ok(def)
    }
}
