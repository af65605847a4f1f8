//! Ragged tensors give the results recorded from TensorFlow in `tests/data/ragged.jsonl`.

use std::collections::BTreeMap;

use serde_json::Value as Json;
use shapeflow::{
    AnyValue, Axes, DType, Graph, Nested, Position, RaggedItem, RaggedTensor, RaggedValue, Result, SliceItem,
    Tensor,
};

/// A case: an op, its arguments, the expected result, and the recorded line.
struct Case {
    op: String,
    arguments: Vec<Json>,
    expected: Json,
    line: String,
}

/// Reads the inputs, each with its cases.
fn recorded() -> Vec<(RaggedTensor, Vec<Case>)> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/ragged.jsonl");
    let text = std::fs::read_to_string(path).unwrap();
    let mut inputs: Vec<(RaggedTensor, Vec<Case>)> = Vec::new();
    for line in text.lines() {
        let json: Json = serde_json::from_str(line).unwrap();
        match json.as_array() {
            None => inputs.push((input(&json), Vec::new())),
            Some(case) => inputs[case[2].as_u64().unwrap() as usize].1.push(Case {
                op: case[0].as_str().unwrap().to_string(),
                arguments: case[1].as_array().unwrap().clone(),
                expected: case[3].clone(),
                line: line.to_string(),
            }),
        }
    }
    inputs
}

fn ints(json: &Json) -> Vec<i64> {
    json.as_array().unwrap().iter().map(|item| item.as_i64().unwrap()).collect()
}

fn input(json: &Json) -> RaggedTensor {
    let sizes: Vec<usize> = ints(&json["sizes"]).into_iter().map(|size| size as usize).collect();
    let flat: Vec<f64> = json["flat"].as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect();
    let mut values = RaggedItem::Dense(Tensor::from_vec(&sizes, flat).unwrap());
    let partitions = json["splits"].as_array().unwrap().iter().zip(json["uniform"].as_array().unwrap());
    for (splits, uniform) in partitions.rev() {
        let splits = ints(splits);
        values = RaggedItem::Ragged(match uniform.as_u64() {
            Some(length) => {
                let rows = Some(splits.len() - 1);
                RaggedTensor::from_uniform_row_length(values, length as usize, rows).unwrap()
            }
            None => RaggedTensor::from_row_splits(values, splits).unwrap(),
        });
    }
    values.ragged().unwrap()
}

impl Case {
    fn int(&self, index: usize) -> i64 {
        self.arguments[index].as_i64().unwrap()
    }

    /// Returns the default value and the sizes of `to_tensor`.
    fn padding(&self, rank: usize) -> (f64, Vec<Option<usize>>) {
        let default = self.arguments.first().map_or(0.0, |default| default.as_f64().unwrap());
        let mut sizes: Vec<Option<usize>> =
            self.arguments.iter().skip(1).map(|size| size.as_u64().map(|size| size as usize)).collect();
        if !sizes.is_empty() {
            sizes.resize(rank, None);
        }
        (default, sizes)
    }

    fn items(&self) -> Vec<SliceItem<'static>> {
        let item = |entry: &Json| match entry {
            Json::String(_) => SliceItem::NewAxis,
            Json::Array(range) => SliceItem::Range(
                range[0].as_i64().map(Position::from),
                range[1].as_i64().map(Position::from),
                range[2].as_i64().unwrap_or(1),
            ),
            position => SliceItem::at(position.as_i64().unwrap()),
        };
        self.arguments.iter().map(item).collect()
    }

    /// Applies the op to data; `None` for an op of a graph.
    fn on_data(&self, x: &RaggedTensor) -> Option<Result<RaggedItem>> {
        Some(match self.op.as_str() {
            "merge_dims" => x.merge_dims(self.int(0), self.int(1)),
            "row_lengths" => x.row_lengths_along(self.int(0)),
            "bounding_shape" => {
                Ok(Tensor::from(x.bounding_shape().iter().map(|&size| size as i64).collect::<Vec<_>>())
                    .into())
            }
            "to_tensor" => {
                let (default, sizes) = self.padding(x.rank());
                x.to_tensor_with(&Tensor::scalar(default), &sizes).map(RaggedItem::Dense)
            }
            "slice" => x.slice_with(&self.items()),
            op => {
                let constructed = super::constructions::on_data(op, &self.arguments, x);
                return constructed.or_else(|| super::combined::on_data(op, x));
            }
        })
    }

    /// Applies the op to a value of a graph; `None` for an op that only data have.
    fn in_graph<'g>(&self, x: RaggedValue<'g>, data: &RaggedTensor) -> Option<Result<AnyValue<'g>>> {
        let axes: Vec<i64> = self.arguments.iter().filter_map(Json::as_i64).collect();
        let axes = &axes[..];
        let ragged = |value: Result<RaggedValue<'g>>| value.map(AnyValue::Ragged);
        Some(match self.op.as_str() {
            "reduce_sum" => x.reduce_sum(axes),
            "reduce_prod" => x.reduce_prod(axes),
            "reduce_max" => x.reduce_max(axes),
            "reduce_min" => x.reduce_min(axes),
            "reduce_mean" => x.reduce_mean(axes),
            "reduce_variance" => x.reduce_variance(axes),
            "reduce_std" => x.reduce_std(axes),
            "keep_sum" => x.reduce_sum(Axes::of(axes).keep_dims()),
            "keep_variance" => x.reduce_variance(Axes::of(axes).keep_dims()),
            "mean_of_ints" => x.cast(DType::I32).and_then(|x| x.reduce_mean(axes)),
            "reduce_any" => x.greater(0.0).and_then(|x| x.reduce_any(axes)),
            "reduce_all" => x.greater(0.0).and_then(|x| x.reduce_all(axes)),
            "concat" => ragged(RaggedValue::concat(&[x, x * 10.0], axes[0])),
            "stack" => ragged(RaggedValue::stack(&[x, x * 10.0], axes[0])),
            "reverse" => ragged(x.reverse(axes)),
            "expand_dims" => ragged(x.expand_dims(axes[0])),
            "to_tensor" => {
                let (default, sizes) = self.padding(data.rank());
                let sizes: Vec<i64> = sizes.iter().map(|size| size.map_or(-1, |size| size as i64)).collect();
                x.to_tensor_with(default, &sizes).map(AnyValue::Dense)
            }
            "square" => ragged(x.square()),
            "neg" => ragged(x.neg()),
            "abs" => ragged(x.abs()),
            "floor" => ragged(x.floor()),
            "add" => ragged((x + x).ok()),
            "scale" => ragged((x * 3.0 - 1.0).ok()),
            "by_row" | "broadcast_to" if axes.is_empty() => {
                let rows: Vec<f64> = (0..data.nrows()).map(|row| row as f64).collect();
                let sizes = [vec![rows.len()], vec![1; data.rank() - 1]].concat();
                let numbers = Tensor::from_vec(&sizes, rows).unwrap();
                ragged(if self.op == "by_row" { x.add(&numbers) } else { x.broadcast_to_rows(&numbers) })
            }
            "broadcast_to" => ragged(x.broadcast_to_rows(axes[0] as f64)),
            "mask" => {
                let sums = (1..data.flat_values().sizes().len())
                    .try_fold(x.flat_values(), |flat, _| flat.reduce_sum(-1));
                let mask = sums.and_then(|sums| x.with_flat_values(sums.greater(0.0)?));
                ragged(mask.and_then(|mask| x.boolean_mask(mask)))
            }
            "gather" => {
                let indices = indices(&self.arguments);
                x.gather(x.graph().constant(&indices).unwrap(), 0)
            }
            "slice" => x.slice_with(&self.items()),
            "merge_dims" => x.merge_dims(axes[0], axes[1]),
            "bounding_shape" => x.bounding_shape().map(AnyValue::Dense),
            "row_lengths" if axes[0] <= x.ragged_rank() as i64 => x.row_lengths_along(axes[0]),
            op => {
                let constructed = super::constructions::in_graph(op, &self.arguments, x, data);
                return constructed
                    .or_else(|| super::operands::in_graph(op, &self.arguments, x))
                    .or_else(|| super::selections::in_graph(op, &self.arguments, x))
                    .or_else(|| super::combined::in_graph(op, &self.arguments, x))
                    .or_else(|| super::dtypes::in_graph(op, &self.arguments, x));
            }
        })
    }
}

/// Returns integers as a tensor of the shape of their lists.
pub fn indices(json: &[Json]) -> Tensor {
    fn walk(json: &[Json], depth: usize, sizes: &mut Vec<usize>, elements: &mut Vec<i64>) {
        if sizes.len() == depth {
            sizes.push(json.len());
        }
        for item in json {
            match item.as_array() {
                Some(items) => walk(items, depth + 1, sizes, elements),
                None => elements.push(item.as_i64().unwrap()),
            }
        }
    }
    let (mut sizes, mut elements) = (Vec::new(), Vec::new());
    walk(json, 0, &mut sizes, &mut elements);
    Tensor::from_vec(&sizes, elements).unwrap()
}

/// Returns nested lists of numbers; a flag is 0 or 1.
fn numbers(item: &RaggedItem, dtype: DType) -> Nested<f64> {
    fn map<T: Copy>(nested: &Nested<T>, f: &dyn Fn(T) -> f64) -> Nested<f64> {
        match nested {
            Nested::Item(item) => Nested::Item(f(*item)),
            Nested::List(items) => Nested::List(items.iter().map(|item| map(item, f)).collect()),
        }
    }
    match dtype {
        DType::Bool => map(&item.to_nested::<bool>().unwrap(), &|x| f64::from(u8::from(x))),
        DType::I32 => map(&item.to_nested::<i32>().unwrap(), &f64::from),
        DType::I64 => map(&item.to_nested::<i64>().unwrap(), &|x| x as f64),
        _ => item.to_nested::<f64>().unwrap(),
    }
}

/// Returns by how much a result of an op may differ from the recorded one. The inputs are halves of small integers, so
/// that sums and products are exact. TensorFlow computes a variance as a difference of squares, and a standard
/// deviation as its root.
fn slack(case: &Case) -> f64 {
    match case.op.as_str() {
        "of_dtype" => super::dtypes::slack(&case.arguments),
        "reduce_variance" | "keep_variance" => 1e-12,
        "reduce_std" => 1e-6,
        "softmax" | "embed_mean" | "embed_sqrtn" => 1e-14,
        _ => 0.0,
    }
}

fn is_close(got: &Nested<f64>, expected: &Json, slack: f64) -> bool {
    match (got, expected) {
        (Nested::List(got), Json::Array(expected)) => {
            got.len() == expected.len()
                && got.iter().zip(expected).all(|(got, expected)| is_close(got, expected, slack))
        }
        (Nested::Item(got), expected) => {
            let expected = match expected {
                Json::Bool(flag) => f64::from(u8::from(*flag)),
                Json::String(text) => text.parse().unwrap(),
                number => number.as_f64().unwrap(),
            };
            (got - expected).abs() <= slack || *got == expected || (got.is_nan() && expected.is_nan())
        }
        _ => false,
    }
}

/// Returns the sizes of the axes; `None` for a ragged axis.
fn sizes(item: &RaggedItem) -> Vec<Option<i64>> {
    match item {
        RaggedItem::Dense(tensor) => tensor.sizes().iter().map(|size| Some(*size as i64)).collect(),
        RaggedItem::Ragged(ragged) => {
            ragged.shape().dims().unwrap().iter().map(|dim| dim.as_known()).collect()
        }
    }
}

/// Returns the recorded dtype; a dtype that is not recorded is f64.
fn recorded_dtype(case: &Case) -> DType {
    case.expected.get("dtype").map_or(DType::F64, |name| super::dtypes::dtype_named(name.as_str().unwrap()))
}

fn dtype(item: &RaggedItem) -> DType {
    match item {
        RaggedItem::Dense(tensor) => tensor.dtype(),
        RaggedItem::Ragged(ragged) => ragged.dtype(),
    }
}

/// Returns how a result differs from the recorded result; `None` if they agree.
fn difference(got: Result<RaggedItem>, case: &Case) -> Option<String> {
    let Some(expected) = case.expected.get("list") else {
        return got.ok().map(|got| format!("got {got}\n  {}", case.line));
    };
    let got = match got {
        Ok(got) => got,
        Err(error) => return Some(format!("{}\n  {}", error.message(), case.line)),
    };
    let shape: Vec<Option<i64>> =
        case.expected["shape"].as_array().unwrap().iter().map(Json::as_i64).collect();
    if !is_close(&numbers(&got, dtype(&got)), expected, slack(case)) {
        return Some(format!("got {got}\n  {}", case.line));
    }
    // TensorFlow forgets that some axes are uniform. A size that TensorFlow knows must equal our size.
    let sizes = sizes(&got);
    let agrees = |(got, recorded): (&Option<i64>, &Option<i64>)| recorded.is_none() || got == recorded;
    if sizes.len() != shape.len() || !sizes.iter().zip(&shape).all(agrees) {
        return Some(format!("got the shape {sizes:?} of {got}\n  {}", case.line));
    }
    (dtype(&got) != recorded_dtype(case)).then(|| format!("got the dtype {}\n  {}", dtype(&got), case.line))
}

/// Returns whether our result differs from TensorFlow's on purpose:
/// - an index after a new axis selects the one row of the new axis; TensorFlow's Python code raises AttributeError;
/// - a uniform axis without rows keeps its size in `bounding_shape`, `to_sparse` and `to_tensor`; TensorFlow computes
///   the size 0 and then refuses this size, because the static shape has another size; TensorFlow also refuses sums
///   along axis 0 of such a tensor;
/// - a negative axis of `bounding_shape` counts from the end; TensorFlow refuses it;
/// - a scalar beside rows with inner axes is broadcast; TensorFlow refuses it;
/// - a uniform axis without rows whose size is not 1 is not squeezed; TensorFlow squeezes it, because no row has
///   another length than 1;
/// - a softmax may be along an axis before the last partitioned axis; TensorFlow needs rows of one length;
/// - a product of no matrices, or of an empty matrix whose columns are a uniform partition, is empty; TensorFlow
///   refuses these products;
/// - a reduced axis that is kept has size 1; TensorFlow gives the axis size 0 if a reduced row is empty;
/// - `x - mean` repeats a mean of one kept axis along this axis; TensorFlow requires rows of equal lengths, and refuses
///   others, unless the axis is the last partitioned one.
fn differs_on_purpose(case: &Case, x: &RaggedTensor) -> bool {
    let has_empty_uniform = x
        .partitions()
        .iter()
        .any(|partition| partition.nrows() == 0 && partition.uniform_row_length().is_some());
    match case.op.as_str() {
        "slice" => case.expected["error"] == "AttributeError",
        "cumsum" => has_empty_uniform && case.expected.get("error").is_some(),
        "matmul_columns" | "matmul_scores" => x.nrows() == 0,
        "matmul_of_dtype" => case.expected["error"] == "ValueError",
        "softmax" => {
            let axis = case.arguments[0].as_i64().unwrap();
            axis >= 0 && axis < x.ragged_rank() as i64
        }
        "select_scalar" => case.expected["error"] == "InvalidArgumentError",
        "bounding_shape" | "sparse_shape" | "to_tensor" | "squeeze" => has_empty_uniform,
        "bounding_shape_along" => has_empty_uniform || case.int(0) < 0,
        "centered" => case.expected.get("error").is_some(),
        "keep_sum" | "keep_variance" => {
            case.arguments.iter().any(|axis| has_empty_list(&case.expected["list"], axis.as_u64().unwrap()))
        }
        _ => false,
    }
}

/// Returns whether a list along an axis of nested lists is empty.
fn has_empty_list(nested: &Json, axis: u64) -> bool {
    let items = nested.as_array().unwrap();
    if axis == 0 { items.is_empty() } else { items.iter().any(|item| has_empty_list(item, axis - 1)) }
}

fn run_together(g: &Graph, outputs: &[AnyValue<'_>]) -> Result<Vec<RaggedItem>> {
    let results = g.compile(outputs)?;
    let results = results.run_named(&[])?;
    Ok(results.items()?.into_iter().map(|(_, item)| item).collect())
}

fn record(wrong: &mut BTreeMap<String, Vec<String>>, case: &Case, difference: Option<String>) {
    if let Some(difference) = difference {
        wrong.entry(case.op.clone()).or_default().push(difference);
    }
}

/// The test fails if a case differs, or if no case of an op differs that [`differs_on_purpose`] names.
/// The cases that share a graph. What an op checks while it is added takes longer in a larger graph.
const GRAPH_CASES: usize = 50;

#[test]
fn ragged_ops_give_the_recorded_results() {
    let (mut wrong, mut count) = (BTreeMap::<String, Vec<String>>::new(), 0);
    // For each op with cases that differ on purpose, whether one of them differs.
    let mut differing = BTreeMap::<String, bool>::new();
    let inputs = recorded();
    for (x, cases) in
        inputs.iter().flat_map(|(x, cases)| cases.chunks(GRAPH_CASES).map(move |part| (x, part)))
    {
        let g = Graph::new();
        let value = g.ragged_constant(x).unwrap();
        let mut outputs = Vec::new();
        let mut compiled: Vec<&Case> = Vec::new();
        for case in cases {
            let on_data = case.on_data(x);
            let in_graph = case.in_graph(value, x);
            assert!(on_data.is_some() || in_graph.is_some(), "{}", case.line);
            if differs_on_purpose(case, x) {
                let in_graph = in_graph.map(|value| run_together(&g, &[value?]).map(|mut all| all.remove(0)));
                let mut results = on_data.into_iter().chain(in_graph);
                *differing.entry(case.op.clone()).or_default() |=
                    results.any(|result| difference(result, case).is_some());
                continue;
            }
            count += 1;
            record(&mut wrong, case, on_data.and_then(|got| difference(got, case)));
            match in_graph {
                None => {}
                Some(Err(error)) => record(&mut wrong, case, difference(Err(error), case)),
                Some(Ok(value)) if case.expected.get("error").is_some() => {
                    let refused = g.compile(value).and_then(|exe| exe.run_named(&[]).map(drop));
                    let accepted = refused.is_ok().then(|| format!("no error\n  {}", case.line));
                    record(&mut wrong, case, accepted);
                }
                Some(Ok(value)) => {
                    outputs.push(value);
                    compiled.push(case);
                }
            }
        }
        let items: Vec<Result<RaggedItem>> = match run_together(&g, &outputs) {
            Ok(items) => items.into_iter().map(Ok).collect(),
            // Each case runs alone, so that the failure names its case.
            Err(_) => outputs
                .iter()
                .map(|output| run_together(&g, &[*output]).map(|mut items| items.remove(0)))
                .collect(),
        };
        for (item, case) in items.into_iter().zip(compiled) {
            record(&mut wrong, case, difference(item, case));
        }
    }
    let lines: Vec<String> = wrong
        .iter()
        .map(|(op, all)| format!("{op}: {} cases\n{}", all.len(), all[..all.len().min(4)].join("\n")))
        .collect();
    assert!(lines.is_empty(), "{}", lines.join("\n"));
    assert!(count > 14_400, "only {count} cases");
    let stale: Vec<&String> = differing.iter().filter(|(_, differs)| !**differs).map(|(op, _)| op).collect();
    assert!(stale.is_empty(), "no case of these ops differs on purpose any more: {stale:?}");
}
