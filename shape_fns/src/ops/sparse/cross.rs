//! `sparse_cross`: crosses the features of each row.

use super::operand::set_sparse;
use crate::{Dim, InferenceContext, Result};

/// Outputs a sparse matrix with data-dependent sizes.
///
/// # Errors
/// Never fails.
pub fn cross(cx: &mut InferenceContext<'_>) -> Result<()> {
    let count = cx.fresh();
    set_sparse(cx, 0, &count, &Dim::known(2));
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::testing::shape_table;

    shape_table! { shapes: super::cross, ["operands.."];
        {} "[n, 2]; [n]; i64 [2]; [3, 4]" => "[?, 2]; [?]; [2]";
    }
}
