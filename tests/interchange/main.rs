//! TensorFlow graphs and numpy files, in and out.

mod damage;
mod feeds;
mod imports;
mod mutated;
mod positions;
mod roundtrip;
mod samples;
mod shapes;
mod structure;
mod values;
