//! Running: the ways to run a compiled graph.
//!
//! [`Graph::compile`](crate::Graph::compile) makes an [`Executable`](crate::Executable), which does not borrow the
//! graph. An executable is cheap to clone, and several threads may run it at once. An executable serves all sizes.
//!
//! ```
//! use shapeflow::{DType, Graph, Tensor, TensorView, shape};
//!
//! let g = Graph::new();
//! let x = g.input("x", DType::F32, shape!["n", 2])?;
//! let scale = g.input("scale", DType::F32, shape![])?;
//! let exe = g.compile([("scaled", x * scale), ("norms", x.square()?.reduce_sum(1)?.sqrt()?)])?;
//!
//! // By position: one array of results.
//! let rows = Tensor::from([[3.0f32, 4.0], [6.0, 8.0]]);
//! let [scaled, norms] = exe.run(&[rows.view(), Tensor::scalar(2.0f32).view()])?;
//! assert_eq!(scaled, Tensor::from([[6.0f32, 8.0], [12.0, 16.0]]));
//!
//! // By name, with views of your own memory.
//! let data = [0.0f32; 6];
//! let half = [0.5f32];
//! let feeds = [("x", TensorView::new(&[3, 2], &data)?), ("scale", TensorView::new(&[], &half)?)];
//! assert_eq!(exe.run_named(&feeds)?.tensor("norms")?.sizes(), [3]);
//!
//! // A runner keeps its memory. `run_into` writes to memory of yours.
//! let mut out = [0.0f32; 4];
//! let mut lengths = [0.0f32; 2];
//! let mut runner = exe.runner();
//! runner.run_into(
//!     &[rows.view(), Tensor::scalar(1.0f32).view()],
//!     &mut [
//!         shapeflow::TensorViewMut::new(&[2, 2], &mut out)?,
//!         shapeflow::TensorViewMut::new(&[2], &mut lengths)?,
//!     ],
//! )?;
//! assert_eq!(lengths, [5.0, 10.0]);
//! # Ok::<(), shapeflow::Error>(())
//! ```
//!
//! # Repeated runs with fixed sizes
//!
//! A [`BoundRun`](crate::BoundRun) owns its inputs and outputs. A repetition allocates nothing and costs little more
//! than its kernels. [`BoundRun::feed_back`](crate::BoundRun::feed_back) copies a result to an input, as a loop does
//! with its state. So a program trains with gradients that it builds itself, with the ops `*_grad` among others: the
//! weights and the state of the optimizer are inputs, their new values are outputs, and `feed_back` copies them after
//! each step.
//!
//! ```
//! use shapeflow::{DType, Graph, shape};
//!
//! let g = Graph::new();
//! let x = g.input("x", DType::F64, shape!["n"])?;
//! let exe = g.compile([("next", (x + 2.0 / x) * 0.5)])?; // Newton's step for the square root of 2
//! let mut bound = exe.bind_sizes(&[&[1]])?;
//! bound.input_mut("x")?.as_mut_slice::<f64>()?[0] = 1.0;
//! for _ in 0..6 {
//!     bound.run()?;
//!     bound.feed_back("next", "x")?;
//! }
//! assert!((bound.output("next")?.item::<f64>()? - 2.0f64.sqrt()).abs() < 1e-15);
//! # Ok::<(), shapeflow::Error>(())
//! ```
//!
//! A last batch with fewer rows needs a bound run of its own. `other.set_input("w", bound.output("w_next")?)` carries
//! the weights over.
//!
//! # Ragged inputs
//!
//! [`Executable::feed`](crate::Executable::feed) takes a ragged tensor by name. Runs by position take views in the
//! order of [`Executable::inputs`](crate::Executable::inputs), where a ragged input stands as several inputs: its flat
//! values, then its row splits. [`RaggedTensor::feeds`](crate::RaggedTensor::feeds) makes these parts in this order.
//!
//! ```
//! use shapeflow::{DType, Graph, Tensor, TensorView, ragged, shape};
//!
//! let g = Graph::new();
//! let prices = g.ragged_input("prices", DType::F32, "users", shape![])?;
//! let rate = g.input("rate", DType::F32, shape![])?;
//! let exe = g.compile([("sums", (prices.reduce_sum(1)?.dense()? * rate).ok()?)])?;
//!
//! let (rows, rate) = (ragged![[1.0f32, 2.0], [], [4.0]].feeds("prices"), Tensor::scalar(10.0f32));
//! let views: Vec<TensorView<'_>> = rows.iter().map(|(_, part)| part.view()).chain([rate.view()]).collect();
//! assert_eq!(exe.runner().run(&views)?[0].to_vec::<f32>()?, [30.0, 0.0, 40.0]);
//!
//! let mut bound = exe.bind(&views)?;
//! bound.input_mut("prices/flat_values")?.as_mut_slice::<f32>()?.fill(1.0);
//! bound.run()?;
//! assert_eq!(bound.output("sums")?.to_vec::<f32>()?, [20.0, 0.0, 10.0]);
//! assert!(!bound.is_fixed()); // rows are reduced on the host
//! # Ok::<(), shapeflow::Error>(())
//! ```
//!
//! A bound run of a ragged input keeps the number of rows and the number of values. It plans every repetition, so a
//! repetition costs as much as a run of a [`Runner`](crate::Runner): ops on the rows run on the host, and
//! [`BoundRun::is_fixed`](crate::BoundRun::is_fixed) is false.
//!
//! # Inputs that are not needed
//!
//! Give a run exactly one view for each input. You may instead leave out all inputs that the outputs do not need.
//! [`Port::needed`](crate::Port) tells whether the outputs need an input.
//!
//! # Threads and memory
//!
//! [`CompileOptions::threads`](crate::CompileOptions::threads) lets large kernels use several threads; the results do
//! not depend on their number. [`CompileOptions::memory_limit`](crate::CompileOptions::memory_limit) refuses runs that
//! would need more. [`Runner::cancel`](crate::Runner::cancel) takes a token with which another thread ends a run.
//! [`Executable::trim`](crate::Executable::trim) frees memory that is kept for later runs.
//!
//! # Requests from outside
//!
//! A service that feeds what its clients send bounds four things:
//!
//! - **Memory.** [`CompileOptions::memory_limit`](crate::CompileOptions::memory_limit) bounds the results and the
//!   intermediate values of a run.
//! - **Time.** Memory does not bound time: `range(0, k, 1).reduce_sum(0)` stores one number, and takes as long as the fed
//!   `k` says. A token of [`Runner::cancel`](crate::Runner::cancel) ends any run;
//!   [`Executable::run`](crate::Executable::run) takes no token.
//!   [`LoopOptions::limit`](crate::LoopOptions::limit) bounds a loop that ends when data say so. If its state becomes
//!   NaN, such a loop may never end.
//! - **Programs.** A run compiles a program for each new rank of an input of shape `..`, and for each new value of a fed
//!   axis or permutation. The executable keeps at most 64 of these programs. An input has at most 254 axes. Declare
//!   the ranks that you know: `shape![?, ?]`.
//! - **Meaning.** Feed what clients send to ops that check it: `gather` refuses ids outside their table, and
//!   [`Value::checked`](crate::Value::checked) states a requirement of your own.
//!
//! [`ErrorKind`](crate::ErrorKind) tells a bad request from a mistake of the program: see
//! [errors](crate::guide::errors#whose-mistake-an-error-is).
//!
//! ```
//! use std::sync::Arc;
//! use std::sync::atomic::{AtomicBool, Ordering};
//!
//! use shapeflow::{CompileOptions, DType, ErrorKind, Graph, Tensor, shape};
//!
//! let g = Graph::new();
//! let scale = g.input("scale", DType::F32, shape![])?;
//! let scale = scale.checked(scale.greater(0.0)?, "scale must be positive")?;
//! let x = g.input("x", DType::F32, shape!["n"])?;
//! let exe = g.compile_with(&CompileOptions::new().memory_limit(1 << 20), (x * scale).exp()?)?;
//!
//! let token = Arc::new(AtomicBool::new(false)); // set to `true` by whoever watches the time
//! let mut runner = exe.runner().cancel(token.clone());
//! let mut request = |n: usize, scale: f32| {
//!     let x = Tensor::zeros(DType::F32, &[n])?;
//!     runner.run(&[Tensor::scalar(scale).view(), x.view()])
//! };
//! assert_eq!(request(3, 2.0)?[0].to_vec::<f32>()?, [1.0, 1.0, 1.0]);
//! assert_eq!(request(3, -1.0).unwrap_err().kind(), ErrorKind::Guard);
//! assert_eq!(request(1 << 20, 1.0).unwrap_err().kind(), ErrorKind::Memory);
//! token.store(true, Ordering::Relaxed);
//! assert_eq!(request(3, 2.0).unwrap_err().kind(), ErrorKind::Cancelled);
//! # Ok::<(), shapeflow::Error>(())
//! ```
