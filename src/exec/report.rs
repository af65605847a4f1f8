//! What a stage reports of itself: statistics, its steps as text, its intermediate code.

use std::fmt;
use std::sync::atomic::Ordering;

use indexmap::IndexMap;
use rustc_hash::FxHashSet;

use super::executable::Stats;
use super::stage::Stage;
use crate::codegen::{CodeModule, Jit};
use crate::dump::{KernelKind, KernelView, Snapshot, StageKind};
use crate::error::Result;
use crate::graph::ValueIx;
use crate::lower::kernel::{BufferIx, Kernel};
use crate::lower::program::{Content, Step};

impl Stage {
    pub(super) fn add_stats(&self, stats: &mut Stats) {
        for step in &self.program.steps {
            match step {
                Step::Kernel(_) => stats.kernels += 1,
                Step::MatMul { .. } => stats.products += 1,
                Step::Node { .. } => stats.host_nodes += 1,
            }
        }
        stats.code_bytes += self.code.as_ref().map_or(0, CodeModule::code_bytes);
        stats.code_time += self.code.as_ref().map_or_else(Default::default, CodeModule::code_time);
        stats.arena_bytes = stats.arena_bytes.max(self.counters.arena.load(Ordering::Relaxed));
        stats.packed_bytes += self.packed_bytes();
        stats.plan_hits += self.counters.hits.load(Ordering::Relaxed);
        stats.plan_misses += self.counters.misses.load(Ordering::Relaxed);
    }

    /// The intermediate code of every variant of every kernel.
    pub(super) fn clif(&self) -> Result<String> {
        self.code_text(&|step| self.kernel_clif(step))
    }

    /// The instructions of every variant of every kernel.
    fn asm(&self) -> Result<String> {
        self.code_text(&|step| self.kernel_asm(step))
    }

    fn code_text(&self, of_step: &dyn Fn(usize) -> Result<Option<String>>) -> Result<String> {
        let mut text = String::new();
        for at in 0..self.program.steps.len() {
            if let Some(code) = of_step(at)? {
                text.push_str(&format!("; step {at}: {}\n{code}", self.step_label(at)));
            }
        }
        Ok(text)
    }

    fn kernel_clif(&self, step: usize) -> Result<Option<String>> {
        let Some(Step::Kernel(kernel)) = self.program.steps.get(step) else { return Ok(None) };
        let mut text = String::new();
        for (number, variant) in kernel.variants.iter().enumerate() {
            text.push_str(&format!("; variant {number}\n{}\n", Jit::clif_text(&variant.body)?));
        }
        Ok(Some(text))
    }

    fn kernel_asm(&self, step: usize) -> Result<Option<String>> {
        let (Some(code), Some(functions)) = (&self.code, self.functions.get(step)) else { return Ok(None) };
        let mut text = String::new();
        for (number, function) in functions.iter().enumerate() {
            text.push_str(&format!("; variant {number}\n{}\n", code.asm_text(*function)?));
        }
        Ok((!functions.is_empty()).then_some(text))
    }

    /// Whether its code of this kind can be printed.
    pub(super) fn has_text(&self, kind: StageKind) -> bool {
        match kind {
            StageKind::Clif => Jit::PRINTS_CLIF,
            StageKind::Asm => self.has_asm(),
            _ => true,
        }
    }

    /// Whether its machine code can be printed.
    fn has_asm(&self) -> bool {
        self.code.is_some() && CodeModule::PRINTS_ASM
    }

    /// What a step is called: the fused ops, or the node that runs by itself.
    pub(super) fn step_label(&self, step: usize) -> String {
        match self.program.steps.get(step) {
            Some(Step::Kernel(kernel)) => self.fused_text(kernel),
            Some(Step::MatMul { node, .. } | Step::Node { node, .. }) => self.graph.node_label(*node),
            None => String::new(),
        }
    }

    /// The stage with its kernels: with their intermediate code from [`StageKind::Clif`] on, with their
    /// instructions for [`StageKind::Asm`].
    pub(super) fn snapshot(&self, stage: StageKind) -> Result<Snapshot> {
        let mut snapshot = Snapshot::of_graph(&self.graph, stage);
        let outputs: Vec<ValueIx> =
            self.program.outputs.iter().map(|buffer| self.program.buffers[buffer.index()].value).collect();
        snapshot.mark_results(&self.graph, &outputs);
        if stage < StageKind::Kernels {
            return Ok(snapshot);
        }
        snapshot.origin = self.number;
        snapshot.text = match stage {
            StageKind::Clif => self.clif()?,
            StageKind::Asm => self.asm()?,
            _ => self.to_string(),
        };
        for (at, step) in self.program.steps.iter().enumerate() {
            let (kind, written, root_nodes, fused_nodes) = match step {
                Step::Kernel(kernel) => {
                    (KernelKind::Fused, kernel.writes.clone(), kernel.roots.clone(), kernel.fused.clone())
                }
                Step::MatMul { node, out, .. } => (
                    KernelKind::Product,
                    vec![*out],
                    self.graph.nodes[node.at()].values().collect(),
                    Vec::new(),
                ),
                Step::Node { node, outputs, .. } => (
                    KernelKind::Host,
                    outputs.clone(),
                    self.graph.nodes[node.at()].values().collect(),
                    Vec::new(),
                ),
            };
            snapshot.kernels.push(KernelView {
                step: at,
                kind,
                label: self.step_label(at),
                loops: self.step_text(at),
                writes: written.iter().map(|buffer| self.buffer_text(buffer.index())).collect(),
                clif: if stage >= StageKind::Clif { self.kernel_clif(at)? } else { None },
                asm: if stage == StageKind::Asm { self.kernel_asm(at)? } else { None },
            });
            // A cheap producer may stand in several kernels; it belongs to the one that writes it, or the first.
            for value in root_nodes {
                snapshot.nodes[self.graph.values[value.at()].node.at()].kernel = Some(at);
            }
            for value in fused_nodes {
                snapshot.nodes[self.graph.values[value.at()].node.at()].kernel.get_or_insert(at);
            }
        }
        Ok(snapshot)
    }

    /// What a step does.
    fn step_text(&self, at: usize) -> String {
        match &self.program.steps[at] {
            Step::Kernel(kernel) => match self.bodies_text(at) {
                Some(bodies) => format!("{kernel}\nbody: {bodies}"),
                None => kernel.to_string(),
            },
            Step::MatMul { a, b, out, spec, .. } => {
                let mark = |transposed| if transposed { "ᵀ" } else { "" };
                format!("{out} = {a}{} · {b}{}", mark(spec.transpose_a), mark(spec.transpose_b))
            }
            Step::Node { node, operands, outputs } => {
                let list = |buffers: &[BufferIx]| {
                    buffers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
                };
                format!("{} = {}({})", list(outputs), self.graph.node_label(*node), list(operands))
            }
        }
    }

    fn buffers_of_steps(&self) -> FxHashSet<usize> {
        let mut used = FxHashSet::default();
        for step in &self.program.steps {
            match step {
                Step::Kernel(kernel) => used.extend(kernel.reads.iter().map(|buffer| buffer.index())),
                Step::MatMul { a, b, .. } => used.extend([a.index(), b.index()]),
                Step::Node { operands, .. } => used.extend(operands.iter().map(|buffer| buffer.index())),
            }
        }
        let aliased = self.program.contents.iter().filter_map(|content| match content {
            Content::Alias(of) => Some(of.index()),
            _ => None,
        });
        used.extend(aliased);
        used
    }

    fn buffer_text(&self, number: usize) -> String {
        let buffer = &self.program.buffers[number];
        let dims: Vec<String> = buffer.dims.iter().map(ToString::to_string).collect();
        let label = self.graph.node_label(self.graph.values[buffer.value.at()].node);
        let content = match self.program.contents[number] {
            Content::Input(port) => format!("input \"{}\"", self.graph.inputs[port].0),
            Content::Constant(_) if label == "constant" => label,
            Content::Constant(_) => format!("constant \"{label}\""),
            Content::Computed => format!("{label}, {}", self.program.reason(number)),
            Content::Alias(of) => format!("{label}, the elements of {of}"),
        };
        format!("{}: {}[{}] = {content}", BufferIx(number as u32), buffer.dtype, dims.join(", "))
    }

    /// Which emitters made the functions of a step, each once.
    fn bodies_text(&self, step: usize) -> Option<String> {
        let code = self.code.as_ref()?;
        let mut bodies: Vec<String> = Vec::new();
        for function in self.functions.get(step)? {
            let text = code.emitted(*function).to_string();
            if !bodies.contains(&text) {
                bodies.push(text);
            }
        }
        (!bodies.is_empty()).then(|| bodies.join(", "))
    }

    /// The fused nodes of a kernel, each op once with its count.
    fn fused_text(&self, kernel: &Kernel) -> String {
        let mut counts: IndexMap<String, usize> = IndexMap::new();
        for value in &kernel.fused {
            *counts.entry(self.graph.node_label(self.graph.values[value.at()].node)).or_default() += 1;
        }
        let names = counts.into_iter().map(|(label, count)| match count {
            1 => label,
            _ => format!("{label} ×{count}"),
        });
        names.collect::<Vec<_>>().join(", ")
    }
}

/// Buffers, each with the reason it has memory, then the steps in the order they run.
impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let used = self.buffers_of_steps();
        for number in 0..self.program.buffers.len() {
            // A constant whose only element stands in the code has no reader.
            if !matches!(self.program.contents[number], Content::Constant(_)) || used.contains(&number) {
                writeln!(f, "{}", self.buffer_text(number))?;
            }
        }
        for (at, step) in self.program.steps.iter().enumerate() {
            match step {
                Step::Kernel(_) => writeln!(f, "step {at}: {}\n{}", self.step_label(at), self.step_text(at))?,
                Step::MatMul { .. } | Step::Node { .. } => writeln!(f, "step {at}: {}", self.step_text(at))?,
            }
        }
        Ok(())
    }
}
