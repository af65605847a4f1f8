//! Values that are known while the graph is built: elements of constants, and what depends on them alone.

use rustc_hash::FxHashMap;
use shapeflow_shape_fns::{DType, Dim, PartialElements};

use super::evaluate::evaluate;
use super::{GraphData, ValueIx};
use crate::op::Body;
use crate::tensor::{Tensor, TensorView};

/// Tensors of more elements are not looked into.
const MAX_ELEMENTS: usize = 4096;
/// Constant expressions of more nodes are left to run time.
const MAX_NODES: usize = 256;

/// The elements of a small integer tensor.
pub(crate) fn elements_of(tensor: &TensorView<'_>) -> Option<Box<PartialElements>> {
    if tensor.len() > MAX_ELEMENTS {
        return None;
    }
    let ints: Vec<i64> = match tensor.dtype() {
        DType::I64 => tensor.to_vec::<i64>().ok()?,
        DType::I32 => tensor.to_vec::<i32>().ok()?.into_iter().map(i64::from).collect(),
        DType::I16 => tensor.to_vec::<i16>().ok()?.into_iter().map(i64::from).collect(),
        DType::I8 => tensor.to_vec::<i8>().ok()?.into_iter().map(i64::from).collect(),
        DType::U8 => tensor.to_vec::<u8>().ok()?.into_iter().map(i64::from).collect(),
        DType::U16 => tensor.to_vec::<u16>().ok()?.into_iter().map(i64::from).collect(),
        DType::U32 => tensor.to_vec::<u32>().ok()?.into_iter().map(i64::from).collect(),
        _ => return None,
    };
    let dims = ints.into_iter().map(Dim::known);
    PartialElements::with_sizes(tensor.sizes(), dims).ok().map(Box::new)
}

/// The elements of a value that depends on constants alone, whatever the ops are.
pub(super) fn constant_elements(data: &GraphData, value: ValueIx) -> Option<Box<PartialElements>> {
    let info = &data.values[value.at()];
    if !info.dtype.is_integer() {
        return None;
    }
    elements_of(&constant_tensor(data, value)?.view())
}

/// Evaluates a value that depends on few small constants alone.
pub(crate) fn constant_tensor(data: &GraphData, value: ValueIx) -> Option<Tensor> {
    let mut order = Vec::new();
    let mut seen = FxHashMap::default();
    let mut stack = vec![(data.values[value.at()].node, false)];
    while let Some((index, done)) = stack.pop() {
        if done {
            order.push(index);
            continue;
        }
        if seen.insert(index, ()).is_some() {
            continue;
        }
        let node = &data.nodes[index.at()];
        let small = |v: ValueIx| {
            let shape = &data.values[v.at()].shape;
            let Some(sizes) = shape.as_known() else { return false };
            let count = sizes.iter().try_fold(1usize, |count, &size| count.checked_mul(size));
            count.is_some_and(|count| count <= MAX_ELEMENTS)
        };
        let foldable = matches!(node.op.body, Body::Compute(_) | Body::Contraction { .. } | Body::Constant);
        if seen.len() > MAX_NODES || !foldable || !node.values().all(small) {
            return None;
        }
        stack.push((index, true));
        stack.extend(node.operands.iter().map(|operand| (data.values[operand.at()].node, false)));
    }
    let mut tensors: FxHashMap<ValueIx, Tensor> = FxHashMap::default();
    for index in order {
        let node = &data.nodes[index.at()];
        if let Some(tensor) = data.constants.get(&index) {
            tensors.insert(node.first_output, tensor.clone());
            continue;
        }
        let operands: Vec<TensorView<'_>> = node
            .operands
            .iter()
            .map(|operand| tensors.get(operand).map(Tensor::view))
            .collect::<Option<_>>()?;
        let outputs = evaluate(&node.op, node.given, node.attrs(), &operands).ok()?;
        drop(operands);
        tensors.extend(node.values().zip(outputs));
    }
    tensors.remove(&value)
}
