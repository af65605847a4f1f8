//! `explain`: the origin of every dimension of a shape, and the equalities that tied it to other dimensions.

use std::fmt::Write;
use std::panic::Location;

use rustc_hash::FxHashSet;
use shapeflow_shape_fns::{DType, Dim, Equality, Guard, Provenance, Symbol, counted};

use super::{Graph, GraphData, NodeIx, Value, ValueIx};
use crate::dtype::type_text;
use crate::error::{Error, ErrorKind, Phase, Result, is_library_line};
use crate::op::{Body, Operand};
use crate::tensor::{Tensor, TensorView};

/// The maximum number of places that the text shows for one dimension.
const MAX_PLACES: usize = 6;

impl Graph {
    /// Explains where every dimension of a value's shape comes from. For each axis, the text lists the ops and lines
    /// that introduced the dimension, the equalities that tied it to other dimensions, and the conditions that a run
    /// must check.
    ///
    /// ```
    /// use shapeflow::{concat, shape, DType, Graph};
    ///
    /// let g = Graph::new();
    /// let x = g.input("x", DType::F32, shape!["batch", 3])?;
    /// let y = g.input("y", DType::F32, shape![?, 4])?;
    /// let both = concat(&[x, y], 1)?;
    /// println!("{}", g.explain(both)?);
    /// # assert!(both.explain()?.contains("axis 0 is batch"));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// prints, with the lines of the program:
    ///
    /// ```text
    /// %2: f32[batch, 7] = concat(%0, %1, axis=1)  // src/main.rs:6:12
    ///   axis 0 is batch
    ///     batch: axis 0 of x at src/main.rs:4:11
    ///     y.0: axis 0 of y at src/main.rs:5:11
    ///     y.0 == batch since concat at src/main.rs:6:12
    ///   axis 1 is 7
    ///     7: made by concat at src/main.rs:6:12
    /// ```
    ///
    /// # Errors
    /// The value is [poisoned](Value) or belongs to another graph.
    #[track_caller]
    pub fn explain(&self, value: Value<'_>) -> Result<String> {
        let location = Location::caller();
        self.check_own("the value", value).map_err(|error| error.at(location))?;
        let index = value.index()?;
        Ok(self.read().explain(index))
    }
}

impl Value<'_> {
    /// Explains the shape as [`Graph::explain`] does.
    ///
    /// # Errors
    /// The value is [poisoned](Value).
    #[track_caller]
    pub fn explain(self) -> Result<String> {
        self.graph().explain(self)
    }
}

impl GraphData {
    fn explain(&self, value: ValueIx) -> String {
        let names = self.dim_names();
        let named = |dim: &Dim| names.dim_text(dim);
        let info = &self.values[value.index()];
        let mut text =
            format!("{}  // {}", self.node_text(info.node, &names), self.nodes[info.node.index()].location);
        let shape = self.table.resolve_shape(&info.shape);
        let Some(dims) = shape.dims() else {
            text += "\n  the rank is known when the graph runs";
            return text;
        };
        if dims.is_empty() {
            text += "\n  a scalar has no axes";
        }
        for (axis, dim) in dims.iter().enumerate() {
            let origin = Origin::of(self, value, dim);
            // Writing to a string does not fail.
            let _ = write!(text, "\n  axis {axis} is {}", named(dim));
            for place in origin.places.iter().take(MAX_PLACES) {
                let _ = write!(text, "\n    {}", self.place_text(place, &named));
            }
            if let Some(more) = origin.places.len().checked_sub(MAX_PLACES).filter(|more| *more > 0) {
                let _ = write!(text, "\n    … and {} more", counted(more, "place"));
            }
            for tie in &origin.ties {
                let (label, at) = self.call_at(tie.origin);
                let symbol = named(&Dim::from(tie.symbol));
                let _ = write!(text, "\n    {symbol} == {} since {label} at {at}", named(&tie.dim));
            }
            let about = |dim: &&Dim| origin.symbols.iter().any(|symbol| dim.mentions(*symbol));
            let is_shown = |guard: &Guard| guard.dims().iter().any(about);
            for (guard, at) in self.distinct_guards(&names, is_shown) {
                let (label, at) = self.call_at(at);
                let _ = write!(text, "\n    {guard} is checked at run time for {label} at {at}");
            }
        }
        text
    }

    fn place_text(&self, place: &Occurrence, named: &dyn Fn(&Dim) -> String) -> String {
        let info = &self.values[place.value.index()];
        let (label, at) = self.label_at(info.node.0);
        let has_no_operands = self.nodes[info.node.index()].operands.is_empty();
        match place.axis {
            Some(axis) if has_no_operands => format!("{}: axis {axis} of {label} at {at}", named(&place.dim)),
            None if has_no_operands => format!("{}: an element of {label} at {at}", named(&place.dim)),
            _ => format!("{}: made by {label} at {at}", named(&place.dim)),
        }
    }

    /// Returns the label and the line of an origin: of a node, or of a call of `assume_eq`.
    pub(super) fn label_at(&self, origin: u32) -> (String, &'static Location<'static>) {
        match self.assumption_at(origin) {
            Some(location) => ("assume_eq".to_string(), location),
            None => match self.nodes.get(origin as usize) {
                Some(node) => (self.node_label(NodeIx(origin)), node.location),
                // A rebuilt graph knows some numbers before it has the nodes that require them.
                None => ("a later op".to_string(), Location::caller()),
            },
        }
    }

    /// Returns the error about an input that does not fit its declaration; `detail` says what does not fit.
    pub(crate) fn refused_input(&self, port: usize, dtype: DType, sizes: &[usize], detail: &str) -> Error {
        let (name, value) = &self.inputs[port];
        let info = &self.values[value.index()];
        let shape = self.table.resolve_shape(&info.shape);
        let declared = type_text(info.dtype, &shape);
        let message = format!("input \"{name}\" must be {declared}, got {dtype}{sizes:?}{detail}");
        let error = self.refused_input_with(port, message, detail);
        match (info.dtype, dtype) {
            (DType::F16 | DType::BF16, DType::U16 | DType::I16) => {
                error.with_help("feed the bits of 16-bit floats with TensorView::from_bits")
            }
            _ => error,
        }
    }

    /// Returns an error with this message about an input that does not fit its declaration; `detail` says what does not
    /// fit.
    pub(crate) fn refused_input_with(&self, port: usize, message: String, detail: &str) -> Error {
        let (name, value) = &self.inputs[port];
        // A wrong dtype or rank has nothing to do with the dimensions that the declared shape names.
        let ties = self.ties_of(&[*value], detail).into_iter().take(2);
        let error =
            Error::new(ErrorKind::Feed, Phase::Run, message).note_declaration(self.node_of(*value).location);
        let error = error.with_input(name);
        ties.fold(error, |error, (text, location)| error.note(text, Some(location)))
    }

    /// Copies the elements of an input into a row-major tensor.
    ///
    /// # Errors
    /// Memory is refused. The error names the input.
    pub(crate) fn copy_of_input(&self, port: usize, view: &TensorView<'_>) -> Result<Tensor> {
        view.to_tensor().map_err(|error| {
            let (name, value) = &self.inputs[port];
            let input = format!("the copy of input \"{name}\" with sizes {:?}", view.sizes());
            error.about(input).note_declaration(self.node_of(*value).location)
        })
    }

    /// Returns the equalities that explain the dimensions of `values` in an error: why a name in the shape of a value,
    /// or of the input that the value has the dimension from, reads as a number or as another name. An equality has a
    /// text, and the line of the call that caused the equality. Equalities with a number come first. Dimensions that do
    /// not occur in `text` do not count.
    pub(crate) fn ties_of(
        &self,
        values: &[ValueIx],
        text: &str,
    ) -> Vec<(String, &'static Location<'static>)> {
        let equalities = self.table.equalities();
        if equalities.is_empty() {
            return Vec::new();
        }
        let mut pending: Vec<Symbol> = Vec::new();
        for &value in values {
            for written in self.values[value.index()].shape.dims().unwrap_or_default() {
                let dim = self.table.resolve(written);
                if mentions(text, &dim.to_string()) {
                    written.symbols(&mut |symbol| pending.push(symbol));
                    self.declared_forms(value, &dim).for_each(|form| {
                        form.symbols(&mut |symbol| pending.push(symbol));
                    });
                }
            }
        }
        let mut ties: Vec<&Equality> = Vec::new();
        let mut seen: FxHashSet<Symbol> = FxHashSet::default();
        let mut next = 0;
        while let Some(&symbol) = pending.get(next) {
            next += 1;
            if seen.insert(symbol) {
                for tie in equalities.iter().filter(|tie| tie.symbol == symbol) {
                    ties.push(tie);
                    tie.dim.symbols(&mut |symbol| pending.push(symbol));
                }
            }
        }
        ties.sort_by_key(|tie| !tie.dim.is_known());
        let has_place = |tie: &&&Equality| {
            (tie.origin as usize) < self.nodes.len() || self.assumption_at(tie.origin).is_some()
        };
        // A call that makes a symbol and ties it to a name at once, as `as_dim` does, explains nothing.
        let is_made_by_the_tie = |tie: &&&Equality| self.table.maker(tie.symbol) == Some(tie.origin);
        ties.iter()
            .filter(has_place)
            .filter(|tie| !is_made_by_the_tie(tie))
            .map(|tie| {
                let cause = self.relied_causes.get(&tie.symbol).cloned();
                let (label, at) = cause.unwrap_or_else(|| self.call_at(tie.origin));
                (format!("{} is {} since {label}", Dim::from(tie.symbol), tie.dim), at)
            })
            .collect()
    }

    /// Returns the call that tied a symbol of a dimension to another dimension, and its line. A line of this crate says
    /// nothing.
    pub(crate) fn call_that_tied(&self, dim: &Dim) -> Option<(String, &'static Location<'static>)> {
        let ties = self.table.equalities().iter().filter(|tie| dim.mentions(tie.symbol));
        ties.map(|tie| self.call_at(tie.origin)).find(|(_, location)| !is_library_line(location))
    }

    /// Returns the dimensions of inputs that `value` has its dimension `dim` from, as the program declared them. A
    /// parameter of a branch or a loop body has its dimensions from the value that gives the parameter its first value.
    fn declared_forms(&self, value: ValueIx, dim: &Dim) -> impl Iterator<Item = Dim> {
        let is_input = |value: &ValueIx| matches!(self.node_of(*value).op.body, Body::Input);
        let (mut pending, mut forms) = (vec![value], Vec::new());
        while let Some(value) = pending.pop() {
            for input in sources(self, value, dim).into_iter().filter(is_input) {
                forms.push(place(self, input, dim).dim);
                pending.extend(self.parameter_sources.get(&input));
            }
        }
        forms.into_iter()
    }

    /// Returns the label and the line of the call in the program that tied dimensions: `mul` for a reshape that a
    /// product of ragged values added. A node that the program named, and a call of `assume_eq`, have their own labels.
    pub(crate) fn call_at(&self, origin: u32) -> (String, &'static Location<'static>) {
        let (label, location) = self.label_at(origin);
        if self.assumption_at(origin).is_some() {
            return (label, location);
        }
        let node = self.nodes.get(origin as usize).filter(|node| node.own_name().is_none());
        let call = node.and_then(|node| self.call_of_program(node.origin));
        let Some((node, (call, at))) = node.zip(call) else { return (label, location) };
        let scopes = self.scopes_of_error(node.scope).into_iter().rev();
        (scopes.map(|(scope, _)| scope + "/").collect::<String>() + call, at)
    }
}

/// Returns whether `text` contains `word`, but not only as part of a longer word.
fn mentions(text: &str, word: &str) -> bool {
    let continues = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).any(|(at, _)| {
        let before = text.get(..at).and_then(|text| text.chars().next_back());
        let after = text.get(at + word.len()..).and_then(|text| text.chars().next());
        !before.is_some_and(continues) && !after.is_some_and(continues)
    })
}

/// A place where a dimension occurs: an axis of a value's shape, or an element of a value.
#[derive(PartialEq)]
struct Occurrence {
    value: ValueIx,
    /// The axis that has the dimension; `None` if an element is the dimension.
    axis: Option<usize>,
    /// The dimension in the form that inference gave it at this place.
    dim: Dim,
}

/// The origin of one dimension.
struct Origin {
    /// The places where the dimension, or a symbol of it, first occurs.
    places: Vec<Occurrence>,
    /// The equalities that tied symbols of the dimension to other dimensions.
    ties: Vec<Equality>,
    /// The symbols of the dimension, and all symbols that the equalities relate to these symbols.
    symbols: FxHashSet<Symbol>,
}

impl Origin {
    /// Finds the origin of the dimension `dim` of a value. `dim` is resolved.
    fn of(data: &GraphData, value: ValueIx, dim: &Dim) -> Origin {
        let mut origin = Origin { places: Vec::new(), ties: Vec::new(), symbols: FxHashSet::default() };
        // The dimension, and its form at each place.
        let mut forms = vec![dim.clone()];
        let mut sources: Vec<ValueIx> = sources(data, value, dim);
        sources.sort_unstable();
        for source in sources {
            let place = place(data, source, dim);
            forms.push(place.dim.clone());
            origin.places.push(place);
        }
        let mut seen: FxHashSet<(Symbol, u32)> = FxHashSet::default();
        for provenance in forms.iter().flat_map(|dim| data.table.explain(dim)) {
            match provenance {
                Provenance::Introduced(symbol, node) => {
                    origin.symbols.insert(symbol);
                    let values = data.nodes.get(node as usize).into_iter().flat_map(|node| node.values());
                    let introduced = values.map(|value| place(data, value, &Dim::from(symbol)));
                    let Some(introduced) =
                        introduced.reduce(|first, next| if first.axis.is_some() { first } else { next })
                    else {
                        continue;
                    };
                    let shown = origin.places.iter().any(|place| place.value == introduced.value);
                    if seen.insert((symbol, node)) && !shown {
                        origin.places.push(Occurrence { dim: Dim::from(symbol), ..introduced });
                    }
                }
                Provenance::Equated(tie) => {
                    if !origin.ties.contains(&tie) {
                        origin.ties.push(tie);
                    }
                }
            }
        }
        origin.places.sort_by_key(|place| place.value);
        origin
    }
}

/// Returns the values that brought a dimension into `value`. Such a value has the dimension, and none of its operands
/// has the dimension. The walk is iterative, because graphs are deep.
fn sources(data: &GraphData, value: ValueIx, dim: &Dim) -> Vec<ValueIx> {
    let mut seen: FxHashSet<ValueIx> = FxHashSet::default();
    let (mut pending, mut sources) = (vec![value], Vec::new());
    while let Some(value) = pending.pop() {
        let node = data.node_of(value);
        let mut is_source = true;
        let resolves_to_it = |other: &Dim| data.table.resolve(other) == *dim;
        let mut follow = |operand: ValueIx| {
            is_source = false;
            if seen.insert(operand) {
                pending.push(operand);
            }
        };
        for &operand in &node.operands {
            let shape = &data.values[operand.index()].shape;
            if shape.dims().unwrap_or_default().iter().any(resolves_to_it) {
                follow(operand);
            }
        }
        for (declared, operand) in node.parameters() {
            let elements = &data.values[operand.index()].elements;
            if matches!(declared, Operand::Size(_))
                && elements.iter().flat_map(|elements| elements.elements()).any(resolves_to_it)
            {
                follow(operand);
            }
        }
        if is_source {
            sources.push(value);
        }
    }
    sources
}

/// Finds the axis or the element of a value that resolves to the same dimension as `dim`.
fn place(data: &GraphData, value: ValueIx, dim: &Dim) -> Occurrence {
    let resolved = data.table.resolve(dim);
    let info = &data.values[value.index()];
    let mut dims = info.shape.dims().unwrap_or_default().iter().enumerate();
    let found = dims.find(|(_, other)| data.table.resolve(other) == resolved);
    let element = || {
        let mut elements = info.elements.iter().flat_map(|elements| elements.elements());
        elements.find(|other| data.table.resolve(other) == resolved).cloned()
    };
    match found {
        Some((axis, written)) => Occurrence { value, axis: Some(axis), dim: written.clone() },
        None => Occurrence { value, axis: None, dim: element().unwrap_or_else(|| dim.clone()) },
    }
}
