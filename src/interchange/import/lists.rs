//! Imports the ops of TensorFlow's `TensorList` and `TensorArrayV3` families, and the ops between ragged tensors and
//! variants, as ops on tensor lists.
//!
//! In TensorFlow, a `TensorArray` is a resource that ops change. An edge of dtype float, the flow, orders these ops.
//! Here the flow itself is the list, and the handle has no use.

use shapeflow_shape_fns::{Attr, Attrs, DType, Dim, IntoDim, TensorShape, Unknown, counted};

use super::super::list_ops::{ListOperand, row_of};
use super::super::proto::AttrKind;
use super::super::shape;
use super::attrs::exported_attrs;
use super::built::{Built, ImportedValue};
use super::frame::{Frame, damaged};
use super::importer::Importer;
use crate::error::Result;
use crate::graph::Value;
use crate::op::dtype_number::dtype_of;
use crate::tensor::Tensor;

/// The greatest number of ragged axes of a tensor from a variant.
const MAX_RAGGED_RANK: i64 = 64;

/// Returns whether the op type is an op on lists.
pub(super) fn is_list_op(op: &str) -> bool {
    row_of(op).is_some() || op == "TensorArrayCloseV3"
}

/// Returns whether the node passes a list on.
pub(super) fn passes_list(op: &str, inputs: &[ImportedValue<'_>]) -> bool {
    matches!(op, "Identity" | "StopGradient" | "PreventGradient" | "Snapshot")
        && matches!(inputs, [input] if input.value.dtype() == DType::Variant)
}

impl<'a, 'g> Importer<'a, 'g> {
    /// Imports a node for which [`is_list_op`] holds.
    pub(super) fn list_node(
        &mut self,
        frame: &Frame<'a, 'g>,
        index: usize,
        name: &str,
        inputs: &[ImportedValue<'g>],
    ) -> Result<Built<'g>> {
        let op = frame.nodes[index].op.as_str();
        let Some(row) = row_of(op) else { return Ok(Built::default()) };
        let input = |number: usize| match inputs.get(number) {
            Some(input) => Ok(input.value),
            None => damaged(format!("{op} must have more than {number}", number = counted(number, "input"))),
        };
        // The shape of the items, according to the list, the shape operand and the rows.
        let mut known = TensorShape::unranked();
        if let Some(list) = row.list
            && let Some(shape) = self.item_shapes.get(&input(list)?.id())
        {
            known = shape.clone();
        }
        if let Some(rows) = row.rows {
            known = joined(&known, &sizes_only(&input(rows)?.shape().slice(1..)));
        }
        if let Some((item, axis)) = row.item {
            let item = sizes_only(&input(item)?.shape().slice(axis..));
            // A list that declares no shape takes items of any shape.
            if !item.is_compatible_with(&known) {
                known = known.most_specific_compatible_shape(&item);
            }
        }
        let mut operands = Vec::with_capacity(row.operands.len());
        for operand in row.operands {
            operands.push(match *operand {
                ListOperand::All => {
                    operands.extend(inputs.iter().map(|input| input.value));
                    continue;
                }
                ListOperand::Input(number) => input(number)?,
                ListOperand::Shape(number) => {
                    let value = input(number)?;
                    known = joined(&known, &self.shape_in(value));
                    value
                }
                ListOperand::ShapeAttr => {
                    let shape = self.declared_item_shape(frame, index)?;
                    known = joined(&known, &shape);
                    self.graph.constant_at(shape_tensor(&shape)?, self.location)
                }
                ListOperand::Nothing => {
                    self.graph.constant_at(Tensor::zeros(DType::I64, &[0])?, self.location)
                }
            });
        }
        let dtype =
            ["element_dtype", "dtype", "Tvalues"].iter().find_map(|attr| match frame.attr(index, attr) {
                Some(AttrKind::Type(number)) => dtype_of(*number),
                _ => None,
            });
        let mut attrs = Attrs::new();
        if let Some(axis) = row.axes_from {
            let axes = sizes_only(&known).slice(axis..);
            attrs.insert("shape", Attr::Shape(axes));
        }
        if let Some(dtype) = dtype {
            attrs.insert("dtype", dtype);
        }
        if let Some(AttrKind::I(count)) = frame.attr(index, "num_elements") {
            attrs.insert("count", *count);
        }
        for attr in ["input_ragged_rank", "output_ragged_rank"] {
            if let Some(AttrKind::I(rank)) = frame.attr(index, attr) {
                if !(-1..=MAX_RAGGED_RANK).contains(rank) {
                    return damaged(format!("{attr} must be at most {MAX_RAGGED_RANK}, got {rank}"));
                }
                attrs.insert(attr, *rank);
            }
        }
        if let Some(AttrKind::B(is_batched)) = frame.attr(index, "batched_input") {
            attrs.insert("batched_input", *is_batched);
        }
        if let Some(AttrKind::Type(number)) = frame.attr(index, "Tsplits") {
            attrs.insert("Tsplits", dtype_of(*number).unwrap_or(DType::I64));
        }
        if let Some((attr, value)) = row.flag {
            attrs.insert(attr, value);
        }
        for attr in ["resize_if_index_out_of_bounds", "dynamic_size"] {
            if let Some(AttrKind::B(resizes)) = frame.attr(index, attr) {
                attrs.insert("resizes", *resizes);
            }
        }
        if let Some(AttrKind::Type(number)) = frame.attr(index, "shape_type") {
            attrs.insert("out_type", dtype_of(*number).unwrap_or(DType::I32));
        }
        // The export keeps what TensorFlow's ops on lists cannot express.
        let exported = exported_attrs(frame, index, &self.budget)?;
        for attr in ["once", "resizes"] {
            if let Some(value) = exported.get(attr) {
                attrs.insert(attr, value.clone());
            }
        }
        let builder = self.graph.op(row.def).data_all(&operands).attrs(attrs);
        let mut values: Vec<Value<'g>> = builder.finish_all_at(self.location)?.into_vec();
        for value in &values {
            if value.dtype() == DType::Variant && known.rank().is_some() {
                self.item_shapes.insert(value.id(), known.clone());
            }
        }
        if op == "TensorArrayV3" {
            // The node has two outputs, the handle and the flow. The list stands for both.
            values.push(values[0]);
        }
        Ok(Built::of(values.into_iter().map(|value| value.named(name)).collect()))
    }

    /// Returns the shape of the items that the attributes of a node declare.
    ///
    /// # Errors
    /// The shape is damaged.
    fn declared_item_shape(&self, frame: &Frame<'a, 'g>, index: usize) -> Result<TensorShape> {
        let shape = |name: &str| match frame.attr(index, name) {
            Some(AttrKind::Shape(proto)) => {
                shape::from_proto(proto, &self.budget).map(|shape| sizes_only(&shape))
            }
            _ => Ok(TensorShape::unranked()),
        };
        // A `TensorArrayConcatV3` declares the axes after the first axis.
        match shape("element_shape_except0")?.dims() {
            Some(rest) => {
                Ok(TensorShape::new(std::iter::once(IntoDim::into_dim(Unknown)).chain(rest.iter().cloned())))
            }
            None => shape("element_shape"),
        }
    }

    /// Returns the shape that the elements of a value give, as far as they are known.
    fn shape_in(&self, value: Value<'g>) -> TensorShape {
        let unknown = || IntoDim::into_dim(Unknown);
        if let Some(tensor) = self.constant(value)
            && let Some(elements) = integers(&tensor)
        {
            if tensor.sizes().is_empty() {
                return TensorShape::unranked();
            }
            let dim = |size: i64| if size < 0 { unknown() } else { Dim::known(size) };
            return TensorShape::new(elements.into_iter().map(dim));
        }
        let shape = value.shape();
        let rank = shape.dims().and_then(|dims| dims.first()?.as_known());
        match rank.and_then(|rank| usize::try_from(rank).ok()) {
            Some(rank) => TensorShape::new((0..rank).map(|_| unknown())),
            None => TensorShape::unranked(),
        }
    }
}

/// Returns the elements of an i32 or i64 tensor.
pub(super) fn integers(tensor: &Tensor) -> Option<Vec<i64>> {
    match tensor.dtype() {
        DType::I32 => Some(tensor.as_slice::<i32>().ok()?.iter().map(|&size| size.into()).collect()),
        DType::I64 => tensor.to_vec::<i64>().ok(),
        _ => None,
    }
}

/// Returns the shape with a new unknown for each dimension that is not a number. Lists outlive the regions whose
/// symbols such a dimension may mention.
fn sizes_only(shape: &TensorShape) -> TensorShape {
    match shape.dims() {
        Some(dims) => TensorShape::new(
            dims.iter().map(|dim| if dim.is_known() { dim.clone() } else { IntoDim::into_dim(Unknown) }),
        ),
        None => TensorShape::unranked(),
    }
}

/// Merges two shapes of numbers and unknowns. If the two shapes contradict each other, the result keeps the first
/// shape's rank or size, and the run refuses the items.
fn joined(a: &TensorShape, b: &TensorShape) -> TensorShape {
    let (Some(x), Some(y)) = (a.dims(), b.dims()) else {
        return if a.rank().is_some() { a.clone() } else { b.clone() };
    };
    if x.len() != y.len() {
        return a.clone();
    }
    TensorShape::new(x.iter().zip(y).map(|(x, y)| if x.is_known() { x.clone() } else { y.clone() }))
}

/// Returns a shape as the vector of its sizes, with -1 for an unknown size. Returns the scalar -1 for an unknown rank.
fn shape_tensor(shape: &TensorShape) -> Result<Tensor> {
    match shape.dims() {
        Some(dims) => {
            let sizes: Vec<i64> = dims.iter().map(|dim| dim.as_known().unwrap_or(-1)).collect();
            Tensor::from_slice(&[sizes.len()], &sizes)
        }
        None => Ok(Tensor::scalar(-1i64)),
    }
}
