//! Dumps of graphs show refused nodes with their errors, in every stage and format.

use serde_json::Value;

use super::{Folder, MODEL, printed, refused};

#[test]
fn dumps_show_errors_at_their_nodes() {
    let folder = Folder::new("refused");
    let wrong = |arguments: &[&str]| {
        let (code, out, errors) = refused(&[&["dump", MODEL, "--shape", "x=n,5"], arguments].concat());
        assert_eq!(code, 2, "{arguments:?}: {errors}");
        assert!(errors.contains("the inner dimensions of a matmul must agree"), "{arguments:?}: {errors}");
        assert!(errors.contains("--> node hidden/MatMul"), "{arguments:?}: {errors}");
        out
    };
    let text = wrong(&[]);
    let lines: Vec<&str> = text.lines().collect();
    let node = lines.iter().position(|line| line.ends_with("// hidden/MatMul")).unwrap();
    assert!(lines[node + 1].contains("// error: ") && lines[node + 1].contains("got 5 and 4"), "{text}");
    for format in ["dot", "svg", "html", "json"] {
        let document = wrong(&["--format", format]);
        assert!(document.contains("the inner") && document.contains("error"), "{format}: {document}");
        let file = folder.file(&format!("model.{format}"));
        assert_eq!(wrong(&["-o", &file]), "");
        assert_eq!(std::fs::read_to_string(&file).unwrap().trim_end(), document.trim_end());
    }
    let document: Value = serde_json::from_str(&wrong(&["--json"])).unwrap();
    let refused_nodes = |document: &Value| -> Vec<String> {
        let nodes = document["nodes"].as_array().unwrap().iter();
        let refused =
            nodes.filter(|node| node["error"].as_str().is_some_and(|error| error.contains("got 5 and 4")));
        refused.map(|node| node["name"].as_str().unwrap().to_string()).collect()
    };
    assert_eq!(refused_nodes(&document), ["hidden/MatMul"]);

    // Nodes that do not depend on the refused node are compiled and shown.
    let model = folder.file("beside.pbtxt");
    std::fs::write(
        &model,
        r#"
        node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
               attr { key: "shape" value { shape { dim { size: 2 } dim { size: 3 } } } } }
        node { name: "bad" op: "MatMul" input: "x" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
        node { name: "after" op: "Relu" input: "bad" attr { key: "T" value { type: DT_FLOAT } } }
        node { name: "fine" op: "Exp" input: "x" attr { key: "T" value { type: DT_FLOAT } } }"#,
    )
    .unwrap();
    for stage in ["optimized", "kernels", "clif"] {
        for format in ["text", "dot", "svg", "html", "json"] {
            let (code, out, errors) = refused(&["dump", &model, "--stage", stage, "--format", format]);
            assert!(code == 2 && errors.contains("--> node bad"), "{stage} {format}: {errors}");
            let fine = if (stage, format) == ("clif", "text") { "function" } else { "fine" };
            for word in [fine, "the inner"] {
                assert!(out.contains(word), "{stage} {format} without {word}: {out}");
            }
        }
    }
    let (code, out, _) = refused(&["dump", &model, "--format", "pbtxt"]);
    assert!(code == 2 && out.starts_with("# node bad is omitted: "), "{out}");
    let again = folder.file("again.pbtxt");
    std::fs::write(&again, &out).unwrap();
    assert!(printed(&["infer", &again]).contains("fine"));
    // All outputs depend on the refused node.
    let (code, out, errors) = refused(&["dump", MODEL, "--shape", "x=n,5", "--stage", "kernels"]);
    assert!(code == 2 && out.is_empty() && errors.contains("--> node hidden/MatMul"), "{errors}");
}

#[test]
fn json_and_another_format_are_refused() {
    for format in ["svg", "text", "pb"] {
        let (code, out, errors) = refused(&["dump", MODEL, "--json", "--format", format]);
        let message = format!("--json prints JSON, so --format must be json or absent, got {format}");
        assert_eq!((code, errors), (2, format!("error: {message}\n")));
        assert_eq!(serde_json::from_str::<Value>(&out).unwrap()["error"]["message"], message);
    }
    assert_eq!(printed(&["dump", MODEL, "--json", "--format", "json"]), printed(&["dump", MODEL, "--json"]));
}

#[test]
fn a_fetch_that_took_the_model_is_named() {
    let (code, _, errors) = refused(&["run", "--feeds", "f.npz", "--fetch", "r", "model.pb"]);
    let help = "  help: put MODEL before --fetch, which takes all values that follow it\n";
    assert_eq!(
        (code, errors),
        (2, format!("error: MODEL must be given, and --fetch took r, model.pb\n{help}"))
    );
    let (code, _, errors) = refused(&["run", "--feeds", "f.npz"]);
    assert!(code == 2 && errors.contains("<MODEL>") && !errors.contains("--fetch took"), "{errors}");
}

/// `x` and two nodes that read it, with an attribute that their op lacks.
fn with_attr(op: &str, attr: &str) -> String {
    let node = |name: &str| {
        format!(
            "node {{ name: '{name}' op: '{op}' input: 'x' input: 'x' attr {{ key: 'T' value {{ type: DT_FLOAT }} }} \
             attr {{ key: '{attr}' value {{ b: true }} }} }}\n"
        )
    };
    let x = "node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } }
             attr { key: 'shape' value { shape { dim { size: -1 } dim { size: -1 } } } } }\n";
    format!("{x}{}{}", node("a"), node("b"))
}

#[test]
fn check_names_attributes_that_their_op_lacks() {
    let folder = Folder::new("ignored_attrs");
    let model = folder.file("model.pbtxt");
    std::fs::write(&model, with_attr("MatMul", "transposeb")).unwrap();
    let (code, out, errors) = refused(&["check", &model, "--json"]);
    let note = "note: the attribute transposeb of a, b is ignored, because MatMul has no such attribute; is it \
                transpose_b?\n";
    assert_eq!((code, &*errors), (0, note));
    let document: Value = serde_json::from_str(&out).unwrap();
    let wanted = serde_json::json!([
        {"op": "MatMul", "attr": "transposeb", "nodes": ["a", "b"], "nearest": "transpose_b"}
    ]);
    assert_eq!(document["ignored_attrs"], wanted);
    std::fs::write(&model, with_attr("MatMul", "_note")).unwrap();
    assert_eq!(refused(&["check", &model]).2, "");
}

#[test]
fn one_note_tells_a_given_shape() {
    let folder = Folder::new("given_shape");
    let model = folder.file("model.pbtxt");
    std::fs::write(&model, with_attr("MatMul", "transpose_c")).unwrap();
    let (code, _, errors) = refused(&["infer", &model, "--shape", "x=2,3"]);
    assert_eq!((code, errors.matches("--> node ").count()), (2, 2), "{errors}");
    assert_eq!(
        errors.matches("x was given the shape [2, 3]; the model declares [?, ?]").count(),
        1,
        "{errors}"
    );
}
