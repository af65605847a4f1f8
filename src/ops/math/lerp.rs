//! `lerp`: linear interpolation, composed of other ops.

use std::panic::Location;

use crate::dtype;
use crate::error::Result;
use crate::graph::{IntoOperand, Value};

impl<'g> Value<'g> {
    /// Interpolates between `self` and `end`: `self + weight * (end - self)`. The weight 0 gives `self`, the weight 1
    /// gives `end` up to rounding, and other weights extrapolate.
    ///
    /// `[..], end, weight -> broadcast`, floats of one dtype. As torch's `lerp`. The op is composed of other ops, which
    /// fuse into kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([0.0, 10.0])?.lerp(g.constant([4.0, 20.0])?, 0.25)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([1.0, 12.5]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The dtypes differ or are not floats, or the shapes do not broadcast.
    #[doc(alias = "mix")]
    #[track_caller]
    pub fn lerp(self, end: impl IntoOperand<'g>, weight: impl IntoOperand<'g>) -> Result<Value<'g>> {
        let location = Location::caller();
        self.graph().in_call_at("lerp", location, || {
            let (end, weight) = (end.into_operand(self, location), weight.into_operand(self, location));
            let dtypes = [self.dtype(), end.dtype(), weight.dtype()];
            dtype::common(&dtypes, 0, 3, dtype::Class::Float)?;
            self.add(weight.mul(end.sub(self)?)?)
        })
    }
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::DType;

    use crate::graph::Graph;
    use crate::ops::testing::{check_tensor, tensor};

    #[test]
    fn values() {
        let g = Graph::new();
        for dtype in [DType::F16, DType::BF16, DType::F32, DType::F64] {
            let cast = |x: [f64; 3]| g.constant(x).unwrap().cast(dtype).unwrap();
            let y = cast([0.0, -1.0, 2.0]).lerp(cast([8.0, 1.0, 2.0]), cast([0.25, 1.5, -3.0])).unwrap();
            let [y] = g.compile(y.cast(DType::F64).unwrap()).unwrap().run(&[]).unwrap();
            check_tensor(&y, &tensor(&[3], &[2.0, 2.0, 2.0]), "lerp");
        }
        let whole = g.constant([1, 2]).unwrap();
        assert_eq!(
            whole.lerp(3, 4).unwrap_err().message(),
            "lerp: the element type must be a float, got i32 in operand 0"
        );
    }
}
