//! Solves an equation between dimensions for one symbol.

use smallvec::SmallVec;

use crate::Dim;
use crate::dim::DimRepr;
use crate::dim::poly::{Atom, Monomial, Term, from_terms, terms_of};
use crate::dim::quotient::gcd;
use crate::dim::symbol::{Symbol, SymbolKind};

/// The result of solving `difference == 0`.
pub(crate) enum Answer {
    /// The equation has no solution.
    Never,
    /// The symbol equals the dimension. The dimension does not mention the symbol.
    Bind(Symbol, Dim),
    /// No symbol can be isolated, or the equation always holds.
    Unsolved,
}

/// Solves `difference == 0` for one symbol, where `difference` is `a - b`. The candidates are the symbols that `admits`
/// accepts together with their solution; the candidate of the greatest [`preference`] is chosen.
pub(crate) fn solve(difference: &Dim, a: &Dim, b: &Dim, admits: &dyn Fn(Symbol, &Dim) -> bool) -> Answer {
    // If `a - b` cannot be represented, only an equation with a plain symbol on one side can be solved.
    if let DimRepr::Invalid(_) = difference.0 {
        let isolated = isolate(a, b, admits).or_else(|| isolate(b, a, admits));
        return isolated.unwrap_or(Answer::Unsolved);
    }
    if let Some(value) = difference.as_known() {
        return if value == 0 { Answer::Unsolved } else { Answer::Never };
    }
    let bounds = difference.bounds();
    if bounds.is_above(0) || bounds.is_below(0) {
        return Answer::Never;
    }
    let Ok(terms) = terms_of(difference) else { return Answer::Unsolved };
    let content = terms.iter().filter(|term| !term.0.is_one()).fold(0, |g, term| gcd(g, term.1));
    if terms.iter().any(|term| term.1 % content != 0) {
        return Answer::Never;
    }
    let candidate = terms
        .iter()
        .filter(|term| term.1 == content || term.1 == -content)
        .filter_map(|term| Some((as_symbol(&term.0)?, term)))
        .filter(|(symbol, symbol_term)| {
            terms.iter().filter(|term| term.0 != symbol_term.0).all(|term| !mentions(&term.0, *symbol))
        })
        .filter_map(|(symbol, symbol_term)| {
            let sign = symbol_term.1 / content;
            let rest: SmallVec<[Term; 4]> = terms
                .iter()
                .filter(|term| term.0 != symbol_term.0)
                .map(|(monomial, coefficient)| {
                    Some((monomial.clone(), (coefficient / content).checked_mul(-sign)?))
                })
                .collect::<Option<_>>()?;
            Some((symbol, from_terms(rest).ok()?))
        })
        .filter(|(symbol, dim)| admits(*symbol, dim))
        .max_by_key(|(symbol, dim)| preference(*symbol, dim, b));
    candidate.map_or(Answer::Unsolved, |(symbol, dim)| Answer::Bind(symbol, dim))
}

/// Solves `side == other` if `side` is a symbol that `other` does not mention and `admits` accepts.
fn isolate(side: &Dim, other: &Dim, admits: &dyn Fn(Symbol, &Dim) -> bool) -> Option<Answer> {
    let symbol = side.as_symbol()?;
    (!other.mentions(symbol) && admits(symbol, other)).then(|| Answer::Bind(symbol, other.clone()))
}

fn as_symbol(monomial: &Monomial) -> Option<Symbol> {
    match monomial.0.as_slice() {
        [Atom::Symbol(symbol)] => Some(*symbol),
        _ => None,
    }
}

fn mentions(monomial: &Monomial, symbol: Symbol) -> bool {
    monomial.0.iter().any(|atom| match atom {
        Atom::Symbol(other) => *other == symbol,
        Atom::Call(call) => call.args.iter().any(|arg| arg.mentions(symbol)),
    })
}

/// Ranks symbols: the equation is solved for the symbol of greatest rank, which the solution then replaces.
///
/// Elements of tensors rank above anonymous sizes, and anonymous sizes above named sizes. Within a class, a symbol
/// ranks higher if its solution is provably not negative, then if it is newer, then if `b` mentions it, then if its
/// name is greater.
fn preference(symbol: Symbol, dim: &Dim, b: &Dim) -> (u8, bool, u64, bool, &'static str) {
    let class = match (symbol.is_anonymous(), symbol.kind()) {
        (_, SymbolKind::Integer) => 2,
        (true, SymbolKind::Size) => 1,
        (false, SymbolKind::Size) => 0,
    };
    let (age, name) = (symbol.age().unwrap_or(u64::MAX), symbol.name().unwrap_or_default());
    (class, dim.bounds().is_above(-1), age, b.mentions(symbol), name)
}

impl Dim {
    /// Returns the invalid dimension that stands for a result too large to represent.
    pub(crate) fn too_large() -> Dim {
        Dim(DimRepr::Invalid(crate::dim::Invalid::TooLarge))
    }

    /// Returns the greatest common divisor of all coefficients except the constant, or 1 for a number.
    pub(crate) fn content(&self) -> i64 {
        match &self.0 {
            DimRepr::Poly(poly) => {
                poly.terms().iter().filter(|term| !term.0.is_one()).fold(0, |g, term| gcd(g, term.1)).max(1)
            }
            _ => 1,
        }
    }

    /// Returns the greatest common divisor of all coefficients and the constant; 0 for 0.
    pub(crate) fn common_factor(&self) -> i64 {
        match &self.0 {
            DimRepr::Known(value) => gcd(*value, 0),
            DimRepr::Poly(poly) => poly.terms().iter().fold(0, |g, term| gcd(g, term.1)),
            DimRepr::Symbol(_) | DimRepr::Invalid(_) => 1,
        }
    }

    /// Returns the product of the symbols and calls that every term of the dimensions contains; `None` if there is no
    /// such symbol or call, or if a dimension is 0 or invalid.
    pub(crate) fn common_product(dims: &[&Dim]) -> Option<Dim> {
        let mut common: Option<Monomial> = None;
        for dim in dims {
            let terms = terms_of(dim).ok().filter(|terms| !terms.is_empty())?;
            for (monomial, _) in &terms {
                common = Some(match common {
                    Some(common) => common.shared_with(monomial),
                    None => monomial.clone(),
                });
            }
        }
        let common = common.filter(|common| !common.is_one())?;
        from_terms(SmallVec::from_iter([(common, 1)])).ok()
    }

    /// Splits the dimension into the sum of its non-constant terms and its constant. Returns `None` for a number and
    /// for an invalid dimension.
    pub(crate) fn without_constant(&self) -> Option<(Dim, i64)> {
        match &self.0 {
            DimRepr::Known(_) | DimRepr::Invalid(_) => None,
            DimRepr::Symbol(_) => Some((self.clone(), 0)),
            DimRepr::Poly(poly) => {
                let (one, rest): (SmallVec<[Term; 4]>, SmallVec<[Term; 4]>) =
                    poly.terms().iter().cloned().partition(|term| term.0.is_one());
                let constant = one.first().map_or(0, |term| term.1);
                if constant == 0 { Some((self.clone(), 0)) } else { Some((from_terms(rest).ok()?, constant)) }
            }
        }
    }
}
