//! Listing and replacing the symbols of shapes and attributes.

use crate::{Attr, Attrs, Dim, Symbol, TensorShape};

impl TensorShape {
    /// Replaces every symbol `s` for which `f(s)` is `Some`.
    pub fn substitute(&self, f: &mut dyn FnMut(Symbol) -> Option<Dim>) -> TensorShape {
        match self.dims() {
            Some(dims) => TensorShape::new(dims.iter().map(|dim| dim.substitute(f))),
            None => TensorShape::unranked(),
        }
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

impl Attrs {
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
