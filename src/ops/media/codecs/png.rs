//! PNG files: decodes them with the conversions of libpng that TensorFlow asks for, and encodes images.

use std::io::Cursor;

use png::{BitDepth, ColorType, DeflateCompression, Transformations};

use super::damage::{checked_len, damage, filled};
use super::pixels::{Depth, Pixels, Samples};
use crate::error::Result;

/// The greatest number of bytes that a byte of a file may become: deflate writes 258 bytes in 2 bits.
const MAX_EXPANSION: usize = 1032;

/// The parts of red and green in gray, times 2¹⁵; blue has the rest.
const RED: u32 = 9797;
const GREEN: u32 = 19234;

/// A file that is read up to its pixels.
struct File {
    color: ColorType,
    bits: u32,
    palette: Vec<u8>,
    /// The content of the chunk tRNS.
    transparency: Option<Vec<u8>>,
    /// The exponent of the encoding of light times 10⁵, if the file gives one that differs from 1.
    gamma: Option<u32>,
}

/// Decodes a file to `channels` channels; 0 takes the number from the file.
///
/// # Errors
/// The file is damaged, or memory is refused.
pub(super) fn decode(bytes: &[u8], channels: usize, depth: Depth) -> Result<Pixels> {
    let wrong = |error: png::DecodingError| damage(format!("the bytes must be a PNG file: {error}"));
    let limits = png::Limits { bytes: 1 << 30 };
    let mut decoder = png::Decoder::new_with_limits(Cursor::new(bytes), limits);
    decoder.set_transformations(Transformations::IDENTITY);
    decoder.set_ignore_text_chunk(true);
    decoder.set_ignore_iccp_chunk(true);
    let (height, width) = {
        let info = decoder.read_header_info().map_err(wrong)?;
        (info.height as usize, info.width as usize)
    };
    checked_len(&[height, width, channels.max(1)])?;
    let mut reader = decoder.read_info().map_err(wrong)?;
    let info = reader.info();
    let file = File {
        color: info.color_type,
        bits: info.bit_depth as u32,
        palette: info.palette.as_deref().unwrap_or_default().to_vec(),
        transparency: info.trns.as_deref().map(<[u8]>::to_vec),
        gamma: info.gamma().map(png::ScaledFloat::into_scaled).filter(|gamma| is_gamma(*gamma)),
    };
    if file.color == ColorType::Indexed && file.palette.is_empty() {
        return Err(damage("the bytes must be a PNG file: the palette is missing"));
    }
    let channels = match (channels, file.color) {
        (0, ColorType::Indexed) if file.transparency.is_some() => 4,
        (0, ColorType::Indexed) => 3,
        (0, color) => color.samples(),
        (given, _) => given,
    };
    let sizes = vec![height, width, channels];
    let len = checked_len(&sizes)?;
    let row_size = reader.output_line_size(width as u32).unwrap_or(usize::MAX);
    let raw_size = row_size.saturating_mul(height);
    if raw_size / MAX_EXPANSION > bytes.len() {
        return Err(damage(format!(
            "the bytes must be a PNG file: {} bytes cannot have {height} x {width} pixels",
            bytes.len()
        )));
    }
    let mut raw = filled(raw_size, 0u8)?;
    reader.next_frame(&mut raw).map_err(wrong)?;
    require_end(bytes)?;
    let converter = Converter::new(file, channels, depth);
    let samples = match depth {
        Depth::Eight => {
            let mut made = filled(len, 0u8)?;
            for (from, to) in raw.chunks_exact(row_size).zip(made.chunks_exact_mut(width * channels)) {
                if converter.file.bits == 8 && converter.is_copy() {
                    to.copy_from_slice(from);
                } else {
                    converter.row(from, to, |sample| sample as u8);
                }
            }
            Samples::U8(made)
        }
        Depth::Sixteen => {
            let mut made = filled(len, 0u16)?;
            for (from, to) in raw.chunks_exact(row_size).zip(made.chunks_exact_mut(width * channels)) {
                converter.row(from, to, |sample| sample);
            }
            Samples::U16(made)
        }
    };
    Ok(Pixels { sizes, samples })
}

/// Checks that a file has all its chunks up to the last one, IEND. As libpng, which reads them after the pixels.
///
/// # Errors
/// The file ends early, or IEND is damaged.
fn require_end(bytes: &[u8]) -> Result<()> {
    let early = || damage("the bytes must be a PNG file: they end before the chunk IEND ends");
    let mut rest = bytes.get(8..).unwrap_or_default();
    loop {
        let (head, after) = rest.split_at_checked(8).ok_or_else(early)?;
        let (length, kind) = head.split_at(4);
        let length = length.iter().fold(0, |all, byte| all << 8 | usize::from(*byte));
        let (content, after) = after.split_at_checked(length).ok_or_else(early)?;
        let (checksum, after) = after.split_at_checked(4).ok_or_else(early)?;
        if kind == b"IEND" {
            let mut crc = flate2::Crc::new();
            crc.update(kind);
            crc.update(content);
            return match crc.sum().to_be_bytes() == *checksum {
                true => Ok(()),
                false => Err(damage("the bytes must be a PNG file: the chunk IEND is damaged")),
            };
        }
        rest = after;
    }
}

/// Returns whether an encoding of light differs from light itself by more than 5 percent, the limit of libpng.
fn is_gamma(gamma: u32) -> bool {
    gamma > 0 && gamma.abs_diff(100_000) > 5000
}

/// Returns the exponents that decode light and encode it. Both have 5 decimals.
fn exponents(gamma: u32) -> [f64; 2] {
    let reciprocal = |exponent: f64| (1e10 / exponent + 0.5).floor();
    let decoding = reciprocal(f64::from(gamma));
    [decoding, reciprocal(decoding)].map(|exponent| exponent * 1e-5)
}

/// Converts rows of a file to rows of an image.
struct Converter {
    file: File,
    channels: usize,
    depth: Depth,
    /// Tables of light by sample, and of samples by light, for gray from colors of 8 bits.
    light: Option<[Box<[u8; 256]>; 2]>,
}

impl Converter {
    fn new(file: File, channels: usize, depth: Depth) -> Converter {
        let table = |exponent: f64| {
            Box::new(std::array::from_fn(|i| ((i as f64 / 255.0).powf(exponent) * 255.0 + 0.5).floor() as u8))
        };
        let light = file.gamma.map(|gamma| exponents(gamma).map(table));
        Converter { file, channels, depth, light }
    }

    /// Returns whether the image has the samples of the file.
    fn is_copy(&self) -> bool {
        matches!(
            (self.file.color, self.channels),
            (ColorType::Grayscale, 1)
                | (ColorType::GrayscaleAlpha, 2)
                | (ColorType::Rgb, 3)
                | (ColorType::Rgba, 4)
        )
    }

    /// Converts a row. `narrow` makes an element of a sample, which has 8 bits if the image has.
    fn row<T>(&self, from: &[u8], to: &mut [T], narrow: impl Fn(u16) -> T) {
        let (bits, samples) = (self.file.bits, self.file.color.samples());
        for (x, pixel) in to.chunks_exact_mut(self.channels).enumerate() {
            let mut raw = [0u16; 4];
            for (i, sample) in raw.iter_mut().take(samples).enumerate() {
                *sample = raw_sample(from, x * samples + i, bits);
            }
            let (color, alpha, bits) = self.color(raw);
            let all = self.converted(color, alpha, bits);
            let scale = |sample: u16| match (self.depth, bits) {
                (Depth::Eight, 16) => sample >> 8,
                (Depth::Sixteen, 8) => sample * 257,
                _ => sample,
            };
            pixel.iter_mut().zip(all).for_each(|(to, sample)| *to = narrow(scale(sample)));
        }
    }

    /// Returns the samples of a pixel as red, green, blue (gray thrice), the alpha, and the number of bits of these, 8
    /// or 16.
    fn color(&self, raw: [u16; 4]) -> ([u16; 3], u16, u32) {
        let bits = self.file.bits.max(8);
        let opaque = ((1u32 << self.file.bits) - 1) as u16;
        let full = ((1u32 << bits) - 1) as u16;
        let keyed = |samples: &[u16]| {
            // The crate keeps one byte of each sample of the key, and two for samples of 16 bits.
            let size = if self.file.bits == 16 { 2 } else { 1 };
            let key = self.file.transparency.as_deref()?.chunks_exact(size);
            let mut key = key.map(|bytes| bytes.iter().fold(0, |all, byte| all << 8 | u16::from(*byte)));
            Some(if samples.iter().all(|sample| key.next() == Some(*sample)) { 0 } else { full })
        };
        match self.file.color {
            ColorType::Grayscale => {
                let gray = raw[0] * (full / opaque);
                ([gray; 3], keyed(&raw[..1]).unwrap_or(opaque), bits)
            }
            ColorType::GrayscaleAlpha => ([raw[0]; 3], raw[1], bits),
            ColorType::Rgb => ([raw[0], raw[1], raw[2]], keyed(&raw[..3]).unwrap_or(opaque), bits),
            ColorType::Rgba => ([raw[0], raw[1], raw[2]], raw[3], bits),
            ColorType::Indexed => {
                let index = usize::from(raw[0]);
                let entry = |i: usize| self.file.palette.get(3 * index + i).copied().unwrap_or(0);
                let alpha = match &self.file.transparency {
                    Some(alphas) => alphas.get(index).copied().unwrap_or(255).into(),
                    None => opaque,
                };
                ([entry(0), entry(1), entry(2)].map(u16::from), alpha, 8)
            }
        }
    }

    /// Returns the first `channels` samples of the image.
    fn converted(&self, color: [u16; 3], alpha: u16, bits: u32) -> [u16; 4] {
        let is_color = !matches!(self.file.color, ColorType::Grayscale | ColorType::GrayscaleAlpha);
        match self.channels {
            1 | 2 if is_color => [self.gray(color, bits), alpha, 0, 0],
            1 | 2 => [color[0], alpha, 0, 0],
            _ => [color[0], color[1], color[2], alpha],
        }
    }

    /// Returns the gray of a color.
    fn gray(&self, color: [u16; 3], bits: u32) -> u16 {
        let [red, green, blue] = color;
        if red == green && red == blue {
            return red;
        }
        let weigh =
            |[red, green, blue]: [u32; 3]| RED * red + GREEN * green + ((1 << 15) - RED - GREEN) * blue;
        match (&self.light, bits) {
            (Some([light, sample]), 8) => {
                let sum = weigh(color.map(|x| u32::from(light[usize::from(x)])));
                u16::from(sample[((sum + (1 << 14)) >> 15) as usize & 255])
            }
            (None, 8) => (weigh(color.map(u32::from)) >> 15) as u16,
            _ => self.gray_16(color, weigh),
        }
    }

    /// Returns the gray of a color of 16 bits.
    fn gray_16(&self, color: [u16; 3], weigh: impl Fn([u32; 3]) -> u32) -> u16 {
        // Tables for an image of 8 bits have 11 bits, as in libpng.
        let shift = if self.depth == Depth::Eight { 5 } else { 0 };
        let curve = |sample: u32, exponent: f64| {
            let part = f64::from(sample >> shift) / f64::from((1u32 << (16 - shift)) - 1);
            (part.powf(exponent) * 65535.0 + 0.5).floor() as u32
        };
        let mean = |color: [u32; 3]| (weigh(color) + (1 << 14)) >> 15;
        match self.file.gamma {
            Some(gamma) => {
                let [decoding, encoding] = exponents(gamma);
                curve(mean(color.map(|x| curve(u32::from(x), decoding))), encoding) as u16
            }
            None => mean(color.map(u32::from)) as u16,
        }
    }
}

/// Returns sample `index` of a row with samples of `bits` bits.
fn raw_sample(row: &[u8], index: usize, bits: u32) -> u16 {
    let byte = |i: usize| u16::from(row.get(i).copied().unwrap_or(0));
    match bits {
        16 => byte(2 * index) << 8 | byte(2 * index + 1),
        8 => byte(index),
        _ => {
            let first = index * bits as usize;
            byte(first / 8) >> (8 - bits - (first % 8) as u32) & ((1 << bits) - 1)
        }
    }
}

/// Encodes an image of bytes (big-endian pairs for 16 bits) with 1 to 4 channels. `level` is from 0 to 9, or -1.
///
/// # Errors
/// The image has no pixels or too many.
pub(super) fn encode(
    [height, width, channels]: [usize; 3],
    bytes: &[u8],
    depth: Depth,
    level: i64,
) -> Result<Vec<u8>> {
    let wrong = |error: png::EncodingError| damage(format!("the image cannot be written as PNG: {error}"));
    let size = |size: usize| u32::try_from(size).ok().filter(|size| (1..1 << 27).contains(size));
    let (Some(rows), Some(columns)) = (size(height), size(width)) else {
        return Err(damage(format!(
            "an image must have from 1 to 2^27-1 rows and columns, got {height} x {width}"
        )));
    };
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, columns, rows);
    encoder.set_color(match channels {
        1 => ColorType::Grayscale,
        2 => ColorType::GrayscaleAlpha,
        3 => ColorType::Rgb,
        _ => ColorType::Rgba,
    });
    encoder.set_depth(if depth == Depth::Eight { BitDepth::Eight } else { BitDepth::Sixteen });
    encoder.set_deflate_compression(match level {
        0 => DeflateCompression::NoCompression,
        1..=9 => DeflateCompression::Level(level as u8),
        _ => DeflateCompression::Level(6),
    });
    let mut writer = encoder.write_header().map_err(wrong)?;
    writer.write_image_data(bytes).map_err(wrong)?;
    writer.finish().map_err(wrong)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_must_have_its_last_chunk() {
        let pixels: Vec<u8> = (0..64).collect();
        let file = encode([8, 8, 1], &pixels, Depth::Eight, 6).unwrap();
        assert!(decode(&file, 0, Depth::Eight).is_ok());
        for kept in 0..file.len() {
            assert!(decode(&file[..kept], 0, Depth::Eight).is_err(), "{kept} of {}", file.len());
        }
        assert!(decode(&[&file[..], b"more"].concat(), 0, Depth::Eight).is_ok());
        let mut damaged = file;
        *damaged.last_mut().unwrap() ^= 1;
        assert!(decode(&damaged, 0, Depth::Eight).is_err());
    }
}
