//! [`GraphGuard`]: a condition that a run checks, and the call that requires it.

use std::fmt;
use std::panic::Location;

use rustc_hash::FxHashSet;
use shapeflow_shape_fns::{Guard, GuardRecord};

use super::{DimNames, Graph, GraphData};
use crate::error::{Error, is_library_line};

/// A condition on sizes that a run checks: see [`Graph::guards`].
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct GraphGuard {
    /// The condition: `3 divides 4*n`.
    pub condition: String,
    /// The name of the first call that requires the condition.
    pub call: String,
    /// The line of the call.
    pub location: &'static Location<'static>,
}

/// `3 divides 4*n since reshape at src/main.rs:7:15`.
impl fmt::Display for GraphGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} since {} at {}", self.condition, self.call, self.location)
    }
}

impl Graph {
    /// Returns the conditions on sizes that inference could not decide. A run checks them. The run checks the
    /// conditions inside a branch or a loop only if the branch or the loop runs.
    ///
    /// ```
    /// use shapeflow::{shape, DType, Graph};
    ///
    /// let g = Graph::new();
    /// let x = g.input("x", DType::F32, shape!["n", 4])?;
    /// let y = x.reshape([3, -1])?;
    /// assert_eq!(g.guards()[0].condition, "3 divides 4*n");
    /// assert_eq!(g.guards()[0].call, "reshape");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    pub fn guards(&self) -> Vec<GraphGuard> {
        let mut guards: Vec<GraphGuard> = Vec::new();
        self.read().for_each_graph(&mut |data| {
            for (condition, origin) in data.distinct_guards(&data.dim_names(), |_| true) {
                let (call, location) = data.call_at(origin);
                let guard = GraphGuard { condition, call, location };
                if !guards.contains(&guard) {
                    guards.push(guard);
                }
            }
        });
        guards
    }
}

impl GraphData {
    /// Adds a note to an error: the condition of an earlier call that a refused call contradicts.
    pub(super) fn with_condition(&self, error: Error, record: &GuardRecord) -> Error {
        let condition = self.dim_names().guard(&self.table.with_names(&record.guard));
        let (call, at) = self.call_at(record.origin);
        error.note(format!("{condition} since {call}"), Some(at).filter(|at| !is_library_line(at)))
    }

    /// Returns the text of each guard that `is_shown` accepts, with the first origin that requires it. Guards of
    /// several calls, or of dimensions that a later call has made equal, may have one text.
    pub(crate) fn distinct_guards(
        &self,
        names: &DimNames,
        is_shown: impl Fn(&Guard) -> bool,
    ) -> Vec<(String, u32)> {
        let mut met: FxHashSet<String> = FxHashSet::default();
        let guards = self.table.guards().iter().filter(|record| is_shown(&record.guard));
        // The table replaces anonymous symbols by the symbols that shapes show; `names` then gives these their text.
        let texts = guards.map(|record| (names.guard(&self.table.with_names(&record.guard)), record.origin));
        texts.filter(|(text, _)| met.insert(text.clone())).collect()
    }
}
