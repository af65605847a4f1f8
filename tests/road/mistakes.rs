//! Error messages of programs that feed ragged inputs wrongly, cast strings, or pass weights of another dtype.

use shapeflow::{
    AnyValue, DType, ErrorKind, Graph, RaggedTensor, RaggedValue, Result, Tensor, TensorView, ragged, shape,
};

fn feeds(parts: &[(String, Tensor)]) -> Vec<(&str, TensorView<'_>)> {
    parts.iter().map(|(name, part)| (name.as_str(), part.view())).collect()
}

#[test]
fn bad_row_splits_name_their_input_and_its_line() -> Result<()> {
    let g = Graph::new();
    let line = line!() + 1;
    let history = g.ragged_input("history", DType::F32, 1, shape![])?;
    let exe = g.compile([("sums", history.reduce_sum(1)?)])?;
    let mut parts = RaggedTensor::from_nested(vec![vec![1.0f32, 2.0], vec![3.0]])?.feeds("history");
    assert_eq!(exe.run_named(&feeds(&parts))?.tensor("sums")?.to_vec::<f32>()?, [3.0, 3.0]);
    parts[1].1 = Tensor::from([0i64, 2, 1]);
    let error = exe.run_named(&feeds(&parts)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Guard);
    let location = error.location().expect("the error has a line");
    assert_eq!((location.file(), location.line()), (file!(), line), "{error}");
    assert!(error.to_string().contains("operand 0 comes from history/row_splits/0"), "{error}");

    let g = Graph::new();
    let (x, splits) = (g.input("x", DType::F32, shape![?])?, g.input("splits", DType::I64, shape![?])?);
    let line = line!() + 1;
    let rows = RaggedValue::from_row_splits(x, splits)?;
    let exe = g.compile([("sums", rows.reduce_sum(1)?)])?;
    let (x, splits) = (Tensor::from([1.0f32]), Tensor::from([0i64, 2]));
    let error = exe.run_named(&[("x", x.view()), ("splits", splits.view())]).unwrap_err();
    assert_eq!(error.location().map(|at| (at.file(), at.line())), Some((file!(), line)), "{error}");
    assert!(error.to_string().contains("operand 0 comes from splits at "), "{error}");
    Ok(())
}

#[test]
fn parts_of_ragged_ops_have_the_line_of_the_caller() -> Result<()> {
    let g = Graph::new();
    let a = g.ragged_input("a", DType::F32, 2, shape![])?;
    let outer = a.reduce_sum([0, 1])?;
    let mean = a.reduce_mean(2)?;
    let softmax = a.softmax(1)?.to_tensor()?;
    let reversed = RaggedValue::concat(&[a.reverse(2)?, a], 2)?;
    for value in [outer, mean, AnyValue::from(softmax), reversed.into(), a.expand_dims(1)?.into()] {
        let text = value.flat_values().explain()?.to_string();
        assert!(!text.contains("src/ops/"), "{text}");
    }
    let text = g.to_string();
    let mut nodes = text.lines().filter(|line| line.contains(" = "));
    assert!(nodes.all(|line| line.contains(file!())), "{text}");
    Ok(())
}

#[test]
fn a_ragged_feed_that_does_not_fit_is_named_as_the_program_names_it() -> Result<()> {
    let g = Graph::new();
    let r = g.ragged_input("r", DType::F32, "rows", shape![2])?;
    let w = g.input("w", DType::F32, shape!["width"])?;
    let s = g.ragged_input("s", DType::F32, 1, shape!["width"])?;
    let exe = g.compile([("sums", r.reduce_sum(1)?), ("s", (s * w).ok()?.reduce_sum(1)?)])?;
    let weights = Tensor::from([1.0f32, 2.0, 3.0]);
    let rows = RaggedTensor::from_row_splits(Tensor::from([[1.0f32, 2.0]]), [0i64, 1, 1])?;
    let wide = RaggedTensor::from_row_splits(Tensor::from([[1.0f32, 2.0, 3.0]]), [0i64, 1])?;
    let line = line!() + 1;
    let run = |r: &RaggedTensor, s: &RaggedTensor| exe.feed("r", r).feed("s", s).feed("w", &weights).run();
    assert_eq!(run(&rows, &wide)?.tensor("sums")?, &Tensor::from([[1.0f32, 2.0], [0.0, 0.0]]));
    let refused = |r: &RaggedTensor, s: &RaggedTensor, expected: &str| {
        let error = run(r, s).unwrap_err();
        assert_eq!((error.kind(), error.message()), (ErrorKind::Feed, expected));
        assert_eq!(error.location().map(|at| at.line()), Some(line), "{error}");
    };
    let scalars = ragged![[1.0f32]];
    refused(&scalars, &wide, "ragged input \"r\" must be f32[rows, ?, 2], got f32[1, ?]: the rank must be 3");
    refused(&wide, &wide, "ragged input \"r\" must be f32[rows, ?, 2], got f32[1, ?, 3]: axis 2 must be 2");
    let why = "axis 2 is width, which is 3 at axis 0 of input \"w\"";
    let declared = "ragged input \"s\" must be f32[s.rows, ?, width]";
    refused(&rows, &rows, &format!("{declared}, got f32[2, ?, 2]: {why}"));
    // A part that is fed by its name has this name.
    let mut parts = scalars.feeds("r");
    parts.extend(wide.feeds("s"));
    parts.push(("w".to_string(), weights.clone()));
    let error = exe.run_named(&feeds(&parts)).unwrap_err();
    assert_eq!(
        error.message(),
        "input \"r/flat_values\" must be f32[r.values, 2], got f32[1]: the rank must be 2"
    );
    Ok(())
}

#[test]
fn an_error_of_a_map_over_ragged_rows_has_the_call_of_the_program() -> Result<()> {
    let g = Graph::new();
    let r = g.ragged_input("r", DType::F32, "users", shape![])?;
    let line = line!() + 1;
    let doubled = r.map(|row| Ok(row.dense()? * 2.0))?;
    let exe = g.compile([("doubled", doubled)])?;
    let error = exe.feed("r", &ragged![[1.0f32], [2.0, 3.0]]).run().unwrap_err();
    assert_eq!(error.message(), "map(f32[users, (r0)]): all rows must have the same sizes, got [1] and [2]");
    assert_eq!(error.location().map(|at| at.line()), Some(line), "{error}");
    let line = line!() + 1;
    let error = r.map(|row| row.dense()?.reshape([2, 3, -1])?.matmul(row.dense()?)).unwrap_err();
    assert!(error.message().starts_with("matmul("), "{error}");
    assert_eq!(error.location().map(|at| at.line()), Some(line), "{error}");
    let error = r.map_rows(|row| row.dense()?.reduce_sum(0)).unwrap_err();
    let problem = "map_rows: a row must have a known rank and at least one axis, got []";
    assert_eq!(error.message(), problem);
    assert!(error.to_string().contains("the row comes from body/reduce_sum at "), "{error}");

    let (v, lengths) = (g.input("v", DType::F32, shape!["n"])?, g.input("lengths", DType::I64, shape!["k"])?);
    let rows = RaggedValue::from_row_lengths(v, lengths)?;
    let exe = g.compile([("sums", rows.reduce_sum(1)?)])?;
    let (v, lengths) = (Tensor::from([1.0f32, 2.0]), Tensor::from([1i64, 2]));
    let error = exe.feed("v", &v).feed("lengths", &lengths).run().unwrap_err();
    let problem = "from_row_lengths: the sum of row_lengths must be the number of values, 2, got 3";
    assert_eq!(error.message(), problem);
    assert!(!error.to_string().contains("concat"), "{error}");
    Ok(())
}

#[test]
fn a_ragged_input_fed_as_one_tensor_gets_help() -> Result<()> {
    let g = Graph::new();
    let history = g.ragged_input("history", DType::F32, 1, shape![])?;
    let exe = g.compile([("sums", history.reduce_sum(1)?)])?;
    let flat = Tensor::from([1.0f32]);
    for name in ["history", "history/flat_values"] {
        let error = exe.run_named(&[(name, flat.view())]).unwrap_err();
        assert_eq!(
            error.help(),
            Some("history is ragged: feed a `RaggedTensor` with `feed(\"history\", &rows)`"),
            "{error}"
        );
    }
    let help = |name: &str| exe.run_named(&[(name, flat.view())]).unwrap_err().help().map(str::to_string);
    assert_eq!((help("story").as_deref(), help("other")), (Some("is it \"history\"?"), None));
    Ok(())
}

#[test]
fn a_name_of_a_dimension_must_not_be_a_number() -> Result<()> {
    let g = Graph::new();
    let history = g.ragged_input("history", DType::F32, 2, shape![?])?;
    let sums = history.reduce_sum(2)?;
    let exe = g.compile([("sums", sums)])?;
    let names = exe.dim_names();
    let shapes = exe.inputs().iter().map(|port| names.shape(&port.shape)).collect::<Vec<_>>().join(" ");
    assert_eq!(shapes, "[history.values, history.values.1] [history.rows+1] [history.rows.1+1]");
    for text in [g.to_string(), shapes] {
        assert!(!text.contains("[0+1]") && !text.contains("[0]"), "{text}");
    }
    Ok(())
}

#[test]
fn strings_get_no_help_to_cast() -> Result<()> {
    let g = Graph::new();
    let text = g.input("text", DType::String, shape!["n"])?;
    let count = g.input("count", DType::I32, shape!["n"])?;
    for error in [text.string_add(count), count.add(text), text.add(count), text.mul(1.0)] {
        let error = error.unwrap_err();
        let help = error.help().unwrap_or_default();
        assert!(!help.contains(".cast(") && help.contains("string_to_number"), "{error}");
    }
    for error in [text.string_add(count), count.add(text)] {
        let error = error.unwrap_err();
        assert!(error.help().is_some_and(|help| help.contains("as_string")), "{error}");
    }
    assert!(text.relu().unwrap_err().help().is_some_and(|help| help.contains("string_to_number")));
    Ok(())
}

#[test]
fn a_weight_of_another_dtype_gets_help_that_compiles() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n", 2])?;
    let weight = Tensor::from([[1.0f64], [2.0]]);
    let error = x.matmul(&weight).unwrap_err();
    let help =
        "pass operand 1 as g.constant(tensor)?.cast(DType::F32)?, or cast operand 0 with .cast(DType::F64)";
    assert_eq!(error.help(), Some(help), "{error}");
    let _ = x.matmul(g.constant(&weight)?.cast(DType::F32)?)?;
    // For an operand that is a value, the help proposes its cast.
    let constant = g.constant(&weight)?;
    let error = x.matmul(constant).unwrap_err();
    assert!(error.help().is_some_and(|help| help.starts_with("cast operand 1 with .cast(")), "{error}");
    Ok(())
}

#[test]
fn ensure_shape_accepts_the_forms_of_shapes_that_an_input_accepts() -> Result<()> {
    let g = Graph::new();
    let [x, y] = ["x", "y"].map(|name| g.input(name, DType::F32, shape![?, ?]));
    assert_eq!(y?.ensure_shape([2, 3])?.shape(), shape![2, 3]);
    assert_eq!(x?.ensure_shape(shape!["n", 3])?.shape().to_string(), "[n, 3]");
    Ok(())
}
