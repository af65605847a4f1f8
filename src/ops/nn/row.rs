//! `Row`: the row of elements that one result of a softmax depends on.

use shapeflow_shape_fns::Dim;
use smallvec::SmallVec;

use crate::expr::{Expr, Index, LowerCx, ReduceOp, math};
use crate::ops::broadcast::Indices;
use crate::ops::derived;

/// The row of operand 0 along parameter `axis` that holds the result at an index.
pub(crate) struct Row {
    axis: usize,
    extent: Dim,
    index: Indices,
    largest: Expr,
    prepare: fn(Expr) -> Expr,
}

impl Row {
    /// `prepare` is applied to every element before anything else.
    pub fn new(cx: &mut dyn LowerCx, index: &[Index], prepare: fn(Expr) -> Expr) -> Row {
        let axis = derived::axes(cx).first().copied().unwrap_or(0);
        let extent = cx.dims(0).get(axis).cloned().unwrap_or(Dim::known(1));
        let index = Indices::from(index);
        let largest = cx.reduce(ReduceOp::Max, std::slice::from_ref(&extent), &mut |cx, at| {
            prepare(cx.operand(0, &place(&index, axis, at)))
        });
        Row { axis, extent, index, largest, prepare }
    }

    /// Where the element that the result stands for is read.
    pub fn own_place(&self) -> &[Index] {
        &self.index
    }

    /// The element at `place` less the largest of the row.
    pub fn shifted(&self, cx: &mut dyn LowerCx, place: &[Index]) -> Expr {
        (self.prepare)(cx.operand(0, place)) - self.largest.clone()
    }

    /// The sum of the exponentials of all shifted elements.
    pub fn sum_of_exponentials(&self, cx: &mut dyn LowerCx) -> Expr {
        cx.reduce(ReduceOp::Sum, std::slice::from_ref(&self.extent), &mut |cx, at| {
            math::exp_nonpositive(self.shifted(cx, &place(&self.index, self.axis, at)))
        })
    }
}

/// `index` with the reduced index at `axis`.
fn place(index: &[Index], axis: usize, at: &[Index]) -> SmallVec<[Index; 4]> {
    index.iter().enumerate().map(|(i, own)| if i == axis { at[0].clone() } else { own.clone() }).collect()
}
