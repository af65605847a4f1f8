//! [`Executable`]: a compiled graph.

use std::borrow::Cow;
use std::fmt;
use std::panic::{Location, RefUnwindSafe, UnwindSafe};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use shapeflow_shape_fns::{DType, counted};

use super::guards::check_guards;
use super::input_bindings::bind_inputs;
use super::port::Port;
use super::run_state::RunState;
use super::specialized_run::run_specialized;
use crate::compile::{CompileOptions, SpecializationCache};
use crate::dtype::type_text;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::{DimNames, GraphData, NodeIx, ValueIx};
use crate::lower::kernel::BufferIx;
use crate::op::{Body, Cancel, OpRef};
use crate::ragged::FLAT_VALUES;
use crate::runtime::{Pool, lock};
use crate::tensor::{Tensor, TensorView, TensorViewMut};

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

// A panic during a run leaves nothing half changed: the next run plans and fills its memory itself.
impl UnwindSafe for Executable {}
impl RefUnwindSafe for Executable {}

struct Shared {
    specializations: SpecializationCache,
    /// All inputs of the graph, needed or not.
    inputs: Vec<Port>,
    /// The numbers of the inputs that the outputs need. The specializations take only these.
    needed: Vec<usize>,
    outputs: Vec<Port>,
    /// Run states that no thread uses now.
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
    /// Compiles `graph`, which holds the nodes that `outputs` need and no others. `inputs` are all inputs of the
    /// executable. `graph` has the inputs that the outputs need, in the same order.
    ///
    /// # Errors
    /// The graph cannot be compiled, or threads are refused.
    pub(crate) fn new(
        mut graph: GraphData,
        mut inputs: Vec<Port>,
        outputs: Vec<ValueIx>,
        names: Vec<String>,
        options: &CompileOptions,
    ) -> Result<Executable> {
        let start = std::time::Instant::now();
        let threads = options.make_pool()?;
        compile_control(&mut graph, options, &threads)?;
        let needed: Vec<usize> = (0..inputs.len()).filter(|&number| inputs[number].needed).collect();
        // The shapes of `graph` do not have the equalities that only unneeded nodes found.
        for (&number, (name, value)) in needed.iter().zip(&graph.inputs) {
            inputs[number] = graph.port(name.clone(), *value, true);
        }
        inputs.iter_mut().filter(|port| !port.needed).for_each(Port::leave_table);
        let ports =
            names.into_iter().zip(&outputs).map(|(name, value)| graph.port(name, *value, true)).collect();
        let specializations = SpecializationCache::new(graph, outputs, options, &threads)?;
        let compile_time = start.elapsed();
        Ok(Executable(Arc::new(Shared {
            specializations,
            inputs,
            needed,
            outputs: ports,
            states: Mutex::default(),
            compile_time,
        })))
    }

    /// Compiles `graph`, whose inputs are all needed by the outputs.
    ///
    /// # Errors
    /// As [`Executable::new`].
    pub(crate) fn of_whole(
        graph: GraphData,
        outputs: Vec<ValueIx>,
        names: Vec<String>,
        options: &CompileOptions,
    ) -> Result<Executable> {
        let ports = graph.inputs.iter().map(|(name, value)| graph.port(name.clone(), *value, true)).collect();
        Executable::new(graph, ports, outputs, names, options)
    }

    /// Returns all inputs of the graph, in the order of the `Graph::input` calls. [`Port::needed`] says whether the
    /// outputs need an input.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, shape};
    ///
    /// let g = Graph::new();
    /// let x = g.input("x", DType::F32, shape!["n"])?;
    /// let _ = g.input("unused", DType::F32, shape!["m"])?;
    /// let exe = g.compile(x.exp()?)?;
    /// let ports: Vec<_> = exe.inputs().iter().map(|port| (port.name.as_str(), port.needed)).collect();
    /// assert_eq!(ports, [("x", true), ("unused", false)]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    pub fn inputs(&self) -> &[Port] {
        &self.0.inputs
    }

    /// Returns names of the unknown dimensions of inputs and outputs, as [`Graph::dim_names`](crate::Graph::dim_names)
    /// does for a graph. The errors of a run use them.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, shape};
    ///
    /// let g = Graph::new();
    /// let tokens = g.input("tokens", DType::I32, shape![?, 2])?;
    /// let exe = g.compile(tokens.reshape([-1])?)?;
    /// assert_eq!(exe.dim_names().shape(&exe.outputs()[0].shape), "[2*tokens.0]");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    pub fn dim_names(&self) -> DimNames {
        self.0.specializations.graph().dim_names()
    }

    /// Returns the dtype and the shape of a port, for an error.
    pub(super) fn type_text(&self, port: &Port) -> String {
        self.dim_names().scope(|| type_text(port.dtype, &port.shape))
    }

    /// Returns the outputs, in the order given to `compile`.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, shape};
    ///
    /// let g = Graph::new();
    /// let x = g.input("x", DType::F32, shape!["n", 3])?;
    /// let exe = g.compile([("best", x.argmax(1)?)])?;
    /// let best = &exe.outputs()[0];
    /// assert_eq!((best.name.as_str(), best.dtype, best.shape.to_string()), ("best", DType::I64, "[n]".to_string()));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    pub fn outputs(&self) -> &[Port] {
        &self.0.outputs
    }

    /// Runs on inputs in the order of [`Executable::inputs`] and returns all results. A ragged output gives a result
    /// for each of its parts: the flat values, and the row splits of each partition.
    ///
    /// `inputs` has a view for every input, or one for every needed input. Views of other inputs are ignored.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, TensorView, shape};
    ///
    /// let g = Graph::new();
    /// let (x, y) = (g.input("x", DType::F32, shape!["n"])?, g.input("y", DType::F32, shape!["n"])?);
    /// let exe = g.compile([(x + y).ok()?, (x - y).ok()?])?;
    /// let [sum, difference] =
    ///     exe.run(&[TensorView::new(&[2], &[3.0f32, 4.0])?, TensorView::new(&[2], &[1.0f32, 1.0])?])?;
    /// assert_eq!((sum.to_vec::<f32>()?, difference.to_vec::<f32>()?), (vec![4.0, 5.0], vec![2.0, 3.0]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The number of outputs is not `N`; an input has another dtype or an unsuitable shape; a requirement that is
    /// checked at run time does not hold; an index is out of range; memory is refused; a user's op fails.
    #[track_caller]
    pub fn run<const N: usize>(&self, inputs: &[TensorView<'_>]) -> Result<[Tensor; N]> {
        let (count, location) = (self.0.outputs.len(), Location::caller());
        let refused = || {
            let message = format!("the number of results must be {count}, one for each output, got {N}");
            let error = Error::new(ErrorKind::Attribute, Phase::Run, message).at(location);
            let ragged = self.0.outputs.iter().find_map(|port| port.name.strip_suffix(FLAT_VALUES));
            match ragged {
                Some(name) => error.with_help(format!(
                    "the ragged output {name} counts as its flat values and its row splits; run_named returns it as one"
                )),
                None => error,
            }
        };
        if count != N {
            return Err(refused());
        }
        self.run_all(inputs)?.try_into().map_err(|_| refused())
    }

    /// Runs as [`Executable::run`] does, and returns a vector: the number of results need not be known to the compiler.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, TensorView, shape};
    ///
    /// let g = Graph::new();
    /// let x = g.input("x", DType::I64, shape![6])?;
    /// let parts = x.split_n(3, 0)?;
    /// let results = g.compile(&parts)?.run_all(&[TensorView::new(&[6], &[1i64, 2, 3, 4, 5, 6])?])?;
    /// assert_eq!(results[2].to_vec::<i64>()?, [5, 6]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Executable::run`].
    #[track_caller]
    pub fn run_all(&self, inputs: &[TensorView<'_>]) -> Result<Vec<Tensor>> {
        self.run_until(inputs, Cancel::default())
    }

    /// Runs as [`Executable::run_all`] does, until the token of `cancel` is true.
    ///
    /// # Errors
    /// As [`Executable::run`], or the run is cancelled.
    #[track_caller]
    pub(crate) fn run_until(&self, inputs: &[TensorView<'_>], cancel: Cancel<'_>) -> Result<Vec<Tensor>> {
        let location = Location::caller();
        let mut state = lock(&self.0.states).pop().unwrap_or_default();
        let results = self.run_with(inputs, cancel, &mut state);
        lock(&self.0.states).push(state);
        results.map_err(|error| error.or_in_run(location))
    }

    pub(super) fn compile_time(&self) -> Duration {
        self.0.compile_time
    }

    pub(super) fn specializations(&self) -> &SpecializationCache {
        &self.0.specializations
    }

    pub(super) fn run_with(
        &self,
        inputs: &[TensorView<'_>],
        cancel: Cancel<'_>,
        state: &mut RunState,
    ) -> Result<Vec<Tensor>> {
        self.run_to(inputs, None, cancel, state)
    }

    /// Runs on `inputs`. Stores the results in `outputs`. Returns the results as tensors if `outputs` is `None`.
    pub(super) fn run_to(
        &self,
        inputs: &[TensorView<'_>],
        outputs: Option<&mut [TensorViewMut<'_>]>,
        cancel: Cancel<'_>,
        state: &mut RunState,
    ) -> Result<Vec<Tensor>> {
        let inputs = self.needed_of(inputs)?;
        run_specialized(&self.0.specializations, &inputs, outputs, cancel, state)
    }

    /// Frees the memory that is kept for later runs: working memory, the memory of dropped results, and plans; also the
    /// programs for ranks of inputs, and for values of fed axes and permutations, that runs have met (see
    /// [`CompileOptions::plan_memory`]). The branches and loop bodies of the graph also free such memory. The next run
    /// plans again, and compiles again if it needs such a program.
    pub fn trim(&self) {
        lock(&self.0.states).clear();
        self.0.specializations.trim(&mut |specialization| {
            for node in &specialization.program.graph.nodes {
                if let Body::HostWith(kernel) = &node.op.body {
                    kernel.trim();
                }
            }
        });
    }

    /// Returns the sizes of the results for inputs of these sizes; `None` for sizes that depend on data.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, shape};
    ///
    /// let g = Graph::new();
    /// let x = g.input("x", DType::F32, shape!["n", 4])?;
    /// let exe = g.compile([x.reshape([-1])?, x.greater(0.0f32)?.where_indices()?])?;
    /// assert_eq!(exe.output_sizes(&[&[3, 4]])?, [Some(vec![12]), None]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The sizes do not fit the inputs.
    #[track_caller]
    pub fn output_sizes(&self, inputs: &[&[usize]]) -> Result<Vec<Option<Vec<usize>>>> {
        let location = Location::caller();
        self.sizes_for(inputs).map_err(|error| error.or_in_run(location))
    }

    fn sizes_for(&self, inputs: &[&[usize]]) -> Result<Vec<Option<Vec<usize>>>> {
        let inputs = self.needed_of(inputs)?;
        let Some(single) = self.0.specializations.single() else {
            return Ok(vec![None; self.0.outputs.len()]);
        };
        let ports = self.0.needed.iter().map(|&number| self.0.inputs[number].dtype);
        let sized: Vec<(DType, &[usize])> = ports.zip(inputs.iter().copied()).collect();
        let bindings = bind_inputs(&single.program.graph, &sized)?;
        check_guards(&single.program, &bindings)?;
        let lowered = &single.program.lowered;
        let sizes_of =
            |buffer: &BufferIx| Some(bindings.sizes(&lowered.buffers[buffer.index()].dims)?.to_vec());
        Ok(lowered.outputs.iter().map(sizes_of).collect())
    }

    pub(super) fn check_outputs(&self, got: usize) -> Result<()> {
        let wanted = self.0.outputs.len();
        if got == wanted {
            return Ok(());
        }
        let message = format!(
            "there must be {wanted}, one for each output, got {got}",
            wanted = counted(wanted, "view")
        );
        Err(Error::new(ErrorKind::Attribute, Phase::Run, message))
    }

    /// Returns the entries of `given` for the needed inputs. `given` has an entry for every input, or for every needed
    /// input.
    ///
    /// # Errors
    /// `given` has another number of entries.
    pub(super) fn needed_of<'v, T: Clone>(&self, given: &'v [T]) -> Result<Cow<'v, [T]>> {
        let Shared { inputs, needed, .. } = &*self.0;
        if given.len() == needed.len() {
            return Ok(Cow::Borrowed(given));
        }
        if given.len() == inputs.len() {
            return Ok(Cow::Owned(needed.iter().map(|&number| given[number].clone()).collect()));
        }
        let list = |needed: bool| {
            let ports = inputs.iter().filter(|port| port.needed == needed);
            let texts: Vec<String> =
                ports.map(|port| format!("{} {}", port.name, self.type_text(port))).collect();
            texts.join(", ")
        };
        let mut message = format!("{} must be fed ({})", counted(needed.len(), "input"), list(true));
        if needed.len() < inputs.len() {
            message += &format!(", or all {} with the unneeded ({})", inputs.len(), list(false));
        }
        message += &format!(", got {}", given.len());
        let error = Error::new(ErrorKind::Feed, Phase::Run, message);
        Err(needed.iter().fold(error, |error, &number| self.with_use_of_sizes(error, &inputs[number].name)))
    }

    /// Adds a note to the error about a needed input that is not fed: which op needs its sizes, if nothing needs its
    /// elements.
    pub(super) fn with_use_of_sizes(&self, error: Error, name: &str) -> Error {
        let (graph, outputs) = (self.specializations().graph(), self.specializations().outputs());
        match graph.use_of_sizes(name, outputs) {
            Some((text, location)) => error.note(text, Some(location)),
            None => error,
        }
    }

    /// Returns the numbers of the needed inputs.
    pub(super) fn needed(&self) -> &[usize] {
        &self.0.needed
    }
}

/// Compiles the graphs inside the nodes of control flow. These graphs share the threads of the graph around them.
///
/// # Errors
/// A graph inside a node cannot be compiled.
fn compile_control(graph: &mut GraphData, options: &CompileOptions, threads: &Pool) -> Result<()> {
    let inner = options.inside(threads);
    for number in 0..graph.nodes.len() {
        let node = &graph.nodes[number];
        let Body::Control(control) = &node.op.body else { continue };
        let control = control.clone();
        let compiled = control.compile(&inner).map_err(|error| {
            let name = graph.node_name(NodeIx(number as u32));
            error.note(format!("inside {name}"), Some(node.location))
        })?;
        graph.nodes[number].op = OpRef::from(Arc::new(node.op.with_compiled(control, compiled)));
    }
    Ok(())
}
