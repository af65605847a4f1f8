//! Models in which random words are replaced are refused, or compile and run, on a stack of 1 MiB. Nothing panics.

use std::time::{Duration, Instant};

use shapeflow::interchange::{ImportOptions, Limits, Model, to_pbtxt};
use shapeflow::{Backend, CompileOptions, DType, Executable, Graph, Result, Tensor, TensorView, Value};

use crate::damage::Random;
use crate::samples::samples;

/// The bytes of the stack of the thread that runs the models. Nothing may recurse once per node of a model.
const STACK: usize = 1 << 20;

/// Cuts the text of a model into words, and the pieces of text between words.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut in_string = false;
    let mut last = None;
    for c in text.chars() {
        let class = match c {
            '"' => 0,
            _ if in_string => 1,
            _ if c.is_alphanumeric() || matches!(c, '_' | '-' | '.') => 2,
            _ => 3,
        };
        if c == '"' {
            in_string = !in_string;
        }
        match words.last_mut() {
            Some(word) if last == Some(class) => word.push(c),
            _ => words.push(c.to_string()),
        }
        last = Some(class);
    }
    words
}

const NUMBERS: [&str; 22] = [
    "-1",
    "0",
    "1",
    "2",
    "3",
    "4",
    "5",
    "7",
    "-2",
    "-3",
    "63",
    "64",
    "65",
    "255",
    "4096",
    "5000",
    "65536",
    "2147483647",
    "-2147483648",
    "4294967296",
    "9223372036854775807",
    "-9223372036854775808",
];

const DTYPES: [&str; 12] = [
    "DT_FLOAT",
    "DT_DOUBLE",
    "DT_INT32",
    "DT_UINT8",
    "DT_INT16",
    "DT_INT64",
    "DT_BOOL",
    "DT_UINT64",
    "DT_STRING",
    "DT_HALF",
    "DT_BFLOAT16",
    "DT_COMPLEX64",
];

/// Replaces a random word by another word of the same kind: a number, a dtype, a bool, or a string of `words` or
/// `pool`.
fn mutate(words: &mut [String], pool: &[String], random: &mut Random) {
    for _ in 0..50 {
        let index = random.below(words.len());
        let word = words[index].clone();
        let is_quoted = index > 0 && words[index - 1] == "\"";
        let new = if word.parse::<f64>().is_ok() {
            NUMBERS[random.below(NUMBERS.len())].to_string()
        } else if word.starts_with("DT_") {
            DTYPES[random.below(DTYPES.len())].to_string()
        } else if word == "true" || word == "false" {
            (word == "false").to_string()
        } else if is_quoted && word != "\"" {
            let from = if random.below(3) == 0 { pool } else { &words[..] };
            let strings: Vec<&String> = from
                .windows(2)
                .filter(|pair| pair[0] == "\"" && pair[1] != "\"")
                .map(|pair| &pair[1])
                .collect();
            strings[random.below(strings.len())].clone()
        } else {
            continue;
        };
        words[index] = new;
        return;
    }
}

/// Returns a tensor for an input. Sizes that the input does not declare are random and at most 4. A rank that the input
/// does not declare is random and at most 3. Returns `None` if the tensor would have more than 65,536 elements.
fn feed(value: Value<'_>, random: &mut Random) -> Option<Tensor> {
    let shape = value.shape();
    let sizes: Vec<usize> = match shape.dims() {
        Some(dims) => dims
            .iter()
            .map(|dim| dim.as_known().and_then(|size| usize::try_from(size).ok()).unwrap_or(random.below(5)))
            .collect(),
        None => (0..random.below(4)).map(|_| random.below(4)).collect(),
    };
    let count = sizes.iter().try_fold(1usize, |count, size| count.checked_mul(*size))?;
    if count > 1 << 16 {
        return None;
    }
    let numbers: Vec<i64> = (0..count).map(|_| random.below(6) as i64 - 1).collect();
    match value.dtype() {
        DType::F32 => Tensor::from_vec(&sizes, numbers.iter().map(|n| *n as f32).collect()),
        DType::F64 => Tensor::from_vec(&sizes, numbers.iter().map(|n| *n as f64).collect()),
        DType::I32 => Tensor::from_vec(&sizes, numbers.iter().map(|n| *n as i32).collect()),
        DType::I64 => Tensor::from_vec(&sizes, numbers),
        dtype => Tensor::zeros(dtype, &sizes),
    }
    .ok()
}

/// Imports, compiles and runs a model. Each of these steps may refuse the model.
fn run(text: &str, random: &mut Random) -> Result<()> {
    let mut limits = Limits::default();
    (limits.nodes, limits.rank, limits.constant_bytes, limits.nesting) = (10_000, 16, 1 << 20, 8);
    let model = Model::from_text(text)?;
    let imported = model.import(None, &ImportOptions::new().limits(limits))?;
    let names: Vec<String> = imported.fetches().map(str::to_string).collect();
    let values: Vec<Value<'_>> = names.iter().filter_map(|name| imported.value(name).ok()).collect();
    imported.op_usage(&values)?;
    imported.op_usage_of_fetches();
    if values.is_empty() {
        return Ok(());
    }
    let options = CompileOptions::new().memory_limit(1 << 24);
    let exe = imported.graph().compile_with(&options, &values)?;
    let interpreter = options.backend(Backend::Interpreter);
    let reference = imported.graph().compile_with(&interpreter, &values)?;
    for _ in 0..2 {
        let feeds: Option<Vec<Tensor>> = imported.inputs().map(|(_, value)| feed(value, random)).collect();
        let Some(feeds) = feeds else { return Ok(()) };
        let views: Vec<TensorView<'_>> = feeds.iter().map(Tensor::view).collect();
        // Machine code runs first and refuses a run beyond the memory limit, because the interpreter has no such limit.
        exe.run_all(&views)?;
        let _ = reference.run_all(&views);
    }
    Ok(())
}

/// Runs `work` in a thread with a stack of [`STACK`] bytes.
fn on_a_small_stack(work: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().stack_size(STACK).spawn(work).unwrap().join().unwrap();
}

/// The `shape` of a Reshape is a constant of 5000 elements, and inference tracks at most 4096.
#[test]
fn a_constant_too_long_to_track_is_refused() {
    let text = "node { name: \"x\" op: \"Placeholder\" attr { key: \"dtype\" value { type: DT_FLOAT } } }
        node { name: \"s\" op: \"Const\" attr { key: \"dtype\" value { type: DT_INT32 } } attr { key: \"value\" value {
          tensor { dtype: DT_INT32 tensor_shape { dim { size: 5000 } } int_val: 1 } } } }
        node { name: \"y\" op: \"Reshape\" input: \"x\" input: \"s\"
          attr { key: \"T\" value { type: DT_FLOAT } } attr { key: \"Tshape\" value { type: DT_INT32 } } }";
    on_a_small_stack(|| {
        let model = Model::from_text(text).unwrap();
        let imported = model.import(None, &ImportOptions::new()).unwrap();
        let x = Tensor::scalar(1.0f32);
        let run = |exe: Executable| exe.run_all(&[x.view()]);
        let error = imported.graph().compile(imported.value("y").unwrap()).and_then(run).unwrap_err();
        let message = "shape must hold integers, at most 4096 of them, got i32[5000]";
        assert!(error.message().ends_with(message), "{error}");
    });
}

/// Functions that call each other, and messages inside each other, are as deep as the limits allow.
#[test]
fn nesting_to_its_limits_fits_a_small_stack() {
    on_a_small_stack(|| {
        let mut text = String::from("library {");
        for level in 0..32 {
            let (op, output) =
                if level == 31 { ("Neg".to_string(), "y") } else { (format!("f{}", level + 1), "b") };
            text.push_str(&format!(
                "function {{ signature {{ name: \"f{level}\" input_arg {{ name: \"a\" type: DT_FLOAT }}
                   output_arg {{ name: \"b\" type: DT_FLOAT }} }} node_def {{ name: \"n\" op: \"{op}\" input: \"a\" }}
                 ret {{ key: \"b\" value: \"n:{output}:0\" }} }}"
            ));
        }
        text.push_str(
            "} node { name: \"x\" op: \"Placeholder\" attr { key: \"dtype\" value { type: DT_FLOAT } } }
             node { name: \"y\" op: \"f0\" input: \"x\" }",
        );
        let imported = Model::from_text(&text).unwrap().import(None, &ImportOptions::new()).unwrap();
        let exe = imported.graph().compile(imported.value("y").unwrap()).unwrap();
        let [y] = exe.run(&[Tensor::scalar(1.5f32).view()]).unwrap();
        assert_eq!(y.item::<f32>().unwrap(), -1.5);
        // Messages of unknown fields, nested 91 deep. The limit is 96.
        let deep = format!("node {{ {} {} }}", "a { ".repeat(90), "} ".repeat(90));
        assert!(Model::from_text(&deep).is_ok());
    });
}

/// Runs for the number of seconds in the environment variable `SHAPEFLOW_MUTATE_SECONDS`, by default 3, with the seed
/// in `SHAPEFLOW_SEED`. If `SHAPEFLOW_MUTATED` names a file, the test writes each model to the file before it runs the
/// model, because an overflow of the stack ends the process.
#[test]
fn mutated_models_run_or_are_refused() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seconds = number("SHAPEFLOW_MUTATE_SECONDS").unwrap_or(3);
    let seed = number("SHAPEFLOW_SEED").unwrap_or(1);
    let model_path = std::env::var_os("SHAPEFLOW_MUTATED");
    let seeds: Vec<Vec<String>> = samples()
        .iter()
        .map(|sample| {
            let graph = Graph::new();
            let outputs = (sample.build)(&graph).unwrap();
            words(&to_pbtxt(&graph, &outputs).unwrap())
        })
        .collect();
    let pool: Vec<String> = seeds.iter().flatten().cloned().collect();
    let work = move || {
        let end = Instant::now() + Duration::from_secs(seconds);
        let mut random = Random(0x9e37_79b9_7f4a_7c15 ^ (seed << 20));
        let (mut runs, mut fine) = (0, 0);
        while Instant::now() < end {
            let mut words = seeds[random.below(seeds.len())].clone();
            for _ in 0..1 + random.below(3) {
                mutate(&mut words, &pool, &mut random);
            }
            let text = words.concat();
            if let Some(path) = &model_path {
                std::fs::write(path, &text).unwrap();
            }
            fine += usize::from(run(&text, &mut random).is_ok());
            runs += 1;
        }
        println!("{runs} mutated models, of which {fine} ran");
    };
    on_a_small_stack(work);
}
