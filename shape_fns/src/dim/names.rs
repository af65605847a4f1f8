//! [`SymbolNames`]: names of anonymous symbols, for texts that people read.

use std::cell::RefCell;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::Symbol;

/// Names of anonymous symbols, for texts that people read.
///
/// A name exists in the text only: the symbol stays anonymous. A symbol without a name is `?`, or is numbered
/// (`?0`) if it occurs more than once.
///
/// ```
/// # use shapeflow_shape_fns::{Dim, IntoDim, SymbolNames, TensorShape, Unknown};
///
/// let steps = Unknown.into_dim();
/// let mut names = SymbolNames::default();
/// names.insert(steps.as_symbol().unwrap(), "tokens.1".to_string());
/// let shape = TensorShape::new([Unknown.into_dim(), steps]);
/// assert_eq!(names.shape(&shape), "[?, tokens.1]");
/// ```
#[derive(Clone, Debug, Default)]
pub struct SymbolNames(Arc<FxHashMap<Symbol, String>>);

thread_local! {
    /// The names that [`SymbolNames::scope`] has put into force on this thread.
    static IN_FORCE: RefCell<SymbolNames> = RefCell::default();
}

/// Puts the names back into force that were in force before, also after a panic.
struct Restore(SymbolNames);

impl Drop for Restore {
    fn drop(&mut self) {
        IN_FORCE.set(std::mem::take(&mut self.0));
    }
}

impl SymbolNames {
    /// Names a symbol.
    pub fn insert(&mut self, symbol: Symbol, name: String) {
        Arc::make_mut(&mut self.0).insert(symbol, name);
    }

    /// Runs `f`. Meanwhile `Display` of dimensions, shapes and guards writes these names on this thread, so that
    /// messages which `f` makes have them.
    ///
    /// ```
    /// # use shapeflow_shape_fns::{IntoDim, SymbolNames, Unknown};
    ///
    /// let steps = Unknown.into_dim();
    /// let mut names = SymbolNames::default();
    /// names.insert(steps.as_symbol().unwrap(), "tokens.1".to_string());
    /// assert_eq!(names.scope(|| format!("must be {}", 2 * &steps)), "must be 2*tokens.1");
    /// assert_eq!(steps.to_string(), "?");
    /// ```
    pub fn scope<T>(&self, f: impl FnOnce() -> T) -> T {
        let _restore = Restore(IN_FORCE.replace(self.clone()));
        f()
    }

    /// Returns the names that are in force on this thread.
    pub(crate) fn in_force() -> SymbolNames {
        IN_FORCE.with_borrow(SymbolNames::clone)
    }

    /// Returns the name of a symbol.
    pub fn get(&self, symbol: Symbol) -> Option<&str> {
        self.0.get(&symbol).map(String::as_str)
    }
}
