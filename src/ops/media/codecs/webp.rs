//! WebP files, with and without loss, and with frames.

use std::io::Cursor;

use image_webp::{DecodingError, WebPDecoder};

use super::damage::{MAX_ELEMENTS, checked_len, damage, filled};
use super::pixels::{Pixels, Samples};
use crate::error::Result;

/// Decodes a file to `channels` channels, 3 or 4; 0 takes the number from the file. An animation has a first axis of
/// frames.
///
/// # Errors
/// The file is damaged, or memory is refused.
pub(super) fn decode(bytes: &[u8], channels: usize, is_animation: bool) -> Result<Pixels> {
    let wrong = |error: DecodingError| damage(format!("the bytes must be a WebP file: {error}"));
    let mut decoder = WebPDecoder::new(Cursor::new(bytes)).map_err(wrong)?;
    decoder.set_memory_limit(MAX_ELEMENTS);
    let (width, height) = decoder.dimensions();
    let (height, width) = (height as usize, width as usize);
    let given = if decoder.has_alpha() { 4 } else { 3 };
    let channels = match channels {
        0 => given,
        wanted => wanted,
    };
    let frames = if decoder.is_animated() && is_animation { decoder.num_frames().max(1) as usize } else { 1 };
    let len = checked_len(&[frames, height, width, channels])?;
    let mut raw = filled(checked_len(&[height, width, given])?, 0u8)?;
    let mut pixels = filled(len, 0u8)?;
    for picture in pixels.chunks_exact_mut(len / frames) {
        match decoder.is_animated() {
            true => drop(decoder.read_frame(&mut raw).map_err(wrong)?),
            false => decoder.read_image(&mut raw).map_err(wrong)?,
        }
        for (to, from) in picture.chunks_exact_mut(channels).zip(raw.chunks_exact(given)) {
            let kept = given.min(channels);
            to.fill(255);
            to[..kept].copy_from_slice(&from[..kept]);
        }
    }
    let picture = vec![height, width, channels];
    let sizes = if is_animation { [&[frames], &picture[..]].concat() } else { picture };
    Ok(Pixels { sizes, samples: Samples::U8(pixels) })
}
