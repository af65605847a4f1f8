//! [`GraphGuard`]: a condition that a run checks, and the call that requires it.

use std::fmt;
use std::panic::Location;

use super::Graph;

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
            let names = data.dim_names();
            for record in data.table.guards() {
                let (call, location) = data.label_at(record.origin);
                let guard = GraphGuard {
                    condition: names.guard(&data.table.with_names(&record.guard)),
                    call,
                    location,
                };
                if !guards.contains(&guard) {
                    guards.push(guard);
                }
            }
        });
        guards
    }
}
