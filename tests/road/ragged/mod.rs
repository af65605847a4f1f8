//! Ragged tensors: laws, errors, and values recorded from TensorFlow.

mod graphs;
mod laws;
mod mistakes;
mod recorded;
