//! How TensorFlow computes elementwise ops that it lacks. An export writes these functions. Halves are computed as f32
//! and rounded once, as in the bodies of the ops.

use crate::error::{Error, Result};
use crate::graph::Value;
use crate::op::CompositeCx;
use crate::ops::in_tensorflow::{operands, widened};

macro_rules! functions {
    ($($method:ident: |$x:ident| $body:expr;)*) => {$(
        pub(crate) fn $method<'g>(_: &CompositeCx<'_>, values: &[Value<'g>]) -> Result<Vec<Value<'g>>> {
            let [given] = operands(values)?;
            let $x = widened(given)?;
            let result: Value<'g> = $body;
            Ok(vec![result.cast(given.dtype())?])
        }
    )*};
}
functions! {
    silu: |x| (x * x.sigmoid()?).ok()?;
    log_sigmoid: |x| (x.minimum(0.0)? - (x.abs()? * -1.0).exp()?.log1p()?).ok()?;
    hard_sigmoid: |x| hard(x)?;
    hard_swish: |x| (x * hard(x)?).ok()?;
    mish: |x| (x * x.softplus()?.tanh()?).ok()?;
    cbrt: |x| (x.sign()? * x.abs()?.pow(1.0 / 3.0)?).ok()?;
    exp2: |x| x.graph().constant(2.0f32)?.cast(x.dtype())?.pow(x)?;
    log2: |x| (x.log()? / std::f64::consts::LN_2).ok()?;
}

fn hard(x: Value<'_>) -> Result<Value<'_>> {
    ((x + 3.0).maximum(0.0)?.minimum(6.0)? / 6.0).ok()
}

pub(crate) fn logical_xor<'g>(_: &CompositeCx<'_>, values: &[Value<'g>]) -> Result<Vec<Value<'g>>> {
    let [a, b] = operands(values)?;
    Ok(vec![a.not_equal(b)?])
}

macro_rules! on_bools {
    ($($name:ident: $method:ident;)*) => {$(
        /// TensorFlow's op on bits takes no bools.
        pub(crate) fn $name<'g>(_: &CompositeCx<'_>, values: &[Value<'g>]) -> Result<Vec<Value<'g>>> {
            let [a, b] = operands(values)?;
            Ok(vec![a.$method(b)?])
        }
    )*};
}
on_bools! {
    bitwise_and: logical_and;
    bitwise_or: logical_or;
    bitwise_xor: not_equal;
}

/// TensorFlow's op on bits takes no bools.
pub(crate) fn bitwise_not<'g>(_: &CompositeCx<'_>, values: &[Value<'g>]) -> Result<Vec<Value<'g>>> {
    let [x] = operands(values)?;
    Ok(vec![x.logical_not()?])
}

/// TensorFlow's `Angle` takes no floats.
pub(crate) fn angle<'g>(_: &CompositeCx<'_>, values: &[Value<'g>]) -> Result<Vec<Value<'g>>> {
    let [x] = operands(values)?;
    let zero = x.zeros_like()?;
    let half_turn = x.graph().constant(std::f64::consts::PI)?.cast(x.dtype())?;
    Ok(vec![x.less(zero)?.select(half_turn, zero)?])
}

/// Integers stay as they are. TensorFlow's `Round` gives 0 for every integer.
pub(crate) fn round<'g>(_: &CompositeCx<'_>, values: &[Value<'g>]) -> Result<Vec<Value<'g>>> {
    match operands(values)? {
        [x] if x.dtype().is_integer() => Ok(vec![x.identity()?]),
        [x] => Err(Error::msg(format!("the elements must be integers, got {}", x.dtype()))),
    }
}
