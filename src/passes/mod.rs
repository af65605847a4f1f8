//! Passes from graph to graph.
//!
//! **In:** a graph, the values to compute, and what is known of the graph's inputs.
//!
//! **Out:** a new graph with shapes inferred again, in a dim table of its own; or what must be known before the
//! graph can be compiled.
//!
//! **Order of work:** `rebuild` copies what the wanted values need, so that dead code and duplicates disappear.
//! `rebuild` replaces unknown ranks, sizes and values of inputs by known ones. `relied_equalities` and `relied_bounds`
//! keep the equalities and the lower bounds of dims that attributes rely on. `late_knowledge` holds the numbers that
//! later nodes made known; `rebuild` then starts again with these numbers. `string_handles` changes each copied node
//! that only moves strings: the node then moves integers. `select_branches` turns cheap branches into selections, and
//! `unroll_loops` turns short loops into their iterations. `resolve` finds the inputs whose rank, sizes or value must
//! be fixed ([`KeyInputs`]), the nodes that must wait for results of a run ([`unresolved`]), and the nodes whose
//! inference is [`incomplete_nodes`].
//!
//! **Callers:** `exec` rebuilds a graph before it is compiled; `compile` specializes graphs.
//!
//! **Absent:** changes in place. No pass modifies the graph that it gets.

mod late_knowledge;
mod rebuild;
mod rebuilder;
mod relied_bounds;
mod relied_equalities;
mod resolve;
mod select_branches;
mod string_handles;
mod unroll_loops;

pub(crate) use rebuild::{
    KnownEqualities, KnownInputs, Rebuilt, carrier, rebuild, rebuild_for_outputs, subgraph,
};
pub(crate) use resolve::{KeyInputs, incomplete_nodes, key_inputs, unresolved};
#[cfg(feature = "graphdef")]
pub(crate) use select_branches::cannot_fail;
