//! Strings joined: along axes, into a text.

use crate::error::bail;
use crate::{InferenceContext, Result, TensorShape};

/// The strings along `reduction_indices` joined: these axes are dropped, or kept with size 1 where attribute `keep_dims`
/// is set. An axis may be named twice.
///
/// # Errors
/// An axis is outside the rank.
pub fn reduce_join(cx: &mut InferenceContext<'_>) -> Result<()> {
    let input = cx.input(0).clone();
    let output = crate::sparse::without_axes(cx, &input, "reduction_indices")?;
    cx.set_output(0, output);
    Ok(())
}

/// A scalar: attribute `template` (`%s`) with each `placeholder` (`%s`) replaced by an operand.
///
/// # Errors
/// There are not as many placeholders as operands.
pub fn string_format(cx: &mut InferenceContext<'_>) -> Result<()> {
    let (template, placeholder) = (cx.str_or("template", "%s")?, cx.str_or("placeholder", "%s")?);
    let places = if placeholder.is_empty() { 0 } else { template.matches(placeholder).count() };
    if places != cx.len() {
        bail!("template must have a {placeholder:?} for each operand, got {places} for {}", cx.len());
    }
    cx.set_output(0, TensorShape::scalar());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{reduce_join, string_format};
    use crate::testing::shape_table;

    shape_table! { along: reduce_join, ["inputs", "reduction_indices"];
        {} "string [5, n]; i32 [2] = [0, 0]" => "[n]";
        {keep_dims: true} "string [5, n]; i32 [?]" => "[?, ?]";
        {} "string [5]; i32 [1] = [1]" => "error reduction_indices must be in [-1, 1), got 1";
    }
    shape_table! { text: string_format, ["inputs.."];
        {template: "%s and %s"} "[5, 2]; ?" => "[]";
        {} "[5, 2]; ?" => "error template must have a \"%s\" for each operand, got 1 for 2";
    }
}
