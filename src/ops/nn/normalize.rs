//! `l2_normalize`, `clip_by_norm`: scaling to a norm, composed of other ops.

use crate::error::Result;
use crate::graph::Value;
use crate::ops::reduce::IntoAxes;

impl<'g> Value<'g> {
    /// Divides by the Euclidean norm over the given axes: `x * rsqrt(max(sum(x²), epsilon))`.
    ///
    /// `[..] -> [..]`, floats. `epsilon` bounds the squared norm from below, so that zeros stay zeros; TensorFlow's default
    /// is 1e-12. As TensorFlow's `tf.math.l2_normalize`. It is composed of other ops, which fuse into kernels.
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
    /// The element type is not a float, or an axis is out of range or given twice.
    #[doc(alias = "normalize")]
    #[track_caller]
    pub fn l2_normalize(self, axes: impl IntoAxes<'g>, epsilon: f64) -> Result<Value<'g>> {
        let squares = self.square()?.reduce_sum(axes.into_axes().keep_dims())?;
        self.mul(squares.maximum(epsilon)?.rsqrt()?)
    }

    /// Scales the elements so that their Euclidean norm over the given axes is at most `limit`:
    /// `x * limit / max(norm(x), limit)`.
    ///
    /// `[..] -> [..]`, floats. Zeros stay zeros. As TensorFlow's `tf.clip_by_norm`. It is composed of other ops, which fuse
    /// into kernels.
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
        let norm = self.euclidean_norm(axes.into_axes().keep_dims())?;
        self.mul(limit)?.div(norm.maximum(limit)?)
    }
}

#[cfg(test)]
mod tests {
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
        let whole = x.clip_by_norm(10.0, ..).unwrap();
        let [whole] = g.compile(whole).unwrap().run(&[]).unwrap();
        check_tensor(&whole, &tensor(&[2, 2], &[3.0, 4.0, 0.0, 0.0]), "clip_by_norm");
    }
}
