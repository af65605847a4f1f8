//! The names of the outputs of ops that the table of signatures lacks.

/// Returns the position of a named output of a list op or of an op on tables. The table of signatures lacks these ops,
/// because they have variants and resources.
pub(super) fn list_output(op: &str, output: &str, ragged_rank: usize) -> usize {
    match (op, output) {
        ("RaggedTensorFromVariant", "output_dense_values") => ragged_rank,
        ("LookupTableExport" | "LookupTableExportV2", "values")
        | ("TensorArrayConcatV3" | "TensorListConcat" | "TensorListConcatV2", "lengths")
        | ("TensorArrayV3", "flow")
        | ("TensorListPopBack", "tensor") => 1,
        _ => 0,
    }
}
