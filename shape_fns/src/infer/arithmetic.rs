//! Methods of [`InferenceContext`] that compute with dimensions. Comparisons use the equalities and guards of the
//! context's [`DimTable`].
//!
//! [`DimTable`]: crate::DimTable

use crate::dim::Invalid;
use crate::dim::lattice::canonical_call;
use crate::dim::poly::Function;
use crate::dim::quotient::{ceil_div, floordiv, modulo};
use crate::{Dim, Guard, InferenceContext, Result};

/// Returns whether a dimension is never negative.
fn is_size(dim: &Dim) -> bool {
    dim.bounds().is_above(-1)
}

impl InferenceContext<'_> {
    /// Returns the result, or a new unknown if the expression of the result has more terms or deeper calls than a
    /// dimension may have. `is_size` says whether the result is never negative.
    pub(super) fn or_fresh(
        &mut self,
        result: Result<Dim, Invalid>,
        is_size: impl FnOnce() -> bool,
    ) -> Result<Dim> {
        match result {
            Ok(dim) => Ok(dim),
            Err(Invalid::TooLarge) => Ok(if is_size() { self.fresh() } else { self.fresh_integer() }),
            Err(why) => Err(why.into()),
        }
    }

    /// Returns `a + b`. Here and in all arithmetic of the context, a result that exceeds the limits of a dimension (64
    /// terms, calls nested 16 deep) becomes a new unknown integer, or a new unknown size if it is never negative.
    ///
    /// # Errors
    /// The errors of [`Dim::checked_add`], except for a result that exceeds the limits of a dimension.
    pub fn add(&mut self, a: &Dim, b: &Dim) -> Result<Dim> {
        self.or_fresh(a.plus_times(b, 1), || is_size(a) && is_size(b))
    }

    /// Returns `a - b`.
    ///
    /// # Errors
    /// The errors of [`Dim::checked_sub`].
    pub fn sub(&mut self, a: &Dim, b: &Dim) -> Result<Dim> {
        self.or_fresh(a.plus_times(b, -1), || false)
    }

    /// Returns `a * b`.
    ///
    /// # Errors
    /// The errors of [`Dim::checked_mul`].
    pub fn mul(&mut self, a: &Dim, b: &Dim) -> Result<Dim> {
        self.or_fresh(a.times(b), || is_size(a) && is_size(b))
    }

    /// Returns the quotient rounded down.
    ///
    /// # Errors
    /// The errors of [`Dim::floordiv`].
    pub fn floordiv(&mut self, a: &Dim, b: &Dim) -> Result<Dim> {
        self.or_fresh(floordiv(a, b), || is_size(a) && is_size(b))
    }

    /// Returns the quotient rounded up.
    ///
    /// # Errors
    /// The errors of [`Dim::ceil_div`].
    pub fn ceil_div(&mut self, a: &Dim, b: &Dim) -> Result<Dim> {
        self.or_fresh(ceil_div(a, b), || is_size(a) && is_size(b))
    }

    /// Returns the remainder of [`InferenceContext::floordiv`].
    ///
    /// # Errors
    /// The errors of [`Dim::modulo`].
    pub fn modulo(&mut self, a: &Dim, b: &Dim) -> Result<Dim> {
        self.or_fresh(modulo(a, b), || is_size(b))
    }

    /// Returns the quotient of a division that must leave no remainder.
    ///
    /// # Errors
    /// The divisor provably does not divide `a`, or is 0.
    pub fn exact_div(&mut self, a: &Dim, b: &Dim) -> Result<Dim> {
        self.require(Guard::Divides { divisor: b.clone(), dividend: a.clone() })?;
        self.floordiv(a, b)
    }

    /// Returns the smaller of two dimensions: `a` or `b` itself if it is known which is smaller, else a call of `min`.
    /// Only guards of this node and of the nodes that it needs count.
    ///
    /// # Errors
    /// The errors of [`Dim::min`].
    pub fn min(&mut self, a: &Dim, b: &Dim) -> Result<Dim> {
        match (self.table().is_reliably_ge(a, b), self.table().is_reliably_ge(b, a)) {
            (true, _) => Ok(b.clone()),
            (_, true) => Ok(a.clone()),
            _ => self.or_fresh(canonical_call(Function::Min, [a, b]), || is_size(a) && is_size(b)),
        }
    }

    /// Returns the greater of two dimensions: `a` or `b` itself if it is known which is greater, else a call of `max`.
    /// Only guards of this node and of the nodes that it needs count.
    ///
    /// # Errors
    /// The errors of [`Dim::max`].
    pub fn max(&mut self, a: &Dim, b: &Dim) -> Result<Dim> {
        match (self.table().is_reliably_ge(a, b), self.table().is_reliably_ge(b, a)) {
            (true, _) => Ok(a.clone()),
            (_, true) => Ok(b.clone()),
            _ => self.or_fresh(canonical_call(Function::Max, [a, b]), || is_size(a) || is_size(b)),
        }
    }

    /// Returns whether the table proves `a >= b`.
    pub fn at_least(&mut self, a: &Dim, b: &Dim) -> bool {
        self.table().prove_ge(a, b) == Some(true)
    }

    /// Returns 1 if `a` is negative and 0 otherwise, as an expression if the sign is unknown.
    pub(crate) fn one_if_negative(&mut self, a: &Dim) -> Result<Dim> {
        if self.table().is_reliably_ge(a, &Dim::known(0)) {
            return Ok(Dim::known(0));
        }
        if self.table().is_reliably_ge(&Dim::known(-1), a) {
            return Ok(Dim::known(1));
        }
        let zero = Dim::known(0);
        let negated = self.sub(&zero, a)?;
        let positive = self.max(&zero, &negated)?;
        self.min(&Dim::known(1), &positive)
    }

    /// Requires `a >= 0`, where `a` is an element of the parameter `name`. The error about a known `a` names the
    /// parameter.
    ///
    /// # Errors
    /// `a` is provably negative.
    pub fn require_not_negative(&mut self, name: &str, a: &Dim) -> Result<()> {
        let Some(value) = a.as_known() else {
            return self.require(Guard::Ge(a.clone(), Dim::known(0)));
        };
        if value < 0 {
            return Err(self.blame_param(name, format_args!("must not be negative, got {value}")));
        }
        Ok(())
    }
}
