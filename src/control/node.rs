//! `add_node`: adds a node of control flow. The regions of the node give the dtypes and shapes of its results.

use std::panic::Location;
use std::sync::Arc;

use shapeflow_shape_fns::{Attr, Attribute, Attrs, DType, InferenceContext, ShapeError, TensorShape};

use super::recorder::Recorded;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::{Graph, Value};
use crate::op::{Body, Control, OpDef};

/// The attribute with the dtypes of the results.
const DTYPES: &str = "dtypes";

/// The attribute with the shapes of the results.
const SHAPES: &str = "shapes";

/// The attributes of a node of control flow.
static ATTRIBUTES: [Attribute; 2] = [Attribute::dtypes(DTYPES), Attribute::shapes(SHAPES)];

/// Adds a node of control flow.
///
/// # Errors
/// An operand is poisoned or belongs to another graph.
pub(super) fn add_node<'g>(
    graph: &'g Graph,
    name: &'static str,
    control: Arc<dyn Control>,
    operands: &[Value<'g>],
    results: &[(DType, TensorShape)],
    location: &'static Location<'static>,
) -> Result<Vec<Value<'g>>> {
    let def = OpDef::with_body(name, Body::Control(control))
        .attrs(&ATTRIBUTES)
        .outputs(|attrs, _| dtypes(attrs).len())
        .shape_fn(set_shapes)
        .dtype_rule(|_, attrs| Ok(dtypes(attrs).to_vec()));
    let dtypes: Arc<[DType]> = results.iter().map(|(dtype, _)| *dtype).collect();
    let shapes: Arc<[TensorShape]> = results.iter().map(|(_, shape)| shape.clone()).collect();
    let builder = graph.op(Arc::new(def)).data_all(operands);
    let builder = builder.attr(DTYPES, Attr::DTypes(dtypes)).attr(SHAPES, Attr::Shapes(shapes));
    builder.finish_all_at(location).map(|values| values.into_vec())
}

fn dtypes(attrs: &Attrs) -> &[DType] {
    attrs.dtypes(DTYPES)
}

/// Returns the shapes of the results. In a run, the dimensions that the run knows are numbers.
pub(super) fn result_shapes(attrs: &Attrs) -> &[TensorShape] {
    attrs.shapes(SHAPES)
}

fn set_shapes(cx: &mut InferenceContext<'_>) -> std::result::Result<(), ShapeError> {
    for (number, shape) in result_shapes(cx.attrs()).iter().enumerate() {
        let shape = cx.table().import(shape);
        cx.set_output(number, shape);
    }
    Ok(())
}

/// The operands of a node with several regions: each value once, and for each region the operands that it captures.
#[derive(Default)]
pub(super) struct RegionOperands<'g> {
    pub values: Vec<Value<'g>>,
}

impl<'g> RegionOperands<'g> {
    /// Adds the captures of a region that are not operands yet. Returns the operand of each capture. The first `fixed`
    /// operands are the selector of a branch, or the state and the rows of a loop. They are never operands of captures:
    /// a captured value that is also among them becomes a further operand.
    pub(super) fn add(&mut self, recorded: &Recorded<'g>, fixed: usize) -> Vec<usize> {
        let mut indices = Vec::with_capacity(recorded.captures.len());
        for capture in &recorded.captures {
            let known = self.values[fixed..].iter().position(|value| value.id() == capture.id());
            indices.push(known.map_or(self.values.len(), |index| index + fixed));
            if known.is_none() {
                self.values.push(*capture);
            }
        }
        indices
    }
}

/// Adds to an error where a value comes from: `the predicate comes from less at src/main.rs:7:22`.
pub(super) fn with_origin(error: Error, what: &str, value: Value<'_>) -> Error {
    let Ok(index) = value.index() else { return error };
    let data = value.graph().read();
    let node = data.values[index.index()].node;
    error
        .note(format!("{what} comes from {}", data.node_label(node)), Some(data.nodes[node.index()].location))
}

/// Returns the error of a builder call of control flow.
pub(super) fn refused(
    kind: ErrorKind,
    op: &'static str,
    message: impl Into<String>,
    location: &'static Location<'static>,
) -> Error {
    Error::new(kind, Phase::Build, message).with_op(op, op).at(location)
}
