//! [`InferenceContext`]: the interface between a shape function and the op it runs on.

mod broadcast;
mod constraint;
mod result;
mod shapes;

use std::ops::Range;

pub use result::InferenceResult;

use crate::dim::symbol::{Symbol, SymbolKind};
use crate::error::bail;
use crate::{Attr, Attrs, DType, Dim, DimTable, Guard, PartialElements, Result, ShapeError, TensorShape};

/// A function that reads the operands and attributes of one op and sets the shapes of the op's outputs.
///
/// The same function runs on partially known and on concrete operands. Whatever it infers from partial operands must
/// hold for all concrete operands that fit them. For fully known operands and parameters it sets every dimension,
/// except dimensions that depend on the data.
///
/// An example with two outputs: the scores of multi-head attention with `heads` heads, and the values by head.
///
/// ```
/// use shapeflow_shape_fns::{
///     Attrs, DType, Dim, DimTable, InferenceContext, OperandInfo, Result, TensorShape, shape,
/// };
///
/// /// `query [..batch, n, d], key [..batch, m, d] -> [..batch, heads, n, m], [..batch, heads, m, d / heads]`.
/// fn attention(cx: &mut InferenceContext<'_>) -> Result<()> {
///     let heads = Dim::known(cx.int("heads")?);
///     let (query, key) = (cx.with_rank_at_least(0, 2)?, cx.with_rank_at_least(1, 2)?);
///     let (batch, same_batch) = (cx.subshape(&query, ..-2)?, cx.subshape(&key, ..-2)?);
///     let batch = cx.merge_shapes(&batch, &same_batch).map_err(|error| error.operand(1))?;
///     let (Some([.., n, d]), Some([.., m, same_d])) = (query.dims(), key.dims()) else { return Ok(()) };
///     let d = cx.merge(d, same_d).map_err(|error| error.operand(1))?;
///     let width = cx.exact_div(&d, &heads)?;
///     let scores = TensorShape::new([heads.clone(), n.clone(), m.clone()]);
///     cx.set_output(0, cx.concatenate(&batch, &scores));
///     let values = cx.replace_dim(&scores, -2, m.clone())?;
///     cx.set_output(1, cx.concatenate(&batch, &cx.replace_dim(&values, -1, width)?));
///     Ok(())
/// }
///
/// let mut table = DimTable::new();
/// let shapes = [shape!["b", "n", 64], shape![?, "m", ?]].map(|shape| table.import(&shape));
/// let operands = shapes.each_ref().map(|shape| OperandInfo { shape, dtype: DType::F32, value: None });
/// let attrs = Attrs::new().with("heads", 8);
/// let mut cx = InferenceContext::new(&["query", "key"], &operands, &attrs, &mut table, 2);
/// attention(&mut cx)?;
/// let outputs = cx.finish()?;
/// assert_eq!(outputs.shapes()[0].to_string(), "[b, 8, n, m]");
/// assert_eq!(outputs.shapes()[1].to_string(), "[b, 8, m, 8]");
///
/// let attrs = Attrs::new().with("heads", 7);
/// let mut cx = InferenceContext::new(&["query", "key"], &operands, &attrs, &mut table, 2);
/// assert_eq!(attention(&mut cx).unwrap_err().to_string(), "64 must be a multiple of 7");
/// # Ok::<(), shapeflow_shape_fns::ShapeError>(())
/// ```
pub type ShapeFn = fn(&mut InferenceContext<'_>) -> Result<()>;

/// One operand, as far as it is known.
#[derive(Clone, Copy, Debug)]
pub struct OperandInfo<'a> {
    /// The shape.
    pub shape: &'a TensorShape,
    /// The dtype.
    pub dtype: DType,
    /// The elements, if the operand is a small integer tensor with some known elements.
    pub value: Option<&'a PartialElements>,
}

/// The interface of a shape function: the operands and attributes of one op, and the outputs to set.
///
/// ```
/// use shapeflow_shape_fns::{Attrs, DType, DimTable, InferenceContext, OperandInfo, array, shape};
/// let mut table = DimTable::new();
/// let (shape, attrs) = (table.import(&shape!["n", 3, ?]), Attrs::new().with("perm", [2, 0, 1]));
/// let x = OperandInfo { shape: &shape, dtype: DType::F32, value: None };
/// let mut cx = InferenceContext::new(&["x"], std::slice::from_ref(&x), &attrs, &mut table, 1);
/// array::transpose(&mut cx)?;
/// assert_eq!(cx.finish()?.shapes()[0].to_string(), "[?, n, 3]");
/// # Ok::<(), shapeflow_shape_fns::ShapeError>(())
/// ```
#[derive(Debug)]
pub struct InferenceContext<'a> {
    names: &'a [&'static str],
    operands: &'a [OperandInfo<'a>],
    attrs: &'a Attrs,
    table: &'a mut DimTable,
    /// The shapes and elements of all operands with replaced symbols substituted, if any operand mentions a symbol that
    /// an equality replaced; otherwise empty.
    resolved: Vec<(TensorShape, Option<PartialElements>)>,
    /// The index of the first anonymous symbol that is made during this inference.
    first_new_symbol: usize,
    result: InferenceResult,
}

static UNRANKED: TensorShape = TensorShape::unranked();

impl<'a> InferenceContext<'a> {
    /// Makes the context of one op with `outputs` outputs. `names` are the names of the operands in order. A name that
    /// ends in `..` stands for any number of operands; several such names share the remaining operands equally.
    pub fn new(
        names: &'a [&'static str],
        operands: &'a [OperandInfo<'a>],
        attrs: &'a Attrs,
        table: &'a mut DimTable,
        outputs: usize,
    ) -> InferenceContext<'a> {
        let stale = table.has_equalities()
            && operands.iter().any(|operand| {
                table.is_stale(operand.shape.dims().unwrap_or_default())
                    || operand.value.is_some_and(|value| table.is_stale(value.elements()))
            });
        let mut resolved = Vec::new();
        if stale {
            resolved.extend(operands.iter().map(|operand| {
                (table.resolve_shape(operand.shape), operand.value.map(|value| table.resolve_elements(value)))
            }));
        }
        let result = InferenceResult::unknown(outputs);
        let first_new_symbol = table.next_symbol();
        InferenceContext { names, operands, attrs, table, resolved, first_new_symbol, result }
    }

    /// Returns the number of operands.
    pub fn len(&self) -> usize {
        self.operands.len()
    }

    /// Returns whether there are no operands.
    pub fn is_empty(&self) -> bool {
        self.operands.is_empty()
    }

    /// Returns the shape of operand `index`, or an unranked shape if there is no such operand.
    pub fn input(&self, index: usize) -> &TensorShape {
        match self.resolved.get(index) {
            Some((shape, _)) => shape,
            None => self.operands.get(index).map_or(&UNRANKED, |operand| operand.shape),
        }
    }

    /// Returns the dtype of operand `index`.
    pub fn input_dtype(&self, index: usize) -> Option<DType> {
        self.operands.get(index).map(|operand| operand.dtype)
    }

    /// Returns the elements of operand `index` if it is a small integer tensor with some known elements.
    pub fn input_value(&self, index: usize) -> Option<&PartialElements> {
        match self.resolved.get(index) {
            Some((_, value)) => value.as_ref(),
            None => self.operands.get(index).and_then(|operand| operand.value),
        }
    }

    /// Returns the indices of the operands called `name`: one index, or any number if the name is variadic, or none if
    /// there is no such operand. Several variadic names have equally many operands each.
    pub fn operands_named(&self, name: &str) -> Range<usize> {
        let given = self.operands.len();
        let lists = self.names.iter().filter(|declared| declared.ends_with("..")).count();
        let list_len = given.saturating_sub(self.names.len() - lists) / lists.max(1);
        let mut start = 0;
        for declared in self.names {
            let width = if declared.ends_with("..") { list_len } else { 1 };
            if declared.trim_end_matches("..") == name {
                return start.min(given)..(start + width).min(given);
            }
            start += width;
        }
        0..0
    }

    /// Returns the index of the operand called `name` if there is exactly one.
    pub fn operand(&self, name: &str) -> Option<usize> {
        Some(self.operands_named(name)).filter(|range| range.len() == 1).map(|range| range.start)
    }

    /// Returns the attribute `name`.
    pub fn attr(&self, name: &str) -> Option<&'a Attr> {
        self.attrs.get(name)
    }

    /// Returns all attributes.
    pub fn attrs(&self) -> &'a Attrs {
        self.attrs
    }

    /// Returns the table of the graph.
    pub fn table(&mut self) -> &mut DimTable {
        self.table
    }

    /// Returns the number of outputs.
    pub fn outputs(&self) -> usize {
        self.result.shapes.len()
    }

    /// Sets the shape of output `index`. An output that is never set is unranked.
    pub fn set_output(&mut self, index: usize, shape: TensorShape) {
        if let Some(output) = self.result.shapes.get_mut(index) {
            *output = shape;
        }
    }

    /// Returns the shape of output `index` as set so far.
    pub fn output(&self, index: usize) -> &TensorShape {
        self.result.shapes.get(index).unwrap_or(&UNRANKED)
    }

    /// Sets the elements of output `index`, an integer tensor. More than [`PartialElements::MAX`] elements are dropped.
    pub fn set_output_value(&mut self, index: usize, value: PartialElements) {
        if let Some(output) = self.result.values.get_mut(index) {
            *output = Some(value).filter(|value| value.len() <= PartialElements::MAX);
        }
    }

    /// Sets a derived parameter: a normalized value of parameter `name`, such as an axis counted from the front. The
    /// body of the op reads the derived value instead of the parameter that was passed. The elements are numbers,
    /// expressions, or new integer symbols; the same shape function computes the symbols when it runs on concrete
    /// operands.
    pub fn set_derived(&mut self, name: &'static str, values: impl IntoIterator<Item = Dim>) {
        self.result.derived.retain(|(other, _)| *other != name);
        self.result.derived.push((name, values.into_iter().collect()));
    }

    /// Makes an error that blames operand `index`. Its message is the name of the operand followed by `requirement`.
    pub fn blame(&self, index: usize, requirement: impl std::fmt::Display) -> ShapeError {
        let variadic = |name: &&&str| {
            name.ends_with("..") && self.operands_named(name.trim_end_matches("..")).contains(&index)
        };
        let name = match self.names.iter().find(variadic) {
            Some(_) => None,
            None => self.names.iter().find(|name| self.operand(name) == Some(index)),
        };
        match name {
            Some(name) => ShapeError::new(format_args!("{name} {requirement}")).operand(index),
            None => ShapeError::new(format_args!("operand {index} {requirement}")).operand(index),
        }
    }

    /// Ends the inference: resolves every dimension of the outputs and checks that the dimension may be a size.
    ///
    /// In a table [in the order of definitions](DimTable::in_definition_order) a run must also be able to compute the
    /// value of every symbol. The run calls the shape function again on concrete operands. A symbol made for this op
    /// gets its value there from a dimension or a derived parameter that is this symbol alone. Hence, if a symbol
    /// occurs only inside expressions, a new symbol replaces each of these expressions.
    ///
    /// # Errors
    /// An output has an invalid or provably negative dimension. If the sign is undecided, a guard is recorded instead.
    pub fn finish(mut self) -> Result<InferenceResult> {
        for output in 0..self.result.shapes.len() {
            let dims = self.output(output).dims().unwrap_or_default();
            let stale = self.table.has_equalities() && self.table.is_stale(dims);
            if !stale && dims.iter().all(Dim::is_plain_size) {
                continue;
            }
            let shape = self.table.resolve_shape(self.output(output));
            for (axis, dim) in shape.dims().unwrap_or_default().iter().enumerate() {
                self.check_size(axis, dim)?;
            }
            self.set_output(output, shape);
        }
        if self.table.has_equalities() {
            for value in self.result.values.iter_mut().flatten() {
                *value = self.table.resolve_elements(value);
            }
            for dim in self.result.derived.iter_mut().flat_map(|(_, dims)| dims) {
                *dim = self.table.resolve(dim);
            }
        }
        if self.table.keeps_definition_order() && self.table.next_symbol() > self.first_new_symbol {
            self.replace_hidden_symbols();
        }
        Ok(self.result)
    }

    /// Finds the symbols of this op that occur only inside expressions. A new symbol replaces every expression that
    /// mentions such a symbol.
    fn replace_hidden_symbols(&mut self) {
        let shapes = self.result.shapes.iter().flat_map(|shape| shape.dims().unwrap_or_default());
        let derived = self.result.derived.iter().flat_map(|(_, dims)| dims);
        let (mut plain, mut hidden): (Vec<Symbol>, Vec<Symbol>) = Default::default();
        for dim in shapes.chain(derived).filter(|dim| self.mentions_fresh_symbol(dim)) {
            match dim.as_symbol() {
                Some(symbol) => plain.push(symbol),
                None => dim.symbols(&mut |symbol| hidden.push(symbol)),
            }
        }
        hidden.retain(|symbol| self.is_fresh(*symbol) && !plain.contains(symbol));
        if hidden.is_empty() {
            return;
        }
        // Pairs of an expression and the new symbol that replaces it.
        let mut replaced: Vec<(Dim, Dim)> = Vec::new();
        let table = &mut *self.table;
        let mut replace = |dim: &Dim, kind: SymbolKind| {
            if !hidden.iter().any(|symbol| dim.mentions(*symbol)) {
                return dim.clone();
            }
            match replaced.iter().find(|(expression, _)| expression == dim) {
                Some((_, symbol)) => symbol.clone(),
                None => {
                    let fresh = table.fresh(kind);
                    replaced.push((dim.clone(), fresh.clone()));
                    fresh
                }
            }
        };
        for shape in &mut self.result.shapes {
            *shape = shape.map(|dim| replace(dim, SymbolKind::Size));
        }
        for dim in self.result.derived.iter_mut().flat_map(|(_, dims)| dims) {
            *dim = replace(dim, SymbolKind::Integer);
        }
    }

    /// Returns an error if `dim` is provably negative, and records a guard if the sign is undecided.
    fn check_size(&mut self, axis: usize, dim: &Dim) -> Result<()> {
        dim.validate()?;
        let bounds = dim.bounds();
        if bounds.is_above(-1) {
            return Ok(());
        }
        if bounds.is_below(0) {
            bail!("a dimension of the result must not be negative, got {dim} at axis {axis}");
        }
        self.require(Guard::Ge(dim.clone(), Dim::known(0)))
    }
}
