//! `Executable`: a compiled graph, and what it was made of and has cost.

use std::fmt;
use std::panic::Location;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use shapeflow_shape_fns::{DType, TensorShape};

use super::options::CompileOptions;
use super::runner::Runner;
use super::stage::{RunState, Stage};
use super::staged::Staged;
use crate::dump::{Snapshot, StageKind};
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::{GraphData, ValueIx};
use crate::runtime::lock;
use crate::tensor::{Tensor, TensorView};

/// An input or output of an executable.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Port {
    /// The name of the input, or the name an output was compiled under.
    pub name: String,
    /// Its element type.
    pub dtype: DType,
    /// What is known of its shape.
    pub shape: TensorShape,
}

/// What an executable has cost so far.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Stats {
    /// Fused kernels.
    pub kernels: usize,
    /// Matrix products.
    pub products: usize,
    /// Nodes that run by themselves: host kernels and interpreted bodies.
    pub host_nodes: usize,
    /// How often machine code was made, and for what each time.
    pub compiles: Vec<String>,
    /// Bytes of machine code.
    pub code_bytes: usize,
    /// Largest arena a run has needed, in bytes.
    pub arena_bytes: usize,
    /// Bytes of copies of constants, in the order in which matrix products read them.
    pub packed_bytes: usize,
    /// Runs of a segment that found their plan.
    pub plan_hits: u64,
    /// Runs of a segment that made a plan.
    pub plan_misses: u64,
    /// Time it took to compile what needed no run.
    pub compile_time: Duration,
    /// Time it took to make the machine code of kernels.
    pub code_time: Duration,
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
    staged: Staged,
    inputs: Vec<Port>,
    outputs: Vec<Port>,
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
    /// Compiles `graph`, which holds what `outputs` need.
    pub(crate) fn new(
        graph: GraphData,
        outputs: Vec<ValueIx>,
        names: Vec<String>,
        options: &CompileOptions,
    ) -> Result<Executable> {
        let start = std::time::Instant::now();
        let port = |name: String, value: &ValueIx| {
            let info = &graph.values[value.at()];
            Port { name, dtype: info.dtype, shape: graph.table.resolve_shape(&info.shape) }
        };
        let inputs = graph.inputs.iter().map(|(name, value)| port(name.clone(), value)).collect();
        let ports = names.into_iter().zip(&outputs).map(|(name, value)| port(name, value)).collect();
        let pool = options.make_pool()?;
        let staged = Staged::new(graph, outputs, options, &pool)?;
        let compile_time = start.elapsed();
        Ok(Executable(Arc::new(Shared {
            staged,
            inputs,
            outputs: ports,
            states: Mutex::default(),
            compile_time,
        })))
    }

    /// What must be fed, in the order of the `Graph::input` calls.
    pub fn inputs(&self) -> &[Port] {
        &self.0.inputs
    }

    /// What a run gives, in the order given to `compile`.
    pub fn outputs(&self) -> &[Port] {
        &self.0.outputs
    }

    /// Runs on inputs in the order of [`Executable::inputs`] and gives all results.
    ///
    /// # Errors
    /// The number of results is not `N`; an input has another dtype or an unsuitable shape; a requirement that
    /// was left to run time does not hold; an index is out of range; memory is refused; a user's op fails.
    #[track_caller]
    pub fn run<const N: usize>(&self, inputs: &[TensorView<'_>]) -> Result<[Tensor; N]> {
        let (count, location) = (self.0.outputs.len(), Location::caller());
        let refused = || {
            let message = format!("as many results must be asked for as there are outputs, {count}, got {N}");
            Error::new(ErrorKind::Feed, Phase::Run, message).at(location)
        };
        if count != N {
            return Err(refused());
        }
        self.run_all(inputs)?.try_into().map_err(|_| refused())
    }

    /// As [`Executable::run`], for a number of results that is not known when the program is written.
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

    pub(super) fn staged(&self) -> &Staged {
        &self.0.staged
    }

    pub(super) fn run_with(&self, inputs: &[TensorView<'_>], state: &mut RunState) -> Result<Vec<Tensor>> {
        self.check_count(inputs.len())?;
        if inputs.iter().all(TensorView::is_row_major) {
            return self.0.staged.form(inputs)?.run(inputs, None, state);
        }
        let copies = row_major(inputs)?;
        let views: Vec<TensorView<'_>> = copies.iter().map(Tensor::view).collect();
        self.0.staged.form(&views)?.run(&views, None, state)
    }

    /// Frees working memory, and memory of results that were dropped: both are kept for later runs, of results as many as
    /// one run makes.
    pub fn trim(&self) {
        lock(&self.0.states).clear();
        self.0.staged.for_each_stage(&mut Stage::trim);
    }

    /// Runs on inputs by name and gives the results by name.
    ///
    /// # Errors
    /// An input is missing, named twice or not an input; else as [`Executable::run`].
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
        Ok(Results { tensors: names.zip(tensors).collect() })
    }

    /// A runner of this executable, for one thread.
    pub fn runner(&self) -> Runner {
        Runner::new(self.clone())
    }

    /// The sizes of the results for inputs of these sizes; `None` for those that depend on data.
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
        let Some(stage) = self.0.staged.single() else { return Ok(vec![None; self.0.outputs.len()]) };
        let ports = self.0.inputs.iter().map(|port| port.dtype);
        let sized: Vec<(DType, &[usize])> = ports.zip(inputs.iter().copied()).collect();
        let bindings = stage.bind_input_sizes(&sized)?;
        stage.check_guards(&bindings)?;
        Ok(stage.output_sizes(&bindings).into_iter().map(|sizes| sizes.map(|sizes| sizes.to_vec())).collect())
    }

    /// What has been compiled, planned and allocated.
    pub fn stats(&self) -> Stats {
        let mut stats = Stats {
            compiles: self.0.staged.reasons(),
            compile_time: self.0.compile_time,
            ..Stats::default()
        };
        self.0.staged.for_each_stage(&mut |stage| stage.add_stats(&mut stats));
        stats
    }

    /// The fused kernels as loops, the matrix products and the host nodes, in the order they run.
    pub fn kernels(&self) -> String {
        let mut text = String::new();
        self.0.staged.for_each_stage(&mut |stage| text.push_str(&stage.to_string()));
        text
    }

    /// The intermediate code of every kernel function, as text.
    ///
    /// # Errors
    /// The processor is not one that machine code is made for.
    pub fn clif(&self) -> Result<String> {
        let mut text = Ok(String::new());
        self.0.staged.for_each_stage(&mut |stage| {
            if let Ok(all) = &mut text {
                match stage.clif() {
                    Ok(more) => all.push_str(&more),
                    Err(error) => text = Err(error),
                }
            }
        });
        text
    }

    /// The graph that was compiled, with its kernels if `stage` is [`StageKind::Kernels`] or later.
    ///
    /// A graph that is compiled when it runs has the kernels of the first form it met, and none before that.
    /// Of a graph that needs results to go on, these are the kernels of its first part.
    ///
    /// # Errors
    /// The processor is not one that machine code is made for; [`StageKind::Asm`] in a build without `disasm`.
    pub fn snapshot(&self, stage: StageKind) -> Result<Snapshot> {
        let mut made = None;
        if stage >= StageKind::Kernels {
            self.0.staged.for_each_stage(&mut |compiled| {
                made.get_or_insert_with(|| compiled.snapshot(stage));
            });
        }
        made.unwrap_or_else(|| Ok(self.0.staged.graph_snapshot()))
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

/// Copies of the inputs in row-major order.
pub(super) fn row_major(inputs: &[TensorView<'_>]) -> Result<Vec<Tensor>> {
    inputs.iter().map(TensorView::to_tensor).collect()
}

/// The results of [`Executable::run_named`].
#[derive(Clone, Debug)]
pub struct Results {
    tensors: Vec<(String, Tensor)>,
}

impl Results {
    /// The result of this name.
    ///
    /// # Errors
    /// There is no such output.
    #[track_caller]
    pub fn tensor(&self, name: &str) -> Result<&Tensor> {
        let location = Location::caller();
        self.tensors.iter().find(|(known, _)| known == name).map(|(_, tensor)| tensor).ok_or_else(|| {
            let names: Vec<&str> = self.tensors.iter().map(|(name, _)| name.as_str()).collect();
            let message = format!("\"{name}\" is not an output; the outputs are {}", names.join(", "));
            Error::new(ErrorKind::Feed, Phase::Run, message).at(location)
        })
    }

    /// Names and results in the order given to `compile`.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Tensor)> {
        self.tensors.iter().map(|(name, tensor)| (name.as_str(), tensor))
    }
}
