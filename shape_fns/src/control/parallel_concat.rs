//! The parts of `parallel_concat`: a tensor without contents, and a row of it written.

use crate::{InferenceContext, Result};

/// The shape in attribute `shape`.
///
/// # Errors
/// It is absent.
pub fn parallel_concat_start(cx: &mut InferenceContext<'_>) -> Result<()> {
    let shape = cx.shape("shape")?.clone();
    let shape = cx.table().import(&shape);
    cx.set_output(0, shape);
    Ok(())
}

/// `value[n, a..], update[1, a..] -> [n, a..]`.
///
/// # Errors
/// None.
pub fn parallel_concat_update(cx: &mut InferenceContext<'_>) -> Result<()> {
    cx.set_output(0, cx.input(0).clone());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{parallel_concat_start, parallel_concat_update};
    use crate::shape;
    use crate::testing::shape_table;

    shape_table! { started: parallel_concat_start, [];
        {shape: shape![1, 2, "n"]} "" => "[1, 2, n]";
    }
    shape_table! { updated: parallel_concat_update, ["value", "update"];
        {} "[n, 3]; [1, 3]" => "[n, 3]";
    }
}
