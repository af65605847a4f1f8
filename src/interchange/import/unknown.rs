//! Refuses unknown ops, or records the dtypes of their outputs as the nodes that read the outputs declare them.

use shapeflow_shape_fns::{counted, lookup};

use super::super::proto::AttrKind;
use super::super::signature::{ArgumentType, signature};
use super::built::Built;
use super::frame::{Frame, Source};
use super::handle::{is_resource_op, is_table_op};
use super::importer::Importer;
use super::lists::is_list_op;
use super::structural::is_structural;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::op::OpRef;
use crate::op::dtype_number::dtype_of;
use crate::ops;

/// Maximum number of outputs of an unknown op. An unknown op has as many outputs as the nodes that read it imply.
pub(super) const MAX_OUTPUTS: usize = 64;

/// Maximum number of nodes that a message lists for each unknown op.
const SHOWN: usize = 8;

impl<'a, 'g> Importer<'a, 'g> {
    /// Returns the definition of an op of the registry, or of an op that is a part of this crate's composites.
    pub(super) fn own_definition(&self, op_type: &str) -> Option<OpRef> {
        let part = || ops::part(op_type).map(OpRef::from);
        self.options.ops.get(op_type).or_else(part)
    }

    /// Records the op of a node that the import builds, if the op is unknown.
    pub(super) fn note_op(&mut self, frame: &Frame<'a, 'g>, index: usize) {
        let node = &frame.nodes[index];
        let is_known = is_structural(&node.op)
            || is_list_op(&node.op)
            || !self.options.ops.candidates(&node.op).is_empty()
            || lookup(&node.op).is_some()
            || self.own_definition(&node.op).is_some()
            || self.functions.contains_key(node.op.as_str())
            || is_table_op(&node.op)
            || self.source.is_saved_model && is_resource_op(&node.op);
        if is_known {
            return;
        }
        let name = match self.open_functions.last() {
            Some(function) => format!("{function}/{}", node.name),
            None => node.name.clone(),
        };
        // A loop or a function may be built several times.
        self.unknown_ops.entry(&node.op).or_default().insert(name);
    }

    /// Checks that the ops of all nodes that the import has built are known. A node that nothing needs is not built.
    ///
    /// # Errors
    /// Some op is unknown. The message lists all unknown ops with their nodes.
    pub(super) fn check_ops(&mut self) -> Result<()> {
        let unknown = std::mem::take(&mut self.unknown_ops);
        if self.options.allow_unknown {
            return Ok(());
        }
        if unknown.is_empty() {
            return Ok(());
        }
        let ops = unknown.len();
        let list: Vec<String> = unknown
            .into_iter()
            .map(|(op, nodes)| {
                let more = nodes.len().saturating_sub(SHOWN);
                let shown = nodes.into_iter().take(SHOWN).collect::<Vec<_>>().join(", ");
                if more == 0 { format!("{op} ({shown})") } else { format!("{op} ({shown}, … {more} more)") }
            })
            .collect();
        let message = match ops {
            1 => format!("every op must be known, got 1 unknown op: {}", list.join("; ")),
            _ => format!(
                "every op must be known, got {ops}: {}",
                list.join("; "),
                ops = counted(ops, "unknown op")
            ),
        };
        Err(Error::new(ErrorKind::UnknownOp, Phase::Build, message)
            .with_help(
                "give ops of your own with `ImportOptions::ops(Registry::builtin().with(&OP))`; \
                 `ImportOptions::allow_unknown` imports the others without shapes, as --allow-unknown of infer and dump does",
            ))
    }

    /// Returns the error of an input of a function's node that names an output of an op of the caller's program, if the
    /// op has several outputs: such outputs have no names.
    pub(super) fn unknown_output(
        &self,
        frame: &Frame<'a, 'g>,
        number: usize,
        text: &'a str,
        built: &[Option<Built<'g>>],
    ) -> Option<Error> {
        let is_name = text.split(':').nth(1).is_some_and(|output| output.parse::<usize>().is_err());
        let Ok(Source::Node(node, _)) = frame.source(text) else { return None };
        let op = frame.nodes.get(node)?.op.as_str();
        // The export numbers the outputs of ops that TensorFlow lacks: `NODE:output:1`.
        let is_numbered = text.split(':').nth(1) == Some("output") && self.own_definition(op).is_some();
        let has_names = is_numbered
            || self.functions.contains_key(op)
            || signature(op).is_some()
            || is_list_op(op)
            || is_resource_op(op);
        if frame.depth == 0 || !is_name || has_names || built.get(node)?.as_ref()?.outputs.len() < 2 {
            return None;
        }
        let message = format!("input {number} is {text}, but the outputs of {op} have no known names");
        Some(Error::new(ErrorKind::Parse, Phase::Build, message))
    }

    /// Records in `reader_dtypes` the dtypes of outputs of unknown ops, as the nodes that read them declare them.
    pub(super) fn record_reader_dtypes(&mut self, frame: &Frame<'a, 'g>, order: &[usize]) {
        for &index in order {
            let node = &frame.nodes[index];
            for input in &node.input {
                if let Ok(Source::Node(read, output)) = frame.source(input)
                    && output < MAX_OUTPUTS
                    && lacks_signature(&frame.nodes[read].op)
                {
                    self.reader_dtypes.entry((read, output)).or_insert(None);
                }
            }
            let Some(signature) = signature(&node.op) else { continue };
            let mut number = 0;
            for input in &signature.inputs {
                let count = match (input.count, input.dtype) {
                    (Some(count), _) => frame.int(index, count).unwrap_or(0),
                    (None, ArgumentType::List(list)) => frame.types(index, list).map_or(0, <[i32]>::len),
                    _ => 1,
                };
                for position in 0..count {
                    let dtype = match input.dtype {
                        ArgumentType::Fixed(dtype) => Some(dtype),
                        ArgumentType::Attr(attr) => match frame.attr(index, attr) {
                            Some(AttrKind::Type(number)) => dtype_of(*number),
                            _ => None,
                        },
                        ArgumentType::List(list) => {
                            frame.types(index, list).and_then(|types| dtype_of(*types.get(position)?))
                        }
                    };
                    let source = node.input.get(number).and_then(|input| frame.source(input).ok());
                    number += 1;
                    let (Some(dtype), Some(Source::Node(read, output))) = (dtype, source) else { continue };
                    if let Some(known) = self.reader_dtypes.get_mut(&(read, output)) {
                        *known = known.or(Some(dtype));
                    }
                }
            }
        }
    }
}

/// Returns whether the op has no signature. If so, only the nodes that read an output of the op declare the dtype of
/// this output.
fn lacks_signature(op: &str) -> bool {
    signature(op).is_none()
}
