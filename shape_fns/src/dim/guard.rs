//! [`Guard`]: a condition on dimensions. Undecided conditions are checked when sizes are known.

use crate::{Dim, Result, Symbol};

/// A condition on dimensions.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Guard {
    /// `a == b`.
    Eq(Dim, Dim),
    /// `a >= b`.
    Ge(Dim, Dim),
    /// `a == 1 || a == b`.
    OneOrEqual(Dim, Dim),
    /// `dividend` is a multiple of `divisor`, and `divisor` is not 0.
    Divides {
        /// The size that must divide `dividend`.
        divisor: Dim,
        /// The size that must be a multiple of `divisor`.
        dividend: Dim,
    },
}

impl Guard {
    /// Returns the two dimensions in the order in which the guard is written.
    pub fn dims(&self) -> [&Dim; 2] {
        match self {
            Guard::Eq(a, b) | Guard::Ge(a, b) | Guard::OneOrEqual(a, b) => [a, b],
            Guard::Divides { divisor, dividend } => [divisor, dividend],
        }
    }

    /// Returns the same condition with both dimensions mapped by `f`.
    pub(crate) fn map(&self, mut f: impl FnMut(&Dim) -> Dim) -> Guard {
        match self {
            Guard::Eq(a, b) => Guard::Eq(f(a), f(b)),
            Guard::Ge(a, b) => Guard::Ge(f(a), f(b)),
            Guard::OneOrEqual(a, b) => Guard::OneOrEqual(f(a), f(b)),
            Guard::Divides { divisor, dividend } => {
                Guard::Divides { divisor: f(divisor), dividend: f(dividend) }
            }
        }
    }

    /// Returns whether the guard holds for `values` of the symbols, or `None` if a required symbol has no value.
    ///
    /// # Errors
    /// A dimension cannot be evaluated: see [`Dim::eval`].
    pub fn check(&self, values: &dyn Fn(Symbol) -> Option<i64>) -> Result<Option<bool>> {
        let [a, b] = self.dims();
        let (Some(a), Some(b)) = (a.eval(values)?, b.eval(values)?) else { return Ok(None) };
        Ok(Some(match self {
            Guard::Eq(..) => a == b,
            Guard::Ge(..) => a >= b,
            Guard::OneOrEqual(..) => a == 1 || a == b,
            Guard::Divides { .. } => a != 0 && i128::from(b) % i128::from(a) == 0,
        }))
    }

    /// Returns whether the canonical forms by themselves prove (`Some(true)`) or disprove (`Some(false)`) the guard,
    /// given that sizes are not negative. Returns `None` if the guard is neither proven nor disproven.
    pub fn decide(&self) -> Option<bool> {
        match self {
            Guard::Eq(a, b) => a.same(b),
            // A lone symbol may be less than a positive number, so the guard is undecided.
            Guard::Ge(a, b) if a.as_symbol().is_some() && b.as_known().is_some_and(|least| least > 0) => None,
            Guard::Ge(a, b) => {
                let bounds = a.plus_times(b, -1).ok()?.bounds();
                if bounds.is_above(-1) { Some(true) } else { bounds.is_below(0).then_some(false) }
            }
            Guard::OneOrEqual(a, b) => match (a.same(&Dim::known(1)), a.same(b)) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (Some(false), Some(false)) => Some(false),
                _ => None,
            },
            Guard::Divides { divisor, dividend } => {
                if divisor.as_known() == Some(0) {
                    return Some(false);
                }
                let rest = dividend.modulo(divisor).ok()?;
                let nonzero = divisor.bounds().is_above(0) || divisor.bounds().is_below(0);
                match rest.same(&Dim::known(0)) {
                    Some(true) => nonzero.then_some(true),
                    decided => decided,
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guards_are_decided_if_the_same_for_all_sizes() {
        let dim = |text: &str| text.parse::<Dim>().unwrap();
        let cases = [
            (Guard::Ge(dim("n+3"), dim("n")), Some(true)),
            (Guard::Ge(dim("n"), dim("n+1")), Some(false)),
            (Guard::Ge(dim("n"), dim("3")), None),
            (Guard::OneOrEqual(dim("n+2"), dim("1")), Some(false)),
            (Guard::OneOrEqual(dim("n"), dim("5")), None),
            (Guard::Divides { divisor: dim("4"), dividend: dim("8*n+4") }, Some(true)),
            (Guard::Divides { divisor: dim("4"), dividend: dim("8*n+2") }, Some(false)),
            (Guard::Divides { divisor: dim("4"), dividend: dim("2*n") }, None),
            (Guard::Divides { divisor: dim("n"), dividend: dim("4*n") }, None),
            (Guard::Divides { divisor: dim("0"), dividend: dim("n") }, Some(false)),
            (Guard::Eq(dim("n*n+1"), dim("0")), Some(false)),
        ];
        for (guard, answer) in cases {
            assert_eq!(guard.decide(), answer, "{guard}");
        }
    }
}
