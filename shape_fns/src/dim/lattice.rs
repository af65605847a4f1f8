//! Canonical forms of `min`, `max` and `bcast`, which are associative, commutative and idempotent.

use smallvec::SmallVec;

use crate::Result;
use crate::dim::poly::{self, Atom, Function, call};
use crate::dim::{Dim, DimRepr, IntoDim, Invalid};

impl Dim {
    /// Returns the smaller of two dimensions.
    ///
    /// # Errors
    /// The errors of [`Dim::checked_add`].
    pub fn min(&self, other: impl IntoDim) -> Result<Dim> {
        Ok(canonical_call(Function::Min, [self, &other.into_dim()])?)
    }

    /// Returns the greater of two dimensions.
    ///
    /// # Errors
    /// The errors of [`Dim::checked_add`].
    pub fn max(&self, other: impl IntoDim) -> Result<Dim> {
        Ok(canonical_call(Function::Max, [self, &other.into_dim()])?)
    }

    /// Returns the size to which `a` (`self`) and `b` (`other`) broadcast: `a` if `b` is 1 or equal to `a`, and `b` if
    /// `a` is 1.
    ///
    /// `bcast(a, 1)` is `a`. `bcast(a, k)` is `k` for a known `k != 1`; the caller must ensure that `a` is 1 or `k`.
    ///
    /// # Errors
    /// Two known dimensions differ and neither is 1, or the errors of [`Dim::checked_add`].
    pub fn bcast(&self, other: impl IntoDim) -> Result<Dim> {
        let other = other.into_dim();
        match (self.as_known(), other.as_known()) {
            (Some(a), Some(b)) if a != b && a != 1 && b != 1 => Err(crate::ShapeError::new(format_args!(
                "dimensions must be equal or 1 to broadcast, got {a} and {b}"
            ))),
            _ => Ok(canonical_call(Function::Bcast, [self, &other])?),
        }
    }
}

/// An argument of the flattened call. If the argument comes from a nested call of the same function, the number tells
/// which: it is the position of the nested call among the arguments.
type Arg = (Dim, Option<usize>);

/// Returns `function(args)` in canonical form: nested calls are flattened, arguments are sorted and distinct, and
/// dominated arguments are dropped.
pub(crate) fn canonical_call<'a>(
    function: Function,
    args: impl IntoIterator<Item = &'a Dim>,
) -> Result<Dim, Invalid> {
    let mut flat: SmallVec<[Arg; 2]> = SmallVec::new();
    for (number, arg) in args.into_iter().enumerate() {
        match as_call(arg, function) {
            Some(inner) => flat.extend(inner.iter().map(|arg| (arg.clone(), Some(number)))),
            None => flat.push((arg.valid()?, None)),
        }
    }
    flat.sort_unstable_by(|a, b| poly::order(&a.0, &b.0));
    flat.dedup_by(|a, b| a.0 == b.0);
    match function {
        Function::Bcast => {
            if flat.len() > 1 {
                flat.retain(|(arg, _)| arg.as_known() != Some(1));
            }
            let mut known = flat.iter().map(|(arg, _)| arg).filter(|arg| arg.is_known());
            if let Some(first) = known.next() {
                return if known.next().is_some() { Err(Invalid::Broadcast) } else { Ok(first.clone()) };
            }
        }
        _ => drop_dominated(function, &mut flat),
    }
    match flat.len() {
        1 => flat.pop().map(|(arg, _)| arg).ok_or(Invalid::TooLarge),
        count if count > poly::MAX_MONOMIALS && function != Function::Bcast => Err(Invalid::TooLarge),
        _ => call(function, flat.into_iter().map(|(arg, _)| arg).collect()),
    }
}

/// Returns the arguments if `dim` is nothing but one call of `function`.
fn as_call(dim: &Dim, function: Function) -> Option<&[Dim]> {
    let DimRepr::Poly(poly) = &dim.0 else { return None };
    match poly.terms() {
        [(monomial, 1)] => match monomial.0.as_slice() {
            [Atom::Call(call)] if call.function == function => Some(&call.args),
            _ => None,
        },
        _ => None,
    }
}

/// Drops every argument that never decides the result because another argument is always at least as small (`min`) or
/// as great (`max`). Arguments of the same nested call are not compared: they were compared when that call was made,
/// and there may be many.
fn drop_dominated(function: Function, args: &mut SmallVec<[Arg; 2]>) {
    let mut kept: SmallVec<[Arg; 2]> = SmallVec::new();
    'args: for arg in args.drain(..) {
        let mut position = 0;
        while let Some(other) = kept.get(position) {
            let is_comparable = arg.1.is_none() || arg.1 != other.1;
            let dominates = |a: &Arg, b: &Arg| match function {
                _ if !is_comparable => false,
                Function::Min => a.0.le(&b.0) == Some(true),
                _ => a.0.ge(&b.0) == Some(true),
            };
            if dominates(other, &arg) {
                continue 'args;
            }
            if dominates(&arg, other) {
                kept.remove(position);
            } else {
                position += 1;
            }
        }
        kept.push(arg);
    }
    *args = kept;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dim(text: &str) -> Dim {
        text.parse().unwrap()
    }

    #[test]
    fn lattice_functions_obey_their_laws() {
        let (a, b, c) = (dim("a"), dim("b"), dim("c"));
        let functions: [fn(&Dim, &Dim) -> Result<Dim>; 3] =
            [|a, b| a.min(b), |a, b| a.max(b), |a, b| a.bcast(b)];
        for f in functions {
            assert_eq!(f(&a, &a), Ok(a.clone()));
            assert_eq!(f(&a, &b), f(&b, &a));
            assert_eq!(f(&f(&a, &b).unwrap(), &c), f(&a, &f(&c, &b).unwrap()));
        }
        assert_eq!(a.bcast(Dim::known(1)), Ok(a.clone()));
        assert_eq!(a.bcast(Dim::known(5)), Ok(Dim::known(5)));
        assert!(Dim::known(4).bcast(Dim::known(5)).is_err());
    }

    #[test]
    fn more_than_64_arguments_are_refused() {
        let mut all = dim("a0");
        for number in 1..64 {
            all = all.max(dim(&format!("a{number}"))).unwrap();
        }
        assert_eq!(all.max(dim("a7")), Ok(all.clone()));
        assert!(all.max(dim("b")).is_err());
    }

    #[test]
    fn dominated_arguments_are_dropped() {
        assert_eq!(dim("min(n, n+1)"), dim("n"));
        assert_eq!(dim("max(n, 0)"), dim("n"));
        assert_eq!(dim("min(n, m, n+m)"), dim("min(m, n)"));
        assert_eq!(dim("max(min(n, 3), 4)"), dim("4"));
        assert_eq!(dim("max(-9223372036854775808, 9223372036854775807)"), Dim::known(i64::MAX));
        assert_eq!(dim("min(n, -9223372036854775808, 2)"), Dim::known(i64::MIN));
    }
}
