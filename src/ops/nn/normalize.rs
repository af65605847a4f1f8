//! `l2_normalize`, `layer_norm`, `clip_by_norm`, `clip_by_global_norm`: normalization, composed of other ops.

use std::panic::Location;

use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::{IntoOperand, Value};
use crate::ops::math::add_n;
use crate::ops::reduce::IntoAxes;

impl<'g> Value<'g> {
    /// Divides by the Euclidean norm over the given axes: `x * rsqrt(max(sum(|x|²), epsilon))`.
    ///
    /// `[..] -> [..]`, floats and complex numbers. `epsilon` bounds the squared norm from below, so that zeros stay
    /// zeros; TensorFlow's default is 1e-12. It is rounded to the element type: in f16, 1e-12 is 0, and zeros become
    /// NaN, as in TensorFlow. As TensorFlow's `tf.math.l2_normalize`. The op is composed of other ops, which fuse into
    /// kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([[3.0, 4.0], [0.0, 0.0]])?.l2_normalize(1, 1e-12)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// y.allclose(&Tensor::from([[0.6, 0.8], [0.0, 0.0]]), 1e-3, 1e-12).unwrap();
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The element type is neither a float nor complex, or an axis is out of range or given twice.
    #[doc(alias = "normalize")]
    #[doc(alias = "l2norm")]
    #[track_caller]
    pub fn l2_normalize(self, axes: impl IntoAxes<'g>, epsilon: f64) -> Result<Value<'g>> {
        self.graph().in_call("l2_normalize", || {
            let axes = axes.into_axes().keep_dims();
            if !self.dtype().is_complex() {
                let squares = self.square()?.reduce_sum(axes)?;
                return self.mul(squares.maximum(epsilon)?.rsqrt()?);
            }
            let (real, imaginary) = (self.real()?, self.imag()?);
            let squares = real.square()?.add(imaginary.square()?)?.reduce_sum(axes)?;
            let factor = squares.maximum(epsilon)?.rsqrt()?;
            real.mul(factor)?.complex(imaginary.mul(factor)?)
        })
    }

    /// Normalizes the elements over the given axes to the mean 0 and the variance 1, then scales and shifts them:
    /// `(x - mean(x)) / sqrt(variance(x) + epsilon) * scale + offset`.
    ///
    /// `[..] -> [..]`, floats; `scale` and `offset` broadcast to `x`, such as `[d]` for the last axis. Keras' default
    /// of `epsilon` is 1e-3, and PyTorch's is 1e-5. As torch's `layer_norm` and Keras' `LayerNormalization`; over the
    /// axes of rows and columns of images, as instance normalization. The op is composed of other ops, which fuse into
    /// kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let x = g.constant([[1.0, 3.0], [5.0, 9.0]])?;
    /// let (scale, offset) = (g.constant([1.0, 2.0])?, g.constant([0.0, 0.5])?);
    /// let y = x.layer_norm(-1, scale, offset, 0.0)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// y.allclose(&Tensor::from([[-1.0, 2.5], [-1.0, 2.5]]), 1e-3, 1e-12).unwrap();
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The element type is not a float, an axis is out of range or given twice, or `scale` or `offset` does not
    /// broadcast to `x`.
    #[doc(alias = "layer_normalization")]
    #[doc(alias = "instance_norm")]
    #[track_caller]
    pub fn layer_norm(
        self,
        axes: impl IntoAxes<'g>,
        scale: impl IntoOperand<'g>,
        offset: impl IntoOperand<'g>,
        epsilon: f64,
    ) -> Result<Value<'g>> {
        let location = Location::caller();
        self.graph().in_call_at("layer_norm", location, || {
            let axes = axes.into_axes().keep_dims();
            let scale = scale.into_operand(self, location).ensure_broadcasts("scale", self.shape())?;
            let offset = offset.into_operand(self, location).ensure_broadcasts("offset", self.shape())?;
            let (mean, variance) = (self.reduce_mean(axes.clone())?, self.reduce_variance(axes)?);
            let normal = self.sub(mean)?.mul(variance.add(epsilon)?.rsqrt()?)?;
            normal.mul(scale)?.add(offset)?.ensure_shape(self.shape())
        })
    }

    /// Scales the elements so that their Euclidean norm over the given axes is at most `limit`:
    /// `x * limit / max(norm(x), limit)`.
    ///
    /// `[..] -> [..]`, floats. Zeros stay zeros. As TensorFlow's `tf.clip_by_norm`. The op is composed of other ops,
    /// which fuse into kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([3.0, 4.0])?.clip_by_norm(1.0, 0)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// y.allclose(&Tensor::from([0.6, 0.8]), 1e-3, 1e-12).unwrap();
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The element type is not a float, or an axis is out of range or given twice.
    #[track_caller]
    pub fn clip_by_norm(self, limit: f64, axes: impl IntoAxes<'g>) -> Result<Value<'g>> {
        self.graph().in_call("clip_by_norm", || {
            let norm = self.euclidean_norm(axes.into_axes().keep_dims())?;
            self.mul(limit)?.div(norm.maximum(limit)?)
        })
    }
}

/// Scales all values by one number so that the Euclidean norm of all their elements is at most `limit`. Returns the
/// scaled values and the norm before scaling. A norm that is not finite makes every element NaN.
///
/// `[..], [..], … -> [..], [..], …` and `[]`, floats of one dtype; the shapes may differ. As TensorFlow's
/// `tf.clip_by_global_norm`. The op is composed of other ops, which fuse into kernels.
///
/// ```
/// use shapeflow::{Graph, Tensor, clip_by_global_norm};
///
/// let g = Graph::new();
/// let (x, y) = (g.constant([3.0, 4.0])?, g.constant([[12.0]])?);
/// let (clipped, norm) = clip_by_global_norm(&[x, y], 6.5)?;
/// let [x, y, norm] = g.compile([clipped[0], clipped[1], norm])?.run(&[])?;
/// x.allclose(&Tensor::from([1.5, 2.0]), 1e-12, 0.0).unwrap();
/// y.allclose(&Tensor::from([[6.0]]), 1e-12, 0.0).unwrap();
/// assert_eq!(norm.item::<f64>()?, 13.0);
/// # Ok::<(), shapeflow::Error>(())
/// ```
///
/// # Errors
/// There are no values, or their dtypes differ or are not floats.
#[doc(alias = "clip_grad_norm_")]
#[track_caller]
pub fn clip_by_global_norm<'g>(values: &[Value<'g>], limit: f64) -> Result<(Vec<Value<'g>>, Value<'g>)> {
    if values.is_empty() {
        let error =
            Error::new(ErrorKind::Attribute, Phase::Build, "there must be at least one value, got none");
        return Err(error.with_op("clip_by_global_norm", "clip_by_global_norm").at(Location::caller()));
    }
    let halves = values.iter().map(|value| value.l2_loss()).collect::<Result<Vec<_>>>()?;
    let norm = add_n(&halves)?.mul(2.0)?.sqrt()?;
    // The difference is NaN unless the norm is finite, else 0.
    let scale = norm.maximum(limit)?.reciprocal()?.mul(limit)?.add(norm.sub(norm)?)?;
    let clipped = values.iter().map(|value| value.mul(scale)).collect::<Result<_>>()?;
    Ok((clipped, norm))
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::{DType, shape};

    use super::clip_by_global_norm;
    use crate::graph::Graph;
    use crate::ops::testing::{check_tensor, tensor};

    #[test]
    fn values() {
        let g = Graph::new();
        let x = g.constant([[3.0f64, 4.0], [0.0, 0.0]]).unwrap();
        let outputs = [x.l2_normalize(1, 1e-12).unwrap(), x.clip_by_norm(1.0, 1).unwrap()];
        for output in g.compile(outputs).unwrap().run_all(&[]).unwrap() {
            check_tensor(&output, &tensor(&[2, 2], &[0.6, 0.8, 0.0, 0.0]), "scaled to norm 1");
        }
        let z = x.complex(x).unwrap().l2_normalize(1, 1e-12).unwrap();
        let [z] = g.compile(z.real().unwrap()).unwrap().run(&[]).unwrap();
        let share = 0.5f64.sqrt();
        check_tensor(&z, &tensor(&[2, 2], &[0.6 * share, 0.8 * share, 0.0, 0.0]), "complex numbers");
        let whole = x.clip_by_norm(10.0, ..).unwrap();
        let [whole] = g.compile(whole).unwrap().run(&[]).unwrap();
        check_tensor(&whole, &tensor(&[2, 2], &[3.0, 4.0, 0.0, 0.0]), "clip_by_norm");
    }

    #[test]
    fn a_layer_norm_is_one_kernel() {
        let g = Graph::new();
        let x = g.input("x", DType::F32, shape!["n", "d"]).unwrap();
        let [scale, offset] = ["scale", "offset"].map(|name| g.input(name, DType::F32, shape!["d"]).unwrap());
        let exe = g.compile(x.layer_norm(-1, scale, offset, 1e-3).unwrap()).unwrap();
        assert_eq!(exe.stats().kernels, 1);
    }

    /// The expected results come from TensorFlow.
    #[test]
    fn values_are_scaled_to_one_norm() {
        let g = Graph::new();
        let (x, y) = (g.constant([3.0f32, -4.0]).unwrap(), g.constant([[12.0f32]]).unwrap());
        let run = |values: &[crate::Value<'_>], limit| {
            let (mut outputs, norm) = clip_by_global_norm(values, limit).unwrap();
            outputs.push(norm);
            g.compile(&outputs).unwrap().run_all(&[]).unwrap()
        };
        let check = |got: Vec<crate::Tensor>, expected: &[crate::Tensor]| {
            assert_eq!(got.len(), expected.len());
            got.iter()
                .zip(expected)
                .for_each(|(got, expected)| check_tensor(got, expected, "clip_by_global_norm"));
        };
        let norm = tensor(&[], &[13.0f32]);
        check(run(&[x, y], 6.5), &[tensor(&[2], &[1.5f32, -2.0]), tensor(&[1, 1], &[6.0f32]), norm.clone()]);
        check(run(&[x, y], 20.0), &[tensor(&[2], &[3.0f32, -4.0]), tensor(&[1, 1], &[12.0f32]), norm]);
        let zeros = g.constant([0.0f32, 0.0]).unwrap();
        check(run(&[zeros], 1.0), &[tensor(&[2], &[0.0f32, 0.0]), tensor(&[], &[0.0f32])]);
        let infinite = g.constant([1.0f32, f32::INFINITY]).unwrap();
        check(run(&[infinite], 1.0), &[tensor(&[2], &[f32::NAN; 2]), tensor(&[], &[f32::INFINITY])]);
        assert!(clip_by_global_norm(&[], 1.0).is_err());
        assert!(clip_by_global_norm(&[x, g.constant(1.0).unwrap()], 1.0).is_err());
    }
}
