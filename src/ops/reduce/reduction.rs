//! `Reduction`: the operand index of a reduction, and the body of reductions with a single [`ReduceOp`].

use shapeflow_shape_fns::Dim;
use smallvec::SmallVec;

use crate::expr::{Expr, Index, LowerCx, ReduceOp};
use crate::ops::broadcast::Indices;
use crate::ops::derived;

/// The reduced axes of operand 0, and attribute `keep_dims`.
pub(crate) struct Reduction {
    dims: Vec<Dim>,
    reduced: SmallVec<[bool; 6]>,
    keep_dims: bool,
}

impl Reduction {
    /// Reads the axes and `keep_dims` of the node.
    pub fn new(cx: &mut dyn LowerCx) -> Reduction {
        let dims = cx.dims(0);
        let axes = derived::axes(cx);
        let reduced = (0..dims.len()).map(|axis| axes.contains(&axis)).collect();
        let keep_dims = cx.attrs().bool("keep_dims");
        Reduction { dims, reduced, keep_dims }
    }

    /// Returns the sizes of the reduced axes.
    pub fn extents(&self) -> Vec<Dim> {
        self.dims
            .iter()
            .zip(&self.reduced)
            .filter(|(_, reduced)| **reduced)
            .map(|(dim, _)| dim.clone())
            .collect()
    }

    /// Returns the number of elements that are reduced to one result.
    pub fn count(&self) -> Expr {
        Expr::size_product(self.extents())
    }

    /// Returns the operand's index for the result's `index` and the index `inner` along the reduced axes.
    pub fn operand_index(&self, index: &[Index], inner: &[Index]) -> Indices {
        let (mut index, mut inner) = (index.iter(), inner.iter());
        let mut next = |reduced: bool| {
            if reduced {
                if self.keep_dims {
                    index.next();
                }
                inner.next().cloned()
            } else {
                index.next().cloned()
            }
        };
        self.reduced.iter().map(|reduced| next(*reduced).unwrap_or_else(|| Index::from(0))).collect()
    }

    /// Reduces operand 0 for the result at `index`. `element` is applied to every element first.
    pub fn reduce(
        &self,
        cx: &mut dyn LowerCx,
        op: ReduceOp,
        index: &[Index],
        element: &dyn Fn(Expr) -> Expr,
    ) -> Expr {
        cx.reduce(op, &self.extents(), &mut |cx, inner| {
            element(cx.operand(0, &self.operand_index(index, inner)))
        })
    }
}

/// Builds the body of a reduction with a single operation.
pub(crate) fn lower_reduce(cx: &mut dyn LowerCx, index: &[Index], op: ReduceOp) -> Expr {
    Reduction::new(cx).reduce(cx, op, index, &|x| x)
}
