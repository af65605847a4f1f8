//! [`Dim::as_linear`]: recognition of dimensions that are linear in one symbol.

use crate::dim::poly::{Atom, Monomial, terms_of};
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

    /// Returns the terms of a polynomial: a coefficient for each product of symbols. A term without symbols is the
    /// constant. Returns `None` if the dimension has another part, such as a quotient or a maximum.
    ///
    /// ```
    /// # use shapeflow_shape_fns::Dim;
    ///
    /// let dim: Dim = "3*n*m + 2".parse()?;
    /// let terms = dim.as_polynomial().expect("a polynomial");
    /// assert_eq!(terms.iter().map(|(factor, symbols)| (*factor, symbols.len())).max(), Some((3, 2)));
    /// assert_eq!("floordiv(n, 2)".parse::<Dim>()?.as_polynomial(), None);
    /// # Ok::<(), shapeflow_shape_fns::ShapeError>(())
    /// ```
    pub fn as_polynomial(&self) -> Option<Vec<(i64, Vec<Symbol>)>> {
        let symbol = |atom: &Atom| match atom {
            Atom::Symbol(symbol) => Some(*symbol),
            _ => None,
        };
        let term = |(monomial, coefficient): (Monomial, i64)| {
            Some((coefficient, monomial.0.iter().map(symbol).collect::<Option<Vec<_>>>()?))
        };
        terms_of(self).ok()?.into_iter().map(term).collect()
    }
}
