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
    check_recorded("control.jsonl");
}

/// Most of these graphs have nodes that fail and that only a control edge reaches.
#[test]
fn rare_graphs_give_what_tensorflow_gives() {
    check_recorded("edge_cases.jsonl");
}

fn check_recorded(file: &str) {
    let path = format!("{}/tests/data/{file}", env!("CARGO_MANIFEST_DIR"));
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

/// Imports two nodes of these ops, which make four random numbers each, and returns the numbers.
fn random_numbers(options: &ImportOptions, ops: [&str; 2], attrs: &str) -> Result<Vec<Tensor>> {
    let shape = r#"node { name: "shape" op: "Const" attr { key: "dtype" value { type: DT_INT32 } }
        attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape { dim { size: 1 } } int_val: 4 } } } }"#;
    let nodes = ["a", "b"].iter().zip(ops).map(|(name, op)| {
        format!(
            r#"node {{ name: "{name}" op: "{op}" input: "shape" attr {{ key: "T" value {{ type: DT_INT32 }} }}
            attr {{ key: "dtype" value {{ type: DT_FLOAT }} }} {attrs} }}"#
        )
    });
    let text: String = [shape.to_string()].into_iter().chain(nodes).collect();
    let imported = Model::from_text(&text)?.import(None, options)?;
    imported.graph().compile([imported.value("a")?, imported.value("b")?])?.run_all(&[])
}

#[test]
fn random_nodes_without_a_seed_have_numbers_of_their_own() -> Result<()> {
    let seeded = |seed| ImportOptions::new().random_seed(seed);
    let ops = ["RandomStandardNormal"; 2];
    let first = random_numbers(&seeded(1), ops, "")?;
    assert_ne!(first[0], first[1]);
    assert_eq!(first, random_numbers(&seeded(1), ops, "")?);
    let other = random_numbers(&seeded(2), ops, "")?;
    assert!(other[0] != first[0] && other[1] != first[1]);
    // Nodes with the same seed of their own give the same numbers, in every import.
    let attr = r#"attr { key: "seed" value { i: 3 } }"#;
    let given = random_numbers(&seeded(1), ["RandomUniform"; 2], attr)?;
    assert_eq!(given[0], given[1]);
    assert_eq!(given, random_numbers(&seeded(2), ["RandomUniform"; 2], attr)?);
    Ok(())
}

#[test]
fn random_nodes_in_loops_are_refused() {
    let int = |name: &str| format!(r#"{name} {{ name: "i" type: DT_INT32 }}"#);
    let function = |name: &str, output: &str, nodes: &str| {
        format!(
            r#"function {{ signature {{ name: "{name}" {} output_arg {{ name: "o" type: {output} }} }} {nodes} }}"#,
            int("input_arg")
        )
    };
    let constant = r#"node_def { name: "shape" op: "Const" attr { key: "dtype" value { type: DT_INT32 } }
        attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape { dim { size: 0 } } } } } }"#;
    let draw = r#"node_def { name: "r" op: "RandomUniformInt" input: "shape:output:0" input: "i" input: "i"
        attr { key: "T" value { type: DT_INT32 } } attr { key: "Tout" value { type: DT_INT32 } } }
        ret { key: "o" value: "r:output:0" }"#;
    let less = r#"node_def { name: "l" op: "Less" input: "i" input: "i" attr { key: "T" value { type: DT_INT32 } } }
        ret { key: "o" value: "l:z:0" }"#;
    let text = format!(
        r#"library {{ {} {} }}
        node {{ name: "x" op: "Placeholder" attr {{ key: "dtype" value {{ type: DT_INT32 }} }}
            attr {{ key: "shape" value {{ shape {{ }} }} }} }}
        node {{ name: "w" op: "While" input: "x" attr {{ key: "T" value {{ list {{ type: DT_INT32 }} }} }}
            attr {{ key: "cond" value {{ func {{ name: "c" }} }} }}
            attr {{ key: "body" value {{ func {{ name: "b" }} }} }} }}"#,
        function("c", "DT_BOOL", less),
        function("b", "DT_INT32", &format!("{constant} {draw}"))
    );
    let imported = Model::from_text(&text).unwrap().import(None, &ImportOptions::new()).unwrap();
    let error = imported.check().unwrap_err().to_string();
    assert!(error.contains("RandomUniformInt is not supported in a loop"), "{error}");
}
