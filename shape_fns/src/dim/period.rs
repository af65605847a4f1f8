//! Exact bounds of sums of quotients of one symbol, such as `ceildiv(h, 4) + floordiv(h+1, 4) - ceildiv(h, 2)`.
//!
//! Such a sum is periodic up to a constant: `sum(h + period) = sum(h) + rise` for every `h`. So its values in one period
//! tell its bounds.

use super::bounds::{Bounds, SymbolBounds};
use super::poly::{Atom, Function};
use super::quotient::gcd;
use super::symbol::Symbol;
use super::{Dim, DimRepr};

/// The longest period that is computed. It limits the time.
const MAX_PERIOD: i64 = 64;

/// Returns the exact bounds of a sum of quotients of one symbol, given a lower bound of the symbol. Returns `None` for
/// another dimension, for a long period, or if arithmetic overflows.
pub(super) fn bounds_by_period(dim: &Dim, bounds_of: SymbolBounds<'_>) -> Option<Bounds> {
    let mut symbol = None;
    let period = period(dim, &mut symbol)?;
    let least = bounds_of(symbol?).lower;
    let first = i64::try_from(least.unwrap_or(0)).ok()?;
    let value = |offset: i64| {
        let value = first.checked_add(offset)?;
        dim.eval(&|_| Some(value)).ok().flatten().map(i128::from)
    };
    let start = value(0)?;
    let (mut lowest, mut highest) = (start, start);
    for offset in 1..period {
        let value = value(offset)?;
        (lowest, highest) = (lowest.min(value), highest.max(value));
    }
    let rise = value(period)? - start;
    let is_bounded_below = rise == 0 || rise > 0 && least.is_some();
    let is_bounded_above = rise == 0 || rise < 0 && least.is_some();
    Some(Bounds { lower: is_bounded_below.then_some(lowest), upper: is_bounded_above.then_some(highest) })
}

/// Returns a period of a dimension of one symbol. `symbol` is the symbol, once it is found.
fn period(dim: &Dim, symbol: &mut Option<Symbol>) -> Option<i64> {
    let poly = match &dim.0 {
        DimRepr::Known(_) => return Some(1),
        DimRepr::Symbol(found) => return is_only(symbol, *found).then_some(1),
        DimRepr::Poly(poly) => poly,
        DimRepr::Invalid(_) => return None,
    };
    let mut common = 1;
    for (monomial, _) in poly.terms() {
        let of_term = match monomial.0.as_slice() {
            [] => 1,
            [Atom::Symbol(found)] if is_only(symbol, *found) => 1,
            [Atom::Call(call)] if matches!(call.function, Function::FloorDiv | Function::Mod) => {
                let [dividend, divisor] = &call.args[..] else { return None };
                let divisor = divisor.as_known().filter(|divisor| (1..=MAX_PERIOD).contains(divisor))?;
                divisor * period(dividend, symbol)?
            }
            _ => return None,
        };
        common = common / gcd(common, of_term) * of_term;
        if common > MAX_PERIOD {
            return None;
        }
    }
    Some(common)
}

/// Returns whether `found` is the only symbol so far.
fn is_only(symbol: &mut Option<Symbol>, found: Symbol) -> bool {
    *symbol.get_or_insert(found) == found
}

#[cfg(test)]
mod tests {
    use crate::{Dim, Guard};

    fn dim(text: &str) -> Dim {
        text.parse().unwrap()
    }

    #[test]
    fn sums_of_quotients_have_exact_bounds() {
        let halves = "ceildiv(h, 4) - ceildiv(h, 2) + floordiv(h + 1, 4)";
        assert_eq!((dim(halves).lower_bound(), dim(halves).upper_bound()), (Some(0), Some(0)));
        let bounds = |text: &str| (dim(text).lower_bound(), dim(text).upper_bound());
        assert_eq!(bounds("floordiv(h, 2) + floordiv(h, 3) - floordiv(5*h, 6)"), (Some(-1), Some(0)));
        assert_eq!(bounds("floordiv(h, 2) + floordiv(h, 3) - 2"), (Some(-2), None));
        assert_eq!(bounds("floordiv(h, 2) - floordiv(2*h, 3) + 7"), (None, Some(7)));
        assert_eq!(Guard::Ge(dim(halves), Dim::known(0)).decide(), Some(true));
    }

    #[test]
    fn two_symbols_and_long_periods_are_left_to_others() {
        assert_eq!(dim("floordiv(h, 2) - floordiv(w, 2) - 1").lower_bound(), None);
        assert_eq!(dim("floordiv(h, 97) + floordiv(h, 89)").lower_bound(), Some(0));
    }
}
