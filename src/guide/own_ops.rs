//! Own ops: an [`OpDef`](crate::OpDef) of yours works as a built-in op does.
//!
//! # An op that fuses
//!
//! The body of a compute op is the expression of one element of the result. The compiler fuses it with its neighbors.
//! The shape function gives the shape of the result; most ops use an existing shape function.
//! [`Expr`](crate::expr::Expr) has operators and simple methods, and [`expr::math`](crate::expr::math) has functions
//! such as `exp`, `log` and `tanh`. [`OpDef::floats`](crate::OpDef::floats) refuses operands of other dtypes;
//! [`OpDef::dtype_rule`](crate::OpDef::dtype_rule) takes any rule.
//!
//! ```
//! use shapeflow::expr::{Expr, Index, LowerCx};
//! use shapeflow::{DType, Graph, OpDef, Operand, Tensor, shape, shape_fns};
//!
//! /// `max(0, 1 - |x|)` for every element.
//! static TRIANGLE: OpDef = OpDef::compute("triangle", triangle)
//!     .operands(&[Operand::Data("x")])
//!     .shape_fn(shape_fns::common::unary)
//!     .floats();
//!
//! fn triangle(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
//!     let x = cx.operand(0, index);
//!     let (zero, one) = (x.like(0.0), x.like(1.0));
//!     (one - x.abs()).maximum(zero)
//! }
//!
//! let g = Graph::new();
//! let x = g.input("x", DType::F32, shape!["n"])?;
//! let y = g.op(&TRIANGLE).data(x).finish()? * 10.0;
//! let exe = g.compile(y)?;
//! assert_eq!(exe.stats().kernels, 1);
//! let [y] = exe.run(&[Tensor::from([-0.5f32, 0.0, 2.0]).view()])?;
//! assert_eq!(y.to_vec::<f32>()?, [5.0, 10.0, 0.0]);
//! # Ok::<(), shapeflow::Error>(())
//! ```
//!
//! # A shape function and a reduction
//!
//! A shape function reads the shapes of the operands and sets the shape of each output. `cx.axes` requires a rank, and
//! `cx.agree` requires that two dimensions are equal: the text says in errors what must agree.
//! [`LowerCx::reduce`](crate::expr::LowerCx::reduce) adds up the elements over new axes, and gives the closure an index
//! for each of them.
//!
//! ```
//! use shapeflow::expr::{Expr, Index, LowerCx, ReduceOp};
//! use shapeflow::{DType, Graph, OpDef, Operand, Tensor, TensorShape, shape};
//!
//! /// The weighted sum of each row: `x [n, m], weights [m] -> [n]`.
//! static WEIGHTED_SUM: OpDef = OpDef::compute("weighted_sum", weighted_sum)
//!     .operands(&[Operand::Data("x"), Operand::Data("weights")])
//!     .shape_fn(|cx| {
//!         let ([rows, columns], [weights]) = (cx.axes::<2>(0)?, cx.axes::<1>(1)?);
//!         cx.agree("the numbers of columns and weights", &columns, &weights)?;
//!         cx.set_output(0, TensorShape::new([rows]));
//!         Ok(())
//!     });
//!
//! fn weighted_sum(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
//!     let columns = cx.dims(0)[1].clone();
//!     cx.reduce(ReduceOp::Sum, &[columns], &mut |cx, column| {
//!         let element = cx.operand(0, &[index[0].clone(), column[0].clone()]);
//!         element * cx.operand(1, column)
//!     })
//! }
//!
//! let g = Graph::new();
//! let x = g.input("x", DType::F32, shape!["n", "m"])?;
//! let weights = g.input("weights", DType::F32, shape!["k"])?;
//! let y = g.op(&WEIGHTED_SUM).data(x).data(weights).finish()?;
//! // The op has found that `k` is `m`.
//! assert_eq!(weights.shape().dim(0), x.shape().dim(1));
//! let feeds = [Tensor::from([[1.0f32, 2.0], [3.0, 4.0]]), Tensor::from([10.0f32, 1.0])];
//! let [y] = g.compile(y)?.run(&[feeds[0].view(), feeds[1].view()])?;
//! assert_eq!(y, Tensor::from([12.0f32, 34.0]));
//! # Ok::<(), shapeflow::Error>(())
//! ```
//!
//! # An op in Rust
//!
//! A host op is a Rust function, which runs between kernels. The function may own data, and its errors get the name of
//! the op and your line.
//!
//! ```
//! use std::sync::Arc;
//!
//! use shapeflow::{DType, Error, Graph, HostCx, OpDef, Operand, Tensor, shape, shape_fns};
//!
//! let table = vec!["no", "yes"];
//! let answer = move |cx: &mut HostCx<'_>| {
//!     let ids = cx.input(0)?.to_vec::<i64>()?;
//!     let words: Option<Vec<&str>> = ids.iter().map(|&id| table.get(id as usize).copied()).collect();
//!     let words = words.ok_or_else(|| Error::msg(format!("ids must be 0 or 1, got {ids:?}")))?;
//!     let sizes = cx.input(0)?.sizes().to_vec();
//!     cx.set_output(0, Tensor::from_strings(&sizes, &words)?)
//! };
//! let def = Arc::new(
//!     OpDef::host_with("answer", answer)
//!         .operands(&[Operand::Data("ids")])
//!         .shape_fn(shape_fns::common::unary)
//!         .dtype_rule(|_, _| Ok(vec![DType::String])),
//! );
//! let g = Graph::new();
//! let ids = g.input("ids", DType::I64, shape!["n"])?;
//! let exe = g.compile(g.op(&def).data(ids).finish()?)?;
//! let [words] = exe.run(&[Tensor::from([1i64, 0]).view()])?;
//! assert_eq!(words.as_strings()?.at(0), b"yes");
//! let error = exe.run_all(&[Tensor::from([7i64]).view()]).unwrap_err();
//! assert!(error.message().ends_with("ids must be 0 or 1, got [7]"));
//! # Ok::<(), shapeflow::Error>(())
//! ```
//!
//! # Several outputs
//!
//! An op with several outputs says how many it has. Its dtype rule gives the dtype of each. A size that depends on data
//! is a fresh dimension.
//!
//! ```
//! use shapeflow::{DType, Graph, HostCx, OpDef, Operand, Result, Tensor, TensorShape, shape};
//!
//! /// The positions and the values of the peaks of a vector.
//! static PEAKS: OpDef = OpDef::host("peaks", peaks)
//!     .operands(&[Operand::Data("x")])
//!     .outputs(|_, _| 2)
//!     .shape_fn(|cx| {
//!         cx.with_rank(0, 1)?;
//!         let peaks = TensorShape::new([cx.fresh()]);
//!         cx.set_output(0, peaks.clone());
//!         cx.set_output(1, peaks);
//!         Ok(())
//!     })
//!     .dtype_rule(|_, _| Ok(vec![DType::I64, DType::F32]));
//!
//! fn peaks(cx: &mut HostCx<'_>) -> Result<()> {
//!     let x = cx.input(0)?.to_vec::<f32>()?;
//!     let is_peak = |i: &usize| x[i - 1] < x[*i] && x[*i] > x[i + 1];
//!     let places: Vec<usize> = (1..x.len().max(2) - 1).filter(is_peak).collect();
//!     let (positions, values) = places.iter().map(|&i| (i as i64, x[i])).unzip();
//!     cx.set_output(0, Tensor::from_vec(&[places.len()], positions)?)?;
//!     cx.set_output(1, Tensor::from_vec(&[places.len()], values)?)
//! }
//!
//! let g = Graph::new();
//! let x = g.input("x", DType::F32, shape!["n"])?;
//! let outputs = g.op(&PEAKS).data(x).finish_all()?;
//! let heights = outputs[1].reduce_max(0)?;
//! let exe = g.compile([outputs[0], heights])?;
//! let [positions, highest] = exe.run(&[Tensor::from([0.0f32, 3.0, 1.0, 7.0, 2.0]).view()])?;
//! assert_eq!(positions, Tensor::from([1i64, 3]));
//! assert_eq!(highest, Tensor::scalar(7.0f32));
//! # Ok::<(), shapeflow::Error>(())
//! ```
//!
//! # Attributes
//!
//! An op with attributes declares their names, kinds and default values: see [`OpDef::attrs`](crate::OpDef::attrs). A
//! call with an unknown attribute or a value of another kind is refused.
//!
//! The example `custom_op` has a shape function and a dtype rule of its own.
//!
//! # Import
//!
//! A model may have ops of yours. The import finds them by their names in a [`Registry`](crate::Registry):
//! `ImportOptions::new().ops(Registry::builtin().with(&PEAKS))`.
