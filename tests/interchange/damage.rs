//! Imports of damaged models fail or succeed, but never panic, in bounded time and memory.

use std::time::{Duration, Instant};

use shapeflow::interchange::{ImportOptions, Limits, Model, fuzz, to_graphdef};
use shapeflow::{DType, ErrorKind, Graph, Result, shape};

fn import(text: &str) -> Result<()> {
    let imported = Model::from_text(text)?.import(None, &ImportOptions::new())?;
    match imported.nodes().find_map(|node| node.error.cloned()) {
        Some(error) => Err(error),
        None => Ok(()),
    }
}

#[test]
fn damaged_models_have_specific_errors() {
    let constant = |dims: &str| {
        format!(
            "node {{ name: \"c\" op: \"Const\" attr {{ key: \"value\" value {{ tensor {{ dtype: DT_FLOAT
             tensor_shape {{ {dims} }} float_val: 1 }} }} }} }}"
        )
    };
    let deep = "attr { key: \"a\" value { func { name: \"f\" ".repeat(200);
    for (text, kind, message) in [
        (
            "node { name: \"a\" op: \"Neg\" input: \"b\" }".to_string(),
            ErrorKind::Parse,
            "there is no node named b",
        ),
        (
            "node { name: \"a\" op: \"Neg\" input: \"b\" } node { name: \"b\" op: \"Neg\" input: \"a\" }"
                .to_string(),
            ErrorKind::Parse,
            "nodes must not form a cycle, got b, which needs a, which needs b",
        ),
        (
            "node { name: \"a\" op: \"Neg\" input: \"a\" }".to_string(),
            ErrorKind::Parse,
            "got a, which needs a",
        ),
        (
            "node { name: \"a\" op: \"Neg\" }".to_string(),
            ErrorKind::Parse,
            "the op must have 1 input, got 0",
        ),
        (
            "node { name: \"a\" op: \"NoOp\" } node { name: \"a\" op: \"NoOp\" }".to_string(),
            ErrorKind::Parse,
            "node names must be unique, got a twice",
        ),
        ("node { op: \"NoOp\" }".to_string(), ErrorKind::Parse, "a node must have a name"),
        ("node { name: \"a\" op: \"Const\" }".to_string(), ErrorKind::Parse, "must be a tensor"),
        (
            "node { name: \"a\" op: \"NoOp\" } node { name: \"b\" op: \"Neg\" input: \"a:7\" }".to_string(),
            ErrorKind::Parse,
            "input 0 is a:7, which does not exist",
        ),
        (
            "node { name: \"p\" op: \"Pack\" attr { key: \"N\" value { i: 4611686018427387904 } } }"
                .to_string(),
            ErrorKind::Parse,
            "attribute N must be the number of inputs",
        ),
        (constant("dim { size: 4611686018427387904 }"), ErrorKind::Memory, "too many elements"),
        (constant("dim { size: 1073741824 } dim { size: 16 }"), ErrorKind::Memory, "bytes together"),
        (constant("dim { size: -3 }"), ErrorKind::Shape, "must be known, got -3"),
        (constant(&"dim { size: 1 }".repeat(300)), ErrorKind::Memory, "at most 254 axes, got 300"),
        (
            "node { name: \"f\" op: \"PartitionedCall\" attr { key: \"f\" value { func { name: \"g\" } } } }"
                .to_string(),
            ErrorKind::Parse,
            "there is no function named g",
        ),
        (
            // The first output of a TopK is one tensor, and the second has another name.
            "library { function {
               signature { name: \"f\" input_arg { name: \"a\" type: DT_FLOAT } output_arg { name: \"b\" type: DT_INT32 } }
               node_def { name: \"top\" op: \"TopK\" input: \"a\" attr { key: \"k\" value { i: 1 } }
                          attr { key: \"T\" value { type: DT_FLOAT } } }
               ret { key: \"b\" value: \"top:values:1\" } } }
             node { name: \"x\" op: \"Placeholder\" attr { key: \"dtype\" value { type: DT_FLOAT } } }
             node { name: \"y\" op: \"f\" input: \"x\" }"
                .to_string(),
            ErrorKind::Parse,
            "an output of a function must be an output of one of its nodes",
        ),
        (format!("node {{ {deep}"), ErrorKind::Parse, "messages may nest at most 96 levels"),
    ] {
        let error = import(&text).unwrap_err();
        assert!(error.message().contains(message), "{text}: {}", error.message());
        assert_eq!(error.kind(), kind, "{}", error.message());
    }
}

/// The chain has 20,000 nodes, or the number in the environment variable `SHAPEFLOW_CHAIN`.
#[test]
fn deep_chains_are_imported() -> Result<()> {
    let count = std::env::var("SHAPEFLOW_CHAIN").ok().and_then(|text| text.parse().ok()).unwrap_or(20_000);
    let last = format!("n{}", count - 1);
    let mut text = String::from(
        "node { name: \"n0\" op: \"Placeholder\" attr { key: \"dtype\" value { type: DT_FLOAT } }
         attr { key: \"shape\" value { shape { dim { size: -1 } } } } } versions { producer: 1882 }\n",
    );
    for number in 1..count {
        let before = number - 1;
        text.push_str(&format!(
            "node {{ name: \"n{number}\" op: \"Neg\" input: \"n{before}\" attr {{ key: \"T\" value {{ type: DT_FLOAT }} }} }}\n"
        ));
    }
    let model = Model::from_text(&text)?;
    let imported = model.import(None, &ImportOptions::new())?;
    assert_eq!(imported.value(&last)?.shape().to_string(), "[?]");
    // In reverse order, every node precedes the node that it needs.
    let backwards: String = text.lines().rev().map(|line| format!("{line}\n")).collect();
    let backwards = backwards
        .replace(
            "attr { key: \"shape\" value { shape { dim { size: -1 } } } } } versions { producer: 1882 }",
            "",
        )
        .replace(
            "node { name: \"n0\" op: \"Placeholder\" attr { key: \"dtype\" value { type: DT_FLOAT } }",
            "",
        );
    let error = Model::from_text(&backwards)?.import(None, &ImportOptions::new()).unwrap_err();
    assert!(error.message().contains("there is no node named n0"));
    let cyclic = text.replace(
        "node { name: \"n0\" op: \"Placeholder\"",
        &format!("node {{ name: \"n0\" op: \"Neg\" input: \"{last}\""),
    );
    let error = Model::from_text(&cyclic)?.import(None, &ImportOptions::new()).unwrap_err();
    assert!(error.message().starts_with("nodes must not form a cycle") && error.message().len() < 1000);
    Ok(())
}

/// 300 calls of a function of 60 nodes, which is inlined.
#[test]
fn inlined_functions_count_towards_the_limit_of_nodes() {
    let mut text = String::from(
        "node { name: \"x\" op: \"Placeholder\" attr { key: \"dtype\" value { type: DT_FLOAT } } }
         library { function { signature { name: \"f\" input_arg { name: \"a\" type: DT_FLOAT }
           output_arg { name: \"b\" type: DT_FLOAT } } ret { key: \"b\" value: \"n59:y:0\" } ",
    );
    for number in 0..60 {
        let input = if number == 0 { "a".to_string() } else { format!("n{}:y:0", number - 1) };
        text.push_str(&format!("node_def {{ name: \"n{number}\" op: \"Neg\" input: \"{input}\" }} "));
    }
    text.push_str("} } ");
    for number in 0..300 {
        text.push_str(&format!("node {{ name: \"y{number}\" op: \"f\" input: \"x\" }} "));
    }
    let mut limits = Limits::default();
    limits.nodes = 10_000;
    let error =
        Model::from_text(&text).unwrap().import(None, &ImportOptions::new().limits(limits)).unwrap_err();
    assert_eq!(error.message(), "a model may have at most 10000 nodes");
}

/// A xorshift generator of random numbers.
pub struct Random(pub u64);

impl Random {
    /// Draws a number below `limit`.
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit.max(1) as u64) as usize
    }
}

/// Returns models that the test damages.
fn seeds() -> Vec<Vec<u8>> {
    let graph = Graph::new();
    let x = graph.input("x", DType::F32, shape!["n", 4]).unwrap();
    let build = || -> Result<Vec<shapeflow::Value<'_>>> {
        let w = graph.constant(vec![0.5f32; 8])?.reshape([4, 2])?;
        let y = (x.matmul(w)? + 1.0).relu()?.softmax(-1)?;
        let [low, high] = x.transpose([1, 0])?.split::<2>(0)?;
        Ok(vec![y, low, high.pad([1, 0, 0, 2])?, x.reduce_sum(..)?])
    };
    let outputs = build().unwrap();
    let mut seeds = vec![to_graphdef(&graph, &outputs).unwrap()];
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/shapes.npz");
    let arrays = shapeflow::interchange::read_npz(path).unwrap();
    let graphs = arrays.tensor("graphs").unwrap();
    seeds.extend(
        graphs
            .as_strings()
            .unwrap()
            .iter()
            .filter(|graph| !graph.is_empty())
            .step_by(7)
            .map(|graph| graph.to_vec()),
    );
    seeds
}

/// Runs for the number of seconds in the environment variable `SHAPEFLOW_FUZZ_SECONDS`, by default 2.
#[test]
fn damaged_bytes_never_panic() {
    let seconds =
        std::env::var("SHAPEFLOW_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(2);
    let seeds = seeds();
    for cut in 0..seeds[0].len() {
        fuzz(&seeds[0][..cut]);
    }
    let (end, mut random, mut runs, mut slowest) =
        (Instant::now() + Duration::from_secs(seconds), Random(0x9e37_79b9_7f4a_7c15), 0, Duration::ZERO);
    while Instant::now() < end {
        let mut bytes = seeds[random.below(seeds.len())].clone();
        for _ in 0..1 + random.below(4) {
            let offset = random.below(bytes.len());
            match random.below(5) {
                0 => bytes[offset] ^= 1 << random.below(8),
                1 => bytes[offset] = random.below(256) as u8,
                2 => bytes.truncate(offset + 1),
                3 => {
                    let other = &seeds[random.below(seeds.len())];
                    let from = random.below(other.len());
                    let to = (from + random.below(40)).min(other.len());
                    bytes.splice(offset..offset, other[from..to].iter().copied());
                }
                _ => {
                    let to = (offset + random.below(8)).min(bytes.len());
                    bytes.drain(offset..to);
                    if bytes.is_empty() {
                        bytes.push(0);
                    }
                }
            }
        }
        let start = Instant::now();
        fuzz(&bytes);
        slowest = slowest.max(start.elapsed());
        runs += 1;
    }
    println!("{runs} damaged files, the slowest took {slowest:?}");
    assert!(slowest < Duration::from_secs(20), "{slowest:?}");
}
