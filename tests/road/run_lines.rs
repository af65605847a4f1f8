//! Errors of an op in a run name the line of the run too, and what a user meets beside it: rows of a map that differ,
//! dense results asked for as ragged, and conditions in the names that a program gives.

use shapeflow::{DType, Dim, Graph, Result, Tensor, TensorViewMut, Value, ragged, shape, slice};

/// Returns the lines of this file that the notes about the run name.
fn run_lines<T>(result: Result<T>) -> Vec<u32> {
    let text = result.err().expect("the run fails").to_string();
    let notes = text.lines().filter_map(|line| line.strip_prefix("  in the run at "));
    let line = |place: &str| {
        let place = place.strip_prefix(file!()).expect("the line is in this file").strip_prefix(':').unwrap();
        place.split(':').next().unwrap().parse().unwrap()
    };
    notes.map(line).collect()
}

#[test]
fn each_way_to_run_names_its_line() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n", 3])?;
    let rows = g.input("rows", DType::I64, shape!["k"])?;
    let tail = x.slice([2, 0], [4, -1])?;
    let exe = g.compile([("tail", tail), ("rows", x.gather(rows, 0)?)])?;
    let (short, rows) = (Tensor::zeros(DType::F32, &[5, 3])?, Tensor::from([0i64]));
    let (long, beyond) = (Tensor::zeros(DType::F32, &[6, 3])?, Tensor::from([9i64]));
    let refused = [short.view(), rows.view()];
    assert_eq!(run_lines(exe.run_all(&refused)), [line!()]);
    assert_eq!(run_lines(exe.run::<2>(&refused)), [line!()]);
    assert_eq!(run_lines(exe.run_named(&[("x", short.view()), ("rows", rows.view())])), [line!()]);
    assert_eq!(run_lines(exe.feed("x", &short).feed("rows", &rows).run()), [line!()]);
    assert_eq!(run_lines(exe.run_all(&[long.view(), beyond.view()])), [line!()]);
    let mut runner = exe.runner();
    assert_eq!(run_lines(runner.run(&refused)), [line!()]);
    let (mut a, mut b) = ([0.0f32; 12], [0.0f32; 3]);
    let mut views = [TensorViewMut::new(&[4, 3], &mut a)?, TensorViewMut::new(&[1, 3], &mut b)?];
    assert_eq!(run_lines(runner.run_into(&refused, &mut views)), [line!()]);
    let mut bound = exe.bind(&[long.view(), beyond.view()])?;
    assert_eq!(run_lines(bound.run()), [line!()]);
    assert_eq!(run_lines(exe.bind(&refused)), [line!()]);
    Ok(())
}

#[test]
fn an_error_at_the_line_of_the_run_names_it_once() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n", 3])?;
    let exe = g.compile(x.exp()?)?;
    assert!(run_lines(exe.run_all(&[Tensor::from([1.0f32]).view()])).is_empty());
    assert!(run_lines(exe.run_all(&[])).is_empty());
    let (ids, y) = (g.input("ids", DType::I64, shape!["k"])?, g.constant([1.0f32])?);
    let beyond = Tensor::from([5i64]);
    let refused = g.compile(y.gather(ids, 0)?)?.run_all(&[beyond.view()]);
    assert!(run_lines(refused).is_empty());
    Ok(())
}

#[test]
fn an_error_in_a_loop_names_the_run_around_the_loop() -> Result<()> {
    let g = Graph::new();
    let table = g.constant([1.0f32, 2.0])?;
    let ids = g.input("ids", DType::I64, shape!["n"])?;
    let sums = g.map(&[ids], |id| table.gather(id[0], 0))?;
    let exe = g.compile(&sums)?;
    let ids = Tensor::from([0i64, 5]);
    let error = exe.run_all(&[ids.view()]).unwrap_err();
    assert!(error.to_string().contains("in iteration 1"), "{error}");
    assert_eq!(run_lines(exe.run_all(&[ids.view()])), [line!()]);
    Ok(())
}

fn one_more<'g>(i: Value<'g>) -> Result<Value<'g>> {
    i.add(1i64)
}

#[test]
fn an_error_in_a_body_explains_sizes_that_a_call_has_fixed() -> Result<()> {
    let g = Graph::new();
    let (x, y) = (g.input("x", DType::F32, shape!["n"])?, g.input("y", DType::F32, shape!["m", "n"])?);
    let _ = x.ensure_shape([2])?;
    let start = g.constant(0i64)?;
    let three = g.constant([1.0f32, 2.0, 3.0])?;
    let errors = [
        g.while_loop(&[start, x], |s| s[0].less(3i64), |s| Ok([one_more(s[0])?, s[1].add(three)?])).err(),
        g.while_loop(&[start], |s| s[0].less(3i64), |s| Ok([one_more(s[0])?, x.add(three)?])).err(),
        g.map(&[y], |row| row[0].add(three)).err(),
        g.cond(start.equal(0i64)?, || Ok([x.add(three)?]), || Ok([three])).err(),
    ];
    for (number, error) in errors.into_iter().enumerate() {
        let text = error.expect("the body is refused").to_string();
        assert!(text.contains("n is 2 since ensure_shape"), "{number}: {text}");
    }
    let z = g.input("z", DType::F32, shape!["k"])?;
    let inside = g.while_loop(
        &[start, z],
        |s| s[0].less(3i64),
        |s| {
            let _ = s[1].ensure_shape([2])?;
            Ok([one_more(s[0])?, s[1].add(three)?])
        },
    );
    let text = inside.expect_err("the body is refused").to_string();
    assert!(text.contains("k is 2 since body/ensure_shape"), "{text}");
    Ok(())
}

#[test]
fn rows_of_a_map_that_differ_are_explained() -> Result<()> {
    let g = Graph::new();
    let rows = g.ragged_input("rows", DType::F32, 1, shape![4])?;
    let (_, sums) =
        g.scan(&[g.constant(0.0f32)?], &[g.input("counts", DType::I64, shape!["n"])?], |s, count| {
            let next = (s[0] + 1.0).ok()?;
            Ok((vec![next], vec![g.range(0i64, count[0], 1i64)?]))
        })?;
    let mapped = rows.map(|row| (row.dense()? * 2.0).ok())?;
    let exe = g.compile((("mapped", mapped), ("sums", sums[0])))?;
    let run = |rows: &[usize], counts: &[i64]| {
        let values = Tensor::zeros(DType::F32, &[rows.iter().sum(), 4])?;
        let lengths: Vec<i64> = rows.iter().map(|rows| *rows as i64).collect();
        let rows = shapeflow::RaggedTensor::from_row_lengths(values, lengths)?;
        exe.feed("rows", &rows).feed("counts", &Tensor::from(counts.to_vec())).run()
    };
    assert_eq!(run(&[2, 2], &[3, 3, 3])?.tensor("mapped")?.sizes(), [2, 2, 4]);
    let error = run(&[2, 1], &[3, 3]).unwrap_err();
    assert!(error.message().ends_with("all rows must have the same sizes, got [2, 4] and [1, 4]"), "{error}");
    assert!(error.to_string().contains("in iteration 1"), "{error}");
    let error = run(&[2], &[3, 3, 2]).unwrap_err();
    assert!(error.message().ends_with("all rows must have the same sizes, got [3] and [2]"), "{error}");
    Ok(())
}

#[test]
fn a_dense_result_asked_for_as_ragged_is_named() -> Result<()> {
    let g = Graph::new();
    let rows = g.ragged_constant(&ragged![[1, 2], [3]])?;
    let exe = g.compile((("rows", rows), ("sums", rows.reduce_sum(1)?)))?;
    let error = exe.run_named(&[])?.ragged("sums").unwrap_err();
    assert_eq!(error.message(), "output \"sums\" must be ragged, got a dense tensor i32[2]");
    assert_eq!(error.help(), Some("sums is dense: use `results.tensor(\"sums\")`"));
    Ok(())
}

#[test]
fn conditions_have_the_names_that_as_dim_gives() -> Result<()> {
    let g = Graph::new();
    let image = g.input("image", DType::U8, shape!["height", "width", 3])?;
    let crop = g.input("crop", DType::I32, shape![2])?;
    let dim = |i: i32, name: &str| crop.slice_with(&slice![i])?.as_dim(name);
    let (top, rows) = (dim(0, "top")?, dim(1, "rows")?);
    let window = image.slice([&top, &0.into(), &0.into()], [&rows, &(-1).into(), &3usize.into()])?;
    assert_eq!(window.shape().to_string(), "[rows, width, 3]");
    let conditions: Vec<String> = g.guards().into_iter().map(|guard| guard.condition).collect();
    assert_eq!(conditions, ["top >= 0", "rows >= 0", "height >= rows+top"]);
    assert!(g.to_string().contains("guard top >= 0"), "{g}");
    // The name that `as_dim` gives to a fresh symbol explains nothing.
    let error = window.resize_bilinear([4, 4], shapeflow::Sampling::HalfPixel).unwrap_err();
    assert!(!error.to_string().contains("since as_dim"), "{error}");
    assert_eq!(Dim::from(7i32), Dim::from(7usize));
    Ok(())
}

#[test]
fn a_size_that_is_a_dimension_may_be_minus_one_in_a_run() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::I32, shape!["n"])?;
    let n = x.dim(0)?;
    let tail = x.slice([1], [&n - 2])?;
    let exact = tail.ensure_shape([&n - 2])?;
    assert_eq!(exact.shape().to_string(), "[n-2]");
    let (any, exact) = (g.compile(tail)?, g.compile(exact)?);
    let run = |exe: &shapeflow::Executable, x: &[i32]| exe.run_all(&[Tensor::from(x.to_vec()).view()]);
    assert_eq!(run(&any, &[5, 6, 7, 8])?[0], Tensor::from([6, 7]));
    assert_eq!(run(&any, &[5])?[0].sizes(), [0], "a size of -1 extends to the end");
    assert_eq!(run(&exact, &[5, 6, 7, 8])?[0], Tensor::from([6, 7]));
    let text = run(&any, &[]).unwrap_err().to_string();
    assert!(text.contains("size must be at least -1, got -2"), "{text}");
    assert!(text.contains("n is 0 at axis 0 of input \"x\""), "{text}");
    let text = run(&exact, &[5]).unwrap_err().to_string();
    assert!(text.contains("ensure_shape(i32["), "{text}");
    Ok(())
}

#[test]
fn notes_about_equal_names_follow_errors_about_sizes_only() -> Result<()> {
    let g = Graph::new();
    let (x, y) = (g.input("x", DType::F32, shape!["n"])?, g.input("y", DType::F32, shape!["m"])?);
    let both = shapeflow::stack(&[x, y], 0)?;
    let exe = g.compile(both)?;
    let (two, three, double) =
        (Tensor::from([1.0f32; 2]), Tensor::from([1.0f32; 3]), Tensor::from([1.0f64; 2]));
    let text = |a: &Tensor, b: &Tensor| exe.run_all(&[a.view(), b.view()]).unwrap_err().to_string();
    assert!(text(&two, &three).contains("since stack"), "{}", text(&two, &three));
    assert!(!text(&double, &two).contains("since stack"), "{}", text(&double, &two));
    Ok(())
}

#[test]
fn the_cast_that_keeps_the_elements_is_advised_first() -> Result<()> {
    let g = Graph::new();
    let (image, mean) = (g.input("image", DType::U8, shape!["n"])?, g.constant([0.5f32])?);
    let help = |error: shapeflow::Error| error.help().unwrap_or_default().to_string();
    assert_eq!(
        help((image - mean).ok().unwrap_err()),
        "cast operand 0 with .cast(DType::F32), or operand 1 with .cast(DType::U8)"
    );
    assert!(help((mean - image).ok().unwrap_err()).starts_with("cast operand 1 with .cast(DType::F32)"));
    Ok(())
}
