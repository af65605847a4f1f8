//! `range(start, limit, delta)`: the numbers from `start` (inclusive) to `limit` (exclusive) in steps of `delta`.

use std::fmt::Display;

use crate::error::bail;
use crate::{Attr, DType, Dim, Guard, InferenceContext, PartialElements, Result, ShapeError, TensorShape};

/// `-> [ceil((limit - start) / delta)]`.
///
/// The operands may be integers, symbolic integers or floats. `start` defaults to 0 and `delta` to 1. The length of a
/// float range is unknown unless all operands are known.
///
/// # Errors
/// `delta` is 0, an operand is not a scalar or not finite, or the sign of `delta` provably differs from the sign of
/// `limit - start`.
pub fn range(cx: &mut InferenceContext<'_>) -> Result<()> {
    let numbers = [number(cx, "start", 0)?, number(cx, "limit", 0)?, number(cx, "delta", 1)?];
    let length = match &numbers {
        [Some(Number::Int(start)), Some(Number::Int(limit)), Some(Number::Int(delta))] => {
            let (start, limit, delta) = (start.clone(), limit.clone(), delta.clone());
            let length = integer_length(cx, &start, &limit, &delta)?;
            if let Some(count) = length.as_known().and_then(|count| usize::try_from(count).ok())
                && count <= PartialElements::MAX
            {
                let elements = (0..count).map(|step| element(cx, &start, &delta, step as i64));
                // If an element cannot be expressed, all elements stay unknown.
                if let Ok(elements) = elements.collect::<Result<Vec<Dim>>>() {
                    cx.set_output_value(0, PartialElements::vector(elements));
                }
            }
            length
        }
        [Some(start), Some(limit), Some(delta)] => match (start.float(), limit.float(), delta.float()) {
            (Some(start), Some(limit), Some(delta)) => {
                let single = cx.dtype_or("dtype", DType::F64)? == DType::F32;
                float_length(start, limit, delta, single)?
            }
            _ => cx.fresh(),
        },
        _ => cx.fresh(),
    };
    cx.set_output(0, TensorShape::new([length]));
    Ok(())
}

/// An operand of a range, as far as it is known.
enum Number {
    /// An integer, possibly symbolic.
    Int(Dim),
    /// A known float.
    Float(f64),
}

impl Number {
    /// Returns the number as a float, or `None` if it is symbolic.
    fn float(&self) -> Option<f64> {
        match self {
            Number::Int(value) => value.as_known().map(|value| value as f64),
            Number::Float(value) => Some(*value),
        }
    }
}

/// Reads parameter `name`. Returns `default` if the parameter is absent, and `None` if its value is unknown.
fn number(cx: &InferenceContext<'_>, name: &str, default: i64) -> Result<Option<Number>> {
    if let Some(Attr::Float(value)) = cx.attr(name) {
        return Ok(Some(Number::Float(*value)));
    }
    match cx.param_scalar(name)? {
        Some(value) => Ok(Some(Number::Int(value))),
        None if cx.operand(name).is_none() => Ok(Some(Number::Int(Dim::known(default)))),
        None => Ok(None),
    }
}

/// Returns element `step` of an integer range: `start + step * delta`.
fn element(cx: &mut InferenceContext<'_>, start: &Dim, delta: &Dim, step: i64) -> Result<Dim> {
    if let (Some(start), Some(delta)) = (start.as_known(), delta.as_known()) {
        let element = i128::from(start) + i128::from(step) * i128::from(delta);
        // The element lies between start and limit, so it fits even if the product does not.
        return Ok(Dim::known(i64::try_from(element).unwrap_or(i64::MAX)));
    }
    let offset = cx.mul(delta, &Dim::known(step))?;
    cx.add(start, &offset)
}

/// Returns the length of an integer range.
fn integer_length(cx: &mut InferenceContext<'_>, start: &Dim, limit: &Dim, delta: &Dim) -> Result<Dim> {
    if *delta == 0 {
        return Err(cx.blame_param("delta", "must not be 0, got 0"));
    }
    if let (Some(start), Some(limit), Some(delta)) = (start.as_known(), limit.as_known(), delta.as_known()) {
        // The extent may exceed 64 bits even if the length does not.
        let (extent, step) = (i128::from(limit) - i128::from(start), i128::from(delta));
        if (extent < 0) != (step < 0) && extent != 0 {
            return Err(range_away_from_limit(start, limit, delta, step > 0));
        }
        let length = (extent.abs() + step.abs() - 1) / step.abs();
        return match i64::try_from(length) {
            Ok(length) => Ok(Dim::known(length)),
            Err(_) => bail!("the length of a range must fit in 64 bits, got {length}"),
        };
    }
    let positive = cx.at_least(delta, &Dim::known(1));
    let negative = cx.at_least(&Dim::known(-1), delta);
    let (low, high) = match (positive, negative) {
        (true, _) => (start, limit),
        (_, true) => (limit, start),
        _ => return Ok(cx.fresh()),
    };
    cx.require(Guard::Ge(high.clone(), low.clone()))
        .map_err(|_| range_away_from_limit(start, limit, delta, positive))?;
    let extent = cx.sub(limit, start)?;
    cx.ceil_div(&extent, delta)
}

/// Returns the length of a float range. If `single`, the quotient is computed in f32, as the elements are: from 0 to
/// 0.3 in steps of 0.1 there are 3 elements, not 4.
fn float_length(start: f64, limit: f64, delta: f64, single: bool) -> Result<Dim> {
    if !(start.is_finite() && limit.is_finite() && delta.is_finite()) || delta == 0.0 {
        bail!("range must have finite numbers and a nonzero delta, got {start}, {limit} and {delta}");
    }
    if (delta > 0.0 && start > limit) || (delta < 0.0 && start < limit) {
        return Err(range_away_from_limit(start, limit, delta, delta > 0.0));
    }
    let steps = if single {
        f64::from((limit as f32 - start as f32) / delta as f32)
    } else {
        (limit - start) / delta
    };
    let length = steps.abs().ceil();
    if length >= i64::MAX as f64 {
        bail!("the length of a range must fit in 64 bits, got {length}");
    }
    Ok(Dim::known(length as i64))
}

/// Returns the error for a `delta` that points away from `limit`. `is_ascending` says that `delta` is positive.
pub fn range_away_from_limit(
    start: impl Display,
    limit: impl Display,
    delta: impl Display,
    is_ascending: bool,
) -> ShapeError {
    let message =
        format!("delta must point from start to limit, got start {start}, limit {limit} and delta {delta}");
    let [direction, sign, clamp] =
        if is_ascending { ["down", "negative", "maximum"] } else { ["up", "positive", "minimum"] };
    ShapeError::new(message).with_help(format_args!(
        "to count {direction}, pass a {sign} delta; for an empty range in this case, pass limit.{clamp}(start) as limit"
    ))
}

#[cfg(test)]
mod tests {
    use super::range;
    use crate::DType;
    use crate::testing::shape_table;

    shape_table! { shapes: range, ["start", "limit", "delta"];
        {start: 0, limit: 5, delta: 2} "" => "[3] = [0, 2, 4]";
        {start: 5, limit: 0, delta: -2} "" => "[3] = [5, 3, 1]";
        {start: 0, delta: 1} "[] = n" => "[n]";
        {start: 2, delta: 3} "[] = n" => "[floordiv(n, 3)] if n >= 2";
        {delta: -1, limit: 0} "[] = n" => "[n]";
        {start: 0, delta: 1} "[] = ?" => "[v0_0] if v0_0 >= 0";
        {start: 0, limit: 4} "[] = ?" => "[?]";
        {delta: 1} "[] = n; [] = n + 2" => "[2] = [n, n+1]";
        {} "f32 []; f32 []; f32 []" => "[?]";
        {start: 0.0, limit: 1.0, delta: 0.25} "" => "[4]";
        {start: 0.0, limit: 1.0, delta: 0.3} "" => "[4]";
        {start: i64::MIN, limit: 1i64 << 62, delta: 1i64 << 62} "" => "[3] = [-9223372036854775808, -4611686018427387904, 0]";
        {start: 0.0, limit: 0.3f32, delta: 0.1f32} "" => "[4]";
        {start: 0.0, limit: 0.3f32, delta: 0.1f32, dtype: DType::F32} "" => "[3]";
        {start: 5, limit: 0, delta: 1} "" => "error got start 5, limit 0 and delta 1";
        {start: 5, limit: 0, delta: 0} "" => "error delta must not be 0";
        {start: 0.0, limit: 1.0, delta: -1.0} "" => "error delta must point from start to limit";
        {delta: 1} "[2]; []" => "error start must be one integer, got rank 1";
    }
}
