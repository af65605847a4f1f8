//! [`SegmentMemory`]: where the buffers that a segment stores lie in memory. A segment is a range of steps that are
//! planned together.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::allocation::ArenaPlan;
use crate::lower::kernel::BufferIx;

/// The buffers that one step accesses. Each buffer owns its bytes: for a view, the lists hold the buffer that the view
/// reads.
#[derive(Default)]
pub(crate) struct StepBuffers {
    pub loads: SmallVec<[BufferIx; 4]>,
    pub stores: SmallVec<[StoredBuffer; 1]>,
}

/// A buffer that a step stores.
pub(crate) struct StoredBuffer {
    pub buffer: BufferIx,
    pub bytes: usize,
    /// Whether something after the segment reads the buffer.
    pub outlives: bool,
    /// Operands that no later step reads and that this step may store over, in the order of preference.
    pub overwrites: SmallVec<[BufferIx; 2]>,
}

/// Where the buffers that a segment stores lie in memory.
#[derive(Default, PartialEq, Eq, Debug)]
pub(crate) struct SegmentMemory {
    /// Bytes of the arena.
    pub arena: usize,
    /// `(buffer, offset, length)` of each buffer in the arena. Buffers that are in use at the same step do not overlap.
    pub placed: Vec<(BufferIx, usize, usize)>,
    /// Buffers that something after the segment reads. Each of these buffers has memory outside the arena.
    pub outlive_segment: Vec<BufferIx>,
    /// `(buffer, owner)` of each buffer that lies in the memory of `owner`, which outlives the segment. A later step
    /// stores `owner` over `buffer`.
    pub shared: Vec<(BufferIx, BufferIx)>,
}

/// A piece of memory that several buffers use one after the other, and the steps that access it.
struct Lifetime {
    /// The buffers, in the order in which they use the memory.
    buffers: Vec<BufferIx>,
    /// The buffer that outlives the segment and owns the memory; `None` for memory of the arena.
    owner: Option<BufferIx>,
    bytes: usize,
    first_step: usize,
    last_step: usize,
}

/// Alignment of a buffer in the arena: a cache line.
const ALIGN: usize = 64;

impl SegmentMemory {
    /// Assigns memory to every buffer that `steps` store, in the order in which they run.
    ///
    /// A buffer that overwrites an operand of the same length takes over the operand's memory. If this buffer outlives
    /// the segment, the operand lies in the buffer's own memory instead. Any other buffer that does not outlive the
    /// segment goes to the lowest offset of the arena that is free from the buffer's first to its last step.
    ///
    /// # Errors
    /// The first buffer for which the arena would need more bytes than `usize::MAX`.
    pub(crate) fn assign(steps: &[StepBuffers]) -> Result<SegmentMemory, BufferIx> {
        let mut result = SegmentMemory::default();
        let mut lifetimes: Vec<Lifetime> = Vec::new();
        // For each buffer: the index of the lifetime of the memory that holds the buffer now.
        let mut current: FxHashMap<BufferIx, usize> = FxHashMap::default();
        for (step, buffers) in steps.iter().enumerate() {
            for buffer in &buffers.loads {
                if let Some(&lifetime) = current.get(buffer) {
                    lifetimes[lifetime].last_step = step;
                }
            }
            for &StoredBuffer { buffer, bytes, outlives, ref overwrites } in &buffers.stores {
                if outlives {
                    result.outlive_segment.push(buffer);
                }
                let fits = |operand: &&BufferIx| {
                    current.get(operand).is_some_and(|&lifetime| lifetimes[lifetime].bytes == bytes)
                };
                let overwritten = overwrites.iter().find(fits).copied();
                match overwritten.and_then(|operand| current.remove(&operand)) {
                    Some(lifetime) if outlives => lifetimes[lifetime].owner = Some(buffer),
                    Some(lifetime) => {
                        lifetimes[lifetime].buffers.push(buffer);
                        lifetimes[lifetime].last_step = step;
                        current.insert(buffer, lifetime);
                    }
                    None if outlives => {}
                    None => {
                        current.insert(buffer, lifetimes.len());
                        let (buffers, owner) = (vec![buffer], None);
                        lifetimes.push(Lifetime { buffers, owner, bytes, first_step: step, last_step: step });
                    }
                }
            }
        }
        let mut arena = ArenaPlan::default();
        for Lifetime { buffers, owner, bytes, first_step, last_step } in lifetimes {
            if let Some(owner) = owner {
                result.shared.extend(buffers.into_iter().map(|buffer| (buffer, owner)));
                continue;
            }
            let aligned = bytes.checked_next_multiple_of(ALIGN).ok_or(buffers[0])?;
            let offset = arena.place(first_step, last_step, aligned).ok_or(buffers[0])?;
            result.placed.extend(buffers.into_iter().map(|buffer| (buffer, offset, bytes)));
        }
        result.arena = arena.bytes();
        Ok(result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buffers(numbers: &[u32]) -> Vec<BufferIx> {
        numbers.iter().map(|number| BufferIx(*number)).collect()
    }

    /// Returns a step that loads some buffers and stores one.
    fn step(loads: &[u32], store: u32, bytes: usize, overwrites: &[u32]) -> StepBuffers {
        let overwrites = buffers(overwrites).into();
        let stored = StoredBuffer { buffer: BufferIx(store), bytes, outlives: false, overwrites };
        StepBuffers { loads: buffers(loads).into(), stores: [stored].into() }
    }

    fn outliving(mut step: StepBuffers) -> StepBuffers {
        step.stores[0].outlives = true;
        step
    }

    #[test]
    fn a_buffer_takes_the_place_of_a_buffer_that_no_later_step_reads() {
        let mut steps =
            vec![step(&[9], 0, 100, &[]), step(&[0], 1, 100, &[]), outliving(step(&[1], 2, 8, &[]))];
        let memory = SegmentMemory::assign(&steps).unwrap();
        assert_eq!(memory.placed, [(BufferIx(0), 0, 100), (BufferIx(1), 128, 100)]);
        assert_eq!((memory.arena, memory.outlive_segment), (256, buffers(&[2])));
        steps.extend([step(&[9], 3, 64, &[]), step(&[3], 4, 1, &[]), step(&[4], 5, 1, &[])]);
        let memory = SegmentMemory::assign(&steps).unwrap();
        assert_eq!(memory.placed[2..], [(BufferIx(3), 0, 64), (BufferIx(4), 64, 1), (BufferIx(5), 0, 1)]);
    }

    #[test]
    fn a_buffer_overwrites_an_operand_of_the_same_length() {
        let steps = [step(&[], 0, 64, &[]), step(&[0], 1, 64, &[0]), step(&[1], 2, 32, &[1])];
        let memory = SegmentMemory::assign(&steps).unwrap();
        assert_eq!(memory.placed, [(BufferIx(0), 0, 64), (BufferIx(1), 0, 64), (BufferIx(2), 64, 32)]);
    }

    #[test]
    fn operands_lie_in_the_outliving_buffer_that_overwrites_them() {
        let steps = [step(&[], 0, 64, &[]), step(&[0], 1, 64, &[0]), outliving(step(&[1], 2, 64, &[1]))];
        let memory = SegmentMemory::assign(&steps).unwrap();
        assert_eq!(memory.shared, [(BufferIx(0), BufferIx(2)), (BufferIx(1), BufferIx(2))]);
        assert_eq!((memory.arena, memory.placed), (0, vec![]));
    }

    #[test]
    fn an_operand_is_overwritten_once() {
        let mut both = step(&[0], 1, 64, &[0]);
        both.stores.extend(step(&[], 2, 64, &[0]).stores);
        let memory = SegmentMemory::assign(&[step(&[], 0, 64, &[]), both]).unwrap();
        assert_eq!(memory.placed, [(BufferIx(0), 0, 64), (BufferIx(1), 0, 64), (BufferIx(2), 64, 64)]);
    }

    #[test]
    fn an_operand_from_outside_the_segment_is_not_overwritten() {
        let memory = SegmentMemory::assign(&[step(&[7], 0, 64, &[7])]).unwrap();
        assert_eq!((memory.placed, memory.shared), (vec![(BufferIx(0), 0, 64)], vec![]));
    }

    #[test]
    fn a_buffer_that_is_larger_than_memory_is_named() {
        let steps = [step(&[], 0, 64, &[]), step(&[0], 1, usize::MAX, &[])];
        assert_eq!(SegmentMemory::assign(&steps), Err(BufferIx(1)));
    }
}
