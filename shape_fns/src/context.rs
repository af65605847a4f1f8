//! [`InferenceContext`]: what a shape function reads and writes.

use std::ops::Range;

use smallvec::SmallVec;

use crate::error::bail;
use crate::{
    Attr, Attrs, DType, Dim, DimTable, Guard, PartialElements, Result, ShapeError, SymbolKind, TensorShape,
};

/// A shape function: reads operands and attributes of one op and sets the shapes of its outputs.
///
/// The same function serves partial and concrete operands: what it promises of partial ones must hold of concrete
/// ones, and with fully known operands and parameters it sets every dimension, except those that only the data decide.
pub type ShapeFn = fn(&mut InferenceContext<'_>) -> Result<()>;

/// What is known of one operand.
#[derive(Clone, Copy, Debug)]
pub struct OperandInfo<'a> {
    /// Its shape.
    pub shape: &'a TensorShape,
    /// The type of its elements.
    pub dtype: DType,
    /// Its elements, where it is a small integer tensor some elements of which are known.
    pub value: Option<&'a PartialElements>,
}

/// The operands and attributes of one op, and what its shape function says of the outputs.
///
/// ```
/// use shapeflow_shape_fns::{Attrs, DType, DimTable, InferenceContext, OperandInfo, array, shape};
/// let mut table = DimTable::new();
/// let (shape, attrs) = (table.import(&shape!["n", 3, ?]), Attrs::new().with("perm", [2, 0, 1]));
/// let x = OperandInfo { shape: &shape, dtype: DType::F32, value: None };
/// let mut cx = InferenceContext::new(&["x"], std::slice::from_ref(&x), &attrs, &mut table, 1);
/// array::transpose(&mut cx)?;
/// assert_eq!(cx.finish()?.shapes[0].to_string(), "[?, n, 3]");
/// # Ok::<(), shapeflow_shape_fns::ShapeError>(())
/// ```
#[derive(Debug)]
pub struct InferenceContext<'a> {
    names: &'a [&'static str],
    operands: &'a [OperandInfo<'a>],
    attrs: &'a Attrs,
    table: &'a mut DimTable,
    /// Operands some of whose dimensions turned out equal to something since; empty when there are none.
    resolved: Vec<(TensorShape, Option<PartialElements>)>,
    /// Anonymous symbols from here on were made for this op.
    first_own: usize,
    result: InferenceResult,
}

/// What a shape function said of the outputs.
#[derive(Clone, Debug, Default)]
pub struct InferenceResult {
    /// The shape of every output.
    pub shapes: SmallVec<[TensorShape; 1]>,
    /// Of every output the elements, where it is a small integer tensor and something is known of them.
    pub values: SmallVec<[Option<PartialElements>; 1]>,
    /// Normalised parameters the op's body reads, by name.
    pub derived: Vec<Derived>,
}

/// A normalised parameter: its name and its elements.
pub type Derived = (&'static str, SmallVec<[Dim; 4]>);

static UNRANKED: TensorShape = TensorShape::unranked();

impl<'a> InferenceContext<'a> {
    /// A context for one op. `names` are the operands' names in order; one that ends in `..` stands for any number of
    /// operands, several such for equally many each.
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
        let result = InferenceResult {
            shapes: (0..outputs).map(|_| TensorShape::unranked()).collect(),
            values: (0..outputs).map(|_| None).collect(),
            derived: Vec::new(),
        };
        let first_own = table.symbol_count();
        InferenceContext { names, operands, attrs, table, resolved, first_own, result }
    }

    /// The number of operands.
    pub fn len(&self) -> usize {
        self.operands.len()
    }

    /// Whether there are no operands.
    pub fn is_empty(&self) -> bool {
        self.operands.is_empty()
    }

    /// The shape of operand `index`; unranked past the last.
    pub fn input(&self, index: usize) -> &TensorShape {
        match self.resolved.get(index) {
            Some((shape, _)) => shape,
            None => self.operands.get(index).map_or(&UNRANKED, |operand| operand.shape),
        }
    }

    /// The element type of operand `index`.
    pub fn input_dtype(&self, index: usize) -> Option<DType> {
        self.operands.get(index).map(|operand| operand.dtype)
    }

    /// The elements of operand `index`, as far as they are known.
    pub fn input_value(&self, index: usize) -> Option<&PartialElements> {
        match self.resolved.get(index) {
            Some((_, value)) => value.as_ref(),
            None => self.operands.get(index).and_then(|operand| operand.value),
        }
    }

    /// The positions of the operands of this name: one, any number where the name is variadic, none where it is
    /// absent. Several variadic names have equally many.
    pub fn operands_named(&self, name: &str) -> Range<usize> {
        let given = self.operands.len();
        let lists = self.names.iter().filter(|own| own.ends_with("..")).count();
        let spread = given.saturating_sub(self.names.len() - lists) / lists.max(1);
        let mut start = 0;
        for own in self.names {
            let width = if own.ends_with("..") { spread } else { 1 };
            if own.trim_end_matches("..") == name {
                return start.min(given)..(start + width).min(given);
            }
            start += width;
        }
        0..0
    }

    /// The position of the operand of this name, where there is one.
    pub fn operand(&self, name: &str) -> Option<usize> {
        Some(self.operands_named(name)).filter(|range| range.len() == 1).map(|range| range.start)
    }

    /// The attribute of this name.
    pub fn attr(&self, name: &str) -> Option<&'a Attr> {
        self.attrs.get(name)
    }

    /// All attributes.
    pub fn attrs(&self) -> &'a Attrs {
        self.attrs
    }

    /// The table of the graph.
    pub fn table(&mut self) -> &mut DimTable {
        self.table
    }

    /// The number of outputs.
    pub fn outputs(&self) -> usize {
        self.result.shapes.len()
    }

    /// Sets the shape of output `index`; an output that is never set is unranked.
    pub fn set_output(&mut self, index: usize, shape: TensorShape) {
        if let Some(output) = self.result.shapes.get_mut(index) {
            *output = shape;
        }
    }

    /// The shape of output `index` as set so far.
    pub fn output(&self, index: usize) -> &TensorShape {
        self.result.shapes.get(index).unwrap_or(&UNRANKED)
    }

    /// Sets the elements of output `index`, an integer tensor. More than [`PartialElements::MAX`] are not kept.
    pub fn set_output_value(&mut self, index: usize, value: PartialElements) {
        if let Some(output) = self.result.values.get_mut(index) {
            *output = Some(value).filter(|value| value.len() <= PartialElements::MAX);
        }
    }

    /// Sets a normalised parameter that the op's body reads: numbers, expressions, or fresh integers, which the same
    /// function defines when it runs on concrete operands.
    pub fn set_derived(&mut self, name: &'static str, values: impl IntoIterator<Item = Dim>) {
        self.result.derived.retain(|(other, _)| *other != name);
        self.result.derived.push((name, values.into_iter().collect()));
    }

    /// A new unknown size.
    pub fn fresh(&mut self) -> Dim {
        self.table.fresh(SymbolKind::Size)
    }

    /// A new unknown integer, possibly negative.
    pub fn fresh_integer(&mut self) -> Dim {
        self.table.fresh(SymbolKind::Integer)
    }

    /// A shape of so many new unknown sizes.
    pub fn unknown_shape_of_rank(&mut self, rank: usize) -> TensorShape {
        TensorShape::new(
            (0..rank).map(|_| self.table.fresh(SymbolKind::Size)).collect::<SmallVec<[Dim; 4]>>(),
        )
    }

    /// Records that two dimensions are equal and returns what both are: [`DimTable::merge`].
    ///
    /// # Errors
    /// They are provably different.
    pub fn merge(&mut self, a: &Dim, b: &Dim) -> Result<Dim> {
        self.table.merge(a, b)
    }

    /// Records that two shapes are equal: [`DimTable::merge_shapes`].
    ///
    /// # Errors
    /// Their ranks or two dimensions are provably different.
    pub fn merge_shapes(&mut self, a: &TensorShape, b: &TensorShape) -> Result<TensorShape> {
        self.table.merge_shapes(a, b)
    }

    /// The shape of operand `index`, which must have this rank; of an unranked operand, that many new unknown sizes.
    ///
    /// # Errors
    /// The rank is known and another.
    pub fn with_rank(&mut self, index: usize, rank: usize) -> Result<TensorShape> {
        let shape = self.input(index);
        match shape.rank() {
            Some(own) if own == rank => Ok(shape.clone()),
            None => Ok(self.unknown_shape_of_rank(rank)),
            Some(own) => {
                Err(self.blame(index, format_args!("must have rank {rank}, got rank {own} in {shape}")))
            }
        }
    }

    /// The shape of operand `index`, whose rank must be at least this or unknown.
    ///
    /// # Errors
    /// The rank is smaller.
    pub fn with_rank_at_least(&mut self, index: usize, rank: usize) -> Result<TensorShape> {
        let shape = self.input(index);
        match shape.rank() {
            Some(own) if own < rank => {
                Err(self
                    .blame(index, format_args!("must have rank at least {rank}, got rank {own} in {shape}")))
            }
            _ => Ok(shape.clone()),
        }
    }

    /// The shape of operand `index`, whose rank must be at most this or unknown.
    ///
    /// # Errors
    /// The rank is greater.
    pub fn with_rank_at_most(&mut self, index: usize, rank: usize) -> Result<TensorShape> {
        let shape = self.input(index);
        match shape.rank() {
            Some(own) if own > rank => {
                Err(self
                    .blame(index, format_args!("must have rank at most {rank}, got rank {own} in {shape}")))
            }
            _ => Ok(shape.clone()),
        }
    }

    /// An error about operand `index`, which the message starts with.
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

    /// The shape two shapes broadcast to, aligned at their last axes; unranked if either is.
    ///
    /// A number other than 1 against an unknown gives the number, with a guard; an unknown against 1 keeps its
    /// identity; two unknowns give `bcast(a, b)`, which the op checks when it runs.
    ///
    /// # Errors
    /// Two dimensions are provably different and neither is 1.
    pub fn broadcast(&mut self, a: &TensorShape, b: &TensorShape) -> Result<TensorShape> {
        let (Some(x), Some(y)) = (a.dims(), b.dims()) else { return Ok(TensorShape::unranked()) };
        if x == y && !self.table.has_equalities() {
            return Ok(a.clone());
        }
        let (longer, shorter) = if x.len() >= y.len() { (x, y) } else { (y, x) };
        let offset = longer.len() - shorter.len();
        let mut dims: SmallVec<[Dim; 4]> = SmallVec::with_capacity(longer.len());
        dims.extend(longer[..offset].iter().cloned());
        for (axis, (p, q)) in longer[offset..].iter().zip(shorter).enumerate() {
            let dim = self.broadcast_dims(p, q).map_err(|error| {
                let (x, y) = if x.len() >= y.len() { (p, q) } else { (q, p) };
                let (x, y) = (self.table.resolve(x), self.table.resolve(y));
                match (x.as_known(), y.as_known()) {
                    (Some(x), Some(y)) => ShapeError::new(format_args!(
                        "dimensions must be equal or 1 to broadcast, got {x} and {y} at axis {} of {a} and {b}",
                        axis + offset
                    )),
                    _ => error,
                }
            })?;
            dims.push(dim);
        }
        Ok(TensorShape::from(dims))
    }

    /// The shape that all operands broadcast to.
    ///
    /// # Errors
    /// As [`InferenceContext::broadcast`].
    pub fn broadcast_operands(&mut self) -> Result<TensorShape> {
        // Operands outlive the context, so that only those resolved anew are cloned.
        let operands = self.operands;
        let resolved = std::mem::take(&mut self.resolved);
        let shape = |index: usize| match resolved.get(index) {
            Some((shape, _)) => shape,
            None => operands.get(index).map_or(&UNRANKED, |operand| operand.shape),
        };
        let mut all = match operands.len() {
            0 | 1 => Ok(shape(0).clone()),
            _ => self.broadcast(shape(0), shape(1)).map_err(|error| error.operand(1)),
        };
        for index in 2..operands.len() {
            let Ok(sofar) = &all else { break };
            all = self.broadcast(sofar, shape(index)).map_err(|error| error.operand(index));
        }
        self.resolved = resolved;
        all
    }

    /// The dimension two broadcast to: see [`InferenceContext::broadcast`].
    ///
    /// # Errors
    /// They are provably different and neither is 1.
    pub fn broadcast_dims(&mut self, a: &Dim, b: &Dim) -> Result<Dim> {
        let (a, b) = (self.table.resolve(a), self.table.resolve(b));
        match (a.as_known(), b.as_known()) {
            _ if a == b => a.validate().map(|()| a),
            (Some(1), _) => Ok(b),
            (_, Some(1)) => Ok(a),
            (Some(_), None) => self.require(Guard::OneOrEqual(b, a.clone())).map(|()| a),
            (None, Some(_)) => self.require(Guard::OneOrEqual(a, b.clone())).map(|()| b),
            _ => a.bcast(&b),
        }
    }

    /// Requires a condition. What can't be decided becomes a guard, checked when sizes are known; except a condition
    /// on symbols made for this op, which are only defined by running its shape function again, and that decides it.
    ///
    /// # Errors
    /// It is disproven.
    pub fn require(&mut self, guard: Guard) -> Result<()> {
        if guard.dims().into_iter().any(|dim| self.is_own(dim)) {
            if guard.decide() == Some(false) {
                bail!("{guard} must hold");
            }
            return Ok(());
        }
        self.table.require(guard)
    }

    /// Whether a dimension mentions a symbol made for this op.
    pub(crate) fn is_own(&self, dim: &Dim) -> bool {
        let mut own = false;
        dim.symbols(&mut |symbol| own |= symbol.table_index().is_some_and(|index| index >= self.first_own));
        own
    }

    /// Ends inference: every dimension is resolved and must be possible.
    ///
    /// # Errors
    /// An output has an invalid or provably negative dimension. Where that is undecided a guard is recorded.
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
        Ok(self.result)
    }

    /// Refuses a dimension that is surely negative; where that is undecided a guard is recorded.
    fn check_size(&mut self, axis: usize, dim: &Dim) -> Result<()> {
        dim.validate()?;
        let bounds = dim.bounds();
        if bounds.is_above(-1) {
            return Ok(());
        }
        if bounds.is_below(0) {
            bail!("no dimension of the result may be negative, got {dim} at axis {axis}");
        }
        self.require(Guard::Ge(dim.clone(), Dim::known(0)))
    }
}
