//! `histogram_fixed_width`: counts elements in bins of equal width.

use shapeflow_shape_fns::{Attribute, Attrs, DType};

use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::expr::Scalar;
use crate::graph::{IntoOperand, IntoParam, Value};
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::ops::host_params::param_sizes;
use crate::tensor::place_text;

impl<'g> Value<'g> {
    /// Counts the elements in `bins` bins of equal width between the two elements of `range`. Elements outside the
    /// range are in the first or the last bin.
    ///
    /// `[..], range [2] -> i32[bins]`; i32, i64, f32 and f64. A NaN fails the run. As TensorFlow's
    /// `HistogramFixedWidth`. Runs on the host.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([-1.0, 0.5, 1.5, 9.0])?.histogram_fixed_width(g.constant([0.0, 2.0])?, 2)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([2, 2]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// `bins` is less than 1, `range` does not have two elements, or the dtypes differ or are not supported.
    #[doc(alias = "histogram")]
    #[doc(alias = "histc")]
    #[track_caller]
    pub fn histogram_fixed_width(
        self,
        range: impl IntoOperand<'g>,
        bins: impl IntoParam<'g>,
    ) -> Result<Value<'g>> {
        let range = range.into_operand(self, std::panic::Location::caller());
        self.graph().op(&DEF).data(self).data(range).size("nbins", bins).finish()
    }
}

pub(crate) static DEF: OpDef = OpDef::host("histogram_fixed_width", run)
    .attrs(&[Attribute::dtype_or("dtype", DType::I32)])
    .operands(&[Operand::Data("values"), Operand::Data("value_range"), Operand::Size("nbins")])
    .shape_fn(shapeflow_shape_fns::segment::histogram)
    .dtype_rule(dtypes)
    .tensorflow(&[TfOp::new("HistogramFixedWidth")]);

fn dtypes(operands: &[DType], attrs: &Attrs) -> Result<Vec<DType>> {
    let x = dtype::common(operands, 0, 2, dtype::Class::Number)?;
    dtype::check_indices(operands, 2)?;
    if !matches!(x, DType::I32 | DType::I64 | DType::F32 | DType::F64) {
        return dtype::refuse(format!("the element type must be i32, i64, f32 or f64, got {x}"));
    }
    match attrs.dtype("dtype") {
        count @ (DType::I32 | DType::I64) => Ok(vec![count]),
        other => dtype::refuse(format!("counts must be i32 or i64, got {other}")),
    }
}

fn run(cx: &mut HostCx<'_>) -> Result<()> {
    let (x, range) = (cx.input(0)?, cx.input(1)?);
    let wrong = |message: String| Err(Error::new(ErrorKind::Attribute, Phase::Run, message));
    let bins = param_sizes(cx, "nbins", 2)?.first().copied().unwrap_or(0);
    if bins == 0 {
        return wrong("nbins must be at least 1, got 0".to_string());
    }
    let scalar = |of: &crate::TensorView<'_>, at: usize| {
        let bytes = of.element(at).expect("the position is in the tensor");
        Scalar::from_bytes(of.dtype(), bytes).expect("the dtype rule accepts numbers only")
    };
    if range.len() != 2 {
        return wrong(format!("value_range must have two elements, got {}", range.len()));
    }
    let (low, high) = (scalar(&range, 0), scalar(&range, 1));
    let difference = |from: Scalar, to: Scalar| match (from, to) {
        (Scalar::I64(from), Scalar::I64(to)) => to.wrapping_sub(from) as f64,
        (from, to) => to.to_f64() - from.to_f64(),
    };
    let is_above = |a: Scalar, b: Scalar| match (a, b) {
        (Scalar::I64(a), Scalar::I64(b)) => a > b,
        (a, b) => a.to_f64() > b.to_f64(),
    };
    if !is_above(high, low) {
        return wrong(format!("value_range must ascend, got {low} and {high}"));
    }
    // TensorFlow divides the limits before it subtracts them. If the quotients are equal, TensorFlow's process crashes.
    let step = high.to_f64() / bins as f64 - low.to_f64() / bins as f64;
    let (step, is_exact) =
        if step > 0.0 { (step, false) } else { (difference(low, high) / bins as f64, true) };
    let distance =
        |value: Scalar| if is_exact { difference(low, value) } else { value.to_f64() - low.to_f64() };
    let dtype = dtypes(&[x.dtype(), x.dtype()], cx.attrs())?[0];
    let mut output = cx.output(0, &[bins])?;
    let mut count: Box<dyn FnMut(usize)> = match dtype {
        DType::I32 => {
            let counts = output.as_mut_slice::<i32>()?;
            Box::new(|bin| counts[bin] = counts[bin].wrapping_add(1))
        }
        _ => {
            let counts = output.as_mut_slice::<i64>()?;
            Box::new(|bin| counts[bin] += 1)
        }
    };
    for at in 0..x.len() {
        let value = scalar(&x, at);
        if value.to_f64().is_nan() {
            let message = "a histogram must have no NaN, got NaN".to_string();
            let error = Error::new(ErrorKind::Attribute, Phase::Run, message);
            return Err(error.in_element(0, &place_text(at, x.sizes())));
        }
        let value = if is_above(value, high) { high } else { value };
        let position = if is_above(value, low) { distance(value) / step } else { 0.0 };
        count(position.min((bins - 1) as f64) as usize);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{run, run_one, shape_table, tensor};

    shape_table! { DEF, {"nbins": 5, "dtype": DType::I64},
        "[m, n]; [2]" => "i64[5]",
        "[n]; [3]" => error "must hold a lower and an upper limit",
        "[n]; f64[2]" => error "operands must have one dtype",
        "f16[n]; f16[2]" => error "the element type must be i32, i64, f32 or f64",
    }
    shape_table! { fed: DEF, {},
        "[n]; [2]; nbins=i32[]" => "i32[?]",
    }

    #[test]
    fn elements_outside_the_range_are_in_the_outer_bins() {
        let attrs = Attrs::new().with("nbins", 5);
        let range = tensor(&[2], &[0.0f32, 5.0]);
        let x = tensor(&[7], &[-1.0f32, 0.0, 1.5, 2.0, 5.0, 15.0, f32::INFINITY]);
        let y = run_one(&DEF, &attrs, &[x, range.clone()]);
        assert_eq!(y.to_vec::<i32>().unwrap(), [2, 1, 1, 0, 3]);
        let error = run(&DEF, &attrs, &[tensor(&[1, 2], &[0.0, f32::NAN]), range]).unwrap_err();
        assert_eq!(error.message(), "a histogram must have no NaN, got NaN at [0, 1] in operand 0");
        assert!(run(&DEF, &attrs, &[tensor(&[1], &[1i32]), tensor(&[2], &[3, 3i32])]).is_err());
    }

    #[test]
    fn distances_of_integers_do_not_wrap() {
        let attrs = |bins: i64| Attrs::new().with("nbins", bins);
        let of_i32 = |x: &[i32], range: [i32; 2], bins| {
            let operands = [tensor(&[x.len()], x), tensor(&[2], &range)];
            run_one(&DEF, &attrs(bins), &operands).to_vec::<i32>().unwrap()
        };
        assert_eq!(of_i32(&[i32::MAX], [-5, 3], 2), [0, 1]);
        assert_eq!(of_i32(&[i32::MAX, 0, i32::MIN], [i32::MIN, i32::MAX], 4), [1, 0, 1, 1]);
        let operands = [tensor(&[2], &[i64::MAX, -3]), tensor(&[2], &[-5i64, 3])];
        assert_eq!(run_one(&DEF, &attrs(2), &operands).to_vec::<i32>().unwrap(), [1, 1]);
        let operands = [tensor(&[3], &[i64::MAX, 0, i64::MIN]), tensor(&[2], &[i64::MIN, i64::MAX])];
        assert_eq!(run_one(&DEF, &attrs(4), &operands).to_vec::<i32>().unwrap(), [1, 0, 1, 1]);
        // Both limits round to one f64, or no number is between them.
        let low = 1i64 << 60;
        let operands = [tensor(&[3], &[low + 1, low + 5, i64::MAX]), tensor(&[2], &[low, low + 10])];
        assert_eq!(run_one(&DEF, &attrs(5), &operands).to_vec::<i32>().unwrap(), [1, 0, 1, 0, 1]);
        let next = 1f64.next_up();
        let operands = [tensor(&[3], &[0.0, 1.0, next]), tensor(&[2], &[1.0, next])];
        assert_eq!(run_one(&DEF, &attrs(3), &operands).to_vec::<i32>().unwrap(), [2, 0, 1]);
    }

    /// The counts were recorded from TensorFlow. `1.05 - 1.0` is a little more than 0.05.
    #[test]
    fn limits_are_divided_before_they_are_subtracted() {
        let x: Vec<i64> = (100..105).collect();
        let operands = [tensor(&[5], &x), tensor(&[2], &[100i64, 105])];
        let counts = run_one(&DEF, &Attrs::new().with("nbins", 100), &operands).to_vec::<i32>().unwrap();
        let bins: Vec<usize> = (0..100).filter(|bin| counts[*bin] > 0).collect();
        assert_eq!(bins, [0, 19, 39, 59, 79]);
    }

    #[test]
    fn bins_beyond_memory_are_an_error() {
        let (x, range) = (tensor(&[1], &[1.0f32]), tensor(&[2], &[0.0f32, 5.0]));
        let error = run(&DEF, &Attrs::new().with("nbins", 1i64 << 44), &[x, range]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Memory, "{error}");
    }
}
