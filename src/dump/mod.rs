//! Graphs in the formats of other tools.

mod dot;
