//! Bound runs: the tests change inputs and read results between runs. Some bound runs are in fixed memory, others
//! allocate in each run.

use shapeflow::{
    Backend, CompileOptions, DType, ErrorKind, Executable, Graph, Result, Tensor, TensorView, TensorViewMut,
    shape,
};

/// Checks for several contents that a bound run gives what `Executable::run_all` gives, and that the bound run is in
/// fixed memory exactly if `fixed` is true. `sizes[i]` are the sizes of needed input `i`.
#[track_caller]
fn matches_run(exe: &Executable, sizes: &[&[usize]], fixed: bool) -> Result<()> {
    let mut bound = exe.bind_sizes(sizes)?;
    assert_eq!(bound.is_fixed(), fixed, "{:?}", bound.obstacle());
    assert_eq!(bound.obstacle().is_none(), fixed);
    for round in 0..3u8 {
        let mut inputs = Vec::new();
        for (number, port) in exe.inputs().iter().filter(|port| port.needed).enumerate() {
            let mut tensor = Tensor::zeros(port.dtype, sizes[number])?;
            fill(&mut tensor.view_mut()?, round)?;
            fill(&mut bound.input_mut(&port.name)?, round)?;
            inputs.push(tensor);
        }
        let views: Vec<TensorView<'_>> = inputs.iter().map(Tensor::view).collect();
        bound.run()?;
        for (number, expected) in exe.run_all(&views)?.iter().enumerate() {
            let name = exe.outputs()[number].name.as_str();
            assert_eq!(&bound.output(number)?.to_tensor()?, expected, "{name}, round {round}");
            assert_eq!(&bound.output(name)?.to_tensor()?, expected);
        }
        let mut again = exe.bind(&views)?;
        again.run()?;
        again.run()?;
        assert_eq!(again.output(0)?.to_tensor()?, bound.output(0)?.to_tensor()?);
    }
    Ok(())
}

/// Fills a view with small numbers that differ from round to round.
fn fill(view: &mut TensorViewMut<'_>, round: u8) -> Result<()> {
    let number = |index: usize| ((index * 5 + usize::from(round) * 3) % 4) as u8;
    match view.dtype() {
        DType::F32 => {
            let elements = view.as_mut_slice::<f32>()?.iter_mut().enumerate();
            elements.for_each(|(index, element)| *element = f32::from(number(index)) - 1.5);
        }
        DType::I64 => {
            let elements = view.as_mut_slice::<i64>()?.iter_mut().enumerate();
            elements.for_each(|(index, element)| *element = i64::from(number(index)));
        }
        DType::Bool => {
            let elements = view.as_mut_slice::<bool>()?.iter_mut().enumerate();
            elements.for_each(|(index, element)| *element = number(index) > 1);
        }
        _ => {
            let strings: Vec<[u8; 1]> = (0..view.len()).map(|index| [b'a' + number(index)]).collect();
            view.copy_from(&Tensor::from_strings(view.sizes(), &strings)?)?;
        }
    }
    Ok(())
}

#[test]
fn kernels_and_matmuls_run_in_fixed_memory() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n", 4])?;
    let w = g.input("w", DType::F32, shape![4, 3])?;
    let scores = x.matmul(w)?.softmax(-1)?;
    let best = scores.reduce_max(1)?;
    let exe = g.compile([("scores", scores), ("best", best), ("again", scores)])?;
    for n in [0, 1, 7, 300] {
        matches_run(&exe, &[&[n, 4], &[4, 3]], true)?;
    }
    let kernels = g.compile([("y", (x * 2.0 - 1.0).relu()?), ("flags", x.greater(0.0)?)])?;
    for n in [0, 1, 7, 3000] {
        matches_run(&kernels, &[&[n, 4]], true)?;
    }
    Ok(())
}

#[test]
fn a_fixed_run_may_return_repeated_values_views_and_constants() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n", 4])?;
    let double = (x * 2.0).ok()?;
    let outputs =
        [("flat", double.reshape([-1])?), ("double", double), ("twice", double), ("one", g.constant(1i64)?)];
    matches_run(&g.compile(outputs)?, &[&[3, 4]], true)
}

#[test]
fn an_input_has_memory_even_if_only_its_sizes_matter() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::I64, shape!["n"])?;
    let y = g.input("y", DType::F32, shape![1])?;
    let exe = g.compile(y.broadcast_to([&x.shape().dims().unwrap()[0]])?)?;
    matches_run(&exe, &[&[5], &[1]], true)
}

#[test]
fn interpreters_host_ops_returned_inputs_and_unknown_ranks_prevent_fixed_memory() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n"])?;
    let flags = g.input("flags", DType::Bool, shape!["n"])?;
    let text = g.input("text", DType::String, shape![2])?;
    let all: &[&[usize]] = &[&[6], &[6], &[2]];
    matches_run(&g.compile([("same", x), ("half", (x * 0.5).ok()?)])?, &all[..1], false)?;
    matches_run(&g.compile([("where", flags.where_indices()?)])?, &[&[6]], false)?;
    matches_run(&g.compile([("text", text), ("x", x.exp()?), ("flags", flags)])?, all, false)?;
    let interpreted = CompileOptions::new().backend(Backend::Interpreter);
    matches_run(&g.compile_with(&interpreted, [("y", (x + 1.0).ok()?)])?, &[&[6]], false)?;
    let unranked = g.input("unranked", DType::F32, shape![..])?;
    matches_run(&g.compile([("y", (unranked + 1.0).ok()?)])?, &[&[2, 3]], false)
}

#[test]
fn k_means_feeds_its_centers_back() -> Result<()> {
    let g = Graph::new();
    let points = g.input("points", DType::F32, shape!["n", 2])?;
    let centers = g.input("centers", DType::F32, shape![2, 2])?;
    let offsets = (points.expand_dims(1)? - centers).ok()?;
    let nearest = offsets.square()?.reduce_sum(2)?.argmin(1)?;
    let sums = points.unsorted_segment_sum(nearest, 2)?;
    let ones = points.slice([0, 0], [-1, 1])?.ones_like()?;
    let counts = ones.unsorted_segment_sum(nearest, 2)?;
    let exe = g.compile([("next", (sums / counts).ok()?), ("nearest", nearest)])?;
    let data = [0.0f32, 0.0, 0.0, 1.0, 9.0, 9.0, 9.0, 8.0, 1.0, 0.0];
    let mut bound = exe.bind(&[TensorView::new(&[5, 2], &data)?, TensorView::new(&[2, 2], &data[4..8])?])?;
    for _ in 0..10 {
        bound.run()?;
        bound.feed_back("next", "centers")?;
    }
    assert_eq!(bound.output("nearest")?.as_slice::<i64>()?, [1, 1, 0, 0, 1]);
    let next = bound.output("next")?;
    let third = 1.0 / 3.0f32;
    let expected = Tensor::from_slice(&[2, 2], &[9.0, 8.5, third, third])?;
    next.to_tensor()?.allclose(&expected, 1e-6, 1e-6).unwrap();
    Ok(())
}

#[test]
fn mistakes_with_bound_runs_are_refused() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n"])?;
    let d = g.input("d", DType::I64, shape!["n"])?;
    let unneeded = g.input("unneeded", DType::F32, shape!["m"])?;
    assert_eq!(unneeded.dtype(), DType::F32);
    let exe = g.compile([("y", (x * 2.0).ok()?), ("sum", x.reduce_sum(0)?), ("q", d.floordiv(d)?)])?;
    let mut bound = exe.bind_sizes(&[&[2], &[2]])?;
    let message = |outcome: Result<()>| {
        let error = outcome.unwrap_err();
        assert_eq!(error.location().map(|location| location.file()), Some(file!()), "{error}");
        error.message().to_string()
    };
    let before = "output \"y\" can be read after a successful run; there was no run yet";
    assert_eq!(message(bound.output("y").map(drop)), before);
    let failed = bound.run().unwrap_err();
    assert_eq!(failed.kind(), ErrorKind::DivideByZero, "{failed}");
    let after = "output \"y\" can be read after a successful run; the last run failed";
    assert_eq!(message(bound.output(0).map(drop)), after);
    bound.input_mut("d")?.as_mut_slice::<i64>()?.fill(3);
    bound.run()?;
    assert_eq!(bound.output("q")?.as_slice::<i64>()?, [1, 1]);
    assert_eq!(message(bound.output("z").map(drop)), "\"z\" is not an output; the outputs are y, sum, q");
    assert_eq!(
        message(bound.input_mut(3).map(drop)),
        "number 3 is not an input; the inputs are x, d, unneeded"
    );
    assert_eq!(
        message(bound.input_mut("unneeded").map(drop)),
        "input \"unneeded\" has no memory, because no output needs it"
    );
    assert_eq!(message(bound.feed_back("sum", "x")), "the source must have sizes [2], got []");
    assert_eq!(message(bound.feed_back("y", "d")), "the source must have dtype i64, got f32");
    bound.feed_back("y", "x")?;
    assert!(message(exe.bind_sizes(&[&[2]]).map(drop)).contains("2 inputs must be fed"));
    assert!(message(exe.bind_sizes(&[&[2], &[3]]).map(drop)).contains("axis 0"));
    // The sizes of a run that is not fixed are checked too.
    let general = g.compile([x, (x * 2.0).ok()?, d.cast(DType::F32)?])?;
    assert!(message(general.bind_sizes(&[&[2], &[3]]).map(drop)).contains("axis 0"));
    Ok(())
}

#[test]
fn an_obstacle_names_its_output() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n"])?;
    let bound = g.compile([("double", (x * 2.0).ok()?), ("same", x)])?.bind_sizes(&[&[2]])?;
    assert_eq!(bound.obstacle(), Some("output \"same\" is an input"));
    Ok(())
}
