//! `Direct`: a launch that only needs to know where its buffers are.

use smallvec::SmallVec;

use super::launch::{Lane, push_slot, streamed_row};
use super::memory::Memory;
use super::thread_pool::Pool;
use crate::codegen::{CodeModule, FuncIndex};
use crate::codegen::{KernelArgs, SLOT_BASE, slot_words};
use crate::error::Result;
use crate::lower::code::Layout;
use crate::lower::kernel::{BufferIx, Kernel};
use crate::lower::mode::Mode;
use crate::lower::plan::KernelPlan;

/// The arguments of a kernel of one box that runs on its buffers themselves, in one thread, but for the addresses.
pub(crate) struct Direct {
    /// With the base of every slot counted from the start of its buffer.
    words: Vec<i64>,
    /// Where the address of a buffer is to be added.
    bases: SmallVec<[(u32, BufferIx); 4]>,
    function: FuncIndex,
}

/// A [`Direct`] whose buffers are where they are.
pub(crate) struct Tied {
    words: Vec<i64>,
    stream: i64,
}

impl Direct {
    /// The launch of `kernel` as `plan` says, if there is nothing to stage, to cut or to share.
    pub(crate) fn new(
        kernel: &Kernel,
        plan: &KernelPlan,
        functions: &[FuncIndex],
        pool: &Pool,
    ) -> Option<Direct> {
        let [whole] = &plan.boxes[..] else { return None };
        let code = &kernel.variants[whole.variant].code;
        let direct = matches!(whole.mode, Mode::Direct) && whole.outer.is_empty() && whole.scratch == 0;
        if !direct || code.layout == Layout::Column || pool.pays(kernel, whole.len()) {
            return None;
        }
        let (mut words, mut bases) = (Vec::new(), SmallVec::new());
        for (number, slot) in whole.slots.iter().enumerate() {
            if let Some(buffer) = slot.buffer {
                bases.push(((number * slot_words(code.loops) + SLOT_BASE) as u32, buffer));
            }
            push_slot(&mut words, slot.base, slot.row, slot.inner, &slot.loops);
        }
        Some(Direct { words, bases, function: *functions.get(whole.variant)? })
    }

    /// Runs the kernel; true if a check failed. `plan` is what it was made of.
    ///
    /// # Errors
    /// A buffer is not what the plan was made for.
    pub(crate) fn run(
        &self,
        plan: &KernelPlan,
        code: &CodeModule,
        memory: &Memory<'_>,
        lanes: &mut Vec<Lane>,
    ) -> Result<bool> {
        plan.buffers.iter().try_for_each(|used| memory.check(used))?;
        if lanes.is_empty() {
            lanes.push(Lane::default());
        }
        let words = &mut lanes[0].words;
        self.address(memory, words);
        Ok(self.call(plan, code, words, streamed_row(plan, memory)))
    }

    /// Ties it to the buffers of `memory`.
    ///
    /// # Errors
    /// As [`Direct::run`].
    pub(crate) fn tie(&self, plan: &KernelPlan, memory: &Memory<'_>) -> Result<Tied> {
        plan.buffers.iter().try_for_each(|used| memory.check(used))?;
        let mut words = Vec::new();
        self.address(memory, &mut words);
        Ok(Tied { words, stream: streamed_row(plan, memory) })
    }

    /// Runs the kernel on the buffers that `tied` was made with, which `memory` still holds; true if a check failed.
    pub(crate) fn run_tied(
        &self,
        plan: &KernelPlan,
        code: &CodeModule,
        tied: &Tied,
        memory: &mut Memory<'_>,
    ) -> bool {
        let _ = memory;
        self.call(plan, code, &tied.words, tied.stream)
    }

    fn address(&self, memory: &Memory<'_>, words: &mut Vec<i64>) {
        words.clear();
        words.extend_from_slice(&self.words);
        for &(word, buffer) in &self.bases {
            words[word as usize] += memory.address(buffer) as i64;
        }
    }

    fn call(&self, plan: &KernelPlan, code: &CodeModule, words: &[i64], stream: i64) -> bool {
        let [whole] = &plan.boxes[..] else { return false };
        let mut failed = 0;
        let args = KernelArgs {
            slots: words.as_ptr(),
            scalars: whole.scalars.as_ptr(),
            tile: std::ptr::null_mut(),
            rows: whole.rows,
            n: whole.n,
            extents: whole.loops.as_ptr(),
            stream,
            failed: &raw mut failed,
        };
        // SAFETY: the plan checked that every slot stays inside its buffer over the whole box; the callers checked that
        // the memory, which they still hold, has these buffers with as many bytes.
        unsafe { code.launch(self.function, &args) }
        failed != 0
    }
}
