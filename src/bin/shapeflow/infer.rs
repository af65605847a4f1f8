//! `shapeflow infer`: prints every node with the dtypes and partial shapes of its outputs.

use std::fmt::Write;

use clap::ArgMatches;
use serde_json::{Value, json};
use shapeflow::interchange::{ComputedBy, Imported};
use shapeflow::{DType, DimNames, TensorShape};

use super::document::{plural, table, with_final_newline};
use super::failure::{Failure, json_of};
use super::model::{NamedFeeds, flag, import_model, read, type_text};
use super::signatures::{signatures_json, signatures_text};

/// Prints the nodes, also inside functions, the requirements that a run checks, the signatures if there are several, and
/// how many nodes can be computed. Refused nodes are listed with their errors.
pub(crate) fn infer(arguments: &ArgMatches) -> Result<Vec<u8>, Failure> {
    let model = read(arguments)?;
    let allow_unknown = flag(arguments, "allow-unknown");
    let mut feeds = NamedFeeds::read(arguments)?;
    let imported = import_model(arguments, &model, allow_unknown, None, Some(&mut feeds))?;
    let guards = imported.graph().guards_by_node();
    let names = imported.graph().dim_names();
    let coverage = Coverage::of(&imported);
    let text = if flag(arguments, "json") {
        let nodes: Vec<Value> = imported
            .nodes()
            .chain(imported.function_nodes())
            .map(|node| {
                let names = node.dim_names.unwrap_or(&names);
                let outputs = node.outputs.iter().zip(&node.is_resource);
                let outputs: Vec<Value> = outputs
                    .map(|(output, is_resource)| match is_resource {
                        true => json!({"dtype": RESOURCE, "shape": null}),
                        false => output_json(output, names),
                    })
                    .collect();
                let mut json = json!({"name": node.name, "op": node.op, "outputs": outputs});
                if let (Some(error), Some(object)) = (node.error, json.as_object_mut()) {
                    object.insert("error".to_string(), json_of(error));
                }
                json
            })
            .collect();
        let guards: Vec<Value> =
            guards.iter().map(|(text, node)| json!({"text": text, "node": node})).collect();
        json!({
            "nodes": nodes,
            "guards": guards,
            "signatures": signatures_json(arguments, &model),
            "coverage": coverage.json(),
        })
        .to_string()
    } else {
        let rows: Vec<[String; 3]> = imported
            .nodes()
            .chain(imported.function_nodes())
            .map(|node| {
                let names = node.dim_names.unwrap_or(&names);
                let outputs = node.outputs.iter().zip(&node.is_resource);
                let outputs: Vec<String> = outputs
                    .map(|((dtype, shape), is_resource)| match is_resource {
                        true => RESOURCE.to_string(),
                        false => type_text(*dtype, shape, names),
                    })
                    .collect();
                let result = match node.error {
                    Some(error) => format!("error: {}", error.message()),
                    None => outputs.join(", "),
                };
                [node.name.to_string(), node.op.to_string(), result]
            })
            .collect();
        let mut text = table(&rows);
        for (guard, node) in &guards {
            let _ = match node {
                Some(node) => writeln!(text, "run-time check: {guard} in {node}"),
                None => writeln!(text, "run-time check: {guard}"),
            };
        }
        text.push_str(&signatures_text(arguments, &model));
        text.push_str(&coverage.text());
        text
    };
    match imported.check() {
        Err(error) => Err(Failure::with_document(error, with_final_newline(text))),
        Ok(()) => Ok(with_final_newline(text)),
    }
}

/// What stands in place of the dtype and shape of a handle of a variable or a lookup table.
const RESOURCE: &str = "resource";

/// The numbers of nodes by what computes them.
struct Coverage {
    kernels: usize,
    host: usize,
    refused: usize,
    /// The ops that nothing computes, each with the number of its nodes.
    missing: Vec<(String, usize)>,
}

impl Coverage {
    /// Counts the nodes that the outputs of the signature need, or else the tensors that no node reads.
    fn of(imported: &Imported) -> Coverage {
        let mut coverage = Coverage { kernels: 0, host: 0, refused: 0, missing: Vec::new() };
        for usage in imported.op_usage_of_fetches() {
            let count = usage.nodes.len();
            match usage.computed_by {
                ComputedBy::Kernels => coverage.kernels += count,
                ComputedBy::Host => coverage.host += count,
                ComputedBy::Nothing => coverage.missing.push((usage.op, count)),
                ComputedBy::Refused => coverage.refused += count,
                _ => {}
            }
        }
        coverage
    }

    fn uncovered(&self) -> usize {
        self.missing.iter().map(|(_, count)| count).sum()
    }

    fn json(&self) -> Value {
        let missing: Vec<Value> =
            self.missing.iter().map(|(op, nodes)| json!({"op": op, "nodes": nodes})).collect();
        json!({
            "kernels": self.kernels,
            "host": self.host,
            "refused": self.refused,
            "none": self.uncovered(),
            "missing": missing,
        })
    }

    fn text(&self) -> String {
        let (covered, uncovered) = (self.kernels + self.host, self.uncovered());
        let all = covered + self.refused + uncovered;
        if all == 0 {
            return String::new();
        }
        let mut text =
            format!("computed: {} by kernels, {} on the host", plural(self.kernels, "node"), self.host);
        if self.refused > 0 {
            let _ = write!(text, ", {} refused", self.refused);
        }
        if uncovered > 0 {
            let ops: Vec<String> = self.missing.iter().map(|(op, count)| format!("{op} ×{count}")).collect();
            let share = 100 * covered / all;
            let _ = write!(text, ", {uncovered} by nothing ({share} % can run): {}", ops.join(", "));
        }
        text.push('\n');
        text
    }
}

/// Returns an output such as `{"dtype": "f32", "shape": [2, "tokens.1", "n"]}`. An unknown dtype or rank is `null`.
fn output_json((dtype, shape): &(Option<DType>, TensorShape), names: &DimNames) -> Value {
    let dims = shape.dims().map(|dims| {
        let dims = dims.iter().map(|dim| match dim.as_known() {
            Some(size) => json!(size),
            None => json!(names.dim(dim)),
        });
        dims.collect::<Vec<_>>()
    });
    json!({"dtype": dtype.map(DType::name), "shape": dims})
}
