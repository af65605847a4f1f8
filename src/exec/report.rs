//! What a stage reports of itself: statistics, its steps as text, its intermediate code.

use std::fmt;
use std::sync::atomic::Ordering;

use indexmap::IndexMap;
use rustc_hash::FxHashSet;

use super::executable::Stats;
use super::stage::Stage;
use crate::codegen::{CodeModule, Jit};
use crate::error::Result;
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
        stats.arena_bytes = stats.arena_bytes.max(self.counters.arena.load(Ordering::Relaxed));
        stats.plan_hits += self.counters.hits.load(Ordering::Relaxed);
        stats.plan_misses += self.counters.misses.load(Ordering::Relaxed);
    }

    /// The intermediate code of every variant of every kernel.
    pub(super) fn clif(&self) -> Result<String> {
        let mut text = String::new();
        for (at, step) in self.program.steps.iter().enumerate() {
            let Step::Kernel(kernel) = step else { continue };
            for (number, variant) in kernel.variants.iter().enumerate() {
                let fused = self.fused_text(kernel);
                let code = Jit::clif_text(&variant.code)?;
                text.push_str(&format!("; step {at}: {fused}; variant {number}\n{code}\n"));
            }
        }
        Ok(text)
    }

    fn buffers_of_steps(&self) -> FxHashSet<usize> {
        let mut used = FxHashSet::default();
        for step in &self.program.steps {
            match step {
                Step::Kernel(kernel) => used.extend(kernel.reads.iter().map(|buffer| buffer.at())),
                Step::MatMul { a, b, .. } => used.extend([a.at(), b.at()]),
                Step::Node { operands, .. } => used.extend(operands.iter().map(|buffer| buffer.at())),
            }
        }
        let aliased = self.program.contents.iter().filter_map(|content| match content {
            Content::Alias(of) => Some(of.at()),
            _ => None,
        });
        used.extend(aliased);
        used
    }

    fn buffer_text(&self, number: usize) -> String {
        let buffer = &self.program.buffers[number];
        let dims: Vec<String> = buffer.dims.iter().map(ToString::to_string).collect();
        let label = self.inner.node_label(self.inner.values[buffer.value.at()].node);
        let content = match self.program.contents[number] {
            Content::Input(port) => format!("input \"{}\"", self.inner.inputs[port].0),
            Content::Constant(_) if label == "constant" => label,
            Content::Constant(_) => format!("constant \"{label}\""),
            Content::Computed => format!("{label}, {}", self.program.why[number]),
            Content::Alias(of) => format!("{label}, the elements of {of}"),
        };
        format!("{}: {}[{}] = {content}", BufferIx(number as u32), buffer.dtype, dims.join(", "))
    }

    /// Which emitters made the functions of a step, each once.
    fn write_bodies(&self, f: &mut fmt::Formatter<'_>, step: usize) -> fmt::Result {
        let Some(code) = &self.code else { return Ok(()) };
        let mut bodies: Vec<String> = Vec::new();
        for function in &self.functions[step] {
            let Some(body) = code.emitted(*function) else { continue };
            let text = body.to_string();
            if !bodies.contains(&text) {
                bodies.push(text);
            }
        }
        if bodies.is_empty() { Ok(()) } else { writeln!(f, "body: {}", bodies.join(", ")) }
    }

    /// The fused nodes of a kernel, each op once with its count.
    fn fused_text(&self, kernel: &Kernel) -> String {
        let mut counts: IndexMap<String, usize> = IndexMap::new();
        for value in &kernel.fused {
            *counts.entry(self.inner.node_label(self.inner.values[value.at()].node)).or_default() += 1;
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
                Step::Kernel(kernel) => {
                    writeln!(f, "step {at}: {}\n{kernel}", self.fused_text(kernel))?;
                    self.write_bodies(f, at)?;
                }
                Step::MatMul { a, b, out, spec, .. } => {
                    let mark = |transposed| if transposed { "ᵀ" } else { "" };
                    writeln!(
                        f,
                        "step {at}: {out} = {a}{} · {b}{}",
                        mark(spec.transpose_a),
                        mark(spec.transpose_b)
                    )?;
                }
                Step::Node { node, operands, outputs } => {
                    let list = |buffers: &[BufferIx]| {
                        buffers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
                    };
                    let label = self.inner.node_label(*node);
                    writeln!(f, "step {at}: {} = {label}({})", list(outputs), list(operands))?;
                }
            }
        }
        Ok(())
    }
}
