//! [`StringsBuilder`]: a tensor of strings, one string after the other.

use shapeflow_shape_fns::{DType, counted};

use super::Tensor;
use super::aligned_memory::{out_of_memory, reserved_vec};
use super::allowance::check_allowance;
use super::layout::{Layout, check_count};
use super::storage::Storage;
use super::strings::{StringBuffer, Strings};
use crate::error::{Error, ErrorKind, Phase, Result, at_caller};

/// Builds a tensor of strings, one string after the other. Host kernels make outputs of strings with a builder.
///
/// ```
/// use shapeflow::StringsBuilder;
///
/// let mut strings = StringsBuilder::new();
/// strings.push(b"a")?;
/// strings.append(b"b")?;
/// strings.append(b"c")?;
/// strings.end()?;
/// let tensor = strings.finish(&[2])?;
/// assert_eq!(&tensor.as_strings()?[1], b"bc");
/// # Ok::<(), shapeflow::Error>(())
/// ```
#[derive(Debug)]
pub struct StringsBuilder(StringBuffer);

impl Default for StringsBuilder {
    fn default() -> StringsBuilder {
        StringsBuilder::new()
    }
}

impl StringsBuilder {
    /// Makes a builder without strings.
    pub fn new() -> StringsBuilder {
        StringsBuilder(StringBuffer { offsets: vec![0], bytes: Vec::new() })
    }

    /// Makes a builder with memory for `strings` strings of `bytes` bytes in total.
    ///
    /// # Errors
    /// `Memory`: the allocation fails.
    #[track_caller]
    pub fn with_capacity(strings: usize, bytes: usize) -> Result<StringsBuilder> {
        at_caller(|| {
            let mut offsets = reserved_vec(strings.saturating_add(1))?;
            offsets.push(0);
            Ok(StringsBuilder(StringBuffer { offsets, bytes: reserved_vec(bytes)? }))
        })
    }

    /// Returns the number of finished strings.
    pub fn len(&self) -> usize {
        self.0.offsets.len() - 1
    }

    /// Returns whether there are no finished strings.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds bytes to the current string. [`StringsBuilder::end`] finishes it.
    ///
    /// # Errors
    /// `Memory`: the allocation fails.
    #[track_caller]
    pub fn append(&mut self, bytes: &[u8]) -> Result<()> {
        at_caller(|| {
            check_allowance(self.0.bytes.len().saturating_add(bytes.len()))?;
            self.0.bytes.try_reserve(bytes.len()).map_err(|_| out_of_memory(bytes.len()))?;
            self.0.bytes.extend_from_slice(bytes);
            Ok(())
        })
    }

    /// Finishes the current string.
    ///
    /// # Errors
    /// `Memory`: the allocation fails.
    #[track_caller]
    pub fn end(&mut self) -> Result<()> {
        at_caller(|| {
            self.0.offsets.try_reserve(1).map_err(|_| out_of_memory(size_of::<usize>()))?;
            self.0.offsets.push(self.0.bytes.len());
            Ok(())
        })
    }

    /// Adds a string.
    ///
    /// # Errors
    /// `Memory`: the allocation fails.
    #[track_caller]
    pub fn push(&mut self, string: &[u8]) -> Result<()> {
        at_caller(|| {
            self.append(string)?;
            self.end()
        })
    }

    /// Adds strings.
    ///
    /// # Errors
    /// `Memory`: the allocation fails.
    pub(crate) fn push_all(&mut self, strings: Strings<'_>) -> Result<()> {
        let StringBuffer { offsets, bytes } = &mut self.0;
        let more = strings.all_bytes();
        check_allowance(bytes.len().saturating_add(more.len()))?;
        bytes.try_reserve(more.len()).map_err(|_| out_of_memory(more.len()))?;
        offsets.try_reserve(strings.len()).map_err(|_| out_of_memory(size_of::<usize>()))?;
        let before = bytes.len();
        bytes.extend_from_slice(more);
        offsets.extend(strings.ends().map(|end| before + end));
        Ok(())
    }

    /// Adds every run of `width` neighboring strings (strings `i..i + width` for each `i`) as one string, without the
    /// last `suffix` bytes of the run. Every string must have at least `suffix` bytes.
    ///
    /// # Errors
    /// `Memory`: the allocation fails.
    #[cfg(feature = "strings")]
    pub(crate) fn push_neighbors(&mut self, strings: Strings<'_>, width: usize, suffix: usize) -> Result<()> {
        let Some(ends) = strings.offsets.get(width..) else { return Ok(()) };
        let runs = strings.offsets.iter().zip(ends).map(|(start, end)| (*start, *end - suffix));
        let more: usize = runs.clone().map(|(start, end)| end - start).sum();
        self.reserve(ends.len(), more)?;
        let StringBuffer { offsets, bytes } = &mut self.0;
        for (start, end) in runs {
            append_part(bytes, strings.bytes, start, end);
            offsets.push(bytes.len());
        }
        Ok(())
    }

    /// Adds each string, followed by `suffix`.
    ///
    /// # Errors
    /// `Memory`: the allocation fails.
    #[cfg(feature = "strings")]
    pub(crate) fn push_each_with(&mut self, strings: Strings<'_>, suffix: &[u8]) -> Result<()> {
        let more = suffix.len().saturating_mul(strings.len()).saturating_add(strings.byte_len());
        self.reserve(strings.len(), more)?;
        let StringBuffer { offsets, bytes } = &mut self.0;
        for pair in strings.offsets.windows(2) {
            append_part(bytes, strings.bytes, pair[0], pair[1]);
            bytes.extend_from_slice(suffix);
            offsets.push(bytes.len());
        }
        Ok(())
    }

    /// Reserves memory for `strings` more strings of `bytes` bytes in total.
    #[cfg(feature = "strings")]
    fn reserve(&mut self, strings: usize, bytes: usize) -> Result<()> {
        let StringBuffer { offsets, bytes: present } = &mut self.0;
        let bytes = bytes.saturating_add(BLOCK);
        present.try_reserve(bytes).map_err(|_| out_of_memory(bytes))?;
        offsets.try_reserve(strings).map_err(|_| out_of_memory(strings.saturating_mul(size_of::<usize>())))
    }

    /// Removes all strings, and keeps their memory.
    #[cfg(feature = "strings")]
    pub(crate) fn clear(&mut self) {
        self.0.offsets.truncate(1);
        self.0.bytes.clear();
    }

    /// Returns the finished strings.
    #[cfg(feature = "strings")]
    pub(crate) fn strings(&self) -> Strings<'_> {
        self.0.view()
    }

    /// Makes the tensor of these sizes, row-major.
    ///
    /// # Errors
    /// `Shape`: the number of strings is not the product of the sizes, or [`StringsBuilder::append`] added bytes after
    /// the last [`StringsBuilder::end`].
    #[track_caller]
    pub fn finish(self, sizes: &[usize]) -> Result<Tensor> {
        at_caller(|| {
            let open = self.0.bytes.len() - self.0.offsets.last().copied().unwrap_or(0);
            if open > 0 {
                let message = format!(
                    "StringsBuilder::end must follow the last append, got {open} of an unfinished string",
                    open = counted(open, "byte")
                );
                return Err(Error::new(ErrorKind::Shape, Phase::Run, message));
            }
            check_count(sizes, self.len())?;
            let storage = Storage::of_strings(self.0);
            Ok(Tensor { dtype: DType::String, layout: Layout::row_major(sizes)?, storage })
        })
    }
}

/// The bytes of a block, which [`append_part`] copies at once.
#[cfg(feature = "strings")]
const BLOCK: usize = 16;

/// Appends `source[start..end]`. A short part is copied as a block of a fixed size, which takes two instructions; a
/// copy of any other size calls a function.
#[cfg(feature = "strings")]
fn append_part(bytes: &mut Vec<u8>, source: &[u8], start: usize, end: usize) {
    match source[start..].first_chunk::<BLOCK>() {
        Some(block) if end - start <= BLOCK => {
            let len = bytes.len() + (end - start);
            bytes.extend_from_slice(block);
            bytes.truncate(len);
        }
        _ => bytes.extend_from_slice(&source[start..end]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_builder_counts_its_strings() {
        let mut builder = StringsBuilder::with_capacity(2, 3).unwrap();
        assert!(builder.is_empty());
        builder.push(b"abc").unwrap();
        builder.push(b"").unwrap();
        assert_eq!(builder.len(), 2);
        assert_eq!(builder.finish(&[3]).unwrap_err().kind(), ErrorKind::Shape);
    }

    #[test]
    fn the_last_string_must_be_finished() {
        let mut builder = StringsBuilder::new();
        builder.push(b"a").unwrap();
        builder.append(b"bc").unwrap();
        let error = builder.finish(&[1]).unwrap_err();
        assert!(error.message().ends_with("got 2 bytes of an unfinished string"), "{error}");
    }
}
