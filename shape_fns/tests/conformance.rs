//! Runs TensorFlow's own shape-function cases: every row of `data/tensorflow.jsonl`, for every op of the row.
//!
//! A row gives one or more ops, their attributes, operands and constant operands, and the outputs that TensorFlow
//! infers (`out`). TensorFlow refuses a row without `out`. In `out`, `d0_1` is the same dimension as axis 1 of operand
//! 0, `in0` is the whole shape of operand 0, and `?` is an unknown. At least one of several alternatives (`d0_0|d1_0`)
//! must hold. The files of `data/differences` list the rows that differ on purpose, each with the kind and the reason
//! of the difference.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::Value;
use shapeflow_shape_fns::{
    Attr, Attrs, DType, Dim, DimTable, InferenceContext, IntoDim, OperandInfo, PartialElements, Registered,
    TensorShape, Unknown, lookup,
};

/// The relation of a result to TensorFlow's.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Kind {
    /// The same shapes, with the same identities.
    Same,
    /// The shape is better known here than in TensorFlow.
    MorePrecise,
    /// The shape is less known here than in TensorFlow.
    LessPrecise,
    /// A number, rank or identity differs.
    Different,
    /// Refused here and accepted by TensorFlow.
    RefusedEarlier,
    /// Accepted here and refused by TensorFlow.
    Accepted,
}

impl Kind {
    const NAMED: [(Kind, &str); 6] = [
        (Kind::Same, "same"),
        (Kind::MorePrecise, "more_precise"),
        (Kind::LessPrecise, "less_precise"),
        (Kind::Different, "different"),
        (Kind::RefusedEarlier, "refused_earlier"),
        (Kind::Accepted, "accepted"),
    ];

    fn name(self) -> &'static str {
        Kind::NAMED.iter().find(|(kind, _)| *kind == self).unwrap().1
    }
}

/// One row, for one of its ops.
struct Case {
    registered: &'static Registered,
    attrs: Attrs,
    shapes: Vec<TensorShape>,
    values: Vec<Option<PartialElements>>,
    dtype: DType,
    expected: Option<String>,
    text: String,
}

fn attr(value: &Value) -> Attr {
    let dtype = |text: &Value| {
        let text = text.as_str().unwrap();
        DType::all().find(|dtype| dtype.tensorflow_name() == text).unwrap_or_else(|| panic!("{text}"))
    };
    match value {
        Value::Bool(flag) => (*flag).into(),
        Value::String(text) => text.as_str().into(),
        Value::Number(number) => match number.as_i64() {
            Some(number) => number.into(),
            None => number.as_f64().unwrap().into(),
        },
        Value::Array(items) => match items.iter().map(Value::as_i64).collect::<Option<Vec<i64>>>() {
            Some(items) => items.into(),
            None => Attr::Floats(items.iter().map(|item| item.as_f64().unwrap()).collect()),
        },
        Value::Object(entries) => match (entries.get("dtype"), entries.get("shape")) {
            (Some(text), _) => dtype(text).into(),
            (_, Some(Value::Null)) => TensorShape::unranked().into(),
            (_, Some(Value::Array(dims))) => TensorShape::new(
                dims.iter().map(|dim| dim.as_i64().map_or_else(|| Unknown.into_dim(), Dim::known)),
            )
            .into(),
            _ => panic!("{value}"),
        },
        Value::Null => panic!("an attribute must have a value"),
    }
}

/// Reads the elements of a tensor from nested lists of integers.
fn elements(value: &Value) -> PartialElements {
    fn walk(value: &Value, depth: usize, sizes: &mut Vec<usize>, flat: &mut Vec<i64>) {
        match value {
            Value::Array(items) => {
                if sizes.len() == depth {
                    sizes.push(items.len());
                }
                items.iter().for_each(|item| walk(item, depth + 1, sizes, flat));
            }
            number => flat.push(number.as_i64().unwrap()),
        }
    }
    let (mut sizes, mut flat) = (Vec::new(), Vec::new());
    walk(value, 0, &mut sizes, &mut flat);
    PartialElements::with_sizes(&sizes, flat.into_iter().map(Dim::known)).unwrap()
}

fn case(registered: &'static Registered, row: &Value) -> Case {
    let mut attrs = Attrs::new();
    for (name, value) in row["attrs"].as_object().into_iter().flatten() {
        let ours = registered
            .attrs
            .iter()
            .find(|(theirs, _)| theirs == name)
            .map_or(name.as_str(), |(_, ours)| ours);
        attrs.insert(ours.to_owned(), attr(value));
    }
    let dtype = match attrs.get("T") {
        Some(Attr::DType(dtype)) => *dtype,
        _ => DType::F32,
    };
    let (mut shapes, mut values) = (Vec::new(), Vec::new());
    for (index, input) in row["in"].as_array().unwrap().iter().enumerate() {
        let value = row["consts"].get(index.to_string()).map(elements);
        let shape: TensorShape = input.as_str().unwrap().parse().unwrap();
        shapes.push(match (&value, shape.rank()) {
            (Some(value), None) => value.shape(),
            _ => shape,
        });
        values.push(value);
    }
    let expected = row["out"].as_str().map(str::to_owned);
    Case {
        registered,
        attrs,
        shapes,
        values,
        dtype,
        expected,
        text: format!("{} {} {} => {}", row["attrs"], row["in"], row["consts"], row["out"]),
    }
}

/// Returns the number of outputs in `out`. A row without `out` has the number in the registry, else the value of an
/// attribute such as `num_split`, else one output per operand.
fn outputs(case: &Case) -> usize {
    if let Some(expected) = &case.expected {
        return expected.split(';').filter(|output| !output.is_empty()).count();
    }
    let counts = ["num", "num_split", "num_outs", "num_partitions"];
    let given = counts.into_iter().find_map(|name| match case.attrs.get(name) {
        Some(Attr::Int(count)) => usize::try_from(*count).ok(),
        _ => None,
    });
    case.registered.outputs.or(given).unwrap_or(case.shapes.len())
}

/// Runs one row. Returns the relation of the result to TensorFlow's, and the result as text.
fn run(case: &Case) -> (Kind, String) {
    let mut table = DimTable::new();
    let shapes: Vec<TensorShape> = case.shapes.iter().map(|shape| table.import(shape)).collect();
    let operands: Vec<OperandInfo<'_>> = (shapes.iter().zip(&case.values))
        .map(|(shape, value)| OperandInfo {
            shape,
            dtype: if value.is_some() { DType::I32 } else { case.dtype },
            value: value.as_ref(),
        })
        .collect();
    let names = case.registered.operands;
    let mut cx = InferenceContext::new(names, &operands, &case.attrs, &mut table, outputs(case));
    let result = (case.registered.shape_fn)(&mut cx).and_then(|()| cx.finish());
    match (result, &case.expected) {
        (Err(error), None) => (Kind::Same, error.to_string()),
        (Err(error), Some(_)) => (Kind::RefusedEarlier, error.to_string()),
        (Ok(result), expected) => {
            let got: Vec<TensorShape> =
                result.shapes().iter().map(|shape| table.resolve_shape(shape)).collect();
            let inputs: Vec<TensorShape> = shapes.iter().map(|shape| table.resolve_shape(shape)).collect();
            let text = got.iter().map(|shape| format!("{shape:#}")).collect::<Vec<_>>().join("; ");
            let Some(expected) = expected else { return (Kind::Accepted, text) };
            let kinds =
                expected.split(';').zip(&got).map(|(expected, got)| compare_shape(expected, got, &inputs));
            let kinds: Vec<Kind> = kinds.collect();
            let worst = [Kind::Different, Kind::LessPrecise, Kind::MorePrecise];
            (worst.into_iter().find(|kind| kinds.contains(kind)).unwrap_or(Kind::Same), text)
        }
    }
}

fn compare_shape(expected: &str, got: &TensorShape, inputs: &[TensorShape]) -> Kind {
    if expected == "?" {
        return if got.rank().is_none() { Kind::Same } else { Kind::MorePrecise };
    }
    let Some(list) = expected.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) else {
        return best(expected, |alternative| {
            let input: usize = alternative.strip_prefix("in").unwrap().parse().unwrap();
            match (inputs[input].dims(), got.dims()) {
                (Some(input), Some(got)) if input.len() == got.len() => {
                    let kinds = input.iter().zip(got).map(|(input, got)| same_dim(input, got));
                    kinds.max().unwrap_or(Kind::Same)
                }
                (Some(_), Some(_)) => Kind::Different,
                (Some(_), None) => Kind::LessPrecise,
                (None, Some(_)) => Kind::MorePrecise,
                (None, None) => Kind::Same,
            }
        });
    };
    let Some(got) = got.dims() else { return Kind::LessPrecise };
    let expected: Vec<&str> = list.split(',').filter(|dim| !dim.is_empty()).collect();
    if expected.len() != got.len() {
        return Kind::Different;
    }
    let kinds = expected.iter().zip(got).map(|(expected, got)| match (*expected, expected.parse::<i64>()) {
        // A new symbol says no more than TensorFlow's unknown. A dimension of an operand, or an expression, says more.
        ("?", _) => {
            let is_of_operand =
                |dim: &Dim| inputs.iter().filter_map(TensorShape::dims).flatten().any(|input| input == dim);
            let new = got.as_symbol().is_some_and(|symbol| symbol.is_anonymous()) && !is_of_operand(got);
            if new { Kind::Same } else { Kind::MorePrecise }
        }
        (_, Ok(number)) => same_dim(&Dim::known(number), got),
        (identity, _) => best(identity, |alternative| {
            let (input, axis) = alternative.strip_prefix('d').unwrap().split_once('_').unwrap();
            let input = &inputs[input.parse::<usize>().unwrap()];
            same_dim(input.dim(axis.parse().unwrap()).unwrap(), got)
        }),
    });
    kinds.max().unwrap_or(Kind::Same)
}

/// Returns the best kind among alternatives separated by `|`.
fn best(alternatives: &str, kind: impl Fn(&str) -> Kind) -> Kind {
    alternatives.split('|').map(kind).min().unwrap()
}

fn same_dim(expected: &Dim, got: &Dim) -> Kind {
    match (expected == got, expected.as_known(), got.as_known()) {
        (true, _, _) => Kind::Same,
        (_, None, Some(_)) => Kind::MorePrecise,
        (_, Some(_), None) => Kind::LessPrecise,
        _ => Kind::Different,
    }
}

/// Reads the listed differences: the kind of each op and row.
///
/// A line is `kind | ops | rows | reason`. The rows of each op are numbered from 0 in the order of the data.
fn listed() -> BTreeMap<(String, usize), Kind> {
    let mut listed = BTreeMap::new();
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/differences");
    for file in std::fs::read_dir(folder).unwrap() {
        let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
        for line in text.lines().filter(|line| !line.is_empty()) {
            let fields: Vec<&str> = line.splitn(4, " | ").collect();
            let [kind, ops, rows, _reason] = fields[..] else {
                panic!("a line must have four fields, got {line}")
            };
            let kind =
                Kind::NAMED.iter().find(|(_, name)| *name == kind).unwrap_or_else(|| panic!("{line}")).0;
            for op in ops.split(' ') {
                for row in rows.split(' ') {
                    let row = row.parse().unwrap_or_else(|_| panic!("{line}"));
                    let again = listed.insert((op.to_owned(), row), kind);
                    assert!(again.is_none(), "{op} {row} is listed twice");
                }
            }
        }
    }
    listed
}

#[test]
fn results_agree_with_tensorflow_except_as_listed() {
    let mut listed = listed();
    let mut rows: BTreeMap<String, usize> = BTreeMap::new();
    let mut totals: BTreeMap<Kind, usize> = BTreeMap::new();
    let mut failures = String::new();
    for line in include_str!("data/tensorflow.jsonl").lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        for op in row["op"].as_str().unwrap().split(' ') {
            let number = rows.entry(op.to_owned()).or_default();
            let key = (op.to_owned(), *number);
            *number += 1;
            let registered = lookup(op).unwrap_or_else(|| panic!("{op} is not registered"));
            let case = case(registered, &row);
            let (kind, got) = run(&case);
            *totals.entry(kind).or_default() += 1;
            if listed.remove(&key).unwrap_or(Kind::Same) != kind {
                writeln!(failures, "{} | {} | {} | {}\n  got {got}", kind.name(), key.0, key.1, case.text)
                    .unwrap();
            }
        }
    }
    println!("{} ops, {} rows: {totals:?}", rows.len(), rows.values().sum::<usize>());
    assert!(
        failures.is_empty(),
        "rows that differ from TensorFlow, or no longer differ as listed:\n{failures}"
    );
    assert!(listed.is_empty(), "listed rows must exist, got {listed:?}");
}
