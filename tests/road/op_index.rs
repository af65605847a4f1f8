//! The index of ops in the guide has every builder method, with what its documentation says.
//!
//! The test writes the index anew if the environment variable `SHAPEFLOW_WRITE_INDEX` is set.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use shapeflow::Registry;

use crate::source_files::collect_rust_files;

/// A family of ops: its folder below `src`, and its title.
const FAMILIES: &[(&str, &str)] = &[
    ("ops/math", "Arithmetic and functions of elements"),
    ("ops/logical", "Comparisons, flags and bits"),
    ("ops/reduce", "Reductions"),
    ("ops/array", "Shapes, slices, gathers and scatters"),
    ("ops/sort", "Sorting and searching"),
    ("ops/segment", "Segments and counts"),
    ("ops/linalg", "Matrices"),
    ("ops/nn", "Neural networks"),
    ("ops/image", "Images"),
    ("ops/string", "Strings"),
    ("ops/ragged", "Ragged rows"),
    ("ops/sparse", "Sparse tensors"),
    ("ops/quantize", "Quantized numbers"),
    ("ops/random", "Random numbers"),
    ("control", "Control flow"),
];

/// The length of a sentence that does not stand alone, such as `Returns the same elements.`
const SHORT: usize = 32;

/// A builder method.
struct Builder {
    name: String,
    /// The type that has the method, such as `Value`; none for a function.
    owner: Option<String>,
    docs: String,
    aliases: Vec<String>,
}

impl Builder {
    /// Returns the first sentences of the documentation, without links.
    fn meaning(&self) -> String {
        let paragraph = self.docs.split("\n\n").next().unwrap_or_default().replace('\n', " ");
        // A short sentence needs the next one.
        let ends = paragraph.match_indices(". ").map(|(end, _)| end + 1);
        let end = ends.filter(|end| *end > SHORT).min().unwrap_or(paragraph.len());
        let (mut text, mut rest) = (String::new(), &paragraph[..end]);
        while let Some(start) = rest.find("[`") {
            let Some(length) = rest[start..].find("`]") else { break };
            text += &rest[..start];
            text += &rest[start + 1..start + length + 1];
            rest = &rest[start + length + 2..];
            if let Some(target) = rest.strip_prefix('(') {
                rest = target.split_once(')').map_or(target, |(_, after)| after);
            }
        }
        text += rest;
        let text = text.trim().trim_end_matches([':', ';', '.']);
        text.replace('|', "\\|")
    }

    fn link(&self) -> String {
        match &self.owner {
            Some(owner) if owner == "Value" => format!("[`{0}`](crate::Value::{0})", self.name),
            Some(owner) => format!("[`{owner}::{0}`](crate::{owner}::{0})", self.name),
            None => format!("[`{0}`](crate::{0})", self.name),
        }
    }

    /// Returns TensorFlow's names of the op.
    fn tensorflow(&self, registry: &Registry) -> Vec<String> {
        let def = registry.get(&self.name).filter(|_| self.owner.as_deref() != Some("RaggedValue"));
        let known = def.iter().flat_map(|def| def.tensorflow_ops()).map(|op| op.op_type.to_string());
        let mut names: Vec<String> = known.collect();
        if names.is_empty()
            && let Some((_, after)) = self.docs.replace('\n', " ").split_once("As TensorFlow's `")
        {
            names.extend(after.split('`').next().map(str::to_string));
        }
        names
    }

    /// Returns what computes the op.
    fn computed_by(&self, registry: &Registry) -> &'static str {
        let docs = self.docs.replace('\n', " ");
        if docs.contains("Fuses into kernels") {
            return "kernels";
        }
        if docs.contains("uns on the host") {
            return "host";
        }
        let def = registry.get(&self.name).filter(|_| self.owner.as_deref() != Some("RaggedValue"));
        match def.map(|def| def.body_kind()) {
            Some("compute" | "contraction") => "kernels",
            Some("host") => "host",
            _ => "other ops",
        }
    }
}

/// Returns the public methods of graphs and values, and the public functions, that a file defines.
///
/// A method is a function, or the row of a macro: its name, perhaps after a number, and further columns.
fn builders(source: &str) -> Vec<Builder> {
    const OWNERS: [&str; 4] = ["Value", "Graph", "RaggedValue", "RowPartitionValue"];
    let source = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let (mut found, mut docs, mut aliases) = (Vec::new(), String::new(), Vec::new());
    let (mut owner, mut in_rows) = (None, false);
    for line in source.lines() {
        let text = line.trim();
        if line.starts_with('}') {
            (owner, in_rows) = (None, false);
        }
        if let Some(implementation) = line.strip_prefix("impl") {
            let name = implementation.trim_start_matches("<'g>").trim_start().split(['<', ' ']).next();
            owner = name.map(str::to_string);
        }
        // Such as `unary_ops! { unary, "":`. The macro makes methods of one type.
        if line.split_once("! {").is_some_and(|(name, _)| !name.contains(' ')) {
            let is_ragged = source.contains("impl<'g> RaggedValue<'g> {$(");
            (owner, in_rows) = (Some(if is_ragged { "RaggedValue" } else { "Value" }.to_string()), true);
        }
        if let Some(doc) = text.strip_prefix("///") {
            docs += doc.trim();
            docs.push('\n');
            continue;
        }
        if text.starts_with("#[") {
            if let Some((_, alias)) = text.split_once("doc(alias = \"") {
                aliases.extend(alias.split('"').next().map(str::to_string));
            }
            continue;
        }
        let word = |text: &str| -> String {
            text.chars().take_while(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || *c == '_').collect()
        };
        let name = match text.strip_prefix("pub fn ") {
            Some(rest) => Some(word(rest)),
            None if in_rows && line.starts_with("    ") && !line.starts_with("     ") => {
                let row = text.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start();
                let name = word(row);
                let after = &row[name.len()..];
                (!name.is_empty() && (after.starts_with(", ") || !docs.is_empty())).then_some(name)
            }
            None => None,
        };
        if let Some(name) = name.filter(|name| !name.is_empty()) {
            let is_public = owner.as_deref().is_none_or(|owner| OWNERS.contains(&owner));
            if is_public && (owner.is_some() || line.starts_with("pub fn")) {
                let (docs, aliases) = (std::mem::take(&mut docs), std::mem::take(&mut aliases));
                found.push(Builder { name, owner: owner.clone(), docs, aliases });
            }
        }
        docs.clear();
        aliases.clear();
    }
    found
}

/// Returns the builders of a family, sorted by name.
fn family(folder: &str) -> Vec<Builder> {
    let mut paths = Vec::new();
    collect_rust_files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(folder), &mut paths);
    let sources = paths.iter().map(|path| std::fs::read_to_string(path).unwrap());
    let mut by_name = BTreeMap::new();
    for builder in sources.flat_map(|source| builders(&source)) {
        by_name.entry((builder.name.clone(), builder.owner.clone())).or_insert(builder);
    }
    by_name.into_values().collect()
}

fn index() -> String {
    let registry = Registry::builtin();
    let mut text = "Ops: every builder method by family.\n\n\
        *Computed by* says what computes an op: fused kernels, a Rust function on the host, or other ops. *Elsewhere* has \
        the names that numpy and torch give the op, and other names. The search of this page finds all names.\n"
        .to_string();
    for (folder, title) in FAMILIES {
        let _ = write!(text, "\n# {title}\n\n| op | what it does | computed by | TensorFlow | elsewhere |\n");
        text.push_str("|---|---|---|---|---|\n");
        for builder in family(folder) {
            let code =
                |names: &[String]| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" ");
            let (tensorflow, elsewhere) = (code(&builder.tensorflow(&registry)), code(&builder.aliases));
            let (link, meaning) = (builder.link(), builder.meaning());
            let computed_by = builder.computed_by(&registry);
            let _ = writeln!(text, "| {link} | {meaning} | {computed_by} | {tensorflow} | {elsewhere} |");
        }
    }
    text
}

#[test]
fn the_index_has_every_op_as_its_documentation_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/guide/ops.md");
    let index = index();
    if std::env::var_os("SHAPEFLOW_WRITE_INDEX").is_some() {
        std::fs::write(&path, &index).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap();
    for (line, expected) in written.lines().zip(index.lines()) {
        assert_eq!(line, expected, "set SHAPEFLOW_WRITE_INDEX to write the index anew");
    }
    assert_eq!(written.lines().count(), index.lines().count(), "set SHAPEFLOW_WRITE_INDEX");
}
