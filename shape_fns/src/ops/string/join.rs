//! Ops that join strings along axes or into a text.

use crate::error::bail;
use crate::{InferenceContext, Result, TensorShape};

/// Joins the strings along `reduction_indices`. Drops these axes, or keeps them with size 1 if attribute `keep_dims`
/// is set. An axis may be given twice.
///
/// # Errors
/// An axis is outside the rank.
pub fn reduce_join(cx: &mut InferenceContext<'_>) -> Result<()> {
    let input = cx.input(0).clone();
    let output = crate::sparse::without_axes(cx, &input, "reduction_indices")?;
    cx.set_output(0, output);
    Ok(())
}

/// Outputs a scalar: attribute `template` (default `%s`), in which an operand replaces each `placeholder` (default
/// `%s`).
///
/// # Errors
/// The number of placeholders differs from the number of operands.
pub fn string_format(cx: &mut InferenceContext<'_>) -> Result<()> {
    let (mut template, placeholder) = (cx.bytes_or("template", "%s")?, cx.bytes_or("placeholder", "%s")?);
    let mut occurrences = 0;
    while !placeholder.is_empty()
        && let Some(start) = template.windows(placeholder.len()).position(|window| window == placeholder)
    {
        occurrences += 1;
        template = &template[start + placeholder.len()..];
    }
    if occurrences != cx.len() {
        let placeholder = placeholder.escape_ascii();
        bail!("template must have one \"{placeholder}\" per operand, got {occurrences} for {}", cx.len());
    }
    cx.set_output(0, TensorShape::scalar());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{reduce_join, string_format};
    use crate::testing::shape_table;

    shape_table! { joins_along_axes: reduce_join, ["inputs", "reduction_indices"];
        {} "string [5, n]; i32 [2] = [0, 0]" => "[n]";
        {keep_dims: true} "string [5, n]; i32 [?]" => "[?, ?]";
        {} "string [5]; i32 [1] = [1]" => "error reduction_indices must be in [-1, 1), got 1";
    }
    shape_table! { formatted_text: string_format, ["inputs.."];
        {template: "%s and %s"} "[5, 2]; ?" => "[]";
        {} "[5, 2]; ?" => "error template must have one \"%s\" per operand, got 1 for 2";
    }
}
