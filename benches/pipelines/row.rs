//! `Row`: a line of the table: a case, and what is measured of it.

use super::case::Case;

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// One call of `Runner::run_into`: checks of the inputs, kernels, results in memory that is kept.
    RunInto,
    /// One call of `BoundRun::run`: kernels alone, results in memory that is kept.
    Bind,
    /// One call of `Executable::run_all`, which allocates its results.
    Run,
    /// Building the graph, compiling it and one run.
    First,
    /// Memory at its peak above what the process holds before the inputs are made.
    Memory,
}

impl How {
    /// The unit of a figure.
    pub fn unit(self) -> &'static str {
        if self == How::Memory { "MiB" } else { "us" }
    }
}

/// A line of the table.
pub struct Row {
    /// How the table calls it.
    pub name: String,
    /// The case it measures.
    pub case: &'static str,
    /// What it measures.
    pub how: How,
}

/// Rows of the table of peers for which there is no op.
pub const NOT_BUILT: &[&str] = &["ragged row mean, 100k rows", "ragged to_tensor"];

/// Cases whose results have sizes that only the data decides, so that no memory can be kept for them.
const DATA_DEPENDENT: &[&str] = &[
    "boolean_mask half of 4M",
    "unique_with_counts 1M, 10k distinct",
    "dynamic_partition 1M in 8",
    "dynamic_stitch of 1M from 8",
];

/// Cases of small calls, which are measured in every way to call.
const CALLS: &[&str] = &["10 ops, scalar", "10 ops, 8 elements", "relu(a*x+b) 4 KiB"];

/// Cases whose time to the first result counts.
pub const FIRST: &[&str] = &[
    "relu(a*x+b) 4 MiB",
    "Black-Scholes f32 1M",
    "softmax [1024,1024]",
    "MLP 784-512-10, batch 64",
    "chain of 200 ops, 64K",
];

/// The cases whose memory is measured, and nothing else.
const MEMORY: &[&str] = &["10 ops, 256 MiB"];

/// Whether only the data decides how large the results of a case are.
pub fn is_sized_by_data(case: &str) -> bool {
    DATA_DEPENDENT.contains(&case)
}

/// All rows.
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
