//! Serialization of sparse tensors: each sparse tensor becomes three strings.

use super::operand::{SparseOperand, set_sparse};
use crate::common::require_last_dim;
use crate::{Dim, InferenceContext, Result, TensorShape};

/// The number of strings per sparse tensor.
const PARTS: Dim = Dim::known(3);

/// Serializes a sparse tensor to a vector of three strings.
///
/// # Errors
/// Indices are not a matrix, or values or shape are not a vector.
pub fn serialize(cx: &mut InferenceContext<'_>) -> Result<()> {
    cx.axes::<2>(0)?;
    cx.axes::<1>(1)?;
    cx.axes::<1>(2)?;
    cx.set_output(0, TensorShape::new([PARTS]));
    Ok(())
}

/// Serializes each row of a sparse tensor: `[rows, 3]`.
///
/// # Errors
/// The operands are not a sparse tensor.
pub fn serialize_many(cx: &mut InferenceContext<'_>) -> Result<()> {
    SparseOperand::read(cx, 0)?;
    let rows = match cx.input_as_shape("sparse_shape")?.dim(0) {
        Some(rows) => rows.clone(),
        None => cx.fresh(),
    };
    cx.set_output(0, TensorShape::new([rows, PARTS]));
    Ok(())
}

/// `serialized_sparse[.., 3]` to a sparse tensor with data-dependent dimensions.
///
/// # Errors
/// The operand is a scalar, or its last dimension provably differs from 3.
pub fn deserialize(cx: &mut InferenceContext<'_>) -> Result<()> {
    if let Some((_, [parts])) = cx.last_axes::<1>(0)? {
        require_last_dim(cx, 0, &parts, 3)?;
    }
    let (count, rank) = (cx.fresh(), cx.fresh());
    set_sparse(cx, 0, &count, &rank);
    Ok(())
}

/// Like [`deserialize`], for a matrix with one row per sparse tensor.
///
/// # Errors
/// The operand is not a matrix, or its last dimension provably differs from 3.
pub fn deserialize_many(cx: &mut InferenceContext<'_>) -> Result<()> {
    cx.axes::<2>(0)?;
    deserialize(cx)
}

#[cfg(test)]
mod tests {
    use super::{deserialize, deserialize_many, serialize, serialize_many};
    use crate::testing::shape_table;

    shape_table! { serialized: serialize, ["indices", "values", "sparse_shape"];
        {} "?; [5]; ?" => "[3]";
        {} "?; []; ?" => "error values must have rank 1";
    }
    shape_table! { many_serialized: serialize_many, ["indices", "values", "sparse_shape"];
        {} "?; ?; i64 [2] = [n, 4]" => "[n, 3]";
        {} "?; ?; ?" => "[?, 3]";
        {} "[1]; ?; ?" => "error indices must have rank 2";
    }
    shape_table! { deserialized: deserialize, ["serialized_sparse"];
        {} "string [5, 2, 3]" => "[?, ?]; [?]; [?]";
        {} "string [4]" => "error(3 outputs) serialized_sparse must have size 3 at the last axis, got 4 in [4]";
        {} "string []" => "error(3 outputs) serialized_sparse must have rank at least 1";
    }
    shape_table! { many_deserialized: deserialize_many, ["serialized_sparse"];
        {} "string [?, 3]" => "[?, ?]; [?]; [?]";
        {} "string [3]" => "error(3 outputs) serialized_sparse must have rank 2";
        {} "string [?, 4]" => "error(3 outputs) must have size 3 at the last axis";
    }
}
