//! `SizeSources`: the tensors of a graph that have the sizes which symbols stand for.

use std::collections::HashMap;

use shapeflow_shape_fns::{Dim, DimFactor, Symbol};

use crate::graph::{GraphData, ValueIx};
use crate::op::Body;

/// A size or an element of a tensor.
#[derive(Clone, Copy, Debug)]
pub(super) struct SizeSource {
    pub value: ValueIx,
    pub place: Place,
}

/// The place of a number that a tensor holds.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    /// The size of an axis.
    Axis(usize),
    /// The element of a scalar.
    Scalar,
    /// An element of a vector.
    Element(usize),
}

/// The places whose numbers mention each symbol, in the order of the values.
pub(super) struct SizeSources {
    by_symbol: HashMap<Symbol, Candidates>,
}

#[derive(Default)]
struct Candidates {
    /// The axes of inputs whose size is the symbol.
    input_axes: Vec<SizeSource>,
    /// All axes whose size is the symbol.
    axes: Vec<SizeSource>,
    /// The scalars that are the symbol.
    scalars: Vec<SizeSource>,
    /// The elements of vectors that are the symbol.
    elements: Vec<SizeSource>,
    /// The places whose number is another expression with the symbol, such as `n+1` or `2*n`.
    compound: Vec<(SizeSource, Dim)>,
}

/// The terms of a sum: each a coefficient and the factors of a product.
pub(super) type Terms = Vec<(i64, Vec<DimFactor>)>;

/// An equation `source = divisor·symbol + rest`.
pub(super) struct Equation {
    pub source: SizeSource,
    pub divisor: Terms,
    pub rest: Terms,
}

impl Equation {
    /// Returns the symbols in the divisor and the rest.
    pub(super) fn symbols(&self) -> Vec<Symbol> {
        let mut symbols = Vec::new();
        for factor in self.divisor.iter().chain(&self.rest).flat_map(|(_, factors)| factors) {
            match factor {
                DimFactor::Symbol(symbol) => symbols.push(*symbol),
                DimFactor::Call(_, args) => {
                    args.iter().for_each(|arg| arg.symbols(&mut |symbol| symbols.push(symbol)));
                }
                _ => {}
            }
        }
        symbols
    }
}

impl SizeSources {
    pub(super) fn of(data: &GraphData) -> SizeSources {
        let mut by_symbol: HashMap<Symbol, Candidates> = HashMap::new();
        let mut add = |source: SizeSource, dim: Dim| {
            if let Some(symbol) = dim.as_symbol() {
                let candidates = by_symbol.entry(symbol).or_default();
                match source.place {
                    Place::Axis(_) => {
                        candidates.axes.push(source);
                        if is_input(data, source.value) {
                            candidates.input_axes.push(source);
                        }
                    }
                    Place::Scalar => candidates.scalars.push(source),
                    Place::Element(_) => candidates.elements.push(source),
                }
                return;
            }
            let mut symbols = Vec::new();
            dim.symbols(&mut |symbol| {
                if !symbols.contains(&symbol) {
                    symbols.push(symbol);
                }
            });
            for symbol in symbols {
                by_symbol.entry(symbol).or_default().compound.push((source, dim.clone()));
            }
        };
        for (number, info) in data.values.iter().enumerate() {
            let value = ValueIx(number as u32);
            let shape = data.table.resolve_shape(&info.shape);
            for (axis, dim) in shape.dims().into_iter().flatten().enumerate() {
                add(SizeSource { value, place: Place::Axis(axis) }, dim.clone());
            }
            let Some(elements) = info.elements.as_ref().filter(|elements| elements.rank() < 2) else {
                continue;
            };
            for (index, element) in elements.elements().iter().enumerate() {
                let place = if elements.rank() == 0 { Place::Scalar } else { Place::Element(index) };
                add(SizeSource { value, place }, data.table.resolve(element));
            }
        }
        SizeSources { by_symbol }
    }

    /// Finds the place whose number is the symbol, among those that `is_usable` accepts: an axis of an input, or else
    /// the first axis or scalar, or else the first element of a vector.
    pub(super) fn exact<'s>(
        &'s self,
        data: &GraphData,
        symbol: Symbol,
        is_usable: &'s dyn Fn(ValueIx) -> bool,
    ) -> Option<SizeSource> {
        let candidates = self.by_symbol.get(&symbol)?;
        let usable =
            |sources: &'s [SizeSource]| sources.iter().copied().filter(|source| is_usable(source.value));
        if let Some(axis) = usable(&candidates.input_axes).next() {
            return Some(axis);
        }
        let mut scalars = usable(&candidates.scalars);
        // A node that names the size also checks it. The scalar that the node reads comes first, but nothing checks it.
        let names_size = |source: &SizeSource| {
            let mut is_named = false;
            let attrs = data.nodes[data.values[source.value.index()].node.index()].attrs();
            attrs.symbols(&mut |other| is_named |= other == symbol);
            is_named
        };
        let first = scalars.next();
        let scalar = first.into_iter().chain(scalars).find(names_size).or(first);
        match (usable(&candidates.axes).next(), scalar) {
            (Some(axis), Some(scalar)) if scalar.value < axis.value => Some(scalar),
            (axis, scalar) => axis.or(scalar).or_else(|| usable(&candidates.elements).next()),
        }
    }

    /// Returns the equations that can be solved for the symbol. Equations of inputs come first. Their sources are
    /// values that `is_usable` accepts.
    pub(super) fn equations<'s>(
        &'s self,
        data: &'s GraphData,
        symbol: Symbol,
        is_usable: &'s dyn Fn(ValueIx) -> bool,
    ) -> impl Iterator<Item = Equation> + 's {
        let compound = self.by_symbol.get(&symbol).into_iter().flat_map(|candidates| &candidates.compound);
        let usable = compound.filter(move |(source, _)| is_usable(source.value));
        let of_inputs = usable.clone().filter(|(source, _)| is_input(data, source.value));
        let others = usable.filter(|(source, _)| !is_input(data, source.value));
        of_inputs.chain(others).filter_map(move |(source, dim)| equation(*source, dim, symbol))
    }

    /// Returns the first input that has a size which determines the symbol, if every other symbol is known.
    pub(super) fn input_with(&self, data: &GraphData, symbol: Symbol) -> Option<ValueIx> {
        let is_usable = |value| is_input(data, value);
        let exact = self.exact(data, symbol, &is_usable);
        let source = exact.or_else(|| Some(self.equations(data, symbol, &is_usable).next()?.source))?;
        Some(source.value)
    }
}

/// Returns whether a value is an input of the graph.
pub(super) fn is_input(data: &GraphData, value: ValueIx) -> bool {
    matches!(data.nodes[data.values[value.index()].node.index()].op.body, Body::Input)
}

/// Writes `dim` as `divisor·symbol + rest`; `None` if it is not linear in the symbol.
fn equation(source: SizeSource, dim: &Dim, symbol: Symbol) -> Option<Equation> {
    let (mut divisor, mut rest) = (Terms::new(), Terms::new());
    for (coefficient, mut factors) in dim.terms()? {
        let is_symbol = |factor: &DimFactor| *factor == DimFactor::Symbol(symbol);
        match factors.iter().position(is_symbol) {
            Some(position) => {
                factors.remove(position);
                divisor.push((coefficient, factors));
            }
            None => rest.push((coefficient, factors)),
        }
    }
    let mentions = |(_, factors): &(i64, Vec<DimFactor>)| {
        factors.iter().any(|factor| match factor {
            DimFactor::Symbol(other) => *other == symbol,
            DimFactor::Call(_, args) => args.iter().any(|arg| arg.mentions(symbol)),
            _ => true,
        })
    };
    let is_linear = !divisor.is_empty() && !divisor.iter().chain(&rest).any(mentions);
    is_linear.then_some(Equation { source, divisor, rest })
}
