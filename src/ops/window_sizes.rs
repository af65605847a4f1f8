//! `window`: the sizes, strides or rates of a window, which the program knows.

use std::panic::Location;

use crate::error::Result;
use crate::graph::IntoParam;

/// Returns the `N` integers of an argument `name`.
///
/// # Errors
/// The argument is not `N` integers that are known when the graph is built.
pub(super) fn window<'g, const N: usize>(
    given: impl IntoParam<'g>,
    name: &str,
    location: &'static Location<'static>,
) -> Result<[i64; N]> {
    given.into_param().known_array(name).map_err(|error| error.at(location))
}
