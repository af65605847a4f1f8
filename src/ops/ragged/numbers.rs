//! Numbers and dimensions as scalars of a graph.

use shapeflow_shape_fns::{Attribute, DType, Dim, IntoDim, PartialElements, TensorShape, Unknown};

use super::in_tensorflow;
use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx};
use crate::graph::{AnyValue, Graph, Param, RaggedValue, RowPartitionValue, Value};
use crate::op::{OpDef, Operand, TfFunction};
use crate::ops::SliceItem;
pub(super) use crate::ops::array::range::dim_value;

pub(super) fn dim_param<'g>(dim: Dim) -> Param<'g> {
    Param::Elements(PartialElements::scalar(dim))
}

/// Returns a constant scalar of the dtype of row splits.
pub(super) fn number<'g>(graph: &'g Graph, dtype: DType, number: i64) -> Result<Value<'g>> {
    match dtype {
        DType::I32 => graph.constant(number as i32),
        _ => graph.constant(number),
    }
}

/// Returns a size as a scalar of `dtype`, i32 or i64. The run fails if the size does not fit `dtype`.
pub(super) fn size_value<'g>(graph: &'g Graph, size: Dim, dtype: DType) -> Result<Value<'g>> {
    let known = size.as_known();
    let value = dim_value(graph, size)?;
    let most = i64::from(i32::MAX);
    let fits = match dtype {
        DType::I32 if known.is_none_or(|size| size > most) => value
            .checked(value.less_equal(most)?, "a size of a ragged value with i32 row_splits must fit i32")?,
        _ => value,
    };
    fits.cast(dtype)
}

/// Converts f16 and bf16 to f32, for ops that round their result once; returns other values unchanged.
pub(super) fn widened(x: Value<'_>) -> Result<Value<'_>> {
    match x.dtype() {
        DType::F16 | DType::BF16 => x.cast(DType::F32),
        _ => Ok(x),
    }
}

/// Returns the size of an axis as a dim that depends only on the nodes that compute the value. It is the size in every
/// graph that has these nodes.
///
/// Another node may have found that the size is a number, or the size of another value. [`Value::dim`] then returns the
/// number or the other size. A graph without the other node does not know the equality, so ops that choose their nodes
/// by a size use this dim.
pub(in crate::ops) fn own_dim(value: Value<'_>, axis: usize) -> Result<Dim> {
    match value.own_dim(axis)? {
        Some(dim) => Ok(dim),
        None => {
            value.graph().op(&UNKNOWN_SIZE).data(value).attr("axis", axis as i64).finish()?.dim(axis as i64)
        }
    }
}

/// Returns the shape with the dims of [`own_dim`]; unranked if the rank is unknown.
pub(super) fn own_shape(value: Value<'_>) -> Result<TensorShape> {
    match value.shape().rank() {
        Some(rank) => {
            Ok(TensorShape::new((0..rank).map(|axis| own_dim(value, axis)).collect::<Result<Vec<Dim>>>()?))
        }
        None => Ok(TensorShape::unranked()),
    }
}

/// Passes a value on, with an unknown size along an axis. The compiler replaces a call by its operand
/// ([`OpDef::forwards`]), so a compiled graph does not have this op.
pub(super) static UNKNOWN_SIZE: OpDef = OpDef::compute("unknown_size", pass_on)
    .attrs(&[Attribute::int("axis")])
    .in_tensorflow(TfFunction::Composed(in_tensorflow::pass_on))
    .operands(&[Operand::Data("x")])
    .reinterprets()
    .forwards(|_, _| true)
    .shape_fn(|cx| {
        let (shape, axis) = (cx.input(0).clone(), cx.attrs().int("axis") as usize);
        let dims = shape.dims().unwrap_or_default().to_vec();
        let fresh = cx.fresh();
        let dims = dims.into_iter().enumerate().map(|(i, dim)| if i == axis { fresh.clone() } else { dim });
        cx.set_output(0, TensorShape::new(dims));
        Ok(())
    });

fn pass_on(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    cx.operand(0, index)
}

impl AnyValue<'_> {
    /// Returns the shape with the dims of [`own_dim`]; ragged axes are unknown.
    pub(super) fn own_shape(self) -> Result<TensorShape> {
        let flat = own_shape(self.flat_values())?;
        let (AnyValue::Ragged(ragged), Some(inner)) = (self, flat.dims()) else { return Ok(flat) };
        let mut dims = vec![ragged.own_nrows()?];
        let lengths = ragged.partitions().into_iter().map(RowPartitionValue::uniform_row_length);
        dims.extend(lengths.map(|length| length.unwrap_or_else(|| Unknown.into_dim())));
        dims.extend_from_slice(&inner[1..]);
        Ok(TensorShape::new(dims))
    }
}

impl RowPartitionValue<'_> {
    /// Returns the number of rows; see [`own_dim`].
    pub(super) fn own_nrows(self) -> Result<Dim> {
        Ok(own_dim(self.row_splits(), 0)? - 1)
    }
}

impl RaggedValue<'_> {
    /// Returns the number of rows; see [`own_dim`].
    pub(super) fn own_nrows(self) -> Result<Dim> {
        self.partition().own_nrows()
    }
}

/// Converts row splits to `dtype`, i32 or i64. Row splits ascend, so all fit if the last one does. The run fails if it
/// does not.
pub(super) fn convert_splits<'g>(splits: Value<'g>, dtype: DType) -> Result<Value<'g>> {
    let fits = match (splits.dtype(), dtype) {
        (from, to) if from == to => return Ok(splits),
        (_, DType::I32) => {
            let last = splits.slice_with(&[SliceItem::at(-1)])?;
            splits.checked(last.less_equal(i64::from(i32::MAX))?, "row_splits must fit i32")?
        }
        _ => splits,
    };
    fits.cast(dtype)
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::shape;

    use super::*;
    use crate::tensor::Tensor;

    #[test]
    fn row_splits_that_do_not_fit_i32_fail_the_run() {
        let g = Graph::new();
        let x = g.input("x", DType::I8, shape!["n", "m", 0]).unwrap();
        let rows = RaggedValue::from_tensor_with_row_splits_dtype(x, 1, DType::I32).unwrap();
        let merged = RaggedValue::from_tensor_with_row_splits_dtype(x.expand_dims(1).unwrap(), 1, DType::I32);
        let merged = merged.unwrap().merge_dims(1, 2).unwrap().ragged().unwrap();
        for splits in [rows.row_splits(), merged.row_splits()] {
            let exe = g.compile(splits).unwrap();
            let run = |length: usize| {
                let x = Tensor::zeros(DType::I8, &[2, length, 0]).unwrap();
                exe.run::<1>(&[x.view()]).map(|[splits]| splits)
            };
            assert_eq!(run(1 << 29).unwrap(), Tensor::from([0, 1 << 29, 1 << 30]));
            let error = run(1 << 30).unwrap_err();
            assert!(error.message().contains("row_splits must fit i32"), "{error}");
        }
    }

    #[test]
    fn sizes_that_do_not_fit_i32_fail_the_run() {
        let g = Graph::new();
        let x = g.input("x", DType::I8, shape![3, "w", 0]).unwrap();
        let splits = g.constant([0, 1, 3]).unwrap();
        let rows = RaggedValue::from_row_splits(x, splits).unwrap();
        let one = rows.bounding_shape_along(2).unwrap();
        let each = rows.row_lengths_along(2).unwrap().flat_values();
        for sizes in [one, each] {
            let exe = g.compile(sizes).unwrap();
            let run =
                |width: usize| exe.run::<1>(&[Tensor::zeros(DType::I8, &[3, width, 0]).unwrap().view()]);
            let [largest] = run(i32::MAX as usize).unwrap();
            assert!(largest.as_slice::<i32>().unwrap().iter().all(|&size| size == i32::MAX), "{largest}");
            let error = run(1 << 31).unwrap_err();
            assert!(error.message().contains("must fit i32"), "{error}");
        }
    }
}
