//! Ops along each axis of ragged values, against loops over nested lists.

use shapeflow::{
    AnyValue, Axes, DType, Graph, RaggedItem, RaggedTensor, RaggedValue, Result, Tensor, ragged, shape,
};

use super::graphs::{Rows, deep, input, random_rows, run};
use crate::rng::Rng;

/// The elements along one axis: their indices along the axis, and their positions in the flat values.
type Line = Vec<(usize, usize)>;

/// Returns the index along each axis of each flat value.
fn coordinates(rows: &[Rows]) -> Vec<[usize; 3]> {
    let mut all = Vec::new();
    for (i, rows) in rows.iter().enumerate() {
        for (j, row) in rows.iter().enumerate() {
            all.extend((0..row.len()).map(|k| [i, j, k]));
        }
    }
    all
}

/// Returns the lines along an axis, in the order of their other coordinates.
fn lines(rows: &[Rows], axis: usize) -> Vec<([usize; 2], Line)> {
    let mut lines = std::collections::BTreeMap::<[usize; 2], Line>::new();
    for (place, at) in coordinates(rows).into_iter().enumerate() {
        let others = match axis {
            0 => [at[1], at[2]],
            1 => [at[0], at[2]],
            _ => [at[0], at[1]],
        };
        lines.entry(others).or_default().push((at[axis], place));
    }
    lines.into_iter().collect()
}

fn random_deep(rng: &mut Rng, count: usize) -> Vec<Rows> {
    (0..count)
        .map(|_| {
            let rows = rng.below(4);
            random_rows(rng, rows)
        })
        .collect()
}

fn flat(item: &RaggedItem) -> Vec<f64> {
    let RaggedItem::Ragged(item) = item else { panic!("the result is ragged, got {item}") };
    let flat = item.flat_values();
    match flat.dtype() {
        DType::I64 => flat.to_vec::<i64>().unwrap().into_iter().map(|x| x as f64).collect(),
        _ => flat.to_vec().unwrap(),
    }
}

/// Compares an op that keeps the rows with a function of the elements along each axis. The function gets the indices
/// along the axis and the elements.
#[track_caller]
fn check_lines(
    build: impl for<'g> Fn(RaggedValue<'g>, i64) -> Result<RaggedValue<'g>>,
    expected: impl Fn(&[(usize, f64)]) -> Vec<f64>,
) {
    let g = Graph::new();
    let x = input(&g, "x", 2);
    let narrow = x.with_row_splits_dtype(DType::I32).unwrap();
    let outputs: Vec<AnyValue<'_>> = (0..3)
        .map(|axis| build(x, axis).unwrap().into())
        .chain((0..3).map(|axis| build(narrow, axis - 3).unwrap().into()))
        .collect();
    let exe = g.compile(&outputs[..]).unwrap();
    let mut rng = Rng::new(11);
    for case in 0..30 {
        let rows = random_deep(&mut rng, case % 6);
        let x = deep(&rows);
        let got = run(&exe, &[("x", &x)]).unwrap();
        for (number, got) in got.iter().enumerate() {
            let axis = number % 3;
            let values = rows.concat().concat();
            let mut wanted = values.clone();
            for (_, line) in lines(&rows, axis) {
                let elements: Vec<(usize, f64)> =
                    line.iter().map(|(index, place)| (*index, values[*place])).collect();
                for ((_, place), result) in line.iter().zip(expected(&elements)) {
                    wanted[*place] = result;
                }
            }
            let text = |values: &[f64]| values.iter().map(|x| format!("{x:.9}")).collect::<Vec<_>>();
            assert_eq!(text(&flat(got)), text(&wanted), "axis {axis} of {rows:?}");
            let RaggedItem::Ragged(got) = got else { unreachable!("flat checked it") };
            assert_eq!(
                got.with_row_splits_dtype(DType::I64).unwrap().nested_row_splits(),
                x.nested_row_splits()
            );
        }
    }
}

fn order(line: &[(usize, f64)], descending: bool) -> Vec<usize> {
    let mut order: Vec<usize> = (0..line.len()).collect();
    order.sort_by(|a, b| {
        let ascending = line[*a].1.total_cmp(&line[*b].1);
        if descending { ascending.reverse() } else { ascending }
    });
    order
}

#[test]
fn elements_are_sorted_along_each_axis() {
    for descending in [false, true] {
        check_lines(
            |x, axis| x.sort(axis, descending),
            |line| order(line, descending).into_iter().map(|at| line[at].1).collect(),
        );
        check_lines(
            |x, axis| x.argsort(axis, descending),
            |line| order(line, descending).into_iter().map(|at| line[at].0 as f64).collect(),
        );
    }
}

#[test]
fn elements_are_added_along_each_axis() {
    for (exclusive, reverse) in [(false, false), (true, false), (false, true), (true, true)] {
        check_lines(
            |x, axis| x.cumsum_with(axis, exclusive, reverse),
            |line| {
                let sum = |at: usize| -> f64 {
                    let counts = |other: usize| {
                        (other == at && !exclusive) || if reverse { other > at } else { other < at }
                    };
                    (0..line.len()).filter(|other| counts(*other)).fold(0.0, |sum, other| sum + line[other].1)
                };
                (0..line.len()).map(sum).collect()
            },
        );
    }
}

#[test]
fn softmax_runs_along_each_axis() {
    let total = |line: &[(usize, f64)]| line.iter().map(|(_, x)| x.exp()).sum::<f64>();
    check_lines(|x, axis| x.softmax(axis), |line| line.iter().map(|(_, x)| x.exp() / total(line)).collect());
    check_lines(
        |x, axis| x.log_softmax(axis),
        |line| line.iter().map(|(_, x)| x - total(line).ln()).collect(),
    );
}

#[test]
fn positions_of_extrema_run_along_each_axis() {
    let g = Graph::new();
    let x = input(&g, "x", 2);
    let outputs = [0, 1, 2, -3, -2, -1].map(|axis| if axis < 0 { x.argmin(axis) } else { x.argmax(axis) });
    let exe = g.compile(outputs.map(Result::unwrap)).unwrap();
    let mut rng = Rng::new(5);
    for case in 0..30 {
        let rows = random_deep(&mut rng, case % 6);
        let got = run(&exe, &[("x", &deep(&rows))]).unwrap();
        let values = rows.concat().concat();
        for (number, got) in got.iter().enumerate() {
            let RaggedItem::Ragged(got) = got else { panic!("the result is ragged, got {got}") };
            let sign = if number < 3 { 1.0 } else { -1.0 };
            let found = lines(&rows, number % 3).into_iter().map(|(others, line)| {
                let best = line.iter().fold(line[0], |best, at| {
                    if sign * values[at.1] > sign * values[best.1] { *at } else { best }
                });
                (others, best.0 as i64)
            });
            let mut found: Vec<([usize; 2], i64)> = found.collect();
            if number % 3 == 2 {
                // An empty row has no position.
                for (i, rows) in rows.iter().enumerate() {
                    let empty = rows.iter().enumerate().filter(|(_, row)| row.is_empty());
                    found.extend(empty.map(|(j, _)| ([i, j], -1)));
                }
                found.sort();
            }
            let wanted: Vec<i64> = found.into_iter().map(|(_, index)| index).collect();
            assert_eq!(got.flat_values().to_vec::<i64>().unwrap(), wanted, "{number} of {rows:?}");
        }
    }
}

#[test]
fn an_infinity_affects_only_elements_of_its_row_or_column() {
    let g = Graph::new();
    let (infinity, nan) = (f64::INFINITY, f64::NAN);
    let x = g.ragged_constant(&ragged![[infinity, 1.0], [2.0, nan], [], [3.0, 4.0]]).unwrap();
    let outputs = [x.cumsum(1).unwrap(), x.softmax(1).unwrap(), x.cumsum(0).unwrap()].map(AnyValue::from);
    let got = g.compile(outputs).unwrap().run_named(&[]).unwrap();
    assert_eq!(got.ragged_at(0).unwrap().to_string(), "[[inf, inf], [2.0, NaN], [], [3.0, 7.0]]");
    assert!(got.ragged_at(1).unwrap().to_string().ends_with("[], [0.2689414213699951, 0.7310585786300049]]"));
    assert_eq!(got.ragged_at(2).unwrap().to_string(), "[[inf, 1.0], [inf, NaN], [], [inf, NaN]]");
}

#[test]
fn inner_axes_run_the_dense_op() {
    let g = Graph::new();
    let x = g.ragged_input("x", DType::F64, 1, shape![2, 3]).unwrap();
    let flat_of = x.flat_values();
    let outputs: [AnyValue<'_>; 10] = [
        x.sort(-1, true).unwrap().into(),
        flat_of.sort(-1, true).unwrap().into(),
        x.cumsum(2).unwrap().into(),
        flat_of.cumsum(1).unwrap().into(),
        x.softmax(3).unwrap().into(),
        flat_of.softmax(2).unwrap().into(),
        x.argmax(2).unwrap(),
        flat_of.argmax(1).unwrap().into(),
        x.top_k(2, -1).unwrap()[1].into(),
        flat_of.top_k(2).unwrap()[1].cast(DType::I64).unwrap().into(),
    ];
    let exe = g.compile(outputs).unwrap();
    let values: Vec<f64> = (0..30).map(|place| f64::from(place * 7 % 11)).collect();
    let values = Tensor::from_vec(&[5, 2, 3], values).unwrap();
    let x = RaggedTensor::from_row_lengths(&values, [2i64, 0, 3]).unwrap();
    let got = run(&exe, &[("x", &x)]).unwrap();
    for pair in got.chunks(2) {
        let [RaggedItem::Ragged(got), RaggedItem::Dense(flat)] = pair else {
            panic!("a ragged and a dense result")
        };
        assert_eq!(got.flat_values(), flat);
    }
    // Ops along the rows treat each position in the inner axes separately.
    let g = Graph::new();
    let pairs = RaggedTensor::from_row_lengths([[1, 9], [3, 2], [2, 5]], [2i64, 1]).unwrap();
    let pairs = g.ragged_constant(&pairs).unwrap();
    let outputs =
        [pairs.sort(0, true).unwrap().into(), pairs.argmax(0).unwrap(), pairs.cumsum(1).unwrap().into()];
    let got = g.compile(outputs).unwrap().run_named(&[]).unwrap();
    assert_eq!(got.ragged_at(0).unwrap().to_string(), "[[[2, 9], [3, 2]], [[1, 5]]]");
    assert_eq!(got.items().unwrap()[1].1.to_string(), "[[1, 0], [0, 0]]");
    assert_eq!(got.ragged_at(2).unwrap().to_string(), "[[[1, 9], [4, 11]], [[2, 5]]]");
}

#[test]
fn axes_of_ops_are_checked() {
    let g = Graph::new();
    let x = g.ragged_constant(&ragged![[1, 2], [3]]).unwrap();
    let refused = |result: Result<AnyValue<'_>>, message: &str| {
        let error = result.unwrap_err();
        assert!(error.to_string().contains(message), "{error}");
    };
    refused(x.sort(2, false).map(AnyValue::from), "an axis must be in [-2, 2), got 2");
    refused(x.top_k(1, 0).map(|[x, _]| x.into()), "use transpose");
    refused(x.one_hot(3, 1, 0, 1).map(AnyValue::from), "the axis of one_hot must be at least 2");
    refused(x.tile([2]).map(AnyValue::from), "one multiple for each of 2 axes, got 1");
    refused(x.tile([2, -1]).map(AnyValue::from), "must not be negative, got -1");
    refused(x.reverse([0, -2]).map(AnyValue::from), "an axis must occur once");
    refused(
        x.reverse(Axes::of(g.input("axes", DType::I64, shape![1]).unwrap())).map(AnyValue::from),
        "must be known",
    );
    refused(x.gather_batched(x, 0, 1), "batch_dims must be at most the axis, 0");
    refused(x.gather(x.with_row_splits_dtype(DType::I32).unwrap(), 0), "one dtype, got i64 and i32");
}

#[test]
fn floats_of_16_bits_are_combined_as_f32() -> Result<()> {
    for dtype in [DType::F16, DType::BF16] {
        let g = Graph::new();
        // The sum 1000 · 100 is above the greatest f16.
        let flat = g.fill([1000], 100.0f32)?.cast(dtype)?;
        let rows = RaggedValue::from_row_splits(flat, g.constant([0i64, 600, 1000])?)?;
        let column = RaggedValue::from_uniform_row_length(flat, 1, None)?;
        let spread = (rows + g.constant([[0.0f32], [50.0]])?.cast(dtype)?).ok()?;
        let zeros = g.fill([70_000], 0.0f32)?.cast(dtype)?;
        let long = RaggedValue::from_row_splits(zeros, g.constant([0i64, 70_000])?)?;
        let cases = [
            (rows.reduce_mean(..)?, 100.0f32),
            (rows.reduce_mean([0, 1])?, 100.0),
            (column.reduce_mean(0)?, 100.0),
            (spread.reduce_variance(..)?, 600.0),
            (spread.reduce_std(..)?, 24.5),
            (long.softmax(1)?.reduce_max(..)?, 1.430_511_5e-5),
        ];
        for (result, expected) in cases {
            let [result] = g.compile(result.flat_values().cast(DType::F32)?)?.run(&[])?;
            assert_eq!(result.to_vec::<f32>()?, [expected], "{dtype}");
        }
    }
    Ok(())
}
