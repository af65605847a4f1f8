//! The state of a loop keeps its dtype and its rank; the errors name the state value and where it comes from.

use shapeflow::{DType, Error, Graph, LoopOptions, Result, Tensor, shape};

#[test]
fn a_body_that_changes_a_rank_or_a_dtype_is_refused() -> Result<()> {
    let g = Graph::new();
    let p = g.input("p", DType::Bool, shape![])?;
    let x = g.input("x", DType::F32, shape!["n"])?;
    let error = g.while_loop(&[x], |_| Ok(p), |s| s[0].expand_dims(0)).unwrap_err();
    assert_eq!(
        error.message(),
        "while_loop: the body must return state 0 with the rank of its initial value, 1, got f32[1, n]"
    );
    let text = error.to_string();
    assert!(
        text.contains("the initial value of state 0 is x") && text.contains("shape(0, shape![..])"),
        "{text}"
    );
    // A body that returns an unknown rank is refused, too.
    let error =
        g.while_loop(&[x], |_| Ok(p), |s| Ok(g.cond(p, || s[0].reduce_sum(0), || Ok(s[0]))?[0])).unwrap_err();
    assert!(error.message().contains("got f32[..]"), "{error}");
    let state = |error: Error| error.message().to_string();
    assert_eq!(
        state(g.scan(&[x], &[x], |s, _| Ok((vec![s[0].expand_dims(0)?], vec![]))).unwrap_err()),
        "scan: the body must return state 0 with the rank of its initial value, 1, got f32[1, n]"
    );
    assert_eq!(
        state(g.scan(&[x], &[x], |s, _| Ok((vec![s[0].cast(DType::I32)?], vec![]))).unwrap_err()),
        "scan: the body must return state 0 with the dtype of its initial value, f32, got i32"
    );
    Ok(())
}

#[test]
fn a_declared_shape_lets_the_rank_change() -> Result<()> {
    let g = Graph::new();
    let x = g.constant([[1.0f32, 2.0], [3.0, 4.0]])?;
    let rows = g.constant([1i64, 2])?;
    let options = LoopOptions::new().shape(0, shape![..]);
    let (last, _) = g.scan_with(&options, &[x], &[rows], |s, _| Ok((vec![s[0].reduce_sum(-1)?], vec![])))?;
    let [last] = g.compile(last[0])?.run(&[])?;
    assert_eq!(last, Tensor::scalar(10.0f32));
    // A rank that is unknown from the start may change without a declaration.
    let any = g.input("any", DType::F32, shape![..])?;
    let (last, _) = g.scan(&[any], &[rows], |s, _| Ok((vec![s[0].expand_dims(0)?], vec![])))?;
    let [last] = g.compile(last[0])?.run(&[Tensor::from([5.0f32]).view()])?;
    assert_eq!(last.sizes(), [1, 1, 1]);
    Ok(())
}
