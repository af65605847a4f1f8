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

use self::damage::{checked_len, damage};
use self::gif::Frames;
use self::jpeg::{DctMethod, JpegSettings};
use self::jpeg_file::FileSettings;
use self::pixels::Depth;
use super::attrs::{self, Compression};
use super::format::Format;
use super::image_op::ImageOp;
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

/// Returns which formats an op reads.
fn formats(op: ImageOp) -> &'static [Format] {
    match op {
        ImageOp::Any => &[Format::Jpeg, Format::Png, Format::Gif, Format::Bmp, Format::WebP],
        ImageOp::Jpeg | ImageOp::Png | ImageOp::Gif => &[Format::Jpeg, Format::Png, Format::Gif],
        ImageOp::WebP => &[Format::Jpeg, Format::Png, Format::WebP],
        ImageOp::Bmp => &[Format::Bmp],
    }
}

/// Returns to how many channels an image may be decoded; 0 takes the number from the file.
fn channel_choices(format: Format) -> &'static [usize] {
    match format {
        Format::Png => &[0, 1, 3, 4],
        Format::Jpeg => &[0, 1, 3],
        Format::Bmp | Format::WebP => &[0, 3, 4],
        Format::Gif => &[0, 3],
    }
}

/// Returns which frames of an animation an op decodes.
fn frames(op: ImageOp, attrs: &Attrs) -> Frames {
    match op {
        ImageOp::Any if !attrs.bool("expand_animations") => Frames::First,
        ImageOp::Any | ImageOp::Gif | ImageOp::WebP => Frames::All,
        ImageOp::Jpeg | ImageOp::Png | ImageOp::Bmp => Frames::Only,
    }
}

/// Decodes an image of one of several formats.
pub(super) fn decode_image(cx: &mut HostCx<'_>, op: ImageOp) -> Result<()> {
    let (bytes, attrs) = (file(cx)?, cx.attrs());
    let format = Format::of(bytes).ok_or_else(|| {
        damage("the bytes must be a JPEG, PNG, GIF, BMP or WebP file, but start as none of these does")
    })?;
    if !formats(op).contains(&format) {
        return Err(damage(format!("{op} reads no {format} file: use {format}'s own op or decode_image")));
    }
    let channels = if op == ImageOp::Gif { 3 } else { attrs::channels(attrs, &[0, 1, 3, 4])? };
    check_channels(format, channels)?;
    let dtype = match op {
        ImageOp::Png | ImageOp::Any => attrs.dtype("dtype"),
        _ => DType::U8,
    };
    let depth = if dtype == DType::U8 { Depth::Eight } else { Depth::Sixteen };
    let frames = frames(op, attrs);
    let mut pixels = match format {
        Format::Jpeg if op == ImageOp::Jpeg => jpeg::decode(bytes, &jpeg_settings(attrs, channels)?)?,
        Format::Jpeg => jpeg::decode(bytes, &JpegSettings::usual(channels))?,
        Format::Png => png::decode(bytes, channels, depth)?,
        Format::Gif => gif::decode(bytes, frames)?,
        Format::Bmp => bmp::decode(bytes, channels)?,
        Format::WebP => webp::decode(bytes, channels, frames == Frames::All)?,
    };
    if op == ImageOp::Gif && format != Format::Gif {
        pixels.sizes.insert(0, 1);
    }
    cx.set_output(0, pixels.into_tensor(dtype)?)
}

/// Refuses a number of channels that images of a format cannot have.
fn check_channels(format: Format, channels: usize) -> Result<()> {
    let choices = channel_choices(format);
    if choices.contains(&channels) {
        return Ok(());
    }
    let choices = attrs::listed(choices);
    Err(damage(format!("a {format} file must be decoded to {choices} channels, got {channels}")))
}

/// Returns how a JPEG file is decoded, as the attributes of JPEG's own ops say.
fn jpeg_settings(attrs: &Attrs, channels: usize) -> Result<JpegSettings> {
    Ok(JpegSettings {
        ratio: attrs::ratio(attrs)?,
        is_fancy: attrs.bool("fancy_upscaling"),
        recovers: attrs.bool("try_recover_truncated"),
        method: if attrs::is_accurate(attrs)? { DctMethod::Accurate } else { DctMethod::Fast },
        ..JpegSettings::usual(channels)
    })
}

/// Decodes a window of a JPEG file.
pub(super) fn decode_and_crop_jpeg(cx: &mut HostCx<'_>) -> Result<()> {
    let bytes = file(cx)?;
    let mut settings = jpeg_settings(cx.attrs(), attrs::channels(cx.attrs(), &[0, 1, 3])?)?;
    let window = cx.input(1)?.to_vec::<i32>()?;
    let &[y, x, height, width] = &window[..] else {
        return Err(damage(format!("crop_window must be [y, x, height, width], got {window:?}")));
    };
    settings.window = Some([y, x, height, width].map(i64::from));
    let pixels = jpeg::decode(bytes, &settings)?;
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
    let level = attrs::compression(cx.attrs())?;
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
    let settings = FileSettings {
        quality: attrs::quality(attrs)?,
        is_progressive: attrs.bool("progressive"),
        is_optimized: attrs.bool("optimize_size"),
        is_subsampled: attrs.bool("chroma_downsampling"),
        density: attrs::density(attrs)?,
        is_metric: attrs::is_metric(attrs)?,
        metadata: attrs.bytes("xmp_metadata"),
    };
    write_jpeg(cx, &settings, attrs::format(attrs)?)
}

/// Encodes an image as JPEG with the quality of operand 1.
pub(super) fn encode_jpeg_variable_quality(cx: &mut HostCx<'_>) -> Result<()> {
    let quality = match cx.input(1)?.to_vec::<i32>()?[..] {
        [quality @ 0..=100] => quality.into(),
        [quality] => return Err(damage(format!("quality must be from 0 to 100, got {quality}"))),
        _ => return Err(damage("quality must be a scalar")),
    };
    write_jpeg(cx, &FileSettings::usual(quality), None)
}

/// Encodes an image that has `channels` channels; `None` takes 1 or 3.
fn write_jpeg(cx: &mut HostCx<'_>, settings: &FileSettings<'_>, channels: Option<usize>) -> Result<()> {
    let (sizes, bytes, _) = image(cx)?;
    let &[height, width, given] = &sizes[..] else {
        return Err(damage(format!("an image must have 3 axes, got the sizes {sizes:?}")));
    };
    let is_expected = channels.map_or(matches!(given, 1 | 3), |channels| channels == given);
    if !is_expected {
        let expected = channels.map_or("1 or 3".to_string(), |channels| channels.to_string());
        return Err(damage(format!("an image must have {expected} channels, got {given}")));
    }
    let mut files = StringsBuilder::new();
    files.push(&jpeg_file::write([height, width, given], &bytes, settings)?)?;
    cx.set_output(0, files.finish(&[])?)
}

/// Decodes a sound, to the wanted numbers of samples and channels.
pub(super) fn decode_wav(cx: &mut HostCx<'_>) -> Result<()> {
    let sound = wav::read(file(cx)?)?;
    let channels = attrs::sound_size(cx.attrs(), "desired_channels")?.unwrap_or(sound.channels);
    let samples = attrs::sound_size(cx.attrs(), "desired_samples")?.unwrap_or(sound.samples());
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
    let is_gzip = match attrs::compression_type(cx.attrs())? {
        Compression::None => return cx.set_output(0, x.to_tensor()?),
        compression => compression == Compression::Gzip,
    };
    let mut made = StringsBuilder::new();
    for string in x.as_strings()?.iter() {
        inflate::inflate(string, is_gzip, |piece| made.append(piece))?;
        made.end()?;
    }
    cx.set_output(0, made.finish(x.sizes())?)
}
