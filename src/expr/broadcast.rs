//! [`broadcast_dims`]: the index of an element of a tensor that broadcasts to another shape.

use shapeflow_shape_fns::Dim;
use smallvec::SmallVec;

use super::Index;

/// An index into an operand, one entry per axis.
pub(crate) type Indices = SmallVec<[Index; 4]>;

/// Returns the index into a tensor of shape `from` for the element at `index` of shape `to`. `from` broadcasts to `to`.
///
/// The index is 0 along an axis of size 1, and the output's index along an axis of the output's size. An unknown size
/// is 1 or the output's size at run time, and [`Index::broadcast`] handles both cases.
pub(crate) fn broadcast_dims(from: &[Dim], to: &[Dim], index: &[Index]) -> Indices {
    let skipped = to.len().saturating_sub(from.len());
    from.iter()
        .zip(to.iter().zip(index).skip(skipped))
        .map(|(dim, (target, position))| match dim.as_known() {
            Some(1) => Index::from(0),
            Some(_) => position.clone(),
            None if dim == target => position.clone(),
            None => position.clone().broadcast(dim.clone()),
        })
        .collect()
}
