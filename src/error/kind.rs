//! `ErrorKind` and `Phase`: what went wrong, and when it was found.

use std::fmt;

/// The kind of requirement that was not met.
///
/// A bad request to a correct program can cause `Feed`, `Guard`, `Index`, `DivideByZero`, `Data`, `Memory` and
/// `Cancelled` in a run; [`guide::errors`](crate::guide::errors) has a table and an example. Later versions may add
/// kinds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Shapes that an op does not accept, found while the graph is built. In a run, sizes that do not fit are `Guard`.
    Shape,
    /// Element types that an op does not accept.
    DType,
    /// A missing or unsuitable attribute, parameter or name, also the name or the number of outputs that a program
    /// reads.
    Attribute,
    /// An operand that belongs to another graph.
    ForeignValue,
    /// A name that no op has.
    UnknownOp,
    /// A graph that cannot be compiled.
    Compile,
    /// Inputs of a run that do not fit the executable's ports: their number, names, dtypes or sizes; or memory for
    /// outputs of other dtypes or sizes.
    Feed,
    /// An equality or bound of sizes or of elements that does not hold. The graph builder could not decide the
    /// condition, so the run checked it.
    Guard,
    /// An index outside its axis.
    Index,
    /// An element that an op does not accept: a negative exponent of an integer, for example, an image that does not
    /// decode, or a line of CSV with too few fields.
    Data,
    /// An integer division by zero.
    DivideByZero,
    /// An error that a user's op made with [`Error::msg`](crate::Error::msg) or
    /// [`Error::wrap`](crate::Error::wrap), a panic of its code, or a result that lacks the shape that its shape
    /// function gave. No op of this crate has such errors.
    Custom,
    /// The run was cancelled.
    Cancelled,
    /// An allocation failed, or would exceed a limit.
    Memory,
    /// A file could not be read or written.
    Io,
    /// The text of a dimension, a dtype or a model, or the bytes of a file, that do not parse. Bytes that are elements
    /// of a tensor give `Data` instead.
    Parse,
    /// A mistake of this library. Please report it.
    Internal,
}

/// The phase in which an error was found.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Phase {
    /// Building the graph.
    Build,
    /// Compiling the graph.
    Compile,
    /// Running the executable.
    Run,
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Phase::Build => "build",
            Phase::Compile => "compile",
            Phase::Run => "run",
        })
    }
}
