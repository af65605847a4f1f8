//! Access to parameters that the shape function has normalized.

use smallvec::SmallVec;

use crate::expr::LowerCx;

/// Returns the axes of parameter `axis`, counted from the front. The shape function has resolved negative and missing
/// axes.
pub(crate) fn axes(cx: &mut dyn LowerCx) -> SmallVec<[usize; 4]> {
    cx.derived("axis").iter().filter_map(|axis| usize::try_from(axis.as_known()?).ok()).collect()
}
