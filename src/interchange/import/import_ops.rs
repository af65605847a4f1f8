//! `import_ops`: the op types of TensorFlow that the import builds without a definition of their own.

use super::super::signature::op_types;
use super::lists::list_ops;
use super::random_ops::is_random_op;
use super::structural::is_structural;

/// The control flow of TensorFlow 1. The import rebuilds the branch or the loop that the nodes stand for. Each op type
/// also exists with the prefix `Ref`.
const SWITCHES: [&str; 7] = ["Enter", "Exit", "LoopCond", "Merge", "NextIteration", "Switch", "_SwitchN"];

/// The ops that make or read a variable.
const VARIABLES: [&str; 9] = [
    "IsVariableInitialized",
    "ReadVariableOp",
    "ResourceGather",
    "ResourceGatherNd",
    "VarHandleOp",
    "VarIsInitializedOp",
    "Variable",
    "VariableShape",
    "VariableV2",
];

/// The ops that make, fill or read a lookup table.
const TABLES: [&str; 24] = [
    "AnonymousHashTable",
    "AnonymousMutableDenseHashTable",
    "AnonymousMutableHashTable",
    "AnonymousMutableHashTableOfTensors",
    "HashTable",
    "HashTableV2",
    "InitializeTable",
    "InitializeTableFromTextFile",
    "InitializeTableFromTextFileV2",
    "InitializeTableV2",
    "LookupTableExport",
    "LookupTableExportV2",
    "LookupTableFind",
    "LookupTableFindV2",
    "LookupTableImport",
    "LookupTableImportV2",
    "LookupTableSize",
    "LookupTableSizeV2",
    "MutableDenseHashTable",
    "MutableDenseHashTableV2",
    "MutableHashTable",
    "MutableHashTableOfTensors",
    "MutableHashTableOfTensorsV2",
    "MutableHashTableV2",
];

/// Returns the op types of TensorFlow that an import builds, although no op of a [`Registry`](crate::Registry) has this
/// type: placeholders, constants, calls, branches, loops, assertions, prints, random ops with a state, tensor lists,
/// lookup tables, and variables. They are sorted by name.
///
/// ```
/// let ops = shapeflow::interchange::import_ops();
/// assert!(ops.contains(&"While") && ops.contains(&"RandomUniform") && !ops.contains(&"MatMul"));
/// ```
pub fn import_ops() -> Vec<&'static str> {
    let builds = |op: &&str| {
        is_structural(op)
            || is_random_op(op)
            || SWITCHES.contains(&op.trim_start_matches("Ref"))
            || cfg!(feature = "strings") && matches!(*op, "Print" | "PrintV2")
    };
    let mut ops: Vec<&str> =
        op_types().filter(builds).chain(list_ops()).chain(VARIABLES).chain(TABLES).collect();
    ops.sort_unstable();
    ops.dedup();
    ops
}

#[cfg(test)]
mod tests {
    use super::super::handle::{is_resource_op, is_table_op};
    use super::*;
    use crate::Registry;

    #[test]
    fn no_op_of_the_registry_is_built_by_the_import_alone() {
        let registry = Registry::builtin();
        let both: Vec<&str> =
            import_ops().into_iter().filter(|op| !registry.candidates(op).is_empty()).collect();
        assert_eq!(both, Vec::<&str>::new());
    }

    #[test]
    fn variables_and_tables_are_resource_ops() {
        for op in VARIABLES {
            assert!(is_resource_op(op), "{op}");
        }
        for op in TABLES {
            assert!(is_table_op(op), "{op}");
        }
    }
}
