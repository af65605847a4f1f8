//! [`TensorShape`]: a tensor's shape as far as it is known. A shape is unranked or has one [`Dim`] per axis.
//!
//! **In:** dimensions (`shape!`, conversions), text (`parse`), `TensorShapeProto` bytes (`proto`).
//! **Out:** new shapes, comparisons, text, bytes, and [`PartialElements`]: the elements of a small integer tensor.
//!
//! | file | holds |
//! |---|---|
//! | `literal`, `parse`, `proto` | shapes from Rust values, from text, and from and to protobuf bytes |
//! | `rank`, `subshape` | requirements on ranks; slices and concatenation of shapes |
//! | `equality`, `subtype`, `unify` | the comparisons of the shape classes in TensorFlow and TensorFlow Java; merges |
//! | `sizes`, `substitute` | fully known sizes; symbols replaced in shapes and attributes |
//! | `partial_elements` | [`PartialElements`], from which shapes are computed |
//! | `advice` | help texts for shapes that do not fit |
//!
//! `infer`, the shape functions and the users of this crate call the methods. The methods have
//! the names and the error messages of `tf.TensorShape` and of `Shape` in TensorFlow Java.
//!
//! Nothing here records anything. Merging two shapes here returns a shape; only a [`DimTable`](crate::DimTable)
//! remembers that dimensions are equal.

pub(crate) mod advice;
mod equality;
mod literal;
mod parse;
mod partial_elements;
mod proto;
mod rank;
mod sizes;
mod subshape;
mod substitute;
mod subtype;
mod unify;

pub use partial_elements::PartialElements;
pub use sizes::Sizes;

use std::fmt;
use std::sync::Arc;

use crate::dim::display::{Anonymous, write_dim};
use crate::error::bail;
use crate::{Dim, IntoDim, Result};

/// A tensor's shape as far as it is known: unranked, or one [`Dim`] per axis.
///
/// `Display` writes `[..]` (unranked), `[]`, `[2, n, ?]`, and the same text parses. Two shapes are `==` if their
/// dimensions are `==`. The free anonymous dimensions of shapes that no table has imported (`shape![?, 3]`, parsed
/// text) are compared by pattern instead of by identity: `shape![?, 3] == shape![?, 3]`, but `[?0, ?0]` differs from
/// `[?, ?]`.
///
/// ```
/// # use shapeflow_shape_fns::{TensorShape, shape};
/// let shape = shape!["b", 64].concatenate(&shape![?]);
/// assert_eq!(shape.to_string(), "[b, 64, ?]");
/// assert_eq!(shape, "[b, 64, ?]".parse()?);
/// assert_eq!(shape.dim(-2).and_then(|dim| dim.as_known()), Some(64));
/// assert_eq!(TensorShape::unranked().rank(), None);
/// # Ok::<(), shapeflow_shape_fns::ShapeError>(())
/// ```
#[derive(Clone)]
pub struct TensorShape(ShapeRepr);

/// Up to [`INLINE`] axes are stored inline; entries past `len` are 0. More axes are shared, so that a clone never
/// allocates.
enum ShapeRepr {
    Unranked,
    Inline { len: u8, dims: [Dim; INLINE] },
    Shared(Arc<[Dim]>),
}

impl Clone for ShapeRepr {
    /// Spelled out for speed: every node of a graph clones shapes.
    #[inline]
    fn clone(&self) -> ShapeRepr {
        match self {
            ShapeRepr::Unranked => ShapeRepr::Unranked,
            ShapeRepr::Inline { len, dims: [a, b, c, d] } => {
                ShapeRepr::Inline { len: *len, dims: [a.clone(), b.clone(), c.clone(), d.clone()] }
            }
            ShapeRepr::Shared(dims) => ShapeRepr::Shared(Arc::clone(dims)),
        }
    }
}

/// The number of axes that a shape stores inline.
const INLINE: usize = 4;
const ZEROS: [Dim; INLINE] = [const { Dim::known(0) }; INLINE];

impl TensorShape {
    /// Returns the shape of unknown rank.
    pub const fn unranked() -> TensorShape {
        TensorShape(ShapeRepr::Unranked)
    }

    /// Returns the shape `[]`.
    pub const fn scalar() -> TensorShape {
        TensorShape(ShapeRepr::Inline { len: 0, dims: ZEROS })
    }

    /// Makes a shape with the given dimensions: `Dim`s, integers or names.
    pub fn new(dims: impl IntoIterator<Item = impl IntoDim>) -> TensorShape {
        let mut dims = dims.into_iter().map(IntoDim::into_dim);
        let mut inline = ZEROS;
        for len in 0..INLINE {
            match dims.next() {
                Some(dim) => inline[len] = dim,
                None => return TensorShape(ShapeRepr::Inline { len: len as u8, dims: inline }),
            }
        }
        match dims.next() {
            None => TensorShape(ShapeRepr::Inline { len: INLINE as u8, dims: inline }),
            Some(next) => {
                TensorShape(ShapeRepr::Shared(inline.into_iter().chain([next]).chain(dims).collect()))
            }
        }
    }

    /// Returns the number of axes, or `None` for an unknown rank.
    pub fn rank(&self) -> Option<usize> {
        self.dims().map(<[Dim]>::len)
    }

    /// Returns the dimensions, or `None` for an unknown rank.
    #[inline]
    pub fn dims(&self) -> Option<&[Dim]> {
        match &self.0 {
            ShapeRepr::Unranked => None,
            ShapeRepr::Inline { len, dims } => dims.get(..usize::from(*len)),
            ShapeRepr::Shared(dims) => Some(dims),
        }
    }

    /// Returns the shape with every dimension mapped by `f`.
    pub(crate) fn map(&self, f: impl FnMut(&Dim) -> Dim) -> TensorShape {
        match self.dims() {
            Some(dims) => TensorShape::new(dims.iter().map(f)),
            None => TensorShape::unranked(),
        }
    }

    /// Returns the dimension of `axis`; a negative axis counts from the end. Returns `None` if the rank is unknown or
    /// there is no such axis.
    pub fn dim(&self, axis: i64) -> Option<&Dim> {
        let dims = self.dims()?;
        let axis = if axis < 0 { axis.checked_add(i64::try_from(dims.len()).ok()?)? } else { axis };
        dims.get(usize::try_from(axis).ok()?)
    }

    /// Returns the size of `axis` if it is a number; a negative axis counts from the end. Returns `None` if the size is
    /// not a number or the rank is unknown. Counterpart of `Shape.size(int)` in TensorFlow Java.
    ///
    /// # Errors
    /// The rank is known and has no such axis.
    ///
    /// ```
    /// # use shapeflow_shape_fns::shape;
    /// assert_eq!(shape![2, ?].size(0)?, Some(2));
    /// assert_eq!((shape![2, ?].size(-1)?, shape![..].size(7)?), (None, None));
    /// assert!(shape![2, ?].size(2).is_err());
    /// # Ok::<(), shapeflow_shape_fns::ShapeError>(())
    /// ```
    pub fn size(&self, axis: i64) -> Result<Option<i64>> {
        match (self.rank(), self.dim(axis)) {
            (_, Some(dim)) => Ok(dim.as_known()),
            (None, None) => Ok(None),
            (Some(rank), None) => bail!("an axis of {self} must lie in [-{rank}, {rank}), got {axis}"),
        }
    }

    /// Returns whether the rank is unknown.
    pub fn is_unranked(&self) -> bool {
        self.dims().is_none()
    }

    /// Returns whether the rank is 0.
    pub fn is_scalar(&self) -> bool {
        self.rank() == Some(0)
    }

    /// Returns whether the rank is 1.
    pub fn is_vector(&self) -> bool {
        self.rank() == Some(1)
    }

    /// Returns whether the rank is 2.
    pub fn is_matrix(&self) -> bool {
        self.rank() == Some(2)
    }

    /// Returns whether the rank is known and every dimension is a number.
    pub fn is_fully_defined(&self) -> bool {
        self.dims().is_some_and(|dims| dims.iter().all(Dim::is_known))
    }

    /// Returns whether the rank is unknown or some dimension is not a number: the negation of
    /// [`TensorShape::is_fully_defined`].
    pub fn has_unknown_dimension(&self) -> bool {
        !self.is_fully_defined()
    }

    /// Returns the product of the dimensions, which is an expression if some are not numbers. The product is 0 if any
    /// dimension is 0; TensorFlow answers `None` for such a shape if another dimension is unknown (`[2, 0, ?]`).
    /// Returns `None` for an unknown rank, for an invalid dimension, and if the product is too large to represent.
    ///
    /// ```
    /// # use shapeflow_shape_fns::{Dim, shape};
    /// assert_eq!(shape![2, "n", 4].num_elements(), Some(8 * Dim::symbol("n")));
    /// assert_eq!(shape![2, 0, ?].num_elements(), Some(Dim::known(0)));
    /// assert_eq!((shape![].num_elements(), shape![..].num_elements()), (Some(Dim::known(1)), None));
    /// ```
    pub fn num_elements(&self) -> Option<Dim> {
        let dims = self.dims()?;
        if dims.iter().any(|dim| *dim == 0) {
            return dims.iter().all(|dim| dim.validate().is_ok()).then_some(const { Dim::known(0) });
        }
        dims.iter().try_fold(Dim::known(1), |product, dim| product.times(dim).ok())
    }

    /// Returns the sizes if every dimension is a number `>= 0`. Up to six axes allocate nothing.
    pub fn as_known(&self) -> Option<Sizes> {
        self.dims()?.iter().map(|dim| usize::try_from(dim.as_known()?).ok()).collect()
    }

    /// Returns every dimension as a number, or `None` if it is not a number.
    ///
    /// # Errors
    /// The rank is unknown.
    ///
    /// ```
    /// # use shapeflow_shape_fns::shape;
    /// assert_eq!(shape![2, ?, "n"].as_list()?, [Some(2), None, None]);
    /// assert_eq!(
    ///     shape![..].as_list().unwrap_err().to_string(),
    ///     "as_list() is not defined on an unknown TensorShape."
    /// );
    /// # Ok::<(), shapeflow_shape_fns::ShapeError>(())
    /// ```
    pub fn as_list(&self) -> Result<Vec<Option<i64>>> {
        match self.dims() {
            Some(dims) => Ok(dims.iter().map(Dim::as_known).collect()),
            None => bail!("as_list() is not defined on an unknown TensorShape."),
        }
    }

    /// Returns an error if a dimension is invalid or provably negative.
    ///
    /// # Errors
    /// The message names the first such dimension.
    pub fn validate(&self) -> Result<()> {
        for (axis, dim) in self.dims().unwrap_or_default().iter().enumerate() {
            dim.validate()?;
            if dim.as_symbol().is_none() && dim.bounds().is_below(0) {
                bail!("a dimension must not be negative, got {dim} at axis {axis}");
            }
        }
        Ok(())
    }
}

/// Writes text that parses back. An anonymous dimension is `?`, or `?0`, `?1`, … if it occurs more than once. With
/// `{:#}` every anonymous dimension shows its own number.
impl fmt::Display for TensorShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(dims) = self.dims() else { return f.write_str("[..]") };
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

/// Writes the text of `{}` ([`Display`](fmt::Display)) for `{:?}` and for `{:#?}`.
impl fmt::Debug for TensorShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape;

    #[test]
    fn element_counts_and_sizes_are_computed() {
        let shape = shape!["n", 4, "n", 2];
        assert_eq!(shape.num_elements().unwrap().to_string(), "8*n*n");
        assert_eq!((shape.dim(4), shape.dim(-5), shape.dim(i64::MIN)), (None, None, None));
        assert_eq!(shape![2, 3].as_known().unwrap()[..], [2, 3]);
        assert_eq!((shape![2, -1].as_known(), shape![2, ?].as_known()), (None, None));
        assert_eq!(shape![i64::MAX, 2].num_elements(), None);
        assert_eq!(shape![i64::MAX, 2, 0].num_elements(), Some(Dim::known(0)));
        assert_eq!(shape![0, Dim::known(i64::MAX) + 1].num_elements(), None);
    }

    #[test]
    fn a_shape_takes_at_most_72_bytes() {
        assert!(size_of::<TensorShape>() <= 72);
    }

    #[test]
    fn rank_predicates_are_exclusive() {
        let ranks = |shape: TensorShape| {
            (shape.is_unranked(), shape.is_scalar(), shape.is_vector(), shape.is_matrix())
        };
        assert_eq!(ranks(shape![..]), (true, false, false, false));
        assert_eq!(ranks(shape![]), (false, true, false, false));
        assert_eq!(ranks(shape![?]), (false, false, true, false));
        assert_eq!(ranks(shape![1, ?]), (false, false, false, true));
        assert!(shape![..].has_unknown_dimension() && shape![?].has_unknown_dimension());
        assert!(!shape![].has_unknown_dimension());
    }
}
