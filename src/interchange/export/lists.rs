//! Exports ops on tensor lists, and ops between ragged tensors and variants. The import makes them of TensorFlow's ops,
//! and the export writes these ops again.

use shapeflow_shape_fns::{Attr, DType};

use super::super::proto::{AttrKind, ListValue, NodeDef};
use super::attrs::{add_own, value_of};
use super::{Exporter, node_def, put};
use crate::error::Result;
use crate::graph::Node;
use crate::op::OpDef;
use crate::op::dtype_number::number_of;
use crate::ops::list::{arithmetic, concat_lists, gather, item, join, make, optional, push, ragged, size};

/// How an op on lists is written. Its operands are the inputs of TensorFlow's op, in the same order.
struct ListOp {
    def: &'static OpDef,
    op: &'static str,
    /// The inputs whose dtype TensorFlow fixes, each as its number and the dtype.
    fixed: &'static [(usize, DType)],
    /// The number of the input whose dtype is TensorFlow's attribute `shape_type`.
    shape: Option<usize>,
    /// The number of the input that gives `element_dtype` its value: an item, or rows that become items. `None` for an
    /// op without such an input.
    item: Option<usize>,
    /// Whether TensorFlow's op has the attribute `element_dtype`.
    has_dtype: bool,
}

const fn row(def: &'static OpDef, op: &'static str, fixed: &'static [(usize, DType)]) -> ListOp {
    ListOp { def, op, fixed, shape: None, item: None, has_dtype: true }
}

impl ListOp {
    const fn shape(self, input: usize) -> ListOp {
        ListOp { shape: Some(input), ..self }
    }

    const fn item(self, input: usize) -> ListOp {
        ListOp { item: Some(input), ..self }
    }

    const fn without_dtype(self) -> ListOp {
        ListOp { has_dtype: false, ..self }
    }
}

static ROWS: &[ListOp] = &[
    row(&make::EMPTY, "EmptyTensorList", &[(1, DType::I32)]).shape(0),
    row(&make::RESERVE, "TensorListReserve", &[(1, DType::I32)]).shape(0),
    row(&make::FROM_TENSOR, "TensorListFromTensor", &[]).shape(1).item(0),
    row(&item::GET, "TensorListGetItem", &[(1, DType::I32), (2, DType::I32)]),
    row(&item::SET, "TensorListSetItem", &[(1, DType::I32)]).item(2),
    row(&gather::STACK, "TensorListStack", &[(1, DType::I32)]),
    row(&gather::GATHER, "TensorListGather", &[(1, DType::I32), (2, DType::I32)]),
    row(&gather::SCATTER, "TensorListScatterV2", &[(1, DType::I32), (3, DType::I32)]).shape(2).item(0),
    row(&gather::SCATTER_INTO, "TensorListScatterIntoExistingList", &[(2, DType::I32)]).item(1),
    row(&push::PUSH, "TensorListPushBack", &[]).item(1),
    row(&push::POP, "TensorListPopBack", &[(1, DType::I32)]),
    row(&join::CONCAT, "TensorListConcatV2", &[(2, DType::I64)]).shape(1),
    row(&join::SPLIT, "TensorListSplit", &[(2, DType::I64)]).shape(1).item(0),
    row(&concat_lists::DEF, "TensorListConcatLists", &[]),
    row(&optional::FROM_VALUE, "OptionalFromValue", &[]).without_dtype(),
    row(&optional::GET_VALUE, "OptionalGetValue", &[]).without_dtype(),
    row(&optional::HAS_VALUE, "OptionalHasValue", &[]).without_dtype(),
    row(&optional::NONE, "OptionalNone", &[]).without_dtype(),
    row(&arithmetic::ADD_N, "AddN", &[]).without_dtype(),
    row(&arithmetic::ZEROS, "ZerosLike", &[]).without_dtype(),
    row(&size::LENGTH, "TensorListLength", &[]).without_dtype(),
    row(&size::RESIZE, "TensorListResize", &[(1, DType::I32)]).without_dtype(),
    row(&size::ELEMENT_SHAPE, "TensorListElementShape", &[]).without_dtype(),
];

impl Exporter<'_> {
    /// Exports an op on lists; `None` if TensorFlow has no such op, or cannot express the node. The import finds the
    /// shapes of items again.
    ///
    /// The lists of TensorFlow grow where a `TensorArray` fails: if a graph writes an item twice, or outside of an
    /// array of fixed size. Attributes of this crate tell the import of the difference.
    pub(super) fn list_op(&mut self, node: &Node, name: &str) -> Result<Option<NodeDef>> {
        let Some(row) = ROWS.iter().find(|row| row.def.name() == node.op.name()) else {
            return Ok(self.ragged_variant(node));
        };
        let attrs = node.attrs();
        let is_set = |name: &str| matches!(attrs.get(name), Some(Attr::Bool(true)));
        let dtype_of = |input: usize| node.operands.get(input).map(|operand| self.dtype(*operand));
        // Older graphs lack the number of items.
        let op = match (row.op, node.operands.len()) {
            ("TensorListScatterV2", 3) => "TensorListScatter",
            (op, _) => op,
        };
        let mut def = node_def(op);
        if row.has_dtype {
            let dtype = match attrs.get("dtype") {
                Some(Attr::DType(dtype)) => Some(*dtype),
                _ => row.item.and_then(dtype_of),
            };
            let Some(dtype) = dtype else { return Ok(None) };
            put(&mut def, "element_dtype", AttrKind::Type(number_of(dtype)));
        }
        let shape_type = match (row.shape, attrs.get("out_type")) {
            (Some(input), _) => dtype_of(input),
            (None, Some(Attr::DType(dtype))) if op == "TensorListElementShape" => Some(*dtype),
            _ => None,
        };
        if let Some(dtype) = shape_type {
            put(&mut def, "shape_type", AttrKind::Type(number_of(dtype)));
        }
        if matches!(op, "AddN" | "ZerosLike") {
            put(&mut def, "T", AttrKind::Type(number_of(DType::Variant)));
        }
        if op == "AddN" {
            put(&mut def, "N", AttrKind::I(node.operands.len() as i64));
        }
        if op == "OptionalFromValue" {
            let dtypes = node.operands.iter().map(|operand| number_of(self.dtype(*operand))).collect();
            put(
                &mut def,
                "Toutput_types",
                AttrKind::List(ListValue { r#type: dtypes, ..ListValue::default() }),
            );
        }
        for (own, name) in [("dtypes", "output_types"), ("shapes", "output_shapes")] {
            if let Some(value) = attrs.get(own).and_then(value_of) {
                put(&mut def, name, value);
            }
        }
        if op == "TensorListSetItem" {
            let resizes = is_set("resizes") || is_set("once");
            put(&mut def, "resize_if_index_out_of_bounds", AttrKind::B(resizes));
        }
        for own in ["once", "resizes"] {
            if let Some(attr) = attrs.get(own) {
                add_own(&mut def, own, attr)?;
            }
        }
        if let Some(Attr::Int(count)) = attrs.get("count") {
            put(&mut def, "num_elements", AttrKind::I(*count));
        }
        for (number, operand) in node.operands.iter().enumerate() {
            let (tensor, own) = (self.tensor_name(*operand), self.dtype(*operand));
            def.input.push(match row.fixed.iter().find(|(fixed, _)| *fixed == number) {
                Some((_, dtype)) if *dtype != own => self.cast_value(name, tensor, own, *dtype),
                _ => tensor,
            });
        }
        Ok(Some(def))
    }

    /// Exports an op between ragged tensors and variants; `None` for another op.
    fn ragged_variant(&self, node: &Node) -> Option<NodeDef> {
        let attrs = node.attrs();
        let dtype = |input: usize| AttrKind::Type(number_of(self.dtype(node.operands[input])));
        let mut def = if node.op.name() == ragged::TO_VARIANT.name() {
            let mut def = node_def("RaggedTensorToVariant");
            let splits = node.operands.len() - 1;
            put(&mut def, "RAGGED_RANK", AttrKind::I(splits as i64));
            put(&mut def, "Tvalues", dtype(splits));
            put(
                &mut def,
                "Tsplits",
                if splits > 0 { dtype(0) } else { AttrKind::Type(number_of(DType::I64)) },
            );
            def
        } else if node.op.name() == ragged::FROM_VARIANT.name() {
            node_def("RaggedTensorFromVariant")
        } else {
            return None;
        };
        for (name, attr) in attrs.iter() {
            let name = if name == "dtype" { "Tvalues" } else { name };
            if let Some(value) = value_of(attr) {
                put(&mut def, name, value);
            }
        }
        def.input = node.operands.iter().map(|operand| self.tensor_name(*operand)).collect();
        Some(def)
    }
}
