//! GIF files: one picture for each frame, painted over the frames before.

use std::num::NonZeroU64;

use gif::{ColorOutput, DecodeOptions, MemoryLimit};

use super::damage::{MAX_ELEMENTS, checked_len, damage, zeros};
use super::pixels::{Pixels, Samples};
use crate::error::Result;

/// A frame: a rectangle of indices of colors.
struct Frame {
    left: usize,
    top: usize,
    height: usize,
    width: usize,
    indices: Vec<u8>,
    transparent: Option<u8>,
    palette: Option<Vec<u8>>,
}

/// Decodes a file to `[frames, height, width, 3]`, or to the first frame `[height, width, 3]`. As in TensorFlow, the
/// picture is as large as the greatest frame, and starts black; a frame stays until another one covers it, whatever its
/// disposal. A file that ends early has the frames before.
///
/// # Errors
/// The file is damaged in its first frame or in a color, or memory is refused.
pub(super) fn decode(bytes: &[u8], is_animation: bool) -> Result<Pixels> {
    let wrong = |what: &dyn std::fmt::Display| damage(format!("the bytes must be a GIF file: {what}"));
    let mut options = DecodeOptions::new();
    options.set_color_output(ColorOutput::Indexed);
    if let Some(limit) = NonZeroU64::new(MAX_ELEMENTS as u64) {
        options.set_memory_limit(MemoryLimit::Bytes(limit));
    }
    let mut decoder = options.read_info(bytes).map_err(|error| wrong(&error))?;
    let global = decoder.global_palette().map(<[u8]>::to_vec);
    let (mut frames, mut height, mut width) = (Vec::new(), 0, 0);
    loop {
        match decoder.read_next_frame() {
            Ok(Some(frame)) => {
                let found = Frame {
                    left: frame.left.into(),
                    top: frame.top.into(),
                    height: frame.height.into(),
                    width: frame.width.into(),
                    indices: frame.buffer.to_vec(),
                    transparent: frame.transparent,
                    palette: frame.palette.clone(),
                };
                (height, width) = (found.height.max(height), found.width.max(width));
                frames.push(found);
                checked_len(&[frames.len(), height, width, 3])?;
            }
            Ok(None) => break,
            // The frames before the damage count.
            Err(_) if !frames.is_empty() => break,
            Err(error) => return Err(wrong(&error)),
        }
    }
    if frames.is_empty() {
        return Err(wrong(&"there must be a frame"));
    }
    if !is_animation {
        frames.truncate(1);
    }
    let size = height * width * 3;
    let mut pixels = zeros::<u8>(checked_len(&[frames.len(), height, width, 3])?)?;
    for (number, frame) in frames.iter().enumerate() {
        let (before, rest) = pixels.split_at_mut(number * size);
        let picture = &mut rest[..size];
        if number > 0 {
            picture.copy_from_slice(&before[(number - 1) * size..]);
        }
        let palette = frame.palette.as_ref().or(global.as_ref());
        let palette = palette.ok_or_else(|| wrong(&format!("frame {number} must have a palette")))?;
        let (columns, rows) = (width.saturating_sub(frame.left), height.saturating_sub(frame.top));
        let lines = frame.indices.chunks_exact(frame.width.max(1)).take(rows.min(frame.height));
        for (y, line) in lines.enumerate() {
            let start = ((frame.top + y) * width + frame.left) * 3;
            for (x, index) in line.iter().take(columns).enumerate() {
                if frame.transparent == Some(*index) {
                    continue;
                }
                let color = palette.get(3 * usize::from(*index)..3 * usize::from(*index) + 3);
                let color = color.ok_or_else(|| {
                    wrong(&format!("a color must be below {}, got {index}", palette.len() / 3))
                })?;
                picture[start + 3 * x..][..3].copy_from_slice(color);
            }
        }
    }
    let sizes = if is_animation { vec![frames.len(), height, width, 3] } else { vec![height, width, 3] };
    Ok(Pixels { sizes, samples: Samples::U8(pixels) })
}
