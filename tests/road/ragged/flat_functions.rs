//! Ops on ragged values that run the dense op on the flat values, against the dense op and loops over nested lists.

use shapeflow::{AnyValue, Axes, DType, Graph, RaggedValue, Result, Tensor, Value, add_n, ragged, shape};

use super::graphs::{Rows, check, deep, input, ragged as of_rows, run, text};

/// Compares a function of ragged values with the same function of their flat values.
#[track_caller]
fn same<'g>(got: Result<RaggedValue<'g>>, flat: Result<Value<'g>>, of: RaggedValue<'g>) {
    let (got, flat) = (got.unwrap(), flat.unwrap());
    let outputs = [got.into(), AnyValue::Dense(flat), AnyValue::Dense(of.row_splits())];
    let exe = got.graph().compile(outputs).unwrap();
    let results = exe.run_named(&[]).unwrap();
    let items: Vec<_> = results.items().unwrap().into_iter().map(|(_, item)| item).collect();
    let [got, flat, splits] = <[_; 3]>::try_from(items).unwrap();
    let got = got.ragged().unwrap();
    assert_eq!(got.flat_values(), &flat.dense().unwrap());
    assert_eq!(got.row_splits(), &splits.dense().unwrap());
}

#[test]
fn functions_run_the_dense_op_on_flat_values() {
    let g = Graph::new();
    let x = g.ragged_constant(&ragged![[0.5, 2.0], [], [3.0]]).unwrap();
    // `y` has other partitions than `x`, so a run compares the partitions.
    let y = g.ragged_constant(&ragged![[0.25, 1.5], [], [4.0]]).unwrap();
    let (a, b) = (x.flat_values(), y.flat_values());
    same(x.gelu(true), a.gelu(true), x);
    same(x.leaky_relu(0.1), a.leaky_relu(0.1), x);
    same(x.check_numerics("finite"), a.check_numerics("finite"), x);
    same(x.bitcast(DType::I64), a.bitcast(DType::I64), x);
    same(x.bitcast(DType::U8), a.bitcast(DType::U8), x);
    same(x.atan2(y), a.atan2(b), x);
    same(x.next_after(y), a.next_after(b), x);
    same(x.approximate_equal(y, 0.5), a.approximate_equal(b, 0.5), x);
    same(x.igamma(y), a.igamma(b), x);
    same(x.igammac(y), a.igammac(b), x);
    same((x + 1.0).zeta(y), (a + 1.0).zeta(b), x);
    same(x.floor().and_then(|x| x.polygamma(y)), a.floor().and_then(|a| a.polygamma(b)), x);
    let third = (x / 8.0).ok().unwrap();
    same(x.betainc(y, third), a.betainc(b, third.flat_values()), x);
    same(x.betainc(y, 0.5), a.betainc(b, 0.5), x);
    same(RaggedValue::add_n(&[x, y, x]), add_n(&[a, b, a]), x);
    let (z, w) = (x.complex(y).unwrap(), a.complex(b).unwrap());
    same(z.real(), w.real(), x);
    same(z.imag(), w.imag(), x);
    same(z.conj().and_then(RaggedValue::imag), w.conj().and_then(Value::imag), x);
    same(z.angle(), w.angle(), x);
    let bits = x.cast(DType::I32).unwrap();
    same(bits.population_count(), bits.flat_values().population_count(), x);
}

#[test]
fn functions_of_pairs_compare_the_partitions() {
    let g = Graph::new();
    let (x, y) = (input(&g, "x", 1), input(&g, "y", 1));
    let outputs: [AnyValue<'_>; 3] = [
        x.atan2(y).unwrap().into(),
        RaggedValue::add_n(&[x, x, y]).unwrap().into(),
        x.betainc(x, y).unwrap().into(),
    ];
    let (a, b) = (of_rows(&vec![vec![1.0], vec![2.0, 3.0]]), of_rows(&vec![vec![1.0, 2.0], vec![3.0]]));
    for output in outputs {
        let exe = g.compile(output).unwrap();
        assert!(run(&exe, &[("x", &a), ("y", &a)]).is_ok());
        let error = run(&exe, &[("x", &a), ("y", &b)]).unwrap_err();
        assert!(error.message().contains("got 1 and 2 at row 0"), "{error}");
    }
    assert!(RaggedValue::add_n(&[]).is_err());
    assert!(RaggedValue::add_n(&[x, input(&g, "deep", 2)]).is_err());
    // There is no inner axis to drop.
    assert!(x.cast(DType::I32).unwrap().bitcast(DType::I64).is_err());
}

#[test]
fn a_dense_value_may_be_the_left_operand() {
    let g = Graph::new();
    let x = g.input("x", DType::F64, shape!["n"]).unwrap();
    let rows = g.ragged_input("rows", DType::F64, "n", shape![]).unwrap();
    let column = x.expand_dims(1).unwrap();
    let one = g.constant(1.0).unwrap();
    let outputs = [column - rows, column / rows, column % rows, column + rows, column * rows, one - rows];
    let exe = g.compile(outputs.map(|y| AnyValue::from(y.ok().unwrap()))).unwrap();
    let (x, rows) = (Tensor::from([7.0, 5.0, 9.0]), of_rows(&vec![vec![2.0, 4.0], vec![], vec![-2.0]]));
    let results = exe.feed("x", &x).feed("rows", &rows).run().unwrap();
    let got: Vec<String> = results.items().unwrap().into_iter().map(|(_, item)| item.to_string()).collect();
    let expected = [
        "[[5.0, 3.0], [], [11.0]]",
        "[[3.5, 1.75], [], [-4.5]]",
        "[[1.0, 3.0], [], [-1.0]]",
        "[[9.0, 11.0], [], [7.0]]",
        "[[14.0, 28.0], [], [-18.0]]",
        "[[-1.0, -3.0], [], [3.0]]",
    ];
    assert_eq!(got, expected);
    let flags = g.ragged_constant(&ragged![[true, false], [true]]).unwrap();
    let left = g.constant([[true], [false]]).unwrap();
    let exe = g.compile((left ^ flags).ok().unwrap()).unwrap();
    assert_eq!(exe.run_named(&[]).unwrap().ragged_at(0).unwrap(), ragged![[false, true], [true]]);
    let wide = g.constant([[1.0, 2.0]]).unwrap();
    let rows = g.ragged_constant(&ragged![[1.0, 2.0], [3.0]]).unwrap();
    // Only a run compares the lengths of the rows with the dense axis.
    assert!((wide - rows).ok().and_then(|y| g.compile(y)?.run_named(&[])).is_err());
}

#[test]
fn log_softmax_runs_on_each_row_separately() {
    check(
        |x| Ok((x.log_softmax(1)? * 1e6).floor()?.into()),
        |rows| {
            let row = |row: &Vec<f64>| {
                let sum = row.iter().map(|x| x.exp()).sum::<f64>().ln();
                row.iter().map(|x| ((x - sum) * 1e6).floor()).collect()
            };
            text(&rows.iter().map(row).collect::<Rows>())
        },
    );
}

#[test]
fn means_and_variances_run_along_several_axes() {
    let g = Graph::new();
    let x = input(&g, "x", 2);
    let outputs = [
        x.reduce_variance([1, 2]).unwrap(),
        x.reduce_variance(..).unwrap(),
        x.reduce_std([0, 2]).unwrap(),
        x.reduce_mean(Axes::of([1, 2]).keep_dims()).unwrap(),
        x.reduce_sum(Axes::of(2).keep_dims()).unwrap(),
        x.reduce_sum(Axes::all().keep_dims()).unwrap(),
        x.reduce_max(Axes::of(0).keep_dims()).unwrap(),
    ];
    let exe = g.compile(outputs).unwrap();
    let rows = vec![vec![vec![1.0, 3.0], vec![], vec![5.0]], vec![vec![2.0], vec![4.0]]];
    let got = run(&exe, &[("x", &deep(&rows))]).unwrap();
    let expected = [
        "[2.6666666666666665, 1.0]",
        "2.0",
        "[0.816496580927726, 0.0, 0.0]",
        "[[[3.0]], [[3.0]]]",
        "[[[4.0], [0.0], [5.0]], [[2.0], [4.0]]]",
        "[[[15.0]]]",
        "[[[2.0, 3.0], [4.0], [5.0]]]",
    ];
    for (got, expected) in got.iter().zip(expected) {
        assert_eq!(got.to_string(), expected);
    }
    let axes = g.input("axes", DType::I64, shape![1]).unwrap();
    assert!(x.reduce_sum(Axes::of(axes)).is_err());
    assert!(x.reduce_sum([1, 1]).is_err());
}

#[test]
fn a_mean_of_integers_is_a_float() {
    let g = Graph::new();
    // The sum of a row does not fit i8.
    let x = g.ragged_constant(&ragged![[127, 127], [1]]).unwrap().cast(DType::I8).unwrap();
    let [small, wide] = [x, x.cast(DType::I64).unwrap()].map(|x| x.reduce_mean(1).unwrap().dense().unwrap());
    let [small, wide] = g.compile([small, wide]).unwrap().run(&[]).unwrap();
    assert_eq!(small, Tensor::from([127.0f32, 1.0]));
    assert_eq!(wide, Tensor::from([127.0f64, 1.0]));
}

#[test]
fn deviations_of_integers_are_floats() {
    let g = Graph::new();
    // The square of 127 does not fit i8.
    let x = g.ragged_constant(&ragged![[127, -127], [1], [5, 5, 8]]).unwrap();
    let [small, wide] = [DType::I8, DType::U64].map(|dtype| x.abs().unwrap().cast(dtype).unwrap());
    let outputs = [small, wide].map(|x| x.reduce_variance(1).unwrap().dense().unwrap());
    let signed = x.cast(DType::I8).unwrap().reduce_std(1).unwrap().dense().unwrap();
    let [small, wide] = g.compile(outputs).unwrap().run(&[]).unwrap();
    assert_eq!(small, Tensor::from([0.0f32, 0.0, 2.0]));
    assert_eq!(wide, Tensor::from([0.0f64, 0.0, 2.0]));
    let [signed] = g.compile(signed).unwrap().run(&[]).unwrap();
    assert_eq!(signed, Tensor::from([127.0f32, 0.0, 2f32.sqrt()]));
    let refused = x.greater(0).unwrap().reduce_variance(1).unwrap_err();
    assert!(refused.message().ends_with(": the elements must be integers or floats, got bool"), "{refused}");
    let complex = x.cast(DType::F32).unwrap().complex(x.cast(DType::F32).unwrap()).unwrap();
    assert!(complex.reduce_variance(1).is_err() && complex.reduce_mean(1).is_ok());
}
