//! `random_binomial`: random counts of binomial distributions.

use std::panic::Location;

use shapeflow_shape_fns::{Attribute, DType};

use super::draws::{Draws, fill_samples, reals};
use super::poisson::count_dtype;
use super::state::stream_of_seed;
use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::expr::{Scalar, eval_cast};
use crate::graph::{IntoOperand, IntoShapeArg, Value, one_dtype};
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::ops::broadcast_pair::BroadcastPair;

impl<'g> Value<'g> {
    /// Makes random counts of successes in `trials` trials that succeed with probability `p`. `self` is the seed.
    ///
    /// `seed [2], trials, p -> shape`, where `shape` ends with the broadcast shape of `trials` and `p`; the seed is i32
    /// or i64, `trials` and `p` are f16, f32 or f64, and the result is f16, f32, f64, i32 or i64. The same seed and
    /// shape give the same numbers in every run. As TensorFlow's `StatelessRandomBinomial` on a CPU. Runs on the host.
    ///
    /// ```
    /// use shapeflow::{DType, Graph};
    ///
    /// let g = Graph::new();
    /// let (trials, p) = (g.constant(8.0)?, g.constant([0.25, 0.75])?);
    /// let heads = g.constant([1i64, 2])?.random_binomial([1000, 2], trials, p, DType::F64)?;
    /// let means = g.compile(heads.reduce_mean(0)?)?.run::<1>(&[])?[0].to_vec::<f64>()?;
    /// assert!((means[0] - 2.0).abs() < 0.2 && (means[1] - 6.0).abs() < 0.2);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The seed is not an integer, a size is negative, or a dtype is not supported. The run fails unless the seed has
    /// two elements, `trials` is finite, `p` is not NaN, and the shape ends with the broadcast shape of `trials` and
    /// `p`.
    #[doc(alias = "stateless_random_binomial")]
    #[track_caller]
    pub fn random_binomial(
        self,
        shape: impl IntoShapeArg<'g>,
        trials: impl IntoOperand<'g>,
        p: impl IntoOperand<'g>,
        dtype: DType,
    ) -> Result<Value<'g>> {
        let location = Location::caller();
        let graph = self.graph();
        let sources = [trials.into_source(graph, location), p.into_source(graph, location)];
        let [trials, p] = one_dtype(graph, location, sources);
        let call = graph.op(&DEF).size("shape", shape.into_shape_arg());
        call.data(self).data(trials).data(p).attr("dtype", dtype).finish()
    }
}

pub(crate) static ALL: &[&OpDef] = &[&DEF];

static DEF: OpDef = OpDef::host("random_binomial", run)
    .attrs(&[Attribute::dtype_or("dtype", DType::I64)])
    .operands(&[
        Operand::Size("shape"),
        Operand::Data("seed"),
        Operand::Data("counts"),
        Operand::Data("probs"),
    ])
    .shape_fn(shapeflow_shape_fns::random::numbers)
    .dtype_rule(|operands, attrs| {
        let (seed, parameters) = operands.split_at(operands.len().saturating_sub(2));
        dtype::check_indices(seed, 0)?;
        match *parameters {
            [trials, p] if trials == p && matches!(p, DType::F16 | DType::F32 | DType::F64) => {
                count_dtype(attrs)
            }
            _ => dtype::refuse(format!(
                "trials and probabilities must be f16, f32 or f64 of one dtype, got {}",
                dtype::names(parameters)
            )),
        }
    })
    .tensorflow(&[TfOp::new("StatelessRandomBinomial")]);

fn run(cx: &mut HostCx<'_>) -> Result<()> {
    let stream = stream_of_seed(cx, cx.inputs() - 3)?;
    let (trials, p) = (cx.input(cx.inputs() - 2)?, cx.input(cx.inputs() - 1)?);
    let dtype = p.dtype();
    let pair = BroadcastPair::new(trials.sizes(), p.sizes())?;
    let (trials, p) = (reals(trials)?, reals(p)?);
    if let Some(wrong) = trials.iter().find(|trials| !trials.is_finite()) {
        return refuse(format!("a number of trials must be finite, got {wrong}"));
    }
    if p.iter().any(|p| p.is_nan()) {
        return refuse("a probability must be a number, got NaN".to_string());
    }
    fill_samples(cx, stream, &pair.sizes, |position, begin| {
        let (of_trials, of_p) = pair.position(position);
        let (trials, p) = (trials[of_trials], p[of_p]);
        match p {
            _ if trials <= 0.0 || p <= 0.0 => 0.0,
            _ if p >= 1.0 => trials,
            _ if p <= 0.5 => successes(trials, p, dtype, begin),
            _ => trials - successes(trials, rounded(1.0 - p, dtype), dtype, begin),
        }
    })
}

fn refuse<T>(message: String) -> Result<T> {
    Err(Error::new(ErrorKind::Attribute, Phase::Run, message))
}

/// Returns `x` in the precision of `dtype`.
fn rounded(x: f64, dtype: DType) -> f64 {
    eval_cast(Scalar::F64(x), dtype).to_f64()
}

/// Samples a number of successes with a probability of at most 1/2.
fn successes(trials: f64, p: f64, dtype: DType, begin: &dyn Fn(u64) -> Draws) -> f64 {
    match rounded(trials * p, dtype) >= 10.0 {
        true => transformed_rejection(trials, p, begin(256)),
        false => inversion(trials, p, begin(42)),
    }
}

/// Counts the successes: draws the distances from one success to the next, which have a geometric distribution.
fn inversion(trials: f64, p: f64, mut draws: Draws) -> f64 {
    let (mut trial, mut count) = (0.0, 0.0);
    loop {
        trial += (draws.uniform().ln() / (-p).ln_1p()).ceil();
        if trial > trials {
            return count;
        }
        count += 1.0;
    }
}

/// Returns the error of Stirling's formula for `log k!`.
fn stirling_error(k: f64) -> f64 {
    const FIRST: [f64; 10] = [
        0.081_061_466_795_327_2,
        0.041_340_695_955_409_2,
        0.027_677_925_684_998_3,
        0.020_790_672_103_765_09,
        0.016_644_691_189_821_1,
        0.013_876_128_823_070_7,
        0.011_896_709_945_891_7,
        0.010_411_265_261_972_0,
        0.009_255_462_182_712_73,
        0.008_330_563_433_362_87,
    ];
    if k <= 9.0 {
        return FIRST[k as usize];
    }
    let square = (k + 1.0) * (k + 1.0);
    (1.0 / 12.0 - (1.0 / 360.0 - 1.0 / 1260.0 / square) / square) / (k + 1.0)
}

/// Makes a count by the method of Hörmann, "The generation of binomial random variates" (1993).
fn transformed_rejection(trials: f64, p: f64, mut draws: Draws) -> f64 {
    let deviation = (trials * p * (1.0 - p)).sqrt();
    let b = 1.15 + 2.53 * deviation;
    let a = -0.0873 + 0.0248 * b + 0.01 * p;
    let c = trials * p + 0.5;
    let (limit, r) = (0.92 - 4.2 / b, p / (1.0 - p));
    let alpha = (2.83 + 5.1 / b) * deviation;
    let mode = ((trials + 1.0) * p).floor();
    loop {
        let u = draws.uniform();
        let v = draws.uniform();
        let u = u - 0.5;
        let shifted = 0.5 - u.abs();
        let k = ((2.0 * a / shifted + b) * u + c).floor();
        if shifted >= 0.07 && v <= limit {
            return k;
        }
        if k < 0.0 || k > trials {
            continue;
        }
        let v = (v * alpha / (a / (shifted * shifted) + b)).ln();
        let bound = (mode + 0.5) * ((mode + 1.0) / (r * (trials - mode + 1.0))).ln()
            + (trials + 1.0) * ((trials - mode + 1.0) / (trials - k + 1.0)).ln()
            + (k + 0.5) * (r * (trials - k + 1.0) / (k + 1.0)).ln()
            + stirling_error(mode)
            + stirling_error(trials - mode)
            - stirling_error(k)
            - stirling_error(trials - k);
        if v <= bound {
            return k;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Attrs;
    use crate::ops::testing::{run, shape_table, tensor};
    use crate::tensor::Tensor;

    shape_table! { DEF, {"dtype": DType::I64},
        "shape=i32[2]; i64[2]; f32[n]; f32[]" => "i64[?, ?]",
        "shape=i32[1]; i64[2]; f32[1]; f64[1]" => error "of one dtype",
    }

    #[test]
    fn more_pairs_of_parameters_than_memory_holds_are_an_error() {
        let many = |sizes: &[usize]| Tensor::zeros(DType::F32, sizes).unwrap();
        let operands = [tensor(&[2], &[1i64, 2]), many(&[1 << 21, 1]), many(&[1, 1 << 21])];
        let error = run(&DEF, &Attrs::new().with("shape", [3, 3]), &operands).unwrap_err();
        assert!(
            error.message().starts_with("the shape must end with the sizes of the parameters"),
            "{error}"
        );
    }
}
