//! [`Poly`]: the canonical form of every dimension that is neither a number nor a plain symbol.
//!
//! A `Poly` is a polynomial with integer coefficients over atoms. An atom is a symbol or a call (`floordiv`, `mod`,
//! `ceildiv`, `min`, `max`, `bcast`) with dimensions as arguments. Monomials are sorted in graded order with the
//! constant last. Hence a polynomial has one form, whatever operations built it.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use rustc_hash::FxHasher;
use smallvec::SmallVec;

use crate::dim::symbol::Symbol;
use crate::dim::{Dim, DimRepr, Invalid};

/// The greatest number of monomials of a polynomial. A polynomial that exceeds one of the limits is refused
/// ([`Invalid::TooLarge`]), which also bounds every recursion over dimensions.
pub(crate) const MAX_MONOMIALS: usize = 64;
/// The greatest [`Poly::depth`].
const MAX_DEPTH: u32 = 16;
/// The greatest [`Poly::size`].
const MAX_SIZE: u32 = 512;

/// A polynomial that is neither a constant nor a plain symbol.
pub(crate) struct Poly {
    terms: Box<[Term]>,
    /// The hash of `terms`, computed once.
    hash: u64,
    /// The greatest nesting depth of calls.
    depth: u32,
    /// The number of monomials and atoms, plus the sizes of all arguments of calls.
    size: u32,
}

/// A monomial and its coefficient, which is never 0.
pub(crate) type Term = (Monomial, i64);

/// A sorted product of atoms. A power repeats its atom. The empty product is the constant 1.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Monomial(pub(crate) SmallVec<[Atom; 2]>);

/// A factor of a monomial.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) enum Atom {
    Symbol(Symbol),
    Call(Arc<Call>),
}

/// A call of a function that no polynomial expresses. The arguments of `min`, `max` and `bcast` are sorted and
/// distinct.
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct Call {
    pub(crate) function: Function,
    pub(crate) args: SmallVec<[Dim; 2]>,
}

/// A function that a dimension may call.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Function {
    /// The quotient of two arguments, rounded down.
    FloorDiv,
    /// The remainder of [`Function::FloorDiv`].
    Mod,
    /// The quotient of two arguments, rounded up.
    CeilDiv,
    /// The smallest argument.
    Min,
    /// The largest argument.
    Max,
    /// The size to which axes of these sizes broadcast.
    Bcast,
}

impl Function {
    pub(crate) const ALL: [Function; 6] =
        [Function::FloorDiv, Function::Mod, Function::CeilDiv, Function::Min, Function::Max, Function::Bcast];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Function::FloorDiv => "floordiv",
            Function::Mod => "mod",
            Function::CeilDiv => "ceildiv",
            Function::Min => "min",
            Function::Max => "max",
            Function::Bcast => "bcast",
        }
    }

    /// Returns whether the function takes any number of arguments in any order.
    pub(crate) fn is_lattice(self) -> bool {
        matches!(self, Function::Min | Function::Max | Function::Bcast)
    }
}

impl Poly {
    pub(crate) fn terms(&self) -> &[Term] {
        &self.terms
    }
}

impl PartialEq for Poly {
    fn eq(&self, other: &Poly) -> bool {
        std::ptr::eq(self, other) || (self.hash == other.hash && self.terms == other.terms)
    }
}

impl Eq for Poly {}

impl Hash for Poly {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

impl Monomial {
    pub(crate) fn one() -> Monomial {
        Monomial(SmallVec::new())
    }

    pub(crate) fn atom(atom: Atom) -> Monomial {
        Monomial(SmallVec::from_iter([atom]))
    }

    pub(crate) fn is_one(&self) -> bool {
        self.0.is_empty()
    }

    fn times(&self, other: &Monomial) -> Monomial {
        let mut atoms = self.0.clone();
        atoms.extend(other.0.iter().cloned());
        atoms.sort_unstable_by(Atom::order);
        Monomial(atoms)
    }

    /// Orders monomials by degree, highest first, then atom by atom.
    fn order(&self, other: &Monomial) -> Ordering {
        other.0.len().cmp(&self.0.len()).then_with(|| {
            self.0
                .iter()
                .zip(&other.0)
                .map(|(a, b)| a.order(b))
                .find(|order| order.is_ne())
                .unwrap_or(Ordering::Equal)
        })
    }

    /// Returns the product of the atoms that both monomials contain.
    pub(crate) fn shared_with(&self, other: &Monomial) -> Monomial {
        let mut rest = other.0.clone();
        let mut shared = self.0.clone();
        shared.retain(|atom| match rest.iter().position(|other| other == atom) {
            Some(position) => {
                rest.remove(position);
                true
            }
            None => false,
        });
        Monomial(shared)
    }

    /// Returns the monomial `m` with `m * divisor == self`, if there is one.
    pub(crate) fn divided_by(&self, divisor: &Monomial) -> Option<Monomial> {
        let mut atoms = self.0.clone();
        for atom in &divisor.0 {
            let position = atoms.iter().position(|other| other == atom)?;
            atoms.remove(position);
        }
        Some(Monomial(atoms))
    }
}

impl Atom {
    pub(crate) fn order(&self, other: &Atom) -> Ordering {
        match (self, other) {
            (Atom::Symbol(a), Atom::Symbol(b)) => a.cmp(b),
            (Atom::Symbol(_), Atom::Call(_)) => Ordering::Less,
            (Atom::Call(_), Atom::Symbol(_)) => Ordering::Greater,
            (Atom::Call(a), Atom::Call(b)) => a.function.cmp(&b.function).then_with(|| {
                a.args.len().cmp(&b.args.len()).then_with(|| order_slices(&a.args, &b.args, order))
            }),
        }
    }
}

/// Orders arguments: numbers, then symbols, then polynomials, then invalid dimensions. Any total order would do; this
/// order is cheap to compute.
pub(crate) fn order(a: &Dim, b: &Dim) -> Ordering {
    fn rank(dim: &Dim) -> u8 {
        match &dim.0 {
            DimRepr::Known(_) => 0,
            DimRepr::Symbol(_) => 1,
            DimRepr::Poly(_) => 2,
            DimRepr::Invalid(_) => 3,
        }
    }
    match (&a.0, &b.0) {
        (DimRepr::Known(a), DimRepr::Known(b)) => a.cmp(b),
        (DimRepr::Symbol(a), DimRepr::Symbol(b)) => a.cmp(b),
        (DimRepr::Poly(a), DimRepr::Poly(b)) => a
            .terms
            .len()
            .cmp(&b.terms.len())
            .then_with(|| order_slices(&a.terms, &b.terms, |x, y| x.0.order(&y.0).then(x.1.cmp(&y.1)))),
        (DimRepr::Invalid(a), DimRepr::Invalid(b)) => a.cmp(b),
        _ => rank(a).cmp(&rank(b)),
    }
}

fn order_slices<T>(a: &[T], b: &[T], mut order: impl FnMut(&T, &T) -> Ordering) -> Ordering {
    a.iter().zip(b).map(|(x, y)| order(x, y)).find(|o| o.is_ne()).unwrap_or_else(|| a.len().cmp(&b.len()))
}

/// Returns the terms of a valid dimension in canonical order.
pub(crate) fn terms_of(dim: &Dim) -> Result<SmallVec<[Term; 4]>, Invalid> {
    Ok(match &dim.0 {
        DimRepr::Known(0) => SmallVec::new(),
        DimRepr::Known(value) => SmallVec::from_iter([(Monomial::one(), *value)]),
        DimRepr::Symbol(symbol) => SmallVec::from_iter([(Monomial::atom(Atom::Symbol(*symbol)), 1)]),
        DimRepr::Poly(poly) => poly.terms.iter().cloned().collect(),
        DimRepr::Invalid(why) => return Err(*why),
    })
}

/// Returns `a + factor * b`.
pub(crate) fn add_scaled(a: &Dim, b: &Dim, factor: i64) -> Result<Dim, Invalid> {
    let mut terms = terms_of(a)?;
    for (monomial, coefficient) in terms_of(b)? {
        terms.push((monomial, coefficient.checked_mul(factor).ok_or(Invalid::Overflow)?));
    }
    from_terms(terms)
}

/// Returns `a * b`.
pub(crate) fn multiply(a: &Dim, b: &Dim) -> Result<Dim, Invalid> {
    let (a, b) = (terms_of(a)?, terms_of(b)?);
    let mut terms = SmallVec::with_capacity(a.len() * b.len());
    for (left, x) in &a {
        for (right, y) in &b {
            terms.push((left.times(right), x.checked_mul(*y).ok_or(Invalid::Overflow)?));
        }
    }
    from_terms(terms)
}

/// Returns `function(args)` as a dimension. The caller has brought the arguments into canonical form.
pub(crate) fn call(function: Function, args: SmallVec<[Dim; 2]>) -> Result<Dim, Invalid> {
    let call = Arc::new(Call { function, args });
    from_terms(SmallVec::from_iter([(Monomial::atom(Atom::Call(call)), 1)]))
}

/// Returns the sum of `terms`, which may be in any order and may contain equal monomials.
pub(crate) fn from_terms(mut terms: SmallVec<[Term; 4]>) -> Result<Dim, Invalid> {
    terms.sort_unstable_by(|a, b| a.0.order(&b.0));
    let mut joined: SmallVec<[Term; 4]> = SmallVec::with_capacity(terms.len());
    for (monomial, coefficient) in terms {
        match joined.last_mut() {
            Some(last) if last.0 == monomial => {
                last.1 = last.1.checked_add(coefficient).ok_or(Invalid::Overflow)?;
            }
            _ => joined.push((monomial, coefficient)),
        }
    }
    joined.retain(|term| term.1 != 0);
    let exact = joined.iter().enumerate().find_map(|(position, (monomial, coefficient))| {
        Some((position, without_exact_floordiv(monomial, *coefficient)?))
    });
    if let Some((position, terms)) = exact {
        joined.remove(position);
        joined.extend(terms);
        return from_terms(joined);
    }
    match joined.as_slice() {
        [] => return Ok(Dim::known(0)),
        [(monomial, value)] if monomial.is_one() => return Ok(Dim::known(*value)),
        [(monomial, 1)] => {
            if let [Atom::Symbol(symbol)] = monomial.0.as_slice() {
                return Ok(Dim(DimRepr::Symbol(*symbol)));
            }
        }
        _ => {}
    }
    if joined.len() > MAX_MONOMIALS {
        return Err(Invalid::TooLarge);
    }
    let (mut depth, mut size) = (0, 0u32);
    let mut hasher = FxHasher::default();
    for (monomial, coefficient) in &joined {
        monomial.hash(&mut hasher);
        coefficient.hash(&mut hasher);
        size += 1;
        for atom in &monomial.0 {
            size += 1;
            if let Atom::Call(call) = atom {
                for arg in &call.args {
                    let (inner_depth, inner_size) = extent(arg)?;
                    depth = depth.max(inner_depth + 1);
                    size += inner_size;
                }
            }
        }
    }
    if depth > MAX_DEPTH || size > MAX_SIZE {
        return Err(Invalid::TooLarge);
    }
    Ok(Dim(DimRepr::Poly(Arc::new(Poly {
        terms: joined.into_vec().into(),
        hash: hasher.finish(),
        depth,
        size,
    }))))
}

/// Returns a dimension with the same remainder by `divisor`, in which no `mod(y, m)` with the coefficient `c` is left
/// where `divisor` divides `c*m`: `c*mod(y, m)` and `c*y` have the same remainder. A dimension whose replacement would
/// exceed a limit is returned as it is.
pub(crate) fn without_inner_mods(dividend: &Dim, divisor: i64) -> Dim {
    let mut dim = dividend.clone();
    while let Some(replaced) = with_one_mod_replaced(&dim, divisor) {
        dim = replaced;
    }
    dim
}

fn with_one_mod_replaced(dim: &Dim, divisor: i64) -> Option<Dim> {
    let DimRepr::Poly(poly) = &dim.0 else { return None };
    let argument = |(monomial, coefficient): &Term| {
        let [Atom::Call(call)] = monomial.0.as_slice() else { return None };
        let modulus = call.args.get(1)?.as_known()?;
        let is_same = i128::from(*coefficient) * i128::from(modulus) % i128::from(divisor) == 0;
        (call.function == Function::Mod && modulus > 0 && is_same).then(|| call.args.first().cloned())?
    };
    let (position, argument) =
        poly.terms().iter().enumerate().find_map(|(position, term)| Some((position, argument(term)?)))?;
    let (_, coefficient) = poly.terms().get(position)?;
    let others = poly.terms().iter().enumerate().filter(|(other, _)| *other != position);
    let others = from_terms(others.map(|(_, term)| term.clone()).collect()).ok()?;
    add_scaled(&others, &argument, coefficient.rem_euclid(divisor)).ok()
}

/// Returns the terms of `coefficient * product` if `product` has a factor `floordiv(e, d)` such that `d` divides both
/// `e` and the coefficient. Then the factor and `d` cancel, and only `e` is left.
fn without_exact_floordiv(product: &Monomial, coefficient: i64) -> Option<SmallVec<[Term; 4]>> {
    product.0.iter().enumerate().find_map(|(position, atom)| {
        let Atom::Call(call) = atom else { return None };
        let [dividend, divisor] = call.args.as_slice() else { return None };
        let divisor = divisor.as_known().filter(|divisor| *divisor > 1)?;
        let may_be_exact = call.function == Function::FloorDiv && coefficient % divisor == 0;
        if !may_be_exact
            || !has_mod(dividend)
            || !is_multiple(&without_inner_mods(dividend, divisor), divisor)
        {
            return None;
        }
        let mut others = product.0.clone();
        others.remove(position);
        let others = from_terms(SmallVec::from_iter([(Monomial(others), coefficient / divisor)])).ok()?;
        terms_of(&multiply(&others, dividend).ok()?).ok()
    })
}

/// Returns whether a number divides every coefficient.
fn is_multiple(dim: &Dim, divisor: i64) -> bool {
    terms_of(dim).is_ok_and(|terms| terms.iter().all(|(_, coefficient)| coefficient % divisor == 0))
}

/// Returns whether a term of the dimension has a factor `mod(…)`. If a known divisor divides a dividend without such
/// a term, [`floordiv`](crate::dim::quotient::floordiv) returns the quotient itself and makes no call.
fn has_mod(dim: &Dim) -> bool {
    let is_mod = |atom: &Atom| matches!(atom, Atom::Call(call) if call.function == Function::Mod);
    matches!(&dim.0, DimRepr::Poly(poly) if poly.terms().iter().any(|(monomial, _)| monomial.0.iter().any(is_mod)))
}

/// Returns the nesting depth and the size of an argument; a number or a symbol has size 1. The caller's sum of sizes
/// cannot overflow, because every argument is within the limits.
fn extent(dim: &Dim) -> Result<(u32, u32), Invalid> {
    match &dim.0 {
        DimRepr::Known(_) | DimRepr::Symbol(_) => Ok((0, 1)),
        DimRepr::Poly(poly) => Ok((poly.depth, poly.size)),
        DimRepr::Invalid(why) => Err(*why),
    }
}
