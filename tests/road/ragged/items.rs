//! Ops on ragged values that TensorFlow lacks or does not check, against loops over nested lists.

use shapeflow::{
    AnyValue, CompileOptions, DType, Graph, IntoParam, RaggedTensor, RaggedValue, SliceItem, Tensor, ragged,
    shape,
};

use crate::rng::Rng;

use super::graphs::{Rows, check, deep, input, ragged as of_rows, run, text};

#[test]
fn items_of_each_row_are_sorted() {
    let sorted = |row: &Vec<f64>| {
        let mut row = row.clone();
        row.sort_by(f64::total_cmp);
        row
    };
    let positions = |row: &Vec<f64>| {
        let mut order: Vec<usize> = (0..row.len()).collect();
        order.sort_by(|a, b| row[*b].total_cmp(&row[*a]));
        order
    };
    check(|x| Ok(x.sort(1, false)?.into()), |rows| text(&rows.iter().map(sorted).collect::<Rows>()));
    check(|x| Ok(x.argsort(1, true)?.into()), |rows| text(&rows.iter().map(positions).collect::<Vec<_>>()));
    for k in [0usize, 1, 2, 9] {
        check(
            |x| Ok(x.top_k(k as i64, 1)?[0].into()),
            |rows| {
                let largest = |row: &Vec<f64>| sorted(row).into_iter().rev().take(k).collect();
                text(&rows.iter().map(largest).collect::<Rows>())
            },
        );
        check(
            |x| Ok(x.top_k(k as i64, 1)?[1].into()),
            |rows| {
                let largest = |row: &Vec<f64>| positions(row).into_iter().take(k).collect();
                text(&rows.iter().map(largest).collect::<Vec<Vec<usize>>>())
            },
        );
        // The positions select the values.
        check(
            |x| {
                let [values, order] = x.top_k(k as i64, 1)?;
                Ok((values - x.gather_batched(order, 1, 1)?.ragged()?).ok()?.into())
            },
            |rows| text(&rows.iter().map(|row| vec![0.0; row.len().min(k)]).collect::<Rows>()),
        );
    }
}

#[test]
fn deep_rows_are_sorted() {
    let g = Graph::new();
    let x = input(&g, "x", 2);
    let outputs: [AnyValue<'_>; 2] = [x.sort(-1, true).unwrap().into(), x.top_k(1, 2).unwrap()[0].into()];
    let exe = g.compile(outputs).unwrap();
    let rows = vec![vec![vec![1.0, 2.0], vec![], vec![3.0]], vec![], vec![vec![4.0, 6.0, 5.0]]];
    let got = run(&exe, &[("x", &deep(&rows))]).unwrap();
    assert_eq!(got[0].to_string(), "[[[2.0, 1.0], [], [3.0]], [], [[6.0, 5.0, 4.0]]]");
    assert_eq!(got[1].to_string(), "[[[2.0], [], [3.0]], [], [[6.0]]]");
}

#[test]
fn an_index_outside_its_row_fails_the_run() {
    let g = Graph::new();
    let x = input(&g, "x", 1);
    let indices = g.input("indices", DType::I64, shape![?, 2]).unwrap();
    let exe = g.compile(x.gather_nd(indices).unwrap()).unwrap();
    let rows = of_rows(&vec![vec![1.0], vec![2.0, 3.0]]);
    let pick = |indices: [[i64; 2]; 1]| {
        let parts = rows.feeds("x");
        let indices = Tensor::from(indices);
        let mut feeds: Vec<_> = parts.iter().map(|(name, tensor)| (name.as_str(), tensor.view())).collect();
        feeds.push(("indices", indices.view()));
        exe.run_named(&feeds).map(|results| results.items().unwrap()[0].1.to_string())
    };
    assert_eq!(pick([[1, 1]]).unwrap(), "[3.0]");
    for (indices, message) in [
        ([[0, 1]], "an index into row 0 must lie in [0, 1), got 1"),
        ([[1, -1]], "an index into row 1 must lie in [0, 2), got -1"),
        ([[2, 0]], "an index into axis 0 must lie in [0, 2), got 2"),
    ] {
        assert!(pick(indices).unwrap_err().message().contains(message));
    }
}

#[test]
fn an_index_beyond_32_bits_is_out_of_range_of_short_splits() {
    let g = Graph::new();
    let x = g.ragged_input_with_row_splits_dtype("x", DType::F64, 1, shape![], DType::I32).unwrap();
    for indices in [[[1i64 << 32, 0]], [[0, 1 << 32]]] {
        let indices = g.constant(indices).unwrap();
        let exe = g.compile(x.gather_nd(indices).unwrap()).unwrap();
        let rows = of_rows(&vec![vec![1.0], vec![2.0, 3.0]]);
        let refused = exe.feed("x", &rows).run().unwrap_err();
        assert!(refused.message().contains("got 4294967296"), "{refused}");
    }
}

#[test]
fn mistakes_are_refused_with_advice() {
    let g = Graph::new();
    let x = g.ragged_constant(&ragged![[1, 2, 3], [4]]).unwrap();
    let refused = |result: shapeflow::Result<AnyValue<'_>>, message: &str, help: &str| {
        let error = result.unwrap_err();
        assert!(error.message().contains(message), "{error}");
        assert!(error.to_string().contains(help), "{error}");
    };
    refused(
        x.slice_with(&[SliceItem::All, SliceItem::at(0)]),
        "a position along axis 1 must be a range, because the axis is ragged, got 0",
        "use SliceItem::span(i, i + 1)",
    );
    refused(
        x.pad(&[[0, 0], [1, 1]]).map(AnyValue::from),
        "the partitioned axes of a ragged value cannot",
        "concat",
    );
    refused(
        x.slice(&[0, 0], &[1, 1]).map(AnyValue::from),
        "a ragged value has no slice of one size",
        "slice_with",
    );
    refused(x.unique().map(|[x, _]| x.into()), "the rows of a ragged value", "flat_values().unique()");
    refused(x.split_n(2, 1).map(|parts| parts[0].into()), "a ragged axis cannot be split", "slice_with");
    refused(x.squeeze([0]), "a squeezed axis must have size 1, got 2 at axis 0", "");
    refused(x.merge_dims(1, 0), "the outer axis must not be after the inner axis, got 1 and 0", "");
    refused(x.top_k(-1, 1).map(|[x, _]| x.into()), "k must not be negative, got -1", "");
    // The inner axes of the flat values are dense.
    let pairs = RaggedValue::from_tensor(g.constant([[[1, 2, 3], [4, 5, 6]]]).unwrap(), 1).unwrap();
    let pairs = pairs.expand_dims(3).unwrap();
    let moved = pairs.transpose([0, 1, 3, 2]).unwrap().pad(&[[0, 0], [0, 0], [0, 0], [0, 1]]).unwrap();
    let got = g.compile(moved).unwrap().run_named(&[]).unwrap().ragged_at(0).unwrap();
    assert_eq!(got.to_string(), "[[[[1, 2, 3, 0]], [[4, 5, 6, 0]]]]");
}

#[test]
fn dims_are_numbers_of_each_run() {
    let g = Graph::new();
    let n = g.input("x", DType::F64, shape!["n"]).unwrap().dim(0).unwrap();
    let exe = g.compile(g.range(&n, n.clone() + 1, 1i64).unwrap()).unwrap();
    for count in [0usize, 1, 5] {
        let [number] = exe.run(&[Tensor::zeros(DType::F64, &[count]).unwrap().view()]).unwrap();
        assert_eq!(number.to_vec::<i64>().unwrap(), [count as i64]);
    }
    let g = Graph::new();
    let dense = input(&g, "x", 1).to_tensor().unwrap();
    let width = dense.dim(1).unwrap();
    // The width is in no shape of the range.
    let number = g.range(&width, width.clone() + 1, 1i64).unwrap();
    let exe = g.compile(number).unwrap();
    for count in [0, 1, 5] {
        let rows = of_rows(&vec![vec![1.0; count]]);
        assert_eq!(run(&exe, &[("x", &rows)]).unwrap()[0].to_string(), format!("[{count}]"));
    }
}

#[test]
fn encodings_convert_in_the_graph() {
    check(
        |x| {
            let [indices, values, shape] = x.to_sparse()?;
            Ok(RaggedValue::from_sparse(indices, values, shape)?.into())
        },
        text,
    );
    check(|x| Ok(RaggedValue::from_tensor_lengths(x.to_tensor()?, x.row_lengths()?)?.into()), text);
    check(|x| Ok(RaggedValue::from_tensor_padding(x.to_tensor_with(-99.0, -1)?, -99.0)?.into()), text);
    check(
        |x| {
            Ok(x.with_row_splits_dtype(DType::I32)?
                .reverse(1)?
                .with_row_splits_dtype(DType::I64)?
                .reverse(1)?
                .into())
        },
        text,
    );
    check(
        |x| {
            let nrows = x.nrows().into_param();
            Ok(RaggedValue::from_nested_value_rowids(x.flat_values(), &x.nested_value_rowids()?, &[nrows])?
                .into())
        },
        text,
    );
    check(
        |x| x.slice_with(&[SliceItem::from(..).step(-2), SliceItem::span(-3, -1).step(1)]),
        |rows| {
            let cut = |row: &Vec<f64>| {
                let end = row.len().saturating_sub(1);
                row[row.len().saturating_sub(3).min(end)..end].to_vec()
            };
            text(&rows.iter().rev().step_by(2).map(cut).collect::<Rows>())
        },
    );
}

#[test]
fn rows_are_reduced_on_several_threads() {
    let mut rng = Rng::new(3);
    // One row holds half of the values, and many rows are empty.
    let lengths: Vec<usize> =
        (0..50_000).map(|row| if row == 777 { 400_000 } else { rng.below(3) * rng.below(17) }).collect();
    let count: usize = lengths.iter().sum();
    let flat: Vec<i64> = (0..count).map(|place| (place * 7919 % 1000) as i64).collect();
    let (mut sums, mut largest, mut begin) = (Vec::new(), Vec::new(), 0);
    for length in &lengths {
        let row = &flat[begin..begin + length];
        sums.push(row.iter().sum::<i64>());
        largest.push(row.iter().copied().max().unwrap_or(i64::MIN));
        begin += length;
    }
    let rows =
        RaggedTensor::from_row_lengths(flat, lengths.iter().map(|length| *length as i64).collect::<Vec<_>>());
    let g = Graph::new();
    let x = g.ragged_input("x", DType::I64, 1, shape![]).unwrap();
    let outputs = [x.reduce_sum(1).unwrap().dense().unwrap(), x.reduce_max(1).unwrap().dense().unwrap()];
    let exe = g.compile_with(&CompileOptions::new().threads(3), outputs).unwrap();
    let got = run(&exe, &[("x", &rows.unwrap())]).unwrap();
    for (got, expected) in got.into_iter().zip([sums, largest]) {
        assert_eq!(got.dense().unwrap().to_vec::<i64>().unwrap(), expected);
    }
}
