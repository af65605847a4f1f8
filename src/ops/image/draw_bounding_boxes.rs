//! `draw_bounding_boxes`: images with the outlines of boxes.

use std::panic::Location;

use shapeflow_shape_fns::{Attrs, DType, InferenceContext, counted};

use super::pixels::floats;
use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::{IntoOperand, Value};
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::ops::row_major::RowMajor;
use crate::ops::rows::narrow;
use crate::shape_fns;
use crate::tensor::Tensor;

/// The colors of TensorFlow's `DrawBoundingBoxes`: yellow, blue, red, lime, purple, olive, maroon, navy, aqua,
/// fuchsia.
const COLORS: [[f32; 4]; 10] = [
    [1.0, 1.0, 0.0, 1.0],
    [0.0, 0.0, 1.0, 1.0],
    [1.0, 0.0, 0.0, 1.0],
    [0.0, 1.0, 0.0, 1.0],
    [0.5, 0.0, 0.5, 1.0],
    [0.5, 0.5, 0.0, 1.0],
    [0.5, 0.0, 0.0, 1.0],
    [0.0, 0.0, 0.5, 1.0],
    [0.0, 1.0, 1.0, 1.0],
    [1.0, 0.0, 1.0, 1.0],
];

impl<'g> Value<'g> {
    /// Draws the outline of each box into its image, one pixel wide. Box `i` has color `i % m` of the `m` colors.
    ///
    /// `[n, h, w, c], boxes f32[n, b, 4], colors f32[m, k] -> [n, h, w, c]`, f16 or f32; `c` is 1, 3 or 4, and `k` is
    /// at least `c`. A box is `[y1, x1, y2, x2]`; 0 is the first row or column of the image and 1 is the last one. A
    /// later box covers an earlier box. A box outside the image, with `y1 > y2` or `x1 > x2`, or with a NaN, is not
    /// drawn. Without colors (`m` is 0), ten colors from yellow to fuchsia are used, or white if the images have one
    /// channel. As TensorFlow's `DrawBoundingBoxesV2`. Runs on the host.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let image = g.constant(Tensor::full(&[1, 3, 3, 1], 0.0f32)?)?;
    /// let boxes = g.constant([[[0.0f32, 0.0, 1.0, 1.0]]])?;
    /// let y = image.draw_bounding_boxes(boxes, g.constant([[1.0f32]])?)?.reshape([3, 3])?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([[1.0f32, 1.0, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 1.0]]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// A dtype is not supported, a rank is wrong, the batch sizes of images and boxes differ, or the images do not have
    /// 1, 3 or 4 channels. The run fails if the colors have fewer channels than the images.
    #[track_caller]
    pub fn draw_bounding_boxes(
        self,
        boxes: impl IntoOperand<'g>,
        colors: impl IntoOperand<'g>,
    ) -> Result<Value<'g>> {
        let location = Location::caller();
        // Rust scalars and dimensions take the dtype of this value.
        let f32_peer = self.graph().constant(0.0f32)?;
        let boxes = boxes.into_operand(f32_peer, location);
        let colors = colors.into_operand(f32_peer, location);
        self.graph().op(&DEF).data(self).data(boxes).data(colors).finish_at(location)
    }
}

pub(crate) static DEF: OpDef = OpDef::host("draw_bounding_boxes", run)
    .operands(&[Operand::Data("images"), Operand::Data("boxes"), Operand::Data("colors")])
    .shape_fn(|cx| {
        cx.axes::<2>(2)?;
        shape(cx)
    })
    .dtype_rule(dtypes)
    .tensorflow(&[TfOp::new("DrawBoundingBoxesV2")]);

/// An op for import only: `draw_bounding_boxes` with the ten colors.
pub(crate) static V1: OpDef = OpDef::host("draw_bounding_boxes_v1", run)
    .operands(&[Operand::Data("images"), Operand::Data("boxes")])
    .shape_fn(shape)
    .dtype_rule(dtypes)
    .tensorflow(&[TfOp::new("DrawBoundingBoxes")]);

fn dtypes(dtypes: &[DType], _: &Attrs) -> Result<Vec<DType>> {
    if let Some(other) = dtypes.iter().skip(1).find(|dtype| **dtype != DType::F32) {
        return dtype::refuse(format!("boxes and colors must be f32, got {other}"));
    }
    match dtypes.first() {
        Some(image @ (DType::F16 | DType::F32)) => Ok(vec![*image]),
        Some(other) => dtype::refuse(format!("images must be f16 or f32, got {other}")),
        None => dtype::refuse("images are needed".to_string()),
    }
}

fn shape(cx: &mut InferenceContext<'_>) -> shapeflow_shape_fns::Result<()> {
    let [images, ..] = cx.axes::<4>(0)?;
    let [boxed_images, ..] = cx.axes::<3>(1)?;
    cx.agree("the batch sizes of images and boxes", &images, &boxed_images)?;
    shape_fns::image::draw_bounding_boxes(cx)
}

/// The first and the last pixel of a box along an axis. Both may be outside the image.
struct Edges {
    first: i64,
    last: i64,
    size: i64,
}

impl Edges {
    fn new(low: f32, high: f32, size: usize) -> Edges {
        let size = size as i64;
        // A conversion to an integer rounds toward zero, as in TensorFlow.
        let pixel = |edge: f32| (edge * (size - 1) as f32) as i64;
        Edges { first: pixel(low), last: pixel(high), size }
    }

    fn is_visible(&self) -> bool {
        self.first <= self.last && self.first < self.size && self.last >= 0
    }

    /// Returns the edges that are inside the image.
    fn inside(&self) -> impl Iterator<Item = usize> {
        let first = (self.first >= 0).then_some(self.first as usize);
        let last = (self.last < self.size).then_some(self.last as usize);
        first.into_iter().chain(last)
    }

    /// Returns the pixels of the box that are inside the image.
    fn range(&self) -> std::ops::RangeInclusive<usize> {
        self.first.max(0) as usize..=self.last.min(self.size - 1) as usize
    }
}

fn run(cx: &mut HostCx<'_>) -> Result<()> {
    let images = RowMajor::new(cx.input(0)?)?;
    let images = images.view();
    let &[_, height, width, channels] = images.sizes() else {
        return Err(Error::msg("images must have rank 4"));
    };
    if ![1, 3, 4].contains(&channels) {
        let message = format!("images must have 1, 3 or 4 channels, got {channels}");
        return Err(Error::new(ErrorKind::Shape, Phase::Run, message));
    }
    let boxes = Boxes {
        per_image: cx.input(1)?.sizes()[1],
        edges: cx.input(1)?.to_vec::<f32>()?,
        colors: colors(cx, channels)?,
    };
    let mut output = cx.output(0, images.sizes())?;
    if images.is_empty() {
        return Ok(());
    }
    let pixels = floats(&images)?;
    if let Ok(drawn) = output.as_mut_slice::<f32>() {
        drawn.copy_from_slice(&pixels);
        boxes.draw(drawn, [height, width, channels]);
        return Ok(());
    }
    let mut wide = Tensor::from_vec(images.sizes(), pixels.into_owned())?;
    boxes.draw(wide.view_mut()?.as_mut_slice::<f32>()?, [height, width, channels]);
    narrow(wide.view(), &mut output)
}

/// The boxes of all images, and the colors of the boxes of an image.
struct Boxes {
    per_image: usize,
    edges: Vec<f32>,
    colors: Vec<Vec<f32>>,
}

impl Boxes {
    /// Draws the boxes into images of this height, width and number of channels.
    fn draw(&self, pixels: &mut [f32], [height, width, channels]: [usize; 3]) {
        for (position, edges) in self.edges.chunks_exact(4).enumerate() {
            if edges.iter().any(|edge| edge.is_nan()) {
                continue;
            }
            let (image, number) = (position / self.per_image, position % self.per_image);
            let rows = Edges::new(edges[0], edges[2], height);
            let columns = Edges::new(edges[1], edges[3], width);
            if !(rows.is_visible() && columns.is_visible()) {
                continue;
            }
            let color = &self.colors[number % self.colors.len()];
            let mut draw = |row: usize, column: usize| {
                let start = ((image * height + row) * width + column) * channels;
                pixels[start..start + channels].copy_from_slice(&color[..channels]);
            };
            rows.inside().for_each(|row| columns.range().for_each(|column| draw(row, column)));
            columns.inside().for_each(|column| rows.range().for_each(|row| draw(row, column)));
        }
    }
}

/// Returns the colors of the third operand, or the ten colors.
///
/// # Errors
/// The colors have fewer channels than the images.
fn colors(cx: &HostCx<'_>, channels: usize) -> Result<Vec<Vec<f32>>> {
    if cx.inputs() > 2 {
        let given = cx.input(2)?;
        let color_channels = given.sizes()[1];
        if color_channels < channels {
            let message = format!(
                "colors must have at least {channels}, got {color_channels}",
                channels = counted(channels, "channel")
            );
            return Err(Error::new(ErrorKind::Shape, Phase::Run, message));
        }
        if !given.is_empty() {
            return Ok(given.to_vec::<f32>()?.chunks_exact(color_channels).map(<[f32]>::to_vec).collect());
        }
    }
    // White in images with one channel.
    Ok(if channels == 1 { vec![vec![1.0]] } else { COLORS.iter().map(|color| color.to_vec()).collect() })
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::Attrs;

    use super::{DEF, V1};
    use crate::ops::testing::{check_tensor, run, run_one, shape_table, tensor};

    shape_table! { DEF, {},
        "[n, h, w, 3]; [n, k, 4]; [m, 4]" => "[n, h, w, 3]",
        "f16[n, h, w, 3]; [n, k, 4]; [m, 4]" => "f16[n, h, w, 3]",
        "[2, h, w, 3]; [3, k, 4]; [m, 4]" => error "the batch sizes of images and boxes must agree, got 2 and 3",
        "[n, h, w, 2]; [n, k, 4]; [m, 4]" => error "must have 1, 3 or 4 channels",
        "[n, h, w, 3]; f64[n, k, 4]; [m, 4]" => error "boxes and colors must be f32, got f64",
    }
    shape_table! { first: V1, {},
        "f64[n, h, w, 3]; [n, k, 4]" => error "images must be f16 or f32, got f64",
    }

    #[test]
    fn lines_outside_the_image_are_not_drawn() {
        let image = tensor(&[1, 2, 3, 1], &[0.0f32; 6]);
        let boxes = |edges: [f32; 4]| tensor(&[1, 1, 4], &edges);
        let drawn = |edges| run_one(&V1, &Attrs::new(), &[image.clone(), boxes(edges)]);
        check_tensor(
            &drawn([-2.0, 0.5, 3.0, 9.0]),
            &tensor(&[1, 2, 3, 1], &[0.0f32, 1.0, 0.0, 0.0, 1.0, 0.0]),
            "line",
        );
        check_tensor(&drawn([0.0, 1.0, 1.0, 0.0]), &image, "columns in descending order");
        check_tensor(&drawn([0.0, 2.0, 1.0, 3.0]), &image, "outside");
        check_tensor(&drawn([0.0, 0.0, f32::NAN, 1.0]), &image, "an edge is NaN");
    }

    #[test]
    fn colors_need_the_channels_of_the_images() {
        let image = tensor(&[1, 1, 1, 3], &[0.0f32; 3]);
        let boxes = tensor(&[1, 1, 4], &[0.0f32, 0.0, 1.0, 1.0]);
        for colors in [tensor(&[1, 2], &[0.5f32; 2]), tensor::<f32>(&[0, 2], &[])] {
            let error = run(&DEF, &Attrs::new(), &[image.clone(), boxes.clone(), colors]).unwrap_err();
            assert_eq!(error.message(), "colors must have at least 3 channels, got 2");
        }
    }
}
