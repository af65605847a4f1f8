//! `ragged_range`: a ragged tensor whose rows are ranges of numbers.

use shapeflow_shape_fns::{Attribute, Attrs, DType, counted};

use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::{RaggedValue, RowPartitionValue, Value};
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::ops::row_major::RowMajor;
use crate::tensor::{Element, Tensor, TensorView, check_allowance};

impl<'g> RaggedValue<'g> {
    /// Makes a ragged tensor whose row `i` is `starts[i]`, `starts[i] + deltas[i]`, …, which stops before `limits[i]`.
    ///
    /// `starts [n], limits [n], deltas [n] -> [n, (r)]`, i32, i64, f32 or f64; a scalar applies to every row. As
    /// TensorFlow's `tf.ragged.range`. Runs on the host.
    ///
    /// ```
    /// use shapeflow::{Graph, RaggedValue};
    ///
    /// let g = Graph::new();
    /// let (starts, limits, deltas) = (g.constant([0, 5, 8])?, g.constant([3, 5, 12])?, g.constant(1)?);
    /// let rt = RaggedValue::range(starts, limits, deltas)?;
    /// assert_eq!(rt.shape_text(), "[3, (r0)]");
    /// let rt = g.compile(rt)?.run_named(&[])?.ragged_at(0)?;
    /// assert_eq!(rt.to_string(), "[[0, 1, 2], [], [8, 9, 10, 11]]");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The dtypes differ, or the lengths differ. A delta of 0 and a NaN fail the run.
    #[track_caller]
    pub fn range(starts: Value<'g>, limits: Value<'g>, deltas: Value<'g>) -> Result<RaggedValue<'g>> {
        starts.graph().in_call("range", || {
            let (splits, values) = range_parts(starts, limits, deltas)?;
            let rows = RowPartitionValue::new("range", splits, splits, None)?;
            Ok(RaggedValue::new(values, &[rows]))
        })
    }
}

/// Returns the row splits and the values of a ragged range.
#[track_caller]
pub(super) fn range_parts<'g>(
    starts: Value<'g>,
    limits: Value<'g>,
    deltas: Value<'g>,
) -> Result<(Value<'g>, Value<'g>)> {
    let call = starts.graph().op(&DEF).data(starts).data(limits).data(deltas);
    let parts = call.finish_all()?;
    Ok((parts[0], parts[1]))
}

/// Row splits are i64, or the dtype of attribute `Tsplits`.
pub(crate) static DEF: OpDef = OpDef::host("ragged_range", run)
    .attrs(&[Attribute::dtype_or("Tsplits", DType::I64)])
    .operands(&[Operand::Data("starts"), Operand::Data("limits"), Operand::Data("deltas")])
    .outputs(|_, _| 2)
    .shape_fn(shapeflow_shape_fns::ragged::ragged_range)
    .dtype_rule(dtypes)
    .tensorflow(&[TfOp::new("RaggedRange")]);

fn dtypes(dtypes: &[DType], attrs: &Attrs) -> Result<Vec<DType>> {
    let values = dtype::common(dtypes, 0, 3, dtype::Class::Number)?;
    if !matches!(values, DType::I32 | DType::I64 | DType::F32 | DType::F64) {
        return dtype::refuse(format!("a ragged range must be i32, i64, f32 or f64, got {values}"));
    }
    Ok(vec![splits_dtype(attrs), values])
}

/// Returns the dtype of row splits that attribute `Tsplits` names.
pub(super) fn splits_dtype(attrs: &Attrs) -> DType {
    attrs.dtype("Tsplits")
}

fn run(cx: &mut HostCx<'_>) -> Result<()> {
    let (starts, limits, deltas) =
        (RowMajor::new(cx.input(0)?)?, RowMajor::new(cx.input(1)?)?, RowMajor::new(cx.input(2)?)?);
    let operands = [starts.view(), limits.view(), deltas.view()];
    match operands[0].dtype() {
        DType::I32 => {
            ranges::<i32>(cx, operands, |start, limit, delta| steps(start.into(), limit.into(), delta.into()))
        }
        DType::I64 => ranges::<i64>(cx, operands, steps),
        // The quotient is rounded to the dtype, as in TensorFlow: in f32, 0.3 / 0.1 is exactly 3 steps.
        DType::F32 => {
            ranges::<f32>(cx, operands, |start, limit, delta| float_steps(((limit - start) / delta).into()))
        }
        _ => ranges::<f64>(cx, operands, |start, limit, delta| float_steps((limit - start) / delta)),
    }
}

/// Returns the number of integers from `start` up to `limit`.
fn steps(start: i64, limit: i64, delta: i64) -> Option<u128> {
    let distance = i128::from(limit) - i128::from(start);
    let steps = if delta == 0 { 0 } else { distance.unsigned_abs().div_ceil(delta.unsigned_abs().into()) };
    Some(if distance == 0 || (distance > 0) != (delta > 0) { 0 } else { steps })
}

/// Returns the number of floats of a range, whose distance is `quotient` deltas; `None` for NaN.
fn float_steps(quotient: f64) -> Option<u128> {
    (!quotient.is_nan()).then(|| quotient.ceil().max(0.0) as u128)
}

fn ranges<T: Element + std::ops::Add<Output = T> + PartialEq>(
    cx: &mut HostCx<'_>,
    [starts, limits, deltas]: [TensorView<'_>; 3],
    count: impl Fn(T, T, T) -> Option<u128>,
) -> Result<()> {
    let (starts, limits, deltas) =
        (starts.as_slice::<T>()?, limits.as_slice::<T>()?, deltas.as_slice::<T>()?);
    let vectors = [0, 1, 2].map(|operand| cx.input(operand).map(|view| (view.sizes().len(), view.len())));
    let mut rows = None;
    for vector in vectors {
        let (rank, len) = vector?;
        if rank == 1 && rows.is_some_and(|rows| rows != len) {
            let message = format!(
                "starts, limits and deltas must have one length, got {:?} and {len}",
                rows.unwrap_or(0)
            );
            return Err(Error::new(ErrorKind::Shape, Phase::Run, message));
        }
        if rank == 1 {
            rows = Some(len);
        }
    }
    let rows = rows.unwrap_or(1);
    let at = |values: &[T], row: usize| if values.len() == 1 { values[0] } else { values[row] };
    let mut values: Vec<T> = Vec::new();
    let mut ends = vec![0usize];
    for row in 0..rows {
        let (start, limit, delta) = (at(starts, row), at(limits, row), at(deltas, row));
        if delta == T::default() {
            return Err(Error::new(
                ErrorKind::Guard,
                Phase::Run,
                format!("a delta must not be 0, got 0 at row {row}"),
            ));
        }
        let Some(steps) = count(start, limit, delta) else {
            let message =
                format!("a range must have numbers as bounds and as its delta, got NaN at row {row}");
            return Err(Error::new(ErrorKind::Guard, Phase::Run, message));
        };
        let steps = usize::try_from(steps).unwrap_or(usize::MAX);
        check_allowance(values.len().saturating_add(steps).saturating_mul(size_of::<T>()))?;
        values.try_reserve(steps).map_err(|_| {
            let message = format!(
                "the range of row {row} must fit in memory, got {steps}",
                steps = counted(steps, "number")
            );
            Error::new(ErrorKind::Memory, Phase::Run, message)
        })?;
        let mut number = start;
        for step in 0..steps {
            values.push(number);
            if step + 1 < steps {
                number = number + delta;
            }
        }
        ends.push(values.len());
    }
    let splits = crate::ragged::splits_tensor(splits_dtype(cx.attrs()), ends.into_iter())?;
    cx.set_output(0, splits)?;
    cx.set_output(1, Tensor::from(values))
}

#[cfg(test)]
mod tests {
    use super::DEF;
    use crate::ops::testing::{run, tensor};
    use shapeflow_shape_fns::Attrs;

    #[test]
    fn steps_are_counted_in_the_dtype_of_the_numbers() {
        let row = |limit: f32| {
            let operands = [tensor(&[], &[0.0f32]), tensor(&[1], &[limit]), tensor(&[], &[0.1f32])];
            run(&DEF, &Attrs::new(), &operands)
        };
        assert_eq!(row(0.3).unwrap()[1], tensor(&[3], &[0.0f32, 0.1, 0.2]));
        assert!(row(f32::NAN).unwrap_err().message().ends_with("got NaN at row 0"));
    }
}
