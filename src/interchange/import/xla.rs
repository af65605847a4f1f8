//! Imports ops of XLA that Keras writes outside of compiled functions.

use super::built::{Built, ImportedValue};
use super::frame::damaged;
use super::importer::Importer;
use crate::error::Result;
use crate::{DType, SliceMasks};

impl<'a, 'g> Importer<'a, 'g> {
    /// Imports an `XlaDynamicUpdateSlice`: a tensor with other elements in a box. The box has the sizes of the update.
    /// It begins at the indices, and is moved into the tensor if it reaches outside. The caches of Keras models are
    /// written so.
    pub(super) fn dynamic_update_slice(&self, name: &str, inputs: &[ImportedValue<'g>]) -> Result<Built<'g>> {
        let [x, update, indices] = inputs else {
            return damaged("an XlaDynamicUpdateSlice must have 3 inputs".to_string());
        };
        let (x, update) = (x.value, update.value);
        let sizes = update.shape_tensor()?;
        let last = x.shape_tensor()?.sub(sizes)?;
        let begin = indices.value.cast(DType::I64)?.maximum(0i64)?.minimum(last)?;
        let ones = sizes.ones_like()?;
        let y = x.strided_slice_update(begin, begin.add(sizes)?, ones, update, SliceMasks::default())?;
        Ok(Built::of(vec![y.named(name)]))
    }
}
