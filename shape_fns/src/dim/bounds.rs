//! [`Bounds`]: the interval in which the value of a dimension provably lies.

use crate::dim::poly::{Atom, Call, Function, Monomial};
use crate::dim::symbol::{Symbol, SymbolKind};
use crate::dim::{Dim, DimRepr};

/// A closed interval of integers. `None` means unbounded on that side.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bounds {
    /// The lower bound.
    pub lower: Option<i128>,
    /// The upper bound.
    pub upper: Option<i128>,
}

impl Bounds {
    const NONE: Bounds = Bounds { lower: None, upper: None };

    /// The interval that contains only `value`.
    pub(crate) fn exact(value: i128) -> Bounds {
        Bounds { lower: Some(value), upper: Some(value) }
    }

    /// The interval of the values that a symbol of this kind may have.
    pub(crate) fn of_kind(kind: SymbolKind) -> Bounds {
        match kind {
            SymbolKind::Size => Bounds { lower: Some(0), upper: None },
            SymbolKind::Integer => Bounds::NONE,
        }
    }

    /// Returns whether every value is greater than `limit`.
    pub fn is_above(self, limit: i64) -> bool {
        self.lower.is_some_and(|lower| lower > limit.into())
    }

    /// Returns whether every value is less than `limit`.
    pub fn is_below(self, limit: i64) -> bool {
        self.upper.is_some_and(|upper| upper < limit.into())
    }

    /// Returns the interval of all sums.
    fn plus(self, other: Bounds) -> Bounds {
        let add = |a: Option<i128>, b: Option<i128>| a?.checked_add(b?);
        Bounds { lower: add(self.lower, other.lower), upper: add(self.upper, other.upper) }
    }

    /// Returns the interval of all differences.
    pub(crate) fn minus(self, other: Bounds) -> Bounds {
        let negate = |bound: Option<i128>| bound.and_then(i128::checked_neg);
        self.plus(Bounds { lower: negate(other.upper), upper: negate(other.lower) })
    }

    /// Returns an interval that contains all products.
    fn times(self, other: Bounds) -> Bounds {
        if self == Bounds::exact(0) || other == Bounds::exact(0) {
            return Bounds::exact(0);
        }
        let (Some(a), Some(c)) = (self.lower, other.lower) else {
            return self.times_open(other);
        };
        match (self.upper, other.upper) {
            (Some(b), Some(d)) => {
                let products = [a.checked_mul(c), a.checked_mul(d), b.checked_mul(c), b.checked_mul(d)];
                if products.iter().any(Option::is_none) {
                    return Bounds::NONE;
                }
                Bounds {
                    lower: products.iter().flatten().min().copied(),
                    upper: products.iter().flatten().max().copied(),
                }
            }
            _ if a >= 0 && c >= 0 => Bounds {
                lower: a.checked_mul(c),
                upper: self.upper.zip(other.upper).and_then(|(b, d)| b.checked_mul(d)),
            },
            _ => self.times_open(other),
        }
    }

    /// Returns the interval of all products with a number.
    pub(super) fn scaled(self, factor: i64) -> Bounds {
        self.times(Bounds::exact(factor.into()))
    }

    /// Multiplies two intervals. At least one interval lacks a lower or an upper bound. The product has bounds only if
    /// one interval contains a single value.
    fn times_open(self, other: Bounds) -> Bounds {
        let scale = |interval: Bounds, factor: i128| {
            let mul = |bound: Option<i128>| bound?.checked_mul(factor);
            let (lower, upper) = (mul(interval.lower), mul(interval.upper));
            if factor >= 0 { Bounds { lower, upper } } else { Bounds { lower: upper, upper: lower } }
        };
        match (self.constant(), other.constant()) {
            (Some(factor), _) => scale(other, factor),
            (_, Some(factor)) => scale(self, factor),
            _ => Bounds::NONE,
        }
    }

    /// Returns the value if the interval contains only one value.
    fn constant(self) -> Option<i128> {
        self.lower.filter(|_| self.lower == self.upper)
    }

    /// Returns the interval of the values in both intervals.
    pub(super) fn intersection(self, other: Bounds) -> Bounds {
        Bounds {
            lower: [self.lower, other.lower].into_iter().flatten().max(),
            upper: [self.upper, other.upper].into_iter().flatten().min(),
        }
    }

    /// Returns the smallest interval that contains both intervals.
    pub(super) fn hull(self, other: Bounds) -> Bounds {
        Bounds {
            lower: self.lower.zip(other.lower).map(|(a, b)| a.min(b)),
            upper: self.upper.zip(other.upper).map(|(a, b)| a.max(b)),
        }
    }
}

/// A function that returns the bounds of a symbol.
pub(super) type SymbolBounds<'a> = &'a dyn Fn(Symbol) -> Bounds;

impl Dim {
    /// Returns the interval in which the value lies if every symbol of kind [`SymbolKind::Size`] is not negative. An
    /// invalid dimension has neither a lower nor an upper bound.
    pub fn bounds(&self) -> Bounds {
        self.bounds_given(&|symbol| Bounds::of_kind(symbol.kind()))
    }

    /// Returns the interval in which the value lies, as if the terms of a sum were independent of each other.
    pub(super) fn interval_given(&self, bounds_of: SymbolBounds<'_>) -> Bounds {
        match &self.0 {
            DimRepr::Known(value) => Bounds::exact((*value).into()),
            DimRepr::Symbol(symbol) => bounds_of(*symbol),
            DimRepr::Poly(poly) => poly
                .terms()
                .iter()
                .map(|(monomial, coefficient)| {
                    Bounds::exact((*coefficient).into()).times(monomial.bounds(bounds_of))
                })
                .fold(Bounds::exact(0), Bounds::plus),
            DimRepr::Invalid(_) => Bounds::NONE,
        }
    }

    /// Returns the greatest provable lower bound, saturated to `i64`.
    pub fn lower_bound(&self) -> Option<i64> {
        self.bounds().lower.map(saturate)
    }

    /// Returns the least provable upper bound, saturated to `i64`.
    pub fn upper_bound(&self) -> Option<i64> {
        self.bounds().upper.map(saturate)
    }
}

fn saturate(value: i128) -> i64 {
    i64::try_from(value).unwrap_or(if value < 0 { i64::MIN } else { i64::MAX })
}

impl Monomial {
    /// Returns the bounds of the product. Equal adjacent atoms form a power, and an even power is never negative.
    pub(super) fn bounds(&self, bounds_of: SymbolBounds<'_>) -> Bounds {
        let mut product = Bounds::exact(1);
        let mut atoms = self.0.as_slice();
        while let Some(first) = atoms.first() {
            let power = atoms.iter().take_while(|atom| *atom == first).count();
            let base = match first {
                Atom::Symbol(symbol) => bounds_of(*symbol),
                Atom::Call(call) => call_bounds(call, bounds_of),
            };
            let mut value = (0..power).fold(Bounds::exact(1), |value, _| value.times(base));
            if power % 2 == 0 {
                value.lower = Some(value.lower.map_or(0, |lower| lower.max(0)));
            }
            product = product.times(value);
            atoms = &atoms[power..];
        }
        product
    }
}

fn call_bounds(call: &Call, bounds_of: SymbolBounds<'_>) -> Bounds {
    let mut args = call.args.iter().map(|arg| arg.interval_given(bounds_of));
    match call.function {
        Function::FloorDiv | Function::CeilDiv | Function::Mod => match (args.next(), args.next()) {
            (Some(dividend), Some(divisor)) => quotient_bounds(call.function, dividend, divisor),
            _ => Bounds::NONE,
        },
        Function::Min => args
            .reduce(|a, b| Bounds {
                lower: a.lower.zip(b.lower).map(|(a, b)| a.min(b)),
                upper: [a.upper, b.upper].into_iter().flatten().min(),
            })
            .unwrap_or(Bounds::NONE),
        Function::Max => args
            .reduce(|a, b| Bounds {
                lower: [a.lower, b.lower].into_iter().flatten().max(),
                upper: a.upper.zip(b.upper).map(|(a, b)| a.max(b)),
            })
            .unwrap_or(Bounds::NONE),
        Function::Bcast => args.reduce(Bounds::hull).unwrap_or(Bounds::NONE),
    }
}

/// Returns the bounds of `floordiv`, `ceildiv` or `mod` of two intervals; none if the divisor may be negative.
fn quotient_bounds(function: Function, dividend: Bounds, divisor: Bounds) -> Bounds {
    let Some(least) = divisor.lower.filter(|least| *least >= 0) else { return Bounds::NONE };
    // The negation in `divide` must not overflow.
    if dividend.lower == Some(i128::MIN) || dividend.upper == Some(i128::MIN) {
        return Bounds::NONE;
    }
    // Evaluation refuses a divisor of 0, so the least divisor that matters is 1.
    let least = least.max(1);
    match function {
        Function::Mod => Bounds {
            lower: Some(0),
            upper: match (divisor.upper, dividend) {
                (Some(most), _) => Some(most - 1),
                (None, Bounds { lower: Some(0..), upper }) => upper,
                _ => None,
            },
        },
        _ => {
            let divide = |value: i128, by: i128| match function {
                Function::CeilDiv => -(-value).div_euclid(by),
                _ => value.div_euclid(by),
            };
            Bounds {
                lower: dividend.lower.map(|low| match (low >= 0, divisor.upper) {
                    (true, Some(most)) => divide(low, most.max(1)),
                    (true, None) => i128::from(function == Function::CeilDiv && low > 0),
                    (false, _) => divide(low, least),
                }),
                upper: dividend.upper.map(|high| match (high >= 0, divisor.upper) {
                    (true, _) => divide(high, least),
                    (false, Some(most)) => divide(high, most.max(1)),
                    (false, None) => -i128::from(function == Function::FloorDiv),
                }),
            }
        }
    }
}
