//! `SegmentPlan`: boxes, products and places in the arena for the steps of a segment, once sizes are known.

use rustc_hash::FxHashMap;
use shapeflow_shape_fns::Dim;
use smallvec::SmallVec;

use super::bindings::Bindings;
use super::stage::Stage;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::lower::PlanError;
use crate::lower::in_place::may_overwrite;
use crate::lower::kernel::BufferIx;
use crate::lower::plan::{KernelPlan, plan};
use crate::lower::program::Step;
use crate::op::MatMulSpec;
use crate::runtime::{ArenaPlan, MatMul, PreparedLaunch};
use crate::tensor::size_of_element;

/// The sizes of a buffer.
pub(crate) type Sizes = SmallVec<[usize; 4]>;

/// How one step runs.
pub(crate) enum StepPlan {
    /// A kernel, with its launch prepared if it needs a single call.
    Kernel(KernelPlan, Option<PreparedLaunch>),
    MatMul(MatMul),
    Node,
}

impl StepPlan {
    /// The prepared launch, if the step is a kernel that has one.
    pub(crate) fn prepared(&self) -> Option<&PreparedLaunch> {
        match self {
            StepPlan::Kernel(_, prepared) => prepared.as_ref(),
            StepPlan::MatMul(_) | StepPlan::Node => None,
        }
    }
}

/// A segment with its sizes.
pub(crate) struct SegmentPlan {
    pub steps: Vec<StepPlan>,
    /// The sizes of each buffer, where they are known.
    pub sizes: Vec<Option<Sizes>>,
    /// Buffer, offset and length of what lives in the arena.
    pub placed: Vec<(BufferIx, usize, usize)>,
    pub arena: usize,
    /// Computed here, but needed beyond the segment.
    pub own: Vec<BufferIx>,
    /// Buffers that live in the memory of one of `own`, which is stored over them.
    pub shared: Vec<(BufferIx, BufferIx)>,
}

/// Plans segment `number` of a stage.
pub(crate) fn plan_segment(stage: &Stage, number: usize, bindings: &Bindings) -> Result<SegmentPlan> {
    let program = &stage.program;
    let table = &stage.graph.table;
    let dim = |dim: &Dim| bindings.eval(table, dim);
    let sizes: Vec<Option<Sizes>> = program
        .buffers
        .iter()
        .map(|buffer| {
            let sizes = buffer.dims.iter().map(|dim| usize::try_from(bindings.try_eval(table, dim)?).ok());
            sizes.collect::<Option<Sizes>>()
        })
        .collect();
    let buffer_sizes = |buffer: BufferIx| -> Result<SmallVec<[i64; 6]>, PlanError> {
        match &sizes[buffer.index()] {
            Some(sizes) => Ok(sizes.iter().map(|&size| size as i64).collect()),
            None => Err(PlanError(format!("the sizes of {buffer} are not determined"))),
        }
    };
    let range = program.segments[number].steps.clone();
    let mut steps = Vec::with_capacity(range.len());
    for at in range.clone() {
        steps.push(match &program.steps[at] {
            Step::Kernel(kernel) => {
                let plan = plan(kernel, &dim, &buffer_sizes)?;
                let prepared = PreparedLaunch::prepare(kernel, &plan, &stage.functions[at], &stage.pool);
                StepPlan::Kernel(plan, prepared)
            }
            Step::MatMul { a, b, out, spec, .. } => {
                StepPlan::MatMul(plan_matmul(&sizes, *a, *b, *out, *spec, stage)?)
            }
            Step::Node { .. } => StepPlan::Node,
        });
    }
    let mut result =
        SegmentPlan { steps, sizes, placed: Vec::new(), arena: 0, own: Vec::new(), shared: Vec::new() };
    place(stage, range, &mut result)?;
    Ok(result)
}

impl SegmentPlan {
    pub(crate) fn sizes(&self, buffer: BufferIx) -> Option<&Sizes> {
        self.sizes[buffer.index()].as_ref()
    }
}

fn bytes_of(stage: &Stage, buffer: BufferIx, sizes: &[usize]) -> Result<usize> {
    let size = size_of_element(stage.program.buffers[buffer.index()].dtype)?;
    let bytes = sizes.iter().try_fold(size, |bytes, &size| bytes.checked_mul(size));
    bytes.filter(|bytes| isize::try_from(*bytes).is_ok()).ok_or_else(|| {
        let value = stage.value_text(stage.program.buffers[buffer.index()].value);
        Error::new(
            ErrorKind::Memory,
            Phase::Run,
            format!("{value} has sizes {sizes:?}, more bytes than memory can have"),
        )
    })
}

/// First and last step that touch memory, and the buffers that live there one after the other.
struct Life {
    buffers: Vec<BufferIx>,
    /// The buffer beyond the segment in whose memory they are, if there is one.
    owner: Option<BufferIx>,
    /// What its elements take.
    len: usize,
    /// What it takes in the arena.
    bytes: usize,
    from: usize,
    to: usize,
}

/// Gives every value that lives and dies in the segment a place in the arena, at the lowest offset that is free
/// all its life.
fn place(stage: &Stage, range: std::ops::Range<usize>, plan: &mut SegmentPlan) -> Result<()> {
    let program = &stage.program;
    let root = |buffer: BufferIx| program.roots[buffer.index()];
    let mut lives: Vec<Life> = Vec::new();
    let mut known: FxHashMap<BufferIx, usize> = FxHashMap::default();
    let mut own_bytes = 0usize;
    let mut largest: Option<(BufferIx, usize)> = None;
    for (at, step) in range.clone().zip(&program.steps[range.clone()]) {
        let (reads, writes) = touched(step);
        for buffer in reads {
            if let Some(&life) = known.get(&program.roots[buffer.index()]) {
                lives[life].to = at;
            }
        }
        if matches!(step, Step::Node { .. }) {
            continue;
        }
        for buffer in writes {
            let sizes = plan.sizes[buffer.index()].clone().unwrap_or_default();
            let bytes = bytes_of(stage, buffer, &sizes)?;
            if largest.is_none_or(|(_, most)| bytes > most) {
                largest = Some((buffer, bytes));
            }
            let outlives = stage.outlives(buffer, range.end);
            if outlives {
                plan.own.push(buffer);
                own_bytes = own_bytes.saturating_add(bytes);
            }
            // An operand as large that is read for the last time here, and that the kernel may store over.
            let over = match (step, &plan.steps[at - range.start]) {
                (Step::Kernel(kernel), StepPlan::Kernel(plan, _)) => {
                    kernel.reads.iter().map(|read| root(*read)).find(|read| {
                        stage.dies_at(*read, at)
                            && known.get(read).is_some_and(|&life| lives[life].len == bytes)
                            && may_overwrite(kernel, plan, &root, *read, buffer)
                    })
                }
                _ => None,
            };
            if let Some(life) = over.and_then(|read| known.remove(&read)) {
                if outlives {
                    lives[life].owner = Some(buffer);
                } else {
                    lives[life].buffers.push(buffer);
                    lives[life].to = at;
                    known.insert(buffer, life);
                }
                continue;
            }
            if outlives {
                continue;
            }
            known.insert(buffer, lives.len());
            let size = bytes.next_multiple_of(64);
            lives.push(Life {
                buffers: vec![buffer],
                owner: None,
                len: bytes,
                bytes: size,
                from: at,
                to: at,
            });
        }
    }
    let mut arena = ArenaPlan::default();
    for life in &lives {
        if let Some(owner) = life.owner {
            plan.shared.extend(life.buffers.iter().map(|buffer| (*buffer, owner)));
            continue;
        }
        let offset = arena.place(life.from, life.to, life.bytes);
        let offset = offset.ok_or_else(|| stage.too_large(life.buffers[0]))?;
        plan.placed.extend(life.buffers.iter().map(|buffer| (*buffer, offset, life.len)));
    }
    plan.arena = arena.bytes();
    if let Some(limit) = stage.memory_limit()
        && plan.arena.saturating_add(own_bytes) > limit
    {
        return Err(stage.over_limit(limit, plan.arena.saturating_add(own_bytes), largest));
    }
    Ok(())
}

/// The buffers a step reads and writes.
pub(crate) fn touched(step: &Step) -> (Vec<BufferIx>, Vec<BufferIx>) {
    match step {
        Step::Kernel(kernel) => (kernel.reads.clone(), kernel.writes.clone()),
        Step::MatMul { a, b, out, .. } => (vec![*a, *b], vec![*out]),
        Step::Node { operands, outputs, .. } => (operands.clone(), outputs.clone()),
    }
}

fn plan_matmul(
    sizes: &[Option<Sizes>],
    a: BufferIx,
    b: BufferIx,
    out: BufferIx,
    spec: MatMulSpec,
    stage: &Stage,
) -> Result<MatMul> {
    let of = |buffer: BufferIx| {
        sizes[buffer.index()].clone().filter(|sizes| sizes.len() >= 2).ok_or_else(|| {
            Error::new(
                ErrorKind::Shape,
                Phase::Run,
                format!("the sizes of matrix {buffer} are not determined"),
            )
        })
    };
    let double = stage.program.buffers[out.index()].dtype == shapeflow_shape_fns::DType::F64;
    let matmul = MatMul::new([(a, &of(a)?), (b, &of(b)?), (out, &of(out)?)], spec, double);
    let packed = stage.packed_operand(&matmul)?;
    Ok(MatMul { packed, ..matmul })
}
