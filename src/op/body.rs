//! What the bodies of ops hold: functions, and how a contraction becomes matrix products.

use shapeflow_shape_fns::{Attrs, DType, DimTable, OperandInfo};
use smallvec::SmallVec;

use super::host_threads::HostThreads;
use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx};
use crate::graph::Value;
use crate::tensor::{TensorView, TensorViewMut};

/// The body of a compute op: the expression of the element of output `output` at `index`, see [`LowerCx`].
pub type LowerFn = fn(&mut dyn LowerCx, usize, &[Index]) -> Expr;

/// The body of a composite op, which builds the outputs from other ops, see [`OpDef::composite`](super::OpDef::composite).
pub type CompositeFn = for<'g> fn(&CompositeCx<'_>, &[Value<'g>]) -> Result<Vec<Value<'g>>>;

/// Computes the output of a compute op from operand 0: all elements at once, into memory of the inferred sizes.
pub(crate) type WholeFn = fn(&Attrs, &TensorView<'_>, &mut TensorViewMut<'_>, HostThreads<'_>) -> Result<()>;

/// For some dtypes of the first operand: how a call is made of other ops.
pub(super) type CompositeOnDTypes = (fn(DType) -> bool, CompositeFn);

/// Says of a call on these operands whether each output `k` is operand `k`, unchanged.
pub(crate) type ForwardsFn = fn(&[OperandInfo<'_>], &DimTable) -> bool;

/// How a contraction becomes matrix products.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum ContractionSpec {
    /// The last two axes are matrices, which may be transposed. The other axes are batches.
    Matrices { transpose_a: bool, transpose_b: bool },
    /// The rows of the left matrix are the windows of images, `[n, h, w, c], [kh, kw, c, m] -> [n, oh, ow, m]`, or of
    /// volumes, which have a depth before `h`. There is a stride and a dilation for each spatial axis.
    Windows { strides: SmallVec<[usize; 3]>, dilations: SmallVec<[usize; 3]> },
}

/// What the body of a composite op gets besides its operands.
pub struct CompositeCx<'a> {
    pub(crate) attrs: &'a Attrs,
}

impl CompositeCx<'_> {
    /// Returns the attributes of the call.
    pub fn attrs(&self) -> &Attrs {
        self.attrs
    }
}
