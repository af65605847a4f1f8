//! The recorded cases of constructors, of members, and of masks that have fewer axes than the values.

use serde_json::Value as Json;
use shapeflow::{AnyValue, DType, Dim, IntoDim, RaggedItem, RaggedTensor, RaggedValue, Result, Tensor};

use super::recorded::indices;

/// Returns flags of which every `step`-th one is false.
fn flags(count: usize, step: usize) -> Vec<bool> {
    (0..count).map(|i| i % step != 1).collect()
}

/// Applies the op of a case to data.
pub fn on_data(op: &str, arguments: &[Json], x: &RaggedTensor) -> Option<Result<RaggedItem>> {
    let ints: Vec<i64> = arguments.iter().filter_map(Json::as_i64).collect();
    let dense = |tensor: &Tensor| Ok(tensor.clone().into());
    let padded = || x.to_tensor();
    let ragged = |x: Result<RaggedTensor>| x.map(RaggedItem::Ragged);
    Some(match op {
        "rank" => dense(&Tensor::scalar(x.rank() as i32)),
        "sparse_indices" => x.to_sparse().map(|sparse| sparse.indices.into()),
        "sparse_shape" => x.to_sparse().map(|sparse| sparse.dense_shape.into()),
        "from_sparse" => ragged(x.to_sparse().and_then(|sparse| RaggedTensor::from_sparse(&sparse))),
        "row_starts" => dense(x.row_starts()),
        "row_limits" => dense(x.row_limits()),
        "value_rowids" => dense(x.value_rowids()),
        "bounding_shape_along" => {
            x.bounding_shape_along(ints[0]).map(|size| Tensor::scalar(size as i64).into())
        }
        "from_uniform" => {
            let nrows = arguments[1].as_u64().map(|rows| rows as usize);
            ragged(RaggedTensor::from_uniform_row_length(x.clone(), ints[0] as usize, nrows))
        }
        "from_tensor" => {
            ragged(padded().and_then(|dense| RaggedTensor::from_tensor(&dense, ints[0] as usize)))
        }
        "from_tensor_nested" => ragged(padded().and_then(|dense| {
            let lengths: Vec<Tensor> = x.nested_row_lengths().into_iter().cloned().collect();
            RaggedTensor::from_tensor_nested_lengths(&dense, &lengths)
        })),
        "from_tensor_inner_lengths" => ragged(padded().and_then(|dense| {
            let &[rows, width, ref inner @ ..] = dense.sizes() else { panic!("the rank is more than 2") };
            let flat = dense.reshape(&[&[rows * width], inner].concat())?;
            let cut = RaggedTensor::from_tensor_lengths(&flat, ints)?;
            RaggedTensor::from_uniform_row_length(cut, width, Some(rows))
        })),
        _ => return None,
    })
}

/// Applies the op of a case to a value of a graph.
pub fn in_graph<'g>(
    op: &str,
    arguments: &[Json],
    x: RaggedValue<'g>,
    data: &RaggedTensor,
) -> Option<Result<AnyValue<'g>>> {
    let ints: Vec<i64> = arguments.iter().filter_map(Json::as_i64).collect();
    let graph = x.graph();
    let constant = |sizes: &[usize], step: usize| {
        let flags = flags(sizes.iter().product(), step);
        graph.constant(Tensor::from_vec(sizes, flags).unwrap()).unwrap()
    };
    let padded = || x.to_tensor();
    let ragged = |value: Result<RaggedValue<'g>>| value.map(AnyValue::Ragged);
    let dense = |value: Result<shapeflow::Value<'g>>| value.map(AnyValue::Dense);
    Some(match op {
        "row_starts" => dense(x.row_starts()),
        "row_limits" => dense(x.row_limits()),
        "value_rowids" => dense(x.value_rowids()),
        "bounding_shape_along" => return None,
        "mask_rows" => ragged(x.boolean_mask(constant(&[data.nrows()], 3))),
        "mask_outer" => {
            let partitions = &data.partitions()[..ints[0] as usize];
            let splits: Vec<Tensor> = partitions.iter().map(|rows| rows.row_splits().clone()).collect();
            let count = partitions.last().unwrap().nvals();
            let mask = RaggedTensor::from_nested_row_splits(flags(count, 2), &splits).unwrap();
            ragged(x.boolean_mask(graph.ragged_constant(&mask).unwrap()))
        }
        "mask_dense" => ragged(x.boolean_mask(constant(&[ints[0] as usize, ints[1] as usize], 3))),
        "mask_inner" => {
            let mask = x.with_flat_values(constant(&data.flat_values().sizes()[..2], 3)).unwrap();
            ragged(x.boolean_mask(mask))
        }
        "from_uniform" => {
            let nrows = arguments[1].as_i64().map(Dim::known);
            ragged(RaggedValue::from_uniform_row_length(x, ints[0], nrows))
        }
        "from_tensor" => ragged(padded().and_then(|dense| RaggedValue::from_tensor(dense, ints[0] as usize))),
        "from_tensor_nested" => ragged(
            padded()
                .and_then(|dense| RaggedValue::from_tensor_nested_lengths(dense, &x.nested_row_lengths()?)),
        ),
        "from_tensor_inner_lengths" => ragged(padded().and_then(|dense| {
            let shape = dense.shape();
            let [rows, width, inner @ ..] = shape.dims().unwrap() else { panic!("the rank is more than 2") };
            let flat = dense.reshape([&[rows.clone() * width.clone()], inner].concat())?;
            let lengths = graph.constant(indices(arguments))?.cast(DType::I32)?;
            let cut = RaggedValue::from_tensor_lengths(flat, lengths)?;
            RaggedValue::from_uniform_row_length(cut, width.into_dim(), Some(rows.clone()))
        })),
        _ => return None,
    })
}
