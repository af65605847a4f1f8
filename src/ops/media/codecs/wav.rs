//! WAV files with samples of 16 bits.

use super::damage::{damage, u16_at, u32_at};
use crate::error::Result;
use crate::tensor::reserved_vec;

/// A sound.
pub(super) struct Sound<'a> {
    pub channels: usize,
    pub rate: i32,
    /// The samples of all channels at one time stand together, as little-endian pairs of bytes.
    pub data: &'a [u8],
}

impl Sound<'_> {
    /// Returns the number of samples of each channel.
    pub(super) fn samples(&self) -> usize {
        self.data.len() / (2 * self.channels)
    }

    /// Returns a sample as a number from -1 to 1.
    pub(super) fn sample(&self, index: usize, channel: usize) -> f32 {
        let bits = u16_at(self.data, 2 * (index * self.channels + channel)).unwrap_or(0);
        f32::from(bits.cast_signed()) / 32768.0
    }
}

/// Reads a file.
///
/// # Errors
/// The file is damaged, or its samples are not integers of 16 bits.
pub(super) fn read(bytes: &[u8]) -> Result<Sound<'_>> {
    let wrong = |what: String| damage(format!("the bytes must be a WAV file: {what}"));
    if !bytes.starts_with(b"RIFF") || bytes.get(8..12) != Some(b"WAVE") {
        return Err(wrong("it must start with RIFF and WAVE".to_string()));
    }
    let (mut next, mut format) = (12, None);
    while let (Some(name), Some(size)) = (bytes.get(next..next + 4), u32_at(bytes, next + 4)) {
        let (start, size) = (next + 8, size as usize);
        let ends_early = || wrong(format!("the chunk at byte {next} must have {size} bytes"));
        let end = start.checked_add(size).filter(|end| *end <= bytes.len());
        match (name, format) {
            (b"fmt ", None) => format = Some(read_format(&bytes[start..end.ok_or_else(ends_early)?])?),
            (b"data", Some((channels, rate))) => {
                let whole = size / (2 * channels) * (2 * channels);
                let data = bytes.get(start..start.saturating_add(whole)).ok_or_else(ends_early)?;
                return Ok(Sound { channels, rate, data });
            }
            (_, None) => return Err(wrong("the format must come first".to_string())),
            _ => {}
        }
        next = end.ok_or_else(ends_early)?;
    }
    Err(wrong("there must be a chunk of data".to_string()))
}

/// Reads the number of channels and the sample rate.
fn read_format(chunk: &[u8]) -> Result<(usize, i32)> {
    let wrong = |what: String| Err(damage(format!("the bytes must be a WAV file: {what}")));
    let short = |offset: usize| u16_at(chunk, offset).unwrap_or(0);
    let int = |offset: usize| u32_at(chunk, offset).unwrap_or(0);
    let (kind, channels, rate, bits) = (short(0), usize::from(short(2)), int(4), short(14));
    if chunk.len() < 16 {
        return wrong(format!("the format must have at least 16 bytes, got {}", chunk.len()));
    }
    if kind != 1 || bits != 16 {
        return wrong(format!(
            "the samples must be integers (format 1) of 16 bits, got format {kind}, {bits} bits"
        ));
    }
    let step = 2 * channels;
    if channels == 0 || usize::from(short(12)) != step || int(8) != rate.wrapping_mul(step as u32) {
        return wrong(format!(
            "{channels} channels at {rate} samples in a second do not agree with the bytes in a second"
        ));
    }
    Ok((channels, rate.cast_signed()))
}

/// Writes a file with the samples `[samples, channels]`.
///
/// # Errors
/// The numbers do not fit the header, or memory is refused.
pub(super) fn write(sound: &[f32], channels: usize, rate: i32) -> Result<Vec<u8>> {
    let size = u32::try_from(2 * sound.len()).ok().filter(|size| *size < u32::MAX - 44);
    let (Some(size), Ok(count @ 1..), Ok(rate @ 1..)) = (size, u16::try_from(channels), u32::try_from(rate))
    else {
        return Err(damage(format!(
            "a WAV file must have from 1 to 65535 channels, fewer than 2^31 samples and a sample rate of at least 1, \
             got {channels} channels, {} samples, {rate}",
            sound.len()
        )));
    };
    let step = u32::from(count) * 2;
    let mut file = reserved_vec(44 + size as usize)?;
    file.extend_from_slice(b"RIFF");
    file.extend_from_slice(&(size + 36).to_le_bytes());
    file.extend_from_slice(b"WAVEfmt ");
    file.extend_from_slice(&16u32.to_le_bytes());
    file.extend_from_slice(&1u16.to_le_bytes());
    file.extend_from_slice(&count.to_le_bytes());
    file.extend_from_slice(&rate.to_le_bytes());
    file.extend_from_slice(&rate.wrapping_mul(step).to_le_bytes());
    file.extend_from_slice(&(step as u16).to_le_bytes());
    file.extend_from_slice(&16u16.to_le_bytes());
    file.extend_from_slice(b"data");
    file.extend_from_slice(&size.to_le_bytes());
    for sample in sound {
        // A NaN becomes 0, and a sample outside of the range becomes the nearest one inside.
        let bits = (sample * 32768.0).round() as i16;
        file.extend_from_slice(&bits.to_le_bytes());
    }
    Ok(file)
}
