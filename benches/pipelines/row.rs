//! [`Row`]: a line of the results, which measures one quantity of a case.

use super::case::Case;

/// The quantity that a row measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// The time of `Runner::run_into`, which checks the inputs, runs the kernels, and reuses the memory of the results.
    RunInto,
    /// The time of `BoundRun::run`, which only runs the kernels, and reuses the memory of the results.
    Bind,
    /// The time of `Executable::run_all`, which allocates the results.
    Run,
    /// The time to build the graph, compile it, and run it once.
    First,
    /// The peak memory of making the inputs, compiling and running, minus the memory that the process held before.
    Memory,
}

impl How {
    /// Returns the unit of the quantity.
    pub fn unit(self) -> &'static str {
        if self == How::Memory { "MiB" } else { "us" }
    }
}

/// A line of the results.
pub struct Row {
    /// The name of the row.
    pub name: String,
    /// The name of the measured case.
    pub case: &'static str,
    /// The measured quantity.
    pub how: How,
}

/// Rows that are measured on other engines but not on shapeflow, because shapeflow lacks the op. There are none now.
pub const WITHOUT_OP: &[&str] = &[];

/// Cases whose result sizes depend on the data, so that the memory of their results cannot be reused.
const DATA_DEPENDENT: &[&str] = &[
    "boolean_mask half of 4M",
    "unique_with_counts 1M, 10k distinct",
    "dynamic_partition 1M in 8",
    "dynamic_stitch of 1M from 8",
    "ragged to_tensor",
];

/// Cases whose kernels take less time than a call. These cases are measured for each way to call.
const CALLS: &[&str] = &["10 ops, scalar", "10 ops, 8 elements", "relu(a*x+b) 4 KiB"];

/// Cases whose time to the first result is measured.
pub const FIRST: &[&str] = &[
    "relu(a*x+b) 4 MiB",
    "Black-Scholes f32 1M",
    "softmax [1024,1024]",
    "MLP 784-512-10, batch 64",
    "chain of 200 ops, 64K",
];

/// Cases that measure only memory.
const MEMORY: &[&str] = &["10 ops, 256 MiB"];

/// Returns whether the result sizes of a case depend on the data.
pub fn is_sized_by_data(case: &str) -> bool {
    DATA_DEPENDENT.contains(&case)
}

/// Returns all rows.
pub fn rows(cases: &[Case]) -> Vec<Row> {
    let mut rows = Vec::new();
    for case in FIRST {
        rows.push(Row { name: format!("first result: {case}"), case, how: How::First });
    }
    for case in cases.iter().map(|case| case.name) {
        if MEMORY.contains(&case) {
            rows.push(Row { name: format!("memory: {case}"), case, how: How::Memory });
        } else if CALLS.contains(&case) {
            for (way, how) in [("run", How::Run), ("run_into", How::RunInto), ("bind", How::Bind)] {
                rows.push(Row { name: format!("{case}, {way}"), case, how });
            }
        } else {
            let how = if is_sized_by_data(case) { How::Run } else { How::RunInto };
            rows.push(Row { name: case.to_string(), case, how });
        }
    }
    rows
}
