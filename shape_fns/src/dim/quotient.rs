//! Canonical forms of `floordiv`, `modulo` and `ceil_div`.

use smallvec::SmallVec;

use crate::Result;
use crate::dim::poly::{self, Atom, Function, Term, call, from_terms, terms_of, without_inner_mods};
use crate::dim::{Dim, DimRepr, IntoDim, Invalid};

impl Dim {
    /// Returns the quotient rounded towards minus infinity. A divisor that divides the dimension exactly cancels:
    /// `4*n // n` is 4. The quotient is only defined where the divisor is not 0.
    ///
    /// ```
    /// # use shapeflow_shape_fns::Dim;
    /// let samples = Dim::symbol("samples");
    /// let frames = (&samples - 64).floordiv(24)? + 1;
    /// assert_eq!(frames.to_string(), "floordiv(samples+8, 24)-2");
    /// # Ok::<(), shapeflow_shape_fns::ShapeError>(())
    /// ```
    ///
    /// # Errors
    /// The divisor is 0, or the errors of [`Dim::checked_add`].
    pub fn floordiv(&self, divisor: impl IntoDim) -> Result<Dim> {
        Ok(floordiv(self, &divisor.into_dim())?)
    }

    /// Returns the quotient rounded towards plus infinity.
    ///
    /// # Errors
    /// The errors of [`Dim::floordiv`].
    pub fn ceil_div(&self, divisor: impl IntoDim) -> Result<Dim> {
        Ok(ceil_div(self, &divisor.into_dim())?)
    }

    /// Returns the remainder of [`Dim::floordiv`], which has the sign of the divisor.
    ///
    /// # Errors
    /// The errors of [`Dim::floordiv`].
    pub fn modulo(&self, divisor: impl IntoDim) -> Result<Dim> {
        Ok(modulo(self, &divisor.into_dim())?)
    }

    /// Returns the quotient if polynomial division by the divisor leaves no remainder. In particular, a number divides
    /// a dimension if it divides every coefficient.
    pub fn exact_div(&self, divisor: impl IntoDim) -> Option<Dim> {
        exact_div(self, &divisor.into_dim()).ok().flatten()
    }
}

pub(crate) fn floordiv(dividend: &Dim, divisor: &Dim) -> Result<Dim, Invalid> {
    match (&dividend.0, &divisor.0) {
        (DimRepr::Invalid(why), _) | (_, DimRepr::Invalid(why)) => Err(*why),
        (_, DimRepr::Known(0)) => Err(Invalid::DivisionByZero),
        (_, DimRepr::Known(1)) => Ok(dividend.clone()),
        (DimRepr::Known(a), DimRepr::Known(b)) => {
            i64::try_from(floor_i128((*a).into(), (*b).into())).map(Dim::known).map_err(|_| Invalid::Overflow)
        }
        (_, DimRepr::Known(k)) if *k < 0 => floordiv(
            &dividend.times(&Dim::known(-1))?,
            &Dim::known(k.checked_neg().ok_or(Invalid::Overflow)?),
        ),
        (_, DimRepr::Known(k)) => floordiv_by_known(dividend, *k),
        // `exact_div` also returns `None` if one of its intermediate results overflows.
        _ => match dividend.exact_div(divisor) {
            Some(quotient) => Ok(quotient),
            None => {
                let (dividend, divisor) = without_common_factor(dividend, divisor)?;
                call(Function::FloorDiv, SmallVec::from_iter([dividend, divisor]))
            }
        },
    }
}

pub(crate) fn modulo(dividend: &Dim, divisor: &Dim) -> Result<Dim, Invalid> {
    match (&dividend.0, &divisor.0) {
        (DimRepr::Invalid(why), _) | (_, DimRepr::Invalid(why)) => Err(*why),
        (_, DimRepr::Known(0)) => Err(Invalid::DivisionByZero),
        (DimRepr::Known(a), DimRepr::Known(b)) => {
            let (a, b) = (i128::from(*a), i128::from(*b));
            i64::try_from(modulo_i128(a, b)).map(Dim::known).map_err(|_| Invalid::Overflow)
        }
        (_, DimRepr::Known(k)) if *k > 0 => modulo_by_known(dividend, *k),
        _ if dividend.exact_div(divisor).is_some() => Ok(Dim::known(0)),
        _ => call(Function::Mod, SmallVec::from_iter([dividend.clone(), divisor.clone()])),
    }
}

/// Returns the quotient rounded up. For a known divisor the result is a `floordiv`, so that `ceildiv(n, 4)` and
/// `floordiv(n+3, 4)` have the same form.
pub(crate) fn ceil_div(dividend: &Dim, divisor: &Dim) -> Result<Dim, Invalid> {
    match (&dividend.0, &divisor.0) {
        (DimRepr::Invalid(why), _) | (_, DimRepr::Invalid(why)) => Err(*why),
        (_, DimRepr::Known(0)) => Err(Invalid::DivisionByZero),
        (DimRepr::Known(a), DimRepr::Known(b)) => {
            let quotient = -floor_i128(-i128::from(*a), (*b).into());
            i64::try_from(quotient).map(Dim::known).map_err(|_| Invalid::Overflow)
        }
        (_, DimRepr::Known(k)) if *k > 0 => floordiv(&dividend.plus_times(&Dim::known(k - 1), 1)?, divisor),
        (_, DimRepr::Known(k)) => {
            let negated = Dim::known(k.checked_neg().ok_or(Invalid::Overflow)?);
            ceil_div(&dividend.times(&Dim::known(-1))?, &negated)
        }
        // `exact_div` also returns `None` if one of its intermediate results overflows.
        _ => match dividend.exact_div(divisor) {
            Some(quotient) => Ok(quotient),
            None => {
                let (dividend, divisor) = without_common_factor(dividend, divisor)?;
                call(Function::CeilDiv, SmallVec::from_iter([dividend, divisor]))
            }
        },
    }
}

/// Floor division of integers. `divisor` must be neither 0 nor `i128::MIN`.
pub(crate) fn floor_i128(dividend: i128, divisor: i128) -> i128 {
    let quotient = dividend.div_euclid(divisor);
    if divisor < 0 && dividend.rem_euclid(divisor) != 0 { quotient - 1 } else { quotient }
}

/// Returns the remainder of [`floor_i128`]. The remainder is not computed from the quotient, because
/// `quotient * divisor` could overflow.
pub(crate) fn modulo_i128(dividend: i128, divisor: i128) -> i128 {
    let rest = dividend.rem_euclid(divisor);
    if divisor < 0 && rest != 0 { rest + divisor } else { rest }
}

/// Returns `(quotient, rest)` such that `dividend = divisor * quotient + rest` and every coefficient of `rest` is in
/// `0..divisor`.
fn split_by_known(dividend: &Dim, divisor: i64) -> Result<(Dim, SmallVec<[Term; 4]>), Invalid> {
    let (mut quotient, mut rest) = (SmallVec::new(), SmallVec::new());
    for (monomial, coefficient) in terms_of(dividend)? {
        let remainder = coefficient.rem_euclid(divisor);
        let whole = coefficient.div_euclid(divisor);
        if whole != 0 {
            quotient.push((monomial.clone(), whole));
        }
        if remainder != 0 {
            rest.push((monomial, remainder));
        }
    }
    Ok((from_terms(quotient)?, rest))
}

/// Divides `rest` and `divisor` by their common factor.
///
/// Returns `(common, reduced, divisor / common, dropped)`, where `common` is the greatest common divisor of `divisor`
/// and all coefficients except the constant. The constant is rounded down: `rest = common * reduced + dropped`.
fn reduce(rest: SmallVec<[Term; 4]>, divisor: i64) -> (i64, SmallVec<[Term; 4]>, i64, i64) {
    let common = rest.iter().filter(|term| !term.0.is_one()).fold(divisor, |g, term| gcd(g, term.1));
    let mut dropped = 0;
    let reduced = rest
        .into_iter()
        .map(|(monomial, coefficient)| {
            if monomial.is_one() {
                dropped = coefficient % common;
            }
            (monomial, coefficient / common)
        })
        .filter(|term| term.1 != 0)
        .collect();
    (common, reduced, divisor / common, dropped)
}

/// Returns the greatest common divisor, or 1 if it is 2^63.
pub(crate) fn gcd(a: i64, b: i64) -> i64 {
    let (mut a, mut b) = (a.unsigned_abs(), b.unsigned_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    // 2^63 does not fit in `i64`. 1 is a common divisor too.
    i64::try_from(a).unwrap_or(1)
}

/// Divides `dividend` and `divisor` by the greatest number that divides all their coefficients.
fn without_common_factor(dividend: &Dim, divisor: &Dim) -> Result<(Dim, Dim), Invalid> {
    let common = terms_of(dividend)?.iter().chain(&terms_of(divisor)?).fold(0, |g, term| gcd(g, term.1));
    if common <= 1 {
        return Ok((dividend.clone(), divisor.clone()));
    }
    let reduce = |dim: &Dim| {
        from_terms(terms_of(dim)?.into_iter().map(|(monomial, value)| (monomial, value / common)).collect())
    };
    Ok((reduce(dividend)?, reduce(divisor)?))
}

fn floordiv_by_known(dividend: &Dim, divisor: i64) -> Result<Dim, Invalid> {
    let (quotient, rest) = split_by_known(dividend, divisor)?;
    let (_, rest, divisor, _) = reduce(rest, divisor);
    let rest = from_terms(rest)?;
    quotient.plus_times(&floordiv_of_rest(&rest, divisor)?, 1)
}

/// Returns `rest // divisor`. Every coefficient of `rest` must be in `0..divisor`.
fn floordiv_of_rest(rest: &Dim, divisor: i64) -> Result<Dim, Invalid> {
    let bounds = rest.bounds();
    if bounds.is_above(-1) && bounds.is_below(divisor) {
        return Ok(Dim::known(0));
    }
    // For known positive `b` and `d`, `(a // b + c) // d = (a + b*c) // (b*d)`.
    if let Some((inner, by, constant)) = as_floordiv_plus_constant(rest)
        && let (Some(shift), Some(product)) = (by.checked_mul(constant), by.checked_mul(divisor))
    {
        return floordiv(&inner.plus_times(&Dim::known(shift), 1)?, &Dim::known(product));
    }
    call(Function::FloorDiv, SmallVec::from_iter([rest.clone(), Dim::known(divisor)]))
}

/// Matches `floordiv(inner, by) + constant` with a known `by > 0` and returns `(inner, by, constant)`.
fn as_floordiv_plus_constant(dim: &Dim) -> Option<(Dim, i64, i64)> {
    let DimRepr::Poly(poly) = &dim.0 else { return None };
    let (monomial, constant) = match poly.terms() {
        [(monomial, 1)] => (monomial, 0),
        [(monomial, 1), (one, constant)] if one.is_one() => (monomial, *constant),
        _ => return None,
    };
    match monomial.0.as_slice() {
        [Atom::Call(call)] if call.function == Function::FloorDiv => {
            let by = call.args.get(1)?.as_known().filter(|by| *by > 0)?;
            Some((call.args.first()?.clone(), by, constant))
        }
        _ => None,
    }
}

fn modulo_by_known(dividend: &Dim, divisor: i64) -> Result<Dim, Invalid> {
    let (_, rest) = split_by_known(&without_inner_mods(dividend, divisor), divisor)?;
    let (common, rest, divisor, dropped) = reduce(rest, divisor);
    let rest = from_terms(rest)?;
    let bounds = rest.bounds();
    let remainder = if bounds.is_above(-1) && bounds.is_below(divisor) {
        rest
    } else {
        call(Function::Mod, SmallVec::from_iter([rest, Dim::known(divisor)]))?
    };
    remainder.times(&Dim::known(common))?.plus_times(&Dim::known(dropped), 1)
}

/// Divides polynomials, leading monomial by leading monomial. Returns `None` if a remainder is left.
fn exact_div(dividend: &Dim, divisor: &Dim) -> Result<Option<Dim>, Invalid> {
    let by = terms_of(divisor)?;
    let Some((lead, lead_coefficient)) = by.first() else { return Ok(None) };
    let mut rest = dividend.valid()?;
    let mut quotient: SmallVec<[Term; 4]> = SmallVec::new();
    while rest != Dim::known(0) {
        if quotient.len() == poly::MAX_MONOMIALS {
            return Ok(None);
        }
        let terms = terms_of(&rest)?;
        let Some((monomial, coefficient)) = terms.first() else { return Ok(None) };
        let Some(ratio) = monomial.divided_by(lead) else { return Ok(None) };
        if coefficient.checked_rem(*lead_coefficient) != Some(0) {
            return Ok(None);
        }
        let step: Term = (ratio, coefficient.checked_div(*lead_coefficient).ok_or(Invalid::Overflow)?);
        let taken = from_terms(SmallVec::from_iter([step.clone()]))?.times(divisor)?;
        rest = rest.plus_times(&taken, -1)?;
        quotient.push(step);
    }
    from_terms(quotient).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_to_a_multiple_and_cropping_gives_the_size_back() {
        let n = Dim::symbol("n");
        for block in [2, 3, 4, 16] {
            // TensorFlow pads by `(block - n % block) % block`.
            let padding = (block - &n % block) % block;
            let padded = &n + &padding;
            assert_eq!(&padded % block, Dim::known(0));
            assert_eq!(block * padded.floordiv(block).unwrap() - &padding, n);
            let cropped = block * (padded.floordiv(block).unwrap() - 1) - &padding;
            assert_eq!(cropped, &n - block);
            let rows = Dim::symbol("rows");
            assert_eq!(padded.floordiv(block).unwrap() * &rows * (2 * block), 2 * &rows * &padded);
        }
    }

    #[test]
    fn remainders_inside_a_remainder_cancel() {
        let (n, m) = (Dim::symbol("n"), Dim::symbol("m"));
        assert_eq!((&n % 8 + &m % 4) % 4, (&n + &m) % 4);
        assert_eq!((2 * (&n % 4) + &m) % 8, (2 * &n + &m) % 8);
        assert_eq!((&n % 4 + &m) % 8, (&n % 4 + &m) % 8);
        assert_ne!((&n % 4 + &m) % 8, (&n + &m) % 8);
        // 2 does not divide n, so the quotient is rounded.
        assert_ne!(2 * n.floordiv(2).unwrap(), n);
    }
}
