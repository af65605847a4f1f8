//! [`Rebuilder::unroll_loop`]: a loop becomes its iterations if their number is small and constants determine it.
//!
//! A loop runs on the host, and each iteration launches kernels. Unrolled iterations fuse with each other and with the
//! nodes around the loop. A loop qualifies if its sizes are known and stay, and if no node of its body runs on the
//! host, moves strings or can fail. The error of a loop names the iteration, which unrolled nodes could not. A loop
//! with a limit on its iterations or with a cancellation token stays.

use rustc_hash::FxHashMap;

use super::rebuilder::Rebuilder;
use super::select_branches::{MAX_DEPTH, RegionLimits, known_sizes, nodes_of};
use crate::error::Result;
use crate::graph::{GraphData, NodeIx, ValueIx, graph_of};
use crate::op::{Body, BodyRegion, ControlForm, LoopSource, WhileForm};
use crate::tensor::Tensor;

/// The maximum number of iterations of a loop that is unrolled.
const MAX_ITERATIONS: usize = 16;

/// The maximum number of nodes that replace a loop.
const MAX_NODES: usize = 256;

/// The limits of one iteration.
const BODY: RegionLimits = RegionLimits { nodes: MAX_NODES, elements: 1 << 16 };

impl Rebuilder<'_> {
    /// Adds a loop of the old graph as its iterations, if the loop is short. Returns whether it added them.
    ///
    /// # Errors
    /// Inference refuses a node.
    pub(super) fn unroll_loop(&mut self, index: NodeIx) -> Result<bool> {
        let node = &self.old.nodes[index.index()];
        let Body::Control(control) = &node.op.body else { return Ok(false) };
        let ControlForm::While(form) = control.form() else { return Ok(false) };
        if form.limit.is_some() || form.has_token {
            return Ok(false);
        }
        // A string operand may have no new value, because its handles move instead.
        let operands: Option<Vec<ValueIx>> =
            node.operands.iter().map(|operand| self.values.get(operand).copied()).collect();
        let Some(operands) = operands else { return Ok(false) };
        let Some(nodes) = nodes_of(&form.step, MAX_DEPTH, BODY) else { return Ok(false) };
        if !keeps_sizes(&form, &self.new, &operands) {
            return Ok(false);
        }
        let Some(iterations) = iterations(&form, &self.new, &operands) else { return Ok(false) };
        if iterations * nodes > MAX_NODES {
            return Ok(false);
        }
        let mut state: Vec<ValueIx> = form.changing.iter().map(|operand| operands[*operand]).collect();
        for _ in 0..iterations {
            let inputs = form.sources.iter().map(|source| match *source {
                LoopSource::State(position) => state[position],
                LoopSource::Operand(operand) => operands[operand],
            });
            let results = self.inline(&form.step, inputs.collect())?;
            state = results[..state.len()].to_vec();
        }
        for (number, old) in node.values().enumerate() {
            let position = form.changing.iter().position(|changing| *changing == number);
            let new = position.map_or(operands[number], |position| state[position]);
            self.learn_value(old, new);
            self.values.insert(old, new);
        }
        Ok(true)
    }
}

/// Returns whether the operands have the sizes that the body states, and every state value keeps its sizes.
fn keeps_sizes(form: &WhileForm<'_>, around: &GraphData, operands: &[ValueIx]) -> bool {
    let step = graph_of(&form.step);
    let initial = |operand: usize| known_sizes(around, operands[operand]);
    let inputs = step.inputs.iter().zip(form.sources).all(|((_, input), source)| {
        let operand = match *source {
            LoopSource::State(position) => form.changing[position],
            LoopSource::Operand(operand) => operand,
        };
        known_sizes(step, *input).is_some_and(|sizes| initial(operand) == Some(sizes))
    });
    let mut states = form.changing.iter().zip(&form.step.outputs);
    inputs && states.all(|(operand, output)| known_sizes(step, ValueIx(*output)) == initial(*operand))
}

/// Returns the number of iterations, if constants determine it and there are at most [`MAX_ITERATIONS`].
fn iterations(form: &WhileForm<'_>, around: &GraphData, operands: &[ValueIx]) -> Option<usize> {
    let given: Vec<Option<Tensor>> = operands.iter().map(|operand| around.const_fold(*operand)).collect();
    let captures = form.condition.captures.iter().map(|operand| given[*operand].clone());
    let condition = folded(&form.condition, captures);
    let mut goes_on = condition.value(form.condition.outputs[0])?.item::<bool>().ok()?;
    let mut state: Vec<Option<Tensor>> =
        form.changing.iter().map(|operand| given[*operand].clone()).collect();
    for iteration in 0..=MAX_ITERATIONS {
        if !goes_on {
            return Some(iteration);
        }
        let inputs = form.sources.iter().map(|source| match *source {
            LoopSource::State(position) => state[position].clone(),
            LoopSource::Operand(operand) => given[operand].clone(),
        });
        let step = folded(&form.step, inputs);
        let (condition, next) = form.step.outputs.split_last()?;
        goes_on = step.value(*condition)?.item::<bool>().ok()?;
        state = next.iter().map(|output| step.value(*output)).collect();
    }
    None
}

/// A region, and the tensors of its inputs, as far as they are known.
struct Folded<'a> {
    graph: &'a GraphData,
    known: FxHashMap<ValueIx, Tensor>,
}

impl Folded<'_> {
    /// Computes a value, if the known inputs determine it.
    fn value(&self, value: u32) -> Option<Tensor> {
        self.graph.const_fold_with(ValueIx(value), &self.known)
    }
}

fn folded<'a>(region: &BodyRegion<'a>, inputs: impl Iterator<Item = Option<Tensor>>) -> Folded<'a> {
    let graph = graph_of(region);
    let known = graph.inputs.iter().zip(inputs).filter_map(|((_, input), tensor)| Some((*input, tensor?)));
    let known: FxHashMap<ValueIx, Tensor> = known.collect();
    Folded { graph, known }
}
