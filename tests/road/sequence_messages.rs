//! Compares parsed `SequenceExample` messages with the rows that a plain encoder wrote.

use shapeflow::{DType, ExampleFeature, FeatureList, Graph, ParsedFeature, ParsedFeatureList, Tensor, shape};

use crate::example_messages::{field, ints, message_of, run};
use crate::rng::Rng;

/// An entry of a map of features or feature lists.
fn entry(key: &str, value: &[u8]) -> Vec<u8> {
    field(1, &[field(1, key.as_bytes()), field(2, value)].concat())
}

/// A sequence example of encoded maps.
fn sequence(context: &[Vec<u8>], lists: &[Vec<u8>]) -> Vec<u8> {
    [field(1, &context.concat()), field(2, &lists.concat())].concat()
}

/// A feature list of rows of integers.
fn list(rows: &[Vec<i64>], rng: &mut Rng) -> Vec<u8> {
    rows.iter().flat_map(|row| field(1, &ints(row, rng.chance(1, 2)))).collect()
}

/// Returns the integers of a tensor.
fn i64s(tensor: &Tensor) -> Vec<i64> {
    tensor.to_vec().unwrap()
}

/// Returns 0 and the running totals of counts.
fn splits(counts: impl Iterator<Item = usize>) -> Vec<i64> {
    let mut splits = vec![0];
    for count in counts {
        splits.push(splits[splits.len() - 1] + count as i64);
    }
    splits
}

#[test]
fn rows_are_those_that_were_written() {
    let mut rng = Rng::new(47);
    for count in [0, 1, 6] {
        let examples: Vec<Vec<Vec<i64>>> = (0..count)
            .map(|_| {
                let mut row = |_| (0..rng.below(4)).map(|_| rng.range_inclusive(-300, 300)).collect();
                (0..3).map(&mut row).collect::<Vec<Vec<i64>>>()
            })
            .map(|mut rows: Vec<Vec<i64>>| {
                rows.truncate(rows[0].len());
                rows
            })
            .collect();
        let pairs: Vec<Vec<Vec<i64>>> =
            examples.iter().map(|rows| rows.iter().map(|row| vec![row.len() as i64, -1]).collect()).collect();
        let messages: Vec<Vec<u8>> = examples
            .iter()
            .zip(&pairs)
            .enumerate()
            .map(|(number, (rows, pairs))| {
                let context =
                    [entry("id", &ints(&[number as i64], true)), entry("first", &ints(&rows.concat(), true))];
                let mut lists =
                    vec![entry("rows", &list(&[vec![7; 9]], &mut rng)), entry("rows", &list(rows, &mut rng))];
                if number % 2 == 0 {
                    lists.push(entry("pairs", &list(pairs, &mut rng)));
                }
                sequence(&context, &lists)
            })
            .collect();
        let tensors = run(&messages, |x| {
            let context = [
                ("first", ExampleFeature::ragged(DType::I64)),
                ("id", ExampleFeature::dense(DType::I64, &[])),
                ("none", ExampleFeature::dense(DType::F32, &[]).or(Tensor::from(0.5f32))),
            ];
            let lists = [
                ("pairs", FeatureList::dense(DType::I64, &[2]).optional()),
                ("rows", FeatureList::ragged(DType::I64)),
                ("none", FeatureList::sparse(DType::String)),
                ("rows", FeatureList::sparse(DType::I64)),
            ];
            let (context, lists) = x.parse_sequence_example(&context, &lists)?;
            let mut all = Vec::new();
            for parsed in context {
                match parsed {
                    ParsedFeature::Dense(value) => all.push(value),
                    ParsedFeature::Sparse(parts) => all.extend(parts),
                    ParsedFeature::Ragged(rows) => {
                        all.extend([rows.flat_values(), rows.partition().row_splits()])
                    }
                }
            }
            for parsed in lists {
                match parsed {
                    ParsedFeatureList::Dense { rows, lengths } => all.extend([rows, lengths]),
                    ParsedFeatureList::Sparse(parts) => all.extend(parts),
                    ParsedFeatureList::Ragged(rows) => {
                        all.push(rows.flat_values());
                        all.extend(rows.nested_row_splits());
                    }
                }
            }
            Ok(all)
        })
        .unwrap();
        let flat = examples.concat().concat();
        assert_eq!(i64s(&tensors[0]), flat);
        assert_eq!(i64s(&tensors[1]), splits(examples.iter().map(|rows| rows.concat().len())));
        assert_eq!(i64s(&tensors[2]), (0..count as i64).collect::<Vec<_>>());
        assert_eq!(tensors[3].to_vec::<f32>().unwrap(), vec![0.5; count]);
        let kept = |number: usize| if number.is_multiple_of(2) { &pairs[number][..] } else { &[] };
        let most = (0..count).map(|number| kept(number).len()).max().unwrap_or(0);
        let padded = |number| {
            let zeros = std::iter::repeat_n(0, 2 * (most - kept(number).len()));
            kept(number).concat().into_iter().chain(zeros).collect::<Vec<i64>>()
        };
        assert_eq!(tensors[4].sizes(), [count, most, 2]);
        assert_eq!(i64s(&tensors[4]), (0..count).flat_map(padded).collect::<Vec<_>>());
        assert_eq!(i64s(&tensors[5]), (0..count).map(|number| kept(number).len() as i64).collect::<Vec<_>>());
        assert_eq!(i64s(&tensors[6]), flat);
        assert_eq!(i64s(&tensors[7]), splits(examples.iter().map(Vec::len)));
        assert_eq!(i64s(&tensors[8]), splits(examples.iter().flatten().map(Vec::len)));
        assert_eq!((tensors[9].sizes(), i64s(&tensors[11])), (&[0, 3][..], vec![count as i64, 0, 0]));
        let mut cells = Vec::new();
        for (number, rows) in examples.iter().enumerate() {
            for (row, values) in rows.iter().enumerate() {
                cells.extend((0..values.len()).flat_map(|value| [number as i64, row as i64, value as i64]));
            }
        }
        assert_eq!((i64s(&tensors[12]), i64s(&tensors[13])), (cells, flat));
        let rows = examples.iter().map(Vec::len).max().unwrap_or(0);
        let values = examples.iter().flatten().map(Vec::len).max().unwrap_or(0);
        assert_eq!(i64s(&tensors[14]), [count as i64, rows as i64, values as i64]);
    }
}

#[test]
fn damaged_sequences_and_missing_lists_are_named() {
    let rows = list(&[vec![1, 300], vec![5]], &mut Rng::new(1));
    let whole = sequence(&[entry("a", &ints(&[9], true))], &[entry("l", &rows)]);
    let parse = |message: &[u8], feature: FeatureList| {
        let parsed = run(&[message.to_vec()], |x| {
            let context = [("a", ExampleFeature::sparse(DType::I64))];
            let (_, lists) = x.parse_sequence_example(&context, &[("l", feature.clone())])?;
            Ok(match lists[0] {
                ParsedFeatureList::Dense { rows, lengths } => vec![rows, lengths],
                ParsedFeatureList::Sparse(parts) => parts.to_vec(),
                ParsedFeatureList::Ragged(rows) => vec![rows.flat_values()],
            })
        });
        parsed.map_err(|error| message_of(&error))
    };
    let ragged = || FeatureList::ragged(DType::I64);
    assert_eq!(i64s(&parse(&whole, ragged()).unwrap()[0]), [1, 300, 5]);
    let boundary = field(1, &entry("a", &ints(&[9], true))).len();
    for length in (1..whole.len()).filter(|length| *length != boundary) {
        let error = parse(&whole[..length], ragged()).unwrap_err();
        assert_eq!(error, "example 0 must be a serialized SequenceExample message");
    }
    let refused = |feature| parse(&whole, feature).unwrap_err();
    let pairs = FeatureList::dense(DType::I64, &[2]);
    assert_eq!(refused(pairs.clone()), "feature \"l\" of row 1 of example 0 must have 2 values, got 1");
    let floats = FeatureList::ragged(DType::F32);
    assert_eq!(refused(floats), "feature \"l\" of row 0 of example 0 must be f32, got i64");
    let missing = "feature list \"l\" of example 0 must be present, because it is not optional";
    assert_eq!(parse(&[], pairs.clone()).unwrap_err(), missing);
    let empty = parse(&[], pairs.optional()).unwrap();
    assert_eq!((empty[0].sizes(), i64s(&empty[1])), (&[1, 0, 2][..], vec![0]));
    let dtype = "the values of a feature must be i64, f32 or string, got i32";
    assert_eq!(refused(FeatureList::sparse(DType::I32)), dtype);
    let huge = parse(&[], FeatureList::dense(DType::I64, &[1 << 40, 1 << 40]).optional());
    assert!(
        huge.is_err_and(|error| !error.is_empty()),
        "a tensor without elements has a size that overflows"
    );
    let g = Graph::new();
    let x = g.input("x", DType::String, shape![2, 2]).unwrap();
    assert!(x.parse_sequence_example(&[], &[]).is_err());
}
