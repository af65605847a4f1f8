//! Writes JPEG files.

use jpeg_encoder::{
    ChromaSubsamplingMethod, ColorType, Encoder, PixelDensity, PixelDensityUnit, SamplingFactor,
};

use super::damage::damage;
use crate::error::Result;

/// How a file is written.
pub(super) struct FileSettings<'a> {
    /// From 0 to 100.
    pub quality: i64,
    pub is_progressive: bool,
    /// Whether the Huffman codes are made for the image.
    pub is_optimized: bool,
    /// Whether chroma has half of the rows and columns.
    pub is_subsampled: bool,
    pub density: [u16; 2],
    /// Whether the densities count pixels in a centimeter, instead of an inch.
    pub is_metric: bool,
    pub metadata: &'a [u8],
}

impl FileSettings<'_> {
    /// Returns TensorFlow's defaults.
    pub(super) fn usual(quality: i64) -> Self {
        FileSettings {
            quality,
            is_progressive: false,
            is_optimized: false,
            is_subsampled: true,
            density: [300, 300],
            is_metric: false,
            metadata: &[],
        }
    }
}

/// Writes an image of bytes with 1 or 3 channels.
///
/// # Errors
/// The image is empty or has more than 65,535 rows or columns, or the metadata are too long.
pub(super) fn write(
    [height, width, channels]: [usize; 3],
    pixels: &[u8],
    settings: &FileSettings<'_>,
) -> Result<Vec<u8>> {
    let wrong =
        |error: jpeg_encoder::EncodingError| damage(format!("the image cannot be written as JPEG: {error}"));
    let size = |size: usize| u16::try_from(size).ok().filter(|size| *size > 0);
    let (Some(rows), Some(columns)) = (size(height), size(width)) else {
        return Err(damage(format!(
            "a JPEG file must have from 1 to 65535 rows and columns, got {height} x {width}"
        )));
    };
    let mut file = Vec::new();
    let quality = settings.quality.clamp(1, 100) as u8;
    let mut encoder = Encoder::new(&mut file, quality);
    let factor = if settings.is_subsampled { SamplingFactor::F_2_2 } else { SamplingFactor::F_1_1 };
    encoder.set_sampling_factor(factor);
    encoder.set_chroma_subsampling_method(ChromaSubsamplingMethod::Average);
    encoder.set_progressive(settings.is_progressive);
    encoder.set_optimized_huffman_tables(settings.is_optimized || settings.is_progressive);
    let unit = if settings.is_metric { PixelDensityUnit::Centimeters } else { PixelDensityUnit::Inches };
    encoder.set_density(PixelDensity { density: (settings.density[0], settings.density[1]), unit });
    if !settings.metadata.is_empty() {
        let segment = [b"http://ns.adobe.com/xap/1.0/\0", settings.metadata].concat();
        encoder.add_app_segment(1, segment).map_err(wrong)?;
    }
    let color = if channels == 1 { ColorType::Luma } else { ColorType::Rgb };
    encoder.encode(pixels, columns, rows, color).map_err(wrong)?;
    Ok(file)
}
