//! [`SegmentPlanner`]: finds or makes the plan of a segment. A segment is a range of steps whose sizes are all known
//! before its first step runs.

use std::sync::Arc;

use shapeflow_shape_fns::{DType, Dim, counted};
use smallvec::SmallVec;

use super::bindings::Bindings;
use super::fault::find_outside_read;
use super::guards::{check_guards, uncomputable_sizes};
use super::input_bindings::bind_inputs;
use super::promises::check_own_ops;
use super::run_state::LastPlan;
use crate::compile::{CompiledProgram, KernelCode, value_text};
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::lower::PlanError;
use crate::lower::in_place::may_overwrite;
use crate::lower::kernel::{BufferInfo, BufferIx};
use crate::lower::plan::plan;
use crate::lower::program::{Content, Step};
use crate::op::ContractionSpec;
use crate::runtime::{
    MatMul, PreparedLaunch, ProgramState, SegmentMemory, SegmentPlan, SegmentSizes, StepBuffers, StepPlan,
    StoredBuffer,
};
use crate::tensor::{TensorView, size_of_element};

/// Plans the segments of a program.
#[derive(Clone, Copy)]
pub(super) struct SegmentPlanner<'p> {
    pub compiled: &'p CompiledProgram,
    pub code: &'p KernelCode,
    pub state: &'p ProgramState,
}

/// Returns the dtype and sizes of each input.
pub(super) fn sizes_of_inputs<'a>(inputs: &'a [TensorView<'_>]) -> SmallVec<[(DType, &'a [usize]); 4]> {
    inputs.iter().map(|view| (view.dtype(), view.sizes())).collect()
}

/// Returns the error of a buffer whose sizes depend on a symbol that nothing binds.
pub(super) fn undetermined(compiled: &CompiledProgram, buffer: BufferIx) -> Error {
    let value = value_text(&compiled.graph, compiled.lowered.buffers[buffer.index()].value);
    Error::new(ErrorKind::Shape, Phase::Run, format!("nothing determines the sizes of {value}"))
}

impl SegmentPlanner<'_> {
    /// Returns the plan of a static program for the sizes of these inputs. A static program has one segment, and the
    /// sizes of the inputs determine its plan (see [`CompiledProgram::is_static`]). If the sizes are the sizes of the
    /// thread's last run, the result is the plan of that run, `last`.
    ///
    /// # Errors
    /// The inputs do not fit their declarations, a guard does not hold, or the run needs too much memory.
    pub(super) fn static_plan<'l>(
        &self,
        inputs: &[TensorView<'_>],
        last: &'l mut Option<LastPlan>,
    ) -> Result<&'l Arc<SegmentPlan>> {
        if last.as_ref().is_some_and(|last| last.program == self.compiled.number && last.fits(inputs)) {
            self.state.count_plan_hit();
        } else {
            let bindings = bind_inputs(&self.compiled.graph, &sizes_of_inputs(inputs))?;
            check_guards(self.compiled, &bindings)?;
            let plan = self.segment_plan(0, &bindings)?;
            *last = Some(LastPlan::new(self.compiled.number, inputs, plan));
        }
        Ok(&last.as_ref().expect("the plan was found or made").plan)
    }

    /// Returns the plan of a segment, made now or earlier.
    ///
    /// # Errors
    /// Sizes cannot be computed from the values of symbols, or the segment needs too much memory.
    pub(super) fn segment_plan(&self, number: usize, bindings: &Bindings<'_>) -> Result<Arc<SegmentPlan>> {
        let symbols = &self.compiled.lowered.segments[number].symbols;
        // `i64::MIN` stands for an unbound symbol.
        let key = symbols.iter().map(|symbol| bindings.get(*symbol).unwrap_or(i64::MIN)).collect();
        self.state.plan(number, key, || {
            self.compiled.graph.name_errors(|| {
                self.plan_segment(number, bindings)
                    .map_err(|error| uncomputable_sizes(self.compiled, bindings).unwrap_or(error))
            })
        })
    }

    fn plan_segment(&self, number: usize, bindings: &Bindings<'_>) -> Result<SegmentPlan> {
        check_own_ops(self.compiled, bindings)?;
        let lowered = &self.compiled.lowered;
        let dim = |dim: &Dim| bindings.eval(dim);
        let segment = &lowered.segments[number];
        let sizes_of = |buffer: &BufferInfo| bindings.sizes(&buffer.dims);
        let sizes = match &segment.buffers {
            None => lowered.buffers.iter().map(sizes_of).collect(),
            Some(buffers) => {
                buffers.iter().map(|buffer| sizes_of(&lowered.buffers[buffer.index()])).collect()
            }
        };
        let sizes = SegmentSizes::new(segment.buffers.as_ref(), sizes);
        let buffer_sizes = |buffer: BufferIx| match sizes.get(buffer) {
            Some(sizes) => Ok(&sizes[..]),
            None => Err(PlanError::new(format!("the sizes of {buffer} are not determined"))),
        };
        let range = segment.steps.clone();
        let mut steps = Vec::with_capacity(range.len());
        for step in range {
            steps.push(match &lowered.steps[step] {
                Step::Kernel(kernel) => {
                    // The arithmetic of a plan relies on addresses that fit memory.
                    if let Some(error) = self.too_large(&kernel.writes, &sizes) {
                        return Err(error);
                    }
                    let plan = plan(kernel, &dim, &buffer_sizes).map_err(|error| {
                        self.too_large(&kernel.reads, &sizes)
                            .or_else(|| find_outside_read(self.compiled, kernel, bindings))
                            .unwrap_or(error)
                    })?;
                    let functions = &self.code.functions[step];
                    let prepared = PreparedLaunch::prepare(kernel, &plan, functions, &self.state.threads);
                    StepPlan::Kernel(Box::new(plan), prepared)
                }
                Step::MatMul { a, b, out, spec, .. } => {
                    StepPlan::MatMul(self.plan_matmul(&sizes, [*a, *b, *out], spec.clone())?)
                }
                Step::Whole { .. } => StepPlan::Whole,
                // A host step allocates its results when it runs.
                Step::Node { .. } => StepPlan::Node,
            });
        }
        let memory = self.plan_memory(number, &steps, &sizes)?;
        Ok(SegmentPlan { steps, sizes, memory })
    }

    fn plan_matmul(
        &self,
        sizes: &SegmentSizes,
        [a, b, out]: [BufferIx; 3],
        spec: ContractionSpec,
    ) -> Result<MatMul> {
        let sizes_of = |buffer: BufferIx| {
            let sizes = sizes.get(buffer).ok_or_else(|| undetermined(self.compiled, buffer))?;
            Ok::<_, Error>(&sizes[..])
        };
        let double = self.compiled.lowered.buffers[out.index()].dtype == DType::F64;
        let mut matmul =
            MatMul::new([(a, sizes_of(a)?), (b, sizes_of(b)?), (out, sizes_of(out)?)], spec, double);
        // Packed copies only save time, so there are none under a memory limit.
        let owner_of_bytes = self.compiled.lowered.roots[b.index()];
        if let Content::Constant(node) = self.compiled.lowered.contents[owner_of_bytes.index()]
            && self.state.memory_limit.is_none()
            && matmul.is_worth_packing()
        {
            let bytes = self.compiled.graph.constants[&node].view().bytes();
            matmul.packed = self.state.packed.get_or_pack(b, matmul.right_matrices(), bytes)?;
        }
        Ok(matmul)
    }

    /// Assigns memory to the buffers that the kernels and matmuls of a segment store.
    fn plan_memory(&self, number: usize, plans: &[StepPlan], sizes: &SegmentSizes) -> Result<SegmentMemory> {
        let lowered = &self.compiled.lowered;
        let range = lowered.segments[number].steps.clone();
        let owner_of_bytes = |buffer: BufferIx| lowered.roots[buffer.index()];
        let mut steps: SmallVec<[StepBuffers; 2]> = SmallVec::with_capacity(range.len());
        for (number, plan) in range.clone().zip(plans) {
            let step = &lowered.steps[number];
            let (reads, writes) = step.buffers();
            let mut buffers = StepBuffers {
                loads: reads.iter().map(|&read| owner_of_bytes(read)).collect(),
                stores: SmallVec::new(),
            };
            if !matches!(step, Step::Node { .. }) {
                for &buffer in &*writes {
                    let bytes = self.bytes_of(buffer, sizes)?;
                    let overwrites = match (step, plan) {
                        (Step::Kernel(kernel), StepPlan::Kernel(plan, _)) => {
                            let dead = buffers.loads.iter().copied().filter(|&read| {
                                lowered.contents[read.index()] == Content::Computed
                                    && self.compiled.dies_at(read, number)
                                    && may_overwrite(kernel, plan, &owner_of_bytes, read, buffer)
                            });
                            dead.collect()
                        }
                        _ => SmallVec::new(),
                    };
                    let outlives = self.compiled.outlives(buffer, range.end);
                    buffers.stores.push(StoredBuffer { buffer, bytes, outlives, overwrites });
                }
            }
            steps.push(buffers);
        }
        let memory = SegmentMemory::assign(&steps).map_err(|buffer| {
            let message = format!(
                "{} does not fit into memory together with the other values of the run",
                self.value_text(buffer)
            );
            Error::new(ErrorKind::Memory, Phase::Run, message)
        })?;
        self.check_limit(&memory, &steps)?;
        Ok(memory)
    }

    /// Checks that the arena and the buffers that outlive the segment stay within the memory limit.
    fn check_limit(&self, memory: &SegmentMemory, steps: &[StepBuffers]) -> Result<()> {
        let Some(limit) = self.state.memory_limit else { return Ok(()) };
        let stores = || steps.iter().flat_map(|step| &step.stores);
        let outliving = stores().filter(|stored| stored.outlives).map(|stored| stored.bytes);
        let needed = outliving.fold(memory.arena, usize::saturating_add);
        if needed <= limit {
            return Ok(());
        }
        let message = format!(
            "the run must stay within the memory limit of {limit}, but needs {needed}",
            limit = counted(limit, "byte")
        );
        let error = Error::new(ErrorKind::Memory, Phase::Run, message);
        // If several stored buffers are the largest, the note names the first of them.
        Err(match stores().rev().max_by_key(|stored| stored.bytes) {
            Some(StoredBuffer { buffer, bytes, .. }) => {
                let value = self.value_text(*buffer);
                error.note(
                    format!("the largest value is {value} with {bytes}", bytes = counted(bytes, "byte")),
                    None,
                )
            }
            None => error,
        })
    }

    /// Returns the error about the first buffer with more bytes than memory can have; `None` if there is none.
    fn too_large(&self, buffers: &[BufferIx], sizes: &SegmentSizes) -> Option<Error> {
        let mut errors = buffers.iter().filter_map(|buffer| self.bytes_of(*buffer, sizes).err());
        errors.find(|error| error.kind() == ErrorKind::Memory)
    }

    fn bytes_of(&self, buffer: BufferIx, sizes: &SegmentSizes) -> Result<usize> {
        let sizes = sizes.get(buffer).ok_or_else(|| undetermined(self.compiled, buffer))?;
        let element = size_of_element(self.compiled.lowered.buffers[buffer.index()].dtype)?;
        let bytes = sizes.iter().try_fold(element, |bytes, &size| bytes.checked_mul(size));
        bytes.filter(|bytes| isize::try_from(*bytes).is_ok()).ok_or_else(|| {
            let value = self.value_text(buffer);
            let message = format!("{value} has sizes {sizes:?}, more bytes than memory can have");
            Error::new(ErrorKind::Memory, Phase::Run, message)
        })
    }

    fn value_text(&self, buffer: BufferIx) -> String {
        value_text(&self.compiled.graph, self.compiled.lowered.buffers[buffer.index()].value)
    }
}
