//! Kernels that say which feature the ops on files need.

use super::format::{Format, ImageOp};
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::op::HostCx;

fn refused() -> Result<()> {
    let message =
        "image, sound and compressed files need the feature `media` of shapeflow, which this build lacks";
    Err(Error::new(ErrorKind::Compile, Phase::Run, message))
}

pub(super) fn decode_image(cx: &mut HostCx<'_>, _: ImageOp) -> Result<()> {
    // The format is known without a decoder.
    let file = cx.input(0)?.as_strings()?;
    match file.get(0).and_then(Format::of) {
        Some(format) => {
            let message =
                format!("{format} files need the feature `media` of shapeflow, which this build lacks");
            Err(Error::new(ErrorKind::Compile, Phase::Run, message))
        }
        None => refused(),
    }
}

macro_rules! kernels {
    ($($name:ident)*) => {$(
        pub(super) fn $name(_: &mut HostCx<'_>) -> Result<()> {
            refused()
        }
    )*};
}

kernels! {
    decode_and_crop_jpeg jpeg_shape encode_png encode_jpeg encode_jpeg_variable_quality decode_wav encode_wav
    decode_compressed
}
