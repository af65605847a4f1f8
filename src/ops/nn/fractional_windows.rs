//! The windows of fractional pools, and the elements that they pool.

use shapeflow_shape_fns::DType;

use crate::dtype;
pub(super) use crate::error::refuse_at_run as refuse;
use crate::error::{Error, Result};
use crate::ops::random::philox::Philox;
use crate::ops::random::samples::unit_pair;
use crate::ops::random::shuffle::shuffled;
use crate::tensor::{Element, TensorView, reserved_vec};

/// Returns the dtype of the first `count` operands.
///
/// # Errors
/// The dtypes differ, or a pool does not take the dtype.
pub(super) fn supported(dtypes: &[DType], count: usize) -> Result<DType> {
    let x = dtype::common(dtypes, 0, count, dtype::Class::Number)?;
    match x {
        DType::I32 | DType::I64 | DType::F32 | DType::F64 => Ok(x),
        other => dtype::refuse(format!("the element type must be i32, i64, f32 or f64, got {other}")),
    }
}

/// The windows along an axis.
pub(super) struct Windows {
    /// The starts of the windows, then the end of the last window. It is the size of the axis in the windows of
    /// [`Windows::random`]; a gradient accepts any end, as in TensorFlow.
    pub starts: Vec<i64>,
    /// The first position of each window, and the position after its last one.
    pub ranges: Vec<(usize, usize)>,
}

impl Windows {
    /// Reads the starts of `count` windows along an axis of `size` positions.
    ///
    /// # Errors
    /// The number of starts is wrong, or a window is empty or not inside the axis.
    pub fn new(starts: Vec<i64>, size: usize, count: usize, is_overlapping: bool) -> Result<Windows> {
        if starts.len() != count + 1 {
            return refuse(format!("{count} windows must have {} starts, got {}", count + 1, starts.len()));
        }
        let mut ranges = reserved_vec(count)?;
        for pair in starts.windows(2) {
            let &[start, next] = pair else { unreachable!("a window of two has two entries") };
            let start_and_next = (usize::try_from(start), usize::try_from(next));
            let (Ok(start), Ok(next)) = start_and_next else {
                return refuse(format!("the start of a window must not be negative, got {start} and {next}"));
            };
            let end = size.min(if is_overlapping { next.saturating_add(1) } else { next });
            if start >= end || start >= next {
                return refuse(format!(
                    "the starts of windows must be increasing and below {size}, got {start} and {next}"
                ));
            }
            ranges.push((start, end));
        }
        Ok(Windows { starts, ranges })
    }

    /// Makes the starts of `count` windows along an axis of `size` positions, then `size`. Also returns the number of
    /// blocks of random numbers that the starts took.
    pub fn random(size: usize, count: usize, stream: Philox, is_pseudo: bool) -> (Vec<i64>, u64) {
        let mut starts = Vec::with_capacity(count + 1);
        if is_pseudo {
            let (size, least) = (size as f64, (size / count) as f64);
            let ratio = size / count as f64;
            // Each window has `least` or `least + 1` positions. A shift below `first` keeps this true for the first
            // window, a shift below `last` for the last window.
            let first = (least + 2.0) / ratio - 1.0;
            let last = (size + 1.0 - least) / ratio - (count as f64 - 1.0);
            let shift = unit_pair(stream.block(0))[0] * first.min(last);
            starts.push(0);
            starts.extend((1..count).map(|window| (ratio * (window as f64 + shift)).ceil() as i64 - 1));
            starts.push(size as i64);
            return (starts, 1);
        }
        let (least, longer_count) = (size / count, size % count);
        let mut start = 0;
        starts.push(0);
        for window in shuffled(count, stream) {
            start += (least + usize::from(window < longer_count)) as i64;
            starts.push(start);
        }
        (starts, count.div_ceil(4) as u64)
    }
}

/// Calls `f` for each window, in order, with the position of a pixel in the result, and with the positions of the
/// pixels that it pools in the image. The position of a pixel is the row-major position of its channel 0.
pub(super) fn each_window(
    [rows, columns]: [&Windows; 2],
    [count, height, width, channels]: [usize; 4],
    mut f: impl FnMut(usize, &mut dyn Iterator<Item = usize>),
) {
    let mut position = 0;
    for image in 0..count {
        for (top, bottom) in &rows.ranges {
            for (left, right) in &columns.ranges {
                let row = |row: usize| {
                    (*left..*right).map(move |column| ((image * height + row) * width + column) * channels)
                };
                f(position, &mut (*top..*bottom).flat_map(row));
                position += channels;
            }
        }
    }
}

/// An element type of a pool.
pub(super) trait Pooled: Element + Copy + PartialOrd {
    const ZERO: Self;
    const LEAST: Self;
    fn plus(self, other: Self) -> Self;
    fn divided_by(self, count: usize) -> Self;
    fn divided_as_f64(self, count: usize) -> f64;
    fn from_f64(sum: f64) -> Self;
}

macro_rules! pooled {
    ($T:ty, $least:expr, $plus:expr) => {
        impl Pooled for $T {
            const ZERO: Self = 0 as $T;
            const LEAST: Self = $least;
            fn plus(self, other: Self) -> Self {
                $plus(self, other)
            }
            fn divided_by(self, count: usize) -> Self {
                self / count as $T
            }
            fn divided_as_f64(self, count: usize) -> f64 {
                self as f64 / count as f64
            }
            fn from_f64(sum: f64) -> Self {
                sum as $T
            }
        }
    };
}
pooled!(i32, i32::MIN, i32::wrapping_add);
pooled!(i64, i64::MIN, i64::wrapping_add);
pooled!(f32, f32::MIN, std::ops::Add::add);
pooled!(f64, f64::MIN, std::ops::Add::add);

/// Calls a function whose type parameter is the element type of a pool.
macro_rules! with_dtype {
    ($dtype:expr, $f:ident($($argument:expr),*)) => {
        match $dtype {
            DType::I32 => $f::<i32>($($argument),*),
            DType::I64 => $f::<i64>($($argument),*),
            DType::F32 => $f::<f32>($($argument),*),
            DType::F64 => $f::<f64>($($argument),*),
            other => unreachable!("the dtype rule refuses {other}"),
        }
    };
}
pub(super) use with_dtype;

/// Returns the sizes of an image.
///
/// # Errors
/// The rank is not 4.
pub(super) fn sizes_of(x: &TensorView<'_>) -> Result<[usize; 4]> {
    <[usize; 4]>::try_from(x.sizes()).map_err(|_| Error::msg("an image must have rank 4"))
}
