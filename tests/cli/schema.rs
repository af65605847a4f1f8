//! The schema of the JSON documents, which every command's document fits.

use serde_json::{Value, json};

use super::{FEEDS, Folder, MODEL, printed, refused};

/// Checks a value against a schema. The schema may use the keywords of `src/bin/shapeflow/schema.json`.
fn check(schema: &Value, root: &Value, value: &Value, path: &str) -> Result<(), String> {
    let object = schema.as_object().ok_or(format!("{path}: the schema is no object"))?;
    for (keyword, argument) in object {
        match keyword.as_str() {
            "description" | "$schema" | "title" | "$defs" | "required" => {}
            "$ref" => {
                let name = argument.as_str().unwrap().strip_prefix("#/$defs/").unwrap();
                check(&root["$defs"][name], root, value, path)?;
            }
            "type" => {
                let types: Vec<&Value> =
                    argument.as_array().map_or(vec![argument], |types| types.iter().collect());
                let is = |kind: &str| match kind {
                    "object" => value.is_object(),
                    "array" => value.is_array(),
                    "string" => value.is_string(),
                    "number" => value.is_number(),
                    "integer" => value.is_i64() || value.is_u64(),
                    "boolean" => value.is_boolean(),
                    "null" => value.is_null(),
                    _ => panic!("{kind} is no type"),
                };
                if !types.iter().any(|kind| is(kind.as_str().unwrap())) {
                    return Err(format!("{path} must be {argument}, got {value}"));
                }
            }
            "enum" => {
                if !argument.as_array().unwrap().contains(value) {
                    return Err(format!("{path} must be one of {argument}, got {value}"));
                }
            }
            "anyOf" => {
                let results =
                    argument.as_array().unwrap().iter().map(|choice| check(choice, root, value, path));
                let errors: Vec<String> = results.filter_map(Result::err).collect();
                if errors.len() == argument.as_array().unwrap().len() {
                    return Err(errors.join("; "));
                }
            }
            "items" => {
                for (position, item) in value.as_array().into_iter().flatten().enumerate() {
                    check(argument, root, item, &format!("{path}[{position}]"))?;
                }
            }
            "properties" => {
                for (name, field) in value.as_object().into_iter().flatten() {
                    if let Some(property) = argument.get(name) {
                        check(property, root, field, &format!("{path}.{name}"))?;
                    }
                }
            }
            "additionalProperties" => {
                let known = &schema["properties"];
                for name in value.as_object().into_iter().flat_map(|fields| fields.keys()) {
                    if known.get(name).is_none() {
                        return Err(format!("{path} has the unknown field {name}"));
                    }
                }
            }
            _ => panic!("the test knows no keyword {keyword}"),
        }
    }
    for name in schema["required"].as_array().into_iter().flatten() {
        if value.is_object() && value.get(name.as_str().unwrap()).is_none() {
            return Err(format!("{path} lacks {name}"));
        }
    }
    Ok(())
}

fn schema() -> Value {
    serde_json::from_str(&printed(&["schema"])).unwrap()
}

/// Asserts that a document fits the definition with this name.
pub(super) fn assert_fits(name: &str, document: &Value) {
    let schema = schema();
    check(&schema["$defs"][name], &schema, document, name).unwrap();
}

#[test]
fn documents_fit_the_schema() {
    let schema = schema();
    let fits = |name: &str, document: &str| assert_fits(name, &serde_json::from_str(document).unwrap());
    let feeds = ["--feeds", FEEDS];
    let with = |words: &[&'static str]| [words, &feeds[..], &["--json"][..]].concat();
    fits("infer", &printed(&["infer", MODEL, "--json"]));
    fits("infer", &printed(&["infer", MODEL, "--shape", "x=..", "--json"]));
    fits("infer", &refused(&["infer", MODEL, "--shape", "x=n,5", "--json"]).1);
    fits("run", &printed(&with(&["run", MODEL])));
    fits("bench", &printed(&with(&["bench", MODEL, "--repeat", "1"])));
    fits("bench", &printed(&with(&["bench", MODEL, "--repeat", "1", "--threads", "1,2"])));
    fits("check", &printed(&["check", MODEL, "--json"]));
    fits("check", &printed(&["check", "tests/data/saved_models/layers", "--json"]));
    fits("check", &refused(&["check", MODEL, "--shape", "x=n,5", "--json"]).1);
    fits("ops", &printed(&["ops", "--json"]));
    for stage in ["graph", "optimized", "kernels", "clif", "asm"] {
        fits("dump", &printed(&with(&["dump", MODEL, "--stage", stage])));
    }
    fits("failure", &refused(&["infer", "missing.pb", "--json"]).1);
    fits("failure", &refused(&["run", MODEL, "--json"]).1);

    // The check refuses documents that do not fit the schema.
    let wrong =
        |name: &str, document: Value| check(&schema["$defs"][name], &schema, &document, name).is_err();
    assert!(wrong("guard", json!({"text": "n == 2"})));
    assert!(wrong("guard", json!({"text": 2, "node": null})));
    assert!(wrong("guard", json!({"text": "n == 2", "node": null, "more": 1})));
    assert!(wrong("run", json!({"results": [{"name": "y"}]})));
}

#[test]
fn errors_name_their_node_and_op() {
    let error = |arguments: &[&str]| -> Value {
        let (code, out, errors) = refused(arguments);
        assert_eq!(code, 2, "{errors}");
        serde_json::from_str::<Value>(&out).unwrap()["error"].clone()
    };
    let unfed = error(&["run", MODEL, "--json"]);
    assert_eq!(unfed["node"], "x");
    assert_eq!(unfed["message"], "x f32[x.0, 4] must be fed; give --feeds FEEDS.npz");

    // A run lists all ops that nothing computes, and so does the summary of `infer`.
    let folder = Folder::new("missing-kernels");
    let node = |name: &str, op: &str, input: &str| {
        format!(
            "node {{ name: {name:?} op: {op:?} input: {input:?} attr {{ key: \"T\" value {{ type: DT_FLOAT }} }} }}\n"
        )
    };
    let x = "node { name: \"x\" op: \"Placeholder\" attr { key: \"dtype\" value { type: DT_FLOAT } }
             attr { key: \"shape\" value { shape { dim { size: 2 } dim { size: 2 } } } } }\n";
    let of = |ops: [&str; 4]| {
        let nodes = ops.iter().zip(["x", "n0", "n1", "n2"]).enumerate();
        let nodes: String =
            nodes.map(|(number, (op, input))| node(&format!("n{number}"), op, input)).collect();
        let model = folder.file("missing.pbtxt");
        std::fs::write(&model, format!("{x}{nodes}")).unwrap();
        model
    };
    let model = of(["DebugIdentity", "DeepCopy", "DebugIdentity", "Relu"]);
    let missing = error(&["run", &model, "--json"]);
    assert_eq!((&missing["op"], &missing["node"]), (&json!("DebugIdentity"), &json!("n0")));
    assert_eq!(
        missing["message"],
        "no kernel computes 2 ops: DebugIdentity (2 nodes: n0, n2), DeepCopy (1 node: n1)"
    );
    let summary = "computed: 1 node by kernels, 0 on the host, 3 by nothing (25 % can run): ";
    let text = printed(&["infer", &model]);
    assert!(text.ends_with(&format!("{summary}DebugIdentity ×2, DeepCopy ×1\n")), "{text}");
    let text = printed(&["infer", &of(["Betainc3", "Betainc3", "Betainc3", "Relu"]), "--allow-unknown"]);
    assert!(text.ends_with(&format!("{summary}Betainc3 ×3\n")), "{text}");
}

#[test]
fn a_refused_node_hides_no_missing_kernel() {
    let folder = Folder::new("hidden-kernels");
    let model = folder.file("model.pbtxt");
    std::fs::write(
        &model,
        r#"
        node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
               attr { key: "shape" value { shape { dim { size: 2 } dim { size: 3 } } } } }
        node { name: "copy" op: "DeepCopy" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
        node { name: "bad" op: "MatMul" input: "copy" input: "copy" attr { key: "T" value { type: DT_FLOAT } } }
        node { name: "after" op: "Relu" input: "bad" attr { key: "T" value { type: DT_FLOAT } } }"#,
    )
    .unwrap();
    let (code, text, errors) = refused(&["infer", &model]);
    assert!(code == 2 && errors.contains("--> node bad"), "{errors}");
    let summary =
        "computed: 1 node by kernels, 0 on the host, 1 refused, 1 by nothing (33 % can run): DeepCopy ×1\n";
    assert!(text.ends_with(summary), "{text}");
    let document: Value = serde_json::from_str(&refused(&["infer", &model, "--json"]).1).unwrap();
    let coverage = json!({
        "kernels": 1, "host": 0, "refused": 1, "none": 1, "missing": [{"op": "DeepCopy", "nodes": 1}]
    });
    assert_eq!(document["coverage"], coverage);

    let (code, text, errors) = refused(&["check", &model]);
    assert!(code == 2 && errors.contains("--> node bad"), "{errors}");
    let verdict =
        "the model cannot run: 1 node in kernels, 0 on the host, 1 that nothing computes, 1 refused\n";
    assert!(text.starts_with(verdict), "{text}");
    let has = |words: &[&str]| text.lines().any(|line| line.split_whitespace().collect::<Vec<_>>() == words);
    assert!(has(&["input", "x", "f32[2,", "3]"]), "{text}");
    assert!(has(&["DeepCopy", "1", "nothing", "0", "f32", "copy"]), "{text}");
    assert!(has(&["MatMul", "1", "refused", "1", "f32", "bad"]), "{text}");
    assert!(!text.contains("a run determines"), "{text}");
    // An output that the refused node does not affect is listed.
    let document: Value =
        serde_json::from_str(&refused(&["check", &model, "--fetch", "after", "copy", "--json"]).1).unwrap();
    assert_eq!(document["outputs"], json!([{"name": "copy", "dtype": "f32", "shape": "[2, 3]"}]));
    assert_eq!(document["error"]["node"], "bad");
}
