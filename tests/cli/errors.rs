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
