//! `range(start, limit, delta)`: numbers from `start` up to `limit`, which is left out, in steps of `delta`.

use crate::error::bail;
use crate::{Attr, Dim, Guard, InferenceContext, PartialElements, Result, TensorShape};

/// `-> [ceil((limit - start) / delta)]`. Numbers may be integers, expressions or floats; `start` defaults to 0 and
/// `delta` to 1. The length of a float range that is not known now is unknown.
///
/// # Errors
/// `delta` is 0, a number is no scalar or not finite, or `limit` provably lies on the other side of `start` than
/// `delta` points.
pub fn range(cx: &mut InferenceContext<'_>) -> Result<()> {
    let numbers = [number(cx, "start", 0)?, number(cx, "limit", 0)?, number(cx, "delta", 1)?];
    let length = match &numbers {
        [Some(Number::Int(start)), Some(Number::Int(limit)), Some(Number::Int(delta))] => {
            let (start, limit, delta) = (start.clone(), limit.clone(), delta.clone());
            let length = integers(cx, &start, &limit, &delta)?;
            if let Some(count) = length.as_known().and_then(|count| usize::try_from(count).ok())
                && count <= PartialElements::MAX
            {
                let mut elements = Vec::with_capacity(count);
                for step in 0..count {
                    let offset = cx.mul(&delta, &Dim::known(step as i64))?;
                    elements.push(cx.add(&start, &offset)?);
                }
                cx.set_output_value(0, PartialElements::vector(elements));
            }
            length
        }
        [Some(start), Some(limit), Some(delta)] => match (start.float(), limit.float(), delta.float()) {
            (Some(start), Some(limit), Some(delta)) => floats(start, limit, delta)?,
            _ => cx.fresh(),
        },
        _ => cx.fresh(),
    };
    cx.set_output(0, TensorShape::new([length]));
    Ok(())
}

enum Number {
    Int(Dim),
    Float(f64),
}

impl Number {
    fn float(&self) -> Option<f64> {
        match self {
            Number::Int(value) => value.as_known().map(|value| value as f64),
            Number::Float(value) => Some(*value),
        }
    }
}

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

fn integers(cx: &mut InferenceContext<'_>, start: &Dim, limit: &Dim, delta: &Dim) -> Result<Dim> {
    if *delta == 0 {
        return Err(cx.blame_param("delta", "must not be 0, got 0"));
    }
    let positive = cx.at_least(delta, &Dim::known(1));
    let negative = cx.at_least(&Dim::known(-1), delta);
    let (low, high) = match (positive, negative) {
        (true, _) => (start, limit),
        (_, true) => (limit, start),
        _ => return Ok(cx.fresh()),
    };
    cx.require(Guard::Ge(high.clone(), low.clone())).map_err(|_| wrong_way(start, limit, delta))?;
    let extent = cx.sub(limit, start)?;
    cx.ceil_div(&extent, delta)
}

fn floats(start: f64, limit: f64, delta: f64) -> Result<Dim> {
    if !(start.is_finite() && limit.is_finite() && delta.is_finite()) || delta == 0.0 {
        bail!("range needs finite numbers and a delta other than 0, got {start}, {limit} and {delta}");
    }
    if (delta > 0.0 && start > limit) || (delta < 0.0 && start < limit) {
        return Err(wrong_way(start, limit, delta));
    }
    let length = ((limit - start) / delta).abs().ceil();
    if length >= i64::MAX as f64 {
        bail!("the length of a range must fit in 64 bits, got {length}");
    }
    Ok(Dim::known(length as i64))
}

fn wrong_way(
    start: impl std::fmt::Display,
    limit: impl std::fmt::Display,
    delta: impl std::fmt::Display,
) -> crate::ShapeError {
    crate::ShapeError::new(format_args!(
        "limit must lie on the side of start that delta points to, got start {start}, limit {limit} and delta {delta}"
    ))
}

#[cfg(test)]
mod tests {
    use super::range;
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
        {start: 5, limit: 0, delta: 1} "" => "error got start 5, limit 0 and delta 1";
        {start: 5, limit: 0, delta: 0} "" => "error delta must not be 0";
        {start: 0.0, limit: 1.0, delta: -1.0} "" => "error limit must lie on the side of start";
        {delta: 1} "[2]; []" => "error start must be one integer, got rank 1";
    }
}
