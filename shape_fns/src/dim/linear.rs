//! [`Dim::as_linear`]: recognition of dimensions that are linear in one symbol.

use crate::dim::poly::{Atom, terms_of};
use crate::{Dim, Symbol};

impl Dim {
    /// Returns `(a, s, b)` if the dimension is `a·s + b` with one symbol `s` and `a != 0`.
    ///
    /// ```
    /// # use shapeflow_shape_fns::Dim;
    ///
    /// let dim: Dim = "2*n + 1".parse()?;
    /// assert_eq!(dim.as_linear().map(|(a, s, b)| (a, s.to_string(), b)), Some((2, "n".to_string(), 1)));
    /// assert_eq!("n*m".parse::<Dim>()?.as_linear(), None);
    /// # Ok::<(), shapeflow_shape_fns::ShapeError>(())
    /// ```
    pub fn as_linear(&self) -> Option<(i64, Symbol, i64)> {
        if let Some(symbol) = self.as_symbol() {
            return Some((1, symbol, 0));
        }
        let (mut linear, mut constant) = (None, 0);
        for (monomial, coefficient) in terms_of(self).ok()? {
            match monomial.0.as_slice() {
                [] => constant = coefficient,
                [Atom::Symbol(symbol)] if linear.is_none() => linear = Some((coefficient, *symbol)),
                _ => return None,
            }
        }
        linear.map(|(coefficient, symbol)| (coefficient, symbol, constant))
    }
}
