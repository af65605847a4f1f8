//! Inferred shapes are never less precise than the shapes recorded from TensorFlow, and inference refuses nothing that
//! TensorFlow accepts and runs. Intended exceptions are listed in `tests/data/shapes_differences.txt`.

use std::collections::BTreeMap;

use serde_json::Value as Json;
use shapeflow::interchange::{ImportOptions, Model, read_npz};
use shapeflow::{DType, TensorShape};

/// The outcome of a case.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Outcome {
    Equal,
    /// Our shape knows more than TensorFlow's.
    MorePrecise,
    /// Our shape knows less than TensorFlow's.
    LessPrecise,
    Different,
    RefusedByBoth,
    /// Our inference refuses what TensorFlow's inference accepts. The list of differences allows this outcome only
    /// where TensorFlow refuses the call when it runs.
    RefusedOnlyByUs,
    /// Our inference accepts what TensorFlow refuses.
    AcceptedOnlyByUs,
    NotImported,
}

/// Reads the recorded cases, each a line of JSON and the bytes of a GraphDef.
fn cases() -> Vec<(Json, Vec<u8>)> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/shapes.npz");
    let arrays: BTreeMap<String, _> = read_npz(path).unwrap().into_iter().collect();
    let strings = |name: &str| arrays[name].as_strings().unwrap();
    let cases = strings("cases").iter().zip(strings("graphs").iter());
    cases.map(|(case, graph)| (serde_json::from_slice(case).unwrap(), graph.to_vec())).collect()
}

/// Returns the recorded sizes of a shape, each `None` if it is unknown. Returns `None` for an unknown rank.
fn recorded(shape: &Json) -> Option<Vec<Option<i64>>> {
    let dims = shape.as_array()?;
    Some(dims.iter().map(Json::as_i64).collect())
}

fn inferred(shape: &TensorShape) -> Option<Vec<Option<i64>>> {
    Some(shape.dims()?.iter().map(|dim| dim.as_known()).collect())
}

fn compare(ours: &TensorShape, theirs: &Json) -> Outcome {
    match (inferred(ours), recorded(theirs)) {
        (None, None) => Outcome::Equal,
        (Some(_), None) => Outcome::MorePrecise,
        (None, Some(_)) => Outcome::LessPrecise,
        (Some(ours), Some(theirs)) => {
            if ours.len() != theirs.len() {
                return Outcome::Different;
            }
            let each = ours.iter().zip(&theirs).map(|pair| match pair {
                (Some(a), Some(b)) if a != b => Outcome::Different,
                (Some(_), None) => Outcome::MorePrecise,
                (None, Some(_)) => Outcome::LessPrecise,
                _ => Outcome::Equal,
            });
            each.max().unwrap_or(Outcome::Equal)
        }
    }
}

/// Returns the worst outcome of a case's outputs, and a text that explains it.
fn judge(case: &Json, graph: Vec<u8>) -> (Outcome, String) {
    let imported = match Model::from_bytes(graph).and_then(|model| model.import(None, &ImportOptions::new()))
    {
        Ok(imported) => imported,
        Err(error) => return (Outcome::NotImported, error.to_string()),
    };
    let refused =
        imported.nodes().find_map(|node| node.error.map(|error| (node.name.to_string(), error.clone())));
    let Some(outputs) = case["outputs"].as_array() else {
        return match refused {
            Some(_) => (Outcome::RefusedByBoth, String::new()),
            None => (Outcome::AcceptedOnlyByUs, case["error"].to_string()),
        };
    };
    if let Some((_, error)) = refused {
        return (Outcome::RefusedOnlyByUs, error.to_string());
    }
    let mut worst = (Outcome::Equal, String::new());
    for (number, output) in outputs.iter().enumerate() {
        let fetch = case["fetch"][number].as_str().unwrap();
        let value = match imported.value(fetch) {
            Ok(value) => value,
            Err(error) => return (Outcome::NotImported, error.to_string()),
        };
        let dtype: DType = output[0].as_str().unwrap().parse().unwrap();
        let outcome =
            if value.dtype() == dtype { compare(&value.shape(), &output[1]) } else { Outcome::Different };
        let text = format!("{fetch}: got {}{}, recorded {dtype}{}", value.dtype(), value.shape(), output[1]);
        worst = worst.max((outcome, text));
    }
    worst
}

/// Reads the cases that differ on purpose, each with the reason: `OUTCOME ID CALL: REASON`.
fn intended_differences() -> BTreeMap<String, String> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/shapes_differences.txt");
    let text = std::fs::read_to_string(path).unwrap();
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| line.split_once(": ").unwrap())
        .map(|(case, why)| (case.to_string(), why.to_string()))
        .collect()
}

#[test]
fn shapes_are_as_precise_as_the_recorded_shapes() {
    let mut counts: BTreeMap<Outcome, usize> = BTreeMap::new();
    let mut intended = intended_differences();
    let mut unexpected = Vec::new();
    for (case, graph) in cases() {
        // The graph is empty if TensorFlow refused the call before it made a node. Then there is nothing to import.
        if graph.is_empty() {
            continue;
        }
        let (outcome, what) = judge(&case, graph);
        *counts.entry(outcome).or_default() += 1;
        if matches!(outcome, Outcome::Equal | Outcome::MorePrecise | Outcome::RefusedByBoth) {
            continue;
        }
        let name = format!("{outcome:?} {} {}", case["id"], case["call"].as_str().unwrap());
        if intended.remove(&name).is_none() {
            unexpected.push(format!("{name}: {what}"));
        }
    }
    println!("{counts:?}");
    assert!(unexpected.is_empty(), "{} cases differ:\n{}", unexpected.len(), unexpected.join("\n"));
    assert!(intended.is_empty(), "listed, but no longer different: {intended:?}");
    assert!(counts.values().sum::<usize>() > 2900);
}
