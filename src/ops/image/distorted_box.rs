//! `sample_distorted_bounding_box`: a random crop of an image that covers enough of an object.

use std::panic::Location;

use shapeflow_shape_fns::{Attribute, Attrs, DType, InferenceContext, ShapeError, counted};

use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::expr::{Scalar, eval_cast};
use crate::graph::{IntoOperand, Value};
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::ops::integers::ints;
use crate::ops::random::philox::Philox;
use crate::ops::random::state::{stream_of_seed, stream_of_state};
use crate::ops::random::stateless::check_state;
use crate::ops::random::words::RandomWords;
use crate::shape_fns;
use crate::tensor::Tensor;

/// What [`Value::sample_distorted_bounding_box`] draws.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct DistortedBox {
    /// The least and the greatest width of a crop, divided by its height.
    pub aspect_ratio_range: [f32; 2],
    /// The least and the greatest area of a crop, divided by the area of the image.
    pub area_range: [f32; 2],
    /// The number of crops to try. The result is the whole image if none of them fits.
    pub max_attempts: usize,
    /// Without boxes, the whole image is the object. If this is false, there must be a box.
    pub use_image_if_no_bounding_boxes: bool,
}

impl Default for DistortedBox {
    /// Ratios from 0.75 to 1.33, areas from 0.05 to 1, 100 attempts, and there must be a box.
    fn default() -> DistortedBox {
        DistortedBox {
            aspect_ratio_range: [0.75, 1.33],
            area_range: [0.05, 1.0],
            max_attempts: 100,
            use_image_if_no_bounding_boxes: false,
        }
    }
}

impl<'g> Value<'g> {
    /// Draws a random crop of an image that covers at least the part `min_object_covered` of the area of some box.
    /// Returns the begin and the size of the crop, as [`Value::slice`] takes them, and the crop as a box. `self` is the
    /// seed.
    ///
    /// `seed [2], image_size [3], bounding_boxes f32[b, n, 4], min_object_covered f32[] -> [3], [3], f32[1, 1, 4]`. The
    /// sizes of the image are height, width and channels, u8, i8, i16, i32 or i64, as are begin and size; the size of
    /// the channels is -1, which stands for all. A box is `[top, left, bottom, right]` in fractions of the image. The
    /// same seed gives the same crop in every run. As TensorFlow's `StatelessSampleDistortedBoundingBox`, bit for bit.
    /// Runs on the host.
    ///
    /// ```
    /// use shapeflow::{DistortedBox, Graph};
    ///
    /// let g = Graph::new();
    /// let (size, boxes) = (g.constant([48i32, 64, 3])?, g.constant([[[0.25f32, 0.25, 0.75, 0.75]]])?);
    /// let seed = g.constant([1i64, 2])?;
    /// let crop = seed.sample_distorted_bounding_box(size, boxes, 0.5f32, DistortedBox::default())?;
    /// let [begin, size, _] = g.compile(&crop[..])?.run(&[])?;
    /// let (begin, size) = (begin.to_vec::<i32>()?, size.to_vec::<i32>()?);
    /// assert!(begin[0] + size[0] <= 48 && begin[1] + size[1] <= 64 && size[2] == -1);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// A dtype or rank is wrong, `image_size` does not have 3 elements, a box does not have 4 numbers, or a number of
    /// `options` is out of range: ratios and areas must be positive, areas at most 1, and there must be an attempt. The
    /// run fails if a size of the image is negative or does not fit i32, a number of a box is not in `[0, 1]`, or there
    /// is no box and [`DistortedBox::use_image_if_no_bounding_boxes`] is false.
    #[doc(alias = "random_resized_crop")]
    #[track_caller]
    pub fn sample_distorted_bounding_box(
        self,
        image_size: impl IntoOperand<'g>,
        bounding_boxes: impl IntoOperand<'g>,
        min_object_covered: impl IntoOperand<'g>,
        options: DistortedBox,
    ) -> Result<[Value<'g>; 3]> {
        let location = Location::caller();
        let image_size = image_size.into_own_operand(self.graph(), location);
        let boxes = bounding_boxes.into_own_operand(self.graph(), location);
        let covered = min_object_covered.into_operand(boxes, location);
        let floats = |range: [f32; 2]| range.map(f64::from);
        let call = self.graph().op(&DEF).data(image_size).data(boxes).data(covered).data(self);
        let call = call.attr("aspect_ratio_range", &floats(options.aspect_ratio_range)[..]);
        let call = call.attr("area_range", &floats(options.area_range)[..]);
        let call = call.attr("max_attempts", i64::try_from(options.max_attempts).unwrap_or(i64::MAX));
        let call = call.attr("use_image_if_no_bounding_boxes", options.use_image_if_no_bounding_boxes);
        let outputs = call.finish_all_at(location)?;
        Ok([outputs[0], outputs[1], outputs[2]])
    }
}

const ATTRIBUTES: &[Attribute] = &[
    Attribute::floats_or("aspect_ratio_range", &[0.75, 1.33]),
    Attribute::floats_or("area_range", &[0.05, 1.0]),
    Attribute::int_or("max_attempts", 100),
    Attribute::bool_or("use_image_if_no_bounding_boxes", false),
];

pub(crate) static DEF: OpDef = OpDef::host("sample_distorted_bounding_box", |cx| {
    let stream = stream_of_seed(cx, 3)?;
    run(cx, stream)
})
.attrs(ATTRIBUTES)
.operands(&[
    Operand::Data("image_size"),
    Operand::Data("bounding_boxes"),
    Operand::Data("min_object_covered"),
    Operand::Data("seed"),
])
.outputs(|_, _| 3)
.shape_fn(crop_shapes)
.dtype_rule(|dtypes, _| {
    dtype::check_indices(dtypes.get(3..).unwrap_or_default(), 0)?;
    crop_dtypes(dtypes)
})
.tensorflow(&[TfOp::new("StatelessSampleDistortedBoundingBox")]);

/// An op for import only: the crop of a key, a counter and the number of an algorithm.
pub(crate) static WITH_STATE: OpDef = OpDef::host("sample_distorted_bounding_box_with_state", |cx| {
    let stream = stream_of_state(cx, 3)?;
    run(cx, stream)
})
.attrs(ATTRIBUTES)
.operands(&[
    Operand::Data("image_size"),
    Operand::Data("bounding_boxes"),
    Operand::Data("min_object_covered"),
    Operand::Data("key"),
    Operand::Data("counter"),
    Operand::Data("alg"),
])
.outputs(|_, _| 3)
.shape_fn(crop_shapes)
.dtype_rule(|dtypes, _| {
    check_state(dtypes, 0)?;
    crop_dtypes(dtypes)
});

fn crop_shapes(cx: &mut InferenceContext<'_>) -> std::result::Result<(), ShapeError> {
    Limits::of(cx.attrs()).map_err(ShapeError::new)?;
    shape_fns::image::sample_distorted_bounding_box(cx)
}

fn crop_dtypes(dtypes: &[DType]) -> Result<Vec<DType>> {
    for (name, operand) in [("bounding_boxes", 1), ("min_object_covered", 2)] {
        if let Some(other) = dtypes.get(operand).filter(|dtype| **dtype != DType::F32) {
            return dtype::refuse(format!("{name} must be f32, got {other}"));
        }
    }
    match dtypes.first() {
        Some(size @ (DType::U8 | DType::I8 | DType::I16 | DType::I32 | DType::I64)) => {
            Ok(vec![*size, *size, DType::F32])
        }
        Some(other) => dtype::refuse(format!("image_size must be u8, i8, i16, i32 or i64, got {other}")),
        None => Err(Error::msg("sample_distorted_bounding_box needs the sizes of an image")),
    }
}

/// The least and the greatest ratio and area of a crop.
struct Limits {
    ratios: [f32; 2],
    areas: [f32; 2],
    attempts: i64,
}

impl Limits {
    /// Reads the attributes.
    ///
    /// # Errors
    /// A number is out of range.
    fn of(attrs: &Attrs) -> std::result::Result<Limits, String> {
        let range = |name: &str| {
            let given = attrs.floats(name);
            match given[..] {
                [least, greatest] if least > 0.0 && greatest > 0.0 => Ok([least as f32, greatest as f32]),
                _ => Err(format!("{name} must be two positive numbers, got {given:?}")),
            }
        };
        let limits = Limits {
            ratios: range("aspect_ratio_range")?,
            areas: range("area_range")?,
            attempts: attrs.int("max_attempts"),
        };
        if limits.areas.iter().any(|area| *area > 1.0) {
            return Err(format!("area_range must be at most 1, got {:?}", limits.areas));
        }
        match limits.attempts {
            1.. => Ok(limits),
            attempts => Err(format!("max_attempts must be at least 1, got {attempts}")),
        }
    }
}

/// A rectangle of pixels: the first row and column, and the row and column after the last ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Pixels {
    first: [i32; 2],
    end: [i32; 2],
}

impl Pixels {
    /// Returns the number of pixels. A product that does not fit wraps, as in TensorFlow.
    fn area(self) -> f32 {
        let [height, width] = [0, 1].map(|axis| self.end[axis].wrapping_sub(self.first[axis]));
        height.wrapping_mul(width) as f32
    }

    /// Returns the number of pixels that both rectangles have.
    fn common_area(self, other: Pixels) -> f32 {
        let common = Pixels {
            first: [0, 1].map(|axis| self.first[axis].max(other.first[axis])),
            end: [0, 1].map(|axis| self.end[axis].min(other.end[axis])),
        };
        if (0..2).any(|axis| common.first[axis] > common.end[axis]) { 0.0 } else { common.area() }
    }
}

/// Rounds to an integer, ties to even. The result is the lowest integer if it does not fit.
fn rounded(x: f32) -> i64 {
    if x.abs() < i64::MAX as f32 { x.round_ties_even() as i64 } else { i64::MIN }
}

/// Draws a rectangle of a ratio of width and height inside an image; `None` if it does not have an area in `areas`,
/// which are fractions of the image.
fn draw(sizes: [i32; 2], areas: [f32; 2], ratio: f32, words: &mut RandomWords) -> Option<Pixels> {
    let [image_height, image_width] = sizes;
    if ratio <= 0.0 || image_width <= 0 || image_height <= 0 || areas[0] > areas[1] {
        return None;
    }
    let [least, greatest] = areas.map(|area| area * image_width as f32 * image_height as f32);
    let [mut height, mut highest] = [least, greatest].map(|area| rounded((area / ratio).sqrt()) as i32);
    let width_of = |height: i32| rounded(height as f32 * ratio);
    if width_of(highest) > i64::from(image_width) {
        // The greatest height whose width, rounded, is inside the image.
        let margin = f64::from(image_width) + 0.5 - f64::from(0.000_000_1f32);
        highest = (margin / f64::from(ratio)) as i32;
        if width_of(highest) > i64::from(image_width) {
            highest = highest.wrapping_sub(1);
        }
    }
    highest = highest.min(image_height);
    height = height.min(highest);
    if height < highest {
        height = height.wrapping_add(words.below(highest.wrapping_sub(height).wrapping_add(1) as u32) as i32);
    }
    let area_of = |height: i32| (width_of(height) as i32).wrapping_mul(height) as f32;
    // The roundings may miss the limits by one row.
    if area_of(height) < least {
        height = height.wrapping_add(1);
    }
    if area_of(height) > greatest {
        height = height.wrapping_sub(1);
    }
    let (width, area) = (width_of(height) as i32, area_of(height));
    let is_inside = 0 < width && width <= image_width && 0 < height && height <= image_height;
    if !is_inside || area < least || area > greatest {
        return None;
    }
    let mut offset =
        |size: i32, all: i32| if size < all { words.below((all - size) as u32) as i32 } else { 0 };
    let first_row = offset(height, image_height);
    let first_column = offset(width, image_width);
    Some(Pixels { first: [first_row, first_column], end: [first_row + height, first_column + width] })
}

/// Returns whether a crop has at least the part `least` of the pixels of some object.
fn covers(crop: Pixels, objects: &[Pixels], least: f32) -> bool {
    let has_pixels = |pixels: &Pixels| pixels.area() >= 1.0;
    has_pixels(&crop)
        && objects
            .iter()
            .filter(|object| has_pixels(object))
            .any(|object| crop.common_area(*object) / object.area() >= least)
}

/// Returns the boxes as pixels of an image.
///
/// # Errors
/// A number is not in `[0, 1]`.
fn objects_of(cx: &HostCx<'_>, [height, width]: [i32; 2]) -> Result<Vec<Pixels>> {
    let boxes = cx.input(1)?.to_vec::<f32>()?;
    if let Some(wrong) = boxes.iter().find(|x| !(0.0..=1.0).contains(*x)) {
        return refuse(format!("the numbers of a box must be in [0, 1], got {wrong}"));
    }
    let pixels = |fraction: f32, size: i32| (fraction * size as f32) as i32;
    let object = |&[top, left, bottom, right]: &[f32; 4]| Pixels {
        first: [pixels(top, height), pixels(left, width)],
        end: [pixels(bottom, height), pixels(right, width)],
    };
    Ok(boxes.as_chunks::<4>().0.iter().map(object).collect())
}

fn refuse<T>(message: String) -> Result<T> {
    Err(Error::new(ErrorKind::Attribute, Phase::Run, message))
}

fn run(cx: &mut HostCx<'_>, stream: Philox) -> Result<()> {
    let image_size = cx.input(0)?;
    let dtype = image_size.dtype();
    let [height, width, _] = *ints(&image_size) else {
        return refuse(format!("image_size must have 3 elements, got sizes {:?}", image_size.sizes()));
    };
    let fits = |size: i64| i32::try_from(size).ok().filter(|size| (0..i32::MAX).contains(size));
    let (Some(height), Some(width)) = (fits(height), fits(width)) else {
        return refuse(format!("height and width must be from 0 to 2147483646, got {height} and {width}"));
    };
    let mut objects = objects_of(cx, [height, width])?;
    let covered = cx.input(2)?.to_vec::<f32>()?;
    let &[covered] = &covered[..] else {
        return refuse(format!(
            "min_object_covered must be a scalar, got {}",
            counted(covered.len(), "number")
        ));
    };
    if covered.is_nan() || covered < 0.0 {
        return refuse(format!("min_object_covered must be at least 0, got {covered}"));
    }
    let image = Pixels { first: [0, 0], end: [height, width] };
    if objects.is_empty() {
        if !cx.attrs().bool("use_image_if_no_bounding_boxes") {
            return refuse("there must be a box unless use_image_if_no_bounding_boxes is true".to_string());
        }
        objects.push(image);
    }
    let limits = Limits::of(cx.attrs()).expect("the shape function has checked the attributes");
    let mut words = RandomWords::new(stream);
    let mut crop = image;
    for _ in 0..limits.attempts {
        let [least, greatest] = limits.ratios;
        let ratio = words.unit_f32() * (greatest - least) + least;
        if let Some(pixels) = draw([height, width], limits.areas, ratio, &mut words)
            && covers(pixels, &objects, covered)
        {
            crop = pixels;
            break;
        }
    }
    let ([row, column], [last_row, last_column]) = (crop.first, crop.end);
    cx.set_output(0, int_tensor(dtype, [row, column, 0])?)?;
    cx.set_output(1, int_tensor(dtype, [last_row - row, last_column - column, -1])?)?;
    let part = |pixels: i32, size: i32| pixels as f32 / size as f32;
    let corners = [part(row, height), part(column, width), part(last_row, height), part(last_column, width)];
    cx.set_output(2, Tensor::from_slice(&[1, 1, 4], &corners)?)
}

/// Makes a vector of integers. An integer that does not fit `dtype` wraps.
fn int_tensor(dtype: DType, ints: [i32; 3]) -> Result<Tensor> {
    let mut tensor = Tensor::zeros(dtype, &[3])?;
    let mut view = tensor.view_mut()?;
    let bytes = dtype.size_bytes().expect("the dtype rule accepts integers only");
    for (slot, int) in view.bytes_mut().chunks_exact_mut(bytes).zip(ints) {
        eval_cast(Scalar::I32(int), dtype).write_bytes(slot).expect("a slot holds one element");
    }
    Ok(tensor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{run as run_op, shape_table, tensor};

    shape_table! { DEF, {},
        "i32[3]; f32[b, n, 4]; f32[]; i64[2]" => "i32[3]; i32[3]; f32[1, 1, 4]",
        "u8[3]; f32[b, n, 4]; f32[]; i32[2]" => "u8[3]; u8[3]; f32[1, 1, 4]",
        "f32[3]; f32[b, n, 4]; f32[]; i64[2]" => error "image_size must be u8, i8, i16, i32 or i64, got f32",
        "i32[3]; f64[b, n, 4]; f32[]; i64[2]" => error "bounding_boxes must be f32, got f64",
        "i32[3]; f32[b, n, 4]; f32[]; f32[2]" => error "must be i32 or i64, got f32",
        "i32[2]; f32[b, n, 4]; f32[]; i64[2]" => error "image_size must have size 3",
    }
    shape_table! { no_attempt: DEF, {"max_attempts": 0},
        "i32[3]; f32[b, n, 4]; f32[]; i64[2]" => error "max_attempts must be at least 1, got 0",
    }
    shape_table! { large_areas: DEF, {"area_range": &[0.5, 1.5][..]},
        "i32[3]; f32[b, n, 4]; f32[]; i64[2]" => error "area_range must be at most 1, got [0.5, 1.5]",
    }
    shape_table! { with_state: WITH_STATE, {},
        "i64[3]; f32[b, n, 4]; f32[]; u64[1]; u64[2]; i32[]" => "i64[3]; i64[3]; f32[1, 1, 4]",
        "i64[3]; f32[b, n, 4]; f32[]; i64[1]; u64[2]; i32[]" => error "a key and a counter must be u64",
    }

    fn crop(seed: i64, sizes: [i32; 3], boxes: &[f32], covered: f32, attrs: &Attrs) -> Result<[Vec<i32>; 2]> {
        let operands = [
            tensor(&[3], &sizes),
            tensor(&[1, boxes.len() / 4, 4], boxes),
            tensor(&[], &[covered]),
            tensor(&[2], &[seed, 7]),
        ];
        let outputs = run_op(&DEF, attrs, &operands)?;
        Ok([outputs[0].to_vec::<i32>()?, outputs[1].to_vec::<i32>()?])
    }

    #[test]
    fn crops_keep_their_limits() {
        let boxes = [0.1, 0.2, 0.6, 0.9, 0.5, 0.5, 0.7, 0.75];
        let attrs =
            Attrs::new().with("area_range", &[0.1, 0.6][..]).with("aspect_ratio_range", &[0.5, 2.0][..]);
        let mut crops = std::collections::HashSet::new();
        for seed in 0..200 {
            let [begin, size] = crop(seed, [60, 80, 3], &boxes, 0.4, &attrs).unwrap();
            assert!(begin[0] >= 0 && begin[0] + size[0] <= 60 && begin[1] >= 0 && begin[1] + size[1] <= 80);
            assert_eq!((begin[2], size[2]), (0, -1));
            let area = f64::from(size[0] * size[1]) / 4800.0;
            assert!((0.1..=0.6).contains(&area), "{size:?}");
            let ratio = f64::from(size[1]) / f64::from(size[0]);
            assert!((0.45..=2.2).contains(&ratio), "{size:?}");
            // Count the pixels that the crop has of each box.
            let covered = boxes.chunks_exact(4).map(|corners| {
                let ends = [corners[0] * 60.0, corners[1] * 80.0, corners[2] * 60.0, corners[3] * 80.0];
                let [top, left, bottom, right] = ends.map(|end| end as i32);
                let places = (top..bottom).flat_map(|row| (left..right).map(move |column| [row, column]));
                let is_inside = |place: &[i32; 2]| {
                    (0..2).all(|axis| (begin[axis]..begin[axis] + size[axis]).contains(&place[axis]))
                };
                let all = places.clone().count();
                places.filter(is_inside).count() as f64 / all as f64
            });
            assert!(covered.fold(0.0, f64::max) >= 0.4, "{begin:?} {size:?}");
            crops.insert((begin, size));
        }
        assert!(crops.len() > 150, "{}", crops.len());
    }

    #[test]
    fn an_image_without_a_fitting_crop_stays_whole() {
        let none = Attrs::new().with("use_image_if_no_bounding_boxes", true);
        let [begin, size] = crop(1, [10, 20, 3], &[], 2.0, &none).unwrap();
        assert_eq!((begin, size), (vec![0, 0, 0], vec![10, 20, -1]));
        let [_, size] = crop(1, [0, 20, 3], &[0.0, 0.0, 1.0, 1.0], 0.1, &Attrs::new()).unwrap();
        assert_eq!(size, [0, 20, -1]);
    }

    #[test]
    fn wrong_boxes_and_sizes_are_refused() {
        let whole = [0.0, 0.0, 1.0, 1.0];
        for (sizes, boxes, covered, message) in [
            ([10, 20, 3], &[][..], 0.1, "there must be a box"),
            ([10, 20, 3], &[0.0, 0.0, 1.5, 1.0], 0.1, "the numbers of a box must be in [0, 1], got 1.5"),
            ([-1, 20, 3], &whole, 0.1, "height and width must be from 0 to 2147483646, got -1 and 20"),
            ([10, 20, 3], &whole, -1.0, "min_object_covered must be at least 0, got -1"),
        ] {
            let error = crop(1, sizes, boxes, covered, &Attrs::new()).unwrap_err();
            assert!(error.message().contains(message), "{error}");
        }
    }
}
