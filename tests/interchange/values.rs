//! Results of graphs equal the values recorded from TensorFlow. The test is skipped if there are no recorded values.

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
    let has_no_kernel_there =
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
                && !has_no_kernel_there =>
        {
            (Outcome::NoKernel, error.message().to_string())
        }
        (Err(_), true) => (Outcome::RefusedByBoth, String::new()),
        (Err(error), false) => (Outcome::Refused, error.to_string()),
        (Ok(got), true) => (Outcome::Accepted, format!("{got:?} and {}", case["error"]["message"])),
        (Ok(got), false) => {
            for (got, json) in got.iter().zip(case["outputs"].as_array().unwrap()) {
                let expected = tensor(arrays, json).unwrap();
                let (relative, absolute) = match expected.dtype() {
                    DType::F32 | DType::C64 => (1e-5, 1e-6),
                    DType::F64 | DType::C128 => (1e-5, 1e-12),
                    DType::F16 => (1e-3, 1e-4),
                    DType::BF16 => (1e-2, 1e-3),
                    _ => (0.0, 0.0),
                };
                let same = got.dtype() == expected.dtype()
                    && got.sizes() == expected.sizes()
                    && (*got == expected
                        || relative > 0.0 && got.allclose(&expected, relative, absolute).is_ok());
                if !same {
                    return (Outcome::Different, format!("{got:?} and {expected:?}"));
                }
            }
            (Outcome::Equal, String::new())
        }
    }
}

/// The environment variable `SHAPEFLOW_CONFORMANCE` names a folder with `values/OP.jsonl` and `values/OP.npz`; without
/// the variable, the test is skipped. `SHAPEFLOW_LIST` names a file to which the test writes the differing cases.
#[test]
fn results_equal_the_recorded_values() {
    let Some(folder) = std::env::var_os("SHAPEFLOW_CONFORMANCE") else {
        println!("skipped: SHAPEFLOW_CONFORMANCE names no folder of recorded values");
        return;
    };
    let mut counts: BTreeMap<Outcome, usize> = BTreeMap::new();
    let mut listed = Vec::new();
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
            if !matches!(outcome, Outcome::Equal | Outcome::RefusedByBoth) {
                let what = what.replace('\n', " | ");
                listed.push(format!("{outcome:?} {} {} {}: {what}", case["op"], case["dtype"], case["case"]));
            }
        }
    }
    println!("{counts:?}");
    if let Some(path) = std::env::var_os("SHAPEFLOW_LIST") {
        std::fs::write(path, listed.join("\n")).unwrap();
    }
    let imported: usize =
        counts.iter().filter(|(outcome, _)| **outcome != Outcome::NotImported).map(|(_, count)| count).sum();
    assert!(imported > 0 && !counts.contains_key(&Outcome::NotImported), "{}", listed.join("\n"));
}
