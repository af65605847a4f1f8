//! Dataflow graphs of tensor ops.
