//! Runs the ops of recorded cases: selections, splits, merges, matrix products, and reductions over segments.

use serde_json::Value as Json;
use shapeflow::{AnyValue, DType, RaggedTensor, RaggedValue, Result, Tensor};

use super::recorded::indices;

/// Returns lists of integers as a ragged constant.
fn ragged_ints<'g>(x: RaggedValue<'g>, json: &[Json]) -> RaggedValue<'g> {
    let ints = |json: &Json| json.as_array().unwrap().iter().map(|item| item.as_i64().unwrap()).collect();
    let rows: Vec<Vec<i64>> = json.iter().map(ints).collect();
    let rows = RaggedTensor::from_nested(rows).unwrap();
    x.graph().ragged_constant(&rows).unwrap()
}

/// Returns lists of lists of integers as a ragged constant.
fn deep_ints<'g>(x: RaggedValue<'g>, json: &[Json]) -> RaggedValue<'g> {
    let rows: Vec<Json> = json.iter().flat_map(|rows| rows.as_array().unwrap().clone()).collect();
    let lengths: Vec<i64> = json.iter().map(|rows| rows.as_array().unwrap().len() as i64).collect();
    let inner = ragged_ints(x, &rows);
    RaggedValue::from_row_lengths(inner, x.graph().constant(&lengths[..]).unwrap()).unwrap()
}

fn segment_ids<'g>(x: RaggedValue<'g>, ids: &[i64]) -> shapeflow::Value<'g> {
    x.graph().constant(ids).unwrap()
}

/// Multiplies matrices by their transposes. `arguments` holds the name of a dtype. For a complex product, it also holds
/// the part to return: `real`, or another name for the imaginary part.
fn product_of<'g>(arguments: &[Json], x: RaggedValue<'g>) -> Result<AnyValue<'g>> {
    let dtype = match arguments[0].as_str().unwrap() {
        "float32" | "complex64" => DType::F32,
        "float16" => DType::F16,
        "bfloat16" => DType::BF16,
        "int32" => DType::I32,
        "int64" => DType::I64,
        "complex128" => DType::F64,
        other => panic!("no dtype is named {other}"),
    };
    let part = arguments.get(1).map(|part| part.as_str().unwrap());
    let y = match part {
        None => (x * 2.0).ok()?.cast(dtype)?,
        Some(_) => x.cast(dtype)?.complex((x * -2.0).ok()?.cast(dtype)?)?,
    };
    let of_flat = |flat: shapeflow::Value<'g>| {
        let flat = match part {
            None => flat,
            Some("real") => flat.real()?,
            Some(_) => flat.imag()?,
        };
        flat.cast(DType::F64)
    };
    Ok(match y.matmul_transposed(y, false, true)? {
        AnyValue::Dense(product) => of_flat(product)?.into(),
        AnyValue::Ragged(product) => product.map_flat_values(of_flat)?.into(),
    })
}

/// Applies the op of a case to a value of a graph.
pub fn in_graph<'g>(op: &str, arguments: &[Json], x: RaggedValue<'g>) -> Option<Result<AnyValue<'g>>> {
    let ints: Vec<i64> = arguments.iter().filter_map(Json::as_i64).collect();
    let graph = x.graph();
    let ragged = |value: Result<RaggedValue<'g>>| value.map(AnyValue::Ragged);
    let dense = |value: Result<shapeflow::Value<'g>>| value.map(AnyValue::Dense);
    Some(match op {
        "gather_nd" => x.gather_nd(graph.constant(indices(arguments)).unwrap()),
        "gather_ragged" => x.gather(ragged_ints(x, arguments), 0),
        "batch_gather" => x.gather_batched(ragged_ints(x, arguments), 1, 1),
        "squeeze" => x.squeeze(&ints),
        "expand_dims_squeeze" => {
            let expanded = ints.iter().try_fold(x, |x, axis| x.expand_dims(*axis));
            expanded.and_then(|x| x.squeeze(&ints))
        }
        "tile" => {
            let mut multiples = vec![1; x.rank().unwrap()];
            multiples[ints[1] as usize] = ints[0];
            ragged(x.tile(&multiples))
        }
        "tile_all" => ragged(x.tile(&ints)),
        "bounding_shape_along" => dense(x.bounding_shape_along(ints[0])),
        "softmax" => ragged(x.softmax(ints[0])),
        "cumsum" => ragged(x.cumsum_with(ints[0], ints[1] == 1, ints[2] == 1)),
        "one_hot" => {
            let numbers = x.abs().and_then(|x| x.cast(DType::I32));
            ragged(numbers.and_then(|x| x.one_hot(ints[0], 2.0, -1.0, ints[1])))
        }
        "gather_dense" => {
            let table = graph.constant(Tensor::from_vec(&[10, 2], (0..20).map(f64::from).collect()).unwrap());
            let numbers = x.abs().and_then(|x| x.cast(DType::I32));
            ragged(numbers.and_then(|numbers| table?.gather_ragged(numbers, 0)))
        }
        "gather_axis" => {
            let indices = graph.constant(indices(arguments[1].as_array().unwrap())).unwrap();
            x.gather(indices, ints[0])
        }
        "gather_column" => x.gather_batched(graph.constant(indices(arguments)).unwrap(), 1, 1),
        "gather_rows" => {
            let indices = graph.constant(indices(arguments[1].as_array().unwrap())).unwrap();
            x.gather_batched(indices, ints[0], 1)
        }
        "matmul_of_dtype" => product_of(arguments, x),
        "matmul_weights" => {
            let width = x.flat_values().shape().dims().unwrap()[1].as_known().unwrap();
            let weights = (0..width * 3).map(|number| number as f64).collect();
            x.matmul(graph.constant(Tensor::from_vec(&[width as usize, 3], weights).unwrap()).unwrap())
        }
        "size" => dense(x.size().and_then(|size| size.cast(DType::I64))),
        "segment_ids" => {
            let count = x.value_rowids().and_then(|ids| ids.dim(0)).unwrap();
            dense(x.row_splits().row_splits_to_segment_ids(count))
        }
        "splits_of_ids" => dense(x.value_rowids().and_then(|ids| ids.segment_ids_to_row_splits(x.nrows()))),
        "sparse_indices" => dense(x.to_sparse().map(|sparse| sparse[0])),
        "sparse_shape" => dense(x.to_sparse().map(|sparse| sparse[2])),
        "from_sparse" => {
            let sparse = x.to_sparse();
            ragged(
                sparse.and_then(|[indices, values, shape]| RaggedValue::from_sparse(indices, values, shape)),
            )
        }
        "range" => {
            let limits = x.row_limits().and_then(|limits| (limits * 2 - 3).ok()).unwrap();
            ragged(RaggedValue::range(x.row_starts().unwrap(), limits, graph.constant(ints[0]).unwrap()))
        }
        "segment_sum" => x.unsorted_segment_sum(segment_ids(x, &ints), 4),
        "segment_prod" => x.unsorted_segment_prod(segment_ids(x, &ints), 4),
        "segment_max" => x.unsorted_segment_max(segment_ids(x, &ints), 4),
        "segment_min" => x.unsorted_segment_min(segment_ids(x, &ints), 4),
        "segment_mean" => x.unsorted_segment_mean(segment_ids(x, &ints), 4),
        "segment_sqrt_n" => x.unsorted_segment_sqrt_n(segment_ids(x, &ints), 4),
        "matmul_dense" => {
            let count = x.row_lengths().unwrap().shape().dims().unwrap()[0].as_known().unwrap() as usize;
            let sizes = [count, x.shape().dims().unwrap()[2].as_known().unwrap() as usize, 2];
            let elements = (0..sizes.iter().product::<usize>()).map(|place| place as f64).collect();
            x.matmul(graph.constant(Tensor::from_vec(&sizes, elements).unwrap()).unwrap())
        }
        "matmul_rows" => x.matmul_transposed(x, false, true),
        "matmul_columns" => x.matmul_transposed(x, true, false),
        "matmul_scores" => x.matmul_transposed(x, false, true).and_then(|scores| scores.ragged()?.matmul(x)),
        "gather_deep" => {
            let indices = deep_ints(x, arguments[0].as_array().unwrap());
            x.gather_batched(indices, 2, 2)
        }
        "split" => {
            let (axis, part) = (arguments[1].as_i64().unwrap(), arguments[2].as_u64().unwrap() as usize);
            let parts = match &arguments[0] {
                Json::Array(sizes) => {
                    let sizes: Vec<i64> = sizes.iter().map(|size| size.as_i64().unwrap()).collect();
                    x.split_sizes(sizes, axis)
                }
                num => x.split_n(num.as_i64().unwrap(), axis),
            };
            ragged(parts.map(|parts| parts[part]))
        }
        "where" => dense(x.greater(0.0).and_then(RaggedValue::where_indices)),
        "select" => ragged(x.greater(0.0).and_then(|flags| flags.select(x, x * 10.0))),
        "select_scalar" => ragged(x.greater(0.0).and_then(|flags| flags.select(x, 5.0))),
        "select_rows" => {
            let flags: Vec<bool> = arguments.iter().map(|flag| flag.as_bool().unwrap()).collect();
            ragged(x.select_rows(graph.constant(Tensor::from(flags)).unwrap(), x * 10.0))
        }
        "stack_partitions" => {
            let ids = graph.constant(indices(arguments[0].as_array().unwrap())).unwrap();
            let count = arguments[1].as_i64().unwrap();
            ragged(RaggedValue::stack_dynamic_partitions(x, ids, count))
        }
        "stack_ragged" => {
            let ids = x.map_flat_values(|flat| graph.range(0i64, flat.dim(0)?, 1i64)?.floormod(3));
            ragged(ids.and_then(|ids| RaggedValue::stack_dynamic_partitions(x, ids, ints[0])))
        }
        "bincount" => dense(x.abs().and_then(|x| x.cast(DType::I64)?.bincount(ints[0], false))),
        "reshape" => dense(x.reshape(&ints[..])),
        "from_tensor_lengths" => ragged(
            x.to_tensor()
                .and_then(|dense| RaggedValue::from_tensor_lengths(dense, graph.constant(&ints[..])?)),
        ),
        "from_tensor_padding" => {
            ragged(x.to_tensor().and_then(|dense| RaggedValue::from_tensor_padding(dense, 0.0)))
        }
        _ => return None,
    })
}
