//! Bounds of sums with calls of `min` and `max`: the value of such a call is the value of one of its arguments.

use super::bounds::{Bounds, SymbolBounds};
use super::poly::{self, Atom, Call, Function, Monomial, Poly, Term};
use super::{Dim, DimRepr, Invalid};

/// The maximum number of replacements of calls that one question for bounds makes.
const MAX_REPLACEMENTS: u32 = 24;

impl Dim {
    /// Returns the interval in which the value lies, given bounds of the symbols. A call of `min` or `max` cancels
    /// against its arguments: `x - min(x, y)` is not negative.
    pub(crate) fn bounds_given(&self, bounds_of: SymbolBounds<'_>) -> Bounds {
        let interval = self.interval_given(bounds_of);
        let mut replacements = MAX_REPLACEMENTS;
        match &self.0 {
            DimRepr::Poly(poly) => bounds_by_choice(poly, interval, bounds_of, &mut replacements),
            _ => interval,
        }
    }

    /// Returns whether the dimension is a sum with a call of `min` or `max`.
    pub(super) fn has_choice(&self) -> bool {
        let DimRepr::Poly(poly) = &self.0 else { return false };
        poly.terms().iter().any(|(monomial, _)| monomial.0.iter().any(|atom| as_choice(atom).is_some()))
    }
}

/// Returns bounds of a sum, which are at least as close as `interval`.
fn bounds_by_choice(
    poly: &Poly,
    interval: Bounds,
    bounds_of: SymbolBounds<'_>,
    replacements: &mut u32,
) -> Bounds {
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
        let Some(rest) = replacements.checked_sub(1) else { return interval };
        *replacements = rest;
        let Ok(replaced) = replace(poly, call, arg) else { return interval };
        each.push(match &replaced.0 {
            DimRepr::Poly(poly) => {
                bounds_by_choice(poly, replaced.interval_given(bounds_of), bounds_of, replacements)
            }
            _ => replaced.interval_given(bounds_of),
        });
    }
    // The sum is the sum with one of the arguments.
    let hull = each.iter().copied().reduce(Bounds::hull).expect("a call has arguments");
    // If the sum grows with `max`, it is at least the sum with any argument; likewise for `min` and if it falls.
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
        let terms =
            ["x", "min(x, y)", "max(x, y)", "min(y, 3)", "max(x, 2*y)", "y*min(x, y)", "min(x, y)*min(x, y)"];
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
    fn many_calls_end() {
        let calls = (0..40).map(|n| dim(&format!("max(a{n}, b{n}, c{n})")));
        let sum = calls.fold(Dim::known(0), |sum, call| sum + call);
        assert_eq!(sum.bounds().lower, Some(0));
    }
}
