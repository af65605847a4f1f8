//! The checksums of checkpoints: CRC-32C in the masked form of LevelDB.

/// A checksum over data that may contain checksums itself. The mask keeps such data from having simple checksums.
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
