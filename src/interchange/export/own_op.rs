//! Exports a node whose op TensorFlow lacks, or cannot express: as a call of a function, or else under the name that
//! the op has in this crate.

use shapeflow_shape_fns::{Attr, DType};

use super::super::OWN_OPERANDS;
use super::super::proto::{AttrKind, ListValue, NodeDef};
use super::attrs::add_own;
use super::function::{Argument, make_call};
use super::parameter::Parameter;
use super::{Exporter, has_unnamed_sizes, node_def, put};
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::{Node, ValueIx};
use crate::op::Body;

impl Exporter<'_> {
    /// Exports a node with all its attributes of this crate. The node calls a function if TensorFlow can compute the
    /// op, and otherwise has this crate's op name.
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
        let mut def = node_def(&op);
        let argument = |value: ValueIx| {
            let info = &self.data.values[value.index()];
            let rank = self.data.table.resolve_shape(&info.shape).rank();
            Argument { dtype: info.dtype, rank }
        };
        let mut inputs: Vec<Input> = self
            .operand_positions(node)
            .map(|(position, operand)| Input {
                position,
                tensor: self.tensor_name(operand),
                argument: argument(operand),
                is_read_back: true,
            })
            .collect();
        // The attributes that are no inputs.
        let mut attrs = node.attrs().clone();
        let mut is_computable = node.op.tensorflow_function().is_some() || self.is_widened(node);
        for (attr_name, attr) in node.attrs().iter() {
            let elements = attr.to_elements().filter(|elements| elements.as_known().is_none());
            let declared = node.op.operand_list().unwrap_or_default();
            let position = declared.iter().position(|operand| operand.name() == attr_name);
            // A shape that no operand gives may have unknown sizes.
            let is_shape = position.is_none() && matches!(attr, Attr::Shape(_));
            let is_read_back = !is_shape && elements.as_ref().is_some_and(has_unnamed_sizes);
            if !is_read_back {
                add_own(&mut def, attr_name, attr)?;
            }
            let Some(elements) = elements.filter(|_| is_read_back || is_computable) else { continue };
            let argument = Argument { dtype: DType::I64, rank: Some(elements.rank()) };
            let parameter = Parameter::Elements(elements);
            let tensor = match position {
                Some(_) => self.parameter(&format!("{name}/{attr_name}"), &parameter, DType::I64)?,
                None => None,
            };
            match (position, tensor) {
                (Some(position), Some(tensor)) => {
                    attrs.remove(attr_name);
                    inputs.push(Input { position, tensor, argument, is_read_back });
                }
                _ if is_read_back => {
                    let message = format!("{attr_name} mentions a size that has no name, got {attr}");
                    let error = Error::new(ErrorKind::Attribute, Phase::Build, message)
                        .with_help("name the dimensions of the inputs, for example shape![\"n\", 4]");
                    return Err(error.with_node(name.to_string()).at(node.location));
                }
                // A name of a size is no input.
                (None, _) => drop(attrs.remove(attr_name)),
                _ => is_computable = false,
            }
        }
        inputs.sort_by_key(|input| input.position);
        let read_back = inputs.iter().filter(|input| input.is_read_back);
        let positions = read_back.map(|input| input.position as i64).collect();
        put(&mut def, OWN_OPERANDS, AttrKind::List(ListValue { i: positions, ..ListValue::default() }));
        let positions: Vec<usize> = inputs.iter().map(|input| input.position).collect();
        let (tensors, arguments): (Vec<String>, Vec<Argument>) =
            inputs.into_iter().map(|input| (input.tensor, input.argument)).unzip();
        def.input = tensors;
        let function = match is_computable {
            true => match self.function_of_op(node, &arguments, &attrs)? {
                Some(function) => Some(function),
                None => self.widened_function(node, &arguments, &positions, &attrs)?,
            },
            false => None,
        };
        match function {
            Some(function) => {
                let arguments: Vec<DType> = arguments.iter().map(|argument| argument.dtype).collect();
                let results: Vec<DType> = node.values().map(|value| self.dtype(value)).collect();
                make_call(&mut def, &function, &arguments, &results);
            }
            None => {
                let method =
                    self.data.call_of_program(node.origin).map(|(name, _)| name).filter(|name| *name != op);
                let mut missing = method.map_or_else(|| op.clone(), |method| format!("{op} of {method}"));
                if let Some(dtype) = self.refused {
                    missing += &format!(" on {dtype}");
                }
                self.missing.insert(missing);
            }
        }
        Ok(def)
    }
}

/// An input of a node.
struct Input {
    /// The position of the operand in the op's declaration.
    position: usize,
    tensor: String,
    argument: Argument,
    /// Whether the import reads the input. It reads an attribute in place of any other input.
    is_read_back: bool,
}
