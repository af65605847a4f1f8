//! Any tensor of a model can be fed on the command line.

use serde_json::Value;
use shapeflow::interchange::write_npz;
use shapeflow::{DType, Tensor};

use super::{Folder, json, printed, refused};

/// `neg = -x`, `y = exp(neg)`.
const CHAIN: &str = r#"
    node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
           attr { key: "shape" value { shape { dim { size: -1 } } } } }
    node { name: "neg" op: "Neg" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
    node { name: "y" op: "Exp" input: "neg" attr { key: "T" value { type: DT_FLOAT } } }"#;

#[test]
fn any_tensor_can_be_fed() {
    let folder = Folder::new("fed");
    let (model, feeds) = (folder.file("chain.pbtxt"), folder.file("feeds.npz"));
    std::fs::write(&model, CHAIN).unwrap();
    let zeros = Tensor::zeros(DType::F32, &[2]).unwrap();
    let run = |feeds: &str| ["run", &model, "--feeds", feeds, "--fetch", "y"].map(str::to_string);
    let printed_by = |words: &[String]| printed(&words.iter().map(String::as_str).collect::<Vec<_>>());
    for names in [&["neg"][..], &["neg:0"], &["neg", "x"]] {
        write_npz(&feeds, names.iter().map(|name| (*name, &zeros))).unwrap();
        assert!(printed_by(&run(&feeds)).starts_with("y: f32[2] [1.0, 1.0]"), "{names:?}");
    }
    write_npz(&feeds, [("neg", &zeros)]).unwrap();
    let nodes = json(&["infer", &model, "--feeds", &feeds, "--json"]);
    let names: Vec<&Value> = nodes["nodes"].as_array().unwrap().iter().map(|node| &node["name"]).collect();
    assert_eq!(names, ["neg", "y"]);
    let text = printed(&["dump", &model, "--feeds", &feeds]);
    assert!(text.contains("input(\"neg\")") && !text.contains("\"x\""), "{text}");
    assert!(printed(&["dump", &model, "--feeds", &feeds, "--stage", "kernels"]).contains("step 0: y"));
    json(&["bench", &model, "--feeds", &feeds, "--fetch", "y", "--repeat", "2", "--json"]);
    let (shaped, named) = (["--shape", "neg=n"], ["--shape", "neg:0=n"]);
    for shape in [shaped, named] {
        let text = printed(&[&["infer", &model, "--feeds", &feeds][..], &shape].concat());
        let mut nodes = text.lines().filter(|line| !line.starts_with("computed: "));
        assert!(nodes.all(|line| line.ends_with("[n]")), "{text}");
    }

    for (names, message) in [
        (&["negg"][..], "a fed tensor must be in the model, got negg; is it neg?"),
        (&["neg:3"], "got neg:3: Neg has 1 output"),
        (&["neg", "neg:0"], "neg is fed twice"),
    ] {
        write_npz(&feeds, names.iter().map(|name| (*name, &zeros))).unwrap();
        let (code, out, errors) = refused(&["run", &model, "--feeds", &feeds, "--fetch", "y"]);
        assert!(code == 2 && out.is_empty() && errors.contains(message), "{errors}");
    }
}
