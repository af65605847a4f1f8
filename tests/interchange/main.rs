//! TensorFlow graphs and numpy files, in and out.

mod damage;
mod mutated;
mod roundtrip;
mod samples;
mod shapes;
mod structure;
mod values;
