//! Three-valued comparison of dimensions: `Some(true)` is proven, `Some(false)` is disproven, `None` is neither.

use std::cmp::Ordering;

use crate::dim::DimRepr;
use crate::dim::symbol::SymbolKind;
use crate::error::bail;
use crate::{Bounds, Dim, Result};

impl Dim {
    /// Returns `Some(true)` if the two dimensions are equal for all values of their symbols, `Some(false)` if they
    /// differ for all values, and `None` if neither is proven.
    pub fn same(&self, other: &Dim) -> Option<bool> {
        match (&self.0, &other.0) {
            (DimRepr::Known(a), DimRepr::Known(b)) => return Some(a == b),
            (DimRepr::Symbol(a), DimRepr::Symbol(b)) => return (a == b).then_some(true),
            (DimRepr::Symbol(symbol), DimRepr::Known(value))
            | (DimRepr::Known(value), DimRepr::Symbol(symbol)) => {
                return (symbol.kind() == SymbolKind::Size && *value < 0).then_some(false);
            }
            (DimRepr::Invalid(_), _) | (_, DimRepr::Invalid(_)) => return None,
            _ => {}
        }
        if self == other {
            return Some(true);
        }
        let bounds = self.difference_bounds(other)?;
        (bounds.is_above(0) || bounds.is_below(0)).then_some(false)
    }

    /// Returns `Some(true)` if `self < other` for all values of the symbols, `Some(false)` if `self >= other` for all
    /// values, and `None` if neither is proven. TensorFlow's comparison with an unknown dimension returns `None` too.
    /// `le`, `gt` and `ge` have the same three answers.
    ///
    /// ```
    /// use std::cmp::Ordering;
    /// # use shapeflow_shape_fns::Dim;
    /// let n = Dim::symbol("n");
    /// assert_eq!((n.lt(&(&n + 1)), n.lt(&Dim::known(0)), n.lt(&Dim::known(5))), (Some(true), Some(false), None));
    /// assert_eq!((n.ge(&Dim::known(0)), n.gt(&Dim::known(0))), (Some(true), None));
    /// assert_eq!(n.compare(&(2 + &n)), Some(Ordering::Less));
    /// ```
    pub fn lt(&self, other: &Dim) -> Option<bool> {
        other.gt(self)
    }

    /// Returns whether `self <= other`; see [`Dim::lt`].
    pub fn le(&self, other: &Dim) -> Option<bool> {
        other.ge(self)
    }

    /// Returns whether `self > other`; see [`Dim::lt`].
    pub fn gt(&self, other: &Dim) -> Option<bool> {
        let bounds = self.difference_bounds(other)?;
        if bounds.is_above(0) { Some(true) } else { bounds.is_below(1).then_some(false) }
    }

    /// Returns whether `self >= other`; see [`Dim::lt`].
    pub fn ge(&self, other: &Dim) -> Option<bool> {
        let bounds = self.difference_bounds(other)?;
        if bounds.is_above(-1) { Some(true) } else { bounds.is_below(0).then_some(false) }
    }

    /// Returns the ordering that holds for all values of the symbols, or `None` if none of the three is proven.
    pub fn compare(&self, other: &Dim) -> Option<Ordering> {
        let bounds = self.difference_bounds(other)?;
        match (bounds.is_above(0), bounds.is_below(0)) {
            (true, _) => Some(Ordering::Greater),
            (_, true) => Some(Ordering::Less),
            _ => (self == other).then_some(Ordering::Equal),
        }
    }

    /// Returns whether the two dimensions may be equal: whether they are not provably different.
    pub fn is_compatible_with(&self, other: &Dim) -> bool {
        self.same(other) != Some(false)
    }

    /// Requires [`Dim::is_compatible_with`].
    ///
    /// # Errors
    /// The two dimensions are provably different: `Dimensions 2 and 3 are not compatible`.
    pub fn assert_is_compatible_with(&self, other: &Dim) -> Result<()> {
        if !self.is_compatible_with(other) {
            bail!("Dimensions {self} and {other} are not compatible");
        }
        Ok(())
    }

    /// Merges two dimensions that are assumed to be equal: returns `other` if `other` is a number, else `self`.
    ///
    /// # Errors
    /// The two dimensions are provably different, or one of them is invalid.
    ///
    /// ```
    /// # use shapeflow_shape_fns::Dim;
    /// let n = Dim::symbol("n");
    /// assert_eq!(n.merge_with(&Dim::known(3))?, Dim::known(3));
    /// let error = Dim::known(2).merge_with(&Dim::known(3)).unwrap_err();
    /// assert_eq!(error.to_string(), "Dimensions 2 and 3 are not compatible");
    /// # Ok::<(), shapeflow_shape_fns::ShapeError>(())
    /// ```
    pub fn merge_with(&self, other: &Dim) -> Result<Dim> {
        self.validate()?;
        other.validate()?;
        self.assert_is_compatible_with(other)?;
        Ok(if other.is_known() { other.clone() } else { self.clone() })
    }

    /// Returns the interval in which `self - other` lies, or `None` if a side is invalid.
    fn difference_bounds(&self, other: &Dim) -> Option<Bounds> {
        if self.validate().is_err() || other.validate().is_err() {
            return None;
        }
        let opposite = || {
            let opposite = other.plus_times(self, -1).ok()?;
            Some(Bounds::exact(0).minus(opposite.bounds()))
        };
        Some(match self.plus_times(other, -1) {
            // A replacement of a call may overflow in one of `self - other` and `other - self` only, so the result is
            // the intersection of the bounds of both.
            Ok(difference) if difference.has_replacements() => {
                let bounds = difference.bounds();
                opposite().map_or(bounds, |opposite| bounds.intersection(opposite))
            }
            Ok(difference) => difference.bounds(),
            // `other - self` may be representable even if `self - other` is not. If neither difference is
            // representable, the bounds of the two sides still give an interval.
            Err(_) => opposite().unwrap_or_else(|| self.bounds().minus(other.bounds())),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_directions_of_a_comparison_agree() {
        let n = Dim::symbol("n");
        let least = Dim::known(i64::MIN).checked_add(&n).unwrap();
        let (a, b) = (Dim::known(0).min(&least).unwrap(), &n + &n);
        assert_eq!(
            (a.lt(&b), b.gt(&a), a.ge(&b), b.le(&a)),
            (Some(true), Some(true), Some(false), Some(false))
        );
    }

    #[test]
    fn same_has_three_answers() {
        let n = Dim::symbol("n");
        assert_eq!(n.same(&n), Some(true));
        assert_eq!(n.same(&(&n + 1)), Some(false));
        assert_eq!((&n + 3).same(&Dim::known(2)), Some(false));
        assert_eq!((&n + 2).same(&Dim::known(2)), None);
        let least = i64::MIN * &n;
        assert_eq!((least.same(&least), least.same(&Dim::known(1))), (Some(true), Some(false)));
    }

    #[test]
    fn quotients_beside_extreme_numbers_compare_in_both_directions() {
        let (a, b): (Dim, Dim) =
            ("floordiv(-3*z, 4)".parse().unwrap(), "z + 9223372036854775801".parse().unwrap());
        assert_eq!((a.lt(&b), a.le(&b)), (b.gt(&a), b.ge(&a)));
        assert_eq!((a.lt(&b), a.le(&b)), (a.ge(&b).map(|ge| !ge), a.gt(&b).map(|gt| !gt)));
        assert_eq!(a.lt(&b), Some(true));
    }

    #[test]
    fn extreme_values_compare() {
        let (least, most, n) = (Dim::known(i64::MIN), Dim::known(i64::MAX), Dim::symbol("n"));
        assert_eq!(
            (least.compare(&most), most.compare(&least)),
            (Some(Ordering::Less), Some(Ordering::Greater))
        );
        assert_eq!((least.lt(&n), least.ge(&n)), (Some(true), Some(false)));
        assert_eq!((most.ge(&most), most.gt(&most), n.le(&most)), (Some(true), Some(false), None));
        let steep = i64::MIN * &n;
        assert_eq!(
            (steep.gt(&n), n.gt(&steep), steep.lt(&n), n.ge(&steep)),
            (Some(false), None, None, Some(true))
        );
        let invalid = &most + 1;
        assert_eq!((invalid.lt(&n), n.ge(&invalid), invalid.compare(&invalid)), (None, None, None));
    }

    #[test]
    fn all_comparisons_agree() {
        let dims = ["n", "m", "n+1", "0", "3", "2*n", "0-n", "min(n, 3)", "mod(n, 4)", "n*m"];
        let dims = dims.map(|text| text.parse::<Dim>().unwrap());
        for a in &dims {
            for b in &dims {
                assert_eq!(a.lt(b), a.ge(b).map(|ge| !ge), "{a} {b}");
                assert_eq!(a.le(b), b.ge(a), "{a} {b}");
                assert_eq!(a.compare(b), b.compare(a).map(Ordering::reverse), "{a} {b}");
                assert_eq!(a.compare(b) == Some(Ordering::Equal), a == b, "{a} {b}");
            }
        }
    }
}
