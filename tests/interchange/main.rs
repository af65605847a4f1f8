//! TensorFlow graphs and numpy files, in and out.

mod shapes;
