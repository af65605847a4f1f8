//! Compares parsed `Example` messages and parsed lines of CSV with the values that a plain encoder wrote.

use shapeflow::{
    CsvOptions, DType, Error, ExampleFeature, Graph, ParsedFeature, Result, Tensor, TensorView, Value, shape,
};

use crate::rng::Rng;

/// Writes a field with a length.
pub fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    let mut message = vec![number << 3 | 2];
    varint(bytes.len() as u64, &mut message);
    message.extend(bytes);
    message
}

pub fn varint(mut value: u64, message: &mut Vec<u8>) {
    while value >= 0x80 {
        message.push(value as u8 | 0x80);
        value >>= 7;
    }
    message.push(value as u8);
}

/// Writes integers one after the other, or as a field each.
pub fn ints(values: &[i64], packed: bool) -> Vec<u8> {
    let mut list = Vec::new();
    for value in values {
        if !packed {
            list.push(1 << 3);
        }
        varint(value.cast_unsigned(), &mut list);
    }
    field(3, &if packed { field(1, &list) } else { list })
}

fn example(features: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let entry =
        |(key, feature): &(&str, Vec<u8>)| field(1, &[field(1, key.as_bytes()), field(2, feature)].concat());
    field(1, &features.iter().flat_map(entry).collect::<Vec<u8>>())
}

/// Runs the graph that `build` makes from fed strings.
pub fn run(
    strings: &[Vec<u8>],
    build: impl for<'g> Fn(Value<'g>) -> Result<Vec<Value<'g>>>,
) -> Result<Vec<Tensor>> {
    let g = Graph::new();
    let outputs = build(g.input("x", DType::String, shape!["n"])?)?;
    g.compile(&outputs[..])?.run_all(&[Tensor::from_strings(&[strings.len()], strings)?.view()])
}

/// Returns the message of an error without the call in front of it.
pub fn message_of(error: &Error) -> String {
    error.message().split_once("): ").map_or(error.message(), |(_, message)| message).to_string()
}

#[test]
fn features_have_the_values_that_were_written() {
    let mut rng = Rng::new(41);
    for count in [0, 1, 7] {
        let rows: Vec<Vec<i64>> = (0..count)
            .map(|_| (0..rng.below(4)).map(|_| rng.range_inclusive(i64::MIN, i64::MAX)).collect())
            .collect();
        let texts: Vec<String> = (0..count).map(|row| format!("text {row}")).collect();
        let messages: Vec<Vec<u8>> = rows
            .iter()
            .zip(&texts)
            .enumerate()
            .map(|(number, (row, text))| {
                let floats: Vec<u8> =
                    [number as f32, -0.5].iter().flat_map(|float| float.to_le_bytes()).collect();
                let overwritten = ("ids", ints(&[99], true));
                example(&[
                    ("text", field(1, &field(1, text.as_bytes()))),
                    overwritten,
                    ("pair", field(2, &field(1, &floats))),
                    ("ids", ints(row, rng.chance(1, 2))),
                ])
            })
            .collect();
        let tensors = run(&messages, |x| {
            let features = [
                ("pair", ExampleFeature::dense(DType::F32, &[2])),
                ("ids", ExampleFeature::ragged(DType::I64)),
                ("text", ExampleFeature::dense(DType::String, &[])),
                ("ids", ExampleFeature::sparse(DType::I64)),
                ("ids", ExampleFeature::dense(DType::I64, &[-1]).or(Tensor::from(-1i64))),
                ("none", ExampleFeature::sparse(DType::String)),
            ];
            let mut all = Vec::new();
            for parsed in x.parse_example(&features)? {
                match parsed {
                    ParsedFeature::Dense(value) => all.push(value),
                    ParsedFeature::Sparse(parts) => all.extend(parts),
                    ParsedFeature::Ragged(rows) => {
                        all.extend([rows.flat_values(), rows.partition().row_splits()])
                    }
                }
            }
            Ok(all)
        })
        .unwrap();
        let pairs: Vec<f32> = (0..count).flat_map(|number| [number as f32, -0.5]).collect();
        assert_eq!(tensors[0].to_vec::<f32>().unwrap(), pairs);
        assert_eq!(tensors[1].to_vec::<i64>().unwrap(), rows.concat());
        let ends = rows.iter().scan(0, |end, row| {
            *end += row.len() as i64;
            Some(*end)
        });
        assert_eq!(tensors[2].to_vec::<i64>().unwrap(), std::iter::once(0).chain(ends).collect::<Vec<_>>());
        assert_eq!(tensors[3], Tensor::from_strings(&[count], &texts).unwrap());
        let cells: Vec<i64> = rows
            .iter()
            .enumerate()
            .flat_map(|(row, ids)| (0..ids.len()).flat_map(move |column| [row as i64, column as i64]))
            .collect();
        assert_eq!(tensors[4].to_vec::<i64>().unwrap(), cells);
        assert_eq!(tensors[5], tensors[1]);
        let longest = rows.iter().map(Vec::len).max().unwrap_or(0);
        assert_eq!(tensors[6].to_vec::<i64>().unwrap(), [count as i64, longest as i64]);
        let padded: Vec<i64> = rows
            .iter()
            .flat_map(|row| row.iter().copied().chain(std::iter::repeat_n(-1, longest - row.len())))
            .collect();
        assert_eq!(tensors[7], Tensor::from_vec(&[count, longest], padded).unwrap());
        assert_eq!(
            (tensors[8].sizes(), tensors[10].to_vec::<i64>().unwrap()),
            (&[0, 2][..], vec![count as i64, 0])
        );
    }
}

#[test]
fn damaged_messages_and_missing_features_are_named() {
    let whole = example(&[("a", ints(&[1, 300], true)), ("b", field(1, &field(1, b"text")))]);
    let parse = |message: &[u8], feature: ExampleFeature| {
        run(&[Vec::new(), message.to_vec()], |x| match x.parse_example(&[("a", feature.clone())])?[0] {
            ParsedFeature::Dense(value) => Ok(vec![value]),
            ParsedFeature::Sparse(parts) => Ok(parts.to_vec()),
            ParsedFeature::Ragged(rows) => Ok(vec![rows.flat_values()]),
        })
    };
    let sparse = || ExampleFeature::sparse(DType::I64);
    assert_eq!(parse(&whole, sparse()).unwrap()[1].to_vec::<i64>().unwrap(), [1, 300]);
    for length in 1..whole.len() {
        let error = parse(&whole[..length], sparse()).unwrap_err();
        assert_eq!(message_of(&error), "example 1 must be a serialized Example message");
    }
    let refused = |feature: ExampleFeature| message_of(&parse(&whole, feature).unwrap_err());
    let pair = ExampleFeature::dense(DType::I64, &[2]);
    assert_eq!(refused(pair), "feature \"a\" of example 0 must be present, because it has no default");
    let triple = ExampleFeature::dense(DType::I64, &[3]).or(Tensor::from([0i64; 3]));
    assert_eq!(refused(triple), "feature \"a\" of example 1 must have 3 values, got 2");
    let floats = ExampleFeature::ragged(DType::F32);
    assert_eq!(refused(floats), "feature \"a\" of example 1 must be f32, got i64");
    let rows = ExampleFeature::dense(DType::I64, &[-1, 3]);
    assert_eq!(refused(rows), "feature \"a\" of example 1 must have a multiple of 3 values, got 2");
    assert_eq!(
        refused(ExampleFeature::sparse(DType::I32)),
        "the values of a feature must be i64, f32 or string, got i32"
    );
}

#[test]
fn lines_have_the_fields_that_were_written() {
    let mut rng = Rng::new(43);
    let words = ["", "plain", "a,b", "say \"hi\"", "two\nlines", "é", "\""];
    for count in [0, 1, 20] {
        let rows: Vec<(i64, &str, f32)> = (0..count)
            .map(|_| (rng.range_inclusive(-99, 99), *rng.choose(&words), rng.below(64) as f32 / 8.0))
            .collect();
        let lines: Vec<Vec<u8>> = rows
            .iter()
            .map(|(id, word, price)| format!("{id},\"{}\",{price}", word.replace('"', "\"\"")).into_bytes())
            .collect();
        let defaults =
            [Tensor::from([0i64]), Tensor::from_strings(&[1], &["none"]).unwrap(), Tensor::from([0.0f32])];
        let all = run(&lines, |x| x.decode_csv(&defaults, &CsvOptions::new())).unwrap();
        assert_eq!(all[0].to_vec::<i64>().unwrap(), rows.iter().map(|row| row.0).collect::<Vec<_>>());
        let expected: Vec<&str> =
            rows.iter().map(|row| if row.1.is_empty() { "none" } else { row.1 }).collect();
        assert_eq!(all[1], Tensor::from_strings(&[count], &expected).unwrap());
        assert_eq!(all[2].to_vec::<f32>().unwrap(), rows.iter().map(|row| row.2).collect::<Vec<_>>());
        let prices = run(&lines, |x| x.decode_csv(&defaults[2..], &CsvOptions::new().columns(&[2]))).unwrap();
        assert_eq!(prices, all[2..]);
    }
    let refused = |line: &str| {
        let defaults = [Tensor::from([0i32]), Tensor::zeros(DType::I32, &[0]).unwrap()];
        let read = run(&[line.into()], |x| x.decode_csv(&defaults, &CsvOptions::new().delimiter(b';')));
        message_of(&read.unwrap_err())
    };
    assert_eq!(refused("1;2;3"), "there must be 2 fields, got 3 in line 1, \"1;2;3\"");
    assert!(refused("1;").starts_with("field 2 is missing, and has no default"));
    assert!(refused("x;1").starts_with("field 1 must be a number of i32, got \"x\""));
    // Lines count from 1, and so do the fields of the line, also of those that are not read.
    let lines: Vec<Vec<u8>> = vec!["1,2,3".into(), "4,5,six".into()];
    let options = CsvOptions::new().columns(&[2]);
    let read = run(&lines, |x| x.decode_csv(&[Tensor::from([0i32])], &options));
    let expected = "field 3 must be a number of i32, got \"six\" in line 2, \"4,5,six\"";
    assert_eq!(message_of(&read.unwrap_err()), expected);
    assert!(refused("\"1;2").starts_with("a quoted field must end with a quote"));
    let text = TensorView::new(&[1], &[1.5f32]).unwrap();
    let g = Graph::new();
    let x = g.input("x", text.dtype(), shape![1]).unwrap();
    assert!(x.decode_csv(&[Tensor::from([0i32])], &CsvOptions::new()).is_err());
    assert!(x.parse_example(&[]).is_err());
}
