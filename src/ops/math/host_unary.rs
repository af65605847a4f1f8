//! Special functions of one operand, element by element on the host.

use super::host_functions::each;
use super::{bessel_functions, integral_functions};
use crate::dtype;
use crate::error::Result;
use crate::graph::Value;
use crate::op::{OpDef, Operand, TfOp};
use crate::ops::row_docs::{call_words, near_words};
use crate::shape_fns;

/// Ops of one operand of a float dtype. A row holds the documentation, the names of the method and of the definition,
/// TensorFlow's op type, an example, and the function on `f64`.
macro_rules! host_unary {
    ($($(#[$meta:meta])* $method:ident, $DEF:ident, $op:literal, $x:tt ~ $near:tt, $function:path;)*) => {
        impl<'g> Value<'g> {$(
            $(#[$meta])*
            ///
            #[doc = concat!(
                "`[..] -> [..]`, floats, computed in f64 and rounded once. As TensorFlow's `", $op, "`. Runs on the host.",
            )]
            ///
            /// ```
            /// # use shapeflow::{Graph, Tensor};
            /// let g = Graph::new();
            #[doc = call_words!($method, $x)]
            /// let [y] = g.compile(y)?.run(&[])?;
            #[doc = near_words!($near)]
            /// # Ok::<(), shapeflow::Error>(())
            /// ```
            ///
            /// # Errors
            /// The element type is not a float.
            #[track_caller]
            pub fn $method(self) -> Result<Value<'g>> {
                self.graph().op(&$DEF).data(self).finish()
            }
        )*}

        $(pub(crate) static $DEF: OpDef = OpDef::host(stringify!($method), |cx| each(cx, &|[x]| $function(x)))
            .operands(&[Operand::Data("x")])
            .shape_fn(shape_fns::common::unary)
            .dtype_rule(dtype::unary::float)
            .tensorflow(&[TfOp::new($op)]);)*

        /// Every op of the file.
        pub(crate) static ALL: &[&OpDef] = &[$(&$DEF),*];
    };
}

host_unary! {
    /// The modified Bessel function of the first kind of order 0; NaN at infinity. See also [`Value::bessel_i0e`].
    ///
    /// The relative error in f64 is at most 1e-14 up to 30, and 1e-13 above.
    #[doc(alias = "i0")]
    bessel_i0, BESSEL_I0, "BesselI0", [0.0, 1.0] ~ [1.0, 1.266], bessel_functions::bessel_i0;

    /// The modified Bessel function of the first kind of order 1; NaN at infinity. See also [`Value::bessel_i1e`].
    ///
    /// The relative error in f64 is at most 1e-14 up to 30, and 1e-13 above.
    bessel_i1, BESSEL_I1, "BesselI1", [0.0, 1.0] ~ [0.0, 0.5652], bessel_functions::bessel_i1;

    /// The Bessel function of the first kind of order 0; NaN at infinity.
    ///
    /// The error in f64 is at most 1e-14 times the lesser of 1 and `√(2/(π|x|))`, the size of the oscillation.
    bessel_j0, BESSEL_J0, "BesselJ0", [0.0, 1.0] ~ [1.0, 0.7652], bessel_functions::bessel_j0;

    /// The Bessel function of the first kind of order 1; NaN at infinity.
    ///
    /// The error in f64 is at most 1e-14 times the lesser of 1 and `√(2/(π|x|))`, the size of the oscillation.
    bessel_j1, BESSEL_J1, "BesselJ1", [0.0, 1.0] ~ [0.0, 0.4401], bessel_functions::bessel_j1;

    /// The Bessel function of the second kind of order 0; -inf for 0 and negative arguments, and NaN at inf.
    ///
    /// The error in f64 is at most 1e-14 times the greater of the result and the lesser of 1 and `√(2/(πx))`.
    bessel_y0, BESSEL_Y0, "BesselY0", [1.0, 2.0] ~ [0.08826, 0.5104], bessel_functions::bessel_y0;

    /// The Bessel function of the second kind of order 1; -inf for 0 and negative arguments, and NaN at inf.
    ///
    /// The error in f64 is at most 1e-14 times the greater of the result and the lesser of 1 and `√(2/(πx))`.
    bessel_y1, BESSEL_Y1, "BesselY1", [1.0, 2.0] ~ [-0.7812, -0.1070], bessel_functions::bessel_y1;

    /// The modified Bessel function of the second kind of order 0; inf for 0 and negative arguments.
    ///
    /// The relative error in f64 is at most 1e-13.
    bessel_k0, BESSEL_K0, "BesselK0", [1.0, 2.0] ~ [0.4210, 0.1139], bessel_functions::bessel_k0;

    /// The modified Bessel function of the second kind of order 1; inf for 0 and negative arguments.
    ///
    /// The relative error in f64 is at most 1e-13.
    bessel_k1, BESSEL_K1, "BesselK1", [1.0, 2.0] ~ [0.6019, 0.1399], bessel_functions::bessel_k1;

    /// `exp(x) * K0(x)` for every element, see [`Value::bessel_k0`].
    ///
    /// The relative error in f64 is at most 1e-14.
    bessel_k0e, BESSEL_K0E, "BesselK0e", [1.0, 2.0] ~ [1.1445, 0.8416], bessel_functions::bessel_k0e;

    /// `exp(x) * K1(x)` for every element, see [`Value::bessel_k1`].
    ///
    /// The relative error in f64 is at most 1e-14.
    bessel_k1e, BESSEL_K1E, "BesselK1e", [1.0, 2.0] ~ [1.6362, 1.0335], bessel_functions::bessel_k1e;

    /// Dawson's integral `e^(-x²) ∫₀ˣ e^(t²) dt`.
    ///
    /// The relative error in f64 is at most 1e-14.
    #[doc(alias = "dawson")]
    dawsn, DAWSN, "Dawsn", [0.0, 1.0] ~ [0.0, 0.5381], integral_functions::dawsn;

    /// The exponential integral: the principal value of the integral of `eᵗ/t` from -∞ to `x`. -inf at 0, and NaN below
    /// 0 and at infinity.
    ///
    /// The error in f64 is at most 1e-14 times the greater of the result and 1.
    #[doc(alias = "ei")]
    expint, EXPINT, "Expint", [0.5, 1.0] ~ [0.4542, 1.895], integral_functions::expint;

    /// The Fresnel integral `∫₀ˣ cos(πt²/2) dt`.
    ///
    /// The error in f64 is at most 1e-14 times the lesser of 1 and `|x|`.
    fresnel_cos, FRESNEL_COS, "FresnelCos", [0.0, 1.0] ~ [0.0, 0.7799], integral_functions::fresnel_cos;

    /// The Fresnel integral `∫₀ˣ sin(πt²/2) dt`.
    ///
    /// The error in f64 is at most 1e-14 times the lesser of 1 and `|x|`.
    fresnel_sin, FRESNEL_SIN, "FresnelSin", [0.0, 1.0] ~ [0.0, 0.4383], integral_functions::fresnel_sin;

    /// Spence's integral, the dilogarithm of `1 - x`: `-∫₁ˣ log(t)/(t - 1) dt`. NaN below 0 and at infinity.
    ///
    /// The relative error in f64 is at most 1e-14.
    #[doc(alias = "dilogarithm")]
    spence, SPENCE, "Spence", [0.5, 2.0] ~ [0.5822, -0.8225], integral_functions::spence;
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::Attrs;

    use super::*;
    use crate::ops::testing::{run_one, shape_table, tensor};

    shape_table! { SPENCE, {},
        "f16[2, n]" => "f16[2, d0_1]",
        "i32[2]" => error "must be a float, got i32",
    }

    /// Rows of exact values, computed with 60 digits.
    #[test]
    fn errors_are_within_the_stated_bounds() {
        let mut counts = std::collections::BTreeMap::<&str, usize>::new();
        for line in include_str!("../../../tests/reference/bessel_functions.txt").lines() {
            let [name, x, expected] = line.split(' ').collect::<Vec<_>>().try_into().unwrap();
            let (x, expected): (f64, f64) = (x.parse().unwrap(), expected.parse().unwrap());
            let def = *ALL.iter().find(|def| def.name() == name).unwrap();
            let got = run_one(def, &Attrs::new(), &[tensor(&[], &[x])]).item::<f64>().unwrap();
            let size = (2.0 / (std::f64::consts::PI * x.abs())).sqrt().min(1.0);
            let scale = match name {
                "bessel_j0" | "bessel_j1" => size,
                "bessel_y0" | "bessel_y1" => expected.abs().max(size),
                "expint" => expected.abs().max(1.0),
                "fresnel_cos" | "fresnel_sin" => x.abs().min(1.0),
                _ => expected.abs(),
            };
            let bound = match name {
                "bessel_k0" | "bessel_k1" => 1e-13,
                "bessel_i0" | "bessel_i1" if x.abs() > 30.0 => 1e-13,
                _ => 1e-14,
            };
            let error = (got - expected).abs() / scale;
            assert!(error <= bound, "{line}: {got:e}, error {error:e}");
            *counts.entry(name).or_default() += 1;
        }
        assert_eq!(counts.len(), ALL.len());
    }
}
