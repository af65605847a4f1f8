//! The checksums of checkpoints: CRC-32C in the masked form of LevelDB.

/// Returns the masked form of a checksum. The CRC of data that contains its own CRC says nothing about the data, so
/// LevelDB stores masked checksums.
pub(super) fn masked(checksum: u32) -> u32 {
    checksum.rotate_right(15).wrapping_add(0xa282_ead8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_those_of_the_standard() {
        assert_eq!(crc32c::crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(masked(0xe306_9283), 0xc78a_b0e5);
    }
}
