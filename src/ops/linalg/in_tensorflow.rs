//! How TensorFlow computes ops of linear algebra that it has removed. An export writes these functions.

use std::f64::consts::LN_2;

use shapeflow_shape_fns::DType;

use crate::error::Result;
use crate::graph::Value;
use crate::op::CompositeCx;
use crate::ops::SliceItem;
use crate::ops::array::concat::concat;
use crate::ops::in_tensorflow::{operands, widened};
use crate::ops::reduce::Axes;

/// `self_adjoint_eig_packed`: the eigenvalues in a row above the eigenvectors.
pub(super) fn packed_eigen<'g>(_: &CompositeCx<'_>, values: &[Value<'g>]) -> Result<Vec<Value<'g>>> {
    let [given] = operands(values)?;
    let [e, v] = widened(given)?.self_adjoint_eig()?;
    Ok(vec![concat(&[e.expand_dims(-2)?, v], -2)?.cast(given.dtype())?])
}

/// `matrix_exponential`: the Padé approximant of degree 13 of `x / 2^k`, squared `k` times, as on the host.
pub(super) fn matrix_exponential<'g>(_: &CompositeCx<'_>, values: &[Value<'g>]) -> Result<Vec<Value<'g>>> {
    /// The norm up to which the approximant is as precise as f64.
    const LARGEST_NORM: f64 = 5.37;
    const DEGREE: usize = 13;
    let [given] = operands(values)?;
    let dtype = if given.dtype().is_complex() { DType::C128 } else { DType::F64 };
    let (g, x) = (given.graph(), given.cast(dtype)?);
    // An element that is not finite makes its matrix NaN. A solution of equations with such an element fails.
    let sums = x.abs()?.reduce_sum(Axes::of([-2]).keep_dims())?;
    let is_finite = sums.is_finite()?.reduce_all(Axes::of([-1]).keep_dims())?;
    let x = is_finite.select(x, x.zeros_like()?)?;
    let norms = sums.reduce_max(Axes::of([-1]).keep_dims())?.maximum(0.0)?;
    let norms = is_finite.select(norms, norms.zeros_like()?)?;
    let squarings = ((norms / LARGEST_NORM).log()? / LN_2).ceil()?.maximum(0.0)?;
    let x = (x / g.constant(2.0f64)?.pow(squarings)?.cast(dtype)?).ok()?;

    let size = x.shape_tensor()?.slice_with(&[SliceItem::at(-1)])?;
    let places = g.range(0, size, 1)?;
    let identity = places.expand_dims(-1)?.equal(places)?.cast(dtype)?;
    let scaled = |factor: f64| (identity * g.constant(factor)?.cast(dtype)?).ok();
    let mut coefficients = vec![1.0];
    for k in 1..=DEGREE {
        let ratio = (DEGREE - k + 1) as f64 / ((2 * DEGREE - k + 1) * k) as f64;
        coefficients.push(coefficients[k - 1] * ratio);
    }
    let square = x.matmul(x)?;
    // The terms of even degree, and the terms of odd degree divided by `x`.
    let terms = |parity: usize| {
        let coefficients = coefficients.iter().skip(parity).step_by(2).rev();
        coefficients.into_iter().try_fold(None, |sum: Option<Value<'g>>, coefficient| {
            let sum = match sum {
                Some(sum) => sum.matmul(square)?,
                None => x.zeros_like()?,
            };
            (sum + scaled(*coefficient)?).ok().map(Some)
        })
    };
    let (Some(even), Some(odd)) = (terms(0)?, terms(1)?) else { return Ok(Vec::new()) };
    let odd = x.matmul(odd)?;
    let quotient = even.sub(odd)?.matrix_solve(even.add(odd)?, false)?;

    let most = squarings.reduce_max(Axes::all())?;
    let done = g.constant(0.0f64)?;
    let last = g.while_loop(
        &[done, quotient],
        |state| state[0].less(most),
        |state| {
            let (done, power) = (state[0], state[1]);
            Ok([done.add(1.0)?, done.less(squarings)?.select(power.matmul(power)?, power)?])
        },
    )?;
    let nan = is_finite.select(0.0, g.constant(f64::NAN)?)?;
    let nan = if dtype.is_complex() { nan.complex(nan)? } else { nan };
    Ok(vec![last[1].add(nan)?.cast(given.dtype())?])
}
