//! `random_gamma`: random numbers of gamma distributions.

use std::panic::Location;

use super::draws::{Draws, fill_samples, reals, wrong_parameter};
use super::philox::Philox;
use super::state::{stream_of_seed, stream_of_state};
use super::stateless::check_state;
use crate::dtype::{self, Class};
use crate::error::Result;
use crate::graph::{IntoOperand, IntoShapeArg, Value};
use crate::op::{HostCx, OpDef, Operand, TfOp};

/// The number of Philox blocks that are reserved for each sample.
const BLOCKS: u64 = 256;

impl<'g> Value<'g> {
    /// Makes random numbers of the gamma distributions with shape parameters `alpha` and scale 1. `self` is the seed.
    ///
    /// `seed [2], alpha [a..] -> shape`, where `shape` is `[s.., a..]`; the seed is i32 or i64, `alpha` and the result
    /// are f16, bf16, f32 or f64. The same seed and shape give the same numbers in every run. As TensorFlow's
    /// `StatelessRandomGammaV2` on a CPU, up to the rounding of logarithm and sine, which differs between C libraries.
    /// Runs on the host.
    ///
    /// ```
    /// use shapeflow::Graph;
    ///
    /// let g = Graph::new();
    /// let waits = g.constant([1i64, 2])?.random_gamma([1000, 2], g.constant([1.0, 5.0])?)?;
    /// let means = g.compile(waits.reduce_mean(0)?)?.run::<1>(&[])?[0].to_vec::<f64>()?;
    /// assert!((means[0] - 1.0).abs() < 0.2 && (means[1] - 5.0).abs() < 0.5);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The seed is not an integer, a size is negative, or `alpha` has another dtype. The run fails unless the seed has
    /// two elements, no `alpha` is negative or NaN, and the shape ends with the sizes of `alpha`.
    #[doc(alias = "stateless_gamma")]
    #[doc(alias = "standard_gamma")]
    #[track_caller]
    pub fn random_gamma(
        self,
        shape: impl IntoShapeArg<'g>,
        alpha: impl IntoOperand<'g>,
    ) -> Result<Value<'g>> {
        let alpha = alpha.into_own_operand(self.graph(), Location::caller());
        self.graph().op(&OF_SEED).size("shape", shape.into_shape_arg()).data(self).data(alpha).finish()
    }
}

pub(crate) static ALL: &[&OpDef] = &[&OF_SEED, &WITH_STATE];

static OF_SEED: OpDef = OpDef::host("random_gamma", |cx| {
    let stream = stream_of_seed(cx, cx.inputs() - 2)?;
    run(cx, stream)
})
.operands(&[Operand::Size("shape"), Operand::Data("seed"), Operand::Data("alpha")])
.shape_fn(shapeflow_shape_fns::random::numbers)
.dtype_rule(|operands, _| {
    let (seed, alpha) = operands.split_at(operands.len().saturating_sub(1));
    dtype::check_indices(seed, 0)?;
    Ok(vec![dtype::common(alpha, 0, 1, Class::Float)?])
})
.tensorflow(&[TfOp::new("StatelessRandomGammaV2")]);

pub(crate) static WITH_STATE: OpDef = OpDef::host("random_gamma_with_state", |cx| {
    let stream = stream_of_state(cx, cx.inputs() - 4)?;
    run(cx, stream)
})
.operands(&[
    Operand::Size("shape"),
    Operand::Data("key"),
    Operand::Data("counter"),
    Operand::Data("alg"),
    Operand::Data("alpha"),
])
.shape_fn(shapeflow_shape_fns::random::numbers)
.dtype_rule(|operands, _| {
    check_state(operands, 1)?;
    Ok(vec![dtype::common(operands, operands.len() - 1, operands.len(), Class::Float)?])
})
.tensorflow(&[TfOp::new("StatelessRandomGammaV3")]);

fn run(cx: &mut HostCx<'_>, stream: Philox) -> Result<()> {
    let alpha = cx.input(cx.inputs() - 1)?;
    let (alphas, sizes) = (reals(alpha.clone())?, alpha.sizes().to_vec());
    if let Some(wrong) = alphas.iter().find(|alpha| alpha.is_nan() || **alpha < 0.0) {
        return wrong_parameter("alpha must be at least 0", *wrong);
    }
    fill_samples(cx, stream, &sizes, |position, begin| sample(alphas[position], begin(BLOCKS)))
}

/// Makes a number by the method of Marsaglia and Tsang, "A simple method for generating gamma variables" (2000).
fn sample(alpha: f64, mut draws: Draws) -> f64 {
    if alpha == 1.0 {
        return -(-draws.uniform()).ln_1p();
    }
    // If `alpha < 1`, the method samples for `alpha + 1`.
    let d = alpha + if alpha < 1.0 { 2.0 / 3.0 } else { -1.0 / 3.0 };
    let c = 1.0 / 3.0 / d.sqrt();
    loop {
        let x = draws.normal();
        let v = 1.0 + c * x;
        if v <= 0.0 {
            continue;
        }
        let v = v * v * v;
        let u = draws.uniform();
        // The first condition implies the second one and is cheap.
        if u < 1.0 - 0.0331 * (x * x) * (x * x) || u.ln() < 0.5 * x * x + d * (1.0 - v + v.ln()) {
            return match alpha < 1.0 {
                true => d * v * draws.uniform().powf(1.0 / alpha),
                false => d * v,
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::shape_table;

    shape_table! { OF_SEED, {},
        "shape=i32[2]; i64[2]; f16[n]" => "f16[?, ?]",
        "shape=i32[1]; i64[2]; i32[1]" => error "must be a float, got i32",
        "shape=i32[1]; f32[2]; f32[1]" => error "the element type must be i32 or i64, got f32 in operand 1",
    }
}
