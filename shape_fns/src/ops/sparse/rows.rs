//! `sparse_fill_empty_rows`: inserts a default value into every empty row.

use super::operand::SparseOperand;
use crate::{InferenceContext, Result, TensorShape};

/// `indices[nnz, r], values[nnz], dense_shape[r], default_value[]` to
/// `indices[m, r], values[m], empty_row_indicator[rows], reverse_index_map[nnz]`, where `m` depends on the data. The
/// last output holds the new index of each element.
///
/// # Errors
/// The first three operands are not a sparse tensor, or `default_value` is not a scalar.
pub fn fill_empty_rows(cx: &mut InferenceContext<'_>) -> Result<()> {
    let sparse = SparseOperand::read(cx, 0)?;
    cx.scalar(3)?;
    let rows = match cx.input_as_shape("dense_shape")?.dim(0) {
        Some(rows) => rows.clone(),
        None => cx.fresh(),
    };
    let count = cx.fresh();
    cx.set_output(0, TensorShape::new([count.clone(), sparse.rank]));
    cx.set_output(1, TensorShape::new([count]));
    cx.set_output(2, TensorShape::new([rows]));
    cx.set_output(3, TensorShape::new([sparse.count]));
    Ok(())
}

/// `reverse_index_map[n], grad_values[m] -> d_values[n], d_default_value[]`.
///
/// # Errors
/// An operand is not a vector.
pub fn fill_empty_rows_grad(cx: &mut InferenceContext<'_>) -> Result<()> {
    let [count] = cx.axes::<1>(0)?;
    cx.axes::<1>(1)?;
    cx.set_output(0, TensorShape::new([count]));
    cx.set_output(1, TensorShape::scalar());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{fill_empty_rows, fill_empty_rows_grad};
    use crate::testing::shape_table;

    shape_table! { shapes: fill_empty_rows, ["indices", "values", "dense_shape", "default_value"];
        {} "[4, 2]; [?]; i64 [2] = [n, 5]; []" => "[?, 2]; [?]; [n]; [4]";
        {} "?; ?; ?; ?" => "[?, ?]; [?]; [?]; [?]";
        {} "[4, 2]; [5]; ?; ?" => "error(4 outputs) the number of rows of the indices and the number of values must agree, got 4 and 5";
        {} "?; ?; ?; [1]" => "error(4 outputs) default_value must have rank 0";
    }
    shape_table! { gradients: fill_empty_rows_grad, ["reverse_index_map", "grad_values"];
        {} "i64 [n]; [5]" => "[n]; []";
        {} "i64 []; [5]" => "error(2 outputs) reverse_index_map must have rank 1";
    }
}
