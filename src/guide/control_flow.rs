//! Control flow: branches, loops, and loops over rows.
//!
//! A branch or a loop is one node of the graph. The node holds inner graphs, which closures build. A closure may read
//! every value of the graph around it. The text of a graph shows the inner graphs below their node. Compiling the graph
//! also compiles each inner graph once.
//!
//! | method | runs | as TensorFlow's | as JAX's |
//! |---|---|---|---|
//! | [`Graph::cond`] | one of two closures | `tf.cond` | `lax.cond` |
//! | [`Graph::case`] | one of several closures | `tf.switch_case` | `lax.switch` |
//! | [`Graph::while_loop`] | a closure as long as a condition holds | `tf.while_loop` | `lax.while_loop` |
//! | [`Graph::scan`] | a closure for each row, with a state | `tf.scan` | `lax.scan` |
//! | [`Graph::map`] | a closure for each row | `tf.map_fn` | `lax.map` |
//!
//! [`Graph::cond`]: crate::Graph::cond
//! [`Graph::case`]: crate::Graph::case
//! [`Graph::while_loop`]: crate::Graph::while_loop
//! [`Graph::scan`]: crate::Graph::scan
//! [`Graph::map`]: crate::Graph::map
//!
//! Do not use control flow to choose between elements. [`Value::select`](crate::Value::select) fuses into kernels, and
//! a loop over rows is slower than one op on all rows.
//!
//! # Branches
//!
//! The branch that is not taken computes nothing, and its errors do not occur. Both branches return the same number of
//! values, with the same dtypes. A dimension in which the branches differ is unknown in the result.
//!
//! ```
//! use shapeflow::{DType, Graph, Tensor, shape};
//!
//! let g = Graph::new();
//! let x = g.input("x", DType::F32, shape!["n"])?;
//! let verbose = g.input("verbose", DType::Bool, shape![])?;
//! let out = g.cond(verbose, || x.reshape([-1, 1]), || x.reduce_sum(0)?.reshape([1, 1]))?;
//! assert_eq!(out[0].shape().to_string(), "[?, 1]");
//! let exe = g.compile(&out)?;
//! let x = Tensor::from([1.0f32, 2.0]);
//! let [sum] = exe.run(&[x.view(), Tensor::scalar(false).view()])?;
//! assert_eq!(sum, Tensor::from([[3.0f32]]));
//! # Ok::<(), shapeflow::Error>(())
//! ```
//!
//! `case` takes an i32 and a list of closures. A number outside the list chooses the last closure.
//!
//! ```
//! use shapeflow::{DType, Graph, Tensor, shape};
//!
//! let g = Graph::new();
//! let x = g.input("x", DType::F32, shape!["n"])?;
//! let mode = g.input("mode", DType::I32, shape![])?;
//! let y = g.case(mode, &[&|| Ok(vec![x]), &|| Ok(vec![x.sqrt()?]), &|| Ok(vec![(x * 0.0).ok()?])])?;
//! let exe = g.compile(&y)?;
//! let [y] = exe.run(&[Tensor::from([4.0f32, 9.0]).view(), Tensor::scalar(1i32).view()])?;
//! assert_eq!(y, Tensor::from([2.0f32, 3.0]));
//! # Ok::<(), shapeflow::Error>(())
//! ```
//!
//! # Loops and their state
//!
//! A loop has a state: one or more values. Each iteration computes the next state from the current state. The result is
//! the last state.
//!
//! ```
//! use shapeflow::{DType, Graph, Tensor, shape};
//!
//! let g = Graph::new();
//! let x = g.input("x", DType::F64, shape![])?;
//! let (steps, guess) = (g.constant(0i64)?, g.constant(1.0f64)?);
//! let last = g.while_loop(
//!     &[steps, guess],
//!     |s| (s[1] * s[1] - x).abs()?.greater(1e-12),
//!     |s| Ok([s[0] + 1i64, (s[1] + x / s[1]) * 0.5]), // Newton's step
//! )?;
//! let [steps, root] = g.compile(&last)?.run(&[Tensor::scalar(2.0f64).view()])?;
//! assert!((root.item::<f64>()? - 2.0f64.sqrt()).abs() < 1e-12 && steps.item::<i64>()? == 5);
//! # Ok::<(), shapeflow::Error>(())
//! ```
//!
//! # Shapes of the state
//!
//! A state value keeps its dtype and its rank. A dimension that the body changes is unknown after the loop. To change
//! the rank, declare the shape with [`LoopOptions::shape`](crate::LoopOptions::shape). A declared shape may also state
//! sizes that every iteration keeps; TensorFlow calls such a shape a shape invariant.
//!
//! ```
//! use shapeflow::{Graph, LoopOptions, concat, shape};
//!
//! let g = Graph::new();
//! let (count, list) = (g.constant(0i64)?, g.constant([7i64])?);
//! let last = g.while_loop(
//!     &[count, list],
//!     |s| s[0].less(3i64),
//!     |s| Ok([s[0] + 1i64, concat(&[s[1], s[0].reshape([1])?], 0)?]),
//! )?;
//! assert_eq!(last[1].shape().to_string(), "[?]");
//! let [result] = g.compile(last[1])?.run(&[])?;
//! assert_eq!(result.to_vec::<i64>()?, [7, 0, 1, 2]);
//!
//! let declared = LoopOptions::new().shape(0, shape![1]);
//! let error = g.while_loop_with(&declared, &[list], |_| g.constant(true), |s| concat(&[s[0], s[0]], 0));
//! assert!(error.unwrap_err().message().contains("fits the declared shape [1], got [2]"));
//! # Ok::<(), shapeflow::Error>(())
//! ```
//!
//! # Loops over rows
//!
//! `scan` gives its body the state and a row of each tensor. The body returns the next state and outputs, which become
//! rows of the results. `map` is a scan without a state.
//!
//! ```
//! use shapeflow::{DType, Graph, Tensor, shape};
//!
//! let g = Graph::new();
//! let prices = g.input("prices", DType::F32, shape!["days"])?;
//! let start = g.constant(0.0f32)?;
//! let (_, peaks) = g.scan(&[start], &[prices], |s, day| {
//!     let peak = s[0].maximum(day[0])?;
//!     Ok((vec![peak], vec![peak]))
//! })?;
//! assert_eq!(peaks[0].shape().to_string(), "[days]");
//! let [peaks] = g.compile(peaks[0])?.run(&[Tensor::from([3.0f32, 1.0, 4.0]).view()])?;
//! assert_eq!(peaks.to_vec::<f32>()?, [3.0, 3.0, 4.0]);
//! # Ok::<(), shapeflow::Error>(())
//! ```
//!
//! [`RaggedValue::map`](crate::RaggedValue::map) and [`RaggedValue::map_rows`](crate::RaggedValue::map_rows) loop over
//! rows of different lengths.
//!
//! # Limits and cancellation
//!
//! [`LoopOptions::limit`](crate::LoopOptions::limit) refuses a run that needs more iterations.
//! [`LoopOptions::cancel`](crate::LoopOptions::cancel) takes a flag. Another thread sets the flag, and the run ends
//! with an error before its next iteration. [`Runner::cancel`](crate::Runner::cancel) does this for any run, also
//! between the kernels of an iteration. An error of a body names the iteration, the node, and its line.
//!
//! # Short loops
//!
//! A loop is compiled as its iterations if constants determine their number, which is at most 16, if this takes at most
//! 256 nodes, if all sizes are known and stay, and if no node of the body may fail or runs on the host. The iterations
//! then fuse into kernels. A loop with a limit or a token stays a loop.
//!
//! # Figures
//!
//! [`Stats::regions`](crate::Stats) has the figures of every branch and loop body, and
//! [`Executable::kernels`](crate::Executable::kernels) prints the kernels of these bodies after the other kernels.
