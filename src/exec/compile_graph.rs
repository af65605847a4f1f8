//! `Graph::compile`: from values of a graph to an executable.

use std::panic::Location;
use std::sync::Arc;

use rustc_hash::FxHashSet;

use super::executable::Executable;
use crate::compile::{CompileOptions, IntoOutputs};
use crate::dump::{Snapshot, StageKind, dump_folder_from_environment, span};
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::{Graph, Value, ValueIx};
use crate::passes::rebuild_for_outputs;

impl Graph {
    /// Compiles the nodes that the outputs need. The graph stays usable.
    ///
    /// One compilation serves every size of the unknown dimensions. If ranks or structure parameters (axes,
    /// permutations) are known only at run time, the graph is compiled once for each combination of them that a run
    /// meets. [`Executable::stats`] lists every compilation with its reason.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, TensorView, shape};
    ///
    /// let g = Graph::new();
    /// let x = g.input("x", DType::F32, shape!["n", 2])?;
    /// let exe = g.compile([("sum", x.reduce_sum(1)?), ("scaled", (x * 2.0).ok()?)])?;
    /// for n in [1, 3] {
    ///     let [sum, scaled] = exe.run(&[TensorView::new(&[n, 2], &vec![1.0f32; n * 2])?])?;
    ///     assert_eq!((sum.sizes(), scaled.sizes()), (&[n][..], &[n, 2][..]));
    /// }
    /// assert_eq!(exe.stats().compiles.len(), 1);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// An output is poisoned (an operator that failed made it), belongs to another graph, or cannot be compiled; two
    /// outputs have one name; or [`Graph::assume_eq`] got a name that no shape of the graph has. If several outputs are
    /// poisoned, the error is the error of the first of these outputs. [`Error::all`] also lists the errors of
    /// operators that no call has returned before.
    #[track_caller]
    pub fn compile<'g>(&'g self, outputs: impl IntoOutputs<'g>) -> Result<Executable> {
        self.compile_at(&CompileOptions::new(), outputs.into_outputs(), Location::caller())
    }

    /// Compiles as [`Graph::compile`] does, with options.
    ///
    /// ```
    /// use shapeflow::{Backend, CompileOptions, DType, Graph, shape};
    ///
    /// let g = Graph::new();
    /// let y = g.input("x", DType::F32, shape!["n"])?.exp()?;
    /// let parallel = g.compile_with(&CompileOptions::new().threads(2), y)?;
    /// let interpreted = g.compile_with(&CompileOptions::new().backend(Backend::Interpreter), y)?;
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Graph::compile`], or the system refuses threads.
    #[track_caller]
    pub fn compile_with<'g>(
        &'g self,
        options: &CompileOptions,
        outputs: impl IntoOutputs<'g>,
    ) -> Result<Executable> {
        self.compile_at(options, outputs.into_outputs(), Location::caller())
    }

    fn compile_at(
        &self,
        options: &CompileOptions,
        outputs: Vec<(Option<String>, Value<'_>)>,
        location: &'static Location<'static>,
    ) -> Result<Executable> {
        let refuse = |kind, message: String| Err(Error::new(kind, Phase::Compile, message).at(location));
        if self.read().open_regions > 0 {
            let message = "a graph must be compiled outside the closures of its branches and loops";
            return refuse(ErrorKind::Compile, message.to_string());
        }
        if outputs.is_empty() {
            return refuse(ErrorKind::Compile, "compile needs at least one output".to_string());
        }
        let mut wanted: Vec<ValueIx> = Vec::with_capacity(outputs.len());
        let mut names = Vec::with_capacity(outputs.len());
        let mut refused: Vec<Error> = Vec::new();
        let mut seen: FxHashSet<&str> = FxHashSet::default();
        if let Some(name) =
            outputs.iter().filter_map(|(name, _)| name.as_deref()).find(|name| !seen.insert(name))
        {
            return refuse(
                ErrorKind::Compile,
                format!("the names of outputs must be unique, got \"{name}\" twice"),
            );
        }
        for (name, value) in outputs {
            let own = self.check_own("outputs", value);
            own.map_err(|error| error.with_phase(Phase::Compile).at(location))?;
            let index = match value.index() {
                Ok(index) => index,
                Err(error) => {
                    refused.push(error.or_at(location));
                    continue;
                }
            };
            let data = self.read();
            names.push(name.unwrap_or_else(|| data.value_name(index)));
            wanted.push(index);
        }
        if !refused.is_empty() {
            return Err(self.errors_of_outputs(refused).expect("an output has an error"));
        }
        self.read().check_assumed_names()?;
        // No node is to blame for a wrong variable, so it is checked before a branch or a loop compiles.
        options.check_default_isa()?;
        let compiled_once = Arc::default();
        let options = options.watched(dump_folder_from_environment()).sharing(&compiled_once);
        options.show(StageKind::Graph, &mut || {
            let data = self.read();
            let mut snapshot = Snapshot::of_graph(&data, StageKind::Graph);
            snapshot.mark_results(&data, &wanted);
            Ok(snapshot)
        })?;
        let (rebuilt, needed) = {
            let _span = span(options.kept_trace(), "compile", "passes");
            rebuild_for_outputs(&self.read(), &wanted)?
        };
        let outputs = wanted.iter().map(|value| rebuilt.values[value]).collect();
        let inputs = {
            let data = self.read();
            let ports = data.inputs.iter().zip(&needed);
            ports.map(|((name, value), &needed)| data.port(name.clone(), *value, needed)).collect()
        };
        Executable::new(rebuilt.graph, inputs, outputs, names, &options)
    }
}
