//! [`PreparedLaunch`]: a launch whose arguments are complete except for the addresses of its buffers.
//! [`BoundLaunches`]: launches whose arguments are complete.

use std::sync::Arc;

use smallvec::SmallVec;

use super::kernel_call::{KernelCall, Outcome, base_word, push_slot, stream_threshold};
use super::launch::{Launch, launch};
use super::memory::Memory;
use super::thread_pool::Pool;
use super::workspace::{Workspace, first_workspace};
use crate::codegen::{CodeModule, FuncIndex};
use crate::error::Result;
use crate::lower::kernel::{BufferIx, Kernel};
use crate::lower::kernel_body::LaneLayout;
use crate::lower::launch_mode::LaunchMode;
use crate::lower::plan::KernelPlan;
use crate::op::Cancel;
use crate::tensor::TensorViewMut;

/// A launch whose kernel arguments are complete except for the addresses of its buffers.
///
/// A plan has a prepared launch if the kernel needs a single call: one box, in one thread, on the buffers themselves.
pub(crate) struct PreparedLaunch {
    call: PreparedCall,
    /// The words of all slots: see `KernelArgs::slots`. The base of a slot is an offset from the start of its buffer.
    words: Vec<i64>,
    /// The words that lack an address: the index of each word, and the buffer whose address the word lacks.
    bases: SmallVec<[(u32, BufferIx); 4]>,
}

/// The arguments of the call that do not depend on addresses.
#[derive(Clone)]
struct PreparedCall {
    function: FuncIndex,
    scalars: Box<[i64]>,
    extents: SmallVec<[i64; 2]>,
    rows: i64,
    n: i64,
}

impl PreparedCall {
    /// Runs the kernel. Returns whether a check failed.
    ///
    /// # Safety
    /// `code` holds the function, and `words` holds the slot words with addresses inside buffers that fit the plan.
    /// Nothing else accesses these buffers.
    unsafe fn run(&self, code: &CodeModule, words: &[i64], stream_threshold: i64) -> bool {
        let call = KernelCall {
            code,
            function: self.function,
            words,
            scalars: &self.scalars,
            extents: &self.extents,
            tile: 0,
            rows: self.rows,
            n: self.n,
            stream_threshold,
            cancel: Cancel::default(),
        };
        // SAFETY: the plan checked that every slot stays inside its buffer over the whole box. Column kernels have no
        // prepared launch, and a row kernel uses no tile. The caller promises the rest.
        unsafe { call.run() == Outcome::CheckFailed }
    }
}

impl PreparedLaunch {
    /// Prepares the launch of `kernel` by `plan`; `None` if the launch takes more than one call. `functions` are the
    /// functions of the kernel's variants.
    pub(crate) fn prepare(
        kernel: &Kernel,
        plan: &KernelPlan,
        functions: &[FuncIndex],
        pool: &Pool,
    ) -> Option<PreparedLaunch> {
        let [whole] = &plan.boxes[..] else { return None };
        let code = &kernel.variants[whole.variant].body;
        let is_direct =
            matches!(whole.mode, LaunchMode::Direct) && whole.outer.is_empty() && whole.scratch == 0;
        if !is_direct || code.layout == LaneLayout::Column || pool.is_worth_threads(kernel, whole.len()) {
            return None;
        }
        let mut words = Vec::with_capacity(base_word(whole.slots.len(), code.loops));
        let mut bases = SmallVec::new();
        for (index, slot) in whole.slots.iter().enumerate() {
            if let Some(buffer) = slot.buffer {
                bases.push((base_word(index, code.loops) as u32, buffer));
            }
            push_slot(&mut words, slot.base, slot.row, slot.inner, &slot.loops);
        }
        let call = PreparedCall {
            function: functions[whole.variant],
            scalars: whole.scalars[..].into(),
            extents: whole.loops.clone(),
            rows: whole.rows,
            n: whole.n,
        };
        Some(PreparedLaunch { call, words, bases })
    }

    /// Returns the bytes that the launch takes beyond its own size.
    pub(super) fn bytes(&self) -> usize {
        size_of_val(&self.words[..]) + size_of_val(&self.call.scalars[..])
    }

    /// Runs the kernel on the buffers of `memory`. Returns whether a check failed. `plan` is the plan for which the
    /// launch was prepared, and `code` holds the kernel's functions.
    ///
    /// # Errors
    /// A buffer is not what the plan needs.
    pub(crate) fn run(
        &self,
        plan: &KernelPlan,
        code: &CodeModule,
        memory: &mut Memory<'_>,
        workspaces: &mut Vec<Workspace>,
    ) -> Result<bool> {
        plan.buffers.iter().try_for_each(|used| memory.check(used))?;
        let words = &mut first_workspace(workspaces).words;
        self.fill_addresses(memory, words);
        let stream_threshold = stream_threshold(&plan.buffers, plan.stream, memory);
        // SAFETY: the buffers were just checked, and `memory`, which lends them, is borrowed exclusively.
        Ok(unsafe { self.call.run(code, words, stream_threshold) })
    }

    /// Fills in the addresses of the buffers of `memory`.
    ///
    /// # Errors
    /// As [`PreparedLaunch::run`].
    fn bind(&self, plan: &KernelPlan, memory: &Memory<'_>) -> Result<BoundLaunch> {
        plan.buffers.iter().try_for_each(|used| memory.check(used))?;
        let mut words = Vec::new();
        self.fill_addresses(memory, &mut words);
        let stream_threshold = stream_threshold(&plan.buffers, plan.stream, memory);
        Ok(BoundLaunch { call: self.call.clone(), words, stream_threshold })
    }

    fn fill_addresses(&self, memory: &Memory<'_>, words: &mut Vec<i64>) {
        words.clear();
        words.extend_from_slice(&self.words);
        for &(word, buffer) in &self.bases {
            words[word as usize] += memory.address(buffer) as i64;
        }
    }
}

/// A launch whose kernel arguments are complete.
struct BoundLaunch {
    call: PreparedCall,
    words: Vec<i64>,
    /// The result of [`stream_threshold`].
    stream_threshold: i64,
}

/// Launches with complete kernel arguments, and the memory that holds their buffers.
///
/// Invariant: every buffer stays at the address that it had when the launches were bound.
pub(crate) struct BoundLaunches<'m> {
    launches: Vec<BoundLaunch>,
    code: Arc<CodeModule>,
    memory: Memory<'m>,
    /// Used by [`BoundLaunches::run_cut`] only.
    workspaces: Vec<Workspace>,
}

impl<'m> BoundLaunches<'m> {
    /// Binds launches, each with the plan for which it was prepared, to the buffers of `memory`. `code` holds the
    /// functions of their kernels.
    ///
    /// # Errors
    /// As [`PreparedLaunch::run`].
    pub(crate) fn bind<'p>(
        prepared: impl IntoIterator<Item = (&'p KernelPlan, &'p PreparedLaunch)>,
        code: Arc<CodeModule>,
        memory: Memory<'m>,
    ) -> Result<BoundLaunches<'m>> {
        let launches =
            prepared.into_iter().map(|(plan, launch)| launch.bind(plan, &memory)).collect::<Result<_>>()?;
        Ok(BoundLaunches { launches, code, memory, workspaces: Vec::new() })
    }

    /// Returns the number of launches.
    pub(crate) fn len(&self) -> usize {
        self.launches.len()
    }

    /// Runs the launches in order, up to the first whose check fails. Returns its index.
    #[inline]
    pub(crate) fn run_all(&mut self) -> Option<usize> {
        (0..self.launches.len()).find(|index| self.run(*index))
    }

    /// Runs one launch. Returns whether a check failed.
    #[inline]
    pub(crate) fn run(&mut self, index: usize) -> bool {
        let launch = &self.launches[index];
        // SAFETY: the buffers were checked when the launch was bound, and they have not moved since. `self` holds or
        // borrows the buffers, and `self` is borrowed exclusively. So there is no view of a tensor that a kernel
        // stores.
        unsafe { launch.call.run(&self.code, &launch.words, launch.stream_threshold) }
    }

    /// Runs the kernel of one launch in work items, between which the token can end the run. Returns whether a check
    /// failed. `plan` is the plan of the launch, and `functions` are the functions of the kernel's variants.
    ///
    /// # Errors
    /// Memory for the thread is refused, or the run is cancelled.
    pub(crate) fn run_cut(
        &mut self,
        index: usize,
        kernel: &Kernel,
        plan: &KernelPlan,
        functions: &[FuncIndex],
        cancel: Cancel<'_>,
    ) -> Result<bool> {
        let run = Launch {
            kernel,
            plan,
            code: &self.code,
            functions,
            memory: &self.memory,
            stream_threshold: self.launches[index].stream_threshold,
            traced: None,
            cancel,
        };
        launch(&run, &mut self.workspaces, &Pool::default())
    }

    /// Returns the memory that holds the buffers.
    pub(crate) fn memory(&self) -> &Memory<'m> {
        &self.memory
    }

    /// Borrows the tensor of a buffer for writing; see [`Memory::view_mut`].
    pub(crate) fn view_mut(&mut self, buffer: BufferIx) -> TensorViewMut<'_> {
        self.memory.view_mut(buffer)
    }

    /// Copies the bytes of a buffer; see [`Memory::copy`].
    pub(crate) fn copy(&mut self, source: BufferIx, target: BufferIx) {
        self.memory.copy(source, target);
    }
}
