//! Speed: what is fused, what compiles again, and how to measure.
//!
//! # What is fused
//!
//! An op whose docs say "Fuses into kernels" is a scalar expression: the compiler computes it in one loop with its
//! neighbors, without memory between them. An op whose docs say "Runs on the host" is a Rust function; its operands
//! and results are in memory. [`Executable::kernels`](crate::Executable::kernels) prints the loops, and says why each
//! value is stored.
//!
//! ```
//! use shapeflow::{DType, Graph, shape};
//!
//! let g = Graph::new();
//! let x = g.input("x", DType::F32, shape!["rows", "columns"])?;
//! let exe = g.compile(((x - 1.0) * 0.5).tanh()?.softmax(-1)?)?;
//! assert_eq!(exe.stats().kernels, 1); // four ops, one kernel
//! assert!(exe.kernels().contains("an output of the graph"));
//! # Ok::<(), shapeflow::Error>(())
//! ```
//!
//! # What compiles again
//!
//! No size is in machine code, so a new batch size compiles nothing. If only a run knows a rank, an axis or a
//! permutation, the graph is compiled once for each new value of it. [`Stats::compiles`](crate::Stats) lists every
//! compilation with its reason.
//!
//! ```
//! use shapeflow::{DType, Graph, Tensor, shape};
//!
//! let g = Graph::new();
//! let x = g.input("x", DType::F32, shape![..])?;
//! let exe = g.compile(x.relu()?)?;
//! for sizes in [&[3][..], &[2, 2], &[5], &[4, 1]] {
//!     exe.run_all(&[Tensor::zeros(DType::F32, sizes)?.view()])?;
//! }
//! assert_eq!(exe.stats().compiles, ["rank 1 of x", "rank 2 of x"]);
//! # Ok::<(), shapeflow::Error>(())
//! ```
//!
//! # Plans
//!
//! A run plans its loops once for each set of sizes, and keeps the plans:
//! [`CompileOptions::plan_memory`](crate::CompileOptions::plan_memory) bounds their bytes. `Stats::plan_hits` counts
//! the runs that found a plan.
//!
//! # How to choose a way to run
//!
//! Small graphs that run often profit from a [`Runner`](crate::Runner), and most from a [`BoundRun`](crate::BoundRun):
//! see [`running`](super::running). Large graphs profit from
//! [`CompileOptions::threads`](crate::CompileOptions::threads).
//!
//! # How to measure
//!
//! A [`Trace`](crate::Trace) records the time of every kernel. The command `shapeflow bench` measures a model, and
//! compares models, feeds, instruction sets and numbers of threads. The environment variable `SHAPEFLOW_DUMP` names a
//! folder to which every stage of every compilation is written.
