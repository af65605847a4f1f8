//! `rgb_to_grayscale` and `grayscale_to_rgb`, composed of other ops.

use std::panic::Location;

use shapeflow_shape_fns::{DType, Dim, TensorShape};

use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::Value;
use crate::ops::array::concat;
use crate::ops::reduce::Axes;

/// The parts of red, green and blue in the brightness of a pixel.
const WEIGHTS: [f64; 3] = [0.2989, 0.5870, 0.1140];

impl<'g> Value<'g> {
    /// Returns the brightness of every pixel: `0.2989 * red + 0.587 * green + 0.114 * blue`. The colors are the last
    /// axis.
    ///
    /// `[.., 3] -> [.., 1]`, floats. f16 and bf16 are computed as f32 and rounded once. As TensorFlow's
    /// `tf.image.rgb_to_grayscale`. The op is composed of other ops, which fuse into kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([[1.0, 0.0, 0.0], [0.0, 0.5, 0.0]])?.rgb_to_grayscale()?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// y.allclose(&Tensor::from([[0.2989], [0.2935]]), 1e-3, 1e-12).unwrap();
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The element type is not a float, the rank is unknown or 0, or the last axis does not have size 3.
    #[doc(alias = "rgb2gray")]
    #[track_caller]
    pub fn rgb_to_grayscale(self) -> Result<Value<'g>> {
        let location = Location::caller();
        self.graph().in_call("rgb_to_grayscale", || {
            let dtype = dtype::common(&[self.dtype()], 0, 1, dtype::Class::Float)
                .map_err(|error| error.at(location))?;
            let x = self.with_channels(3, location)?;
            let wide = if dtype == DType::F64 { DType::F64 } else { DType::F32 };
            let weights = self.graph().constant(WEIGHTS)?.cast(wide)?;
            x.cast(wide)?.mul(weights)?.reduce_sum(Axes::of(-1).keep_dims())?.cast(dtype)
        })
    }

    /// Repeats the brightness of every pixel as red, green and blue. The last axis has one element per pixel.
    ///
    /// `[.., 1] -> [.., 3]`, any dtype. As TensorFlow's `tf.image.grayscale_to_rgb`. The op is composed of other ops,
    /// which fuse into kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([[1], [2]])?.grayscale_to_rgb()?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([[1, 1, 1], [2, 2, 2]]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The rank is unknown or 0, or the last axis does not have size 1.
    #[doc(alias = "gray2rgb")]
    #[track_caller]
    pub fn grayscale_to_rgb(self) -> Result<Value<'g>> {
        let location = Location::caller();
        self.graph().in_call("grayscale_to_rgb", || {
            let x = self.with_channels(1, location)?;
            concat(&[x; 3], -1)
        })
    }

    /// Returns the same elements. Their last axis must have the size `count`; a run checks a size that is not known.
    fn with_channels(self, count: i64, location: &'static Location<'static>) -> Result<Value<'g>> {
        let shape = self.shape();
        let Some([leading @ .., last]) = shape.dims() else {
            let message = format!("the rank must be known and at least 1, got the shape {shape}");
            return Err(Error::new(ErrorKind::Shape, Phase::Build, message).at(location));
        };
        match last.as_known() {
            Some(size) if size == count => Ok(self),
            Some(size) => {
                let message = format!("the last axis must have size {count}, got {size}");
                Err(Error::new(ErrorKind::Shape, Phase::Build, message).at(location))
            }
            None => {
                let dims = leading.iter().cloned().chain([Dim::known(count)]);
                self.ensure_shape(TensorShape::new(dims))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::DType;

    use crate::graph::Graph;
    use crate::ops::testing::{check_tensor, tensor};
    use crate::tensor::Tensor;

    /// The expected results come from TensorFlow.
    #[test]
    fn values() {
        let g = Graph::new();
        let x = g
            .input("x", DType::F32, "[n, ?, 3]".parse::<shapeflow_shape_fns::TensorShape>().unwrap())
            .unwrap();
        let y = x.rgb_to_grayscale().unwrap();
        let exe = g.compile([y, y.grayscale_to_rgb().unwrap()]).unwrap();
        let x = tensor(&[1, 2, 3], &[0.25f32, 0.5, 1.0, 1.5, -2.0, 0.125]);
        let [gray, rgb] = exe.run(&[x.view()]).unwrap();
        let expected = [0.482225f32, -0.7114];
        check_tensor(&gray, &tensor(&[1, 2, 1], &expected), "rgb_to_grayscale");
        let repeated: Vec<f32> = expected.iter().flat_map(|value| [*value; 3]).collect();
        check_tensor(&rgb, &tensor(&[1, 2, 3], &repeated), "grayscale_to_rgb");
        let none = tensor::<f32>(&[0, 2, 3], &[]);
        assert_eq!(exe.run::<2>(&[none.view()]).unwrap()[1].sizes(), [0, 2, 3]);
    }

    #[test]
    fn the_last_axis_has_the_colors() {
        let g = Graph::new();
        let x =
            g.input("x", DType::F32, "[n, c]".parse::<shapeflow_shape_fns::TensorShape>().unwrap()).unwrap();
        let exe = g.compile(x.grayscale_to_rgb().unwrap()).unwrap();
        let two = tensor(&[1, 2], &[1.0f32, 2.0]);
        assert!(exe.run::<1>(&[two.view()]).is_err());
        let message = |value: crate::Result<crate::Value<'_>>| value.unwrap_err().message().to_string();
        let flat = g.constant([1.0, 2.0]).unwrap();
        assert_eq!(
            message(flat.rgb_to_grayscale()),
            "rgb_to_grayscale: the last axis must have size 3, got 2"
        );
        let scalar = g.constant(Tensor::scalar(1.0)).unwrap();
        assert_eq!(
            message(scalar.grayscale_to_rgb()),
            "grayscale_to_rgb: the rank must be known and at least 1, got the shape []"
        );
        assert!(g.constant([1, 2, 3]).unwrap().rgb_to_grayscale().is_err());
    }
}
