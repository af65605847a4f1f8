//! Every fused op against loops that share no code with the library: a scalar function for an elementwise op, an index
//! function for an op that moves elements, a fold for a reduction, a function of arrays for the rest. Each runs for
//! every dtype that the op accepts, and for sizes 0, 1 and 7.

mod array;
mod elementwise;
mod exceptions;
mod functions;
mod images;
mod movement;
mod numeric;
mod quantized;
mod reductions;
mod row;
mod rows;
mod uniform;

use std::collections::BTreeSet;

use num_complex::Complex64;
use shapeflow::{Backend, CompileOptions, DType, Graph, Registry, Result, Tensor, TensorView, Value};

use crate::op_call::Call;
use crate::tensor_compare::{Bound, Number, numbers};

/// An element that a naive loop reads or computes. A bool is 0 or 1.
#[derive(Clone, Copy, Debug)]
enum Element {
    Int(i128),
    Real(f64),
    Complex(Complex64),
}

/// Returns an integer modulo the range of its dtype.
fn wrapped(x: i128, dtype: DType) -> i128 {
    match dtype {
        DType::Bool => i128::from(x != 0),
        DType::I8 | DType::QI8 => i128::from(x as i8),
        DType::I16 | DType::QI16 => i128::from(x as i16),
        DType::I32 | DType::QI32 => i128::from(x as i32),
        DType::I64 => i128::from(x as i64),
        DType::U8 | DType::QU8 => i128::from(x as u8),
        DType::U16 | DType::QU16 => i128::from(x as u16),
        DType::U32 => i128::from(x as u32),
        DType::U64 => i128::from(x as u64),
        DType::I4 => (x + 8).rem_euclid(16) - 8,
        DType::U4 => x.rem_euclid(16),
        other => panic!("{other} must be an integer"),
    }
}

/// Returns the error that a float of a dtype may have, times `slack`. A float of 16 bits is computed as f32 and rounded
/// once, so its bound is half the distance to the next float.
fn bound(dtype: DType, slack: f64) -> Bound {
    let (relative, absolute) = match dtype {
        DType::F64 => (1e-12, 1e-13),
        DType::C128 => (1e-10, 1e-11),
        DType::F32 => (1e-6, 4e-7),
        DType::C64 => (1e-5, 2e-6),
        DType::F16 => (f64::powi(2.0, -11) * 1.01, 4e-7),
        DType::F8E5M2 => (f64::powi(2.0, -3), f64::powi(2.0, -17)),
        DType::F8E4M3FN => (f64::powi(2.0, -4), f64::powi(2.0, -10)),
        _ => (f64::powi(2.0, -8) * 1.01, 4e-7),
    };
    Bound { relative: slack * relative, absolute: slack * absolute }
}

/// Returns whether a float is within `slack` times the bound of its dtype. Infinity counts as close to a number beyond
/// the range of the dtype.
fn is_close(got: f64, expected: f64, dtype: DType, slack: f64) -> bool {
    let most = match dtype {
        DType::F16 => 65504.0,
        DType::F32 | DType::BF16 | DType::C64 => f64::from(f32::MAX),
        _ => f64::MAX,
    };
    bound(dtype, slack).allows(got, expected)
        || got.is_infinite() && expected.abs() > most && got.signum() == expected.signum()
}

/// Describes the first element that differs from its naive value.
fn difference(got: &Tensor, sizes: &[usize], expected: &[Element]) -> Option<String> {
    difference_within(got, sizes, expected, 1.0)
}

/// Describes the first element that differs from its naive value by more than `slack` times the bound of the dtype.
fn difference_within(got: &Tensor, sizes: &[usize], expected: &[Element], slack: f64) -> Option<String> {
    if got.sizes() != sizes {
        return Some(format!("the sizes must be {sizes:?}, got {:?}", got.sizes()));
    }
    let (dtype, elements) = (got.dtype(), numbers(got));
    let parts = if dtype.is_complex() { 2 } else { 1 };
    let differs = |position: &usize| match (&elements[parts * position..][..parts], expected[*position]) {
        ([Number::Int(got)], Element::Int(expected)) => *got != wrapped(expected, dtype),
        ([Number::Float(got)], Element::Real(expected)) => !is_close(*got, expected, dtype, slack),
        ([Number::Float(real), Number::Float(imaginary)], Element::Complex(expected)) => {
            !bound(dtype, slack).allows_complex(Complex64::new(*real, *imaginary), expected)
        }
        _ => true,
    };
    let position = (0..expected.len()).find(differs)?;
    let got = &elements[parts * position..][..parts];
    Some(format!("element {position} must be {:?}, got {got:?}", expected[position]))
}

/// What adds an op to a graph.
#[derive(Clone, Copy)]
enum Build<'a> {
    Call(&'a Call),
    Function(for<'g> fn(&'g Graph, &[Value<'g>]) -> Result<Value<'g>>),
}

impl Build<'_> {
    /// Returns the first output of the op.
    fn apply<'g>(self, g: &'g Graph, operands: &[Value<'g>]) -> Result<Value<'g>> {
        match self {
            Build::Call(call) => Ok(call.apply(g, operands, &[])?.swap_remove(0)),
            Build::Function(build) => build(g, operands),
        }
    }
}

/// Builds and runs a graph of one op on both backends, and reports the differences that `check` finds in the results.
/// `feeds` holds the operands of each run.
fn run_both(
    name: &str,
    inputs: &[(DType, String)],
    build: Build<'_>,
    feeds: &[Vec<Tensor>],
    check: &dyn Fn(&[Tensor], &Tensor) -> Option<String>,
    faults: &mut Vec<String>,
) {
    let attempt = |backend| -> Result<Vec<Tensor>> {
        let g = Graph::new();
        let mut values = Vec::new();
        for (number, (dtype, shape)) in inputs.iter().enumerate() {
            let shape: shapeflow::TensorShape = shape.parse()?;
            values.push(g.input(&format!("x{number}"), *dtype, shape)?);
        }
        let exe = g.compile_with(&CompileOptions::new().backend(backend), build.apply(&g, &values)?)?;
        let run = |operands: &Vec<Tensor>| {
            let given = operands.iter().enumerate().map(|(number, x)| (format!("x{number}"), x));
            let given: Vec<_> = given.collect();
            let fed = |name: &str| given.iter().find(|(other, _)| other == name).unwrap().1.view();
            let views: Vec<TensorView<'_>> = exe.inputs().iter().map(|port| fed(&port.name)).collect();
            Ok(exe.run_all(&views)?.swap_remove(0))
        };
        feeds.iter().map(run).collect()
    };
    for backend in [Backend::default(), Backend::Interpreter] {
        match attempt(backend) {
            Ok(results) => faults.extend(feeds.iter().zip(&results).filter_map(|(operands, result)| {
                let what = check(operands, result)?;
                Some(format!("{name} on {backend:?}, of {operands:?}: {what}"))
            })),
            Err(error) => faults.push(format!("{name} on {backend:?}: {error}")),
        }
    }
}

/// Panics with the first fault of each op, unless there are no faults.
#[track_caller]
fn report(faults: &[String]) {
    let op = |fault: &String| fault.split(' ').next().map(str::to_string);
    let mut first: Vec<&String> = faults.iter().collect();
    first.dedup_by_key(|fault| op(fault));
    let first: Vec<String> = first.into_iter().map(|fault| fault.chars().take(600).collect()).collect();
    assert!(faults.is_empty(), "{} faults\n{}", faults.len(), first.join("\n"));
}

#[test]
fn a_wrong_element_is_a_difference() {
    let ints = Tensor::from([1u8, 255]);
    let differs = |expected| difference(&ints, &[2], &[Element::Int(1), expected]).is_some();
    assert!(!differs(Element::Int(-1)) && differs(Element::Int(254)) && differs(Element::Real(255.0)));
    assert!(difference(&ints, &[1, 2], &[Element::Int(1), Element::Int(255)]).is_some());
    let floats = Tensor::from([1.0f32, f32::NAN]);
    let differs = |x, y| difference(&floats, &[2], &[Element::Real(x), Element::Real(y)]).is_some();
    assert!(!differs(1.000_000_1, f64::NAN) && differs(1.000_01, f64::NAN) && differs(1.0, 0.0));
    assert!(
        is_close(f64::INFINITY, 70000.0, DType::F16, 1.0)
            && !is_close(f64::INFINITY, 7000.0, DType::F16, 1.0)
    );
    assert!(!is_close(1.0, 1.001, DType::F16, 1.0) && is_close(1.0, 1.0004, DType::F16, 1.0));
    let infinity = f64::INFINITY;
    for got in [1.0, -infinity, f64::MAX, f64::NAN] {
        assert!(!is_close(got, infinity, DType::F64, 1.0));
        let [got, expected] = [got, infinity].map(|real| Complex64::new(real, 1.0));
        assert!(!bound(DType::C128, 1.0).allows_complex(got, expected));
        assert!(!bound(DType::C128, 1.0).allows_complex(expected, Complex64::new(1.0, 1.0)));
    }
    assert!(is_close(infinity, infinity, DType::F64, 1.0));
}

#[test]
fn every_fused_op_has_a_naive_loop_or_a_reason() {
    let looped: Vec<&str> = elementwise::ROWS
        .iter()
        .map(|row| row.op)
        .chain(movement::ROWS.iter().map(|row| row.op))
        .chain(reductions::ROWS.iter().map(|row| row.op))
        .chain([rows::ROWS, images::ROWS, quantized::ROWS].into_iter().flatten().map(|row| row.op))
        .chain(rows::TESTED)
        .chain(["dequantize"])
        .collect();
    let looped: BTreeSet<&str> = looped.into_iter().collect();
    let excepted: BTreeSet<&str> = exceptions::WITHOUT_LOOP.iter().map(|(op, _)| *op).collect();
    let registry = Registry::builtin();
    let fused: BTreeSet<&str> =
        registry.iter().filter(|def| def.body_kind() == "compute").map(|def| def.name()).collect();
    let listed: BTreeSet<&str> = looped.union(&excepted).copied().collect();
    let both: Vec<_> = looped.intersection(&excepted).collect();
    let lacking: Vec<_> = fused.difference(&listed).collect();
    let unknown: Vec<_> = listed.difference(&fused).collect();
    assert!(
        both.is_empty() && lacking.is_empty() && unknown.is_empty(),
        "ops without a naive loop or a reason: {lacking:?}; ops with both: {both:?}; no fused ops: {unknown:?}"
    );
}
