//! `shapeflow ops`: lists every registered op.

use clap::ArgMatches;
use serde_json::{Value, json};
use shapeflow::interchange::import_ops;
use shapeflow::shape_fns::registered;
use shapeflow::{DType, Registry};

use super::document::{table, with_final_newline};
use super::model::flag;

/// A line of the list.
struct OpLine {
    /// TensorFlow's op type; none for an op that TensorFlow lacks.
    op_type: Option<&'static str>,
    /// The name of the builder method; none for an op that has only a shape function.
    builder: Option<&'static str>,
    dtypes: Vec<DType>,
    /// The kind of the op's body, which says what computes the op; `import` if the import of a model builds the op.
    body: &'static str,
}

/// Lists the ops, sorted by TensorFlow op type.
pub(crate) fn ops(arguments: &ArgMatches) -> Vec<u8> {
    let rows = rows();
    if flag(arguments, "json") {
        let ops: Vec<Value> = rows
            .iter()
            .map(|row| {
                let dtypes: Vec<&str> = row.dtypes.iter().map(|dtype| dtype.name()).collect();
                json!({"op_type": row.op_type, "builder": row.builder, "dtypes": dtypes, "body": row.body})
            })
            .collect();
        return with_final_newline(json!({"ops": ops}).to_string());
    }
    let cells = rows.iter().map(|row| {
        let text = |name: Option<&str>| name.unwrap_or("-").to_string();
        let dtypes: Vec<&str> = row.dtypes.iter().map(|dtype| dtype.name()).collect();
        [text(row.op_type), text(row.builder), row.body.to_string(), dtypes.join(" ")]
    });
    let mut rows = vec![["TensorFlow", "builder", "body", "dtypes"].map(str::to_string)];
    rows.extend(cells);
    with_final_newline(table(&rows))
}

fn rows() -> Vec<OpLine> {
    let mut rows = Vec::new();
    for def in Registry::builtin().iter() {
        let dtypes = def.dtypes();
        let row = |op_type| OpLine {
            op_type,
            builder: Some(def.name()),
            dtypes: dtypes.clone(),
            body: def.body_kind(),
        };
        match def.tensorflow_ops() {
            [] => rows.push(row(None)),
            spellings => rows.extend(spellings.iter().map(|spelling| row(Some(spelling.op_type)))),
        }
    }
    let known: Vec<&str> = rows.iter().filter_map(|row| row.op_type).collect();
    let without_builder =
        |op_type, body| OpLine { op_type: Some(op_type), builder: None, dtypes: Vec::new(), body };
    let imported = import_ops();
    let shapes = registered().iter().map(|op| op.op);
    let shapes = shapes.filter(|op| !known.contains(op) && !imported.contains(op));
    let others = imported.iter().map(|op| without_builder(*op, "import"));
    let others: Vec<OpLine> = others.chain(shapes.map(|op| without_builder(op, "shape only"))).collect();
    rows.extend(others);
    rows.sort_by_key(|row| (row.op_type.is_none(), row.op_type, row.builder));
    rows
}
