//! `while_loop`: a node that runs a body as long as a condition holds.

use std::any::Any;
use std::panic::Location;
use std::sync::Arc;

use shapeflow_shape_fns::DType;

use super::branch::compile_options;
use super::loop_options::LoopOptions;
use super::node::{RegionOperands, add_node, refused, with_origin};
use super::recorder::{Recorded, Recorder, Region};
use super::relax::{StateShapes, keeps_sizes};
use super::step::{CompiledLoopBody, StepLayout};
use crate::compile::IntoOutputs;
use crate::dtype::type_text;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::exec::{Executable, LoopRun};
use crate::graph::{Graph, Value};
use crate::op::{CompiledControl, Control, ControlForm, HostCx, HostKernel, WhileForm};
use crate::tensor::{TensorView, TensorViewMut};

const OP: &str = "while_loop";

/// The two closures of a loop, which get the state.
pub(crate) struct LoopRegions<'a, 'g> {
    pub condition: &'a mut dyn FnMut(&[Value<'g>]) -> Result<Value<'g>>,
    pub body: &'a mut dyn FnMut(&[Value<'g>]) -> Result<Vec<Value<'g>>>,
    /// Whether the loop comes from a file. Its nodes keep the names that they have in the file, and its body may change
    /// the rank of a state value.
    pub is_imported: bool,
}

impl Graph {
    /// Replaces the state by the results of `body` as long as `condition` is true, and returns the last state.
    ///
    /// `condition` gets the state and returns `bool[]`; `body` gets the state and returns as many values of the same
    /// dtypes. Both may use any value of the graph. The shape of a state value is the most specific shape that its
    /// initial value and the body allow. A dimension that the body changes becomes unknown. The body must not change
    /// the rank, unless [`LoopOptions::shape`] declares the rank unknown. While the graph is built, a closure may be
    /// called several times, until the shapes of the state are found. As TensorFlow's `While` and `tf.while_loop`. Runs
    /// on the host; condition and body are compiled once.
    ///
    /// ```
    /// use shapeflow::Graph;
    ///
    /// let g = Graph::new();
    /// let (count, power) = (g.constant(0i64)?, g.constant(1i64)?);
    /// let last = g.while_loop(&[count, power], |s| s[0].less(10i64), |s| Ok([s[0] + 1i64, s[1] * 2i64]))?;
    /// let [power] = g.compile(last[1])?.run(&[])?;
    /// assert_eq!(power.item::<i64>()?, 1024);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// A closure fails; the condition is not a bool scalar; the body returns another number of values, other
    /// dtypes or other ranks.
    #[doc(alias = "fori_loop")]
    #[track_caller]
    pub fn while_loop<'g, O: IntoOutputs<'g>>(
        &'g self,
        state: &[Value<'g>],
        condition: impl FnMut(&[Value<'g>]) -> Result<Value<'g>>,
        body: impl FnMut(&[Value<'g>]) -> Result<O>,
    ) -> Result<Vec<Value<'g>>> {
        self.while_loop_with(&LoopOptions::new(), state, condition, body)
    }

    /// Does the same as [`Graph::while_loop`], with a limit on the iterations, a token that cancels the loop, or
    /// declared shapes of the state. Runs on the host, unless constants determine a small number of iterations: then
    /// the iterations are compiled one after the other, and fuse.
    ///
    /// # Errors
    /// A shape does not fit its declaration; else as [`Graph::while_loop`].
    #[track_caller]
    pub fn while_loop_with<'g, O: IntoOutputs<'g>>(
        &'g self,
        options: &LoopOptions,
        state: &[Value<'g>],
        mut condition: impl FnMut(&[Value<'g>]) -> Result<Value<'g>>,
        mut body: impl FnMut(&[Value<'g>]) -> Result<O>,
    ) -> Result<Vec<Value<'g>>> {
        let mut body = |state: &[Value<'g>]| {
            let outputs = body(state)?.into_outputs();
            Ok(outputs.into_iter().map(|(_, value)| value).collect())
        };
        let regions = LoopRegions { condition: &mut condition, body: &mut body, is_imported: false };
        self.while_regions(options, state, regions, Location::caller())
    }

    /// Adds a loop.
    ///
    /// # Errors
    /// As [`Graph::while_loop_with`].
    pub(crate) fn while_regions<'g>(
        &'g self,
        options: &LoopOptions,
        state: &[Value<'g>],
        mut regions: LoopRegions<'_, 'g>,
        location: &'static Location<'static>,
    ) -> Result<Vec<Value<'g>>> {
        let located = |error: Error| match error.recorded_location() {
            Some(_) => error,
            None => error.with_op(OP, OP).at(location),
        };
        if state.is_empty() {
            let message = "a loop must have a state, got no values";
            return Err(refused(ErrorKind::Attribute, OP, message, location));
        }
        let mut shapes = StateShapes::new(state, options, regions.is_imported).map_err(located)?;
        let (first_condition, step, unchanged, is_in_place) = loop {
            // The condition is built before the body, so that an error of its closure names the condition.
            let mut recorder = Recorder::open(self, "condition", !regions.is_imported, location)?;
            let given = shapes.parameters(&mut recorder, state);
            let goes_on = condition_of(&mut regions, &given).map_err(located)?;
            let first_condition: Recorded<'g> = recorder.finish(&[goes_on])?;
            let mut recorder = Recorder::open(self, "body", !regions.is_imported, location)?;
            let given = shapes.parameters(&mut recorder, state);
            let returned = (regions.body)(&given)?;
            let kept = recorder.shapes_of(&given, &returned)?;
            if shapes.relax(&given, &returned, &kept).map_err(located)? {
                continue;
            }
            let unchanged: Vec<bool> =
                given.iter().zip(&returned).map(|(given, returned)| given.id() == returned.id()).collect();
            let mut changing = (0..given.len()).filter(|state| !unchanged[*state]);
            let is_in_place = changing
                .all(|state| given[state].dtype().size_bytes().is_some() && keeps_sizes(&kept[state]));
            // The step computes the next state, and whether the loop goes on with it.
            let goes_on = condition_of(&mut regions, &returned).map_err(located)?;
            let changing = returned.iter().zip(&unchanged).filter(|(_, unchanged)| !**unchanged);
            let outputs: Vec<Value<'g>> = changing.map(|(value, _)| *value).chain([goes_on]).collect();
            break (first_condition, recorder.finish(&outputs)?, unchanged, is_in_place);
        };
        let mut operands = RegionOperands { values: state.to_vec() };
        let captures = operands.add(&step, state.len());
        let layout = StepLayout::new(state.len(), 0, &|state| unchanged[state], &captures, is_in_place);
        let first_condition_inputs =
            (0..state.len()).chain(operands.add(&first_condition, state.len())).collect();
        let results = shapes.results(state, &unchanged);
        let control = WhileLoop {
            first_condition: first_condition.region,
            first_condition_inputs,
            step: step.region,
            layout,
            states: state.len(),
            options: options.clone(),
        };
        add_node(self, OP, Arc::new(control), &operands.values, &results, location)
    }
}

/// Builds the condition on a state.
///
/// # Errors
/// The closure fails, or the condition is not a bool scalar.
fn condition_of<'g>(regions: &mut LoopRegions<'_, 'g>, state: &[Value<'g>]) -> Result<Value<'g>> {
    let goes_on = (regions.condition)(state)?.ok()?;
    let (dtype, shape) = (goes_on.dtype(), goes_on.shape());
    if dtype != DType::Bool || shape.rank().is_some_and(|rank| rank != 0) {
        let message = format!("the condition must be a bool scalar, got {}", type_text(dtype, &shape));
        let help = match dtype {
            DType::Bool => "reduce it with .reduce_all(axes) or .reduce_any(axes)",
            _ => "compare it, for example with .greater(0)",
        };
        let error = Error::new(ErrorKind::DType, Phase::Build, message).with_help(help);
        return Err(with_origin(error, "the condition", goes_on));
    }
    Ok(goes_on)
}

/// A loop: the condition before the first iteration, and a step that computes the next state and the next condition.
struct WhileLoop {
    first_condition: Region,
    /// The operands that the first condition reads.
    first_condition_inputs: Vec<usize>,
    step: Region,
    layout: StepLayout,
    states: usize,
    options: LoopOptions,
}

impl Control for WhileLoop {
    fn compile(&self, options: &dyn Any) -> Result<CompiledControl> {
        let options = compile_options(options);
        let (first_condition, step) = (self.first_condition.compile(options)?, self.step.compile(options)?);
        let programs = vec![Some(first_condition.to_any()), Some(step.to_any())];
        let kernel = Arc::new(WhileKernel {
            first_condition,
            first_condition_inputs: self.first_condition_inputs.clone(),
            step: CompiledLoopBody::new(step, self.layout.clone()),
            states: self.states,
            options: self.options.clone(),
        });
        Ok(CompiledControl { kernel, programs })
    }

    fn own_operands(&self) -> usize {
        self.states
    }

    fn regions(&self) -> Vec<&dyn Any> {
        vec![self.first_condition.as_any(), self.step.as_any()]
    }

    fn form(&self) -> ControlForm<'_> {
        let StepLayout { sources, changing, .. } = &self.layout;
        ControlForm::While(WhileForm {
            condition: self.first_condition.as_body(&self.first_condition_inputs),
            step: self.step.as_body(&[]),
            sources,
            changing,
            limit: self.options.iteration_limit(),
            has_token: self.options.has_token(),
        })
    }
}

struct WhileKernel {
    first_condition: Executable,
    first_condition_inputs: Vec<usize>,
    step: CompiledLoopBody,
    states: usize,
    options: LoopOptions,
}

impl HostKernel for WhileKernel {
    fn trim(&self) {
        self.first_condition.trim();
        self.step.trim();
    }

    fn run(&self, cx: &mut HostCx<'_>) -> Result<()> {
        let cancel = cx.cancel();
        let operands: Vec<TensorView<'_>> =
            (0..cx.inputs()).map(|number| cx.input(number)).collect::<Result<_>>()?;
        let inputs: Vec<TensorView<'_>> =
            self.first_condition_inputs.iter().map(|&number| operands[number].clone()).collect();
        let mut goes_on = self
            .first_condition
            .run_until(&inputs, cancel)
            .and_then(|results| results[0].item::<bool>())
            .map_err(|error| error.note("in the condition before iteration 0", None))?;
        let mut state = self.step.begin();
        let mut iteration = 0;
        let mut bound: Option<LoopRun<'_>> = None;
        while goes_on {
            self.options.check(iteration, cancel)?;
            if bound.is_none() {
                bound = self.step.bind(&state, iteration, &operands, 0..0)?;
            }
            let advanced = if let Some(bound) = &mut bound {
                bound.run(cancel).and_then(|()| bound.output(self.step.state_outputs())?.item::<bool>())
            } else if self.step.is_in_place() {
                let mut next = [false];
                let view = TensorViewMut::new(&[], &mut next);
                let ran = view
                    .and_then(|view| self.step.advance_in_place(&mut state, &operands, &mut [view], cancel));
                ran.map(|()| next[0])
            } else {
                self.step.advance(&mut state, &operands, cancel).and_then(|others| others[0].item::<bool>())
            };
            goes_on = advanced.map_err(|error| in_iteration(error, iteration))?;
            iteration += 1;
        }
        if let Some(bound) = &bound {
            self.step.unbind(bound, &mut state)?;
        }
        self.step.store_state(&mut state, self.states, &operands, cx)?;
        self.step.end(state);
        Ok(())
    }
}

/// Adds the number of the iteration to an error of a loop body.
#[cold]
pub(super) fn in_iteration(error: Error, iteration: u64) -> Error {
    error.note(format!("in iteration {iteration}, counted from 0"), None)
}
