//! `crop_and_resize_image_grad` and `crop_and_resize_boxes_grad`: the gradients of `crop_and_resize`.

use shapeflow_shape_fns::{Attribute, DType, InferenceContext, ShapeError};

use super::pixels::floats;
use super::sampling::require_images_with;
use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::ops::host_params::param_sizes;
use crate::ops::row_major::RowMajor;
use crate::ops::rows::narrow;
use crate::shape_fns;
use crate::tensor::{Element, Tensor, TensorViewMut};

/// An op for import only: the gradient of `crop_and_resize` with respect to the images,
/// `grads f32[k, ch, cw, c], boxes f32[k, 4], box_ind i32[k], image_size -> T[n, h, w, c]`, where the attribute `T` is
/// a float dtype. f16 and bf16 are added as f32 and rounded once. As TensorFlow's `CropAndResizeGradImage`. Runs on the
/// host.
pub(crate) static IMAGE: OpDef = OpDef::host("crop_and_resize_image_grad", run_image)
    .attrs(&[Attribute::dtype_or("T", DType::F32), Attribute::str_or("method", "bilinear")])
    .operands(&[
        Operand::Data("grads"),
        Operand::Data("boxes"),
        Operand::Data("box_ind"),
        Operand::Size("image_size"),
    ])
    .shape_fn(|cx| {
        check_method(cx, &["bilinear", "nearest"])?;
        let [_, height, width, _] = cx.axes::<4>(0)?;
        require_images_with(cx, &[height, width], "pixels")?;
        shape_fns::image::crop_and_resize_image(cx)
    })
    .dtype_rule(|dtypes, attrs| {
        check_dtypes(dtypes, &[DType::F32, DType::F32, DType::I32])?;
        dtype::check_indices(dtypes, 3)?;
        let output = attrs.dtype("T");
        Ok(vec![dtype::common(&[output], 0, 1, dtype::Class::Float)?])
    })
    .tensorflow(&[TfOp::new("CropAndResizeGradImage")]);

/// An op for import only: the gradient of `crop_and_resize` with respect to the boxes,
/// `grads f32[k, ch, cw, c], image [n, h, w, c], boxes f32[k, 4], box_ind i32[k] -> f32[k, 4]`, for images of integers
/// or floats. As TensorFlow's `CropAndResizeGradBoxes`. Runs on the host.
pub(crate) static BOXES: OpDef = OpDef::host("crop_and_resize_boxes_grad", run_boxes)
    .attrs(&[Attribute::str_or("method", "bilinear")])
    .operands(&[
        Operand::Data("grads"),
        Operand::Data("image"),
        Operand::Data("boxes"),
        Operand::Data("box_ind"),
    ])
    .shape_fn(|cx| {
        check_method(cx, &["bilinear"])?;
        let [_, height, width, channels] = cx.axes::<4>(0)?;
        require_images_with(cx, &[height, width], "pixels")?;
        let [_, _, _, depth] = cx.axes::<4>(1)?;
        cx.agree("the numbers of channels of grads and image", &channels, &depth)?;
        shape_fns::image::crop_and_resize_boxes(cx)
    })
    .dtype_rule(|dtypes, _| {
        dtype::common(dtypes, 1, 2, dtype::Class::Number)?;
        let image = dtypes.get(1).copied().unwrap_or(DType::F32);
        check_dtypes(dtypes, &[DType::F32, image, DType::F32, DType::I32])?;
        Ok(vec![DType::F32])
    })
    .tensorflow(&[TfOp::new("CropAndResizeGradBoxes")]);

fn check_method(cx: &InferenceContext<'_>, methods: &[&str]) -> shapeflow_shape_fns::Result<()> {
    let method = cx.attrs().str("method");
    match methods.contains(&method) {
        true => Ok(()),
        false => {
            let methods = methods.join(" or ");
            Err(ShapeError::new(format_args!("method must be {methods}, got {method:?}")))
        }
    }
}

fn check_dtypes(dtypes: &[DType], wanted: &[DType]) -> Result<()> {
    match dtypes.iter().zip(wanted).position(|(dtype, wanted)| dtype != wanted) {
        Some(operand) => {
            let (got, wanted) = (dtypes[operand], wanted[operand]);
            dtype::refuse(format!("the element type must be {wanted}, got {got} in operand {operand}"))
        }
        None => Ok(()),
    }
}

/// The points of an axis of an image that the pixels of a crop show.
#[derive(Clone, Copy)]
struct CropAxis {
    /// The number of pixels of the image, and of the crop.
    size: usize,
    resized: usize,
    low: f32,
    high: f32,
}

impl CropAxis {
    /// Returns the distance between points for a box that covers the image.
    fn ratio(&self) -> f32 {
        if self.resized > 1 { self.last() / (self.resized - 1) as f32 } else { 0.0 }
    }

    fn last(&self) -> f32 {
        (self.size - 1) as f32
    }

    /// Returns the point of a pixel, if it is inside the image.
    fn point(&self, pixel: usize) -> Option<f32> {
        let point = match self.resized > 1 {
            true => {
                self.low * self.last()
                    + pixel as f32 * ((self.high - self.low) * self.last() / (self.resized - 1) as f32)
            }
            false => 0.5 * (self.low + self.high) * self.last(),
        };
        (0.0..=self.last()).contains(&point).then_some(point)
    }

    /// Returns the derivatives of the point of a pixel with respect to both ends of the box.
    fn slopes(&self, pixel: usize) -> [f32; 2] {
        match self.resized > 1 {
            true => [self.last() - pixel as f32 * self.ratio(), pixel as f32 * self.ratio()],
            false => [0.5 * self.last(); 2],
        }
    }
}

/// Returns the number of the image of each box.
///
/// # Errors
/// An image does not exist.
fn images_of(indices: Vec<i32>, images: usize) -> Result<Vec<usize>> {
    let image = |&index: &i32| {
        usize::try_from(index).ok().filter(|image| *image < images).ok_or_else(|| {
            let message = format!("box_ind must be from 0 to {}, got {index}", images as i64 - 1);
            Error::new(ErrorKind::Index, Phase::Run, message)
        })
    };
    indices.iter().map(image).collect()
}

/// Returns the axes of a box.
fn axes(edges: &[f32], [height, width]: [usize; 2], crop: &[usize]) -> [CropAxis; 2] {
    let axis = |number: usize, size: usize| CropAxis {
        size,
        resized: crop[number + 1],
        low: edges[number],
        high: edges[number + 2],
    };
    [axis(0, height), axis(1, width)]
}

fn run_image(cx: &mut HostCx<'_>) -> Result<()> {
    let sizes = param_sizes(cx, "image_size", 3)?;
    if sizes.len() != 4 || sizes[1] == 0 || sizes[2] == 0 {
        let message = format!("image_size must be 4 sizes of images with pixels, got {sizes:?}");
        return Err(Error::new(ErrorKind::Attribute, Phase::Run, message));
    }
    let channels = cx.input(0)?.sizes()[3];
    if channels != sizes[3] {
        let message = format!(
            "the number of channels of grads and the last entry of image_size must agree, got {channels} and {}",
            sizes[3]
        );
        return Err(Error::new(ErrorKind::Shape, Phase::Run, message));
    }
    let is_nearest = cx.attrs().str("method") == "nearest";
    let inputs = Crops::read(cx, [0, 1, 2], sizes[0])?;
    let mut output = cx.output(0, &sizes)?;
    match output.dtype() {
        DType::F32 => inputs.add(&mut output, is_nearest, |sum: &mut f32, x| *sum += x),
        DType::F64 => inputs.add(&mut output, is_nearest, |sum: &mut f64, x| *sum += f64::from(x)),
        _ => {
            let mut wide = Tensor::zeros(DType::F32, &sizes)?;
            inputs.add(&mut wide.view_mut()?, is_nearest, |sum: &mut f32, x| *sum += x)?;
            narrow(wide.view(), &mut output)
        }
    }
}

/// The gradients of crops, and their boxes.
struct Crops {
    gradients: Vec<f32>,
    sizes: Vec<usize>,
    boxes: Vec<f32>,
    images: Vec<usize>,
}

impl Crops {
    fn read(cx: &HostCx<'_>, [gradients, boxes, images]: [usize; 3], count: usize) -> Result<Crops> {
        let given = cx.input(gradients)?;
        Ok(Crops {
            sizes: given.sizes().to_vec(),
            gradients: given.to_vec::<f32>()?,
            boxes: cx.input(boxes)?.to_vec::<f32>()?,
            images: images_of(cx.input(images)?.to_vec::<i32>()?, count)?,
        })
    }

    /// Calls `visit` for each pixel of a crop that is inside the image of the crop, with the number of the crop, its
    /// axes, the number of its image, the pixel, its point and its gradient.
    fn visit(
        &self,
        image: [usize; 2],
        mut visit: impl FnMut(usize, &[CropAxis; 2], usize, [usize; 2], [f32; 2], &[f32]),
    ) {
        let [rows, columns, channels] = [self.sizes[1], self.sizes[2], self.sizes[3]];
        for (number, (edges, source)) in self.boxes.chunks_exact(4).zip(&self.images).enumerate() {
            let axes = axes(edges, image, &self.sizes);
            for row in 0..rows {
                let Some(y) = axes[0].point(row) else { continue };
                for column in 0..columns {
                    let Some(x) = axes[1].point(column) else { continue };
                    let start = ((number * rows + row) * columns + column) * channels;
                    let gradient = &self.gradients[start..start + channels];
                    visit(number, &axes, *source, [row, column], [y, x], gradient);
                }
            }
        }
    }

    /// Adds the gradient of each pixel of a crop to the pixels of its image that it shows.
    fn add<T: Element>(
        &self,
        output: &mut TensorViewMut<'_>,
        is_nearest: bool,
        plus: impl Fn(&mut T, f32),
    ) -> Result<()> {
        let [height, width, channels] = [output.sizes()[1], output.sizes()[2], output.sizes()[3]];
        let pixels = output.as_mut_slice::<T>()?;
        self.visit([height, width], |_, _, image, _, [y, x], gradient| {
            let mut add = |row: f32, column: f32, weights: [f32; 2]| {
                let pixel = (image * height + row as usize) * width + column as usize;
                let sums = &mut pixels[pixel * channels..][..channels];
                let parts = gradient.iter().map(|x| weights[1] * (weights[0] * x));
                sums.iter_mut().zip(parts).for_each(|(sum, part)| plus(sum, part));
            };
            if is_nearest {
                return add(y.round(), x.round(), [1.0, 1.0]);
            }
            let (down, across) = (y - y.floor(), x - x.floor());
            add(y.floor(), x.floor(), [1.0 - down, 1.0 - across]);
            add(y.floor(), x.ceil(), [1.0 - down, across]);
            add(y.ceil(), x.floor(), [down, 1.0 - across]);
            add(y.ceil(), x.ceil(), [down, across]);
        });
        Ok(())
    }
}

fn run_boxes(cx: &mut HostCx<'_>) -> Result<()> {
    let images = RowMajor::new(cx.input(1)?)?;
    let images = images.view();
    let &[count, height, width, channels] = images.sizes() else {
        return Err(Error::msg("images must have rank 4"));
    };
    if [height, width].contains(&0) {
        let message = format!("image must have pixels, got sizes {:?}", images.sizes());
        return Err(Error::new(ErrorKind::Shape, Phase::Run, message));
    }
    let crops = Crops::read(cx, [0, 2, 3], count)?;
    let pixels = floats(&images)?;
    let mut output = cx.output(0, &[crops.sizes[0], 4])?;
    let sums = output.as_mut_slice::<f32>()?;
    crops.visit([height, width], |number, axes, image, [row, column], [y, x], gradient| {
        let (down, across) = (y - y.floor(), x - x.floor());
        let (row_slopes, column_slopes) = (axes[0].slopes(row), axes[1].slopes(column));
        let sums = &mut sums[4 * number..4 * number + 4];
        for (channel, gradient) in gradient.iter().enumerate() {
            let pixel = |row: f32, column: f32| {
                pixels[((image * height + row as usize) * width + column as usize) * channels + channel]
            };
            let (top_left, top_right) = (pixel(y.floor(), x.floor()), pixel(y.floor(), x.ceil()));
            let (bottom_left, bottom_right) = (pixel(y.ceil(), x.floor()), pixel(y.ceil(), x.ceil()));
            let of_y = (1.0 - across) * (bottom_left - top_left) + across * (bottom_right - top_right);
            let of_x = (1.0 - down) * (top_right - top_left) + down * (bottom_right - bottom_left);
            let (of_y, of_x) = (of_y * gradient, of_x * gradient);
            for (edge, slope) in [0, 2].into_iter().zip(row_slopes) {
                sums[edge] += of_y * slope;
            }
            for (edge, slope) in [1, 3].into_iter().zip(column_slopes) {
                sums[edge] += of_x * slope;
            }
        }
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::Attrs;

    use super::{BOXES, IMAGE};
    use crate::ops::testing::{check_tensor, run, run_one, shape_table, tensor};

    shape_table! { IMAGE, {"image_size": [2, 4, 5, 3]},
        "[k, 2, 2, 3]; [k, 4]; i32[k]" => "[2, 4, 5, 3]",
        "[k, 2, 2, 3]; [k, 4]; i64[k]" => error "the element type must be i32, got i64 in operand 2",
    }
    shape_table! { boxes: BOXES, {},
        "[k, 2, 2, 3]; u8[n, 4, 5, 3]; [k, 4]; i32[k]" => "f32[d0_0, 4]",
        "[k, 2, 2, 3]; [n, 4, 5, 2]; [k, 4]; i32[k]" => error "the numbers of channels of grads and image must agree",
    }
    shape_table! { method: BOXES, {"method": "nearest"},
        "[k, 2, 2, 3]; [n, 4, 5, 3]; [k, 4]; i32[k]" => error "method must be bilinear, got \"nearest\"",
    }

    #[test]
    fn a_gradient_between_pixels_is_shared() {
        let attrs = Attrs::new().with("image_size", [1, 2, 2, 1]);
        let operands = |index: i32| {
            let boxes = tensor(&[1, 4], &[0.25f32, 0.0, 0.25, 0.0]);
            [tensor(&[1, 1, 1, 1], &[8.0f32]), boxes, tensor(&[1], &[index])]
        };
        let got = run_one(&IMAGE, &attrs, &operands(0));
        check_tensor(&got, &tensor(&[1, 2, 2, 1], &[6.0f32, 0.0, 2.0, 0.0]), "image");
        let error = run(&IMAGE, &attrs, &operands(1)).unwrap_err();
        assert!(error.message().contains("box_ind must be from 0 to 0, got 1"), "{error}");
    }
}
