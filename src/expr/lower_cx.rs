//! `LowerCx`: the context in which an op's body builds the expression of one output element.

use shapeflow_shape_fns::{Attrs, DType, Dim};

use super::{Expr, Index, ReduceOp, broadcast_dims};

/// The context of a compute body: operands, parameters, and reductions.
///
/// A body gets the number of an output and one [`Index`] per axis of this output, and returns the element at that
/// index. The context records an invalid request (an operand that does not exist, an index of the wrong rank), returns
/// a zero, and reports the request as an error of the op after the body returns. A run fails if the body reads outside
/// an operand: every load must lie in its operand for every element of the output.
pub trait LowerCx {
    /// Returns the number of operands of the node.
    fn operands(&self) -> usize;

    /// Returns the dtype of an operand.
    fn dtype(&self, operand: usize) -> DType;

    /// Returns the dimensions of an operand.
    fn dims(&self, operand: usize) -> Vec<Dim>;

    /// Returns the dtype of an output.
    fn output_dtype(&self, output: usize) -> DType;

    /// Returns the dimensions of an output.
    fn output_dims(&self, output: usize) -> Vec<Dim>;

    /// Returns the attributes of the node.
    fn attrs(&self) -> &Attrs;

    /// Returns the integers of a parameter declared with [`Operand::Structure`](crate::Operand::Structure), such as an
    /// axis. The parameter is an attribute or an operand. All integers must be known.
    fn ints(&mut self, name: &str) -> Vec<i64>;

    /// Returns a parameter that the shape function has normalized: known dims, or symbols that are bound when a run
    /// is planned.
    fn derived(&mut self, name: &str) -> Vec<Dim>;

    /// Makes a load of an operand's element at `index`, one [`Index`] per axis.
    fn operand(&mut self, operand: usize, index: &[Index]) -> Expr;

    /// Makes a load of an operand's element, where the operand is broadcast to output 0. `index` is the index of the
    /// element of output 0. Axes align from the right, and an axis of size 1 is read at 0. The shape function of an op
    /// that calls this method is usually [`broadcast`](crate::shape_fns::common::broadcast).
    ///
    /// ```
    /// use shapeflow::{shape, shape_fns, DType, Graph, OpDef, Operand, Tensor};
    ///
    /// /// `|x - y| / (|x| + |y|)`, element by element.
    /// static CANBERRA: OpDef = OpDef::compute("canberra", |cx, _output, index| {
    ///     let (x, y) = (cx.broadcast_operand(0, index), cx.broadcast_operand(1, index));
    ///     (x.clone() - y.clone()).abs() / (x.abs() + y.abs())
    /// })
    /// .operands(&[Operand::Data("x"), Operand::Data("y")])
    /// .shape_fn(shape_fns::common::broadcast);
    ///
    /// let g = Graph::new();
    /// let rows = g.input("rows", DType::F32, shape!["n", "m"])?;
    /// let center = g.input("center", DType::F32, shape!["m"])?;
    /// let y = g.op(&CANBERRA).data(rows).data(center).finish()?;
    /// assert_eq!(y.shape(), shape!["n", "m"]);
    /// let exe = g.compile(y)?;
    /// let (rows, center) = (Tensor::from([[1.0f32, 1.0], [3.0, -2.0]]), Tensor::from([1.0f32, 3.0]));
    /// let [y] = exe.run(&[rows.view(), center.view()])?;
    /// assert_eq!(y, Tensor::from([[0.0f32, 0.5], [0.5, 1.0]]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    fn broadcast_operand(&mut self, operand: usize, index: &[Index]) -> Expr {
        let read = broadcast_dims(&self.dims(operand), &self.output_dims(0), index);
        self.operand(operand, &read)
    }

    /// Makes a load of an operand's element at a row-major position.
    fn operand_flat(&mut self, operand: usize, position: Index) -> Expr;

    /// Reduces `body` over new axes of the given extents. The last axis is the innermost loop.
    fn reduce(
        &mut self,
        op: ReduceOp,
        extents: &[Dim],
        body: &mut dyn FnMut(&mut dyn LowerCx, &[Index]) -> Expr,
    ) -> Expr;

    /// Makes an index from an integer computed at run time (i32 or i64). Unless `0 <= value < limit`, the run fails
    /// with an error that names the value, the limit and `axis`.
    fn checked_index(&mut self, value: Expr, limit: Dim, axis: usize) -> Index;
}
