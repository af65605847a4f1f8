//! `shapeflow infer`: prints every node with the dtypes and partial shapes of its outputs.

use std::fmt::Write;

use clap::ArgMatches;
use serde_json::{Value, json};
use shapeflow::{DType, TensorShape};

use super::document::{lines, table};
use super::failure::{Failure, json_of};
use super::model::{Feeds, flag, import, type_text};

/// Prints the nodes, and the requirements that a run checks. Refused nodes are listed with their errors.
pub(crate) fn infer(arguments: &ArgMatches) -> Result<Vec<u8>, Failure> {
    let imported = import(arguments, None, Feeds::read(arguments)?.as_mut())?;
    let guards = imported.graph().guards();
    let text = if flag(arguments, "json") {
        let nodes: Vec<Value> = imported
            .nodes()
            .map(|node| {
                let outputs: Vec<Value> = node.outputs.iter().map(output_json).collect();
                let mut json = json!({"name": node.name, "op": node.op, "outputs": outputs});
                if let (Some(error), Some(object)) = (node.error, json.as_object_mut()) {
                    object.insert("error".to_string(), json_of(error));
                }
                json
            })
            .collect();
        json!({"nodes": nodes, "guards": guards}).to_string()
    } else {
        let rows: Vec<[String; 3]> = imported
            .nodes()
            .map(|node| {
                let outputs: Vec<String> =
                    node.outputs.iter().map(|(dtype, shape)| type_text(*dtype, shape)).collect();
                let result = match node.error {
                    Some(error) => format!("error: {}", error.message()),
                    None => outputs.join(", "),
                };
                [node.name.to_string(), node.op.to_string(), result]
            })
            .collect();
        let mut text = table(&rows);
        for guard in &guards {
            let _ = writeln!(text, "run-time check: {guard}");
        }
        text
    };
    match imported.check() {
        Err(error) => Err(Failure::with_document(error, lines(text))),
        Ok(()) => Ok(lines(text)),
    }
}

/// Returns an output such as `{"dtype": "float32", "shape": [2, null, "n"]}`. An unknown dtype or rank is `null`.
fn output_json((dtype, shape): &(Option<DType>, TensorShape)) -> Value {
    let dims = shape.dims().map(|dims| {
        let dims = dims.iter().map(|dim| match (dim.as_known(), dim.as_symbol()) {
            (Some(size), _) => json!(size),
            (None, Some(symbol)) if symbol.is_anonymous() => Value::Null,
            _ => json!(dim.to_string()),
        });
        dims.collect::<Vec<_>>()
    });
    json!({"dtype": dtype.map(DType::tensorflow_name), "shape": dims})
}
