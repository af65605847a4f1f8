//! Parsers of serialized `SequenceExample` messages. A message holds a context (named lists of values) and feature
//! lists (named lists of rows of values).

use super::super::sparse::set_sparse_rows;
use crate::error::bail;
use crate::{Attr, Dim, InferenceContext, Result, TensorShape, counted};

/// The number of features of each kind in the context or in the feature lists of the messages.
struct FeatureListCounts {
    sparse: usize,
    dense: usize,
    ragged: usize,
}

/// `serialized[n], debug_name[m]`, then six lists of keys: of the sparse, dense and ragged features of the context, and
/// of the sparse, dense and ragged feature lists. Then
/// `feature_list_dense_missing_assumed_empty[d], context_dense_defaults..`; `serialized` may be a scalar.
///
/// The first outputs are for the context: the indices, values and shapes of all sparse features, the dense features,
/// and the values and the row splits of the ragged features. The other outputs are for the feature lists: the indices,
/// values and shapes of the sparse lists, the dense lists and their lengths, and the values, the splits of the examples
/// and the splits of the rows of the ragged lists.
///
/// # Errors
/// `serialized` has more than one axis, or a list of keys provably differs in length from the attributes.
pub fn parse_sequence_examples(cx: &mut InferenceContext<'_>) -> Result<()> {
    let serialized = cx.with_rank_at_most(0, 1)?;
    let context = FeatureListCounts {
        sparse: list_len(cx, "context_sparse_types")?,
        dense: cx.len().saturating_sub(9),
        ragged: list_len(cx, "context_ragged_value_types")?,
    };
    let lists = FeatureListCounts {
        sparse: list_len(cx, "feature_list_sparse_types")?,
        dense: list_len(cx, "feature_list_dense_types")?,
        ragged: list_len(cx, "feature_list_ragged_value_types")?,
    };
    let keys =
        [context.sparse, context.dense, context.ragged, lists.sparse, lists.dense, lists.ragged, lists.dense];
    for (index, count) in (2..).zip(keys) {
        let [keys] = cx.axes::<1>(index)?;
        let count = Dim::known(i64::try_from(count).unwrap_or(i64::MAX));
        cx.agree("the numbers of keys and of features", &keys, &count)
            .map_err(|error| error.operand(index))?;
    }
    set_features(cx, &serialized, &context, &lists, true)
}

/// `serialized[n], debug_name[m], context_dense_defaults..`, where the keys are attributes. The outputs are the outputs
/// of [`parse_sequence_examples`] without ragged features.
///
/// # Errors
/// `serialized` is not a vector.
pub fn parse_sequence_examples_of_attrs(cx: &mut InferenceContext<'_>) -> Result<()> {
    let [examples] = cx.axes::<1>(0)?;
    let dense = cx.len().saturating_sub(2);
    let context = FeatureListCounts { sparse: list_len(cx, "context_sparse_types")?, dense, ragged: 0 };
    let lists = list_counts(cx)?;
    set_features(cx, &TensorShape::new([examples]), &context, &lists, true)
}

/// `serialized[], feature_list_dense_missing_assumed_empty[m]`, then a scalar key for each feature, a default for each
/// dense feature of the context, and `debug_name[]`: one example. The outputs are the outputs of
/// [`parse_sequence_examples`] without ragged features and without lengths.
///
/// # Errors
/// `serialized` or a key is not a scalar.
pub fn parse_single_sequence_example(cx: &mut InferenceContext<'_>) -> Result<()> {
    cx.scalar(0)?;
    cx.axes::<1>(1)?;
    let (sparse, lists) = (list_len(cx, "context_sparse_types")?, list_counts(cx)?);
    // Each dense feature of the context has two operands: a key and a default.
    let dense = cx.len().saturating_sub(3 + sparse + lists.sparse + lists.dense) / 2;
    let context = FeatureListCounts { sparse, dense, ragged: 0 };
    let keys = sparse + dense + lists.sparse + lists.dense;
    cx.takes(3 + keys + context.dense)?;
    for key in 0..keys {
        cx.scalar(2 + key)?;
    }
    set_features(cx, &TensorShape::scalar(), &context, &lists, false)
}

/// Returns the numbers of feature lists of an op without ragged features.
fn list_counts(cx: &InferenceContext<'_>) -> Result<FeatureListCounts> {
    Ok(FeatureListCounts {
        sparse: list_len(cx, "feature_list_sparse_types")?,
        dense: list_len(cx, "feature_list_dense_types")?,
        ragged: 0,
    })
}

/// Returns the length of a list of dtypes; 0 if the attribute is absent.
pub(super) fn list_len(cx: &InferenceContext<'_>, name: &str) -> Result<usize> {
    match cx.attr(name) {
        None => Ok(0),
        Some(Attr::DTypes(dtypes)) => Ok(dtypes.len()),
        // Nothing tells the kind of an empty list, so a reader may make it a list of integers.
        Some(Attr::Ints(none)) if none.is_empty() => Ok(0),
        Some(other) => bail!("{name} must be a list of dtypes, got {other}"),
    }
}

/// Returns the sizes of each entry of attribute `name`, a list of `count` shapes. If `may_vary`, the first size of an
/// entry may be -1; the size is then `None`.
///
/// # Errors
/// The list has another length, or another size is unknown.
pub(super) fn dense_shapes(
    cx: &InferenceContext<'_>,
    name: &str,
    count: usize,
    may_vary: bool,
) -> Result<Vec<Vec<Option<Dim>>>> {
    let shapes = match cx.attr(name) {
        Some(Attr::Shapes(shapes)) => shapes.to_vec(),
        _ => Vec::new(),
    };
    if shapes.len() != count {
        bail!(
            "{name} must have a shape for each of {count}, got {}",
            shapes.len(),
            count = counted(count, "dense feature")
        );
    }
    let sizes = |(entry, shape): (usize, &TensorShape)| {
        let known: Option<Vec<i64>> =
            shape.dims().and_then(|sizes| sizes.iter().map(Dim::as_known).collect());
        let first = usize::from(may_vary);
        let Some(known) = known.filter(|sizes| sizes.iter().skip(first).all(|size| *size >= 0)) else {
            let except = if may_vary { " except the first" } else { "" };
            bail!("entry {entry} of {name} must have known sizes{except}, got {shape}");
        };
        Ok(known.into_iter().map(|size| (size >= 0).then(|| Dim::known(size))).collect())
    };
    shapes.iter().enumerate().map(sizes).collect()
}

/// Sets the shapes of all outputs. `has_lengths` tells whether the dense feature lists have lengths.
fn set_features(
    cx: &mut InferenceContext<'_>,
    examples: &TensorShape,
    context: &FeatureListCounts,
    lists: &FeatureListCounts,
    has_lengths: bool,
) -> Result<()> {
    let first_list = 3 * context.sparse + context.dense + 2 * context.ragged;
    let lengths = if has_lengths { lists.dense } else { 0 };
    let outputs = first_list + 3 * lists.sparse + lists.dense + lengths + 3 * lists.ragged;
    if cx.outputs() != outputs {
        bail!("the features must have {outputs}, got {}", cx.outputs(), outputs = counted(outputs, "output"));
    }
    set_sparse(cx, examples, 0, context.sparse, 1);
    let mut next = 3 * context.sparse;
    for sizes in dense_shapes(cx, "context_dense_shapes", context.dense, false)? {
        cx.set_output(next, examples.concatenate(&TensorShape::new(sizes.into_iter().flatten())));
        next += 1;
    }
    for _ in 0..context.ragged {
        let (values, splits) = (cx.fresh(), splits(cx, examples)?);
        cx.set_output(next, TensorShape::new([values]));
        cx.set_output(next + context.ragged, splits);
        next += 1;
    }
    set_sparse(cx, examples, first_list, lists.sparse, 2);
    next = first_list + 3 * lists.sparse;
    for sizes in dense_shapes(cx, "feature_list_dense_shapes", lists.dense, false)? {
        let rows = cx.fresh();
        let row = TensorShape::new(std::iter::once(rows).chain(sizes.into_iter().flatten()));
        cx.set_output(next, examples.concatenate(&row));
        if has_lengths {
            cx.set_output(next + lists.dense, examples.clone());
        }
        next += 1;
    }
    next += lengths;
    for _ in 0..lists.ragged {
        let (values, outer, inner) = (cx.fresh(), splits(cx, examples)?, cx.fresh());
        cx.set_output(next, TensorShape::new([values]));
        cx.set_output(next + lists.ragged, outer);
        cx.set_output(next + 2 * lists.ragged, TensorShape::new([inner]));
        next += 1;
    }
    Ok(())
}

/// Sets the shapes of `count` sparse features from output `first` on. A feature has the axes of `examples` and `axes`
/// further axes.
fn set_sparse(
    cx: &mut InferenceContext<'_>,
    examples: &TensorShape,
    first: usize,
    count: usize,
    axes: usize,
) {
    for feature in first..first + count {
        let rank = match examples.rank() {
            Some(rank) => Dim::known(i64::try_from(rank + axes).unwrap_or(i64::MAX)),
            None => cx.fresh(),
        };
        set_sparse_rows(cx, [feature, feature + count, feature + 2 * count], &rank);
    }
}

/// Returns the shape of the splits of the examples. If there is one example, the output is a scalar without a meaning.
fn splits(cx: &mut InferenceContext<'_>, examples: &TensorShape) -> Result<TensorShape> {
    match examples.dims() {
        Some([]) => Ok(TensorShape::scalar()),
        Some([examples, ..]) => Ok(TensorShape::new([cx.add(examples, &Dim::known(1))?])),
        None => Ok(TensorShape::unranked()),
    }
}

#[cfg(test)]
mod tests {
    use super::{parse_sequence_examples, parse_sequence_examples_of_attrs, parse_single_sequence_example};
    use crate::DType;
    use crate::testing::{dtypes, shape_table, shapes};

    shape_table! { batch: parse_sequence_examples, ["serialized", "debug_name", "context_sparse_keys", "context_dense_keys",
            "context_ragged_keys", "feature_list_sparse_keys", "feature_list_dense_keys", "feature_list_ragged_keys",
            "feature_list_dense_missing_assumed_empty", "context_dense_defaults.."];
        {context_sparse_types: dtypes(&[DType::F32]), context_dense_shapes: shapes(&[&[2]])}
            "[n]; [0]; [1]; [1]; [0]; [0]; [0]; [0]; [0]; [2]" => "[?, 2]; [?]; [2]; [n, 2]";
        {feature_list_sparse_types: dtypes(&[DType::F32]), feature_list_dense_types: dtypes(&[DType::I64]), feature_list_dense_shapes: shapes(&[&[3]])}
            "[n]; [0]; [0]; [0]; [0]; [1]; [1]; [0]; [1]" => "[?, 3]; [?]; [3]; [n, ?, 3]; [n]";
        {context_ragged_value_types: dtypes(&[DType::F32]), feature_list_ragged_value_types: dtypes(&[DType::I64])}
            "[n]; ?; ?; ?; ?; ?; ?; ?; ?" => "[?]; [n+1]; [?]; [n+1]; [?]";
        {context_ragged_value_types: dtypes(&[DType::F32]), feature_list_sparse_types: dtypes(&[DType::F32]), feature_list_dense_types: dtypes(&[DType::I64]), feature_list_dense_shapes: shapes(&[&[]])}
            "[]; ?; ?; ?; ?; ?; ?; ?; ?" => "[?]; []; [?, 2]; [?]; [2]; [?]; []";
        {context_sparse_types: dtypes(&[DType::F32])}
            "[n]; [0]; [2]; [0]; [0]; [0]; [0]; [0]; [0]" => "error(3 outputs) the numbers of keys and of features must agree, got 2 and 1";
        {context_dense_shapes: shapes(&[&[-1]])}
            "[n]; ?; ?; ?; ?; ?; ?; ?; ?; []" => "error entry 0 of context_dense_shapes must have known sizes, got";
        {context_sparse_types: dtypes(&[DType::F32])} "[n, m]; ?; ?; ?; ?; ?; ?; ?; ?" => "error(3 outputs) serialized must have rank at most 1";
    }
    shape_table! { of_attrs: parse_sequence_examples_of_attrs, ["serialized", "debug_name", "context_dense_defaults.."];
        {context_dense_shapes: shapes(&[&[2]]), feature_list_sparse_types: dtypes(&[DType::F32])}
            "[n]; [0]; [2]" => "[n, 2]; [?, 3]; [?]; [3]";
        {context_sparse_types: dtypes(&[DType::F32])} "?; [0]" => "[?, 2]; [?]; [2]";
    }
    shape_table! { single: parse_single_sequence_example, ["serialized", "feature_list_dense_missing_assumed_empty", "operands..", "debug_name"];
        {context_sparse_types: dtypes(&[DType::F32]), context_dense_shapes: shapes(&[&[2]]), feature_list_dense_types: dtypes(&[DType::I64]), feature_list_dense_shapes: shapes(&[&[3]])}
            "[]; [0]; []; []; []; [2]; []" => "[?, 1]; [?]; [1]; [2]; [?, 3]";
        {context_sparse_types: dtypes(&[DType::F32])} "[n]; [0]; []; []" => "error(3 outputs) serialized must have rank 0";
    }
}
