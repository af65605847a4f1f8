//! Errors of a run about an index or a divisor, with the operand that holds it.

use insta::assert_snapshot;
use shapeflow::{DType, Graph, Result, TensorView, shape};

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
fn a_bound_run_names_the_result_if_an_operand_is_not_in_memory() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::I32, shape!["n"])?;
    let y = g.input("y", DType::I32, shape!["n"])?;
    // The size of the broadcast is a symbol, whose value a bound run keeps only in its plan.
    let divisors = y.expand_dims(0)?.broadcast_to(shape![2, x.dim(0)?])?;
    let quotient = x.floordiv(divisors)?;
    let exe = g.compile(quotient)?;
    let mut bound = exe.bind(&[TensorView::new(&[2], &[1, 2])?, TensorView::new(&[2], &[3, 0])?])?;
    assert_snapshot!(error_text(bound.run()), @"error: an index or divisor is out of range in floordiv made at `let quotient = x.floordiv(divisors)?;`");
    Ok(())
}
