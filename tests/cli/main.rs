//! The command line: the commands of the README, exit codes, and errors as text and JSON.

mod bench;
mod errors;
mod feeds;
mod saved_models;
mod schema;
mod standard_streams;
mod writes;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use shapeflow::interchange::{read_npz, write_npz};
use shapeflow::{DType, Tensor};

const MODEL: &str = "tests/data/mlp.pb";
const FEEDS: &str = "tests/data/mlp_feeds.npz";

/// Runs the command line with these arguments.
fn shapeflow(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_shapeflow"))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env_remove("SHAPEFLOW_DUMP")
        .args(arguments)
        .output()
        .unwrap()
}

/// Runs a command that must succeed, and returns its standard output.
fn printed(arguments: &[&str]) -> String {
    let output = shapeflow(arguments);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {errors}");
    assert_eq!(errors, "", "{arguments:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Runs a command that must succeed, and parses its standard output as JSON.
fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&printed(arguments)).unwrap()
}

/// Runs a command that must fail, and returns its exit code, standard output and standard error.
fn refused(arguments: &[&str]) -> (i32, String, String) {
    let output = shapeflow(arguments);
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

/// A temporary folder that is removed when the value is dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("shapeflow-cli-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn file(&self, name: &str) -> String {
        self.0.join(name).to_string_lossy().into_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Runs every command of the README's section on the command line.
#[test]
fn commands_of_the_readme_run() {
    let readme = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    let section = readme.split("## The command line").nth(1).expect("the README has the section");
    let section = section.split("\n## ").next().unwrap();
    let folder = Folder::new("readme");
    let mut run = 0;
    for line in section.lines().filter_map(|line| line.strip_prefix("shapeflow ")) {
        let line = line.split(" # ").next().unwrap();
        let words: Vec<String> = line
            .split_whitespace()
            .map(|word| word.trim_matches('\''))
            .map(|word| match word.starts_with("out/") {
                true => folder.file(&word[4..]),
                false => word.to_string(),
            })
            .collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        printed(&words);
        run += 1;
    }
    assert!(run >= 8, "only {run} commands");
}

#[test]
fn infer_prints_every_node() {
    let text = printed(&["infer", MODEL]);
    assert!(text.lines().any(|line| {
        line.split_whitespace().collect::<Vec<_>>() == ["hidden/Relu", "Relu", "f32[x.0,", "8]"]
    }));
    let document = json(&["infer", MODEL, "--shape", "x=n,4", "--json"]);
    let nodes = document["nodes"].as_array().unwrap();
    assert_eq!(nodes.len(), 11);
    let last = nodes.iter().find(|node| node["name"] == "class").unwrap();
    assert_eq!(last["op"], "ArgMax");
    assert_eq!(last["outputs"], serde_json::json!([{"dtype": "i64", "shape": ["n"]}]));
    assert_eq!(document["guards"], serde_json::json!([]));
    let unnamed = json(&["infer", MODEL, "--json"]);
    assert_eq!(unnamed["nodes"][0]["outputs"][0]["shape"], serde_json::json!(["x.0", 4]));
    let unranked = json(&["infer", MODEL, "--shape", "x=..", "--json"]);
    assert_eq!(unranked["nodes"][0]["outputs"][0]["shape"], Value::Null);
    let text = printed(&["infer", MODEL, "--shape", "x=.."]);
    assert!(text.lines().next().unwrap().ends_with("f32[..]"), "{text}");
}

#[test]
fn infer_goes_on_after_a_refused_node() {
    let (code, out, errors) = refused(&["infer", MODEL, "--shape", "x=n,5", "--json"]);
    let document: Value = serde_json::from_str(&out).unwrap();
    let nodes = document["nodes"].as_array().unwrap();
    assert_eq!((code, nodes.len()), (2, 11));
    let matmul = nodes.iter().find(|node| node["name"] == "hidden/MatMul").unwrap();
    assert_eq!(matmul["error"]["phase"], "build");
    assert_eq!(matmul["error"]["node"], "hidden/MatMul");
    assert!(errors.contains("hidden/MatMul") && errors.contains('5'), "{errors}");
}

#[test]
fn run_writes_and_summarizes_results() {
    let folder = Folder::new("run");
    let (out, trace) = (folder.file("out.npz"), folder.file("trace.json"));
    let fetches = ["--fetch", "probabilities:0", "class", "--out", &out, "--trace", &trace];
    assert_eq!(printed(&[&["run", MODEL, "--feeds", FEEDS][..], &fetches[..]].concat()), "");
    let results = read_npz(&out).unwrap();
    let names: Vec<&str> = results.iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["probabilities:0", "class"]);
    assert_eq!(results.iter().next().unwrap().1.sizes(), [5, 3]);
    for row in results.iter().next().unwrap().1.to_vec::<f32>().unwrap().chunks(3) {
        assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-5, "{row:?}");
    }
    let events: Value = serde_json::from_str(&std::fs::read_to_string(&trace).unwrap()).unwrap();
    let events = events["traceEvents"].as_array().unwrap();
    for name in ["build", "passes", "lower", "machine code", "run"] {
        assert!(events.iter().any(|event| event["name"] == name), "{name}");
    }
    assert!(events.iter().filter(|event| event["cat"] == "kernel").count() >= 4);
    let text = printed(&["run", MODEL, "--feeds", FEEDS, "--fetch", "class"]);
    assert!(text.starts_with("class: i64[5]"), "{text}");
    let document = json(&["run", MODEL, "--feeds", FEEDS, "--fetch", "class", "--json"]);
    assert_eq!(document["results"][0]["dtype"], "i64");
    assert_eq!(document["results"][0]["shape"], serde_json::json!([5]));
}

#[test]
fn feeds_may_be_named_by_tensor() {
    let folder = Folder::new("feeds");
    let feeds = folder.file("feeds.npz");
    let x = read_npz(FEEDS).unwrap().into_iter().next().unwrap().1;
    write_npz(&feeds, [("x:0", &x)]).unwrap();
    let by_tensor = printed(&["run", MODEL, "--feeds", &feeds, "--fetch", "probabilities"]);
    assert_eq!(by_tensor, printed(&["run", MODEL, "--feeds", FEEDS, "--fetch", "probabilities"]));
}

#[test]
fn dumps_have_every_stage_and_format() {
    let folder = Folder::new("dump");
    for (stage, word) in [
        ("graph", "matmul"),
        ("optimized", "softmax"),
        ("kernels", "kernel("),
        ("clif", "function"),
        ("asm", "ret"),
    ] {
        let text = printed(&["dump", MODEL, "--stage", stage]);
        assert!(text.contains(word), "{stage}: {text}");
    }
    for (format, start) in
        [("dot", "digraph"), ("svg", "<svg"), ("html", "<!doctype html>"), ("json", "{"), ("pbtxt", "node {")]
    {
        let text = printed(&["dump", MODEL, "--format", format]);
        assert!(text.starts_with(start), "{format}: {text:.40}");
        let file = folder.file(&format!("model.{format}"));
        assert_eq!(printed(&["dump", MODEL, "-o", &file]), "");
        assert_eq!(std::fs::read_to_string(&file).unwrap().trim_end(), text.trim_end());
    }
    let again = folder.file("again.pb");
    printed(&["dump", MODEL, "-o", &again]);
    assert_eq!(printed(&["dump", &again]), printed(&["dump", MODEL]));
    let (code, _, errors) = refused(&["dump", MODEL, "--stage", "clif", "--format", "pb"]);
    assert_eq!((code, errors.lines().count()), (2, 1), "{errors}");
}

#[test]
fn bench_prints_times_and_counts() {
    let document = json(&[
        "bench",
        MODEL,
        "--feeds",
        FEEDS,
        "--fetch",
        "class",
        "--repeat",
        "5",
        "--threads",
        "2",
        "--json",
    ]);
    for name in
        ["build_us", "compile_us", "first_run_us", "kernels", "compiles", "arena_bytes", "peak_rss_bytes"]
    {
        assert!(document[name].as_f64().is_some_and(|value| value >= 0.0), "{name} in {document}");
    }
    let run = |name: &str| document["run_us"][name].as_f64().unwrap();
    assert!(run("min") <= run("median") && run("median") <= run("p90"));
    assert_eq!(document["compiles"], 1);
    assert!(document["runs_per_s"].as_f64().unwrap() > 0.0, "{document}");
    let text = printed(&["bench", MODEL, "--feeds", FEEDS, "--fetch", "class", "--repeat", "1"]);
    let run = text.lines().find(|line| line.starts_with("run ")).unwrap();
    for word in ["median ", "90 % within ", "fastest ", "(1 run)"] {
        assert!(run.contains(word), "{run}");
    }
    assert!(text.contains(", 1 compile\n"), "{text}");
    let measure = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).unwrap().trim();
    let throughput: f64 = measure("throughput ").strip_suffix(" runs/s").unwrap().parse().unwrap();
    assert!(throughput > 0.0, "{text}");
    assert!(measure("arena ").ends_with(" bytes"), "{text}");
    assert!(["-", " MiB"].iter().any(|unit| measure("peak RSS ").ends_with(unit)), "{text}");
}

#[test]
fn ops_are_listed() {
    let document = json(&["ops", "--json"]);
    let ops = document["ops"].as_array().unwrap();
    let of = |op_type: &str| ops.iter().find(|op| op["op_type"] == op_type).unwrap();
    assert_eq!(of("Relu")["builder"], "relu");
    assert_eq!(of("Relu")["body"], "compute");
    assert_eq!(of("MatMul")["body"], "contraction");
    assert!(of("Erf")["dtypes"].as_array().unwrap().contains(&"f32".into()));
    assert_eq!(of("Conv2D")["body"], "composite");
    assert_eq!(of("Cumsum")["body"], "host");
    assert_eq!(of("RandomUniform")["body"], "import");
    assert_eq!(of("While")["body"], "import");
    assert_eq!(of("FFTND")["body"], "shape only");
    assert!(printed(&["ops"]).lines().count() > ops.len());
}

#[test]
fn bad_input_exits_with_2_and_a_failed_run_with_1() {
    let folder = Folder::new("bad");
    let missing = folder.file("missing.pb");
    let (code, out, errors) = refused(&["infer", &missing]);
    assert_eq!((code, out.as_str(), errors.lines().count()), (2, "", 1), "{errors}");
    let (code, out, _) = refused(&["infer", &missing, "--json"]);
    let document: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &document["error"]["phase"]), (2, &"build".into()));
    assert!(document["error"]["message"].as_str().unwrap().contains("missing.pb"));
    for name in ["op", "node"] {
        assert!(document["error"].as_object().unwrap().contains_key(name));
    }

    // An empty file is what an interrupted copy leaves.
    let empty = folder.file("empty.pb");
    std::fs::write(&empty, "").unwrap();
    for arguments in [&["infer"][..], &["dump"], &["check"], &["run"]] {
        let (code, _, errors) = refused(&[arguments, &[&empty]].concat());
        assert_eq!((code, errors), (2, format!("error: {empty}: the file is empty\n")));
    }
    // A text that is no model.
    let script = folder.file("model.py");
    std::fs::write(&script, "import tensorflow as tf\n").unwrap();
    let (code, _, errors) = refused(&["infer", &script]);
    assert!(
        code == 2 && errors.contains("help: the file is text, which is read as the text of a GraphDef"),
        "{errors}"
    );

    assert_eq!(refused(&["infer"]).0, 2);
    assert_eq!(refused(&["nonsense"]).0, 2);
    assert_eq!(refused(&["infer", MODEL, "--shape", "x"]).0, 2);
    // A shape of another rank is refused once, whatever the command computes.
    let run = ["run", MODEL, "--feeds", FEEDS, "--fetch", "class"];
    let bench = ["bench", MODEL, "--feeds", FEEDS, "--fetch", "class", "--repeat", "1"];
    for command in [&["infer", MODEL][..], &["dump", MODEL], &["check", MODEL], &run, &bench[..]] {
        let (code, out, errors) = refused(&[command, &["--shape", "x=batch"]].concat());
        let error = "error: x is declared [?, 4]: the rank must be 2, got 1 in [batch]";
        assert_eq!((code, errors.trim_end()), (2, error));
        assert_eq!(out.is_empty(), command[0] != "check", "{out}");
    }
    assert_eq!(refused(&["infer", MODEL, "--shape", "y=2"]).0, 2);
    assert_eq!(refused(&["run", MODEL, "--feeds", FEEDS, "--fetch", "nothing"]).0, 2);

    // A file of another format, a missing feed, and feeds of another dtype and another size.
    let feeds = folder.file("feeds.npz");
    std::fs::write(&feeds, "text").unwrap();
    let (code, _, errors) = refused(&["run", MODEL, "--feeds", &feeds, "--fetch", "class"]);
    assert_eq!((code, errors), (2, format!("error: {feeds}: not an npz file; write it with numpy.savez\n")));
    write_npz(&feeds, []).unwrap();
    let (code, _, errors) = refused(&["run", MODEL, "--feeds", &feeds, "--fetch", "class"]);
    assert_eq!((code, errors), (2, format!("error: x f32[x.0, 4] must be fed, {feeds} has no tensors\n")));
    write_npz(&feeds, [("x", &Tensor::zeros(DType::I32, &[5, 4]).unwrap())]).unwrap();
    let (code, _, errors) = refused(&["run", MODEL, "--feeds", &feeds, "--fetch", "class"]);
    assert_eq!((code, errors), (2, format!("error: x must be f32[x.0, 4], {feeds} has i32[5, 4]\n")));
    write_npz(&feeds, [("x", &Tensor::zeros(DType::F32, &[5, 3]).unwrap())]).unwrap();
    let (code, out, errors) = refused(&["run", MODEL, "--feeds", &feeds, "--fetch", "class", "--json"]);
    let document: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &document["error"]["phase"]), (2, &"run".into()), "{errors}");
    // The model has no line of a program at which the input is declared.
    assert!(errors.contains("x") && !errors.contains("declared"), "{errors}");

    // A check that only a run can fail.
    let model = folder.file("gather.pbtxt");
    std::fs::write(
        &model,
        r#"
        node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
        node { name: "i" op: "Placeholder" attr { key: "dtype" value { type: DT_INT32 } }
               attr { key: "shape" value { shape { dim { size: -1 } } } } }
        node { name: "axis" op: "Const" attr { key: "dtype" value { type: DT_INT32 } }
               attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape { } int_val: 0 } } } }
        node { name: "y" op: "GatherV2" input: "x" input: "i" input: "axis"
               attr { key: "Tparams" value { type: DT_FLOAT } } attr { key: "Tindices" value { type: DT_INT32 } }
               attr { key: "Taxis" value { type: DT_INT32 } } }
        "#,
    )
    .unwrap();
    let x = Tensor::zeros(DType::F32, &[3]).unwrap();
    write_npz(&feeds, [("x", &x), ("i", &Tensor::from_slice(&[1], &[7i32]).unwrap())]).unwrap();
    let (code, out, errors) =
        refused(&["run", &model, "--feeds", &feeds, "--fetch", "y", "--shape", "x=n", "--json"]);
    let document: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &document["error"]["phase"]), (1, &"run".into()), "{errors}");
    assert_eq!(document["error"]["op"], "gather");
    assert_eq!(document["error"]["node"], "y");
}

#[test]
fn the_environment_variable_dumps_every_stage() {
    let folder = Folder::new("environment");
    let status = Command::new(env!("CARGO_BIN_EXE_shapeflow"))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env("SHAPEFLOW_DUMP", &folder.0)
        .args(["run", MODEL, "--feeds", FEEDS, "--fetch", "class"])
        .output()
        .unwrap()
        .status;
    assert!(status.success());
    let compilation = folder.0.join("compile-0001");
    for file in
        ["00-graph.txt", "00-graph.html", "01-optimized.svg", "02-kernels.json", "03-clif.html", "04-asm.txt"]
    {
        assert!(compilation.join(file).is_file(), "{file}");
    }
}

#[test]
fn shells_and_manuals_know_every_command() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = printed(&["completions", shell]);
        assert!(script.contains("shapeflow") && script.contains("allow-unknown"), "{shell}: {script}");
    }
    let page = printed(&["man"]);
    for command in ["INFER", "RUN", "DUMP", "BENCH", "OPS"] {
        assert!(page.contains(&format!("COMMAND {command}")), "{page}");
    }
    let version = printed(&["--version"]);
    assert!(version.contains("features: cranelift, strings, threads, graphdef, "), "{version}");
    assert!(version.contains("\nkernels: "), "{version}");
    assert_eq!(printed(&["-V"]).lines().count(), 1);
}

#[test]
fn json_results_have_values() {
    let text = printed(&["run", MODEL, "--feeds", FEEDS, "--fetch", "probabilities", "class", "--json"]);
    let document: Value = serde_json::from_str(&text).unwrap();
    let values = |number: usize| document["results"][number]["values"].as_array().unwrap().clone();
    let (probabilities, classes) = (values(0), values(1));
    assert_eq!((probabilities.len(), classes.len()), (15, 5));
    for (row, class) in probabilities.chunks(3).zip(&classes) {
        let row: Vec<f64> = row.iter().map(|value| value.as_f64().unwrap()).collect();
        let largest = (0..3).max_by(|&a, &b| row[a].total_cmp(&row[b])).unwrap();
        assert_eq!(class.as_u64(), Some(largest as u64));
    }
}

#[test]
fn json_results_have_values_of_half_and_complex_numbers() {
    let path = std::env::temp_dir().join(format!("shapeflow-values-{}.pbtxt", std::process::id()));
    let constant = |name: &str, dtype: &str, values: &str| {
        format!(
            r#"node {{ name: "{name}" op: "Const" attr {{ key: "dtype" value {{ type: {dtype} }} }} attr {{ key: "value"
               value {{ tensor {{ dtype: {dtype} tensor_shape {{ dim {{ size: 2 }} }} {values} }} }} }} }}"#
        )
    };
    let half = constant("half", "DT_HALF", "half_val: 15360 half_val: 49152");
    let complex = constant("complex", "DT_COMPLEX64", "scomplex_val: [1.5, -2.0, 0.0, 3.0]");
    std::fs::write(&path, half + &complex).unwrap();
    let text = printed(&["run", path.to_str().unwrap(), "--fetch", "half", "complex", "--json"]);
    std::fs::remove_file(&path).unwrap();
    let document: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document["results"][0]["values"], serde_json::json!([1.0, -2.0]));
    assert_eq!(document["results"][1]["values"], serde_json::json!([[1.5, -2.0], [0.0, 3.0]]));
}

#[test]
fn json_results_have_all_bytes_of_strings() {
    let folder = Folder::new("bytes");
    let model = folder.file("model.pbtxt");
    std::fs::write(
        &model,
        r#"node { name: "s" op: "Const" attr { key: "dtype" value { type: DT_STRING } }
                  attr { key: "value" value { tensor { dtype: DT_STRING tensor_shape { dim { size: 2 } }
                         string_val: "\303\244" string_val: "\377\000a" } } } }"#,
    )
    .unwrap();
    let document = json(&["run", &model, "--json"]);
    schema::assert_fits("run", &document);
    assert_eq!(document["results"][0]["values"], serde_json::json!(["ä", {"base64": "/wBh"}]));
}
