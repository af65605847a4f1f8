//! [`OutputBuffer`]: the caller's memory for a result.

use shapeflow_shape_fns::DType;
use smallvec::SmallVec;

use crate::error::{Error, ErrorKind, Phase, Result};
use crate::tensor::{Tensor, TensorViewMut, same_sizes};

/// The caller's memory for every result.
pub(super) type OutputBuffers<'m> = SmallVec<[OutputBuffer<'m>; 4]>;

/// The caller's memory for one result.
pub(super) struct OutputBuffer<'m> {
    dtype: DType,
    sizes: &'m [usize],
    /// `None` after a step took the memory or [`OutputBuffer::fill`] filled it.
    memory: Option<TensorViewMut<'m>>,
}

impl<'m> OutputBuffer<'m> {
    pub(super) fn new(view: &'m mut TensorViewMut<'_>) -> OutputBuffer<'m> {
        let (dtype, sizes) = (view.dtype(), view.sizes());
        OutputBuffer { dtype, sizes, memory: Some(view.reborrow()) }
    }

    /// Returns whether the memory is for a result of this dtype and these sizes.
    pub(super) fn fits(&self, dtype: DType, sizes: &[usize]) -> bool {
        self.dtype == dtype && same_sizes(self.sizes, sizes)
    }

    pub(super) fn sizes(&self) -> &'m [usize] {
        self.sizes
    }

    /// Returns whether a step took the memory or [`OutputBuffer::fill`] filled it.
    pub(super) fn is_taken(&self) -> bool {
        self.memory.is_none()
    }

    /// Takes the memory, so that a step can store the result in it. Returns `None` if the memory was taken before, or
    /// if the memory is for strings: no step stores strings.
    pub(super) fn take(&mut self) -> Option<&'m mut [u8]> {
        self.memory.take_if(|_| self.dtype != DType::String)?.into_bytes()
    }

    /// Returns the memory, unless it is taken.
    pub(super) fn view(&mut self) -> Option<TensorViewMut<'_>> {
        self.memory.as_mut().map(TensorViewMut::reborrow)
    }

    /// Copies result `number` into the memory. The memory must not be taken.
    ///
    /// # Errors
    /// The result has another dtype or other sizes.
    pub(super) fn fill(&mut self, number: usize, tensor: &Tensor) -> Result<()> {
        self.check(number, tensor.dtype(), tensor.sizes())?;
        self.memory.take().expect("the memory of a result is filled once").copy_from(tensor.view())
    }

    /// Copies the bytes of result `number`, as [`OutputBuffer::fill`] does.
    ///
    /// # Errors
    /// The result has another dtype or other sizes.
    pub(super) fn fill_bytes(
        &mut self,
        number: usize,
        dtype: DType,
        sizes: &[usize],
        bytes: &[u8],
    ) -> Result<()> {
        self.check(number, dtype, sizes)?;
        let memory = self.take().expect("the memory of a result is filled once");
        memory.copy_from_slice(&bytes[..memory.len()]);
        Ok(())
    }

    /// Checks that the memory is for a result of this dtype and these sizes.
    ///
    /// # Errors
    /// The memory is for another dtype or for other sizes.
    pub(super) fn check(&self, number: usize, dtype: DType, sizes: &[usize]) -> Result<()> {
        if self.fits(dtype, sizes) {
            return Ok(());
        }
        let got = format!("{}{:?}", self.dtype, self.sizes);
        let message = format!("output {number} must be {dtype}{sizes:?}, got memory for {got}");
        Err(Error::new(ErrorKind::Feed, Phase::Run, message).with_misfit(number, sizes))
    }
}
