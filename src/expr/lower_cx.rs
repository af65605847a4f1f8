//! `LowerCx`: what an op's body may ask while it says how one output element is computed.

use shapeflow_shape_fns::{Attrs, DType, Dim};

use super::{Expr, Index, ReduceOp};

/// The context of a compute body: operands, parameters, and reductions.
///
/// A body gets the output's number and an [`Index`] per axis of it, and returns the element there.
/// A wrong request (an operand that is not there, an index of the wrong rank) is remembered and
/// becomes an error of the op; the value returned meanwhile is a zero.
pub trait LowerCx {
    /// How many operands the node has.
    fn operands(&self) -> usize;

    /// The element type of an operand.
    fn dtype(&self, operand: usize) -> DType;

    /// The dimensions of an operand.
    fn dims(&self, operand: usize) -> Vec<Dim>;

    /// The element type of an output.
    fn output_dtype(&self, output: usize) -> DType;

    /// The dimensions of an output.
    fn output_dims(&self, output: usize) -> Vec<Dim>;

    /// The node's attributes.
    fn attrs(&self) -> &Attrs;

    /// A parameter whose elements are all known, given as an attribute or as an operand.
    fn ints(&mut self, name: &str) -> Vec<i64>;

    /// A parameter that the shape function has normalised: known dims, or symbols bound when a run
    /// is planned.
    fn derived(&mut self, name: &str) -> Vec<Dim>;

    /// The element of an operand at `index`, one [`Index`] per axis.
    fn operand(&mut self, operand: usize, index: &[Index]) -> Expr;

    /// The element of an operand at a row-major position.
    fn operand_flat(&mut self, operand: usize, position: Index) -> Expr;

    /// `body` reduced over new axes of the given extents; the last axis is the innermost loop.
    fn reduce(
        &mut self,
        op: ReduceOp,
        extents: &[Dim],
        body: &mut dyn FnMut(&mut dyn LowerCx, &[Index]) -> Expr,
    ) -> Expr;

    /// An integer computed at run time (i32 or i64) as an index; the run fails, naming index, limit
    /// and axis, unless it lies in `[0, limit)`.
    fn checked_index(&mut self, value: Expr, limit: Dim, axis: usize) -> Index;
}
