//! Reads a sorted string table: a file of blocks. The last block is the index of the other blocks.

use super::block::{Handle, visit_entries};
use super::damage::damaged;
use crate::error::Result;

/// The last bytes of each table.
const MAGIC: u64 = 0xdb47_7524_8b80_fb57;

/// The number of bytes of the footer: two handles of blocks, padding, and the magic number.
const FOOTER: usize = 48;

/// Calls `visit` with each key and value of a table, in the order of the keys.
///
/// # Errors
/// The table is damaged, or `visit` fails.
pub(super) fn visit_table(file: &[u8], mut visit: impl FnMut(&[u8], &[u8]) -> Result<()>) -> Result<()> {
    let Some((blocks, footer)) = file.split_last_chunk::<FOOTER>() else {
        return damaged(format_args!("an index file must have at least {FOOTER} bytes, got {}", file.len()));
    };
    let (mut handles, magic) = (&footer[..FOOTER - 8], &footer[FOOTER - 8..]);
    if magic != MAGIC.to_le_bytes() {
        return damaged("an index file must end with the magic number of tables");
    }
    // The first position leads to a block with statistics about the table.
    Handle::read(&mut handles)?;
    let index = Handle::read(&mut handles)?.content(blocks)?;
    let (mut last, mut end) = (None, 0);
    visit_entries(&index, &mut None, |_, mut position| {
        let block = Handle::read(&mut position)?;
        // Blocks that repeat or overlap would let a small file describe a large table.
        if block.offset < end {
            return damaged(format_args!(
                "blocks must not overlap, got a block at byte {} after a block that ends at byte {end}",
                block.offset
            ));
        }
        end = block.end().unwrap_or(u64::MAX);
        visit_entries(&block.content(blocks)?, &mut last, &mut visit)
    })
}
