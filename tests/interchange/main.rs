//! TensorFlow graphs and numpy files, in and out.

mod roundtrip;
mod shapes;
