//! [`Executable`]: a compiled graph.

use std::fmt;
use std::panic::Location;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use shapeflow_shape_fns::{DType, TensorShape};

use super::guards::check_guards;
use super::input_bindings::bind_inputs;
use super::results::Results;
use super::run_state::RunState;
use super::specialized_run::run_specialized;
use super::stats::Stats;
use crate::compile::{CompileOptions, SpecializationCache};
use crate::dump::{Snapshot, StageKind};
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::{GraphData, NodeIx, ValueIx};
use crate::lower::kernel::BufferIx;
use crate::op::{Body, OpRef};
use crate::runtime::{Pool, lock};
use crate::tensor::{Tensor, TensorView};

/// An input or output of an executable.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Port {
    /// The name of the input, or the name an output was compiled under.
    pub name: String,
    /// Its element type.
    pub dtype: DType,
    /// Its shape, as far as it is known without a run.
    pub shape: TensorShape,
}

/// A compiled graph. Cheap to clone, and usable from several threads at once.
///
/// ```
/// use shapeflow::{shape, DType, Graph, TensorView};
///
/// let g = Graph::new();
/// let x = g.input("x", DType::F32, shape!["b", 2])?;
/// let exe = g.compile((x * 2.0 + 1.0).relu()?)?;
/// let [y] = exe.run(&[TensorView::new(&[1, 2], &[3.0f32, -4.0])?])?;
/// assert_eq!(y.to_vec::<f32>()?, [7.0, 0.0]);
/// # Ok::<(), shapeflow::Error>(())
/// ```
#[derive(Clone)]
pub struct Executable(Arc<Shared>);

struct Shared {
    specializations: SpecializationCache,
    inputs: Vec<Port>,
    outputs: Vec<Port>,
    /// States of threads that do not run now.
    states: Mutex<Vec<RunState>>,
    compile_time: Duration,
}

impl fmt::Debug for Executable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Executable")
            .field("inputs", &self.0.inputs)
            .field("outputs", &self.0.outputs)
            .finish()
    }
}

impl Executable {
    /// Compiles `graph`, which holds the nodes that `outputs` need and no others.
    ///
    /// # Errors
    /// The graph cannot be compiled, or threads are refused.
    pub(crate) fn new(
        mut graph: GraphData,
        outputs: Vec<ValueIx>,
        names: Vec<String>,
        options: &CompileOptions,
    ) -> Result<Executable> {
        let start = std::time::Instant::now();
        let threads = options.make_pool()?;
        compile_control(&mut graph, options, &threads)?;
        let port = |name: String, value: &ValueIx| {
            let info = &graph.values[value.at()];
            Port { name, dtype: info.dtype, shape: graph.table.resolve_shape(&info.shape) }
        };
        let inputs = graph.inputs.iter().map(|(name, value)| port(name.clone(), value)).collect();
        let ports = names.into_iter().zip(&outputs).map(|(name, value)| port(name, value)).collect();
        let specializations = SpecializationCache::new(graph, outputs, options, &threads)?;
        let compile_time = start.elapsed();
        Ok(Executable(Arc::new(Shared {
            specializations,
            inputs,
            outputs: ports,
            states: Mutex::default(),
            compile_time,
        })))
    }

    /// Returns the inputs, in the order of the `Graph::input` calls.
    pub fn inputs(&self) -> &[Port] {
        &self.0.inputs
    }

    /// Returns the outputs, in the order given to `compile`.
    pub fn outputs(&self) -> &[Port] {
        &self.0.outputs
    }

    /// Runs on inputs in the order of [`Executable::inputs`] and returns all results.
    ///
    /// # Errors
    /// The number of outputs is not `N`; an input has another dtype or an unsuitable shape; a requirement that is
    /// checked at run time does not hold; an index is out of range; memory is refused; a user's op fails.
    #[track_caller]
    pub fn run<const N: usize>(&self, inputs: &[TensorView<'_>]) -> Result<[Tensor; N]> {
        let (count, location) = (self.0.outputs.len(), Location::caller());
        let refused = || {
            let message = format!("the number of results must be {count}, one for each output, got {N}");
            Error::new(ErrorKind::Feed, Phase::Run, message).at(location)
        };
        if count != N {
            return Err(refused());
        }
        self.run_all(inputs)?.try_into().map_err(|_| refused())
    }

    /// Runs as [`Executable::run`] does, and returns a vector: the number of results need not be known to the compiler.
    ///
    /// # Errors
    /// As [`Executable::run`].
    #[track_caller]
    pub fn run_all(&self, inputs: &[TensorView<'_>]) -> Result<Vec<Tensor>> {
        let location = Location::caller();
        let mut state = lock(&self.0.states).pop().unwrap_or_default();
        let results = self.run_with(inputs, &mut state);
        lock(&self.0.states).push(state);
        results.map_err(|error| error.or_at(location))
    }

    pub(super) fn specializations(&self) -> &SpecializationCache {
        &self.0.specializations
    }

    pub(super) fn run_with(&self, inputs: &[TensorView<'_>], state: &mut RunState) -> Result<Vec<Tensor>> {
        self.check_count(inputs.len())?;
        if inputs.iter().all(TensorView::is_row_major) {
            return run_specialized(&self.0.specializations, inputs, None, state);
        }
        let copies = row_major(inputs)?;
        let views: Vec<TensorView<'_>> = copies.iter().map(Tensor::view).collect();
        run_specialized(&self.0.specializations, &views, None, state)
    }

    /// Frees the memory that is kept for later runs: working memory, and the memory of dropped results.
    pub fn trim(&self) {
        lock(&self.0.states).clear();
        self.0.specializations.for_each(&mut |specialization| specialization.state.buffers.clear());
    }

    /// Runs on inputs by name and returns the results by name.
    ///
    /// # Errors
    /// A name is missing, occurs twice, or is not that of an input; else as [`Executable::run`].
    #[track_caller]
    pub fn run_named(&self, feeds: &[(&str, TensorView<'_>)]) -> Result<Results> {
        let location = Location::caller();
        let refuse = |message: String| Err(Error::new(ErrorKind::Feed, Phase::Run, message).at(location));
        if let Some((name, _)) =
            feeds.iter().find(|(name, _)| !self.0.inputs.iter().any(|port| port.name == *name))
        {
            let names: Vec<&str> = self.0.inputs.iter().map(|port| port.name.as_str()).collect();
            return refuse(format!("\"{name}\" is not an input; the inputs are {}", names.join(", ")));
        }
        let mut ordered = Vec::with_capacity(self.0.inputs.len());
        for port in &self.0.inputs {
            let mut found = feeds.iter().filter(|(name, _)| *name == port.name);
            match (found.next(), found.next()) {
                (Some((_, view)), None) => ordered.push(*view),
                (None, _) => {
                    return refuse(format!(
                        "input \"{}\" {}{} must be fed",
                        port.name, port.dtype, port.shape
                    ));
                }
                (Some(_), Some(_)) => {
                    return refuse(format!("input \"{}\" must be fed once, got two", port.name));
                }
            }
        }
        let tensors = self.run_all(&ordered)?;
        let names = self.0.outputs.iter().map(|port| port.name.clone());
        Ok(Results::new(names.zip(tensors).collect()))
    }

    /// Returns the sizes of the results for inputs of these sizes; `None` for sizes that depend on data.
    ///
    /// # Errors
    /// The sizes do not fit the inputs.
    #[track_caller]
    pub fn output_sizes(&self, inputs: &[&[usize]]) -> Result<Vec<Option<Vec<usize>>>> {
        let location = Location::caller();
        self.sizes_for(inputs).map_err(|error| error.or_at(location))
    }

    fn sizes_for(&self, inputs: &[&[usize]]) -> Result<Vec<Option<Vec<usize>>>> {
        self.check_count(inputs.len())?;
        let Some(single) = self.0.specializations.single() else {
            return Ok(vec![None; self.0.outputs.len()]);
        };
        let ports = self.0.inputs.iter().map(|port| port.dtype);
        let sized: Vec<(DType, &[usize])> = ports.zip(inputs.iter().copied()).collect();
        let bindings = bind_inputs(&single.program.graph, &sized)?;
        check_guards(&single.program, &bindings)?;
        let lowered = &single.program.lowered;
        let sizes_of =
            |buffer: &BufferIx| Some(bindings.sizes(&lowered.buffers[buffer.index()].dims)?.to_vec());
        Ok(lowered.outputs.iter().map(sizes_of).collect())
    }

    /// Returns what has been compiled, planned and allocated so far.
    pub fn stats(&self) -> Stats {
        let mut stats = Stats {
            compiles: self.0.specializations.reasons(),
            compile_time: self.0.compile_time,
            ..Stats::default()
        };
        self.0.specializations.for_each(&mut |specialization| stats.add(specialization));
        stats
    }

    /// Returns the fused kernels as loops, the matrix products and the host nodes as text, in the order in which they run.
    pub fn kernels(&self) -> String {
        let mut text = String::new();
        self.0.specializations.for_each(&mut |compiled| text.push_str(&compiled.program.to_string()));
        text
    }

    /// Returns the intermediate code of every kernel function as text.
    ///
    /// # Errors
    /// Code generation does not support the processor.
    pub fn clif(&self) -> Result<String> {
        let mut text = Ok(String::new());
        self.0.specializations.for_each(&mut |compiled| {
            if let Ok(all) = &mut text {
                match compiled.program.clif() {
                    Ok(more) => all.push_str(&more),
                    Err(error) => text = Err(error),
                }
            }
        });
        text
    }

    /// Returns a snapshot of the compiled graph, with its kernels if `stage` is [`StageKind::Kernels`] or later.
    ///
    /// A graph that is compiled for each run's ranks or structure values has the kernels of its first specialization, and
    /// none before the first run. If the graph is compiled in several parts, these are the kernels of the first part.
    ///
    /// # Errors
    /// Code generation does not support the processor; [`StageKind::Asm`] in a build without `disasm`.
    pub fn snapshot(&self, stage: StageKind) -> Result<Snapshot> {
        let mut snapshot = None;
        if stage >= StageKind::Kernels {
            self.0.specializations.for_each(&mut |compiled| {
                snapshot.get_or_insert_with(|| compiled.program.snapshot(stage));
            });
        }
        snapshot.unwrap_or_else(|| Ok(self.0.specializations.graph_snapshot()))
    }

    pub(super) fn check_outputs(&self, got: usize) -> Result<()> {
        let wanted = self.0.outputs.len();
        if got == wanted {
            return Ok(());
        }
        let message = format!("every output needs a view, {wanted} in all, got {got}");
        Err(Error::new(ErrorKind::Feed, Phase::Run, message))
    }

    pub(super) fn check_count(&self, got: usize) -> Result<()> {
        let wanted = self.0.inputs.len();
        if got == wanted {
            return Ok(());
        }
        let names: Vec<String> =
            self.0.inputs.iter().map(|port| format!("{} {}{}", port.name, port.dtype, port.shape)).collect();
        let message = format!("{wanted} inputs must be fed ({}), got {got}", names.join(", "));
        Err(Error::new(ErrorKind::Feed, Phase::Run, message))
    }
}

/// Compiles the graphs inside the nodes of control flow. They share the threads of the graph around them.
///
/// # Errors
/// A graph inside a node cannot be compiled.
fn compile_control(graph: &mut GraphData, options: &CompileOptions, threads: &Pool) -> Result<()> {
    let inner = options.inside(threads);
    for number in 0..graph.nodes.len() {
        let node = &graph.nodes[number];
        let Body::Control(control) = &node.op.body else { continue };
        let kernel = control.compile(&inner).map_err(|error| {
            let name = graph.node_name(NodeIx(number as u32));
            error.note(format!("inside {name}"), Some(node.location))
        })?;
        graph.nodes[number].op = OpRef::from(Arc::new(node.op.with_kernel(kernel)));
    }
    Ok(())
}

/// Copies the inputs into row-major order.
pub(super) fn row_major(inputs: &[TensorView<'_>]) -> Result<Vec<Tensor>> {
    inputs.iter().map(TensorView::to_tensor).collect()
}
