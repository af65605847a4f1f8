//! `OpBuilder`: adds one node as a transaction.

use std::panic::{AssertUnwindSafe, Location, catch_unwind};

use shapeflow_shape_fns::{
    Attr, Attrs, DType, Dim, InferenceContext, InferenceResult, OperandInfo, PartialElements, SymbolKind,
};
use smallvec::SmallVec;

use super::{Extra, Graph, Inner, Node, NodeIx, Value, ValueIx, fold};
use crate::error::{Error, ErrorKind, Phase, Result, is_own_line};
use crate::op::{Body, CompositeCx, OpRef, Operand};

/// A parameter of an op: elements known or symbolic when the graph is built, or a value.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Param<'g> {
    /// Integers or dimensions given by the program.
    Elements(PartialElements),
    /// Computed or fed when the graph runs.
    Value(Value<'g>),
    /// Not usable, and why.
    Refused(String),
}

/// What may stand for a size or structure parameter.
pub trait IntoParam<'g> {
    #[doc(hidden)]
    fn into_param(self) -> Param<'g>;
}

impl<'g> IntoParam<'g> for Param<'g> {
    fn into_param(self) -> Param<'g> {
        self
    }
}

impl<'g> IntoParam<'g> for Value<'g> {
    fn into_param(self) -> Param<'g> {
        Param::Value(self)
    }
}

impl<'g> IntoParam<'g> for i64 {
    fn into_param(self) -> Param<'g> {
        Param::Elements(PartialElements::scalar(Dim::known(self)))
    }
}

impl<'g> IntoParam<'g> for Dim {
    fn into_param(self) -> Param<'g> {
        Param::Elements(PartialElements::scalar(self))
    }
}

impl<'g> IntoParam<'g> for &[i64] {
    fn into_param(self) -> Param<'g> {
        Param::Elements(PartialElements::vector(self.iter().map(|&element| Dim::known(element))))
    }
}

impl<'g, const N: usize> IntoParam<'g> for [i64; N] {
    fn into_param(self) -> Param<'g> {
        self[..].into_param()
    }
}

impl<'g, const N: usize> IntoParam<'g> for &[i64; N] {
    fn into_param(self) -> Param<'g> {
        self[..].into_param()
    }
}

impl<'g> IntoParam<'g> for &[Dim] {
    fn into_param(self) -> Param<'g> {
        Param::Elements(PartialElements::vector(self.iter().cloned()))
    }
}

/// Collects the operands and attributes of a node; [`OpBuilder::finish`] infers dtypes and shapes and adds it.
///
/// A call that is refused leaves no trace in the graph.
#[must_use = "nothing is added before `finish`"]
pub struct OpBuilder<'g> {
    graph: &'g Graph,
    op: OpRef,
    /// Declared place and value.
    operands: SmallVec<[(u32, ValueIx); 4]>,
    attrs: Attrs,
    error: Option<Error>,
}

impl<'g> OpBuilder<'g> {
    pub(crate) fn new(graph: &'g Graph, op: OpRef) -> OpBuilder<'g> {
        OpBuilder { graph, op, operands: SmallVec::new(), attrs: Attrs::default(), error: None }
    }

    fn refuse(&mut self, error: Error) {
        self.error.get_or_insert(error);
    }

    fn push(&mut self, place: u32, value: Value<'g>) {
        if value.graph().tag() != self.graph.tag() {
            let message = format!(
                "operands must belong to one graph, got values of the graphs made at {} and at {}",
                self.graph.created(),
                value.graph().created()
            );
            return self.refuse(Error::new(ErrorKind::ForeignValue, Phase::Build, message));
        }
        match value.index() {
            Ok(index) => self.operands.push((place, index)),
            Err(error) => self.refuse(error),
        }
    }

    /// The next data operand.
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

    /// Several data operands.
    pub fn data_all(mut self, values: &[Value<'g>]) -> Self {
        for value in values {
            self = self.data(*value);
        }
        self
    }

    fn param(mut self, name: &'static str, param: Param<'g>) -> Self {
        match param {
            Param::Elements(elements) => {
                self.attrs.insert(name, Attr::Elements(elements.into()));
            }
            Param::Refused(message) => self.refuse(Error::new(ErrorKind::Shape, Phase::Build, message)),
            Param::Value(value) => {
                let place = self
                    .op
                    .operand_list()
                    .and_then(|list| list.iter().position(|operand| operand.name() == name));
                match place {
                    Some(place) => self.push(place as u32, value),
                    None => {
                        let message = format!("{} has no operand named {name}", self.op.name());
                        self.refuse(Error::new(ErrorKind::Attribute, Phase::Build, message));
                    }
                }
            }
        }
        self
    }

    /// A parameter whose elements become dimensions or offsets, constant or computed.
    pub fn size(self, name: &'static str, param: impl IntoParam<'g>) -> Self {
        self.param(name, param.into_param())
    }

    /// A parameter whose elements choose the loop nest, constant or computed.
    pub fn structure(self, name: &'static str, param: impl IntoParam<'g>) -> Self {
        self.param(name, param.into_param())
    }

    /// An attribute.
    pub fn attr(mut self, name: &'static str, value: impl Into<Attr>) -> Self {
        self.attrs.insert(name, value.into());
        self
    }

    /// Operand number `place` of those declared.
    #[cfg(feature = "graphdef")]
    pub(crate) fn operand(mut self, place: usize, value: Value<'g>) -> Self {
        self.push(u32::try_from(place).unwrap_or(u32::MAX), value);
        self
    }

    /// All attributes at once.
    #[cfg(feature = "graphdef")]
    pub(crate) fn attrs(mut self, attrs: Attrs) -> Self {
        self.attrs = attrs;
        self
    }

    /// Adds the node and gives its first output.
    ///
    /// # Errors
    /// The op refuses the dtypes, shapes or attributes; an operand is poisoned or of another graph.
    #[track_caller]
    pub fn finish(self) -> Result<Value<'g>> {
        self.finish_at(Location::caller())
    }

    /// Adds the node and gives all its outputs.
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
            // A poisoned operand's error already has its own place.
            return Err(if error.location().is_some() { error } else { self.locate(error, location) });
        }
        if let Body::Composite(build) = self.op.body {
            return self.finish_composite(build, location);
        }
        self.spread_lists();
        self.operands.sort_by_key(|(place, _)| *place);
        let operands: SmallVec<[ValueIx; 2]> = self.operands.iter().map(|(_, value)| *value).collect();
        let given = self.operands.iter().fold(0, |mask, (place, _)| mask | 1 << (*place).min(31));
        let outcome = graph.write().add(&self.op, operands, given, &self.attrs, None, location);
        match outcome {
            Ok(values) => Ok(values.map(|value| Value::new(graph, value)).collect()),
            Err(error) => Err(self.locate(error, location)),
        }
    }

    /// Data operands go to the first list of a declaration: where it has several, each gets its part.
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
        let values: Vec<Value<'g>> =
            self.operands.iter().map(|(_, value)| Value::new(graph, *value)).collect();
        let checkpoint = graph.write().checkpoint();
        let built = {
            let _scope = super::Scope::enter(graph, self.op.name().into(), location);
            let cx = CompositeCx { attrs: &self.attrs };
            catch_unwind(AssertUnwindSafe(|| build(&cx, &values)))
                .unwrap_or_else(|panic| Err(panicked(self.op.name(), "body", &*panic)))
                .and_then(|built| built.into_iter().map(Value::ok).collect::<Result<_>>())
        };
        built.map_err(|error| {
            graph.write().rollback(checkpoint);
            if error.location().is_some() { error } else { self.locate(error, location) }
        })
    }

    /// Adds what the user needs to find the place.
    fn locate(&self, error: Error, location: &'static Location<'static>) -> Error {
        let inner = self.graph.read();
        let scopes = inner.scope_chain(inner.scope);
        let location =
            if is_own_line(location) { scopes.first().map_or(location, |(_, at)| at) } else { location };
        let operands: Vec<ValueIx> = self.operands.iter().map(|(_, value)| *value).collect();
        let blamed = error.blamed_operand();
        let ties = inner.ties_of(&operands, error.message());
        let mut error =
            error.with_op(self.op.name(), inner.call_text(&self.op, &operands, &self.attrs)).at(location);
        // The operand to blame is shown however many there are.
        let shown = |number: usize| number < SHOWN_OPERANDS || Some(number) == blamed;
        for (number, operand) in operands.iter().enumerate().filter(|(number, _)| shown(*number)) {
            let node = inner.node_of(*operand);
            if is_own_line(node.location)
                && let Some(name) = node.own_name()
            {
                error = error.note(format!("operand {number} comes from {name}"), None);
                continue;
            }
            if !std::ptr::eq(node.location, location)
                && !is_own_line(node.location)
                && *node.location != *location
            {
                let name = inner.node_label(inner.values[operand.at()].node);
                error = error.note(format!("operand {number} comes from {name}"), Some(node.location));
            }
        }
        for (text, at) in ties.into_iter().take(SHOWN_TIES) {
            error = error.note(text, Some(at));
        }
        error.in_scopes(scopes)
    }
}

/// Operands whose origin an error shows.
const SHOWN_OPERANDS: usize = 4;

/// Equalities that an error shows.
const SHOWN_TIES: usize = 4;

/// What a user's panic said.
pub(crate) fn panicked(op: &str, part: &str, payload: &(dyn std::any::Any + Send)) -> Error {
    let said = payload
        .downcast_ref::<&str>()
        .map(|text| (*text).to_string())
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_string());
    Error::new(ErrorKind::Custom, Phase::Build, format!("the {part} of {op} panicked: {said}"))
}

/// How much of a graph existed, to take back what a refused call has added.
pub(super) struct Checkpoint {
    nodes: usize,
    values: usize,
    errors: usize,
    mark: shapeflow_shape_fns::Mark,
}

impl Inner {
    pub(super) fn checkpoint(&mut self) -> Checkpoint {
        Checkpoint {
            nodes: self.nodes.len(),
            values: self.values.len(),
            errors: self.errors.len(),
            mark: self.table.begin(),
        }
    }

    pub(super) fn rollback(&mut self, to: Checkpoint) {
        for node in to.nodes..self.nodes.len() {
            self.constants.remove(&NodeIx(node as u32));
        }
        self.nodes.truncate(to.nodes);
        self.values.truncate(to.values);
        self.errors.truncate(to.errors);
        self.table.rollback(to.mark);
    }

    /// Infers and adds one node; on error nothing has changed.
    pub(crate) fn add(
        &mut self,
        op: &OpRef,
        operands: SmallVec<[ValueIx; 2]>,
        given: u32,
        attrs: &Attrs,
        name: Option<String>,
        location: &'static Location<'static>,
    ) -> Result<impl Iterator<Item = ValueIx> + use<>> {
        let op = op.clone();
        if let Some(list) = op.operand_list() {
            for (place, operand) in list.iter().enumerate() {
                if matches!(operand, Operand::Data(_)) && given & (1 << place) == 0 {
                    let message = format!("operand {} must be given", operand.name());
                    return Err(Error::new(ErrorKind::Attribute, Phase::Build, message));
                }
            }
        }
        let Some(shape_fn) = op.shape_function() else {
            return Err(Error::new(ErrorKind::Attribute, Phase::Build, "the op needs a shape function"));
        };
        let dtypes: SmallVec<[DType; 4]> =
            operands.iter().map(|value| self.values[value.at()].dtype).collect();
        let count = || (op.infer_dtypes(&dtypes, attrs), op.output_count(attrs, operands.len()));
        let (output_dtypes, outputs) = catch_unwind(AssertUnwindSafe(count))
            .map_err(|panic| panicked(op.name(), "dtype rule", &*panic))?;
        let output_dtypes = output_dtypes?;
        if output_dtypes.len() != outputs {
            let message = format!("the dtype rule must give {outputs} dtypes, got {}", output_dtypes.len());
            return Err(Error::new(ErrorKind::DType, Phase::Build, message));
        }

        let mark = self.table.begin();
        self.table.set_origin(self.nodes.len() as u32);
        let mut node = Node {
            op,
            operands,
            given,
            first_output: ValueIx(0),
            outputs: 0,
            extra: None,
            location,
            scope: self.scope,
        };
        let symbolised = self.symbolise_parameters(&node);
        match self.infer(&node, attrs, shape_fn, outputs) {
            Ok(result) => {
                self.table.commit(mark);
                if !attrs.is_empty() || result.derived().len() > 0 || name.is_some() {
                    let derived = result.derived().map(|(name, dims)| (name, dims.to_vec())).collect();
                    node.extra = Some(Box::new(Extra { attrs: attrs.clone(), derived, name }));
                }
                let outputs_known = output_dtypes
                    .into_iter()
                    .zip(result.into_outputs())
                    .map(|(dtype, (shape, elements))| (dtype, shape, elements.map(Box::new)));
                let first = self.push(node, outputs_known);
                Ok((first.0..first.0 + outputs as u32).map(ValueIx))
            }
            Err(error) => {
                self.table.rollback(mark);
                for value in symbolised {
                    self.values[value.at()].elements = None;
                }
                Err(error)
            }
        }
    }

    /// Gives the unknown elements of size operands symbols that a run binds, and folds parameters that
    /// depend on constants alone.
    fn symbolise_parameters(&mut self, node: &Node) -> SmallVec<[ValueIx; 2]> {
        let mut changed = SmallVec::new();
        if matches!(node.op.body, Body::Absent) {
            for &value in &node.operands {
                if self.values[value.at()].elements.is_none() {
                    self.values[value.at()].elements = fold::constant_elements(self, value);
                }
            }
            return changed;
        }
        let Some(list) = node.op.operand_list() else { return changed };
        let given =
            list.iter().enumerate().filter(|(i, _)| node.given & (1 << i) != 0).map(|(_, operand)| operand);
        for (operand, &value) in given.zip(&node.operands) {
            if matches!(operand, Operand::Data(_) | Operand::Variadic(_)) {
                continue;
            }
            if self.values[value.at()].elements.is_none()
                && let Some(elements) = fold::constant_elements(self, value)
            {
                self.values[value.at()].elements = Some(elements);
                continue;
            }
            let info = &self.values[value.at()];
            if !matches!(operand, Operand::Size(_)) || info.elements.is_some() || !info.dtype.is_integer() {
                continue;
            }
            let Some(sizes) = self.table.resolve_shape(&info.shape).as_known() else { continue };
            let count = sizes.iter().try_fold(1usize, |count, &size| count.checked_mul(size));
            let Some(count) = count.filter(|count| *count <= MAX_SYMBOLIC_ELEMENTS) else { continue };
            let elements: Vec<Dim> = (0..count).map(|_| self.table.fresh(SymbolKind::Integer)).collect();
            let Ok(elements) = PartialElements::with_sizes(&sizes, elements) else { continue };
            self.values[value.at()].elements = Some(Box::new(elements));
            changed.push(value);
        }
        changed
    }

    fn infer(
        &mut self,
        node: &Node,
        attrs: &Attrs,
        shape_fn: shapeflow_shape_fns::ShapeFn,
        outputs: usize,
    ) -> Result<InferenceResult> {
        let names = node.operand_names();
        let values = &self.values;
        let operands: SmallVec<[OperandInfo<'_>; 4]> = node
            .operands
            .iter()
            .map(|value| {
                let info = &values[value.at()];
                OperandInfo { shape: &info.shape, dtype: info.dtype, value: info.elements.as_deref() }
            })
            .collect();
        let table = &mut self.table;
        let mut cx = InferenceContext::new(&names, &operands, attrs, table, outputs);
        catch_unwind(AssertUnwindSafe(|| shape_fn(&mut cx)))
            .unwrap_or_else(|panic| {
                Err(shapeflow_shape_fns::ShapeError::new(
                    panicked(node.op.name(), "shape function", &*panic).message().to_string(),
                ))
            })
            .and_then(|()| cx.finish())
            .map_err(Error::from)
    }
}

/// Size operands longer than this keep unknown elements.
const MAX_SYMBOLIC_ELEMENTS: usize = 64;
