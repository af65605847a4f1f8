//! `Staged`: a graph compiled in as many stages as its unknown ranks and structure parameters ask for.

use std::sync::{Arc, Mutex};

use rustc_hash::FxHashMap;

use super::options::CompileOptions;
use super::stage::{RunState, Sinks, Stage};
use crate::dump::{Snapshot, StageKind, span};
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::{GraphData, ValueIx};
use crate::passes::{Facts, Pins, carrier, pinned_inputs, rebuild, rest, unresolved};
use crate::runtime::{Pool, lock};
use crate::tensor::{Tensor, TensorView};

/// What had to be known before a stage was compiled.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Key {
    ranks: Vec<usize>,
    sizes: Vec<Vec<usize>>,
    /// Sizes and bytes of values.
    values: Vec<(Vec<usize>, Vec<u8>)>,
}

/// A graph, with a compiled form for each set of ranks and structure values met so far.
pub(crate) struct Staged {
    graph: Arc<GraphData>,
    outputs: Vec<ValueIx>,
    options: CompileOptions,
    pool: Pool,
    pins: Pins,
    forms: Mutex<FxHashMap<Key, Arc<Form>>>,
    /// The form of a graph in which nothing has to be fixed.
    only: Option<Arc<Form>>,
    compiles: Mutex<Vec<String>>,
}

/// A first stage, and what follows it.
pub(crate) struct Form {
    pub stage: Stage,
    pub rest: Option<Rest>,
}

/// A form, of which there may be others.
pub(crate) enum FormRef<'s> {
    Only(&'s Form),
    Several(Arc<Form>),
}

impl std::ops::Deref for FormRef<'_> {
    type Target = Form;
    fn deref(&self) -> &Form {
        match self {
            FormRef::Only(form) => form,
            FormRef::Several(form) => form,
        }
    }
}

impl Form {
    /// Runs on row-major inputs: the first stage, then stage by stage what follows it. This is a loop, because a graph may
    /// have as many stages as nodes.
    pub(crate) fn run<'m>(
        &'m self,
        inputs: &'m [TensorView<'m>],
        sinks: Option<Sinks<'m>>,
        state: &mut RunState,
    ) -> Result<Vec<Tensor>> {
        let Some(rest) = &self.rest else { return self.stage.run(inputs, sinks, state) };
        let mut results: Vec<Option<Tensor>> = vec![None; rest.outputs.len()];
        // For each output of the form at hand: which output of the whole it is.
        let mut numbers: Vec<usize> = (0..results.len()).collect();
        let mut made = self.stage.run(inputs, None, state)?;
        let mut later: Option<Arc<Form>> = None;
        while let Some(rest) = &later.as_deref().unwrap_or(self).rest {
            let mut late = Vec::new();
            for (&number, from) in numbers.iter().zip(&rest.outputs) {
                match from {
                    From::First(at) => results[number] = Some(made[*at].clone()),
                    From::Rest => late.push(number),
                }
            }
            let feeds: Vec<TensorView<'_>> = rest.feeds.iter().map(|&at| made[at].view()).collect();
            let next = rest.staged.shared_form(&feeds)?;
            let following = next.stage.run(&feeds, None, state)?;
            (made, numbers, later) = (following, late, Some(next));
        }
        for (number, tensor) in numbers.into_iter().zip(made) {
            results[number] = Some(tensor);
        }
        let results: Vec<Tensor> =
            results.into_iter().map(|made| made.expect("some stage makes each output")).collect();
        let Some(sinks) = sinks else { return Ok(results) };
        for (number, (sink, tensor)) in sinks.into_iter().zip(&results).enumerate() {
            sink.fill(number, tensor)?;
        }
        Ok(Vec::new())
    }
}

/// The nodes that wait for results of the first stage.
pub(crate) struct Rest {
    pub staged: Staged,
    /// For each of its inputs, the result of the first stage that feeds it.
    feeds: Vec<usize>,
    /// For each output of the whole: where it comes from.
    outputs: Vec<From>,
}

#[derive(Clone, Copy, Debug)]
enum From {
    First(usize),
    /// The next output of the rest.
    Rest,
}

/// Forms kept at most.
const MAX_FORMS: usize = 64;

impl Staged {
    /// Compiles what needs no run; `outputs` are values of `graph`, which holds what they need and no more.
    pub(crate) fn new(
        graph: GraphData,
        outputs: Vec<ValueIx>,
        options: &CompileOptions,
        pool: &Pool,
    ) -> Result<Staged> {
        let pins = pinned_inputs(&graph);
        let mut staged = Staged {
            graph: Arc::new(graph),
            outputs,
            options: options.clone(),
            pool: pool.clone(),
            pins,
            forms: Mutex::default(),
            only: None,
            compiles: Mutex::default(),
        };
        if !staged.pins.is_empty() {
            staged.show_graph(&staged.graph, &staged.outputs)?;
        } else {
            staged.only = Some(Arc::new(staged.compile(&Facts::default(), "graph")?));
        }
        Ok(staged)
    }

    fn show_graph(&self, graph: &GraphData, outputs: &[ValueIx]) -> Result<()> {
        self.options.show(StageKind::Optimized, &mut || {
            let mut snapshot = Snapshot::of_graph(graph, StageKind::Optimized);
            snapshot.mark_results(graph, outputs);
            Ok(snapshot)
        })
    }

    fn compile_stage(&self, graph: Arc<GraphData>, outputs: &[ValueIx]) -> Result<Stage> {
        let stage = Stage::compile(graph, outputs, &self.options, self.pool.clone())?;
        for kind in [StageKind::Kernels, StageKind::Clif, StageKind::Asm] {
            if stage.has_text(kind) {
                self.options.show(kind, &mut || stage.snapshot(kind))?;
            }
        }
        Ok(stage)
    }

    fn compile(&self, facts: &Facts, reason: &str) -> Result<Form> {
        let (graph, outputs) = if self.pins.is_empty() {
            (self.graph.clone(), self.outputs.clone())
        } else {
            let _span = span(self.options.kept_trace(), "compile", "passes");
            let rebuilt = rebuild(&self.graph, &self.outputs, facts)?;
            let outputs = self.outputs.iter().map(|value| rebuilt.values[value]).collect();
            (Arc::new(rebuilt.graph), outputs)
        };
        self.show_graph(&graph, &outputs)?;
        lock(&self.compiles).push(reason.to_string());
        let waits = unresolved(&graph)?;
        let waiting = |value: &ValueIx| waits[graph.values[value.at()].node.at()];
        if !waits.contains(&true) {
            let stage = self.compile_stage(graph, &outputs)?;
            return Ok(Form { stage, rest: None });
        }
        // The first stage makes the outputs it can and whatever the waiting nodes read.
        let mut made: Vec<ValueIx> = Vec::new();
        let mut want = |value: ValueIx| match made.iter().position(|known| *known == value) {
            Some(at) => at,
            None => {
                made.push(value);
                made.len() - 1
            }
        };
        let mut frontier: Vec<ValueIx> = Vec::new();
        for (_, node) in graph.nodes.iter().enumerate().filter(|(number, _)| waits[*number]) {
            for operand in node.operands.iter().filter(|operand| !waiting(operand)) {
                let constant = graph.constants.contains_key(&graph.values[operand.at()].node);
                if !constant && !frontier.contains(operand) {
                    frontier.push(*operand);
                }
            }
            node.attrs().symbols(&mut |symbol| {
                frontier.extend(carrier(&graph, &waits, symbol).filter(|value| !frontier.contains(value)));
            });
        }
        let feeds: Vec<usize> = frontier.iter().map(|value| want(*value)).collect();
        let following = rest(&graph, &waits, &frontier)?;
        let mut late = Vec::new();
        let from: Vec<From> = outputs
            .iter()
            .map(|value| {
                if waiting(value) {
                    late.push(following.values[value]);
                    From::Rest
                } else {
                    From::First(want(*value))
                }
            })
            .collect();
        let own = rebuild(&following.graph, &late, &Facts::default())?;
        let late = late.iter().map(|value| own.values[value]).collect();
        let staged = Staged::new(own.graph, late, &self.options, &self.pool)?;
        let first = rebuild(&graph, &made, &Facts::default())?;
        let made: Vec<ValueIx> = made.iter().map(|value| first.values[value]).collect();
        let stage = self.compile_stage(Arc::new(first.graph), &made)?;
        Ok(Form { stage, rest: Some(Rest { staged, feeds, outputs: from }) })
    }

    /// The compiled form for these inputs.
    pub(crate) fn form(&self, inputs: &[TensorView<'_>]) -> Result<FormRef<'_>> {
        match &self.only {
            Some(only) => Ok(FormRef::Only(only)),
            None => self.form_of(inputs).map(FormRef::Several),
        }
    }

    /// As [`Staged::form`], held for longer than `self`.
    fn shared_form(&self, inputs: &[TensorView<'_>]) -> Result<Arc<Form>> {
        match &self.only {
            Some(only) => Ok(only.clone()),
            None => self.form_of(inputs),
        }
    }

    /// As [`Staged::form`], where there are several.
    fn form_of(&self, inputs: &[TensorView<'_>]) -> Result<Arc<Form>> {
        self.check_dtypes(inputs)?;
        let sizes = |port: &usize| inputs.get(*port).map_or(&[][..], |view| view.sizes());
        let key = Key {
            ranks: self.pins.ranks.iter().map(|port| sizes(port).len()).collect(),
            sizes: self.pins.sizes.iter().map(|port| sizes(port).to_vec()).collect(),
            values: self
                .pins
                .values
                .iter()
                .filter_map(|port| inputs.get(*port))
                .map(|view| (view.sizes().to_vec(), view.bytes().to_vec()))
                .collect(),
        };
        if let Some(form) = lock(&self.forms).get(&key) {
            return Ok(form.clone());
        }
        let mut facts = Facts::default();
        let mut reasons = Vec::new();
        let name = |port: usize| &self.graph.inputs[port].0;
        for &port in &self.pins.ranks {
            facts.ranks.insert(port, sizes(&port).len());
            reasons.push(format!("rank {} of {}", sizes(&port).len(), name(port)));
        }
        for &port in &self.pins.sizes {
            facts.sizes.insert(port, sizes(&port).to_vec());
            reasons.push(format!("sizes {:?} of {}", sizes(&port), name(port)));
        }
        for &port in &self.pins.values {
            if let Some(view) = inputs.get(port) {
                facts.values.insert(port, view.to_tensor()?);
                reasons.push(format!("value of {}", name(port)));
            }
        }
        let form = Arc::new(self.compile(&facts, &reasons.join(", "))?);
        let mut forms = lock(&self.forms);
        if forms.len() >= MAX_FORMS {
            forms.clear();
        }
        Ok(forms.entry(key).or_insert(form).clone())
    }

    /// Inputs have the dtypes they were declared with; what is fixed of them becomes part of a graph.
    fn check_dtypes(&self, inputs: &[TensorView<'_>]) -> Result<()> {
        for ((name, value), view) in self.graph.inputs.iter().zip(inputs) {
            let info = &self.graph.values[value.at()];
            if info.dtype != view.dtype() {
                let shape = self.graph.table.resolve_shape(&info.shape);
                let got = format!("{}{:?}", view.dtype(), view.sizes());
                let message = format!("input \"{name}\" must be {}{shape}, got {got}", info.dtype);
                return Err(Error::new(ErrorKind::Feed, Phase::Run, message)
                    .note_declaration(self.graph.node_of(*value).location));
            }
        }
        Ok(())
    }

    /// The stage that serves every run, if there is one.
    pub(crate) fn single(&self) -> Option<&Stage> {
        self.only.as_deref().filter(|form| form.rest.is_none()).map(|form| &form.stage)
    }

    /// The forms compiled so far, in the order in which they were.
    fn compiled(&self) -> Vec<Arc<Form>> {
        let mut forms: Vec<Arc<Form>> =
            lock(&self.forms).values().cloned().chain(self.only.clone()).collect();
        forms.sort_by_key(|form| form.stage.number);
        forms
    }

    /// Calls `f` on the graph and on every rest compiled so far, each before what follows it.
    fn for_each_part(&self, f: &mut dyn FnMut(&Staged)) {
        f(self);
        let mut stack = self.compiled();
        stack.reverse();
        while let Some(form) = stack.pop() {
            if let Some(rest) = &form.rest {
                f(&rest.staged);
                stack.extend(rest.staged.compiled().into_iter().rev());
            }
        }
    }

    /// Calls `f` on every stage compiled so far: forms in the order in which they were, each before what follows it.
    pub(crate) fn for_each_stage(&self, f: &mut dyn FnMut(&Stage)) {
        let mut stack = self.compiled();
        stack.reverse();
        while let Some(form) = stack.pop() {
            f(&form.stage);
            stack.extend(form.rest.iter().flat_map(|rest| rest.staged.compiled().into_iter().rev()));
        }
    }

    /// What all stages are compiled from: the graph that the outputs need.
    pub(crate) fn graph_snapshot(&self) -> Snapshot {
        let mut snapshot = Snapshot::of_graph(&self.graph, StageKind::Optimized);
        snapshot.mark_results(&self.graph, &self.outputs);
        snapshot
    }

    /// The reason of every compilation so far.
    pub(crate) fn reasons(&self) -> Vec<String> {
        let mut reasons = Vec::new();
        self.for_each_part(&mut |part| reasons.extend(lock(&part.compiles).iter().cloned()));
        reasons
    }
}

impl Drop for Staged {
    /// Releases what follows the forms in a loop: it may be as long as the graph.
    fn drop(&mut self) {
        let mut forms = self.compiled();
        self.only = None;
        lock(&self.forms).clear();
        while let Some(form) = forms.pop() {
            if let Some(Form { rest: Some(mut rest), .. }) = Arc::into_inner(form) {
                forms.extend(rest.staged.compiled());
                rest.staged.only = None;
                lock(&rest.staged.forms).clear();
            }
        }
    }
}

#[cfg(test)]
mod tests;
