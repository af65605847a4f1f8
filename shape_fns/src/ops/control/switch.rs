//! `switch`: forwards data to one of several outputs.

use crate::{InferenceContext, Result, TensorShape};

/// `data[a..], pred[] -> [a..]` for every output. Only one output receives the data at run time.
///
/// # Errors
/// `pred` is not a scalar.
pub fn switch(cx: &mut InferenceContext<'_>) -> Result<()> {
    cx.scalar(1)?;
    for output in 0..cx.outputs() {
        cx.forward(0, output);
    }
    Ok(())
}

/// Like [`switch`]: operand 1 is the index of the output.
///
/// # Errors
/// Same as [`switch`].
pub fn switch_n(cx: &mut InferenceContext<'_>) -> Result<()> {
    switch(cx)
}

/// `input[] -> []`: whether a loop continues.
///
/// # Errors
/// The operand is not a scalar.
pub fn loop_condition(cx: &mut InferenceContext<'_>) -> Result<()> {
    cx.scalar(0)?;
    cx.set_output(0, TensorShape::scalar());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{loop_condition, switch, switch_n};
    use crate::testing::shape_table;

    shape_table! { two: switch, ["data", "pred"];
        {} "[2, ?]; bool []" => "[2, d0_1]; [2, d0_1]";
        {} "i32 [2] = [n, 3]; ?" => "[2] = [n, 3]; [2] = [n, 3]";
        {} "?; bool [1]" => "error(2 outputs) pred must have rank 0";
    }
    shape_table! { many: switch_n, ["data", "output_index"];
        {} "[n]; i32 []" => "[n]; [n]; [n]";
        {} "?; i32 [?]" => "error(3 outputs) output_index must have rank 0";
    }
    shape_table! { conditions: loop_condition, ["input"];
        {} "bool ?" => "[]";
        {} "bool [1]" => "error input must have rank 0";
    }
}
