//! [`TensorView::with_strides`]: views with strides of the caller's choice.

use super::element::{self, Element};
use super::layout::{byte_len, count, row_major_strides};
use super::role::TensorRole;
use super::view::{TensorView, ViewData};
use crate::error::{Error, ErrorKind, Phase, Result, at_caller};

impl<'a> TensorView<'a> {
    /// Makes a view whose element at index `i` is `data[first + Σ i[axis]·strides[axis]]`. Strides count elements. A
    /// negative stride reverses an axis, and a zero stride repeats elements. A run that reads elements of a view with
    /// such strides copies the view; a run that needs only its sizes does not.
    ///
    /// # Errors
    /// `Shape`: the numbers of sizes and strides differ, an index leads outside `data`, or the elements do not fit into
    /// memory.
    #[track_caller]
    pub fn with_strides<T: Element>(
        sizes: &[usize],
        strides: &[isize],
        data: &'a [T],
        first: usize,
    ) -> Result<TensorView<'a>> {
        at_caller(|| {
            let len = count(sizes)?;
            byte_len(sizes, len, size_of::<T>())?;
            if sizes.len() != strides.len() {
                let message =
                    format!("there must be one stride per axis, got sizes {sizes:?} and strides {strides:?}");
                return Err(Error::new(ErrorKind::Shape, Phase::Run, message));
            }
            let (mut low, mut high) = (first as i128, first as i128);
            for (size, stride) in sizes.iter().zip(strides).filter(|_| len != 0) {
                let reach = (*size as i128 - 1) * *stride as i128;
                low += reach.min(0);
                high += reach.max(0);
            }
            if len != 0 && (low < 0 || high >= data.len() as i128) {
                let message = format!(
                    "every offset must be below {}, the length of the data; sizes {sizes:?} with strides {strides:?} \
                     from {first} lead to offsets {low}..={high}",
                    data.len()
                );
                return Err(Error::new(ErrorKind::Shape, Phase::Run, message));
            }
            let plain = sizes
                .iter()
                .zip(strides)
                .zip(row_major_strides(sizes))
                .all(|((size, stride), row_major)| *size == 1 || *stride == row_major);
            let bytes = element::as_bytes(data);
            let size = size_of::<T>();
            let (data, strides) = if len == 0 {
                (ViewData::Bytes { bytes: &[], first: 0, size }, None)
            } else if plain {
                let bytes = &bytes[first * size..(first + len) * size];
                (ViewData::Bytes { bytes, first: 0, size }, None)
            } else {
                (ViewData::Bytes { bytes, first, size }, Some(strides.into()))
            };
            Ok(TensorView {
                dtype: T::DTYPE,
                sizes: sizes.into(),
                strides,
                len,
                data,
                role: TensorRole::default(),
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strides_are_checked_and_followed() {
        let data = [1i32, 2, 3, 4, 5, 6];
        let transposed = TensorView::with_strides(&[3, 2], &[1, 3], &data, 0).unwrap();
        assert_eq!(transposed.to_vec::<i32>().unwrap(), [1, 4, 2, 5, 3, 6]);
        assert!(transposed.as_slice::<i32>().is_err() && !transposed.is_row_major());
        let reversed = TensorView::with_strides(&[6], &[-1], &data, 5).unwrap();
        assert_eq!(reversed.to_tensor().unwrap().as_slice::<i32>().unwrap(), [6, 5, 4, 3, 2, 1]);
        assert_eq!(reversed.bytes().len(), 24);
        let repeated = TensorView::with_strides(&[2, 2], &[0, 1], &data, 4).unwrap();
        assert_eq!(transposed.element_at(&[2, 1]), Some(&6i32.to_ne_bytes()[..]));
        assert_eq!([transposed.element_at(&[3, 0]), transposed.element_at(&[0, -1])], [None; 2]);
        assert_eq!(repeated.to_vec::<i32>().unwrap(), [5, 6, 5, 6]);
        let plain = TensorView::with_strides(&[1, 2, 2], &[-9, 2, 1], &data, 1).unwrap();
        assert_eq!(plain.as_slice::<i32>().unwrap(), [2, 3, 4, 5]);
        let one = TensorView::with_strides(&[1], &[-7], &data, 3).unwrap();
        assert_eq!(one.item::<i32>().unwrap(), 4);
        assert!(TensorView::with_strides(&[0, 9], &[5, 5], &data, 99).unwrap().is_empty());
        for (sizes, strides, first) in [
            (&[2][..], &[6][..], 0),
            (&[2], &[-1], 0),
            (&[2], &[isize::MAX], 1),
            (&[2, 2], &[1], 0),
            (&[1], &[0], 6),
        ] {
            let error = TensorView::with_strides(sizes, strides, &data, first).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Shape);
        }
        let too_many = TensorView::with_strides(&[usize::MAX], &[0], &data, 0).unwrap_err();
        assert_eq!(too_many.kind(), ErrorKind::Memory);
    }
}
