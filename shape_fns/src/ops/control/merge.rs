//! `merge`: forwards the first operand that becomes available.

use crate::{Dim, InferenceContext, Result, TensorShape};

/// Outputs the forwarded operand and its position, a scalar.
///
/// The rank is known only if all operands have the same rank, and a dimension only if it is the same in all operands.
/// No equality is recorded, because only one operand becomes available.
///
/// # Errors
/// Never fails.
pub fn merge(cx: &mut InferenceContext<'_>) -> Result<()> {
    cx.set_output(1, TensorShape::scalar());
    let first = cx.input(0).clone();
    let Some(dims) = first.dims() else { return Ok(()) };
    let mut common: Vec<Option<Dim>> = dims.iter().cloned().map(Some).collect();
    for index in 1..cx.len() {
        let shape = cx.input(index);
        let Some(others) = shape.dims().filter(|others| others.len() == common.len()) else { return Ok(()) };
        for (dim, other) in common.iter_mut().zip(others) {
            *dim = dim.take().filter(|dim| dim == other);
        }
    }
    let dims: Vec<Dim> = common.into_iter().map(|dim| dim.unwrap_or_else(|| cx.fresh())).collect();
    cx.set_output(0, TensorShape::new(dims));
    Ok(())
}

/// `index[], x0, x1, … -> x[index]`, where each `x` is a reference to a variable. The output has a known shape only if
/// all references have the same fully known shape, because a variable whose shape is not fully known may hold tensors
/// of different shapes.
///
/// # Errors
/// The index is not a scalar.
pub fn ref_select(cx: &mut InferenceContext<'_>) -> Result<()> {
    cx.scalar(0)?;
    let first = cx.input(1).clone();
    if first.is_fully_defined() && (2..cx.len()).all(|index| *cx.input(index) == first) {
        cx.set_output(0, first);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{merge, ref_select};
    use crate::testing::shape_table;

    shape_table! { merged: merge, ["inputs.."];
        {} "[2, n]; [2, n]" => "[2, n]; []";
        {} "[2, 1]; [3, 1]" => "[?, 1]; []";
        {} "[n]; [m]" => "[?]; []";
        {} "[2, 1]; ?" => "?; []";
        {} "[2, 1]; [2]" => "?; []";
    }
    shape_table! { selected: ref_select, ["index", "inputs.."];
        {} "i32 []; [1, 2]; [1, 2]" => "[1, 2]";
        {} "i32 []; [1, 2]; [1, ?]" => "?";
        {} "i32 []; [1, 2]; [1]" => "?";
        {} "i32 [2]; ?; ?" => "error index must have rank 0";
    }
}
