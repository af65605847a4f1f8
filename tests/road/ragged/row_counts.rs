//! Ops over several ragged values check that the values have the same number of rows. Encodings that a branch computes
//! are used only in this branch.

use shapeflow::{DType, Graph, RaggedTensor, RaggedValue, Result, Tensor, TensorView, Value, ragged, shape};

/// Makes a ragged input whose rows have no known number, and its value for a run.
fn unknown_rows<'g>(g: &'g Graph, name: &str) -> Result<RaggedValue<'g>> {
    let values = g.input(&format!("{name}_values"), DType::I64, shape![?])?;
    RaggedValue::from_row_splits(values, g.input(&format!("{name}_splits"), DType::I64, shape![?])?)
}

fn run(g: &Graph, output: RaggedValue<'_>, feeds: &[(&str, &RaggedTensor)]) -> Result<String> {
    let parts: Vec<(String, Tensor)> = feeds
        .iter()
        .flat_map(|(name, x)| {
            [
                (format!("{name}_values"), x.flat_values().clone()),
                (format!("{name}_splits"), x.row_splits().clone()),
            ]
        })
        .collect();
    let views: Vec<(&str, TensorView<'_>)> =
        parts.iter().map(|(name, tensor)| (name.as_str(), tensor.view())).collect();
    Ok(g.compile(output)?.run_named(&views)?.ragged_at(0)?.to_string())
}

#[test]
fn values_are_joined_only_if_they_have_equally_many_rows() -> Result<()> {
    let g = Graph::new();
    let [a, b, c] = ["a", "b", "c"].map(|name| unknown_rows(&g, name).unwrap());
    let joined = RaggedValue::concat(&[a, b, c], 1)?;
    let stacked = RaggedValue::stack(&[a, b, c], 1)?;
    let one: RaggedTensor = ragged![[9i64]];
    let two = ragged![[1i64, 2], [3]];
    let three = ragged![[4i64], [], [5, 6]];
    let feeds = [("a", &two), ("b", &two), ("c", &two)];
    assert_eq!(run(&g, joined, &feeds)?, "[[1, 2, 1, 2, 1, 2], [3, 3, 3]]");
    assert_eq!(run(&g, stacked, &feeds)?, "[[[1, 2], [1, 2], [1, 2]], [[3], [3], [3]]]");
    // The numbers of rows are 2, 1 and 3: six rows, as three times two.
    for output in [joined, stacked] {
        let error = run(&g, output, &[("a", &two), ("b", &one), ("c", &three)]).unwrap_err();
        assert!(error.to_string().contains("row_counts.rs"), "{error}");
    }
    Ok(())
}

#[test]
fn rows_are_selected_only_from_values_with_equally_many_rows() -> Result<()> {
    let g = Graph::new();
    let (yes, no) = (unknown_rows(&g, "yes")?, unknown_rows(&g, "no")?);
    let rows = yes.select_rows(g.constant([true, false])?, no)?;
    let (one, two): (RaggedTensor, _) = (ragged![[9i64]], ragged![[1i64, 2], [3]]);
    assert_eq!(run(&g, rows, &[("yes", &two), ("no", &two)])?, "[[1, 2], [3]]");
    assert!(run(&g, rows, &[("yes", &two), ("no", &one)]).is_err());
    assert!(run(&g, rows, &[("yes", &one), ("no", &one)]).is_err());
    Ok(())
}

#[test]
fn encodings_that_a_branch_computes_stay_in_the_branch() -> Result<()> {
    let g = Graph::new();
    let x = unknown_rows(&g, "x")?;
    let flag = g.input("flag", DType::Bool, shape![])?;
    let either = g.cond(flag, || x.value_rowids(), || x.row_lengths())?;
    let (rowids, lengths) = (x.value_rowids()?, x.row_lengths()?);
    let exe = g.compile(&[either[0], rowids, lengths][..])?;
    let x = ragged![[1i64, 2], [], [3]];
    let feeds = [
        ("x_values", x.flat_values().view()),
        ("x_splits", x.row_splits().view()),
        ("flag", TensorView::new(&[], &[false])?),
    ];
    let results = exe.run_named(&feeds)?;
    let ints = |i: usize| results.iter().nth(i).unwrap().1.to_vec::<i64>().unwrap();
    assert_eq!((ints(0), ints(1), ints(2)), (vec![2, 0, 1], vec![0, 0, 2], vec![2, 0, 1]));
    Ok(())
}

#[test]
fn lengths_beyond_the_rows_are_cut() -> Result<()> {
    let dense = Tensor::from([[1, 2], [3, 4], [5, 6]]);
    let cut = RaggedTensor::from_tensor_lengths(&dense, [-3i64, 1, 7])?;
    assert_eq!(cut.to_string(), "[[], [3], [5, 6]]");
    let g = Graph::new();
    let x = RaggedValue::from_tensor_lengths(g.constant(dense)?, g.constant([-3i64, 1, 7])?)?;
    assert_eq!(g.compile(x)?.run_named(&[])?.ragged_at(0)?, cut);
    Ok(())
}

/// The first call finds that there are as many new values as old ones. A graph without this call still checks it.
#[test]
fn an_unneeded_op_does_not_prove_that_there_are_equally_many_values() -> Result<()> {
    let (rows, one) = (ragged![[1i64, 2], [3]], Tensor::from([9i64]));
    let three = Tensor::from([7i64, 8, 9]);
    let feeds = |flat: &Tensor| -> Vec<(&str, Tensor)> {
        vec![
            ("x_values", rows.flat_values().clone()),
            ("x_splits", rows.row_splits().clone()),
            ("flat", flat.clone()),
        ]
    };
    type Op = for<'g> fn(RaggedValue<'g>, Value<'g>) -> Result<RaggedValue<'g>>;
    let ops: [(&str, Op); 4] = [
        ("[[8, 10], [12]]", |x, flat| x.add(x.with_flat_values(flat)?)),
        ("[[7, 8], [9]]", |x, flat| x.with_values(flat)),
        ("[[7, 8], [9]]", |x, flat| x.map_flat_values(|_| Ok(flat))),
        ("[[7, 16], [27]]", |x, flat| x.map_flat_values(|values| (values * flat).ok())),
    ];
    for (expected, op) in ops {
        let g = Graph::new();
        let x = unknown_rows(&g, "x")?;
        let flat = g.input("flat", DType::I64, shape!["m"])?;
        // Nothing needs the matrix.
        let _ = shapeflow::stack(&[x.flat_values(), flat], 0)?;
        let exe = g.compile(op(x, flat)?)?;
        let run = |flat: &Tensor| {
            let feeds = feeds(flat);
            let views: Vec<(&str, TensorView<'_>)> =
                feeds.iter().map(|(name, x)| (*name, x.view())).collect();
            exe.run_named(&views)?.ragged_at(0).map(|rows| rows.to_string())
        };
        assert_eq!(run(&three)?, expected);
        if !expected.contains("16") {
            assert!(run(&one).is_err(), "{expected}: {:?}", run(&one));
        }
    }
    Ok(())
}

/// As above, with ragged values and with a number that an unneeded op found.
#[test]
fn an_unneeded_op_does_not_prove_a_number_of_rows() -> Result<()> {
    for outer in [3, 2] {
        let g = Graph::new();
        let [x, inner] = ["x", "inner"].map(|name| unknown_rows(&g, name).unwrap());
        let _ = shapeflow::stack(&[inner.row_splits(), g.constant([0i64; 4])?], 0)?;
        let _ = shapeflow::stack(&[x.flat_values(), g.constant([0i64; 3])?], 0)?;
        let rows = x.with_values(inner)?;
        let exe = g.compile(rows)?;
        let split = |rows: &RaggedTensor| (rows.flat_values().clone(), rows.row_splits().clone());
        let (x, inner) = (ragged![[0i64], [0, 0]], ragged![[7i64], [8, 9], []]);
        let inner = if outer == 3 { inner } else { ragged![[7i64], [8, 9]] };
        let ((x_values, x_splits), (values, splits)) = (split(&x), split(&inner));
        let names = ["x_values", "x_splits", "inner_values", "inner_splits"];
        let views = [x_values.view(), x_splits.view(), values.view(), splits.view()];
        let feeds: Vec<(&str, TensorView<'_>)> = names.into_iter().zip(views).collect();
        let result = exe.run_named(&feeds).and_then(|results| Ok(results.ragged_at(0)?.to_string()));
        match outer {
            3 => assert_eq!(result?, "[[[7]], [[8, 9], []]]"),
            _ => assert!(result.is_err(), "{result:?}"),
        }
    }
    Ok(())
}
