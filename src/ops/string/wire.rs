//! Reads the fields of a protobuf message.

/// The value of a field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum WireValue<'a> {
    Varint(u64),
    Fixed64(u64),
    Bytes(&'a [u8]),
    Fixed32(u32),
}

/// Iterates over the fields of a message: numbers and values. A damaged field gives the item `None`, which is the last
/// item.
#[derive(Clone)]
pub(super) struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub(super) fn new(message: &'a [u8]) -> Fields<'a> {
        Fields { rest: message }
    }

    /// Reads a field; `None` if it is damaged.
    fn read(&mut self) -> Option<(u64, WireValue<'a>)> {
        let tag = varint(&mut self.rest)?;
        let value = match tag & 7 {
            0 => WireValue::Varint(varint(&mut self.rest)?),
            1 => WireValue::Fixed64(u64::from_le_bytes(*self.take(8)?.first_chunk()?)),
            2 => {
                let length = varint(&mut self.rest)?;
                WireValue::Bytes(self.take(usize::try_from(length).ok()?)?)
            }
            5 => WireValue::Fixed32(u32::from_le_bytes(*self.take(4)?.first_chunk()?)),
            _ => return None,
        };
        Some((tag >> 3, value))
    }

    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(taken)
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Option<(u64, WireValue<'a>)>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let field = self.read();
        if field.is_none() {
            self.rest = &[];
        }
        Some(field)
    }
}

/// Takes an integer of 7 bits a byte from the front. Returns `None` if the end of the integer is missing or if it has
/// more than 64 bits.
pub(super) fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..70).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        if shift == 63 && *byte > 1 {
            return None;
        }
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_until_one_is_damaged() {
        let message = [0x08, 0x96, 0x01, 0x12, 2, b'h', b'i', 0x1d, 1, 0, 0, 0, 0x21, 2, 0, 0, 0, 0, 0, 0, 0];
        let fields: Vec<_> = Fields::new(&message).collect();
        let expected = [
            (1, WireValue::Varint(150)),
            (2, WireValue::Bytes(b"hi")),
            (3, WireValue::Fixed32(1)),
            (4, WireValue::Fixed64(2)),
        ];
        assert_eq!(fields, expected.map(Some));
        for damaged in [&[0x08][..], &[0x08, 0xff], &[0x12, 5, 0], &[0x0b], &[0x1d, 0]] {
            assert_eq!(Fields::new(damaged).collect::<Vec<_>>(), [None], "{damaged:?}");
        }
    }

    #[test]
    fn integers_have_at_most_64_bits() {
        let mut most = [0xff; 10];
        most[9] = 1;
        assert_eq!(varint(&mut &most[..]), Some(u64::MAX));
        most[9] = 2;
        assert_eq!(varint(&mut &most[..]), None);
        assert_eq!(varint(&mut &[0xff; 11][..]), None);
    }
}
