//! Cases recorded from TensorFlow, and how results are compared with them.

use shapeflow_shape_fns::{Attr, Attrs, DType};

use super::testing::run;
use crate::expr::Scalar;
use crate::op::OpDef;
use crate::tensor::Tensor;

/// Holds the op against every case that was recorded from TensorFlow under its name.
#[track_caller]
pub(crate) fn recorded(def: &'static OpDef) {
    recorded_as(def, def.name(), &|attrs| attrs);
}

/// As [`recorded`], for cases under another name, with attributes changed.
#[track_caller]
pub(crate) fn recorded_as(def: &'static OpDef, name: &str, change: &dyn Fn(Attrs) -> Attrs) {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/values.jsonl");
    let text = std::fs::read_to_string(path).unwrap();
    let start = format!("{{\"op\":\"{name}\",");
    let mut cases = 0;
    for line in text.lines().filter(|line| line.starts_with(&start)) {
        let case: serde_json::Value = serde_json::from_str(line).unwrap();
        cases += 1;
        let mut attrs = Attrs::new();
        for (name, value) in case["attrs"].as_object().unwrap() {
            attrs.insert(name.clone(), json_attr(name, value));
        }
        let operands: Vec<Tensor> = case["inputs"].as_array().unwrap().iter().map(json_tensor).collect();
        let result = run(def, &change(attrs), &operands);
        match (result, case["outputs"].as_array()) {
            (Ok(outputs), Some(expected)) => {
                assert_eq!(outputs.len(), expected.len(), "{line}");
                for (output, expected) in outputs.iter().zip(expected) {
                    check_tensor(output, &json_tensor(expected), line);
                }
            }
            (Err(_), None) => {}
            (Ok(outputs), None) => panic!("an error was expected, got {outputs:?}\n{line}"),
            (Err(error), Some(_)) => panic!("{error}\n{line}"),
        }
    }
    assert!(cases > 0, "nothing was recorded of {name}");
}

fn json_attr(name: &str, value: &serde_json::Value) -> Attr {
    use serde_json::Value as Json;
    match value {
        Json::Bool(flag) => Attr::Bool(*flag),
        Json::Number(number) => {
            number.as_i64().map_or_else(|| Attr::Float(number.as_f64().unwrap()), Attr::Int)
        }
        Json::String(text) if name == "dtype" => Attr::DType(text.parse().unwrap()),
        Json::String(text) => Attr::Str(text.as_str().into()),
        Json::Array(items) => {
            fn flatten(items: &[serde_json::Value], out: &mut Vec<i64>) {
                for item in items {
                    match item.as_array() {
                        Some(items) => flatten(items, out),
                        None => out.push(item.as_i64().unwrap()),
                    }
                }
            }
            let mut ints = Vec::new();
            flatten(items, &mut ints);
            Attr::from(ints)
        }
        other => panic!("no attribute is {other}"),
    }
}

fn json_tensor(json: &serde_json::Value) -> Tensor {
    let sizes: Vec<usize> =
        json["shape"].as_array().unwrap().iter().map(|size| size.as_u64().unwrap() as usize).collect();
    let data = json["data"].as_array().unwrap();
    let floats = || {
        data.iter().map(|item| match item.as_str() {
            Some(text) => text.parse::<f64>().unwrap(),
            None => item.as_f64().unwrap(),
        })
    };
    let ints = || data.iter().map(|item| item.as_i64().unwrap());
    match json["dtype"].as_str().unwrap().parse().unwrap() {
        DType::F32 => Tensor::from_vec(&sizes, floats().map(|value| value as f32).collect()),
        DType::F64 => Tensor::from_vec(&sizes, floats().collect()),
        DType::I32 => Tensor::from_vec(&sizes, ints().map(|value| value as i32).collect()),
        DType::I64 => Tensor::from_vec(&sizes, ints().collect()),
        DType::U8 => Tensor::from_vec(&sizes, ints().map(|value| value as u8).collect()),
        DType::Bool => Tensor::from_vec(
            &sizes,
            data.iter().map(|item| item.as_bool().unwrap_or_else(|| item == 1)).collect(),
        ),
        other => panic!("no case is {other}"),
    }
    .unwrap()
}

/// Integers, bools and sizes are equal; floats within a relative bound, NaN where NaN is expected.
#[track_caller]
pub(crate) fn check_tensor(got: &Tensor, expected: &Tensor, case: &str) {
    assert_eq!(got.dtype(), expected.dtype(), "{case}");
    assert_eq!(got.sizes(), expected.sizes(), "{case}");
    let tolerance = match expected.dtype() {
        DType::F64 => 1e-12,
        DType::F32 => 1e-5,
        DType::F16 => 1e-3,
        DType::BF16 => 1e-2,
        _ => 0.0,
    };
    for position in 0..got.len() {
        let (a, b) = (scalar(got, position), scalar(expected, position));
        if a == b || tolerance > 0.0 && a.to_f64().is_nan() && b.to_f64().is_nan() {
            continue;
        }
        let (x, y) = (a.to_f64(), b.to_f64());
        let close = tolerance > 0.0 && ((x - y).abs() <= tolerance * y.abs() || x == y);
        assert!(close, "element {position} must be {b}, got {a}\n{case}");
    }
}

fn scalar(tensor: &Tensor, position: usize) -> Scalar {
    tensor.view().element(position).and_then(|bytes| Scalar::from_bytes(tensor.dtype(), bytes)).unwrap()
}
