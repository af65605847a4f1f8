//! Tests of the evaluation of single expressions.

use std::cell::Cell;

use shapeflow_shape_fns::DType;

use super::*;
use crate::expr::{BinaryOp, ExprKind, InRange, Index, Interner};

fn i(axis: u32) -> Index {
    Index::axis(Axis(axis))
}

fn load(index: &[Index]) -> Expr {
    Expr::new(DType::F32, ExprKind::Load { source: 0, index: index.into() })
}

/// Evaluates one element; source elements are `100 * i + j` and `n` is 3. Returns the value and the number of loads.
fn run(expr: &Expr, axes: &[(Axis, i64)]) -> (Result<Scalar, Fault>, u32) {
    let loads = Cell::new(0);
    let load = |_: u32, index: &[i64]| {
        loads.set(loads.get() + 1);
        Ok(Scalar::F32(index.iter().fold(0.0, |sum, i| sum * 100.0 + *i as f32)))
    };
    let flat = |_: u32, position: i64| Ok(Scalar::I64(10 * position));
    let dim = |dim: &Dim| dim.as_known().unwrap_or(3);
    let result = evaluate(expr, axes, &Env { load: &load, load_flat: &flat, dim: &dim, fused: true });
    (result, loads.get())
}

fn value(expr: &Expr, axes: &[(Axis, i64)]) -> Scalar {
    run(expr, axes).0.unwrap()
}

#[test]
fn shared_nodes_are_evaluated_once() {
    let mut x = load(&[i(0)]);
    for _ in 0..30 {
        x = x.clone() + x;
    }
    assert_eq!(run(&x, &[(Axis(0), 1)]), (Ok(Scalar::F32((1u32 << 30) as f32)), 1));
}

#[test]
fn index_division_rounds_down_and_a_computed_value_is_an_index() {
    let n = Dim::symbol("n");
    let index = i(0) * n.clone() + (i(0) - Index::from(7i64)).floordiv(n.clone()) * 10i64 + i(0).modulo(n);
    assert_eq!(value(&Expr::iota(index), &[(Axis(0), 5)]), Scalar::I64(15 - 10 + 2));
    let flat = Expr::new(DType::I64, ExprKind::LoadFlat { source: 0, position: Box::new(i(0)) });
    assert_eq!(value(&load(&[Index::value(flat), i(0)]), &[(Axis(0), 4)]), Scalar::F32(4004.0));
}

#[test]
fn reductions_nest_and_reuse_loop_invariant_values() {
    let row = load(&[i(0), i(1)]).reduce(ReduceOp::Max, [(Axis(1), Dim::symbol("n"))].into());
    let centered = load(&[i(0), i(1)]) - row.clone();
    let sum = centered.reduce(ReduceOp::Sum, [(Axis(1), Dim::symbol("n"))].into());
    // Both reductions bind axis 1. Each reduction loads 3 elements.
    assert_eq!(run(&sum, &[(Axis(0), 2)]), (Ok(Scalar::F32(-3.0)), 6));
    let sum = Interner::new().import(&sum);
    assert_eq!(run(&sum, &[(Axis(0), 2)]), (Ok(Scalar::F32(-3.0)), 6));
    let grid = load(&[i(0), i(1)])
        .reduce(ReduceOp::Sum, [(Axis(0), Dim::known(2)), (Axis(1), Dim::symbol("n"))].into());
    assert_eq!(value(&grid, &[]), Scalar::F32(306.0));
    let empty = load(&[i(0)]).reduce(ReduceOp::Sum, [(Axis(0), Dim::known(0))].into());
    assert_eq!(run(&empty, &[]), (Ok(Scalar::F32(0.0)), 0));
    let lowest = load(&[i(0)]).reduce(ReduceOp::Max, [(Axis(0), Dim::known(0))].into());
    assert_eq!(value(&lowest, &[]), Scalar::F32(f32::NEG_INFINITY));
}

#[test]
fn float_sums_accumulate_in_f64() {
    let big = load(&[i(0)]) * Expr::constant(0.0f32) + Expr::constant(16_777_216.0f32);
    let one = Expr::iota(i(0)).cast(DType::F32).minimum(Expr::constant(1.0f32));
    let term = Expr::iota(i(0)).equal(Expr::iota(0i64.into())).select(big, one);
    let sum = term.reduce(ReduceOp::Sum, [(Axis(0), Dim::known(5))].into());
    assert_eq!(value(&sum, &[]), Scalar::F32(16_777_220.0));
}

#[test]
fn only_the_chosen_arm_is_evaluated() {
    let zero = Expr::constant(0i64);
    let fails = Expr::iota(i(0)).binary(BinaryOp::Div, zero.clone());
    let inside = |low: i64, high: i64| InRange { index: i(0), low: low.into(), high: high.into() };
    let shared = fails.clone() + Expr::constant(1i64);
    let case = Expr::case(
        vec![(vec![inside(0, 2)], shared.clone()), (vec![inside(2, 4), inside(3, 9)], Expr::iota(i(0)))],
        shared,
    );
    assert_eq!(run(&case, &[(Axis(0), 3)]).0, Ok(Scalar::I64(3)));
    for axis in [1, 2, 4] {
        assert_eq!(run(&case, &[(Axis(0), axis)]).0, Err(Fault::DivideByZero));
    }
    let check = ExprKind::CheckIndex { value: Expr::iota(i(0)), limit: Dim::symbol("n"), axis: 1 };
    let check = Expr::new(DType::I64, check);
    assert_eq!(run(&check, &[(Axis(0), 3)]).0, Err(Fault::Index { index: 3, limit: 3, axis: 1 }));
    assert_eq!(run(&check, &[(Axis(0), 2)]).0, Ok(Scalar::I64(2)));
}

#[test]
fn an_evaluator_is_usable_after_a_fault() {
    let quotient = Expr::constant(12i64).binary(BinaryOp::Div, Expr::iota(i(0)));
    let expr = quotient.reduce(ReduceOp::Sum, [(Axis(1), Dim::known(2))].into());
    let program = ExprProgram::new(&expr, &[Axis(0)]);
    let load = |_: u32, _: &[i64]| Ok(Scalar::Bool(false));
    let flat = |_: u32, _: i64| Ok(Scalar::Bool(false));
    let env = Env { load: &load, load_flat: &flat, dim: &|dim: &Dim| dim.as_known().unwrap(), fused: false };
    let mut evaluator = Evaluator::new(&program, &env);
    let results: Vec<_> = [3, 0, 4, 3].iter().map(|i| evaluator.element(&[*i])).collect();
    let sum = |x| Ok(Scalar::I64(x));
    assert_eq!(results, [sum(8), Err(Fault::DivideByZero), sum(6), sum(8)]);
}

#[test]
fn deep_expressions_are_evaluated_without_recursion() {
    let mut chain = load(&[i(0)]);
    for _ in 0..10_000 {
        let range = InRange { index: i(0), low: 0i64.into(), high: 9i64.into() };
        chain = Expr::case(vec![(vec![range], chain + Expr::constant(1.0f32))], Expr::constant(0.0f32));
    }
    assert_eq!(value(&chain, &[(Axis(0), 1)]), Scalar::F32(10_001.0));
    let mut nest = Expr::iota(i(0));
    for axis in 1..2_000 {
        nest = nest.reduce(ReduceOp::Sum, [(Axis(axis), Dim::known(1))].into()) + Expr::constant(1i64);
    }
    assert_eq!(value(&nest, &[(Axis(0), 1)]), Scalar::I64(2_000));
}
