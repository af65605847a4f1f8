//! Reads the documentation of every builder method from the sources of the ops.

use std::collections::BTreeMap;
use std::path::Path;

use crate::source_files::collect_rust_files;

/// A family of ops: its folder below `src`, and its title.
pub const FAMILIES: &[(&str, &str)] = &[
    ("ops/math", "Arithmetic and functions of elements"),
    ("ops/logical", "Comparisons, flags and bits"),
    ("ops/reduce", "Reductions"),
    ("ops/array", "Shapes, slices, gathers and scatters"),
    ("ops/sort", "Sorting and searching"),
    ("ops/segment", "Segments and counts"),
    ("ops/linalg", "Matrices"),
    ("ops/nn", "Neural networks"),
    ("ops/image", "Images"),
    ("ops/audio", "Sound"),
    ("ops/signal", "Signals"),
    ("ops/string", "Strings"),
    ("ops/media", "Files with images and sounds"),
    ("ops/ragged", "Ragged rows"),
    ("ops/sparse", "Sparse tensors"),
    ("ops/quantize", "Quantized numbers"),
    ("ops/random", "Random numbers"),
    ("control", "Control flow"),
];

/// The types whose methods are builders.
const OWNERS: [&str; 4] = ["Value", "Graph", "RaggedValue", "RowPartitionValue"];

/// A builder method.
pub struct Builder {
    pub name: String,
    /// The type that has the method, such as `Value`; none for a function.
    pub owner: Option<String>,
    /// The documentation. For the row of a macro: the documentation of the row, then the documentation of the macro.
    pub docs: String,
    pub aliases: Vec<String>,
}

/// Stands in a template for the sentence that names TensorFlow's op types.
const OP_TYPES: &str = "\u{1}";

/// Stands in a template on both sides of the name of a macro's column.
const COLUMN: char = '\u{2}';

/// The documentation that macros generate for the methods of an owner: macro, owner, text.
type Templates = BTreeMap<(String, String), String>;

/// Returns the builders of a family, sorted by name.
pub fn family(folder: &str) -> Vec<Builder> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let read = |path: &Path| std::fs::read_to_string(path).unwrap();
    // Macros that several files use.
    let mut shared = Templates::new();
    for file in ["elementwise.rs", "gradient.rs"] {
        Scan::of(&read(&root.join("ops").join(file)), &mut shared);
    }
    let mut paths = Vec::new();
    collect_rust_files(&root.join(folder), &mut paths);
    let mut by_name = BTreeMap::new();
    for builder in paths.iter().flat_map(|path| Scan::of(&read(path), &mut shared.clone())) {
        by_name.entry((builder.name.clone(), builder.owner.clone())).or_insert(builder);
    }
    by_name.into_values().collect()
}

/// A walk over the lines of a file.
struct Scan {
    /// The documentation and the aliases of the item that follows.
    docs: String,
    aliases: Vec<String>,
    /// The type in whose `impl` the line is.
    owner: Option<String>,
    /// The macro in whose definition the line is.
    definition: Option<String>,
    /// The macro in whose rows the line is.
    rows_of: Option<String>,
    /// The columns of the rows of each macro of the file.
    columns: BTreeMap<String, Vec<String>>,
    /// The text so far of the `#[doc = concat!(…)]` in which the line is.
    concat: Option<String>,
}

impl Scan {
    /// Returns the public methods of graphs and values, and the public functions, that a file defines.
    ///
    /// A method is a function, or the row of a macro: its name, perhaps after a number, and further columns.
    fn of(source: &str, templates: &mut Templates) -> Vec<Builder> {
        let source = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        let makes_ragged = source.contains("impl<'g> RaggedValue<'g> {$(");
        let mut scan = Scan {
            docs: String::new(),
            aliases: Vec::new(),
            owner: None,
            definition: None,
            rows_of: None,
            columns: BTreeMap::new(),
            concat: None,
        };
        let mut found = Vec::new();
        for line in source.lines() {
            scan.enter(line, makes_ragged);
            if scan.reads_docs(line.trim()) {
                continue;
            }
            if let Some(builder) = scan.builder(line, templates) {
                found.push(builder);
            }
            scan.docs.clear();
            scan.aliases.clear();
        }
        found
    }

    /// Notes the beginnings and ends of implementations, macros and rows.
    fn enter(&mut self, line: &str, makes_ragged: bool) {
        if line.starts_with('}') {
            (self.owner, self.definition, self.rows_of) = (None, None, None);
        }
        if let Some(name) = line.strip_prefix("macro_rules! ") {
            self.definition = Some(word(name));
        }
        if let (Some(name), Some(pattern)) = (&self.definition, line.strip_prefix("    ($($")) {
            // A column such as `$what:literal`. The first column may be preceded by `$axes:literal `.
            let column = |text: &str| {
                text.rsplit('$').next().and_then(|text| text.split(':').next()).map(str::to_string)
            };
            self.columns.insert(name.clone(), pattern.split(", ").filter_map(column).collect());
        }
        let implementation = if self.definition.is_some() { line.trim() } else { line };
        if let Some(implementation) = implementation.strip_prefix("impl") {
            let name = implementation.trim_start_matches("<'g>").trim_start().split(['<', ' ']).next();
            self.owner = name.and_then(|name| name.rsplit("::").next()).map(str::to_string);
        }
        // A line such as `unary_ops! { unary, "":`. The macro makes methods of one type. `wide!` makes inner loops.
        if let Some((name, _)) =
            line.split_once("! {").filter(|(name, _)| !name.contains(' ') && *name != "wide")
        {
            self.owner = Some(if makes_ragged { "RaggedValue" } else { "Value" }.to_string());
            self.rows_of = Some(name.to_string());
        }
    }

    /// Returns whether a line is documentation or another attribute, and notes such a line.
    fn reads_docs(&mut self, text: &str) -> bool {
        if let Some(doc) = text.strip_prefix("///") {
            self.docs += doc.trim();
            self.docs.push('\n');
            return true;
        }
        if self.concat.is_some() || text.starts_with("#[doc = concat!(") {
            let mut all = self.concat.take().unwrap_or_default();
            all += text.trim_end_matches('\\');
            if text.ends_with(")]") {
                self.docs += &literals(&all);
                self.docs.push('\n');
            } else {
                self.concat = Some(all);
            }
            return true;
        }
        if let Some((_, alias)) = text.split_once("doc(alias = \"") {
            self.aliases.extend(alias.split('"').next().map(str::to_string));
        }
        text.starts_with("#[") || text.starts_with("$(#[")
    }

    /// Returns the method that a line defines. A method of a macro becomes a template.
    fn builder(&mut self, line: &str, templates: &mut Templates) -> Option<Builder> {
        let text = line.trim();
        if let (Some(definition), true) = (&self.definition, text.starts_with("pub fn $")) {
            let owner = self.owner.clone().unwrap_or_default();
            // A macro may define several methods per row. The row has the name of the first method.
            let docs = std::mem::take(&mut self.docs);
            templates.entry((definition.clone(), owner)).or_insert(docs);
            return None;
        }
        let is_row = self.rows_of.is_some() && line.starts_with("    ") && !line.starts_with("     ");
        let name = match text.strip_prefix("pub fn ") {
            Some(rest) => word(rest),
            None if is_row => {
                let row = text.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start();
                let name = word(row);
                let has_columns = row[name.len()..].starts_with(", ") || !self.docs.is_empty();
                if has_columns { name } else { String::new() }
            }
            None => String::new(),
        };
        let is_public = match &self.owner {
            Some(owner) => OWNERS.contains(&owner.as_str()),
            None => line.starts_with("pub fn"),
        };
        if name.is_empty() || !is_public {
            return None;
        }
        let mut docs = std::mem::take(&mut self.docs);
        if let (Some(rows_of), Some(owner)) = (&self.rows_of, &self.owner)
            && let Some(template) = templates.get(&(rows_of.clone(), owner.clone()))
        {
            let op_types: Vec<&str> = text.split('"').skip(1).step_by(2).take(1).collect();
            let source = op_types.first().map_or(String::new(), |op| format!(" As TensorFlow's `{op}`."));
            let mut template = template.replace(OP_TYPES, &source);
            let values = text.trim_end_matches(';').split(", ").map(|value| value.trim_matches('"'));
            for (column, value) in self.columns.get(rows_of).into_iter().flatten().zip(values) {
                template = template.replace(&format!("{COLUMN}{column}{COLUMN}"), value);
            }
            docs = format!("{docs}\n{template}");
        }
        Some(Builder { name, owner: self.owner.clone(), docs, aliases: std::mem::take(&mut self.aliases) })
    }
}

/// Returns the name at the start of a text.
fn word(text: &str) -> String {
    text.chars().take_while(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || *c == '_').collect()
}

/// Returns the texts in quotes and the columns of a macro, joined. [`OP_TYPES`] stands for `tensorflow_words!`, the
/// macro that names the op types of a row.
fn literals(text: &str) -> String {
    let text = text.replace("tensorflow_words!", &format!("\"{OP_TYPES}\""));
    let parts = text.split('"').enumerate().map(|(number, part)| match part.split_once('$') {
        _ if number % 2 == 1 => part.to_string(),
        Some((_, column)) => {
            let column: String = column.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            format!("{COLUMN}{column}{COLUMN}")
        }
        None => String::new(),
    });
    parts.collect()
}
