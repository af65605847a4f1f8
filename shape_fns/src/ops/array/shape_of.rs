//! `shape`, `shape_n`, `size` and `rank`: return sizes, the number of elements, or the rank, as tensor elements.

use crate::{Dim, InferenceContext, PartialElements, Result, TensorShape};

/// Returns the vector of the operand's sizes. The elements are known as far as the shape is known.
///
/// # Errors
/// Never fails.
pub fn shape(cx: &mut InferenceContext<'_>) -> Result<()> {
    set_sizes(cx, 0);
    Ok(())
}

/// Sets output `i` to the vector of the sizes of operand `i`.
///
/// # Errors
/// Never fails.
pub fn shape_n(cx: &mut InferenceContext<'_>) -> Result<()> {
    for index in 0..cx.len() {
        set_sizes(cx, index);
    }
    Ok(())
}

/// Sets output `index` to the vector of the sizes of operand `index`.
fn set_sizes(cx: &mut InferenceContext<'_>, index: usize) {
    match cx.input(index).dims() {
        Some(dims) => {
            let value = PartialElements::vector(dims.iter().cloned());
            cx.set_output(index, value.shape());
            cx.set_output_value(index, value);
        }
        None => {
            let output = cx.unknown_shape_of_rank(1);
            cx.set_output(index, output);
        }
    }
}

/// Returns the number of elements as a scalar.
///
/// # Errors
/// Never fails.
pub fn size(cx: &mut InferenceContext<'_>) -> Result<()> {
    cx.set_output(0, TensorShape::scalar());
    if let Some(elements) = cx.input(0).num_elements() {
        cx.set_output_value(0, PartialElements::scalar(elements));
    }
    Ok(())
}

/// Returns the number of axes as a scalar.
///
/// # Errors
/// Never fails.
pub fn rank(cx: &mut InferenceContext<'_>) -> Result<()> {
    cx.set_output(0, TensorShape::scalar());
    if let Some(rank) = cx.input(0).rank() {
        cx.set_output_value(0, PartialElements::scalar(Dim::known(rank as i64)));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::testing::shape_table;

    shape_table! { sizes: super::shape, ["x"];
        {} "[2, n, ?]" => "[3] = [2, n, d0_2]";
        {} "[]" => "[0] = []";
        {} "?" => "[?]";
    }
    shape_table! { sizes_of_several: super::shape_n, ["x.."];
        {} "[2, n]; ?" => "[2] = [2, n]; [?]";
    }
    shape_table! { elements: super::size, ["x"];
        {} "[2, n, 3]" => "[] = 6*n";
        {} "?" => "[]";
        {} "[]" => "[] = 1";
    }
    shape_table! { axes: super::rank, ["x"];
        {} "[2, n, 3]" => "[] = 3";
        {} "?" => "[]";
    }
}
