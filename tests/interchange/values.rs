//! Results of graphs equal the values recorded from TensorFlow, except for the cases that
//! `tests/data/values_differences.txt` lists with a reason. The test is skipped if there are no recorded values.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value as Json;
use shapeflow::interchange::{ImportOptions, Model, as_dtype, read_npz};
use shapeflow::{DType, ErrorKind, Result, Tensor};

/// The outcome of a case.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Outcome {
    Equal,
    RefusedByBoth,
    /// This crate has no kernel for the op.
    NoKernel,
    Different,
    /// This crate refuses what TensorFlow computes.
    Refused,
    /// This crate computes what TensorFlow refuses.
    Accepted,
    NotImported,
}

fn tensor(arrays: &BTreeMap<String, Tensor>, json: &Json) -> Result<Tensor> {
    let key = json["key"].as_str().unwrap();
    let dtype: DType = json["dtype"].as_str().unwrap().parse()?;
    let sizes: Vec<usize> =
        json["shape"].as_array().unwrap().iter().map(|size| size.as_u64().unwrap() as usize).collect();
    as_dtype(&arrays[key], dtype)?.reshape(&sizes)
}

fn run(case: &Json, arrays: &BTreeMap<String, Tensor>) -> (Outcome, String) {
    let graph = arrays[case["graph_key"].as_str().unwrap()].to_vec::<u8>().unwrap();
    let fetches: Vec<&str> =
        case["fetches"].as_array().unwrap().iter().map(|fetch| fetch.as_str().unwrap()).collect();
    let refused = case["outputs"].is_null();
    let tensorflow_has_no_kernel =
        case["error"]["unsupported"] == Json::Bool(true) || case["error"]["class"] == "UnimplementedError";
    let imported = match Model::from_bytes(graph)
        .and_then(|model| model.import(Some(&fetches), &ImportOptions::new()))
    {
        Ok(imported) => imported,
        Err(error) => return (Outcome::NotImported, error.to_string()),
    };
    let attempt = || -> Result<Vec<Tensor>> {
        if fetches.is_empty() {
            return Ok(Vec::new());
        }
        let values = fetches.iter().map(|fetch| imported.value(fetch)).collect::<Result<Vec<_>>>()?;
        let exe = imported.graph().compile(&values)?;
        let mut feeds = Vec::new();
        for (name, _) in imported.inputs() {
            let fed = case["inputs"].as_array().unwrap().iter();
            let fed =
                fed.clone().find(|input| input["tensor"].as_str().unwrap().trim_end_matches(":0") == name);
            feeds.push(tensor(arrays, fed.unwrap())?);
        }
        let views: Vec<_> = feeds.iter().map(Tensor::view).collect();
        exe.run_all(&views)
    };
    match (attempt(), refused) {
        (Err(error), _)
            if error.kind() == ErrorKind::Compile
                && ["no kernel", "cannot compute this op"]
                    .iter()
                    .any(|text| error.message().contains(text))
                && !tensorflow_has_no_kernel =>
        {
            (Outcome::NoKernel, error.message().to_string())
        }
        (Err(_), true) => (Outcome::RefusedByBoth, String::new()),
        (Err(error), false) => (Outcome::Refused, error.to_string()),
        (Ok(got), true) => {
            (Outcome::Accepted, format!("got {got:?}, TensorFlow's error is {}", case["error"]["message"]))
        }
        (Ok(got), false) => {
            let outputs = case["outputs"].as_array().unwrap();
            if got.len() != outputs.len() {
                return (Outcome::Different, format!("got {}, recorded {}", got.len(), outputs.len()));
            }
            for (got, json) in got.iter().zip(outputs) {
                let expected = tensor(arrays, json).unwrap();
                let (relative, absolute) = match expected.dtype() {
                    DType::F32 | DType::C64 => (1e-5, 1e-6),
                    DType::F64 | DType::C128 => (1e-5, 1e-12),
                    DType::F16 => (1e-3, 1e-4),
                    DType::BF16 => (1e-2, 1e-3),
                    _ => (0.0, 0.0),
                };
                if *got == expected {
                    continue;
                }
                if let Err(difference) = got.allclose(&expected, relative, absolute) {
                    return (Outcome::Different, format!("{difference}; got {got:?}, recorded {expected:?}"));
                }
            }
            (Outcome::Equal, String::new())
        }
    }
}

/// The cases of an intended difference.
enum Cases {
    /// The cases with these numbers.
    Numbers(Vec<u64>),
    /// Each case whose error in TensorFlow contains this text.
    Message(String),
}

/// A line of the list of intended differences.
struct Difference {
    line: String,
    outcome: String,
    op: String,
    cases: Cases,
    /// Each dtype of the line, and whether the test has met a differing case of this dtype.
    dtypes: Vec<(String, bool)>,
}

impl Difference {
    /// Reads a line `OUTCOME OP DTYPE,.. CASE,..: REASON` or `OUTCOME OP DTYPE,.. "MESSAGE": REASON`.
    fn parse(line: &str) -> Difference {
        let [outcome, op, dtypes, rest] =
            line.splitn(4, ' ').collect::<Vec<_>>().try_into().expect("a line has four parts");
        let (cases, reason) = match rest.strip_prefix('"') {
            Some(rest) => {
                let (message, reason) = rest.split_once("\": ").expect("a message is quoted");
                (Cases::Message(message.to_string()), reason)
            }
            None => {
                let (numbers, reason) = rest.split_once(": ").expect("a line has a reason");
                (Cases::Numbers(numbers.split(',').map(|number| number.parse().unwrap()).collect()), reason)
            }
        };
        assert!(!reason.is_empty(), "{line}");
        Difference {
            line: line.to_string(),
            outcome: outcome.to_string(),
            op: op.to_string(),
            cases,
            dtypes: dtypes.split(',').map(|dtype| (dtype.to_string(), false)).collect(),
        }
    }

    /// Returns whether the line covers the case. If so, records that a case of this dtype differs.
    fn covers(&mut self, outcome: Outcome, case: &Json) -> bool {
        let is_listed = self.outcome == format!("{outcome:?}")
            && self.op == case["op"].as_str().unwrap()
            && match &self.cases {
                Cases::Numbers(numbers) => numbers.contains(&case["case"].as_u64().unwrap()),
                Cases::Message(text) => {
                    case["error"]["message"].as_str().is_some_and(|got| got.contains(text))
                }
            };
        let dtype = self.dtypes.iter_mut().find(|(dtype, _)| is_listed && *dtype == case["dtype"]);
        dtype.map(|(_, is_met)| *is_met = true).is_some()
    }
}

/// Reads the list of intended differences.
fn intended_differences() -> Vec<Difference> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/values_differences.txt");
    let text = std::fs::read_to_string(path).unwrap();
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    assert!(lines.is_sorted(), "the lines of {path} must be sorted");
    lines.into_iter().map(Difference::parse).collect()
}

/// This test checks the list of intended differences even if there are no recorded values.
#[test]
fn the_list_of_intended_differences_is_well_formed() {
    assert!(!intended_differences().is_empty());
}

/// The environment variable `SHAPEFLOW_CONFORMANCE` names a folder with `values/OP.jsonl` and `values/OP.npz`; without
/// the variable, the test is skipped. The test fails if a case that differs is in no line of the list, and if no case
/// differs for some dtype of a line. `SHAPEFLOW_LIST` names a file to which the test writes all differing cases.
#[test]
fn results_equal_the_recorded_values() {
    let Some(folder) = std::env::var_os("SHAPEFLOW_CONFORMANCE") else {
        println!("skipped: SHAPEFLOW_CONFORMANCE names no folder of recorded values");
        return;
    };
    let mut intended = intended_differences();
    let mut counts: BTreeMap<Outcome, usize> = BTreeMap::new();
    let (mut differing, mut unexpected) = (Vec::new(), Vec::new());
    let mut files: Vec<_> = std::fs::read_dir(Path::new(&folder).join("values"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "npz"))
        .collect();
    files.sort();
    for path in files {
        let arrays: BTreeMap<String, Tensor> = read_npz(&path).unwrap().into_iter().collect();
        for line in std::fs::read_to_string(path.with_extension("jsonl")).unwrap().lines() {
            let case: Json = serde_json::from_str(line).unwrap();
            // TensorFlow refused some calls before it had a graph.
            if case["graph_key"].is_null() {
                continue;
            }
            let (outcome, what) = run(&case, &arrays);
            *counts.entry(outcome).or_default() += 1;
            if matches!(outcome, Outcome::Equal | Outcome::RefusedByBoth) {
                continue;
            }
            let what = what.replace('\n', " | ");
            let text = format!("{outcome:?} {} {} {}: {what}", case["op"], case["dtype"], case["case"]);
            let covering = intended.iter_mut().filter_map(|line| line.covers(outcome, &case).then_some(()));
            if covering.count() == 0 {
                unexpected.push(text.clone());
            }
            differing.push(text);
        }
    }
    println!("{counts:?}, {} of them unexpected", unexpected.len());
    if let Some(path) = std::env::var_os("SHAPEFLOW_LIST") {
        std::fs::write(path, differing.join("\n")).unwrap();
    }
    assert!(counts.contains_key(&Outcome::Equal), "the folder must have cases");
    assert!(unexpected.is_empty(), "{} cases differ:\n{}", unexpected.len(), unexpected.join("\n"));
    let unmet = intended.iter().flat_map(|line| line.dtypes.iter().map(move |dtype| (&line.line, dtype)));
    let unmet: Vec<String> =
        unmet.filter(|(_, (_, met))| !met).map(|(line, (dtype, _))| format!("{dtype} of {line}")).collect();
    assert!(unmet.is_empty(), "listed, but no longer different:\n{}", unmet.join("\n"));
}
