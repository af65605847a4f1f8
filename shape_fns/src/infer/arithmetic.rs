//! Dimension arithmetic inside a shape function, with what the table knows.

use crate::dim::Invalid;
use crate::dim::quotient::{ceil_div, floordiv, modulo};
use crate::{Dim, Guard, InferenceContext, Result};

impl InferenceContext<'_> {
    /// A result of arithmetic; one too large to write becomes a new unknown size.
    fn settle(&mut self, result: Result<Dim, Invalid>) -> Result<Dim> {
        match result {
            Ok(dim) => Ok(dim),
            Err(Invalid::TooLarge) => Ok(self.fresh()),
            Err(why) => Err(why.into()),
        }
    }

    /// `a + b`; a term too large to write becomes a new unknown, here and in all arithmetic of the context.
    ///
    /// # Errors
    /// As [`Dim::checked_add`], here and in all arithmetic of the context.
    pub fn add(&mut self, a: &Dim, b: &Dim) -> Result<Dim> {
        self.settle(a.plus(b, 1))
    }

    /// `a - b`.
    ///
    /// # Errors
    /// As [`Dim::checked_sub`].
    pub fn sub(&mut self, a: &Dim, b: &Dim) -> Result<Dim> {
        self.settle(a.plus(b, -1))
    }

    /// `a * b`.
    ///
    /// # Errors
    /// As [`Dim::checked_mul`].
    pub fn mul(&mut self, a: &Dim, b: &Dim) -> Result<Dim> {
        self.settle(a.times(b))
    }

    /// The quotient rounded down.
    ///
    /// # Errors
    /// As [`Dim::floordiv`].
    pub fn floordiv(&mut self, a: &Dim, b: &Dim) -> Result<Dim> {
        self.settle(floordiv(a, b))
    }

    /// The quotient rounded up.
    ///
    /// # Errors
    /// As [`Dim::ceil_div`].
    pub fn ceil_div(&mut self, a: &Dim, b: &Dim) -> Result<Dim> {
        self.settle(ceil_div(a, b))
    }

    /// The remainder of [`InferenceContext::floordiv`].
    ///
    /// # Errors
    /// As [`Dim::modulo`].
    pub fn modulo(&mut self, a: &Dim, b: &Dim) -> Result<Dim> {
        self.settle(modulo(a, b))
    }

    /// The quotient of a division that must leave no remainder.
    ///
    /// # Errors
    /// The divisor provably does not divide, or is 0.
    pub fn exact_div(&mut self, a: &Dim, b: &Dim) -> Result<Dim> {
        self.require(Guard::Divides { divisor: b.clone(), dividend: a.clone() })?;
        self.floordiv(a, b)
    }

    /// The smaller, which is one of the two where the table can tell.
    ///
    /// # Errors
    /// As [`Dim::min`].
    pub fn min(&mut self, a: &Dim, b: &Dim) -> Result<Dim> {
        match (self.at_least(a, b), self.at_least(b, a)) {
            (true, _) => Ok(b.clone()),
            (_, true) => Ok(a.clone()),
            _ => self.settle(crate::dim::lattice::canonical(crate::dim::poly::Function::Min, [a, b])),
        }
    }

    /// The greater, which is one of the two where the table can tell.
    ///
    /// # Errors
    /// As [`Dim::max`].
    pub fn max(&mut self, a: &Dim, b: &Dim) -> Result<Dim> {
        match (self.at_least(a, b), self.at_least(b, a)) {
            (true, _) => Ok(a.clone()),
            (_, true) => Ok(b.clone()),
            _ => self.settle(crate::dim::lattice::canonical(crate::dim::poly::Function::Max, [a, b])),
        }
    }

    /// Whether `a >= b` is proven.
    pub fn at_least(&mut self, a: &Dim, b: &Dim) -> bool {
        self.table().prove_ge(a, b) == Some(true)
    }

    /// 1 where `a` is negative, else 0, as a term.
    pub(crate) fn is_negative(&mut self, a: &Dim) -> Result<Dim> {
        if self.at_least(a, &Dim::known(0)) {
            return Ok(Dim::known(0));
        }
        if self.at_least(&Dim::known(-1), a) {
            return Ok(Dim::known(1));
        }
        let zero = Dim::known(0);
        let negated = self.sub(&zero, a)?;
        let positive = self.max(&zero, &negated)?;
        self.min(&Dim::known(1), &positive)
    }

    /// Requires `a` not to be negative, and says which parameter it is of.
    ///
    /// # Errors
    /// It is provably negative.
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
