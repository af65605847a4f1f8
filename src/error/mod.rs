//! `Error`: the crate's error type, with a kind, a message and the location in the user's code.

use std::fmt;
use std::panic::{Location, RefUnwindSafe, UnwindSafe};
use std::sync::Arc;

use shapeflow_shape_fns::ShapeError;

mod kind;

pub use kind::{ErrorKind, Phase};

/// A result whose error is [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A failure. The message states the requirement, then the value that did not meet it; the location is a line of the
/// user's code.
///
/// An error is one pointer wide and cheap to clone. `Debug` prints the same text as `Display`.
#[derive(Clone)]
pub struct Error(Arc<Details>);

// The details of an error never change once they are shared.
impl UnwindSafe for Error {}
impl RefUnwindSafe for Error {}

#[derive(Clone)]
struct Details {
    kind: ErrorKind,
    phase: Phase,
    message: String,
    op: Option<String>,
    node: Option<String>,
    /// The name of the input whose feed is at fault.
    input: Option<String>,
    location: Option<&'static Location<'static>>,
    /// Lines that print below the location; a line may have a location of its own.
    notes: Vec<(String, Option<&'static Location<'static>>)>,
    /// The scopes around the location, innermost first.
    scopes: Vec<(String, &'static Location<'static>)>,
    /// The number of the operand that caused the error.
    operand: Option<usize>,
    /// Numbers of operands, and what came from them, such as `the length 2`.
    origins: Vec<(usize, String)>,
    /// The node of an earlier call that required the condition which does not hold.
    guard_origin: Option<u32>,
    /// Whether an element of that operand caused the error.
    is_of_element: bool,
    /// For a result that does not fit its memory: the number and the sizes of the result.
    misfit: Option<(usize, Vec<usize>)>,
    help: Option<String>,
    /// The casts that the help names: an operand, and a dtype as Rust spells it.
    casts: Vec<(usize, String)>,
    source: Option<Arc<dyn std::error::Error + Send + Sync>>,
    /// Errors that were found together with this one.
    others: Vec<Error>,
}

/// Refuses a run because the sizes or the elements of an operand do not fit.
pub(crate) fn refuse_at_run<T>(message: String) -> Result<T> {
    Err(Error::new(ErrorKind::Shape, Phase::Run, message))
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, phase: Phase, message: impl Into<String>) -> Error {
        Error(Arc::new(Details {
            kind,
            phase,
            message: message.into(),
            op: None,
            node: None,
            input: None,
            location: None,
            notes: Vec::new(),
            scopes: Vec::new(),
            operand: None,
            origins: Vec::new(),
            guard_origin: None,
            is_of_element: false,
            misfit: None,
            help: None,
            casts: Vec::new(),
            source: None,
            others: Vec::new(),
        }))
    }

    /// Makes the error of a user's op. The library adds the op, its operands and the location.
    pub fn msg(message: impl fmt::Display) -> Error {
        Error::new(ErrorKind::Custom, Phase::Build, message.to_string())
    }

    /// Wraps another error, which becomes the source.
    pub fn wrap(error: impl std::error::Error + Send + Sync + 'static) -> Error {
        Error::new(ErrorKind::Custom, Phase::Build, error.to_string())
            .edit(|details| details.source = Some(Arc::new(error)))
    }

    fn edit(mut self, change: impl FnOnce(&mut Details)) -> Error {
        change(Arc::make_mut(&mut self.0));
        self
    }

    pub(crate) fn with_phase(self, phase: Phase) -> Error {
        self.edit(|details| details.phase = phase)
    }

    /// Makes an error that a run finds of an error about shapes or attributes. Sizes that an op refuses in a run are a
    /// guard; fed parameters and elements that do not parse are data.
    pub(crate) fn of_run(self) -> Error {
        let kind = match self.kind() {
            ErrorKind::Shape => ErrorKind::Guard,
            ErrorKind::Attribute | ErrorKind::Parse => ErrorKind::Data,
            kind => kind,
        };
        self.with_kind(kind).with_phase(Phase::Run)
    }

    pub(crate) fn with_kind(self, kind: ErrorKind) -> Error {
        self.edit(|details| details.kind = kind)
    }

    /// Sets the op's name and puts the call before the message. A call reads like `concat(f32[a, 3], axis=0)`, as in
    /// dumps. The op is not to blame for a cancelled run: a note has the call that the run was in.
    pub(crate) fn with_op(self, op: impl Into<String>, call: impl fmt::Display) -> Error {
        self.edit(|details| {
            match details.kind {
                ErrorKind::Cancelled => details.notes.push((format!("in {call}"), None)),
                _ => details.message = format!("{call}: {}", details.message),
            }
            details.op = Some(op.into());
            // The misfit is about a result inside the op. The number of a result around it means another result.
            details.misfit = None;
        })
    }

    /// Puts the subject before the message, as in `subject: message`.
    pub(crate) fn about(self, subject: impl fmt::Display) -> Error {
        self.edit(|details| details.message = format!("{subject}: {}", details.message))
    }

    pub(crate) fn with_node(self, node: impl Into<String>) -> Error {
        self.edit(|details| details.node = Some(node.into()))
    }

    /// Sets the location.
    pub(crate) fn at(self, location: &'static Location<'static>) -> Error {
        self.edit(|details| details.location = Some(location))
    }

    /// Sets the line of the call of an op. The line of the op's code that made the error, such as a line of a host
    /// kernel, becomes a note.
    pub(crate) fn in_call_at(self, call: &'static Location<'static>) -> Error {
        let Some(own) = self.0.location else { return self.at(call) };
        let is_same = (own.file(), own.line()) == (call.file(), call.line());
        let located = self.at(call);
        if is_same || is_library_line(own) {
            located
        } else {
            located.note("found by the op's code", Some(own))
        }
    }

    /// Sets the location, unless the error has one or `location` is a line of this crate.
    pub(crate) fn or_at(self, location: &'static Location<'static>) -> Error {
        if self.0.location.is_some() || is_library_line(location) { self } else { self.at(location) }
    }

    /// Adds the line that started a run. An error that has the line of an op gets a note, unless both lines are the
    /// same.
    pub(crate) fn or_in_run(self, location: &'static Location<'static>) -> Error {
        let Some(own) = self.0.location else { return self.or_at(location) };
        let is_same = (own.file(), own.line()) == (location.file(), location.line());
        if is_same || is_library_line(location) { self } else { self.note("in the run", Some(location)) }
    }

    /// Adds a line below the location, such as the origin of an operand.
    pub(crate) fn note(self, text: impl Into<String>, location: Option<&'static Location<'static>>) -> Error {
        self.edit(|details| details.notes.push((text.into(), location)))
    }

    /// Returns whether a note ends with `text`.
    pub(crate) fn has_note_ending(&self, text: &str) -> bool {
        self.0.notes.iter().any(|(note, _)| note.ends_with(text))
    }

    /// Adds a note with the location of an input's declaration. An imported input has no line of user code, so its
    /// error gets no note.
    pub(crate) fn note_declaration(self, location: &'static Location<'static>) -> Error {
        if is_library_line(location) { self } else { self.note("the input is declared", Some(location)) }
    }

    /// Removes notes without a location, such as `x was given the shape [2]`.
    #[cfg(feature = "graphdef")]
    pub(crate) fn without_notes(self, mut is_removed: impl FnMut(&str) -> bool) -> Error {
        self.edit(|details| details.notes.retain(|(text, location)| location.is_some() || !is_removed(text)))
    }

    /// Adds advice, which prints last. An error keeps the first advice it gets.
    ///
    /// ```
    /// let error = shapeflow::Error::msg("the window must be odd, got 4").with_help("use a window of 3 or 5");
    /// assert!(error.to_string().ends_with("help: use a window of 3 or 5"));
    /// ```
    #[must_use]
    pub fn with_help(self, help: impl Into<String>) -> Error {
        self.edit(|details| {
            details.help.get_or_insert_with(|| help.into());
        })
    }

    /// Removes advice that names methods, such as `.expand_dims(0) makes it [1, n]`.
    #[cfg(feature = "graphdef")]
    pub(crate) fn without_advice_on_methods(self) -> Error {
        self.edit(|details| {
            let names_no_method = |help: &String| !help.split(' ').any(|word| word.starts_with(['.', '`']));
            details.help = details.help.take().filter(names_no_method);
        })
    }

    /// Says that the result with this number, of these sizes, does not fit its memory.
    pub(crate) fn with_misfit(self, number: usize, sizes: &[usize]) -> Error {
        self.edit(|details| details.misfit = Some((number, sizes.to_vec())))
    }

    /// Returns the number and the sizes of the result that does not fit its memory, if this is the error.
    pub(crate) fn misfit(&self) -> Option<(usize, &[usize])> {
        self.0.misfit.as_ref().map(|(number, sizes)| (*number, &sizes[..]))
    }

    /// Says whose feed is at fault.
    pub(crate) fn with_input(self, name: &str) -> Error {
        self.edit(|details| details.input = Some(name.to_string()))
    }

    /// Says that an element of an operand caused the error.
    pub(crate) fn blame_element(self, operand: usize) -> Error {
        self.edit(|details| (details.operand, details.is_of_element) = (Some(operand), true))
    }

    /// Says what came from operands: the number of each operand, and a text such as `the length 2`. The error of a run
    /// names the values that made these operands.
    pub(crate) fn with_origins(self, origins: Vec<(usize, String)>) -> Error {
        self.edit(|details| details.origins = origins)
    }

    /// Returns what came from operands: see [`Error::with_origins`].
    pub(crate) fn origins(&self) -> &[(usize, String)] {
        &self.0.origins
    }

    /// Returns whether an element, and not a size, caused the error.
    pub(crate) fn is_of_element(&self) -> bool {
        self.0.is_of_element
            || matches!(self.0.kind, ErrorKind::Index | ErrorKind::Data | ErrorKind::DivideByZero)
    }

    /// Returns the number of the operand that caused the error.
    pub(crate) fn blamed_operand(&self) -> Option<usize> {
        self.0.operand
    }

    /// Returns the node of an earlier call that required the condition which does not hold.
    pub(crate) fn guard_origin(&self) -> Option<u32> {
        self.0.guard_origin
    }

    /// Names the element that caused the error: its operand, and its place in the operand as text, such as
    /// ` at [1, 2]`.
    pub(crate) fn in_element(self, operand: usize, place: &str) -> Error {
        self.edit(|details| {
            details.message = format!("{}{place} in operand {operand}", details.message);
            details.operand = Some(operand);
        })
    }

    /// Puts a better choice before the advice: `use .rfft(..), or cast operand 0 with .cast(DType::C64)`.
    pub(crate) fn with_first_choice(self, choice: &str) -> Error {
        self.edit(|details| {
            let others = details.help.take().map(|help| format!(", or {help}"));
            details.help = Some(format!("{choice}{}", others.unwrap_or_default()));
        })
    }

    /// Adds advice to cast one of several operands, each to a dtype as Rust spells it.
    pub(crate) fn with_casts(self, casts: Vec<(usize, String)>) -> Error {
        let named = |(operand, dtype): &(usize, String)| format!("operand {operand} with .cast({dtype})");
        let text = casts.iter().map(named).collect::<Vec<_>>().join(", or ");
        self.with_help(format!("cast {text}")).edit(|details| details.casts = casts)
    }

    /// Rewrites the advice to cast operands that the program gave as tensors: a [`Tensor`](crate::Tensor) has no method
    /// `cast`.
    pub(crate) fn with_tensor_casts(self, is_tensor: impl Fn(usize) -> bool) -> Error {
        if !self.0.casts.iter().any(|(operand, _)| is_tensor(*operand)) {
            return self;
        }
        let advice = |(operand, dtype): &(usize, String)| match is_tensor(*operand) {
            true => format!("pass operand {operand} as g.constant(tensor)?.cast({dtype})?"),
            false => format!("cast operand {operand} with .cast({dtype})"),
        };
        let text = self.0.casts.iter().map(advice).collect::<Vec<_>>().join(", or ");
        self.edit(|details| details.help = Some(text))
    }

    /// Sets the scopes around the location, innermost first.
    pub(crate) fn in_scopes(self, scopes: Vec<(String, &'static Location<'static>)>) -> Error {
        self.edit(|details| details.scopes = scopes)
    }

    /// Joins several errors into the first error, which then lists the other errors.
    pub(crate) fn join(errors: Vec<Error>) -> Option<Error> {
        let mut errors = errors.into_iter();
        let first = errors.next()?;
        let rest: Vec<Error> = errors.collect();
        Some(if rest.is_empty() { first } else { first.edit(|details| details.others = rest) })
    }

    /// Returns whether `self` and `other` are clones of one error.
    pub(crate) fn is(&self, other: &Error) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Returns the kind of requirement that was not met.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Returns the phase in which the error was found.
    pub fn phase(&self) -> Phase {
        self.0.phase
    }

    /// Returns the name of the op that refused its operands.
    pub fn op(&self) -> Option<&str> {
        self.0.op.as_deref()
    }

    /// Returns the name of the node that failed, if the node exists.
    pub fn node(&self) -> Option<&str> {
        self.0.node.as_deref()
    }

    /// Returns the name of the input whose feed is at fault: its dtype or its sizes do not fit, it is missing, or there
    /// is no such input.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, Tensor, shape};
    ///
    /// let g = Graph::new();
    /// let [ids, mask] = [g.input("ids", DType::I64, shape!["n"])?, g.input("mask", DType::I64, shape!["n"])?];
    /// let exe = g.compile(ids * mask)?;
    /// let (two, three) = (Tensor::from([1i64, 2]), Tensor::from([1i64, 2, 3]));
    /// let error = exe.feed("ids", two.view()).feed("mask", three.view()).run().unwrap_err();
    /// assert_eq!(error.input(), Some("mask"));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    pub fn input(&self) -> Option<&str> {
        self.0.input.as_deref()
    }

    /// Returns the line of the user's code that caused the error; `None` for a node of an imported model, which
    /// [`Error::node`] names.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, shape};
    ///
    /// let g = Graph::new();
    /// let x = g.input("x", DType::F32, shape![2, 3])?;
    /// let line = line!() + 1;
    /// let error = x.reshape([4]).unwrap_err();
    /// assert_eq!(error.location().map(|location| location.line()), Some(line));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    pub fn location(&self) -> Option<&'static Location<'static>> {
        self.0.location.filter(|location| !is_library_line(location))
    }

    /// Returns the line that caused the error. It is a line of this crate for a node of an imported model.
    pub(crate) fn recorded_location(&self) -> Option<&'static Location<'static>> {
        self.0.location
    }

    /// Returns the scopes around the line of [`Error::location`], innermost first.
    pub fn scopes(&self) -> impl Iterator<Item = (&str, &'static Location<'static>)> {
        self.0.scopes.iter().map(|(name, location)| (name.as_str(), *location))
    }

    /// Returns this error and the errors that were found with it.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, shape};
    ///
    /// let g = Graph::new();
    /// let (x, y) = (g.input("x", DType::F32, shape![2])?, g.input("y", DType::F32, shape![3])?);
    /// let (sum, product) = (x + y, x * y);
    /// let error = g.compile([sum, product]).unwrap_err();
    /// let ops: Vec<_> = error.all().filter_map(|error| error.op()).collect();
    /// assert_eq!(ops, ["add", "mul"]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    pub fn all(&self) -> impl Iterator<Item = &Error> {
        std::iter::once(self).chain(self.0.others.iter())
    }

    /// Returns advice, if the error suggests a likely fix.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, shape};
    ///
    /// let g = Graph::new();
    /// let (x, y) = (g.input("x", DType::F32, shape!["n"])?, g.input("y", DType::F64, shape!["n"])?);
    /// let error = (x + y).ok().unwrap_err();
    /// assert_eq!(error.help(), Some("cast operand 1 with .cast(DType::F32), or operand 0 with .cast(DType::F64)"));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    pub fn help(&self) -> Option<&str> {
        self.0.help.as_deref()
    }

    /// Returns the message without location, notes and advice.
    pub fn message(&self) -> &str {
        &self.0.message
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let details = &*self.0;
        write!(f, "error: {}", details.message)?;
        match (details.location, &details.node) {
            // An imported node has no line of user code: its name stands for the location.
            (Some(location), Some(node)) if is_library_line(location) => write!(f, "\n  --> node {node}")?,
            (Some(location), _) => write!(f, "\n  --> {location}")?,
            _ => {}
        }
        for (text, location) in &details.notes {
            write!(f, "\n  {text}")?;
            if let Some(location) = location.filter(|location| !is_library_line(location)) {
                write!(f, " at {location}")?;
            }
        }
        for (name, location) in &details.scopes {
            write!(f, "\n  in scope {name} at {location}")?;
        }
        if let Some(help) = &details.help {
            write!(f, "\n  help: {help}")?;
        }
        for other in &details.others {
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
    /// A program that computes with dimensions converts their errors by `?`: the line of the `?` is the location.
    #[track_caller]
    fn from(error: ShapeError) -> Error {
        let converted = Error::new(ErrorKind::Shape, Phase::Build, error.to_string()).edit(|details| {
            details.operand = error.blamed_operand();
            details.guard_origin = error.guard_origin();
            details.help = error.help().map(str::to_string);
        });
        converted.or_at(Location::caller())
    }
}

/// Returns the result of `compute`. An error without a location gets the line of the caller of the function that calls
/// this one: such a function has `#[track_caller]`.
#[track_caller]
pub(crate) fn at_caller<T>(compute: impl FnOnce() -> Result<T>) -> Result<T> {
    let location = Location::caller();
    compute().map_err(|error| error.or_at(location))
}

/// Returns whether a location is in this crate or in the standard library. Such a location tells the user nothing. Unit
/// tests are in this crate too, but count as user code.
pub(crate) fn is_library_line(location: &Location<'_>) -> bool {
    // rustc spells all paths of this crate alike, so the folder of this file is a prefix of every source file.
    let source_folder = file!().strip_suffix("error/mod.rs").unwrap_or("src/");
    let file = location.file();
    (file.starts_with(source_folder) && !cfg!(test))
        || file.starts_with("/rustc/")
        || file.contains("/library/core/src/")
}
