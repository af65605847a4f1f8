//! `const_fold`: the value of a node that depends only on constants, while the graph is built.

use rustc_hash::{FxHashMap, FxHashSet};
use shapeflow_shape_fns::PartialElements;

use super::{GraphData, NodeIx, ValueIx};
use crate::eval::{MAX_ELEMENTS, elements_of, evaluate};
use crate::op::Body;
use crate::tensor::{Tensor, TensorView};

/// The maximum number of nodes of a constant expression that is folded. The run evaluates a larger expression.
const MAX_NODES: usize = 256;

impl GraphData {
    /// Returns the elements of an integer value that depends only on constants.
    pub(super) fn constant_elements(&self, value: ValueIx) -> Option<Box<PartialElements>> {
        if !self.values[value.index()].dtype.is_integer() {
            return None;
        }
        elements_of(&self.const_fold(value)?.view())
    }

    /// Computes the tensor of a value that depends only on constants; `None` for any other value, and if the
    /// expression has more than [`MAX_NODES`] nodes or a tensor of more than [`MAX_ELEMENTS`] elements.
    pub(crate) fn const_fold(&self, value: ValueIx) -> Option<Tensor> {
        self.const_fold_with(value, &FxHashMap::default())
    }

    /// Computes the tensor of a value as [`GraphData::const_fold`] does, with these tensors of inputs.
    pub(crate) fn const_fold_with(
        &self,
        value: ValueIx,
        inputs: &FxHashMap<ValueIx, Tensor>,
    ) -> Option<Tensor> {
        let mut tensors: FxHashMap<ValueIx, Tensor> = FxHashMap::default();
        for index in self.constant_nodes(value, inputs)? {
            let node = &self.nodes[index.index()];
            if let Some(tensor) = self.constants.get(&index).or_else(|| inputs.get(&node.first_output)) {
                tensors.insert(node.first_output, tensor.clone());
                continue;
            }
            let operands: Vec<TensorView<'_>> = node
                .operands
                .iter()
                .map(|operand| tensors.get(operand).map(Tensor::view))
                .collect::<Option<_>>()?;
            let outputs = evaluate(&node.op, node.given_operands, node.attrs(), &operands).ok()?;
            drop(operands);
            tensors.extend(node.values().zip(outputs));
        }
        tensors.remove(&value)
    }

    /// Returns the nodes that a value depends on, operands first, if all of them can be folded. Inputs that have a
    /// tensor can be folded.
    fn constant_nodes(&self, value: ValueIx, inputs: &FxHashMap<ValueIx, Tensor>) -> Option<Vec<NodeIx>> {
        let mut order = Vec::new();
        let mut seen = FxHashSet::default();
        let mut stack = vec![(self.values[value.index()].node, false)];
        while let Some((index, done)) = stack.pop() {
            if done {
                order.push(index);
                continue;
            }
            if !seen.insert(index) {
                continue;
            }
            let node = &self.nodes[index.index()];
            let foldable =
                matches!(node.op.body, Body::Compute(_) | Body::Contraction { .. } | Body::Constant)
                    || inputs.contains_key(&node.first_output);
            // A dimension in an attribute has no value before the run.
            let mut is_known =
                node.derived().iter().all(|(_, dims)| dims.iter().all(|dim| dim.as_known().is_some()));
            node.attrs().symbols(&mut |_| is_known = false);
            let is_small = is_known && node.values().all(|value| self.is_small(value));
            if seen.len() > MAX_NODES || !foldable || !is_small {
                return None;
            }
            stack.push((index, true));
            stack.extend(node.operands.iter().map(|operand| (self.values[operand.index()].node, false)));
        }
        Some(order)
    }

    /// Returns whether a value has at most [`MAX_ELEMENTS`] elements.
    fn is_small(&self, value: ValueIx) -> bool {
        let Some(sizes) = self.values[value.index()].shape.as_known() else { return false };
        let count = sizes.iter().try_fold(1usize, |count, &size| count.checked_mul(size));
        count.is_some_and(|count| count <= MAX_ELEMENTS)
    }
}
