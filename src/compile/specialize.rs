//! [`SpecializationCache`]: a graph, and its programs for the ranks, sizes and elements of key inputs that runs have
//! met.

use std::sync::{Arc, Mutex};

use rustc_hash::FxHashMap;

use super::check_support::check_features;
use super::options::CompileOptions;
use super::pipeline::CompiledProgram;
use super::split::{OutputSource, Split, split};
use crate::dump::{Snapshot, StageKind, span};
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::{GraphData, ValueIx};
use crate::lower::check_definitions;
use crate::lower::program::Step;
use crate::passes::{KeyInputs, KnownInputs, incomplete_nodes, key_inputs, rebuild, unresolved};
use crate::runtime::{Pool, ProgramState, lock};
use crate::tensor::TensorView;

/// The properties of a run's key inputs that choose the specialization for the run. A key input is an input whose rank,
/// sizes or elements must be known to compile the graph. The fields are parallel to the fields of [`KeyInputs`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct SpecializationKey {
    ranks: Vec<usize>,
    sizes: Vec<Vec<usize>>,
    /// The sizes and the bytes of each input whose elements are part of the key.
    values: Vec<(Vec<usize>, Vec<u8>)>,
}

/// A graph, with a specialization for each [`SpecializationKey`] that runs have met.
pub(crate) struct SpecializationCache {
    graph: Arc<GraphData>,
    outputs: Vec<ValueIx>,
    options: CompileOptions,
    threads: Pool,
    key_inputs: KeyInputs,
    specializations: Mutex<FxHashMap<SpecializationKey, Arc<Specialization>>>,
    /// The specialization that serves every run; none if there are key inputs.
    only: Option<Arc<Specialization>>,
    /// The reason of each compilation, in the order of the compilations.
    reasons: Mutex<Vec<String>>,
}

/// A program for one [`SpecializationKey`], the state of its runs, and the continuation after it.
pub(crate) struct Specialization {
    pub program: CompiledProgram,
    pub state: ProgramState,
    /// The part of the graph that is specialized for results of `program`; none if `program` computes all outputs.
    pub continuation: Option<Continuation>,
}

/// The second part of a graph that was split. This part is specialized for the results of the first part.
pub(crate) struct Continuation {
    /// The cache of the second part. If the second part has `k` inputs, they are the first `k` results of the first
    /// part.
    pub cache: SpecializationCache,
    /// For each output of the whole graph, its source.
    pub sources: Vec<OutputSource>,
}

/// A specialization of a cache.
pub(crate) enum SpecializationRef<'c> {
    /// The specialization that serves every run, borrowed from the cache. A borrow changes no reference count.
    Only(&'c Specialization),
    /// One of several specializations. The cache may drop it during the run.
    Cached(Arc<Specialization>),
}

impl std::ops::Deref for SpecializationRef<'_> {
    type Target = Specialization;

    fn deref(&self) -> &Specialization {
        match self {
            SpecializationRef::Only(only) => only,
            SpecializationRef::Cached(cached) => cached,
        }
    }
}

/// The maximum number of specializations of one cache.
const CAPACITY: usize = 64;

/// The maximum rank for which a graph is compiled, as in TensorFlow. The time to compile grows with the square of the
/// rank, and whoever feeds a tensor chooses its rank.
const MAX_RANK: usize = 254;

impl SpecializationCache {
    /// Creates the cache of a graph. If the graph has no key inputs, this compiles the graph at once. `outputs` are
    /// values of `graph`. Every node of `graph` is needed for some output.
    ///
    /// # Errors
    /// The build lacks a feature that an op needs, the graph cannot be compiled, or no run could give a value to a
    /// symbol.
    pub(crate) fn new(
        graph: GraphData,
        outputs: Vec<ValueIx>,
        options: &CompileOptions,
        threads: &Pool,
    ) -> Result<SpecializationCache> {
        check_features(&graph)?;
        let key_inputs = key_inputs(&graph);
        let mut cache = SpecializationCache {
            graph: Arc::new(graph),
            outputs,
            options: options.clone(),
            threads: threads.clone(),
            key_inputs,
            specializations: Mutex::default(),
            only: None,
            reasons: Mutex::default(),
        };
        if cache.key_inputs.is_empty() {
            let (graph, outputs) = (cache.graph.clone(), cache.outputs.clone());
            cache.only = Some(Arc::new(cache.compile(graph, outputs, "graph")?));
        } else {
            check_definitions(&cache.graph, &incomplete_nodes(&cache.graph))?;
            cache.show_graph(&cache.graph, &cache.outputs)?;
        }
        Ok(cache)
    }

    /// Shows the graph to the sink of the options, if there is one.
    fn show_graph(&self, graph: &GraphData, outputs: &[ValueIx]) -> Result<()> {
        self.options.show(StageKind::Optimized, &mut || {
            let mut snapshot = Snapshot::of_graph(graph, StageKind::Optimized);
            snapshot.mark_results(graph, outputs);
            Ok(snapshot)
        })
    }

    /// Compiles a graph without key inputs: one program, and a continuation if some nodes wait for its results.
    fn compile(&self, graph: Arc<GraphData>, outputs: Vec<ValueIx>, reason: &str) -> Result<Specialization> {
        self.show_graph(&graph, &outputs)?;
        lock(&self.reasons).push(reason.to_string());
        let waits = unresolved(&graph)?;
        if !waits.contains(&true) {
            return self.compile_program(graph, &outputs, None);
        }
        let Split { first, first_outputs, second, second_outputs, sources } = split(&graph, &outputs, waits)?;
        let cache = SpecializationCache::new(second, second_outputs, &self.options, &self.threads)?;
        let continuation = Continuation { cache, sources };
        self.compile_program(Arc::new(first), &first_outputs, Some(continuation))
    }

    fn compile_program(
        &self,
        graph: Arc<GraphData>,
        outputs: &[ValueIx],
        continuation: Option<Continuation>,
    ) -> Result<Specialization> {
        let program = CompiledProgram::compile(graph, outputs, &self.options)?;
        for kind in [StageKind::Kernels, StageKind::Clif, StageKind::Asm] {
            if program.has_text(kind) {
                self.options.show(kind, &mut || program.snapshot(kind))?;
            }
        }
        let made_by_nodes = program.lowered.steps.iter().map(|step| match step {
            Step::Node { outputs, .. } => outputs.len(),
            Step::Kernel(_) | Step::MatMul { .. } | Step::Whole { .. } => 0,
        });
        let state = ProgramState::new(
            self.threads.clone(),
            self.options.memory_limit_bytes(),
            program.lowered.segments.len(),
            program.lowered.steps.len(),
            self.options.plan_bytes(),
            outputs.len() + made_by_nodes.sum::<usize>(),
        );
        Ok(Specialization { program, state, continuation })
    }

    /// Returns whether the choice of a specialization reads the elements of an input.
    pub(crate) fn reads_value(&self, port: usize) -> bool {
        self.key_inputs.values.contains(&port)
    }

    /// Returns the number of inputs.
    pub(crate) fn inputs(&self) -> usize {
        self.graph.inputs.len()
    }

    /// Returns the specialization for these inputs, compiled now or earlier. There is a view for each input.
    ///
    /// # Errors
    /// An input does not fit its declaration, or the graph cannot be compiled for it.
    pub(crate) fn specialization(&self, inputs: &[TensorView<'_>]) -> Result<SpecializationRef<'_>> {
        match &self.only {
            Some(only) => Ok(SpecializationRef::Only(only)),
            None => self.find_or_compile(inputs).map(SpecializationRef::Cached),
        }
    }

    /// Returns the same as [`SpecializationCache::specialization`], but as a value that does not borrow the cache.
    pub(crate) fn shared_specialization(&self, inputs: &[TensorView<'_>]) -> Result<Arc<Specialization>> {
        match &self.only {
            Some(only) => Ok(only.clone()),
            None => self.find_or_compile(inputs),
        }
    }

    fn find_or_compile(&self, inputs: &[TensorView<'_>]) -> Result<Arc<Specialization>> {
        self.check_dtypes(inputs)?;
        let KeyInputs { ranks, sizes, values } = &self.key_inputs;
        let key = SpecializationKey {
            ranks: ranks.iter().map(|&port| inputs[port].sizes().len()).collect(),
            sizes: sizes.iter().map(|&port| inputs[port].sizes().to_vec()).collect(),
            values: values
                .iter()
                .map(|&port| (inputs[port].sizes().to_vec(), inputs[port].bytes().to_vec()))
                .collect(),
        };
        if let Some(found) = lock(&self.specializations).get(&key) {
            return Ok(found.clone());
        }
        let compiled = Arc::new(self.compile_for(inputs).map_err(Error::of_run)?);
        let mut specializations = lock(&self.specializations);
        if specializations.len() >= CAPACITY {
            specializations.clear();
        }
        // Another thread may have compiled the same specialization meanwhile.
        Ok(specializations.entry(key).or_insert(compiled).clone())
    }

    /// Compiles the graph for these inputs.
    ///
    /// # Errors
    /// As [`SpecializationCache::specialization`].
    fn compile_for(&self, inputs: &[TensorView<'_>]) -> Result<Specialization> {
        let (known, reason) = self.known_inputs(inputs)?;
        let rebuilt = {
            let _span = span(self.options.kept_trace(), "compile", "passes");
            rebuild(&self.graph, &self.outputs, &known)?
        };
        let outputs = self.outputs.iter().map(|value| rebuilt.values[value]).collect();
        self.compile(Arc::new(rebuilt.graph), outputs, &reason)
    }

    /// Returns the properties of the inputs that are part of the key, for the passes, and the same properties as text.
    fn known_inputs(&self, inputs: &[TensorView<'_>]) -> Result<(KnownInputs, String)> {
        let mut known = KnownInputs::default();
        let mut reasons = Vec::new();
        let name = |port: usize| &self.graph.inputs[port].0;
        for &port in &self.key_inputs.ranks {
            let rank = inputs[port].sizes().len();
            if rank > MAX_RANK {
                let message =
                    format!("input \"{}\" must have at most {MAX_RANK} axes, got {rank}", name(port));
                return Err(Error::new(ErrorKind::Feed, Phase::Run, message).with_input(name(port)));
            }
            known.ranks.insert(port, rank);
            reasons.push(format!("rank {rank} of {}", name(port)));
        }
        for &port in &self.key_inputs.sizes {
            let sizes = inputs[port].sizes();
            known.sizes.insert(port, sizes.to_vec());
            reasons.push(format!("sizes {sizes:?} of {}", name(port)));
        }
        for &port in &self.key_inputs.values {
            known.values.insert(port, inputs[port].to_tensor()?);
            reasons.push(format!("value of {}", name(port)));
        }
        Ok((known, reasons.join(", ")))
    }

    /// Checks the dtypes of the inputs, because their values may become constants of a graph.
    fn check_dtypes(&self, inputs: &[TensorView<'_>]) -> Result<()> {
        for (port, ((_, value), view)) in self.graph.inputs.iter().zip(inputs).enumerate() {
            if self.graph.values[value.index()].dtype != view.dtype() {
                let refused = || self.graph.refused_input(port, view.dtype(), view.sizes(), "");
                return Err(self.graph.dim_names().scope(refused));
            }
        }
        Ok(())
    }

    /// Returns the graph that the specializations are made of.
    pub(crate) fn graph(&self) -> &GraphData {
        &self.graph
    }

    /// Returns the outputs of the graph.
    pub(crate) fn outputs(&self) -> &[ValueIx] {
        &self.outputs
    }

    /// Returns the specialization that computes all outputs of every run, if there is one.
    pub(crate) fn single(&self) -> Option<&Arc<Specialization>> {
        self.only.as_ref().filter(|only| only.continuation.is_none())
    }

    /// Returns the specializations compiled so far, oldest first.
    fn compiled(&self) -> Vec<Arc<Specialization>> {
        let mut compiled: Vec<Arc<Specialization>> =
            lock(&self.specializations).values().chain(&self.only).cloned().collect();
        compiled.sort_by_key(|specialization| specialization.program.number);
        compiled
    }

    /// Forgets the specializations for ranks, sizes and elements that runs have met.
    fn forget(&self) {
        lock(&self.specializations).clear();
    }

    /// Frees what is kept for later runs: the specializations of ranks, sizes and elements that runs have met, and the
    /// plans and the memory of the other specializations. Calls `f` on these others.
    pub(crate) fn trim(&self, f: &mut dyn FnMut(&Specialization)) {
        self.forget();
        self.for_each(&mut |specialization| {
            specialization.state.forget();
            specialization.continuation.iter().for_each(|next| next.cache.forget());
            f(specialization);
        });
    }

    /// Calls `f` on every specialization compiled so far, from the oldest of this cache to the newest. The
    /// specializations of a continuation follow the specialization that it continues.
    pub(crate) fn for_each(&self, f: &mut dyn FnMut(&Specialization)) {
        let mut stack = self.compiled();
        stack.reverse();
        while let Some(specialization) = stack.pop() {
            f(&specialization);
            let following = specialization.continuation.iter();
            stack.extend(following.flat_map(|next| next.cache.compiled().into_iter().rev()));
        }
    }

    /// Returns a snapshot of the graph before it is specialized.
    pub(crate) fn graph_snapshot(&self) -> Snapshot {
        let mut snapshot = Snapshot::of_graph(&self.graph, StageKind::Optimized);
        snapshot.mark_results(&self.graph, &self.outputs);
        snapshot
    }

    /// Returns the reason of every compilation so far.
    pub(crate) fn reasons(&self) -> Vec<String> {
        let mut reasons = lock(&self.reasons).clone();
        self.for_each(&mut |specialization| {
            if let Some(continuation) = &specialization.continuation {
                reasons.extend(lock(&continuation.cache.reasons).iter().cloned());
            }
        });
        reasons
    }
}

impl Drop for SpecializationCache {
    /// Drops the chain of continuations in a loop. The chain may be as long as the graph, which is too long for
    /// recursion.
    fn drop(&mut self) {
        let mut compiled = self.compiled();
        self.only = None;
        self.forget();
        while let Some(specialization) = compiled.pop() {
            if let Some(Specialization { continuation: Some(mut next), .. }) = Arc::into_inner(specialization)
            {
                compiled.extend(next.cache.compiled());
                next.cache.only = None;
                next.cache.forget();
            }
        }
    }
}
