//! `bincount` and histograms: count the occurrences of each number.

use crate::error::bail;
use crate::{Dim, InferenceContext, Result, TensorShape, counted};

/// `arr[..], size=s -> [s]`.
///
/// # Errors
/// `size` is negative or not a scalar.
pub fn bincount(cx: &mut InferenceContext<'_>) -> Result<()> {
    let size = cx.make_dim_for_scalar_input("size")?;
    cx.set_output(0, TensorShape::new([size]));
    Ok(())
}

/// `input[n], size=s -> [s]` or `input[b, n], size=s -> [b, s]`.
///
/// # Errors
/// The input has more than two axes, or `size` is negative or not a scalar.
pub fn dense_bincount(cx: &mut InferenceContext<'_>) -> Result<()> {
    let input = cx.with_rank_at_most(0, 2)?;
    let size = cx.make_dim_for_scalar_input("size")?;
    match input.dims() {
        Some([rows, _]) => cx.set_output(0, TensorShape::new([rows.clone(), size])),
        Some(_) => cx.set_output(0, TensorShape::new([size])),
        None => {}
    }
    Ok(())
}

/// Like [`dense_bincount`], for a sparse tensor: `dense_shape=[n] -> [s]` or `dense_shape=[b, ..] -> [b, s]`.
///
/// # Errors
/// `indices`, `values` or `dense_shape` has the wrong rank, `dense_shape` is empty or holds more than two sizes that
/// are all known, or `size` is negative or not a scalar.
pub fn sparse_bincount(cx: &mut InferenceContext<'_>) -> Result<()> {
    cx.axes::<2>(0)?;
    cx.axes::<1>(1)?;
    if let Some(index) = cx.operand("dense_shape") {
        cx.axes::<1>(index)?;
    }
    let size = cx.make_dim_for_scalar_input("size")?;
    let shape = cx.input_as_shape("dense_shape")?;
    match shape.dims() {
        Some([]) => bail!("dense_shape must not be empty, got no sizes"),
        Some([_]) => cx.set_output(0, TensorShape::new([size])),
        Some([_, _, _, ..]) if shape.is_fully_defined() => {
            bail!("dense_shape must have one or two sizes, got {shape}");
        }
        Some([rows, ..]) => cx.set_output(0, TensorShape::new([rows.clone(), size])),
        None => {}
    }
    Ok(())
}

/// `splits[b+1], values[n], size=s -> [b, s]`: counts each row of a ragged tensor.
///
/// # Errors
/// `splits` is not a vector or is empty, or `size` is negative or not a scalar.
pub fn ragged_bincount(cx: &mut InferenceContext<'_>) -> Result<()> {
    let rows = crate::ragged::row_count(cx, 0)?;
    let size = cx.make_dim_for_scalar_input("size")?;
    cx.set_output(0, TensorShape::new([rows, size]));
    Ok(())
}

/// `values[..], value_range[2], nbins=n -> [n]`.
///
/// # Errors
/// `value_range` provably does not have two elements, or `nbins` is less than 1 or not a scalar.
pub fn histogram(cx: &mut InferenceContext<'_>) -> Result<()> {
    let [limits] = cx.axes::<1>(1)?;
    cx.merge(&limits, &Dim::known(2)).map_err(|_| {
        cx.blame(
            1,
            format_args!(
                "must hold a lower and an upper limit, got {limits}",
                limits = counted(limits, "element")
            ),
        )
    })?;
    let bins = cx.make_dim_for_scalar_input("nbins")?;
    if bins == 0 {
        return Err(cx.blame_param("nbins", "must be at least 1, got 0"));
    }
    cx.set_output(0, TensorShape::new([bins]));
    Ok(())
}

/// Counts each row of a dense matrix, or a vector, and returns a sparse tensor of the same rank. `weights` has the
/// shape of the values, or is empty.
///
/// # Errors
/// The rank of the values is not 1 or 2, or the shape of the weights provably differs.
pub fn count_dense(cx: &mut InferenceContext<'_>) -> Result<()> {
    cx.with_rank_at_least(0, 1)?;
    let (values, weights) = (cx.with_rank_at_most(0, 2)?, cx.input(1).clone());
    let empty = weights.num_elements().map(|count| count.same(&Dim::known(0)));
    if empty == Some(Some(false)) && !values.is_compatible_with(&weights) {
        return Err(cx.blame(
            1,
            format_args!("must be empty or have the shape of the values, got {weights} for {values}"),
        ));
    }
    let rank = match values.rank() {
        Some(rank) => Dim::known(i64::try_from(rank).unwrap_or(i64::MAX)),
        None => cx.fresh(),
    };
    set_counts(cx, rank)
}

/// Like [`count_dense`], for a sparse tensor: `indices[nnz, rank], values, dense_shape`.
///
/// # Errors
/// `indices` is not a matrix.
pub fn count_sparse(cx: &mut InferenceContext<'_>) -> Result<()> {
    let [_, rank] = cx.axes::<2>(0)?;
    set_counts(cx, rank)
}

/// Like [`count_dense`], for a ragged tensor with one ragged axis.
///
/// # Errors
/// Never fails.
pub fn count_ragged(cx: &mut InferenceContext<'_>) -> Result<()> {
    set_counts(cx, Dim::known(2))
}

/// Sets the outputs to a sparse tensor of this rank with a data-dependent number of elements.
fn set_counts(cx: &mut InferenceContext<'_>, rank: Dim) -> Result<()> {
    let count = cx.fresh();
    cx.set_output(0, TensorShape::new([count.clone(), rank.clone()]));
    cx.set_output(1, TensorShape::new([count]));
    cx.set_output(2, TensorShape::new([rank]));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{
        bincount, count_dense, count_ragged, count_sparse, dense_bincount, histogram, ragged_bincount,
        sparse_bincount,
    };
    use crate::testing::shape_table;

    shape_table! { plain: bincount, ["arr", "size", "weights"];
        {} "[?]; i32 [] = n; ?" => "[n]";
        {} "?; i32 []; ?" => "[?]";
        {} "?; i32 [1]; ?" => "error size must be one integer, got rank 1";
        {} "?; i32 [] = -7; ?" => "error size must not be negative, got -7";
    }
    shape_table! { dense: dense_bincount, ["input", "size", "weights"];
        {} "i32 [b, 3]; i32 [] = 4; ?" => "[b, 4]";
        {} "i32 [5]; i32 [] = n; ?" => "[n]";
        {} "i32 []; i32 []; ?" => "[?]";
        {} "?; i32 [] = 4; ?" => "?";
        {} "i32 [1, 2, 3]; i32 [] = 4; ?" => "error input must have rank at most 2";
    }
    shape_table! { sparse: sparse_bincount, ["indices", "values", "dense_shape", "size", "weights"];
        {} "?; ?; i64 [2] = [b, 4]; i32 [] = 7; ?" => "[b, 7]";
        {} "?; ?; i64 [1]; i32 [] = 7; ?" => "[7]";
        {} "?; ?; ?; i32 []; ?" => "?";
        {} "?; ?; i64 [3] = [b, 4, 5]; i32 [] = 7; ?" => "[b, 7]";
        {} "?; ?; i64 [3] = [3, 4, 5]; i32 [] = 7; ?" => "error dense_shape must have one or two sizes, got [3, 4, 5]";
        {} "?; ?; i64 [0]; i32 []; ?" => "error dense_shape must not be empty, got no sizes";
    }
    shape_table! { ragged: ragged_bincount, ["splits", "values", "size", "weights"];
        {} "i64 [4]; ?; i32 [] = 7; ?" => "[3, 7]";
        {} "i64 [n]; ?; i32 []; ?" => "[n-1, ?]";
        {} "?; ?; i32 []; ?" => "[?, ?]";
    }
    shape_table! { bins: histogram, ["values", "value_range", "nbins"];
        {} "[?]; [2]; i32 [] = n" => "[n]";
        {} "?; ?; ?" => "[?]";
        {} "[]; [3]; ?" => "error value_range must hold a lower and an upper limit, got 3 elements";
        {} "[]; []; ?" => "error value_range must have rank 1";
        {} "[]; [2]; i32 [2]" => "error nbins must be one integer, got rank 1";
        {} "[]; [2]; i32 [] = 0" => "error nbins must be at least 1, got 0";
    }
    shape_table! { dense_counts: count_dense, ["values", "weights"];
        {} "[n, 3]; [0]" => "[?, 2]; [?]; [2]";
        {} "[n, 3]; [n, 3]" => "[?, 2]; [?]; [2]";
        {} "[n, 3]; [3]" => "error(3 outputs) weights must be empty or have the shape of the values, got [3] for [n, 3]";
        {} "[]; ?" => "error(3 outputs) values must have rank at least 1";
        {} "?; ?" => "[?, ?]; [?]; [?]";
    }
    shape_table! { sparse_counts: count_sparse, ["indices", "values", "dense_shape", "weights"];
        {} "[4, ?]; ?; ?; ?" => "[?, d0_1]; [?]; [d0_1]";
    }
    shape_table! { ragged_counts: count_ragged, ["splits", "values", "weights"];
        {} "?; ?; ?" => "[?, 2]; [?]; [2]";
    }
}
