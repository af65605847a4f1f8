//! `scan` and `map`: loops over the rows of tensors.

use std::any::Any;
use std::panic::Location;
use std::sync::Arc;

use shapeflow_shape_fns::{DType, Dim, IntoDim, TensorShape, Unknown};

use super::branch::compile_options;
use super::loop_options::LoopOptions;
use super::node::{Operands, add_node, refused, result_shapes};
use super::recorder::{Recorder, Region};
use super::relax::{StateShapes, keeps_sizes};
use super::rows::Rows;
use super::step::{Step, StepLayout};
use super::while_loop::in_iteration;
use crate::compile::IntoOutputs;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::exec::LoopRun;
use crate::graph::{Graph, Value};
use crate::op::{Control, HostCx, HostKernel};
use crate::tensor::{Tensor, TensorView};

/// The body of a scan: from the state and a row of each tensor to the next state and the outputs of the iteration.
type Body<'a, 'g> = &'a mut dyn FnMut(&[Value<'g>], &[Value<'g>]) -> Result<(Vec<Value<'g>>, Vec<Value<'g>>)>;

impl Graph {
    /// Calls `body` with the state and each row of `xs` in turn. Returns the last state and the stacked outputs.
    ///
    /// Row `i` of `xs[k] [n, a, …]` is `xs[k][i] [a, …]`; all of `xs` have `n` rows. `body` returns the next state and
    /// any number of outputs. An output of shape `[b, …]` gives a result `[n, b, …]`, whose rows the iterations write
    /// in place. Dtypes and shapes of the state are as for [`Graph::while_loop`], and a closure may be called several
    /// times. As `jax.lax.scan`. Runs on the host; the body is compiled once.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, TensorView, shape};
    ///
    /// let g = Graph::new();
    /// let (x, zero) = (g.input("x", DType::F32, shape!["n"])?, g.constant(0.0f32)?);
    /// let (last, sums) = g.scan(&[zero], &[x], |s, x| Ok((vec![s[0] + x[0]], vec![s[0] + x[0]])))?;
    /// assert_eq!(sums[0].shape().to_string(), "[n]");
    /// let exe = g.compile([last[0], sums[0]])?;
    /// let [last, sums] = exe.run(&[TensorView::new(&[3], &[1.0f32, 2.0, 3.0])?])?;
    /// assert_eq!((last.item::<f32>()?, sums.to_vec::<f32>()?), (6.0, vec![1.0, 3.0, 6.0]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// `xs` is empty; a tensor of `xs` is a scalar or has strings; the numbers of rows differ; an output has strings;
    /// else as [`Graph::while_loop`].
    #[track_caller]
    pub fn scan<'g>(
        &'g self,
        state: &[Value<'g>],
        xs: &[Value<'g>],
        mut body: impl FnMut(&[Value<'g>], &[Value<'g>]) -> Result<(Vec<Value<'g>>, Vec<Value<'g>>)>,
    ) -> Result<(Vec<Value<'g>>, Vec<Value<'g>>)> {
        self.scan_rows("scan", &LoopOptions::new(), state, xs, &mut body, Location::caller())
    }

    /// Does the same as [`Graph::scan`], with a limit on the iterations, a token that cancels the loop, or declared
    /// shapes of the state.
    ///
    /// # Errors
    /// A shape does not fit its declaration; else as [`Graph::scan`].
    #[track_caller]
    pub fn scan_with<'g>(
        &'g self,
        options: &LoopOptions,
        state: &[Value<'g>],
        xs: &[Value<'g>],
        mut body: impl FnMut(&[Value<'g>], &[Value<'g>]) -> Result<(Vec<Value<'g>>, Vec<Value<'g>>)>,
    ) -> Result<(Vec<Value<'g>>, Vec<Value<'g>>)> {
        self.scan_rows("scan", options, state, xs, &mut body, Location::caller())
    }

    /// Calls `f` with each row of `xs`, and stacks its results.
    ///
    /// Shapes are as for [`Graph::scan`] without a state. As `tf.map_fn`. Runs on the host; `f` is compiled once.
    ///
    /// ```
    /// use shapeflow::{Graph, shape};
    ///
    /// let g = Graph::new();
    /// let x = g.constant([[3, 1, 2], [9, 8, 7]])?;
    /// let sorted = g.map(&[x], |x| Ok(x[0].reduce_max(0)?))?;
    /// let [sorted] = g.compile(sorted)?.run(&[])?;
    /// assert_eq!(sorted.to_vec::<i32>()?, [3, 9]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Graph::scan`].
    #[doc(alias = "map_fn")]
    #[doc(alias = "vmap")]
    #[doc(alias = "vectorized_map")]
    #[track_caller]
    pub fn map<'g, O: IntoOutputs<'g>>(
        &'g self,
        xs: &[Value<'g>],
        mut f: impl FnMut(&[Value<'g>]) -> Result<O>,
    ) -> Result<Vec<Value<'g>>> {
        let mut body = |_: &[Value<'g>], xs: &[Value<'g>]| {
            let outputs = f(xs)?.into_outputs();
            Ok((Vec::new(), outputs.into_iter().map(|(_, value)| value).collect()))
        };
        let results = self.scan_rows("map", &LoopOptions::new(), &[], xs, &mut body, Location::caller());
        results.map(|(_, stacked)| stacked)
    }

    fn scan_rows<'g>(
        &'g self,
        op: &'static str,
        options: &LoopOptions,
        state: &[Value<'g>],
        xs: &[Value<'g>],
        body: Body<'_, 'g>,
        location: &'static Location<'static>,
    ) -> Result<(Vec<Value<'g>>, Vec<Value<'g>>)> {
        let located = |error: Error| match error.location() {
            Some(_) => error,
            None => error.with_op(op, op).at(location),
        };
        let refuse = |kind, message: &str| Err(refused(kind, op, message, location));
        let (count, rows) = rows_of(self, xs).map_err(located)?;
        let mut shapes = StateShapes::new(state, options).map_err(located)?;
        let (step, unchanged, is_in_place, outputs) = loop {
            let mut recorder = Recorder::open(self, "body", true, location);
            let given = shapes.parameters(&mut recorder);
            let elements: Vec<Value<'g>> = xs
                .iter()
                .zip(&rows)
                .enumerate()
                .map(|(number, (x, row))| recorder.parameter(format!("row of x{number}"), x.dtype(), row))
                .collect();
            let (returned, outputs) = body(&given, &elements)?;
            if shapes.relax(&given, &returned).map_err(located)? {
                continue;
            }
            for (number, output) in outputs.iter().enumerate() {
                let dtype = output.ok()?.dtype();
                if dtype.size_bytes().is_none() {
                    let message = format!("output {number} must have elements of a fixed size, got {dtype}");
                    return refuse(ErrorKind::DType, &message);
                }
            }
            let unchanged: Vec<bool> =
                given.iter().zip(&returned).map(|(given, returned)| given.id() == returned.id()).collect();
            let mut changing = (0..given.len()).filter(|state| !unchanged[*state]);
            let is_in_place = changing.all(|state| {
                given[state].dtype().size_bytes().is_some() && keeps_sizes(&given[state], &returned[state])
            });
            let changing = returned.iter().zip(&unchanged).filter(|(_, unchanged)| !**unchanged);
            let all: Vec<Value<'g>> =
                changing.map(|(value, _)| *value).chain(outputs.iter().copied()).collect();
            if all.is_empty() {
                return refuse(ErrorKind::Attribute, "the body must compute something, got no values");
            }
            break (recorder.finish(&all)?, unchanged, is_in_place, outputs.len());
        };
        let fixed = state.len() + xs.len();
        let mut operands = Operands { values: state.iter().chain(xs).copied().collect() };
        let captures = operands.add(&step, fixed);
        let layout =
            StepLayout::new(state.len(), xs.len(), &|state| unchanged[state], &captures, is_in_place);
        let mut results = shapes.results(state, &unchanged);
        let stacked = &step.results[step.results.len() - outputs..];
        results.extend(
            stacked.iter().map(|(dtype, row)| (*dtype, TensorShape::new([count.clone()]).concatenate(row))),
        );
        let output_dtypes = stacked.iter().map(|(dtype, _)| *dtype).collect();
        let control = Scan {
            body: step.region,
            layout,
            states: state.len(),
            xs: xs.len(),
            output_dtypes,
            options: options.clone(),
        };
        let mut values = add_node(self, op, Arc::new(control), &operands.values, &results, location)?;
        let stacked = values.split_off(state.len());
        Ok((values, stacked))
    }
}

/// Returns the number of rows of `xs`, and the shape of a row of each.
///
/// # Errors
/// `xs` is empty, one of them has no rows or has strings, or the numbers of rows differ.
fn rows_of(graph: &Graph, xs: &[Value<'_>]) -> Result<(Dim, Vec<TensorShape>)> {
    let fail = |kind, message: String| Err(Error::new(kind, Phase::Build, message));
    let (mut count, mut rows): (Option<Dim>, Vec<TensorShape>) = (None, Vec::new());
    for (number, x) in xs.iter().enumerate() {
        let (dtype, shape) = (x.ok()?.dtype(), x.shape());
        if dtype.size_bytes().is_none() {
            let message = format!("x{number} must have elements of a fixed size, got {dtype}");
            return fail(ErrorKind::DType, message);
        }
        let Some(dims) = shape.dims() else {
            rows.push(TensorShape::unranked());
            continue;
        };
        let Some((first, rest)) = dims.split_first() else {
            return fail(ErrorKind::Shape, format!("x{number} must have rows, got a scalar"));
        };
        rows.push(TensorShape::from(rest));
        match &count {
            Some(count) if graph.same_dim(count, first) == Some(false) => {
                let message = format!(
                    "all tensors must have the same number of rows, got {count} and {first} in x{number}"
                );
                return fail(ErrorKind::Shape, message);
            }
            Some(known) if known.is_known() || !first.is_known() => {}
            _ => count = Some(first.clone()),
        }
    }
    if xs.is_empty() {
        return fail(ErrorKind::Attribute, "there must be a tensor with rows, got none".to_string());
    }
    Ok((count.unwrap_or_else(|| Unknown.into_dim()), rows))
}

/// A loop over rows.
struct Scan {
    body: Region,
    layout: StepLayout,
    states: usize,
    xs: usize,
    output_dtypes: Vec<DType>,
    options: LoopOptions,
}

impl Control for Scan {
    fn compile(&self, options: &dyn Any) -> Result<Arc<dyn HostKernel>> {
        let body = self.body.compile(compile_options(options))?;
        Ok(Arc::new(ScanKernel {
            step: Step::new(body, self.layout.clone()),
            states: self.states,
            xs: self.xs,
            output_dtypes: self.output_dtypes.clone(),
            options: self.options.clone(),
        }))
    }

    fn regions(&self) -> Vec<(&str, &dyn Any)> {
        vec![self.body.for_dumps()]
    }
}

struct ScanKernel {
    step: Step,
    states: usize,
    xs: usize,
    output_dtypes: Vec<DType>,
    options: LoopOptions,
}

impl HostKernel for ScanKernel {
    fn run(&self, cx: &mut HostCx<'_>) -> Result<()> {
        let all: Vec<TensorView<'_>> =
            (0..cx.inputs()).map(|number| cx.input(number)).collect::<Result<_>>()?;
        let count = row_count(&all[self.states..self.states + self.xs])?;
        let mut operands = all.clone();
        let mut state = self.step.begin();
        let mut rows: Option<Rows> = None;
        let mut bound: Option<LoopRun<'_>> = None;
        let read = self.states..self.states + self.xs;
        for iteration in 0..count {
            self.options.check(iteration as u64)?;
            if bound.is_none() {
                bound = self.step.bind(&state, iteration as u64, &operands, read.clone())?;
            }
            if let (Some(bound), Some(rows)) = (&mut bound, &mut rows) {
                self.advance_bound(bound, &all, iteration, rows)
                    .map_err(|error| in_iteration(error, iteration as u64))?;
                continue;
            }
            for (operand, x) in operands.iter_mut().zip(&all).skip(self.states).take(self.xs) {
                *operand = x.row(iteration);
            }
            let ran = match &mut rows {
                Some(rows) if self.step.is_in_place() => rows
                    .with_row(iteration, |others| self.step.advance_in_place(&mut state, &operands, others)),
                Some(rows) => {
                    let outputs = self.step.advance(&mut state, &operands);
                    outputs.and_then(|outputs| rows.store(iteration, &outputs))
                }
                // The first iteration tells the sizes of the outputs.
                None => {
                    let outputs = self.step.advance(&mut state, &operands);
                    outputs.and_then(|outputs| Rows::new(count, &outputs)).map(|made| rows = Some(made))
                }
            };
            ran.map_err(|error| in_iteration(error, iteration as u64))?;
        }
        if let Some(bound) = &bound {
            self.step.unbind(bound, &mut state)?;
        }
        self.step.store_state(&mut state, self.states, &all, cx)?;
        self.step.end(state);
        let tensors = match rows {
            Some(rows) => rows.into_tensors(),
            None => self.empty(cx)?,
        };
        tensors
            .into_iter()
            .enumerate()
            .try_for_each(|(number, tensor)| cx.set_output(self.states + number, tensor))
    }
}

impl ScanKernel {
    /// Runs one iteration of a bound loop.
    ///
    /// # Errors
    /// The body fails.
    fn advance_bound(
        &self,
        bound: &mut LoopRun<'_>,
        operands: &[TensorView<'_>],
        iteration: usize,
        rows: &mut Rows,
    ) -> Result<()> {
        // The parameters of the body are its first inputs, in the order of the operands.
        for (number, x) in operands.iter().enumerate().skip(self.states).take(self.xs) {
            bound.input_mut(number).copy_from(x.row(iteration))?;
        }
        bound.run()?;
        rows.with_row(iteration, |views| {
            let outputs = views.iter_mut().enumerate();
            outputs.into_iter().try_for_each(|(number, view)| {
                view.copy_from(bound.output(self.step.state_outputs() + number)?)
            })
        })
    }

    /// The outputs of a loop without iterations. A size that only an iteration could tell is 0.
    fn empty(&self, cx: &HostCx<'_>) -> Result<Vec<Tensor>> {
        let size = |dim: &Dim| dim.as_known().and_then(|size| usize::try_from(size).ok()).unwrap_or(0);
        let shapes = result_shapes(cx.attrs()).iter().skip(self.states);
        let tensor = |(dtype, shape): (&DType, &TensorShape)| {
            let rows = shape.dims().unwrap_or_default().iter().skip(1).map(size);
            Tensor::zeros(*dtype, &[0].into_iter().chain(rows).collect::<Vec<usize>>())
        };
        self.output_dtypes.iter().zip(shapes).map(tensor).collect()
    }
}

/// Returns the number of rows of each of `xs`.
///
/// # Errors
/// One of them is a scalar, or the numbers differ.
fn row_count(xs: &[TensorView<'_>]) -> Result<usize> {
    let mut count = None;
    for (number, x) in xs.iter().enumerate() {
        let message = match (x.sizes().first(), count) {
            (Some(&rows), None) => {
                count = Some(rows);
                continue;
            }
            (Some(&rows), Some(count)) if rows == count => continue,
            (Some(rows), Some(count)) => {
                format!("all tensors must have the same number of rows, got {count} and {rows} in x{number}")
            }
            (None, _) => format!("x{number} must have rows, got a scalar"),
        };
        return Err(Error::new(ErrorKind::Guard, Phase::Run, message));
    }
    Ok(count.expect("a scan has a tensor with rows"))
}
