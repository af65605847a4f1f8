//! The kernels of the ops on files: they read the operands and attributes, choose the format, and give outputs.
//!
//! In: the context of a host op. Out: tensors. The definitions of the ops call these kernels. Absent: shapes of graphs,
//! which shape functions know. Each format stands in a file of its own, which knows no op.

mod bmp;
mod damage;
mod gif;
mod inflate;
mod jpeg;
mod jpeg_file;
mod pixels;
mod png;
mod wav;
mod webp;

use self::damage::{attribute_error, checked_len, damage};
use self::jpeg::{DctMethod, JpegSettings};
use self::jpeg_file::FileSettings;
use self::pixels::{Depth, Pixels, Samples};
use super::format::{Format, Wanted};
use crate::error::Result;
use crate::op::HostCx;
use crate::ops::row_major::RowMajor;
use crate::tensor::{StringsBuilder, Tensor, reserved_vec};
use shapeflow_shape_fns::{Attrs, DType};

/// Returns the file in operand 0.
fn file<'a>(cx: &HostCx<'a>) -> Result<&'a [u8]> {
    let strings = cx.input(0)?.as_strings()?;
    match strings.get(0) {
        Some([]) => Err(damage("the file must have bytes, got none")),
        Some(bytes) => Ok(bytes),
        None => Err(damage("there must be one file, got none")),
    }
}

/// Returns the number of channels to decode to; 0 takes the number from the file.
fn channels(attrs: &Attrs) -> Result<usize> {
    match attrs.int("channels") {
        channels @ (0 | 1 | 3 | 4) => Ok(channels as usize),
        other => Err(attribute_error(format!("channels must be 0, 1, 3 or 4, got {other}"))),
    }
}

/// Decodes an image of one of several formats.
pub(super) fn decode_image(cx: &mut HostCx<'_>, wanted: Wanted) -> Result<()> {
    let (bytes, attrs) = (file(cx)?, cx.attrs());
    let channels = if wanted == Wanted::Gif { 0 } else { channels(attrs)? };
    let dtype = match wanted {
        Wanted::Png | Wanted::Any => attrs.dtype("dtype"),
        _ => DType::U8,
    };
    let format = Format::of(bytes).ok_or_else(|| {
        damage("the bytes must be a JPEG, PNG, GIF, BMP or WebP file, but their start is of no such format")
    })?;
    let refuse =
        || Err(damage(format!("{wanted} reads no {format} file: use {format}'s own op or decode_image")));
    let is_animation = match wanted {
        Wanted::Any => attrs.bool("expand_animations"),
        Wanted::Gif | Wanted::WebP => true,
        _ => false,
    };
    let mut pixels = match format {
        Format::Bmp if !matches!(wanted, Wanted::Any | Wanted::Bmp) => return refuse(),
        Format::Bmp if channels == 1 => {
            return Err(damage("a BMP file must be decoded to 0, 3 or 4 channels, got 1"));
        }
        Format::Bmp => bmp::decode(bytes, channels)?,
        _ if wanted == Wanted::Bmp => return refuse(),
        Format::Gif if wanted == Wanted::WebP => return refuse(),
        Format::Gif if matches!(channels, 1 | 4) => {
            return Err(damage(format!("a GIF file must be decoded to 0 or 3 channels, got {channels}")));
        }
        Format::Gif => {
            let is_single = !matches!(wanted, Wanted::Any | Wanted::Gif);
            let mut pixels = gif::decode(bytes, is_animation || is_single)?;
            if is_single {
                let frames = pixels.sizes.remove(0);
                if frames > 1 {
                    return Err(damage(format!(
                        "{wanted} reads no animation, got a GIF file of {frames} frames"
                    )));
                }
            }
            pixels
        }
        Format::WebP if !matches!(wanted, Wanted::Any | Wanted::WebP) => return refuse(),
        Format::WebP => webp::decode(bytes, channels, is_animation)?,
        Format::Jpeg if channels == 4 => {
            return Err(damage("a JPEG file must be decoded to 0, 1 or 3 channels, got 4"));
        }
        Format::Jpeg => {
            let channels = if wanted == Wanted::Gif { 3 } else { channels };
            jpeg_pixels(bytes, &jpeg_settings(attrs, channels, wanted == Wanted::Jpeg)?)?
        }
        Format::Png => {
            let channels = if wanted == Wanted::Gif { 3 } else { channels };
            png::decode(bytes, channels, if dtype == DType::U8 { Depth::Eight } else { Depth::Sixteen })?
        }
    };
    if wanted == Wanted::Gif && matches!(format, Format::Jpeg | Format::Png) {
        pixels.sizes.insert(0, 1);
    }
    cx.set_output(0, pixels.into_tensor(dtype)?)
}

fn jpeg_pixels(bytes: &[u8], settings: &JpegSettings) -> Result<Pixels> {
    let (sizes, samples) = jpeg::decode(bytes, settings)?;
    Ok(Pixels { sizes: sizes.to_vec(), samples: Samples::U8(samples) })
}

/// Returns how a JPEG file is decoded: as the attributes say if the op has these attributes, else as usual.
fn jpeg_settings(attrs: &Attrs, channels: usize, has_attrs: bool) -> Result<JpegSettings> {
    if !has_attrs {
        let (method, recovers) = (DctMethod::Fast, false);
        return Ok(JpegSettings { channels, ratio: 1, is_fancy: true, recovers, method, window: None });
    }
    let ratio = match attrs.int("ratio") {
        ratio @ (1 | 2 | 4 | 8) => ratio as usize,
        other => return Err(attribute_error(format!("ratio must be 1, 2, 4 or 8, got {other}"))),
    };
    let method = match attrs.str("dct_method") {
        "" | "INTEGER_FAST" => DctMethod::Fast,
        "INTEGER_ACCURATE" => DctMethod::Accurate,
        other => {
            let message =
                format!("dct_method must be \"\", \"INTEGER_FAST\" or \"INTEGER_ACCURATE\", got {other:?}");
            return Err(attribute_error(message));
        }
    };
    let (is_fancy, recovers) = (attrs.bool("fancy_upscaling"), attrs.bool("try_recover_truncated"));
    Ok(JpegSettings { channels, ratio, is_fancy, recovers, method, window: None })
}

/// Decodes a window of a JPEG file.
pub(super) fn decode_and_crop_jpeg(cx: &mut HostCx<'_>) -> Result<()> {
    let bytes = file(cx)?;
    let mut settings = jpeg_settings(cx.attrs(), channels(cx.attrs())?, true)?;
    if settings.channels == 4 {
        return Err(damage("a JPEG file must be decoded to 0, 1 or 3 channels, got 4"));
    }
    let window = cx.input(1)?.to_vec::<i32>()?;
    let &[y, x, height, width] = &window[..] else {
        return Err(damage(format!("crop_window must be [y, x, height, width], got {window:?}")));
    };
    settings.window = Some([y, x, height, width].map(i64::from));
    let pixels = jpeg_pixels(bytes, &settings)?;
    cx.set_output(0, pixels.into_tensor(DType::U8)?)
}

/// Returns the height, the width and the number of channels of a JPEG file.
pub(super) fn jpeg_shape(cx: &mut HostCx<'_>) -> Result<()> {
    let shape = jpeg::shape(file(cx)?)?;
    let tensor = match cx.attrs().dtype("output_type") {
        DType::I64 => Tensor::from_vec(&[3], shape.map(|size| size as i64).to_vec())?,
        _ => Tensor::from_vec(&[3], shape.map(|size| size as i32).to_vec())?,
    };
    cx.set_output(0, tensor)
}

/// Returns the sizes and the bytes of the image in operand 0; an element of 16 bits is two bytes, the high one first.
fn image(cx: &HostCx<'_>) -> Result<(Vec<usize>, Vec<u8>, Depth)> {
    let x = RowMajor::new(cx.input(0)?)?;
    let x = x.view();
    let sizes = x.sizes().to_vec();
    if x.dtype() == DType::U16 {
        let all = x.as_slice::<u16>()?;
        let mut bytes = reserved_vec(2 * all.len())?;
        bytes.extend(all.iter().flat_map(|x| x.to_be_bytes()));
        return Ok((sizes, bytes, Depth::Sixteen));
    }
    let all = x.as_slice::<u8>()?;
    let mut bytes = reserved_vec(all.len())?;
    bytes.extend_from_slice(all);
    Ok((sizes, bytes, Depth::Eight))
}

/// Encodes each image of a batch as PNG.
pub(super) fn encode_png(cx: &mut HostCx<'_>) -> Result<()> {
    let level = cx.attrs().int("compression");
    if !(-1..=9).contains(&level) {
        return Err(attribute_error(format!("compression must be from -1 to 9, got {level}")));
    }
    let (sizes, bytes, depth) = image(cx)?;
    let [batch @ .., height, width, channels] = &sizes[..] else {
        return Err(damage(format!("an image must have at least 3 axes, got the sizes {sizes:?}")));
    };
    if !(1..=4).contains(channels) {
        return Err(damage(format!("an image must have 1 to 4 channels, got {channels}")));
    }
    let count: usize = batch.iter().product();
    let mut files = StringsBuilder::new();
    if let Some(size) = bytes.len().checked_div(count) {
        checked_len(&[*height, *width, *channels])?;
        for picture in bytes.chunks_exact(size) {
            files.push(&png::encode([*height, *width, *channels], picture, depth, level)?)?;
        }
    }
    cx.set_output(0, files.finish(batch)?)
}

/// Encodes an image as JPEG, as the attributes say.
pub(super) fn encode_jpeg(cx: &mut HostCx<'_>) -> Result<()> {
    let attrs = cx.attrs();
    let density = ["x_density", "y_density"].map(|name| attrs.int(name) as u16);
    let is_metric = match attrs.str("density_unit") {
        "in" => false,
        "cm" => true,
        other => {
            return Err(attribute_error(format!("density_unit must be \"in\" or \"cm\", got {other:?}")));
        }
    };
    let settings = FileSettings {
        quality: attrs.int("quality"),
        is_progressive: attrs.bool("progressive"),
        is_optimized: attrs.bool("optimize_size"),
        is_subsampled: attrs.bool("chroma_downsampling"),
        density,
        is_metric,
        metadata: attrs.bytes("xmp_metadata"),
    };
    let channels = match attrs.str("format") {
        "" => None,
        "grayscale" => Some(1),
        "rgb" => Some(3),
        other => {
            let message = format!("format must be \"\", \"grayscale\" or \"rgb\", got {other:?}");
            return Err(attribute_error(message));
        }
    };
    write_jpeg(cx, &settings, channels)
}

/// Encodes an image as JPEG with the quality of operand 1.
pub(super) fn encode_jpeg_variable_quality(cx: &mut HostCx<'_>) -> Result<()> {
    let quality = match cx.input(1)?.to_vec::<i32>()?[..] {
        [quality] => quality.into(),
        _ => return Err(damage("quality must be a scalar")),
    };
    let settings = FileSettings {
        quality,
        is_progressive: false,
        is_optimized: false,
        is_subsampled: true,
        density: [300, 300],
        is_metric: false,
        metadata: &[],
    };
    write_jpeg(cx, &settings, None)
}

fn write_jpeg(cx: &mut HostCx<'_>, settings: &FileSettings<'_>, channels: Option<usize>) -> Result<()> {
    if !(0..=100).contains(&settings.quality) {
        return Err(damage(format!("quality must be from 0 to 100, got {}", settings.quality)));
    }
    let (sizes, bytes, _) = image(cx)?;
    let expected = |given: usize| channels.map_or(matches!(given, 1 | 3), |expected| expected == given);
    let &[height, width, given] = &sizes[..] else {
        return Err(damage(format!("an image must have 3 axes, got the sizes {sizes:?}")));
    };
    if !expected(given) {
        let wanted = channels.map_or("1 or 3".to_string(), |channels| channels.to_string());
        return Err(damage(format!("an image must have {wanted} channels, got {given}")));
    }
    let mut files = StringsBuilder::new();
    files.push(&jpeg_file::write([height, width, given], &bytes, settings)?)?;
    cx.set_output(0, files.finish(&[])?)
}

/// Decodes a sound, to the wanted numbers of samples and channels.
pub(super) fn decode_wav(cx: &mut HostCx<'_>) -> Result<()> {
    let sound = wav::read(file(cx)?)?;
    let wanted = |name: &str, given: usize| match cx.attrs().int(name) {
        -1 => Ok(given),
        wanted => usize::try_from(wanted)
            .map_err(|_| attribute_error(format!("{name} must be at least -1, got {wanted}"))),
    };
    let channels = wanted("desired_channels", sound.channels)?;
    let samples = wanted("desired_samples", sound.samples())?;
    let mut audio = cx.output(0, &[samples, channels])?;
    let rows = audio.as_mut_slice::<f32>()?.chunks_exact_mut(channels.max(1));
    for (index, row) in rows.take(sound.samples()).enumerate() {
        for (channel, x) in row.iter_mut().enumerate() {
            // Channels that the sound does not have repeat its last one.
            *x = sound.sample(index, channel.min(sound.channels - 1));
        }
    }
    let mut rate = cx.output(1, &[])?;
    rate.as_mut_slice::<i32>()?.fill(sound.rate);
    Ok(())
}

/// Encodes a sound.
pub(super) fn encode_wav(cx: &mut HostCx<'_>) -> Result<()> {
    let x = RowMajor::new(cx.input(0)?)?;
    let x = x.view();
    let (&[_, channels], &[rate]) = (x.sizes(), &cx.input(1)?.to_vec::<i32>()?[..]) else {
        return Err(damage("audio must have 2 axes, and sample_rate must be a scalar"));
    };
    let mut files = StringsBuilder::new();
    files.push(&wav::write(x.as_slice::<f32>()?, channels, rate)?)?;
    cx.set_output(0, files.finish(&[])?)
}

/// Decompresses strings.
pub(super) fn decode_compressed(cx: &mut HostCx<'_>) -> Result<()> {
    let x = cx.input(0)?;
    let is_gzip = match cx.attrs().str("compression_type") {
        "" => return cx.set_output(0, x.to_tensor()?),
        "ZLIB" => false,
        "GZIP" => true,
        other => {
            let message = format!("compression_type must be \"\", \"ZLIB\" or \"GZIP\", got {other:?}");
            return Err(attribute_error(message));
        }
    };
    let mut made = StringsBuilder::new();
    for string in x.as_strings()?.iter() {
        inflate::inflate(string, is_gzip, |piece| made.append(piece))?;
        made.end()?;
    }
    cx.set_output(0, made.finish(x.sizes())?)
}
