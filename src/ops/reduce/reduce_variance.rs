//! `reduce_variance`, `reduce_std`: variances and standard deviations over axes.

use std::panic::Location;

use shapeflow_shape_fns::{Attribute, Attrs, DType};

use super::axes::{Axes, IntoAxes};
use super::in_tensorflow;
use super::reduction::Reduction;
use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx, ReduceOp};
use crate::graph::Value;
use crate::op::{OpDef, Operand, TfFunction};
use crate::ops::widen::widen;
use crate::shape_fns;

impl<'g> Value<'g> {
    /// Returns the variance over the given axes: the mean of `|x - mean|²`.
    ///
    /// `[.., d, ..] -> [.., ..]`, or `[.., 1, ..]` with [`Axes::keep_dims`]; floats and complex numbers, whose variance
    /// is a float. NaN for no elements. As TensorFlow's `tf.math.reduce_variance`, which TensorFlow composes of several
    /// ops, and numpy's `var`; torch's `var` divides by the number of elements minus 1. Fuses into kernels.
    ///
    /// The op reads the elements twice: for the mean, and for the squares of the differences from it. The square of the
    /// rounding error of the mean adds to the result. The error counts if the elements are many and their mean is large
    /// beside their deviation: cast them to f64 first, or subtract a rough mean.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([1.0, 3.0, 5.0, 7.0])?.reduce_variance(0)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from(5.0));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The element type is neither a float nor complex, or an axis is out of range or given twice.
    #[doc(alias = "var")]
    #[track_caller]
    pub fn reduce_variance(self, axes: impl IntoAxes<'g>) -> Result<Value<'g>> {
        axes.into_axes().reduce(self, &DEF, Location::caller())
    }

    /// Returns the standard deviation over the given axes: the square root of [`Value::reduce_variance`].
    ///
    /// `[.., d, ..] -> [.., ..]`, or `[.., 1, ..]` with [`Axes::keep_dims`]; floats and complex numbers, whose
    /// deviation is a float. NaN for no elements. As TensorFlow's `tf.math.reduce_std` and numpy's `std`; torch's `std`
    /// divides by the number of elements minus 1. [`Value::reduce_variance`] describes the precision. Fuses into
    /// kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([[1.0, 5.0], [2.0, 2.0]])?.reduce_std(1)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([2.0, 0.0]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Value::reduce_variance`].
    #[doc(alias = "std")]
    #[track_caller]
    pub fn reduce_std(self, axes: impl IntoAxes<'g>) -> Result<Value<'g>> {
        axes.into_axes().reduce(self, &STD, Location::caller())
    }

    /// Returns the mean and the variance over the given axes: [`Value::reduce_mean`] and [`Value::reduce_variance`].
    ///
    /// `[.., d, ..] -> [.., ..], [.., ..]`, floats and complex numbers; both results have the dtype of the operand. As
    /// TensorFlow's `tf.nn.moments`. [`Value::reduce_variance`] describes the precision. The op is composed of the two
    /// reductions, which fuse into kernels.
    ///
    /// ```
    /// use shapeflow::Graph;
    ///
    /// let g = Graph::new();
    /// let [mean, variance] = g.constant([1.0, 3.0, 5.0, 7.0])?.moments(0)?;
    /// let [mean, variance] = g.compile([mean, variance])?.run(&[])?;
    /// assert_eq!((mean.item::<f64>()?, variance.item::<f64>()?), (4.0, 5.0));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Value::reduce_variance`].
    #[doc(alias = "var_mean")]
    #[track_caller]
    pub fn moments(self, axes: impl IntoAxes<'g>) -> Result<[Value<'g>; 2]> {
        let axes: Axes<'g> = axes.into_axes();
        let variance = axes.clone().reduce(self, &DEF, Location::caller())?.cast(self.dtype())?;
        Ok([axes.reduce(self, &super::reduce_mean::DEF, Location::caller())?, variance])
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("reduce_variance", |cx, output, index| {
    let dtype = cx.output_dtype(output);
    variance(cx, index).cast(dtype)
})
.attrs(&[Attribute::bool_or("keep_dims", false)])
.in_tensorflow(TfFunction::Composed(in_tensorflow::variance))
.operands(&[Operand::Data("input"), Operand::Structure("axis")])
.shape_fn(shape_fns::reduce::reduce)
.dtype_rule(dtypes);

pub(crate) static STD: OpDef = OpDef::compute("reduce_std", |cx, output, index| {
    let dtype = cx.output_dtype(output);
    variance(cx, index).sqrt().cast(dtype)
})
.attrs(&[Attribute::bool_or("keep_dims", false)])
.in_tensorflow(TfFunction::Composed(in_tensorflow::standard_deviation))
.operands(&[Operand::Data("input"), Operand::Structure("axis")])
.shape_fn(shape_fns::reduce::reduce)
.dtype_rule(dtypes);

fn dtypes(dtypes: &[DType], _: &Attrs) -> Result<Vec<DType>> {
    let x = dtype::common(dtypes, 0, 1, dtype::Class::Inexact)?;
    Ok(vec![x.part().unwrap_or(x)])
}

fn variance(cx: &mut dyn LowerCx, index: &[Index]) -> Expr {
    let reduction = Reduction::new(cx);
    let sum = reduction.reduce(cx, ReduceOp::Sum, index, &widen);
    let count = reduction.count().cast(sum.dtype());
    let mean = sum / count;
    let squares = reduction.reduce(cx, ReduceOp::Sum, index, &|x| {
        let difference = widen(x) - &mean;
        match difference.dtype().is_complex() {
            true => difference.real() * difference.real() + difference.imag() * difference.imag(),
            false => &difference * &difference,
        }
    });
    let count = reduction.count().cast(squares.dtype());
    squares / count
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::Attrs;

    use super::{DEF, STD};
    use crate::ops::testing::{check_tensor, run_one, shape_table, tensor};

    shape_table! { DEF, {"axis": [0, -1]},
        "[2, n, 3]" => "[d0_1]",
        "[n]" => error "axis",
        "c64[2, n, 3]" => "f32[d0_1]",
        "i32[2, 3]" => error "must be a float or a complex number, got i32",
    }
    shape_table! { deviation: STD, {"axis": [1], "keep_dims": true},
        "[2, n, 3]" => "[2, 1, 3]",
    }

    #[test]
    fn values() {
        let attrs = Attrs::new().with("axis", [1]);
        let x = tensor(&[2, 4], &[1e8, 1e8 + 2.0, 1e8 + 4.0, 1e8 + 6.0, 3.0, 3.0, 3.0, 3.0f64]);
        let variance = run_one(&DEF, &attrs, std::slice::from_ref(&x));
        check_tensor(&variance, &tensor(&[2], &[5.0, 0.0]), "reduce_variance");
        check_tensor(&run_one(&STD, &attrs, &[x]), &tensor(&[2], &[5.0f64.sqrt(), 0.0]), "reduce_std");
        let none = run_one(&DEF, &attrs, &[tensor::<f32>(&[1, 0], &[])]);
        check_tensor(&none, &tensor(&[1], &[f32::NAN]), "no elements");
    }
}
