//! The names of the outputs of list ops.

/// Returns the position of a named output of a list op. The table of signatures lacks list ops, because their lists
/// have the dtype variant.
pub(super) fn list_output(op: &str, output: &str, ragged_rank: usize) -> usize {
    match (op, output) {
        ("RaggedTensorFromVariant", "output_dense_values") => ragged_rank,
        ("TensorArrayConcatV3" | "TensorListConcat" | "TensorListConcatV2", "lengths")
        | ("TensorArrayV3", "flow")
        | ("TensorListPopBack", "tensor") => 1,
        _ => 0,
    }
}
