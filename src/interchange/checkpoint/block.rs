//! Blocks of a sorted string table: compressed or plain bytes with a checksum, and entries in the order of their keys.

use std::borrow::Cow;

use prost::encoding::decode_varint;
use shapeflow_shape_fns::counted;

use super::crc::masked;
use super::damage::damaged;
use crate::error::Result;

/// The number of bytes after each block: the type byte and the checksum.
const TRAILER: usize = 5;

/// A bound on the bytes that Snappy makes from one byte. It makes at most 64 bytes from 3, which is 21.3 from one, so a
/// block that claims more is damaged.
const MAX_EXPANSION: usize = 24;

/// Where a block lies in the file, without its trailer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Handle {
    /// The position of the first byte of the block in the file.
    pub offset: u64,
    /// The number of bytes of the block.
    pub size: u64,
}

impl Handle {
    /// Reads a handle and advances `bytes` past the handle.
    ///
    /// # Errors
    /// The bytes end within the handle.
    pub(super) fn read(bytes: &mut &[u8]) -> Result<Handle> {
        match (decode_varint(bytes), decode_varint(bytes)) {
            (Ok(offset), Ok(size)) => Ok(Handle { offset, size }),
            _ => damaged("the position of a block must be two varints"),
        }
    }

    /// Returns the offset after the block and its trailer; `None` if the offset overflows.
    pub(super) fn end(self) -> Option<u64> {
        self.offset.checked_add(self.size)?.checked_add(TRAILER as u64)
    }

    /// Returns the content of the block, decompressed.
    ///
    /// # Errors
    /// The block lies outside of `file`, its checksum differs, or its compression is unknown or damaged.
    pub(super) fn content(self, file: &[u8]) -> Result<Cow<'_, [u8]>> {
        let end = self.end().and_then(|end| usize::try_from(end).ok());
        let block = end.and_then(|end| file.get(self.offset as usize..end));
        let Some((content, [kind, checksum @ ..])) = block.and_then(<[u8]>::split_last_chunk::<TRAILER>)
        else {
            return damaged(format_args!(
                "a block must lie within the {} of the file, got bytes {} to {}",
                counted(file.len(), "byte"),
                self.offset,
                self.offset.saturating_add(self.size)
            ));
        };
        let expected = masked(crc32c::crc32c_append(crc32c::crc32c(content), &[*kind]));
        let stored = u32::from_le_bytes(*checksum);
        if stored != expected {
            return damaged(format_args!(
                "the checksum of the block at byte {} must be {expected:08x}, got {stored:08x}",
                self.offset
            ));
        }
        match kind {
            0 => Ok(Cow::Borrowed(content)),
            1 => match snap::raw::decompress_len(content) {
                Ok(length) if length <= content.len().saturating_mul(MAX_EXPANSION) => {
                    match snap::raw::Decoder::new().decompress_vec(content) {
                        Ok(content) => Ok(Cow::Owned(content)),
                        Err(error) => damaged(format_args!("a compressed block is damaged: {error}")),
                    }
                }
                Ok(length) => damaged(format_args!(
                    "a compressed block of {} cannot have {length} of content",
                    counted(content.len(), "byte"),
                    length = counted(length, "byte")
                )),
                Err(error) => damaged(format_args!("a compressed block is damaged: {error}")),
            },
            kind => {
                damaged(format_args!("a block must be plain (0) or compressed with snappy (1), got {kind}"))
            }
        }
    }
}

/// Calls `visit` with each key and value of a block's content, in their order. `last` holds the key before the block,
/// then the last key of the block.
///
/// # Errors
/// An entry exceeds the block, the keys do not increase, or `visit` fails.
pub(super) fn visit_entries(
    content: &[u8],
    last: &mut Option<Vec<u8>>,
    mut visit: impl FnMut(&[u8], &[u8]) -> Result<()>,
) -> Result<()> {
    // The block ends with the offsets of the entries that hold their whole key, and the number of these offsets.
    let restarts = content.split_last_chunk::<4>().and_then(|(rest, count)| {
        let count = usize::try_from(u32::from_le_bytes(*count)).ok()?;
        rest.len().checked_sub(count.checked_mul(4)?)
    });
    let Some(mut entries) = restarts.and_then(|end| content.get(..end)) else {
        return damaged("a block must end with the offsets of its whole keys");
    };
    // An entry shares a prefix with the key before it. The first entry of a block shares nothing.
    let mut shareable = 0;
    while !entries.is_empty() {
        let mut length = || decode_varint(&mut entries).ok().and_then(|length| usize::try_from(length).ok());
        let (Some(shared), Some(own), Some(value)) = (length(), length(), length()) else {
            return damaged("an entry of a block must begin with three lengths");
        };
        let parts = entries.split_at_checked(own);
        let parts = parts.and_then(|(own, rest)| Some((own, rest.split_at_checked(value)?)));
        let Some((own, (value, rest))) = parts.filter(|_| shared <= shareable) else {
            return damaged("an entry must lie within its block");
        };
        if last.as_ref().is_some_and(|last| own <= &last[shared..]) {
            return damaged("the keys of a table must increase");
        }
        let key = last.get_or_insert_default();
        key.truncate(shared);
        key.extend_from_slice(own);
        shareable = key.len();
        visit(key, value)?;
        entries = rest;
    }
    Ok(())
}
