//! Graphs of strings: movement and comparison of elements, at sizes that only a run knows.

use shapeflow::{
    Backend, CompileOptions, DType, Graph, Result, Tensor, TensorShape, TensorView, Value, concat, shape,
    stack,
};

const BACKENDS: [Backend; 2] = [Backend::Jit, Backend::Interpreter];

fn words(sizes: &[usize], words: &[&str]) -> Tensor {
    Tensor::from_strings(sizes, words).unwrap()
}

/// Compiles a function of one input of strings of unknown shape or rank, and runs it on `x`.
fn run<'g>(
    g: &'g Graph,
    shape: impl Into<TensorShape>,
    x: &Tensor,
    build: impl Fn(Value<'g>) -> Result<Vec<Value<'g>>>,
) -> Vec<Vec<Tensor>> {
    let outputs = build(g.input("x", DType::String, shape).unwrap()).unwrap();
    let run = |backend| {
        let exe = g.compile_with(&CompileOptions::new().backend(backend), &outputs[..])?;
        exe.run_all(&[x.view()])
    };
    BACKENDS.into_iter().map(|backend| run(backend).unwrap()).collect()
}

/// Compares `build` with `expected` for an input of `shape`, and of unknown rank unless the shape is `[k]`.
#[track_caller]
fn check(
    shape: &str,
    x: &Tensor,
    expected: &[Tensor],
    build: impl for<'g> Fn(Value<'g>) -> Result<Vec<Value<'g>>>,
) {
    let ranks: &[&str] = if shape == "[k]" { &[shape] } else { &[shape, "?"] };
    for &shape in ranks {
        let g = Graph::new();
        let shape: TensorShape = shape.parse().unwrap();
        for results in run(&g, shape.clone(), x, &build) {
            assert_eq!(results, expected, "{shape}");
        }
    }
}

#[test]
fn ops_that_move_elements_move_strings() {
    let x = words(&[2, 3], &["a", "", "ccc", "d\0d", "é", "a"]);
    check("[n, m]", &x, &[words(&[3, 2], &["a", "d\0d", "", "é", "ccc", "a"])], |x| Ok(vec![x.t()?]));
    check("[n, m]", &x, &[words(&[6], &["a", "", "ccc", "d\0d", "é", "a"])], |x| Ok(vec![x.reshape([-1])?]));
    check("[n, m]", &x, &[words(&[1, 2], &["é", "d\0d"])], |x| {
        Ok(vec![x.slice([1, 0], [1, 2])?.reverse([1])?])
    });
    let padded = words(&[3, 4], &["", "", "", "", "", "a", "", "ccc", "", "d\0d", "é", "a"]);
    check("[n, m]", &x, &[padded], |x| Ok(vec![x.pad([1, 0, 1, 0])?]));
    check("[n, m]", &x, &[words(&[2, 0], &[])], |x| Ok(vec![x.slice([0, 0], [2, 0])?]));
    check(
        "[2, 3]",
        &x,
        &[words(&[2], &["a", "d\0d"]), words(&[2], &["", "é"]), words(&[2], &["ccc", "a"])],
        |x| x.slice([0, 0], [2, 3])?.broadcast_to([2, 3])?.unstack(1),
    );
    check("[n, m]", &x, &[words(&[4, 1], &["ccc", "a", "ccc", "a"]), words(&[2, 3], &[""; 6])], |x| {
        let last = x.slice([0, 2], [2, 1])?;
        Ok(vec![concat(&[last, last], 0)?, x.zeros_like()?])
    });
}

#[test]
fn strings_are_compared_and_chosen() {
    let x = words(&[4], &["a", "b", "", "a"]);
    check("[n]", &x, &[Tensor::from([true, false, false, true]), words(&[4], &["a", "x", "x", "a"])], |x| {
        let g = x.graph();
        let is_a = x.equal(g.constant("a")?)?;
        Ok(vec![is_a, is_a.select(x, g.constant("x")?)?])
    });
    check("[n]", &x, &[words(&[3], &["a", "b", ""]), Tensor::from([0i64, 1, 2, 0])], |x| {
        x.unique().map(Vec::from)
    });
    check(
        "[k]",
        &x,
        &[
            words(&[2], &["b", ""]),
            words(&[2], &["a", "a"]),
            words(&[2, 4], &["a", "b", "", "a", "a", "b", "", "a"]),
        ],
        |x| {
            let is_other = x.not_equal(x.graph().constant(["a"])?)?;
            Ok(vec![x.boolean_mask(is_other, 0)?, x.boolean_mask((!is_other).ok()?, 0)?, stack(&[x, x], 0)?])
        },
    );
}

#[test]
fn a_reshape_shares_the_strings() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::String, shape!["n", 2])?;
    let swapped = x.reverse([0])?;
    let flat = swapped.reshape([-1])?;
    let exe = g.compile(&[swapped, flat, flat.expand_dims(0)?.squeeze([0])?][..])?;
    let fed = words(&[2, 2], &["a", "b", "c", "d"]);
    let [rows, flat, again] = exe.run(&[fed.view()])?;
    assert_eq!((&rows, &flat), (&words(&[2, 2], &["c", "d", "a", "b"]), &words(&[4], &["c", "d", "a", "b"])));
    assert_eq!(flat, again);
    assert_eq!(rows.as_strings()?.at(0).as_ptr(), flat.as_strings()?.at(0).as_ptr());
    Ok(())
}

#[test]
fn results_are_copied_into_the_callers_tensor() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::String, shape!["n"])?;
    for backend in BACKENDS {
        let exe = g.compile_with(&CompileOptions::new().backend(backend), x.reverse([0])?)?;
        let fed = words(&[2], &["a", "bc"]);
        let mut result = Tensor::zeros(DType::String, &[2])?;
        exe.runner().run_into(&[fed.view()], &mut [result.view_mut()?])?;
        assert_eq!(result, words(&[2], &["bc", "a"]));
        let mut wrong = Tensor::zeros(DType::String, &[3])?;
        let error = exe.runner().run_into(&[fed.view()], &mut [wrong.view_mut()?]).unwrap_err();
        assert!(error.message().contains("output 0 must be string[2], got memory for string[3]"), "{error}");
    }
    Ok(())
}

#[test]
fn a_body_that_computes_with_strings_is_refused() -> Result<()> {
    static TWICE: shapeflow::OpDef = shapeflow::OpDef::compute("twice", |cx, _, index| {
        let x = cx.operand(0, index);
        x.clone() + x
    })
    .operands(&[shapeflow::Operand::Data("x")])
    .shape_fn(shapeflow::shape_fns::common::unary);
    let g = Graph::new();
    let x = g.input("x", DType::String, shape!["n"])?;
    let error = g.compile(g.op(&TWICE).data(x).finish()?).unwrap_err();
    assert!(error.message().contains("Add is not defined on string"), "{error}");
    Ok(())
}

#[test]
fn a_body_compares_strings_by_their_order() -> Result<()> {
    static LEAST: shapeflow::OpDef = shapeflow::OpDef::compute("least", |cx, _, index| {
        let (x, y) = (cx.operand(0, index), cx.operand(1, index));
        x.clone().less(y.clone()).select(x, y)
    })
    .operands(&[shapeflow::Operand::Data("x"), shapeflow::Operand::Data("y")])
    .shape_fn(shapeflow::shape_fns::common::unary);
    let g = Graph::new();
    let (x, y) = (g.input("x", DType::String, shape!["n"])?, g.input("y", DType::String, shape!["n"])?);
    let exe = g.compile(g.op(&LEAST).data(x).data(y).finish()?)?;
    let (x, y) = (words(&[3], &["b", "", "a\0"]), words(&[3], &["a", "x", "a"]));
    let [least] = exe.run(&[TensorView::from(&x), TensorView::from(&y)])?;
    assert_eq!(least, words(&[3], &["a", "", "a"]));
    Ok(())
}
