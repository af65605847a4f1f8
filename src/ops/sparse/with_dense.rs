//! `sparse_dense_add` and so on: a sparse and a dense tensor, element by element.

use std::panic::Location;

use shapeflow_shape_fns::{TensorShape, counted};

use crate::dtype::{self, Class};
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::{IntoOperand, Value};
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::ops::integers::ints;
use crate::ops::positions::Positions;
use crate::ops::row_major::RowMajor;
use crate::ops::rows::{Combine, combine};

use super::operand::{parts, refuse};

macro_rules! elementwise {
    ($($method:ident, $what:literal, $result:literal, $f:expr, $DEF:ident, $tf:literal;)*) => {
        impl<'g> Value<'g> {$(
            #[doc = concat!("Returns the values of a sparse tensor ", $what, " the elements of `dense` at the same indices. \
                `self` has the indices of the sparse tensor. The result has no other elements.")]
            ///
            /// `[count, r], values [count], shape [r], dense [d..] -> [count]`; `dense` broadcasts to the shape. The
            /// values and `dense` have one dtype, the indices and the shape are i64. As TensorFlow's
            #[doc = concat!("`", $tf, "`. Fuses into kernels.")]
            ///
            /// ```
            /// use shapeflow::Graph;
            ///
            /// let g = Graph::new();
            /// let (indices, shape) = (g.constant([[0i64, 1], [1, 0]])?, g.constant([2i64, 2])?);
            /// let (values, dense) = (g.constant([10, 20])?, g.constant([[1, 2], [4, 8]])?);
            #[doc = concat!("let values = indices.", stringify!($method), "(values, shape, dense)?;")]
            /// let [values] = g.compile(values)?.run(&[])?;
            #[doc = concat!("assert_eq!(values.to_vec::<i32>()?, ", $result, ");")]
            /// # Ok::<(), shapeflow::Error>(())
            /// ```
            ///
            /// # Errors
            /// An operand has another dtype or rank. The run fails if an index is out of range or the shapes do not
            /// broadcast.
            #[track_caller]
            pub fn $method(
                self,
                values: impl IntoOperand<'g>,
                shape: impl IntoOperand<'g>,
                dense: impl IntoOperand<'g>,
            ) -> Result<Value<'g>> {
                let location = Location::caller();
                let parts = parts(self, values, shape, location);
                let dense = dense.into_operand(parts[1], location);
                self.graph().op(&$DEF).data_all(&parts).data(dense).finish_at(location)
            }
        )*}

        $(
            pub(crate) static $DEF: OpDef = OpDef::composite(stringify!($method), |_, operands| {
                let [indices, values, shape, dense] = *operands else {
                    unreachable!("four operands are declared");
                };
                let combine: for<'v> fn(Value<'v>, Value<'v>) -> Result<Value<'v>> = $f;
                let (indices, values) = elements(indices, values)?;
                Ok(vec![combine(values, dense.broadcast_to(shape)?.gather_nd(indices)?)?])
            })
            .operands(&[
                Operand::Data("sp_indices"),
                Operand::Data("sp_values"),
                Operand::Data("sp_shape"),
                Operand::Data("dense"),
            ])
            .dtype_rule(|dtypes, _| Ok(vec![dtype::common(dtypes, 1, 2, Class::Numeric)?]))
            .tensorflow(&[TfOp::new($tf)]);
        )*
    };
}

elementwise! {
    sparse_dense_add, "plus", "[12, 24]", |a, b| (a + b).ok(), ADD, "SparseDenseCwiseAdd";
    sparse_dense_mul, "times", "[20, 80]", |a, b| (a * b).ok(), MUL, "SparseDenseCwiseMul";
    sparse_dense_div, "divided by", "[5, 5]", quotient, DIV, "SparseDenseCwiseDiv";
}

/// Requires that the indices are a matrix and that there is a value for each index.
fn elements<'g>(indices: Value<'g>, values: Value<'g>) -> Result<(Value<'g>, Value<'g>)> {
    let wrong = |message: String| Err(Error::new(ErrorKind::Shape, Phase::Build, message));
    let indices = match indices.shape().rank() {
        Some(2) => indices,
        // A run checks the rank of the operand of a transpose.
        None => indices.transpose([0, 1])?,
        Some(rank) => return wrong(format!("the indices must have rank 2, got rank {rank}")),
    };
    let count = indices.dim(0)?;
    match values.shape().dims() {
        Some([own]) if own.same(&count) == Some(false) => wrong(format!(
            "there must be a value for each index, got {own} for {count}",
            own = counted(own, "value"),
            count = counted(count, "index")
        )),
        Some([own]) if *own == count => Ok((indices, values)),
        None | Some([_]) => Ok((indices, values.ensure_shape(TensorShape::new([count]))?)),
        Some(_) => wrong(format!("the values must have rank 1, got {}", values.shape())),
    }
}

/// Divides as TensorFlow's `Div` does: integers are rounded toward zero.
fn quotient<'g>(a: Value<'g>, b: Value<'g>) -> Result<Value<'g>> {
    if a.dtype().is_integer() { a.truncatediv(b) } else { (a / b).ok() }
}

impl<'g> Value<'g> {
    /// Adds a sparse tensor to a dense tensor of the same shape. `self` has the indices of the sparse tensor.
    ///
    /// `[count, r], values [count], shape [r], dense [d..] -> [d..]`. The values and `dense` have one dtype of numbers,
    /// the indices and the shape are i32 or i64. As TensorFlow's `SparseTensorDenseAdd`. Runs on the host.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let (indices, shape) = (g.constant([[0i64, 1], [1, 0]])?, g.constant([2i64, 2])?);
    /// let dense = g.constant([[1, 2], [3, 4]])?;
    /// let [sum] = g.compile(indices.sparse_add_to_dense(g.constant([10, 20])?, shape, dense)?)?.run(&[])?;
    /// assert_eq!(sum, Tensor::from([[1, 12], [23, 4]]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// An operand has another dtype or rank. The run fails if an index is out of range or the shapes differ.
    #[track_caller]
    pub fn sparse_add_to_dense(
        self,
        values: impl IntoOperand<'g>,
        shape: impl IntoOperand<'g>,
        dense: impl IntoOperand<'g>,
    ) -> Result<Value<'g>> {
        let location = Location::caller();
        let parts = parts(self, values, shape, location);
        let dense = dense.into_operand(parts[1], location);
        self.graph().op(&ADD_TO_DENSE).data_all(&parts).data(dense).finish_at(location)
    }
}

pub(crate) static ADD_TO_DENSE: OpDef = OpDef::host("sparse_add_to_dense", add_to_dense)
    .operands(&[
        Operand::Data("a_indices"),
        Operand::Data("a_values"),
        Operand::Data("a_shape"),
        Operand::Data("b"),
    ])
    .shape_fn(shapeflow_shape_fns::sparse::add_dense)
    .dtype_rule(|dtypes, _| {
        dtype::check_indices(dtypes.get(..1).unwrap_or_default(), 0)?;
        dtype::check_indices(dtypes.get(2..3).unwrap_or_default(), 0)?;
        let [values, dense] =
            [1, 3].map(|operand| dtype::common(dtypes, operand, operand + 1, Class::Numeric));
        let (values, dense) = (values?, dense?);
        if values != dense {
            return dtype::refuse(format!("both tensors must have one dtype, got {values} and {dense}"));
        }
        Ok(vec![values])
    })
    .tensorflow(&[TfOp::new("SparseTensorDenseAdd")]);

fn add_to_dense(cx: &mut HostCx<'_>) -> Result<()> {
    let (indices, values) = (RowMajor::new(cx.input(0)?)?, RowMajor::new(cx.input(1)?)?);
    let (shape, dense) = (ints(&cx.input(2)?), cx.input(3)?);
    if !shape.iter().copied().eq(dense.sizes().iter().map(|size| *size as i64)) {
        return refuse(format!("both tensors must have one shape, got {shape:?} and {:?}", dense.sizes()));
    }
    let mut output = cx.unfilled_output(0, dense.sizes())?;
    output.copy_from(&dense)?;
    let positions = Positions::new(indices.view(), Some(1), dense.sizes())?;
    combine(&mut output, values.view(), 1, Combine::Add, &positions)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{run, shape_table, tensor};
    use shapeflow_shape_fns::Attrs;

    shape_table! { ADD_TO_DENSE, {},
        "i32[n, 2]; c64[n]; i32[2]; c64[3, m]" => "c64[3, m]",
        "i64[n, 2]; f32[n]; i64[2]; f64[3, m]" => error "both tensors must have one dtype, got f32 and f64",
    }

    #[test]
    fn values_of_one_index_add_up() {
        let sum = |shape: [i64; 2], index: i64| {
            let indices = tensor(&[3, 2], &[0i64, 1, index, 0, 0, 1]);
            let dense = tensor(&[2, 2], &[10i32, 20, 30, 40]);
            run(
                &ADD_TO_DENSE,
                &Attrs::new(),
                &[indices, tensor(&[3], &[1, 2, 3]), tensor(&[2], &shape), dense],
            )
        };
        assert_eq!(sum([2, 2], 1).unwrap()[0].to_vec::<i32>().unwrap(), [10, 24, 32, 40]);
        assert!(sum([4, 1], 1).unwrap_err().message().contains("both tensors must have one shape"));
        assert!(sum([2, 2], 2).is_err());
    }
    #[test]
    fn there_is_a_value_for_each_index() -> Result<()> {
        let g = crate::Graph::new();
        let (indices, shape) = (g.constant([[0i64], [1]])?, g.constant([2i64])?);
        let dense = g.constant([1.0f32, 2.0])?;
        for (values, message) in [
            (g.constant([1.0f32])?, "there must be a value for each index, got 1 value for 2 indices"),
            (g.constant([[1.0f32], [2.0]])?, "the values must have rank 1, got [2, 1]"),
        ] {
            let error = indices.sparse_dense_add(values, shape, dense).unwrap_err();
            assert!(error.message().contains(message), "{error}");
        }
        for rank in [TensorShape::unranked(), TensorShape::new([crate::Dim::symbol("n")])] {
            let g = crate::Graph::new();
            let indices = g.input("indices", crate::DType::I64, TensorShape::unranked())?;
            let values = g.input("values", crate::DType::F32, rank)?;
            let sum = indices.sparse_dense_add(values, g.constant([2i64])?, g.constant([1.0f32, 2.0])?)?;
            let exe = g.compile(sum)?;
            let indices = tensor(&[2, 1], &[0i64, 1]);
            let [sum] = exe.run(&[indices.view(), tensor(&[2], &[1.0f32, 3.0]).view()])?;
            assert_eq!(sum.to_vec::<f32>()?, [2.0, 5.0]);
            assert!(exe.run::<1>(&[indices.view(), tensor(&[1], &[1.0f32]).view()]).is_err());
        }
        Ok(())
    }
}
