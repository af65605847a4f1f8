//! [`Layout`]: sizes, row-major strides and the number of elements of a tensor.

use std::panic::Location;

use shapeflow_shape_fns::counted;
use smallvec::SmallVec;

use crate::error::{Error, ErrorKind, Phase, Result};

/// The sizes and strides (in elements) of a row-major tensor.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Layout {
    pub sizes: SmallVec<[usize; 4]>,
    pub strides: SmallVec<[isize; 4]>,
    /// The product of the sizes.
    pub len: usize,
}

impl Layout {
    /// Makes the layout of these sizes.
    ///
    /// # Errors
    /// `Shape`: the product of the sizes exceeds `isize::MAX`. In this product a zero counts as one, so that the
    /// strides fit too.
    pub(crate) fn row_major(sizes: &[usize]) -> Result<Layout> {
        let mut strides: SmallVec<[isize; 4]> = SmallVec::from_elem(0, sizes.len());
        let mut stride = 1isize;
        for (size, slot) in sizes.iter().zip(&mut strides).rev() {
            *slot = stride;
            stride = isize::try_from((*size).max(1))
                .ok()
                .and_then(|size| stride.checked_mul(size))
                .ok_or_else(|| too_many(sizes))?;
        }
        let len = if sizes.contains(&0) { 0 } else { stride.unsigned_abs() };
        Ok(Layout { sizes: SmallVec::from_slice(sizes), strides, len })
    }

    /// Returns the number of bytes of all elements, at `size` bytes each.
    ///
    /// # Errors
    /// `Shape`: the elements take more than `isize::MAX` bytes.
    pub(crate) fn byte_len(&self, size: usize) -> Result<usize> {
        byte_len(&self.sizes, self.len, size)
    }
}

/// Returns the number of bytes of `len` elements, at `size` bytes each. The number is at most `isize::MAX`.
///
/// # Errors
/// As [`Layout::byte_len`].
pub(crate) fn byte_len(sizes: &[usize], len: usize, size: usize) -> Result<usize> {
    len.checked_mul(size).filter(|bytes| isize::try_from(*bytes).is_ok()).ok_or_else(|| too_many(sizes))
}

/// Returns the number of elements, the product of the sizes.
///
/// # Errors
/// As [`Layout::row_major`].
pub(crate) fn count(sizes: &[usize]) -> Result<usize> {
    // A zero counts as one, so that this function refuses the same sizes as `Layout::row_major`.
    let product = sizes.iter().try_fold(1usize, |product, size| product.checked_mul((*size).max(1)));
    match product.filter(|product| isize::try_from(*product).is_ok()) {
        Some(_) if sizes.contains(&0) => Ok(0),
        Some(product) => Ok(product),
        None => Err(too_many(sizes)),
    }
}

/// Checks that `got` is the number of elements of these sizes.
///
/// # Errors
/// `Shape`: `got` is not the product of the sizes, or the product is too large.
#[track_caller]
pub(crate) fn check_count(sizes: &[usize], got: usize) -> Result<()> {
    let location = Location::caller();
    let needed = count(sizes).map_err(|error| error.or_at(location))?;
    if needed == got {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Shape,
        Phase::Run,
        format!("sizes {sizes:?} need {needed}, got {got}", needed = counted(needed, "element")),
    )
    .or_at(location))
}

/// Checks that `got` values, `per_element` for each element, fill these sizes. Returns the number of elements.
///
/// # Errors
/// As [`check_count`].
#[track_caller]
pub(crate) fn check_values(got: usize, per_element: usize, sizes: &[usize]) -> Result<usize> {
    let location = Location::caller();
    let needed = count(sizes).map_err(|error| error.or_at(location))?;
    if needed.checked_mul(per_element) == Some(got) {
        return Ok(needed);
    }
    let message = format!(
        "sizes {sizes:?} need {needed} × {per_element}, got {got}",
        per_element = counted(per_element, "value")
    );
    Err(Error::new(ErrorKind::Shape, Phase::Run, message).or_at(location))
}

/// Makes the error about sizes whose elements do not fit into memory.
fn too_many(sizes: &[usize]) -> Error {
    Error::new(
        ErrorKind::Memory,
        Phase::Run,
        format!("the elements must fit into memory, got sizes {sizes:?}"),
    )
}

/// Returns whether sizes are equal. `a == b` would call a function of the system for a few numbers. That function is slow
/// for the sizes of scalars, because it reads zero bytes at an address that is not mapped.
#[inline]
pub(crate) fn same_sizes(a: &[usize], b: &[usize]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a == b)
}

/// Returns the row-major strides of sizes whose product is known to fit into `isize`.
pub(crate) fn row_major_strides(sizes: &[usize]) -> SmallVec<[isize; 4]> {
    let mut strides: SmallVec<[isize; 4]> = SmallVec::from_elem(0, sizes.len());
    let mut stride = 1isize;
    for (size, slot) in sizes.iter().zip(&mut strides).rev() {
        *slot = stride;
        stride = stride.wrapping_mul(*size.max(&1) as isize);
    }
    strides
}

/// Returns the index, one number per axis, of element number `linear` in row-major order.
pub(crate) fn index_of(sizes: &[usize], linear: usize) -> Vec<usize> {
    let mut rest = linear;
    let mut index = vec![0; sizes.len()];
    for (size, slot) in sizes.iter().zip(&mut index).rev() {
        *slot = rest % (*size).max(1);
        rest /= (*size).max(1);
    }
    index
}

/// An iterator over the element offsets of a strided tensor, in row-major order.
pub(crate) struct Offsets<'a> {
    sizes: &'a [usize],
    strides: SmallVec<[isize; 4]>,
    /// The index of the next element.
    index: SmallVec<[usize; 4]>,
    /// The offset of the next element.
    next: isize,
    /// The number of elements still to come.
    remaining: usize,
}

impl<'a> Offsets<'a> {
    /// Starts at offset `first`, with one stride per size (`None`: row-major). All offsets must fit into `isize`.
    pub(crate) fn new(sizes: &'a [usize], strides: Option<&[isize]>, first: usize) -> Offsets<'a> {
        let strides = match strides {
            Some(strides) => SmallVec::from_slice(strides),
            None => row_major_strides(sizes),
        };
        let index = SmallVec::from_elem(0, sizes.len());
        Offsets { sizes, strides, index, next: first as isize, remaining: sizes.iter().product() }
    }
}

impl Iterator for Offsets<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        self.remaining = self.remaining.checked_sub(1)?;
        let offset = self.next;
        for ((size, stride), slot) in self.sizes.iter().zip(&self.strides).zip(&mut self.index).rev() {
            *slot += 1;
            self.next = self.next.wrapping_add(*stride);
            if *slot < *size {
                break;
            }
            self.next = self.next.wrapping_sub(stride.wrapping_mul(*size as isize));
            *slot = 0;
        }
        Some(offset as usize)
    }
}

/// Returns the place of an element in a tensor of these sizes, for messages: ` at [1, 2]`; empty for a scalar.
/// `position` is the row-major number of the element.
pub(crate) fn place_text(position: usize, sizes: &[usize]) -> String {
    match sizes {
        [] => String::new(),
        sizes => format!(" at {:?}", index_of(sizes, position)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strides_are_row_major_and_products_are_checked() {
        let layout = Layout::row_major(&[2, 3, 4]).unwrap();
        assert_eq!((&layout.strides[..], layout.len), (&[12, 4, 1][..], 24));
        assert_eq!(Layout::row_major(&[]).unwrap().len, 1);
        assert_eq!(Layout::row_major(&[usize::MAX >> 1, 0]).unwrap().len, 0);
        for sizes in [&[usize::MAX][..], &[1 << 40, 1 << 40], &[0, 1 << 40, 1 << 40]] {
            let error = Layout::row_major(sizes).err().expect("refused");
            assert_eq!(error.kind(), ErrorKind::Memory);
            assert!(count(sizes).is_err());
        }
        assert!(Layout::row_major(&[usize::MAX >> 2]).unwrap().byte_len(8).is_err());
    }

    #[test]
    fn offsets_follow_strides() {
        assert_eq!(Offsets::new(&[2, 3], Some(&[1, 2]), 0).collect::<Vec<_>>(), [0, 2, 4, 1, 3, 5]);
        assert_eq!(Offsets::new(&[3], Some(&[-1]), 2).collect::<Vec<_>>(), [2, 1, 0]);
        assert_eq!(Offsets::new(&[], None, 5).collect::<Vec<_>>(), [5]);
        assert_eq!(Offsets::new(&[2, 0], None, 0).count(), 0);
        assert_eq!(index_of(&[2, 3, 4], 23), [1, 2, 3]);
    }
}
