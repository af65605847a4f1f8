//! [`Dim::terms`]: the parts of a dimension, for code that computes the dimension in another language.

use crate::dim::poly::{Atom, terms_of};
use crate::{Dim, DimFunction, Symbol};

/// A factor of a term of a dimension.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum DimFactor {
    /// A symbol.
    Symbol(Symbol),
    /// A call of a function.
    Call(DimFunction, Vec<Dim>),
}

impl Dim {
    /// Returns the dimension as a sum of terms, each a coefficient and the factors of a product. A term without factors
    /// is the constant. Returns `None` if the dimension is invalid.
    ///
    /// ```
    /// # use shapeflow_shape_fns::{Dim, DimFactor, DimFunction};
    ///
    /// let dim: Dim = "3*n*floordiv(m, 2) + 2".parse()?;
    /// let terms = dim.terms().expect("a valid dimension");
    /// assert_eq!(terms.iter().map(|(coefficient, _)| *coefficient).collect::<Vec<_>>(), [3, 2]);
    /// assert!(matches!(&terms[0].1[1], DimFactor::Call(DimFunction::FloorDiv, args) if args.len() == 2));
    /// # Ok::<(), shapeflow_shape_fns::ShapeError>(())
    /// ```
    pub fn terms(&self) -> Option<Vec<(i64, Vec<DimFactor>)>> {
        let factor = |atom: &Atom| match atom {
            Atom::Symbol(symbol) => DimFactor::Symbol(*symbol),
            Atom::Call(call) => DimFactor::Call(call.function, call.args.to_vec()),
        };
        let terms = terms_of(self).ok()?.into_iter();
        Some(
            terms
                .map(|(monomial, coefficient)| (coefficient, monomial.0.iter().map(factor).collect()))
                .collect(),
        )
    }
}
