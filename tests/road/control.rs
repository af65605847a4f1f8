//! Branches and loops: results, shapes, errors, captures, nesting, limits and cancellation.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use shapeflow::{
    Backend, CompileOptions, DType, Error, ErrorKind, Graph, LoopOptions, Result, Tensor, TensorView, Value,
    shape, stack,
};

/// Runs a graph as machine code and by the interpreter. Returns the results, which must be equal.
pub fn run(g: &Graph, outputs: &[Value<'_>], inputs: &[Tensor]) -> Result<Vec<Tensor>> {
    let views: Vec<TensorView<'_>> = inputs.iter().map(Tensor::view).collect();
    let results = g.compile(outputs)?.run_all(&views)?;
    let options = CompileOptions::new().backend(Backend::Interpreter);
    assert_eq!(g.compile_with(&options, outputs)?.run_all(&views)?, results);
    Ok(results)
}

pub fn f32s(sizes: &[usize], data: &[f32]) -> Tensor {
    Tensor::from_slice(sizes, data).unwrap()
}

#[test]
fn a_branch_reads_any_value_of_the_graph() -> Result<()> {
    let g = Graph::new();
    let p = g.input("p", DType::Bool, shape![])?;
    let x = g.input("x", DType::F32, shape!["n"])?;
    let y = (x + 1.0).ok()?;
    let z = g.cond(p, || Ok([y * x, y]), || Ok([x, (x - y).ok()?]))?;
    assert_eq!((z[0].shape().to_string(), z[1].shape().to_string()), ("[n]".into(), "[n]".into()));
    let x = f32s(&[2], &[2.0, 3.0]);
    let results = run(&g, &z, &[Tensor::scalar(true), x.clone()])?;
    assert_eq!(results, [f32s(&[2], &[6.0, 12.0]), f32s(&[2], &[3.0, 4.0])]);
    let results = run(&g, &z, &[Tensor::scalar(false), x.clone()])?;
    assert_eq!(results, [x, f32s(&[2], &[-1.0, -1.0])]);
    Ok(())
}

#[test]
fn a_branch_that_is_not_taken_does_not_fail_and_constrains_no_size() -> Result<()> {
    let g = Graph::new();
    let p = g.input("p", DType::Bool, shape![])?;
    let (x, y) = (g.input("x", DType::F32, shape!["n"])?, g.input("y", DType::F32, shape!["m"])?);
    let i = g.input("i", DType::I32, shape![])?;
    let z = g.cond(p, || x.gather(i, 0), || g.constant(0.0f32))?;
    let sum = g.cond(p, || (x + y).ok(), || Ok(x))?;
    assert_eq!(g.same_dim(&x.dim(0)?, &y.dim(0)?), None);
    let feeds = |p: bool, i: i32| {
        [Tensor::scalar(p), f32s(&[2], &[1.0, 2.0]), f32s(&[3], &[1.0, 2.0, 3.0]), Tensor::scalar(i)]
    };
    let results = run(&g, &[z[0], sum[0]], &feeds(false, 7))?;
    assert_eq!(results[0].item::<f32>()?, 0.0);
    let error = run(&g, &[z[0]], &feeds(true, 7)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Index);
    assert!(
        error.to_string().contains("in branch then") && error.to_string().contains("inside cond"),
        "{error}"
    );
    assert!(run(&g, &[sum[0]], &feeds(true, 0)).is_err());
    Ok(())
}

#[test]
fn branches_merge_to_their_common_supertype() -> Result<()> {
    let g = Graph::new();
    let p = g.input("p", DType::Bool, shape![])?;
    let x = g.input("x", DType::F32, shape!["n", 3])?;
    let a = g.cond(p, || x.concat_self(), || Ok(x))?;
    assert_eq!(a[0].shape().to_string(), "[?, 3]");
    let b = g.cond(p, || x.reduce_sum(0), || Ok(x))?;
    assert_eq!(b[0].shape().to_string(), "[..]");
    let c = g.cond(p, || (x * 2.0).ok(), || Ok(x))?;
    assert_eq!(c[0].shape().to_string(), "[n, 3]");
    // Other ops accept values of unknown rank.
    let d = (b[0] + 1.0).ok()?;
    let x = f32s(&[1, 3], &[1.0, 2.0, 3.0]);
    let results = run(&g, &[a[0], b[0], c[0], d], &[Tensor::scalar(true), x.clone()])?;
    assert_eq!(results[0].sizes(), [2, 3]);
    assert_eq!(results[3], f32s(&[3], &[2.0, 3.0, 4.0]));
    let results = run(&g, &[a[0], b[0], c[0], d], &[Tensor::scalar(false), x])?;
    assert_eq!(results[3], f32s(&[1, 3], &[2.0, 3.0, 4.0]));
    Ok(())
}

trait ConcatSelf<'g> {
    fn concat_self(self) -> Result<Value<'g>>;
}

impl<'g> ConcatSelf<'g> for Value<'g> {
    fn concat_self(self) -> Result<Value<'g>> {
        shapeflow::concat(&[self, self], 0)
    }
}

fn message(result: Result<Vec<Value<'_>>>) -> String {
    result.unwrap_err().message().to_string()
}

#[test]
fn refused_calls_name_the_branch_and_the_output() -> Result<()> {
    let g = Graph::new();
    let p = g.input("p", DType::Bool, shape![])?;
    let x = g.input("x", DType::F32, shape!["n"])?;
    let nodes = g.len();
    assert_eq!(
        message(g.cond(p, || Ok([x, x]), || Ok([x, x.cast(DType::F64)?]))),
        "cond: output 1 must have one dtype in all branches, then gives f32 and else gives f64"
    );
    assert_eq!(
        message(g.cond(p, || Ok([x, x]), || Ok(x))),
        "cond: all branches must return the same number of values, then returns 2 and else returns 1"
    );
    assert_eq!(message(g.cond(x, || Ok(x), || Ok(x))), "cond: the predicate must be bool, got f32");
    let pair = g.input("pair", DType::Bool, shape![2])?;
    assert_eq!(
        message(g.cond(pair, || Ok(x), || Ok(x))),
        "cond: the predicate must be a scalar, got shape [2]"
    );
    assert_eq!(message(g.case(p, &[])), "case: the index must be i32, got bool");
    assert_eq!(
        message(g.while_loop(&[x], |_| Ok(p), |s| s[0].cast(DType::F64))),
        "while_loop: the body must return state 0 with the dtype of its initial value, f32, got f64"
    );
    assert_eq!(
        message(g.while_loop(&[x], |s| Ok(s[0]), |s| Ok(s[0]))),
        "while_loop: the condition must be a bool scalar, got f32[n]"
    );
    assert_eq!(
        message(g.while_loop(&[x], |_| Ok(p), |s| Ok([s[0], s[0]]))),
        "while_loop: the body must return 1 state value, as many as it gets, got 2"
    );
    let other = Graph::new();
    let foreign = other.constant(1.0f32)?;
    assert!(g.cond(p, || Ok(foreign), || Ok(x)).is_err_and(|error| error.kind() == ErrorKind::ForeignValue));
    let error = g.cond(p, || x.matmul(x), || Ok(x)).unwrap_err();
    assert!(error.to_string().contains("in scope then"), "{error}");
    let error = g.cond(p, || g.input("inner", DType::F32, shape![]), || Ok(x)).unwrap_err();
    assert!(error.message().contains("must be made outside"), "{error}");
    // The refused calls leave no nodes in the graph.
    assert_eq!(g.len(), nodes + 1);
    Ok(())
}

#[test]
fn operands_of_another_graph_are_refused() -> Result<()> {
    let (g, other) = (Graph::new(), Graph::new());
    let x = g.input("x", DType::F32, shape![3])?;
    // The number of the foreign value is the number of a constant of `g`.
    let (_, _) = (g.constant(true)?, other.input("first", DType::F32, shape![4])?);
    let p = other.input("p", DType::Bool, shape![])?;
    let error = g.cond(p, || Ok(x), || Ok(x * 2.0)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ForeignValue, "{error}");
    assert!(error.message().starts_with("cond: the predicate must belong to the graph made at "), "{error}");
    let many = (0..9).map(|n| other.input(&format!("y{n}"), DType::F32, shape![4]));
    let last = many.collect::<Result<Vec<_>>>()?[8];
    let error = g.map(&[x, last], |rows| Ok(rows[0])).unwrap_err();
    assert!(error.message().starts_with("map: x1 must belong to the graph made at "), "{error}");
    Ok(())
}

#[test]
fn names_are_made_equal_outside_of_branches() -> Result<()> {
    let g = Graph::new();
    let (p, x) = (g.input("p", DType::Bool, shape![])?, g.input("x", DType::F32, shape!["n"])?);
    let equate = || g.assume_eq("n", "m").map(|()| x);
    let text = message(g.cond(p, equate, || Ok(x)));
    assert!(text.contains("the call must be made outside the branches and loop bodies"), "{text}");
    Ok(())
}

#[test]
fn a_value_used_outside_its_closure_is_refused() -> Result<()> {
    let g = Graph::new();
    let p = g.input("p", DType::Bool, shape![])?;
    let x = g.input("x", DType::F32, shape!["n"])?;
    let (mut kept, mut poisoned) = (None, None);
    g.cond(
        p,
        || {
            kept = Some((x * 2.0).ok()?);
            poisoned = Some(x + g.constant([1.0f64])?);
            Ok(x)
        },
        || Ok(x),
    )?;
    let kept = kept.unwrap();
    assert_eq!((kept + x).ok().unwrap_err().kind(), ErrorKind::ForeignValue);
    assert_eq!(g.compile(kept).unwrap_err().kind(), ErrorKind::ForeignValue);
    assert!(kept.named("kept").ok().is_err() && poisoned.unwrap().ok().is_err());
    assert_eq!(
        g.compile(x)?.run::<1>(&[TensorView::new(&[], &[true])?, f32s(&[1], &[2.0]).view()])?.len(),
        1
    );
    Ok(())
}

#[test]
fn a_constant_predicate_leaves_only_the_chosen_branch() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n"])?;
    let not_built = || -> Result<Value<'_>> { panic!("the other branch is not built") };
    let y = g.cond(g.constant(true)?, || Ok(x * 2.0), not_built)?;
    assert_eq!(run(&g, &y, &[f32s(&[1], &[2.0])])?, [f32s(&[1], &[4.0])]);
    let case = g.case(g.constant(9i32)?, &[&|| Ok(vec![x]), &|| Ok(vec![(x + 1.0).ok()?])])?;
    assert!(!g.to_string().contains("case"), "{g}");
    assert_eq!(run(&g, &case, &[f32s(&[1], &[2.0])])?, [f32s(&[1], &[3.0])]);
    Ok(())
}

#[test]
fn case_clamps_its_index() -> Result<()> {
    let g = Graph::new();
    let i = g.input("i", DType::I32, shape![])?;
    let x = g.input("x", DType::F32, shape!["n"])?;
    let y = g.case(i, &[&|| Ok(vec![x]), &|| Ok(vec![(x * 10.0).ok()?]), &|| Ok(vec![(x * 100.0).ok()?])])?;
    for (index, expected) in [(0, 2.0), (1, 20.0), (2, 200.0), (3, 200.0), (-1, 200.0)] {
        assert_eq!(run(&g, &y, &[Tensor::scalar(index), f32s(&[1], &[2.0])])?, [f32s(&[1], &[expected])]);
    }
    Ok(())
}

#[test]
fn a_dimension_that_the_body_of_a_loop_changes_becomes_unknown() -> Result<()> {
    let g = Graph::new();
    let n = g.input("n", DType::I64, shape![])?;
    let x = g.input("x", DType::F32, shape!["b", 2])?;
    let zero = g.constant(0i64)?;
    let last =
        g.while_loop(&[zero, x, x], |s| s[0].less(n), |s| Ok([s[0] + 1i64, s[1].concat_self()?, s[2]]))?;
    let shapes: Vec<String> = last.iter().map(|value| value.shape().to_string()).collect();
    assert_eq!(shapes, ["[]", "[?, 2]", "[b, 2]"]);
    for count in 0..4i64 {
        let results = run(&g, &last, &[Tensor::scalar(count), f32s(&[1, 2], &[5.0, 6.0])])?;
        assert_eq!(results[1].sizes(), [1 << count, 2]);
        assert_eq!(results[2], f32s(&[1, 2], &[5.0, 6.0]));
    }
    let options = LoopOptions::new().shape(1, shape!["b", 2]);
    let error = g
        .while_loop_with(&options, &[zero, x], |s| s[0].less(n), |s| Ok([s[0] + 1i64, s[1].concat_self()?]))
        .unwrap_err();
    assert!(error.message().contains("fits the declared shape [b, 2], got"), "{error}");
    let options = LoopOptions::new().shape(1, shape![..]);
    let rank = g.while_loop_with(
        &options,
        &[zero, x],
        |s| s[0].less(n),
        |s| Ok([s[0] + 1i64, s[1].reduce_sum(-1)?]),
    )?;
    assert_eq!(rank[1].shape().to_string(), "[..]");
    let results = run(&g, &rank, &[Tensor::scalar(1i64), f32s(&[2, 2], &[5.0, 6.0, 1.0, 2.0])])?;
    assert_eq!(results[1], f32s(&[2], &[11.0, 3.0]));
    Ok(())
}

#[test]
fn loops_end_at_their_limit_and_when_they_are_cancelled() -> Result<()> {
    let g = Graph::new();
    let (zero, token) = (g.constant(0i64)?, Arc::new(AtomicBool::new(false)));
    let options = LoopOptions::new().limit(1000).cancel(token.clone());
    let endless = g.while_loop_with(&options, &[zero], |s| s[0].greater_equal(0i64), |s| Ok(s[0] + 1i64))?;
    let exe = g.compile(&endless)?;
    let error = exe.run_all(&[]).unwrap_err();
    assert!(error.message().contains("must end after at most 1000 iterations"), "{error}");
    token.store(true, Ordering::Relaxed);
    let error = exe.run_all(&[]).unwrap_err();
    assert!(error.message().contains("was cancelled before iteration 0"), "{error}");
    let exact = LoopOptions::new().limit(10);
    let ten = g.while_loop_with(&exact, &[zero], |s| s[0].less(10i64), |s| Ok(s[0] + 1i64))?;
    assert_eq!(g.compile(&ten)?.run_all(&[])?[0].item::<i64>()?, 10);
    Ok(())
}

#[test]
fn an_error_of_a_body_names_the_iteration_and_the_node() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n"])?;
    let (zero, sum) = (g.constant(0i64)?, g.constant(0.0f32)?);
    let last = g.while_loop(
        &[zero, sum],
        |s| s[0].less(10i64),
        |s| Ok([s[0] + 1i64, s[1] + x.gather(s[0], 0)?.named("element")]),
    )?;
    let error = g.compile(last[1])?.run_all(&[f32s(&[3], &[1.0; 3]).view()]).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("in iteration 3") && text.contains("inside while_loop"), "{text}");
    assert!(error.node().is_some_and(|node| node.contains("element")), "{text}");
    Ok(())
}

#[test]
fn control_flow_nests() -> Result<()> {
    // The number of steps of the Collatz sequence of each element.
    let g = Graph::new();
    let x = g.input("x", DType::I64, shape!["n"])?;
    let steps = g.map(&[x], |x| {
        let zero = g.constant(0i64)?;
        let last = g.while_loop(
            &[x[0], zero],
            |s| s[0].greater(1i64),
            |s| {
                let is_even = s[0].floormod(2i64)?.equal(0i64)?;
                let next = g.cond(is_even, || s[0].floordiv(2i64), || (s[0] * 3i64 + 1i64).ok())?;
                Ok([next[0], (s[1] + 1i64).ok()?])
            },
        )?;
        Ok(last[1])
    })?;
    let results = run(&g, &steps, &[Tensor::from_slice(&[5], &[1i64, 2, 3, 7, 27])?])?;
    assert_eq!(results[0].to_vec::<i64>()?, [0, 1, 7, 16, 111]);
    Ok(())
}

#[test]
fn a_body_may_use_sizes_of_the_outer_graph() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n", "m"])?;
    let p = g.input("p", DType::Bool, shape![])?;
    let count = g.input("count", DType::I64, shape![])?;
    // The target shape mentions dims of a value that the branch does not read otherwise.
    let (n, m) = (x.dim(0)?, x.dim(1)?);
    let ones = g.cond(
        p,
        || g.constant(1.0f32)?.broadcast_to([&n * &m]),
        || g.constant([2.0f32])?.broadcast_to(&[m.clone()][..]),
    )?;
    // A size operand that only the body reads.
    let filled =
        g.cond(p, || g.constant(3.0f32)?.broadcast_to(count.reshape([1])?), || g.constant([0.0f32]))?;
    let feeds = |p| [f32s(&[2, 3], &[0.0; 6]), Tensor::scalar(p), Tensor::scalar(4i64)];
    let results = run(&g, &[ones[0], filled[0]], &feeds(true))?;
    assert_eq!((results[0].sizes(), results[1].sizes()), (&[6][..], &[4][..]));
    let results = run(&g, &[ones[0], filled[0]], &feeds(false))?;
    assert_eq!((results[0].sizes(), results[1].sizes()), (&[3][..], &[1][..]));
    Ok(())
}

#[test]
fn an_executable_runs_a_loop_on_several_threads() -> Result<()> {
    let g = Graph::new();
    let n = g.input("n", DType::I64, shape![])?;
    let (zero, one) = (g.constant(0i64)?, g.constant([1.0f32; 8])?);
    let last = g.while_loop(&[zero, one], |s| s[0].less(n), |s| Ok([s[0] + 1i64, s[1] * 1.5]))?;
    let exe = g.compile(last[1])?;
    std::thread::scope(|scope| {
        let runs: Vec<_> = (0..4i32)
            .map(|thread| {
                let exe = &exe;
                scope.spawn(move || -> Result<()> {
                    for round in 0..20 {
                        let n = thread + round;
                        let [y] = exe.run(&[Tensor::scalar(i64::from(n)).view()])?;
                        assert_eq!(y.to_vec::<f32>()?, [(0..n).fold(1.0, |y: f32, _| y * 1.5); 8]);
                    }
                    Ok(())
                })
            })
            .collect();
        runs.into_iter().try_for_each(|run| run.join().unwrap())
    })
    .map_err(|error: Error| error)
}

#[test]
fn nodes_that_a_branch_does_not_need_require_nothing() -> Result<()> {
    let g = Graph::new();
    let p = g.input("p", DType::Bool, shape![])?;
    let (a, b) = (g.input("a", DType::F32, shape!["n"])?, g.input("b", DType::F32, shape!["m"])?);
    let then = || {
        // A run does not need the stack, so the sizes may differ.
        let _ = stack(&[a, b], 0)?;
        Ok([b, (a * 2.0).ok()?, (b * 2.0).ok()?])
    };
    let y = g.cond(p, then, || Ok([b, a, b]))?;
    assert_eq!(y.iter().map(|y| y.shape().to_string()).collect::<Vec<_>>(), ["[m]", "[n]", "[m]"]);
    let inputs = [Tensor::scalar(true), f32s(&[1], &[1.0]), f32s(&[2], &[2.0, 3.0])];
    let expected = [f32s(&[2], &[2.0, 3.0]), f32s(&[1], &[2.0]), f32s(&[2], &[4.0, 6.0])];
    assert_eq!(run(&g, &y, &inputs)?, expected);
    assert_eq!(run(&g, &y, &[Tensor::scalar(false), inputs[1].clone(), inputs[2].clone()])?[2], inputs[2]);
    Ok(())
}

#[test]
fn nodes_that_the_body_of_a_loop_does_not_need_require_nothing() -> Result<()> {
    let g = Graph::new();
    let (a, b) = (g.input("a", DType::F32, shape!["n"])?, g.input("b", DType::F32, shape!["m"])?);
    let (count, xs) = (g.constant(0i64)?, g.input("xs", DType::F32, shape!["k"])?);
    let last = g.while_loop(
        &[count, a],
        |s| s[0].less(2i64),
        |s| {
            let _ = stack(&[s[1], b], 0)?;
            Ok([(s[0] + 1i64).ok()?, (b * 3.0).ok()?])
        },
    )?;
    let (state, stacked) = g.scan(&[a], &[xs], |s, x| {
        let _ = stack(&[s[0], b], 0)?;
        Ok((vec![(b * x[0]).ok()?], vec![b, s[0].reduce_sum(0)?]))
    })?;
    let shapes = [last[1], state[0], stacked[0]].map(|value| value.shape().to_string());
    assert_eq!(shapes, ["[?]", "[?]", "[k, m]"]);
    let inputs = [f32s(&[1], &[1.0]), f32s(&[2], &[2.0, 3.0]), f32s(&[2], &[5.0, 7.0])];
    let results = run(&g, &[last[1], state[0], stacked[0], stacked[1]], &inputs)?;
    let rows = f32s(&[2, 2], &[2.0, 3.0, 2.0, 3.0]);
    assert_eq!(results, [f32s(&[2], &[6.0, 9.0]), f32s(&[2], &[14.0, 21.0]), rows, f32s(&[2], &[1.0, 25.0])]);
    Ok(())
}

#[test]
fn a_branch_that_relies_on_equal_sizes_requires_them() -> Result<()> {
    let g = Graph::new();
    let p = g.input("p", DType::Bool, shape![])?;
    let (a, b) = (g.input("a", DType::F32, shape!["n"])?, g.input("b", DType::F32, shape!["m"])?);
    let then = || {
        let _ = stack(&[a, b], 0)?;
        // The size reads as the size of `a`.
        let size = b.shape().dims().expect("the rank is known")[0].clone();
        Ok([a, b.reshape([&size * 1, 1.into()])?.reshape([-1])?])
    };
    let y = g.cond(p, then, || Ok([a, b]))?;
    let (one, two) = (f32s(&[1], &[1.0]), f32s(&[2], &[2.0, 3.0]));
    assert_eq!(run(&g, &y, &[Tensor::scalar(true), two.clone(), two.clone()])?[1], two);
    assert!(run(&g, &y, &[Tensor::scalar(true), one.clone(), two.clone()]).is_err());
    assert_eq!(run(&g, &y, &[Tensor::scalar(false), one, two.clone()])?[1], two);
    Ok(())
}

#[test]
fn ties_of_names_in_branches_and_bodies_are_listed() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["b", "n"])?;
    let y = g.input("y", DType::F32, shape!["m", "k"])?;
    let p = g.input("p", DType::Bool, shape![])?;
    let tied = |g: &Graph| g.merges().iter().map(|tie| tie.names.join(" ")).collect::<Vec<_>>();
    let product = g.cond(p, || x.matmul(y), || Ok(x))?;
    assert_eq!(tied(&g), ["m n"]);
    let exe = g.compile(product)?;
    let run = |p: bool, rows: usize| {
        let (x, y) = (Tensor::zeros(DType::F32, &[2, 3])?, Tensor::zeros(DType::F32, &[rows, 4])?);
        exe.run_all(&[x.view(), y.view(), Tensor::scalar(p).view()])
    };
    assert_eq!(run(true, 3)?[0].sizes(), [2, 4]);
    assert_eq!(run(false, 5)?[0].sizes(), [2, 3]);
    assert!(run(true, 5).is_err());
    let h = Graph::new();
    let x = h.input("x", DType::F32, shape!["r", "b", "n"])?;
    let y = h.input("y", DType::F32, shape!["m", "k"])?;
    let products = h.map(&[x], |rows| rows[0].matmul(y))?;
    assert_eq!(tied(&h), ["m n"]);
    assert_eq!(products[0].shape().to_string(), "[r, b, k]");
    Ok(())
}
