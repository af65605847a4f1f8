//! Writes a sorted string table, for tests and fuzzing.

use prost::encoding::encode_varint;

use super::crc::masked;

/// Returns the bytes of a table with these entries, which must be sorted. Each block has `per_block` entries.
pub(in crate::interchange) fn write_table(entries: &[(Vec<u8>, Vec<u8>)], per_block: usize) -> Vec<u8> {
    let (mut file, mut index) = (Vec::new(), Vec::new());
    for block in entries.chunks(per_block.max(1)) {
        let handle = write_block(&mut file, block);
        let last = block.last().map_or_else(Vec::new, |(key, _)| key.clone());
        index.push((last, handle));
    }
    // The handle of the block of statistics comes first.
    let mut footer = write_block(&mut file, &[]);
    footer.extend(write_block(&mut file, &index));
    footer.resize(40, 0);
    footer.extend(0xdb47_7524_8b80_fb57_u64.to_le_bytes());
    file.extend(footer);
    file
}

/// Writes a block. Returns its encoded handle: position and size.
fn write_block(file: &mut Vec<u8>, entries: &[(Vec<u8>, Vec<u8>)]) -> Vec<u8> {
    let mut content = Vec::new();
    let mut last: &[u8] = &[];
    for (key, value) in entries {
        let shared = key.iter().zip(last).take_while(|(a, b)| a == b).count();
        for length in [shared, key.len() - shared, value.len()] {
            encode_varint(length as u64, &mut content);
        }
        content.extend(&key[shared..]);
        content.extend(value);
        last = key;
    }
    content.extend([0u32, 1].map(u32::to_le_bytes).as_flattened());
    let mut handle = Vec::new();
    encode_varint(file.len() as u64, &mut handle);
    encode_varint(content.len() as u64, &mut handle);
    content.push(0);
    file.extend(&content);
    file.extend(masked(crc32c::crc32c(&content)).to_le_bytes());
    handle
}
