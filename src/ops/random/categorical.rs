//! `random_categorical`: random classes, by their logits.

use std::ops::Range;
use std::panic::Location;

use shapeflow_shape_fns::{Attribute, Attrs, DType};

use super::draws::reals;
use super::philox::Philox;
use super::samples::unit_pair;
use super::state::{stream_of_seed, stream_of_state};
use super::stateless::check_state;
use crate::dtype::{self, Class};
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::{IntoOperand, IntoParam, Value};
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::ops::host_params::param_sizes;

impl<'g> Value<'g> {
    /// Samples `count` classes for each row of `logits`, the logarithms of unnormalized probabilities. `self` is the
    /// seed.
    ///
    /// `seed [2], logits [n, classes] -> i64[n, count]`; the seed is i32 or i64, the logits are f16, bf16, f32 or f64.
    /// An infinite logit and NaN have probability 0; in a row that has no other logits, each sample is the number of
    /// classes, one more than the greatest class. The same seed gives the same classes in every run. As TensorFlow's
    /// `StatelessMultinomial` on one thread, bit for bit; TensorFlow's numbers for many rows depend on its number of
    /// threads. Runs on the host.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let logits = g.constant([[f32::NEG_INFINITY, 0.0], [0.0, -90.0]])?;
    /// let [classes] = g.compile(g.constant([1i64, 2])?.random_categorical(logits, 3)?)?.run(&[])?;
    /// assert_eq!(classes, Tensor::from([[1i64, 1, 1], [0, 0, 0]]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The seed does not hold two integers, the logits are not a matrix of floats, or the count is negative. The run
    /// fails if there are no classes.
    #[doc(alias = "multinomial")]
    #[doc(alias = "stateless_categorical")]
    #[track_caller]
    pub fn random_categorical(
        self,
        logits: impl IntoOperand<'g>,
        count: impl IntoParam<'g>,
    ) -> Result<Value<'g>> {
        let logits = logits.into_own_operand(self.graph(), Location::caller());
        self.graph().op(&OF_SEED).data(logits).size("num_samples", count).data(self).finish()
    }
}

pub(crate) static ALL: &[&OpDef] = &[&OF_SEED, &WITH_STATE];

static OF_SEED: OpDef = OpDef::host("random_categorical", |cx| {
    let stream = stream_of_seed(cx, cx.inputs() - 1)?;
    run(cx, stream)
})
.attrs(&[Attribute::dtype_or("output_dtype", DType::I64)])
.operands(&[Operand::Data("logits"), Operand::Size("num_samples"), Operand::Data("seed")])
.shape_fn(shapeflow_shape_fns::random::multinomial)
.dtype_rule(|operands, attrs| {
    dtype::common(operands, 0, 1, Class::Float)?;
    dtype::check_indices(operands, 1)?;
    Ok(vec![class_dtype(attrs)?])
})
.tensorflow(&[TfOp::new("StatelessMultinomial")]);

/// As [`OF_SEED`], with the state of a generator in place of the seed. Only an import adds this op, for a random node
/// of a model.
pub(crate) static WITH_STATE: OpDef = OpDef::host("random_categorical_with_state", |cx| {
    let stream = stream_of_state(cx, cx.inputs() - 3)?;
    run(cx, stream)
})
.attrs(&[Attribute::dtype_or("output_dtype", DType::I64)])
.operands(&[
    Operand::Data("logits"),
    Operand::Size("num_samples"),
    Operand::Data("key"),
    Operand::Data("counter"),
    Operand::Data("alg"),
])
.shape_fn(shapeflow_shape_fns::random::multinomial)
.dtype_rule(|operands, attrs| {
    dtype::common(operands, 0, 1, Class::Float)?;
    check_state(operands, 0)?;
    Ok(vec![class_dtype(attrs)?])
});

fn class_dtype(attrs: &Attrs) -> Result<DType> {
    match attrs.dtype("output_dtype") {
        class @ (DType::I32 | DType::I64) => Ok(class),
        other => dtype::refuse(format!("output_dtype must be i32 or i64, got {other}")),
    }
}

fn run(cx: &mut HostCx<'_>, stream: Philox) -> Result<()> {
    let count = param_sizes(cx, "num_samples", 1)?.first().copied().unwrap_or(0);
    let logits = cx.input(0)?;
    let [rows, classes] = *logits.sizes() else {
        let message = format!("the logits must be a matrix, got sizes {:?}", logits.sizes());
        return Err(Error::new(ErrorKind::Shape, Phase::Run, message));
    };
    if classes == 0 {
        let message = "there must be a class, got logits of 0 classes".to_string();
        return Err(Error::new(ErrorKind::Shape, Phase::Run, message));
    }
    let logits = reals(logits)?;
    let mut output = cx.unfilled_output(0, &[rows, count])?;
    for (row, logits) in logits.chunks_exact(classes).enumerate() {
        let samples = row * count..(row + 1) * count;
        match output.dtype() {
            DType::I32 => {
                let to = &mut output.as_mut_slice::<i32>()?[samples.clone()];
                sample(logits, stream, samples, to, |class| class as i32);
            }
            _ => {
                let to = &mut output.as_mut_slice::<i64>()?[samples.clone()];
                sample(logits, stream, samples, to, |class| class as i64);
            }
        }
    }
    Ok(())
}

/// Fills the samples of a row. `samples` are the positions of these samples in the stream.
fn sample<T>(logits: &[f64], stream: Philox, samples: Range<usize>, to: &mut [T], class: fn(usize) -> T) {
    let sums = cumulative(logits);
    let total = sums.last().copied().unwrap_or_default();
    for (sample, to) in samples.zip(to) {
        // A block makes the numbers of two samples.
        let unit = unit_pair(stream.block(sample as u64 / 2))[sample % 2];
        *to = class(sums.partition_point(|sum| *sum <= unit * total));
    }
}

/// Returns the sums of the unnormalized probabilities of each class and all classes before it.
fn cumulative(logits: &[f64]) -> Vec<f64> {
    let finite = logits.iter().filter(|logit| logit.is_finite());
    // The greatest probability becomes 1.
    let most = finite.fold(f64::MIN, |most, logit| most.max(*logit));
    let mut sum = 0.0;
    let add = |logit: &f64| {
        if logit.is_finite() {
            sum += (logit - most).exp();
        }
        sum
    };
    logits.iter().map(add).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::shape_table;

    shape_table! { OF_SEED, {"num_samples": 3},
        "bf16[n, 4]; i64[2]" => "i64[n, 3]",
        "f32[n]; i64[2]" => error "logits must have rank 2",
        "i32[n, 2]; i64[2]" => error "must be a float, got i32",
    }
    shape_table! { with_state: WITH_STATE, {"output_dtype": DType::I32},
        "f32[2, 4]; num_samples=i32[]; u64[1]; u64[2]; i32[]" => "i32[2, ?]",
    }
}
