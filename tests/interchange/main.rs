//! Import and export of TensorFlow graphs and numpy files.

mod control;
mod control_samples;
mod damage;
mod feeds;
mod file_errors;
mod given_model;
mod imports;
mod inner_tensors;
mod large_checkpoint;
mod media_samples;
mod mutated;
mod own_op_samples;
mod positions;
mod prints;
mod recorded_dtypes;
mod roundtrip;
mod row_sizes;
mod samples;
mod saved_models;
mod shapes;
mod shared_functions;
mod string_samples;
mod structure;
mod tables;
mod transform_samples;
mod values;
