//! `ImageOp`: an op that decodes images.

use std::fmt;

/// An op that decodes images.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ImageOp {
    /// `decode_image`, which reads every format.
    Any,
    Jpeg,
    Png,
    Gif,
    Bmp,
    WebP,
}

impl fmt::Display for ImageOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ImageOp::Any => "decode_image",
            ImageOp::Jpeg => "decode_jpeg",
            ImageOp::Png => "decode_png",
            ImageOp::Gif => "decode_gif",
            ImageOp::Bmp => "decode_bmp",
            ImageOp::WebP => "decode_webp",
        })
    }
}
