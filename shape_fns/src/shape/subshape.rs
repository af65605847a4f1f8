//! Slices, heads and tails of shapes, and their concatenation.

use std::ops::{Add, Bound, RangeBounds};

use crate::error::bail;
use crate::{Dim, Result, TensorShape};

impl TensorShape {
    /// Returns the axes in `range`. As in a Python slice, a negative index counts from the end, and the range is
    /// clamped to the rank. There are no steps.
    ///
    /// A range of an unranked shape gives `end - start` unknown axes, as in TensorFlow, if the range has an end and
    /// neither the end nor the start is negative. Any other range, and a range of more than [`TensorShape::MAX_RANK`]
    /// axes, gives an unranked shape.
    ///
    /// Clippy mistakes a literal `1..-1` for an empty range; write `slice(1..).slice(..-1)` instead.
    ///
    /// ```
    /// # use shapeflow_shape_fns::shape;
    /// let shape = shape!["n", 4, 5, 2];
    /// assert_eq!(shape.slice(1..3), shape![4, 5]);
    /// assert_eq!(shape.slice(-2..), shape![5, 2]);
    /// assert_eq!(shape.slice(..100), shape);
    /// assert_eq!(shape.slice(3..=1), shape![]);
    /// assert_eq!((shape![..].slice(1..3), shape![..].slice(1..)), (shape![?, ?], shape![..]));
    /// ```
    #[must_use]
    pub fn slice(&self, range: impl RangeBounds<i64>) -> TensorShape {
        let start = match range.start_bound() {
            Bound::Unbounded => None,
            Bound::Included(start) => Some(*start),
            Bound::Excluded(start) => Some(next_position(*start).unwrap_or(i64::MAX)),
        };
        let end = match range.end_bound() {
            Bound::Unbounded => None,
            Bound::Included(end) => next_position(*end),
            Bound::Excluded(end) => Some(*end),
        };
        let Some(dims) = self.dims() else { return unknown_slice(start.unwrap_or(0), end) };
        let rank = i64::try_from(dims.len()).unwrap_or(i64::MAX);
        let clamp = |index: i64| {
            usize::try_from(if index < 0 { index.saturating_add(rank) } else { index }.clamp(0, rank))
                .unwrap_or(0)
        };
        let (start, end) = (clamp(start.unwrap_or(0)), clamp(end.unwrap_or(rank)));
        TensorShape::new(dims.get(start..end.max(start)).unwrap_or_default().iter().cloned())
    }

    /// Returns the axes in `range`, without clamping. Counterpart of `Shape.subShape` in TensorFlow Java.
    ///
    /// # Errors
    /// The rank is unknown or less than the end, or the start is past the end.
    ///
    /// ```
    /// # use shapeflow_shape_fns::shape;
    /// assert_eq!(shape![2, "n", 3].sub_shape(1..3)?, shape!["n", 3]);
    /// assert!(shape![2].sub_shape(0..2).is_err() && shape![..].sub_shape(0..1).is_err());
    /// # Ok::<(), shapeflow_shape_fns::ShapeError>(())
    /// ```
    pub fn sub_shape(&self, range: impl RangeBounds<usize>) -> Result<TensorShape> {
        let dims = self.known_dims("take a part")?;
        let bounds = (range.start_bound().cloned(), range.end_bound().cloned());
        match dims.get(bounds) {
            Some(part) => Ok(TensorShape::new(part.iter().cloned())),
            None => bail!(
                "a range of axes must lie in 0..{} and not end before it starts, got {} of {self}",
                dims.len(),
                RangeSyntax(bounds)
            ),
        }
    }

    /// Returns the shape of rank 1 that has only the first axis. Counterpart of `Shape.head` in TensorFlow Java.
    ///
    /// # Errors
    /// The shape is a scalar, or the rank is unknown.
    pub fn head(&self) -> Result<TensorShape> {
        self.take(1)
    }

    /// Returns all axes except the first; the tail of a scalar is a scalar. Counterpart of `Shape.tail` in TensorFlow
    /// Java.
    ///
    /// # Errors
    /// The rank is unknown.
    ///
    /// ```
    /// # use shapeflow_shape_fns::shape;
    /// let shape = shape!["n", 4, 5];
    /// assert_eq!((shape.head()?, shape.tail()?), (shape!["n"], shape![4, 5]));
    /// assert_eq!((shape.take(2)?, shape.take_last(1)?), (shape!["n", 4], shape![5]));
    /// assert_eq!(shape.take(9).unwrap_err().to_string(), "Cannot take 9 dimensions, shape has only 3.");
    /// assert_eq!(shape![].tail()?, shape![]);
    /// assert!(shape![].head().is_err() && shape![..].tail().is_err());
    /// # Ok::<(), shapeflow_shape_fns::ShapeError>(())
    /// ```
    pub fn tail(&self) -> Result<TensorShape> {
        Ok(TensorShape::new(self.known_dims("take the tail")?.iter().skip(1).cloned()))
    }

    /// Returns the first `count` axes. Counterpart of `Shape.take` in TensorFlow Java.
    ///
    /// # Errors
    /// The shape has fewer axes, or the rank is unknown.
    pub fn take(&self, count: usize) -> Result<TensorShape> {
        let dims = self.known_dims("take axes")?;
        match dims.get(..count) {
            Some(first) => Ok(TensorShape::new(first.iter().cloned())),
            None => bail!("Cannot take {count} dimensions, shape has only {}.", dims.len()),
        }
    }

    /// Returns the last `count` axes. Counterpart of `Shape.takeLast` in TensorFlow Java.
    ///
    /// # Errors
    /// The shape has fewer axes, or the rank is unknown.
    pub fn take_last(&self, count: usize) -> Result<TensorShape> {
        let dims = self.known_dims("take axes")?;
        match dims.len().checked_sub(count).and_then(|start| dims.get(start..)) {
            Some(last) => Ok(TensorShape::new(last.iter().cloned())),
            None => bail!("Cannot take last {count} dimensions, shape has only {}.", dims.len()),
        }
    }

    /// Returns the axes of this shape followed by the axes of `last`, which may be one number or dimension. Counterpart
    /// of `Shape.append` in TensorFlow Java. Unlike [`TensorShape::concatenate`], this method requires known ranks.
    ///
    /// # Errors
    /// A rank is unknown.
    ///
    /// ```
    /// # use shapeflow_shape_fns::{Dim, shape};
    /// assert_eq!(shape![2].append(3)?.prepend(Dim::symbol("n"))?, shape!["n", 2, 3]);
    /// assert_eq!(shape![2].prepend([5, 6])?.append(&shape![7])?, shape![5, 6, 2, 7]);
    /// assert!(shape![..].append(3).is_err());
    /// # Ok::<(), shapeflow_shape_fns::ShapeError>(())
    /// ```
    pub fn append(&self, last: impl Into<TensorShape>) -> Result<TensorShape> {
        let (dims, last) = (self.known_dims("append axes")?, last.into());
        Ok(TensorShape::new(dims.iter().chain(last.known_dims("append the shape")?).cloned()))
    }

    /// Returns the axes of `first`, which may be one number or dimension, followed by the axes of this shape.
    /// Counterpart of `Shape.prepend` in TensorFlow Java.
    ///
    /// # Errors
    /// A rank is unknown.
    pub fn prepend(&self, first: impl Into<TensorShape>) -> Result<TensorShape> {
        let (dims, first) = (self.known_dims("prepend axes")?, first.into());
        Ok(TensorShape::new(first.known_dims("prepend the shape")?.iter().chain(dims).cloned()))
    }

    /// Returns the axes of this shape followed by the axes of `other`; the result is unranked if either shape is
    /// unranked. The operator `+` does the same.
    ///
    /// ```
    /// # use shapeflow_shape_fns::shape;
    /// assert_eq!(shape![2, ?].concatenate(&shape!["n"]), shape![2, ?, "n"]);
    /// assert_eq!(3 + shape![2] + [4, 5], shape![3, 2, 4, 5]);
    /// assert_eq!(shape![2] + shape![..], shape![..]);
    /// ```
    #[must_use]
    pub fn concatenate(&self, other: &TensorShape) -> TensorShape {
        match (self.dims(), other.dims()) {
            (Some(a), Some(b)) => TensorShape::new(a.iter().chain(b).cloned()),
            _ => TensorShape::unranked(),
        }
    }

    /// Returns the dimensions. If the rank is unknown, the error names the purpose for which the rank is needed.
    fn known_dims(&self, purpose: &str) -> Result<&[Dim]> {
        match self.dims() {
            Some(dims) => Ok(dims),
            None => bail!("the rank must be known to {purpose}, got shape {self}"),
        }
    }
}

/// Returns `position + 1`. After the last position (-1 or `i64::MAX`) comes the end, which is `None`.
fn next_position(position: i64) -> Option<i64> {
    position.checked_add(1).filter(|next| *next != 0)
}

/// Returns the axes `start..end` of a shape of unknown rank.
fn unknown_slice(start: i64, end: Option<i64>) -> TensorShape {
    let count = match end {
        Some(end) if start >= 0 && end >= 0 => i128::from(end) - i128::from(start),
        _ => return TensorShape::unranked(),
    };
    let rank = usize::try_from(count.max(0)).unwrap_or(usize::MAX);
    TensorShape::unknown_of_rank(rank).unwrap_or(TensorShape::unranked())
}

/// A range, displayed in the syntax of Rust.
struct RangeSyntax((Bound<usize>, Bound<usize>));

impl std::fmt::Display for RangeSyntax {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0.0 {
            Bound::Included(start) => write!(f, "{start}..")?,
            Bound::Excluded(start) => write!(f, "{}..", start.saturating_add(1))?,
            Bound::Unbounded => f.write_str("..")?,
        }
        match self.0.1 {
            Bound::Included(end) => write!(f, "={end}"),
            Bound::Excluded(end) => write!(f, "{end}"),
            Bound::Unbounded => Ok(()),
        }
    }
}

macro_rules! concatenation {
    ($($left:ty, <$($T:ident)?> $right:ty;)*) => {$(
        impl$(<$T: Into<TensorShape>>)? Add<$right> for $left {
            type Output = TensorShape;

            fn add(self, other: $right) -> TensorShape {
                TensorShape::from(self).concatenate(&other.into())
            }
        }
    )*};
}
concatenation! {
    TensorShape, <T> T;
    &TensorShape, <T> T;
    i64, <> TensorShape;
    i64, <> &TensorShape;
}

#[cfg(test)]
mod tests {
    use crate::shape;

    #[test]
    fn slices_follow_python() {
        let shape = shape!["n", 4, "n", 2];
        let (end, past) = (-1, 100);
        assert_eq!(shape.slice(1..end).to_string(), "[4, n]");
        assert_eq!(shape.slice(-past..1).to_string(), "[n]");
        assert_eq!(shape.slice(past..).to_string(), "[]");
        assert_eq!(shape.slice(..), shape);
        assert_eq!(shape.slice(i64::MIN..=i64::MAX), shape);
        assert_eq!(shape.slice(..=-1), shape);
        assert_eq!(shape.slice(-2..=-1).to_string(), "[n, 2]");
    }

    #[test]
    fn slices_of_an_unknown_rank_have_known_length_where_possible() {
        let (start, end) = (3, 1);
        assert_eq!(shape![..].slice(1..3), shape![?, ?]);
        assert_eq!(shape![..].slice(start..end), shape![]);
        assert_eq!(shape![..].slice(..2), shape![?, ?]);
        for unknown in [
            shape![..].slice(-2..),
            shape![..].slice(..-1),
            shape![..].slice(1..),
            shape![..].slice(..),
            shape![..].slice(..i64::MAX),
            shape![..].slice(..=-1),
        ] {
            assert_eq!(unknown, shape![..]);
        }
    }

    #[test]
    fn sub_shapes_are_not_clamped() {
        let shape = shape![2, 3, 4];
        let (start, end) = (2, 1);
        assert_eq!(shape.sub_shape(..), Ok(shape.clone()));
        assert_eq!(shape.sub_shape(3..), Ok(shape![]));
        for refused in [shape.sub_shape(0..4), shape.sub_shape(start..end), shape.sub_shape(..=usize::MAX)] {
            assert!(refused.unwrap_err().to_string().contains("of [2, 3, 4]"));
        }
        assert_eq!(
            shape.take_last(4).unwrap_err().to_string(),
            "Cannot take last 4 dimensions, shape has only 3."
        );
        assert_eq!(shape.take(0), Ok(shape![]));
        assert!(shape![2].append(shape![..]).is_err() && shape![..].prepend(2).is_err());
    }
}
