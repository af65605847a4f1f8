//! Exports a node whose op TensorFlow lacks as a call of a function, which computes the op with TensorFlow's ops. The
//! call keeps the attributes and the operands of the op, so that a model that is read has the op again.

use prost::bytes::Bytes;
use shapeflow_shape_fns::{Attrs, DType, IntoDim, TensorShape, Unknown};

use super::super::OWN_OP;
use super::super::proto::{AttrKind, NodeDef};
use super::control::{function_attr, types};
use super::library::{Returned, argument};
use super::{Exporter, constant_def, put, typed_node};
use crate::error::{Error, Result};
use crate::graph::{Graph, Node, Value, ValueIx};
use crate::op::{CompositeCx, TfFunction};
use crate::tensor::Tensor;

/// An argument of a function.
pub(super) struct Argument {
    pub dtype: DType,
    /// The number of axes, if it is known.
    pub rank: Option<usize>,
}

impl Exporter<'_> {
    /// Returns the name of a function that computes the op of a node. `attrs` are the attributes of the node without
    /// those that are arguments. Returns `None` if TensorFlow cannot compute the op.
    ///
    /// # Errors
    /// An allocation is refused.
    pub(super) fn function_of_op(
        &mut self,
        node: &Node,
        arguments: &[Argument],
        attrs: &Attrs,
    ) -> Result<Option<String>> {
        let Some(function) = node.op.tensorflow_function() else { return Ok(None) };
        let op = node.op.name();
        let signature: Vec<(DType, Option<usize>)> =
            arguments.iter().map(|argument| (argument.dtype, argument.rank)).collect();
        let key = format!("{op} {signature:?} {attrs}");
        if let Some(known) = self.library.of_ops.get(&key) {
            return Ok(Some(known.clone()));
        }
        let name = match function {
            TfFunction::Composed(build) => {
                self.built_function(node, arguments, attrs, &|values| build(&CompositeCx { attrs }, values))?
            }
            TfFunction::Assertion => self.function_with(node, arguments, attrs, &Graph::new(), None)?,
        };
        if let Some(name) = &name {
            self.library.of_ops.insert(key, name.clone());
        }
        Ok(name)
    }

    /// Adds the function that `build` makes of the values of the arguments, and returns its name. Returns `None` if
    /// `build` cannot make it, or if TensorFlow lacks an op in it.
    pub(super) fn built_function(
        &mut self,
        node: &Node,
        arguments: &[Argument],
        attrs: &Attrs,
        build: &dyn for<'g> Fn(&[Value<'g>]) -> Result<Vec<Value<'g>>>,
    ) -> Result<Option<String>> {
        let graph = Graph::new();
        let built = arguments_of(&graph, arguments).and_then(|values| {
            let results = build(&values)?;
            results.into_iter().map(|result| result.ok()?.index()).collect::<Result<Vec<ValueIx>>>()
        });
        match built {
            Ok(values) => self.function_with(node, arguments, attrs, &graph, Some(&values)),
            Err(_) => Ok(None),
        }
    }

    /// Adds the function that returns these values of the graph, or that asserts if there are none.
    fn function_with(
        &mut self,
        node: &Node,
        arguments: &[Argument],
        attrs: &Attrs,
        graph: &Graph,
        values: Option<&[ValueIx]>,
    ) -> Result<Option<String>> {
        let op = node.op.name();
        let functions = self.library.len();
        let data = graph.read();
        let names = || (0..arguments.len()).map(argument);
        let mut inner = Exporter::new(&data, names());
        inner.library = std::mem::take(&mut self.library);
        inner.is_function_of_op = true;
        let results = match values {
            Some(values) => {
                let outputs: Vec<u32> = values.iter().map(|value| value.0).collect();
                inner.region(&names().collect::<Vec<_>>(), &outputs)
            }
            None => inner.assertion(arguments, attrs),
        };
        let (nodes, missing) = (inner.nodes, inner.missing);
        if !missing.is_empty() {
            self.refused = self.refused.or(inner.first_refused);
        }
        self.library = inner.library;
        let results = results?;
        let expected: Vec<DType> = node.values().map(|value| self.dtype(value)).collect();
        let got: Vec<DType> = results.iter().map(|result| result.dtype).collect();
        if got != expected {
            return Err(Error::msg(format!("the function of {op} gives {got:?} and not {expected:?}")));
        }
        let name = if missing.is_empty() {
            let dtypes: Vec<DType> = arguments.iter().map(|argument| argument.dtype).collect();
            // A node whose op has the name of a function would call the function.
            Some(self.library.add(&format!("shapeflow_{op}"), &dtypes, nodes, &results))
        } else {
            self.library.truncate(functions);
            None
        };
        Ok(name)
    }

    /// Adds the nodes of an assertion, and returns the tensor that it passes on.
    fn assertion(&mut self, arguments: &[Argument], attrs: &Attrs) -> Result<Vec<Returned>> {
        // The message, then an operand and the text after it, and so on.
        let mut texts = std::iter::once(attrs.str("message")).chain(attrs.strs("after"));
        let mut inputs = vec![argument(1)];
        let mut dtypes = Vec::new();
        for (number, given) in arguments.iter().enumerate().skip(1) {
            if number > 1 {
                inputs.push(argument(number));
                dtypes.push(given.dtype);
            }
            if let Some(text) = texts.next() {
                inputs.push(self.extra("text", constant_def(&Tensor::from(text))?));
                dtypes.push(DType::String);
            }
        }
        let mut assert = typed_node("Assert", inputs, &[]);
        put(&mut assert, "T", types(&dtypes));
        let assert = self.extra("assert", assert);
        let dtype = arguments[0].dtype;
        let inputs = vec![argument(0), format!("^{assert}")];
        let passed = typed_node("Identity", inputs, &[("T", dtype)]);
        Ok(vec![Returned { tensor: self.extra("passed", passed), dtype }])
    }
}

/// Turns a node of an op that TensorFlow lacks into a call of `function`. `arguments` are the dtypes of its inputs, and
/// `results` the dtypes of its outputs.
pub(super) fn make_call(def: &mut NodeDef, function: &str, arguments: &[DType], results: &[DType]) {
    let op = std::mem::replace(&mut def.op, "StatefulPartitionedCall".to_string());
    put(def, OWN_OP, AttrKind::S(Bytes::from(op)));
    put(def, "f", function_attr(function));
    put(def, "Tin", types(arguments));
    put(def, "Tout", types(results));
}

/// Adds the arguments of a function to its graph. No size is known, so that calls with other sizes share the function.
fn arguments_of<'g>(graph: &'g Graph, arguments: &[Argument]) -> Result<Vec<Value<'g>>> {
    let input = |(number, given): (usize, &Argument)| {
        let shape = match given.rank {
            Some(rank) => TensorShape::new((0..rank).map(|_| Unknown.into_dim())),
            None => TensorShape::unranked(),
        };
        graph.input(&argument(number), given.dtype, shape)
    };
    arguments.iter().enumerate().map(input).collect()
}

#[cfg(test)]
mod tests {
    use super::super::super::signature::signature;
    use crate::op::{Registry, TfOp};
    use crate::ops;

    /// The ops that TensorFlow can neither run nor compute with a function. Composites of this crate expand to most of
    /// them. Beside these, TensorFlow lacks a user's ops, and ops on lists of tensors.
    const MISSING: &[&str] = &[
        "complex_prod",
        "convolve_grouped_windows",
        "convolve_groups",
        "dilation_2d_filter_positions",
        "dilation_2d_input_positions",
        "flags_of_axes",
        "list_as_shape",
        "max_pool_positions",
        "positions_of_equals",
        "quantize_in_range",
        "quantized_bytes",
        "quantized_sum",
        "quantized_zero",
        "random_categorical_with_state",
        "random_crop_with_state",
        "random_parameterized_truncated_normal_with_state",
        "random_poisson_with_state",
        "requantize_into_range",
        "resize_with_kernel",
        "sample_candidates_with_state",
        "sample_distorted_bounding_box_with_state",
        "snap_to_quantized",
        "sum_at_equals",
        "uniform_integers",
        "uniform_numbers",
        "uniform_ratio",
        "uniform_slice",
        "uniform_sum",
        "ragged_matmul",
    ];

    /// Every op that TensorFlow can neither run nor compute with a function. The docs of `to_graphdef` describe them.
    #[test]
    fn the_ops_that_tensorflow_lacks_are_known() {
        let registry = Registry::builtin();
        let is_missing = |def: &&crate::op::OpDef| {
            let is_composite = matches!(def.body, crate::op::Body::Composite(_));
            let is_lookup = def.table_operands().is_some() || def.held_table().is_some();
            let is_removed = |spelling: &TfOp| {
                signature(spelling.op_type).is_some_and(|signature| signature.removed_in.is_some())
            };
            def.tensorflow_ops().iter().all(is_removed)
                && def.tensorflow_function().is_none()
                && !is_composite
                && !is_lookup
        };
        let mut missing: Vec<&str> = registry.iter().filter(is_missing).map(|def| def.name()).collect();
        missing.extend(ops::parts().filter(is_missing).map(|def| def.name()));
        assert_eq!(missing, MISSING);
    }
}
