//! Numbers of values that are known to be equal, or that a run compares.
//!
//! A node may have found that two numbers are equal. A graph without this node does not know the equality, so an op
//! that relies on it adds a node that states it again.

use shapeflow_shape_fns::{Dim, TensorShape};

use super::checks::CountCheck;
use super::errors::refuse;
use crate::error::{ErrorKind, Result};
use crate::graph::{AnyValue, RaggedValue, Value};

impl<'g> AnyValue<'g> {
    /// Returns the value whose axis 0 gives the number of values: the dense value, or the outermost row splits.
    fn counted(self) -> Value<'g> {
        match self {
            AnyValue::Dense(value) => value,
            AnyValue::Ragged(value) => value.row_splits(),
        }
    }
}

/// Returns values whose number is the number of `peer`; see [`with_count`]. Dense values have the size of `peer` too.
pub(super) fn with_count_of<'g>(
    values: AnyValue<'g>,
    peer: AnyValue<'g>,
    requirement: &str,
) -> Result<AnyValue<'g>> {
    let count = peer.count()?;
    let values = with_count(values, &count, &[peer.counted()], requirement)?;
    match values {
        AnyValue::Dense(flat) if values.graph().same_dim(&count, &flat.dim(0)?).is_none() => {
            Ok(resized(flat, 0, &count)?.into())
        }
        _ => Ok(values),
    }
}

/// Returns values whose number is `count`. The run of the users of each part of them fails unless this is their number,
/// if it is not known now. Users of the result need the values `beside` too. `requirement` names what must have this
/// number.
pub(super) fn with_count<'g>(
    values: AnyValue<'g>,
    count: &Dim,
    beside: &[Value<'g>],
    requirement: &str,
) -> Result<AnyValue<'g>> {
    let (graph, flat, got) = (values.graph(), values.flat_values(), values.count()?);
    let beside = [beside, &[values.counted()]].concat();
    if graph.same_dim_given(&beside, count, &got)? == Some(true) {
        return Ok(values);
    }
    match (graph.same_dim(count, &got), values) {
        (Some(false), _) => {
            let message = format!("{requirement} {count}, got {got}");
            return Err(refuse(graph, ErrorKind::Shape, message));
        }
        (Some(true), AnyValue::Dense(flat)) => return Ok(resized(flat, 0, count)?.into()),
        (Some(true), AnyValue::Ragged(values)) => {
            let mut partitions = values.partitions();
            let splits = resized(partitions[0].row_splits(), 0, &(count.clone() + 1))?;
            partitions[0] = partitions[0].with_splits(splits)?;
            return Ok(AnyValue::of(flat, &partitions));
        }
        (None, _) => {}
    }
    let check = CountCheck::new(graph, count, got, requirement)?;
    values.passed(&|part| check.pass(part))
}

/// Returns both values. The run of the users of each part of them fails unless `values` has the number of `peer`, if
/// this is not known now. `requirement` names what must have this number.
pub(super) fn with_equal_counts<'g>(
    values: AnyValue<'g>,
    peer: RaggedValue<'g>,
    requirement: &str,
) -> Result<(AnyValue<'g>, RaggedValue<'g>)> {
    let (graph, count, got) = (values.graph(), peer.nrows(), values.count()?);
    if graph.same_dim(&count, &got).is_some() {
        return Ok((with_count_of(values, peer.into(), requirement)?, peer));
    }
    let check = CountCheck::new(graph, &count, got, requirement)?;
    let pass = |part: Value<'g>| check.pass(part);
    let made = match values.passed(&pass)? {
        AnyValue::Dense(dense) => resized(dense, 0, &count)?.into(),
        ragged => ragged,
    };
    Ok((made, AnyValue::from(peer).passed(&pass)?.ragged()?))
}

/// Returns `value` with the size of `peer` along axis 0. Both sizes are equal when the graph runs.
pub(super) fn with_size_of<'g>(value: Value<'g>, peer: Value<'g>) -> Result<Value<'g>> {
    let size = peer.dim(0)?;
    match value.graph().same_dim_given(&[peer, value], &size, &value.dim(0)?)? {
        Some(true) => Ok(value),
        _ => resized(value, 0, &size),
    }
}

/// Returns `value` with another expression of its size along an axis.
pub(super) fn resized<'g>(value: Value<'g>, axis: usize, size: &Dim) -> Result<Value<'g>> {
    let mut dims = value.shape().dims().unwrap_or_default().to_vec();
    dims[axis] = size.clone();
    value.reshape(TensorShape::new(dims))
}
