//! [`Memory`]: the buffers of a run.

use std::borrow::Cow;
use std::marker::PhantomData;

use super::workspace::ensure_capacity;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::lower::kernel::BufferIx;
use crate::lower::plan::BufferUse;
use crate::tensor::{Buffer, Tensor, TensorViewMut};

/// The bytes of a buffer.
#[derive(Clone, Copy)]
struct ByteRegion {
    /// Null if the buffer has no bytes yet; never null for a buffer of zero bytes.
    address: *mut u8,
    len: usize,
    writable: bool,
    /// The index in [`MemoryTables::held`] of the tensor that owns the bytes, if `MemoryTables::held` has this tensor.
    held: Option<u32>,
}

/// The buffers of a run, by number. The bytes of a buffer are borrowed from the caller, or belong to a tensor in
/// [`MemoryTables::held`], or lie in the arena.
///
/// Several buffers may share bytes. The plan ensures that these buffers are not in use at the same time, or that a
/// kernel reads each element of one buffer before the kernel stores the same element of the other buffer.
///
/// A `Memory<'static>` borrows nothing from a caller: it holds all its tensors.
///
/// Invariant: while `self` lives, every address is valid for reads of its bytes, and for writes if it is writable;
/// nothing else accesses these bytes.
pub(crate) struct Memory<'a> {
    /// Boxed, because a run moves its memory several times.
    tables: Box<MemoryTables>,
    /// For each buffer: the buffer that owns its bytes. A buffer that is not a view of another buffer owns its bytes
    /// itself.
    roots: Cow<'a, [BufferIx]>,
    borrowed: PhantomData<&'a mut [u8]>,
}

/// The tables of a [`Memory`].
#[derive(Default)]
struct MemoryTables {
    /// For each buffer: its bytes.
    regions: Vec<ByteRegion>,
    arena: Option<Buffer>,
    /// The tensors that own the bytes of buffers; `None` for a tensor that was taken.
    held: Vec<Option<Tensor>>,
}

/// The allocations of a finished run, for the next run; none before the first run.
///
/// Invariant: `regions` and `held` are empty.
#[derive(Default)]
pub(crate) struct RetainedMemory(Option<Box<MemoryTables>>);

// SAFETY: `regions` is empty, so there are no pointers.
unsafe impl Send for RetainedMemory {}
// SAFETY: as above.
unsafe impl Sync for RetainedMemory {}

// SAFETY: the pointers stand for borrows and owned buffers, which may be sent and shared. The threads of one launch
// store to different elements: the plan and the chunking ensure this.
unsafe impl Send for Memory<'_> {}
// SAFETY: as above.
unsafe impl Sync for Memory<'_> {}

const ABSENT: ByteRegion = ByteRegion { address: std::ptr::null_mut(), len: 0, writable: false, held: None };

impl ByteRegion {
    fn readable(bytes: &[u8]) -> ByteRegion {
        ByteRegion { address: bytes.as_ptr().cast_mut(), len: bytes.len(), ..ABSENT }
    }

    fn writable(address: *mut u8, len: usize) -> ByteRegion {
        ByteRegion { address, len, writable: true, held: None }
    }

    fn is_absent(&self) -> bool {
        self.address.is_null()
    }
}

impl<'a> Memory<'a> {
    /// Makes a memory in which no buffer has bytes yet. The memory reuses the allocations of an earlier run.
    pub(crate) fn new(roots: Cow<'a, [BufferIx]>, retained: RetainedMemory) -> Memory<'a> {
        let mut tables = retained.0.unwrap_or_default();
        tables.regions.clear();
        tables.regions.resize(roots.len(), ABSENT);
        Memory { tables, roots, borrowed: PhantomData }
    }

    fn region(&self, buffer: BufferIx) -> ByteRegion {
        self.tables.regions[self.roots[buffer.index()].index()]
    }

    /// Returns whether a buffer has bytes.
    pub(crate) fn has(&self, buffer: BufferIx) -> bool {
        !self.region(buffer).is_absent()
    }

    /// Returns the allocations, for the next run. Tensors that are still held are dropped.
    pub(crate) fn retain(mut self) -> RetainedMemory {
        self.tables.regions.clear();
        self.tables.held.clear();
        RetainedMemory(Some(self.tables))
    }

    /// Borrows bytes of the caller as the bytes of a buffer, to read.
    pub(crate) fn borrow_bytes(&mut self, buffer: BufferIx, bytes: &'a [u8]) {
        self.tables.regions[buffer.index()] = ByteRegion::readable(bytes);
    }

    /// Borrows bytes of the caller as the bytes of a buffer, to read and write.
    pub(crate) fn borrow_bytes_mut(&mut self, buffer: BufferIx, bytes: &'a mut [u8]) {
        self.tables.regions[buffer.index()] = ByteRegion::writable(bytes.as_mut_ptr(), bytes.len());
    }

    /// Gives a buffer the elements of `tensor` to read.
    pub(crate) fn hold(&mut self, buffer: BufferIx, tensor: Tensor) {
        let (address, len) = tensor.raw_bytes();
        self.keep(buffer, ByteRegion { address, len, ..ABSENT }, tensor);
    }

    fn keep(&mut self, buffer: BufferIx, region: ByteRegion, tensor: Tensor) {
        let index = u32::try_from(self.tables.held.len()).expect("buffers are numbered by u32");
        self.tables.regions[buffer.index()] = ByteRegion { held: Some(index), ..region };
        self.tables.held.push(Some(tensor));
    }

    /// Gives a buffer the elements of `tensor` to read and write. [`Memory::take`] returns the tensor.
    ///
    /// # Errors
    /// The tensor is shared, and memory for a copy is refused.
    pub(crate) fn hold_mut(&mut self, buffer: BufferIx, mut tensor: Tensor) -> Result<()> {
        tensor.view_mut()?;
        let (address, len) = tensor.raw_bytes();
        self.keep(buffer, ByteRegion::writable(address, len), tensor);
        Ok(())
    }

    /// Borrows the tensor of a buffer for writing, at its present address. Panics unless the memory holds the tensor
    /// and no other tensor shares its elements.
    pub(crate) fn view_mut(&mut self, buffer: BufferIx) -> TensorViewMut<'_> {
        let index =
            self.tables.regions[buffer.index()].held.expect("the memory holds the tensor of the buffer");
        let tensor = self.tables.held[index as usize].as_mut();
        let tensor = tensor.expect("taking a tensor removes the region that names it");
        tensor.unshared_view_mut().expect("the memory holds the only tensor with these elements")
    }

    /// Copies the bytes of `source` to `target`. Panics unless both buffers have the same length, and `target` is as
    /// [`Memory::view_mut`] requires.
    pub(crate) fn copy(&mut self, source: BufferIx, target: BufferIx) {
        let source = self.region(source);
        assert!(!source.is_absent(), "the source of a copy has bytes");
        let mut view = self.view_mut(target);
        let bytes = view.bytes_mut();
        assert_eq!(bytes.len(), source.len, "a copy needs two buffers of one length");
        // SAFETY: the invariant, for `source`; `bytes` is a slice of the target. `copy` allows the two to overlap.
        unsafe { std::ptr::copy(source.address, bytes.as_mut_ptr(), bytes.len()) };
    }

    /// Takes the tensor that owns a buffer's bytes, if the memory holds it. The buffer has no bytes afterwards.
    pub(crate) fn take(&mut self, buffer: BufferIx) -> Option<Tensor> {
        let region = &mut self.tables.regions[buffer.index()];
        let index = region.held?;
        *region = ABSENT;
        let tensor = self.tables.held[index as usize].take();
        Some(tensor.expect("taking a tensor removes the region that names it"))
    }

    /// Returns the tensor that owns a buffer's bytes, if the memory holds it.
    pub(crate) fn held(&self, buffer: BufferIx) -> Option<&Tensor> {
        let index = self.tables.regions[buffer.index()].held?;
        Some(
            self.tables.held[index as usize]
                .as_ref()
                .expect("taking a tensor removes the region that names it"),
        )
    }

    /// Returns the bytes of the tensors that the memory holds.
    pub(crate) fn held_bytes(&self) -> usize {
        let held = self.tables.held.iter().flatten();
        held.fold(0, |bytes: usize, tensor| bytes.saturating_add(tensor.element_bytes()))
    }

    /// Makes the arena at least `bytes` long, and gives each buffer a part of it. `buffers` lists
    /// `(buffer, offset, length)`; each part must lie in the first `bytes` bytes. A buffer that had a part of the arena
    /// before and is not in `buffers` has no bytes afterwards.
    ///
    /// # Errors
    /// Memory is refused.
    pub(crate) fn place(&mut self, bytes: usize, buffers: &[(BufferIx, usize, usize)]) -> Result<()> {
        let MemoryTables { regions, arena, .. } = &mut *self.tables;
        if let Some(arena) = arena {
            let old = arena.as_ptr() as usize..arena.as_ptr() as usize + arena.len();
            for region in &mut *regions {
                if old.contains(&(region.address as usize)) {
                    *region = ABSENT;
                }
            }
        }
        if bytes == 0 {
            for &(buffer, _, len) in buffers {
                assert_eq!(len, 0, "a buffer in an empty arena must be empty");
                // Null stands for a buffer without bytes, so the address is not null.
                let address = std::ptr::NonNull::<u128>::dangling().as_ptr().cast();
                regions[buffer.index()] = ByteRegion::writable(address, 0);
            }
            return Ok(());
        }
        let arena = ensure_capacity(arena, bytes)?;
        for &(buffer, offset, len) in buffers {
            let fits = offset.checked_add(len).is_some_and(|end| end <= arena.len());
            assert!(fits, "the arena of {bytes} bytes has no {len} bytes at {offset} for {buffer}");
            // SAFETY: the offset lies within the arena.
            let address = unsafe { arena.as_ptr().add(offset) };
            regions[buffer.index()] = ByteRegion::writable(address, len);
        }
        Ok(())
    }

    /// Gives a buffer the bytes of `owner`, until the tensor of `owner` is taken. The plan ensures that `buffer` and
    /// `owner` are not in use at the same time.
    pub(crate) fn share(&mut self, buffer: BufferIx, owner: BufferIx) {
        self.tables.regions[buffer.index()] = ByteRegion { held: None, ..self.tables.regions[owner.index()] };
    }

    /// Returns the bytes of a buffer. The buffer must have bytes: see [`Memory::has`].
    pub(crate) fn bytes(&self, buffer: BufferIx) -> &[u8] {
        let region = self.region(buffer);
        assert!(!region.is_absent(), "buffer {buffer} has no bytes yet");
        // SAFETY: the invariant. Stores need `&mut self` or happen inside a launch, which has returned. Arenas start
        // initialized.
        unsafe { std::slice::from_raw_parts(region.address, region.len) }
    }

    /// Returns the bytes of a buffer to read, and the bytes of another buffer to write. Panics if `from` has no bytes:
    /// see [`Memory::has`].
    ///
    /// # Errors
    /// `to` has no bytes or is read-only, or the buffers share bytes. Both are internal errors.
    pub(crate) fn bytes_to_read_and_write(
        &mut self,
        from: BufferIx,
        to: BufferIx,
    ) -> Result<(&[u8], &mut [u8])> {
        for (buffer, stored) in [(from, false), (to, true)] {
            self.check(&BufferUse { buffer, bytes: self.region(buffer).len, stored })?;
        }
        let (source, target) = (self.bytes(from), self.region(to));
        let (read, written) = (source.as_ptr() as usize, target.address as usize);
        if read < written + target.len && written < read + source.len() {
            let message = format!("internal error: the plan gives {from} and {to} the same memory");
            return Err(Error::new(ErrorKind::Internal, Phase::Run, message));
        }
        // SAFETY: `check` found the target writable, so it is not absent. By the invariant, its bytes are valid for
        // writes. `source` shares none of them, and both slices borrow `self` exclusively. Arenas start initialized.
        Ok((source, unsafe { std::slice::from_raw_parts_mut(target.address, target.len) }))
    }

    pub(super) fn address(&self, buffer: BufferIx) -> usize {
        self.region(buffer).address as usize
    }

    /// Checks that a buffer is what the plan needs.
    ///
    /// # Errors
    /// The buffer has too few bytes, or is read-only and stored to.
    pub(super) fn check(&self, used: &BufferUse) -> Result<()> {
        let region = self.region(used.buffer);
        if region.len >= used.bytes
            && (region.writable || !used.stored)
            && (!region.is_absent() || used.bytes == 0)
        {
            Ok(())
        } else {
            Err(unfit_error(region, used))
        }
    }
}

/// The internal error of a buffer that is not what the plan needs.
#[cold]
fn unfit_error(region: ByteRegion, used: &BufferUse) -> Error {
    let access = |writable: bool| if writable { "writable" } else { "readable" };
    let message = format!(
        "internal error: the plan needs {} {} bytes in buffer {}, which has {} {}",
        used.bytes,
        access(used.stored),
        used.buffer,
        region.len,
        access(region.writable),
    );
    Error::new(ErrorKind::Internal, Phase::Run, message)
}
