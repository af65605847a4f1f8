//! `ImportOptions`: options of an import.

use shapeflow_shape_fns::TensorShape;

use super::limits::Limits;
use crate::control::LoopOptions;
use crate::op::Registry;
#[cfg(feature = "strings")]
use crate::ops::PrintSink;

/// The part of a note that says that the options give an input a shape.
pub(super) const GIVEN_SHAPE: &str = " was given the shape ";

/// Options of an import.
///
/// ```
/// use shapeflow::interchange::ImportOptions;
/// use shapeflow::shape;
///
/// let options = ImportOptions::new().allow_unknown(true).shape("images", shape!["n", 28, 28]);
/// assert!(options.allow_unknown);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ImportOptions {
    /// Whether an unknown op becomes a node of unknown shape instead of an error.
    pub allow_unknown: bool,
    /// The shapes of some placeholders and fed tensors, which replace the shapes that the model gives them.
    pub shapes: Vec<(String, TensorShape)>,
    /// The fed tensors, each `NAME`, `NAME:i`, or a name from the signature of a SavedModel.
    pub feeds: Vec<String>,
    /// The signature of a SavedModel whose inputs become inputs of the graph, under their names in the signature.
    pub signature: Option<String>,
    /// Whether the variables that the model writes become inputs and results.
    pub stateful: bool,
    /// Whether the variables that the model only reads become inputs.
    pub variable_inputs: bool,
    /// The seed of random ops that have none.
    pub random_seed: u64,
    /// The limit on the iterations of every loop, and the token that cancels it.
    pub loops: LoopOptions,
    /// Where runs write what `Print` and `PrintV2` nodes say.
    #[cfg(feature = "strings")]
    pub print_sink: PrintSink,
    /// Limits on the size of the model.
    pub limits: Limits,
    /// The ops that nodes can become, by their TensorFlow spellings or their own names.
    pub ops: Registry,
}

impl Default for ImportOptions {
    fn default() -> ImportOptions {
        ImportOptions {
            allow_unknown: false,
            shapes: Vec::new(),
            feeds: Vec::new(),
            signature: None,
            stateful: false,
            variable_inputs: false,
            random_seed: 0,
            loops: LoopOptions::new(),
            #[cfg(feature = "strings")]
            print_sink: PrintSink::default(),
            limits: Limits::default(),
            ops: Registry::builtin(),
        }
    }
}

impl ImportOptions {
    /// Returns the default options: unknown ops are errors, the model gives the shapes, and nodes become ops of this
    /// crate.
    pub fn new() -> ImportOptions {
        ImportOptions::default()
    }

    /// Sets whether an unknown op becomes a node of unknown shape instead of an error.
    ///
    /// ```
    /// use shapeflow::interchange::{ImportOptions, Model};
    ///
    /// let model = Model::from_text(r#"node { name: "x" op: "NoSuchOp" }"#)?;
    /// assert!(model.import(None, &ImportOptions::new()).is_err());
    /// let imported = model.import(None, &ImportOptions::new().allow_unknown(true))?;
    /// assert!(imported.value("x")?.shape().rank().is_none());
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    #[must_use]
    pub fn allow_unknown(mut self, allow: bool) -> ImportOptions {
        self.allow_unknown = allow;
        self
    }

    /// Gives a placeholder or a fed tensor a shape, which replaces the shape that the model gives it. The rank must be
    /// the rank that the model declares, if it declares one; sizes may differ.
    #[must_use]
    pub fn shape(mut self, tensor: impl Into<String>, shape: impl Into<TensorShape>) -> ImportOptions {
        self.shapes.push((tensor.into(), shape.into()));
        self
    }

    /// Makes a tensor of the model an input of the graph, as TensorFlow's `feed_dict` does. The tensor is `NAME`,
    /// `NAME:i`, or a name from the signature of a SavedModel.
    ///
    /// The input is called `NAME`, or `NAME:i` for an output other than the first. The input has the tensor's dtype,
    /// rank and known sizes. Readers of the tensor read the input. Nodes that only the tensor's producer needs are not
    /// imported.
    ///
    /// ```
    /// use shapeflow::interchange::{ImportOptions, Model};
    /// use shapeflow::TensorView;
    ///
    /// let model = Model::from_text(r#"
    ///     node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
    ///     node { name: "hidden" op: "Neg" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
    ///     node { name: "y" op: "Relu" input: "hidden" attr { key: "T" value { type: DT_FLOAT } } }
    /// "#)?;
    /// let imported = model.import(Some(&["y"]), &ImportOptions::new().feed("hidden"))?;
    /// let exe = imported.graph().compile(imported.value("y")?)?;
    /// assert_eq!(exe.inputs()[0].name, "hidden");
    /// let [y] = exe.run(&[TensorView::new(&[2], &[-1.0f32, 2.0])?])?;
    /// assert_eq!(y.to_vec::<f32>()?, [0.0, 2.0]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    #[must_use]
    pub fn feed(mut self, tensor: impl Into<String>) -> ImportOptions {
        self.feeds.push(tensor.into());
        self
    }

    /// Chooses a signature of a SavedModel. The inputs of the signature become inputs of the graph, under their
    /// names in the signature. The outputs of the signature are fetched if the import names no
    /// other tensors.
    #[must_use]
    pub fn signature(mut self, name: impl Into<String>) -> ImportOptions {
        self.signature = Some(name.into());
        self
    }

    /// Sets the seed of the nodes `Multinomial`, `RandomGamma`, `RandomPoissonV2`, `RandomShuffle`,
    /// `RandomStandardNormal`, `RandomUniform`, `RandomUniformInt` and `TruncatedNormal` that have no seed of their
    /// own.
    ///
    /// A graph has no state: every run has the same numbers, and every node has numbers of its own. A node whose
    /// attributes `seed` and `seed2` are not both 0 has the numbers of TensorFlow's first run on a CPU. The other nodes
    /// have other numbers than in TensorFlow, because TensorFlow draws their seeds when it starts. For new numbers in
    /// every run, feed the node, or import with another seed.
    ///
    /// A `tf.random.Generator` of a SavedModel gives the numbers of TensorFlow's first run, whatever the seed is. With
    /// [`ImportOptions::stateful`] its state is an input and a result, so that each run gives the next numbers.
    /// Without, it is refused in branches and loops. A generator other than Philox and its method `binomial` are
    /// refused too.
    ///
    /// A node in a loop has other numbers in every iteration. These are TensorFlow's numbers if the node has a seed, if
    /// constants and known shapes give the sizes of its result, if it runs in every iteration, and if its loop is in no
    /// other loop. TensorFlow runs iterations in parallel. If nothing orders the draws, they may come in another order
    /// there in each run.
    #[must_use]
    pub fn random_seed(mut self, seed: u64) -> ImportOptions {
        self.random_seed = seed;
        self
    }

    /// Sets whether the variables that the model writes become inputs and results. By default they do not: a run
    /// changes no variable, and a result that depends on a written variable is refused.
    ///
    /// Such a variable is an input of the graph, after all placeholders that are fed. [`Imported::state`] lists these
    /// variables, each with its value in the checkpoint, and with the value that it has after the run. Give the next
    /// run the values after this run. Writes in branches and loops count, and so do the draws of a
    /// `tf.random.Generator`. All other variables stay constants.
    ///
    /// The import follows assignments (also of sums, differences and slices), updates of rows and elements (`Add`,
    /// `Max`, `Min`, `Sub`, `Update`), and the optimizers Adagrad, Adam, gradient descent, momentum and RMSProp. A
    /// result that depends on any other write is refused.
    ///
    /// [`Imported::session`] compiles a model that keeps these values itself, and has an example. A
    /// [`BoundRun`](crate::BoundRun) can keep them too: call [`feed_back`](crate::BoundRun::feed_back) for each
    /// variable after each run.
    ///
    /// [`Imported::session`]: super::Imported::session
    /// [`Imported::state`]: super::Imported::state
    #[must_use]
    pub fn stateful(mut self, stateful: bool) -> ImportOptions {
        self.stateful = stateful;
        self
    }

    /// Sets whether all variables become inputs: those that the model writes, as with [`ImportOptions::stateful`], and
    /// those that it only reads. A run then takes other weights without another compile:
    /// weights of a newer checkpoint, or weights that a session of another signature has trained.
    ///
    /// By default, these variables are constants. A run on constants is faster: the library computes what depends only
    /// on them once, and packs the matrices of matrix products.
    ///
    /// ```
    /// use shapeflow::Tensor;
    /// use shapeflow::interchange::{ImportOptions, SavedModel};
    ///
    /// // The signature `count` adds `by` to the variable `steps`, which `serving_default` returns.
    /// let model = SavedModel::load("tests/data/saved_models/layers")?;
    /// let options = ImportOptions::new().variable_inputs(true);
    /// let mut count = model.signature_with("count", &options)?.session()?;
    /// let mut serving = model.signature_with("serving_default", &options)?.session()?;
    /// let x = Tensor::from([[1.0f32, 2.0, 3.0]]);
    /// assert_eq!(serving.run(&[("x", x.view())])?.tensor("steps")?, &Tensor::scalar(3i64));
    /// count.run(&[("by", Tensor::scalar(2i64).view())])?;
    /// serving.set_variables_of(&count)?;
    /// assert_eq!(serving.run(&[("x", x.view())])?.tensor("steps")?, &Tensor::scalar(5i64));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    #[must_use]
    pub fn variable_inputs(mut self, variable_inputs: bool) -> ImportOptions {
        self.variable_inputs = variable_inputs;
        self
    }

    /// Sets the limit on the iterations of every loop of the model, and the token that cancels a loop. The model gives
    /// the shapes of the states: [`LoopOptions::shape`] has no effect here.
    ///
    /// ```no_run
    /// use std::sync::Arc;
    /// use std::sync::atomic::AtomicBool;
    ///
    /// use shapeflow::LoopOptions;
    /// use shapeflow::interchange::{ImportOptions, read_model};
    ///
    /// let cancelled = Arc::new(AtomicBool::new(false));
    /// let loops = LoopOptions::new().limit(10_000).cancel(cancelled.clone());
    /// let model = read_model("model.pb")?.import(None, &ImportOptions::new().loops(loops))?;
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    #[must_use]
    pub fn loops(mut self, options: LoopOptions) -> ImportOptions {
        self.loops = options.without_shapes();
        self
    }

    /// Sets where runs write what `Print` and `PrintV2` nodes say. The default is standard error.
    ///
    /// A `Print` writes when a run computes its result. A `PrintV2` writes when a run computes a node that depends on
    /// it.
    #[cfg(feature = "strings")]
    #[must_use]
    pub fn print_sink(mut self, sink: PrintSink) -> ImportOptions {
        self.print_sink = sink;
        self
    }

    /// Sets limits on the size of the model.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> ImportOptions {
        self.limits = limits;
        self
    }

    /// Sets the ops that nodes can become.
    #[must_use]
    pub fn ops(mut self, ops: Registry) -> ImportOptions {
        self.ops = ops;
        self
    }
}
