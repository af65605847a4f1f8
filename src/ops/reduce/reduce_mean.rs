//! `reduce_mean`: means over axes.

use std::panic::Location;

use shapeflow_shape_fns::{Attribute, DType};

use super::axes::IntoAxes;
use super::reduction::Reduction;
use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx, ReduceOp};
use crate::graph::Value;
use crate::op::{Absent, OpDef, Operand, TfOp};
use crate::ops::widen::widen;
use crate::shape_fns;

impl<'g> Value<'g> {
    /// Returns the mean over the given axes.
    ///
    /// `[.., d, ..] -> [.., ..]`, or `[.., 1, ..]` with [`Axes::keep_dims`](crate::Axes::keep_dims); integers, floats
    /// and complex numbers. The mean of no elements is NaN for floats, and 0 for integers and complex numbers. Integers
    /// are summed in 64 bits, and the quotient is rounded toward zero. As TensorFlow's `Mean`. Fuses into kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([[1.0, 2.0], [3.0, 6.0]])?.reduce_mean(0)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([2.0, 4.0]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The element type is not an integer, a float or a complex number, or an axis is out of range or given twice.
    #[doc(alias = "mean")]
    #[doc(alias = "average")]
    #[track_caller]
    pub fn reduce_mean(self, axes: impl IntoAxes<'g>) -> Result<Value<'g>> {
        axes.into_axes().reduce(self, &DEF, Location::caller())
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("reduce_mean", lower)
    .attrs(&[Attribute::bool_or("keep_dims", false)])
    .operands(&[Operand::Data("input"), Operand::Structure("axis")])
    .shape_fn(shape_fns::reduce::reduce)
    .dtype_rule(dtype::unary::numeric)
    .tensorflow(&[TfOp::new("Mean").absent(&[("axis", Absent::AllAxes)])]);

fn lower(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    let reduction = Reduction::new(cx);
    let count = reduction.count();
    let dtype = cx.dtype(0);
    if dtype.is_integer() {
        let wide = if dtype.is_signed() { DType::I64 } else { DType::U64 };
        let sum = reduction.reduce(cx, ReduceOp::Sum, index, &|x| x.cast(wide));
        let one = count.like(1.0);
        return (sum / count.maximum(one).cast(wide)).cast(dtype);
    }
    let sum = reduction.reduce(cx, ReduceOp::Sum, index, &widen);
    if sum.dtype().is_complex() {
        // The sum of no elements is 0, and so is TensorFlow's mean.
        let one = count.like(1.0);
        let count = count.maximum(one).cast(sum.real().dtype());
        return Expr::complex(sum.real() / count.clone(), sum.imag() / count);
    }
    let count = count.cast(sum.dtype());
    (sum / count).cast(dtype)
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::Attrs;

    use super::DEF;
    use crate::ops::testing::{check_tensor, run_one, shape_table, tensor};

    shape_table! { DEF, {"axis": [0, -1]},
        "[2, n, 3]" => "[d0_1]",
        "?" => "?",
        "[n]" => error "axis",
        "bool[2, 3]" => error "must be an integer, a float or a complex number, got bool",
    }
    shape_table! { kept: DEF, {"axis": [1], "keep_dims": true},
        "[2, n, 3]" => "[2, 1, 3]",
    }
    shape_table! { all_axes: DEF, {},
        "[2, n]" => "[]",
        "?" => "[]",
        "[2, n]; axis=i32[2]" => "[]",
        "[2, n]; axis=i64[]" => "[?]",
    }

    #[test]
    fn the_mean_of_no_integers_is_zero() {
        let none = tensor::<i32>(&[0], &[]);
        check_tensor(&run_one(&DEF, &Attrs::new(), &[none]), &tensor(&[], &[0i32]), "reduce_mean");
    }
}
