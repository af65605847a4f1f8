//! Requirements on the rank of a shape. Messages use TensorFlow's wording, with shapes in this crate's notation.

use crate::error::bail;
use crate::{IntoDim, Result, TensorShape, Unknown};

impl TensorShape {
    /// The greatest rank of a shape that is made from its rank alone, as [`TensorShape::with_rank`] does. A shape made
    /// from its dimensions may have more axes.
    pub const MAX_RANK: usize = 1 << 16;

    /// Makes a shape of `rank` unknown dimensions, each with its own symbol.
    ///
    /// # Errors
    /// The rank exceeds [`TensorShape::MAX_RANK`].
    pub fn unknown_of_rank(rank: usize) -> Result<TensorShape> {
        if rank > TensorShape::MAX_RANK {
            bail!("a rank must be at most {}, got {rank}", TensorShape::MAX_RANK);
        }
        Ok(TensorShape::new((0..rank).map(|_| Unknown.into_dim())))
    }

    /// Returns the shape itself if it has this rank, or `rank` unknown dimensions if it is unranked.
    ///
    /// # Errors
    /// The rank is known and different, or `rank` exceeds [`TensorShape::MAX_RANK`].
    ///
    /// ```
    /// # use shapeflow_shape_fns::shape;
    /// assert_eq!(shape![..].with_rank(2)?, shape![?, ?]);
    /// assert_eq!(shape![1, ?].with_rank_at_least(1)?.with_rank_at_most(3)?, shape![1, ?]);
    /// assert_eq!(shape![1].with_rank(2).unwrap_err().to_string(), "Shape [1] must have rank 2");
    /// # Ok::<(), shapeflow_shape_fns::ShapeError>(())
    /// ```
    pub fn with_rank(&self, rank: usize) -> Result<TensorShape> {
        if self.is_unranked() {
            return TensorShape::unknown_of_rank(rank);
        }
        self.assert_has_rank(rank).map(|()| self.clone())
    }

    /// Returns the shape if its rank is at least `rank` or unknown.
    ///
    /// # Errors
    /// The rank is smaller.
    pub fn with_rank_at_least(&self, rank: usize) -> Result<TensorShape> {
        if self.rank().is_some_and(|actual| actual < rank) {
            bail!("Shape {self} must have rank at least {rank}");
        }
        Ok(self.clone())
    }

    /// Returns the shape if its rank is at most `rank` or unknown.
    ///
    /// # Errors
    /// The rank is greater.
    pub fn with_rank_at_most(&self, rank: usize) -> Result<TensorShape> {
        if self.rank().is_some_and(|actual| actual > rank) {
            bail!("Shape {self} must have rank at most {rank}");
        }
        Ok(self.clone())
    }

    /// Requires the rank to be `rank` or unknown.
    ///
    /// # Errors
    /// The rank is known and different: `Shape [1] must have rank 2`.
    pub fn assert_has_rank(&self, rank: usize) -> Result<()> {
        if self.rank().is_some_and(|actual| actual != rank) {
            bail!("Shape {self} must have rank {rank}");
        }
        Ok(())
    }

    /// Returns whether the ranks are equal or one of them is unknown.
    pub fn has_same_rank(&self, other: &TensorShape) -> bool {
        self.rank().zip(other.rank()).is_none_or(|(a, b)| a == b)
    }

    /// Requires [`TensorShape::has_same_rank`].
    ///
    /// # Errors
    /// The ranks differ: `Shapes [1] and [1, 2] must have the same rank`.
    ///
    /// ```
    /// # use shapeflow_shape_fns::shape;
    /// shape![1].assert_same_rank(&shape![..])?;
    /// let error = shape![1].assert_same_rank(&shape![1, 2]).unwrap_err();
    /// assert_eq!(error.to_string(), "Shapes [1] and [1, 2] must have the same rank");
    /// # Ok::<(), shapeflow_shape_fns::ShapeError>(())
    /// ```
    pub fn assert_same_rank(&self, other: &TensorShape) -> Result<()> {
        if !self.has_same_rank(other) {
            bail!("Shapes {self} and {other} must have the same rank");
        }
        Ok(())
    }

    /// Requires [`TensorShape::is_fully_defined`].
    ///
    /// # Errors
    /// The rank or a dimension is unknown: `Shape [?] is not fully defined`.
    pub fn assert_is_fully_defined(&self) -> Result<()> {
        if !self.is_fully_defined() {
            bail!("Shape {self} is not fully defined");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::{TensorShape, shape};

    #[test]
    fn an_unknown_rank_meets_every_requirement_on_ranks() {
        let unranked = TensorShape::unranked();
        assert_eq!(unranked.with_rank(0), Ok(shape![]));
        assert_eq!(unranked.with_rank_at_least(7), Ok(shape![..]));
        assert_eq!(unranked.with_rank_at_most(0), Ok(shape![..]));
        assert!(unranked.assert_has_rank(3).is_ok() && unranked.has_same_rank(&shape![1]));
        assert!(unranked.assert_is_fully_defined().is_err());
    }

    #[test]
    fn unknown_shapes_have_at_most_max_rank_axes() {
        assert!(TensorShape::unknown_of_rank(300).is_ok_and(|shape| shape.rank() == Some(300)));
        assert!(TensorShape::unranked().with_rank(usize::MAX).is_err());
        assert!(TensorShape::unranked().with_rank(TensorShape::MAX_RANK + 1).is_err());
    }

    #[test]
    fn messages_use_the_wording_of_tensorflow() {
        let text = |result: crate::Result<TensorShape>| result.unwrap_err().to_string();
        assert_eq!(text(shape![1].with_rank(2)), "Shape [1] must have rank 2");
        assert_eq!(text(shape![1].with_rank_at_least(2)), "Shape [1] must have rank at least 2");
        assert_eq!(text(shape![1, 2].with_rank_at_most(1)), "Shape [1, 2] must have rank at most 1");
        let error = shape![?].assert_is_fully_defined().unwrap_err();
        assert_eq!(error.to_string(), "Shape [?] is not fully defined");
    }
}
