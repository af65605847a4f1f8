//! Numbers of values that are known to be equal, or that a run compares.
//!
//! A node may have found that two numbers are equal. A graph without this node does not know the equality. So an op
//! leaves out a comparison only if every graph that has the values knows the equality.

use shapeflow_shape_fns::{Dim, TensorShape};

use super::checks::CountCheck;
use super::errors::{check_graphs, refuse};
use super::numbers::own_dim;
use crate::error::{Error, ErrorKind, Result};
use crate::graph::{AnyValue, Graph, RaggedValue, Value};

impl<'g> AnyValue<'g> {
    /// Returns the value whose axis 0 gives the number of values: the dense value, or the outermost row splits.
    fn counted(self) -> Value<'g> {
        match self {
            AnyValue::Dense(value) => value,
            AnyValue::Ragged(value) => value.row_splits(),
        }
    }
}

/// What is known about two numbers of values in every graph that has the values.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Known {
    Equal,
    Different,
    Nothing,
}

impl Known {
    /// Compares two numbers that depend on `values`.
    pub fn of(values: &[Value<'_>], a: &Dim, b: &Dim) -> Result<Known> {
        let Some(graph) = values.first().map(|value| value.graph()) else { return Ok(Known::Nothing) };
        Ok(match graph.same_dim_given(values, a, b)? {
            _ if a == b => Known::Equal,
            Some(true) => Known::Equal,
            Some(false) => Known::Different,
            None => Known::Nothing,
        })
    }
}

/// Checks that `values` and `peer` have equally many values, and returns `values`. If this is not known now, the result
/// is guarded by a check in the run. Dense values get the size of `peer`. `requirement` names in the error what must
/// have this number.
pub(super) fn with_count_of<'g>(
    values: AnyValue<'g>,
    peer: AnyValue<'g>,
    requirement: &str,
) -> Result<AnyValue<'g>> {
    check_graphs(peer.graph(), values)?;
    let (graph, count, got) = (values.graph(), peer.count()?, values.count()?);
    let check = match Known::of(&[values.counted(), peer.counted()], &count, &got)? {
        Known::Equal => return Ok(values),
        Known::Different => return Err(not_equal(graph, requirement, &count, &got)),
        Known::Nothing => CountCheck::new(graph, &count, &got, requirement)?,
    };
    with_size(values.guarded(&|part| check.guard(part))?, &count)
}

/// Returns the check that `count` is the number of values; `None` if every graph that has the values knows this.
/// `requirement` names in the error what must have this number.
pub(super) fn count_check<'g>(
    values: AnyValue<'g>,
    count: &Dim,
    requirement: &str,
) -> Result<Option<CountCheck<'g>>> {
    let (graph, got) = (values.graph(), values.count()?);
    Ok(match Known::of(&[values.counted()], count, &got)? {
        Known::Equal => None,
        Known::Different => return Err(not_equal(graph, requirement, count, &got)),
        Known::Nothing => Some(CountCheck::new(graph, count, &got, requirement)?),
    })
}

fn not_equal(graph: &Graph, requirement: &str, count: &Dim, got: &Dim) -> Error {
    refuse(graph, ErrorKind::Shape, format!("{requirement} {count}, got {got}"))
}

/// Returns dense values with the size `count` along axis 0. Ragged values stay.
fn with_size<'g>(values: AnyValue<'g>, count: &Dim) -> Result<AnyValue<'g>> {
    match values {
        AnyValue::Dense(dense) => resized(dense, count).map(AnyValue::Dense),
        ragged => Ok(ragged),
    }
}

/// Returns both, guarded by the check that there are as many values in `values` as rows in `peer`, unless this is known
/// now. `requirement` names in the error what must have this number.
pub(super) fn with_equal_counts<'g>(
    values: AnyValue<'g>,
    peer: RaggedValue<'g>,
    requirement: &str,
) -> Result<(AnyValue<'g>, RaggedValue<'g>)> {
    check_graphs(peer.graph(), values)?;
    let (graph, count, got) = (values.graph(), peer.own_nrows()?, values.count()?);
    let check = match Known::of(&[values.counted(), peer.row_splits()], &count, &got)? {
        Known::Equal => return Ok((values, peer)),
        Known::Different => return Err(not_equal(graph, requirement, &count, &got)),
        Known::Nothing => CountCheck::new(graph, &count, &got, requirement)?,
    };
    let guard = |part: Value<'g>| check.guard(part);
    let made = with_size(values.guarded(&guard)?, &count)?;
    Ok((made, AnyValue::from(peer).guarded(&guard)?.ragged()?))
}

/// Returns `value` with the dim of `peer` along axis 0. The caller knows that the run gives both axes the same size. An
/// op on both values then sees equal dims, and does not broadcast an axis that may be 1.
pub(super) fn with_size_of<'g>(value: Value<'g>, peer: Value<'g>) -> Result<Value<'g>> {
    let size = own_dim(peer, 0)?;
    match Known::of(&[peer, value], &size, &own_dim(value, 0)?)? {
        Known::Equal => Ok(value),
        _ => resized(value, &size),
    }
}

/// Returns `value` with another expression of its size along axis 0.
fn resized<'g>(value: Value<'g>, size: &Dim) -> Result<Value<'g>> {
    let mut dims = value.shape().dims().unwrap_or_default().to_vec();
    dims[0] = size.clone();
    value.reshape(TensorShape::new(dims))
}
