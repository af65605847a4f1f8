//! Random numbers: tensors whose shape is a parameter.

use super::generator::check_seeds;
use crate::{InferenceContext, Result, TensorShape};

/// Sets the output's sizes to `shape`.
///
/// # Errors
/// `shape` is not a vector of sizes, `minval` or `maxval` is not a scalar, or `seed`, `key`, `counter` or `alg` has
/// the wrong rank or length.
pub fn numbers(cx: &mut InferenceContext<'_>) -> Result<()> {
    check_seeds(cx)?;
    cx.scalars(&["minval", "maxval"])?;
    let output = cx.input_as_shape("shape")?;
    cx.set_output(0, output);
    Ok(())
}

/// `shape=[s..], alpha[a..] -> [s.., a..]`: draws a tensor of sizes `s..` for each element of `alpha`, the parameter of
/// the distribution.
///
/// # Errors
/// `shape` is not a vector of sizes.
pub fn numbers_of_each(cx: &mut InferenceContext<'_>) -> Result<()> {
    let (shape, parameters) = (cx.input_as_shape("shape")?, cx.input(1).clone());
    cx.set_output(0, shape.concatenate(&parameters));
    Ok(())
}

/// Like [`numbers`], for the truncated normal distribution. The last four operands are the distribution's parameters:
/// scalars, or vectors with one element per batch.
///
/// # Errors
/// `shape` is not a vector of sizes, or a parameter has more than one axis.
pub fn truncated(cx: &mut InferenceContext<'_>) -> Result<()> {
    for index in cx.len().saturating_sub(4)..cx.len() {
        cx.with_rank_at_most(index, 1)?;
    }
    numbers(cx)
}

/// Like [`numbers`], for the stateless truncated normal distribution. The last four operands are the distribution's
/// parameters, which broadcast with each other.
///
/// # Errors
/// Same as [`numbers`], or the parameters do not broadcast.
pub fn truncated_stateless(cx: &mut InferenceContext<'_>) -> Result<()> {
    let mut all = TensorShape::scalar();
    for index in cx.len().saturating_sub(4)..cx.len() {
        let parameter = cx.input(index).clone();
        all = cx.broadcast(&all, &parameter).map_err(|error| error.operand(index))?;
    }
    numbers(cx)
}

#[cfg(test)]
mod tests {
    use super::{numbers, numbers_of_each, truncated, truncated_stateless};
    use crate::shape;
    use crate::testing::shape_table;

    shape_table! { shapes: numbers, ["shape"];
        {} "i32 [2] = [n, 3]" => "[n, 3]";
        {} "i32 [2]" => "[?, ?]";
        {} "i32 [?]" => "?";
        {shape: shape!["n", 3]} "" => "[n, 3]";
        {} "i32 []" => "error shape must be a vector, got rank 0";
        {} "i32 [2] = [-1, 2]" => "error shape must not be negative, got -1";
    }
    shape_table! { bounded: numbers, ["shape", "minval", "maxval"];
        {} "i32 [1] = [n]; i32 []; i32 []" => "[n]";
        {} "i32 [1] = [n]; i32 [1]; i32 []" => "error minval must have rank 0";
    }
    shape_table! { seeded: numbers, ["shape", "seed"];
        {} "i32 [1] = [n]; i64 [?]" => "[n]";
        {} "i32 [1]; i64 [3]" => "error seed must have 2 elements, got 3";
        {} "i32 [1]; i64 []" => "error seed must have rank 1";
    }
    shape_table! { keyed: numbers, ["shape", "key", "counter", "alg"];
        {} "i32 [1] = [n]; u64 [1]; u64 [2]; i32 []" => "[n]";
        {} "i32 [1]; u64 [2]; u64 [1]; ?" => "error key must have 1 element, got 2";
        {} "i32 [1]; u64 [1]; u64 []; ?" => "error counter must have rank 1";
        {} "i32 [1]; u64 [1]; u64 [2]; i32 [1]" => "error alg must have rank 0";
    }
    shape_table! { per_parameter: numbers_of_each, ["shape", "alpha"];
        {} "i32 [2] = [1, n]; [4, ?]" => "[1, n, 4, d1_1]";
        {} "i32 [1] = [n]; []" => "[n]";
        {} "i32 ?; [3]" => "?";
        {} "i32 [1, 2]; [3, 4]" => "error shape must be a vector, got rank 2";
    }
    shape_table! { truncated_normals: truncated, ["shape", "means", "stdevs", "minvals", "maxvals"];
        {} "i32 [2] = [n, 3]; [2]; [2]; []; [7]" => "[n, 3]";
        {} "i32 [2]; [2]; [2]; []; [1, 2]" => "error maxvals must have rank at most 1";
    }
    shape_table! { stateless_truncated_normals: truncated_stateless, ["shape", "seed", "means", "stddevs", "minvals", "maxvals"];
        {} "i32 [2] = [n, 3]; i64 [2]; [3]; [1]; []; [n, 3]" => "[n, 3]";
        {} "i32 [2]; i64 [2]; [3]; [7]; []; []" => "error must be equal or 1 to broadcast, got 3 and 7";
    }
}
