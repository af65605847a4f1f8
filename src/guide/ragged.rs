//! Ragged rows: tensors whose rows have different lengths.
//!
//! A ragged tensor is a tensor of *flat values* and *row splits*: row `i` has the values from `splits[i]` up to
//! `splits[i + 1]`. Nothing is padded. A tensor of several ragged axes has several lists of row splits, the outermost
//! first.
//!
//! [`RaggedTensor`](crate::RaggedTensor) holds data, and [`RaggedValue`](crate::RaggedValue) is a value of a graph. The
//! pages of both types list the members of TensorFlow's `tf.RaggedTensor`.
//!
//! ```
//! use shapeflow::{RaggedTensor, ragged};
//!
//! let visits = ragged![[3.0f32, 4.0], [], [5.0]];
//! assert_eq!(visits.row_splits().to_vec::<i64>()?, [0, 2, 2, 3]);
//! assert_eq!(visits, RaggedTensor::from_nested(vec![vec![3.0f32, 4.0], vec![], vec![5.0]])?);
//! assert_eq!(visits, RaggedTensor::from_row_lengths([3.0f32, 4.0, 5.0], [2i64, 0, 1])?);
//! # Ok::<(), shapeflow::Error>(())
//! ```
//!
//! # Inputs and runs
//!
//! [`Graph::ragged_input`](crate::Graph::ragged_input) takes a description of the rows, and the inner shape. The
//! description `1` or `2` is the number of ragged axes. The description `"users"` stands for one ragged axis, and names
//! the number of its rows, which other inputs may share. [`Executable::feed`](crate::Executable::feed) feeds dense and
//! ragged inputs by name.
//!
//! ```
//! use shapeflow::{DType, Graph, RaggedTensor, Tensor, shape};
//!
//! let g = Graph::new();
//! let history = g.ragged_input("history", DType::F32, "users", shape![2])?;
//! let bias = g.input("bias", DType::F32, shape!["users", 2])?;
//! assert_eq!(history.shape_text(), "[users, (r0), 2]");
//! let profile = (history.reduce_mean(1)?.dense()? + bias).ok()?;
//! let exe = g.compile((("profile", profile), ("doubled", history * 2.0)))?;
//!
//! let rows = RaggedTensor::from_row_lengths([[1.0f32, 2.0], [3.0, 4.0], [5.0, 6.0]], [2i64, 1])?;
//! let results = exe.feed("history", &rows).feed("bias", &Tensor::from([[0.5f32, 0.5], [0.0, 0.0]])).run()?;
//! assert_eq!(results.tensor("profile")?, &Tensor::from([[2.5f32, 3.5], [5.0, 6.0]]));
//! assert_eq!(results.ragged("doubled")?.row_lengths().to_vec::<i64>()?, [2, 1]);
//! # Ok::<(), shapeflow::Error>(())
//! ```
//!
//! # Ops
//!
//! An elementwise op works on the flat values. Two ragged operands must have equal rows; a run compares their row
//! splits. A dense operand broadcasts as it does to a tensor of shape `[rows, length]`: one number for each row needs
//! the shape `[rows, 1]`, as `expand_dims(1)` makes it of a vector. A vector stands for one row: it fits only if every
//! row has its length. A reduction along a ragged axis gives one element for each row; the maximum of an empty row is
//! the lowest number.
//!
//! ```
//! use shapeflow::{Graph, Tensor, ragged};
//!
//! let g = Graph::new();
//! let scores = g.ragged_constant(&ragged![[1.0f32, 3.0], [], [2.0]])?;
//! let weights = g.constant([[10.0f32], [20.0], [30.0]])?; // one for each row
//! let best = scores.reduce_max(1)?;
//! let scaled = (scores * weights).softmax(1)?;
//! let exe = g.compile((("best", best), ("scaled", scaled)))?;
//! let results = exe.run_named(&[])?;
//! assert_eq!(results.tensor("best")?, &Tensor::from([3.0f32, f32::MIN, 2.0]));
//! assert_eq!(results.ragged("scaled")?.row_lengths().to_vec::<i64>()?, [2, 0, 1]);
//! # Ok::<(), shapeflow::Error>(())
//! ```
//!
//! # To dense tensors and back
//!
//! [`to_tensor`](crate::RaggedValue::to_tensor) pads the rows with zeros.
//! [`to_tensor_with`](crate::RaggedValue::to_tensor_with) takes another padding, and sizes at which rows are cut or
//! padded; -1 is the longest row. [`from_tensor_lengths`](crate::RaggedValue::from_tensor_lengths) cuts padded rows to
//! their lengths.
//!
//! ```
//! use shapeflow::{Graph, RaggedValue, Tensor, ragged};
//!
//! let g = Graph::new();
//! let rows = g.ragged_constant(&ragged![[1, 2, 3], [4]])?;
//! let padded = rows.to_tensor_with(-1, [-1, 2])?;
//! let cut = RaggedValue::from_tensor_lengths(padded, g.constant([2i64, 1])?)?;
//! let exe = g.compile((("padded", padded), ("cut", cut)))?;
//! let results = exe.run_named(&[])?;
//! assert_eq!(results.tensor("padded")?, &Tensor::from([[1, 2], [4, -1]]));
//! assert_eq!(results.ragged("cut")?.to_string(), "[[1, 2], [4]]");
//! # Ok::<(), shapeflow::Error>(())
//! ```
//!
//! # Rows
//!
//! [`slice_with`](crate::RaggedValue::slice_with) takes rows and cuts each row as Python does.
//! [`gather`](crate::RaggedValue::gather) takes rows by number, and [`boolean_mask`](crate::RaggedValue::boolean_mask)
//! takes rows or elements. [`concat`](crate::RaggedValue::concat) along axis 0 joins lists of rows. Along axis 1 it
//! joins row `i` of every value. [`map`](crate::RaggedValue::map) runs a closure for each row.
//!
//! ```
//! use shapeflow::{Graph, SliceItem, Tensor, ragged};
//!
//! let g = Graph::new();
//! let rows = g.ragged_constant(&ragged![[5, 1, 4], [2], [9, 7]])?;
//! let last_two = rows.slice_with(&[SliceItem::from(..), SliceItem::from(-2..)])?;
//! let positive = rows.boolean_mask(rows.greater(3)?)?;
//! let spans = rows.map(|row| Ok(row.dense()?.reduce_max(0)? - row.dense()?.reduce_min(0)?))?;
//! let exe = g.compile((("last_two", last_two), ("positive", positive), ("spans", spans)))?;
//! let results = exe.run_named(&[])?;
//! assert_eq!(results.ragged("last_two")?.to_string(), "[[1, 4], [2], [9, 7]]");
//! assert_eq!(results.ragged("positive")?.to_string(), "[[5, 4], [], [9, 7]]");
//! assert_eq!(results.tensor("spans")?, &Tensor::from([4, 0, 2]));
//! # Ok::<(), shapeflow::Error>(())
//! ```
//!
//! # What a run checks
//!
//! Row splits must start at 0, not decrease, and end at the number of flat values. A run checks the row splits of every
//! input, and refuses wrong ones with the name of the input and the position. Row splits that the graph makes are
//! right.
//!
//! A constructor does not scan an encoding in [`Unchecked`](crate::Unchecked). A wrong encoding gives rows with wrong
//! values or an error, but never access outside the values. Values that meet in an op have row splits of one dtype, i32
//! or i64.
//!
//! ```
//! use shapeflow::{RaggedTensor, Unchecked};
//!
//! let rows = RaggedTensor::from_row_lengths([3.0f32, 4.0, 5.0], Unchecked([2i64, 0, 1]))?;
//! assert_eq!(rows.to_string(), "[[3.0, 4.0], [], [5.0]]");
//! let error = RaggedTensor::from_row_lengths([3.0f32, 4.0, 5.0], [2i64, 0, 2]).unwrap_err();
//! assert!(error.message().starts_with("the sum of row_lengths must be the number of values, 3"));
//! # Ok::<(), shapeflow::Error>(())
//! ```
