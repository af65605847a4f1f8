//! Errors of a run about an index or a divisor, with the operand that holds it.

use insta::assert_snapshot;
use shapeflow::{DType, ErrorKind, Graph, Result, TensorShape, TensorView, shape};

use crate::error_snapshots::error_text;

#[test]
fn segment_errors_are_explained() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n"])?;
    let ids = g.input("ids", DType::I32, shape!["n"])?;
    let sums = x.unsorted_segment_sum(ids, 2)?;
    let exe = g.compile(sums)?;
    let run = |ids: &[i32]| exe.run_all(&[TensorView::new(&[2], &[1.0f32; 2])?, TensorView::new(&[2], ids)?]);
    assert_snapshot!(error_text(run(&[0, 2])), @r#"
    error: unsorted_segment_sum(f32[n], i32[n], num_segments=2): an index into axis 0 must lie in [0, 2), got 2 at [1] in operand 1
      --> `let sums = x.unsorted_segment_sum(ids, 2)?;`
      operand 1 comes from ids at `let ids = g.input("ids", DType::I32, shape!["n"])?;`
    "#);
    let means = x.unsorted_segment_mean(ids, 2)?;
    let exe = g.compile(means)?;
    let run = |ids: &[i32]| exe.run_all(&[TensorView::new(&[2], &[1.0f32; 2])?, TensorView::new(&[2], ids)?]);
    assert_snapshot!(error_text(run(&[0, 2])), @r#"
    error: unsorted_segment_mean: unsorted_segment_sum(f32[n], i32[n], num_segments=2): an index into axis 0 must lie in [0, 2), got 2 at [1] in operand 1
      --> `let means = x.unsorted_segment_mean(ids, 2)?;`
      operand 1 comes from ids at `let ids = g.input("ids", DType::I32, shape!["n"])?;`
    "#);
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n"])?;
    let ids = g.input("ids", DType::I32, shape!["n"])?;
    let sums = x.segment_sum(ids)?;
    let exe = g.compile(sums)?;
    let run = |ids: &[i32]| exe.run_all(&[TensorView::new(&[2], &[1.0f32; 2])?, TensorView::new(&[2], ids)?]);
    assert_snapshot!(error_text(run(&[1, 0])), @r#"
    error: segment_sum(f32[n], i32[n]): segment ids must be non-negative and ascending, got 0 after 1 at [1] in operand 1
      --> `let sums = x.segment_sum(ids)?;`
      operand 1 comes from ids at `let ids = g.input("ids", DType::I32, shape!["n"])?;`
    "#);
    Ok(())
}

#[test]
fn a_negative_exponent_is_named() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::I64, shape!["n"])?;
    let y = g.input("y", DType::I64, shape!["n"])?;
    let powers = x.pow(y)?;
    let exe = g.compile(powers)?;
    let run = |y: &[i64]| exe.run_all(&[TensorView::new(&[3], &[1i64, -1, 2])?, TensorView::new(&[3], y)?]);
    assert_eq!(run(&[i64::MAX; 3])?[0].to_vec::<i64>()?, [1, -1, 0]);
    assert_snapshot!(error_text(run(&[1, -5, 2])), @r#"
    error: pow(i64[n], i64[n]): the exponent of an integer must not be negative, got -5 at [1] in operand 1
      --> `let powers = x.pow(y)?;`
      operand 1 comes from y at `let y = g.input("y", DType::I64, shape!["n"])?;`
    "#);
    Ok(())
}

#[test]
fn a_divisor_that_the_host_computed_is_named() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::I32, shape!["n"])?;
    let y = g.input("y", DType::I32, shape!["n"])?;
    let divisors = y.sort(0, false)?;
    let quotient = x.floordiv(divisors)?;
    let exe = g.compile(quotient)?;
    let error = exe.run_all(&[TensorView::new(&[2], &[1, 2])?, TensorView::new(&[2], &[3, 0])?]);
    assert_snapshot!(error_text(error), @r"
    error: floordiv(i32[n], i32[n]): an integer must not be divided by zero at [0] in operand 1
      --> `let quotient = x.floordiv(divisors)?;`
      operand 1 comes from sort at `let divisors = y.sort(0, false)?;`
    ");
    Ok(())
}

#[test]
fn a_run_names_an_operand_that_is_not_in_memory() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::I32, shape!["n"])?;
    let y = g.input("y", DType::I32, shape!["n"])?;
    // The kernel computes the divisors. Their size is a symbol, whose value only the sizes of the plan give.
    let divisors = y.expand_dims(0)?.broadcast_to(shape![2, x.dim(0)?])?;
    let quotient = x.floordiv(divisors)?;
    let exe = g.compile(quotient)?;
    let inputs = [TensorView::new(&[2], &[1, 2])?, TensorView::new(&[2], &[3, 0])?];
    assert_snapshot!(error_text(exe.bind(&inputs)?.run()), @r"
    error: floordiv(i32[n], i32[2, n]): an integer must not be divided by zero at [0, 1] in operand 1
      --> `let quotient = x.floordiv(divisors)?;`
      operand 1 comes from broadcast_to at `let divisors = y.expand_dims(0)?.broadcast_to(shape![2, x.dim(0)?])?;`
    ");
    assert!(exe.run_all(&inputs).unwrap_err().message().contains("at [0, 1] in operand 1"));
    Ok(())
}

/// The run finds an index out of range even if the element that is read does not depend on the index.
#[test]
fn an_index_is_checked_where_every_element_is_the_same() -> Result<()> {
    for case in ["ones", "broadcast", "tile", "fill"] {
        let g = Graph::new();
        let x = g.input("x", DType::F32, shape![3])?;
        let one = g.input("one", DType::F32, shape![1])?;
        let index = g.input("index", DType::I32, shape![2])?;
        let params = match case {
            "ones" => x.ones_like()?,
            "broadcast" => one.broadcast_to(shape![3])?,
            "tile" => one.tile([3])?,
            _ => one.reshape(shape![])?.broadcast_to([x.dim(0)?])?,
        };
        let exe = g.compile(params.gather(index, 0)?)?;
        let run = |indices: &[i32]| {
            exe.run_all(&[
                TensorView::new(&[3], &[0.0f32; 3])?,
                TensorView::new(&[1], &[1.0f32])?,
                TensorView::new(&[2], indices)?,
            ])
        };
        let error = run(&[0, 7]).expect_err(case);
        assert_eq!(error.kind(), ErrorKind::Index, "{case}: {error}");
        assert!(error.message().contains("must lie in [0, 3), got 7 at [1]"), "{case}: {error}");
        assert_eq!(run(&[0, 2])?[0].to_vec::<f32>()?, [1.0, 1.0], "{case}");
    }
    Ok(())
}

#[test]
fn a_label_is_checked_if_there_is_one_class() -> Result<()> {
    let g = Graph::new();
    let logits = g.input("logits", DType::F32, shape!["n", 1])?;
    let labels = g.input("labels", DType::I32, shape!["n"])?;
    let [loss, _] = logits.sparse_softmax_cross_entropy(labels)?;
    let exe = g.compile(loss)?;
    let run =
        |label: i32| exe.run_all(&[TensorView::new(&[1, 1], &[2.0f32])?, TensorView::new(&[1], &[label])?]);
    assert_eq!(run(0)?[0].to_vec::<f32>()?, [0.0]);
    let error = run(6).expect_err("the label is out of range");
    assert!(error.message().contains("must lie in [0, 1), got 6 at [0]"), "{error}");
    Ok(())
}

#[test]
fn an_index_into_an_axis_of_unknown_size_that_is_empty_is_named() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, TensorShape::unranked())?;
    let index = g.input("index", DType::I32, shape![2])?;
    let exe = g.compile(x.gather(index, 0)?)?;
    let error = exe.run_all(&[TensorView::new(&[0], &[0.0f32; 0])?, TensorView::new(&[2], &[5i32, 0])?]);
    let error = error.expect_err("an empty axis has no index");
    assert_eq!(error.kind(), ErrorKind::Index, "{error}");
    assert!(error.to_string().contains("gather(f32"), "{error}");
    assert!(error.message().contains("must lie in [0, 0), got 5 at [0] in operand 1"), "{error}");
    Ok(())
}
