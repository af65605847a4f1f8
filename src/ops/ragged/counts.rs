//! Numbers of values that are known to be equal, or that a run compares.

use shapeflow_shape_fns::{Dim, TensorShape};

use super::partition::{dim_value, refuse};
use crate::error::{ErrorKind, Result};
use crate::graph::{AnyValue, Value};
use crate::ops::array::checked;

/// Returns values whose number is `count`. The run of their users fails unless this is their number, if it is not known
/// now. `requirement` names what must have this number.
pub(super) fn with_count<'g>(values: AnyValue<'g>, count: &Dim, requirement: &str) -> Result<AnyValue<'g>> {
    let (graph, flat, got) = (values.graph(), values.flat_values(), values.count()?);
    match graph.same_dim(count, &got) {
        Some(true) => return Ok(values),
        Some(false) => {
            let message = format!("{requirement} {count}, got {got}");
            return Err(refuse(graph, ErrorKind::Shape, message));
        }
        None => {}
    }
    let (count_value, got) = (dim_value(graph, count.clone())?, dim_value(graph, got)?);
    let call = graph.op(&checked::DEF).data(flat).data(count_value.equal(got)?).data_all(&[count_value, got]);
    let flat = call.attr("message", format!("{requirement} {{}}, got {{}}")).finish()?;
    match values {
        AnyValue::Dense(_) => with_size(flat, count.clone()).map(AnyValue::Dense),
        AnyValue::Ragged(_) => Ok(AnyValue::of(flat, &values.partitions())),
    }
}

/// Returns `flat` with another name of the size of axis 0. Both sizes are equal when the graph runs.
pub(super) fn with_size<'g>(flat: Value<'g>, size: Dim) -> Result<Value<'g>> {
    if flat.graph().same_dim(&size, &flat.dim(0)?) == Some(true) {
        return Ok(flat);
    }
    let shape = flat.shape();
    let inner = shape.dims().unwrap_or_default().iter().skip(1).cloned();
    flat.reshape(TensorShape::new(std::iter::once(size).chain(inner)))
}
