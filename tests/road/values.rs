//! Compares both backends with every value recorded from TensorFlow, with parameters as attributes or inputs, and with
//! shapes known, partly known or unknown.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde_json::Value as Json;
use shapeflow::{
    Attr, Backend, CompileOptions, DType, Graph, Result, Tensor, TensorShape, TensorView, Unknown, Value,
};

use crate::backend_check::panic_message;
use crate::op_call::Call;
use crate::tensor_compare::{Bound, difference, tensor_of};

/// A line of `tests/data/values.jsonl` as a call of one of our ops.
struct Case {
    /// The number of the line.
    number: usize,
    call: Call,
    data: Vec<Tensor>,
    /// Name, elements and sizes of the parameters that may be attributes or inputs.
    params: Vec<(&'static str, Vec<i64>, Vec<usize>)>,
    /// The outputs; `None` if the op must be refused.
    expected: Option<Vec<Tensor>>,
}

/// The part of an input's shape that its declaration states.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Declared {
    /// All sizes.
    Shape,
    /// The rank only.
    Rank,
    /// Nothing, not even the rank.
    Unranked,
}

fn text() -> String {
    std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/values.jsonl")).unwrap()
}

fn tensor(json: &Json) -> Tensor {
    let sizes: Vec<usize> =
        json["shape"].as_array().unwrap().iter().map(|size| size.as_u64().unwrap() as usize).collect();
    let data = json["data"].as_array().unwrap();
    let dtype: DType = json["dtype"].as_str().unwrap().parse().unwrap();
    match dtype {
        // f64 does not hold every i64.
        DType::I64 => {
            Tensor::from_vec(&sizes, data.iter().map(|item| item.as_i64().unwrap()).collect()).unwrap()
        }
        DType::F8E5M2 | DType::F8E4M3FN => {
            let bits: Vec<u8> = data.iter().map(|item| item.as_u64().unwrap() as u8).collect();
            Tensor::from_bits(dtype, &sizes, &bits).unwrap()
        }
        _ => {
            let number = |item: &Json| match item {
                Json::Bool(flag) => f64::from(u8::from(*flag)),
                Json::String(text) => text.parse().unwrap(),
                other => other.as_f64().unwrap(),
            };
            tensor_of(dtype, &sizes, &data.iter().map(number).collect::<Vec<_>>())
        }
    }
}

/// Returns the integers of a scalar or nested list, and the sizes of the list.
fn integers(json: &Json) -> (Vec<i64>, Vec<usize>) {
    match json {
        Json::Array(items) => {
            let parts: Vec<_> = items.iter().map(integers).collect();
            let mut sizes = vec![items.len()];
            sizes.extend(parts.first().map(|part| part.1.clone()).unwrap_or_default());
            (parts.into_iter().flat_map(|part| part.0).collect(), sizes)
        }
        other => (vec![other.as_i64().unwrap()], Vec::new()),
    }
}

fn scalar(dtype: DType, json: &Json) -> Tensor {
    let number = match json {
        Json::Bool(flag) => f64::from(u8::from(*flag)),
        other => other.as_f64().unwrap(),
    };
    tensor_of(dtype, &[], &[number])
}

/// Converts a recorded line to a call. Some TensorFlow arguments become data operands or attributes of other names.
fn case(number: usize, line: &str) -> Case {
    let json: Json = serde_json::from_str(line).unwrap();
    let op = json["op"].as_str().unwrap();
    let attrs = json["attrs"].as_object().unwrap();
    let mut data: Vec<Tensor> = json["inputs"].as_array().unwrap().iter().map(tensor).collect();
    let dtype = || attrs["dtype"].as_str().unwrap().parse::<DType>().unwrap();
    let mut params: Vec<&'static str> = Vec::new();
    let mut rename: BTreeMap<&str, &'static str> = BTreeMap::new();
    let mut call = match op {
        "pad" if attrs["mode"] == "constant" => {
            data.push(scalar(data[0].dtype(), &attrs["constant_value"]));
            params.push("paddings");
            Call::new("pad_with")
        }
        "pad" => {
            params.push("paddings");
            Call::new("mirror_pad").attr("mode", attrs["mode"].as_str().unwrap())
        }
        "one_hot" => {
            data.push(scalar(dtype(), attrs.get("on_value").unwrap_or(&Json::from(1))));
            data.push(scalar(dtype(), attrs.get("off_value").unwrap_or(&Json::from(0))));
            params.push("depth");
            Call::new("one_hot").attr("axis", attrs["axis"].as_i64().unwrap())
        }
        "cast" => Call::new("cast").attr("dtype", dtype()),
        "shape" | "size" | "rank" => Call::new(interned(op)).attr("out_type", dtype()),
        "unique_with_counts" => Call::new("unique_with_counts").attr("out_idx", dtype()),
        "fill" => {
            rename.insert("shape", "dims");
            params.push("dims");
            Call::new("fill")
        }
        "range" if data[0].dtype().is_float() => Call::new("float_range"),
        _ => Call::new(interned(op)),
    };
    match op {
        "transpose" | "conjugate_transpose" => params.push("perm"),
        "cumsum" | "complex_prod" | "expand_dims" | "reverse" | "concat" | "split" | "gather" | "argmax"
        | "argmin" | "softmax" | "log_softmax" => params.push("axis"),
        "slice" => params.extend(["begin", "size"]),
        "strided_slice" => params.extend(["begin", "end", "strides"]),
        "reshape" | "broadcast_to" | "scatter_nd" => params.push("shape"),
        "space_to_batch_nd" => params.extend(["block_shape", "paddings"]),
        "batch_to_space_nd" => params.extend(["block_shape", "crops"]),
        "sequence_mask" => params.push("maxlen"),
        _ if op.starts_with("unsorted_segment") => params.push("num_segments"),
        "tile" => params.push("multiples"),
        _ if op.starts_with("reduce_") => params.push("axis"),
        _ => {}
    }
    let mut values = Vec::new();
    if call.op == "range" {
        for (name, bound) in ["start", "limit", "delta"].into_iter().zip(data.drain(..)) {
            call = call.attr("dtype", bound.dtype());
            let value = if bound.dtype() == DType::I32 {
                bound.item::<i32>().unwrap().into()
            } else {
                bound.item().unwrap()
            };
            values.push((name, vec![value], Vec::new()));
        }
    }
    for (name, value) in attrs {
        let name = rename.get(name.as_str()).copied().unwrap_or(interned(name));
        if params.contains(&name) {
            let (ints, mut sizes) = integers(value);
            if has_pairs(op) && matches!(name, "paddings" | "crops") {
                sizes = vec![ints.len() / 2, 2];
            }
            values.push((name, ints, sizes));
        } else if !matches!(name, "dtype" | "mode" | "constant_value" | "on_value" | "off_value")
            && !call.attrs.iter().any(|(known, _)| *known == name)
        {
            call = call.attr(name, attribute(value));
        }
    }
    let expected =
        json.get("outputs").map(|outputs| outputs.as_array().unwrap().iter().map(tensor).collect());
    Case { number, call, data, params: values, expected }
}

/// Returns whether the recorded cases of an op have its matrix of pairs, `paddings` or `crops`, as a flat list.
fn has_pairs(op: &str) -> bool {
    matches!(op, "space_to_batch_nd" | "batch_to_space_nd")
}

fn attribute(json: &Json) -> Attr {
    match json {
        Json::Bool(flag) => Attr::Bool(*flag),
        Json::Number(_) => Attr::Int(json.as_i64().unwrap()),
        Json::String(text) => Attr::from(text.as_str()),
        Json::Array(_) => Attr::from(integers(json).0),
        other => panic!("no attribute is {other}"),
    }
}

/// Interns a name of an op or attribute, which must be `'static`.
fn interned(name: &str) -> &'static str {
    use std::sync::{LazyLock, Mutex};
    static NAMES: LazyLock<Mutex<BTreeMap<String, &'static str>>> = LazyLock::new(Mutex::default);
    NAMES.lock().unwrap().entry(name.to_string()).or_insert_with(|| name.to_string().leak())
}

fn declare(tensor: &Tensor, declared: Declared) -> TensorShape {
    match declared {
        Declared::Shape => TensorShape::from(tensor.sizes().to_vec()),
        Declared::Rank => TensorShape::from(vec![Unknown; tensor.sizes().len()]),
        Declared::Unranked => TensorShape::unranked(),
    }
}

/// Runs a case. If `fed`, its parameters are inputs instead of attributes. If `wide`, these inputs are i64 instead of
/// i32.
fn run(case: &Case, backend: Backend, fed: bool, declared: Declared, wide: bool) -> Result<Vec<Tensor>> {
    let graph = Graph::new();
    let mut feeds: Vec<Tensor> = Vec::new();
    let mut call = case.call.clone();
    let mut data: Vec<Value<'_>> = Vec::new();
    for tensor in &case.data {
        data.push(graph.input(&format!("x{}", feeds.len()), tensor.dtype(), declare(tensor, declared))?);
        feeds.push(tensor.clone());
    }
    let mut params = Vec::new();
    for (name, ints, sizes) in &case.params {
        if !fed {
            let elements = match sizes.len() {
                0 => Attr::Int(ints[0]),
                _ => Attr::from(ints.clone()),
            };
            call = call.attr(name, elements);
            continue;
        }
        let dtype = call.attrs.iter().find_map(|(name, attr)| match attr {
            Attr::DType(dtype) if *name == "dtype" && call.op == "range" => Some(*dtype),
            _ => None,
        });
        let tensor = match dtype {
            Some(DType::I32) => Tensor::from_vec(sizes, ints.iter().map(|&x| x as i32).collect())?,
            Some(_) => Tensor::from_slice(sizes, ints)?,
            None if wide => Tensor::from_slice(sizes, ints)?,
            None => Tensor::from_vec(sizes, ints.iter().map(|&x| x as i32).collect())?,
        };
        call.params.push(name);
        params.push(graph.input(name, tensor.dtype(), declare(&tensor, declared))?);
        feeds.push(tensor);
    }
    let outputs = call.apply(&graph, &data, &params)?;
    let exe = graph.compile_with(&CompileOptions::new().backend(backend), &outputs)?;
    let views: Vec<TensorView<'_>> = feeds.iter().map(Tensor::view).collect();
    exe.run_all(&views)
}

/// Returns a text about the difference between a result and the recorded outcome; `None` if they agree.
fn mismatch(case: &Case, result: std::thread::Result<Result<Vec<Tensor>>>) -> Option<String> {
    match (result, &case.expected) {
        (Err(panic), _) => Some(format!("a panic: {}", panic_message(&*panic))),
        (Ok(Err(_)), None) => None,
        (Ok(Ok(outputs)), None) => Some(format!("an error was expected, got {outputs:?}")),
        (Ok(Err(error)), Some(_)) => Some(format!("refused: {error}")),
        (Ok(Ok(outputs)), Some(expected)) => {
            if outputs.len() != expected.len() {
                return Some(format!("{} outputs were expected, got {}", expected.len(), outputs.len()));
            }
            outputs.iter().zip(expected).find_map(|(got, expected)| {
                let bound = match expected.dtype() {
                    DType::F32 => Bound { relative: 1e-5, absolute: 1e-6 },
                    DType::F64 => Bound { relative: 1e-12, absolute: 0.0 },
                    // One part may be small compared with the other part.
                    DType::C64 => Bound { relative: 1e-5, absolute: 1e-5 },
                    DType::C128 => Bound { relative: 1e-12, absolute: 1e-13 },
                    _ => return difference(got, expected, None),
                };
                difference(got, expected, Some(bound)).map(|text| format!("{text}; {got:?}"))
            })
        }
    }
}

/// Runs the cases that `filter` selects on both backends. Panics with the cases that differ.
fn check_cases(fed: bool, declared: Declared, filter: impl Fn(&Case) -> bool) {
    let text = text();
    let (mut ran, mut wrong) = (0, Vec::new());
    for (number, line) in text.lines().enumerate() {
        let case = case(number + 1, line);
        if !filter(&case) {
            continue;
        }
        for backend in [Backend::Interpreter, Backend::Jit] {
            ran += 1;
            let wide = number % 2 == 0;
            let result = catch_unwind(AssertUnwindSafe(|| run(&case, backend, fed, declared, wide)));
            if let Some(what) = mismatch(&case, result) {
                wrong.push(format!(
                    "{} (line {}), {backend:?}: {what}\n    {line}",
                    case.call.op, case.number
                ));
            }
        }
    }
    println!("{ran} runs, fed {fed}, declared {declared:?}");
    assert!(ran > 0);
    assert!(wrong.is_empty(), "{} of {ran} runs differ:\n{}", wrong.len(), wrong.join("\n"));
}

/// Returns whether a case has a `block_shape`. A `block_shape` of unknown length is refused, as by TensorFlow.
fn has_block_shape(case: &Case) -> bool {
    case.params.iter().any(|(name, ..)| *name == "block_shape")
}

#[test]
fn values_with_known_shapes_match_tensorflow() {
    check_cases(false, Declared::Shape, |_| true);
}

#[test]
fn values_with_known_ranks_match_tensorflow() {
    check_cases(false, Declared::Rank, |case| case.number % 2 == 0);
}

#[test]
fn values_with_unknown_ranks_match_tensorflow() {
    // A mask of unknown rank is refused, as by TensorFlow: "Number of mask dimensions must be specified".
    check_cases(false, Declared::Unranked, |case| case.number % 4 == 0 && case.call.op != "boolean_mask");
}

#[test]
fn values_with_fed_parameters_match_tensorflow() {
    check_cases(true, Declared::Shape, |case| !case.params.is_empty());
}

#[test]
fn values_with_fed_parameters_and_known_ranks_match_tensorflow() {
    check_cases(true, Declared::Rank, |case| {
        !case.params.is_empty() && case.number % 2 == 0 && !has_block_shape(case)
    });
}

#[test]
fn values_with_fed_parameters_and_unknown_ranks_match_tensorflow() {
    check_cases(true, Declared::Unranked, |case| {
        !case.params.is_empty() && case.number % 3 == 0 && !has_block_shape(case)
    });
}
