//! Operations on the symbols of a dimension: listing, substitution and evaluation.

use smallvec::SmallVec;

use crate::dim::lattice;
use crate::dim::poly::{Atom, Call, Function, call};
use crate::dim::quotient::{ceil_div, floor_i128, floordiv, modulo, modulo_i128};
use crate::dim::symbol::Symbol;
use crate::dim::{Dim, DimRepr, Invalid};
use crate::{Result, ShapeError};

impl Dim {
    /// Calls `f` on every occurrence of every symbol.
    pub fn symbols(&self, f: &mut impl FnMut(Symbol)) {
        self.visit(f);
    }

    /// Returns whether `symbol` occurs in the dimension.
    pub fn mentions(&self, symbol: Symbol) -> bool {
        let mut found = false;
        self.symbols(&mut |other| found |= other == symbol);
        found
    }

    /// Returns whether the dimension broadcasts or divides by a dimension that is not a number. Such a dimension has no
    /// value for some values of its symbols, even without an overflow.
    pub fn is_partial(&self) -> bool {
        let DimRepr::Poly(poly) = &self.0 else { return false };
        let mut calls = poly.terms().iter().flat_map(|term| &term.0.0).filter_map(|atom| match atom {
            Atom::Call(call) => Some(call),
            Atom::Symbol(_) => None,
        });
        calls.any(|call| {
            let may_fail = match call.function {
                Function::FloorDiv | Function::CeilDiv | Function::Mod => {
                    call.args.last().is_some_and(|divisor| !divisor.is_known())
                }
                Function::Bcast => true,
                Function::Min | Function::Max => false,
            };
            may_fail || call.args.iter().any(Dim::is_partial)
        })
    }

    fn visit(&self, f: &mut dyn FnMut(Symbol)) {
        match &self.0 {
            DimRepr::Known(_) | DimRepr::Invalid(_) => {}
            DimRepr::Symbol(symbol) => f(*symbol),
            DimRepr::Poly(poly) => {
                for atom in poly.terms().iter().flat_map(|term| &term.0.0) {
                    match atom {
                        Atom::Symbol(symbol) => f(*symbol),
                        Atom::Call(call) => call.args.iter().for_each(|arg| arg.visit(f)),
                    }
                }
            }
        }
    }

    /// Replaces every symbol `s` for which `f(s)` is `Some`. The result is invalid if the arithmetic fails.
    pub fn substitute(&self, f: &mut dyn FnMut(Symbol) -> Option<Dim>) -> Dim {
        match self.replace(f) {
            Ok(dim) => dim,
            Err(why) => Dim(DimRepr::Invalid(why)),
        }
    }

    /// Replaces every symbol `s` for which `f(s)` is `Some`.
    ///
    /// # Errors
    /// The errors of [`Dim::checked_add`]; a divisor becomes 0; dimensions that must broadcast no longer do.
    pub fn try_substitute(&self, f: &mut dyn FnMut(Symbol) -> Option<Dim>) -> Result<Dim> {
        Ok(self.replace(f)?)
    }

    fn replace(&self, f: &mut dyn FnMut(Symbol) -> Option<Dim>) -> Result<Dim, Invalid> {
        let poly = match &self.0 {
            DimRepr::Known(_) => return Ok(self.clone()),
            DimRepr::Symbol(symbol) => return f(*symbol).map_or_else(|| Ok(self.clone()), |dim| dim.valid()),
            DimRepr::Invalid(why) => return Err(*why),
            DimRepr::Poly(poly) => poly,
        };
        let mut sum = Dim::known(0);
        for (monomial, coefficient) in poly.terms() {
            let mut product = Dim::known(*coefficient);
            for atom in &monomial.0 {
                let factor = match atom {
                    Atom::Symbol(symbol) => f(*symbol).unwrap_or_else(|| Dim::from(*symbol)),
                    Atom::Call(call) => replace_in_call(call, f)?,
                };
                product = product.times(&factor)?;
            }
            sum = sum.plus_times(&product, 1)?;
        }
        Ok(sum)
    }

    /// Evaluates the dimension with `values` for its symbols. Returns `None` if a required symbol has no value. Two
    /// kinds of symbols are not required: the other factors of a product with a factor 0, and the other arguments of a
    /// `bcast` with an argument whose value is not 1.
    ///
    /// # Errors
    /// The value does not fit in `i64`, a divisor is 0, dimensions that must broadcast do not, or the dimension is
    /// invalid.
    pub fn eval(&self, values: &dyn Fn(Symbol) -> Option<i64>) -> Result<Option<i64>> {
        match &self.0 {
            DimRepr::Known(value) => Ok(Some(*value)),
            DimRepr::Symbol(symbol) => Ok(values(*symbol)),
            _ => match self.eval_wide(values)? {
                Some(value) => i64::try_from(value).map(Some).map_err(|_| Invalid::Overflow.into()),
                None => Ok(None),
            },
        }
    }

    /// Evaluates in 128 bits, so that intermediate results may exceed 64 bits.
    fn eval_wide(&self, values: &dyn Fn(Symbol) -> Option<i64>) -> Result<Option<i128>> {
        let poly = match &self.0 {
            DimRepr::Known(value) => return Ok(Some((*value).into())),
            DimRepr::Symbol(symbol) => return Ok(values(*symbol).map(i128::from)),
            DimRepr::Invalid(why) => return Err((*why).into()),
            DimRepr::Poly(poly) => poly,
        };
        let mut sum = 0i128;
        for (monomial, coefficient) in poly.terms() {
            let mut product = Some(i128::from(*coefficient));
            for atom in &monomial.0 {
                let factor = match atom {
                    Atom::Symbol(symbol) => values(*symbol).map(i128::from),
                    Atom::Call(call) => eval_call(call, values)?,
                };
                product = match (product, factor) {
                    // The product is 0 whatever the other factors are.
                    (Some(0), _) | (_, Some(0)) => Some(0),
                    (Some(product), Some(factor)) => {
                        Some(product.checked_mul(factor).ok_or(Invalid::Overflow)?)
                    }
                    _ => None,
                };
            }
            let Some(product) = product else { return Ok(None) };
            sum = sum.checked_add(product).ok_or(Invalid::Overflow)?;
        }
        Ok(Some(sum))
    }
}

/// Applies `function` to `args` and returns the canonical form.
pub(crate) fn apply(function: Function, args: SmallVec<[Dim; 2]>) -> Result<Dim, Invalid> {
    match (function, args.as_slice()) {
        (Function::FloorDiv, [a, b]) => floordiv(a, b),
        (Function::Mod, [a, b]) => modulo(a, b),
        (Function::CeilDiv, [a, b]) => ceil_div(a, b),
        (Function::Min | Function::Max | Function::Bcast, _) => lattice::canonical_call(function, &args),
        _ => call(function, args),
    }
}

fn replace_in_call(call: &Call, f: &mut dyn FnMut(Symbol) -> Option<Dim>) -> Result<Dim, Invalid> {
    let args = call.args.iter().map(|arg| arg.replace(f)).collect::<Result<_, _>>()?;
    apply(call.function, args)
}

fn eval_call(call: &Call, values: &dyn Fn(Symbol) -> Option<i64>) -> Result<Option<i128>> {
    let mut args: SmallVec<[i128; 4]> = SmallVec::new();
    for arg in &call.args {
        args.extend(arg.eval_wide(values)?);
    }
    // An argument other than 1 is the value of the broadcast whatever the unknown arguments are.
    let is_decided = call.function == Function::Bcast && args.iter().any(|arg| *arg != 1);
    if args.len() < call.args.len() && !is_decided {
        return Ok(None);
    }
    let value = match (call.function, args.as_slice()) {
        (Function::FloorDiv | Function::Mod | Function::CeilDiv, [_, 0]) => {
            return Err(Invalid::DivisionByZero.into());
        }
        (Function::FloorDiv | Function::Mod | Function::CeilDiv, [i128::MIN, _] | [_, i128::MIN]) => {
            return Err(Invalid::Overflow.into());
        }
        (Function::FloorDiv, [a, b]) => floor_i128(*a, *b),
        (Function::Mod, [a, b]) => modulo_i128(*a, *b),
        (Function::CeilDiv, [a, b]) => -floor_i128(-a, *b),
        (Function::Min, [first, rest @ ..]) => rest.iter().fold(*first, |a, b| a.min(*b)),
        (Function::Max, [first, rest @ ..]) => rest.iter().fold(*first, |a, b| a.max(*b)),
        (Function::Bcast, [first, rest @ ..]) => {
            let mut common = *first;
            for other in rest {
                match (common, *other) {
                    (a, b) if a == b => {}
                    (1, b) => common = b,
                    (_, 1) => {}
                    (a, b) => {
                        return Err(ShapeError::new(format_args!(
                            "dimensions must be equal or 1 to broadcast, got {a} and {b}"
                        )));
                    }
                }
            }
            common
        }
        _ => return Err(Invalid::TooLarge.into()),
    };
    Ok(Some(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intermediate_values_beyond_64_bits_are_exact() {
        let eval =
            |text: &str, value: i64| text.parse::<Dim>().unwrap().eval(&|_| Some(value)).ok().flatten();
        assert_eq!(eval("mod(0-2*n*m-n, 2*n*m)", i64::MAX), None);
        assert_eq!(eval("floordiv(0-2*n*m-n, 2*n*m)", i64::MAX), Some(-2));
        assert_eq!(eval("mod(n*m+3, n*m)", i64::MAX), Some(3));
        assert_eq!(eval("mod(0-n*m-3, 0-n*m)", i64::MAX), Some(-3));
        assert_eq!(eval("n*m*k*l", i64::MAX), None);
        assert_eq!(eval("floordiv(n*m, k)", i64::MAX), Some(i64::MAX));
    }

    #[test]
    fn a_product_with_a_zero_needs_no_other_factor() {
        let dim = "n*m*floordiv(k, 2) + 3".parse::<Dim>().unwrap();
        for zero in ["n", "m", "k"] {
            let values = |symbol: Symbol| (symbol.to_string() == zero).then_some(0);
            assert_eq!(dim.eval(&values).unwrap(), Some(3), "{zero}");
        }
        assert_eq!(dim.eval(&|symbol| (symbol.to_string() != "n").then_some(4)).unwrap(), None);
    }

    #[test]
    fn a_known_argument_other_than_1_decides_a_broadcast() {
        let dim = "bcast(n, m)".parse::<Dim>().unwrap();
        let eval = |n: Option<i64>| dim.eval(&|symbol| n.filter(|_| symbol.to_string() == "n")).unwrap();
        assert_eq!([eval(None), eval(Some(0)), eval(Some(1)), eval(Some(3))], [None, Some(0), None, Some(3)]);
    }

    #[test]
    fn division_rounds_correctly_for_every_sign() {
        let (x, y) = (Dim::symbol("eval_x"), Dim::symbol("eval_y"));
        let (floor, up, rest) = (x.floordiv(&y).unwrap(), x.ceil_div(&y).unwrap(), x.modulo(&y).unwrap());
        let ends = [i64::MIN, i64::MIN + 1, -7, -2, -1, 0, 1, 2, 7, i64::MAX];
        for a in ends {
            for b in ends {
                let values = |symbol: Symbol| Some(if Some(symbol) == x.as_symbol() { a } else { b });
                let eval = |dim: &Dim| dim.eval(&values).ok().flatten().map(i128::from);
                if b == 0 {
                    assert_eq!((eval(&floor), eval(&up), eval(&rest)), (None, None, None));
                    continue;
                }
                let (wide, by) = (i128::from(a), i128::from(b));
                let quotient = (wide as f64 / by as f64).floor();
                let exact = (quotient as i128 - 2..=quotient as i128 + 2).filter(|q| {
                    let rest = wide - q * by;
                    rest == 0 || (rest.signum() == by.signum() && rest.abs() < by.abs())
                });
                let exact: Vec<i128> = exact.collect();
                let fits = |value: i128| i64::try_from(value).ok().map(i128::from);
                if let [q] = exact[..] {
                    assert_eq!(eval(&floor), fits(q), "{a} // {b}");
                    assert_eq!(eval(&rest), Some(wide - q * by), "{a} % {b}");
                    assert_eq!(eval(&up), fits(q + i128::from(wide != q * by)), "ceil {a} / {b}");
                    assert_eq!(
                        Dim::known(a)
                            .floordiv(Dim::known(b))
                            .ok()
                            .and_then(|dim| dim.as_known())
                            .map(i128::from),
                        fits(q)
                    );
                }
            }
        }
    }
}
