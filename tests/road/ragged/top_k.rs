//! The largest elements of rows, where a run gives their number.

use shapeflow::{AnyValue, DType, Graph, Result, Tensor, ragged, shape};

#[test]
fn top_k_takes_a_k_of_a_run() -> Result<()> {
    let g = Graph::new();
    let k = g.input("k", DType::I32, shape![])?;
    let rt = g.ragged_input("rt", DType::F32, "rows", shape![])?;
    let uniform = g.ragged_constant(&ragged![[3, 1, 2], [5, 9, 2]])?;
    let wide = g.ragged_input("wide", DType::F32, "rows", shape![3])?;
    let by_dim = rt.top_k(k.as_dim("k")?, 1)?;
    let [top, order] = rt.top_k(k, 1)?;
    let exe = g.compile([
        ("top", AnyValue::from(top)),
        ("order", order.into()),
        ("by_dim", by_dim[0].into()),
        ("uniform", uniform.top_k(k, 1)?[0].into()),
        ("wide", wide.top_k(k, 2)?[0].into()),
    ])?;
    let data = ragged![[3.0f32, 1.0, 2.0], [], [5.0, 9.0, 2.0, 6.0]];
    let vectors = data.with_flat_values(Tensor::from([
        [3.0f32, 1.0, 2.0],
        [1.0, 1.0, 1.0],
        [4.0, 5.0, 6.0],
        [0.0, 0.0, 0.0],
        [1.0, 2.0, 3.0],
        [3.0, 2.0, 1.0],
        [0.0, 7.0, 0.0],
    ]))?;
    let run = |k: i32| exe.feed("rt", &data).feed("wide", &vectors).feed("k", &Tensor::scalar(k)).run();
    for (k, top, order, uniform) in [
        (2, "[[3, 2], [], [9, 6]]", "[[0, 2], [], [1, 3]]", "[[3, 2], [9, 5]]"),
        (0, "[[], [], []]", "[[], [], []]", "[[], []]"),
        (9, "[[3, 2, 1], [], [9, 6, 5, 2]]", "[[0, 2, 1], [], [1, 3, 0, 2]]", "[[3, 2, 1], [9, 5, 2]]"),
    ] {
        let results = run(k)?;
        let text = |name: &str| results.ragged(name).map(|ragged| ragged.to_string().replace(".0", ""));
        assert_eq!(
            [text("top")?, text("order")?, text("by_dim")?, text("uniform")?],
            [top, order, top, uniform]
        );
        assert_eq!(results.ragged("wide")?.flat_values().sizes(), [7, (k as usize).min(3)]);
    }
    let error = run(-1).unwrap_err();
    assert!(error.message().contains("value must not be negative, got -1"), "{error}");
    let exe = g.compile([("splits", top.row_splits())])?;
    let error = exe.feed("rt", &data).feed("k", &Tensor::scalar(-1)).run().unwrap_err();
    assert!(error.message().contains("k must not be negative, got -1"), "{error}");
    let error = rt.top_k(rt.flat_values(), 1).unwrap_err();
    assert!(error.message().ends_with("k must be an integer scalar, got f32[rt.values]"), "{error}");
    Ok(())
}
