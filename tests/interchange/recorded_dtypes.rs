//! Every op has a value recorded from TensorFlow for each of its dtypes, except for the pairs that
//! `tests/data/unrecorded_dtypes.txt` lists.
//!
//! A listed pair is an op and a dtype. For most pairs, TensorFlow has no kernel for the dtype, or the op exists only
//! inside the composites of this crate.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;
use shapeflow::{DType, Registry};

const LIST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/unrecorded_dtypes.txt");

/// Returns the dtypes of the inputs of the recorded cases, by the name of the op in `tests/data/FILE.jsonl`.
fn recorded(file: &str, dtype_of: impl Fn(&Json) -> DType) -> BTreeMap<String, BTreeSet<DType>> {
    let path = format!("{}/tests/data/{file}.jsonl", env!("CARGO_MANIFEST_DIR"));
    let mut dtypes: BTreeMap<String, BTreeSet<DType>> = BTreeMap::new();
    for line in std::fs::read_to_string(path).unwrap().lines() {
        let case: Json = serde_json::from_str(line).unwrap();
        if case.get("outputs").is_some() {
            let inputs = case["inputs"].as_array().unwrap().iter().map(&dtype_of);
            dtypes.entry(case["op"].as_str().unwrap().to_string()).or_default().extend(inputs);
        }
    }
    dtypes
}

/// Returns the dtype of a tensor in the text form of TensorFlow.
fn of_text(tensor: &Json) -> DType {
    let text = tensor.as_str().unwrap().trim_start_matches("dtype: ");
    text.split(' ').next().unwrap().parse().unwrap()
}

/// Returns a line `OP: DTYPE, ..` for each op with dtypes that no recorded case has.
fn unrecorded() -> Vec<String> {
    let by_name = recorded("values", |tensor| tensor["dtype"].as_str().unwrap().parse().unwrap());
    let by_type = ["imports", "strings", "media"].map(|file| recorded(file, of_text));
    let mut lines = Vec::new();
    for def in Registry::builtin().iter() {
        let mut found: BTreeSet<DType> = by_name.get(def.name()).cloned().unwrap_or_default();
        for spelling in def.tensorflow_ops() {
            found.extend(by_type.iter().filter_map(|types| types.get(spelling.op_type)).flatten());
        }
        let missing: Vec<String> = def
            .dtypes()
            .into_iter()
            .filter(|dtype| !found.contains(dtype))
            .map(|dtype| dtype.to_string())
            .collect();
        if !missing.is_empty() {
            lines.push(format!("{}: {}", def.name(), missing.join(", ")));
        }
    }
    lines.sort();
    lines
}

/// If the environment variable `SHAPEFLOW_WRITE_LIST` is set, the test writes the list.
#[test]
fn every_op_has_a_recorded_value_for_each_dtype() {
    let lines = unrecorded();
    if std::env::var_os("SHAPEFLOW_WRITE_LIST").is_some() {
        std::fs::write(LIST, lines.join("\n") + "\n").unwrap();
    }
    let listed = std::fs::read_to_string(LIST).unwrap();
    let (listed, found): (BTreeSet<&str>, BTreeSet<&str>) =
        (listed.lines().collect(), lines.iter().map(String::as_str).collect());
    let new: Vec<_> = found.difference(&listed).collect();
    let gone: Vec<_> = listed.difference(&found).collect();
    assert!(
        new.is_empty() && gone.is_empty(),
        "record values with tests/record_imports.py, record_strings.py or record_media.py, or write the list with \
         SHAPEFLOW_WRITE_LIST=1; \
         the list lacks {new:#?} and has without need {gone:#?}"
    );
}
