//! `nan_to_num`: finite numbers in place of NaN and infinities, composed of other ops.

use shapeflow_shape_fns::DType;

use crate::dtype::{self, Class};
use crate::error::Result;
use crate::graph::Value;

impl<'g> Value<'g> {
    /// Replaces NaN by `nan`, and each infinity by the finite number of the dtype that is nearest.
    ///
    /// `[..] -> [..]`, floats. As numpy's and torch's `nan_to_num`. The op is composed of other ops, which
    /// fuse into kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([f32::NAN, 1.0, f32::NEG_INFINITY])?.nan_to_num(-1.0)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([-1.0f32, 1.0, f32::MIN]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The dtype is not f16, bf16, f32 or f64.
    #[track_caller]
    pub fn nan_to_num(self, nan: f64) -> Result<Value<'g>> {
        self.graph().in_call("nan_to_num", || {
            dtype::common(&[self.dtype()], 0, 1, Class::Float)?;
            let largest = match self.dtype() {
                DType::F16 => f64::from(half::f16::MAX),
                DType::BF16 => f64::from(half::bf16::MAX),
                DType::F32 => f64::from(f32::MAX),
                _ => f64::MAX,
            };
            self.is_nan()?.select(nan, self.clip_by_value(-largest, largest)?)
        })
    }
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::DType;

    use crate::graph::Graph;
    use crate::ops::testing::{check_tensor, tensor};

    #[test]
    fn every_float_has_a_nearest_number() {
        for (dtype, largest) in [
            (DType::F16, 65504.0),
            (DType::BF16, f64::from(half::bf16::MAX)),
            (DType::F32, f64::from(f32::MAX)),
            (DType::F64, f64::MAX),
        ] {
            let g = Graph::new();
            let x = g.constant([f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 2.5]).unwrap();
            let y = x.cast(dtype).unwrap().nan_to_num(7.0).unwrap().cast(DType::F64).unwrap();
            let [y] = g.compile(y).unwrap().run(&[]).unwrap();
            check_tensor(&y, &tensor(&[5], &[7.0, largest, -largest, -0.0, 2.5]), "nan_to_num");
        }
        assert!(Graph::new().constant([1]).unwrap().nan_to_num(0.0).is_err());
    }
}
