//! Loops over the rows of ragged values, against loops over nested lists.

use shapeflow::{DType, Graph, SliceItem, Value, shape};

use super::graphs::{Rows, check, deep, input, random_rows, run, text};
use crate::rng::Rng;

fn backwards(row: Value<'_>) -> shapeflow::Result<Value<'_>> {
    row.slice_with(&[SliceItem::from(..).step(-1)])
}

/// Adds numbers to 0; the sum of no numbers by the standard library is -0.
fn sum(row: &[f64]) -> f64 {
    row.iter().fold(0.0, |sum, x| sum + x)
}

#[test]
fn rows_of_equal_results_are_stacked() {
    let sums = |rows: &Rows| rows.iter().map(|row| sum(row) * 2.0).collect::<Vec<f64>>();
    check(|x| Ok(x.map(|row| (row.dense()?.reduce_sum(0)? * 2.0).ok())?.into()), |rows| text(&sums(rows)));
}

#[test]
fn rows_of_any_length_are_joined() {
    check(
        |x| {
            let mirrored = x.map_rows(|row| {
                let row = row.dense()?;
                shapeflow::concat(&[row, backwards(row)?, (row.reduce_sum(0)?).reshape([1])?], 0)
            })?;
            Ok(mirrored.into())
        },
        |rows| {
            let mirrored = |row: &Vec<f64>| -> Vec<f64> {
                row.iter().chain(row.iter().rev()).copied().chain([sum(row)]).collect()
            };
            text(&rows.iter().map(mirrored).collect::<Rows>())
        },
    );
}

#[test]
fn a_row_of_nested_rows_is_ragged() {
    let g = Graph::new();
    let x = input(&g, "x", 2);
    let sums = x.map_rows(|row| row.ragged()?.reduce_sum(1)?.dense()).unwrap();
    let counts = x.map(|row| row.flat_values().size_tensor()).unwrap();
    let exe = g.compile([shapeflow::AnyValue::from(sums), counts.into()]).unwrap();
    let mut rng = Rng::new(3);
    for case in 0..30 {
        let items: Vec<Rows> = (0..case % 5)
            .map(|_| {
                let count = rng.below(4);
                random_rows(&mut rng, count)
            })
            .collect();
        let got = run(&exe, &[("x", &deep(&items))]).unwrap();
        let sums: Rows = items.iter().map(|rows| rows.iter().map(|row| sum(row)).collect()).collect();
        assert_eq!(got[0].to_string(), text(&sums), "{items:?}");
        let counts: Vec<i32> = items.iter().map(|rows| rows.concat().len() as i32).collect();
        assert_eq!(got[1].to_string(), text(&counts));
    }
}

#[test]
fn inner_axes_and_captures_are_kept() {
    let g = Graph::new();
    let x = g.ragged_input("x", DType::F32, 1, shape![2]).unwrap();
    let scale = g.input("scale", DType::F32, shape![2]).unwrap();
    let scaled = x.map_rows(|row| (backwards(row.dense()?)? * scale).ok()).unwrap();
    assert_eq!(scaled.flat_values().shape().to_string(), "[?, 2]");
    let exe = g.compile(scaled).unwrap();
    let flat = shapeflow::Tensor::from([[1.0f32, 2.0], [3.0, 4.0], [5.0, 6.0]]);
    let rows = shapeflow::RaggedTensor::from_row_splits(flat, [0i64, 2, 2, 3]).unwrap();
    let mut feeds = rows.feeds("x");
    feeds.push(("scale".to_string(), shapeflow::Tensor::from([10.0f32, 1.0])));
    let feeds: Vec<_> = feeds.iter().map(|(name, tensor)| (name.as_str(), tensor.view())).collect();
    let results = exe.run_named(&feeds).unwrap();
    let expected = "[[[30.0, 4.0], [10.0, 2.0]], [], [[50.0, 6.0]]]";
    assert_eq!(results.ragged_at(0).unwrap().to_string(), expected);
}

#[test]
fn rows_without_an_axis_are_refused() {
    let g = Graph::new();
    let x = input(&g, "x", 1);
    let error = x.map_rows(|row| row.dense()?.reduce_sum(0)).map(drop).unwrap_err();
    assert_eq!(error.message(), "map_rows: a row must have a known rank and at least one axis, got []");
}
