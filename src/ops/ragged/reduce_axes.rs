//! [`IntoRaggedAxes`]: the axes of a reduction of a ragged value.

use crate::graph::{IntoParam, Param};
use crate::ops::reduce::Axes;

/// The axes of a reduction of a ragged value: an axis, several axes, `..` for all axes, or [`Axes`], which can keep the
/// reduced axes with size 1. A negative axis counts from the end.
pub trait IntoRaggedAxes {
    /// Returns the axes of a value of this rank; `None` if only a run knows them.
    #[doc(hidden)]
    fn axes(self, rank: usize) -> Option<Vec<i64>>;

    /// Returns whether these are all axes of every value.
    #[doc(hidden)]
    fn are_all(&self) -> bool {
        false
    }

    /// Returns whether the result keeps the reduced axes with size 1.
    #[doc(hidden)]
    fn keeps_dims(&self) -> bool {
        false
    }
}

impl<P: IntoParam<'static>> IntoRaggedAxes for P {
    fn axes(self, _: usize) -> Option<Vec<i64>> {
        match self.into_param() {
            Param::Elements(axes) => axes.as_known(),
            Param::Value(_) | Param::Refused(_) => None,
        }
    }
}

impl IntoRaggedAxes for std::ops::RangeFull {
    fn axes(self, rank: usize) -> Option<Vec<i64>> {
        Some((0..rank as i64).collect())
    }

    fn are_all(&self) -> bool {
        true
    }
}

impl IntoRaggedAxes for Axes<'_> {
    fn axes(self, rank: usize) -> Option<Vec<i64>> {
        self.known(rank)
    }

    fn are_all(&self) -> bool {
        // Only all axes depend on the rank.
        self.known(0) != self.known(1)
    }

    fn keeps_dims(&self) -> bool {
        self.are_kept()
    }
}
