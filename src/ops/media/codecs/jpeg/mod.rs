//! Decodes JPEG files with the arithmetic of libjpeg-turbo, bit for bit: the fast and the accurate inverse cosine
//! transform, transforms to fewer samples, interpolated and repeated chroma.
//!
//! In: the bytes of a file. Out: pixels. The kernels of the ops call [`decode`] and [`shape`]. Absent: arithmetic
//! codes, lossless and hierarchical files, samples of 12 bits; files whose height comes after their pixels.

mod bits;
mod header;
mod idct;
mod rows;
mod scan;

use self::header::{ColorModel, Header};
pub(super) use self::idct::DctMethod;
use self::rows::{Columns, RowMaker};
use self::scan::Planes;
use super::damage::{checked_len, damage, filled};
use super::pixels::{Pixels, Samples};
use crate::error::Result;

/// How a file is decoded.
pub(super) struct JpegSettings {
    /// 1 or 3; 0 takes the number from the file.
    pub channels: usize,
    /// The image gets smaller by this factor: 1, 2, 4 or 8.
    pub ratio: usize,
    pub is_fancy: bool,
    /// Whether a file may be truncated. The missing pixels are gray.
    pub recovers: bool,
    pub method: DctMethod,
    /// The window to decode: top, left, height, width.
    pub window: Option<[i64; 4]>,
}

impl JpegSettings {
    /// Returns TensorFlow's defaults.
    pub(super) fn usual(channels: usize) -> JpegSettings {
        let method = DctMethod::Fast;
        JpegSettings { channels, ratio: 1, is_fancy: true, recovers: false, method, window: None }
    }
}

/// Returns the height, the width and the number of components of a file.
///
/// # Errors
/// The file is damaged before its pixels.
pub(super) fn shape(data: &[u8]) -> Result<[usize; 3]> {
    let mut header = Header::new(data, false)?;
    header.next_scan(None)?;
    let frame = header.frame()?;
    Ok([frame.height, frame.width, frame.components.len()])
}

/// Returns the pixels of a file.
///
/// # Errors
/// The file is damaged or not supported, the window does not lie inside of the image, or memory is refused.
pub(super) fn decode(data: &[u8], settings: &JpegSettings) -> Result<Pixels> {
    let mut header = Header::new(data, settings.recovers)?;
    let Some(scan) = header.next_scan(None)? else {
        return Err(damage("a JPEG file must have pixels"));
    };
    let frame = header.frame()?.clone();
    let model = header.color_model()?;
    let channels = match settings.channels {
        0 => frame.components.len().min(3),
        given => given,
    };
    if channels == 1 && matches!(model, ColorModel::Cmyk | ColorModel::Ycck) {
        return Err(damage("a JPEG file with four inks must be decoded to 3 channels, got 1"));
    }
    let (height, width) = (frame.height.div_ceil(settings.ratio), frame.width.div_ceil(settings.ratio));
    checked_len(&[height, width, channels])?;
    let [top, left, rows, columns] = match settings.window {
        Some(window) => checked_window(window, height, width)?,
        None => [0, 0, height, width],
    };
    let size = 8 / settings.ratio;
    // The luma is the gray image.
    let needed = if model == ColorModel::Ycc && channels == 1 { 1 } else { frame.components.len() };
    let mut planes = Planes::new(&frame, needed, size, settings.method)?;
    planes.decode(&mut header, scan, data, settings.recovers)?;
    let mut pixels = filled(checked_len(&[rows, columns, channels])?, 0)?;
    // A segment of Adobe may follow the first scan, but says nothing about it.
    let is_adobe = header.is_adobe();
    let columns_of_image = Columns { first: left, end: left + columns };
    let mut maker = RowMaker::new(&planes, size, settings.is_fancy, columns_of_image);
    if !maker.is_supported() {
        return Err(damage("the sampling factors of a JPEG file must divide the greatest factor"));
    }
    for (y, row) in pixels.chunks_exact_mut(columns * channels).enumerate() {
        maker.write(top + y, model, is_adobe, channels, row);
    }
    Ok(Pixels { sizes: vec![rows, columns, channels], samples: Samples::U8(pixels) })
}

/// Returns a window: top, left, height, width.
///
/// # Errors
/// It is empty, or not inside of the image.
fn checked_window(window: [i64; 4], height: usize, width: usize) -> Result<[usize; 4]> {
    let wrong = || {
        damage(format!(
            "crop_window must be [y, x, height, width] inside of the image of {height} x {width} pixels, got {window:?}"
        ))
    };
    let mut sizes = [0; 4];
    for (size, given) in sizes.iter_mut().zip(window) {
        *size = usize::try_from(given).map_err(|_| wrong())?;
    }
    let [top, left, rows, columns] = sizes;
    let fits = |first: usize, count: usize, all: usize| {
        count > 0 && first.checked_add(count).is_some_and(|end| end <= all)
    };
    if !fits(top, rows, height) || !fits(left, columns, width) {
        return Err(wrong());
    }
    Ok(sizes)
}
