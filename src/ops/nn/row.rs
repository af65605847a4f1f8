//! `Row`: the row of elements from which one result of a softmax is computed.

use shapeflow_shape_fns::Dim;
use smallvec::SmallVec;

use crate::expr::{Expr, Index, LowerCx, ReduceOp, math};
use crate::ops::broadcast::Indices;
use crate::ops::derived;

/// The row of operand 0 along parameter `axis` that contains the result's index.
pub(crate) struct Row {
    axis: usize,
    extent: Dim,
    index: Indices,
    /// The largest prepared element of the row.
    largest: Expr,
    /// Converts each element before it is used.
    prepare: fn(Expr) -> Expr,
}

impl Row {
    /// Makes the row for the result at `index`. `prepare` is applied to every element first.
    pub fn new(cx: &mut dyn LowerCx, index: &[Index], prepare: fn(Expr) -> Expr) -> Row {
        let axis = derived::axes(cx).first().copied().unwrap_or(0);
        let extent = cx.dims(0).get(axis).cloned().unwrap_or(Dim::known(1));
        let index = Indices::from(index);
        let largest = cx.reduce(ReduceOp::Max, std::slice::from_ref(&extent), &mut |cx, reduced| {
            prepare(cx.operand(0, &with_axis(&index, axis, reduced)))
        });
        Row { axis, extent, index, largest, prepare }
    }

    /// Returns the index of the result.
    pub fn index(&self) -> &[Index] {
        &self.index
    }

    /// Returns the element at `index` minus the largest element of the row.
    pub fn shifted(&self, cx: &mut dyn LowerCx, index: &[Index]) -> Expr {
        (self.prepare)(cx.operand(0, index)) - self.largest.clone()
    }

    /// Returns the sum of the exponentials of all shifted elements.
    pub fn sum_of_exponentials(&self, cx: &mut dyn LowerCx) -> Expr {
        cx.reduce(ReduceOp::Sum, std::slice::from_ref(&self.extent), &mut |cx, reduced| {
            math::exp_nonpositive(self.shifted(cx, &with_axis(&self.index, self.axis, reduced)))
        })
    }
}

/// Returns `index` with its entry of `axis` replaced by the reduced axis.
fn with_axis(index: &[Index], axis: usize, reduced: &[Index]) -> SmallVec<[Index; 4]> {
    index
        .iter()
        .enumerate()
        .map(|(k, position)| if k == axis { reduced[0].clone() } else { position.clone() })
        .collect()
}
