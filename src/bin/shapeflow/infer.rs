//! `shapeflow infer`: every node with what is known of its shape.

use std::fmt::Write;

use clap::ArgMatches;
use serde_json::{Value, json};
use shapeflow::{DType, TensorShape};

use super::failure::{Failure, json_of};
use super::model::{Feeds, flag, import};
use super::output::lines;

/// Prints the nodes and the checks that are left to a run. Nodes that inference refuses stand among the others.
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
                let outputs: Vec<String> = node.outputs.iter().map(output_text).collect();
                let result = match node.error {
                    Some(error) => format!("error: {}", error.message()),
                    None => outputs.join(", "),
                };
                [node.name.to_string(), node.op.to_string(), result]
            })
            .collect();
        let mut text = table(&rows);
        for guard in &guards {
            let _ = writeln!(text, "checked when it runs: {guard}");
        }
        text
    };
    match imported.check() {
        Err(error) => Err(Failure::with_document(error, lines(text))),
        Ok(()) => Ok(lines(text)),
    }
}

fn output_text((dtype, shape): &(Option<DType>, TensorShape)) -> String {
    let name = dtype.map_or("?", DType::tensorflow_name);
    match shape.dims() {
        Some(_) => format!("{name} {shape}"),
        None => format!("{name} of unknown rank"),
    }
}

/// `{"dtype": "float32", "shape": [2, null, "n"]}`; no shape is `null`.
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

/// Rows with aligned columns.
pub(crate) fn table<const N: usize>(rows: &[[String; N]]) -> String {
    let mut widths = [0; N];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count().min(60));
        }
    }
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(widths) {
            let _ = write!(line, "{cell:width$}  ");
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}
