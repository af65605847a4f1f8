//! What a stage reports of itself: statistics, its steps as text, its intermediate code.

use std::fmt;
use std::sync::atomic::Ordering;

use super::executable::Stats;
use super::stage::Stage;
use crate::codegen::{CodeModule, Jit};
use crate::error::Result;
use crate::lower::kernel::BufferIx;
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
                text.push_str(&format!("; step {at}, variant {number}\n{}\n", Jit::clif_text(&variant.code)?));
            }
        }
        Ok(text)
    }

    fn buffer_text(&self, number: usize) -> String {
        let buffer = &self.program.buffers[number];
        let dims: Vec<String> = buffer.dims.iter().map(ToString::to_string).collect();
        let content = match self.program.contents[number] {
            Content::Input(port) => format!("input {}", self.inner.inputs[port].0),
            Content::Constant(_) => "constant".to_string(),
            Content::Computed => format!("{:?}", self.program.why[number]),
            Content::Alias(of) => format!("same as {of}"),
        };
        let name = self.inner.node_name(self.inner.values[buffer.value.at()].node);
        format!("{}: {}[{}] {} {name} ({content})", BufferIx(number as u32), buffer.dtype, dims.join(", "), buffer.value)
    }
}

/// Buffers with the reason each has memory, then the steps.
impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for number in 0..self.program.buffers.len() {
            writeln!(f, "{}", self.buffer_text(number))?;
        }
        for (at, step) in self.program.steps.iter().enumerate() {
            match step {
                Step::Kernel(kernel) => {
                    write!(f, "step {at}:")?;
                    for value in &kernel.fused {
                        write!(f, " {}", self.inner.node_name(self.inner.values[value.at()].node))?;
                    }
                    writeln!(f, "\n{kernel}")?;
                }
                Step::MatMul { a, b, out, spec, .. } => {
                    let mark = |transposed| if transposed { "ᵀ" } else { "" };
                    writeln!(f, "step {at}: {out} = {a}{} · {b}{}", mark(spec.transpose_a), mark(spec.transpose_b))?;
                }
                Step::Node { node, operands, outputs } => {
                    let list = |buffers: &[BufferIx]| {
                        buffers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
                    };
                    let name = self.inner.node_name(*node);
                    writeln!(f, "step {at}: {} = {name}({})", list(outputs), list(operands))?;
                }
            }
        }
        Ok(())
    }
}
