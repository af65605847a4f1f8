//! `linspace(start, stop, num)`: evenly spaced numbers.

use crate::{Dim, Guard, InferenceContext, Result, TensorShape};

/// `start[], stop[], num=n -> [n]`.
///
/// # Errors
/// An operand is not a scalar, or `num` is less than 1.
pub fn linspace(cx: &mut InferenceContext<'_>) -> Result<()> {
    cx.scalars(&["start", "stop"])?;
    let count = match cx.param_scalar("num")? {
        Some(count) => count,
        None => cx.fresh(),
    };
    cx.require(Guard::Ge(count.clone(), Dim::known(1)))
        .map_err(|_| cx.blame_param("num", format_args!("must be at least 1, got {count}")))?;
    cx.set_output(0, TensorShape::new([count]));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::linspace;
    use crate::testing::shape_table;

    shape_table! { shapes: linspace, ["start", "stop", "num"];
        {} "[]; []; [] = 5" => "[5]";
        {} "[]; []; [] = n" => "[n] if n >= 1";
        {} "?; ?; i32 []" => "[?]";
        {} "[]; []; [] = 0" => "error num must be at least 1, got 0";
        {} "[]; [2]; [] = 1" => "error stop must have rank 0";
        {} "[]; []; i32 [1]" => "error num must be one integer, got rank 1";
    }
}
