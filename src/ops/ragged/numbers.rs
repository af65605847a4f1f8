//! Numbers and dimensions as scalars of a graph.

use shapeflow_shape_fns::{DType, Dim, IntoDim, PartialElements, TensorShape, Unknown};

use crate::error::Result;
use crate::graph::{AnyValue, Graph, Param, RaggedValue, RowPartitionValue, Value};
use crate::ops::SliceItem;
pub(super) use crate::ops::array::own_size::{own_dim, own_shape};
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
