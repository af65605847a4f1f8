//! [`BoundRun`]: a run that owns the memory of its inputs and outputs.

use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::executable::Executable;
use super::fixed_run::{FixedRun, GivenInput};
use super::guards::check_guards;
use super::input_bindings::bind_inputs;
use super::planning::sizes_of_inputs;
use super::port::{PortIndex, find_port};
use super::run_state::RunState;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::op::Cancel;
use crate::tensor::{Tensor, TensorView, TensorViewMut};

/// A run that owns the memory of its inputs and outputs, so that a repetition costs little more than its kernels.
/// [`Executable::bind`] and [`Executable::bind_sizes`] make bound runs.
///
/// Change inputs with [`BoundRun::set_input`] or [`BoundRun::input_mut`], call [`BoundRun::run`], and read results with
/// [`BoundRun::output`]. The sizes of the inputs stay. A repetition plans and allocates nothing if kernels and matrix
/// products compute all results and the sizes of the inputs determine all sizes. A repetition costs as much as
/// [`Executable::run`] if an op runs on the host, sizes or ranks depend on data, an output is an input or has strings,
/// or the interpreter runs the graph. [`BoundRun::obstacle`] tells which case applies.
///
/// A ragged input has several inputs here, its parts `name/flat_values`, `name/row_splits/0` and so on:
/// [`RaggedTensor::feeds`](crate::RaggedTensor::feeds) makes them in the order of [`Executable::inputs`]. The numbers
/// of rows and of values stay. Ops on ragged values run partly on the host, so such a run is not fixed.
///
/// ```
/// use shapeflow::{shape, DType, Graph, TensorView};
///
/// let g = Graph::new();
/// let x = g.input("x", DType::F32, shape!["n"])?;
/// let exe = g.compile([("half", x * 0.5)])?;
/// let mut bound = exe.bind(&[TensorView::new(&[2], &[8.0f32, 4.0])?])?;
/// bound.run()?;
/// assert_eq!(bound.output("half")?.as_slice::<f32>()?, [4.0, 2.0]);
/// bound.input_mut(0)?.as_mut_slice::<f32>()?.fill(6.0);
/// bound.run()?;
/// assert_eq!(bound.output(0)?.as_slice::<f32>()?, [3.0, 3.0]);
/// # Ok::<(), shapeflow::Error>(())
/// ```
pub struct BoundRun {
    executable: Executable,
    mode: RunMode,
    /// Whether there was a run.
    has_run: bool,
    /// Whether the last run succeeded.
    computed: bool,
    cancel: Option<Arc<AtomicBool>>,
}

/// How a bound run executes.
enum RunMode {
    /// By one plan, in memory that never moves.
    Fixed(FixedRun<'static>),
    /// Like [`Executable::run`], which plans each run.
    General { inputs: Vec<Tensor>, outputs: Vec<Tensor>, state: Box<RunState>, obstacle: String },
}

/// Plans and runs once. A function of its own, because a fixed run would save the registers that this code needs.
#[inline(never)]
fn run_planned(
    executable: &Executable,
    inputs: &[Tensor],
    outputs: &mut Vec<Tensor>,
    state: &mut RunState,
    cancel: Cancel<'_>,
) -> Result<()> {
    outputs.clear();
    let views: Vec<TensorView<'_>> = inputs.iter().map(Tensor::view).collect();
    *outputs = executable.run_with(&views, cancel, state)?;
    Ok(())
}

impl Executable {
    /// Binds a run to the sizes of `inputs`. The run owns a copy of the elements of `inputs`.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, Tensor, shape};
    ///
    /// let g = Graph::new();
    /// let x = g.input("x", DType::F32, shape!["n"])?;
    /// let mut bound = g.compile(x.sqrt()?)?.bind(&[Tensor::from([4.0f32, 9.0]).view()])?;
    /// bound.run()?;
    /// assert_eq!(bound.output(0)?.as_slice::<f32>()?, [2.0, 3.0]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// There is neither one view for each input nor one for each needed input; an input does not fit its declaration;
    /// or memory is refused.
    #[track_caller]
    pub fn bind(&self, inputs: &[TensorView<'_>]) -> Result<BoundRun> {
        let location = Location::caller();
        self.copies_of(inputs)
            .and_then(|tensors| self.bind_tensors(tensors))
            .map_err(|error| error.or_in_run(location))
    }

    /// Binds a run to inputs of these sizes, whose elements are zero, `false` or empty strings.
    ///
    /// # Errors
    /// As [`Executable::bind`].
    #[track_caller]
    pub fn bind_sizes(&self, sizes: &[&[usize]]) -> Result<BoundRun> {
        let location = Location::caller();
        self.zero_inputs(sizes)
            .and_then(|tensors| self.bind_tensors(tensors))
            .map_err(|error| error.or_in_run(location))
    }

    /// Returns copies of the needed inputs.
    fn copies_of(&self, inputs: &[TensorView<'_>]) -> Result<Vec<Tensor>> {
        let graph = self.specializations().graph();
        let inputs = self.needed_of(inputs)?;
        inputs.iter().enumerate().map(|(port, view)| graph.copy_of_input(port, view)).collect()
    }

    fn zero_inputs(&self, sizes: &[&[usize]]) -> Result<Vec<Tensor>> {
        let sizes = self.needed_of(sizes)?;
        let ports = self.needed().iter().map(|&number| &self.inputs()[number]);
        ports.zip(&*sizes).map(|(port, sizes)| Tensor::zeros(port.dtype, sizes)).collect()
    }

    fn bind_tensors(&self, tensors: Vec<Tensor>) -> Result<BoundRun> {
        let inputs = self.needed_of(&tensors)?.into_owned();
        // Every tensor must have one owner, so that writes do not move its elements.
        drop(tensors);
        let general = |inputs, obstacle| RunMode::General {
            inputs,
            outputs: Vec::new(),
            state: Box::default(),
            obstacle,
        };
        let mode = match self.specializations().single() {
            Some(single) => match FixedRun::obstacle(&single.program, self.outputs()) {
                None => {
                    let inputs = inputs.into_iter().map(GivenInput::Owned).collect();
                    RunMode::Fixed(FixedRun::bind(single.clone(), inputs)?)
                }
                Some(obstacle) => {
                    let views: Vec<TensorView<'_>> = inputs.iter().map(Tensor::view).collect();
                    let bindings = bind_inputs(&single.program.graph, &sizes_of_inputs(&views))?;
                    check_guards(&single.program, &bindings)?;
                    general(inputs, obstacle)
                }
            },
            None => general(
                inputs,
                "the graph is compiled anew for each rank of an input, and for each value of an axis or a \
                permutation that is fed"
                    .to_string(),
            ),
        };
        Ok(BoundRun { executable: self.clone(), mode, has_run: false, computed: false, cancel: None })
    }
}

impl BoundRun {
    /// Returns whether repetitions plan and allocate nothing.
    pub fn is_fixed(&self) -> bool {
        matches!(self.mode, RunMode::Fixed(_))
    }

    /// Returns why repetitions cost as much as [`Executable::run`]; `None` if the run [is fixed](BoundRun::is_fixed).
    ///
    /// ```
    /// use shapeflow::{shape, DType, Graph};
    ///
    /// let g = Graph::new();
    /// let x = g.input("x", DType::F32, shape!["n"])?;
    /// let bound = g.compile(x.sort(0, false)?)?.bind_sizes(&[&[5]])?;
    /// assert!(bound.obstacle().unwrap().starts_with("sort runs on the host, see "));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    pub fn obstacle(&self) -> Option<&str> {
        match &self.mode {
            RunMode::Fixed(_) => None,
            RunMode::General { obstacle, .. } => Some(obstacle),
        }
    }

    /// Ends every run with an error once the token is true; see [`Runner::cancel`](crate::Runner::cancel).
    pub fn cancel(mut self, token: Arc<AtomicBool>) -> BoundRun {
        self.cancel = Some(token);
        self
    }

    /// Runs on the elements that the inputs hold now, and stores the results in the outputs.
    ///
    /// # Errors
    /// As [`Executable::run`]. The outputs cannot be read until a later run succeeds.
    #[track_caller]
    pub fn run(&mut self) -> Result<()> {
        // A closure would see its own line as the caller.
        let location = Location::caller();
        (self.has_run, self.computed) = (true, false);
        let cancel = Cancel::new(self.cancel.as_deref());
        match &mut self.mode {
            RunMode::Fixed(fixed) => fixed.run(cancel),
            RunMode::General { inputs, outputs, state, .. } => {
                run_planned(&self.executable, inputs, outputs, state, cancel)
            }
        }
        .map_err(|error| error.or_in_run(location))?;
        self.computed = true;
        Ok(())
    }

    /// Returns an input for writing, by number or name. The input keeps its elements until this method or
    /// [`BoundRun::feed_back`] changes them.
    ///
    /// # Errors
    /// There is no such input, or the outputs do not need it.
    #[track_caller]
    pub fn input_mut(&mut self, input: impl PortIndex) -> Result<TensorViewMut<'_>> {
        let location = Location::caller();
        let number = self.input_number(&input).map_err(|error| error.at(location))?;
        match &mut self.mode {
            RunMode::Fixed(fixed) => Ok(fixed.input_mut(number)),
            RunMode::General { inputs, .. } => inputs[number].view_mut().map_err(|error| error.at(location)),
        }
    }

    /// Copies elements to an input, by number or name.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, Tensor, shape};
    ///
    /// let g = Graph::new();
    /// let x = g.input("x", DType::F32, shape!["n"])?;
    /// let mut bound = g.compile(x.sqrt()?)?.bind_sizes(&[&[2]])?;
    /// bound.set_input("x", &Tensor::from([4.0f32, 9.0]))?;
    /// bound.run()?;
    /// assert_eq!(bound.output(0)?.as_slice::<f32>()?, [2.0, 3.0]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`BoundRun::input_mut`]; or `elements` has another dtype or other sizes than the input.
    #[track_caller]
    pub fn set_input<'s>(
        &mut self,
        input: impl PortIndex,
        elements: impl Into<TensorView<'s>>,
    ) -> Result<()> {
        let (location, elements) = (Location::caller(), elements.into());
        let mut memory = self.input_mut(&input)?;
        if (memory.dtype(), memory.sizes()) != (elements.dtype(), elements.sizes()) {
            let message = format!(
                "input {} must be {}{:?}, the dtype and the sizes to which the run is bound, got {}{:?}",
                input.text(),
                memory.dtype(),
                memory.sizes(),
                elements.dtype(),
                elements.sizes()
            );
            return Err(Error::new(ErrorKind::Feed, Phase::Run, message).at(location));
        }
        memory.copy_from(elements).map_err(|error| error.or_at(location))
    }

    /// Returns a result of the last run, by number or name.
    ///
    /// # Errors
    /// There is no such output, there was no run yet, or the last run failed.
    #[track_caller]
    pub fn output(&self, output: impl PortIndex) -> Result<TensorView<'_>> {
        let location = Location::caller();
        let number = self.output_number(&output).map_err(|error| error.at(location))?;
        match &self.mode {
            RunMode::Fixed(fixed) => fixed.output(number).map_err(|error| error.or_at(location)),
            RunMode::General { outputs, .. } => Ok(outputs[number].view()),
        }
    }

    /// Copies a result of the last run to an input, as a loop does with its state.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, Tensor, shape};
    ///
    /// let g = Graph::new();
    /// let x = g.input("x", DType::F32, shape!["n"])?;
    /// let mut bound = g.compile([("next", x * 0.5)])?.bind(&[Tensor::from([8.0f32]).view()])?;
    /// for _ in 0..3 {
    ///     bound.run()?;
    ///     bound.feed_back("next", "x")?;
    /// }
    /// assert_eq!(bound.output("next")?.as_slice::<f32>()?, [1.0]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`BoundRun::output`] and [`BoundRun::input_mut`]; or the output has another dtype or other sizes than the
    /// input.
    #[track_caller]
    pub fn feed_back(&mut self, output: impl PortIndex, input: impl PortIndex) -> Result<()> {
        let location = Location::caller();
        self.copy_output(&output, &input).map_err(|error| error.or_at(location))
    }

    fn copy_output(&mut self, output: &impl PortIndex, input: &impl PortIndex) -> Result<()> {
        let (from, to) = (self.output_number(output)?, self.input_number(input)?);
        let result = match &mut self.mode {
            RunMode::Fixed(fixed) => fixed.feed_back(from, to),
            RunMode::General { inputs, outputs, .. } => {
                inputs[to].view_mut().and_then(|mut memory| memory.copy_from(outputs[from].view()))
            }
        };
        let ports = || {
            let input = self.executable.needed()[to];
            (&self.executable.outputs()[from].name, &self.executable.inputs()[input].name)
        };
        result.map_err(|error| {
            let (output, input) = ports();
            error.note(format!("output \"{output}\" is fed back to input \"{input}\""), None)
        })
    }

    /// Returns the position of an input in the list of needed inputs.
    fn input_number(&self, input: &impl PortIndex) -> Result<usize> {
        let ports = self.executable.inputs();
        let number = find_port("input", ports, input)?;
        self.executable.needed().iter().position(|needed| *needed == number).ok_or_else(|| {
            let message =
                format!("input \"{}\" has no memory, because no output needs it", ports[number].name);
            Error::new(ErrorKind::Attribute, Phase::Run, message)
        })
    }

    fn output_number(&self, output: &impl PortIndex) -> Result<usize> {
        let ports = self.executable.outputs();
        let number = find_port("output", ports, output)?;
        if self.computed {
            return Ok(number);
        }
        let message = format!(
            "output \"{}\" can be read after a successful run; {}",
            ports[number].name,
            if self.has_run { "the last run failed" } else { "there was no run yet" }
        );
        Err(Error::new(ErrorKind::Attribute, Phase::Run, message))
    }
}
