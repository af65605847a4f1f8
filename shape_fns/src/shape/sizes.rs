//! [`Sizes`]: the sizes of a fully known shape.

use std::fmt;
use std::ops::Deref;

use smallvec::SmallVec;

/// The sizes of a shape whose dimensions are all numbers. The type dereferences to `[usize]`.
///
/// ```
/// # use shapeflow_shape_fns::shape;
/// let sizes = shape![2, 3].as_known().ok_or("some dimension is not a number")?;
/// assert_eq!((sizes.len(), sizes.iter().product::<usize>(), &sizes[..]), (2, 6, &[2, 3][..]));
/// # Ok::<(), &str>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct Sizes(SmallVec<[usize; 6]>);

impl Sizes {
    /// Returns the sizes as a slice.
    pub fn as_slice(&self) -> &[usize] {
        &self.0
    }

    /// Returns the sizes as a vector.
    pub fn into_vec(self) -> Vec<usize> {
        self.0.into_vec()
    }
}

impl Deref for Sizes {
    type Target = [usize];

    fn deref(&self) -> &[usize] {
        &self.0
    }
}

impl AsRef<[usize]> for Sizes {
    fn as_ref(&self) -> &[usize] {
        &self.0
    }
}

impl FromIterator<usize> for Sizes {
    fn from_iter<I: IntoIterator<Item = usize>>(sizes: I) -> Sizes {
        Sizes(sizes.into_iter().collect())
    }
}

impl<'a> IntoIterator for &'a Sizes {
    type Item = &'a usize;
    type IntoIter = std::slice::Iter<'a, usize>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl fmt::Debug for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
