//! The elements of a view, one by one.

use super::datum::Datum;
use super::layout::Offsets;
use super::view::{TensorView, ViewData};

impl<'a> TensorView<'a> {
    /// Returns the bytes of each element in row-major order.
    pub(super) fn elements(&self) -> impl Iterator<Item = &'a [u8]> + use<'a, '_> {
        let data = self.data;
        Offsets::new(&self.sizes, self.strides.as_deref(), self.first())
            .map(move |offset| data.element(offset))
    }

    /// Returns the offset of the element at index zero.
    fn first(&self) -> usize {
        match self.data {
            ViewData::Bytes { first, .. } => first,
            ViewData::Strings(_) | ViewData::Lists(_) => 0,
        }
    }

    /// Returns the value of each element in row-major order.
    pub(super) fn datums(&self) -> impl Iterator<Item = Datum<'a>> + use<'a, '_> {
        let dtype = self.dtype;
        self.elements().map(move |bytes| Datum::read(dtype, bytes))
    }

    /// Returns the value of the element at an index; `None` outside the sizes.
    pub(super) fn datum(&self, index: &[i64]) -> Option<Datum<'a>> {
        self.element_at(index).map(|bytes| Datum::read(self.dtype, bytes))
    }

    /// Returns the bytes of the element at an index; `None` outside the sizes.
    pub(crate) fn element_at(&self, index: &[i64]) -> Option<&'a [u8]> {
        if index.len() != self.sizes.len() {
            return None;
        }
        let mut linear = 0;
        let mut offset = self.first();
        for (axis, (position, size)) in index.iter().zip(&self.sizes).enumerate() {
            let position = usize::try_from(*position).ok().filter(|position| position < size)?;
            match &self.strides {
                Some(strides) => offset = offset.wrapping_add_signed(position as isize * strides[axis]),
                None => linear = linear * size + position,
            }
        }
        Some(self.data.element(offset + linear))
    }

    /// Returns the bytes of element number `linear` of a row-major view; `None` past the end.
    pub(crate) fn element(&self, linear: usize) -> Option<&'a [u8]> {
        debug_assert!(self.is_row_major(), "elements are numbered in row-major views only");
        (linear < self.len).then(|| self.data.element(linear))
    }

    /// Returns whether element number `linear` of a row-major view equals element number `number` of `other`, a
    /// row-major view of the same dtype. NaN equals nothing, and -0 equals 0.
    pub(crate) fn equals_at(&self, linear: usize, other: &TensorView<'_>, number: usize) -> bool {
        let ours = self.element(linear).map(|bytes| Datum::read(self.dtype, bytes));
        ours == other.element(number).map(|bytes| Datum::read(other.dtype, bytes))
    }
}
