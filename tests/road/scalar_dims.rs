//! Scalars as dimensions: sizes that data decides, on both backends, against naive loops.

use shapeflow::{
    Backend, CompileOptions, DType, Dim, ErrorKind, Executable, Graph, Phase, Result, Tensor, TensorView,
    Value, concat, shape,
};

/// Compiles the values for machine code and for the interpreter.
fn both<'g>(graph: &'g Graph, outputs: &[Value<'g>]) -> Result<[Executable; 2]> {
    let interpreter = CompileOptions::new().backend(Backend::Interpreter);
    Ok([graph.compile(outputs)?, graph.compile_with(&interpreter, outputs)?])
}

fn run(exe: &Executable, feeds: &[&Tensor]) -> Result<Vec<Tensor>> {
    let views: Vec<TensorView<'_>> = feeds.iter().map(|feed| feed.view()).collect();
    Ok(exe.run_all(&views)?.into_iter().collect())
}

fn numbers(sizes: &[usize]) -> Result<Tensor> {
    Tensor::from_vec(sizes, (0..sizes.iter().product::<usize>()).map(|number| number as f32).collect())
}

fn integer(dtype: DType, value: i64) -> Result<Tensor> {
    let g = Graph::new();
    let exe = g.compile(g.constant(value)?.cast(dtype)?)?;
    let [scalar] = exe.run(&[])?;
    Ok(scalar)
}

#[test]
fn a_crop_has_the_sizes_that_scalars_give() -> Result<()> {
    for dtype in [DType::I32, DType::I64, DType::U8, DType::I16] {
        for declared in [shape![], shape![..]] {
            let g = Graph::new();
            let image = g.input("image", DType::F32, shape!["h", "w"])?;
            let (rows, columns) =
                (g.input("rows", dtype, declared.clone())?, g.input("columns", dtype, declared)?);
            let (h, w) = (rows.as_dim("crop_h")?, columns.as_dim("crop_w")?);
            let crop = image.slice([0, 0], [&h, &w])?;
            assert_eq!(crop.shape(), shape!["crop_h", "crop_w"]);
            let flat = (crop * 2.0).reshape(shape![&h * &w])?;
            let padded = crop.pad([Dim::known(0), 2 * &h + 1, Dim::known(1), w.clone()])?;
            let sum = (g.fill([&h, &w], 1.0f32)? + crop).reduce_sum(1)?;
            for exe in both(&g, &[crop, flat, padded, sum])? {
                for [rows, columns] in [[2usize, 3], [0, 3], [3, 0], [1, 1], [5, 4], [2, 3]] {
                    let feeds =
                        [&numbers(&[5, 4])?, &integer(dtype, rows as i64)?, &integer(dtype, columns as i64)?];
                    let results = run(&exe, &feeds)?;
                    let at = |row: usize, column: usize| (row * 4 + column) as f32;
                    let rows_of = |row: usize| (0..columns).map(move |column| at(row, column));
                    let crop: Vec<f32> = (0..rows).flat_map(rows_of).collect();
                    assert_eq!(results[0], Tensor::from_vec(&[rows, columns], crop.clone())?);
                    let doubled = crop.iter().map(|x| 2.0 * x).collect();
                    assert_eq!(results[1], Tensor::from_vec(&[rows * columns], doubled)?);
                    let mut padded = Vec::new();
                    for row in 0..3 * rows + 1 {
                        for column in 0..1 + 2 * columns {
                            let inside = row < rows && (1..=columns).contains(&column);
                            padded.push(if inside { at(row, column - 1) } else { 0.0 });
                        }
                    }
                    assert_eq!(results[2], Tensor::from_vec(&[3 * rows + 1, 1 + 2 * columns], padded)?);
                    let sums = (0..rows).map(|row| rows_of(row).fold(0.0, |sum, x| sum + x + 1.0)).collect();
                    assert_eq!(results[3], Tensor::from_vec(&[rows], sums)?);
                }
            }
        }
    }
    Ok(())
}

#[test]
fn a_negative_scalar_fails_at_the_line_of_the_program() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n"])?;
    let n = g.input("count", DType::I64, shape![])?;
    let k = n.as_dim("k")?;
    let line = line!() - 1;
    for exe in both(&g, &[x.slice([0], [&k])?])? {
        let error = run(&exe, &[&numbers(&[4])?, &Tensor::scalar(-3i64)]).unwrap_err();
        assert_eq!(error.phase(), Phase::Run);
        assert!(error.message().contains("value must not be negative, got -3"), "{error}");
        assert_eq!(error.location().map(|at| (at.file(), at.line())), Some((file!(), line)), "{error}");
        let error = run(&exe, &[&numbers(&[4])?, &Tensor::scalar(5i64)]).unwrap_err();
        assert!(error.message().starts_with("slice("), "{error}");
        assert_eq!(run(&exe, &[&numbers(&[4])?, &Tensor::scalar(4i64)])?[0], numbers(&[4])?);
    }
    Ok(())
}

#[test]
fn values_that_cannot_be_sizes_are_refused() -> Result<()> {
    let g = Graph::new();
    let float = g.input("float", DType::F32, shape![])?;
    let vector = g.input("vector", DType::I32, shape![2])?;
    let scalar = g.input("scalar", DType::I32, shape![])?;
    let nodes = g.len();
    for (outcome, message) in [
        (float.as_dim("k"), "the element type must be an integer, got f32"),
        (vector.as_dim("k"), "value must have rank 0"),
        (scalar.as_dim("two words"), "got \"two words\""),
    ] {
        let error = outcome.unwrap_err();
        assert!(error.message().contains(message), "{error}");
        assert_eq!(error.location().map(|at| at.file()), Some(file!()));
    }
    assert_eq!(g.len(), nodes);
    let error = g.constant(-1i64)?.as_dim("k").unwrap_err();
    assert!(error.message().contains("value must not be negative, got -1"), "{error}");
    assert_eq!(error.kind(), ErrorKind::Shape);
    Ok(())
}

#[test]
fn a_name_stands_for_one_size() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n"])?;
    let (a, b) = (g.input("a", DType::I32, shape![])?, g.input("b", DType::I32, shape![])?);
    let n = a.as_dim("n")?;
    let k = a.as_dim("k")?;
    assert_eq!(g.same_dim(&n, &k), Some(true));
    b.as_dim("k")?;
    let ones = g.fill([&k], 1.0f32)?;
    for exe in both(&g, &[(x + ones).ok()?, ones])? {
        for (size, a, b, fits) in [(3, 3, 3, true), (3, 2, 3, false), (3, 3, 2, false), (0, 0, 0, true)] {
            let result = run(&exe, &[&numbers(&[size])?, &Tensor::scalar(a), &Tensor::scalar(b)]);
            assert_eq!(result.is_ok(), fits, "{size} {a} {b}: {result:?}");
        }
    }
    let size = g.constant(3i32)?.as_dim("three")?;
    assert_eq!(g.fill([&size, &n], 1.0f32)?.shape().to_string(), "[3, n]");
    Ok(())
}

#[test]
fn a_computed_scalar_is_a_dimension() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::I64, shape!["n"])?;
    // The number of positive elements: a reduction in a kernel; and the size of a host result.
    let positive = x.greater(0i64)?;
    let count = positive.cast(DType::I64)?.reduce_sum(0)?;
    let k = count.as_dim("k")?;
    let kept = positive.where_indices()?.dim(0)?;
    let sorted = x.sort(0, true)?;
    let first = sorted.slice([0], [&k])?;
    let squares = first.expand_dims(1)?.matmul(g.fill([&Dim::known(1), &k], 1i64)?);
    let twice = concat(&[first, g.fill([&kept], 7i64)?], 0)?;
    let mut outputs = vec![first, twice];
    outputs.extend(squares.ok());
    for exe in both(&g, &outputs)? {
        for elements in [vec![3i64, -1, 4, 0, 2], vec![-1], vec![], vec![5, 6]] {
            let mut positive: Vec<i64> = elements.iter().copied().filter(|x| *x > 0).collect();
            positive.sort_unstable_by(|a, b| b.cmp(a));
            let count = positive.len();
            let results = run(&exe, &[&Tensor::from_vec(&[elements.len()], elements)?])?;
            assert_eq!(results[0], Tensor::from_vec(&[count], positive.clone())?);
            let twice = [positive.clone(), vec![7; count]].concat();
            assert_eq!(results[1], Tensor::from_vec(&[2 * count], twice)?);
        }
    }
    Ok(())
}

#[test]
fn a_dimension_is_known_in_branches_loops_and_continuations() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n", "m"])?;
    let (count, flag) = (g.input("count", DType::I32, shape![])?, g.input("flag", DType::Bool, shape![])?);
    let perm = g.input("perm", DType::I64, shape![2])?;
    let k = count.as_dim("k")?;
    let branch = g.cond(
        flag,
        || x.slice([0, 0], [&k, &Dim::known(1)])?.reduce_sum([0, 1]),
        || g.fill([&k], 10.0f32)?.reduce_sum(0),
    )?[0];
    let counted = g.while_loop(
        &[g.constant(0i32)?, g.constant(0.0f32)?],
        |state| state[0].less(3i32),
        |state| Ok([(state[0] + 1).ok()?, (state[1] + g.fill([&k], 1.0f32)?.reduce_sum(0)?).ok()?]),
    )?[1];
    // The axes of a computed permutation are known after the first part of the graph has run.
    let turned = x.transpose((perm * 1i64).ok()?)?;
    let late = turned.slice([0, 0], [&k, &Dim::known(1)])?;
    for exe in both(&g, &[branch, counted, late])? {
        for (size, flag, perm) in
            [(2usize, true, [0i64, 1]), (1, false, [1, 0]), (0, true, [1, 0]), (3, false, [0, 1])]
        {
            let count = Tensor::scalar(size as i32);
            let feeds = [&numbers(&[4, 3])?, &count, &Tensor::scalar(flag), &Tensor::from(perm)];
            let results = run(&exe, &feeds)?;
            let column: Vec<f32> = (0..size).map(|row| (row * 3) as f32).collect();
            let expected = if flag { column.iter().fold(0.0, |sum, x| sum + x) } else { 10.0 * size as f32 };
            assert_eq!(results[0], Tensor::scalar(expected));
            assert_eq!(results[1], Tensor::scalar(3.0 * size as f32));
            let late =
                (0..size).map(|row| if perm[0] == 0 { (row * 3) as f32 } else { row as f32 }).collect();
            assert_eq!(results[2], Tensor::from_vec(&[size, 1], late)?);
        }
    }
    Ok(())
}

#[test]
fn a_condition_on_sizes_is_decided_by_the_run() -> Result<()> {
    let g = Graph::new();
    let [x, y] = ["x", "y"].map(|name| g.input(name, DType::F32, shape![name]).unwrap());
    let [n, m] = [x, y].map(|value| {
        let size = value.dim(0).unwrap();
        g.range(size.clone(), size + 1, 1i64).unwrap().reshape([] as [i64; 0]).unwrap()
    });
    let same = x.checked(n.equal(m)?, "x and y must have one size")?;
    let exe = g.compile([("same", same)])?;
    let (two, three) = (Tensor::from([1.0f32, 2.0]), Tensor::from([1.0f32, 2.0, 3.0]));
    assert_eq!(exe.feed("x", &two).feed("y", &two).run()?.tensor("same")?, &two);
    let error = exe.feed("x", &two).feed("y", &three).run().unwrap_err();
    assert!(error.message().contains("x and y must have one size"), "{error}");
    Ok(())
}
