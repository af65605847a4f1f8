//! Ops on ragged values of a graph, against loops over nested lists.

use shapeflow::{
    AnyValue, DType, Executable, Graph, RaggedItem, RaggedTensor, RaggedValue, Tensor, TensorView, shape,
};

use crate::rng::Rng;

pub type Rows = Vec<Vec<f64>>;

/// Makes random rows of small integers; some rows are empty.
pub fn random_rows(rng: &mut Rng, count: usize) -> Rows {
    (0..count).map(|_| (0..rng.below(5)).map(|_| rng.range_inclusive(-8, 8) as f64).collect()).collect()
}

pub fn ragged(rows: &Rows) -> RaggedTensor {
    let lengths: Vec<i64> = rows.iter().map(|row| row.len() as i64).collect();
    RaggedTensor::from_row_lengths(rows.concat(), lengths).unwrap()
}

pub fn deep(rows: &[Rows]) -> RaggedTensor {
    let lengths: Vec<i64> = rows.iter().map(|rows| rows.len() as i64).collect();
    RaggedTensor::from_row_lengths(ragged(&rows.concat()), lengths).unwrap()
}

/// Runs on ragged inputs and returns the results.
pub fn run(exe: &Executable, inputs: &[(&str, &RaggedTensor)]) -> shapeflow::Result<Vec<RaggedItem>> {
    let parts: Vec<(String, Tensor)> = inputs.iter().flat_map(|(name, tensor)| tensor.feeds(name)).collect();
    let feeds: Vec<(&str, TensorView<'_>)> =
        parts.iter().map(|(name, tensor)| (name.as_str(), tensor.view())).collect();
    let results = exe.run_named(&feeds)?;
    Ok(results.items()?.into_iter().map(|(_, item)| item).collect())
}

pub fn input<'g>(g: &'g Graph, name: &str, ragged_rank: usize) -> RaggedValue<'g> {
    g.ragged_input(name, DType::F64, ragged_rank, shape![]).unwrap()
}

/// Compiles a function of one ragged value once, and compares its results with a function of nested lists for many
/// sizes.
#[track_caller]
pub fn check(
    build: impl for<'g> Fn(RaggedValue<'g>) -> shapeflow::Result<AnyValue<'g>>,
    expected: impl Fn(&Rows) -> String,
) {
    let g = Graph::new();
    let exe = g.compile(build(input(&g, "x", 1)).unwrap()).unwrap();
    let mut rng = Rng::new(7);
    for case in 0..40 {
        let rows = random_rows(&mut rng, case % 7);
        let got = run(&exe, &[("x", &ragged(&rows))]).unwrap();
        assert_eq!(got[0].to_string(), expected(&rows), "{rows:?}");
    }
}

pub fn text(value: &impl std::fmt::Debug) -> String {
    format!("{value:?}")
}

fn columns(rows: &Rows) -> Rows {
    let width = rows.iter().map(Vec::len).max().unwrap_or(0);
    (0..width).map(|column| rows.iter().filter_map(|row| row.get(column).copied()).collect()).collect()
}

#[test]
fn elementwise_ops_run_on_flat_values() {
    let each = |rows: &Rows, f: &dyn Fn(f64) -> f64| -> Rows {
        rows.iter().map(|row| row.iter().map(|x| f(*x)).collect()).collect()
    };
    check(|x| Ok((x * 2.0 + 1.0).square()?.into()), |rows| text(&each(rows, &|x| (x * 2.0 + 1.0).powi(2))));
    check(|x| Ok((1.0 - x).ok()?.into()), |rows| text(&each(rows, &|x| 1.0 - x)));
    check(|x| Ok(x.maximum(-x)?.into()), |rows| text(&each(rows, &f64::abs)));
    check(
        |x| Ok(x.greater(0.0)?.select(x, x.zeros_like()?)?.into()),
        |rows| text(&each(rows, &|x| if x > 0.0 { x } else { 0.0 })),
    );
    // A dense operand has one element for each row.
    check(
        |x| Ok((x - x.reduce_sum(1)?.dense()?.expand_dims(1)?).ok()?.into()),
        |rows| {
            let row =
                |row: &Vec<f64>| row.iter().map(|x| x - row.iter().fold(0.0, |sum, x| sum + x)).collect();
            text(&rows.iter().map(row).collect::<Rows>())
        },
    );
}

#[test]
fn rows_and_columns_are_reduced() {
    let sum = |row: &Vec<f64>| row.iter().fold(0.0, |sum, x| sum + x);
    let most = |row: &Vec<f64>| row.iter().fold(f64::MIN, |a, b| a.max(*b));
    check(|x| x.reduce_sum(1), |rows| text(&rows.iter().map(sum).collect::<Vec<_>>()));
    check(|x| x.reduce_sum(0), |rows| text(&columns(rows).iter().map(sum).collect::<Vec<_>>()));
    check(|x| x.reduce_sum(..), |rows| text(&rows.concat().iter().fold(0.0, |sum, x| sum + x)));
    check(|x| x.reduce_max(-1), |rows| text(&rows.iter().map(most).collect::<Vec<_>>()));
    check(|x| x.reduce_max(0), |rows| text(&columns(rows).iter().map(most).collect::<Vec<_>>()));
    check(
        |x| x.reduce_prod(1),
        |rows| text(&rows.iter().map(|row| row.iter().product()).collect::<Vec<f64>>()),
    );
    check(
        |x| x.reduce_mean(1),
        |rows| text(&rows.iter().map(|row| sum(row) / row.len() as f64).collect::<Vec<_>>()),
    );
    check(
        |x| x.reduce_mean(0),
        |rows| text(&columns(rows).iter().map(|row| sum(row) / row.len() as f64).collect::<Vec<_>>()),
    );
    check(
        |x| x.greater(0.0)?.reduce_any(1),
        |rows| text(&rows.iter().map(|row| row.iter().any(|x| *x > 0.0)).collect::<Vec<_>>()),
    );
    check(
        |x| x.greater(0.0)?.reduce_all(1),
        |rows| text(&rows.iter().map(|row| row.iter().all(|x| *x > 0.0)).collect::<Vec<_>>()),
    );
    check(
        |x| x.argmax(1),
        |rows| {
            let first = |row: &Vec<f64>| {
                row.iter().position(|x| *x == most(row)).map_or(-1, |position| position as i64)
            };
            text(&rows.iter().map(first).collect::<Vec<_>>())
        },
    );
}

#[test]
fn running_sums_stay_in_their_rows() {
    check(
        |x| Ok(x.cumsum(1)?.into()),
        |rows| {
            let sums = |row: &Vec<f64>| {
                row.iter()
                    .scan(0.0, |sum, x| {
                        *sum += x;
                        Some(*sum)
                    })
                    .collect()
            };
            text(&rows.iter().map(sums).collect::<Rows>())
        },
    );
    let g = Graph::new();
    let exe = g.compile(input(&g, "x", 1).cumsum(-1).unwrap()).unwrap();
    let rows = vec![vec![1.0, f64::INFINITY], vec![2.0, f64::NAN], vec![3.0, 4.0]];
    assert_eq!(
        run(&exe, &[("x", &ragged(&rows))]).unwrap()[0].to_string(),
        "[[1.0, inf], [2.0, NaN], [3.0, 7.0]]"
    );
}

#[test]
fn dense_values_become_ragged_ones() {
    let g = Graph::new();
    let x = g.input("x", DType::F64, shape!["n", "k", 2]).unwrap();
    let outputs: [AnyValue<'_>; 4] = [
        RaggedValue::from_tensor(x, 1).unwrap().into(),
        RaggedValue::from_tensor(x, 2).unwrap().into(),
        RaggedValue::from_tensor(x, 2).unwrap().merge_rows().unwrap().into(),
        RaggedValue::from_tensor(x, 1).unwrap().matmul(g.constant([[1.0], [10.0]]).unwrap()).unwrap(),
    ];
    let exe = g.compile(outputs).unwrap();
    let x = Tensor::from([[[1.0, 2.0]], [[3.0, 4.0]]]);
    let results = exe.run_named(&[("x", x.view())]).unwrap();
    let got: Vec<String> =
        results.items().unwrap().into_iter().map(|(_, item)| item.ragged().unwrap().to_string()).collect();
    assert_eq!(
        got,
        [
            "[[[1.0, 2.0]], [[3.0, 4.0]]]",
            "[[[1.0, 2.0]], [[3.0, 4.0]]]",
            "[[1.0, 2.0], [3.0, 4.0]]",
            "[[[21.0]], [[43.0]]]"
        ]
    );
    assert!(RaggedValue::from_tensor(g.constant([1]).unwrap(), 1).is_err());
}

#[test]
fn softmax_of_each_row_adds_up_to_one() {
    let g = Graph::new();
    let y = input(&g, "x", 1).softmax(1).unwrap();
    let exe = g.compile([y.into(), y.reduce_sum(1).unwrap()]).unwrap();
    let got = run(&exe, &[("x", &ragged(&vec![vec![1000.0, 1000.0], vec![], vec![-5.0]]))]).unwrap();
    assert_eq!(got[0].to_string(), "[[0.5, 0.5], [], [1.0]]");
    assert_eq!(got[1].to_string(), "[1.0, 0.0, 1.0]");
}

#[test]
fn the_mean_of_a_segment_of_ragged_ids_without_elements_is_nan_as_in_tensorflow() {
    let g = Graph::new();
    let x = input(&g, "x", 1);
    let ids = g.ragged_constant(&shapeflow::ragged![[0, 0], [], [2]]).unwrap();
    let means = x.unsorted_segment_mean(ids, 4).unwrap();
    let sums = x.unsorted_segment_sqrt_n(ids, 4).unwrap();
    let exe = g.compile([means, sums]).unwrap();
    let got = run(&exe, &[("x", &ragged(&vec![vec![1.0, 3.0], vec![], vec![4.0]]))]).unwrap();
    assert_eq!(got[0].to_string(), "[2.0, NaN, 4.0, NaN]");
    assert_eq!(got[1].to_string(), format!("[{:?}, NaN, 4.0, NaN]", 4.0 / 2f64.sqrt()));
}

#[test]
fn segment_ids_and_row_splits_are_inverses() {
    let g = Graph::new();
    let splits = g.constant([0i64, 2, 2, 3]).unwrap();
    let ids = splits.row_splits_to_segment_ids(3).unwrap();
    let back = ids.segment_ids_to_row_splits(3).unwrap();
    let [ids, back] = g.compile([ids, back]).unwrap().run(&[]).unwrap();
    assert_eq!(ids, Tensor::from([0i64, 0, 2]));
    assert_eq!(back, Tensor::from([0i64, 2, 2, 3]));
}

#[test]
fn variance_of_a_large_mean_keeps_its_precision() {
    let g = Graph::new();
    let x = input(&g, "x", 1);
    let exe = g.compile([x.reduce_variance(1).unwrap(), x.reduce_std(0).unwrap()]).unwrap();
    let rows = vec![vec![1e9, 1e9 + 1.0, 1e9 + 2.0], vec![1e9 + 4.0]];
    let got = run(&exe, &[("x", &ragged(&rows))]).unwrap();
    assert_eq!(got[0].to_string(), "[0.6666666666666666, 0.0]");
    assert_eq!(got[1].to_string(), "[2.0, 0.0, 0.0]");
}

#[test]
fn rows_are_moved() {
    check(|x| Ok(x.reverse(0)?.into()), |rows| text(&rows.iter().rev().cloned().collect::<Rows>()));
    check(
        |x| Ok(x.reverse(1)?.into()),
        |rows| text(&rows.iter().map(|row| row.iter().rev().copied().collect()).collect::<Rows>()),
    );
    check(
        |x| Ok(RaggedValue::concat(&[x, x], 0)?.into()),
        |rows| text(&[rows.clone(), rows.clone()].concat()),
    );
    check(
        |x| Ok(RaggedValue::concat(&[x, x.reverse(1)?, x], 1)?.into()),
        |rows| {
            let joined = |row: &Vec<f64>| {
                let backwards: Vec<f64> = row.iter().rev().copied().collect();
                [row.clone(), backwards, row.clone()].concat()
            };
            text(&rows.iter().map(joined).collect::<Rows>())
        },
    );
    check(|x| Ok(RaggedValue::stack(&[x, x], 0)?.into()), |rows| text(&[rows, rows]));
    check(
        |x| Ok(RaggedValue::stack(&[x, x], 1)?.into()),
        |rows| text(&rows.iter().map(|row| [row, row]).collect::<Vec<_>>()),
    );
    check(|x| Ok(x.expand_dims(0)?.into()), |rows| text(&[rows]));
    check(|x| Ok(x.expand_dims(1)?.into()), |rows| text(&rows.iter().map(|row| [row]).collect::<Vec<_>>()));
    check(
        |x| Ok(x.expand_dims(2)?.into()),
        |rows| text(&rows.iter().map(|row| row.iter().map(|x| [x]).collect()).collect::<Vec<Vec<_>>>()),
    );
    check(
        |x| Ok(x.boolean_mask(x.greater(0.0)?)?.into()),
        |rows| {
            text(&rows.iter().map(|row| row.iter().copied().filter(|x| *x > 0.0).collect()).collect::<Rows>())
        },
    );
    check(
        |x| Ok(x.slice_rows(1, Some(-1))?.into()),
        |rows| {
            let cut = |row: &Vec<f64>| {
                row[1.min(row.len())..].iter().take(row.len().saturating_sub(2)).copied().collect()
            };
            text(&rows.iter().map(cut).collect::<Rows>())
        },
    );
    check(
        |x| Ok(x.to_tensor_with(-7.0, [-1, 2])?.into()),
        |rows| {
            let padded = |row: &Vec<f64>| (0..2).map(|i| row.get(i).copied().unwrap_or(-7.0)).collect();
            text(&rows.iter().map(padded).collect::<Rows>()).replace("[[], []]", "[]")
        },
    );
}

#[test]
fn deep_values_are_reduced_and_moved() {
    let g = Graph::new();
    let x = input(&g, "x", 2);
    let order = g.constant([1i64, 0, 1]).unwrap();
    let outputs = [
        x.reduce_sum(0).unwrap(),
        x.reduce_sum(1).unwrap(),
        x.reduce_sum(2).unwrap(),
        x.reduce_sum([1, 2]).unwrap(),
        x.gather(order, 0).unwrap(),
        x.reverse(2).unwrap().into(),
        x.reverse(1).unwrap().into(),
        RaggedValue::concat(&[x, x * 10.0], 2).unwrap().into(),
        (x + x
            .reduce_sum(2)
            .unwrap()
            .ragged()
            .unwrap()
            .reduce_sum(1)
            .unwrap()
            .dense()
            .unwrap()
            .reshape([-1i64, 1, 1])
            .unwrap())
        .into(),
    ];
    let exe = g.compile(outputs).unwrap();
    let rows = vec![vec![vec![1.0, 2.0], vec![], vec![3.0]], vec![vec![4.0], vec![5.0, 6.0, 7.0]], vec![]];
    let got = run(&exe, &[("x", &deep(&rows))]).unwrap();
    let expected = [
        "[[5.0, 2.0], [5.0, 6.0, 7.0], [3.0]]",
        "[[4.0, 2.0], [9.0, 6.0, 7.0], []]",
        "[[3.0, 0.0, 3.0], [4.0, 18.0], []]",
        "[6.0, 22.0, 0.0]",
        "[[[4.0], [5.0, 6.0, 7.0]], [[1.0, 2.0], [], [3.0]], [[4.0], [5.0, 6.0, 7.0]]]",
        "[[[2.0, 1.0], [], [3.0]], [[4.0], [7.0, 6.0, 5.0]], []]",
        "[[[3.0], [], [1.0, 2.0]], [[5.0, 6.0, 7.0], [4.0]], []]",
        "[[[1.0, 2.0, 10.0, 20.0], [], [3.0, 30.0]], [[4.0, 40.0], [5.0, 6.0, 7.0, 50.0, 60.0, 70.0]], []]",
        "[[[7.0, 8.0], [], [9.0]], [[26.0], [27.0, 28.0, 29.0]], []]",
    ];
    for (got, expected) in got.iter().zip(expected) {
        assert_eq!(got.to_string(), expected);
    }
}

#[test]
fn values_of_the_same_splits_match_without_a_check() {
    let g = Graph::new();
    let splits = g.input("splits", DType::I64, shape![?]).unwrap();
    let [a, b] = ["a", "b"].map(|name| {
        let flat = g.input(name, DType::F64, shape![?]).unwrap();
        RaggedValue::from_row_splits(flat, splits).unwrap()
    });
    assert!(a.partition().is_same(b.partition()));
    let sum = (a + b).ok().unwrap();
    assert!(!g.to_string().contains("ragged_same_splits"), "{g}");
    let exe = g.compile(sum).unwrap();
    let (flat, splits) = (Tensor::from([1.0, 2.0, 3.0]), Tensor::from([0i64, 1, 3]));
    let feeds = [("splits", splits.view()), ("a", flat.view()), ("b", flat.view())];
    let got = exe.run_named(&feeds).unwrap().ragged_at(0).unwrap();
    assert_eq!(got.to_string(), "[[2.0], [4.0, 6.0]]");
}

#[test]
fn other_splits_are_compared_when_the_graph_runs() {
    let g = Graph::new();
    let (a, b) = (input(&g, "a", 1), input(&g, "b", 1));
    let exe = g.compile((a + b).ok().unwrap()).unwrap();
    let (x, y) = (ragged(&vec![vec![1.0], vec![2.0, 3.0]]), ragged(&vec![vec![1.0, 2.0], vec![3.0]]));
    assert_eq!(run(&exe, &[("a", &x), ("b", &x)]).unwrap()[0].to_string(), "[[2.0], [4.0, 6.0]]");
    let error = run(&exe, &[("a", &x), ("b", &y)]).unwrap_err();
    assert!(
        error.message().contains("the rows of ragged operands must have equal lengths, got 1 and 2 at row 0"),
        "{error}"
    );
    let z = ragged(&vec![vec![1.0, 2.0, 3.0]]);
    assert!(run(&exe, &[("a", &x), ("b", &z)]).is_err());
}

#[test]
fn bad_splits_fail_the_run() {
    let g = Graph::new();
    let x = input(&g, "x", 1);
    let exe = g.compile(x.reduce_sum(1).unwrap()).unwrap();
    let flat = Tensor::from([1.0, 2.0, 3.0]);
    for (splits, message) in [
        (vec![0i64, 2], "row_splits must end at the number of values, 3, got 2 at position 1"),
        (vec![0, 2, 1, 3], "row_splits must not decrease, got 1 after 2 at position 2"),
        (vec![1, 3], "row_splits must start at 0, got 1"),
    ] {
        let splits = Tensor::from(splits);
        let feeds = [("x/flat_values", flat.view()), ("x/row_splits/0", splits.view())];
        let error = exe.run_named(&feeds).unwrap_err();
        assert!(error.message().contains(message), "{error}");
    }
}

#[test]
fn shapes_are_known_as_far_as_possible() {
    let g = Graph::new();
    let x = g.ragged_input("x", DType::F32, 2, shape![3]).unwrap();
    assert_eq!((x.ragged_rank(), x.shape().rank()), (2, Some(4)));
    assert!(x.shape_text().ends_with(", (r0), (r1), 3]"), "{}", x.shape_text());
    let flat = g.input("flat", DType::F32, shape![12]).unwrap();
    let pairs = RaggedValue::from_uniform_row_length(flat, 2, None).unwrap();
    assert_eq!((pairs.shape().to_string(), pairs.shape_text()), ("[6, 2]".to_string(), "[6, 2]".to_string()));
    let splits = g.constant([0i64, 1, 6]).unwrap();
    let nested = RaggedValue::from_row_splits(pairs, splits).unwrap();
    assert_eq!(nested.shape_text(), "[2, (r0), 2]");
}

#[test]
fn checks_of_row_splits_copy_nothing() {
    let g = Graph::new();
    let sum = (input(&g, "x", 1) + input(&g, "y", 1)).ok().unwrap();
    let kernels = g.compile(sum.flat_values()).unwrap().kernels().to_string();
    // The row splits of x and of y, and the values of x.
    assert_eq!(kernels.matches(", the elements of b").count(), 3, "{kernels}");
}

#[test]
fn a_named_value_names_its_parts_and_its_output() {
    let g = Graph::new();
    let a = input(&g, "a", 1);
    let doubled = (a * 2.0).ok().unwrap().named("doubled");
    let sorted = doubled.sort(1, false).unwrap().named("sorted");
    let text = g.to_string();
    assert!(text.contains("// doubled/flat_values") && text.contains("// sorted/flat_values"), "{text}");
    let exe = g.compile([doubled, sorted, a.named("b")]).unwrap();
    // An input and its row splits keep their names.
    assert_eq!(
        exe.inputs().iter().map(|port| &port.name[..]).collect::<Vec<_>>(),
        ["a/flat_values", "a/row_splits/0"]
    );
    let results = exe.feed("a", &ragged(&vec![vec![2.0], vec![3.0, 1.0]])).run().unwrap();
    assert_eq!(results.ragged("sorted").unwrap().to_string(), "[[4.0], [2.0, 6.0]]");
    assert_eq!(results.ragged("doubled").unwrap(), results.ragged_at(0).unwrap());
    assert_eq!(results.ragged("b").unwrap().to_string(), "[[2.0], [3.0, 1.0]]");
}
