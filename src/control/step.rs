//! `CompiledLoopBody`: the compiled body of a loop, and the state of a run in two sets of buffers.

use std::ops::Range;
use std::sync::Mutex;

use smallvec::SmallVec;

use crate::error::Result;
use crate::exec::{Executable, LoopInput, LoopRun, Runner};
use crate::op::{Cancel, HostCx, LoopSource as Source};
use crate::runtime::lock;
use crate::tensor::{Tensor, TensorView, TensorViewMut};

/// The number of iterations after which a loop is bound to its memory. Binding costs as much as a few iterations.
const UNBOUND_ITERATIONS: u64 = 4;

/// Maximum number of bytes of the state of a bound loop, which copies its state in each iteration. A loop with a larger
/// state stays unbound: it alternates between two sets of buffers and copies nothing.
const MAX_COPIED: usize = 4096;

/// How the inputs and outputs of a loop body relate to the state.
#[derive(Clone, Debug)]
pub(super) struct StepLayout {
    /// The source of each input of the body.
    pub sources: Vec<Source>,
    /// The operands with the initial values of the state values that change. The first outputs of the body are the next
    /// values of these state values, in the same order.
    pub changing: Vec<usize>,
    /// Whether every state value that changes keeps its sizes, and has elements of a fixed number of bytes. The body
    /// then writes into buffers that exist.
    pub is_in_place: bool,
}

impl StepLayout {
    /// Returns the layout of a body whose first `states` parameters are the state. A state value that the body returns
    /// as it is does not change. `captures` are the operands of the inputs after the parameters; `others` is the number
    /// of parameters after the state.
    pub(super) fn new(
        states: usize,
        others: usize,
        is_unchanged: &dyn Fn(usize) -> bool,
        captures: &[usize],
        is_in_place: bool,
    ) -> StepLayout {
        let changing: Vec<usize> = (0..states).filter(|state| !is_unchanged(*state)).collect();
        let source = |operand: usize| match changing.iter().position(|state| *state == operand) {
            Some(position) => Source::State(position),
            None => Source::Operand(operand),
        };
        let parameters = (0..states + others).map(source);
        let sources = parameters.chain(captures.iter().map(|operand| Source::Operand(*operand))).collect();
        StepLayout { sources, changing, is_in_place }
    }
}

/// The compiled body of a loop. If several threads run the loop at once, each run takes a state of its own.
pub(super) struct CompiledLoopBody {
    program: Executable,
    layout: StepLayout,
    free: Mutex<Vec<StepState>>,
}

/// The state of a run of a loop.
pub(super) struct StepState {
    runner: Runner,
    /// Two sets of buffers: an iteration reads one and writes the other.
    sets: [Vec<Tensor>; 2],
    /// The set with the current values; none before the first iteration, which reads the operands.
    current: Option<usize>,
}

type Views<'v> = SmallVec<[TensorView<'v>; 12]>;

impl CompiledLoopBody {
    pub(super) fn new(program: Executable, layout: StepLayout) -> CompiledLoopBody {
        CompiledLoopBody { program, layout, free: Mutex::default() }
    }

    pub(super) fn is_in_place(&self) -> bool {
        self.layout.is_in_place
    }

    /// Begins a run. The first iteration of the run reads the initial state from the operands.
    pub(super) fn begin(&self) -> StepState {
        let free = lock(&self.free).pop();
        let mut state = free.unwrap_or_else(|| StepState {
            runner: self.program.runner(),
            sets: Default::default(),
            current: None,
        });
        state.current = None;
        state
    }

    /// Frees the states of earlier runs, and the memory that the body keeps.
    pub(super) fn trim(&self) {
        lock(&self.free).clear();
        self.program.trim();
    }

    /// Ends a run. A later run uses the memory of the state.
    pub(super) fn end(&self, state: StepState) {
        lock(&self.free).push(state);
    }

    /// Runs one iteration, and stores the outputs after the state in `others`. [`StepLayout::is_in_place`] must hold.
    ///
    /// # Errors
    /// The body fails, an output has other sizes than its view, or the run is cancelled.
    pub(super) fn advance_in_place(
        &self,
        state: &mut StepState,
        operands: &[TensorView<'_>],
        others: &mut [TensorViewMut<'_>],
        cancel: Cancel<'_>,
    ) -> Result<()> {
        let next = state.current.map_or(0, |current| 1 - current);
        let [first, second] = &mut state.sets;
        let (write, read) = if next == 0 { (first, second) } else { (second, first) };
        let changing = &self.layout.changing;
        for (position, &operand) in changing.iter().enumerate() {
            let view = match state.current {
                Some(_) => read[position].view(),
                None => operands[operand].clone(),
            };
            match write.get_mut(position) {
                Some(tensor) if tensor.sizes() == view.sizes() => {}
                Some(tensor) => *tensor = Tensor::allocate(view.dtype(), view.sizes())?,
                None => write.push(Tensor::allocate(view.dtype(), view.sizes())?),
            }
        }
        let read = state.current.map(|_| &read[..]);
        let inputs = self.inputs(read, operands);
        let mut outputs: SmallVec<[TensorViewMut<'_>; 12]> = SmallVec::new();
        for tensor in write.iter_mut() {
            outputs.push(tensor.view_mut()?);
        }
        outputs.extend(others.iter_mut().map(TensorViewMut::reborrow));
        state.runner.run_into_until(&inputs, &mut outputs, cancel)?;
        state.current = Some(next);
        Ok(())
    }

    /// Runs one iteration, and returns the outputs after the state.
    ///
    /// # Errors
    /// The body fails, memory is refused, or the run is cancelled.
    pub(super) fn advance(
        &self,
        state: &mut StepState,
        operands: &[TensorView<'_>],
        cancel: Cancel<'_>,
    ) -> Result<Vec<Tensor>> {
        let read = state.current.map(|current| &state.sets[current][..]);
        let inputs = self.inputs(read, operands);
        let mut results = state.runner.run_until(&inputs, cancel)?;
        drop(inputs);
        let others = results.split_off(self.layout.changing.len());
        let next = state.current.map_or(0, |current| 1 - current);
        state.sets[next] = results;
        state.current = Some(next);
        Ok(others)
    }

    /// Returns the inputs of the body. `read` has the current values of the state that changes, if an iteration has
    /// run.
    fn inputs<'v>(&self, read: Option<&'v [Tensor]>, operands: &[TensorView<'v>]) -> Views<'v> {
        let view = |source: &Source| match (*source, read) {
            (Source::State(position), Some(read)) => read[position].view(),
            (Source::State(position), None) => operands[self.layout.changing[position]].clone(),
            (Source::Operand(operand), _) => operands[operand].clone(),
        };
        self.layout.sources.iter().map(view).collect()
    }

    /// Binds the iterations from `iteration` on to the current state and to these operands, if this makes them faster.
    /// This requires that exactly [`UNBOUND_ITERATIONS`] iterations have run, that the state is small, that all inputs
    /// of the body have elements of a fixed number of bytes, and that the body consists of kernels and matmuls and
    /// keeps the sizes of the state. The operands whose numbers are in `changing` change from iteration to iteration.
    ///
    /// # Errors
    /// Memory is refused.
    pub(super) fn bind<'v>(
        &self,
        state: &StepState,
        iteration: u64,
        operands: &[TensorView<'v>],
        changing: Range<usize>,
    ) -> Result<Option<LoopRun<'v>>> {
        let Some(current) =
            state.current.filter(|_| self.layout.is_in_place && iteration == UNBOUND_ITERATIONS)
        else {
            return Ok(None);
        };
        let current = &state.sets[current];
        let copied: usize = current.iter().map(|tensor| tensor.view().bytes().len()).sum();
        let has_bytes = |source: &Source| match *source {
            Source::State(_) => true,
            Source::Operand(operand) => operands[operand].dtype().size_bytes().is_some(),
        };
        if copied > MAX_COPIED || !self.layout.sources.iter().all(has_bytes) {
            return Ok(None);
        }
        let input = |source: &Source| {
            Ok(match *source {
                Source::State(position) => LoopInput::Result(position, current[position].view().to_tensor()?),
                Source::Operand(operand) if changing.contains(&operand) => {
                    LoopInput::Changing(operands[operand].clone())
                }
                Source::Operand(operand) => LoopInput::Fixed(operands[operand].clone()),
            })
        };
        self.program.bind_loop(self.layout.sources.iter().map(input).collect::<Result<_>>()?)
    }

    /// Copies the state after the last iteration of a bound loop to the current state. The bound loop must have run at
    /// least one iteration.
    ///
    /// # Errors
    /// A result does not fit its sizes.
    pub(super) fn unbind(&self, bound: &LoopRun<'_>, state: &mut StepState) -> Result<()> {
        let current = state.current.expect("a loop is bound after its first iterations");
        for (position, tensor) in state.sets[current].iter_mut().enumerate() {
            tensor.view_mut()?.copy_from(bound.output(position)?)?;
        }
        Ok(())
    }

    /// Returns the sizes of the outputs after the state, if the first iteration has operands of these sizes. `None` if
    /// the sizes depend on data, or if the body would refuse the operands.
    pub(super) fn other_sizes(&self, operands: &[&[usize]]) -> Vec<Option<Vec<usize>>> {
        let size = |source: &Source| match *source {
            Source::State(position) => operands[self.layout.changing[position]],
            Source::Operand(operand) => operands[operand],
        };
        let inputs: Vec<&[usize]> = self.layout.sources.iter().map(size).collect();
        let mut sizes = self.program.output_sizes(&inputs).unwrap_or_default();
        sizes.drain(..self.state_outputs().min(sizes.len()));
        sizes
    }

    /// Returns the number of outputs of the body that are the next state.
    pub(super) fn state_outputs(&self) -> usize {
        self.layout.changing.len()
    }

    /// Sets the first outputs of the node to the current state. The first `states` operands are the initial state.
    ///
    /// # Errors
    /// Memory is refused.
    pub(super) fn store_state(
        &self,
        state: &mut StepState,
        states: usize,
        operands: &[TensorView<'_>],
        cx: &mut HostCx<'_>,
    ) -> Result<()> {
        for (number, initial) in operands.iter().enumerate().take(states) {
            let position = self.layout.changing.iter().position(|changing| *changing == number);
            match (position, state.current) {
                // The buffers stay for a later run.
                (Some(position), Some(current)) if self.layout.is_in_place => {
                    let tensor = &state.sets[current][position];
                    cx.unfilled_output(number, tensor.sizes())?.copy_from(tensor.view())?;
                }
                (Some(position), Some(current)) => {
                    cx.set_output(number, state.sets[current][position].clone())?;
                }
                _ => cx.set_output(number, initial.to_tensor()?)?,
            }
        }
        if !self.layout.is_in_place {
            state.sets = Default::default();
        }
        Ok(())
    }
}
