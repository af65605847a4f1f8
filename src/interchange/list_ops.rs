//! The ops of TensorFlow's `TensorList` and `TensorArrayV3` families, and the ops between ragged tensors and variants: the
//! list op of each.

use shapeflow_shape_fns::DType;

use crate::op::OpDef;
use crate::ops::list::{concat_lists, gather, item, join, make, push, ragged, size};

/// An operand of a list op.
#[derive(Clone, Copy)]
pub(super) enum ListOperand {
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
pub(super) use ListOperand::{All, Input, Nothing, Shape, ShapeAttr};

/// How a node becomes a list op, and a list op becomes a node.
#[derive(Clone, Copy)]
pub(super) struct ListOp {
    pub op: &'static str,
    pub def: &'static OpDef,
    pub operands: &'static [ListOperand],
    /// The number of the input that is a list, if the node keeps the shape of the list's items.
    pub list: Option<usize>,
    /// The number of the input whose rows are the items.
    pub rows: Option<usize>,
    /// The input that becomes an item, and the number of its axes before the axes of items.
    pub item: Option<(usize, i64)>,
    /// The node's output contains the dims of the items' axes from this axis on; `None` if the output contains no dims
    /// of items.
    pub axes_from: Option<i64>,
    /// An attribute of the list op that every such node sets.
    pub flag: Option<(&'static str, bool)>,
    /// For an op that an export writes: the inputs whose dtype TensorFlow fixes, each as its number and the dtype. The
    /// operands of the list op are the inputs of the node, in the same order. `None` for an op that an export does not
    /// write.
    pub written: Option<&'static [(usize, DType)]>,
    /// Whether the node has the attribute `element_dtype`.
    pub has_dtype: bool,
}

const fn row(op: &'static str, def: &'static OpDef, operands: &'static [ListOperand]) -> ListOp {
    ListOp {
        op,
        def,
        operands,
        list: None,
        rows: None,
        item: None,
        axes_from: None,
        flag: None,
        written: None,
        has_dtype: true,
    }
}

impl ListOp {
    const fn list(self, input: usize) -> ListOp {
        ListOp { list: Some(input), ..self }
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

    const fn written(self, fixed: &'static [(usize, DType)]) -> ListOp {
        ListOp { written: Some(fixed), ..self }
    }

    const fn without_dtype(self) -> ListOp {
        ListOp { has_dtype: false, ..self }
    }
}

static ROWS: &[ListOp] = &[
    row("EmptyTensorList", &make::EMPTY, &[Shape(0), Input(1)]).written(&[(1, DType::I32)]),
    row("RaggedTensorFromVariant", &ragged::FROM_VARIANT, &[Input(0)]),
    row("RaggedTensorToVariant", &ragged::TO_VARIANT, &[All]),
    row("TensorArrayConcatV3", &join::CONCAT, &[Input(1), ShapeAttr, Nothing]).axes_from(1),
    row("TensorArrayGatherV3", &gather::GATHER, &[Input(2), Input(1), ShapeAttr]).axes_from(0).list(2),
    row("TensorArrayReadV3", &item::GET, &[Input(2), Input(1), ShapeAttr]).axes_from(0).list(2),
    row("TensorArrayScatterV3", &gather::SCATTER_INTO, &[Input(3), Input(2), Input(1)])
        .list(3)
        .item_rows(2)
        .flag("resizes", false),
    row("TensorArraySizeV3", &size::LENGTH, &[Input(1)]),
    row("TensorArraySplitV3", &join::SPLIT, &[Input(1), ShapeAttr, Input(2)]),
    row("TensorArrayV3", &make::RESERVE, &[ShapeAttr, Input(0)]),
    row("TensorArrayWriteV3", &item::SET, &[Input(3), Input(1), Input(2)]).list(3).item(2).flag("once", true),
    row("TensorListConcat", &join::CONCAT, &[Input(0), ShapeAttr, Nothing]).axes_from(1),
    row("TensorListConcatLists", &concat_lists::DEF, &[Input(0), Input(1)]).list(0).written(&[]),
    row("TensorListConcatV2", &join::CONCAT, &[Input(0), Shape(1), Input(2)])
        .axes_from(1)
        .written(&[(2, DType::I64)]),
    row("TensorListElementShape", &size::ELEMENT_SHAPE, &[Input(0)]).written(&[]).without_dtype(),
    row("TensorListFromTensor", &make::FROM_TENSOR, &[Input(0), Shape(1)]).rows(0).written(&[]),
    row("TensorListGather", &gather::GATHER, &[Input(0), Input(1), Shape(2)])
        .axes_from(0)
        .list(0)
        .written(&[(1, DType::I32), (2, DType::I32)]),
    row("TensorListGetItem", &item::GET, &[Input(0), Input(1), Shape(2)])
        .axes_from(0)
        .list(0)
        .written(&[(1, DType::I32), (2, DType::I32)]),
    row("TensorListLength", &size::LENGTH, &[Input(0)]).written(&[]).without_dtype(),
    row("TensorListPopBack", &push::POP, &[Input(0), Shape(1)])
        .axes_from(0)
        .list(0)
        .written(&[(1, DType::I32)]),
    row("TensorListPushBack", &push::PUSH, &[Input(0), Input(1)]).list(0).item(1).written(&[]),
    row("TensorListReserve", &make::RESERVE, &[Shape(0), Input(1)]).written(&[(1, DType::I32)]),
    row("TensorListResize", &size::RESIZE, &[Input(0), Input(1)])
        .list(0)
        .written(&[(1, DType::I32)])
        .without_dtype(),
    row("TensorListScatter", &gather::SCATTER, &[Input(0), Input(1), Shape(2)]).rows(0),
    row("TensorListScatterIntoExistingList", &gather::SCATTER_INTO, &[Input(0), Input(1), Input(2)])
        .list(0)
        .item_rows(1)
        .written(&[(2, DType::I32)]),
    row("TensorListScatterV2", &gather::SCATTER, &[Input(0), Input(1), Shape(2), Input(3)])
        .rows(0)
        .written(&[(1, DType::I32), (3, DType::I32)]),
    row("TensorListSetItem", &item::SET, &[Input(0), Input(1), Input(2)])
        .list(0)
        .item(2)
        .written(&[(1, DType::I32)]),
    row("TensorListSplit", &join::SPLIT, &[Input(0), Shape(1), Input(2)]).written(&[(2, DType::I64)]),
    row("TensorListStack", &gather::STACK, &[Input(0), Shape(1)])
        .axes_from(0)
        .list(0)
        .written(&[(1, DType::I32)]),
];

/// Returns the row of an op type.
pub(super) fn row_of(op: &str) -> Option<&'static ListOp> {
    ROWS.binary_search_by(|row| row.op.cmp(op)).ok().map(|index| &ROWS[index])
}

/// Returns the op types on lists, sorted by name.
pub(super) fn list_ops() -> impl Iterator<Item = &'static str> {
    ROWS.iter().map(|row| row.op)
}

/// Returns the row that an export writes for a list op.
pub(super) fn written_row(def: &OpDef) -> Option<&'static ListOp> {
    ROWS.iter().find(|row| row.written.is_some() && row.def.name() == def.name())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_sorted() {
        assert!(ROWS.is_sorted_by_key(|row| row.op));
    }

    #[test]
    fn a_written_op_has_the_operands_of_its_list_op() {
        for row in ROWS.iter().filter(|row| row.written.is_some()) {
            let is_same = |(number, operand): (usize, &ListOperand)| match operand {
                Input(input) | Shape(input) => *input == number,
                _ => false,
            };
            assert!(row.operands.iter().enumerate().all(is_same), "{}", row.op);
            assert!(std::ptr::eq(written_row(row.def).unwrap(), row), "{}", row.op);
        }
    }
}
