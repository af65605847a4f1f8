//! `Slice`: a rectangular part (box) of a tensor that is stored in parts.

use std::fmt;

use super::damage::damaged;
use super::proto::SliceProto;
use crate::error::Result;

/// The extent of a slice along one axis. A slice of a whole axis has the length that the axis has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct SliceExtent {
    pub start: usize,
    pub length: usize,
    /// Whether the slice was declared as the whole axis. The key of the slice in the checkpoint's table then has -1 in
    /// place of the length.
    is_whole: bool,
}

/// A box of a tensor: its extent along each axis.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Slice(pub Box<[SliceExtent]>);

impl Slice {
    /// Returns the slice that has all elements of a tensor.
    pub(super) fn whole(sizes: &[usize]) -> Slice {
        Slice(sizes.iter().map(|&length| SliceExtent { start: 0, length, is_whole: true }).collect())
    }

    /// Reads a slice of a tensor of these sizes.
    ///
    /// # Errors
    /// The slice has another rank, or exceeds the tensor.
    pub(super) fn read(proto: &SliceProto, sizes: &[usize]) -> Result<Slice> {
        let extents = proto.extent.iter().zip(sizes).map(|(extent, &size)| match extent.length {
            None if extent.start == 0 => Some(SliceExtent { start: 0, length: size, is_whole: true }),
            // In the table of a checkpoint, a length of -1 is the whole axis too.
            Some(-1) if extent.start == 0 => Some(SliceExtent { start: 0, length: size, is_whole: true }),
            None => None,
            Some(length) => SliceExtent::of(extent.start, length, size),
        });
        match extents.collect::<Option<Box<[SliceExtent]>>>() {
            Some(extents) if proto.extent.len() == sizes.len() => Ok(Slice(extents)),
            _ => damaged(format_args!("a slice must lie within the sizes {sizes:?}")),
        }
    }

    /// Parses the text by which a graph names a slice, such as `4 5 0,2:-`: the sizes of the tensor, then start and
    /// length along each axis, or `-` for the whole axis. Returns the sizes with the slice.
    ///
    /// # Errors
    /// The text is not a slice, or the slice exceeds the sizes.
    pub(super) fn parse(text: &str) -> Result<(Vec<usize>, Slice)> {
        let parsed = || {
            let (sizes, extents) = text.trim().rsplit_once(' ')?;
            let sizes: Vec<usize> = sizes.split(' ').map(|size| size.parse().ok()).collect::<Option<_>>()?;
            let parts: Vec<&str> = extents.split(':').collect();
            let extents = parts.iter().zip(&sizes).map(|(part, &size)| match part.split_once(',') {
                None if *part == "-" => Some(SliceExtent { start: 0, length: size, is_whole: true }),
                None => None,
                Some((start, length)) => SliceExtent::of(start.parse().ok()?, length.parse().ok()?, size),
            });
            let extents: Box<[SliceExtent]> = extents.collect::<Option<_>>()?;
            (parts.len() == sizes.len()).then_some((sizes, Slice(extents)))
        };
        match parsed() {
            Some(parsed) => Ok(parsed),
            None => damaged(format_args!("a slice must be written as sizes and extents, got {text:?}")),
        }
    }

    /// Returns the size of the slice along each axis.
    pub(super) fn sizes(&self) -> Vec<usize> {
        self.0.iter().map(|extent| extent.length).collect()
    }

    /// Returns the number of elements; `None` if it overflows.
    pub(super) fn count(&self) -> Option<usize> {
        self.0.iter().try_fold(1usize, |count, extent| count.checked_mul(extent.length))
    }

    /// Returns the elements that both slices have, as a slice of the same tensor; `None` if there are none.
    pub(super) fn intersection(&self, other: &Slice) -> Option<Slice> {
        let extents = self.0.iter().zip(&other.0).map(|(a, b)| {
            let (start, end) = (a.start.max(b.start), a.end().min(b.end()));
            (start < end).then(|| SliceExtent { start, length: end - start, is_whole: false })
        });
        extents.collect::<Option<_>>().map(Slice)
    }

    /// Returns the key of the slice's data in the table: the name of the tensor and the extents, in an encoding that
    /// keeps their order.
    pub(super) fn key(&self, name: &[u8]) -> Vec<u8> {
        let mut key = Vec::new();
        write_number(&mut key, 0);
        for byte in name {
            match byte {
                0 => key.extend([0, 0xff]),
                0xff => key.extend([0xff, 0]),
                byte => key.push(*byte),
            }
        }
        key.extend([0, 1]);
        write_number(&mut key, self.0.len() as u64);
        for extent in &self.0 {
            write_signed(&mut key, extent.start as i64);
            write_signed(&mut key, if extent.is_whole { -1 } else { extent.length as i64 });
        }
        key
    }
}

/// Writes the slice as graphs do: start and length along each axis.
impl fmt::Display for Slice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (axis, extent) in self.0.iter().enumerate() {
            let separator = if axis == 0 { "" } else { ":" };
            match extent.is_whole {
                true => write!(f, "{separator}-")?,
                false => write!(f, "{separator}{},{}", extent.start, extent.length)?,
            }
        }
        Ok(())
    }
}

impl SliceExtent {
    fn of(start: i64, length: i64, size: usize) -> Option<SliceExtent> {
        let extent = SliceExtent {
            start: usize::try_from(start).ok()?,
            length: usize::try_from(length).ok()?,
            is_whole: false,
        };
        (extent.start.checked_add(extent.length)? <= size).then_some(extent)
    }

    fn end(self) -> usize {
        self.start + self.length
    }
}

/// Writes an unsigned number: the count of its bytes, then the bytes, the highest first.
fn write_number(key: &mut Vec<u8>, number: u64) {
    let count = (64 - number.leading_zeros()).div_ceil(8) as usize;
    key.push(count as u8);
    key.extend(&number.to_be_bytes()[8 - count..]);
}

/// Writes a signed number. The first bits of the number say how many bytes it has: for a number of `n` bytes
/// that is not negative, `n` ones and a zero; for a negative number, the complement.
fn write_signed(key: &mut Vec<u8>, number: i64) {
    let magnitude = if number < 0 { !number } else { number };
    let count = 1 + (64 - magnitude.leading_zeros()) as usize / 7;
    let mut bytes = [if number < 0 { 0xff } else { 0 }; 10];
    bytes[2..].copy_from_slice(&number.to_be_bytes());
    let header = (!(u16::MAX.checked_shr(count as u32).unwrap_or(0))).to_be_bytes();
    let bytes = &mut bytes[10 - count..];
    for (byte, header) in bytes.iter_mut().zip(header) {
        *byte ^= header;
    }
    key.extend(&*bytes);
}

/// Copies the elements of `slice` from the source buffer to the target buffer. `source` and `target` are pairs: a
/// slice, and the buffer that holds its elements. Both slices contain `slice`. `element` is the size of an element in
/// bytes.
pub(super) fn copy_box(slice: &Slice, source: (&Slice, &[u8]), target: (&Slice, &mut [u8]), element: usize) {
    let rank = slice.0.len();
    let (from, from_bytes) = source;
    let (to, to_bytes) = target;
    let offset = |within: &Slice, index: &[usize]| {
        within
            .0
            .iter()
            .zip(index)
            .fold(0, |offset, (extent, at)| offset * extent.length + (at - extent.start))
    };
    let row = slice.0.last().map_or(1, |extent| extent.length) * element;
    let mut index: Vec<usize> = slice.0.iter().map(|extent| extent.start).collect();
    loop {
        let (read, write) = (offset(from, &index) * element, offset(to, &index) * element);
        to_bytes[write..write + row].copy_from_slice(&from_bytes[read..read + row]);
        // Step to the next row: count up along all axes but the last.
        let mut axis = rank.saturating_sub(1);
        loop {
            if axis == 0 {
                return;
            }
            axis -= 1;
            index[axis] += 1;
            if index[axis] < slice.0[axis].end() {
                break;
            }
            index[axis] = slice.0[axis].start;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_keys_have_few_bytes_and_keep_their_order() {
        let signed = |number| {
            let mut key = Vec::new();
            write_signed(&mut key, number);
            key
        };
        assert_eq!((signed(0), signed(-1), signed(63)), (vec![0x80], vec![0x7f], vec![0xbf]));
        assert_eq!((signed(64), signed(-65)), (vec![0xc0, 64], vec![0x3f, 0xbf]));
        let numbers =
            [i64::MIN, -1 << 40, -8193, -8192, -65, -64, -1, 0, 1, 63, 64, 8191, 8192, 1 << 55, i64::MAX];
        assert!(numbers.windows(2).all(|pair| signed(pair[0]) < signed(pair[1])));
        assert_eq!(signed(i64::MAX).len(), 10);
    }

    #[test]
    fn slices_parse_and_intersect() {
        let (sizes, slice) = Slice::parse("4 5 1,2:-").unwrap();
        assert_eq!((&sizes[..], slice.sizes(), slice.count()), (&[4, 5][..], vec![2, 5], Some(10)));
        let (_, other) = Slice::parse("4 5 2,2:1,3").unwrap();
        let both = slice.intersection(&other).unwrap();
        assert_eq!(both.sizes(), [1, 3]);
        let source: Vec<u8> = (0..10).collect();
        let mut target = [0; 6];
        copy_box(&both, (&slice, &source), (&other, &mut target), 1);
        assert_eq!(target, [6, 7, 8, 0, 0, 0]);
        for text in ["", "4 5", "4 5 0,5:-", "4 5 0,2", "4 -", "4 0,-1", "4 0,2:-"] {
            assert!(Slice::parse(text).is_err() == (text != "4 -"), "{text}");
        }
    }
}
