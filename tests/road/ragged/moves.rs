//! Transposes, pairs, padded stacks and gathers of ragged values, against loops over nested lists.

use shapeflow::{
    AnyValue, DType, Dim, Executable, Graph, RaggedItem, RaggedTensor, RaggedValue, Result, SliceItem,
    Tensor, ragged, shape, slice,
};

use super::graphs::{Rows, check, deep, input, ragged as of_rows, random_rows, run, text};
use crate::rng::Rng;

/// Returns the lists of the items at each position.
fn columns<T: Clone>(rows: &[Vec<T>]) -> Vec<Vec<T>> {
    let width = rows.iter().map(Vec::len).max().unwrap_or(0);
    (0..width).map(|column| rows.iter().filter_map(|row| row.get(column).cloned()).collect()).collect()
}

fn random_deep(rng: &mut Rng, count: usize) -> Vec<Rows> {
    (0..count)
        .map(|_| {
            let rows = rng.below(4);
            random_rows(rng, rows)
        })
        .collect()
}

#[test]
fn neighboring_axes_are_swapped() {
    check(|x| Ok(x.transpose([1, 0])?.into()), |rows| text(&columns(rows)));
    let g = Graph::new();
    let x = input(&g, "x", 2);
    let narrow = x.with_row_splits_dtype(DType::I32).unwrap();
    let outputs = [
        x.transpose([1, 0, 2]).unwrap(),
        x.transpose([0, 2, 1]).unwrap(),
        narrow.transpose([1, 0, 2]).unwrap().with_row_splits_dtype(DType::I64).unwrap(),
        narrow.transpose([0, 2, 1]).unwrap(),
    ];
    let exe = g.compile(outputs.map(AnyValue::from)).unwrap();
    let mut rng = Rng::new(3);
    for case in 0..30 {
        let rows = random_deep(&mut rng, case % 6);
        let got = run(&exe, &[("x", &deep(&rows))]).unwrap();
        let inner: Vec<Rows> = rows.iter().map(|rows| columns(rows)).collect();
        for (got, wanted) in got.iter().zip([columns(&rows), inner.clone(), columns(&rows), inner]) {
            assert_eq!(got.to_string(), text(&wanted), "{rows:?}");
        }
    }
}

#[test]
fn uniform_axes_keep_their_sizes() {
    let g = Graph::new();
    let x = g.ragged_input("x", DType::F64, 1, shape![2, 3]).unwrap();
    let moved = x.transpose([0, 3, 1, 2]).unwrap();
    assert_eq!(moved.shape_text(), "[x_rows, 3, (r0), 2]".replace("x_rows", &x.nrows().to_string()));
    let back = moved.transpose([0, 2, 1, 3]).unwrap();
    let exe = g.compile([moved, back].map(AnyValue::from)).unwrap();
    let values = Tensor::from_vec(&[3, 2, 3], (0..18).map(f64::from).collect()).unwrap();
    for lengths in [[1i64, 2, 0], [0, 0, 3]] {
        let x = RaggedTensor::from_row_lengths(&values, lengths).unwrap();
        let got = run(&exe, &[("x", &x)]).unwrap();
        let item = |value: i64, inner: i64, last: i64| (value * 6 + inner * 3 + last) as f64;
        let (mut start, mut wanted, mut wanted_back) = (0, Vec::new(), Vec::new());
        for length in lengths {
            let values = start..start + length;
            let columns = (0..3).map(|last| {
                values.clone().map(|value| vec![item(value, 0, last), item(value, 1, last)]).collect::<Rows>()
            });
            wanted.push(columns.collect::<Vec<Rows>>());
            let rows = values.map(|value| {
                (0..3).map(|last| vec![item(value, 0, last), item(value, 1, last)]).collect::<Rows>()
            });
            wanted_back.push(rows.collect::<Vec<Rows>>());
            start += length;
        }
        assert_eq!(got[0].to_string(), text(&wanted));
        assert_eq!(got[1].to_string(), text(&wanted_back));
    }
    // A ragged value without rows of flat values keeps its uniform axis.
    let none =
        RaggedTensor::from_row_lengths(Tensor::zeros(DType::F64, &[0, 2, 3]).unwrap(), [0i64, 0]).unwrap();
    assert_eq!(run(&exe, &[("x", &none)]).unwrap()[0].to_string(), "[[[], [], []], [[], [], []]]");
    // Uniform axes are transposed as dense axes are.
    let g = Graph::new();
    let dense = g.constant([[[1, 2], [3, 4], [5, 6]]]).unwrap();
    let pairs = RaggedValue::from_uniform_row_length(dense.reshape([3, 2]).unwrap(), 3, None).unwrap();
    let moved = pairs.transpose([1, 0, 2]).unwrap();
    assert_eq!(moved.shape_text(), "[3, 1, 2]");
    let got = g.compile(moved).unwrap().run_named(&[]).unwrap().ragged_at(0).unwrap();
    assert_eq!(got.to_string(), "[[[1, 2]], [[3, 4]], [[5, 6]]]");
}

#[test]
fn other_transposes_are_refused() {
    let g = Graph::new();
    let x = input(&g, "x", 2);
    for perm in [[2, 1, 0], [1, 2, 0], [2, 0, 1]] {
        let error = x.transpose(perm).unwrap_err();
        assert!(error.to_string().contains("use one transpose for each pair"), "{error}");
    }
    for perm in [vec![0, 1], vec![0, 1, 1], vec![0, 1, 3], vec![0, -1, 2]] {
        let error = x.transpose(perm).unwrap_err();
        assert!(error.message().contains(": perm must be a permutation of the 3 axes"), "{error}");
    }
}

#[test]
fn items_of_rows_are_paired() {
    let g = Graph::new();
    let (a, b) = (input(&g, "a", 1), input(&g, "b", 1));
    let [left, right] = a.cross_rows(b).unwrap();
    let exe = g
        .compile(&[left.into(), right.into(), (left - right).ok().unwrap().into()] as &[AnyValue<'_>])
        .unwrap();
    let mut rng = Rng::new(9);
    for case in 0..30 {
        let (first, second) = (random_rows(&mut rng, case % 5), random_rows(&mut rng, case % 5));
        let got = run(&exe, &[("a", &of_rows(&first)), ("b", &of_rows(&second))]).unwrap();
        let pairs = |f: &dyn Fn(f64, f64) -> f64| -> Vec<Rows> {
            let rows = first.iter().zip(&second);
            rows.map(|(a, b)| a.iter().map(|a| b.iter().map(|b| f(*a, *b)).collect()).collect()).collect()
        };
        assert_eq!(got[0].to_string(), text(&pairs(&|a, _| a)));
        assert_eq!(got[1].to_string(), text(&pairs(&|_, b| b)));
        assert_eq!(got[2].to_string(), text(&pairs(&|a, b| a - b)));
    }
    let one = of_rows(&vec![vec![1.0]]);
    for rows in [vec![vec![2.0], vec![3.0]], vec![vec![], vec![]]] {
        let error = run(&exe, &[("a", &one), ("b", &of_rows(&rows))]).map(|got| text(&got)).unwrap_err();
        assert!(
            error.message().contains("the number of rows of the other value must be 1, got 2"),
            "{error}"
        );
    }
    let narrow = b.with_row_splits_dtype(DType::I32).unwrap();
    assert!(a.cross_rows(narrow).unwrap_err().message().contains("one dtype, got i64 and i32"));
}

#[test]
fn dense_values_are_padded_to_the_longest() {
    let g = Graph::new();
    let values = ["a", "b", "c"].map(|name| g.input(name, DType::I32, shape![?, 2]).unwrap());
    let stacked = RaggedValue::stack_padded(&values, 7).unwrap();
    let exe = g.compile(stacked).unwrap();
    for sizes in [[2usize, 0, 3], [0, 0, 0], [1, 1, 1]] {
        let tensors: Vec<Tensor> = sizes
            .iter()
            .map(|size| Tensor::from_vec(&[*size, 2], (0..2 * *size as i32).collect()).unwrap())
            .collect();
        let views: Vec<_> = tensors.iter().map(Tensor::view).collect();
        let [padded, lengths] = exe.run(&views).unwrap();
        let longest = sizes.into_iter().max().unwrap();
        assert_eq!(padded.sizes(), [3, longest, 2]);
        assert_eq!(lengths.to_vec::<i64>().unwrap(), sizes.map(|size| size as i64));
        for (place, element) in padded.to_vec::<i32>().unwrap().into_iter().enumerate() {
            let (row, inside) = (place / (2 * longest), place % (2 * longest));
            assert_eq!(element, if inside < 2 * sizes[row] { inside as i32 } else { 7 });
        }
    }
    assert!(RaggedValue::stack_padded(&[], 0).is_err());
    assert!(RaggedValue::stack_padded(&[g.constant(1).unwrap()], 0).is_err());
}

/// Runs on one ragged input and dense indices.
fn run_indices(exe: &Executable, x: &RaggedTensor, indices: &Tensor) -> Result<Vec<RaggedItem>> {
    Ok(exe.feed("x", x).feed("indices", indices).run()?.items()?.into_iter().map(|(_, item)| item).collect())
}

#[test]
fn indices_select_along_each_axis() {
    let g = Graph::new();
    let x = input(&g, "x", 2);
    let indices = g.input("indices", DType::I32, shape![?]).unwrap();
    let outputs =
        [x.gather(indices, 0).unwrap(), x.gather(indices, 1).unwrap(), x.gather(indices, -1).unwrap()];
    let exe = g.compile(outputs).unwrap();
    let rows = vec![
        vec![vec![1.0, 2.0, 3.0], vec![4.0, 5.0]],
        vec![vec![6.0, 7.0], vec![8.0, 9.0], vec![10.0, 11.0]],
    ];
    let x = deep(&rows);
    for indices in [vec![1i32, 0, 1], vec![], vec![0]] {
        let of = |rows: &Vec<Vec<f64>>| indices.iter().map(|i| rows[*i as usize].clone()).collect::<Rows>();
        let last = |row: &Vec<f64>| indices.iter().map(|i| row[*i as usize]).collect::<Vec<f64>>();
        let got = run_indices(&exe, &x, &Tensor::from(indices.clone())).unwrap();
        let outer: Vec<Rows> = indices.iter().map(|i| rows[*i as usize].clone()).collect();
        assert_eq!(got[0].to_string(), text(&outer));
        assert_eq!(got[1].to_string(), text(&rows.iter().map(of).collect::<Vec<_>>()));
        let inner: Vec<Rows> = rows.iter().map(|rows| rows.iter().map(last).collect()).collect();
        assert_eq!(got[2].to_string(), text(&inner));
    }
    let error = run_indices(&exe, &x, &Tensor::from(vec![2i32])).unwrap_err();
    assert!(error.message().contains("must lie in"), "{error}");
}

#[test]
fn scalars_select_one_item() {
    let g = Graph::new();
    let x = g.ragged_constant(&ragged![[[1, 2], [3]], [[4], [5, 6, 7]]]).unwrap();
    let one = g.constant(1).unwrap();
    let outputs = [x.gather(one, 0).unwrap(), x.gather(one, 1).unwrap(), x.slice_with(&slice![1]).unwrap()];
    let got = g.compile(outputs).unwrap().run_named(&[]).unwrap();
    assert_eq!(got.ragged_at(0).unwrap(), ragged![[4], [5, 6, 7]]);
    assert_eq!(got.ragged_at(1).unwrap(), ragged![[3], [5, 6, 7]]);
    assert_eq!(got.ragged_at(2).unwrap(), got.ragged_at(0).unwrap());
}

#[test]
fn ragged_indices_select_from_dense_values() {
    let g = Graph::new();
    let table = g.input("table", DType::F64, shape![?, "k"]).unwrap();
    let ids = g.ragged_input("ids", DType::I64, 1, shape![]).unwrap();
    let outputs = [
        table.gather_ragged(ids, 0).unwrap().into(),
        table.gather_ragged(ids, 1).unwrap().into(),
        // The first axes are shared.
        AnyValue::from(table).gather_batched(ids, 1, 1).unwrap(),
    ];
    let exe = g.compile(outputs).unwrap();
    let table = Tensor::from([[0.0, 1.0], [10.0, 11.0]]);
    let ids = ragged![[1i64, 0], [1]];
    let got = exe.feed("table", &table).feed("ids", &ids).run().unwrap();
    let got: Vec<String> = got.items().unwrap().into_iter().map(|(_, item)| item.to_string()).collect();
    assert_eq!(got[0], "[[[10.0, 11.0], [0.0, 1.0]], [[10.0, 11.0]]]");
    assert_eq!(got[1], "[[[1.0, 0.0], [1.0]], [[11.0, 10.0], [11.0]]]");
    assert_eq!(got[2], "[[1.0, 0.0], [11.0]]");
}

#[test]
fn slice_items_are_written_like_slices_of_python() {
    let n = Dim::known(4);
    let k = 2;
    assert_eq!(slice![.., ..., newaxis], [SliceItem::All, SliceItem::Rest, SliceItem::NewAxis]);
    assert_eq!(slice![1, -1, k, &n], [1, -1, 2, 4].map(SliceItem::at));
    assert_eq!(
        slice![1..3, -k.., ..-1, 1..-1],
        [SliceItem::span(1, 3), SliceItem::from(-2..), SliceItem::from(..-1), SliceItem::span(1, -1)]
    );
    let through = |begin: Option<i32>| SliceItem::Through(begin.map(Into::into), Dim::known(2), 1);
    assert_eq!(slice![0..=2, ..=k], [through(Some(0)), through(None)]);
    assert_eq!(
        slice![..; -1, 1..n.clone(); k, 0..=2; 2,],
        [SliceItem::All.step(-1), SliceItem::span(1, 4).step(2), through(Some(0)).step(2)]
    );
    assert_eq!(slice![SliceItem::NewAxis], [SliceItem::NewAxis]);
    let none: [SliceItem; 0] = slice![];
    assert!(none.is_empty());
}

/// Returns the positions that Python's `begin:end:step` selects from an axis.
fn python_range(size: i64, begin: i64, end: i64, step: i64) -> Vec<i64> {
    let (least, most) = if step > 0 { (0, size) } else { (-1, size - 1) };
    let clamp = |position: i64| (if position < 0 { position + size } else { position }).clamp(least, most);
    let (first, last) = (clamp(begin), clamp(end));
    let count = if step > 0 { last - first + step - 1 } else { first - last - step - 1 } / step.abs();
    (0..count.max(0)).map(|index| first + index * step).collect()
}

#[test]
fn slices_take_positions_that_are_fed() {
    let g = Graph::new();
    let x = g.input("x", DType::I64, shape!["n", 4]).unwrap();
    let rt = g.ragged_constant(&ragged![[1i64, 2, 3, 4, 5], [6], [], [7, 8, 9]]).unwrap();
    let [a, b] = ["a", "b"].map(|name| g.input(name, DType::I32, shape![]).unwrap());
    let row = x.slice_with(&slice![a]).unwrap();
    assert_eq!(row.shape().to_string(), "[4]");
    let exe = g
        .compile([
            row.into(),
            x.slice_with(&slice![a..b, 1]).unwrap().into(),
            x.slice_with(&slice![.., a..b; -1, newaxis]).unwrap().into(),
            x.slice_with(&[SliceItem::span(a, 3), (..b).into()]).unwrap().into(),
            rt.slice_with(&slice![a]).unwrap(),
            rt.slice_with(&slice![.., a..b]).unwrap(),
            rt.slice_with(&slice![a..b, ..; -2]).unwrap(),
        ])
        .unwrap();
    let rows: [&[i64]; 4] = [&[1, 2, 3, 4, 5], &[6], &[], &[7, 8, 9]];
    let pick = |row: &[i64], positions: Vec<i64>| -> Vec<i64> {
        positions.into_iter().map(|position| row[position as usize]).collect()
    };
    let ragged_text = |rows: Vec<Vec<i64>>| format!("{rows:?}");
    for n in [4usize, 5] {
        let elements: Vec<i64> = (0..4 * n as i64).collect();
        let fed = Tensor::from_vec(&[n, 4], elements).unwrap();
        for (begin, end) in [(0, 2), (-1, 9), (1, -1), (-4, -2), (3, 3), (2, -9), (-3, 4)] {
            let (first, last) = (Tensor::scalar(begin), Tensor::scalar(end));
            let got = exe.feed("x", &fed).feed("a", &first).feed("b", &last).run().unwrap();
            let (begin, end) = (i64::from(begin), i64::from(end));
            let wrapped = |size: i64| if begin < 0 { begin + size } else { begin };
            let (size, first) = (n as i64, wrapped(n as i64));
            let rows_of = |begin, end| python_range(size, begin, end, 1);
            let expected = [
                (0..4).map(|column| 4 * first + column).collect::<Vec<i64>>(),
                rows_of(begin, end).iter().map(|row| 4 * row + 1).collect(),
                (0..size)
                    .flat_map(|row| {
                        python_range(4, begin, end, -1).into_iter().map(move |column| 4 * row + column)
                    })
                    .collect(),
                rows_of(begin, 3)
                    .iter()
                    .flat_map(|row| {
                        python_range(4, 0, end, 1).into_iter().map(move |column| 4 * row + column)
                    })
                    .collect(),
            ];
            for (index, expected) in expected.iter().enumerate() {
                assert_eq!(
                    got.tensor_at(index).unwrap().to_vec::<i64>().unwrap(),
                    *expected,
                    "{begin} {end}"
                );
            }
            let first = rows[wrapped(4) as usize];
            assert_eq!(got.tensor_at(4).unwrap().to_vec::<i64>().unwrap(), first);
            let inner = rows.map(|row| pick(row, python_range(row.len() as i64, begin, end, 1)));
            assert_eq!(got.ragged_at(5).unwrap().to_string(), ragged_text(inner.to_vec()));
            let outer = python_range(4, begin, end, 1).into_iter().map(|row| {
                let row = rows[row as usize];
                pick(row, (0..row.len() as i64).rev().step_by(2).collect())
            });
            assert_eq!(got.ragged_at(6).unwrap().to_string(), ragged_text(outer.collect()));
        }
    }
    let (short, one) = (Tensor::from([[0i64; 4]]), Tensor::scalar(1));
    let error = exe.feed("x", &short).feed("a", &one).feed("b", &one).run().unwrap_err();
    assert!(error.message().contains("must lie within axis 0 of size 1"), "{error}");
}
