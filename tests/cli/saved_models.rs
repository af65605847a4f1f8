//! Commands on SavedModels: signatures, variables, and what computes the ops.

use super::*;

const LAYERS: &str = "tests/data/saved_models/layers";

#[test]
fn a_signature_names_feeds_and_results() {
    let folder = Folder::new("signatures");
    let (feeds, out) = (folder.file("feeds.npz"), folder.file("out.npz"));
    let b = Tensor::from([[1.0f32, 2.0], [3.0, 4.0]]);
    let a = Tensor::scalar(2.0f32);
    write_npz(&feeds, [("a", &a), ("b", &b)]).unwrap();
    printed(&["run", LAYERS, "--signature", "scale", "--feeds", &feeds, "--out", &out]);
    let results = read_npz(&out).unwrap();
    // The bias is [0.5, -0.25].
    assert_eq!(results.tensor("y").unwrap(), &Tensor::from([[1.75f32, 3.75], [5.75, 7.75]]));
    assert_eq!(results.tensor("rows").unwrap(), &Tensor::scalar(2i32));
    let times =
        json(&["bench", LAYERS, "--signature", "scale", "--feeds", &feeds, "--repeat", "2", "--json"]);
    assert!(times["run_us"]["min"].is_number());
    let (code, _, error) = refused(&["run", LAYERS, "--signature", "none", "--feeds", &feeds]);
    assert_eq!(code, 2);
    assert!(error.contains("must have a signature none, got count, scale, serving_default"), "{error}");
    // A tensor in a function has the name of the call before its own.
    let inner = json(&["infer", LAYERS, "--json"]);
    let names =
        inner["nodes"].as_array().unwrap().iter().map(|node| node["name"].as_str().unwrap().to_string());
    let relu = names.into_iter().find(|name| name.ends_with("/Relu")).expect("the model has a hidden layer");
    let x = folder.file("x.npz");
    write_npz(&x, [("x", &Tensor::from([[1.0f32, 2.0, 3.0]]))]).unwrap();
    let text = printed(&["run", LAYERS, "--signature", "serving_default", "--feeds", &x, "--fetch", &relu]);
    assert!(text.contains(&format!("{relu}: f32[1, ")), "{text}");
    // A model without a signature computes the tensors that no node reads.
    let text = printed(&["run", MODEL, "--feeds", FEEDS]);
    assert!(text.contains("probabilities: f32[5, 3]") && text.contains("class: i64[5]"), "{text}");
}

#[test]
fn errors_name_inputs_as_the_signature_does() {
    let folder = Folder::new("signature_errors");
    let x = folder.file("x.npz");
    let fetch = |more: &[&str]| refused(&[&["run", LAYERS], more].concat());
    let (code, _, error) = fetch(&[]);
    assert_eq!((code, &*error), (2, "error: x f32[x.0, 3] must be fed; give --feeds FEEDS.npz\n"));
    write_npz(&x, [("x", &Tensor::from([[1i32, 2, 3]]))]).unwrap();
    let (code, _, error) = fetch(&["--feeds", &x]);
    assert!(
        code == 2 && error.starts_with(&format!("error: x must be f32[x.0, 3], {x} has i32[1, 3]")),
        "{error}"
    );
    write_npz(&x, [("xx", &Tensor::from([[1.0f32, 2.0, 3.0]]))]).unwrap();
    let (code, _, error) = fetch(&["--feeds", &x]);
    assert!(code == 2 && error.contains("a fed tensor must be in the model, got xx; is it x?"), "{error}");
}

#[test]
fn check_lists_the_ops_by_what_computes_them() {
    let text = printed(&["check", LAYERS]);
    let has = |words: &[&str]| text.lines().any(|line| line.split_whitespace().collect::<Vec<_>>() == words);
    assert!(has(&["MatMul", "2", "kernels", "2", "f32"]), "{text}");
    assert!(has(&["input", "x", "f32[x.0,", "3]"]), "{text}");
    assert!(text.starts_with("the model can run: 9 nodes in kernels, 0 on the host\n"), "{text}");
    assert!(text.contains("a run determines 1 of 2 output shapes\n"), "{text}");
    assert!(text.contains("\nthe import resolves ReadVariableOp ×4, VarHandleOp ×4, "), "{text}");
    let document = json(&["check", "tests/data/saved_models/tables", "--json"]);
    assert_eq!(document["can_run"], true);
    let ops = document["ops"].as_array().unwrap();
    let find = ops.iter().find(|op| op["op"] == "LookupTableFindV2").unwrap();
    assert_eq!(find["computed_by"], "host");
    assert_eq!(find["nodes"].as_array().unwrap().len(), 3);
    let (code, text, error) = refused(&["check", LAYERS, "--signature", "count"]);
    assert_eq!(code, 2);
    assert!(error.contains("the variable steps must only be read"), "{error}{text}");
    assert!(text.contains("\nAssignAddVariableOp "), "{text}");
}

#[test]
fn check_lists_the_ops_of_a_model_that_is_not_imported() {
    let folder = Folder::new("cycle");
    let model = folder.file("cycle.pbtxt");
    let node = |name: &str, input: &str| {
        format!(
            "node {{ name: \"{name}\" op: \"Neg\" input: \"{input}\" attr {{ key: \"T\" value {{ type: DT_FLOAT }} }} }}"
        )
    };
    std::fs::write(&model, node("a", "b") + &node("b", "a")).unwrap();
    let (code, text, error) = refused(&["check", &model]);
    assert_eq!(
        (code, &*text),
        (2, "the model cannot run: the import fails\n\nop   nodes\nNeg  2      a, b\n"),
        "{error}"
    );
    let (_, text, _) = refused(&["check", &model, "--json"]);
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document["ops"][0]["nodes"], serde_json::json!(["a", "b"]));
    assert!(document["error"]["message"].is_string(), "{text}");
}

#[test]
fn a_signature_names_inputs_and_outputs_also_with_fetches() {
    let folder = Folder::new("signature_export");
    let (file, feeds) = (folder.file("model.pb"), folder.file("x.npz"));
    write_npz(&feeds, [("x", &Tensor::from([[1.0f32, 2.0, 3.0]]))]).unwrap();
    let wanted = printed(&["run", LAYERS, "--feeds", &feeds, "--fetch", "scores"]);
    assert!(wanted.starts_with("scores: f32[1, 2]"), "{wanted}");
    // A node of the graph, the handle of a variable, has the name `steps`.
    let note = "note: the output steps is named steps_2 in the file\n";
    for (fetch, note) in [(&["--fetch", "scores"][..], ""), (&[], note)] {
        let dumped = refused(&[&["dump", LAYERS, "--format", "pb", "-o", &file][..], fetch].concat());
        assert_eq!(dumped, (0, String::new(), note.to_string()));
        // The exported model takes the input and gives the output under the names of the signature.
        let results = printed(&["run", &file, "--feeds", &feeds]);
        assert!(results.contains(&wanted), "{results}");
        assert_eq!(results.contains("steps_2: "), fetch.is_empty(), "{results}");
    }
    let document = json(&["check", LAYERS, "--fetch", "scores", "--json"]);
    assert_eq!(document["inputs"], serde_json::json!([{"name": "x", "dtype": "f32", "shape": "[x.0, 3]"}]));
}

/// `p = relu(a)` and `q = -b`: the signature gives these names to the nodes x, k, y and z.
const TWO_INPUTS: &str = r#"
    saved_model_schema_version: 1
    meta_graphs {
        graph_def {
            node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
            node { name: "k" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
            node { name: "y" op: "Relu" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
            node { name: "z" op: "Neg" input: "k" attr { key: "T" value { type: DT_FLOAT } } }
        }
        signature_def {
            key: "serving_default"
            value {
                inputs { key: "a" value { name: "x:0" dtype: DT_FLOAT } }
                inputs { key: "b" value { name: "k:0" dtype: DT_FLOAT } }
                outputs { key: "p" value { name: "y:0" dtype: DT_FLOAT } }
                outputs { key: "q" value { name: "z:0" dtype: DT_FLOAT } }
            }
        }
    }"#;

#[test]
fn fetches_show_the_inputs_that_they_need() {
    let folder = Folder::new("needed_inputs");
    let model = folder.file("model.pbtxt");
    std::fs::write(&model, TWO_INPUTS).unwrap();
    let ports = |more: &[&str], ports: &str| {
        let document = json(&[&["check", &model, "--json"], more].concat());
        let ports = document[ports].as_array().unwrap().iter();
        ports.map(|port| port["name"].as_str().unwrap().to_string()).collect::<Vec<_>>()
    };
    assert_eq!((ports(&[], "inputs"), ports(&[], "outputs")), (names(&["a", "b"]), names(&["p", "q"])));
    let fetch = &["--fetch", "q"];
    assert_eq!((ports(fetch, "inputs"), ports(fetch, "outputs")), (names(&["b"]), names(&["q"])));
    let text = printed(&["dump", &model, "--format", "pbtxt"]);
    assert!(["a", "b", "p", "q"].iter().all(|name| text.contains(&format!("name: \"{name}\""))), "{text}");
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| name.to_string()).collect()
}

#[test]
fn dumps_show_handles_as_resources() {
    let text = printed(&["dump", LAYERS]);
    let handles: Vec<&str> = text.lines().filter(|line| line.contains("VarHandleOp(")).collect();
    assert_eq!(handles.len(), 4, "{text}");
    assert!(handles.iter().all(|line| line.contains(": resource = VarHandleOp()")), "{text}");
    let document = json(&["dump", "tests/data/saved_models/tables", "--json"]);
    let nodes = document["nodes"].as_array().unwrap();
    let table = nodes.iter().find(|node| node["op"] == "HashTableV2").unwrap();
    assert_eq!(
        (&table["outputs"][0]["dtype"], &table["outputs"][0]["text"]),
        (&serde_json::json!("resource"), &serde_json::json!("resource"))
    );
}

#[test]
fn infer_shows_the_nodes_of_functions() {
    let text = printed(&["infer", LAYERS]);
    let has = |words: &[&str]| text.lines().any(|line| line.split_whitespace().collect::<Vec<_>>() == words);
    let inner = "StatefulPartitionedCall_2/StatefulPartitionedCall";
    assert!(has(&[&format!("{inner}/Relu"), "Relu", "f32[x.0,", "4]"]), "{text}");
    // A call in a function has the outputs of the function.
    assert!(has(&[inner, "StatefulPartitionedCall", "f32[x.0,", "2],", "i64[]"]), "{text}");
    assert!(text.ends_with("computed: 9 nodes by kernels, 0 on the host\n"), "{text}");
    // A variable has a handle, in the main graph and in a function.
    let is_handle = |line: &&str| line.contains(" VarHandleOp ");
    assert!(text.lines().filter(is_handle).all(|line| line.ends_with(" resource")), "{text}");
    let document = json(&["infer", "tests/data/saved_models/tables", "--json"]);
    let nodes = document["nodes"].as_array().unwrap();
    let table = nodes.iter().find(|node| node["op"] == "HashTableV2").unwrap();
    assert_eq!(table["outputs"], serde_json::json!([{"dtype": "resource", "shape": null}]));
    // The names of dimensions have only the scopes that distinguish them.
    let text = printed(&["infer", "tests/data/saved_models/gru"]);
    assert!(text.contains("f32[TensorListStack.1, TensorListStack.0, 16]"), "{text}");
    // Nodes inside loops and branches have dtypes and shapes.
    let text = printed(&["infer", "tests/data/saved_models/frozen_loop"]);
    // An identity of a list, which makes no node of the graph, has the type of the list.
    for row in [
        "while/while/mul Mul f32[x.0, 4]",
        "while/cond/Sqrt Sqrt f32[]",
        "while/Identity_2 Identity variant[]",
    ] {
        let words = |line: &str| line.split_whitespace().map(str::to_string).collect::<Vec<_>>();
        assert!(text.lines().any(|line| words(line) == words(row)), "{text}");
    }
    // The state of a loop may be handles.
    let text = printed(&["infer", "tests/data/saved_models/lstm"]);
    let state = text.lines().find(|line| line.contains("/while ")).unwrap();
    assert!(state.ends_with("variant[], resource, resource, i32[lengths.0]"), "{state}");
    let document = json(&["infer", "tests/data/saved_models/frozen_loop", "--json"]);
    let guard = serde_json::json!({"text": "range.0 >= 0", "node": "TensorArrayStack/range"});
    assert_eq!(document["guards"], serde_json::json!([guard]));
}

#[test]
fn constants_need_no_feeds() {
    let folder = Folder::new("constants");
    let model = folder.file("constants.pbtxt");
    let value = "attr { key: \"value\" value { tensor { dtype: DT_INT32 tensor_shape { } int_val: 7 } } }";
    let dtype = "attr { key: \"dtype\" value { type: DT_INT32 } }";
    std::fs::write(&model, format!("node {{ name: \"seven\" op: \"Const\" {dtype} {value} }}")).unwrap();
    assert_eq!(printed(&["run", &model]), "seven: i32[] 7\n");
}

#[test]
fn a_file_keeps_the_variables_that_a_model_writes() {
    let folder = Folder::new("state");
    let (feeds, state) = (folder.file("feeds.npz"), folder.file("state.npz"));
    write_npz(&feeds, [("by", &Tensor::scalar(2i64))]).unwrap();
    let count = ["run", LAYERS, "--signature", "count", "--feeds", &feeds];
    let keeping = [&count[..], &["--state", &state]].concat();
    for expected in ["steps: i64[] 5", "steps: i64[] 7"] {
        assert_eq!(printed(&keeping).trim(), expected);
    }
    assert_eq!(read_npz(&state).unwrap().tensor("steps").unwrap(), &Tensor::scalar(7i64));
    let (code, _, error) = refused(&count);
    assert!(code == 2 && error.contains("--state FILE"), "{error}");
    let others = folder.file("others.npz");
    write_npz(&others, [("a", &Tensor::scalar(2.0f32)), ("b", &Tensor::from([[1.0f32]]))]).unwrap();
    // A signature may use other variables, which the file may have too.
    let scale = ["run", LAYERS, "--signature", "scale", "--feeds", &others, "--state", &state];
    let (code, _, error) = refused(&scale);
    assert!(code == 2 && error.contains("got steps; the signature uses bias"), "{error}");
    let bias = Tensor::from([1.0f32, 2.0]);
    write_npz(&state, [("steps", &Tensor::scalar(7i64)), ("bias", &bias)]).unwrap();
    assert!(printed(&scale).contains("[[-1.0]]"));
    assert_eq!(printed(&keeping).trim(), "steps: i64[] 9");
    let kept = read_npz(&state).unwrap();
    assert_eq!((kept.tensor("steps").unwrap(), kept.tensor("bias").unwrap()), (&Tensor::scalar(9i64), &bias));
    let checked = printed(&["check", LAYERS, "--signature", "count", "--stateful"]);
    assert!(checked.contains("the model can run") && checked.contains("input   steps  i64[]"), "{checked}");
    let (code, _, error) = refused(&["check", LAYERS, "--signature", "count"]);
    assert!(code == 2 && error.contains("--stateful"), "{error}");
    write_npz(&state, [("step", &Tensor::scalar(7i64))]).unwrap();
    let (code, _, error) = refused(&keeping);
    assert!(code == 2 && error.contains("got step; the signature uses steps"), "{error}");
}

/// `p = relu(alpha)` by the signature `first`, and `q = -beta` by the signature `second`. Both read the node x.
const TWO_SIGNATURES: &str = r#"
    saved_model_schema_version: 1
    meta_graphs {
        graph_def {
            node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
            node { name: "y" op: "Relu" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
            node { name: "z" op: "Neg" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
        }
        signature_def {
            key: "first"
            value {
                inputs { key: "alpha" value { name: "x:0" dtype: DT_FLOAT } }
                outputs { key: "p" value { name: "y:0" dtype: DT_FLOAT } }
            }
        }
        signature_def {
            key: "second"
            value {
                inputs { key: "beta" value { name: "x:0" dtype: DT_FLOAT } }
                outputs { key: "q" value { name: "z:0" dtype: DT_FLOAT } }
            }
        }
    }"#;

#[test]
fn several_signatures_are_listed() {
    let folder = Folder::new("two_signatures");
    let model = folder.file("model.pbtxt");
    std::fs::write(&model, TWO_SIGNATURES).unwrap();
    let lines = ["signature first: alpha → p", "signature second: beta → q"];
    for command in ["infer", "check"] {
        let listed = |more: &[&str]| -> Vec<String> {
            let text = printed(&[&[command, &model], more].concat());
            text.lines().filter(|line| line.starts_with("signature ")).map(str::to_string).collect()
        };
        assert_eq!(listed(&[]), lines, "{command}");
        assert_eq!(
            listed(&["--signature", "first"]),
            [&format!("{} (in use)", lines[0]), lines[1]],
            "{command}"
        );
        let document = json(&[command, &model, "--signature", "second", "--json"]);
        let first =
            serde_json::json!({"name": "first", "inputs": ["alpha"], "outputs": ["p"], "in_use": false});
        let second =
            serde_json::json!({"name": "second", "inputs": ["beta"], "outputs": ["q"], "in_use": true});
        assert_eq!(document["signatures"], serde_json::json!([first, second]), "{command}");
        assert!(
            printed(&[command, LAYERS]).contains("\nsignature serving_default: x → scores, steps (in use)\n")
        );
    }
    // One signature is no choice.
    std::fs::write(&model, TWO_INPUTS).unwrap();
    assert!(!printed(&["infer", &model]).contains("signature "));
}

#[test]
fn a_name_of_another_signature_tells_which() {
    let folder = Folder::new("other_signature");
    let (model, feeds) = (folder.file("model.pbtxt"), folder.file("feeds.npz"));
    std::fs::write(&model, TWO_SIGNATURES).unwrap();
    let help = "\n  help: `ImportOptions::signature` chooses a signature, as --signature does\n";
    let feed = |name: &str, more: &[&str]| {
        write_npz(&feeds, [(name, &Tensor::from([1.0f32]))]).unwrap();
        refused(&[&["run", &model, "--feeds", &feeds], more].concat()).2
    };
    let fetch = |name: &str, more: &[&str]| {
        write_npz(&feeds, [("x", &Tensor::from([1.0f32]))]).unwrap();
        refused(&[&["run", &model, "--feeds", &feeds, "--fetch", name], more].concat()).2
    };
    let first = ["--signature", "first"];
    let (code, _, error) = refused(&["run", &model]);
    assert!(
        code == 2 && error.contains("--signature must choose one of the signatures first, second"),
        "{error}"
    );
    for more in [&[][..], &first] {
        let message =
            "error: a fed tensor must be in the model, got beta; it is an input of the signature second";
        assert_eq!(feed("beta", more), format!("{message}{help}"));
        let message =
            "error: a fed tensor must be in the model, got bets; is it beta of the signature second?";
        assert_eq!(feed("bets", more), format!("{message}{help}"));
        let message = "error: there is no node named q; it is an output of the signature second";
        assert_eq!(fetch("q", more), format!("{message}{help}"));
    }
    let message = "error: a fed tensor must be in the model, got alpa; is it alpha?\n";
    assert_eq!(feed("alpa", &first), message);
}
