//! Graphs with branches, loops and tensor lists give the results recorded from TensorFlow.

use serde_json::Value as Json;
use shapeflow::interchange::{ImportOptions, Model};
use shapeflow::{Backend, CompileOptions, Result, Tensor, TensorView};

/// Parses the protobuf text of a tensor.
fn tensor(text: &Json) -> Tensor {
    let text = text.as_str().unwrap();
    let dtype = text.split(" tensor_shape").next().unwrap().trim_start_matches("dtype: ");
    let node = format!(
        r#"node {{ name: "v" op: "Const" attr {{ key: "dtype" value {{ type: {dtype} }} }}
           attr {{ key: "value" value {{ tensor {{ {text} }} }} }} }}"#
    );
    let imported = Model::from_text(&node).unwrap().import(None, &ImportOptions::new()).unwrap();
    imported.graph().compile(imported.value("v").unwrap()).unwrap().run_all(&[]).unwrap().swap_remove(0)
}

/// Runs a case, and returns what differs from TensorFlow's results.
fn differences(case: &Json, backend: Backend) -> Result<Vec<String>> {
    let imported = Model::from_text(case["graph"].as_str().unwrap())?.import(None, &ImportOptions::new())?;
    let fetches = case["fetches"].as_array().unwrap().iter();
    let outputs: Vec<_> =
        fetches.map(|name| imported.value(name.as_str().unwrap())).collect::<Result<_>>()?;
    let exe = imported.graph().compile_with(&CompileOptions::new().backend(backend), &outputs)?;
    let mut wrong = Vec::new();
    for run in case["runs"].as_array().unwrap() {
        let feeds: Vec<Tensor> = exe.inputs().iter().map(|port| tensor(&run["feeds"][&port.name])).collect();
        let views: Vec<TensorView<'_>> = feeds.iter().map(Tensor::view).collect();
        let results = exe.run_all(&views);
        match (run.get("outputs"), results) {
            (None, Err(_)) => {}
            (None, Ok(_)) => wrong.push(format!("TensorFlow refuses {}", run["feeds"])),
            (Some(_), Err(error)) => wrong.push(format!("{}: {error}", run["feeds"])),
            (Some(expected), Ok(results)) => {
                for ((number, got), expected) in results.iter().enumerate().zip(expected.as_array().unwrap())
                {
                    let expected = tensor(expected);
                    let promised = &exe.outputs()[number].shape;
                    let is_promised = promised.dims().is_none_or(|dims| {
                        dims.len() == got.sizes().len()
                            && dims.iter().zip(got.sizes()).all(|(dim, size)| {
                                dim.as_known().is_none_or(|known| usize::try_from(known) == Ok(*size))
                            })
                    });
                    let is_equal = got.sizes() == expected.sizes()
                        && (*got == expected || got.allclose(&expected, 1e-6, 1e-6).is_ok());
                    if !is_equal || !is_promised {
                        wrong.push(format!("{}: output {number}: {got} instead of {expected}", run["feeds"]));
                    }
                }
            }
        }
    }
    Ok(wrong)
}

#[test]
fn control_flow_gives_what_tensorflow_gives() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/control.jsonl");
    let text = std::fs::read_to_string(path).unwrap();
    let mut wrong = Vec::new();
    for line in text.lines() {
        let case: Json = serde_json::from_str(line).unwrap();
        for backend in [Backend::default(), Backend::Interpreter] {
            match differences(&case, backend) {
                Ok(differences) => {
                    wrong.extend(differences.into_iter().map(|text| format!("{}: {text}", case["name"])));
                }
                Err(error) => wrong.push(format!("{}: {error}", case["name"])),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
