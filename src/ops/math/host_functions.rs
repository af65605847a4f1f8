//! Special functions of two or three operands, element by element on the host.

use std::panic::Location;

use super::gamma_functions;
use crate::dtype;
use crate::error::Result;
use crate::expr::{Scalar, eval_cast};
use crate::graph::{IntoOperand, Value};
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::ops::row_docs::{call_words, near_words};
use crate::ops::row_major::RowMajor;
use crate::shape_fns;

/// Ops of two operands of one float dtype, which broadcast. A row holds the documentation, the names of the method and
/// of the definition, TensorFlow's op type and names of operands, an example, and the function on `f64`.
macro_rules! host_functions {
    ($($(#[$meta:meta])* $method:ident, $DEF:ident, $op:literal: $first:literal, $second:literal, $x:tt, $y:tt ~ $near:tt, $function:path;)*) => {
        impl<'g> Value<'g> {$(
            $(#[$meta])*
            ///
            #[doc = concat!(
                "`[..], [..] -> broadcast`, floats of one dtype, computed in f64 and rounded once. As TensorFlow's `", $op,
                "`. Runs on the host.",
            )]
            ///
            /// ```
            /// # use shapeflow::{Graph, Tensor};
            /// let g = Graph::new();
            #[doc = call_words!($method, $x, $y)]
            /// let [y] = g.compile(y)?.run(&[])?;
            #[doc = near_words!($near)]
            /// # Ok::<(), shapeflow::Error>(())
            /// ```
            ///
            /// # Errors
            /// The dtypes differ or are not floats, or the shapes do not broadcast.
            #[track_caller]
            pub fn $method(self, other: impl IntoOperand<'g>) -> Result<Value<'g>> {
                self.binary(&$DEF, other, Location::caller())
            }
        )*}

        $(pub(crate) static $DEF: OpDef = OpDef::host(stringify!($method), |cx| {
            each(cx, &|[first, second]| $function(first, second))
        })
        .operands(&[Operand::Data($first), Operand::Data($second)])
        .shape_fn(shape_fns::common::broadcast)
        .dtype_rule(dtype::binary::float)
        .tensorflow(&[TfOp::new($op)]);)*

        /// Every op of the file.
        pub(crate) static ALL: &[&OpDef] = &[$(&$DEF,)* &BETAINC];
    };
}

host_functions! {
    /// The lower regularized incomplete gamma function `P(self, other) = 1/Γ(a) ∫₀ˣ tᵃ⁻¹ e⁻ᵗ dt`. 0 where `other` is 0,
    /// as in TensorFlow; elsewhere NaN unless both are positive.
    ///
    /// For `self` up to 1e6, the relative error in f64 is at most 1e-13 where the result is at least 1e-100.
    #[doc(alias = "gammainc")]
    igamma, IGAMMA, "Igamma": "a", "x", [1.0, 2.0], [1.0, 2.0] ~ [0.6321, 0.5940], gamma_functions::igamma;

    /// The upper regularized incomplete gamma function `Q(self, other) = 1 - P(self, other)`, see [`Value::igamma`]. NaN
    /// unless `self` is positive and `other` is not negative.
    ///
    /// For `self` up to 1e6, the error in f64 is at most 1e-13 of the result where `other` is greater than `self` and 1
    /// and the result is at least 1e-100; elsewhere it is at most 1e-13.
    #[doc(alias = "gammaincc")]
    igammac, IGAMMAC, "Igammac": "a", "x", [1.0, 2.0], [1.0, 2.0] ~ [0.3679, 0.4060], gamma_functions::igammac;

    /// The derivative of [`Value::igamma`] with respect to `self`.
    ///
    /// For `self` up to 1e4, the relative error in f64 is at most 1e-10 where the result is at least 1e-100.
    igamma_grad_a, IGAMMA_GRAD_A, "IgammaGradA": "a", "x", [1.0], [1.0] ~ [-0.4317], gamma_functions::igamma_grad_a;

    /// The derivative of a gamma-distributed sample `other` with respect to the parameter `self` of the distribution.
    ///
    /// For `self` up to 1e4, the relative error in f64 is at most 1e-10.
    random_gamma_grad, RANDOM_GAMMA_GRAD, "RandomGammaGrad": "alpha", "sample",
        [1.0], [1.0] ~ [1.173], gamma_functions::random_gamma_grad;

    /// The Hurwitz zeta function `Σ (other + k)^-self` over all `k` from 0; infinite at 1, and NaN for `self` below 1.
    ///
    /// The relative error in f64 is at most 1e-13 for a positive `other`.
    zeta, ZETA, "Zeta": "x", "y", [2.0, 4.0], [1.0, 1.0] ~ [1.645, 1.082], gamma_functions::zeta;

    /// Derivative number `self` of [`Value::digamma`] at `other`; NaN unless `self` is a non-negative integer.
    ///
    /// The relative error in f64 is at most 1e-13 for a positive `other` and a positive `self` up to 100.
    polygamma, POLYGAMMA, "Polygamma": "a", "x",
        [0.0, 1.0], [1.0, 1.0] ~ [-0.5772, 1.645], gamma_functions::polygamma;
}

impl<'g> Value<'g> {
    /// The regularized incomplete beta function `I_x(self, b) = 1/B(a, b) ∫₀ˣ tᵃ⁻¹ (1-t)ᵇ⁻¹ dt`. NaN unless `self` and
    /// `b` are positive and `x` is from 0 to 1.
    ///
    /// For parameters up to 1e4, the error in f64 is at most 1e-12 of the larger of the result and 1e-100; where `x` is
    /// above the mean of the distribution, it is at most 1e-12.
    ///
    /// `[..], [..], [..] -> [..]`, floats of one dtype and one shape, or scalars; computed in f64 and rounded once. As
    /// TensorFlow's `Betainc`. Runs on the host.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([2.0])?.betainc(g.constant([3.0])?, g.constant([0.5])?)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// y.allclose(&Tensor::from([0.6875]), 1e-3, 1e-12).unwrap();
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The dtypes differ or are not floats, or two shapes other than scalars differ.
    #[track_caller]
    pub fn betainc(self, b: impl IntoOperand<'g>, x: impl IntoOperand<'g>) -> Result<Value<'g>> {
        let location = Location::caller();
        let (b, x) = (b.into_operand(self, location), x.into_operand(self, location));
        self.graph().op(&BETAINC).data(self).data(b).data(x).finish_at(location)
    }

    /// The logarithm of the absolute value of the beta function of each row along the last axis:
    /// `Σ lgamma(x) - lgamma(Σ x)`.
    ///
    /// `[.., n] -> [..]`, floats; an empty row gives -inf. As TensorFlow's `tf.math.lbeta`. The op is composed of other
    /// ops, which fuse into kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([[1.0, 1.0], [2.0, 3.0]])?.lbeta()?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// y.allclose(&Tensor::from([0.0, -2.485]), 1e-3, 1e-12).unwrap();
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The element type is not a float, or `self` is a scalar.
    #[doc(alias = "betaln")]
    #[track_caller]
    pub fn lbeta(self) -> Result<Value<'g>> {
        self.graph()
            .in_call("lbeta", || self.lgamma()?.reduce_sum([-1])?.sub(self.reduce_sum([-1])?.lgamma()?))
    }
}

pub(crate) static BETAINC: OpDef =
    OpDef::host("betainc", |cx| each(cx, &|[a, b, x]| gamma_functions::betainc(a, b, x)))
        .operands(&[Operand::Data("a"), Operand::Data("b"), Operand::Data("x")])
        .shape_fn(shape_fns::common::same_shape_but_scalars)
        .dtype_rule(dtype::ternary::float)
        .tensorflow(&[TfOp::new("Betainc")]);

/// Applies `function` to the elements of the operands, which broadcast.
pub(super) fn each<const N: usize>(cx: &mut HostCx<'_>, function: &dyn Fn([f64; N]) -> f64) -> Result<()> {
    let operands: Vec<RowMajor<'_>> =
        (0..N).map(|operand| RowMajor::new(cx.input(operand)?)).collect::<Result<_>>()?;
    let views: Vec<_> = operands.iter().map(RowMajor::view).collect();
    let rank = views.iter().map(|view| view.sizes().len()).max().unwrap_or(0);
    // The size of each axis of an operand, whose shape is extended by ones in front.
    let size_at = |operand: usize, axis: usize| {
        let sizes = views[operand].sizes();
        (axis + sizes.len()).checked_sub(rank).map_or(1, |axis| sizes[axis])
    };
    let sizes: Vec<usize> = (0..rank)
        .map(|axis| (0..N).map(|operand| size_at(operand, axis)).find(|size| *size != 1).unwrap_or(1))
        .collect();
    let mut output = cx.unfilled_output(0, &sizes)?;
    let dtype = output.dtype();
    let bytes = dtype.size_bytes().expect("the dtype rule accepts floats only");
    if sizes.contains(&0) {
        return Ok(());
    }
    // The stride of each axis in an operand; 0 if the operand repeats its elements along the axis.
    let strides = |operand: usize| {
        let (mut strides, mut stride) = (vec![0; rank], 1);
        for axis in (0..rank).rev().filter(|axis| size_at(operand, *axis) != 1) {
            strides[axis] = stride;
            stride *= size_at(operand, axis);
        }
        strides
    };
    let strides: Vec<Vec<usize>> = (0..N).map(strides).collect();
    let steps: Vec<usize> = strides.iter().map(|strides| strides.last().copied().unwrap_or(0)).collect();
    let row_len = sizes.last().copied().unwrap_or(1);
    for (row, slots) in output.bytes_mut().chunks_exact_mut(row_len * bytes).enumerate() {
        let mut starts = [0; N];
        for (start, strides) in starts.iter_mut().zip(&strides) {
            let mut rest = row;
            for axis in (0..rank.saturating_sub(1)).rev() {
                *start += rest % sizes[axis] * strides[axis];
                rest /= sizes[axis];
            }
        }
        for (column, slot) in slots.chunks_exact_mut(bytes).enumerate() {
            let mut arguments = [0.0; N];
            for (operand, argument) in arguments.iter_mut().enumerate() {
                let offset = starts[operand] + column * steps[operand];
                let element = views[operand].element(offset).expect("the position is in the operand");
                *argument =
                    Scalar::from_bytes(dtype, element).expect("the dtype rule accepts floats only").to_f64();
            }
            let result = eval_cast(Scalar::F64(function(arguments)), dtype);
            result.write_bytes(slot).expect("a slot holds one element");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::Attrs;

    use super::*;
    use crate::graph::Graph;
    use crate::ops::testing::{check_tensor, run_one, shape_table, tensor};

    shape_table! { IGAMMA, {},
        "[2, n]; [n]" => "[2, d0_1]",
        "[2]; f64[2]" => error "one dtype, got f32 and f64",
        "i32[2]; i32[2]" => error "must be a float, got i32",
    }
    shape_table! { beta: BETAINC, {},
        "[2, n]; []; [2, n]" => "[2, d0_1]",
        "[2]; [3]; [2]" => error "",
    }

    /// Rows of exact values, computed with 60 digits.
    #[test]
    fn errors_are_within_the_stated_bounds() {
        let text = include_str!("../../../tests/reference/special_functions.txt");
        let mut worst = std::collections::BTreeMap::new();
        for line in text.lines() {
            let (name, rest) = line.split_once(' ').unwrap();
            let numbers: Vec<f64> = rest.split(' ').map(|word| word.parse().unwrap()).collect();
            let (expected, arguments) = numbers.split_last().unwrap();
            let def = *ALL.iter().find(|def| def.name() == name).unwrap();
            let operands: Vec<_> = arguments.iter().map(|argument| tensor(&[], &[*argument])).collect();
            let got = run_one(def, &Attrs::new(), &operands).item::<f64>().unwrap();
            let bound = match name {
                "igamma_grad_a" | "random_gamma_grad" => 1e-10,
                "betainc" => 1e-12,
                _ => 1e-13,
            };
            let is_complement = match name {
                "igammac" => !(arguments[1] > arguments[0] && arguments[1] > 1.0),
                "betainc" => arguments[2] > arguments[0] / (arguments[0] + arguments[1]),
                _ => false,
            };
            let scale = if is_complement { 1.0 } else { expected.abs().max(1e-100) };
            let error = (got - expected).abs() / scale;
            let entry: &mut f64 = worst.entry(name).or_default();
            *entry = entry.max(error);
            assert!(error <= bound, "{line}: {got:e}, error {error:e}");
        }
        assert_eq!(worst.len(), ALL.len());
    }

    #[test]
    fn operands_broadcast() {
        let a = tensor(&[2, 1], &[1.0f32, 2.0]);
        let x = tensor(&[3], &[0.0f32, 0.5, 1.0]);
        let y = run_one(&IGAMMA, &Attrs::new(), &[a, x]);
        // P(1, x) = 1 - e^-x, and P(2, x) = 1 - (1 + x) e^-x.
        let of = |x: f64| [1.0 - (-x).exp(), 1.0 - (1.0 + x) * (-x).exp()].map(|p| p as f32);
        let columns = [of(0.0), of(0.5), of(1.0)];
        let expected: Vec<f32> = (0..2).flat_map(|row| columns.map(|column| column[row])).collect();
        check_tensor(&y, &tensor(&[2, 3], &expected), "igamma");
    }

    #[test]
    fn the_lower_incomplete_gamma_function_is_zero_at_zero() {
        let operands = [tensor(&[3], &[-1.0, 0.0, 2.0]), tensor(&[2, 1], &[0.0, -0.0])];
        for def in [&IGAMMA, &IGAMMA_GRAD_A, &RANDOM_GAMMA_GRAD] {
            assert_eq!(run_one(def, &Attrs::new(), &operands).to_vec::<f64>().unwrap(), [0.0; 6]);
        }
        let upper = run_one(&IGAMMAC, &Attrs::new(), &operands).to_vec::<f64>().unwrap();
        assert!(upper.chunks(3).all(|row| row[0].is_nan() && row[1].is_nan() && row[2] == 1.0), "{upper:?}");
    }

    #[test]
    fn lbeta_of_two_is_the_beta_function() {
        let g = Graph::new();
        let x = g.constant(tensor(&[2, 2], &[1.0f64, 1.0, 2.0, 3.0])).unwrap();
        let [y] = g.compile(x.lbeta().unwrap()).unwrap().run(&[]).unwrap();
        assert!(y.allclose(&tensor(&[2], &[0.0, (1.0f64 / 12.0).ln()]), 1e-14, 1e-14).is_ok());
    }
}
