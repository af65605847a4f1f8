//! Feeds and outputs by name, dense and ragged together; inputs of bound runs.

use shapeflow::{
    AnyValue, DType, ErrorKind, Graph, IntoDim, RaggedTensor, Result, Tensor, Unknown, ragged, shape,
};

#[test]
fn one_feed_serves_a_ragged_input() -> Result<()> {
    let g = Graph::new();
    let sessions = g.ragged_input("sessions", DType::F32, ["users", "sessions"], shape![2])?;
    let bias = g.input("bias", DType::F32, shape!["users", 2])?;
    let sums = (sessions.reduce_sum([1, 2])?.dense()? + bias).ok()?;
    assert_eq!(sums.shape().to_string(), "[users, 2]");
    assert_eq!(sessions.shape_text(), "[users, (r0), (r1), 2]");
    let exe = g.compile((("sums", sums), ("lengths", sessions.row_lengths()?)))?;
    let flat = Tensor::from([[1.0f32, 2.0], [3.0, 4.0], [5.0, 6.0]]);
    let rows = RaggedTensor::from_nested_row_splits(
        flat,
        &[Tensor::from([0i64, 1, 2]), Tensor::from([0i64, 2, 3])],
    )?;
    let bias = Tensor::from([[0.5f32, 0.5], [0.0, 0.0]]);
    let results = exe.feed("sessions", &rows).feed("bias", &bias).run()?;
    assert_eq!(results.tensor("sums")?, &Tensor::from([[4.5f32, 6.5], [5.0, 6.0]]));
    assert_eq!(results.tensor("lengths")?, &Tensor::from([1i64, 1]));
    // i32 row splits are converted.
    let narrow = rows.with_row_splits_dtype(DType::I32)?;
    let again = exe.feed("bias", bias.view()).feed("sessions", &narrow).run()?;
    assert_eq!(again.tensor("sums")?, results.tensor("sums")?);
    // The number of rows is the number of rows of the other input.
    let line = line!() + 1;
    let error = exe.feed("sessions", &rows).feed("bias", &Tensor::from([[0.5f32, 0.5]])).run().unwrap_err();
    assert!(error.to_string().contains("users"), "{error}");
    assert_eq!(error.location().map(|location| location.line()), Some(line), "{error}");
    Ok(())
}

#[test]
fn rows_are_numbers_names_or_dimensions() -> Result<()> {
    let g = Graph::new();
    let text = |name: &str, rows: shapeflow::RaggedValue<'_>| (name.to_string(), rows.shape_text());
    let n = Unknown.into_dim();
    let shapes = [
        text("one", g.ragged_input("one", DType::F32, 1, shape![])?),
        text("two", g.ragged_input("two", DType::F32, 2, shape![3])?),
        text("name", g.ragged_input("name", DType::F32, "b", shape![])?),
        text("names", g.ragged_input("names", DType::F32, ["b", "c"], shape![])?),
        text("shape", g.ragged_input("shape", DType::F32, shape![4, "c"], shape![])?),
        text("dim", g.ragged_input("dim", DType::F32, &n, shape![])?),
    ];
    let shapes: Vec<&str> = shapes.iter().map(|(_, shape)| shape.as_str()).collect();
    assert_eq!(
        shapes,
        ["[?, (r0)]", "[?, (r0), (r1), 3]", "[b, (r0)]", "[b, (r0), (r1)]", "[4, (r0), (r1)]", "[?, (r0)]"]
    );
    assert!(g.ragged_input("none", DType::F32, 0, shape![]).is_err());
    // Debug output has no numbers of symbols.
    let rows = g.ragged_input("debug", DType::F32, 1, shape![?])?;
    for text in [format!("{:?} {:?}", rows, rows.shape()), format!("{:#?}", rows.partition().nrows())] {
        assert!(!text.contains("free") && !text.contains("?1"), "{text}");
    }
    Ok(())
}

#[test]
fn feeds_that_do_not_fit_their_input_are_refused() -> Result<()> {
    let g = Graph::new();
    let history = g.ragged_input("history", DType::F32, 1, shape![])?;
    let scale = g.input("scale", DType::F32, shape![])?;
    let exe = g.compile([("sums", (history.reduce_sum(1)?.dense()? * scale).ok()?)])?;
    let (rows, scale) = (ragged![[1.0f32], [2.0]], Tensor::scalar(2.0f32));
    let deep = ragged![[[1.0f32]], []];
    let cases = [
        (exe.feed("scale", &rows), "input \"scale\" must be fed a dense tensor, got a ragged tensor [2, ?]"),
        (exe.feed("history", &deep), "input \"history\" has 1 ragged axis, got a ragged tensor with 2"),
        (exe.feed("other", &rows), "\"other\" is not an input; the inputs are history, scale"),
        (exe.feed("history", &rows).feed("history", &rows), "must be fed once, but is fed several times"),
        (exe.feed("history", &rows), "input \"scale\" f32[] must be fed"),
    ];
    for (feeds, message) in cases {
        let line = line!() + 1;
        let error = feeds.run().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Feed, "{error}");
        assert!(error.message().contains(message), "{error}");
        assert_eq!(error.location().map(|location| location.line()), Some(line), "{error}");
    }
    let error = exe.feed("history", &scale).feed("scale", &scale).run().unwrap_err();
    assert!(error.help().is_some_and(|help| help.contains("feed(\"history\", &rows)")), "{error}");
    Ok(())
}

#[test]
fn outputs_may_be_dense_and_ragged() -> Result<()> {
    let g = Graph::new();
    let rows = g.ragged_constant(&ragged![[1, 2], [], [3]])?;
    let sums = rows.reduce_sum(1)?.dense()?;
    let check = |exe: shapeflow::Executable| -> Result<()> {
        let results = exe.run_named(&[])?;
        assert_eq!(results.ragged("rows")?.to_string(), "[[1, 2], [], [3]]");
        assert_eq!(results.tensor("sums")?.to_vec::<i32>()?, [3, 0, 3]);
        Ok(())
    };
    check(g.compile((("rows", rows), ("sums", sums)))?)?;
    let named = [("rows", AnyValue::from(rows)), ("sums", sums.into())];
    check(g.compile(&named[..])?)?;
    check(g.compile([("rows", AnyValue::from(rows)), ("sums", sums.into())])?)?;
    check(g.compile(vec![("rows", AnyValue::from(rows)), ("sums", sums.into())])?)?;
    let exe = g.compile((("sums", sums), ("rows", rows), ("flat", rows.flat_values())))?;
    let names: Vec<&str> = exe.outputs().iter().map(|port| port.name.as_str()).collect();
    assert_eq!(names, ["sums", "rows/flat_values", "rows/row_splits/0", "flat"]);
    assert_eq!(g.compile(("only", rows))?.outputs().len(), 2);
    let dense = [("a", sums), ("b", rows.flat_values())];
    assert_eq!(g.compile(&dense[..])?.outputs()[1].name, "b");
    Ok(())
}

#[test]
fn errors_of_a_bound_run_name_the_port_and_the_line() -> Result<()> {
    let g = Graph::new();
    let (x, words) = (g.input("x", DType::F32, shape!["n"])?, g.input("words", DType::String, shape!["n"])?);
    for outputs in [vec![("y", x * 2.0)], vec![("y", x * 2.0), ("upper", words.string_upper()?)]] {
        let exe = g.compile(&outputs[..])?;
        let mut bound = exe.bind_sizes(&[&[2], &[2]])?;
        let good = Tensor::from([1.0f32, 2.0]);
        let check = |error: shapeflow::Error, line: u32, part: &str| {
            assert!(error.message().contains(part), "{error}");
            let location = error.location().expect("the error has a line");
            // The call may begin above the line of `line!()`.
            assert!(location.file() == file!() && (line - 2..=line).contains(&location.line()), "{error}");
        };
        check(bound.output("y").unwrap_err(), line!(), "output \"y\" can be read after a successful run");
        check(bound.output("z").unwrap_err(), line!(), "\"z\" is not an output; the outputs are y");
        check(bound.input_mut("z").unwrap_err(), line!(), "\"z\" is not an input; the inputs are x, words");
        check(
            bound.set_input("x", &Tensor::from([1.0f64, 2.0])).unwrap_err(),
            line!(),
            "input \"x\" must be f32[2]",
        );
        check(bound.set_input("x", &Tensor::from([1.0f32])).unwrap_err(), line!(), "got f32[1]");
        check(bound.input_mut("x")?.as_mut_slice::<i32>().unwrap_err(), line!(), "f32");
        bound.set_input(0, &good)?;
        bound.run()?;
        assert_eq!(bound.output("y")?.to_vec::<f32>()?, [2.0, 4.0]);
        check(bound.output("y")?.as_slice::<i32>().unwrap_err(), line!(), "f32");
        bound.feed_back("y", "x")?;
        bound.run()?;
        assert_eq!(bound.output("y")?.to_vec::<f32>()?, [4.0, 8.0]);
        if outputs.len() == 2 {
            bound.set_input("words", &Tensor::from(["a", "b"]))?;
            bound.run()?;
            assert_eq!(bound.output("upper")?.to_tensor()?, Tensor::from(["A", "B"]));
            let error = bound.feed_back("upper", "x").unwrap_err();
            assert!(error.to_string().contains("output \"upper\" is fed back to input \"x\""), "{error}");
            check(error, line!() - 2, "dtype f32");
        }
    }
    Ok(())
}

#[test]
fn a_name_of_two_outputs_finds_neither() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape![2])?;
    let exe = g.compile([x.exp()?.named("u"), (x * 2.0).ok()?.named("u"), x.neg()?.named("v")])?;
    let x = Tensor::from([1.0f32, 2.0]);
    let results = exe.run_named(&[("x", x.view())])?;
    let error = results.tensor("u").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Attribute);
    assert_eq!(error.message(), "the name of the output must be unique, got \"u\" for outputs 0 and 1");
    assert_eq!(results.ragged("u").unwrap_err().message(), error.message());
    assert_eq!(results.tensor_at(1)?, Tensor::from([2.0f32, 4.0]));
    assert_eq!(results.tensor("v")?, &Tensor::from([-1.0f32, -2.0]));
    let mut bound = exe.bind(&[x.view()])?;
    bound.run()?;
    assert_eq!(bound.output("u").unwrap_err().message(), error.message());
    assert_eq!(bound.output(1)?.to_tensor()?, Tensor::from([2.0f32, 4.0]));
    assert_eq!(bound.output("v")?.to_tensor()?, Tensor::from([-1.0f32, -2.0]));
    Ok(())
}

#[test]
fn an_error_has_the_name_of_the_input_at_fault() -> Result<()> {
    let g = Graph::new();
    let [ids, mask] = [g.input("ids", DType::I64, shape!["n"])?, g.input("mask", DType::I64, shape!["n"])?];
    let rows = g.ragged_input("rows", DType::I64, 1, shape![])?;
    let exe = g.compile([(ids * mask).ok()?, rows.flat_values()])?;
    let (two, three) = (Tensor::from([1i64, 2]), Tensor::from([1i64, 2, 3]));
    let floats = Tensor::from([1.0f32, 2.0]);
    let (ragged, ragged_floats) = (ragged![[1i64], []], ragged![[1.0f32], []]);
    let feeds = || exe.feed("ids", two.view());
    let errors = [
        (feeds().feed("rows", &ragged).run(), "mask"),
        (feeds().feed("mask", three.view()).feed("rows", &ragged).run(), "mask"),
        (feeds().feed("mask", floats.view()).feed("rows", &ragged).run(), "mask"),
        (feeds().feed("mask", two.view()).feed("ids", two.view()).feed("rows", &ragged).run(), "ids"),
        (feeds().feed("musk", two.view()).run(), "musk"),
        (feeds().feed("mask", two.view()).feed("rows", &ragged_floats).run(), "rows"),
        (feeds().feed("mask", &ragged).run(), "mask"),
    ];
    for (result, name) in errors {
        let error = result.unwrap_err();
        assert_eq!((error.input(), error.kind()), (Some(name), ErrorKind::Feed), "{error}");
    }
    assert_eq!(exe.run_all(&[two.view()]).unwrap_err().input(), None);
    Ok(())
}
