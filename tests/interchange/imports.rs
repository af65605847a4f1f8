//! Nodes of every importable op give the results recorded from TensorFlow. The recorded cases detect an import that
//! swaps two operands.

use std::collections::BTreeMap;

use serde_json::Value as Json;
use shapeflow::interchange::{ImportOptions, Imported, Model};
use shapeflow::{
    Backend, CompileOptions, DType, Error, ErrorKind, Graph, ImageDecoding, Registry, Result, Tensor,
};

/// Ops whose result does not depend on the order of some operands.
const COMMUTATIVE: [&str; 24] = [
    "AccumulateNV2",
    "Add",
    "AddN",
    "AddV2",
    "ApproximateEqual",
    "BitwiseAnd",
    "BitwiseOr",
    "BitwiseXor",
    "BroadcastArgs",
    "Equal",
    "LogicalAnd",
    "LogicalOr",
    "Maximum",
    "Minimum",
    "Mul",
    "NotEqual",
    "SquaredDifference",
    "ParallelDynamicStitch",
    // The operands with the shapes of both sparse tensors may change places: the result has the larger of their sizes.
    "EditDistance",
    // The operands with the shapes of both sparse tensors may change places: the shapes are equal.
    "SparseAdd",
    "SparseSparseMaximum",
    "SparseSparseMinimum",
    // The minima and the maxima of channels may change places: only the greater magnitude of both counts.
    "RequantizationRangePerChannel",
    "RequantizePerChannel",
];

/// A line of `tests/data/FILE.jsonl`. Attributes and tensors are protobuf text.
struct Case {
    file: &'static str,
    line: usize,
    op: String,
    attrs: String,
    inputs: Vec<String>,
    /// For each input: whether the input is data, which a graph may feed. Other inputs stay constants.
    fed: Vec<bool>,
    /// Whether the node must learn the shapes and the elements of its inputs when it runs.
    is_unknown: bool,
    /// The results of TensorFlow; `None` if TensorFlow refuses the node.
    outputs: Option<Vec<String>>,
}

/// Reads all recorded cases.
fn cases() -> Vec<Case> {
    ["imports", "strings", "media"].into_iter().flat_map(cases_of).collect()
}

/// The cases of a file in `tests/data`.
fn cases_of(file: &'static str) -> Vec<Case> {
    let path = format!("{}/tests/data/{file}.jsonl", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    let texts = |json: &Json| -> Vec<String> {
        json.as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_string()).collect()
    };
    let case = |(number, line): (usize, &str)| {
        let json: Json = serde_json::from_str(line).unwrap();
        Case {
            file,
            line: number + 1,
            op: json["op"].as_str().unwrap().to_string(),
            attrs: json["attrs"].as_str().unwrap().to_string(),
            inputs: texts(&json["inputs"]),
            fed: json["fed"].as_array().unwrap().iter().map(|fed| fed.as_bool().unwrap()).collect(),
            is_unknown: json.get("unknown").is_some(),
            outputs: json.get("outputs").map(texts),
        }
    };
    text.lines().enumerate().map(case).collect()
}

/// Returns the name of a tensor's dtype: `DT_FLOAT` of `dtype: DT_FLOAT tensor_shape { .. } ..`.
fn dtype(tensor: &str) -> &str {
    tensor.split(" tensor_shape").next().unwrap().trim_start_matches("dtype: ")
}

fn constant(name: &str, tensor: &str) -> String {
    format!(
        r#"node {{ name: "{name}" op: "Const" attr {{ key: "dtype" value {{ type: {} }} }}
           attr {{ key: "value" value {{ tensor {{ {tensor} }} }} }} }}"#,
        dtype(tensor)
    )
}

impl Case {
    /// Returns a graph with the node `y`, whose inputs are the case's inputs in `order`. Input `i` is the constant
    /// `vi`, or the placeholder `xi` if it is data and `is_fed`.
    fn graph(&self, order: &[usize], is_fed: bool) -> String {
        let mut text = String::new();
        let mut names = String::new();
        for (number, tensor) in self.inputs.iter().enumerate() {
            let dtype = dtype(tensor);
            text += &match is_fed && self.fed[number] {
                true => format!(
                    r#"node {{ name: "x{number}" op: "Placeholder" attr {{ key: "dtype" value {{ type: {dtype} }} }} }}"#
                ),
                false => constant(&format!("v{number}"), tensor),
            };
        }
        for &number in order {
            let letter = if is_fed && self.fed[number] { 'x' } else { 'v' };
            names += &format!(r#"input: "{letter}{number}" "#);
        }
        let (op, attrs) = (&self.op, &self.attrs);
        format!(r#"{text} node {{ name: "y" op: "{op}" {names} {attrs} }} versions {{ producer: 1882 }}"#)
    }

    fn import(&self, order: &[usize], is_fed: bool) -> Result<Imported> {
        Model::from_text(&self.graph(order, is_fed))?.import(None, &ImportOptions::new())
    }

    /// Runs an imported graph. `values` has the values of all inputs of the case.
    fn run(&self, imported: &Imported, values: &[Tensor], backend: Backend) -> Result<Vec<Tensor>> {
        let count = self.outputs.as_ref().map_or(1, Vec::len);
        let outputs: Vec<_> =
            (0..count).map(|number| imported.value(&format!("y:{number}"))).collect::<Result<_>>()?;
        let exe = imported.graph().compile_with(&CompileOptions::new().backend(backend), &outputs)?;
        let fed = |name: &str| values[name[1..].parse::<usize>().unwrap()].view();
        let views: Vec<_> = exe.inputs().iter().map(|port| fed(&port.name)).collect();
        exe.run_all(&views)
    }

    /// Returns the values of all inputs.
    fn values(&self) -> Vec<Tensor> {
        self.inputs.iter().map(|tensor| value(tensor)).collect()
    }

    /// Returns the results of TensorFlow.
    fn expected(&self) -> Vec<Tensor> {
        self.outputs.iter().flatten().map(|tensor| value(tensor)).collect()
    }
}

/// Parses the text of a tensor.
fn value(tensor: &str) -> Tensor {
    let imported = Model::from_text(&constant("v", tensor)).unwrap();
    let imported = imported.import(None, &ImportOptions::new()).unwrap();
    imported.value("v").unwrap().static_value().unwrap()
}

/// The greatest difference between the pixels of our JPEG files and TensorFlow's, for the recorded smooth images.
const JPEG_LEVELS: u8 = 12;

/// Returns whether image files have equal pixels, or similar ones in JPEG files. Their bytes may differ.
fn have_same_pixels(got: &Tensor, expected: &Tensor) -> bool {
    let pixels = |files: &Tensor| -> Result<Vec<Tensor>> {
        let files = files.as_strings()?;
        let decode = |file: &[u8]| {
            let g = Graph::new();
            let file = g.constant(Tensor::from_strings(&[], &[file])?)?;
            let options = ImageDecoding { dtype: DType::U16, ..ImageDecoding::default() };
            let [image] = g.compile(file.decode_image(&options)?)?.run(&[])?;
            Ok(image)
        };
        files.iter().map(decode).collect()
    };
    let is_jpeg = got.as_strings().is_ok_and(|files| files.iter().all(|file| file.starts_with(&[0xff])));
    let levels = if is_jpeg { JPEG_LEVELS } else { 0 };
    let (Ok(got), Ok(expected)) = (pixels(got), pixels(expected)) else { return false };
    let close = |(x, y): (&u16, &u16)| x.abs_diff(*y) <= u16::from(levels) * 256;
    got.len() == expected.len()
        && got.iter().zip(&expected).all(|(got, expected)| {
            let (x, y) = (got.to_vec::<u16>().unwrap(), expected.to_vec::<u16>().unwrap());
            got.sizes() == expected.sizes() && x.iter().zip(&y).all(close)
        })
}

fn are_close(op: &str, got: &[Tensor], expected: &[Tensor]) -> bool {
    if matches!(op, "EncodePng" | "EncodeJpeg" | "EncodeJpegVariableQuality") {
        return got.len() == 1
            && got[0].sizes() == expected[0].sizes()
            && have_same_pixels(&got[0], &expected[0]);
    }
    // The unknowns of a linear system have similar absolute errors, so a small unknown has a large relative error.
    // TensorFlow's CTCLoss adds probabilities in the precision of f32, also in f64, and its gradient is a difference of
    // probabilities.
    let small = if matches!(op, "CTCLoss" | "MatrixSolveLs") { 1e-6 } else { 0.0 };
    got.len() == expected.len()
        && got.iter().zip(expected).all(|(got, expected)| {
            // One part of a complex number may be small compared with the other part.
            let (relative, absolute) = match expected.dtype() {
                DType::F32 => (1e-5, small),
                DType::F64 if op == "CTCLoss" => (1e-6, small),
                DType::F64 => (1e-12, 0.0),
                DType::C64 => (1e-5, 1e-5),
                DType::C128 => (1e-12, 1e-12),
                _ => (0.0, 0.0),
            };
            let is_close = || relative > 0.0 && got.allclose(expected, relative, absolute).is_ok();
            got.dtype() == expected.dtype()
                && got.sizes() == expected.sizes()
                && (got == expected || is_close())
        })
}

/// Returns a message for each form of the case that does not give what TensorFlow gives.
fn differences(case: &Case) -> Vec<String> {
    let mut wrong = Vec::new();
    let (values, expected) = (case.values(), case.expected());
    let order: Vec<usize> = (0..case.inputs.len()).collect();
    let constant = (!case.is_unknown).then(|| (false, case.import(&order, false)));
    let fed = (true, case.import(&order, true));
    let forms = constant.iter().map(|form| (form, Backend::default()));
    let forms = forms.chain([(&fed, Backend::default()), (&fed, Backend::Interpreter)]);
    for ((is_fed, imported), backend) in forms {
        let result = imported.as_ref().map_err(Error::clone);
        let result = result.and_then(|imported| case.run(imported, &values, backend));
        let what = match (result, &case.outputs) {
            // TensorFlow and this library refuse the node. A missing kernel of this library is not such a refusal.
            (Err(error), None) if error.kind() != ErrorKind::Compile => continue,
            (Ok(got), Some(_)) if are_close(&case.op, &got, &expected) => continue,
            (Err(error), _) => error.to_string(),
            (Ok(got), Some(_)) => format!("{got:?} and not {expected:?}"),
            (Ok(got), None) => format!("{got:?} and no error"),
        };
        let (file, line, op, attrs) = (case.file, case.line, &case.op, &case.attrs);
        wrong.push(format!("{file}.jsonl line {line}, {op}, {attrs}, fed: {is_fed}, {backend:?}: {what}"));
    }
    wrong
}

#[test]
fn nodes_give_what_tensorflow_gives() {
    let cases = cases();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let parts = cases.chunks(cases.len().div_ceil(threads));
        let running: Vec<_> =
            parts.map(|part| scope.spawn(|| part.iter().flat_map(differences).collect::<Vec<_>>())).collect();
        running.into_iter().flat_map(|thread| thread.join().expect("a case panics")).collect()
    });
    assert!(wrong.is_empty(), "{} cases:\n{}", wrong.len(), wrong.join("\n"));
}

/// TensorFlow ignores attributes that its op does not declare. Our softmax has an axis, and TensorFlow's `Softmax` has
/// none.
#[test]
fn attributes_that_tensorflow_does_not_declare_are_ignored() -> Result<()> {
    let text = r#"
        node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
        node { name: "y" op: "Softmax" input: "x" attr { key: "axis" value { i: 0 } }
               attr { key: "_axis" value { i: 0 } } }"#;
    let imported = Model::from_text(text)?.import(None, &ImportOptions::new())?;
    let exe = imported.graph().compile(imported.value("y")?)?;
    let [y] = exe.run(&[Tensor::from([[0.0f32, 0.0], [0.0, 0.0], [0.0, 0.0]]).view()])?;
    assert_eq!(y, Tensor::from([[0.5f32, 0.5], [0.5, 0.5], [0.5, 0.5]]));
    Ok(())
}

/// Each op has a case in which swapping any two operands changes the result. An import that swaps two operands of the
/// op thus fails the test `nodes_give_what_tensorflow_gives`.
#[test]
fn every_importable_op_has_a_case_that_detects_swapped_operands() {
    let mut shown: BTreeMap<&str, bool> = BTreeMap::new();
    for def in Registry::builtin().iter() {
        shown.extend(def.tensorflow_ops().iter().map(|spelling| (spelling.op_type, false)));
    }
    let cases = cases();
    for case in cases.iter().filter(|case| case.outputs.is_some()) {
        if shown.get(case.op.as_str()) == Some(&true) {
            continue;
        }
        let (values, expected) = (case.values(), case.expected());
        let count = values.len();
        let mut pairs = (0..count).flat_map(|first| (first + 1..count).map(move |second| (first, second)));
        let changes_the_result = |(first, second): (usize, usize)| {
            let mut order: Vec<usize> = (0..count).collect();
            order.swap(first, second);
            let swapped = case.import(&order, true);
            let swapped = swapped.and_then(|graph| case.run(&graph, &values, Backend::Interpreter));
            !swapped.is_ok_and(|swapped| are_close(&case.op, &swapped, &expected))
        };
        let shows = COMMUTATIVE.contains(&case.op.as_str()) || pairs.all(changes_the_result);
        *shown.entry(&case.op).or_default() |= shows;
    }
    let missing: Vec<&str> = shown.iter().filter(|(_, shows)| !**shows).map(|(op, _)| *op).collect();
    assert!(
        missing.is_empty(),
        "add cases of {missing:?} to tests/record_imports.py, record_strings.py or record_media.py"
    );
}
