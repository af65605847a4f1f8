//! `shape`, `shape_n`, `size` and `rank`: return sizes, the number of elements, or the rank, as tensor elements.

use crate::common::require_fits;
use crate::{DType, Dim, InferenceContext, PartialElements, Result, TensorShape};

/// Returns the dtype of the result, attribute `out_type`.
fn out_type(cx: &InferenceContext<'_>) -> Result<DType> {
    cx.dtype_or("out_type", DType::I64)
}

/// Returns the vector of the operand's sizes. The elements are known as far as the shape is known.
///
/// # Errors
/// A size provably does not fit attribute `out_type`.
pub fn shape(cx: &mut InferenceContext<'_>) -> Result<()> {
    set_sizes(cx, 0)
}

/// Sets output `i` to the vector of the sizes of operand `i`.
///
/// # Errors
/// As [`shape`].
pub fn shape_n(cx: &mut InferenceContext<'_>) -> Result<()> {
    (0..cx.len()).try_for_each(|index| set_sizes(cx, index))
}

/// Sets output `index` to the vector of the sizes of operand `index`.
fn set_sizes(cx: &mut InferenceContext<'_>, index: usize) -> Result<()> {
    match cx.input(index).dims().map(<[Dim]>::to_vec) {
        Some(dims) => {
            let dtype = out_type(cx)?;
            dims.iter().try_for_each(|dim| require_fits(cx, dtype, dim, "every size"))?;
            let value = PartialElements::vector(dims);
            cx.set_output(index, value.shape());
            cx.set_output_value(index, value);
        }
        None => {
            let output = cx.unknown_shape_of_rank(1);
            cx.set_output(index, output);
        }
    }
    Ok(())
}

/// Returns the number of elements as a scalar.
///
/// # Errors
/// The number provably does not fit attribute `out_type`.
pub fn size(cx: &mut InferenceContext<'_>) -> Result<()> {
    cx.set_output(0, TensorShape::scalar());
    if let Some(elements) = cx.input(0).num_elements() {
        require_fits(cx, out_type(cx)?, &elements, "the number of elements")?;
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
    use crate::DType;
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
    shape_table! { narrow: super::size, ["x"];
        {out_type: DType::I32} "[65536, 65536]" => "error the number of elements must fit i32, got 4294967296";
        {out_type: DType::I64} "[65536, 65536]" => "[] = 4294967296";
        {out_type: DType::I32} "[n, 3]" => "[] = 3*n if 2147483647 >= 3*n";
    }
    shape_table! { narrow_sizes: super::shape, ["x"];
        {out_type: DType::I32} "[2147483648, 0]" => "error every size must fit i32, got 2147483648";
    }
    shape_table! { axes: super::rank, ["x"];
        {} "[2, n, 3]" => "[] = 3";
        {} "?" => "[]";
    }
}
