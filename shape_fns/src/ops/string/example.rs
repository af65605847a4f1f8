//! Parsers of serialized `Example` messages, which hold named lists of values.

use super::super::sparse::set_sparse_rows;
use super::feature_lists::{dense_shapes, list_len};
use crate::error::bail;
use crate::{Dim, InferenceContext, Result, TensorShape, counted};

/// The number of features of each kind.
struct FeatureCounts {
    sparse: usize,
    dense: usize,
    ragged: usize,
}

/// `serialized[n], names[m], sparse_keys[s], dense_keys[d], ragged_keys[r], dense_defaults..`; `serialized` may be a
/// scalar. Outputs the indices of all sparse features, their values, their shapes, the dense features, the values of
/// the ragged features and their row splits.
///
/// Dense feature `k` has the axes of `serialized`, then the axes of entry `k` of `dense_shapes`. The first size of an
/// entry may be -1; this size depends on the data.
///
/// # Errors
/// `serialized` has more than one axis, or a list of keys provably differs in length from the attributes.
pub fn parse_examples(cx: &mut InferenceContext<'_>) -> Result<()> {
    let serialized = cx.with_rank_at_most(0, 1)?;
    cx.with_rank_at_most(1, 1)?;
    let counts = FeatureCounts {
        sparse: list_len(cx, "sparse_types")?,
        dense: cx.len().saturating_sub(5),
        ragged: list_len(cx, "ragged_value_types")?,
    };
    for (index, count) in [(2, counts.sparse), (3, counts.dense), (4, counts.ragged)] {
        let [keys] = cx.axes::<1>(index)?;
        let count = Dim::known(i64::try_from(count).unwrap_or(i64::MAX));
        cx.agree("the numbers of keys and of features", &keys, &count)
            .map_err(|error| error.operand(index))?;
    }
    set_features(cx, &serialized, &counts)
}

/// `serialized[n], names[m]`, then a scalar key for each of `Nsparse` sparse features and `Ndense` dense features, then
/// a default for each dense feature. The outputs are the outputs of [`parse_examples`] without ragged features.
///
/// # Errors
/// `serialized` or `names` is not a vector, or a key is not a scalar.
pub fn parse_examples_by_keys(cx: &mut InferenceContext<'_>) -> Result<()> {
    let [examples] = cx.axes::<1>(0)?;
    cx.axes::<1>(1)?;
    let count = |name| cx.int(name).map(|count| usize::try_from(count).unwrap_or(0));
    let counts = FeatureCounts { sparse: count("Nsparse")?, dense: count("Ndense")?, ragged: 0 };
    let operands = counts.dense.saturating_mul(2).saturating_add(counts.sparse).saturating_add(2);
    cx.takes(operands)?;
    for key in 0..counts.sparse + counts.dense {
        cx.scalar(2 + key)?;
    }
    set_features(cx, &TensorShape::new([examples]), &counts)
}

/// `serialized[], dense_defaults..`: one example. The outputs are the outputs of [`parse_examples`] without ragged
/// features.
///
/// # Errors
/// `serialized` is not a scalar.
pub fn parse_single_example(cx: &mut InferenceContext<'_>) -> Result<()> {
    cx.scalar(0)?;
    let dense = cx.len().saturating_sub(1);
    let counts = FeatureCounts { sparse: list_len(cx, "sparse_types")?, dense, ragged: 0 };
    set_features(cx, &TensorShape::scalar(), &counts)
}

/// Sets the shapes of all outputs. `examples` is the shape of `serialized`.
fn set_features(cx: &mut InferenceContext<'_>, examples: &TensorShape, counts: &FeatureCounts) -> Result<()> {
    let outputs = 3 * counts.sparse + counts.dense + 2 * counts.ragged;
    if cx.outputs() != outputs {
        bail!("the features must have {outputs}, got {}", cx.outputs(), outputs = counted(outputs, "output"));
    }
    for feature in 0..counts.sparse {
        let rank = match examples.rank() {
            Some(rank) => Dim::known(if rank == 0 { 1 } else { 2 }),
            None => cx.fresh(),
        };
        set_sparse_rows(cx, [feature, counts.sparse + feature, 2 * counts.sparse + feature], &rank);
    }
    for (feature, sizes) in dense_shapes(cx, "dense_shapes", counts.dense, true)?.into_iter().enumerate() {
        let sizes = sizes.into_iter().map(|size| size.unwrap_or_else(|| cx.fresh()));
        let shape = examples.concatenate(&TensorShape::new(sizes));
        cx.set_output(3 * counts.sparse + feature, shape);
    }
    for feature in 0..counts.ragged {
        let splits = match examples.dims() {
            // One example has no row splits: its values are one row.
            Some([]) => Dim::known(0),
            Some([examples, ..]) => cx.add(examples, &Dim::known(1))?,
            None => cx.fresh(),
        };
        let (first, values) = (3 * counts.sparse + counts.dense, cx.fresh());
        cx.set_output(first + feature, TensorShape::new([values]));
        cx.set_output(first + counts.ragged + feature, TensorShape::new([splits]));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{parse_examples, parse_examples_by_keys, parse_single_example};
    use crate::DType;
    use crate::testing::{dtypes, shape_table, shapes};

    shape_table! { examples: parse_examples, ["serialized", "names", "sparse_keys", "dense_keys", "ragged_keys", "dense_defaults.."];
        {sparse_types: dtypes(&[DType::F32]), dense_shapes: shapes(&[&[2]])}
            "[n]; [0]; [1]; [1]; [0]; []" => "[?, 2]; [?]; [2]; [n, 2]";
        {dense_shapes: shapes(&[&[-1, 3], &[]])} "[n]; [0]; [0]; [2]; [0]; []; []" => "[n, ?, 3]; [n]";
        {ragged_value_types: dtypes(&[DType::I64]), dense_shapes: shapes(&[])} "[n]; [0]; [0]; [0]; [1]" => "[?]; [n+1]";
        {sparse_types: dtypes(&[DType::I64]), dense_shapes: shapes(&[&[4]])}
            "[]; ?; ?; ?; ?; ?" => "[?, 1]; [?]; [1]; [4]";
        {ragged_value_types: dtypes(&[DType::I64]), dense_shapes: shapes(&[])} "[]; [0]; [0]; [0]; [1]" => "[?]; [0]";
        {sparse_types: dtypes(&[DType::I64]), dense_shapes: shapes(&[])} "?; ?; ?; ?; ?" => "[?, ?]; [?]; [?]";
        {dense_shapes: shapes(&[&[4]])} "[n]; ?; ?; [2]; ?; ?" => "error the numbers of keys and of features must agree, got 2 and 1";
        {dense_shapes: shapes(&[&[4, -1]])} "[n]; ?; ?; ?; ?; ?" => "error must have known sizes except the first";
        {dense_shapes: shapes(&[])} "[n]; ?; ?; ?; ?; ?" => "error dense_shapes must have a shape for each of 1 dense feature, got 0";
    }
    shape_table! { by_keys: parse_examples_by_keys, ["serialized", "names", "operands.."];
        {Nsparse: 1, Ndense: 1, dense_shapes: shapes(&[&[2]])} "[n]; [0]; []; []; []" => "[?, 2]; [?]; [2]; [n, 2]";
        {Nsparse: 2, Ndense: i64::MAX, dense_shapes: shapes(&[])} "[n]; [0]" => "error the op must have";
        {Nsparse: 1, Ndense: 0, dense_shapes: shapes(&[])} "[n]; [0]; [1]" => "error(3 outputs) operand 2 must have rank 0";
    }
    shape_table! { single: parse_single_example, ["serialized", "dense_defaults.."];
        {sparse_types: dtypes(&[DType::F32]), dense_shapes: shapes(&[&[-1]])} "[]; []" => "[?, 1]; [?]; [1]; [?]";
        {dense_shapes: shapes(&[])} "[n]" => "error(0 outputs) serialized must have rank 0";
    }
}
