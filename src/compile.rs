//! The driver: from values of a graph to an executable.

use std::panic::Location;

use crate::dump::{Snapshot, StageKind, folder_of_environment, span};
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::exec::{CompileOptions, Executable};
use crate::graph::{Graph, Value, ValueIx};
use crate::passes::{Facts, rebuild};

/// What may be compiled: a value, several, or several by name.
pub trait IntoOutputs<'g> {
    #[doc(hidden)]
    fn into_outputs(self) -> Vec<(Option<String>, Value<'g>)>;
}

impl<'g> IntoOutputs<'g> for Value<'g> {
    fn into_outputs(self) -> Vec<(Option<String>, Value<'g>)> {
        vec![(None, self)]
    }
}

impl<'g> IntoOutputs<'g> for &[Value<'g>] {
    fn into_outputs(self) -> Vec<(Option<String>, Value<'g>)> {
        self.iter().map(|value| (None, *value)).collect()
    }
}

impl<'g> IntoOutputs<'g> for &Vec<Value<'g>> {
    fn into_outputs(self) -> Vec<(Option<String>, Value<'g>)> {
        self[..].into_outputs()
    }
}

impl<'g, const N: usize> IntoOutputs<'g> for &[Value<'g>; N] {
    fn into_outputs(self) -> Vec<(Option<String>, Value<'g>)> {
        self[..].into_outputs()
    }
}

impl<'g, const N: usize> IntoOutputs<'g> for [Value<'g>; N] {
    fn into_outputs(self) -> Vec<(Option<String>, Value<'g>)> {
        self[..].into_outputs()
    }
}

impl<'g, const N: usize> IntoOutputs<'g> for [(&str, Value<'g>); N] {
    fn into_outputs(self) -> Vec<(Option<String>, Value<'g>)> {
        self.into_iter().map(|(name, value)| (Some(name.to_string()), value)).collect()
    }
}

impl<'g> IntoOutputs<'g> for &[(&str, Value<'g>)] {
    fn into_outputs(self) -> Vec<(Option<String>, Value<'g>)> {
        self.iter().map(|(name, value)| (Some((*name).to_string()), *value)).collect()
    }
}

impl Graph {
    /// Compiles what the outputs need; the graph stays usable.
    ///
    /// Machine code is made once for every size that unknown dimensions may take. A graph whose ranks or
    /// structure parameters (axes, permutations) are only known when it runs is compiled further then, once
    /// for each of them; [`Executable::stats`] says what for.
    ///
    /// # Errors
    /// An output is poisoned (all recorded errors are listed), belongs to another graph, or cannot be compiled.
    #[track_caller]
    pub fn compile<'g>(&'g self, outputs: impl IntoOutputs<'g>) -> Result<Executable> {
        self.compile_at(&CompileOptions::new(), outputs.into_outputs(), Location::caller())
    }

    /// As [`Graph::compile`], with options.
    ///
    /// # Errors
    /// As [`Graph::compile`]; or threads are refused.
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
        if outputs.is_empty() {
            return refuse(ErrorKind::Compile, "compile needs at least one output".to_string());
        }
        let mut wanted: Vec<ValueIx> = Vec::with_capacity(outputs.len());
        let mut names = Vec::with_capacity(outputs.len());
        for (name, value) in outputs {
            if value.graph().tag() != self.tag() {
                return refuse(
                    ErrorKind::ForeignValue,
                    format!(
                        "outputs must belong to the graph made at {}, got a value of the one made at {}",
                        self.created(),
                        value.graph().created()
                    ),
                );
            }
            let Ok(index) = value.index() else {
                self.check()?;
                return value.index().map(|_| unreachable!("the value is poisoned"));
            };
            let data = self.read();
            names.push(name.unwrap_or_else(|| data.node_name(data.values[index.at()].node)));
            wanted.push(index);
        }
        let options = options.watched(folder_of_environment());
        options.show(StageKind::Graph, &mut || {
            let data = self.read();
            let mut snapshot = Snapshot::of_graph(&data, StageKind::Graph);
            snapshot.mark_results(&data, &wanted);
            Ok(snapshot)
        })?;
        let rebuilt = {
            let _span = span(options.kept_trace(), "compile", "passes");
            let data = self.read();
            rebuild(&data, &wanted, &Facts::default())?
        };
        let outputs = wanted.iter().map(|value| rebuilt.values[value]).collect();
        Executable::new(rebuilt.graph, outputs, names, &options)
    }
}
