//! `sparse_segment_sum` and so on: reductions of selected rows with ascending segment ids, and their gradients.

use std::panic::Location;

use shapeflow_shape_fns::DType;

use super::blocks::add_in_blocks;
use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::{IntoOperand, IntoParam, Value};
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::ops::host_params::param_sizes;
use crate::ops::integers::{int_tensor, ints};
use crate::ops::row_major::RowMajor;
use crate::ops::rows::{narrow, widened};
use crate::tensor::{Tensor, TensorView, filled_vec};

macro_rules! segments {
    ($($(#[$doc:meta])* $method:ident, $with:ident, $grad:ident, $Scale:ident:
        $PLAIN:ident $plain:literal, $WITH:ident $tf_with:literal, $GRAD:ident $tf_grad:literal,
        $COMPACT:ident $compact:literal $tf_compact:literal;)*) => {
        impl<'g> Value<'g> {$(
            $(#[$doc])*
            ///
            /// `[n, d..], indices [k], ids [k] -> [1 + ids[k-1], d..]`, and `[0, d..]` if `k` is 0; `indices` and `ids`
            /// are i32 or i64. The run fails unless `0 <= ids[i] <= ids[i+1]` and `0 <= indices[i] < n` for every `i`.
            /// An empty segment gives zeros; f16 and bf16 are computed as f32 and rounded once. Runs on the host.
            ///
            /// # Errors
            /// `self` is a scalar, `indices` and `ids` are not vectors of one length, or a dtype is not supported.
            #[track_caller]
            pub fn $method(self, indices: impl IntoOperand<'g>, ids: impl IntoOperand<'g>) -> Result<Value<'g>> {
                let (indices, ids) =
                    (indices.into_own_operand(self.graph(), Location::caller()), ids.into_own_operand(self.graph(), Location::caller()));
                self.graph().op(&$PLAIN).data(self).data(indices).data(ids).finish()
            }

            #[doc = concat!("Does the same as [`Value::", stringify!($method), "`] for `count` segments; an id of \
                `count` or more fails the run.")]
            ///
            /// # Errors
            #[doc = concat!("As [`Value::", stringify!($method), "`]; also if `count` is negative.")]
            #[track_caller]
            pub fn $with(
                self,
                indices: impl IntoOperand<'g>,
                ids: impl IntoOperand<'g>,
                count: impl IntoParam<'g>,
            ) -> Result<Value<'g>> {
                let (indices, ids) =
                    (indices.into_own_operand(self.graph(), Location::caller()), ids.into_own_operand(self.graph(), Location::caller()));
                self.graph().op(&$WITH).data(self).data(indices).data(ids).size("num_segments", count).finish()
            }

            #[doc = concat!("Returns the gradient of [`Value::", stringify!($method), "`] for an operand of `rows` \
                rows: `self` is the gradient of the result.")]
            ///
            /// `[s, d..], indices [k], ids [k] -> [rows, d..]`, floats. Runs on the host.
            ///
            /// # Errors
            #[doc = concat!("As [`Value::", stringify!($method), "`]; also if `rows` is negative.")]
            #[track_caller]
            pub fn $grad(
                self,
                indices: impl IntoOperand<'g>,
                ids: impl IntoOperand<'g>,
                rows: impl IntoParam<'g>,
            ) -> Result<Value<'g>> {
                let (indices, ids) =
                    (indices.into_own_operand(self.graph(), Location::caller()), ids.into_own_operand(self.graph(), Location::caller()));
                self.graph().op(&$GRAD).data(self).data(indices).data(ids).size("output_dim0", rows).finish()
            }
        )*}

        $(
            pub(crate) static $PLAIN: OpDef =
                OpDef::host(stringify!($method), |cx| reduce(cx, Scale::$Scale, false))
                    .operands(&[Operand::Data("data"), Operand::Data("indices"), Operand::Data("segment_ids")])
                    .shape_fn(shapeflow_shape_fns::segment::sparse_segment)
                    .dtype_rule(|operands, _| dtypes(operands, Scale::$Scale.class()))
                    .tensorflow(&[TfOp::new($plain)]);
            pub(crate) static $WITH: OpDef =
                OpDef::host(stringify!($with), |cx| reduce(cx, Scale::$Scale, true))
                    .operands(&[
                        Operand::Data("data"),
                        Operand::Data("indices"),
                        Operand::Data("segment_ids"),
                        Operand::Size("num_segments"),
                    ])
                    .shape_fn(shapeflow_shape_fns::segment::sparse_segment_of)
                    .dtype_rule(|operands, _| dtypes(operands, Scale::$Scale.class()))
                    .tensorflow(&[TfOp::new($tf_with)]);
            pub(crate) static $GRAD: OpDef = OpDef::host(stringify!($grad), |cx| gradient(cx, Scale::$Scale, false))
                .operands(&[
                    Operand::Data("grad"),
                    Operand::Data("indices"),
                    Operand::Data("segment_ids"),
                    Operand::Size("output_dim0"),
                ])
                .shape_fn(shapeflow_shape_fns::segment::sparse_segment_of)
                .dtype_rule(|operands, _| dtypes(operands, dtype::Class::Float))
                .tensorflow(&[TfOp::new($tf_grad)]);
            /// An op for import only: the rows of the gradient that are selected, and their ascending indices.
            pub(crate) static $COMPACT: OpDef = OpDef::host($compact, |cx| gradient(cx, Scale::$Scale, true))
                .operands(&[
                    Operand::Data("grad"),
                    Operand::Data("indices"),
                    Operand::Data("segment_ids"),
                    Operand::Size("dense_output_dim0"),
                ])
                .outputs(|_, _| 2)
                .shape_fn(shapeflow_shape_fns::segment::sparse_segment_grad)
                .dtype_rule(|operands, _| Ok(vec![dtypes(operands, dtype::Class::Float)?[0], operands[1]]))
                .tensorflow(&[TfOp::new($tf_compact)]);
        )*

        /// Every op of the file.
        pub(crate) static ALL: &[&OpDef] = &[$(&$PLAIN, &$WITH, &$GRAD, &$COMPACT),*];
    };
}
segments! {
    /// Adds the rows that `indices` selects in each segment: `out[s, ..] = Σ self[indices[i], ..]` over `ids[i] == s`.
    /// Integers (which wrap) and floats. As TensorFlow's `SparseSegmentSum`.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let x = g.constant([1.0, 2.0, 4.0])?;
    /// let y = x.sparse_segment_sum(g.constant([0, 2, 2])?, g.constant([0, 0, 1])?)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([5.0, 4.0]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    sparse_segment_sum, sparse_segment_sum_with, sparse_segment_sum_grad, One:
        SUM "SparseSegmentSum", SUM_WITH "SparseSegmentSumWithNumSegments", SUM_GRAD "SparseSegmentSumGrad",
        SUM_COMPACT "sparse_segment_sum_grad_rows" "SparseSegmentSumGradV2";
    /// Averages the rows that `indices` selects in each segment. Floats. As TensorFlow's
    /// `SparseSegmentMean`.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let x = g.constant([1.0, 2.0, 4.0])?;
    /// let y = x.sparse_segment_mean(g.constant([0, 2, 2])?, g.constant([0, 0, 1])?)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([2.5, 4.0]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    sparse_segment_mean, sparse_segment_mean_with, sparse_segment_mean_grad, Count:
        MEAN "SparseSegmentMean", MEAN_WITH "SparseSegmentMeanWithNumSegments", MEAN_GRAD "SparseSegmentMeanGrad",
        MEAN_COMPACT "sparse_segment_mean_grad_rows" "SparseSegmentMeanGradV2";
    /// Adds the rows that `indices` selects in each segment, and divides by the square root of their number.
    /// Floats. As TensorFlow's `SparseSegmentSqrtN`.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let x = g.constant([1.0, 2.0, 4.0])?;
    /// let y = x.sparse_segment_sqrt_n(g.constant([0, 2, 2])?, g.constant([0, 0, 1])?)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// y.allclose(&Tensor::from([3.536, 4.0]), 1e-3, 1e-12).unwrap();
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    sparse_segment_sqrt_n, sparse_segment_sqrt_n_with, sparse_segment_sqrt_n_grad, Root:
        ROOT "SparseSegmentSqrtN", ROOT_WITH "SparseSegmentSqrtNWithNumSegments", ROOT_GRAD "SparseSegmentSqrtNGrad",
        ROOT_COMPACT "sparse_segment_sqrt_n_grad_rows" "SparseSegmentSqrtNGradV2";
}

/// The divisor of the sum of a segment.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scale {
    One,
    /// The number of rows.
    Count,
    /// The square root of the number of rows.
    Root,
}

impl Scale {
    fn divisor(self, count: usize) -> f64 {
        match self {
            Scale::One => 1.0,
            Scale::Count => count as f64,
            Scale::Root => (count as f64).sqrt(),
        }
    }

    /// Returns the class of dtypes of the rows: sums may be of integers, quotients only of floats.
    fn class(self) -> dtype::Class {
        if self == Scale::One { dtype::Class::Number } else { dtype::Class::Float }
    }
}

fn dtypes(operands: &[DType], class: dtype::Class) -> Result<Vec<DType>> {
    dtype::check_indices(operands, 1)?;
    Ok(vec![dtype::common(operands, 0, 1, class)?])
}

/// Checks that the integers of the vector in operand `operand` are in `[0, limit)`. `what` names an integer in the
/// error.
///
/// # Errors
/// An integer is outside `[0, limit)`.
fn require_below(operand: usize, what: &str, ints: Vec<i64>, limit: usize) -> Result<Vec<usize>> {
    // As a u64, a negative integer is above any limit.
    let Some(outside) = ints.iter().position(|int| *int as u64 >= limit as u64) else {
        return Ok(ints.into_iter().map(|int| int as usize).collect());
    };
    let message = format!("{what} must lie in [0, {limit}), got {}", ints[outside]);
    let error = Error::new(ErrorKind::Index, Phase::Run, message);
    Err(error.in_element(operand, &format!(" at [{outside}]")))
}

/// Returns the number of rows of each segment.
fn counts(ids: &[usize], segments: usize) -> Result<Vec<usize>> {
    let mut counts = filled_vec(segments, 0)?;
    for id in ids {
        counts[*id] += 1;
    }
    Ok(counts)
}

/// Reads the indices and the segment ids.
///
/// # Errors
/// The number of indices differs from the number of segment ids.
fn pairs(cx: &HostCx<'_>) -> Result<[Vec<i64>; 2]> {
    let both = [ints(&cx.input(1)?), ints(&cx.input(2)?)];
    if both[0].len() == both[1].len() {
        return Ok(both);
    }
    let message = format!("there must be one id per index, got {} for {}", both[1].len(), both[0].len());
    Err(Error::new(ErrorKind::Shape, Phase::Run, message))
}

fn reduce(cx: &mut HostCx<'_>, scale: Scale, has_segment_count: bool) -> Result<()> {
    let [indices, ids] = pairs(cx)?;
    if let Some(before) = ids.windows(2).position(|pair| pair[0] > pair[1]) {
        let message = format!("segment ids must ascend, got {} after {}", ids[before + 1], ids[before]);
        let error = Error::new(ErrorKind::Index, Phase::Run, message);
        return Err(error.in_element(2, &format!(" at [{}]", before + 1)));
    }
    let segments = match has_segment_count {
        true => param_sizes(cx, "num_segments", 3)?.first().copied().unwrap_or(0),
        false => ids.last().map_or(0, |last| usize::try_from(*last).unwrap_or(0).saturating_add(1)),
    };
    let rows = cx.input(0)?.sizes().first().copied().unwrap_or(0);
    let (indices, ids) =
        (require_below(1, "an index", indices, rows)?, require_below(2, "a segment id", ids, segments)?);
    let counts = counts(&ids, segments)?;
    let from_to = indices.into_iter().zip(ids).map(|(index, id)| (index, id, 1.0));
    let sums = add_rows(cx.input(0)?, segments, from_to, |segment| scale.divisor(counts[segment].max(1)))?;
    cx.set_output(0, sums)
}

fn gradient(cx: &mut HostCx<'_>, scale: Scale, is_compact: bool) -> Result<()> {
    let name = if is_compact { "dense_output_dim0" } else { "output_dim0" };
    let mut rows = param_sizes(cx, name, 3)?.first().copied().unwrap_or(0);
    // As in TensorFlow, the gradient of no rows depends on no index.
    let [indices, ids] = if rows > 0 { pairs(cx)? } else { Default::default() };
    let segments = cx.input(0)?.sizes().first().copied().unwrap_or(0);
    let (mut indices, ids) =
        (require_below(1, "an index", indices, rows)?, require_below(2, "a segment id", ids, segments)?);
    let counts = counts(&ids, segments)?;
    if is_compact {
        let mut selected = indices.clone();
        selected.sort_unstable();
        selected.dedup();
        for index in &mut indices {
            *index = selected.partition_point(|other| *other < *index);
        }
        rows = selected.len();
        let dtype = cx.input(1)?.dtype();
        cx.set_output(1, int_tensor(dtype, &[rows], selected.into_iter())?)?;
    }
    let from_to =
        ids.into_iter().zip(indices).map(|(id, index)| (id, index, 1.0 / scale.divisor(counts[id])));
    cx.set_output(0, add_rows(cx.input(0)?, rows, from_to, |_| 1.0)?)
}

/// Returns a result of `count` rows: `result[to] = (Σ x[from] * factor) / divisor(to)` over the entries
/// `(from, to, factor)` of `from_to`. Integers wrap; their factors and divisors are 1.
fn add_rows(
    x: TensorView<'_>,
    count: usize,
    from_to: impl Iterator<Item = (usize, usize, f64)>,
    divisor: impl Fn(usize) -> f64,
) -> Result<Tensor> {
    let x = RowMajor::new(x)?;
    let x = x.view();
    let rest = x.sizes().get(1..).unwrap_or_default();
    let (sizes, row) = ([&[count], rest].concat(), rest.iter().product::<usize>());
    if matches!(x.dtype(), DType::F16 | DType::BF16) {
        let wide = add_rows(widened(&x)?.view(), count, from_to, divisor)?;
        let mut result = Tensor::zeros(x.dtype(), &sizes)?;
        narrow(wide.view(), &mut result.view_mut()?)?;
        return Ok(result);
    }
    let mut result = Tensor::zeros(x.dtype(), &sizes)?;
    macro_rules! of {
        ($T:ty) => {{
            let (from, to) = (x.as_slice::<$T>()?, result.as_mut_slice::<$T>()?);
            let entries = from_to.map(|(source, target, factor)| (source, target, factor as $T));
            add_in_blocks(to, from, row, entries);
            for (number, row) in to.chunks_exact_mut(row.max(1)).enumerate() {
                let divisor = divisor(number) as $T;
                row.iter_mut().for_each(|element| *element /= divisor);
            }
        }};
    }
    // Sums that wrap have the same bits for signed and unsigned integers.
    macro_rules! wrapping {
        ($T:ident) => {{
            let mut view = result.view_mut()?;
            let (from, to) = (x.as_unsigned::<$T>()?, view.as_mut_unsigned::<$T>()?);
            for (source, target, _) in from_to {
                for (to, from) in to[target * row..][..row].iter_mut().zip(&from[source * row..][..row]) {
                    *to = to.wrapping_add(*from);
                }
            }
        }};
    }
    match x.dtype() {
        DType::I8 | DType::U8 => wrapping!(u8),
        DType::I16 | DType::U16 => wrapping!(u16),
        DType::I32 | DType::U32 => wrapping!(u32),
        DType::I64 | DType::U64 => wrapping!(u64),
        DType::F32 => of!(f32),
        _ => of!(f64),
    }
    Ok(result)
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::Attrs;

    use super::*;
    use crate::ops::testing::{run, run_one, shape_table, tensor};

    shape_table! { SUM, {},
        "[n, 3]; i32[k]; i32[k]" => "[?, 3]",
        "[n, 3]; i32[2]; i32[3]" => error "the numbers of indices and segment_ids",
        "u16[n]; i32[k]; i32[k]" => "u16[?]",
        "c64[n]; i32[k]; i32[k]" => error "the element type must be an integer or a float",
    }
    shape_table! { with: MEAN_WITH, {"num_segments": 4},
        "[n, 3]; i32[k]; i64[k]" => "[4, 3]",
        "i32[n]; i32[k]; i32[k]" => error "the element type must be a float",
    }
    shape_table! { gradients: ROOT_GRAD, {},
        "f16[s, 3]; i32[k]; i64[k]; output_dim0=i32[]" => "f16[?, 3]",
    }
    shape_table! { compact: SUM_COMPACT, {"dense_output_dim0": 5},
        "[s, 3]; i64[k]; i32[k]" => "[?, 3]; i64[?]",
    }

    #[test]
    fn rows_are_scaled_by_their_number() {
        let operands = [
            tensor(&[3, 2], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
            tensor(&[4], &[2, 0, 0, 1]),
            tensor(&[4], &[0, 0, 2, 2i64]),
        ];
        let of = |def: &OpDef| run_one(def, &Attrs::new(), &operands).to_vec::<f64>().unwrap();
        assert_eq!(of(&SUM), [6.0, 8.0, 0.0, 0.0, 4.0, 6.0]);
        assert_eq!(of(&MEAN), [3.0, 4.0, 0.0, 0.0, 2.0, 3.0]);
        let root = 2f64.sqrt();
        assert_eq!(of(&ROOT), [6.0 / root, 8.0 / root, 0.0, 0.0, 4.0 / root, 6.0 / root]);
        let gradient = run_one(&MEAN_GRAD, &Attrs::new().with("output_dim0", 4), &operands);
        assert_eq!(gradient.to_vec::<f64>().unwrap(), [3.0, 4.0, 2.5, 3.0, 0.5, 1.0, 0.0, 0.0]);
        assert_eq!(run_one(&MEAN_GRAD, &Attrs::new().with("output_dim0", 0), &operands).sizes(), [0, 2]);
        let compact = run(&MEAN_COMPACT, &Attrs::new().with("dense_output_dim0", 4), &operands).unwrap();
        assert_eq!(compact[0].to_vec::<f64>().unwrap(), [3.0, 4.0, 2.5, 3.0, 0.5, 1.0]);
        assert_eq!(compact[1].to_vec::<i32>().unwrap(), [0, 1, 2]);
        let compact = run(&MEAN_COMPACT, &Attrs::new().with("dense_output_dim0", 0), &operands).unwrap();
        assert_eq!((compact[0].sizes(), compact[1].sizes()), (&[0, 2][..], &[0][..]));
    }

    #[test]
    fn wrong_indices_and_ids_are_errors() {
        let message = |indices: &[i32], ids: &[i32]| {
            let operands =
                [tensor(&[2], &[1.0f32, 2.0]), tensor(&[indices.len()], indices), tensor(&[ids.len()], ids)];
            run(&SUM_WITH, &Attrs::new().with("num_segments", 2), &operands)
                .unwrap_err()
                .message()
                .to_string()
        };
        assert_eq!(message(&[0, 2], &[0, 0]), "an index must lie in [0, 2), got 2 at [1] in operand 1");
        assert_eq!(message(&[0, 1], &[0, 2]), "a segment id must lie in [0, 2), got 2 at [1] in operand 2");
        assert_eq!(message(&[0, 1], &[1, 0]), "segment ids must ascend, got 0 after 1 at [1] in operand 2");
        // More segments than any memory holds.
        let operands = [tensor(&[1], &[1.0f32]), tensor(&[1], &[0i64]), tensor(&[1], &[1i64 << 45])];
        assert_eq!(run(&SUM, &Attrs::new(), &operands).unwrap_err().kind(), ErrorKind::Memory);
    }
}
