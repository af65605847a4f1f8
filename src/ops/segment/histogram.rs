//! `histogram_fixed_width`: counts elements in bins of equal width.

use shapeflow_shape_fns::{Attribute, Attrs, DType};

use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::expr::Scalar;
use crate::graph::{IntoOperand, IntoParam, Value};
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::ops::host_params::param_sizes;
use crate::ops::row_major::RowMajor;
use crate::tensor::place_text;
use crate::tiles::with_wide_vectors;

/// The number of elements whose bins are computed together, by vector instructions.
const BLOCK: usize = 512;

/// Counts an element in each of these bins.
type CountBins<'a> = Box<dyn FnMut(&[f64]) + 'a>;

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
    let (x, range) = (RowMajor::new(cx.input(0)?)?, cx.input(1)?);
    let x = x.view();
    let wrong = |message: String| Err(Error::new(ErrorKind::Attribute, Phase::Run, message));
    let bins = param_sizes(cx, "nbins", 2)?.first().copied().unwrap_or(0);
    if bins == 0 {
        return wrong("nbins must be at least 1, got 0".to_string());
    }
    let limit = |at: usize| {
        let bytes = range.element(at).expect("the position is in the tensor");
        Scalar::from_bytes(range.dtype(), bytes).expect("the dtype rule accepts numbers only")
    };
    if range.len() != 2 {
        return wrong(format!("value_range must have two elements, got {}", range.len()));
    }
    let (low, high) = (limit(0), limit(1));
    let (ascends, width) = match (low, high) {
        (Scalar::I64(low), Scalar::I64(high)) => (low < high, high.wrapping_sub(low) as f64),
        _ => (low.to_f64() < high.to_f64(), high.to_f64() - low.to_f64()),
    };
    if !ascends {
        return wrong(format!("value_range must ascend, got {low} and {high}"));
    }
    // TensorFlow divides the limits before it subtracts them. If the quotients are equal, TensorFlow's process crashes.
    let step = high.to_f64() / bins as f64 - low.to_f64() / bins as f64;
    let (step, is_exact) = if step > 0.0 { (step, false) } else { (width / bins as f64, true) };
    let last = (bins - 1) as f64;
    // A distance of NaN is between two infinities.
    let bin = move |distance: f64| if distance / step < last { distance / step } else { last };
    let (start, end) = (low.to_f64(), high.to_f64());
    // The quotient is computed for every element, because a branch would take longer.
    let bin_of_float = move |x: f64| {
        let bin = bin(if x > end { end } else { x } - start);
        if x > start { bin } else { 0.0 }
    };
    // The processor converts to u32 faster than to usize.
    let are_few = u32::try_from(bins).is_ok();
    let index = move |bin: f64| if are_few { bin as u32 as usize } else { bin as usize };
    let dtype = dtypes(&[x.dtype(), x.dtype()], cx.attrs())?[0];
    let mut output = cx.output(0, &[bins])?;
    let mut count: CountBins<'_> = match dtype {
        DType::I32 => {
            let counts = output.as_mut_slice::<i32>()?;
            Box::new(move |bins| {
                for bin in bins {
                    let count = &mut counts[index(*bin)];
                    *count = count.wrapping_add(1);
                }
            })
        }
        _ => {
            let counts = output.as_mut_slice::<i64>()?;
            Box::new(move |bins| bins.iter().for_each(|bin| counts[index(*bin)] += 1))
        }
    };
    let nan = match (x.dtype(), low, high) {
        (DType::F32, ..) => each_block(x.as_slice()?, move |x: f32| bin_of_float(f64::from(x)), &mut count),
        (DType::F64, ..) => each_block(x.as_slice()?, bin_of_float, &mut count),
        (DType::I32, ..) => each_block(x.as_slice()?, move |x: i32| bin_of_float(f64::from(x)), &mut count),
        (_, Scalar::I64(low), Scalar::I64(high)) => {
            let bin_of = move |x: i64| {
                let nearest = x.min(high);
                let exact = nearest.wrapping_sub(low) as f64;
                let bin = bin(if is_exact { exact } else { nearest as f64 - start });
                if x > low { bin } else { 0.0 }
            };
            each_block(x.as_slice()?, bin_of, &mut count)
        }
        _ => unreachable!("the limits have the dtype of the elements"),
    };
    match nan {
        Some(at) => {
            let message = "a histogram must have no NaN, got NaN".to_string();
            let error = Error::new(ErrorKind::Attribute, Phase::Run, message);
            Err(error.in_element(0, &place_text(at, x.sizes())))
        }
        None => Ok(()),
    }
}

/// Passes the bins of all elements to `count`, block by block. Stops at the first NaN, and returns its position.
fn each_block<T: Copy + PartialOrd>(
    elements: &[T],
    bin_of: impl Fn(T) -> f64 + Copy,
    count: &mut dyn FnMut(&[f64]),
) -> Option<usize> {
    // Only NaN does not compare with itself.
    let is_nan = |x: &T| x.partial_cmp(x).is_none();
    let mut bins = [0.0; BLOCK];
    for (number, block) in elements.chunks(BLOCK).enumerate() {
        let bins = &mut bins[..block.len()];
        with_wide_vectors(|| fill_bins(block, bins, bin_of));
        if block.iter().fold(false, |found, x| found | is_nan(x)) {
            return block.iter().position(is_nan).map(|at| number * BLOCK + at);
        }
        count(bins);
    }
    None
}

/// `bin_of` is passed by value: the compiler then knows that the loop does not change what `bin_of` captures.
#[inline(always)]
fn fill_bins<T: Copy>(elements: &[T], bins: &mut [f64], bin_of: impl Fn(T) -> f64) {
    for (bin, x) in bins.iter_mut().zip(elements) {
        *bin = bin_of(*x);
    }
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

    #[test]
    fn blocks_are_counted_together() {
        let count = 3 * BLOCK + 7;
        let mut x: Vec<f32> = (0..count).map(|number| (number * 7 % 10) as f32).collect();
        let range = tensor(&[2], &[0.0f32, 10.0]);
        let attrs = Attrs::new().with("nbins", 5).with("dtype", DType::I64);
        let y = run_one(&DEF, &attrs, &[tensor(&[count], &x), range.clone()]).to_vec::<i64>().unwrap();
        let expected =
            [0, 2, 4, 6, 8].map(|low| x.iter().filter(|x| (low..low + 2).contains(&(**x as i64))).count());
        assert_eq!(y, expected.map(|count| count as i64));
        x[2 * BLOCK + 3] = f32::NAN;
        x[count - 1] = f32::NAN;
        let error = run(&DEF, &attrs, &[tensor(&[count], &x), range]).unwrap_err();
        let place = 2 * BLOCK + 3;
        assert_eq!(
            error.message(),
            format!("a histogram must have no NaN, got NaN at [{place}] in operand 0")
        );
        // The distance and the width are infinite.
        let operands = [tensor(&[2], &[f32::INFINITY, 1.0]), tensor(&[2], &[0.0f32, f32::INFINITY])];
        assert_eq!(run_one(&DEF, &attrs, &operands).to_vec::<i64>().unwrap(), [1, 0, 0, 0, 1]);
    }
}
