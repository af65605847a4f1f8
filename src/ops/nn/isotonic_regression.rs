//! `isotonic_regression`: the nearest rows that do not ascend.

use half::{bf16, f16};
use shapeflow_shape_fns::{Attribute, Attrs, DType};

use crate::dtype;
use crate::error::Result;
use crate::expr::Scalar;
use crate::graph::Value;
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::ops::array::unstack::exactly;
use crate::ops::row_major::RowMajor;
use crate::shape_fns;
use crate::tensor::{Tensor, filled_vec};

impl<'g> Value<'g> {
    /// Returns the row `y` with `y[0] >= y[1] >= ..` that minimizes the sum of `(y[i] - x[i])^2`, for each row `x`
    /// along the last axis, and for each element the number of its run within the row. The elements of a run have one
    /// result, their mean.
    ///
    /// `[.., d] -> [.., d], i32[.., d]`. The first result is f32 for i8 and i16, f64 for i32 and i64, and has the dtype
    /// of the operand for f16, bf16, f32 and f64. As TensorFlow's `IsotonicRegression`: every sum is rounded to the
    /// dtype of the result, and neighbors merge only if the latter is greater, so that a NaN keeps its place. Runs on
    /// the host.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([5.0f32, 1.0, 3.0, 0.0])?.isotonic_regression()?;
    /// let [y, runs] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([5.0f32, 2.0, 2.0, 0.0]));
    /// assert_eq!(runs, Tensor::from([0, 1, 1, 2]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The element type is not supported.
    #[track_caller]
    pub fn isotonic_regression(self) -> Result<[Value<'g>; 2]> {
        let dtype = result_dtype(self.dtype());
        let call = self.graph().op(&DEF).data(self).attr("output_dtype", dtype);
        exactly(call.finish_all()?)
    }
}

pub(crate) static DEF: OpDef = OpDef::host("isotonic_regression", run)
    .attrs(&[Attribute::dtype_or("output_dtype", DType::F32)])
    .operands(&[Operand::Data("input")])
    .outputs(|_, _| 2)
    .shape_fn(shape_fns::nn::isotonic_regression)
    .dtype_rule(|dtypes, attrs: &Attrs| {
        let x = dtype::common(dtypes, 0, 1, dtype::Class::Number)?;
        let accepted =
            [DType::I8, DType::I16, DType::I32, DType::I64, DType::F16, DType::BF16, DType::F32, DType::F64];
        if !accepted.contains(&x) {
            return dtype::refuse(format!("the element type must be a signed integer or a float, got {x}"));
        }
        let (needed, got) = (result_dtype(x), attrs.dtype("output_dtype"));
        if needed != got {
            return dtype::refuse(format!("output_dtype must be {needed} for {x}, got {got}"));
        }
        Ok(vec![needed, DType::I32])
    })
    .tensorflow(&[TfOp::new("IsotonicRegression")]);

fn result_dtype(x: DType) -> DType {
    match x {
        DType::I8 | DType::I16 => DType::F32,
        DType::I32 | DType::I64 => DType::F64,
        other => other,
    }
}

/// Rounds a number to a dtype.
fn rounded(x: f64, dtype: DType) -> f64 {
    match dtype {
        DType::F16 => f16::from_f64(x).to_f64(),
        DType::BF16 => bf16::from_f64(x).to_f64(),
        DType::F32 => f64::from(x as f32),
        _ => x,
    }
}

/// Successive elements of a row that have one result.
struct Run {
    count: usize,
    sum: f64,
    mean: f64,
}

/// Returns the runs of a row: merges the last two runs as long as their means ascend.
fn runs(row: impl Iterator<Item = f64>, dtype: DType) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for x in row {
        let mut last = Run { count: 1, sum: x, mean: x };
        while let Some(previous) = runs.pop_if(|previous| last.mean > previous.mean) {
            let count = previous.count + last.count;
            let sum = rounded(previous.sum + last.sum, dtype);
            last = Run { count, sum, mean: rounded(sum / rounded(count as f64, dtype), dtype) };
        }
        runs.push(last);
    }
    runs
}

fn run(cx: &mut HostCx<'_>) -> Result<()> {
    let x = RowMajor::new(cx.input(0)?)?;
    let x = x.view();
    let dtype = result_dtype(x.dtype());
    let element = |position: usize| {
        let bytes = x.element(position).expect("the position is in the tensor");
        let scalar = Scalar::from_bytes(x.dtype(), bytes).expect("the dtype rule accepts numbers only");
        rounded(scalar.to_f64(), dtype)
    };
    let length = x.sizes().last().copied().unwrap_or(1).max(1);
    let mut numbers = filled_vec(x.len(), 0i32)?;
    let mut means = filled_vec(x.len(), 0.0f64)?;
    for start in (0..x.len()).step_by(length) {
        let mut place = start;
        for (number, run) in runs((start..start + length).map(element), dtype).into_iter().enumerate() {
            numbers[place..place + run.count].fill(number as i32);
            means[place..place + run.count].fill(run.mean);
            place += run.count;
        }
    }
    let sizes = x.sizes().to_vec();
    let mut output = cx.unfilled_output(0, &sizes)?;
    match dtype {
        DType::F16 => {
            let bits = means.iter().map(|mean| f16::from_f64(*mean).to_bits());
            output.as_mut_bits::<u16>()?.iter_mut().zip(bits).for_each(|(slot, bits)| *slot = bits);
        }
        DType::BF16 => {
            let bits = means.iter().map(|mean| bf16::from_f64(*mean).to_bits());
            output.as_mut_bits::<u16>()?.iter_mut().zip(bits).for_each(|(slot, bits)| *slot = bits);
        }
        DType::F32 => {
            output
                .as_mut_slice::<f32>()?
                .iter_mut()
                .zip(&means)
                .for_each(|(slot, mean)| *slot = *mean as f32);
        }
        _ => output.as_mut_slice::<f64>()?.copy_from_slice(&means),
    }
    cx.set_output(1, Tensor::from_vec(&sizes, numbers)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{run as run_op, shape_table, tensor};

    shape_table! { DEF, {},
        "[n, 3]" => "[n, 3]; i32[n, 3]",
        "i8[n]" => "f32[n]; i32[n]",
        "i32[n]" => error "output_dtype must be f64 for i32, got f32",
        "u8[n]" => error "the element type must be a signed integer or a float, got u8",
    }

    /// `y[i]` is the least mean of all runs that begin at or before `i` and end at `i`, of the greatest means of all
    /// runs from there on: `min over a <= i of max over b >= i of mean(x[a..=b])`.
    #[test]
    fn results_are_the_min_max_of_means() {
        let x: Vec<f64> = (0..60).map(|i| f64::from(i * 37 % 19)).collect();
        let attrs = Attrs::new().with("output_dtype", DType::F64);
        let outputs = run_op(&DEF, &attrs, &[tensor(&[4, 15], &x)]).unwrap();
        let (y, runs) = (outputs[0].to_vec::<f64>().unwrap(), outputs[1].to_vec::<i32>().unwrap());
        for (row, (y, runs)) in x.chunks(15).zip(y.chunks(15).zip(runs.chunks(15))) {
            for (i, got) in y.iter().enumerate() {
                let mean = |a: usize, b: usize| row[a..=b].iter().sum::<f64>() / (b - a + 1) as f64;
                let greatest = |a: usize| (i..15).map(|b| mean(a, b)).fold(f64::MIN, f64::max);
                let expected = (0..=i).map(greatest).fold(f64::MAX, f64::min);
                assert!((got - expected).abs() < 1e-12, "{row:?} at {i}: {got} and not {expected}");
            }
            assert_eq!(runs[0], 0);
            for place in 1..15 {
                assert!(y[place] <= y[place - 1]);
                assert!((0..=1).contains(&(runs[place] - runs[place - 1])));
            }
        }
    }

    #[test]
    fn scalars_and_empty_rows_have_results() {
        let outputs = run_op(&DEF, &Attrs::new(), &[tensor(&[], &[3.0f32])]).unwrap();
        assert_eq!(
            (outputs[0].to_vec::<f32>().unwrap(), outputs[1].to_vec::<i32>().unwrap()),
            (vec![3.0], vec![0])
        );
        let outputs = run_op(&DEF, &Attrs::new(), &[tensor::<f32>(&[2, 0], &[])]).unwrap();
        assert_eq!(outputs[1].sizes(), [2, 0]);
    }
}
