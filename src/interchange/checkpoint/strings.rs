//! String tensors of a checkpoint: the lengths of all strings as varints, a checksum of the lengths, then the bytes.

use prost::encoding::decode_varint;

use super::crc::masked;
use super::damage::damaged;
use shapeflow_shape_fns::counted;

use crate::error::Result;
use crate::tensor::Tensor;

/// Reads a string tensor from its bytes.
///
/// # Errors
/// The bytes end within a string, bytes follow the last string, or a checksum differs.
pub(super) fn read(sizes: &[usize], bytes: &[u8], checksum: u32) -> Result<Tensor> {
    let count: usize = sizes.iter().product();
    // Each string has at least one byte: its length.
    if count > bytes.len() {
        return damaged(format_args!(
            "{} must have {} of lengths, got {}",
            counted(count, "string"),
            counted(count, "byte"),
            bytes.len()
        ));
    }
    let mut rest = bytes;
    let mut lengths = Vec::with_capacity(count);
    let mut sum = 0;
    for _ in 0..count {
        let Ok(length) = decode_varint(&mut rest) else {
            return damaged("the length of a string must be a varint");
        };
        // The checksum covers each length as a u32, or as a u64 if the length exceeds u32.
        sum = match u32::try_from(length) {
            Ok(length) => crc32c::crc32c_append(sum, &length.to_le_bytes()),
            Err(_) => crc32c::crc32c_append(sum, &length.to_le_bytes()),
        };
        lengths.push(usize::try_from(length).unwrap_or(usize::MAX));
    }
    let Some((stored, mut rest)) =
        rest.split_first_chunk::<4>().filter(|(stored, _)| **stored == masked(sum).to_le_bytes())
    else {
        return damaged(format_args!(
            "the checksum of the lengths of its strings must be {:08x}",
            masked(sum)
        ));
    };
    sum = crc32c::crc32c_append(crc32c::crc32c_append(sum, stored), rest);
    if masked(sum) != checksum {
        return damaged(format_args!(
            "the checksum of its bytes must be {checksum:08x}, got {:08x}",
            masked(sum)
        ));
    }
    let mut strings = Vec::with_capacity(count);
    for length in lengths {
        let Some((string, after)) = rest.split_at_checked(length) else {
            return damaged("the lengths of its strings exceed its bytes");
        };
        strings.push(string);
        rest = after;
    }
    if !rest.is_empty() {
        return damaged(format_args!("its strings leave {} bytes unused", rest.len()));
    }
    Tensor::from_strings(sizes, &strings)
}
