//! [`Columns`]: the columns of a tensor, which are sorted one by one.

use crate::error::Result;
use crate::op::HostCx;
use crate::ops::host_params::param_ints;

/// The columns along an axis of a row-major tensor: column `c` of group `g` has the elements
/// `g * length * inner + c + at * inner`, for `at` in `0..length`.
pub(super) struct Columns {
    /// The number of elements of the tensor.
    pub(super) elements: usize,
    /// The number of elements of a column.
    pub(super) length: usize,
    /// The number of columns of a group.
    pub(super) inner: usize,
}

impl Columns {
    /// Returns the columns along the parameter `axis`.
    ///
    /// # Errors
    /// There is no such axis.
    pub(super) fn new(cx: &HostCx<'_>, sizes: &[usize]) -> Result<Columns> {
        let given = param_ints(cx, "axis", 1)?.and_then(|axes| axes.first().copied()).unwrap_or(0);
        let axis = shapeflow_shape_fns::normalize_axis(given, sizes.len())?;
        Ok(Columns {
            elements: sizes.iter().product(),
            length: sizes[axis],
            inner: sizes[axis + 1..].iter().product(),
        })
    }

    /// Returns the first element of each column.
    pub(super) fn firsts(&self) -> impl Iterator<Item = usize> + use<> {
        let (group, inner) = (self.length * self.inner, self.inner);
        let groups = self.elements.checked_div(group).unwrap_or(0);
        (0..groups).flat_map(move |number| (number * group..).take(inner))
    }
}
