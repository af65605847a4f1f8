//! Kernels in a build without the feature that the ops on files need.

use super::FEATURE;
use super::image_op::ImageOp;
use crate::error::{Phase, Result};
use crate::op::HostCx;

pub(super) fn decode_image(_: &mut HostCx<'_>, _: ImageOp) -> Result<()> {
    Err(FEATURE.error(Phase::Run))
}

macro_rules! kernels {
    ($($name:ident)*) => {$(
        pub(super) fn $name(_: &mut HostCx<'_>) -> Result<()> {
            Err(FEATURE.error(Phase::Run))
        }
    )*};
}

kernels! {
    decode_and_crop_jpeg jpeg_shape encode_png encode_jpeg encode_jpeg_variable_quality decode_wav encode_wav
    decode_compressed
}
