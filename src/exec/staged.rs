//! `Staged`: a graph compiled in as many stages as its unknown ranks and structure parameters ask for.

use std::sync::{Arc, Mutex};

use rustc_hash::FxHashMap;

use super::options::CompileOptions;
use super::stage::{RunState, Sinks, Stage};
use crate::codegen::{Pool, lock};
use crate::dump::{Snapshot, StageKind, span};
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::{Inner, ValueIx};
use crate::passes::{Facts, Pins, pinned_inputs, rebuild, rest, unresolved};
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
    inner: Arc<Inner>,
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
    /// Runs on row-major inputs.
    pub(crate) fn run<'m>(
        &'m self,
        inputs: &'m [TensorView<'m>],
        sinks: Option<Sinks<'m>>,
        state: &mut RunState,
    ) -> Result<Vec<Tensor>> {
        let Some(rest) = &self.rest else { return self.stage.run(inputs, sinks, state) };
        let first = self.stage.run(inputs, None, &mut RunState::default())?;
        let feeds: Vec<TensorView<'_>> = rest.feeds.iter().map(|&at| first[at].view()).collect();
        let late = rest.staged.form(&feeds)?.run(&feeds, None, &mut RunState::default())?;
        let results: Vec<Tensor> = rest
            .outputs
            .iter()
            .map(|from| match from {
                From::First(at) => first[*at].clone(),
                From::Rest(at) => late[*at].clone(),
            })
            .collect();
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
    Rest(usize),
}

/// Forms kept at most.
const MAX_FORMS: usize = 64;

impl Staged {
    /// Compiles what needs no run; `outputs` are values of `inner`, which holds what they need and no more.
    pub(crate) fn new(
        inner: Inner,
        outputs: Vec<ValueIx>,
        options: &CompileOptions,
        pool: &Pool,
    ) -> Result<Staged> {
        let pins = pinned_inputs(&inner);
        let mut staged = Staged {
            inner: Arc::new(inner),
            outputs,
            options: options.clone(),
            pool: pool.clone(),
            pins,
            forms: Mutex::default(),
            only: None,
            compiles: Mutex::default(),
        };
        if !staged.pins.is_empty() {
            staged.show_graph(&staged.inner, &staged.outputs)?;
        } else {
            staged.only = Some(Arc::new(staged.compile(&Facts::default(), "graph")?));
        }
        Ok(staged)
    }

    fn show_graph(&self, inner: &Inner, outputs: &[ValueIx]) -> Result<()> {
        self.options.show(StageKind::Optimized, &mut || {
            let mut snapshot = Snapshot::of_graph(inner, StageKind::Optimized);
            snapshot.mark_results(inner, outputs);
            Ok(snapshot)
        })
    }

    fn compile_stage(&self, inner: Arc<Inner>, outputs: &[ValueIx]) -> Result<Stage> {
        let stage = Stage::compile(inner, outputs, &self.options, self.pool.clone())?;
        for kind in [StageKind::Kernels, StageKind::Clif, StageKind::Asm] {
            if kind != StageKind::Asm || stage.has_asm() {
                self.options.show(kind, &mut || stage.snapshot(kind))?;
            }
        }
        Ok(stage)
    }

    fn compile(&self, facts: &Facts, reason: &str) -> Result<Form> {
        let (inner, outputs) = if self.pins.is_empty() {
            (self.inner.clone(), self.outputs.clone())
        } else {
            let _span = span(self.options.kept_trace(), "compile", "passes");
            let rebuilt = rebuild(&self.inner, &self.outputs, facts)?;
            let outputs = self.outputs.iter().map(|value| rebuilt.values[value]).collect();
            (Arc::new(rebuilt.inner), outputs)
        };
        self.show_graph(&inner, &outputs)?;
        lock(&self.compiles).push(reason.to_string());
        let waits = unresolved(&inner)?;
        let waiting = |value: &ValueIx| waits[inner.values[value.at()].node.at()];
        if !waits.contains(&true) {
            let stage = self.compile_stage(inner, &outputs)?;
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
        for (number, node) in inner.nodes.iter().enumerate() {
            for operand in node.operands.iter().filter(|operand| waits[number] && !waiting(operand)) {
                let constant = inner.constants.contains_key(&inner.values[operand.at()].node);
                if !constant && !frontier.contains(operand) {
                    frontier.push(*operand);
                }
            }
        }
        let feeds: Vec<usize> = frontier.iter().map(|value| want(*value)).collect();
        let following = rest(&inner, &waits, &frontier)?;
        let mut late = Vec::new();
        let from: Vec<From> = outputs
            .iter()
            .map(|value| {
                if waiting(value) {
                    late.push(following.values[value]);
                    From::Rest(late.len() - 1)
                } else {
                    From::First(want(*value))
                }
            })
            .collect();
        let own = rebuild(&following.inner, &late, &Facts::default())?;
        let late = late.iter().map(|value| own.values[value]).collect();
        let staged = Staged::new(own.inner, late, &self.options, &self.pool)?;
        let first = rebuild(&inner, &made, &Facts::default())?;
        let made: Vec<ValueIx> = made.iter().map(|value| first.values[value]).collect();
        let stage = self.compile_stage(Arc::new(first.inner), &made)?;
        Ok(Form { stage, rest: Some(Rest { staged, feeds, outputs: from }) })
    }

    /// The compiled form for these inputs.
    pub(crate) fn form(&self, inputs: &[TensorView<'_>]) -> Result<FormRef<'_>> {
        match &self.only {
            Some(only) => Ok(FormRef::Only(only)),
            None => self.form_of(inputs).map(FormRef::Several),
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
        let name = |port: usize| &self.inner.inputs[port].0;
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
        for ((name, value), view) in self.inner.inputs.iter().zip(inputs) {
            let info = &self.inner.values[value.at()];
            if info.dtype != view.dtype() {
                let shape = self.inner.table.resolve_shape(&info.shape);
                let got = format!("{}{:?}", view.dtype(), view.sizes());
                let message = format!("input \"{name}\" must be {}{shape}, got {got}", info.dtype);
                return Err(Error::new(ErrorKind::Feed, Phase::Run, message)
                    .note_declaration(self.inner.node_of(*value).location));
            }
        }
        Ok(())
    }

    /// The stage that serves every run, if there is one.
    pub(crate) fn single(&self) -> Option<&Stage> {
        self.only.as_deref().filter(|form| form.rest.is_none()).map(|form| &form.stage)
    }

    /// Calls `f` on every stage compiled so far, the forms in the order in which they were.
    pub(crate) fn for_each_stage(&self, f: &mut dyn FnMut(&Stage)) {
        let mut forms: Vec<Arc<Form>> =
            lock(&self.forms).values().cloned().chain(self.only.clone()).collect();
        forms.sort_by_key(|form| form.stage.number);
        for form in forms {
            f(&form.stage);
            if let Some(rest) = &form.rest {
                rest.staged.for_each_stage(f);
            }
        }
    }

    /// What all stages are compiled from: the graph that the outputs need.
    pub(crate) fn graph_snapshot(&self) -> Snapshot {
        let mut snapshot = Snapshot::of_graph(&self.inner, StageKind::Optimized);
        snapshot.mark_results(&self.inner, &self.outputs);
        snapshot
    }

    /// The reason of every compilation so far.
    pub(crate) fn reasons(&self) -> Vec<String> {
        let mut reasons = lock(&self.compiles).clone();
        let forms: Vec<Arc<Form>> = lock(&self.forms).values().cloned().chain(self.only.clone()).collect();
        for form in forms {
            if let Some(rest) = &form.rest {
                reasons.extend(rest.staged.reasons());
            }
        }
        reasons
    }
}
