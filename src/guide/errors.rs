//! Errors: what an error says, and when it comes.
//!
//! There is one type, [`Error`](crate::Error). The text of an error names the call, the requirement, what the call
//! got, your line, and the lines that made the operands:
//!
//! ```
//! use shapeflow::{DType, ErrorKind, Graph, Phase, shape};
//!
//! let g = Graph::new();
//! let x = g.input("x", DType::F32, shape!["batch", 4])?;
//! let w = g.input("w", DType::F32, shape![2, 4])?;
//! let error = x.matmul(w).unwrap_err();
//! assert_eq!(error.kind(), ErrorKind::Shape);
//! assert_eq!(error.phase(), Phase::Build);
//! assert_eq!(error.op(), Some("matmul"));
//! assert!(error.message().contains("the inner dimensions of a matmul must agree, got 4 and 2"));
//! assert_eq!(error.help(), Some("transpose b with .t(): a and b both have 4 columns"));
//! assert!(error.location().is_some());
//! # Ok::<(), shapeflow::Error>(())
//! ```
//!
//! Some calls add several nodes: a composite op such as [`einsum`](fn@crate::einsum), or a method such as
//! [`tensordot`](crate::Value::tensordot). An error of such a node names the call in your program, and then the step
//! that failed: `tensordot: einsum(f32[2, 3], ..): ..`. The step is left out if it has the operands of the call.
//! "Operand 1" is an operand of the last call that the error names.
//!
//! A refused call leaves the graph as it was, so a program may try another call.
//!
//! # Operators
//!
//! `x + y` cannot return a `Result`, so its value may be *poisoned*: it stands for the error. The next builder call, or
//! [`Graph::compile`](crate::Graph::compile), returns the error with the line of the operator.
//!
//! ```
//! use shapeflow::{DType, Graph, shape};
//!
//! let g = Graph::new();
//! let x = g.input("x", DType::F32, shape![3])?;
//! let y = g.input("y", DType::F32, shape![4])?;
//! let sum = x + y;
//! assert_eq!(sum.relu().unwrap_err().op(), Some("add"));
//! assert!(sum.ok().is_err());
//! # Ok::<(), shapeflow::Error>(())
//! ```
//!
//! # When errors come
//!
//! | phase | finds |
//! |---|---|
//! | build | shapes, dtypes and parameters that never work; each call reports its own errors |
//! | compile | a size that nothing determines, an op or a dtype without a kernel |
//! | run | inputs that do not fit, guards that do not hold, indices out of range, divisions of integers by zero, memory limits |
//!
//! A run checks every index at which a result is read, also if the element there does not depend on the index. A run
//! does not compute a value if the results need only its shape, so it finds no index out of range in
//! `x.gather(i, 0)?.zeros_like()?`, where TensorFlow does.
//!
//! The location of an error in a run is the line of the op. A note names the line of the run: `in the run at ..`.
//! A node of an imported model has no line, so its name stands for it.
//!
//! A failed run returns no results. The memory that the program lends to a run, as to
//! [`Runner::run_into`](crate::Runner::run_into), may hold a part of the results. The next run is not affected.
//!
//! # Whose mistake an error is
//!
//! [`ErrorKind`](crate::ErrorKind) tells a service whether a request or the program is wrong. A bad request can cause
//! these kinds of errors in a run of a correct program:
//!
//! | kind | the request |
//! |---|---|
//! | `Feed` | lacks an input, or has one with another dtype or other sizes than the input declares |
//! | `Guard` | has sizes or elements that break a condition which only a run can check, such as an odd length that must split into halves |
//! | `Index` | has an index outside an axis |
//! | `DivideByZero` | divides an integer by zero |
//! | `Data` | has an element that an op does not accept, such as text that is no number, or bytes that are no image |
//! | `Memory` | needs more memory than there is, or than [`CompileOptions::memory_limit`](crate::CompileOptions::memory_limit) allows |
//! | `Cancelled` | was cancelled by the token of its caller |
//!
//! [`Error::input`](crate::Error::input) names the input of an error of kind `Feed`.
//!
//! These kinds mean something else:
//!
//! | kind | the cause |
//! |---|---|
//! | `Shape`, `DType`, `Attribute`, `ForeignValue`, `UnknownOp`, `Compile` | the program, which builds or compiles a graph that cannot run; or a call that makes a tensor, such as [`TensorView::new`](crate::TensorView::new) with too few elements |
//! | `Custom` | an op of yours, which decides whose mistake its errors are |
//! | `Io`, `Parse` | a file, such as a damaged model |
//! | `Internal` | this library; please report it |
//!
//! ```
//! use shapeflow::{CompileOptions, DType, Error, ErrorKind, Graph, Tensor, shape};
//!
//! /// Returns the HTTP status of a failed request.
//! fn status(error: &Error) -> u16 {
//!     match error.kind() {
//!         ErrorKind::Memory => 413,
//!         ErrorKind::Cancelled => 503,
//!         ErrorKind::Feed | ErrorKind::Guard | ErrorKind::Index | ErrorKind::Data | ErrorKind::DivideByZero => 400,
//!         _ => 500,
//!     }
//! }
//!
//! let g = Graph::new();
//! let x = g.input("x", DType::I32, shape!["n"])?;
//! let at = g.input("at", DType::I64, shape![])?;
//! let text = g.input("text", DType::String, shape![])?;
//! let halves = x.reshape([2, -1])?.reduce_sum(0)?;
//! let y = halves.gather(at, 0)?.floordiv(text.string_to_number(DType::I32)?)?;
//! let exe = g.compile_with(&CompileOptions::new().memory_limit(1 << 20), y)?;
//! let failed = |x: Tensor, at: i64, text: &str| {
//!     let text = Tensor::from_strings(&[], &[text])?;
//!     let error = exe.run_all(&[x.view(), Tensor::scalar(at).view(), text.view()]).unwrap_err();
//!     Ok::<_, Error>((error.kind(), status(&error)))
//! };
//! let four = || Tensor::from([1, 2, 3, 4]);
//! assert_eq!(failed(Tensor::from([[1, 2]]), 0, "1")?, (ErrorKind::Feed, 400));
//! assert_eq!(failed(Tensor::from([1, 2, 3]), 0, "1")?, (ErrorKind::Guard, 400));
//! assert_eq!(failed(four(), 2, "1")?, (ErrorKind::Index, 400));
//! assert_eq!(failed(four(), 0, "one")?, (ErrorKind::Data, 400));
//! assert_eq!(failed(four(), 0, "0")?, (ErrorKind::DivideByZero, 400));
//! assert_eq!(failed(Tensor::zeros(DType::I32, &[1 << 20])?, 0, "1")?, (ErrorKind::Memory, 413));
//! # Ok::<(), shapeflow::Error>(())
//! ```
