//! Exports every op with every dtype that this crate takes: TensorFlow runs the graph, or the export lists the op as
//! missing.
//!
//! A case recorded from TensorFlow is run with other dtypes than its own. `tests/tensorflow_roundtrip.py` runs the
//! exported graphs.

use std::collections::BTreeSet;

use shapeflow::interchange::{ImportOptions, Model, ops_missing_in_tensorflow, tensor_names, to_graphdef};
use shapeflow::{DType, Result, Tensor};

use crate::imports::{Case, cases, constant, dtype, value};
use crate::roundtrip::write_for_tensorflow;

/// The dtypes that a cast gives, by the names in a GraphDef.
const DTYPES: [(&str, DType); 19] = [
    ("DT_BOOL", DType::Bool),
    ("DT_INT8", DType::I8),
    ("DT_INT16", DType::I16),
    ("DT_INT32", DType::I32),
    ("DT_INT64", DType::I64),
    ("DT_UINT8", DType::U8),
    ("DT_UINT16", DType::U16),
    ("DT_UINT32", DType::U32),
    ("DT_UINT64", DType::U64),
    ("DT_HALF", DType::F16),
    ("DT_BFLOAT16", DType::BF16),
    ("DT_FLOAT", DType::F32),
    ("DT_DOUBLE", DType::F64),
    ("DT_COMPLEX64", DType::C64),
    ("DT_COMPLEX128", DType::C128),
    ("DT_FLOAT8_E5M2", DType::F8E5M2),
    ("DT_FLOAT8_E4M3FN", DType::F8E4M3FN),
    ("DT_INT4", DType::I4),
    ("DT_UINT4", DType::U4),
];

/// Returns the case's graph with `to` in place of the dtype `from` of data: a node `y` that reads casts of the
/// placeholders `x0`, `x1` and so on.
fn graph_with(case: &Case, from: &str, to: &str) -> String {
    let mut text = String::new();
    let mut inputs = String::new();
    for (number, tensor) in case.inputs.iter().enumerate() {
        if !case.fed[number] {
            text += &constant(&format!("v{number}"), tensor);
            inputs += &format!(r#"input: "v{number}" "#);
            continue;
        }
        let given = dtype(tensor);
        text += &format!(
            r#"node {{ name: "x{number}" op: "Placeholder" attr {{ key: "dtype" value {{ type: {given} }} }} }}"#
        );
        if given != from || from == to {
            inputs += &format!(r#"input: "x{number}" "#);
            continue;
        }
        text += &format!(
            r#"node {{ name: "c{number}" op: "Cast" input: "x{number}" attr {{ key: "SrcT" value {{ type: {from} }} }}
               attr {{ key: "DstT" value {{ type: {to} }} }} }}"#
        );
        inputs += &format!(r#"input: "c{number}" "#);
    }
    let attrs = case.attrs.replace(&format!("type: {from} }}"), &format!("type: {to} }}"));
    format!(r#"{text} node {{ name: "y" op: "{}" {inputs} {attrs} }} versions {{ producer: 1882 }}"#, case.op)
}

/// Exports the case with the dtype `to`, if this crate takes the dtype. Returns the ops that TensorFlow lacks.
fn export(case: &Case, from: &str, to: &str, name: &str) -> Result<Option<Vec<String>>> {
    let imported = Model::from_text(&graph_with(case, from, to))?.import(None, &ImportOptions::new())?;
    let outputs = case.outputs.as_ref().map_or(0, Vec::len);
    let mut values = Vec::new();
    for number in 0..outputs {
        let value = imported.value(&format!("y:{number}"))?;
        values.push(match value.dtype() {
            DType::BF16 | DType::F8E5M2 | DType::F8E4M3FN => value.cast(DType::F32)?,
            DType::I4 | DType::U4 => value.cast(DType::I32)?,
            _ => value,
        });
    }
    let exe = imported.graph().compile(&values)?;
    let tensors: Vec<Tensor> = case.inputs.iter().map(|tensor| value(tensor)).collect();
    let fed = |name: &str| name[1..].parse::<usize>().ok().and_then(|number| tensors.get(number));
    let feeds: Vec<(&str, &Tensor)> =
        exe.inputs().iter().filter_map(|port| Some((port.name.as_str(), fed(&port.name)?))).collect();
    let results = exe.run_all(&feeds.iter().map(|(_, tensor)| tensor.view()).collect::<Vec<_>>())?;

    let graph = imported.graph();
    let missing = ops_missing_in_tensorflow(graph, &values)
        .unwrap_or_else(|error| panic!("{name}: {error}\n{}", graph_with(case, from, to)));
    if missing.is_empty() {
        let names = tensor_names(graph, &values)?;
        write_for_tensorflow(name, &to_graphdef(graph, &values)?, feeds, &names, &results)?;
    }
    Ok(Some(missing))
}

#[test]
fn tensorflow_runs_every_dtype_that_is_not_listed() {
    let mut done: BTreeSet<(String, String)> = BTreeSet::new();
    let mut missing: BTreeSet<String> = BTreeSet::new();
    for case in cases().iter().filter(|case| case.outputs.is_some()) {
        let froms: BTreeSet<&str> = case
            .inputs
            .iter()
            .zip(&case.fed)
            .filter(|(_, fed)| **fed)
            .map(|(tensor, _)| dtype(tensor))
            .filter(|from| DTYPES.iter().any(|(name, _)| name == from))
            .collect();
        for from in froms {
            let kind = from.trim_end_matches(char::is_numeric).to_string();
            for (to, dtype) in DTYPES {
                if done.contains(&(format!("{} {kind}", case.op), to.to_string())) {
                    continue;
                }
                let name = format!("{}_{}_{dtype}", case.op, &from[3..]);
                // This crate refuses the dtype, or the node is another one with it.
                let Ok(listed) = export(case, from, to, &name) else { continue };
                done.insert((format!("{} {kind}", case.op), to.to_string()));
                missing.extend(listed.into_iter().flatten().map(|op| format!("{} {dtype}: {op}", case.op)));
            }
        }
    }
    for line in &missing {
        println!("{line}");
    }
}
