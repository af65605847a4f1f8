//! Graphs with branches, loops and tensor lists give the results recorded from TensorFlow.

use serde_json::Value as Json;
use shapeflow::interchange::{
    ComputedBy, ImportOptions, Imported, Model, ops_missing_in_tensorflow, tensor_names, to_graphdef,
    to_pbtxt,
};
use shapeflow::{
    Backend, CompileOptions, DType, Graph, Result, Tensor, TensorShape, TensorView, Value, shape,
};

use crate::roundtrip::write_for_tensorflow;

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
    differences_of(&imported, case, backend)
}

/// Returns the tensors that a case fetches.
fn fetched<'g>(imported: &'g Imported, case: &Json) -> Result<Vec<Value<'g>>> {
    case["fetches"].as_array().unwrap().iter().map(|name| imported.value(name.as_str().unwrap())).collect()
}

/// Runs an import of a case, and returns what differs from TensorFlow's results.
fn differences_of(imported: &Imported, case: &Json, backend: Backend) -> Result<Vec<String>> {
    let outputs = fetched(imported, case)?;
    let exe = imported.graph().compile_with(&CompileOptions::new().backend(backend), &outputs)?;
    let mut wrong = Vec::new();
    for run in case["runs"].as_array().unwrap() {
        let needed = exe.inputs().iter().filter(|port| port.needed);
        let feeds: Vec<Tensor> = needed.map(|port| tensor(&run["feeds"][&port.name])).collect();
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
/// Graphs with lists, loops and branches are written with TensorFlow's own ops, and read back. Only draws with the
/// state of a generator have no op in TensorFlow.
#[test]
fn exported_control_flow_gives_what_tensorflow_gives() -> Result<()> {
    let cases = std::fs::read_to_string("tests/data/control.jsonl").unwrap();
    for line in cases.lines() {
        let case: Json = serde_json::from_str(line).unwrap();
        let name = case["name"].as_str().unwrap();
        let imported =
            Model::from_text(case["graph"].as_str().unwrap())?.import(None, &ImportOptions::new())?;
        let outputs = fetched(&imported, &case)?;
        let missing = ops_missing_in_tensorflow(imported.graph(), &outputs)?;
        assert!(missing.iter().all(|op| op.ends_with("_with_state")), "{name}: {missing:?}");
        let bytes = to_graphdef(imported.graph(), &outputs)?;
        let read = Model::from_bytes(&bytes)?.import(None, &ImportOptions::new())?;
        let wrong = differences_of(&read, &case, Backend::Jit)?;
        assert!(wrong.is_empty(), "{name}: {wrong:?}");
        let runs = case["runs"].as_array().unwrap();
        let Some(run) = runs.iter().find(|run| missing.is_empty() && run.get("outputs").is_some()) else {
            continue;
        };
        let feeds = run["feeds"].as_object().unwrap().iter();
        let feeds: Vec<(&str, Tensor)> = feeds.map(|(name, value)| (name.as_str(), tensor(value))).collect();
        let results: Vec<Tensor> = run["outputs"].as_array().unwrap().iter().map(tensor).collect();
        let feeds = feeds.iter().map(|(name, value)| (*name, value));
        let fetches = tensor_names(imported.graph(), &outputs)?;
        write_for_tensorflow(&format!("control_{name}"), &bytes, feeds, &fetches, &results)?;
    }
    Ok(())
}

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

/// A loop that draws an integer in each iteration of the inner one of two loops, and appends it to a list. `n` is the
/// size of each draw.
#[test]
fn random_nodes_in_loops_draw_other_numbers_in_each_iteration() -> Result<()> {
    let state = |name: &str| {
        format!(
            r#"{name} {{ name: "i" type: DT_INT32 }} {name} {{ name: "n" type: DT_INT32 }} {name} {{ name: "x" type: DT_INT64 }}"#
        )
    };
    let function = |name: &str, is_condition: bool, nodes: &str| {
        let outputs = match is_condition {
            true => r#"output_arg { name: "o" type: DT_BOOL }"#.to_string(),
            false => state("output_arg")
                .replace(r#""i""#, r#""j""#)
                .replace(r#""n""#, r#""m""#)
                .replace(r#""x""#, r#""y""#),
        };
        format!(r#"function {{ signature {{ name: "{name}" {} {outputs} }} {nodes} }}"#, state("input_arg"))
    };
    let int = |name: &str, value: i32| {
        format!(
            r#"{name} op: "Const" attr {{ key: "dtype" value {{ type: DT_INT32 }} }}
            attr {{ key: "value" value {{ tensor {{ dtype: DT_INT32 tensor_shape {{ }} int_val: {value} }} }} }} }}"#
        )
    };
    let t = |dtype: &str| format!(r#"attr {{ key: "T" value {{ type: {dtype} }} }}"#);
    let less = |name: &str, limit: i32| {
        let nodes = int(r#"node_def { name: "limit""#, limit)
            + &format!(
                r#"node_def {{ name: "l" op: "Less" input: "i" input: "limit:output:0" {} }} ret {{ key: "o" value: "l:z:0" }}"#,
                t("DT_INT32")
            );
        function(name, true, &nodes)
    };
    let next = int(r#"node_def { name: "one""#, 1)
        + &format!(
            r#"node_def {{ name: "add" op: "AddV2" input: "i" input: "one:output:0" {} }}
            ret {{ key: "j" value: "add:z:0" }} ret {{ key: "m" value: "n" }}"#,
            t("DT_INT32")
        );
    let lists = |body: &str, condition: &str| {
        format!(
            r#"attr {{ key: "T" value {{ list {{ type: DT_INT32 type: DT_INT32 type: DT_INT64 }} }} }}
            attr {{ key: "cond" value {{ func {{ name: "{condition}" }} }} }} attr {{ key: "body" value {{ func {{ name: "{body}" }} }} }}"#
        )
    };
    let draw = int(r#"node_def { name: "axis""#, 0)
        + &int(r#"node_def { name: "first""#, 0)
        + &format!(
            r#"node_def {{ name: "low" op: "Const" attr {{ key: "dtype" value {{ type: DT_INT64 }} }} attr {{ key: "value"
                value {{ tensor {{ dtype: DT_INT64 tensor_shape {{ }} int64_val: 0 }} }} }} }}
            node_def {{ name: "high" op: "Const" attr {{ key: "dtype" value {{ type: DT_INT64 }} }} attr {{ key: "value"
                value {{ tensor {{ dtype: DT_INT64 tensor_shape {{ }} int64_val: 4611686018427387904 }} }} }} }}
            node_def {{ name: "shape" op: "ExpandDims" input: "SIZE" input: "axis:output:0" {} attr {{ key: "Tdim" value {{ type: DT_INT32 }} }} }}
            node_def {{ name: "r" op: "RandomUniformInt" input: "shape:output:0" input: "low:output:0" input: "high:output:0"
                {} attr {{ key: "Tout" value {{ type: DT_INT64 }} }} }}
            node_def {{ name: "c" op: "ConcatV2" input: "x" input: "r:output:0" input: "axis:output:0" {}
                attr {{ key: "N" value {{ i: 2 }} }} attr {{ key: "Tidx" value {{ type: DT_INT32 }} }} }}
            ret {{ key: "y" value: "c:output:0" }}"#,
            t("DT_INT32"),
            t("DT_INT32"),
            t("DT_INT64")
        );
    // The import knows the size of a draw, or does not.
    for size in ["one:output:0", "n"] {
        let inner = function("inner", false, &(next.clone() + &draw.replace("SIZE", size)));
        let outer = next.clone()
            + &int(r#"node_def { name: "zero""#, 0)
            + &format!(
                r#"node_def {{ name: "w" op: "While" input: "zero:output:0" input: "n" input: "x" {} }} ret {{ key: "y" value: "w:output:2" }}"#,
                lists("inner", "few")
            );
        let input = |name: &str, dtype: &str, shape: &str| {
            format!(
                r#"node {{ name: "{name}" op: "Placeholder" attr {{ key: "dtype" value {{ type: {dtype} }} }}
                attr {{ key: "shape" value {{ shape {{ {shape} }} }} }} }}"#
            )
        };
        let text = format!(
            r#"library {{ {} {} {inner} {} }} {} {} {} node {{ name: "w" op: "While" input: "zero" input: "n" input: "x" {} }}"#,
            less("few", 3),
            less("many", 4),
            function("outer", false, &outer),
            input("n", "DT_INT32", ""),
            input("x", "DT_INT64", "dim { size: -1 }"),
            int(r#"node { name: "zero""#, 0),
            lists("outer", "many")
        );
        let imported = Model::from_text(&text)?.import(None, &ImportOptions::new())?;
        imported.check()?;
        let exe = imported.graph().compile(imported.value("w:2")?)?;
        let start = Tensor::zeros(DType::I64, &[0])?;
        let count = Tensor::scalar(1i32);
        let feeds = [("x", start.view()), ("n", count.view())];
        let run = || exe.run_named(&feeds)?.iter().next().unwrap().1.to_vec::<i64>();
        let drawn = run()?;
        let different: std::collections::HashSet<i64> = drawn.iter().copied().collect();
        assert_eq!((drawn.len(), different.len()), (12, 12), "{drawn:?}");
        assert_eq!(run()?, drawn, "every run has the same numbers");
    }
    Ok(())
}

/// A body that inference refuses leaves the graph. Its nodes are listed and counted all the same.
#[test]
fn usage_counts_the_nodes_of_a_refused_loop() -> Result<()> {
    let graph = Graph::new();
    let x = graph.input("x", DType::F32, TensorShape::unranked())?;
    let last = graph.while_loop(
        &[graph.constant(0i64)?, x],
        |s| s[0].less(2i64),
        |s| Ok([s[0] + 1i64, s[1].reverse([1])?]),
    )?;
    let model = Model::from_text(&to_pbtxt(&graph, &last)?)?;
    let imported = model.import(None, &ImportOptions::new().shape("x", shape![3]))?;
    let refused = imported.nodes().find_map(|node| node.error).expect("the loop is refused");
    assert!(refused.message().contains("axis"), "{refused}");
    let usage = imported.op_usage(&[])?;
    let counted: Vec<&str> = usage.iter().map(|usage| usage.op.as_str()).collect();
    assert!(counted.contains(&"While") && counted.contains(&"ReverseV2"), "{counted:?}");
    // The other nodes of the body are not hidden.
    let usage = imported.op_usage_of_fetches();
    let by = |op: &str| usage.iter().find(|usage| usage.op == op).unwrap().computed_by;
    assert_eq!((by("ReverseV2"), by("AddV2")), (ComputedBy::Refused, ComputedBy::Kernels));
    Ok(())
}
