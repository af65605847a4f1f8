//! The kernel of a loop over rows.

use std::any::Any;
use std::sync::Arc;

use shapeflow_shape_fns::{DType, Dim, TensorShape};

use super::branch::compile_options;
use super::loop_options::LoopOptions;
use super::node::result_shapes;
use super::recorder::Region;
use super::rows::{CollectedRows, StackedRows};
use super::step::{CompiledLoopBody, StepLayout};
use super::while_loop::in_iteration;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::exec::LoopRun;
use crate::op::{Cancel, CompiledControl, Control, ControlForm, HostCx, HostKernel, RowsForm};
use crate::tensor::{Tensor, TensorView};

/// How a loop over rows combines the outputs of its iterations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ScanKind {
    /// Stacks the outputs. The loop has a state too.
    Scan,
    /// Stacks the outputs.
    Map,
    /// Joins the outputs along axis 0 to the flat values of ragged rows. Each output gives two results, flat values and
    /// row splits.
    MapRows,
}

impl ScanKind {
    /// Returns the name of the node.
    pub(super) fn op(self) -> &'static str {
        match self {
            ScanKind::Scan => "scan",
            ScanKind::Map => "map",
            ScanKind::MapRows => "map_rows",
        }
    }
}

/// A loop over rows.
pub(super) struct ScanLoop {
    pub kind: ScanKind,
    pub body: Region,
    pub layout: StepLayout,
    pub states: usize,
    pub xs: usize,
    pub output_dtypes: Vec<DType>,
    pub options: LoopOptions,
}

impl Control for ScanLoop {
    fn compile(&self, options: &dyn Any) -> Result<CompiledControl> {
        let body = self.body.compile(compile_options(options))?;
        let programs = vec![Some(body.to_any())];
        let kernel = Arc::new(ScanKernel {
            kind: self.kind,
            step: CompiledLoopBody::new(body, self.layout.clone()),
            states: self.states,
            xs: self.xs,
            output_dtypes: self.output_dtypes.clone(),
            options: self.options.clone(),
        });
        Ok(CompiledControl { kernel, programs })
    }

    fn own_operands(&self) -> usize {
        self.states + self.xs
    }

    fn regions(&self) -> Vec<&dyn Any> {
        vec![self.body.as_any()]
    }

    fn form(&self) -> ControlForm<'_> {
        let StepLayout { sources, changing, .. } = &self.layout;
        ControlForm::Rows(RowsForm {
            body: self.body.as_body(&[]),
            sources,
            changing,
            states: self.states,
            xs: self.xs,
            is_joined: self.kind == ScanKind::MapRows,
            limit: self.options.iteration_limit(),
        })
    }
}

struct ScanKernel {
    kind: ScanKind,
    step: CompiledLoopBody,
    states: usize,
    xs: usize,
    output_dtypes: Vec<DType>,
    options: LoopOptions,
}

impl HostKernel for ScanKernel {
    fn trim(&self) {
        self.step.trim();
    }

    fn run(&self, cx: &mut HostCx<'_>) -> Result<()> {
        let cancel = cx.cancel();
        let all: Vec<TensorView<'_>> =
            (0..cx.inputs()).map(|number| cx.input(number)).collect::<Result<_>>()?;
        let count = row_count(&all[self.states..self.states + self.xs])
            .map_err(|(number, error)| error.blame_element(self.states + number))?;
        let mut operands = all.clone();
        let mut state = self.step.begin();
        let (mut rows, mut collected): (Option<StackedRows>, CollectedRows) =
            (None, CollectedRows::default());
        let mut bound: Option<LoopRun<'_>> = None;
        let read = self.states..self.states + self.xs;
        for iteration in 0..count {
            self.options.check(iteration as u64, cancel)?;
            if bound.is_none() {
                bound = self.step.bind(&state, iteration as u64, &operands, read.clone())?;
            }
            if let (Some(bound), Some(rows)) = (&mut bound, &mut rows) {
                self.advance_bound(bound, &all, iteration, rows, cancel)
                    .map_err(|error| in_iteration(error, iteration as u64))?;
                continue;
            }
            for (operand, x) in operands.iter_mut().zip(&all).skip(self.states).take(self.xs) {
                *operand = x.row(iteration);
            }
            let ran = match &mut rows {
                Some(rows) if self.step.is_in_place() => {
                    let ran = rows.with_row(iteration, |others| {
                        self.step.advance_in_place(&mut state, &operands, others, cancel)
                    });
                    ran.map_err(|error| rows.explain(error, self.step.state_outputs()))
                }
                Some(rows) => {
                    let outputs = self.step.advance(&mut state, &operands, cancel);
                    outputs.and_then(|outputs| rows.store(iteration, &outputs))
                }
                None if self.collects_rows() => {
                    let inner = usize::from(self.kind == ScanKind::MapRows);
                    let outputs = self.step.advance(&mut state, &operands, cancel);
                    outputs.and_then(|outputs| collected.push(outputs, inner))
                }
                // The sizes of the outputs are known after the first iteration.
                None => {
                    let outputs = self.step.advance(&mut state, &operands, cancel);
                    outputs
                        .and_then(|outputs| StackedRows::new(count, &outputs))
                        .map(|made| rows = Some(made))
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
            None if collected.is_empty() => self.empty(&all, cx)?,
            None if self.kind == ScanKind::MapRows => collected.concatenated()?,
            None => collected.stacked()?,
        };
        tensors
            .into_iter()
            .enumerate()
            .try_for_each(|(number, tensor)| cx.set_output(self.states + number, tensor))
    }
}

impl ScanKernel {
    /// Returns whether the sizes in bytes of the results are known only after the last iteration, so that no iteration
    /// can write its outputs to their places.
    fn collects_rows(&self) -> bool {
        self.kind == ScanKind::MapRows || self.output_dtypes.iter().any(|dtype| dtype.size_bytes().is_none())
    }

    /// Runs one iteration of a bound loop.
    ///
    /// # Errors
    /// The body fails.
    fn advance_bound(
        &self,
        bound: &mut LoopRun<'_>,
        operands: &[TensorView<'_>],
        iteration: usize,
        rows: &mut StackedRows,
        cancel: Cancel<'_>,
    ) -> Result<()> {
        // The parameters of the body are its first inputs, in the order of the operands.
        for (number, x) in operands.iter().enumerate().skip(self.states).take(self.xs) {
            bound.input_mut(number).copy_from(x.row(iteration))?;
        }
        bound.run(cancel)?;
        rows.with_row(iteration, |views| {
            let outputs = views.iter_mut().enumerate();
            outputs.into_iter().try_for_each(|(number, view)| {
                view.copy_from(bound.output(self.step.state_outputs() + number)?)
            })
        })
    }

    /// Returns the outputs of a loop without iterations. Their rows have the sizes that the first iteration would give.
    /// A size that only this iteration could determine is 0.
    fn empty(&self, operands: &[TensorView<'_>], cx: &HostCx<'_>) -> Result<Vec<Tensor>> {
        let mut sizes: Vec<&[usize]> = operands.iter().map(TensorView::sizes).collect();
        // An iteration gets a row of each of these tensors.
        for x in &mut sizes[self.states..self.states + self.xs] {
            *x = &x[1..];
        }
        let mut rows = self.step.other_sizes(&sizes).into_iter();
        let size = |dim: &Dim| dim.as_known().and_then(|size| usize::try_from(size).ok()).unwrap_or(0);
        // The outputs of `map_rows` are joined along the first axis of their rows.
        let joined = usize::from(self.kind == ScanKind::MapRows);
        let tensor = |dtype: &DType, shape: &TensorShape, row: Option<Vec<usize>>| {
            let row = match row {
                Some(row) => row[joined..].to_vec(),
                None => shape.dims().unwrap_or_default().iter().skip(1).map(size).collect(),
            };
            Tensor::zeros(*dtype, &[vec![0], row].concat())
        };
        let mut shapes = result_shapes(cx.attrs()).iter().skip(self.states);
        let mut tensors = Vec::new();
        for dtype in &self.output_dtypes {
            let shape = shapes.next().expect("every output has a shape");
            tensors.push(tensor(dtype, shape, rows.next().flatten())?);
            if self.kind == ScanKind::MapRows {
                shapes.next();
                tensors.push(Tensor::from([0i64]));
            }
        }
        Ok(tensors)
    }
}

/// Returns the number of rows that all tensors of `xs` have.
///
/// # Errors
/// A tensor of `xs` is a scalar, or the tensors have different numbers of rows. The position of the tensor comes with
/// the error.
fn row_count(xs: &[TensorView<'_>]) -> Result<usize, (usize, Error)> {
    let mut count = None;
    for (number, x) in xs.iter().enumerate() {
        let message = match (x.sizes().first(), count) {
            (Some(&rows), None) => {
                count = Some(rows);
                continue;
            }
            (Some(&rows), Some(count)) if rows == count => continue,
            (Some(rows), Some(count)) => {
                format!(
                    "all tensors must have the same number of rows, got {count} and {rows} in xs[{number}]"
                )
            }
            (None, _) => format!("xs[{number}] must have rows, got a scalar"),
        };
        return Err((number, Error::new(ErrorKind::Guard, Phase::Run, message)));
    }
    Ok(count.expect("a scan has a tensor with rows"))
}
