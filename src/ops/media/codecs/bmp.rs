//! BMP files without compression: gray of 8 bits, colors of 24 and 32 bits.

use super::damage::{checked_len, damage, filled, u16_at, u32_at};
use super::pixels::{Pixels, Samples};
use crate::error::Result;

/// Decodes a file to `channels` channels, 3 or 4; 0 takes the number from the file. Bytes of 8-bit files are grays,
/// whatever the palette, as in TensorFlow.
///
/// # Errors
/// The file is damaged, or memory is refused.
pub(super) fn decode(bytes: &[u8], channels: usize) -> Result<Pixels> {
    let wrong = |what: String| damage(format!("the bytes must be a BMP file: {what}"));
    let int = |offset: usize| u32_at(bytes, offset).map(u32::cast_signed);
    let (Some(start), Some(width), Some(height), Some(bits), 32..) =
        (int(10), int(18), int(22), u16_at(bytes, 28), bytes.len())
    else {
        return Err(wrong(format!("the header must have 32 bytes, got {}", bytes.len())));
    };
    let given = usize::from(bits / 8);
    if !matches!(given, 1 | 3 | 4) {
        return Err(wrong(format!("a pixel must have 8, 24 or 32 bits, got {bits}")));
    }
    let (Ok(start), Ok(columns @ 1..)) = (usize::try_from(start), usize::try_from(width)) else {
        return Err(wrong(format!("the width must be positive, got {width}")));
    };
    let (rows, channels) = (height.unsigned_abs() as usize, if channels == 0 { given } else { channels });
    let sizes = vec![rows, columns, channels];
    let len = checked_len(&sizes)?;
    let row_size = (columns * given).next_multiple_of(4);
    let needed = start.saturating_add(row_size.saturating_mul(rows));
    let Some(data) = bytes.get(start..needed) else {
        return Err(wrong(format!("the pixels must end at byte {needed}, got {} bytes", bytes.len())));
    };
    let mut pixels = filled(len, 0u8)?;
    for (y, to) in pixels.chunks_exact_mut(columns * channels).enumerate() {
        let row = if height < 0 { y } else { rows - 1 - y };
        let from = &data[row * row_size..][..columns * given];
        for (to, from) in to.chunks_exact_mut(channels).zip(from.chunks_exact(given)) {
            let color = match *from {
                [blue, green, red] => [red, green, blue, 255],
                [blue, green, red, alpha] => [red, green, blue, alpha],
                _ => [from[0], from[0], from[0], 255],
            };
            to.copy_from_slice(&color[..channels]);
        }
    }
    Ok(Pixels { sizes, samples: Samples::U8(pixels) })
}
