//! GIF files: one picture for each frame, painted over the frames before.

use gif::{ColorOutput, DecodeOptions, MemoryLimit};

use super::damage::{checked_len, damage, filled};
use super::pixels::{Pixels, Samples};
use crate::error::{Error, Result};

/// The greatest number of pixels that a byte of a file may become: a code of 12 bits stands for fewer than 4096 pixels.
const MAX_PIXELS_OF_BYTE: usize = 4096;

/// The frames to decode.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Frames {
    /// All frames, along a first axis.
    All,
    /// The first frame.
    First,
    /// The only frame. An animation is refused.
    Only,
}

/// A frame: a rectangle of indices of colors.
struct Frame {
    left: usize,
    top: usize,
    width: usize,
    indices: Vec<u8>,
    transparent: Option<u8>,
    palette: Option<Vec<u8>>,
}

/// The frames of a file up to its end or its first damage.
struct File {
    palette: Option<Vec<u8>>,
    /// The frames to decode.
    frames: Vec<Frame>,
    /// The number of all frames, and the height and the width of the greatest one.
    count: usize,
    height: usize,
    width: usize,
}

fn wrong(what: impl std::fmt::Display) -> Error {
    damage(format!("the bytes must be a GIF file: {what}"))
}

/// Decodes a file to `[frames, height, width, 3]`, or one frame to `[height, width, 3]`. As in TensorFlow, a picture is
/// as large as the greatest frame, and the first one starts black; a frame stays until another one covers it, whatever
/// its disposal. A truncated file gives its complete frames.
///
/// # Errors
/// The file is damaged in its first frame or in a color, or has more frames than it may, or memory is refused.
pub(super) fn decode(bytes: &[u8], wanted: Frames) -> Result<Pixels> {
    let File { palette, frames, count, height, width } = read(bytes, wanted)?;
    if wanted == Frames::Only && count > 1 {
        return Err(damage(format!(
            "only decode_gif and decode_image read animations, got a GIF file of {count} frames"
        )));
    }
    let size = height * width * 3;
    let mut pixels = filled(checked_len(&[frames.len(), height, width, 3])?, 0u8)?;
    for (number, frame) in frames.iter().enumerate() {
        let (before, rest) = pixels.split_at_mut(number * size);
        let picture = &mut rest[..size];
        if number > 0 {
            picture.copy_from_slice(&before[(number - 1) * size..]);
        }
        let palette = frame.palette.as_ref().or(palette.as_ref());
        let palette = palette.ok_or_else(|| wrong(format!("frame {number} must have a palette")))?;
        frame.paint(picture, [height, width], palette)?;
    }
    let sizes = match wanted {
        Frames::All => vec![count, height, width, 3],
        Frames::First | Frames::Only => vec![height, width, 3],
    };
    Ok(Pixels { sizes, samples: Samples::U8(pixels) })
}

/// Reads the frames.
///
/// # Errors
/// The file is damaged in its first frame, or memory is refused.
fn read(bytes: &[u8], wanted: Frames) -> Result<File> {
    let mut options = DecodeOptions::new();
    options.set_color_output(ColorOutput::Indexed);
    // The size of a frame is checked before its pixels are read.
    options.set_memory_limit(MemoryLimit::Unlimited);
    let mut decoder = options.read_info(bytes).map_err(wrong)?;
    let palette = decoder.global_palette().map(<[u8]>::to_vec);
    let mut file = File { palette, frames: Vec::new(), count: 0, height: 0, width: 0 };
    let complete = complete_frames(bytes);
    while file.count < complete {
        let frame = match decoder.next_frame_info() {
            Ok(Some(frame)) => frame,
            Ok(None) => break,
            // The frames before the damage count.
            Err(_) if file.count > 0 => break,
            Err(error) => return Err(wrong(error)),
        };
        let [height, width] = [frame.height, frame.width].map(usize::from);
        let (left, top) = (frame.left.into(), frame.top.into());
        let (transparent, palette) = (frame.transparent, frame.palette.clone());
        let is_kept = wanted == Frames::All || file.count == 0;
        let whole = if is_kept { file.frames.len() + 1 } else { 1 };
        let greatest = [whole, file.height.max(height), file.width.max(width), 3];
        let result = match height * width <= bytes.len().saturating_mul(MAX_PIXELS_OF_BYTE) {
            true => {
                checked_len(&greatest)?;
                let mut indices = filled(height * width, 0)?;
                decoder.read_into_buffer(&mut indices).map(|()| indices).map_err(wrong)
            }
            false => Err(wrong(format!("{} bytes cannot have {height} x {width} pixels", bytes.len()))),
        };
        match result {
            Ok(indices) if is_kept => {
                file.frames.push(Frame { left, top, width, indices, transparent, palette });
            }
            Ok(_) => {}
            Err(_) if file.count > 0 => break,
            Err(error) => return Err(error),
        }
        (file.count, file.height, file.width) = (file.count + 1, greatest[1], greatest[2]);
    }
    if file.count == 0 {
        return Err(wrong("there must be a whole frame"));
    }
    Ok(file)
}

/// Returns the number of frames before the end of the file or its first damage, as far as their blocks show it. A frame
/// counts if its last block is there, as for giflib; the pixels may be complete before.
fn complete_frames(bytes: &[u8]) -> usize {
    let mut count = 0;
    let mut walk = || -> Option<()> {
        let colors = |flags: u8| if flags & 0x80 == 0 { 0 } else { 3 << ((flags & 7) + 1) };
        let mut rest = bytes.get(13 + colors(*bytes.get(10)?)..)?;
        loop {
            let (kind, after) = rest.split_first()?;
            rest = match kind {
                0x21 => after.get(1..)?,
                0x2c => after.get(9 + colors(*after.get(8)?) + 1..)?,
                _ => return None,
            };
            loop {
                let (length, block) = rest.split_first()?;
                rest = block.get(usize::from(*length)..)?;
                if *length == 0 {
                    break;
                }
            }
            count += usize::from(*kind == 0x2c);
        }
    };
    let _ = walk();
    count
}

impl Frame {
    /// Paints the frame on a picture of a height and a width.
    ///
    /// # Errors
    /// The palette lacks a color.
    fn paint(&self, picture: &mut [u8], [height, width]: [usize; 2], palette: &[u8]) -> Result<()> {
        let columns = width.saturating_sub(self.left);
        let rows = self.indices.chunks_exact(self.width.max(1)).take(height.saturating_sub(self.top));
        for (y, row) in rows.enumerate() {
            let start = ((self.top + y) * width + self.left) * 3;
            for (x, index) in row.iter().take(columns).enumerate() {
                if self.transparent == Some(*index) {
                    continue;
                }
                let color = palette.get(3 * usize::from(*index)..3 * usize::from(*index) + 3);
                let color = color.ok_or_else(|| {
                    wrong(format!("a color must be below {}, got {index}", palette.len() / 3))
                })?;
                picture[start + 3 * x..][..3].copy_from_slice(color);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The header of a file of 4 x 4 pixels with 2 colors, and two frames of two blocks each.
    const HEADER: &[u8] = b"GIF89a\x04\x00\x04\x00\xf0\x00\x00\x00\x00\x00\xff\xff\xff";
    const FRAMES: [&[u8]; 2] = [
        &[
            0x21, 0xf9, 0x04, 0x00, 0x00, 0x00, 0x00, 0x00, 0x2c, 0x00, 0x00, 0x00, 0x00, 0x04, 0x00, 0x04,
            0x00, 0x00, 0x02, 0x06, 0x04, 0x43, 0x30, 0x04, 0x43, 0x30, 0x07, 0x04, 0x43, 0x30, 0x04, 0x43,
            0x30, 0x05, 0x00,
        ],
        &[
            0x21, 0xf9, 0x04, 0x00, 0x00, 0x00, 0x00, 0x00, 0x2c, 0x00, 0x00, 0x00, 0x00, 0x04, 0x00, 0x04,
            0x00, 0x00, 0x02, 0x06, 0x0c, 0xc1, 0x10, 0x0c, 0xc1, 0x10, 0x07, 0x0c, 0xc1, 0x10, 0x0c, 0xc1,
            0x10, 0x05, 0x00,
        ],
    ];

    /// Returns the number of frames of the first `kept` bytes of a file.
    fn count(file: &[u8], kept: usize) -> Option<usize> {
        decode(&file[..kept], Frames::All).ok().map(|pixels| pixels.sizes[0])
    }

    #[test]
    fn a_frame_counts_if_its_last_block_is_there() {
        let file = [HEADER, FRAMES[0], FRAMES[1], b";"].concat();
        let first = HEADER.len() + FRAMES[0].len();
        for kept in 0..=file.len() {
            let expected = match kept {
                _ if kept < first => None,
                _ if kept < file.len() - 1 => Some(1),
                _ => Some(2),
            };
            assert_eq!(count(&file, kept), expected, "{kept} of {}", file.len());
        }
    }
}
