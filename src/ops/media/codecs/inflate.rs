//! Bytes that zlib or gzip compressed.

use flate2::{Decompress, FlushDecompress, Status};

use super::damage::damage;
use crate::error::Result;

/// The greatest number of bytes that one string may become.
const MAX_BYTES: usize = 1 << 30;

/// Calls `append` with the decompressed bytes, piece by piece. Truncated data gives the bytes that it has. Several gzip
/// files may follow each other.
///
/// # Errors
/// The bytes are damaged or become more than 2³⁰ bytes, or `append` fails.
pub(super) fn inflate(
    bytes: &[u8],
    is_gzip: bool,
    mut append: impl FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let name = if is_gzip { "GZIP" } else { "ZLIB" };
    let wrong = |what: &dyn std::fmt::Display| damage(format!("the bytes must be {name} data: {what}"));
    let fresh = || if is_gzip { Decompress::new_gzip(15) } else { Decompress::new(true) };
    let (mut state, mut rest, mut total) = (fresh(), bytes, 0);
    let mut piece = vec![0; 1 << 15];
    while !rest.is_empty() || total > 0 {
        let (read, written) = (state.total_in(), state.total_out());
        let status =
            state.decompress(rest, &mut piece, FlushDecompress::None).map_err(|error| wrong(&error))?;
        let (read, written) = ((state.total_in() - read) as usize, (state.total_out() - written) as usize);
        rest = &rest[read..];
        total += written;
        if total > MAX_BYTES {
            return Err(wrong(&"they must become at most 2^30 bytes"));
        }
        append(&piece[..written])?;
        match status {
            Status::StreamEnd if is_gzip && rest.starts_with(&[0x1f, 0x8b]) => state = fresh(),
            Status::StreamEnd => break,
            _ if read == 0 && written == 0 => break,
            _ => {}
        }
    }
    Ok(())
}
