//! `window`: the sizes, strides or rates of a window, which the program knows.

use shapeflow_shape_fns::Attr;

use crate::error::Result;
use crate::graph::IntoParam;

/// Returns the `N` integers of an argument `name`, as an attribute that `make` makes of them.
///
/// # Errors
/// The argument is not `N` integers that are known when the graph is built.
pub(super) fn window<'g, const N: usize>(
    given: impl IntoParam<'g>,
    name: &str,
    make: impl FnOnce([i64; N]) -> Attr,
) -> Result<Attr> {
    given.into_param().known_array(name).map(make)
}
