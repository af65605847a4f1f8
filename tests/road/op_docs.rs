//! The documentation of every builder method says what a caller must know: shapes, dtypes, errors, what computes the
//! op, whose semantics the op has, and an example that runs.
//!
//! A method may share the documentation of another one: `As [Value::x]` and `Applies [Value::x]` refer to it.

use std::collections::BTreeMap;

use crate::builder_docs::{Builder, FAMILIES, family};

/// A statement that documentation must contain: the name of the statement, and texts. Documentation that contains any
/// one of the texts makes the statement.
type Requirement = (&'static str, &'static [&'static str]);

const REQUIREMENTS: &[Requirement] = &[
    ("shapes", &["->", "shape", "scalar", "vector", "partition", "rows"]),
    (
        "dtypes",
        &[
            "dtype",
            "element type",
            "integer",
            "float",
            "number",
            "bool",
            "string",
            "complex",
            "quantized",
            "i32",
            "i64",
            "u8",
        ],
    ),
    ("errors", &["# Errors"]),
    (
        "what computes it",
        &[
            "uses into kernels",
            "use into kernels",
            "uns in matmul kernels",
            "uns on the host",
            "on the host",
            "omposed of",
            "Adds no op",
            "moves nothing",
        ],
    ),
    (
        "whose semantics",
        &[
            "As TensorFlow's",
            "as TensorFlow's",
            "As numpy's",
            "as numpy's",
            "As torch's",
            "As C's",
            "As Python's",
            "TensorFlow has no such op",
            "TensorFlow needs no such op",
        ],
    ),
    ("an example", &["```\n"]),
];

/// Returns the method as the documentation links it, such as `Value::add`.
fn path(builder: &Builder) -> String {
    match &builder.owner {
        Some(owner) => format!("{owner}::{}", builder.name),
        None => builder.name.clone(),
    }
}

/// Returns the documentation on one line per paragraph, with the documentation that it refers to.
fn complete(path: &str, docs: &BTreeMap<String, String>, depth: usize) -> String {
    let Some(own) = docs.get(path) else { return String::new() };
    let text = own.replace("```\n", "```\u{1}").replace('\n', " ").replace("```\u{1}", "```\n");
    let mut all = text.clone();
    for start in ["As [`", "as [`", "Applies [`"] {
        for (_, reference) in text.match_indices(start).filter_map(|(at, _)| text[at..].split_once("[`")) {
            let referred = reference.split('`').next().unwrap_or_default();
            if depth < 4 && referred != path {
                all += &complete(referred, docs, depth + 1);
            }
        }
    }
    all
}

#[test]
fn the_documentation_of_every_op_is_complete() {
    let builders: Vec<Builder> = FAMILIES.iter().flat_map(|(folder, _)| family(folder)).collect();
    let docs: BTreeMap<String, String> =
        builders.iter().map(|builder| (path(builder), builder.docs.clone())).collect();
    let mut failures = Vec::new();
    for name in docs.keys() {
        let text = complete(name, &docs, 0);
        let lacks = |(_, signs): &&Requirement| !signs.iter().any(|sign| text.contains(sign));
        let lacking: Vec<&str> = REQUIREMENTS.iter().filter(lacks).map(|(what, _)| *what).collect();
        if !lacking.is_empty() {
            failures.push(format!("{name}: {lacking:?}"));
        }
    }
    assert!(failures.is_empty(), "the documentation lacks:\n{}", failures.join("\n"));
}
