//! `broadcast_args` and `broadcast_gradient_args`: broadcasting of shapes that are tensors.

use shapeflow_shape_fns::{Attrs, DType};

use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::Value;
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::ops::integers::{int_tensor, ints};

use super::unstack::exactly;

impl<'g> Value<'g> {
    /// Returns the shape to which two shapes broadcast. A shape is a vector of sizes.
    ///
    /// `[m], [n] -> [max(m, n)]`, i32 or i64. The run fails if the shapes do not broadcast. As TensorFlow's
    /// `BroadcastArgs`. Runs on the host.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([2, 1])?.broadcast_args(g.constant([5, 1, 3])?)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([5, 2, 3]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// An operand is not a vector, the dtypes differ or are neither i32 nor i64, or the shapes provably do not
    /// broadcast.
    #[doc(alias = "broadcast_dynamic_shape")]
    #[track_caller]
    pub fn broadcast_args(self, other: Value<'g>) -> Result<Value<'g>> {
        self.graph().op(&DEF).data(self).data(other).finish()
    }

    /// Returns, for operands of two shapes that broadcast, the axes of the result along which the gradient of each
    /// operand is summed.
    ///
    /// `[m], [n] -> [?], [?]`, i32 or i64: the axes along which the operand has size 1 or no axis. Equal shapes give no
    /// axes. The run fails if the shapes do not broadcast. As TensorFlow's `BroadcastGradientArgs`. Runs on the host.
    ///
    /// ```
    /// use shapeflow::Graph;
    ///
    /// let g = Graph::new();
    /// let [first, second] = g.constant([2, 1])?.broadcast_gradient_args(g.constant([2, 3])?)?;
    /// let [first, second] = g.compile([first, second])?.run(&[])?;
    /// assert_eq!((first.to_vec::<i32>()?, second.to_vec::<i32>()?), (vec![1], vec![]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Value::broadcast_args`].
    #[track_caller]
    pub fn broadcast_gradient_args(self, other: Value<'g>) -> Result<[Value<'g>; 2]> {
        exactly(self.graph().op(&GRADIENT).data(self).data(other).finish_all()?)
    }
}

pub(crate) static DEF: OpDef = OpDef::host("broadcast_args", run)
    .operands(&[Operand::Data("s0"), Operand::Data("s1")])
    .shape_fn(shapeflow_shape_fns::array::broadcast_args)
    .dtype_rule(|operands, _: &Attrs| Ok(vec![size_dtype(operands)?]))
    .tensorflow(&[TfOp::new("BroadcastArgs")]);

pub(crate) static GRADIENT: OpDef = OpDef::host("broadcast_gradient_args", run_gradient)
    .operands(&[Operand::Data("s0"), Operand::Data("s1")])
    .outputs(|_, _| 2)
    .shape_fn(shapeflow_shape_fns::array::broadcast_gradient_args)
    .dtype_rule(|operands, _: &Attrs| Ok(vec![size_dtype(operands)?; 2]))
    .tensorflow(&[TfOp::new("BroadcastGradientArgs")]);

fn size_dtype(operands: &[DType]) -> Result<DType> {
    dtype::check_indices(operands, 0)?;
    dtype::common(operands, 0, 2, dtype::Class::Integer)
}

/// Returns the sizes of both shapes along every axis of the result; a missing axis has size 1.
///
/// # Errors
/// The shapes do not broadcast.
fn aligned(cx: &HostCx<'_>) -> Result<[Vec<i64>; 2]> {
    let [mut a, mut b] = [ints(&cx.input(0)?), ints(&cx.input(1)?)];
    let rank = a.len().max(b.len());
    for shape in [&mut a, &mut b] {
        shape.splice(0..0, std::iter::repeat_n(1, rank - shape.len()));
    }
    match a.iter().zip(&b).find(|(x, y)| x != y && **x != 1 && **y != 1) {
        Some((x, y)) => {
            let message =
                format!("sizes must be equal or 1 to broadcast, got {x} and {y} in {a:?} and {b:?}");
            Err(Error::new(ErrorKind::Shape, Phase::Run, message))
        }
        None => Ok([a, b]),
    }
}

fn run(cx: &mut HostCx<'_>) -> Result<()> {
    let [a, b] = aligned(cx)?;
    let sizes = a.iter().zip(&b).map(|(x, y)| if *x == 1 { *y as usize } else { *x as usize });
    cx.set_output(0, int_tensor(cx.input(0)?.dtype(), &[a.len()], sizes)?)
}

fn run_gradient(cx: &mut HostCx<'_>) -> Result<()> {
    let is_equal = ints(&cx.input(0)?) == ints(&cx.input(1)?);
    let dtype = cx.input(0)?.dtype();
    for (output, shape) in aligned(cx)?.iter().enumerate() {
        let axes: Vec<usize> = (0..shape.len()).filter(|axis| !is_equal && shape[*axis] == 1).collect();
        cx.set_output(output, int_tensor(dtype, &[axes.len()], axes.into_iter())?)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{run, run_one, shape_table, tensor};

    shape_table! { DEF, {},
        "i32[2]; i32[3]" => "i32[3]",
        "i32[2]; i64[2]" => error "operands must have one dtype",
        "[2]; [2]" => error "the element type must be i32 or i64, got f32",
    }
    shape_table! { gradient: GRADIENT, {},
        "i64[2]; i64[3]" => "i64[?]; i64[?]",
    }

    #[test]
    fn sizes_of_one_give_way() {
        let shapes = |a: &[i64], b: &[i64]| [tensor(&[a.len()], a), tensor(&[b.len()], b)];
        let both = shapes(&[3, 1, 1], &[2, 1]);
        assert_eq!(run_one(&DEF, &Attrs::new(), &both).to_vec::<i64>().unwrap(), [3, 2, 1]);
        let axes = |operands: &[_]| -> Vec<Vec<i64>> {
            run(&GRADIENT, &Attrs::new(), operands)
                .unwrap()
                .iter()
                .map(|axes| axes.to_vec().unwrap())
                .collect()
        };
        assert_eq!(axes(&both), [vec![1, 2], vec![0, 2]]);
        assert_eq!(axes(&shapes(&[2, 1], &[2, 1])), [[0i64; 0]; 2]);
        let error = run(&DEF, &Attrs::new(), &shapes(&[3], &[2])).unwrap_err();
        assert!(error.message().contains("must be equal or 1 to broadcast"), "{error}");
    }
}
