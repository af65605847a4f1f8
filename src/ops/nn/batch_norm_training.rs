//! `batch_norm_training`: normalizes each channel by the mean and the variance of the batch.

use std::panic::Location;

use shapeflow_shape_fns::{Attribute, Attrs, DType, Dim};

use super::batch_norm::{OPERANDS, parameter_dtypes};
use super::window::{dims_of, of_rank, refuse, with_shape};
use crate::dtype;
use crate::error::Result;
use crate::graph::{IntoOperand, Value};
use crate::op::{CompositeCx, OpDef, TfOp};
use crate::ops::reduce::Axes;

impl<'g> Value<'g> {
    /// Normalizes each channel by its mean and variance in the batch:
    /// `(x - mean[c]) / sqrt(variance[c] + epsilon) * scale[c] + offset[c]`. Returns the normalized `self`, the means
    /// and the variances. A variance is the mean of the squares of the distances from the mean.
    ///
    /// `[n, h, w, c], [c], [c] -> [n, h, w, c], [c], [c]`, floats. The channels are the last axis. f16 and bf16 are
    /// computed as f32 and rounded once. The parameters, means and variances are f32 for f16 and bf16; for f32 and f64
    /// they have the element type. Means and variances are 0 if the batch has no elements. As TensorFlow's
    /// `FusedBatchNormV3` in training; imported graphs may use its other formats and its running averages. The op is
    /// composed of reductions and elementwise ops, which fuse into kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let x = g.constant([[[[1.0f32, 5.0], [3.0, 9.0]]]])?;
    /// let [y, mean, variance] = x.batch_norm_training(g.constant([1.0f32, 2.0])?, g.constant([0.0f32, 1.0])?, 0.0)?;
    /// let [y, mean, variance] = g.compile([y, mean, variance])?.run(&[])?;
    /// assert_eq!(y, Tensor::from([[[[-1.0f32, -1.0], [1.0, 3.0]]]]));
    /// assert_eq!((mean, variance), (Tensor::from([2.0f32, 7.0]), Tensor::from([1.0f32, 4.0])));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The rank is not 4, a parameter does not have one element per channel, or a dtype is not supported.
    #[doc(alias = "batch_normalization")]
    #[track_caller]
    pub fn batch_norm_training(
        self,
        scale: impl IntoOperand<'g>,
        offset: impl IntoOperand<'g>,
        epsilon: f64,
    ) -> Result<[Value<'g>; 3]> {
        let location = Location::caller();
        let (scale, offset) = (scale.into_operand(self, location), offset.into_operand(self, location));
        let call = self.graph().op(&DEF).data(self).data(scale).data(offset).attr("epsilon", epsilon);
        let outputs = call.finish_all_at(location)?;
        Ok([outputs[0], outputs[3], outputs[4]])
    }
}

/// Output 0 is the normalized `x`. Outputs 1 and 2 are running averages: `exponential_avg_factor` of the mean and of
/// the unbiased variance of the batch, and the rest of the operands `mean` and `variance`. Outputs 3 and 4 are the mean
/// and the biased variance of the batch. Outputs 1 and 2 are NaN and outputs 3 and 4 are 0 if the batch has no
/// elements.
pub(crate) static DEF: OpDef = OpDef::composite("batch_norm_training", |cx, values| build(cx, values, 5))
    .attrs(ATTRIBUTES)
    .operands(OPERANDS)
    .outputs(|_, _| 5)
    .dtype_rule(|dtypes, attrs| output_dtypes(dtypes, attrs, 5))
    .tensorflow(&[TfOp::new("FusedBatchNorm"), TfOp::new("FusedBatchNormV2")]);

/// Has one more output than [`DEF`]: an empty vector. TensorFlow's kernel for the CPU does not use this output.
pub(crate) static WITH_RESERVE: OpDef =
    OpDef::composite("batch_norm_training_with_reserve", |cx, values| build(cx, values, 6))
        .attrs(ATTRIBUTES)
        .operands(OPERANDS)
        .outputs(|_, _| 6)
        .dtype_rule(|dtypes, attrs| output_dtypes(dtypes, attrs, 6))
        .tensorflow(&[TfOp::new("FusedBatchNormV3")]);

const ATTRIBUTES: &[Attribute] = &[
    Attribute::float_or("epsilon", 1e-4f32 as f64),
    Attribute::float_or("exponential_avg_factor", 1.0),
    Attribute::bool_or("is_training", true),
    Attribute::str_or("data_format", "NHWC"),
];

fn output_dtypes(dtypes: &[DType], attrs: &Attrs, outputs: usize) -> Result<Vec<DType>> {
    let [x, parameter] = parameter_dtypes(dtypes, 5)?;
    if !attrs.bool("is_training") {
        return dtype::refuse("is_training must be true".to_string());
    }
    let mut all = vec![parameter; outputs];
    all[0] = x;
    Ok(all)
}

/// The axis of the channels among the axes of images or volumes.
#[derive(Clone, Copy)]
pub(super) struct Channels {
    pub rank: usize,
    pub axis: usize,
}

impl Channels {
    /// Reads the attribute `data_format`.
    ///
    /// # Errors
    /// There is no such format.
    pub fn new(attrs: &Attrs) -> Result<Channels> {
        let (rank, axis) = match attrs.str("data_format") {
            "NHWC" => (4, 3),
            "NCHW" => (4, 1),
            "NDHWC" => (5, 4),
            "NCDHW" => (5, 1),
            other => {
                return refuse(format!("data_format must be NHWC, NCHW, NDHWC or NCDHW, got {other:?}"));
            }
        };
        Ok(Channels { rank, axis })
    }

    /// Returns `x`, whose rank must be the rank of the format, with f16 and bf16 as f32.
    pub fn widened<'g>(&self, x: Value<'g>, name: &str) -> Result<Value<'g>> {
        let x = of_rank(x, self.rank, name)?;
        if matches!(x.dtype(), DType::F16 | DType::BF16) { x.cast(DType::F32) } else { Ok(x) }
    }

    fn others(&self) -> Vec<usize> {
        (0..self.rank).filter(|axis| *axis != self.axis).collect()
    }

    /// Adds the elements of each channel.
    pub fn sums<'g>(&self, x: Value<'g>) -> Result<Value<'g>> {
        x.reduce_sum(Axes::of(self.others()))
    }

    /// Returns the mean of each channel.
    pub fn means<'g>(&self, x: Value<'g>) -> Result<Value<'g>> {
        x.reduce_mean(Axes::of(self.others()))
    }

    /// Returns a vector of one element for each channel as a tensor that broadcasts against the images.
    pub fn beside_images<'g>(&self, vector: Value<'g>) -> Result<Value<'g>> {
        let mut sizes = vec![1i64; self.rank - self.axis];
        sizes[0] = -1;
        vector.reshape(sizes)
    }

    /// Returns the number of elements of each channel, an i64.
    fn count<'g>(&self, x: Value<'g>) -> Result<Value<'g>> {
        let others: Vec<i64> = self.others().into_iter().map(|axis| axis as i64).collect();
        x.shape_tensor_as(DType::I64)?.gather(x.graph().constant(others)?, 0)?.reduce_prod(Axes::all())
    }

    /// Returns `vector`, which must have one element for each channel of `x`.
    ///
    /// # Errors
    /// It provably has another length.
    pub fn vector<'g>(&self, x: Value<'g>, name: &str, vector: Value<'g>) -> Result<Value<'g>> {
        let channels = &dims_of(x)[self.axis..=self.axis];
        with_shape(&format!("{name} and the channels"), of_rank(vector, 1, name)?, channels)
    }
}

fn build<'g>(cx: &CompositeCx<'_>, values: &[Value<'g>], outputs: usize) -> Result<Vec<Value<'g>>> {
    let [x, scale, offset, running @ ..] = values else {
        return refuse("batch_norm_training needs x, scale and offset".to_string());
    };
    let dtypes: Vec<DType> = values.iter().map(|value| value.dtype()).collect();
    output_dtypes(&dtypes, cx.attrs(), outputs)?;
    let (dtype, channels) = (x.dtype(), Channels::new(cx.attrs())?);
    let x = channels.widened(*x, "x")?;
    let (scale, offset) = (channels.vector(x, "scale", *scale)?, channels.vector(x, "offset", *offset)?);
    let mean = channels.means(x)?;
    let centered = x.sub(channels.beside_images(mean)?)?;
    let variance = channels.means(centered.square()?)?;
    let factor = variance.add(cx.attrs().float("epsilon"))?.rsqrt()?.mul(scale)?;
    let y = centered.mul(channels.beside_images(factor)?)?.add(channels.beside_images(offset)?)?;
    let count = channels.count(x)?;
    let others = count.sub(1i64)?.maximum(1i64)?.cast(variance.dtype())?;
    let unbiased = variance.mul(count.cast(variance.dtype())?.div(others)?)?;
    let share = cx.attrs().float("exponential_avg_factor");
    let averaged = |new: Value<'g>, name: &str, old: Option<&Value<'g>>| -> Result<Value<'g>> {
        if share == 1.0 {
            return Ok(new);
        }
        let Some(old) = old else {
            return refuse(format!("{name} must be given unless exponential_avg_factor is 1, got {share}"));
        };
        channels.vector(x, name, *old)?.mul(1.0 - share)?.add(new.mul(share)?)
    };
    let means = averaged(mean, "mean", running.first())?;
    let variances = averaged(unbiased, "variance", running.get(1))?;
    let has_elements = count.greater(0i64)?;
    let or_zero = |moment: Value<'g>| has_elements.select(moment, moment.zeros_like()?);
    let mut all = vec![y.cast(dtype)?, means, variances, or_zero(mean)?, or_zero(variance)?];
    if outputs == 6 {
        all.push(empty(mean)?);
    }
    Ok(all)
}

/// Returns a vector without elements, of the dtype of `like`.
pub(super) fn empty<'g>(like: Value<'g>) -> Result<Value<'g>> {
    let zero = like.graph().constant(0.0f32)?.cast(like.dtype())?;
    like.graph().fill(&[Dim::known(0)][..], zero)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Graph;
    use crate::shape;

    #[test]
    fn vectors_have_one_element_for_each_channel() {
        let g = Graph::new();
        let x = g.input("x", DType::F16, shape!["n", ?, 6, 3]).unwrap();
        let [three, two] = [3, 2].map(|size| g.fill([size], 1.0f32).unwrap());
        let [y, mean, variance] = x.batch_norm_training(three, three, 0.1).unwrap();
        assert_eq!((y.shape().to_string(), mean.shape().to_string()), (x.shape().to_string(), "[3]".into()));
        assert_eq!((y.dtype(), variance.dtype()), (DType::F16, DType::F32));
        let error = x.batch_norm_training(two, three, 0.1).unwrap_err();
        assert!(error.message().contains("scale and the channels must agree, got [2] and [3]"), "{error}");
        let error = x.batch_norm_training(three, three.cast(DType::F16).unwrap(), 0.1).unwrap_err();
        assert!(error.message().contains("operands must have one dtype"), "{error}");
    }
}
