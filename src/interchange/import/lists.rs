//! Imports the ops of TensorFlow's `TensorList` and `TensorArrayV3` families, its ops on optionals, and the ops between
//! ragged tensors and variants, as ops on tensor lists.
//!
//! In TensorFlow, a `TensorArray` is a resource that ops change. An edge of dtype float, the flow, orders these ops.
//! Here the flow itself is the list, and the handle has no use.

use shapeflow_shape_fns::{Attr, Attrs, DType, Dim, IntoDim, TensorShape, Unknown, counted};

use super::super::proto::AttrKind;
use super::super::shape;
use super::attrs::exported_attrs;
use super::built::{Built, ImportedValue};
use super::frame::{Frame, damaged};
use super::importer::Importer;
use super::list_items::{ItemLists, ListItems};
use crate::error::Result;
use crate::graph::Value;
use crate::op::OpDef;
use crate::op::dtype_number::dtype_of;
use crate::ops::list::{arithmetic, concat_lists, gather, item, join, make, optional, push, ragged, size};
use crate::tensor::Tensor;

/// An operand of a list op.
#[derive(Clone, Copy)]
enum ListOperand {
    /// An input of the node.
    Input(usize),
    /// The input with the shape of the items.
    Shape(usize),
    /// The shape of the items that attribute `element_shape` or `element_shape_except0` of the node gives.
    ShapeAttr,
    /// A vector without elements.
    Nothing,
    /// All inputs.
    All,
}
use ListOperand::{All, Input, Nothing, Shape, ShapeAttr};

/// How a node becomes a list op.
struct ListOp {
    op: &'static str,
    def: &'static OpDef,
    operands: &'static [ListOperand],
    /// The numbers of the inputs that are lists whose items the node's list, or the node's output, gets.
    lists: &'static [usize],
    /// Whether all inputs are such lists.
    all_are_lists: bool,
    /// Whether the node makes a list without items.
    is_empty: bool,
    /// The number of the input whose rows are the items.
    rows: Option<usize>,
    /// The input that becomes an item, and the number of its axes before the axes of items.
    item: Option<(usize, i64)>,
    /// The node's output contains the dims of the items' axes from this axis on; `None` if the output contains no dims
    /// of items.
    axes_from: Option<i64>,
    /// An attribute of the list op that every such node sets.
    flag: Option<(&'static str, bool)>,
}

const fn row(op: &'static str, def: &'static OpDef, operands: &'static [ListOperand]) -> ListOp {
    ListOp {
        op,
        def,
        operands,
        lists: &[],
        all_are_lists: false,
        is_empty: false,
        rows: None,
        item: None,
        axes_from: None,
        flag: None,
    }
}

impl ListOp {
    const fn lists(self, inputs: &'static [usize]) -> ListOp {
        ListOp { lists: inputs, ..self }
    }

    const fn all_lists(self) -> ListOp {
        ListOp { all_are_lists: true, ..self }
    }

    const fn empty(self) -> ListOp {
        ListOp { is_empty: true, ..self }
    }

    const fn axes_from(self, axis: i64) -> ListOp {
        ListOp { axes_from: Some(axis), ..self }
    }

    const fn item(self, input: usize) -> ListOp {
        ListOp { item: Some((input, 0)), ..self }
    }

    const fn item_rows(self, input: usize) -> ListOp {
        ListOp { item: Some((input, 1)), ..self }
    }

    const fn flag(self, attr: &'static str, value: bool) -> ListOp {
        ListOp { flag: Some((attr, value)), ..self }
    }

    const fn rows(self, input: usize) -> ListOp {
        ListOp { rows: Some(input), ..self }
    }
}

/// The greatest number of ragged axes of a tensor from a variant.
const MAX_RAGGED_RANK: i64 = 64;

static ROWS: &[ListOp] = &[
    row("EmptyTensorList", &make::EMPTY, &[Shape(0), Input(1)]).empty(),
    row("OptionalFromValue", &optional::FROM_VALUE, &[All]),
    row("OptionalGetValue", &optional::GET_VALUE, &[Input(0)]),
    row("OptionalHasValue", &optional::HAS_VALUE, &[Input(0)]),
    row("OptionalNone", &optional::NONE, &[]),
    row("RaggedTensorFromVariant", &ragged::FROM_VARIANT, &[Input(0)]),
    row("RaggedTensorToVariant", &ragged::TO_VARIANT, &[All]),
    row("TensorArrayConcatV3", &join::CONCAT, &[Input(1), ShapeAttr, Nothing]).axes_from(1),
    row("TensorArrayGatherV3", &gather::GATHER, &[Input(2), Input(1), ShapeAttr]).axes_from(0).lists(&[2]),
    row("TensorArrayReadV3", &item::GET, &[Input(2), Input(1), ShapeAttr]).axes_from(0).lists(&[2]),
    row("TensorArrayScatterV3", &gather::SCATTER_INTO, &[Input(3), Input(2), Input(1)])
        .lists(&[3])
        .item_rows(2)
        .flag("resizes", false),
    row("TensorArraySizeV3", &size::LENGTH, &[Input(1)]),
    row("TensorArraySplitV3", &join::SPLIT, &[Input(1), ShapeAttr, Input(2)]),
    row("TensorArrayV3", &make::RESERVE, &[ShapeAttr, Input(0)]).empty(),
    row("TensorArrayWriteV3", &item::SET, &[Input(3), Input(1), Input(2)])
        .lists(&[3])
        .item(2)
        .flag("once", true),
    row("TensorListConcat", &join::CONCAT, &[Input(0), ShapeAttr, Nothing]).axes_from(1),
    row("TensorListConcatLists", &concat_lists::DEF, &[Input(0), Input(1)]).lists(&[0, 1]),
    row("TensorListConcatV2", &join::CONCAT, &[Input(0), Shape(1), Input(2)]).axes_from(1),
    row("TensorListElementShape", &size::ELEMENT_SHAPE, &[Input(0)]),
    row("TensorListFromTensor", &make::FROM_TENSOR, &[Input(0), Shape(1)]).rows(0),
    row("TensorListGather", &gather::GATHER, &[Input(0), Input(1), Shape(2)]).axes_from(0).lists(&[0]),
    row("TensorListGetItem", &item::GET, &[Input(0), Input(1), Shape(2)]).axes_from(0).lists(&[0]),
    row("TensorListLength", &size::LENGTH, &[Input(0)]),
    row("TensorListPopBack", &push::POP, &[Input(0), Shape(1)]).axes_from(0).lists(&[0]),
    row("TensorListPushBack", &push::PUSH, &[Input(0), Input(1)]).lists(&[0]).item(1),
    row("TensorListReserve", &make::RESERVE, &[Shape(0), Input(1)]).empty(),
    row("TensorListResize", &size::RESIZE, &[Input(0), Input(1)]).lists(&[0]),
    row("TensorListScatter", &gather::SCATTER, &[Input(0), Input(1), Shape(2)]).rows(0),
    row("TensorListScatterIntoExistingList", &gather::SCATTER_INTO, &[Input(0), Input(1), Input(2)])
        .lists(&[0])
        .item_rows(1),
    row("TensorListScatterV2", &gather::SCATTER, &[Input(0), Input(1), Shape(2), Input(3)]).rows(0),
    row("TensorListSetItem", &item::SET, &[Input(0), Input(1), Input(2)]).lists(&[0]).item(2),
    row("TensorListSplit", &join::SPLIT, &[Input(0), Shape(1), Input(2)]),
    row("TensorListStack", &gather::STACK, &[Input(0), Shape(1)]).axes_from(0).lists(&[0]),
];

/// The ops that also take other tensors than lists: see [`takes_lists`].
static SHARED: &[ListOp] = &[
    row("AddN", &arithmetic::ADD_N, &[All]).all_lists(),
    row("ZerosLike", &arithmetic::ZEROS, &[Input(0)]).lists(&[0]),
];

fn row_of(op: &str) -> Option<&'static ListOp> {
    ROWS.binary_search_by(|row| row.op.cmp(op)).ok().map(|index| &ROWS[index])
}

fn shared_row(op: &str) -> Option<&'static ListOp> {
    SHARED.iter().find(|row| row.op == op)
}

/// Returns the op types on lists, sorted by name.
pub(super) fn list_ops() -> impl Iterator<Item = &'static str> {
    ROWS.iter().map(|row| row.op)
}

/// Returns whether the op type is an op on lists.
pub(super) fn is_list_op(op: &str) -> bool {
    row_of(op).is_some() || op == "TensorArrayCloseV3"
}

/// Returns whether the node is an op on lists, although its op type also takes other tensors.
pub(super) fn takes_lists(op: &str, inputs: &[ImportedValue<'_>]) -> bool {
    shared_row(op).is_some() && are_lists(inputs)
}

/// Returns whether the node passes a list on.
pub(super) fn passes_list(op: &str, inputs: &[ImportedValue<'_>]) -> bool {
    matches!(op, "Identity" | "StopGradient" | "PreventGradient" | "Snapshot") && are_lists(inputs)
}

fn are_lists(inputs: &[ImportedValue<'_>]) -> bool {
    !inputs.is_empty() && inputs.iter().all(|input| input.value.dtype() == DType::Variant)
}

impl<'a, 'g> Importer<'a, 'g> {
    /// Imports a node for which [`is_list_op`] or [`takes_lists`] holds.
    pub(super) fn list_node(
        &mut self,
        frame: &Frame<'a, 'g>,
        index: usize,
        name: &str,
        inputs: &[ImportedValue<'g>],
    ) -> Result<Built<'g>> {
        let op = frame.nodes[index].op.as_str();
        let Some(row) = row_of(op).or_else(|| shared_row(op)) else { return Ok(Built::default()) };
        let input = |number: usize| match inputs.get(number) {
            Some(input) => Ok(input.value),
            None => damaged(format!("{op} must have more than {number}", number = counted(number, "input"))),
        };
        let mut items = match row.is_empty {
            true => ListItems { shape: TensorShape::unranked(), lists: ItemLists::None },
            false => ListItems::unknown(),
        };
        let lists = if row.all_are_lists { (0..inputs.len()).collect() } else { row.lists.to_vec() };
        for (position, number) in lists.into_iter().enumerate() {
            let list = self.items_of(input(number)?);
            items = if position == 0 { list } else { items.common(&list) };
        }
        // The shape of the items, according to the lists, the shape operand and the rows.
        let mut known = items.shape;
        if let Some(rows) = row.rows {
            known = joined(&known, &sizes_only(&input(rows)?.shape().slice(1..)));
        }
        if let Some((item, axis)) = row.item {
            let item = input(item)?;
            if item.dtype() == DType::Variant {
                items.lists = items.lists.common(&ItemLists::of(self.items_of(item)));
            }
            let shape = sizes_only(&item.shape().slice(axis..));
            // A list that declares no shape takes items of any shape.
            if !shape.is_compatible_with(&known) {
                known = known.most_specific_compatible_shape(&shape);
            }
        }
        let mut operands = Vec::with_capacity(row.operands.len());
        for operand in row.operands {
            operands.push(match *operand {
                All => {
                    operands.extend(inputs.iter().map(|input| input.value));
                    continue;
                }
                Input(number) => input(number)?,
                Shape(number) => {
                    let value = input(number)?;
                    known = joined(&known, &self.shape_in(value));
                    value
                }
                ShapeAttr => {
                    let shape = self.declared_item_shape(frame, index)?;
                    known = joined(&known, &shape);
                    self.graph.constant_at(shape_tensor(&shape)?, self.location)
                }
                Nothing => self.graph.constant_at(Tensor::zeros(DType::I64, &[0])?, self.location),
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
        if let (Some(AttrKind::List(types)), Some(AttrKind::List(shapes))) =
            (frame.attr(index, "output_types"), frame.attr(index, "output_shapes"))
        {
            let dtypes: Option<Vec<DType>> = types.r#type.iter().map(|number| dtype_of(*number)).collect();
            let Some(dtypes) = dtypes else {
                return damaged(format!("{op} must give tensors of known dtypes"));
            };
            let shapes = shapes.shape.iter().map(|proto| shape::from_proto(proto, &self.budget));
            let shapes: Vec<TensorShape> =
                shapes.map(|shape| Ok(sizes_only(&shape?))).collect::<Result<_>>()?;
            attrs.insert("dtypes", Attr::DTypes(dtypes.into()));
            attrs.insert("shapes", Attr::Shapes(shapes.into()));
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
        items.shape = known;
        // The last output of a node that reads items is an item, and the other outputs are lists.
        let item_output = row.axes_from.map(|_| values.len() - 1);
        for (number, value) in values.iter().enumerate().filter(|(_, value)| value.dtype() == DType::Variant)
        {
            let items = match (item_output == Some(number), &items.lists) {
                (false, _) => items.clone(),
                (true, ItemLists::Of(items)) => ListItems::clone(items),
                (true, ItemLists::None | ItemLists::Unknown) => continue,
            };
            if !items.is_unknown() {
                self.list_items.insert(value.id(), items);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_sorted() {
        assert!(ROWS.is_sorted_by_key(|row| row.op));
    }
}
