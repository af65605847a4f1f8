//! [`Port`]: an input or output of an executable, and [`PortIndex`], its number or name.

use rustc_hash::FxHashMap;
use shapeflow_shape_fns::{DType, Dim, IntoDim, Symbol, TensorShape, Unknown};

use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::{GraphData, ValueIx};
use crate::nearest::nearest;
use crate::ragged::{FLAT_VALUES, ragged_name};

/// An input or output of an executable.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Port {
    /// The name of the input, or the name under which the output was compiled.
    pub name: String,
    /// The element type of the input or output.
    pub dtype: DType,
    /// The shape of the input or output, as far as the shape is known without a run.
    pub shape: TensorShape,
    /// Whether the outputs need the input. A run may be fed without an unneeded input.
    pub needed: bool,
}

/// Returns the error about a name that no input or no output has. `what` is `input` or `output`. The names of the parts
/// of a ragged input or output stand for one name.
pub(super) fn unknown_name<'n>(
    what: &str,
    name: &str,
    known: impl Iterator<Item = &'n str> + Clone,
) -> Error {
    let names: Vec<&str> = known.clone().collect();
    let names = if names.is_empty() { "none".to_string() } else { names.join(", ") };
    let message = format!("\"{name}\" is not an {what}; the {what}s are {names}");
    let error = Error::new(kind_of(what), Phase::Run, message);
    match nearest(name, known.map(ragged_name)) {
        Some(near) if near != name => error.with_help(format!("is it \"{near}\"?")),
        _ => error,
    }
}

/// Returns the number of the input or output named `name`; `None` if there is none. `what` is `input` or `output`.
///
/// # Errors
/// Several outputs have the name, as `Value::named` may give one name to several values.
pub(super) fn find_unique<'n>(
    what: &str,
    name: &str,
    mut known: impl Iterator<Item = &'n str>,
) -> Result<Option<usize>> {
    let Some(first) = known.position(|other| other == name) else { return Ok(None) };
    let Some(further) = known.position(|other| other == name) else { return Ok(Some(first)) };
    let second = first + 1 + further;
    let message =
        format!("the name of the {what} must be unique, got \"{name}\" for {what}s {first} and {second}");
    let help =
        format!("give the {what}s to `compile` with names, `[(\"a\", x), (\"b\", y)]`, or use their numbers");
    Err(Error::new(kind_of(what), Phase::Run, message).with_help(help))
}

/// Returns the kind of an error about the name of an input or output. A request may name inputs; only the program names
/// outputs.
fn kind_of(what: &str) -> ErrorKind {
    if what == "input" { ErrorKind::Feed } else { ErrorKind::Attribute }
}

/// Adds advice to an error about the feed `name`, if `name` is a ragged input or a part of a ragged input.
pub(super) fn with_ragged_help(error: Error, inputs: &[Port], name: &str) -> Error {
    let is_part =
        |ragged: &str| name.strip_prefix(ragged).is_some_and(|part| part.is_empty() || part.starts_with('/'));
    let mut ragged = inputs.iter().filter_map(|port| port.name.strip_suffix(FLAT_VALUES));
    match ragged.find(|ragged| is_part(ragged)) {
        Some(ragged) => error
            .with_help(format!("{ragged} is ragged: feed a `RaggedTensor` with `feed(\"{ragged}\", &rows)`")),
        None => error,
    }
}

impl Port {
    /// Replaces each unknown dimension by a new dimension that belongs to no graph, and so differs from every dimension
    /// of every graph.
    pub(super) fn leave_table(&mut self) {
        let mut free: FxHashMap<Symbol, Dim> = FxHashMap::default();
        self.shape = self.shape.substitute(&mut |symbol| {
            let is_unknown = symbol.is_anonymous();
            is_unknown.then(|| free.entry(symbol).or_insert_with(|| Unknown.into_dim()).clone())
        });
    }
}

impl GraphData {
    /// Returns the port of a value.
    pub(super) fn port(&self, name: String, value: ValueIx, needed: bool) -> Port {
        let info = &self.values[value.index()];
        Port { name, dtype: info.dtype, shape: self.table.resolve_shape(&info.shape), needed }
    }
}

/// The number of an input or output (`0`), or its name (`"x"`).
pub trait PortIndex {
    #[doc(hidden)]
    fn position(&self, ports: &[Port]) -> Option<usize>;

    #[doc(hidden)]
    fn text(&self) -> String;

    #[doc(hidden)]
    fn name(&self) -> Option<&str> {
        None
    }
}

impl PortIndex for usize {
    fn position(&self, ports: &[Port]) -> Option<usize> {
        Some(*self).filter(|number| *number < ports.len())
    }

    fn text(&self) -> String {
        format!("number {self}")
    }
}

impl PortIndex for &str {
    fn position(&self, ports: &[Port]) -> Option<usize> {
        ports.iter().position(|port| port.name == *self)
    }

    fn text(&self) -> String {
        format!("\"{self}\"")
    }

    fn name(&self) -> Option<&str> {
        Some(self)
    }
}

impl<P: PortIndex> PortIndex for &P {
    fn position(&self, ports: &[Port]) -> Option<usize> {
        (**self).position(ports)
    }

    fn text(&self) -> String {
        (**self).text()
    }

    fn name(&self) -> Option<&str> {
        (**self).name()
    }
}

impl PortIndex for String {
    fn position(&self, ports: &[Port]) -> Option<usize> {
        self.as_str().position(ports)
    }

    fn text(&self) -> String {
        self.as_str().text()
    }

    fn name(&self) -> Option<&str> {
        Some(self)
    }
}

/// Returns the number of the port that `index` names. `what` is `input` or `output`.
///
/// # Errors
/// There is no such port, or several have the name.
pub(super) fn find_port(what: &str, ports: &[Port], index: &impl PortIndex) -> Result<usize> {
    if let Some(name) = index.name()
        && let Some(number) = find_unique(what, name, ports.iter().map(|port| port.name.as_str()))?
    {
        return Ok(number);
    }
    index.position(ports).ok_or_else(|| {
        let names = ports.iter().map(|port| port.name.as_str());
        if let Some(name) = index.name().filter(|_| !ports.is_empty()) {
            let parts: Vec<String> = names
                .clone()
                .filter(|part| *part != name && ragged_name(part) == name)
                .map(|part| format!("\"{part}\""))
                .collect();
            let error = unknown_name(what, name, names);
            return match parts.is_empty() {
                true => error,
                false => error
                    .with_help(format!("{name} is ragged: its parts are the {what}s {}", parts.join(", "))),
            };
        }
        let names: Vec<&str> = names.collect();
        let known = match &names[..] {
            [] => format!("there are no {what}s"),
            names => format!("the {what}s are {}", names.join(", ")),
        };
        let message = format!("{} is not an {what}; {known}", index.text());
        Error::new(ErrorKind::Feed, Phase::Run, message)
    })
}
