//! `bucketize`: the number of the bucket that holds each element.

use shapeflow_shape_fns::{Attribute, Attrs, DType, InferenceContext, ShapeError};

use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx, Scalar};
use crate::graph::Value;
use crate::op::{HostCx, OpDef, Operand, TfOp};

impl<'g> Value<'g> {
    /// Returns, for each element, the number of `boundaries` that are not greater than it.
    ///
    /// `[..] -> i32[..]`, i32, i64, f32 and f64. The boundaries must ascend. The op rounds the boundaries and
    /// integer elements to f32, and then compares. NaN is past every boundary. A boundary that is NaN is passed by
    /// every element that the binary search compares with it. As TensorFlow's `Bucketize`, numpy's `digitize`, and
    /// torch's `bucketize` with `right=True`. Fuses into kernels; with more than 32 boundaries, the op runs on the host.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([-1.0, 0.5, 7.0])?.bucketize(&[0.0, 1.0])?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([0, 1, 2]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The boundaries do not ascend, or the dtype is not supported.
    #[doc(alias = "digitize")]
    #[track_caller]
    pub fn bucketize(self, boundaries: &[f64]) -> Result<Value<'g>> {
        self.graph().op(&DEF).data(self).attr("boundaries", boundaries).finish()
    }
}

/// The greatest number of boundaries that a kernel compares an element with. It compares with all of them.
const FEW: usize = 32;

pub(crate) static DEF: OpDef = declared(OpDef::composite("bucketize", |cx, values| {
    let boundaries = cx.attrs().floats("boundaries");
    let op = if boundaries.len() <= FEW { &BY_KERNEL } else { &BY_HOST };
    Ok(vec![values[0].graph().op(op).data(values[0]).attr("boundaries", &boundaries[..]).finish()?])
}));

pub(crate) static BY_KERNEL: OpDef =
    declared(OpDef::compute("bucketize_few", lower)).internal().shape_fn(shape);

pub(crate) static BY_HOST: OpDef = declared(OpDef::host("bucketize_many", run)).internal().shape_fn(shape);

/// Declares what the three ops share.
const fn declared(op: OpDef) -> OpDef {
    const ATTRIBUTES: &[Attribute] = &[Attribute::floats("boundaries")];
    const TENSORFLOW: &[TfOp] = &[TfOp::new("Bucketize")];
    op.attrs(ATTRIBUTES).operands(&[Operand::Data("input")]).dtype_rule(dtypes).tensorflow(TENSORFLOW)
}

fn dtypes(operands: &[DType], _: &Attrs) -> Result<Vec<DType>> {
    match operands {
        [DType::I32 | DType::I64 | DType::F32 | DType::F64] => Ok(vec![DType::I32]),
        other => dtype::refuse(format!(
            "the element type must be i32, i64, f32 or f64, got {}",
            dtype::names(other)
        )),
    }
}

/// `x[..] -> [..]`.
fn shape(cx: &mut InferenceContext<'_>) -> shapeflow_shape_fns::Result<()> {
    let boundaries = boundaries(cx.attrs());
    // No boundary is below NaN, and NaN is below no boundary.
    if boundaries.windows(2).any(|pair| pair[1] < pair[0]) {
        return Err(ShapeError::new(format_args!("boundaries must ascend, got {boundaries:?}")));
    }
    shapeflow_shape_fns::common::unary(cx)
}

/// Returns the boundaries, rounded to f32.
fn boundaries(attrs: &Attrs) -> Vec<f64> {
    attrs.floats("boundaries").into_iter().map(|limit| f64::from(limit as f32)).collect()
}

fn lower(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    let boundaries = boundaries(cx.attrs());
    let x = cx.operand(0, index);
    let x = if x.dtype().is_integer() { x.cast(DType::F32) } else { x };
    bucket(&x, &boundaries, 0)
}

/// Returns `first` plus the position of the first boundary above `x`, by the comparisons of [`first_above`].
fn bucket(x: &Expr, boundaries: &[f64], first: i32) -> Expr {
    let half = boundaries.len() / 2;
    let [below, [boundary, above @ ..]] = [&boundaries[..half], &boundaries[half..]] else {
        return Expr::constant(first);
    };
    let past = bucket(x, above, first + half as i32 + 1);
    x.clone().less(x.like(*boundary)).select(bucket(x, below, first), past)
}

fn run(cx: &mut HostCx<'_>) -> Result<()> {
    let (x, boundaries) = (cx.input(0)?, boundaries(cx.attrs()));
    let bucket = |position: usize| {
        let element = x.element(position).and_then(|bytes| Scalar::from_bytes(x.dtype(), bytes));
        let value = match element.expect("the position is in the tensor") {
            Scalar::I32(int) => f64::from(int as f32),
            Scalar::I64(int) => f64::from(int as f32),
            float => float.to_f64(),
        };
        first_above(&boundaries, value) as i32
    };
    let mut output = cx.unfilled_output(0, x.sizes())?;
    for (position, slot) in output.as_mut_slice::<i32>()?.iter_mut().enumerate() {
        *slot = bucket(position);
    }
    Ok(())
}

/// Returns the position of the first boundary above `value`. The boundaries may have NaN among them, so the result
/// depends on the order of the comparisons, which is that of `std::upper_bound`.
fn first_above(boundaries: &[f64], value: f64) -> usize {
    let (mut first, mut len) = (0, boundaries.len());
    while len > 0 {
        let half = len / 2;
        if value < boundaries[first + half] {
            len = half;
        } else {
            first += half + 1;
            len -= half + 1;
        }
    }
    first
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::shape;

    use super::*;
    use crate::graph::Graph;
    use crate::ops::testing::{run_one, shape_table, tensor};

    shape_table! { BY_KERNEL, {"boundaries": &[0.0, 1.0][..]},
        "[n, 2]" => "i32[n, 2]",
        "i64?" => "i32?",
        "bool[n]" => error "the element type must be i32, i64, f32 or f64",
    }
    shape_table! { descending: BY_HOST, {"boundaries": &[2.0, 1.0][..]},
        "[n]" => error "boundaries must ascend, got [2.0, 1.0]",
    }

    #[test]
    fn a_boundary_belongs_to_the_bucket_above_it() {
        let attrs = |limits: &[f64]| Attrs::new().with("boundaries", limits);
        let x = tensor(&[5], &[-1.0, 0.0, 0.5, 3.0, f64::NAN]);
        for op in [&BY_KERNEL, &BY_HOST] {
            let y = run_one(op, &attrs(&[0.0, 1.0, 3.0]), std::slice::from_ref(&x));
            assert_eq!(y.to_vec::<i32>().unwrap(), [0, 1, 1, 3, 3]);
        }
    }

    #[test]
    fn a_boundary_may_be_nan() {
        let nan = f64::NAN;
        let x = tensor(&[6], &[-1.0, 0.0, 0.5, 3.0, nan, f64::INFINITY]);
        // TensorFlow 2.21 gives these numbers.
        let cases: [(&[f64], [i32; 6]); 4] = [
            (&[nan], [1; 6]),
            (&[nan, 1.0], [1, 1, 1, 2, 2, 2]),
            (&[0.0, 1.0, nan, 0.5, 2.0], [3, 3, 4, 5, 5, 5]),
            (&[0.0, nan, -1.0, 5.0], [3, 3, 3, 3, 4, 4]),
        ];
        for (boundaries, expected) in cases {
            for op in [&BY_KERNEL, &BY_HOST] {
                let y = run_one(op, &Attrs::new().with("boundaries", boundaries), std::slice::from_ref(&x));
                assert_eq!(y.to_vec::<i32>().unwrap(), expected, "{boundaries:?}");
            }
        }
    }

    #[test]
    fn any_number_of_boundaries_agrees_with_a_count() {
        let elements: Vec<f64> = (-5..75).map(|number| f64::from(number) * 0.5).collect();
        for count in [0, 1, 2, 3, 7, FEW, FEW + 1, 60] {
            let boundaries: Vec<f64> = (0..count).map(|number| number as f64 * 0.5).collect();
            for dtype in [DType::F32, DType::F64, DType::I32, DType::I64] {
                let g = Graph::new();
                let x = g.input("x", DType::F64, shape!["n"]).unwrap().cast(dtype).unwrap();
                let exe = g.compile(x.bucketize(&boundaries).unwrap()).unwrap();
                let fed: Vec<f64> = match dtype.is_float() {
                    true => elements.clone(),
                    false => elements.iter().map(|element| element.floor()).collect(),
                };
                let below =
                    |element: &f64| boundaries.iter().filter(|limit| *limit <= element).count() as i32;
                let expected: Vec<i32> = fed.iter().map(below).collect();
                let got = exe.run_all(&[tensor(&[fed.len()], &fed).view()]).unwrap();
                assert_eq!(got[0].to_vec::<i32>().unwrap(), expected, "{count} {dtype}");
            }
        }
    }
}
