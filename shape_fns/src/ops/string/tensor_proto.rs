//! Tensors as strings: `serialize_tensor` and `parse_tensor`.

use crate::{InferenceContext, Result, TensorShape};

/// `tensor[..] -> []`.
///
/// # Errors
/// None.
pub fn serialize_tensor(cx: &mut InferenceContext<'_>) -> Result<()> {
    cx.set_output(0, TensorShape::scalar());
    Ok(())
}

/// `serialized[] -> ?`: the string holds the shape.
///
/// # Errors
/// The operand is not a scalar.
pub fn parse_tensor(cx: &mut InferenceContext<'_>) -> Result<()> {
    cx.scalar(0)?;
    cx.set_output(0, TensorShape::unranked());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{parse_tensor, serialize_tensor};
    use crate::testing::shape_table;

    shape_table! { serialized: serialize_tensor, ["tensor"];
        {} "[2, n]" => "[]";
        {} "?" => "[]";
    }
    shape_table! { parsed: parse_tensor, ["serialized"];
        {} "string []" => "?";
        {} "string [1]" => "error serialized must have rank 0";
    }
}
