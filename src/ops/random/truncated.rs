//! `random_parameterized_truncated_normal`: random numbers of normal distributions between bounds.

use std::panic::Location;

use shapeflow_shape_fns::DType;

use super::draws::{reals, wrong_parameter};
use super::philox::Philox;
use super::samples::{Reals, normal_reals, unit_reals};
use super::state::{stream_of_seed, stream_of_state};
use super::stateless::check_state;
use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::expr::{Scalar, eval_cast};
use crate::graph::{IntoOperand, IntoShapeArg, Value, one_dtype};
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::ops::broadcast_pair::BroadcastPair;
use crate::ops::host_params::param_sizes;

/// The number of numbers that may be rejected one after the other.
const MOST_REJECTED: u32 = 1000;

impl<'g> Value<'g> {
    /// Makes random numbers of the normal distributions with these means and standard deviations, restricted to
    /// `[low, high]`. `self` is the seed.
    ///
    /// `seed [2], mean, deviation, low, high -> shape`, where `shape` ends with the broadcast shape of the four
    /// parameters; the seed is i32 or i64, the parameters and the result are f16, f32 or f64. The same seed and shape
    /// give the same numbers in every run. As TensorFlow's `StatelessParameterizedTruncatedNormal` on one thread of a
    /// CPU, up to the rounding of logarithm, exponential and sine, which differs between C libraries: with more
    /// threads, TensorFlow's numbers depend on how it divides the work. Runs on the host.
    ///
    /// ```
    /// use shapeflow::Graph;
    ///
    /// let g = Graph::new();
    /// let (mean, deviation) = (g.constant([0.0, 10.0])?, g.constant(1.0)?);
    /// let seed = g.constant([1i64, 2])?;
    /// let x = seed.random_parameterized_truncated_normal([1000, 2], mean, deviation, mean - 0.5, mean + 3.0)?;
    /// let [low, high] = g.compile(&[x.reduce_min(0)?, x.reduce_max(0)?])?.run(&[])?;
    /// assert!(low.to_vec::<f64>()?.iter().zip([-0.5, 9.5]).all(|(low, bound)| *low >= bound));
    /// assert!(high.to_vec::<f64>()?.iter().zip([3.0, 13.0]).all(|(high, bound)| *high <= bound));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The seed is not an integer, a size is negative, or a dtype is not supported. The run fails unless the seed has
    /// two elements, each deviation is positive, each `low` is less than its `high`, one of both is finite, and the
    /// shape ends with the broadcast shape of the parameters.
    #[doc(alias = "stateless_parameterized_truncated_normal")]
    #[doc(alias = "truncnorm")]
    #[track_caller]
    pub fn random_parameterized_truncated_normal(
        self,
        shape: impl IntoShapeArg<'g>,
        mean: impl IntoOperand<'g>,
        deviation: impl IntoOperand<'g>,
        low: impl IntoOperand<'g>,
        high: impl IntoOperand<'g>,
    ) -> Result<Value<'g>> {
        let location = Location::caller();
        let graph = self.graph();
        let [mean, deviation] = [mean.into_source(graph, location), deviation.into_source(graph, location)];
        let [low, high] = [low.into_source(graph, location), high.into_source(graph, location)];
        let parameters = one_dtype(graph, location, [mean, deviation, low, high]);
        let call = graph.op(&OF_SEED).size("shape", shape.into_shape_arg()).data(self);
        call.data_all(&parameters).finish()
    }
}

pub(crate) static ALL: &[&OpDef] = &[&OF_SEED, &WITH_STATE];

static OF_SEED: OpDef = OpDef::host("random_parameterized_truncated_normal", |cx| {
    let stream = stream_of_seed(cx, cx.inputs() - 5)?;
    let parameters = Parameters::new(cx)?;
    let shape = param_sizes(cx, "shape", 0)?;
    if !shape.ends_with(&parameters.sizes) {
        let sizes = &parameters.sizes;
        return wrong_shape(format!(
            "the shape must end with the sizes of the parameters, {sizes:?}, got {shape:?}"
        ));
    }
    let batches = parameters.sizes.iter().product();
    let samples = shape[..shape.len() - parameters.sizes.len()].iter().product();
    run(cx, stream, &shape, samples, &parameters, |batch| (batch, batch, batches))
})
.operands(&[
    Operand::Size("shape"),
    Operand::Data("seed"),
    Operand::Data("means"),
    Operand::Data("stddevs"),
    Operand::Data("minvals"),
    Operand::Data("maxvals"),
])
.shape_fn(shapeflow_shape_fns::random::truncated_stateless)
.dtype_rule(|operands, _| {
    let (seed, parameters) = operands.split_at(operands.len().saturating_sub(4));
    dtype::check_indices(seed, 0)?;
    result_dtype(parameters)
})
.tensorflow(&[TfOp::new("StatelessParameterizedTruncatedNormal")]);

/// An op for import only: the numbers of row `b` of the result have element `b` of the parameters, or their only
/// element.
pub(crate) static WITH_STATE: OpDef = OpDef::host("random_parameterized_truncated_normal_with_state", |cx| {
    let stream = stream_of_state(cx, cx.inputs() - 7)?;
    let parameters = Parameters::new(cx)?;
    let shape = param_sizes(cx, "shape", 0)?;
    let Some((rows, row)) = shape.split_first() else {
        return wrong_shape("the shape must have at least one size, got none".to_string());
    };
    let count: usize = shape.iter().product();
    match parameters.sizes[..] {
        // TensorFlow divides numbers of the same parameters into batches of 100.
        [] | [1] if !parameters.has_bounds_of_rows => {
            run(cx, stream, &shape, 100, &parameters, |batch| (0, 100 * batch, 1))
        }
        [] | [1] => {
            run(cx, stream, &shape, count / rows.max(&1), &parameters, |batch| (0, batch * (count / rows), 1))
        }
        [sizes] if sizes == *rows => {
            let samples = row.iter().product();
            run(cx, stream, &shape, samples, &parameters, |batch| (batch, batch * samples, 1))
        }
        _ => wrong_shape(format!(
            "each parameter must be a scalar or have 1 or {rows} elements, got sizes {:?}",
            parameters.sizes
        )),
    }
})
.operands(&[
    Operand::Size("shape"),
    Operand::Data("key"),
    Operand::Data("counter"),
    Operand::Data("alg"),
    Operand::Data("means"),
    Operand::Data("stdevs"),
    Operand::Data("minvals"),
    Operand::Data("maxvals"),
])
.shape_fn(shapeflow_shape_fns::random::truncated)
.dtype_rule(|operands, _| {
    check_state(operands, 4)?;
    result_dtype(operands.split_at(operands.len().saturating_sub(4)).1)
});

fn wrong_shape<T>(message: String) -> Result<T> {
    Err(Error::new(ErrorKind::Shape, Phase::Run, message))
}

fn result_dtype(parameters: &[DType]) -> Result<Vec<DType>> {
    match *parameters {
        [first, ref rest @ ..]
            if rest.iter().all(|other| *other == first)
                && matches!(first, DType::F16 | DType::F32 | DType::F64) =>
        {
            Ok(vec![first])
        }
        _ => dtype::refuse(format!(
            "the parameters must be f16, f32 or f64 of one dtype, got {}",
            dtype::names(parameters)
        )),
    }
}

/// The parameters of several distributions: mean, deviation, lower bound, upper bound.
struct Parameters {
    values: [Vec<f64>; 4],
    /// The broadcast sizes.
    sizes: Vec<usize>,
    /// The elements of each parameter, paired with the distributions.
    pairs: [BroadcastPair; 4],
    /// Whether a bound is a vector.
    has_bounds_of_rows: bool,
}

impl Parameters {
    /// Reads the last four operands.
    ///
    /// # Errors
    /// Their sizes do not broadcast.
    fn new(cx: &HostCx<'_>) -> Result<Parameters> {
        let first = cx.inputs() - 4;
        let [means, deviations, lows, highs] = [0, 1, 2, 3].map(|number| cx.input(first + number));
        let parameters = [means?, deviations?, lows?, highs?];
        let mut sizes = Vec::new();
        for parameter in &parameters {
            sizes = BroadcastPair::new(&sizes, parameter.sizes())?.sizes;
        }
        let has_bounds_of_rows = parameters[2..].iter().any(|bound| !bound.sizes().is_empty());
        let [a, b, c, d] =
            parameters.each_ref().map(|parameter| BroadcastPair::new(&sizes, parameter.sizes()));
        let pairs = [a?, b?, c?, d?];
        let [a, b, c, d] = parameters.map(reals);
        Ok(Parameters { values: [a?, b?, c?, d?], sizes, pairs, has_bounds_of_rows })
    }

    /// Returns mean, deviation, lower bound and upper bound of a distribution.
    fn of(&self, distribution: usize) -> [f64; 4] {
        std::array::from_fn(|parameter| {
            let (_, position) = self.pairs[parameter].position(distribution);
            self.values[parameter][position]
        })
    }
}

/// Fills output 0, whose sizes are `shape`, in batches of up to `samples` numbers. `batch` gets the number of a batch
/// and returns its distribution, the position of its first number, and the distance of its numbers.
///
/// # Errors
/// A parameter is out of its range.
fn run(
    cx: &mut HostCx<'_>,
    stream: Philox,
    shape: &[usize],
    samples: usize,
    parameters: &Parameters,
    batch: impl Fn(usize) -> (usize, usize, usize),
) -> Result<()> {
    let mut output = cx.unfilled_output(0, shape)?;
    let (dtype, count) = (output.dtype(), output.len());
    let bytes = dtype.size_bytes().expect("the dtype rule accepts floats only");
    let mut blocks = RandomBlocks { stream, next: 0, dtype };
    let (mut filled, mut number) = (0, 0);
    while filled < count {
        let (distribution, first, step) = batch(number);
        let [mean, deviation, low, high] = parameters.of(distribution);
        let distribution = Truncated::new(mean, deviation, low, high, dtype)?;
        let samples = samples.min(count - filled);
        distribution.sample(samples, &mut blocks, |sample, value| {
            let at = (first + sample * step) * bytes;
            let slot = &mut output.bytes_mut()[at..at + bytes];
            eval_cast(Scalar::F64(value), dtype).write_bytes(slot).expect("a slot holds one element");
        })?;
        filled += samples;
        number += 1;
    }
    Ok(())
}

/// Blocks of random numbers, drawn one after the other.
struct RandomBlocks {
    stream: Philox,
    next: u64,
    dtype: DType,
}

impl RandomBlocks {
    fn draw(&mut self, make: fn(DType, [u32; 4]) -> Reals) -> Reals {
        self.next += 1;
        make(self.dtype, self.stream.block(self.next - 1))
    }
}

/// A normal distribution between bounds. `low` and `high` are the bounds of `(x - mean) / deviation`. If the
/// lower bound is -∞, or the upper bound is less than the mean, the bounds are exchanged and `deviation` is negative.
struct Truncated {
    mean: f64,
    deviation: f64,
    low: f64,
    high: f64,
    method: Method,
    dtype: DType,
}

/// How numbers are proposed, which may then be rejected.
enum Method {
    /// A normal number is accepted if it is between the bounds.
    Normal,
    /// A uniform number between the bounds is accepted with the ratio of the densities, `exp((square - z²) / 2)`.
    Uniform { square: f64 },
    /// An exponential number with rate `alpha`, beyond the lower bound.
    Exponential { alpha: f64 },
}

impl Truncated {
    fn new(mean: f64, mut deviation: f64, mut low: f64, mut high: f64, dtype: DType) -> Result<Truncated> {
        if deviation.is_nan() || deviation <= 0.0 {
            return wrong_parameter("a standard deviation must be positive", deviation);
        }
        if !(low < high && (low.is_finite() || high.is_finite())) {
            let message = format!("bounds must be in order, and one must be finite, got {low} and {high}");
            return Err(Error::new(ErrorKind::Attribute, Phase::Run, message));
        }
        if low == f64::NEG_INFINITY || high < mean {
            (low, high, deviation) = (high, low, -deviation);
        }
        let r = |x: f64| rounded(x, dtype);
        let normalized = |bound: f64| r(r(bound - mean) / deviation);
        let (low, high) = (normalized(low), normalized(high));
        // The sampler draws normal numbers and accepts the numbers between the bounds. This is fast enough if 0 and one
        // of ±`deviations` lie between the bounds.
        let deviations = r(1.3);
        let root = r(r(r(low * low) + 4.0).sqrt());
        let exponent = r(0.5 + r(r(low * r(low - root)) / 4.0));
        let cutoff = r(r(2.0 * r(exponent.exp())) / r(low + root));
        let method = if (low < -deviations && high >= 0.0) || (high > deviations && low <= 0.0) {
            Method::Normal
        } else if r(high - low) < cutoff {
            Method::Uniform { square: if low < 0.0 { 0.0 } else { r(low * low) } }
        } else {
            Method::Exponential { alpha: r(r(low + root) / 2.0) }
        };
        Ok(Truncated { mean, deviation, low, high, method, dtype })
    }

    /// Passes `count` numbers to `put`, with their positions.
    ///
    /// # Errors
    /// Too many numbers are rejected.
    fn sample(&self, count: usize, blocks: &mut RandomBlocks, mut put: impl FnMut(usize, f64)) -> Result<()> {
        let r = |x: f64| rounded(x, self.dtype);
        let (mut made, mut rejected) = (0, 0);
        while made < count {
            for proposal in self.propose(blocks).into_iter().flatten() {
                match proposal {
                    Some(_) if made == count => break,
                    Some(z) => {
                        put(made, r(r(z * self.deviation) + self.mean));
                        (made, rejected) = (made + 1, 0);
                    }
                    None => rejected += 1,
                }
            }
            if rejected > MOST_REJECTED {
                let message = format!("{rejected} numbers were rejected one after the other");
                return Err(Error::new(ErrorKind::Data, Phase::Run, message));
            }
        }
        Ok(())
    }

    /// Draws normalized numbers. The outer `None` stands for no number, the inner one for a rejected number.
    fn propose(&self, blocks: &mut RandomBlocks) -> [Option<Option<f64>>; 4] {
        let r = |x: f64| rounded(x, self.dtype);
        let mut proposals = [None; 4];
        match self.method {
            Method::Normal => {
                let normal = blocks.draw(normal_reals);
                for (proposal, z) in proposals.iter_mut().zip(normal.iter()) {
                    *proposal = Some(Some(z).filter(|z| (self.low..=self.high).contains(z)));
                }
            }
            Method::Uniform { square } => {
                let (places, chances) = (blocks.draw(unit_reals), blocks.draw(unit_reals));
                let width = r(self.high - self.low);
                for ((proposal, place), chance) in proposals.iter_mut().zip(places.iter()).zip(chances.iter())
                {
                    let z = r(r(place * width) + self.low);
                    let density = r(r(r(square - r(z * z)) / 2.0).exp());
                    *proposal = Some(Some(z).filter(|_| chance <= density));
                }
            }
            Method::Exponential { alpha } => {
                let drawn: Vec<f64> = blocks.draw(unit_reals).iter().collect();
                for (proposal, pair) in proposals.iter_mut().zip(drawn.chunks_exact(2)) {
                    let z = r(r(-r(pair[0].ln()) / alpha) + self.low);
                    let x = if self.low < alpha { r(alpha - z) } else { r(self.low - alpha) };
                    let density = r(r(r(-x * x) / 2.0).exp());
                    *proposal = Some(Some(z).filter(|z| pair[1] <= density && *z < self.high));
                }
            }
        }
        proposals
    }
}

/// Returns `x` in the precision of `dtype`.
fn rounded(x: f64, dtype: DType) -> f64 {
    eval_cast(Scalar::F64(x), dtype).to_f64()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::shape_table;

    shape_table! { OF_SEED, {},
        "shape=i32[2]; i64[2]; f32[n]; f32[]; f32[]; f32[n]" => "f32[?, ?]",
        "shape=i32[1]; i64[2]; f32[1]; f64[1]; f32[]; f32[]" => error "of one dtype",
        "shape=i32[1]; i64[2]; bf16[1]; bf16[1]; bf16[]; bf16[]" => error "must be f16, f32 or f64",
    }
}
