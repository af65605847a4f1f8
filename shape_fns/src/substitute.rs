//! Substitution of symbols in shapes and attributes.

use crate::{Attr, Attrs, Dim, Symbol, TensorShape};

impl TensorShape {
    /// The shape with other dimensions in place of symbols.
    pub fn substitute(&self, f: &mut dyn FnMut(Symbol) -> Option<Dim>) -> TensorShape {
        match self.dims() {
            Some(dims) => TensorShape::new(dims.iter().map(|dim| dim.substitute(f))),
            None => TensorShape::unranked(),
        }
    }
}

impl Attr {
    /// The attribute with other dimensions in place of symbols.
    pub fn substitute(&self, f: &mut dyn FnMut(Symbol) -> Option<Dim>) -> Attr {
        match self {
            Attr::Shape(shape) => Attr::Shape(shape.substitute(f)),
            Attr::Shapes(shapes) => Attr::Shapes(shapes.iter().map(|shape| shape.substitute(f)).collect()),
            Attr::Elements(elements) => Attr::Elements(elements.substitute(f).into()),
            other => other.clone(),
        }
    }
}

impl Attrs {
    /// The attributes with other dimensions in place of symbols.
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
