//! End-to-end tests, from building a graph to its results: recorded values, random graphs, limits and error messages.

mod api;
mod argument_forms;
mod backend_check;
#[cfg(all(feature = "npz", feature = "safetensors"))]
mod bad_bindings;
mod bad_calls;
mod bad_custom_ops;
mod bad_graphs;
mod bad_programs;
mod bad_runs;
mod bound_runs;
mod branch_selection;
#[cfg(feature = "strings")]
mod builder_docs;
mod call_messages;
mod cancellation;
mod circles;
mod complex_edges;
mod control;
mod control_random;
mod custom_ops;
mod dynamic_shape_graphs;
mod einsum;
mod element_props;
mod env_vars;
mod equal_calls;
mod error_advice;
mod error_messages;
mod error_snapshots;
#[cfg(feature = "strings")]
mod example_messages;
mod explain;
mod fed_ranks;
mod feeds_and_outputs;
mod fusion;
mod graph_generator;
mod graph_recipe;
mod index_errors;
mod inferred_shapes;
mod late_knowledge;
mod laws;
mod layer_functions;
mod layering;
mod limits;
mod loop_states;
mod media_attributes;
mod memory;
mod method_messages;
mod mistakes;
mod naive_loops;
mod op_call;
#[cfg(feature = "strings")]
mod op_docs;
#[cfg(feature = "strings")]
mod op_index;
mod op_params;
mod operand_choice;
mod ops;
mod plan_memory;
mod programs;
mod ragged;
mod random;
mod random_numbers;
mod refused_arguments;
mod refused_runs;
mod region_dumps;
mod rng;
mod run_lines;
mod run_messages;
mod runs;
mod scalar_dims;
mod scalar_operands;
mod scans;
mod self_view_graphs;
mod sequence_messages;
mod shape_refinement;
mod shrink;
#[cfg(feature = "fft")]
mod signal;
mod source_files;
mod sparse_ops;
mod stack;
mod storage_dtypes;
#[cfg(feature = "strings")]
mod string_ops;
mod string_rows;
mod strings;
mod symbol_definitions;
mod tensor_compare;
mod unknown_symbols;
mod unneeded_inputs;
mod unrolled_loops;
mod values;
mod windows;
