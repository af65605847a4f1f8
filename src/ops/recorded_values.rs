//! Tests against values recorded from TensorFlow: every op is run on all cases recorded under its name.

use shapeflow_shape_fns::{Attr, Attrs, DType};

use super::testing::{check_tensor, run};
use crate::op::{OpDef, Registry};
use crate::tensor::Tensor;

/// Ops whose cases map to several of our ops or give operands as attributes. A test in the op's file translates them.
const TRANSLATED: [&str; 4] = ["one_hot", "pad", "range", "sequence_mask"];

fn lines() -> Vec<String> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/values.jsonl");
    std::fs::read_to_string(path).unwrap().lines().map(str::to_string).collect()
}

#[test]
fn every_op_gives_the_recorded_values() {
    let registry = Registry::builtin();
    let mut cases = 0;
    for line in lines() {
        let case: serde_json::Value = serde_json::from_str(&line).unwrap();
        let name = case["op"].as_str().unwrap();
        if !TRANSLATED.contains(&name) {
            let def = registry.get(name).unwrap_or_else(|| panic!("there is no op {name}"));
            check(&def, &case, &line);
        }
        cases += 1;
    }
    assert!(cases > 5000, "only {cases} cases");
}

/// Checks `def` on every case that was recorded under its name.
#[track_caller]
pub(crate) fn recorded(def: &OpDef) {
    let start = format!("{{\"op\":\"{}\",", def.name());
    let lines = lines();
    let mut cases = lines.iter().filter(|line| line.starts_with(&start)).peekable();
    assert!(cases.peek().is_some(), "there are no recorded cases of {}", def.name());
    cases.for_each(|line| check(def, &serde_json::from_str(line).unwrap(), line));
}

fn check(def: &OpDef, case: &serde_json::Value, line: &str) {
    let mut attrs = Attrs::new();
    for (attr, value) in case["attrs"].as_object().unwrap() {
        attrs.insert(attr_name(def.name(), attr).to_string(), json_attr(attr, value));
    }
    let operands: Vec<Tensor> = case["inputs"].as_array().unwrap().iter().map(json_tensor).collect();
    match (run(def, &attrs, &operands), case["outputs"].as_array()) {
        (Ok(outputs), Some(expected)) => {
            assert_eq!(outputs.len(), expected.len(), "{line}");
            check_defaults(def, &attrs, &operands, &outputs, line);
            for (output, expected) in outputs.iter().zip(expected) {
                check_tensor(output, &json_tensor(expected), line);
            }
        }
        (Err(_), None) => {}
        (Ok(outputs), None) => panic!("expected an error, got {outputs:?}\n{line}"),
        (Err(error), Some(_)) => panic!("{error}\n{line}"),
    }
}

/// Checks that the outputs stay the same in two other calls: one call leaves out all attributes that equal their
/// defaults, the other call passes every default.
fn check_defaults(def: &OpDef, attrs: &Attrs, operands: &[Tensor], expected: &[Tensor], line: &str) {
    let is_default = |name: &str, attr: &Attr| {
        def.attributes().iter().any(|attribute| attribute.name() == name && attribute.is_default(attr))
    };
    let mut given = Attrs::new();
    for (name, attr) in attrs.iter().filter(|(name, attr)| !is_default(name, attr)) {
        given.insert(name.to_string(), attr.clone());
    }
    let is_operand =
        |name: &str| def.operand_list().unwrap_or_default().iter().any(|operand| operand.name() == name);
    let mut all = attrs.clone();
    for attribute in def.attributes().iter().filter(|attribute| !is_operand(attribute.name())) {
        if let Some(default) = attribute.default().filter(|_| all.get(attribute.name()).is_none()) {
            all.insert(attribute.name(), default);
        }
    }
    for other in [given, all].into_iter().filter(|other| other != attrs) {
        let outputs = run(def, &other, operands).unwrap_or_else(|error| panic!("{error}\n{line}"));
        for (output, expected) in outputs.iter().zip(expected) {
            check_tensor(output, expected, line);
        }
    }
}

/// Translates the name of an attribute from the cases to ours.
fn attr_name<'a>(op: &str, attr: &'a str) -> &'a str {
    match (op, attr) {
        ("fill", "shape") => "dims",
        ("rank" | "shape" | "size", "dtype") => "out_type",
        ("unique_with_counts", "dtype") => "out_idx",
        _ => attr,
    }
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
        other => panic!("cannot read attribute {other}"),
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
    let dtype = json["dtype"].as_str().unwrap().parse().unwrap();
    macro_rules! stored {
        ($T:ty, $elements:expr) => {
            Tensor::from_bits(dtype, &sizes, &$elements.map(|element| element as $T).collect::<Vec<_>>())
        };
    }
    match dtype {
        DType::C64 => stored!(f32, floats()),
        DType::C128 => stored!(f64, floats()),
        DType::QI8 | DType::I4 => stored!(i8, ints()),
        DType::QU8 | DType::U4 | DType::F8E5M2 | DType::F8E4M3FN => stored!(u8, ints()),
        DType::QI16 => stored!(i16, ints()),
        DType::QU16 => stored!(u16, ints()),
        DType::QI32 => stored!(i32, ints()),
        DType::F32 => Tensor::from_vec(&sizes, floats().map(|value| value as f32).collect()),
        DType::F64 => Tensor::from_vec(&sizes, floats().collect()),
        DType::I32 => Tensor::from_vec(&sizes, ints().map(|value| value as i32).collect()),
        DType::I64 => Tensor::from_vec(&sizes, ints().collect()),
        DType::U8 => Tensor::from_vec(&sizes, ints().map(|value| value as u8).collect()),
        DType::Bool => Tensor::from_vec(
            &sizes,
            data.iter().map(|item| item.as_bool().unwrap_or_else(|| item == 1)).collect(),
        ),
        other => panic!("cannot read elements of {other}"),
    }
    .unwrap()
}
