//! [`Dim`]: one dimension of a shape. A dimension is a number, a symbol, or an expression of symbols in canonical form.
//!
//! **In:** numbers, names, `?`, and arithmetic on other dimensions (`+ - * // %`, `ceildiv`, `min`, `max`, `bcast`).
//! **Out:** dimensions whose canonical form decides equality, three-valued comparisons, intervals ([`Bounds`]),
//! undecided conditions ([`Guard`]), and values for given values of the symbols ([`Dim::eval`]).
//!
//! | file | holds |
//! |---|---|
//! | `symbol` | [`Symbol`]: an unknown with its kind, named or anonymous |
//! | `poly` | the canonical form: a polynomial over symbols and calls such as `floordiv(n, 2)` |
//! | `quotient`, `lattice` | canonical `floordiv`, `mod` and `ceildiv`; canonical `min`, `max` and `bcast` |
//! | `operators`, `into_dim` | `+ - * %` on `Dim`; the types that convert to a `Dim` |
//! | `bounds`, `choice`, `compare`, `guard` | facts that the canonical form proves without a table |
//! | `solve`, `linear` | an equation solved for one symbol; the form `a·s + b` |
//! | `evaluate` | symbols replaced by dimensions or by values |
//! | `display`, `guard_text` | the text of a dimension and of a condition |
//! | `names`, `named_text` | names for the anonymous symbols in a text |
//!
//! `shape` builds shapes of dimensions, `infer` records facts about dimensions, and shape functions compute with
//! dimensions. The crate that compiles graphs evaluates dimensions when sizes are known.
//!
//! Nothing here knows a shape, a graph or an op. A dimension carries no facts: two symbols that a graph found equal
//! stay different symbols, and only [`DimTable`](crate::DimTable) knows of the equality.

mod bounds;
mod choice;
pub(crate) mod compare;
pub(crate) mod display;
pub(crate) mod evaluate;
mod guard;
mod guard_text;
mod into_dim;
pub(crate) mod lattice;
mod linear;
mod named_text;
mod names;
mod operators;
mod parts;
mod period;
pub(crate) mod poly;
pub(crate) mod quotient;
pub(crate) mod solve;
pub(crate) mod symbol;

pub use bounds::Bounds;
pub use guard::Guard;
pub use into_dim::{IntoDim, Unknown};
pub use names::SymbolNames;
pub use parts::DimFactor;
pub use poly::Function as DimFunction;
use symbol::BadName;
pub use symbol::{Symbol, SymbolKind};

use std::borrow::Cow;
use std::sync::Arc;

use crate::{Result, ShapeError};
use poly::Poly;

/// One dimension: a number, a symbol, or an expression such as `4*n+1` in canonical form.
///
/// A `Dim` takes 16 bytes. Known dimensions and plain symbols never allocate. Two dimensions are `==` exactly when
/// their canonical forms are equal; then the two dimensions have equal values for all values of the symbols. Dimensions
/// that are not `==` may still have equal values: [`Dim::same`] is three-valued.
///
/// The operators are `+ - * %`. There is no operator `/`, because a size is an integer: [`Dim::floordiv`] rounds the
/// quotient down, and [`Dim::ceil_div`] rounds it up.
///
/// Arithmetic is exact integer arithmetic, checked for overflow. The methods (`checked_add`, `floordiv`, …) return
/// errors. The operators `+ - * %` return an invalid dimension instead, and every later use of it returns an error. A
/// dimension may be negative as an intermediate result and as an element of an integer tensor. A shape refuses negative
/// dimensions.
///
/// A name ([`Dim::symbol`]) stands for a size in every graph. Each graph determines the size anew, by its own inputs.
/// An unknown dimension without a name (`?`) belongs to the graph that made it, and within the graph to the branch or
/// the loop body that made it. Outside, it stands for nothing: a graph refuses it with an error of the kind
/// `ForeignValue`.
///
/// A graph also takes a dimension as an operand, such as `n` in `x / &n`: see `guide::shapes` of `shapeflow`.
///
/// Differences from TensorFlow's `Dimension`, which forgets the expression in many cases:
///
/// | | TensorFlow | here |
/// |---|---|---|
/// | `n + 3`, `n * 2`, `n // 2`, `n % 2` | unknown | the expression |
/// | `0 * n` | unknown | `0` |
/// | `n // 0`, `n % 0` | unknown | an error |
/// | `7 // 0` | an error | an error |
/// | `2 - 5` | an error | `-3` |
/// | `n < 3`, `n == 3` | `None` | `None` |
/// | `n < n + 1`, `n >= 0` | `None` | `Some(true)` |
///
/// ```
/// # use shapeflow_shape_fns::Dim;
/// let n = Dim::symbol("n");
/// assert_eq!((2 * &n + 1) + (2 * &n - 1), 4 * &n);
/// assert_eq!((4 * &n).floordiv(4)?, n);
/// assert_eq!(n.ceil_div(2)?.to_string(), "ceildiv(n, 2)");
/// # Ok::<(), shapeflow_shape_fns::ShapeError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Dim(pub(crate) DimRepr);

#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) enum DimRepr {
    Known(i64),
    Symbol(Symbol),
    Poly(Arc<Poly>),
    Invalid(Invalid),
}

/// The reason why a dimension is invalid.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Invalid {
    Overflow,
    DivisionByZero,
    TooLarge,
    Name(BadName),
    Broadcast,
}

impl Invalid {
    fn message(self) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            Invalid::Overflow => "a dimension must fit in 64 bits, got an overflow",
            Invalid::DivisionByZero => "the divisor of a dimension must not be 0",
            Invalid::TooLarge => {
                "a dimension may have at most 64 terms, and calls nested at most 16 deep, got more: a product of sums \
                 has many terms, such as a*c+a*d+b*c+b*d for (a+b)*(c+d)"
            }
            Invalid::Name(name) => return name.message().into(),
            Invalid::Broadcast => "dimensions must be equal or 1 to broadcast, got other sizes",
        })
    }
}

impl From<Invalid> for ShapeError {
    fn from(why: Invalid) -> ShapeError {
        ShapeError::new(why.message())
    }
}

impl Dim {
    /// The unknown `?`. Each conversion by [`IntoDim`] makes a new anonymous symbol.
    pub const UNKNOWN: Unknown = Unknown;

    /// Makes a known dimension. Negative values are elements of integer tensors; a shape refuses them.
    pub const fn known(value: i64) -> Dim {
        Dim(DimRepr::Known(value))
    }

    /// Returns the symbol `name`, a size that is the same everywhere in the process. An ill-formed name gives an
    /// invalid dimension.
    pub fn symbol(name: &str) -> Dim {
        Dim(match Symbol::named(name) {
            Some(symbol) => DimRepr::Symbol(symbol),
            None => DimRepr::Invalid(Invalid::Name(BadName::new(name))),
        })
    }

    /// Returns the number of terms of the sum that the dimension is; 1 if it is a number or a symbol.
    pub(crate) fn term_count(&self) -> usize {
        match &self.0 {
            DimRepr::Poly(poly) => poly.terms().len(),
            _ => 1,
        }
    }

    /// Returns the value if the dimension is a number.
    #[inline]
    pub fn as_known(&self) -> Option<i64> {
        match self.0 {
            DimRepr::Known(value) => Some(value),
            _ => None,
        }
    }

    /// Returns whether the dimension is a number.
    pub fn is_known(&self) -> bool {
        matches!(self.0, DimRepr::Known(_))
    }

    /// Returns whether the dimension is a number `>= 0` or a plain symbol of kind [`SymbolKind::Size`].
    #[inline]
    pub(crate) fn is_plain_size(&self) -> bool {
        match self.0 {
            DimRepr::Known(value) => value >= 0,
            DimRepr::Symbol(symbol) => symbol.kind() == SymbolKind::Size,
            _ => false,
        }
    }

    /// Returns the symbol if the dimension is a plain symbol.
    pub fn as_symbol(&self) -> Option<Symbol> {
        match self.0 {
            DimRepr::Symbol(symbol) => Some(symbol),
            _ => None,
        }
    }

    /// Returns an error if the dimension is invalid: an operator overflowed, or a name was ill-formed.
    ///
    /// # Errors
    /// The dimension is invalid.
    pub fn validate(&self) -> Result<()> {
        match self.0 {
            DimRepr::Invalid(why) => Err(why.into()),
            _ => Ok(()),
        }
    }

    /// Returns `self + other`.
    ///
    /// # Errors
    /// A coefficient overflows, an operand is invalid, or the result has more than 64 terms. All arithmetic returns
    /// these errors.
    pub fn checked_add(&self, other: impl IntoDim) -> Result<Dim> {
        Ok(self.plus_times(&other.into_dim(), 1)?)
    }

    /// Returns `self - other`.
    ///
    /// # Errors
    /// The errors of [`Dim::checked_add`].
    pub fn checked_sub(&self, other: impl IntoDim) -> Result<Dim> {
        Ok(self.plus_times(&other.into_dim(), -1)?)
    }

    /// Returns `self * other`. `0 * x` is 0 for every valid `x`.
    ///
    /// # Errors
    /// The errors of [`Dim::checked_add`].
    pub fn checked_mul(&self, other: impl IntoDim) -> Result<Dim> {
        Ok(self.times(&other.into_dim())?)
    }

    /// Returns `self + factor * other`.
    pub(crate) fn plus_times(&self, other: &Dim, factor: i64) -> Result<Dim, Invalid> {
        match (&self.0, &other.0) {
            (DimRepr::Known(a), DimRepr::Known(b)) => {
                let b = b.checked_mul(factor).ok_or(Invalid::Overflow)?;
                a.checked_add(b).map(Dim::known).ok_or(Invalid::Overflow)
            }
            (DimRepr::Invalid(why), _) => Err(*why),
            (_, DimRepr::Known(0)) => Ok(self.clone()),
            (DimRepr::Known(0), _) if factor == 1 => other.valid(),
            _ => poly::add_scaled(self, other, factor),
        }
    }

    /// Returns `self * other`.
    pub(crate) fn times(&self, other: &Dim) -> Result<Dim, Invalid> {
        match (&self.0, &other.0) {
            (DimRepr::Known(a), DimRepr::Known(b)) => {
                a.checked_mul(*b).map(Dim::known).ok_or(Invalid::Overflow)
            }
            (DimRepr::Known(0), _) => other.valid().map(|_| Dim::known(0)),
            (_, DimRepr::Known(0)) => self.valid().map(|_| Dim::known(0)),
            (DimRepr::Known(1), _) => other.valid(),
            (_, DimRepr::Known(1)) => self.valid(),
            _ => poly::multiply(self, other),
        }
    }

    /// Returns a clone of the dimension, or the reason why it is invalid.
    pub(crate) fn valid(&self) -> Result<Dim, Invalid> {
        match self.0 {
            DimRepr::Invalid(why) => Err(why),
            _ => Ok(self.clone()),
        }
    }
}

impl PartialEq<i64> for Dim {
    fn eq(&self, other: &i64) -> bool {
        self.as_known() == Some(*other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dim_takes_16_bytes() {
        assert_eq!(size_of::<Dim>(), 16);
        assert_eq!(size_of::<Option<Dim>>(), 16);
    }

    #[test]
    fn an_overflow_is_refused_by_every_use() {
        let bad = Dim::known(i64::MAX) + 1;
        assert!(bad.validate().is_err() && bad.checked_add(Dim::known(0)).is_err());
        assert!(bad.checked_mul(Dim::known(0)).is_err() && Dim::known(0).checked_mul(&bad).is_err());
        assert!((Dim::known(0) + &bad).validate().is_err());
        assert!(
            (i64::MIN * Dim::known(-1)).validate().is_err() && (0 - Dim::known(i64::MIN)).validate().is_err()
        );
        assert_eq!(bad.same(&bad), None);
    }

    #[test]
    fn extreme_values_do_not_panic() {
        let extremes = [i64::MIN, i64::MIN + 1, -1, 0, 1, i64::MAX].map(Dim::known);
        let n = Dim::symbol("n");
        let terms = extremes.iter().flat_map(|k| [k.clone(), &n * k, &n + k, &n * &n + &n * k]);
        let terms: Vec<Dim> = terms.chain([n.clone()]).collect();
        for a in &terms {
            for b in &terms {
                let results = [
                    a.checked_add(b),
                    a.checked_sub(b),
                    a.checked_mul(b),
                    a.floordiv(b),
                    a.ceil_div(b),
                    a.modulo(b),
                    a.min(b),
                    a.max(b),
                    a.bcast(b),
                ];
                for dim in results.into_iter().flatten() {
                    let _ = (dim.bounds(), dim.to_string(), dim.same(a), a.exact_div(&dim));
                    for value in [0, 1, i64::MAX] {
                        let _ = dim.eval(&|_| Some(value));
                    }
                }
                let mut table = crate::DimTable::new();
                let _ = (table.merge(a, b), table.require(crate::Guard::Ge(b.clone(), a.clone())));
                let _ = table.require(crate::Guard::Divides { divisor: a.clone(), dividend: b.clone() });
            }
        }
    }
}
