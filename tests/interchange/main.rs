//! TensorFlow graphs and numpy files, in and out.

mod damage;
mod imports;
mod positions;
mod roundtrip;
mod samples;
mod shapes;
mod structure;
mod values;
