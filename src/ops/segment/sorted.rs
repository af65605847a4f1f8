//! `segment_sum`, `segment_mean` and so on: segment reductions with ascending segment ids.

use std::panic::Location;

use shapeflow_shape_fns::DType;

use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::{IntoOperand, Value};
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::ops::positions::Positions;
use crate::ops::row_major::RowMajor;
use crate::tensor::{TensorView, place_text};

use super::reduce::{Reduce, clear_gaps, divide, dtypes, reduce_rows};

macro_rules! segments {
    ($($(#[$doc:meta])* $method:ident, $DEF:ident, $op:literal, $Reduce:ident;)*) => {
        impl<'g> Value<'g> {$(
            $(#[$doc])*
            ///
            /// `[n, d..], ids [n] -> [1 + ids[n-1], d..]`, and `[0, d..]` if `n` is 0; `ids` is i32 or i64. The run
            /// fails unless there is one id for each row and `0 <= ids[i] <= ids[i+1]` for every `i`. Runs on the host.
            ///
            /// # Errors
            /// `self` is a scalar, `ids` is not a vector, or a dtype is not supported.
            #[track_caller]
            pub fn $method(self, ids: impl IntoOperand<'g>) -> Result<Value<'g>> {
                let ids = ids.into_own_operand(self.graph(), Location::caller());
                self.graph().op(&$DEF).data(self).data(ids).finish()
            }
        )*}

        $(pub(crate) static $DEF: OpDef = OpDef::host(stringify!($method), |cx| run(cx, Reduce::$Reduce))
            .operands(&[Operand::Data("data"), Operand::Data("segment_ids")])
            .shape_fn(shapeflow_shape_fns::segment::segment)
            .dtype_rule(|operands, attrs| dtypes(operands, attrs, Reduce::$Reduce))
            .tensorflow(&[TfOp::new($op)]);)*
    };
}
segments! {
    /// Adds the rows of each segment, in their order: `out[s, ..] = Σ self[i, ..]` over `ids[i] == s`. An empty segment
    /// gives zeros. Integers (which wrap), floats and complex numbers; f16 and bf16 are added as f32 and rounded once.
    /// As TensorFlow's `SegmentSum`.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([[1, 2], [3, 4], [5, 6]])?.segment_sum(g.constant([0, 0, 1])?)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([[4, 6], [5, 6]]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    segment_sum, SUM, "SegmentSum", Sum;
    /// Averages the rows of each segment. An empty segment gives zeros. Integers, floats and complex numbers; f16 and
    /// bf16 are added and divided as f32 and rounded once. As TensorFlow's `SegmentMean`: a mean of integers rounds
    /// toward zero, and the sum and the number of rows wrap in the dtype of the elements, so cast small integers to a
    /// wider dtype first. If the number of rows wraps to 0, the mean is 0, while TensorFlow's process crashes.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([1.0, 3.0, 5.0])?.segment_mean(g.constant([0, 0, 1])?)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([2.0, 5.0]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    segment_mean, MEAN, "SegmentMean", Mean;
    /// Multiplies the rows of each segment, in their order. An empty segment gives ones. Integers (which wrap), floats
    /// and complex numbers; f16 and bf16 are multiplied as f32 and rounded once. As TensorFlow's `SegmentProd`.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([2, 3, 5])?.segment_prod(g.constant([0, 0, 1])?)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([6, 5]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    segment_prod, PROD, "SegmentProd", Prod;
    /// Takes the maximum of the rows of each segment; NaN if an element is NaN. An empty segment gives zeros. Integers
    /// and floats. As TensorFlow's `SegmentMax`, which may ignore a NaN.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([2, 3, 5])?.segment_max(g.constant([0, 0, 1])?)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([3, 5]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    segment_max, MAX, "SegmentMax", Max;
    /// Takes the minimum of the rows of each segment; NaN if an element is NaN. An empty segment gives zeros. Integers
    /// and floats. As TensorFlow's `SegmentMin`, which may ignore a NaN.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([2, 3, 5])?.segment_min(g.constant([0, 0, 1])?)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([2, 5]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    segment_min, MIN, "SegmentMin", Min;
}

fn run(cx: &mut HostCx<'_>, reduce: Reduce) -> Result<()> {
    let (data, ids) = (RowMajor::new(cx.input(0)?)?, RowMajor::new(cx.input(1)?)?);
    let (data, ids) = (data.view(), ids.view());
    match ids.dtype() {
        DType::I32 => segments(cx, data, &ids, ids.as_slice::<i32>()?, reduce),
        _ => segments(cx, data, &ids, ids.as_slice::<i64>()?, reduce),
    }
}

fn segments<I: Copy + PartialEq + Into<i64>>(
    cx: &mut HostCx<'_>,
    data: TensorView<'_>,
    ids: &TensorView<'_>,
    numbers: &[I],
    reduce: Reduce,
) -> Result<()> {
    let rows = data.sizes().first().copied().unwrap_or(0);
    if rows != numbers.len() {
        let message = format!("there must be one id per row, got {} for {rows}", numbers.len());
        return Err(Error::new(ErrorKind::Shape, Phase::Run, message));
    }
    check_ascending(ids, numbers)?;
    let count = match numbers.last() {
        Some(last) => usize::try_from((*last).into()).unwrap_or(usize::MAX).saturating_add(1),
        None => 0,
    };
    let rest = data.sizes().get(1..).unwrap_or_default();
    let bounds = [count];
    let positions = Positions::new(ids.clone(), Some(1), &bounds)?;
    let mut output = cx.output(0, &[&bounds, rest].concat())?;
    let start = reduce.start(data.dtype());
    reduce_rows(data.clone(), &mut output, &positions, reduce, start, &|output| {
        match reduce {
            Reduce::Mean => divide(output, numbers)?,
            // The ids ascend from 0, so none is negative.
            Reduce::Max | Reduce::Min => clear_gaps(output, numbers.iter().map(|id| (*id).into() as usize)),
            Reduce::Sum | Reduce::Prod => {}
        }
        Ok(())
    })
}

/// Fails unless the ids are non-negative and ascend.
fn check_ascending<I: Copy + Into<i64>>(ids: &TensorView<'_>, numbers: &[I]) -> Result<()> {
    let is_wrong = |[last, id]: [i64; 2]| id < last;
    let pairs = || numbers.iter().zip(numbers.get(1..).unwrap_or_default());
    let pairs = || pairs().map(|(last, id)| [(*last).into(), (*id).into()]);
    let first = || numbers.first().map(|first| [0, (*first).into()]);
    // A loop without exit is vectorized.
    if !pairs().chain(first()).fold(false, |found, pair| found | is_wrong(pair)) {
        return Ok(());
    }
    let wrong = first().into_iter().chain(pairs()).enumerate().find(|(_, pair)| is_wrong(*pair));
    let (number, [last, id]) = wrong.expect("the loop found a wrong id");
    let message = format!("segment ids must be non-negative and ascending, got {id} after {last}");
    let place = place_text(number, ids.sizes());
    Err(Error::new(ErrorKind::Index, Phase::Run, message).in_element(1, &place))
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::Attrs;

    use super::*;
    use crate::ops::testing::{run, run_one, shape_table, tensor};
    use crate::tensor::Tensor;

    shape_table! { SUM, {},
        "[n, 3]; i32[n]" => "[?, 3]",
        "c64[n]; i64[n]" => "c64[?]",
        "[n]; [n]" => error "the element type must be i32 or i64, got f32",
        "[]; i32[1]" => error "data must have rank at least 1",
    }
    shape_table! { compared: MAX, {},
        "bool[n]; i32[n]" => error "the element type must be an integer or a float, got bool",
        "f16[n]; i32[n]" => "f16[?]",
    }

    #[test]
    fn halves_are_reduced_as_f32() {
        // 2048 + 1 + 1: the partial sum 2049 is not representable in f16.
        let x = Tensor::from_bits(DType::F16, &[4], &[0x6800u16, 0x3c00, 0x3c00, 0xfc00]).unwrap();
        let operands = [x, tensor(&[4], &[0, 0, 0, 2i64])];
        let none = Attrs::new();
        assert_eq!(run_one(&SUM, &none, &operands).to_bits::<u16>().unwrap(), [0x6801, 0, 0xfc00]);
        // The only element of segment 2 is -inf, the initial value of a maximum.
        assert_eq!(run_one(&MAX, &none, &operands).to_bits::<u16>().unwrap(), [0x6800, 0, 0xfc00]);
    }

    #[test]
    fn descending_and_missing_ids_are_errors() {
        let message = |data: usize, ids: &[i32]| {
            let operands = [tensor(&[data], &vec![1u8; data]), tensor(&[ids.len()], ids)];
            run(&SUM, &Attrs::new(), &operands).unwrap_err().message().to_string()
        };
        assert_eq!(
            message(2, &[1, 0]),
            "segment ids must be non-negative and ascending, got 0 after 1 at [1] in operand 1"
        );
        assert_eq!(
            message(1, &[-1]),
            "segment ids must be non-negative and ascending, got -1 after 0 at [0] in operand 1"
        );
        assert_eq!(message(2, &[0]), "there must be one id per row, got 1 for 2");
    }

    #[test]
    fn the_sum_and_the_count_of_a_mean_wrap() {
        let mean = |rows: usize, value: u8| {
            let operands = [tensor(&[rows], &vec![value; rows]), tensor(&[rows], &vec![0i32; rows])];
            run_one(&MEAN, &Attrs::new(), &operands).to_vec::<u8>().unwrap()
        };
        // The sum 600 wraps to 88, and the count 300 to 44.
        assert_eq!([mean(3, 100), mean(300, 2), mean(512, 1)], [[14], [2], [0]]);
        let lowest = tensor(&[255], &[i8::MIN; 255]);
        let y = run_one(&MEAN, &Attrs::new(), &[lowest, tensor(&[255], &[0i32; 255])]);
        // The sum wraps to -128, and the count to -1.
        assert_eq!(y.to_vec::<i8>().unwrap(), [i8::MIN]);
    }
}
