//! `sparse_reshape` and `sparse_reorder`: change the indices of a sparse tensor's elements.

use super::operand::SparseOperand;
use crate::{Dim, InferenceContext, PartialElements, Result, TensorShape, counted};

/// `indices[nnz, r], shape[r], new_shape[s] -> indices[nnz, s], shape[s]`. One new size may be -1. This size becomes
/// the product of `shape` divided by the other new sizes.
///
/// # Errors
/// `indices` is not a matrix, a shape is not a vector, two sizes are -1, or the product of the
/// other new sizes provably does not divide the product of `shape`.
pub fn reshape(cx: &mut InferenceContext<'_>) -> Result<()> {
    let [count, columns] = cx.axes::<2>(0)?;
    let ([sizes], [rank]) = (cx.axes::<1>(1)?, cx.axes::<1>(2)?);
    cx.agree("the number of columns of the indices and the number of sizes", &columns, &sizes)
        .map_err(|error| error.operand(1))?;
    cx.set_output(0, TensorShape::new([count, rank.clone()]));
    cx.set_output(1, TensorShape::new([rank]));
    if let Some(sizes) = inferred_sizes(cx)? {
        cx.set_output_value(1, PartialElements::vector(sizes));
    }
    Ok(())
}

/// Returns the new sizes with -1 inferred, or `None` if a new size is unknown and may be negative.
fn inferred_sizes(cx: &mut InferenceContext<'_>) -> Result<Option<Vec<Dim>>> {
    let Some(new) = cx.input_value(2).map(|value| value.elements().to_vec()) else { return Ok(None) };
    let old_sizes = cx.input_value(1).map(|value| value.elements().to_vec());
    let (mut inferred_axis, mut others) = (None, Dim::known(1));
    for (axis, size) in new.iter().enumerate() {
        if *size == -1 {
            if let Some(first) = inferred_axis.replace(axis) {
                return Err(
                    cx.blame(2, format_args!("must have at most one -1, got -1 at axes {first} and {axis}"))
                );
            }
        } else if size.as_known().is_none() && !cx.at_least(size, &Dim::known(0)) {
            return Ok(None);
        } else {
            others = cx.mul(&others, size)?;
        }
    }
    let Some(axis) = inferred_axis else { return Ok(Some(new)) };
    let mut sizes = new;
    let quotient = match old_sizes {
        // If every other size is unchanged, -1 keeps the old size, even if a size is 0.
        Some(old_sizes) if stays(cx, &old_sizes, &sizes, axis) => old_sizes[axis].clone(),
        Some(old_sizes) if cx.at_least(&others, &Dim::known(1)) => {
            let mut product = Dim::known(1);
            for size in &old_sizes {
                product = cx.mul(&product, size)?;
            }
            cx.exact_div(&product, &others).map_err(|_| {
                cx.blame(
                    2,
                    format_args!(
                        "must divide the number of elements, got {others} for {product}",
                        product = counted(product, "element")
                    ),
                )
            })?
        }
        _ => cx.fresh_integer(),
    };
    if let Some(size) = sizes.get_mut(axis) {
        *size = quotient;
    }
    Ok(Some(sizes))
}

/// Returns whether every size except the size of `axis` is provably unchanged.
fn stays(cx: &mut InferenceContext<'_>, old: &[Dim], new: &[Dim], axis: usize) -> bool {
    let mut pairs = old.iter().zip(new).enumerate();
    old.len() == new.len()
        && pairs.all(|(other, (old, new))| {
            other == axis || {
                let table = cx.table();
                table.resolve(old) == table.resolve(new)
            }
        })
}

/// Sorts the indices and values of a sparse tensor in row-major order and keeps their shapes.
///
/// # Errors
/// The operands are not a sparse tensor.
pub fn reorder(cx: &mut InferenceContext<'_>) -> Result<()> {
    let sparse = SparseOperand::read(cx, 0)?;
    cx.set_output(0, TensorShape::new([sparse.count.clone(), sparse.rank]));
    cx.set_output(1, TensorShape::new([sparse.count]));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{reorder, reshape};
    use crate::testing::shape_table;

    shape_table! { shapes: reshape, ["indices", "shape", "new_shape"];
        {} "[?, 2]; ?; i64 [?]" => "[d0_0, d2_0]; [d2_0]";
        {} "[4, 2]; [2] = [3, n]; [2] = [-1, 3]" => "[4, 2]; [2] = [n, 3]";
        {} "[4, 2]; i64 [2]; [2] = [-1, 3]" => "[4, 2]; [2] = [?, 3]";
        {} "[4, 2]; i64 [2]; [2] = [n, 3]" => "[4, 2]; [2] = [n, 3]";
        {} "[4, 2]; i64 [3]; ?" => "error(2 outputs) the number of columns of the indices and the number of sizes must agree, got 2 and 3";
        {} "[4, 2]; [2] = [3, 4]; [2] = [-1, -1]" => "error(2 outputs) new_shape must have at most one -1, got -1 at axes 0 and 1";
        {} "[4, 2]; [2] = [3, 4]; [2] = [-1, 5]" => "error(2 outputs) new_shape must divide the number of elements, got 5 for 12 elements";
    }
    shape_table! { ordered: reorder, ["indices", "values", "shape"];
        {} "[?, ?]; [n]; ?" => "[n, d0_1]; [n]";
        {} "?; []; ?" => "error(2 outputs) values must have rank 1";
    }
}
