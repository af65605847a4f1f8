//! Numbers and dimensions as scalars of a graph.

use shapeflow_shape_fns::{DType, Dim, PartialElements, TensorShape};

use crate::error::Result;
use crate::graph::{Graph, Param, Value};

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

/// Returns a dimension as an i64 scalar.
pub(super) fn dim_value(graph: &Graph, dim: Dim) -> Result<Value<'_>> {
    // A range from the dimension up to the next number has the dimension as its only element.
    graph.range(&dim, dim.clone() + 1, 1i64)?.reshape(TensorShape::new([]))
}
