//! Bounds of sums with calls that cancel against other terms. The value of `min` and `max` is the value of an argument.
//! A quotient `floordiv(a, k)` is `(a - r) / k` with a remainder `0 <= r < k`.

use super::bounds::{Bounds, SymbolBounds};
use super::period::bounds_by_period;
use super::poly::{self, Atom, Call, Function, Monomial, Poly, Term};
use super::{Dim, DimRepr, Invalid};

/// The maximum number of replacements of calls in one computation of bounds. It limits the time: a sum with k calls of
/// two arguments would need up to 2^k replacements.
const MAX_REPLACEMENTS: u32 = 24;

/// What one computation of bounds may still do.
struct Effort {
    /// The number of replacements of calls that are left.
    replacements: u32,
    /// Whether quotients are replaced too.
    quotients: bool,
}

impl Effort {
    /// Counts a replacement; `None` if none is left.
    fn spend(&mut self) -> Option<()> {
        self.replacements = self.replacements.checked_sub(1)?;
        Some(())
    }
}

impl Dim {
    /// Returns the interval in which the value lies, given bounds of the symbols. A call cancels against its arguments:
    /// `x - min(x, y)` and `x - 2*floordiv(x, 2)` are not negative.
    pub(crate) fn bounds_given(&self, bounds_of: SymbolBounds<'_>) -> Bounds {
        let interval = self.interval_given(bounds_of);
        let DimRepr::Poly(poly) = &self.0 else { return interval };
        let tightened = |bounds, quotients| {
            let mut effort = Effort { replacements: MAX_REPLACEMENTS, quotients };
            bounds_by_choice(poly, bounds, bounds_of, &mut effort)
        };
        let bounds = tightened(interval, false);
        if !has_quotient(poly) {
            return bounds;
        }
        // Quotients have an effort of their own: they would use up the replacements that `min` and `max` need.
        let bounds = tightened(bounds, true);
        bounds_by_period(self, bounds_of).map_or(bounds, |exact| bounds.intersection(exact))
    }

    /// Returns whether the bounds of the dimension come from replacements of calls.
    pub(super) fn has_replacements(&self) -> bool {
        let DimRepr::Poly(poly) = &self.0 else { return false };
        let mut atoms = poly.terms().iter().flat_map(|(monomial, _)| &monomial.0);
        atoms.any(|atom| as_choice(atom).is_some()) || has_quotient(poly)
    }
}

/// Returns bounds of a sum. They are at least as tight as `interval`, which holds for the sum too.
fn bounds_by_choice(
    poly: &Poly,
    interval: Bounds,
    bounds_of: SymbolBounds<'_>,
    effort: &mut Effort,
) -> Bounds {
    let quotient = if effort.quotients { bounds_by_quotient(poly, bounds_of, effort) } else { None };
    let interval = quotient.map_or(interval, |bounds| interval.intersection(bounds));
    let calls = poly.terms().iter().flat_map(|(monomial, _)| &monomial.0).filter_map(as_choice);
    // A call with a polynomial as an argument comes first, because the argument may contain other calls. Among equals,
    // the call with the fewest arguments comes first.
    let key = |call: &&Call| {
        (call.args.iter().any(|arg| matches!(arg.0, DimRepr::Poly(_))), std::cmp::Reverse(call.args.len()))
    };
    let Some(call) = calls.max_by_key(key).filter(|_| poly.terms().len() > 1) else {
        return interval;
    };
    let mut each: Vec<Bounds> = Vec::with_capacity(call.args.len());
    for arg in &call.args {
        if effort.spend().is_none() {
            return interval;
        }
        let Ok(replaced) = replace(poly, call, arg) else { return interval };
        each.push(bounds_of_sum(&replaced, bounds_of, effort));
    }
    // The call has the value of one of its arguments, so one of the replaced sums has the value of the sum.
    let hull = each.iter().copied().reduce(Bounds::hull).expect("a call has arguments");
    // If the sum rises with the value of `max`, it is at least each of the replaced sums. If it falls, it is at most
    // each of them. For `min` it is the other way round.
    let lowest = each.iter().filter_map(|bounds| bounds.lower).max();
    let highest = each.iter().filter_map(|bounds| bounds.upper).min();
    let decided = match (call.function, slope(poly, call, bounds_of)) {
        (Function::Max, Some(Slope::Rises)) | (Function::Min, Some(Slope::Falls)) => {
            Bounds { lower: lowest, ..hull }
        }
        (Function::Max, Some(Slope::Falls)) | (Function::Min, Some(Slope::Rises)) => {
            Bounds { upper: highest, ..hull }
        }
        _ => hull,
    };
    interval.intersection(decided)
}

fn bounds_of_sum(sum: &Dim, bounds_of: SymbolBounds<'_>, effort: &mut Effort) -> Bounds {
    let interval = sum.interval_given(bounds_of);
    match &sum.0 {
        DimRepr::Poly(poly) => bounds_by_choice(poly, interval, bounds_of, effort),
        _ => interval,
    }
}

/// Returns bounds of a sum `rest + c·floordiv(a, k)` with a known `k > 0`: the sum is `(k·rest + c·a - c·r) / k`, where
/// `r` is the remainder, `0 <= r < k`. Returns `None` for a sum without such a term, or if arithmetic overflows.
fn bounds_by_quotient(poly: &Poly, bounds_of: SymbolBounds<'_>, effort: &mut Effort) -> Option<Bounds> {
    let terms = poly.terms();
    // A dividend that is a sum comes first, because it may contain the other quotients.
    let is_sum =
        |index: &usize| matches!(as_quotient(&terms[*index]).map(|(a, _)| &a.0), Some(DimRepr::Poly(_)));
    let quotients = (0..terms.len()).filter(|index| as_quotient(&terms[*index]).is_some());
    let index = quotients.max_by_key(is_sum).filter(|_| terms.len() > 1)?;
    effort.spend()?;
    let (dividend, divisor) = as_quotient(&terms[index])?;
    let coefficient = terms[index].1;
    let others = terms.iter().enumerate().filter(|(other, _)| *other != index).map(|(_, term)| term.clone());
    let rest = poly::from_terms(others.collect()).ok()?;
    let scaled =
        poly::add_scaled(&poly::multiply(&rest, &Dim::known(divisor)).ok()?, dividend, coefficient).ok()?;
    let remainder = Bounds { lower: Some(0), upper: Some(i128::from(divisor) - 1) };
    let bounds = bounds_of_sum(&scaled, bounds_of, effort).minus(remainder.scaled(coefficient));
    let divisor = i128::from(divisor);
    Some(Bounds {
        lower: bounds
            .lower
            .map(|lower| lower.div_euclid(divisor) + i128::from(lower.rem_euclid(divisor) != 0)),
        upper: bounds.upper.map(|upper| upper.div_euclid(divisor)),
    })
}

/// Returns whether a sum has a quotient, or a call of `min` or `max` with a quotient in an argument.
fn has_quotient(poly: &Poly) -> bool {
    let in_sum = |dim: &Dim| matches!(&dim.0, DimRepr::Poly(poly) if has_quotient(poly));
    let mut atoms = poly.terms().iter().flat_map(|(monomial, _)| &monomial.0);
    atoms.any(|atom| match atom {
        Atom::Call(call) => {
            call.function == Function::FloorDiv || as_choice(atom).is_some() && call.args.iter().any(in_sum)
        }
        Atom::Symbol(_) => false,
    })
}

/// Matches a multiple of `floordiv(a, k)` with a known `k > 0`, and returns `(a, k)`.
fn as_quotient((monomial, _): &Term) -> Option<(&Dim, i64)> {
    let [Atom::Call(call)] = monomial.0.as_slice() else { return None };
    match (call.function, &call.args[..]) {
        (Function::FloorDiv, [dividend, divisor]) => {
            Some((dividend, divisor.as_known().filter(|divisor| *divisor > 0)?))
        }
        _ => None,
    }
}

fn as_choice(atom: &Atom) -> Option<&Call> {
    match atom {
        Atom::Call(call) if matches!(call.function, Function::Min | Function::Max) => Some(call),
        _ => None,
    }
}

fn is_call(atom: &Atom, call: &Call) -> bool {
    as_choice(atom).is_some_and(|other| other == call)
}

/// Returns the sum with `arg` in place of the call, outside the arguments of other calls.
fn replace(poly: &Poly, call: &Call, arg: &Dim) -> Result<Dim, Invalid> {
    let mut sum = Dim::known(0);
    for (monomial, coefficient) in poly.terms() {
        let kept = monomial.0.iter().filter(|atom| !is_call(atom, call)).cloned().collect();
        let term: Term = (Monomial(kept), *coefficient);
        let mut product = poly::from_terms([term].into_iter().collect())?;
        for _ in monomial.0.iter().filter(|atom| is_call(atom, call)) {
            product = poly::multiply(&product, arg)?;
        }
        sum = poly::add_scaled(&sum, &product, 1)?;
    }
    Ok(sum)
}

/// How a sum changes with the value of a call in it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Slope {
    Rises,
    Falls,
}

/// Returns how the sum changes with the value of the call, if it changes in one direction only.
fn slope(poly: &Poly, call: &Call, bounds_of: SymbolBounds<'_>) -> Option<Slope> {
    let mut slope = None;
    for (monomial, coefficient) in poly.terms() {
        let count = monomial.0.iter().filter(|atom| is_call(atom, call)).count();
        if count == 0 {
            continue;
        }
        let factors = Monomial(monomial.0.iter().filter(|atom| !is_call(atom, call)).cloned().collect());
        if count > 1 || !factors.bounds(bounds_of).is_above(-1) {
            return None;
        }
        let term = if *coefficient > 0 { Slope::Rises } else { Slope::Falls };
        if slope.is_some_and(|slope| slope != term) {
            return None;
        }
        slope = Some(term);
    }
    slope
}

#[cfg(test)]
mod tests {
    use crate::{Dim, Guard};

    fn dim(text: &str) -> Dim {
        text.parse().unwrap()
    }

    #[test]
    fn calls_cancel_against_their_arguments() {
        let always = [
            ("x - min(x, y)", "0"),
            ("max(a, b) - a", "0"),
            ("x", "min(x, y)"),
            ("max(a, b)", "min(a, c)"),
            ("n*max(a, b)", "n*a"),
            ("a + b", "max(a, b)"),
            ("max(a, b) + min(a, b) - a", "0"),
            ("max(a + 2, b) - a", "2"),
            ("x - min(x, y) - min(x - min(x, y), z)", "0"),
        ];
        for (a, b) in always {
            assert_eq!(Guard::Ge(dim(a), dim(b)).decide(), Some(true), "{a} >= {b}");
        }
        let open =
            [("x", "max(x, y)"), ("min(x, y)", "x"), ("2*x - min(x, y)", "x + 1"), ("max(a, b) - a", "1")];
        for (a, b) in open {
            assert_eq!(Guard::Ge(dim(a), dim(b)).decide(), None, "{a} >= {b}");
        }
        assert_eq!(Guard::Ge(dim("min(x, y)"), dim("x + 1")).decide(), Some(false));
    }

    #[test]
    fn bounds_hold_for_all_values() {
        let terms = [
            "x",
            "min(x, y)",
            "max(x, y)",
            "min(y, 3)",
            "max(x, 2*y)",
            "y*min(x, y)",
            "min(x, y)*min(x, y)",
            "floordiv(x, 2)",
            "floordiv(2*y - x, 3)",
            "ceildiv(min(x, y), 2)",
            "floordiv(x + 2*ceildiv(y, 3), 4)",
            "y*floordiv(x, 3)",
            "max(0, x - 2*floordiv(y, 2))",
        ];
        let mut state = 7u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % below
        };
        for _ in 0..2000 {
            let mut sum = Dim::known(0);
            for _ in 0..1 + random(4) {
                let term = dim(terms[random(terms.len() as u64) as usize]);
                sum = sum + term * (random(5) as i64 - 2);
            }
            let (x, y) = (sum.bounds(), [0, 1, 2, 3, 5, 9]);
            for (a, b) in y.iter().flat_map(|a| y.iter().map(move |b| (*a, *b))) {
                let values = |symbol: crate::Symbol| match symbol.name() {
                    Some("x") => Some(a),
                    _ => Some(b),
                };
                let value = i128::from(sum.eval(&values).unwrap().unwrap());
                assert!(x.lower.is_none_or(|lower| lower <= value), "{sum} {a} {b}");
                assert!(x.upper.is_none_or(|upper| upper >= value), "{sum} {a} {b}");
            }
        }
    }

    #[test]
    fn quotients_cancel_against_their_dividends() {
        let always = [
            ("x", "floordiv(x, 2)"),
            ("x - 2*floordiv(x, 2)", "0"),
            ("1", "x - 2*floordiv(x, 2)"),
            ("2*ceildiv(h, 2) - h + 1", "1"),
            ("2", "2*ceildiv(h, 2) - h + 1"),
            ("floordiv(x + 3, 4) + floordiv(x + 1, 2)", "floordiv(x, 2)"),
            ("max(0, h - y) - floordiv(max(0, h - y), 2)", "0"),
            ("6*floordiv(a + 5, 6) - a + min(x, 7)", "min(x, 7)"),
            ("x - floordiv(x + floordiv(x, 3), 2)", "0"),
        ];
        for (a, b) in always {
            assert_eq!(Guard::Ge(dim(a), dim(b)).decide(), Some(true), "{a} >= {b}");
        }
        let open = [("x - 2*floordiv(x, 2)", "1"), ("floordiv(x, 2)", "floordiv(x + 1, 2)")];
        for (a, b) in open {
            assert_eq!(Guard::Ge(dim(a), dim(b)).decide(), None, "{a} >= {b}");
        }
        assert_eq!(Guard::Ge(dim("x - 2*floordiv(x, 2)"), dim("2")).decide(), Some(false));
        assert_eq!(dim("max(0, 2*ceildiv(h, 2) - h + 1)").to_string(), "2*ceildiv(h, 2)-h+1");
    }

    #[test]
    fn many_calls_end() {
        let calls = (0..40).map(|n| dim(&format!("max(a{n}, b{n}, c{n})")));
        let sum = calls.fold(Dim::known(0), |sum, call| sum + call);
        assert_eq!(sum.bounds().lower, Some(0));
    }
}
