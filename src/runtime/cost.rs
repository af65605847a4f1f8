//! [`element_cost`]: an estimate of the time that a kernel takes for one element.

use crate::lower::kernel::Kernel;
use crate::lower::kernel_body::KernelBody;

/// The number of units of [`element_cost`] in a nanosecond.
pub(super) const UNITS_PER_NANOSECOND: i64 = 45;

/// Returns the estimate for one element: 3 units to move the element, and 1 unit for each instruction of the longest
/// variant. [`UNITS_PER_NANOSECOND`] units are a nanosecond.
pub(super) fn element_cost(kernel: &Kernel) -> i64 {
    let instructions = |code: &KernelBody| code.passes.iter().map(|pass| pass.body.len()).sum::<usize>();
    let longest = kernel.variants.iter().map(|variant| instructions(&variant.body)).max().unwrap_or(0);
    3 + longest as i64
}
