//! The operands that seed stateless random ops: a seed, or key, counter and algorithm.

use crate::{Dim, InferenceContext, Result, TensorShape, counted};

/// Checks the operands `seed[2]`, `key[1]`, `counter[c]` and `alg[]` if they are given.
///
/// # Errors
/// An operand has the wrong rank or length.
pub(super) fn check_seeds(cx: &mut InferenceContext<'_>) -> Result<()> {
    for (name, len) in [("seed", Some(2)), ("key", Some(1)), ("counter", None)] {
        let Some(index) = cx.operand(name) else { continue };
        let [given] = cx.axes::<1>(index)?;
        let Some(len) = len else { continue };
        cx.merge(&given, &Dim::known(len)).map_err(|_| {
            cx.blame(index, format_args!("must have {len}, got {given}", len = counted(len, "element")))
        })?;
    }
    cx.scalars(&["alg"])
}

/// With a seed, outputs `key[1], counter[2]`, and `alg[]` if there is a third output. Without a seed, outputs `alg[]`
/// only.
///
/// # Errors
/// `seed` does not have two elements.
pub fn generator_state(cx: &mut InferenceContext<'_>) -> Result<()> {
    check_seeds(cx)?;
    let vector = |len| TensorShape::new([Dim::known(len)]);
    if cx.is_empty() {
        cx.set_output(0, TensorShape::scalar());
        return Ok(());
    }
    cx.set_output(0, vector(1));
    cx.set_output(1, vector(2));
    cx.set_output(2, TensorShape::scalar());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::generator_state;
    use crate::testing::shape_table;

    shape_table! { states: generator_state, ["seed"];
        {} "i64 [2]" => "[1]; [2]";
        {} "i64 ?" => "[1]; [2]; []";
        {} "" => "[]";
        {} "i64 [3]" => "error(2 outputs) seed must have 2 elements, got 3";
    }
}
