//! Exports every op with every dtype that this crate takes: TensorFlow runs the graph, or the export lists the op as
//! missing.
//!
//! A case recorded from TensorFlow is run with other dtypes than its own. `tests/tensorflow_roundtrip.py` runs the
//! exported graphs.

use std::collections::BTreeSet;

use shapeflow::interchange::{ImportOptions, Model, ops_missing_in_tensorflow, tensor_names, to_graphdef};
use shapeflow::{DType, Graph, Result, Tensor};

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

/// The dtypes of recorded data that change.
const FROM: [&str; 9] = [
    "DT_BOOL",
    "DT_INT8",
    "DT_INT32",
    "DT_INT64",
    "DT_UINT8",
    "DT_FLOAT",
    "DT_DOUBLE",
    "DT_COMPLEX64",
    "DT_COMPLEX128",
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
fn export(case: &Case, from: &str, to: &str, name: &str) -> Result<Vec<String>> {
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
    if std::env::var_os("SHAPEFLOW_ROUNDTRIP").is_none() {
        return ops_missing_in_tensorflow(imported.graph(), &values);
    }
    let exe = imported.graph().compile(&values)?;
    // A cast of a negative number to an unsigned dtype differs between TensorFlow and this crate.
    let is_unsigned = to.starts_with("DT_UINT");
    let tensors = case.inputs.iter().map(|tensor| fed_value(tensor, is_unsigned && dtype(tensor) == from));
    let tensors: Vec<Tensor> = tensors.collect::<Result<_>>()?;
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
    Ok(missing)
}

/// Returns the value of an input, or its absolute value.
fn fed_value(tensor: &str, is_absolute: bool) -> Result<Tensor> {
    let tensor = value(tensor);
    if !is_absolute || !tensor.dtype().is_numeric() || !tensor.dtype().is_signed() {
        return Ok(tensor);
    }
    let g = Graph::new();
    let [absolute] = g.compile(g.constant(tensor)?.abs()?)?.run(&[])?;
    Ok(absolute)
}

/// Exports the first case of each op that this crate takes with a dtype, for each dtype. Returns a line
/// `DTYPE: MISSING OP` for each op that TensorFlow lacks.
fn export_all(cases: &[Case]) -> BTreeSet<String> {
    let mut done: BTreeSet<(String, DType)> = BTreeSet::new();
    let mut missing: BTreeSet<String> = BTreeSet::new();
    for case in cases.iter().filter(|case| case.outputs.is_some()) {
        let fed = case.inputs.iter().zip(&case.fed).filter(|(_, fed)| **fed);
        let froms: BTreeSet<&str> = fed.map(|(tensor, _)| dtype(tensor)).collect();
        for from in froms.into_iter().filter(|from| FROM.contains(from)) {
            for (to, dtype) in DTYPES {
                // A complex number has no cast to a real one.
                if from.starts_with("DT_COMPLEX") && !dtype.is_complex() {
                    continue;
                }
                let key = (format!("{} {}", case.op, from.trim_end_matches(char::is_numeric)), dtype);
                if done.contains(&key) {
                    continue;
                }
                let name = format!("{}_{}_{dtype}", case.op, &from[3..]);
                // This crate refuses the dtype, or refuses these values of the dtype.
                let Ok(listed) = export(case, from, to, &name) else { continue };
                done.insert(key);
                missing.extend(listed.into_iter().map(|op| format!("{dtype}: {op}")));
            }
        }
    }
    missing
}

#[test]
#[ignore = "minutes long; tests/tensorflow_roundtrip.py --dtypes runs it"]
fn ops_are_exported_with_every_dtype() {
    let cases = cases();
    let missing = export_all(&cases);
    if std::env::var_os("SHAPEFLOW_ROUNDTRIP").is_some() {
        println!("{missing:#?}");
    }
}
