//! `Index`: an integer expression over loop axes, linear with dimensions as coefficients.

use std::fmt;
use std::ops::{Add, Mul, Sub};

use shapeflow_shape_fns::Dim;
use smallvec::SmallVec;

use super::Expr;

/// A loop axis of a lowered body or of a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Axis(pub(crate) u32);

impl fmt::Display for Axis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "i{}", self.0)
    }
}

/// A variable of an index. An index is a linear combination of atoms.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Atom {
    Axis(Axis),
    /// `floor(index / divisor)`; the divisor is positive.
    FloorDiv(Box<Index>, Dim),
    /// `index - divisor * floor(index / divisor)`.
    Mod(Box<Index>, Dim),
    /// `if size == 1 { 0 } else { index }`: the index along an axis of size `size`, which may be broadcast. If `size`
    /// is not 1, `index` is below `size`.
    Broadcast(Box<Index>, Dim),
    /// An integer that the run computes. The expression itself checks the range of the integer.
    Value(Expr),
}

/// An integer expression `constant + Σ coefficient · atom`. An atom is an axis, a quotient, remainder or broadcast of
/// another index, or a run-time value.
///
/// Coefficients and constants are [`Dim`]s, so an index stays valid for every size. [`Index::constant`] makes an index
/// of an integer: `index + Index::constant(1)`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Index {
    pub(crate) terms: SmallVec<[(Atom, Dim); 1]>,
    pub(crate) constant: Dim,
}

impl Index {
    /// Makes the index that equals `axis`.
    pub fn axis(axis: Axis) -> Index {
        Index { terms: SmallVec::from_iter([(Atom::Axis(axis), Dim::known(1))]), constant: Dim::known(0) }
    }

    /// Makes an index that depends on no axis.
    pub fn constant(value: impl Into<Dim>) -> Index {
        Index { terms: SmallVec::new(), constant: value.into() }
    }

    /// Makes an index from an integer expression. The expression itself must check the range of its value: see
    /// [`LowerCx::checked_index`](super::LowerCx::checked_index).
    pub(crate) fn value(expr: Expr) -> Index {
        Index { terms: SmallVec::from_iter([(Atom::Value(expr), Dim::known(1))]), constant: Dim::known(0) }
    }

    /// Returns the axis if the index is exactly one axis.
    pub(crate) fn as_axis(&self) -> Option<Axis> {
        match &self.terms[..] {
            [(Atom::Axis(axis), coefficient)]
                if *coefficient == Dim::known(1) && self.constant == Dim::known(0) =>
            {
                Some(*axis)
            }
            _ => None,
        }
    }

    /// Returns the constant if the index has no atoms.
    pub(crate) fn as_constant(&self) -> Option<&Dim> {
        self.terms.is_empty().then_some(&self.constant)
    }

    /// Returns whether a coefficient or the constant is invalid, such as a product that a [`Dim`] cannot hold.
    pub(crate) fn is_invalid(&self) -> bool {
        let mut dims = self.terms.iter().map(|(_, coefficient)| coefficient).chain([&self.constant]);
        dims.any(|dim| dim.validate().is_err())
    }

    /// Makes `floor(self / divisor)`; the divisor must be positive.
    pub fn floordiv(self, divisor: impl Into<Dim>) -> Index {
        let divisor = divisor.into();
        if divisor == Dim::known(1) {
            return self;
        }
        if self.terms.is_empty()
            && let Ok(quotient) = self.constant.floordiv(&divisor)
        {
            return Index::constant(quotient);
        }
        Index {
            terms: SmallVec::from_iter([(Atom::FloorDiv(Box::new(self), divisor), Dim::known(1))]),
            constant: Dim::known(0),
        }
    }

    /// Makes `self - divisor * floor(self / divisor)`, the remainder of [`Index::floordiv`].
    pub fn modulo(self, divisor: impl Into<Dim>) -> Index {
        let divisor = divisor.into();
        if divisor == Dim::known(1) {
            return Index::constant(Dim::known(0));
        }
        if self.terms.is_empty()
            && let Ok(remainder) = self.constant.modulo(&divisor)
        {
            return Index::constant(remainder);
        }
        Index {
            terms: SmallVec::from_iter([(Atom::Mod(Box::new(self), divisor), Dim::known(1))]),
            constant: Dim::known(0),
        }
    }

    /// Makes `if size == 1 { 0 } else { self }`, the index along an operand axis of the given size. The size is 1 or
    /// the exclusive upper bound of `self`.
    pub fn broadcast(self, size: impl Into<Dim>) -> Index {
        let size = size.into();
        match size.as_known() {
            Some(1) => Index::constant(Dim::known(0)),
            Some(_) => self,
            None if self.terms.is_empty() && self.constant == Dim::known(0) => self,
            None => Index {
                terms: SmallVec::from_iter([(Atom::Broadcast(Box::new(self), size), Dim::known(1))]),
                constant: Dim::known(0),
            },
        }
    }

    /// Adds `coefficient · atom`.
    fn push(&mut self, atom: Atom, coefficient: Dim) {
        if coefficient == Dim::known(0) {
            return;
        }
        if let Some(position) = self.terms.iter().position(|(other, _)| *other == atom) {
            let sum = &self.terms[position].1 + &coefficient;
            if sum == Dim::known(0) {
                self.terms.remove(position);
            } else {
                self.terms[position].1 = sum;
            }
            return;
        }
        // Axes come first, in ascending order, so that equal sums of axes are equal indices.
        let position = match &atom {
            Atom::Axis(axis) => self
                .terms
                .iter()
                .position(|(other, _)| !matches!(other, Atom::Axis(earlier) if earlier < axis))
                .unwrap_or(self.terms.len()),
            _ => self.terms.len(),
        };
        self.terms.insert(position, (atom, coefficient));
    }

    /// Replaces each axis by the index that `axes` returns, and each run-time value by the expression that `values`
    /// returns.
    pub(crate) fn substitute(
        &self,
        axes: &mut dyn FnMut(Axis) -> Index,
        values: &mut dyn FnMut(&Expr) -> Expr,
    ) -> Index {
        if let Some(axis) = self.as_axis() {
            return axes(axis);
        }
        let mut result = Index::constant(self.constant.clone());
        for (atom, coefficient) in &self.terms {
            let part = match atom {
                Atom::Axis(axis) => axes(*axis),
                Atom::FloorDiv(inner, divisor) => inner.substitute(axes, values).floordiv(divisor.clone()),
                Atom::Mod(inner, divisor) => inner.substitute(axes, values).modulo(divisor.clone()),
                Atom::Broadcast(inner, size) => inner.substitute(axes, values).broadcast(size.clone()),
                Atom::Value(expr) => Index::value(values(expr)),
            };
            result = result + part * coefficient.clone();
        }
        result.join_quotients()
    }

    /// Rewrites `d·floordiv(e, d)·k + mod(e, d)·k` to `e·k`.
    fn join_quotients(mut self) -> Index {
        'search: loop {
            for (remainder, (atom, scale)) in self.terms.iter().enumerate() {
                let Atom::Mod(inner, divisor) = atom else { continue };
                let wanted = divisor * scale;
                let found = self.terms.iter().position(|(other, coefficient)| {
                    matches!(other, Atom::FloorDiv(i, d) if i == inner && d == divisor)
                        && *coefficient == wanted
                });
                if let Some(quotient) = found {
                    let (inner, scale) = ((**inner).clone(), scale.clone());
                    // Removing the later term first keeps the position of the earlier term.
                    self.terms.remove(remainder.max(quotient));
                    self.terms.remove(remainder.min(quotient));
                    self = self + inner * scale;
                    continue 'search;
                }
            }
            return self;
        }
    }

    /// Calls `f` on every axis, also inside other indices, but not inside run-time values.
    pub(crate) fn for_each_axis(&self, f: &mut dyn FnMut(Axis)) {
        for (atom, _) in &self.terms {
            match atom {
                Atom::Axis(axis) => f(*axis),
                Atom::FloorDiv(inner, _) | Atom::Mod(inner, _) | Atom::Broadcast(inner, _) => {
                    inner.for_each_axis(f)
                }
                Atom::Value(_) => {}
            }
        }
    }

    /// Returns whether the index contains a run-time value.
    pub(crate) fn has_value(&self) -> bool {
        let mut found = false;
        self.for_each_value(&mut |_| found = true);
        found
    }

    /// Calls `f` on every run-time value, also inside other indices.
    pub(crate) fn for_each_value<'a>(&'a self, f: &mut dyn FnMut(&'a Expr)) {
        for (atom, _) in &self.terms {
            match atom {
                Atom::Axis(_) => {}
                Atom::FloorDiv(inner, _) | Atom::Mod(inner, _) | Atom::Broadcast(inner, _) => {
                    inner.for_each_value(f)
                }
                Atom::Value(expr) => f(expr),
            }
        }
    }
}

impl Add for Index {
    type Output = Index;
    fn add(mut self, other: Index) -> Index {
        for (atom, coefficient) in other.terms {
            self.push(atom, coefficient);
        }
        self.constant = &self.constant + &other.constant;
        self
    }
}

impl Sub for Index {
    type Output = Index;
    fn sub(self, other: Index) -> Index {
        self + other * Dim::known(-1)
    }
}

impl<D: Into<Dim>> Mul<D> for Index {
    type Output = Index;
    fn mul(self, factor: D) -> Index {
        let factor = factor.into();
        if factor == Dim::known(1) {
            return self;
        }
        let mut result = Index::constant(&self.constant * &factor);
        for (atom, coefficient) in self.terms {
            result.push(atom, &coefficient * &factor);
        }
        result
    }
}

impl From<Axis> for Index {
    fn from(axis: Axis) -> Index {
        Index::axis(axis)
    }
}

impl From<Dim> for Index {
    fn from(dim: Dim) -> Index {
        Index::constant(dim)
    }
}

impl From<i64> for Index {
    fn from(value: i64) -> Index {
        Index::constant(Dim::known(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn i(axis: u32) -> Index {
        Index::axis(Axis(axis))
    }

    #[test]
    fn sums_of_axes_have_one_order() {
        assert_eq!(i(2) + i(0) * 3i64 + i(1), i(1) + i(2) + i(0) * 3i64);
        assert_eq!(i(0) + i(1) - i(0), i(1));
        assert_eq!((i(3) - i(3)).as_constant(), Some(&Dim::known(0)));
        assert_eq!((i(3) + Index::from(1) - Index::from(1)).as_axis(), Some(Axis(3)));
        assert_eq!((i(3) * 2i64).as_axis(), None);
    }

    #[test]
    fn quotients_and_remainders_join_again() {
        let n = Dim::symbol("index_test_n");
        // A flat position split into row and column, then recombined.
        let flat = i(0) * n.clone() + i(1);
        let parts = i(0).floordiv(n.clone()) * n.clone() + i(0).modulo(n.clone());
        assert_eq!(parts.substitute(&mut |_| flat.clone(), &mut |value| value.clone()), flat);
        let scaled = i(0).floordiv(4i64) * 8i64 + i(0).modulo(4i64) * 2i64;
        assert_eq!(scaled.substitute(&mut Index::axis, &mut |value| value.clone()), i(0) * 2i64);
        let other = i(0).floordiv(4i64) * 8i64 + i(0).modulo(4i64);
        assert_eq!(other.substitute(&mut Index::axis, &mut |value| value.clone()), other);
    }

    #[test]
    fn constants_fold_and_divisors_of_one_vanish() {
        assert_eq!(Index::from(-7).floordiv(2i64), Index::from(-4));
        assert_eq!(Index::from(-7).modulo(2i64), Index::from(1));
        assert_eq!((i(0).floordiv(1i64), i(0).modulo(1i64)), (i(0), Index::from(0)));
        let n = Dim::symbol("index_test_n");
        assert_eq!((i(0).broadcast(1i64), i(0).broadcast(5i64)), (Index::from(0), i(0)));
        assert_eq!(Index::from(0).broadcast(n.clone()), Index::from(0));
        let one = i(0).broadcast(n).substitute(&mut |_| Index::from(0), &mut |value| value.clone());
        assert_eq!(one, Index::from(0));
    }

    #[test]
    fn walks_reach_the_inside_of_quotients() {
        let index = (i(4) + i(2)).floordiv(3i64).modulo(2i64) + i(1).broadcast(Dim::symbol("index_test_n"));
        let mut axes = Vec::new();
        index.for_each_axis(&mut |axis| axes.push(axis.0));
        axes.sort_unstable();
        assert_eq!(axes, [1, 2, 4]);
    }
}
