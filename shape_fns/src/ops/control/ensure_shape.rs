//! `ensure_shape(input, shape)`: asserts a shape, which the op itself checks when the graph runs.

use crate::{InferenceContext, Result};

/// Unifies the operand's shape with attribute `shape`, and forwards the elements. The result has the dimensions of
/// attribute `shape`; a guard checks a dimension whose equality is not solved.
///
/// # Errors
/// Ranks or dimensions provably differ.
pub fn ensure_shape(cx: &mut InferenceContext<'_>) -> Result<()> {
    let stated = cx.shape("shape")?.clone();
    let actual = cx.input(0).clone();
    cx.forward(0, 0);
    let merged = cx.table().state_shape(&actual, &stated).map_err(|error| error.operand(0))?;
    cx.set_output(0, merged);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::ensure_shape;
    use crate::shape;
    use crate::testing::shape_table;

    shape_table! { shapes: ensure_shape, ["input"];
        {shape: shape![?, 3]} "[5, ?]" => "[5, 3]";
        {shape: shape![?, 3]} "[?, n]" => "[d0_0, 3]";
        {shape: shape!["b", 3]} "?" => "[b, 3]";
        {shape: shape![..]} "[n]" => "[n]";
        {shape: shape!["b"]} "[n*n]" => "[n*n]";
        {shape: shape!["n", ?]} "[n*n, n+1]" => "[n, n+1] if n*n == n";
        {shape: shape![2]} "i32 [2] = [n, 3]" => "[2] = [n, 3]";
        {shape: shape![4, 3]} "[5, ?]" => "error shapes must agree, got 5 and 4 at axis 0";
        {shape: shape![4]} "[4, 1]" => "error shapes must have the same rank";
    }
}
