//! `random_state`: the key and the counter of a seed.

use shapeflow_shape_fns::{Attrs, DType};

use super::philox::Philox;
use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::ops::integers::ints;
use crate::tensor::Tensor;

pub(crate) static ALL: &[&OpDef] = &[&ALGORITHM, &STATE, &STATE_AND_ALGORITHM];

/// TensorFlow's number for the generator Philox.
pub(crate) const PHILOX: i32 = 1;

/// TensorFlow's number for the generator that fits the device. On the CPU this is Philox.
const OF_DEVICE: i32 = 3;

/// An op for import only: `seed [2] -> key u64[1], counter u64[2]`.
static STATE: OpDef = OpDef::host("random_state", state)
    .operands(&[Operand::Data("seed")])
    .outputs(|_, _| 2)
    .shape_fn(shapeflow_shape_fns::random::generator_state)
    .dtype_rule(|operands, _| state_dtypes(operands))
    .tensorflow(&[TfOp::new("StatelessRandomGetKeyCounter")]);

/// An op for import only: `seed [2] -> key u64[1], counter u64[2], algorithm i32[]`.
pub(crate) static STATE_AND_ALGORITHM: OpDef = OpDef::host("random_state_and_algorithm", |cx| {
    state(cx)?;
    cx.set_output(2, Tensor::from(PHILOX))
})
.operands(&[Operand::Data("seed")])
.outputs(|_, _| 3)
.shape_fn(shapeflow_shape_fns::random::generator_state)
.dtype_rule(|operands, _| {
    state_dtypes(operands).map(|mut dtypes| {
        dtypes.push(DType::I32);
        dtypes
    })
})
.tensorflow(&[TfOp::new("StatelessRandomGetKeyCounterAlg")]);

/// An op for import only: `-> algorithm i32[]`, the number of Philox.
static ALGORITHM: OpDef = OpDef::host("random_algorithm", |cx| cx.set_output(0, Tensor::from(PHILOX)))
    .operands(&[])
    .shape_fn(shapeflow_shape_fns::random::generator_state)
    .dtype_rule(|_, _: &Attrs| Ok(vec![DType::I32]))
    .tensorflow(&[TfOp::new("StatelessRandomGetAlg")]);

/// Returns whether `algorithm` is one number, and TensorFlow uses Philox for this number.
pub(crate) fn is_philox(algorithm: &[i64]) -> bool {
    algorithm == [i64::from(PHILOX)] || algorithm == [i64::from(OF_DEVICE)]
}

fn state_dtypes(operands: &[DType]) -> Result<Vec<DType>> {
    dtype::check_indices(operands, 0)?;
    Ok(vec![DType::U64; 2])
}

fn state(cx: &mut HostCx<'_>) -> Result<()> {
    let (key, counter) = stream_of_seed(cx, 0)?.state();
    cx.set_output(0, Tensor::from([key]))?;
    cx.set_output(1, Tensor::from(counter))
}

/// Returns the generator of the two seeds in operand `operand`.
///
/// # Errors
/// The operand does not have two integers.
pub(crate) fn stream_of_seed(cx: &HostCx<'_>, operand: usize) -> Result<Philox> {
    let seed = cx.input(operand)?;
    match *ints(&seed) {
        [first, second] => Ok(Philox::of_seeds([first.cast_unsigned(), second.cast_unsigned()])),
        _ => {
            let message = format!("a seed must be 2 integers, got sizes {:?}", seed.sizes());
            Err(Error::new(ErrorKind::Shape, Phase::Run, message))
        }
    }
}

/// Returns the generator of a state. Operand `first` is the key, the next one is the counter, and the last one is the
/// number of the algorithm.
///
/// # Errors
/// The key has no number, the counter has fewer than 2 numbers, or the algorithm is not Philox.
pub(crate) fn stream_of_state(cx: &HostCx<'_>, first: usize) -> Result<Philox> {
    let words = |operand: usize| cx.input(operand)?.to_vec::<u64>();
    let algorithm = ints(&cx.input(first + 2)?);
    if !is_philox(&algorithm) {
        let message = format!(
            "the algorithm must be Philox, {PHILOX}, or the choice of the device, {OF_DEVICE}, got {algorithm:?}"
        );
        return Err(Error::new(ErrorKind::Attribute, Phase::Run, message));
    }
    match (&words(first)?[..], &words(first + 1)?[..]) {
        ([key, ..], [low, high, ..]) => Ok(Philox::new(*key, [*low, *high])),
        (key, counter) => {
            let message = format!(
                "a key must have at least 1 number and a counter at least 2, got {} and {}",
                key.len(),
                counter.len()
            );
            Err(Error::new(ErrorKind::Shape, Phase::Run, message))
        }
    }
}
