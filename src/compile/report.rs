//! A compiled program as text and as a snapshot: buffers, steps, intermediate code, instructions.

use std::fmt;

use rustc_hash::FxHashSet;

use super::describe::step_label;
use super::pipeline::CompiledProgram;
use crate::codegen::{CodeModule, Jit};
use crate::dump::{KernelKind, KernelView, Snapshot, StageKind};
use crate::error::Result;
use crate::graph::{NodeIx, ValueIx};
use crate::lower::kernel::{BufferIx, Kernel};
use crate::lower::program::{Content, Step};
use crate::op::ContractionSpec;

impl CompiledProgram {
    /// Returns the intermediate code of every variant of every kernel.
    ///
    /// # Errors
    /// Cranelift does not know the processor.
    pub(crate) fn clif(&self) -> Result<String> {
        self.code_text(&|step| self.kernel_clif(step))
    }

    /// Returns the instructions of every variant of every kernel.
    fn asm(&self) -> Result<String> {
        self.code_text(&|step| self.kernel_asm(step))
    }

    fn code_text(&self, of_step: &dyn Fn(usize) -> Result<Option<String>>) -> Result<String> {
        let mut text = String::new();
        for (number, step) in self.lowered.steps.iter().enumerate() {
            if let Some(code) = of_step(number)? {
                text.push_str(&format!("; step {number}: {}\n{code}", step_label(&self.graph, step)));
            }
        }
        Ok(text)
    }

    /// Returns the intermediate code of a step, if it is a kernel.
    fn kernel_clif(&self, step: usize) -> Result<Option<String>> {
        let Step::Kernel(kernel) = &self.lowered.steps[step] else { return Ok(None) };
        let mut text = String::new();
        for (number, variant) in kernel.variants.iter().enumerate() {
            text.push_str(&format!("; variant {number}\n{}\n", Jit::clif_text(&variant.body)?));
        }
        Ok(Some(text))
    }

    /// Returns the instructions of a step, if it is a kernel with machine code.
    fn kernel_asm(&self, step: usize) -> Result<Option<String>> {
        let Some(code) = &self.code else { return Ok(None) };
        let functions = &code.functions[step];
        let mut text = String::new();
        for (number, function) in functions.iter().enumerate() {
            text.push_str(&format!("; variant {number}\n{}\n", code.module.asm_text(*function)?));
        }
        Ok((!functions.is_empty()).then_some(text))
    }

    /// Returns whether the program has code of this kind that this build can print.
    pub(super) fn has_text(&self, kind: StageKind) -> bool {
        match kind {
            StageKind::Clif => Jit::PRINTS_CLIF,
            StageKind::Asm => self.code.is_some() && CodeModule::PRINTS_ASM,
            _ => true,
        }
    }

    /// Returns the graph with its kernels: as loops, with their intermediate code from [`StageKind::Clif`] on, and
    /// with their instructions for [`StageKind::Asm`].
    ///
    /// # Errors
    /// Cranelift does not know the processor, or this build cannot print instructions.
    pub(crate) fn snapshot(&self, stage: StageKind) -> Result<Snapshot> {
        self.graph.dim_names().scope(|| self.snapshot_with_names(stage))
    }

    fn snapshot_with_names(&self, stage: StageKind) -> Result<Snapshot> {
        let mut snapshot = Snapshot::of_graph(&self.graph, stage);
        let outputs: Vec<ValueIx> =
            self.lowered.outputs.iter().map(|buffer| self.lowered.buffers[buffer.index()].value).collect();
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
        let values = |node: &NodeIx| self.graph.nodes[node.index()].values().collect();
        for (number, step) in self.lowered.steps.iter().enumerate() {
            let (kind, written, root_values, fused_values) = match step {
                Step::Kernel(Kernel { writes, roots, fused, .. }) => {
                    (KernelKind::Fused, writes.clone(), roots.clone(), fused.clone())
                }
                Step::MatMul { node, out, .. } => (KernelKind::Matmul, vec![*out], values(node), Vec::new()),
                Step::Whole { node, out, .. } => (KernelKind::Fused, vec![*out], values(node), Vec::new()),
                Step::Node { node, outputs, .. } => {
                    (KernelKind::Host, outputs.clone(), values(node), Vec::new())
                }
            };
            snapshot.kernels.push(KernelView {
                step: number,
                kind,
                label: step_label(&self.graph, step),
                loops: self.step_text(number),
                writes: written.iter().map(|buffer| self.buffer_text(*buffer)).collect(),
                clif: if stage >= StageKind::Clif { self.kernel_clif(number)? } else { None },
                asm: if stage == StageKind::Asm { self.kernel_asm(number)? } else { None },
            });
            // Several kernels may compute the same cheap node. The node is shown in the kernel that stores its value,
            // or else in the first kernel that computes it.
            for value in root_values {
                snapshot.nodes[self.graph.values[value.index()].node.index()].kernel = Some(number);
            }
            for value in fused_values {
                snapshot.nodes[self.graph.values[value.index()].node.index()].kernel.get_or_insert(number);
            }
        }
        Ok(snapshot)
    }

    /// Returns the text of a step.
    fn step_text(&self, step: usize) -> String {
        match &self.lowered.steps[step] {
            Step::Kernel(kernel) => match self.emitters_text(step) {
                Some(emitters) => format!("{kernel}\nbody: {emitters}"),
                None => kernel.to_string(),
            },
            Step::MatMul { a, b, out, spec, .. } => match spec {
                ContractionSpec::Matrices { transpose_a, transpose_b } => {
                    let mark = |transposed| if transposed { "ᵀ" } else { "" };
                    format!("{out} = {a}{} · {b}{}", mark(*transpose_a), mark(*transpose_b))
                }
                ContractionSpec::Windows { strides, dilations } => {
                    format!("{out} = windows({a}) · {b}, strides {strides:?}, dilations {dilations:?}")
                }
            },
            Step::Whole { node, from, out, .. } => {
                format!("{out} = {}({from})", self.graph.node_label(*node))
            }
            Step::Node { node, operands, outputs } => {
                let list = |buffers: &[BufferIx]| {
                    buffers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
                };
                format!("{} = {}({})", list(outputs), self.graph.node_label(*node), list(operands))
            }
        }
    }

    /// Returns the buffers that some step reads or that another buffer views.
    fn read_buffers(&self) -> FxHashSet<BufferIx> {
        let mut read = FxHashSet::default();
        for step in &self.lowered.steps {
            read.extend(step.buffers().0.iter().copied());
        }
        read.extend(self.lowered.contents.iter().filter_map(|content| match content {
            Content::Alias(of) => Some(*of),
            Content::Input(_) | Content::Constant(_) | Content::Computed => None,
        }));
        read
    }

    fn buffer_text(&self, index: BufferIx) -> String {
        let buffer = &self.lowered.buffers[index.index()];
        let dims: Vec<String> = buffer.dims.iter().map(ToString::to_string).collect();
        let label = self.graph.node_label(self.graph.values[buffer.value.index()].node);
        let content = match self.lowered.contents[index.index()] {
            Content::Input(port) => format!("input \"{}\"", self.graph.inputs[port].0),
            Content::Constant(_) if label == "constant" => label,
            Content::Constant(_) => format!("constant \"{label}\""),
            Content::Computed => format!("{label}, {}", self.lowered.reason(index.index())),
            Content::Alias(of) => format!("{label}, the elements of {of}"),
        };
        format!("{index}: {}[{}] = {content}", buffer.dtype, dims.join(", "))
    }

    /// Returns the names of the emitters that made the functions of a step, each once; none without machine code.
    fn emitters_text(&self, step: usize) -> Option<String> {
        let code = self.code.as_ref()?;
        let mut emitters: Vec<String> = Vec::new();
        for function in &code.functions[step] {
            let text = code.module.emitted(*function).to_string();
            if !emitters.contains(&text) {
                emitters.push(text);
            }
        }
        (!emitters.is_empty()).then(|| emitters.join(", "))
    }
}

/// Prints the buffers, each with the reason why it is in memory, then the steps in the order in which they run.
impl fmt::Display for CompiledProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.graph.dim_names().scope(|| self.write_steps(f))
    }
}

impl CompiledProgram {
    fn write_steps(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let read = self.read_buffers();
        for (number, content) in self.lowered.contents.iter().enumerate() {
            // Machine code holds a constant of one element as an immediate, so no step reads the buffer of the
            // constant.
            let buffer = BufferIx(number as u32);
            if !matches!(content, Content::Constant(_)) || read.contains(&buffer) {
                writeln!(f, "{}", self.buffer_text(buffer))?;
            }
        }
        for (number, step) in self.lowered.steps.iter().enumerate() {
            let text = self.step_text(number);
            match step {
                Step::Kernel(_) => writeln!(f, "step {number}: {}\n{text}", step_label(&self.graph, step))?,
                Step::MatMul { .. } | Step::Whole { .. } | Step::Node { .. } => {
                    writeln!(f, "step {number}: {text}")?
                }
            }
        }
        Ok(())
    }
}
