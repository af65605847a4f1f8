//! Shapes: dimensions with and without names.
//!
//! A dimension is a number, a name, an anonymous unknown (`?`), or an expression of these. A name is one size in the
//! whole graph. Two `?` may be different sizes. `shape![..]` is a shape of unknown rank.
//!
//! ```
//! use shapeflow::{DType, Graph, concat, shape};
//!
//! let g = Graph::new();
//! let words = g.input("words", DType::F32, shape!["words", 8])?;
//! let more = g.input("more", DType::F32, shape![?, 8])?;
//! let all = concat(&[words, more], 0)?;
//! assert_eq!(all.reshape([-1])?.shape().to_string(), "[8*?+8*words]");
//! // The text of a graph names an unknown dimension after its origin.
//! assert!(g.to_string().contains("f32[more.0+words, 8] = concat"));
//! # Ok::<(), shapeflow::Error>(())
//! ```
//!
//! # What inference decides, and what a run checks
//!
//! Each call infers its shapes at once. A call that can never work is an error. A call that works only for some sizes
//! leaves a guard. Every run checks the guard. [`Graph::guards`](crate::Graph::guards) lists the guards, and
//! [`Value::explain`](crate::Value::explain) tells where a dimension comes from.
//!
//! ```
//! use shapeflow::{DType, Graph, shape};
//!
//! let g = Graph::new();
//! let x = g.input("x", DType::F32, shape!["n", 4])?;
//! assert!(x.reshape([-1, 3])?.reshape([2, -1]).is_ok());
//! assert_eq!(g.guards()[0].condition, "3 divides 4*n");
//! assert!(x.slice([0, 2], [-1, 3]).is_err()); // columns 2 to 5 of 4
//! # Ok::<(), shapeflow::Error>(())
//! ```
//!
//! # Names that meet
//!
//! A call may make two names equal: a matmul of `[users, emb]` and `[items, emb]` makes `items` equal to `emb`. The
//! program has probably forgotten a transposition. [`Graph::merges`](crate::Graph::merges) lists such names.
//! [`Graph::strict`](crate::Graph::strict) makes a graph that refuses them, unless
//! [`Graph::assume_eq`](crate::Graph::assume_eq) states that the names are equal.
//!
//! The same holds for sizes that a call makes numbers. Shapes show at once what the calls so far have found:
//!
//! ```
//! use shapeflow::{DType, Graph, Tensor, shape};
//!
//! let g = Graph::new();
//! let x = g.input("x", DType::F32, shape!["n", 8])?;
//! let root = x.cholesky()?; // so x is square
//! assert_eq!(x.shape().to_string(), "[8, 8]");
//! let exe = g.compile(x.exp()?)?;
//! let [y] = exe.run(&[Tensor::zeros(DType::F32, &[3, 8])?.view()])?;
//! assert_eq!(y.sizes(), [3, 8]);
//! # Ok::<(), shapeflow::Error>(())
//! ```
//!
//! A run computes only the ops that its outputs need, and checks only what these ops found. In the example nothing
//! needs the `cholesky`, so the run takes an `x` that is not square. There is one exception: the program may pass a
//! size on, such as `x.dim(0)?`, which is 8 after the `cholesky`. An op that got the 8 as an argument relies on it. A
//! run of this op checks that the size is 8, also without the `cholesky`.
//!
//! # Dimensions outside their graph
//!
//! A [`Dim`](crate::Dim) is a number, a name or an unknown size, or an expression of these. What it means in another
//! graph depends on this:
//!
//! - A number means the same everywhere.
//! - A name means the size that has this name in the other graph. An input there, or
//!   [`Value::as_dim`](crate::Value::as_dim), must determine the size. Otherwise the graph does not compile.
//! - An unknown size without a name belongs to the graph that made it. If a branch or a loop body made it, it belongs
//!   to that closure. Elsewhere it is refused with [`ErrorKind::ForeignValue`](crate::ErrorKind::ForeignValue).
//!
//! A size is carried over by a name, or by a scalar: one graph returns the size as a value, and the other graph takes
//! this value as an input. A closure of a branch or a loop returns the size as a value, too.
//!
//! ```
//! use shapeflow::{DType, ErrorKind, Graph, Tensor, shape, slice};
//!
//! let (g, other) = (Graph::new(), Graph::new());
//! let x = g.input("x", DType::F32, shape!["n", ?])?;
//! let error = other.fill([x.dim(1)?], 0.0f32).unwrap_err();
//! assert_eq!(error.kind(), ErrorKind::ForeignValue);
//!
//! // By name: an input of the other graph determines `n`.
//! let y = other.input("y", DType::F32, shape!["n"])?;
//! assert_eq!(other.fill([x.dim(0)?], 0.0f32)?.shape().to_string(), "[n]");
//!
//! // By a scalar: `width` of one graph is fed to the other graph.
//! let width = x.shape_tensor()?.slice_with(&slice![1])?;
//! let [width] = g.compile(width)?.run(&[Tensor::zeros(DType::F32, &[2, 3])?.view()])?;
//! let columns = other.input("columns", width.dtype(), shape![])?.as_dim("columns")?;
//! let zeros = other.fill([columns], 0.0f32)?;
//! let results = other.compile(zeros)?.run_named(&[("columns", width.view())])?;
//! assert_eq!(results.tensor_at(0)?.sizes(), [3]);
//! # let _ = y;
//! # Ok::<(), shapeflow::Error>(())
//! ```
//!
//! # Values known before a run
//!
//! [`Value::static_value`](crate::Value::static_value) gives the elements of a value that only constants determine, as
//! TensorFlow's `tf.get_static_value`. A shape function uses the same knowledge: `reshape` by such a value has known
//! sizes.
//!
//! # Dimensions in arithmetic
//!
//! A [`Dim`](crate::Dim) is an operand, as a number is. It becomes a scalar of the graph, whose value each run knows.
//! The scalar takes the dtype of a float tensor; otherwise it is i64.
//!
//! ```
//! use shapeflow::{DType, Graph, Tensor, shape};
//!
//! let g = Graph::new();
//! let x = g.input("x", DType::F32, shape!["n", 2])?;
//! let n = x.dim(0)?;
//! let mean = x.reduce_sum(0)? / &n;
//! // The dimension as a value of its own.
//! let count = g.constant(0i64)?.add(&n)?;
//! let [mean, count] = g.compile([mean, count])?.run(&[Tensor::from([[1.0f32, 2.0], [3.0, 6.0]]).view()])?;
//! assert_eq!((mean, count), (Tensor::from([2.0f32, 4.0]), Tensor::scalar(2i64)));
//! # Ok::<(), shapeflow::Error>(())
//! ```
//!
//! # Sizes from data
//!
//! [`Value::as_dim`](crate::Value::as_dim) makes a dimension of an integer scalar. Every shape, size and offset
//! argument takes such a dimension. [`Value::ensure_shape`](crate::Value::ensure_shape) states a shape that inference
//! cannot find: the result has the stated shape, and the run checks it.
//!
//! ```
//! use shapeflow::{DType, Graph, Tensor, shape};
//!
//! let g = Graph::new();
//! let x = g.input("x", DType::F32, shape!["n"])?;
//! let count = g.input("count", DType::I32, shape![])?.as_dim("count")?;
//! let first = x.slice(0, &count)?;
//! assert_eq!(first.shape().to_string(), "[count]");
//! let exe = g.compile(first)?;
//! let [first] = exe.run(&[Tensor::from([5.0f32, 6.0, 7.0]).view(), Tensor::scalar(2i32).view()])?;
//! assert_eq!(first.to_vec::<f32>()?, [5.0, 6.0]);
//! # Ok::<(), shapeflow::Error>(())
//! ```
