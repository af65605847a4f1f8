//! [`Strings`]: byte strings as offsets into bytes.

use std::fmt;
use std::ops::{Index, Range};

use shapeflow_shape_fns::counted;

use super::aligned_memory::{out_of_memory, reserved_vec};
use crate::error::{Error, ErrorKind, Phase, Result, at_caller};

/// The elements of a tensor of strings. String `i` is `bytes[offsets[i]..offsets[i + 1]]`.
///
/// Invariants: there is at least one offset, the offsets ascend, and the last one is at most the number of bytes.
#[derive(Clone, Debug)]
pub(super) struct StringBuffer {
    pub(super) offsets: Vec<usize>,
    pub(super) bytes: Vec<u8>,
}

impl StringBuffer {
    pub(super) fn view(&self) -> Strings<'_> {
        Strings { offsets: &self.offsets, bytes: &self.bytes }
    }

    /// Makes `len` empty strings.
    ///
    /// # Errors
    /// `Memory`: the allocation fails.
    pub(super) fn empty_strings(len: usize) -> Result<StringBuffer> {
        let count = len.checked_add(1).ok_or_else(|| out_of_memory(len))?;
        let mut offsets = reserved_vec(count)?;
        offsets.resize(count, 0);
        Ok(StringBuffer { offsets, bytes: Vec::new() })
    }

    /// Copies strings.
    ///
    /// # Errors
    /// `Memory`: an allocation fails.
    pub(super) fn copy_of(strings: Strings<'_>) -> Result<StringBuffer> {
        let first = strings.offsets[0];
        let mut offsets = reserved_vec(strings.offsets.len())?;
        offsets.extend(strings.offsets.iter().map(|offset| offset - first));
        let source = &strings.bytes[first..strings.offsets[strings.len()]];
        let mut bytes = reserved_vec(source.len())?;
        bytes.extend_from_slice(source);
        Ok(StringBuffer { offsets, bytes })
    }
}

/// Byte strings borrowed for reading: a slice of offsets into shared bytes. String `i` is
/// `bytes[offsets[i]..offsets[i + 1]]`.
///
/// ```
/// use shapeflow::Tensor;
///
/// let tensor = Tensor::from_strings(&[3], &["a", "", "bcd"])?;
/// let strings = tensor.as_strings()?;
/// assert_eq!((strings.len(), &strings[2]), (3, &b"bcd"[..]));
/// assert_eq!(strings.iter().map(<[u8]>::len).sum::<usize>(), 4);
/// # Ok::<(), shapeflow::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Strings<'a> {
    pub(super) offsets: &'a [usize],
    pub(super) bytes: &'a [u8],
}

impl<'a> Strings<'a> {
    /// Makes strings of `bytes`, one fewer than there are offsets.
    ///
    /// # Errors
    /// `Shape`: there is no offset, the offsets do not ascend, or an offset exceeds the number of bytes.
    #[track_caller]
    pub fn new(offsets: &'a [usize], bytes: &'a [u8]) -> Result<Strings<'a>> {
        at_caller(|| {
            let fits = offsets.last().is_some_and(|last| *last <= bytes.len());
            if fits && offsets.is_sorted() {
                return Ok(Strings { offsets, bytes });
            }
            let message = format!(
                "the offsets of strings must ascend to at most {}, the number of bytes; got {}",
                bytes.len(),
                counted(offsets.len(), "offset")
            );
            Err(Error::new(ErrorKind::Shape, Phase::Run, message))
        })
    }

    /// Returns the number of strings.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Returns whether there are no strings.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns string `i`; `None` past the end.
    pub fn get(&self, i: usize) -> Option<&'a [u8]> {
        let (start, end) = (*self.offsets.get(i)?, *self.offsets.get(i.checked_add(1)?)?);
        Some(&self.bytes[start..end])
    }

    /// Returns string `i`.
    ///
    /// # Panics
    /// There is no string `i`.
    pub fn at(&self, i: usize) -> &'a [u8] {
        self.get(i).unwrap_or_else(|| panic!("there is no string {i}, only {}", self.len()))
    }

    /// Returns the strings in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &'a [u8]> + DoubleEndedIterator + Clone + use<'a> {
        let bytes = self.bytes;
        self.offsets.windows(2).map(move |pair| &bytes[pair[0]..pair[1]])
    }

    /// Returns the lengths of the strings in order.
    pub(crate) fn lengths(&self) -> impl ExactSizeIterator<Item = usize> + use<'a> {
        self.offsets.windows(2).map(|pair| pair[1] - pair[0])
    }

    /// Returns where each string ends in the bytes of all strings.
    pub(super) fn ends(&self) -> impl ExactSizeIterator<Item = usize> + use<'a> {
        let (first, ends) = (self.offsets[0], &self.offsets[1..]);
        ends.iter().map(move |end| end - first)
    }

    /// Returns the strings of a range. These strings share the bytes.
    ///
    /// # Panics
    /// The range ends after the last string.
    pub fn slice(&self, range: Range<usize>) -> Strings<'a> {
        Strings { offsets: &self.offsets[range.start..range.end + 1], bytes: self.bytes }
    }

    /// Returns the bytes of all strings, one string after the other.
    pub(crate) fn all_bytes(&self) -> &'a [u8] {
        &self.bytes[self.offsets[0]..self.offsets[self.len()]]
    }

    /// Returns the number of bytes of all strings.
    pub fn byte_len(&self) -> usize {
        self.offsets[self.len()] - self.offsets[0]
    }
}

impl Index<usize> for Strings<'_> {
    type Output = [u8];

    fn index(&self, i: usize) -> &[u8] {
        self.at(i)
    }
}

impl PartialEq for Strings<'_> {
    fn eq(&self, other: &Strings<'_>) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

impl Eq for Strings<'_> {}

impl fmt::Debug for Strings<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter().map(String::from_utf8_lossy)).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::Tensor;

    #[test]
    fn slices_share_the_bytes() {
        let tensor = Tensor::from_strings(&[4], &["ab", "", "c\0d", "e"]).unwrap();
        let strings = tensor.as_strings().unwrap();
        let slice = strings.slice(1..3);
        assert_eq!((slice.len(), slice.byte_len(), slice.at(1)), (2, 3, &b"c\0d"[..]));
        assert_eq!(slice.at(1).as_ptr(), strings.at(2).as_ptr());
        assert_eq!((slice.get(2), strings.slice(4..4).len()), (None, 0));
        assert_eq!(format!("{slice:?}"), "[\"\", \"c\\0d\"]");
        assert_eq!(StringBuffer::copy_of(slice).unwrap().bytes, b"c\0d");
    }

    #[test]
    fn offsets_must_ascend_within_the_bytes() {
        assert_eq!(Strings::new(&[1, 1, 3], b"abc").unwrap().at(1), b"bc");
        for offsets in [&[][..], &[0, 4], &[2, 1]] {
            let error = Strings::new(offsets, b"abc").unwrap_err();
            assert!(
                error.message().starts_with("the offsets of strings must ascend to at most 3"),
                "{error}"
            );
        }
    }
}
