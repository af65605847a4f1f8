//! `OpBuilder`: adds one node as a transaction.

use std::panic::Location;

use shapeflow_shape_fns::{Attr, Attribute, Attrs};
use smallvec::SmallVec;

use super::{Graph, GraphData, IntoParam, Param, Value, ValueIx};
use crate::error::{Error, ErrorKind, Phase, Result, is_library_line};
use crate::op::{Body, CompositeCx, OpRef, Operand, caught};
use crate::tensor::place_text;

/// Collects the operands and attributes of a node. [`OpBuilder::finish`] infers dtypes and shapes and adds the node.
///
/// A refused call leaves the graph unchanged.
#[must_use = "nothing is added before `finish`"]
pub struct OpBuilder<'g> {
    graph: &'g Graph,
    op: OpRef,
    /// For each operand: the index of its declaration, and its value.
    operands: SmallVec<[(u32, ValueIx); 4]>,
    attrs: Attrs,
    /// Whether an import makes the call. Such a call may have attributes that only TensorFlow's op has, and constant
    /// divisors of 0.
    is_imported: bool,
    error: Option<Error>,
}

impl<'g> OpBuilder<'g> {
    pub(crate) fn new(graph: &'g Graph, op: OpRef) -> OpBuilder<'g> {
        OpBuilder {
            graph,
            operands: SmallVec::new(),
            attrs: op.no_attrs().clone(),
            op,
            is_imported: false,
            error: None,
        }
    }

    /// Refuses the call because of an argument that is not an operand or an attribute yet. The error of
    /// [`OpBuilder::finish`] names the call, and has the line of the call if `error` has no line.
    pub(crate) fn refuse(&mut self, error: Error) {
        self.error.get_or_insert(error);
    }

    fn push(&mut self, entry: u32, value: Value<'g>) {
        // A value of another graph was not passed, so the operands after it would have wrong numbers.
        if self.error.as_ref().is_some_and(|error| error.kind() == ErrorKind::ForeignValue) {
            return;
        }
        if let Err(error) = self.graph.check_operand(value) {
            return self.refuse(error);
        }
        match value.index() {
            Ok(index) => self.operands.push((entry, index)),
            Err(error) => self.refuse(error),
        }
    }

    /// Passes the next data operand.
    pub fn data(mut self, value: Value<'g>) -> Self {
        let place = match self.op.operand_list() {
            None => Some(self.operands.len()),
            Some(list) => list.iter().enumerate().position(|(i, operand)| match operand {
                Operand::Data(_) => !self.operands.iter().any(|(place, _)| *place as usize == i),
                Operand::Variadic(_) => true,
                Operand::Size(_) | Operand::Structure(_) => false,
            }),
        };
        match place {
            Some(place) => self.push(place as u32, value),
            None => {
                let message = format!("{} takes no more data operands, got another", self.op.name());
                self.refuse(Error::new(ErrorKind::Attribute, Phase::Build, message));
            }
        }
        self
    }

    /// Passes several data operands.
    pub fn data_all(mut self, values: &[Value<'g>]) -> Self {
        for value in values {
            self = self.data(*value);
        }
        self
    }

    fn param(mut self, name: &'static str, param: Param<'g>) -> Self {
        let list = self.op.operand_list();
        let place = list.and_then(|list| list.iter().position(|operand| operand.name() == name));
        let is_operand = self.operands.iter().any(|(given, _)| Some(*given as usize) == place);
        if is_operand || self.attrs.get(name).is_some() {
            let message =
                format!("the operand {name} of {} must be given once, got it twice", self.op.name());
            self.refuse(Error::new(ErrorKind::Attribute, Phase::Build, message));
            return self;
        }
        match param {
            Param::Elements(elements) => {
                self.attrs.insert(name, Attr::Elements(elements.into()));
            }
            Param::Refused(message) => self.refuse(Error::new(ErrorKind::Shape, Phase::Build, message)),
            Param::Value(value) => match place {
                Some(place) => self.push(place as u32, value),
                None => {
                    let message = format!("{} has no operand named {name}", self.op.name());
                    self.refuse(Error::new(ErrorKind::Attribute, Phase::Build, message));
                }
            },
        }
        self
    }

    /// Passes a size parameter: its elements become dimensions or offsets.
    pub fn size(self, name: &'static str, param: impl IntoParam<'g>) -> Self {
        self.param(name, param.into_param())
    }

    /// Passes a structure parameter, such as axes or a permutation. The compiler must know its elements.
    pub fn structure(self, name: &'static str, param: impl IntoParam<'g>) -> Self {
        self.param(name, param.into_param())
    }

    /// Sets an attribute. A call that sets one attribute to two different values is refused.
    pub fn attr(mut self, name: &'static str, value: impl Into<Attr>) -> Self {
        let value = value.into();
        let other = self.attrs.get(name).filter(|first| **first != value);
        if let Some(first) = other {
            let message = format!("the attribute {name} must be given once, got {first} and {value}");
            self.refuse(Error::new(ErrorKind::Attribute, Phase::Build, message));
        } else {
            self.attrs.insert(name, value);
        }
        self
    }

    /// Copies the declared attributes that `attrs` has.
    pub(crate) fn declared_attrs(self, attrs: &Attrs, declared: &[Attribute]) -> Self {
        declared.iter().fold(self, |call, attribute| match attrs.get(attribute.name()) {
            Some(attr) => call.attr(attribute.name(), attr.clone()),
            None => call,
        })
    }

    /// Sets an attribute that is an integer.
    pub(crate) fn int_attr(self, name: &'static str, given: impl IntoParam<'g>) -> Self {
        let given = given.into_param().known_int(name);
        self.known_attr(name, given.map(Attr::from))
    }

    /// Sets an attribute to a value that the program may have stated wrongly. [`OpBuilder::refuse`] takes the error.
    pub(crate) fn known_attr(mut self, name: &'static str, given: Result<Attr>) -> Self {
        match given {
            Ok(value) => self = self.attr(name, value),
            Err(error) => self.refuse(error),
        }
        self
    }

    /// Passes operand number `entry` of the declaration.
    #[cfg(feature = "graphdef")]
    pub(crate) fn operand(mut self, entry: usize, value: Value<'g>) -> Self {
        self.push(u32::try_from(entry).unwrap_or(u32::MAX), value);
        self.is_imported = true;
        self
    }

    /// Sets all attributes at once.
    pub(crate) fn attrs(mut self, attrs: Attrs) -> Self {
        self.attrs = attrs.declared_by(self.op.attributes());
        self.is_imported = true;
        self
    }

    /// Adds the node and returns its first output.
    ///
    /// # Errors
    /// The op refuses the dtypes, shapes or attributes; an operand is [poisoned](Value) or belongs to another graph.
    #[track_caller]
    pub fn finish(self) -> Result<Value<'g>> {
        self.finish_at(Location::caller())
    }

    /// Adds the node and returns all its outputs.
    ///
    /// # Errors
    /// As [`OpBuilder::finish`].
    #[track_caller]
    pub fn finish_all(self) -> Result<Vec<Value<'g>>> {
        self.finish_all_at(Location::caller()).map(SmallVec::into_vec)
    }

    pub(crate) fn finish_at(self, location: &'static Location<'static>) -> Result<Value<'g>> {
        let name = self.op.name();
        self.finish_all_at(location)?.first().copied().ok_or_else(|| {
            Error::new(ErrorKind::Attribute, Phase::Build, format!("{name} has no outputs")).at(location)
        })
    }

    pub(crate) fn finish_all_at(
        mut self,
        location: &'static Location<'static>,
    ) -> Result<SmallVec<[Value<'g>; 1]>> {
        let graph = self.graph;
        if let Some(error) = self.error.take() {
            // The error of a poisoned operand already has a location. A scalar that the call refuses has no op yet.
            let is_of_scalar = error.op().is_none() && error.recorded_location() == Some(location);
            return Err(match error.recorded_location() {
                Some(_) if is_of_scalar => error.with_op(self.op.name(), self.op.name()),
                Some(_) => error,
                None => self.locate(error, location),
            });
        }
        let checked = self.op.check_attrs(&self.attrs, self.is_imported);
        let checked = checked.and_then(|()| self.check_own_dims()).and_then(|()| self.check_divisors());
        if let Err(error) = checked {
            return Err(self.locate(error, location));
        }
        let first = self.operands.iter().min_by_key(|(place, _)| *place);
        let first = first.map(|(_, value)| graph.read().values[value.index()].dtype);
        if let Some(build) = self.op.composition(first) {
            return self.finish_composite(build, location);
        }
        self.spread_lists();
        self.pass_after_list();
        self.operands.sort_by_key(|(place, _)| *place);
        let operands: SmallVec<[ValueIx; 2]> = self.operands.iter().map(|(_, value)| *value).collect();
        let given_operands = self.operands.iter().map(|(place, _)| *place as usize).collect();
        let mut data = graph.write();
        let outcome = data
            .check_call(&self.op, &operands, given_operands, &self.attrs)
            .and_then(|()| data.add(&self.op, operands, given_operands, &self.attrs, None, location));
        let broken = data.table.broken_guard().cloned().filter(|_| outcome.is_err());
        drop(data);
        match outcome {
            Ok(values) => Ok(values.map(|value| Value::new(graph, value)).collect()),
            Err(error) => {
                let error = self.locate(error, location);
                // An error with an origin states the guard itself.
                let broken = broken.filter(|_| error.guard_origin().is_none() && is_about_sizes(&error));
                Err(match broken {
                    Some(record) => graph.read().with_condition(error, &record),
                    None => error,
                })
            }
        }
    }

    /// Checks that no attribute mentions an unknown dimension of another graph or of a closed region, which would mean
    /// nothing here.
    fn check_own_dims(&self) -> Result<()> {
        let mut is_foreign = false;
        let data = self.graph.read();
        self.attrs.symbols(&mut |symbol| is_foreign |= data.table.is_foreign(symbol));
        if is_foreign { Err(self.graph.foreign_dim()) } else { Ok(()) }
    }

    /// Checks that no constant divisor of an integer division is 0.
    fn check_divisors(&self) -> Result<()> {
        if self.is_imported {
            return Ok(());
        }
        let Some((_, divisor)) = self.operands.iter().find(|(place, _)| *place == 1) else { return Ok(()) };
        let data = self.graph.read();
        if !self.op.is_division() || !data.values[divisor.index()].dtype.is_integer() {
            return Ok(());
        }
        let constant = data.constants.get(&data.values[divisor.index()].node).cloned();
        let Some(tensor) = constant.or_else(|| data.const_fold(*divisor)) else { return Ok(()) };
        let size = tensor.dtype().size_bytes().expect("an integer has a fixed size");
        let bytes =
            tensor.view().bytes().chunks(size).position(|element| element.iter().all(|byte| *byte == 0));
        let Some(position) = bytes else { return Ok(()) };
        let place = place_text(position, tensor.sizes());
        let message = format!("a divisor must not be 0, got 0{place} in operand 1");
        Err(Error::new(ErrorKind::DivideByZero, Phase::Build, message))
    }

    /// Moves the last values of the only list to the data operands that the declaration has after the list. Before
    /// this step, the list holds these values, because [`OpBuilder::data`] puts every value into the first list.
    fn pass_after_list(&mut self) {
        let Some(list) = self.op.operand_list() else { return };
        let mut lists = (0..list.len()).filter(|place| matches!(list[*place], Operand::Variadic(_)));
        let (Some(only), None) = (lists.next(), lists.next()) else { return };
        let has_operand = |place: usize| self.operands.iter().any(|(given, _)| *given as usize == place);
        let after: SmallVec<[usize; 2]> = (only + 1..list.len())
            .filter(|place| matches!(list[*place], Operand::Data(_)) && !has_operand(*place))
            .collect();
        let in_list =
            self.operands.iter_mut().map(|(place, _)| place).filter(|place| **place as usize == only);
        let last = in_list.rev().take(after.len()).collect::<SmallVec<[&mut u32; 2]>>();
        for (place, target) in last.into_iter().zip(after.into_iter().rev()) {
            *place = target as u32;
        }
    }

    /// Shares the operands of the first list equally among all lists of the declaration. Before this step, the first
    /// list holds the operands of all lists, because [`OpBuilder::data`] puts every operand into the first list.
    fn spread_lists(&mut self) {
        let Some(list) = self.op.operand_list() else { return };
        let is_list: Vec<bool> = list.iter().map(|operand| matches!(operand, Operand::Variadic(_))).collect();
        let lists = is_list.iter().filter(|list| **list).count();
        let Some(first) = is_list.iter().position(|list| *list).filter(|_| lists > 1) else { return };
        if self.operands.iter().any(|(place, _)| *place as usize > first) {
            return;
        }
        let in_first: SmallVec<[&mut u32; 4]> = self
            .operands
            .iter_mut()
            .map(|(place, _)| place)
            .filter(|place| **place as usize == first)
            .collect();
        let part = in_first.len().div_ceil(lists).max(1);
        for (number, place) in in_first.into_iter().enumerate() {
            *place += (number / part) as u32;
        }
    }

    fn finish_composite(
        self,
        build: crate::op::CompositeFn,
        location: &'static Location<'static>,
    ) -> Result<SmallVec<[Value<'g>; 1]>> {
        let graph = self.graph;
        let mut operands = self.operands.clone();
        operands.sort_by_key(|(place, _)| *place);
        let values: Vec<Value<'g>> = operands.iter().map(|(_, value)| Value::new(graph, *value)).collect();
        let checkpoint = graph.write().checkpoint();
        let built = {
            let operands: SmallVec<[ValueIx; 4]> = operands.iter().map(|(_, value)| *value).collect();
            let _scope = super::Scope::of_call(graph, self.op.name(), location);
            let _call = graph.open_composite(&self.op, &operands, &self.attrs, location);
            let cx = CompositeCx { attrs: &self.attrs };
            caught(self.op.name(), "body", || build(&cx, &values))
                .and_then(|built| built.into_iter().map(Value::ok).collect::<Result<_>>())
        };
        match built {
            Ok(values) => {
                graph.write().commit(checkpoint);
                Ok(values)
            }
            Err(error) => {
                graph.write().rollback(checkpoint);
                Err(if error.recorded_location().is_some() { error } else { self.locate(error, location) })
            }
        }
    }

    /// Adds the op's call, the user's line, the origin of the operands, and earlier equalities to an error.
    fn locate(&self, error: Error, location: &'static Location<'static>) -> Error {
        let data = self.graph.read();
        let names = data.names_for_error().unwrap_or_default();
        names.scope(|| self.locate_in(&data, error, location))
    }

    fn locate_in(&self, data: &GraphData, error: Error, location: &'static Location<'static>) -> Error {
        let operands: Vec<ValueIx> = self.operands.iter().map(|(_, value)| *value).collect();
        let around = data.call.or_else(|| data.scope_chain(data.scope).first().map(|(_, at)| *at));
        let origin = data.call_origin(&operands, &self.attrs, location);
        let location = around.filter(|_| is_library_line(location)).unwrap_or(location);
        let shown_operands = data.operands_of_program(&self.op, origin).unwrap_or(&operands);
        let blamed = error.blamed_operand();
        let ties = if is_about_sizes(&error) { data.ties_of(&operands, error.message()) } else { Vec::new() };
        // A tensor among the arguments becomes a constant node, whose line is the line of the call.
        let is_tensor = |number: usize| {
            let node = operands.get(number).map(|operand| data.node_of(*operand));
            node.is_some_and(|node| matches!(node.op.body, Body::Constant) && *node.location == *location)
        };
        let error = error.with_tensor_casts(is_tensor);
        let call = data.call_text(&self.op, &operands, &self.attrs);
        let mut error = data.blame(error, &self.op, call, origin).in_call_at(location);
        // The error always shows the origin of the blamed operand.
        let shown = |number: usize| number < SHOWN_OPERANDS || Some(number) == blamed;
        for (number, operand) in shown_operands.iter().enumerate().filter(|(number, _)| shown(*number)) {
            error = data.note_operand(error, number, *operand, location);
        }
        for (text, at) in ties.into_iter().take(SHOWN_TIES) {
            error = error.note(text, Some(at));
        }
        if let Some(origin) = error.guard_origin() {
            let (label, at) = data.call_at(origin);
            error = error
                .note(format!("the condition is from {label}"), Some(at).filter(|at| !is_library_line(at)));
        }
        error.in_scopes(data.scopes_of_error(data.scope))
    }
}

impl GraphData {
    /// Adds a note to an error of a call at `location`: the node that made operand `number`, unless this call made it.
    pub(crate) fn note_operand(
        &self,
        error: Error,
        number: usize,
        operand: ValueIx,
        location: &'static Location<'static>,
    ) -> Error {
        let node = self.node_of(operand);
        match (is_library_line(node.location), node.own_name()) {
            (true, Some(name)) => error.note(format!("operand {number} comes from {name}"), None),
            (false, _) if *node.location != *location => {
                let name = self.node_label(self.values[operand.index()].node);
                error.note(format!("operand {number} comes from {name}"), Some(node.location))
            }
            _ => error,
        }
    }
}

/// Returns whether an error is about sizes, and not about a rank, an axis or an attribute. Equalities of dimensions
/// explain sizes only.
fn is_about_sizes(error: &Error) -> bool {
    let message = error.message();
    let is_about = |subject: &str| message.contains(subject);
    !matches!(error.kind(), ErrorKind::Attribute | ErrorKind::DType)
        && !["rank", "axis must be", "axes must be"].into_iter().any(is_about)
}

/// The maximum number of operands whose origin an error shows.
pub(crate) const SHOWN_OPERANDS: usize = 4;

/// The maximum number of equalities that an error shows.
const SHOWN_TIES: usize = 4;
