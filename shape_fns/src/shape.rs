//! [`TensorShape`]: what is known of a tensor's shape.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use smallvec::SmallVec;

use crate::display::{Anonymous, write_dim};
use crate::error::bail;
use crate::symbol::Symbol;
use crate::{Dim, IntoDim, Result};

/// What is known of a tensor's shape: nothing (unranked), or one [`Dim`] an axis.
///
/// Written `?`, `[]`, `[2, n, ?]`; the same text parses. Two shapes are `==` when their dimensions are, where the
/// anonymous dimensions of free-standing shapes (`shape![?, 3]`, parsed text) are matched one to one instead of by
/// number: `shape![?, 3] == shape![?, 3]`, and `[?0, ?0]` differs from `[?, ?]`.
///
/// ```
/// use shapeflow_shape_fns::{TensorShape, shape};
/// let shape = shape!["b", 64].concatenate(&shape![?]);
/// assert_eq!(shape.to_string(), "[b, 64, ?]");
/// assert_eq!(shape, "[b, 64, ?]".parse()?);
/// assert_eq!(shape.dim(-2).and_then(|dim| dim.as_known()), Some(64));
/// assert_eq!(TensorShape::unranked().rank(), None);
/// # Ok::<(), shapeflow_shape_fns::ShapeError>(())
/// ```
#[derive(Clone)]
pub struct TensorShape(Repr);

/// Up to four axes stand in place, the places past `len` filled with 0; more are shared, so that a clone never
/// allocates.
#[derive(Clone)]
enum Repr {
    Unranked,
    Inline { len: u8, dims: [Dim; INLINE] },
    Shared(Arc<[Dim]>),
}

const INLINE: usize = 4;
const NONE: [Dim; INLINE] = [const { Dim::known(0) }; INLINE];

impl TensorShape {
    /// The shape of unknown rank.
    pub const fn unranked() -> TensorShape {
        TensorShape(Repr::Unranked)
    }

    /// The shape `[]`.
    pub const fn scalar() -> TensorShape {
        TensorShape(Repr::Inline { len: 0, dims: NONE })
    }

    /// The shape of these dimensions.
    pub fn new(dims: impl IntoIterator<Item = Dim>) -> TensorShape {
        let mut dims = dims.into_iter();
        let mut inline = NONE;
        for len in 0..INLINE {
            match dims.next() {
                Some(dim) => inline[len] = dim,
                None => return TensorShape(Repr::Inline { len: len as u8, dims: inline }),
            }
        }
        match dims.next() {
            None => TensorShape(Repr::Inline { len: INLINE as u8, dims: inline }),
            Some(next) => TensorShape(Repr::Shared(inline.into_iter().chain([next]).chain(dims).collect())),
        }
    }

    /// The number of axes, where it is known.
    pub fn rank(&self) -> Option<usize> {
        self.dims().map(<[Dim]>::len)
    }

    /// The dimensions, where the rank is known.
    #[inline]
    pub fn dims(&self) -> Option<&[Dim]> {
        match &self.0 {
            Repr::Unranked => None,
            Repr::Inline { len, dims } => dims.get(..usize::from(*len)),
            Repr::Shared(dims) => Some(dims),
        }
    }

    /// The shape with every dimension replaced.
    pub(crate) fn map(&self, f: impl FnMut(&Dim) -> Dim) -> TensorShape {
        match self.dims() {
            Some(dims) => TensorShape::new(dims.iter().map(f)),
            None => TensorShape::unranked(),
        }
    }

    /// The dimension of an axis, negative axes counted from the end; `None` for an unknown rank and past the rank.
    pub fn dim(&self, axis: i64) -> Option<&Dim> {
        let dims = self.dims()?;
        let axis = if axis < 0 { axis.checked_add(i64::try_from(dims.len()).ok()?)? } else { axis };
        dims.get(usize::try_from(axis).ok()?)
    }

    /// Whether every dimension is a number.
    pub fn is_fully_defined(&self) -> bool {
        self.dims().is_some_and(|dims| dims.iter().all(Dim::is_known))
    }

    /// The product of the dimensions; `None` for an unknown rank and where the product is too large to be written.
    pub fn num_elements(&self) -> Option<Dim> {
        self.dims()?.iter().try_fold(Dim::known(1), |product, dim| product.times(dim).ok())
    }

    /// The sizes, where every dimension is a number that is not negative.
    pub fn as_known(&self) -> Option<SmallVec<[usize; 6]>> {
        self.dims()?.iter().map(|dim| usize::try_from(dim.as_known()?).ok()).collect()
    }

    /// Refuses a shape with an invalid or provably negative dimension.
    ///
    /// # Errors
    /// The first such dimension.
    pub fn validate(&self) -> Result<()> {
        for (axis, dim) in self.dims().unwrap_or_default().iter().enumerate() {
            dim.validate()?;
            if dim.as_symbol().is_none() && dim.bounds().is_below(0) {
                bail!("a dimension must not be negative, got {dim} at axis {axis}");
            }
        }
        Ok(())
    }

    /// What both shapes say, dimension by dimension; nothing is recorded. Of two different symbols this one's stays.
    ///
    /// # Errors
    /// The ranks differ, or two dimensions are provably different.
    pub fn merge_with(&self, other: &TensorShape) -> Result<TensorShape> {
        let (Some(a), Some(b)) = (self.dims(), other.dims()) else {
            return Ok(if self.rank().is_some() { self.clone() } else { other.clone() });
        };
        if a.len() != b.len() {
            bail!("shapes must have the same rank, got {self} and {other}");
        }
        let mut merged: SmallVec<[Dim; 4]> = SmallVec::with_capacity(a.len());
        for (axis, (x, y)) in a.iter().zip(b).enumerate() {
            x.validate()?;
            y.validate()?;
            if x.same(y) == Some(false) {
                bail!("shapes must agree, got {x} and {y} at axis {axis} of {self} and {other}");
            }
            merged.push(if y.is_known() { y.clone() } else { x.clone() });
        }
        Ok(TensorShape::new(merged))
    }

    /// Whether one shape could be both: no rank and no dimension is provably different.
    pub fn is_compatible_with(&self, other: &TensorShape) -> bool {
        match (self.dims(), other.dims()) {
            (Some(a), Some(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(x, y)| x.same(y) != Some(false))
            }
            _ => true,
        }
    }

    /// The axes of this shape, then those of the other; unranked if either is.
    #[must_use]
    pub fn concatenate(&self, other: &TensorShape) -> TensorShape {
        match (self.dims(), other.dims()) {
            (Some(a), Some(b)) => TensorShape::new(a.iter().chain(b).cloned()),
            _ => TensorShape::unranked(),
        }
    }

    /// The axes `start..end`, negative positions counted from the end, clamped to the rank as Python slices are; an
    /// unranked shape gives an unranked one.
    #[must_use]
    pub fn slice(&self, start: i64, end: i64) -> TensorShape {
        let Some(dims) = self.dims() else { return TensorShape::unranked() };
        let rank = i64::try_from(dims.len()).unwrap_or(i64::MAX);
        let clamp = |at: i64| {
            usize::try_from(if at < 0 { at.saturating_add(rank) } else { at }.clamp(0, rank)).unwrap_or(0)
        };
        let (start, end) = (clamp(start), clamp(end));
        TensorShape::new(dims.get(start..end.max(start)).unwrap_or_default().iter().cloned())
    }

    /// The shape with this rank: itself, or that many unknown dimensions.
    ///
    /// # Errors
    /// The rank is known and another.
    pub fn with_rank(&self, rank: usize) -> Result<TensorShape> {
        match self.rank() {
            None => Ok(TensorShape::new((0..rank).map(|_| crate::Unknown.into_dim()))),
            Some(own) if own == rank => Ok(self.clone()),
            Some(own) => bail!("shape must have rank {rank}, got rank {own} in {self}"),
        }
    }

    /// The shape, whose rank is at least this or unknown.
    ///
    /// # Errors
    /// The rank is smaller.
    pub fn with_rank_at_least(&self, rank: usize) -> Result<TensorShape> {
        match self.rank() {
            Some(own) if own < rank => {
                bail!("shape must have rank at least {rank}, got rank {own} in {self}")
            }
            _ => Ok(self.clone()),
        }
    }

    /// The shape, whose rank is at most this or unknown.
    ///
    /// # Errors
    /// The rank is greater.
    pub fn with_rank_at_most(&self, rank: usize) -> Result<TensorShape> {
        match self.rank() {
            Some(own) if own > rank => bail!("shape must have rank at most {rank}, got rank {own} in {self}"),
            _ => Ok(self.clone()),
        }
    }

    /// Free-standing anonymous symbols renumbered in order of appearance, for comparison.
    fn canonical(&self) -> Option<SmallVec<[Dim; 4]>> {
        let dims = self.dims()?;
        let mut seen: Vec<Symbol> = Vec::new();
        let mut renumber = |symbol: Symbol| {
            symbol.is_free().then(|| {
                let position = seen.iter().position(|other| *other == symbol).unwrap_or_else(|| {
                    seen.push(symbol);
                    seen.len() - 1
                });
                Dim::from(Symbol::free_at(position))
            })
        };
        Some(dims.iter().map(|dim| dim.substitute(&mut renumber)).collect())
    }

    fn has_free(&self) -> bool {
        let mut free = false;
        for dim in self.dims().unwrap_or_default() {
            dim.symbols(&mut |symbol| free |= symbol.is_free());
        }
        free
    }
}

impl PartialEq for TensorShape {
    fn eq(&self, other: &TensorShape) -> bool {
        if self.dims() == other.dims() {
            return true;
        }
        self.rank() == other.rank()
            && self.has_free()
            && other.has_free()
            && self.canonical() == other.canonical()
    }
}

impl Eq for TensorShape {}

impl Hash for TensorShape {
    fn hash<H: Hasher>(&self, state: &mut H) {
        if self.has_free() { self.canonical().as_deref().hash(state) } else { self.dims().hash(state) }
    }
}

impl<T: IntoDim, const N: usize> From<[T; N]> for TensorShape {
    fn from(dims: [T; N]) -> TensorShape {
        TensorShape::new(dims.into_iter().map(IntoDim::into_dim))
    }
}

impl<T: IntoDim + Clone> From<&[T]> for TensorShape {
    fn from(dims: &[T]) -> TensorShape {
        TensorShape::new(dims.iter().cloned().map(IntoDim::into_dim))
    }
}

impl<T: IntoDim> From<Vec<T>> for TensorShape {
    fn from(dims: Vec<T>) -> TensorShape {
        TensorShape::new(dims.into_iter().map(IntoDim::into_dim))
    }
}

impl From<SmallVec<[Dim; 4]>> for TensorShape {
    fn from(dims: SmallVec<[Dim; 4]>) -> TensorShape {
        TensorShape::new(dims)
    }
}

impl From<&TensorShape> for TensorShape {
    fn from(shape: &TensorShape) -> TensorShape {
        shape.clone()
    }
}

/// As text that parses back: an anonymous dimension is `?`, or `?0`, `?1`, … when it occurs more than once; with
/// `{:#}` every anonymous dimension shows its own number.
impl fmt::Display for TensorShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(dims) = self.dims() else { return f.write_str("?") };
        let names = Anonymous::of(dims, f.alternate());
        f.write_str("[")?;
        for (axis, dim) in dims.iter().enumerate() {
            if axis > 0 {
                f.write_str(", ")?;
            }
            write_dim(f, dim, &names)?;
        }
        f.write_str("]")
    }
}

impl fmt::Debug for TensorShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:#}")
    }
}

/// A shape from its dimensions: `shape!["b", 64]`, `shape![?, 3]`, `shape![..]` (unranked), `shape![]` (scalar).
///
/// A string is a named symbol, each `?` an unknown of its own; everything else is an expression (`i64`, `i32`,
/// `usize`, `Dim`), borrowed.
#[macro_export]
macro_rules! shape {
    (..) => { $crate::TensorShape::unranked() };
    ($($t:tt)*) => { $crate::__shape!([] $($t)*) };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __shape {
    ([$($done:expr,)*]) => { $crate::TensorShape::from([$($done,)*] as [$crate::Dim; _]) };
    ([$($done:expr,)*] ? $(, $($rest:tt)*)?) => {
        $crate::__shape!([$($done,)* $crate::IntoDim::into_dim($crate::Unknown),] $($($rest)*)?)
    };
    ([$($done:expr,)*] $e:expr $(, $($rest:tt)*)?) => {
        $crate::__shape!([$($done,)* $crate::IntoDim::into_dim(&$e),] $($($rest)*)?)
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_macro_takes_every_kind_of_entry() {
        let (n, b) = (64usize, Dim::symbol("b"));
        let shape = shape!["b", n, ?, 2 * &b + 1, 3, ?, b,];
        assert_eq!(shape.to_string(), "[b, 64, ?, 2*b+1, 3, ?, b]");
        assert_eq!((shape![].rank(), shape![..].rank()), (Some(0), None));
        let text = String::from("x");
        assert_eq!(shape![text.as_str(), -1].to_string(), "[x, -1]");
    }

    #[test]
    fn free_unknowns_compare_by_pattern() {
        assert_eq!(shape![?, 3], shape![?, 3]);
        assert_ne!("[?0, ?0]".parse::<TensorShape>().unwrap(), shape![?, ?]);
        assert_eq!("[?a, ?a]".parse::<TensorShape>().unwrap(), "[?b, ?b]".parse().unwrap());
        assert_ne!(shape![..], shape![]);
    }

    #[test]
    fn products_and_slices() {
        let shape = shape!["n", 4, "n", 2];
        assert_eq!(shape.num_elements().unwrap().to_string(), "8*n*n");
        assert_eq!(shape.slice(1, -1).to_string(), "[4, n]");
        assert_eq!(shape.slice(-100, 1).to_string(), "[n]");
        assert_eq!(shape.slice(3, 1), shape![]);
        assert_eq!((shape.dim(4), shape.dim(-5), shape.dim(i64::MIN)), (None, None, None));
        assert_eq!(shape![2, 3].as_known().unwrap().as_slice(), [2, 3]);
        assert_eq!(shape![i64::MAX, 2].num_elements(), None);
    }

    #[test]
    fn merging_keeps_what_is_known() {
        assert_eq!(shape![?, 3].merge_with(&shape![2, ?]), Ok(shape![2, 3]));
        assert_eq!(shape![..].merge_with(&shape![2, ?]), Ok(shape![2, ?]));
        assert!(shape![2].merge_with(&shape![3]).is_err() && shape![2].merge_with(&shape![2, 2]).is_err());
        assert!(!shape!["n"].is_compatible_with(&shape![Dim::symbol("n") + 1]));
        assert!(shape!["n"].is_compatible_with(&shape!["m"]));
    }
}
