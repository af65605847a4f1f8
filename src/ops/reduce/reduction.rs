//! `Reduction`: the index at which a reduction reads its operand; the body of reductions with one combining operation.

use shapeflow_shape_fns::{Attr, Dim};
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
    pub fn new(cx: &mut dyn LowerCx) -> Reduction {
        let dims = cx.dims(0);
        let axes = derived::axes(cx);
        let reduced = (0..dims.len()).map(|axis| axes.contains(&axis)).collect();
        let keep_dims = matches!(cx.attrs().get("keep_dims"), Some(Attr::Bool(true)));
        Reduction { dims, reduced, keep_dims }
    }

    /// The sizes of the reduced axes.
    pub fn extents(&self) -> Vec<Dim> {
        self.dims
            .iter()
            .zip(&self.reduced)
            .filter(|(_, reduced)| **reduced)
            .map(|(dim, _)| dim.clone())
            .collect()
    }

    /// The number of elements that one result combines.
    pub fn count(&self) -> Expr {
        Expr::size_product(self.extents())
    }

    /// The operand's index for the result at `index` and the reduced axes at `at`.
    pub fn place(&self, index: &[Index], at: &[Index]) -> Indices {
        let (mut index, mut at) = (index.iter(), at.iter());
        let mut next = |reduced: bool| {
            if reduced {
                if self.keep_dims {
                    index.next();
                }
                at.next().cloned()
            } else {
                index.next().cloned()
            }
        };
        self.reduced.iter().map(|reduced| next(*reduced).unwrap_or_else(|| Index::from(0))).collect()
    }

    /// Operand 0 reduced for the result at `index`; `element` is applied to every element first.
    pub fn reduce(
        &self,
        cx: &mut dyn LowerCx,
        op: ReduceOp,
        index: &[Index],
        element: &dyn Fn(Expr) -> Expr,
    ) -> Expr {
        cx.reduce(op, &self.extents(), &mut |cx, at| element(cx.operand(0, &self.place(index, at))))
    }
}

/// The body of a reduction with one combining operation.
pub(crate) fn lower_reduce(cx: &mut dyn LowerCx, index: &[Index], op: ReduceOp) -> Expr {
    Reduction::new(cx).reduce(cx, op, index, &|x| x)
}
