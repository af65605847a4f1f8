//! The recorded cases of means that are broadcast, functions of rows, embeddings and lists.

use serde_json::Value as Json;
use shapeflow::{AnyValue, Axes, DType, RaggedItem, RaggedTensor, RaggedValue, Result, Tensor};

/// Applies the op of a case to data.
pub fn on_data(op: &str, x: &RaggedTensor) -> Option<Result<RaggedItem>> {
    let nested = || RaggedTensor::from_nested(x.to_nested::<f64>()?);
    (op == "constant").then(|| nested().map(RaggedItem::Ragged))
}

/// Applies the op of a case to a value of a graph.
pub fn in_graph<'g>(op: &str, arguments: &[Json], x: RaggedValue<'g>) -> Option<Result<AnyValue<'g>>> {
    let ints: Vec<i64> = arguments.iter().filter_map(Json::as_i64).collect();
    let ragged = |value: Result<RaggedValue<'g>>| value.map(AnyValue::Ragged);
    let dense = |value: Result<shapeflow::Value<'g>>| value.map(AnyValue::Dense);
    Some(match op {
        "centered" => x.reduce_mean(Axes::of(&ints[..]).keep_dims()).and_then(|mean| {
            Ok(match mean {
                AnyValue::Dense(mean) => (x - mean).ok()?.into(),
                AnyValue::Ragged(mean) => (x - mean).ok()?.into(),
            })
        }),
        "beside_axis" => {
            let sizes: Vec<usize> = ints.iter().map(|size| *size as usize).collect();
            let numbers = (0..sizes.iter().product()).map(|number: usize| number as f64).collect();
            ragged((x + x.graph().constant(Tensor::from_vec(&sizes, numbers).unwrap()).unwrap()).ok())
        }
        "bitcast" => ragged(x.bitcast(DType::I64)),
        "map_sums" => dense(x.map(|row| match row {
            AnyValue::Dense(row) => row.reduce_sum(Axes::all()),
            AnyValue::Ragged(row) => row.reduce_sum(..)?.dense(),
        })),
        "map_reverse" => ragged(x.map_rows(|row| row.dense()?.reverse(0))),
        "partition" => {
            let parts = x.graph().constant(&ints[1..]).and_then(|ids| ids.cast(DType::I32));
            parts.and_then(|ids| Ok(x.dynamic_partition(ids, 3)?[ints[0] as usize]))
        }
        "fill_empty_rows" => x.fill_empty_rows(ints[0]).map(|(filled, empty)| match ints[1] {
            0 => AnyValue::Ragged(filled),
            _ => AnyValue::Dense(empty),
        }),
        "embed_sum" | "embed_mean" | "embed_sqrtn" => embedding(op, ints[0] == 1, x),
        _ => return None,
    })
}

/// Combines the rows of a table that the elements of each row of `x` name. Empty rows are left out.
fn embedding<'g>(op: &str, is_weighted: bool, x: RaggedValue<'g>) -> Result<AnyValue<'g>> {
    let x = x.boolean_mask(x.row_lengths()?.greater(0)?)?;
    let table = Tensor::from_vec(&[10, 2], (0..20).map(|number| f64::from(number) / 4.0).collect())?;
    let rows = x.graph().constant(table)?.gather_ragged(x.abs()?.cast(DType::I64)?, 0)?;
    let weights = if is_weighted { (x.abs()? + 1.0).ok()? } else { x.ones_like()? }.expand_dims(-1)?;
    let sum = (rows * weights).ok()?.reduce_sum(1)?.dense()?;
    Ok(AnyValue::Dense(match op {
        "embed_sum" => sum,
        "embed_mean" => (sum / weights.reduce_sum(1)?.dense()?).ok()?,
        _ => (sum / weights.square()?.reduce_sum(1)?.dense()?.sqrt()?).ok()?,
    }))
}
