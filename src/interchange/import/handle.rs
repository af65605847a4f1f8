//! `Resource`: the variable, lookup table or tensor of the checkpoint that a tensor of a model refers to.

use std::rc::Rc;

use shapeflow_shape_fns::DType;

use crate::tensor::Tensor;

/// What a tensor of the model refers to.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Resource {
    /// A variable.
    Variable(Rc<str>),
    /// A lookup table.
    Table(Rc<TableResource>),
    /// A tensor of the checkpoint that a node restores.
    Restored(Rc<Restored>),
}

/// A lookup table: its name, and the dtypes of its keys and values.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct TableResource {
    pub name: Rc<str>,
    pub key: DType,
    pub value: DType,
    /// Whether the table is filled once, so that each key must have one value.
    pub is_fixed: bool,
    /// The sizes of a value.
    pub value_sizes: Vec<usize>,
    /// The buckets of the table, if the table keeps its keys in buckets.
    pub buckets: Option<Buckets>,
}

/// The buckets of a lookup table. TensorFlow saves all buckets: the saved keys are `[buckets, 1]`, and the saved values
/// are `[buckets, n]` for values of `n` elements.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Buckets {
    /// The key of an empty bucket, and the key of a bucket whose key was erased. `None` if a node computes one of them.
    pub reserved: Option<Vec<Tensor>>,
}

/// A tensor of the checkpoint: its key, and the part of the tensor that is wanted, or an empty text for the whole
/// tensor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Restored {
    pub key: String,
    pub slice: String,
}

/// Returns whether an op makes, reads or writes variables or lookup tables. The import of a SavedModel handles all of
/// these ops itself: it refuses a node that writes, and the error names the node.
pub(super) fn is_resource_op(op: &str) -> bool {
    const VARIABLES: [&str; 6] = [
        "VarHandleOp",
        "VarIsInitializedOp",
        "IsVariableInitialized",
        "Variable",
        "VariableV2",
        "VariableShape",
    ];
    VARIABLES.contains(&op)
        || op.ends_with("VariableOp")
        || op.starts_with("Resource")
        || is_table_op(op)
        || is_generator_op(op)
}

/// Returns whether an op makes the handle of a variable or of a lookup table.
pub(super) fn makes_resource(op: &str) -> bool {
    op == "VarHandleOp" || op.contains("HashTable")
}

/// Returns whether an op writes a variable and has no outputs. Other writes return the variable or its value.
pub(super) fn is_silent_write(op: &str) -> bool {
    const FAMILIES: [&str; 4] =
        ["ResourceScatter", "ResourceApply", "ResourceSparseApply", "ResourceStridedSliceAssign"];
    matches!(op, "AssignVariableOp" | "AssignAddVariableOp" | "AssignSubVariableOp")
        || FAMILIES.iter().any(|family| op.starts_with(family))
}

/// Returns whether an op draws random numbers from a generator, whose state is a variable.
pub(super) fn is_generator_op(op: &str) -> bool {
    const DRAWS: [&str; 8] = [
        "RngReadAndSkip",
        "RngSkip",
        "StatefulRandomBinomial",
        "StatefulStandardNormalV2",
        "StatefulTruncatedNormal",
        "StatefulUniform",
        "StatefulUniformFullInt",
        "StatefulUniformInt",
    ];
    DRAWS.contains(&op)
}

/// Returns whether an op makes, fills or reads lookup tables. The import handles all of these ops itself.
pub(super) fn is_table_op(op: &str) -> bool {
    op.contains("HashTable") || ["LookupTable", "InitializeTable"].iter().any(|prefix| op.starts_with(prefix))
}
