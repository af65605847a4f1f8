//! `identity(x)` and other ops that return their operands unchanged.

use crate::{InferenceContext, Result};

/// Forwards the shape and the elements of the first operand.
///
/// # Errors
/// Never fails.
pub fn identity(cx: &mut InferenceContext<'_>) -> Result<()> {
    cx.forward(0, 0);
    Ok(())
}

/// Forwards the shape and the elements of operand `i` to output `i`.
///
/// # Errors
/// Never fails.
pub fn identity_n(cx: &mut InferenceContext<'_>) -> Result<()> {
    for index in 0..cx.len() {
        cx.forward(index, index);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{identity, identity_n};
    use crate::testing::shape_table;

    shape_table! { one: identity, ["x"];
        {} "[2, ?]" => "[2, d0_1]";
        {} "i32 [2] = [n, ?]" => "[2] = [n, v0_1]";
        {} "?" => "?";
    }
    shape_table! { many: identity_n, ["x.."];
        {} "[2, ?]; i32 [] = n" => "[2, d0_1]; [] = n";
    }
}
