//! [`Feeds`]: the feeds of a run by name, one for each dense or ragged input.

use std::cell::Cell;
use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use shapeflow_shape_fns::{DType, counted};

use super::executable::Executable;
use super::input_bindings::{Misfit, bind_inputs_or, ragged_misfit};
use super::port::{Port, unknown_name, with_ragged_help};
use super::results::Results;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::op::Cancel;
use crate::ragged::{FLAT_VALUES, ROW_SPLITS, RaggedTensor};
use crate::tensor::{Tensor, TensorView};

/// What an input is fed: the view of a tensor, or a ragged tensor.
#[derive(Clone, Debug)]
pub enum Feed<'a> {
    /// A dense tensor.
    Dense(TensorView<'a>),
    /// A ragged tensor.
    Ragged(&'a RaggedTensor),
}

impl<'a> From<TensorView<'a>> for Feed<'a> {
    fn from(view: TensorView<'a>) -> Feed<'a> {
        Feed::Dense(view)
    }
}

impl<'a> From<&'a Tensor> for Feed<'a> {
    fn from(tensor: &'a Tensor) -> Feed<'a> {
        Feed::Dense(tensor.view())
    }
}

impl<'a> From<&'a RaggedTensor> for Feed<'a> {
    fn from(ragged: &'a RaggedTensor) -> Feed<'a> {
        Feed::Ragged(ragged)
    }
}

/// The feeds of a run; see [`Executable::feed`].
#[derive(Clone, Debug)]
#[must_use = "the graph runs when `run` is called"]
pub struct Feeds<'a> {
    executable: &'a Executable,
    feeds: Vec<(String, FeedPart<'a>)>,
    /// The name of each ragged feed, and its dtype and shape as text.
    ragged: Vec<(String, String)>,
    /// The first feed that does not fit its input.
    error: Option<Error>,
    cancel: Option<Arc<AtomicBool>>,
}

/// The feed of one input of the compiled graph. A ragged input consists of several inputs of the compiled graph, so its
/// feed has several parts.
#[derive(Clone, Debug)]
enum FeedPart<'a> {
    View(TensorView<'a>),
    Tensor(Tensor),
}

impl FeedPart<'_> {
    fn view(&self) -> TensorView<'_> {
        match self {
            FeedPart::View(view) => view.clone(),
            FeedPart::Tensor(tensor) => tensor.view(),
        }
    }
}

impl Executable {
    /// Feeds an input by name: a tensor, a view, or a ragged tensor. [`Feeds::feed`] feeds the next input, and
    /// [`Feeds::run`] runs.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, Tensor, ragged, shape};
    ///
    /// let g = Graph::new();
    /// let prices = g.ragged_input("prices", DType::F32, 1, shape![])?;
    /// let rate = g.input("rate", DType::F32, shape![])?;
    /// let exe = g.compile([("sums", (prices.reduce_sum(1)?.dense()? * rate).ok()?)])?;
    /// let (prices, rate) = (ragged![[1.0f32, 2.0], [], [4.0]], Tensor::scalar(10.0f32));
    /// let results = exe.feed("prices", &prices).feed("rate", &rate).run()?;
    /// assert_eq!(results.tensor("sums")?.to_vec::<f32>()?, [30.0, 0.0, 40.0]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    pub fn feed<'a>(&'a self, name: &str, feed: impl Into<Feed<'a>>) -> Feeds<'a> {
        Feeds { executable: self, feeds: Vec::new(), ragged: Vec::new(), error: None, cancel: None }
            .feed(name, feed)
    }

    /// Runs on inputs by name and returns the results by name. Inputs that the outputs do not need may be missing.
    /// [`Executable::feed`] also feeds ragged tensors.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, Tensor, shape};
    ///
    /// let g = Graph::new();
    /// let (x, y) = (g.input("x", DType::F32, shape!["n"])?, g.input("y", DType::F32, shape!["n"])?);
    /// let exe = g.compile([("sum", (x + y).ok()?)])?;
    /// let (x, y) = (Tensor::from([1.0f32, 2.0]), Tensor::from([3.0f32, 4.0]));
    /// let results = exe.run_named(&[("y", y.view()), ("x", x.view())])?;
    /// assert_eq!(results.tensor("sum")?, &Tensor::from([4.0f32, 6.0]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// A needed input is missing, a name occurs twice, or no input has the name. Else as [`Executable::run`].
    #[track_caller]
    pub fn run_named(&self, feeds: &[(&str, TensorView<'_>)]) -> Result<Results> {
        self.run_named_until(feeds, Cancel::default())
    }

    /// Runs as [`Executable::run_named`] does, until the token of `cancel` is true.
    #[track_caller]
    pub(super) fn run_named_until(
        &self,
        feeds: &[(&str, TensorView<'_>)],
        cancel: Cancel<'_>,
    ) -> Result<Results> {
        let location = Location::caller();
        let misfed = |port: &Port, requirement: &str| {
            let message = format!("input \"{}\" {requirement}", port.name);
            Error::new(ErrorKind::Feed, Phase::Run, message).at(location).with_input(&port.name)
        };
        if let Some((name, _)) =
            feeds.iter().find(|(name, _)| !self.inputs().iter().any(|port| port.name == *name))
        {
            let error = unknown_name("input", name, self.inputs().iter().map(|port| port.name.as_str()));
            return Err(with_ragged_help(error, self.inputs(), name).with_input(name).at(location));
        }
        let mut ordered = Vec::with_capacity(self.needed().len());
        for port in self.inputs() {
            let mut found = feeds.iter().filter(|(name, _)| *name == port.name);
            match (found.next(), found.next()) {
                (Some((_, view)), None) if port.needed => ordered.push(view.clone()),
                (Some(_), None) => {}
                (None, _) if !port.needed => {}
                (None, _) => {
                    let error = misfed(port, &format!("{} must be fed", self.type_text(port)));
                    let error = self.with_use_of_sizes(error, &port.name);
                    return Err(with_ragged_help(error, self.inputs(), &port.name));
                }
                (Some(_), Some(_)) => {
                    return Err(misfed(port, "must be fed once, but is fed several times"));
                }
            }
        }
        let tensors = self.run_until(&ordered, cancel)?;
        let names = self.outputs().iter().map(|port| port.name.clone());
        Ok(Results::new(names.zip(tensors).collect()))
    }
}

impl<'a> Feeds<'a> {
    /// Feeds one more input by name.
    pub fn feed(mut self, name: &str, feed: impl Into<Feed<'a>>) -> Feeds<'a> {
        match feed.into() {
            Feed::Dense(view) => self.feeds.push((name.to_string(), FeedPart::View(view))),
            Feed::Ragged(ragged) => match self.parts(name, ragged) {
                Ok(parts) => {
                    self.feeds.extend(parts);
                    self.ragged.push((name.to_string(), format!("{}{}", ragged.dtype(), ragged.shape())));
                }
                Err(error) => drop(self.error.get_or_insert(error.with_input(name))),
            },
        }
        self
    }

    /// Returns the parts of a ragged feed.
    ///
    /// # Errors
    /// The input is dense, has another number of ragged axes, or has i32 row splits that cannot hold the row splits of
    /// the tensor.
    fn parts(&self, name: &str, ragged: &RaggedTensor) -> Result<Vec<(String, FeedPart<'a>)>> {
        let inputs = self.executable.inputs();
        let refuse = |message: String| Err(Error::new(ErrorKind::Feed, Phase::Run, message));
        if inputs.iter().any(|port| port.name == name) {
            let shape = ragged.shape();
            return refuse(format!(
                "input \"{name}\" must be fed a dense tensor, got a ragged tensor {shape}"
            ))
            .map_err(|error| error.with_help("use `RaggedTensor::to_tensor`, which pads the rows"));
        }
        let flat = format!("{name}{FLAT_VALUES}");
        let Some(values) = inputs.iter().position(|port| port.name == flat) else {
            let ragged = inputs.iter().map(|port| port.name.strip_suffix(FLAT_VALUES).unwrap_or(&port.name));
            return Err(unknown_name("input", name, ragged.filter(|name| !name.contains(ROW_SPLITS))));
        };
        let graph = self.executable.specializations().graph();
        let declared = graph.inputs.iter().find(|(part, _)| *part == flat);
        let refuse = |message: String| {
            refuse(message).map_err(|error| match declared {
                Some((_, value)) => error.note_declaration(graph.node_of(*value).location),
                None => error,
            })
        };
        let (dtype, got) = (inputs[values].dtype, ragged.dtype());
        if dtype != got {
            return refuse(format!(
                "ragged input \"{name}\" must have elements of dtype {dtype}, got {got}{}",
                ragged.shape()
            ));
        }
        let splits = format!("{name}{ROW_SPLITS}");
        let splits: Vec<&Port> = inputs.iter().filter(|port| port.name.starts_with(&splits)).collect();
        let (axes, got) = (splits.len(), ragged.ragged_rank());
        if axes != got {
            let axes = counted(axes, "ragged axis");
            return refuse(format!("ragged input \"{name}\" has {axes}, got a ragged tensor with {got}"));
        }
        // All row splits of an input have one dtype.
        let dtype = splits.first().map_or(DType::I64, |port| port.dtype);
        let parts = ragged.with_row_splits_dtype(dtype)?.feeds(name);
        Ok(parts.into_iter().map(|(name, tensor)| (name, FeedPart::Tensor(tensor))).collect())
    }

    /// Ends the run with an error once the token is true; see [`Runner::cancel`](crate::Runner::cancel).
    pub fn cancel(mut self, token: Arc<AtomicBool>) -> Feeds<'a> {
        self.cancel = Some(token);
        self
    }

    /// Runs the graph.
    ///
    /// # Errors
    /// A ragged tensor is fed to a dense input, or has another number of ragged axes than its input; else as
    /// [`Executable::run_named`].
    #[track_caller]
    pub fn run(self) -> Result<Results> {
        if let Some(error) = self.error {
            return Err(error.or_at(Location::caller()));
        }
        let feeds: Vec<(&str, TensorView<'_>)> =
            self.feeds.iter().map(|(name, part)| (name.as_str(), part.view())).collect();
        let results = self.executable.run_named_until(&feeds, Cancel::new(self.cancel.as_deref()));
        let location = Location::caller();
        results.map_err(|error| match error.kind() {
            ErrorKind::Feed if !self.ragged.is_empty() => {
                self.ragged_misfit(&feeds).map_or(error, |misfit| misfit.or_at(location))
            }
            _ => error,
        })
    }

    /// Returns the error about the ragged feed whose rows do not fit their input; `None` if another feed is at fault.
    /// The errors of runs are about the tensors that hold the parts of a ragged input.
    #[cold]
    fn ragged_misfit(&self, feeds: &[(&str, TensorView<'_>)]) -> Option<Error> {
        let graph = self.executable.specializations().graph();
        let fed = |name: &str| feeds.iter().find(|(fed, _)| *fed == name).map(|(_, view)| view);
        let inputs: Vec<(DType, &[usize])> = graph
            .inputs
            .iter()
            .map(|(name, _)| fed(name).map(|view| (view.dtype(), view.sizes())))
            .collect::<Option<_>>()?;
        let misfit = Cell::new(None);
        let make_error = |at: Misfit<'_>| {
            let name = graph.inputs[at.port].0.strip_suffix(FLAT_VALUES);
            let found = self.ragged.iter().find(|(ragged, _)| Some(ragged.as_str()) == name);
            misfit.set(found.map(|(ragged, got)| ragged_misfit(graph, ragged, got, at)));
            // The error of the run stays, unless a ragged feed is at fault.
            Error::new(ErrorKind::Feed, Phase::Run, at.requirement)
        };
        let _ = bind_inputs_or(graph, &inputs, &make_error);
        misfit.into_inner()
    }
}
