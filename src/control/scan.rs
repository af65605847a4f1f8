//! `scan` and `map`: loops over the rows of tensors.

use std::panic::Location;
use std::sync::Arc;

use shapeflow_shape_fns::{DType, Dim, IntoDim, TensorShape, Unknown};

use super::loop_options::LoopOptions;
use super::node::{RegionOperands, add_node, refused, with_origin};
use super::recorder::Recorder;
use super::relax::{StateShapes, keeps_sizes};
use super::scan_kernel::{ScanKind, ScanLoop};
use super::step::StepLayout;
use crate::compile::IntoOutputs;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::{Graph, Value};

/// The body of a scan: from the state and a row of each tensor to the next state and the outputs of the iteration.
type Body<'a, 'g> = &'a mut dyn FnMut(&[Value<'g>], &[Value<'g>]) -> Result<(Vec<Value<'g>>, Vec<Value<'g>>)>;

impl Graph {
    /// Calls `body` with the state and each row of `xs` in turn. Returns the last state and the stacked outputs.
    ///
    /// Row `i` of `xs[k] [n, a, …]` is `xs[k][i] [a, …]`; all of `xs` have `n` rows. `body` returns the next state and
    /// any number of outputs. An output of shape `[b, …]` gives a result `[n, b, …]`, whose rows the iterations write
    /// in place, unless some output of the body has strings. If `n` is 0, the result has the sizes that the first
    /// iteration would give it, and 0 for a size that depends on data. Dtypes and shapes of the state are as for
    /// [`Graph::while_loop`]: while the graph is built, `body` may be called several times, until the shapes of the
    /// state are found. As `jax.lax.scan`. Runs on the host; the body is compiled once.
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
    /// `xs` is empty; a tensor of `xs` is a scalar or a tensor list (dtype `variant`); the numbers of rows differ; an
    /// output is a tensor list; else as [`Graph::while_loop`].
    #[doc(alias = "foldl")]
    #[track_caller]
    pub fn scan<'g>(
        &'g self,
        state: &[Value<'g>],
        xs: &[Value<'g>],
        mut body: impl FnMut(&[Value<'g>], &[Value<'g>]) -> Result<(Vec<Value<'g>>, Vec<Value<'g>>)>,
    ) -> Result<(Vec<Value<'g>>, Vec<Value<'g>>)> {
        self.scan_rows(ScanKind::Scan, &LoopOptions::new(), state, xs, &mut body, Location::caller())
    }

    /// Does the same as [`Graph::scan`], with a limit on the iterations, a token that cancels the loop, or declared
    /// shapes of the state. Runs on the host.
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
        self.scan_rows(ScanKind::Scan, options, state, xs, &mut body, Location::caller())
    }

    /// Calls `f` with each row of `xs`, and stacks its results.
    ///
    /// Shapes are as for [`Graph::scan`] without a state. As TensorFlow's `tf.map_fn`. Runs on the host; `f` is
    /// compiled once.
    ///
    /// ```
    /// use shapeflow::{Graph, shape};
    ///
    /// let g = Graph::new();
    /// let x = g.constant([[3, 1, 2], [9, 8, 7]])?;
    /// let largest = g.map(&[x], |x| Ok(x[0].reduce_max(0)?))?;
    /// let [largest] = g.compile(largest)?.run(&[])?;
    /// assert_eq!(largest.to_vec::<i32>()?, [3, 9]);
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
        let results =
            self.scan_rows(ScanKind::Map, &LoopOptions::new(), &[], xs, &mut body, Location::caller());
        results.map(|(_, stacked)| stacked)
    }

    /// Adds a loop over the rows of `xs`.
    ///
    /// # Errors
    /// As [`Graph::scan`]; also, for [`ScanKind::MapRows`], if an output is a scalar or has an unknown rank.
    pub(super) fn scan_rows<'g>(
        &'g self,
        kind: ScanKind,
        options: &LoopOptions,
        state: &[Value<'g>],
        xs: &[Value<'g>],
        body: Body<'_, 'g>,
        location: &'static Location<'static>,
    ) -> Result<(Vec<Value<'g>>, Vec<Value<'g>>)> {
        let op = kind.op();
        let located = |error: Error| match error.recorded_location() {
            Some(_) => error,
            None => error.with_op(op, op).at(location),
        };
        let refuse = |kind, message: &str| Err(refused(kind, op, message, location));
        let (count, rows) = rows_of(self, xs).map_err(located)?;
        let mut shapes = StateShapes::new(state, options, false).map_err(located)?;
        let (step, unchanged, is_in_place, outputs) = loop {
            let mut recorder = Recorder::open(self, "body", true, location)?;
            let given = shapes.parameters(&mut recorder, state);
            let elements: Vec<Value<'g>> = xs
                .iter()
                .zip(&rows)
                .enumerate()
                .map(|(number, (x, row))| {
                    recorder.parameter_of(format!("row of x{number}"), *x, x.dtype(), row)
                })
                .collect();
            let (returned, outputs) = body(&given, &elements)?;
            let kept = recorder.shapes_of(&given, &returned)?;
            if shapes.relax(&given, &returned, &kept).map_err(located)? {
                continue;
            }
            for (number, output) in outputs.iter().enumerate() {
                let dtype = output.ok()?.dtype();
                if dtype == DType::Variant {
                    let message = format!("output {number} must not be a tensor list, got {dtype}");
                    return refuse(ErrorKind::DType, &message)
                        .map_err(|error| with_origin(error, &format!("output {number}"), *output));
                }
                if kind == ScanKind::MapRows && output.shape().rank().is_none_or(|rank| rank == 0) {
                    let message =
                        format!("a row must have a known rank and at least one axis, got {}", output.shape());
                    return refuse(ErrorKind::Shape, &message)
                        .map_err(|error| with_origin(error, "the row", *output));
                }
            }
            let unchanged: Vec<bool> =
                given.iter().zip(&returned).map(|(given, returned)| given.id() == returned.id()).collect();
            let mut changing = (0..given.len()).filter(|state| !unchanged[*state]);
            let is_in_place = kind != ScanKind::MapRows
                && outputs.iter().all(|output| output.dtype().size_bytes().is_some())
                && changing
                    .all(|state| given[state].dtype().size_bytes().is_some() && keeps_sizes(&kept[state]));
            let changing = returned.iter().zip(&unchanged).filter(|(_, unchanged)| !**unchanged);
            let all: Vec<Value<'g>> =
                changing.map(|(value, _)| *value).chain(outputs.iter().copied()).collect();
            if all.is_empty() {
                return refuse(
                    ErrorKind::Attribute,
                    "the body must change a state or return an output, got the given states and no outputs",
                );
            }
            break (recorder.finish(&all)?, unchanged, is_in_place, outputs.len());
        };
        let fixed = state.len() + xs.len();
        let mut operands = RegionOperands { values: state.iter().chain(xs).copied().collect() };
        let captures = operands.add(&step, fixed);
        let layout =
            StepLayout::new(state.len(), xs.len(), &|state| unchanged[state], &captures, is_in_place);
        let mut results = shapes.results(state, &unchanged);
        let stacked = &step.results[step.results.len() - outputs..];
        for (dtype, row) in stacked {
            let outer = |size: Dim| TensorShape::new([size]);
            if kind == ScanKind::MapRows {
                results.push((*dtype, outer(Unknown.into_dim()).concatenate(&row.slice(1..))));
                results.push((DType::I64, outer(count.clone() + 1)));
            } else {
                results.push((*dtype, outer(count.clone()).concatenate(row)));
            }
        }
        let output_dtypes = stacked.iter().map(|(dtype, _)| *dtype).collect();
        let control = ScanLoop {
            kind,
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
/// `xs` is empty, a tensor of `xs` is a scalar or a tensor list, or the numbers of rows differ.
fn rows_of(graph: &Graph, xs: &[Value<'_>]) -> Result<(Dim, Vec<TensorShape>)> {
    let fail = |kind, message: String| Err(Error::new(kind, Phase::Build, message));
    let (mut count, mut rows): (Option<Dim>, Vec<TensorShape>) = (None, Vec::new());
    for (number, x) in xs.iter().enumerate() {
        let name = format!("x{number}");
        graph.check_own(&name, *x)?;
        let (dtype, shape) = (x.ok()?.dtype(), x.shape());
        if dtype == DType::Variant {
            let message = format!("x{number} must not be a tensor list, got {dtype}");
            return fail(ErrorKind::DType, message).map_err(|error| with_origin(error, &name, *x));
        }
        let Some(dims) = shape.dims() else {
            rows.push(TensorShape::unranked());
            continue;
        };
        let Some((first, rest)) = dims.split_first() else {
            return fail(
                ErrorKind::Shape,
                format!("x{number} must have an axis 0 to scan along, got a scalar"),
            )
            .map_err(|error| with_origin(error, &name, *x));
        };
        rows.push(TensorShape::from(rest));
        match &count {
            Some(count) if graph.same_dim(count, first) == Some(false) => {
                let message = format!(
                    "all tensors must have the same number of rows, got {count} and {first} in x{number}"
                );
                return fail(ErrorKind::Shape, message).map_err(|error| with_origin(error, &name, *x));
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
