//! Texts of dimensions, shapes and conditions with [`SymbolNames`].

use crate::dim::display::{Anonymous, write_dim};
use crate::{Dim, Guard, SymbolNames, TensorShape};

impl SymbolNames {
    /// Returns the text of a dimension.
    pub fn dim(&self, dim: &Dim) -> String {
        self.text(dim, &self.spelling(std::slice::from_ref(dim)))
    }

    /// Returns the text of a shape: `[n, ?]`, or `[..]` for unknown rank.
    pub fn shape(&self, shape: &TensorShape) -> String {
        let Some(dims) = shape.dims() else { return "[..]".to_string() };
        let spelling = self.spelling(dims);
        let dims: Vec<String> = dims.iter().map(|dim| self.text(dim, &spelling)).collect();
        format!("[{}]", dims.join(", "))
    }

    /// Returns the text of a condition.
    pub fn guard(&self, guard: &Guard) -> String {
        guard.text(&self.spelling(&guard.dims().map(Dim::clone)))
    }

    /// Returns the spelling of all anonymous symbols of some dimensions.
    fn spelling(&self, dims: &[Dim]) -> Anonymous {
        Anonymous::named(dims, self)
    }

    fn text(&self, dim: &Dim, spelling: &Anonymous) -> String {
        let mut text = String::new();
        write_dim(&mut text, dim, spelling).expect("writing to a string does not fail");
        text
    }
}
