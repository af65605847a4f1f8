//! `Error`: the one error type, located at the user's own line.

use std::fmt;
use std::panic::Location;
use std::sync::Arc;

use shapeflow_shape_fns::ShapeError;

/// A result whose error is [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What kind of requirement was not met.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Shapes that an op does not accept.
    Shape,
    /// Element types that an op does not accept.
    DType,
    /// A missing or unsuitable attribute or parameter.
    Attribute,
    /// A value of another graph.
    ForeignValue,
    /// No op of that name.
    UnknownOp,
    /// A graph that cannot be compiled.
    Compile,
    /// Inputs that do not fit the executable's ports.
    Feed,
    /// An equality or bound that was left to run time does not hold.
    Guard,
    /// An index outside its axis.
    Index,
    /// An integer divided by zero.
    DivideByZero,
    /// Raised by a user's op.
    Custom,
    /// The run was cancelled.
    Cancelled,
    /// Memory was refused or a limit would be passed.
    Memory,
    /// A file could not be read or written.
    Io,
    /// Text or bytes that do not parse.
    Parse,
}

/// When an error was found.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Phase {
    /// While the graph was built.
    Build,
    /// While it was compiled.
    Compile,
    /// While it ran.
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

/// A failure: what was required, what was got, and where the user asked for it.
///
/// One pointer wide and cheap to clone. `Debug` prints as `Display`.
#[derive(Clone)]
pub struct Error(Arc<Inner>);

#[derive(Clone)]
struct Inner {
    kind: ErrorKind,
    phase: Phase,
    message: String,
    op: Option<String>,
    node: Option<String>,
    location: Option<&'static Location<'static>>,
    notes: Vec<(String, Option<&'static Location<'static>>)>,
    scopes: Vec<(String, &'static Location<'static>)>,
    operand: Option<usize>,
    help: Option<String>,
    source: Option<Arc<dyn std::error::Error + Send + Sync>>,
    others: Vec<Error>,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, phase: Phase, message: impl Into<String>) -> Error {
        Error(Arc::new(Inner {
            kind,
            phase,
            message: message.into(),
            op: None,
            node: None,
            location: None,
            notes: Vec::new(),
            scopes: Vec::new(),
            operand: None,
            help: None,
            source: None,
            others: Vec::new(),
        }))
    }

    /// For a user's op: a message only; op, operands and location are added by the caller.
    pub fn msg(message: impl fmt::Display) -> Error {
        Error::new(ErrorKind::Custom, Phase::Build, message.to_string())
    }

    /// Another error, kept as the source.
    pub fn wrap(error: impl std::error::Error + Send + Sync + 'static) -> Error {
        Error::new(ErrorKind::Custom, Phase::Build, error.to_string())
            .edit(|inner| inner.source = Some(Arc::new(error)))
    }

    fn edit(mut self, change: impl FnOnce(&mut Inner)) -> Error {
        change(Arc::make_mut(&mut self.0));
        self
    }

    pub(crate) fn with_phase(self, phase: Phase) -> Error {
        self.edit(|inner| inner.phase = phase)
    }

    pub(crate) fn with_kind(self, kind: ErrorKind) -> Error {
        self.edit(|inner| inner.kind = kind)
    }

    /// The op's type and its operands as the dump prints them, `concat(f32[a, 3], axis=0)`.
    pub(crate) fn with_op(self, op: impl Into<String>, call: impl fmt::Display) -> Error {
        self.edit(|inner| {
            inner.message = format!("{call}: {}", inner.message);
            inner.op = Some(op.into());
        })
    }

    /// The same message, below what it is about.
    #[cfg(feature = "graphdef")]
    pub(crate) fn about(self, what: impl fmt::Display) -> Error {
        self.edit(|inner| inner.message = format!("{what}: {}", inner.message))
    }

    pub(crate) fn with_node(self, node: impl Into<String>) -> Error {
        self.edit(|inner| inner.node = Some(node.into()))
    }

    pub(crate) fn at(self, location: &'static Location<'static>) -> Error {
        self.edit(|inner| inner.location = Some(location))
    }

    /// At this location, unless a nearer one is known or it is a line of this crate.
    pub(crate) fn or_at(self, location: &'static Location<'static>) -> Error {
        if self.0.location.is_some() || is_own_line(location) { self } else { self.at(location) }
    }

    /// A further line below the location: where an operand comes from, what to do.
    pub(crate) fn note(self, text: impl Into<String>, location: Option<&'static Location<'static>>) -> Error {
        self.edit(|inner| inner.notes.push((text.into(), location)))
    }

    /// Adds a note with the location of an input's declaration. An imported input has none, so its error has no note.
    pub(crate) fn note_declaration(self, location: &'static Location<'static>) -> Error {
        if is_own_line(location) { self } else { self.note("the input is declared", Some(location)) }
    }

    /// What to do about it, below everything else, unless the error says so already.
    ///
    /// ```
    /// let error = shapeflow::Error::msg("the window must be odd, got 4").with_help("use a window of 3 or 5");
    /// assert!(error.to_string().ends_with("help: use a window of 3 or 5"));
    /// ```
    #[must_use]
    pub fn with_help(self, help: impl Into<String>) -> Error {
        self.edit(|inner| {
            inner.help.get_or_insert_with(|| help.into());
        })
    }

    /// The position of the operand to blame.
    pub(crate) fn blamed_operand(&self) -> Option<usize> {
        self.0.operand
    }

    pub(crate) fn in_scopes(self, scopes: Vec<(String, &'static Location<'static>)>) -> Error {
        self.edit(|inner| inner.scopes = scopes)
    }

    /// Several errors as one: the first, which lists the others.
    pub(crate) fn join(errors: Vec<Error>) -> Option<Error> {
        let mut errors = errors.into_iter();
        let first = errors.next()?;
        let rest: Vec<Error> = errors.collect();
        Some(if rest.is_empty() { first } else { first.edit(|inner| inner.others = rest) })
    }

    /// Whether both are the same failure, found once.
    pub(crate) fn is(&self, other: &Error) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// What kind of requirement was not met.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// When the error was found.
    pub fn phase(&self) -> Phase {
        self.0.phase
    }

    /// The op that refused.
    pub fn op(&self) -> Option<&str> {
        self.0.op.as_deref()
    }

    /// The name of the node that refused, if it has been made.
    pub fn node(&self) -> Option<&str> {
        self.0.node.as_deref()
    }

    /// The user's line that asked for it.
    pub fn location(&self) -> Option<&'static Location<'static>> {
        self.0.location
    }

    /// The scopes the line stood in, innermost first.
    pub fn scopes(&self) -> impl Iterator<Item = (&str, &'static Location<'static>)> {
        self.0.scopes.iter().map(|(name, location)| (name.as_str(), *location))
    }

    /// This error and all others that were found with it, in the order they were made.
    pub fn all(&self) -> impl Iterator<Item = &Error> {
        std::iter::once(self).chain(self.0.others.iter())
    }

    /// What to do about it, where a likely fix can be told from the facts.
    pub fn help(&self) -> Option<&str> {
        self.0.help.as_deref()
    }

    /// The message without location and notes.
    pub fn message(&self) -> &str {
        &self.0.message
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = &*self.0;
        write!(f, "error: {}", inner.message)?;
        match (inner.location, &inner.node) {
            // What was read from a file is known by its name.
            (Some(location), Some(node)) if is_own_line(location) => write!(f, "\n  --> node {node}")?,
            (Some(location), _) => write!(f, "\n  --> {location}")?,
            _ => {}
        }
        for (text, location) in &inner.notes {
            write!(f, "\n  {text}")?;
            if let Some(location) = location.filter(|location| !is_own_line(location)) {
                write!(f, " at {location}")?;
            }
        }
        for (name, location) in &inner.scopes {
            write!(f, "\n  in scope {name} at {location}")?;
        }
        if let Some(help) = &inner.help {
            write!(f, "\n  help: {help}")?;
        }
        for other in &inner.others {
            write!(f, "\n{other}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_ref().map(|source| &**source as &(dyn std::error::Error + 'static))
    }
}

impl From<ShapeError> for Error {
    fn from(error: ShapeError) -> Error {
        Error::new(ErrorKind::Shape, Phase::Build, error.to_string()).edit(|inner| {
            inner.operand = error.blamed_operand();
            inner.help = error.help().map(str::to_string);
        })
    }
}

/// A location in this crate or in core tells the user nothing.
pub(crate) fn is_own_line(location: &Location<'_>) -> bool {
    // `file!()` names this file as rustc was told to; what stands before it is our source.
    let own = file!().strip_suffix("error.rs").unwrap_or("src/");
    let file = location.file();
    (file.starts_with(own) && !cfg!(test))
        || file.starts_with("/rustc/")
        || file.contains("/library/core/src/")
}
