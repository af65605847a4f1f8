//! Shape functions of ops on files with images and sounds.

use crate::error::bail;
use crate::infer::registered::{Registered, row};
use crate::{Dim, InferenceContext, Result, TensorShape};

#[rustfmt::skip]
pub(crate) static OPS: &[Registered] = &[
    row("DecodeAndCropJpeg", &["contents", "crop_window"], decode_and_crop),
    row("DecodeBmp", &["contents"], decode_picture),
    row("DecodeGif", &["contents"], decode_gif),
    row("DecodeImage", &["contents"], decode_image),
    row("DecodeJpeg", &["contents"], decode_picture),
    row("DecodePng", &["contents"], decode_picture),
    row("DecodeWav", &["contents"], decode_wav).outputs(Some(2)),
    row("DecodeWebP", &["contents"], decode_frames),
    row("EncodeJpeg", &["image"], encode_picture),
    row("EncodeJpegVariableQuality", &["images", "quality"], encode_picture_with_quality),
    row("EncodePng", &["image"], encode_pictures),
    row("EncodeWav", &["audio", "sample_rate"], encode_wav),
    row("ExtractJpegShape", &["contents"], extract_shape),
];

/// Returns the last dimension of a decoded image.
fn channels(cx: &mut InferenceContext<'_>) -> Result<Dim> {
    match cx.int_or("channels", 0)? {
        0 => Ok(cx.fresh()),
        channels @ (1 | 3 | 4) => Ok(Dim::known(channels)),
        other => bail!("channels must be 0, 1, 3 or 4, got {other}"),
    }
}

/// `contents[] -> [height, width, channels]`, which depend on the data. `channels` is known unless it is 0.
///
/// # Errors
/// `contents` is not a scalar, or `channels` is not 0, 1, 3 or 4.
pub fn decode_picture(cx: &mut InferenceContext<'_>) -> Result<()> {
    cx.scalar(0)?;
    let channels = channels(cx)?;
    let output = TensorShape::new([cx.fresh(), cx.fresh(), channels]);
    cx.set_output(0, output);
    Ok(())
}

/// `contents[], crop_window[4] -> [height, width, channels]`: the last two elements of the window, if they are known.
///
/// # Errors
/// As [`decode_picture`], or the window is not a vector of 4 elements.
pub fn decode_and_crop(cx: &mut InferenceContext<'_>) -> Result<()> {
    cx.scalar(0)?;
    let [count] = cx.axes::<1>(1)?;
    cx.with_value(&count, 4)?;
    let channels = channels(cx)?;
    let known = cx.input_value(1).and_then(crate::PartialElements::as_known);
    let output = match known.as_deref() {
        Some(&[_, _, height, width]) if height > 0 && width > 0 => {
            [Dim::known(height), Dim::known(width), channels]
        }
        _ => [cx.fresh(), cx.fresh(), channels],
    };
    cx.set_output(0, TensorShape::new(output));
    Ok(())
}

/// `contents[] -> [frames, height, width, 3]`.
///
/// # Errors
/// `contents` is not a scalar.
pub fn decode_gif(cx: &mut InferenceContext<'_>) -> Result<()> {
    cx.scalar(0)?;
    let output = TensorShape::new([cx.fresh(), cx.fresh(), cx.fresh(), Dim::known(3)]);
    cx.set_output(0, output);
    Ok(())
}

/// `contents[] -> [..]`: a file of frames gives `[frames, height, width, channels]`, another file
/// `[height, width, channels]`.
///
/// # Errors
/// As [`decode_picture`].
pub fn decode_frames(cx: &mut InferenceContext<'_>) -> Result<()> {
    cx.scalar(0)?;
    channels(cx)?;
    cx.set_output(0, TensorShape::unranked());
    Ok(())
}

/// As [`decode_frames`], and as [`decode_picture`] unless `expand_animations` is set.
///
/// # Errors
/// As [`decode_picture`].
pub fn decode_image(cx: &mut InferenceContext<'_>) -> Result<()> {
    match cx.bool_or("expand_animations", true)? {
        true => decode_frames(cx),
        false => decode_picture(cx),
    }
}

/// `contents[] -> [3]`.
///
/// # Errors
/// `contents` is not a scalar.
pub fn extract_shape(cx: &mut InferenceContext<'_>) -> Result<()> {
    cx.scalar(0)?;
    cx.set_output(0, TensorShape::new([Dim::known(3)]));
    Ok(())
}

/// `image[height, width, channels] -> []`.
///
/// # Errors
/// The image does not have 3 axes.
pub fn encode_picture(cx: &mut InferenceContext<'_>) -> Result<()> {
    cx.with_rank(0, 3)?;
    cx.set_output(0, TensorShape::scalar());
    Ok(())
}

/// `images[height, width, channels], quality[] -> []`.
///
/// # Errors
/// The image does not have 3 axes, or the quality is not a scalar.
pub fn encode_picture_with_quality(cx: &mut InferenceContext<'_>) -> Result<()> {
    cx.scalar(1)?;
    encode_picture(cx)
}

/// `image[batch.., height, width, channels] -> [batch..]`.
///
/// # Errors
/// There are fewer than 3 axes.
pub fn encode_pictures(cx: &mut InferenceContext<'_>) -> Result<()> {
    let batch = cx.last_axes::<3>(0)?.map(|(batch, _)| batch);
    cx.set_output(0, batch.unwrap_or_else(TensorShape::unranked));
    Ok(())
}

/// `contents[] -> audio[samples, channels], sample_rate[]`: `desired_samples` and `desired_channels` unless they are
/// -1.
///
/// # Errors
/// `contents` is not a scalar, or an attribute is less than -1.
pub fn decode_wav(cx: &mut InferenceContext<'_>) -> Result<()> {
    cx.scalar(0)?;
    let mut sizes = Vec::new();
    for name in ["desired_samples", "desired_channels"] {
        sizes.push(match cx.int_or(name, -1)? {
            -1 => cx.fresh(),
            size @ 0.. => Dim::known(size),
            other => bail!("{name} must be at least -1, got {other}"),
        });
    }
    cx.set_output(0, TensorShape::new(sizes));
    cx.set_output(1, TensorShape::scalar());
    Ok(())
}

/// `audio[samples, channels], sample_rate[] -> []`.
///
/// # Errors
/// An operand has the wrong rank.
pub fn encode_wav(cx: &mut InferenceContext<'_>) -> Result<()> {
    cx.with_rank(0, 2)?;
    cx.scalar(1)?;
    cx.set_output(0, TensorShape::scalar());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::shape_table;

    shape_table! { pictures: decode_picture, ["contents"];
        {} "string []" => "[?, ?, ?]";
        {channels: 3} "string ?" => "[?, ?, 3]";
        {channels: 2} "string []" => "error channels must be 0, 1, 3 or 4, got 2";
        {} "string [n]" => "error contents must have rank 0";
    }
    shape_table! { windows: decode_and_crop, ["contents", "crop_window"];
        {channels: 1} "string []; i32 [4] = [1, 2, 3, 5]" => "[3, 5, 1]";
        {} "string []; i32 [4]" => "[?, ?, ?]";
        {} "string []; i32 [3]" => "error 4";
    }
    shape_table! { gifs: decode_gif, ["contents"];
        {} "string []" => "[?, ?, ?, 3]";
    }
    shape_table! { images: decode_image, ["contents"];
        {channels: 3} "string []" => "?";
        {channels: 3, expand_animations: false} "string []" => "[?, ?, 3]";
        {channels: 5} "string []" => "error channels must be 0, 1, 3 or 4, got 5";
    }
    shape_table! { jpeg_shapes: extract_shape, ["contents"];
        {} "string []" => "[3]";
    }
    shape_table! { encoded: encode_picture, ["image"];
        {} "u8 [h, w, 3]" => "[]";
        {} "u8 [h, w]" => "error image must have rank 3";
    }
    shape_table! { qualities: encode_picture_with_quality, ["images", "quality"];
        {} "u8 [h, w, 3]; i32 []" => "[]";
        {} "u8 [h, w, 3]; i32 [1]" => "error quality must have rank 0";
    }
    shape_table! { batches: encode_pictures, ["image"];
        {} "u8 [n, h, w, 3]" => "[n]";
        {} "u8 [h, w, 3]" => "[]";
        {} "u8 ?" => "?";
        {} "u8 [h, w]" => "error image must have rank at least 3";
    }
    shape_table! { sounds: decode_wav, ["contents"];
        {} "string []" => "[?, ?]; []";
        {desired_channels: 2, desired_samples: 10} "string []" => "[10, 2]; []";
        {desired_channels: -2} "string []" => "error desired_channels must be at least -1, got -2";
    }
    shape_table! { written_sounds: encode_wav, ["audio", "sample_rate"];
        {} "[n, c]; i32 []" => "[]";
        {} "[n]; i32 []" => "error audio must have rank 2";
    }
}
