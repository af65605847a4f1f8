//! `random_poisson`: random counts of Poisson distributions.

use std::panic::Location;

use shapeflow_shape_fns::{Attribute, Attrs, DType};

use super::draws::{Draws, fill_samples, greatest_count, reals, wrong_parameter};
use super::philox::Philox;
use super::state::{stream_of_seed, stream_of_state};
use super::stateless::check_state;
use crate::dtype;
use crate::error::Result;
use crate::graph::{IntoOperand, IntoShapeArg, Value};
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::ops::math::gamma_functions::lgamma;

/// The number of blocks that a sample may take.
const BLOCKS: u64 = 256;

impl<'g> Value<'g> {
    /// Makes random counts of the Poisson distributions with means `rate`. `self` is the seed.
    ///
    /// `seed [2], rate [r..] -> shape`, where `shape` is `[s.., r..]`; the seed is i32 or i64, `rate` and the result
    /// are f16, f32, f64, i32 or i64. The same seed and shape give the same numbers in every run. As TensorFlow's
    /// `StatelessRandomPoisson` on a CPU. Runs on the host.
    ///
    /// ```
    /// use shapeflow::{DType, Graph};
    ///
    /// let g = Graph::new();
    /// let calls = g.constant([1i64, 2])?.random_poisson([1000], g.constant(3.0)?, DType::F64)?;
    /// let mean = g.compile(calls.reduce_mean(0)?)?.run::<1>(&[])?[0].item::<f64>()?;
    /// assert!((mean - 3.0).abs() < 0.3);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The seed is not an integer, a size is negative, or a dtype is not supported. The run fails unless the seed has
    /// two elements, every rate is at most the greatest number of `dtype`, and the shape ends with the sizes of `rate`.
    #[doc(alias = "stateless_random_poisson")]
    #[track_caller]
    pub fn random_poisson(
        self,
        shape: impl IntoShapeArg<'g>,
        rate: impl IntoOperand<'g>,
        dtype: DType,
    ) -> Result<Value<'g>> {
        let rate = rate.into_own_operand(self.graph(), Location::caller());
        let call = self.graph().op(&DEF).size("shape", shape.into_shape_arg());
        call.data(self).data(rate).attr("dtype", dtype).finish()
    }
}

pub(crate) static ALL: &[&OpDef] = &[&DEF, &WITH_STATE];

static DEF: OpDef = OpDef::host("random_poisson", |cx| {
    let stream = stream_of_seed(cx, cx.inputs() - 2)?;
    run(cx, stream)
})
.attrs(&[Attribute::dtype_or("dtype", DType::I64)])
.operands(&[Operand::Size("shape"), Operand::Data("seed"), Operand::Data("lam")])
.shape_fn(shapeflow_shape_fns::random::numbers)
.dtype_rule(|operands, attrs| {
    let (seed, rate) = operands.split_at(operands.len().saturating_sub(1));
    dtype::check_indices(seed, 0)?;
    check_count(rate)?;
    count_dtype(attrs)
})
.tensorflow(&[TfOp::new("StatelessRandomPoisson")]);

/// An op for import only: the counts of a key, a counter and the number of an algorithm.
pub(crate) static WITH_STATE: OpDef = OpDef::host("random_poisson_with_state", |cx| {
    let stream = stream_of_state(cx, cx.inputs() - 4)?;
    run(cx, stream)
})
.attrs(&[Attribute::dtype_or("dtype", DType::I64)])
.operands(&[
    Operand::Size("shape"),
    Operand::Data("key"),
    Operand::Data("counter"),
    Operand::Data("alg"),
    Operand::Data("lam"),
])
.shape_fn(shapeflow_shape_fns::random::numbers)
.dtype_rule(|operands, attrs| {
    check_state(operands, 1)?;
    check_count(&operands[operands.len() - 1..])?;
    count_dtype(attrs)
});

/// Checks that the operands have dtypes of counts.
pub(super) fn check_count(operands: &[DType]) -> Result<()> {
    match operands.iter().find(|dtype| !is_count(**dtype)) {
        Some(other) => dtype::refuse(format!("a rate must be f16, f32, f64, i32 or i64, got {other}")),
        None => Ok(()),
    }
}

/// Returns the dtype of counts that the attribute `dtype` gives, by default i64.
pub(super) fn count_dtype(attrs: &Attrs) -> Result<Vec<DType>> {
    match attrs.dtype("dtype") {
        dtype if is_count(dtype) => Ok(vec![dtype]),
        other => dtype::refuse(format!("dtype must be f16, f32, f64, i32 or i64, got {other}")),
    }
}

fn is_count(dtype: DType) -> bool {
    matches!(dtype, DType::F16 | DType::F32 | DType::F64 | DType::I32 | DType::I64)
}

fn run(cx: &mut HostCx<'_>, stream: Philox) -> Result<()> {
    let rate = cx.input(cx.inputs() - 1)?;
    let (rates, sizes) = (reals(rate.clone())?, rate.sizes().to_vec());
    let greatest = greatest_count(count_dtype(cx.attrs())?[0]);
    let is_in_range =
        |rate: f64| rate <= greatest || rate == f64::INFINITY && greatest >= f64::from(f32::MAX);
    if let Some(wrong) = rates.iter().find(|rate| !is_in_range(**rate)) {
        return wrong_parameter(&format!("a rate must be at most {greatest:?}"), *wrong);
    }
    fill_samples(cx, stream, &sizes, |position, begin| match rates[position] {
        f64::INFINITY => f64::INFINITY,
        rate if rate < 10.0 => small(rate, begin(BLOCKS)),
        rate => large(rate, greatest, begin(BLOCKS)),
    })
}

/// Counts the factors of a product of uniform numbers until it is at most `exp(-rate)`, as Knuth does.
fn small(rate: f64, mut draws: Draws) -> f64 {
    let (limit, mut product, mut count) = ((-rate).exp(), draws.uniform(), 0.0);
    while product > limit {
        product *= draws.uniform();
        count += 1.0;
    }
    count
}

/// Makes a count by the method of Hörmann, "The transformed rejection method for generating Poisson random variables"
/// (1993).
fn large(rate: f64, greatest: f64, mut draws: Draws) -> f64 {
    let b = 0.931 + 2.53 * rate.sqrt();
    let a = -0.059 + 0.02483 * b;
    let inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
    loop {
        let u = draws.uniform() - 0.5;
        let v = draws.uniform();
        let shifted = 0.5 - u.abs();
        let count = ((2.0 * a / shifted + b) * u + rate + 0.43).floor();
        if count > greatest {
            continue;
        }
        if shifted >= 0.07 && v <= 0.9277 - 3.6224 / (b - 2.0) {
            return count;
        }
        if count < 0.0 || shifted < 0.013 && v > shifted {
            continue;
        }
        let s = (v * inverse_alpha / (a / (shifted * shifted) + b)).ln();
        if s <= -rate + count * rate.ln() - lgamma(count + 1.0) {
            return count;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::shape_table;

    shape_table! { DEF, {"dtype": DType::I32},
        "shape=i32[2]; i64[2]; f32[n]" => "i32[?, ?]",
        "shape=i32[1]; i64[2]; u8[1]" => error "a rate must be f16, f32, f64, i32 or i64, got u8",
    }
}
