//! [`SymbolNames`]: names of anonymous symbols, for texts that people read.

use rustc_hash::FxHashMap;

use crate::dim::display::{Anonymous, write_dim};
use crate::{Dim, Guard, Symbol, TensorShape};

/// Names of anonymous symbols, for texts that people read.
///
/// A name exists in the text only: it makes no symbol a named symbol. A symbol without a name is `?`.
///
/// ```
/// use shapeflow_shape_fns::{Dim, IntoDim, SymbolNames, TensorShape, Unknown};
///
/// let steps = Unknown.into_dim();
/// let mut names = SymbolNames::default();
/// names.insert(steps.as_symbol().unwrap(), "tokens.1".to_string());
/// let shape = TensorShape::new([Unknown.into_dim(), steps]);
/// assert_eq!(names.shape(&shape), "[?, tokens.1]");
/// ```
#[derive(Clone, Debug, Default)]
pub struct SymbolNames(FxHashMap<Symbol, String>);

impl SymbolNames {
    /// Names a symbol.
    pub fn insert(&mut self, symbol: Symbol, name: String) {
        self.0.insert(symbol, name);
    }

    /// Returns the name of a symbol.
    pub fn get(&self, symbol: Symbol) -> Option<&str> {
        self.0.get(&symbol).map(String::as_str)
    }

    /// Returns the text of a dimension.
    pub fn dim(&self, dim: &Dim) -> String {
        self.text(dim, &self.spelling(std::slice::from_ref(dim)))
    }

    /// Returns the text of a shape: `[n, ?]`, or `?` for unknown rank.
    pub fn shape(&self, shape: &TensorShape) -> String {
        let Some(dims) = shape.dims() else { return "?".to_string() };
        let spelling = self.spelling(dims);
        let dims: Vec<String> = dims.iter().map(|dim| self.text(dim, &spelling)).collect();
        format!("[{}]", dims.join(", "))
    }

    /// Returns the text of a condition.
    pub fn guard(&self, guard: &Guard) -> String {
        guard.text(&|dim| self.dim(dim))
    }

    /// Returns the spelling of all anonymous symbols of some dimensions.
    fn spelling(&self, dims: &[Dim]) -> Anonymous {
        let mut names = FxHashMap::default();
        for dim in dims {
            dim.symbols(&mut |symbol| {
                if let Some(name) = self.0.get(&symbol) {
                    names.insert(symbol, name.clone());
                }
            });
        }
        match names.is_empty() {
            true => Anonymous::of(dims, false),
            false => Anonymous::Spelled(names),
        }
    }

    fn text(&self, dim: &Dim, spelling: &Anonymous) -> String {
        let mut text = String::new();
        write_dim(&mut text, dim, spelling).expect("writing to a string does not fail");
        text
    }
}
