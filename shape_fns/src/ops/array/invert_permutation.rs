//! `invert_permutation(x)`: `out[x[i]] = i`.

use crate::error::bail;
use crate::{InferenceContext, PartialElements, Result, counted};

/// `[n] -> [n]`. The output's elements are known if the operand's elements are.
///
/// # Errors
/// The operand is not a vector, or its elements are known and are not a permutation.
pub fn invert_permutation(cx: &mut InferenceContext<'_>) -> Result<()> {
    let shape = cx.with_rank(0, 1)?;
    if let Some(elements) = cx.input_value(0).and_then(PartialElements::as_known) {
        let mut positions = vec![None; elements.len()];
        for (position, element) in elements.iter().enumerate() {
            match usize::try_from(*element).ok().and_then(|element| positions.get_mut(element)) {
                Some(slot @ None) => *slot = i64::try_from(position).ok(),
                Some(_) => bail!("x must be a permutation, got {element} twice in {elements:?}"),
                None => bail!(
                    "x must be a permutation, got {element} among {}",
                    counted(elements.len(), "element")
                ),
            }
        }
        let positions: Vec<i64> = positions.into_iter().flatten().collect();
        cx.set_output_value(0, PartialElements::known(&positions));
    }
    cx.set_output(0, shape);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::invert_permutation;
    use crate::testing::shape_table;

    shape_table! { shapes: invert_permutation, ["x"];
        {} "i32 [n]" => "[n]";
        {} "?" => "[?]";
        {} "[3] = [2, 0, 1]" => "[3] = [1, 2, 0]";
        {} "[2] = [n, 0]" => "[2]";
        {} "[3] = [2, 0, 2]" => "error x must be a permutation, got 2 twice in [2, 0, 2]";
        {} "[2] = [2, 0]" => "error x must be a permutation, got 2 among 2 elements";
        {} "i32 []" => "error x must have rank 1";
    }
}
