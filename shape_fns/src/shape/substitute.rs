//! Listing and replacing the symbols of shapes and attributes.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use crate::{Attr, Attrs, Dim, IntoDim, Symbol, TensorShape, Unknown};

impl TensorShape {
    /// Replaces every symbol `s` for which `f(s)` is `Some`.
    pub fn substitute(&self, f: &mut dyn FnMut(Symbol) -> Option<Dim>) -> TensorShape {
        match self.dims() {
            Some(dims) => TensorShape::new(dims.iter().map(|dim| dim.substitute(f))),
            None => TensorShape::unranked(),
        }
    }

    /// Returns the shape with a new free symbol for each of its free symbols.
    pub fn with_new_unknowns(&self) -> TensorShape {
        self.substitute(&mut new_unknowns())
    }
}

impl Attr {
    /// Replaces every symbol `s` for which `f(s)` is `Some`.
    pub fn substitute(&self, f: &mut dyn FnMut(Symbol) -> Option<Dim>) -> Attr {
        match self {
            Attr::Shape(shape) => Attr::Shape(shape.substitute(f)),
            Attr::Shapes(shapes) => Attr::Shapes(shapes.iter().map(|shape| shape.substitute(f)).collect()),
            Attr::Elements(elements) => Attr::Elements(elements.substitute(f).into()),
            other => other.clone(),
        }
    }

    /// Calls `f` on every occurrence of every symbol.
    pub fn symbols(&self, f: &mut impl FnMut(Symbol)) {
        let dims = match self {
            Attr::Shape(shape) => shape.dims().unwrap_or_default(),
            Attr::Shapes(shapes) => {
                let dims = shapes.iter().flat_map(|shape| shape.dims().unwrap_or_default());
                return dims.for_each(|dim| dim.symbols(f));
            }
            Attr::Elements(elements) => elements.elements(),
            _ => return,
        };
        dims.iter().for_each(|dim| dim.symbols(f));
    }
}

/// Returns a function that gives each free symbol a new free symbol.
fn new_unknowns() -> impl FnMut(Symbol) -> Option<Dim> {
    let mut new: FxHashMap<Symbol, Dim> = FxHashMap::default();
    move |symbol| symbol.is_free().then(|| new.entry(symbol).or_insert_with(|| Unknown.into_dim()).clone())
}

impl Attrs {
    /// Returns the attributes with a new free symbol for each free symbol of each shape. A shape may be an attribute of
    /// several nodes, and each node has unknowns of its own.
    pub fn with_new_unknowns(&self) -> Cow<'_, Attrs> {
        let mut result = Cow::Borrowed(self);
        for (name, attr) in self.iter() {
            let mut has_unknowns = false;
            attr.symbols(&mut |symbol| has_unknowns |= symbol.is_free());
            if has_unknowns {
                let renewed = match attr {
                    Attr::Shapes(shapes) => {
                        let shapes = shapes.iter().map(TensorShape::with_new_unknowns);
                        Attr::Shapes(shapes.collect())
                    }
                    other => other.substitute(&mut new_unknowns()),
                };
                result.to_mut().insert(name.to_string(), renewed);
            }
        }
        result
    }

    /// Calls `f` on every occurrence of every symbol.
    pub fn symbols(&self, f: &mut impl FnMut(Symbol)) {
        self.iter().for_each(|(_, attr)| attr.symbols(f));
    }

    /// Replaces every symbol `s` for which `f(s)` is `Some`.
    pub fn substitute(&self, f: &mut dyn FnMut(Symbol) -> Option<Dim>) -> Attrs {
        let mut result = self.clone();
        for (name, attr) in self.iter() {
            let symbolic = matches!(attr, Attr::Shape(_) | Attr::Shapes(_) | Attr::Elements(_));
            if symbolic {
                result.insert(name.to_string(), attr.substitute(f));
            }
        }
        result
    }
}
