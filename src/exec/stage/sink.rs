//! `Sink`: memory of the caller for a result.

use crate::error::{Error, ErrorKind, Phase, Result};
use crate::tensor::{Tensor, TensorViewMut};
use shapeflow_shape_fns::DType;
use smallvec::SmallVec;

/// Memory of the caller for every result.
pub(crate) type Sinks<'m> = SmallVec<[Sink<'m>; 4]>;

/// Memory of the caller for one result.
pub(crate) struct Sink<'m> {
    pub(super) dtype: DType,
    pub(super) sizes: &'m [usize],
    pub(super) bytes: Option<&'m mut [u8]>,
}

impl<'m> Sink<'m> {
    pub(crate) fn new(view: &'m mut TensorViewMut<'_>) -> Sink<'m> {
        let (dtype, sizes) = (view.dtype(), view.sizes());
        Sink { dtype, sizes, bytes: Some(view.bytes_mut()) }
    }
}

impl Sink<'_> {
    /// The memory, unless it has been taken.
    pub(super) fn view(&mut self) -> Option<TensorViewMut<'_>> {
        let bytes = self.bytes.as_deref_mut()?;
        Some(TensorViewMut::of_view(self.dtype, self.sizes, bytes))
    }

    /// Copies result `number` into the memory.
    pub(crate) fn fill(mut self, number: usize, tensor: &Tensor) -> Result<()> {
        self.check(number, tensor.dtype(), tensor.sizes())?;
        if let Some(bytes) = self.bytes.take() {
            bytes.copy_from_slice(tensor.view().bytes());
        }
        Ok(())
    }

    pub(super) fn check(&self, number: usize, dtype: DType, sizes: &[usize]) -> Result<()> {
        if self.dtype == dtype && self.sizes == sizes {
            return Ok(());
        }
        let got = format!("{}{:?}", self.dtype, self.sizes);
        let message = format!("output {number} must be {dtype}{sizes:?}, got memory for {got}");
        Err(Error::new(ErrorKind::Feed, Phase::Run, message))
    }
}
