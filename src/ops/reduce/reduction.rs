//! `Reduction`: where a reduction reads its operand, and the body of those that are one fold.

use shapeflow_shape_fns::{Attr, Dim};
use smallvec::SmallVec;

use crate::expr::{Expr, FoldOp, Index, LowerCx};
use crate::ops::broadcast::Indices;
use crate::ops::derived;

/// The folded axes of operand 0, and attribute `keep_dims`.
pub(crate) struct Reduction {
    dims: Vec<Dim>,
    folded: SmallVec<[bool; 6]>,
    keep_dims: bool,
}

impl Reduction {
    pub fn new(cx: &mut dyn LowerCx) -> Reduction {
        let dims = cx.dims(0);
        let axes = derived::axes(cx);
        let folded = (0..dims.len()).map(|axis| axes.contains(&axis)).collect();
        let keep_dims = matches!(cx.attrs().get("keep_dims"), Some(Attr::Bool(true)));
        Reduction { dims, folded, keep_dims }
    }

    /// The sizes of the folded axes.
    pub fn extents(&self) -> Vec<Dim> {
        self.dims
            .iter()
            .zip(&self.folded)
            .filter(|(_, folded)| **folded)
            .map(|(dim, _)| dim.clone())
            .collect()
    }

    /// How many elements one result is made of.
    pub fn count(&self) -> Expr {
        Expr::size_product(self.extents())
    }

    /// The operand's index for the result at `index` and the folded axes at `at`.
    pub fn place(&self, index: &[Index], at: &[Index]) -> Indices {
        let (mut index, mut at) = (index.iter(), at.iter());
        let mut next = |folded: bool| {
            if folded {
                if self.keep_dims {
                    index.next();
                }
                at.next().cloned()
            } else {
                index.next().cloned()
            }
        };
        self.folded.iter().map(|folded| next(*folded).unwrap_or_else(|| Index::from(0))).collect()
    }

    /// Operand 0 folded for the result at `index`, every element changed by `element`.
    pub fn fold(
        &self,
        cx: &mut dyn LowerCx,
        op: FoldOp,
        index: &[Index],
        element: &dyn Fn(Expr) -> Expr,
    ) -> Expr {
        cx.fold(op, &self.extents(), &mut |cx, at| element(cx.operand(0, &self.place(index, at))))
    }
}

/// The body of a reduction that is one fold.
pub(crate) fn lower_fold(cx: &mut dyn LowerCx, index: &[Index], op: FoldOp) -> Expr {
    Reduction::new(cx).fold(cx, op, index, &|x| x)
}
