//! `Memory`: the buffers of a run, lent for as long as it takes.

use std::marker::PhantomData;

use crate::error::{Error, ErrorKind, Phase, Result};
use crate::lower::kernel::BufferIx;
use crate::lower::plan::BufferUse;
use crate::tensor::{Buffer, Tensor};

#[derive(Clone, Copy)]
struct Region {
    address: *mut u8,
    len: usize,
    writable: bool,
    /// Its place among the tensors that are held, if it is one of them.
    held: Option<u32>,
}

/// The buffers of a run by number: lent by the caller, held here, or placed in an arena. Several may share bytes
/// of the arena: the plan sees to it that they are not in use at the same time, or that a kernel reads every element of
/// the one before it stores the same of the other.
///
/// Invariant: every address is valid for its bytes while `self` lives, and for writing where it says so; nothing
/// else touches these bytes meanwhile.
pub(crate) struct Memory<'a> {
    regions: Vec<Region>,
    /// The buffer whose bytes each buffer has: itself, or the one it is another view of.
    roots: &'a [BufferIx],
    arena: Option<Buffer>,
    held: Vec<Option<Tensor>>,
    lent: PhantomData<&'a mut [u8]>,
}

/// Memory that runs hand on to each other.
///
/// Invariant: no region outlives its run.
#[derive(Default)]
pub(crate) struct Left {
    arena: Option<Buffer>,
    regions: Vec<Region>,
    held: Vec<Option<Tensor>>,
}

// SAFETY: there are no regions between runs.
unsafe impl Send for Left {}
// SAFETY: as above.
unsafe impl Sync for Left {}

// SAFETY: the pointers stand for borrows and owned buffers that may be sent and shared; threads of one launch
// store to different elements, as the plan and the split into parts ensure.
unsafe impl Send for Memory<'_> {}
// SAFETY: as above.
unsafe impl Sync for Memory<'_> {}

const NOWHERE: Region = Region { address: std::ptr::null_mut(), len: 0, writable: false, held: None };

impl Region {
    fn read(bytes: &[u8]) -> Region {
        Region { address: bytes.as_ptr().cast_mut(), len: bytes.len(), ..NOWHERE }
    }

    fn written(address: *mut u8, len: usize) -> Region {
        Region { address, len, writable: true, held: None }
    }
}

impl<'a> Memory<'a> {
    /// Buffers that are nowhere yet, with what is left of an earlier run.
    pub(crate) fn new(roots: &'a [BufferIx], left: Left) -> Memory<'a> {
        let Left { arena, mut regions, held } = left;
        regions.clear();
        regions.resize(roots.len(), NOWHERE);
        Memory { regions, roots, arena, held, lent: PhantomData }
    }

    fn region(&self, buffer: BufferIx) -> Region {
        self.regions[self.roots[buffer.at()].at()]
    }

    /// Whether a buffer has bytes.
    pub(crate) fn has(&self, buffer: BufferIx) -> bool {
        !self.region(buffer).address.is_null()
    }

    /// What the next run may use again.
    pub(crate) fn leave(mut self) -> Left {
        self.regions.clear();
        self.held.clear();
        Left { arena: self.arena, regions: self.regions, held: self.held }
    }

    /// A buffer that is only read.
    pub(crate) fn lend(&mut self, buffer: BufferIx, bytes: &'a [u8]) {
        self.regions[buffer.at()] = Region::read(bytes);
    }

    /// A buffer that may be written.
    pub(crate) fn lend_mut(&mut self, buffer: BufferIx, bytes: &'a mut [u8]) {
        self.regions[buffer.at()] = Region::written(bytes.as_mut_ptr(), bytes.len());
    }

    /// A tensor that is only read.
    pub(crate) fn hold(&mut self, buffer: BufferIx, tensor: Tensor) {
        let region = Region::read(tensor.view().bytes());
        self.keep(buffer, region, tensor);
    }

    fn keep(&mut self, buffer: BufferIx, region: Region, tensor: Tensor) {
        self.regions[buffer.at()] = Region { held: u32::try_from(self.held.len()).ok(), ..region };
        self.held.push(Some(tensor));
    }

    /// A new tensor that is written, until [`Memory::take`].
    pub(crate) fn hold_mut(&mut self, buffer: BufferIx, mut tensor: Tensor) -> Result<()> {
        let mut view = tensor.view_mut()?;
        let bytes = view.bytes_mut();
        let region = Region::written(bytes.as_mut_ptr(), bytes.len());
        self.keep(buffer, region, tensor);
        Ok(())
    }

    /// The tensor that a buffer is held in.
    pub(crate) fn take(&mut self, buffer: BufferIx) -> Option<Tensor> {
        let region = &mut self.regions[buffer.at()];
        let held = region.held?;
        *region = NOWHERE;
        self.held.get_mut(held as usize)?.take()
    }

    /// The same tensor, which stays.
    pub(crate) fn held(&self, buffer: BufferIx) -> Option<&Tensor> {
        self.held.get(self.regions[buffer.at()].held? as usize)?.as_ref()
    }

    /// Places these buffers in the arena, each at an offset with a length; those placed before are gone.
    pub(crate) fn place(&mut self, bytes: usize, buffers: &[(BufferIx, usize, usize)]) -> Result<()> {
        if let Some(arena) = &self.arena {
            let old = arena.as_ptr() as usize..arena.as_ptr() as usize + arena.len();
            for region in &mut self.regions {
                if old.contains(&(region.address as usize)) {
                    *region = NOWHERE;
                }
            }
        }
        if bytes == 0 {
            for &(buffer, ..) in buffers {
                // Somewhere, so that it is known to be placed; it has no bytes.
                let address = std::ptr::NonNull::<u128>::dangling().as_ptr().cast();
                self.regions[buffer.at()] = Region::written(address, 0);
            }
            return Ok(());
        }
        let arena = super::launch::grow(&mut self.arena, bytes)?;
        for &(buffer, offset, len) in buffers {
            if offset.checked_add(len).is_none_or(|end| end > arena.len()) {
                return Err(broken(buffer));
            }
            // SAFETY: the offset lies within the arena.
            let address = unsafe { arena.as_ptr().add(offset) };
            self.regions[buffer.at()] = Region::written(address, len);
        }
        Ok(())
    }

    /// Gives a buffer the bytes of another, until that is taken: the plan sees to it that they are not in use at the same
    /// time.
    pub(crate) fn share(&mut self, buffer: BufferIx, owner: BufferIx) {
        self.regions[buffer.at()] = Region { held: None, ..self.regions[owner.at()] };
    }

    /// What a buffer holds.
    pub(crate) fn bytes(&self, buffer: BufferIx) -> &[u8] {
        let region = self.region(buffer);
        if region.address.is_null() {
            return &[];
        }
        // SAFETY: the invariant; stores need `&mut self` or a launch, which has returned. Arena bytes start
        // initialised.
        unsafe { std::slice::from_raw_parts(region.address, region.len) }
    }

    pub(super) fn address(&self, buffer: BufferIx) -> usize {
        self.region(buffer).address as usize
    }

    /// Whether a buffer is what a plan was made for.
    pub(super) fn check(&self, used: &BufferUse) -> Result<()> {
        let region = self.region(used.buffer);
        if region.len >= used.bytes
            && (region.writable || !used.stored)
            && (!region.address.is_null() || used.bytes == 0)
        {
            Ok(())
        } else {
            Err(broken(used.buffer))
        }
    }
}

pub(super) fn broken(buffer: BufferIx) -> Error {
    Error::new(ErrorKind::Memory, Phase::Run, format!("buffer {buffer} is not what the plan was made for"))
}
