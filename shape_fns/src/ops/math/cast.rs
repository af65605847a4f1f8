//! `cast(x, dtype)`: converts the elements of `x`.

use crate::{DType, Dim, InferenceContext, Result, common};

/// Keeps the shape of `x`. Tracked elements of integer and bool tensors stay known if the new type, attribute `dtype`,
/// is an integer type or bool.
///
/// # Errors
/// Never fails.
pub fn cast(cx: &mut InferenceContext<'_>) -> Result<()> {
    common::unary(cx)?;
    let from_integer = cx.input_dtype(0).is_some_and(|from| from.is_integer() || from == DType::Bool);
    let Some(to) = cx.attr("dtype").map(|_| cx.dtype("dtype")).transpose()? else { return Ok(()) };
    let Some((low, high)) = to.integer_range().filter(|_| from_integer) else { return Ok(()) };
    let Some(value) = cx.input_value(0).cloned() else { return Ok(()) };
    let from = cx.input_dtype(0).and_then(DType::integer_range);
    let fits = from.is_some_and(|from| low <= from.0 && from.1 <= high);
    let value = value.map(|element| match element.as_known() {
        Some(known) if to == DType::Bool => Dim::known((known != 0).into()),
        None if to == DType::Bool && !fits => cx.fresh_integer(),
        // The new type holds all values of the old type.
        _ if fits => element.clone(),
        // A value that does not fit wraps, so it becomes unknown.
        _ => super::arithmetic::checked_element(cx, Ok(element.clone()), (low, high)),
    });
    cx.set_output_value(0, value);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::cast;
    use crate::DType;
    use crate::testing::shape_table;

    shape_table! { shapes: cast, ["x"];
        {dtype: DType::I64} "i32 [2] = [n, 3]" => "[2] = [n, 3]";
        {dtype: DType::I8} "i32 [2] = [n, 300]" => "[2] = [?, ?]";
        {dtype: DType::F32} "i32 [2] = [n, 3]" => "[2]";
        {dtype: DType::Bool} "i32 [3] = [n, 3, 0]" => "[3] = [?, 1, 0]";
        {dtype: DType::F32} "[n, ?]" => "[n, d0_1]";
    }
}
