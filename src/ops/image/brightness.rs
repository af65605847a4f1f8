//! `adjust_brightness` and `adjust_gamma`, composed of other ops.

use std::panic::Location;

use crate::dtype;
use crate::error::Result;
use crate::graph::{IntoOperand, Value};

impl<'g> Value<'g> {
    /// Adds `delta` to every element.
    ///
    /// `[..], delta -> [..]`, floats; `delta` is a scalar of the same dtype. As TensorFlow's
    /// `tf.image.adjust_brightness`. The op is composed of other ops, which fuse into kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([0.25, 0.5])?.adjust_brightness(0.5)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([0.75, 1.0]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The element type is not a float, or `delta` has another dtype or does not broadcast.
    #[track_caller]
    pub fn adjust_brightness(self, delta: impl IntoOperand<'g>) -> Result<Value<'g>> {
        self.require_float(Location::caller())?.add(delta)
    }

    /// Corrects the brightness of every element by a power: `gain * x ^ gamma`.
    ///
    /// `[..], gamma, gain -> [..]`, floats; `gamma` and `gain` are scalars of the same dtype. As TensorFlow's
    /// `tf.image.adjust_gamma`, whose defaults are 1. The op is composed of other ops, which fuse into kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([0.5, 2.0])?.adjust_gamma(2.0, 3.0)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// y.allclose(&Tensor::from([0.75, 12.0]), 1e-12, 0.0).unwrap();
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The element type is not a float, or `gamma` or `gain` has another dtype or does not broadcast.
    #[track_caller]
    pub fn adjust_gamma(self, gamma: impl IntoOperand<'g>, gain: impl IntoOperand<'g>) -> Result<Value<'g>> {
        let location = Location::caller();
        self.graph().in_call("adjust_gamma", || self.require_float(location)?.pow(gamma)?.mul(gain))
    }

    /// Returns the value, whose elements must be floats.
    fn require_float(self, location: &'static Location<'static>) -> Result<Value<'g>> {
        dtype::common(&[self.dtype()], 0, 1, dtype::Class::Float).map_err(|error| error.at(location))?;
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use crate::graph::Graph;
    use crate::ops::testing::{check_tensor, tensor};

    /// The expected results come from TensorFlow.
    #[test]
    fn values() {
        let g = Graph::new();
        let x = g.constant([0.25f32, 0.5, 1.0, 1.5, 2.0, 0.125]).unwrap();
        let outputs = [x.adjust_brightness(0.3).unwrap(), x.adjust_gamma(2.2, 1.5).unwrap()];
        let [brighter, corrected] = g.compile(outputs).unwrap().run(&[]).unwrap();
        check_tensor(&brighter, &tensor(&[6], &[0.55f32, 0.8, 1.3, 1.8, 2.3, 0.425]), "adjust_brightness");
        check_tensor(
            &corrected,
            &tensor(&[6], &[0.07104921f32, 0.3264565, 1.5, 3.660092, 6.89219, 0.01546298]),
            "adjust_gamma",
        );
        assert!(g.constant([1, 2]).unwrap().adjust_brightness(1).is_err());
    }
}
