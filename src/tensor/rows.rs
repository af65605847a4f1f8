//! Rows: the parts of a tensor along its first axis.

use std::ops::Range;

use super::TensorView;
use super::view::ViewData;

impl<'a> TensorView<'a> {
    /// Returns row `number` of a row-major view of rank 1 or more.
    ///
    /// # Panics
    /// The view has no such row, or is strided.
    pub(crate) fn row(&self, number: usize) -> TensorView<'a> {
        let row = self.rows(number..number + 1);
        TensorView { sizes: self.sizes[1..].into(), ..row }
    }

    /// Returns consecutive rows of a row-major view of rank 1 or more.
    ///
    /// # Panics
    /// The view does not have all these rows, or is strided.
    pub(crate) fn rows(&self, rows: Range<usize>) -> TensorView<'a> {
        assert!(self.strides.is_none(), "rows are contiguous in row-major views only");
        assert!(rows.start <= rows.end && rows.end <= self.sizes[0], "the view has {} rows", self.sizes[0]);
        let row = self.len.checked_div(self.sizes[0]).unwrap_or(0);
        let len = row * rows.len();
        let range = row * rows.start..row * rows.end;
        let data = match self.data {
            ViewData::Bytes { bytes, size, .. } => {
                ViewData::Bytes { bytes: &bytes[range.start * size..range.end * size], first: 0, size }
            }
            ViewData::Strings(strings) => ViewData::Strings(strings.slice(range)),
            ViewData::Lists(lists) => ViewData::Lists(&lists[range]),
        };
        let mut sizes = self.sizes.clone();
        sizes[0] = rows.len();
        TensorView { dtype: self.dtype, sizes, strides: None, len, data, role: self.role }
    }
}

impl super::Tensor {
    /// Joins the elements of tensors, one after the other, to a tensor of these sizes. The tensors have the dtype of
    /// the result, and together the number of its elements.
    ///
    /// # Errors
    /// `Memory`: an allocation fails.
    pub(crate) fn joined(
        dtype: shapeflow_shape_fns::DType,
        sizes: &[usize],
        parts: &[TensorView<'_>],
    ) -> crate::error::Result<super::Tensor> {
        if dtype == shapeflow_shape_fns::DType::Variant {
            let lists = parts.iter().flat_map(|part| match part.data {
                ViewData::Lists(lists) => lists,
                _ => &[],
            });
            return super::Tensor::from_lists(sizes, &lists.cloned().collect::<Vec<_>>());
        }
        if dtype.size_bytes().is_none() {
            let parts = parts.iter().map(TensorView::as_strings).collect::<crate::error::Result<Vec<_>>>()?;
            let (count, bytes) = parts
                .iter()
                .fold((0, 0), |(count, bytes), part| (count + part.len(), bytes + part.byte_len()));
            let mut strings = super::StringsBuilder::with_capacity(count, bytes)?;
            parts.into_iter().try_for_each(|part| strings.push_all(part))?;
            return strings.finish(sizes);
        }
        let mut tensor = super::Tensor::zeros(dtype, sizes)?;
        let mut view = tensor.view_mut()?;
        let mut rest = view.bytes_mut();
        for part in parts {
            let bytes = part.bytes();
            let (first, others) = rest.split_at_mut(bytes.len());
            first.copy_from_slice(bytes);
            rest = others;
        }
        assert!(rest.is_empty(), "the parts have as many elements as the result");
        Ok(tensor)
    }
}
