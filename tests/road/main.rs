//! The whole road from a graph to results, on recorded values, random graphs, and at the limits.

mod api;
mod call;
mod check;
mod draws;
mod errors;
mod explain;
mod grow;
mod limits;
mod loosened;
mod memory;
mod ops;
mod placed;
mod promises;
mod random;
mod recipe;
mod refusals;
mod rooms;
mod runs;
mod same;
mod shrink;
mod told;
mod values;
mod wrong;
mod wrong_graphs;
mod wrong_own;
mod wrong_runs;
