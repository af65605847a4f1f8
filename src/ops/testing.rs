//! Test helpers for ops: shape tables, refinement checks, and running one op.

use std::collections::BTreeMap;

use shapeflow_shape_fns::{Attrs, DType, Dim, Symbol, TensorShape};

use crate::error::Result;
use crate::eval::evaluate;
use crate::expr::Scalar;
use crate::graph::{Graph, Value};
use crate::op::OpDef;
use crate::tensor::Tensor;

/// Tests an op's shape function and dtype rule. A row gives the operands and the expected results, or a part of the
/// error.
///
/// ```text
/// shape_table! { DEF, {"perm": [1, 0]},
///     "[2, n]" => "[n, 2]",
///     "?"      => "[?, ?]",
///     "[2]"    => error "perm must have one entry per axis, got 2",
/// }
/// ```
/// Operands are separated by `;`. An operand may begin with its dtype (`i64[n]`; the default is f32). The name of a
/// structure parameter may precede the dtype (`axis=i32[]`). In an expected shape, `d0_1` asserts identity with
/// dimension 1 of operand 0. Every accepted row is also inferred with concrete sizes for the unknowns, see [`refine`].
macro_rules! shape_table {
    ($DEF:expr, {$($name:literal : $attr:expr),* $(,)?}, $($inputs:literal => $($expected:literal)? $(error $error:literal)?),+ $(,)?) => {
        #[test]
        fn shapes() {
            let attrs = shapeflow_shape_fns::Attrs::new()$(.with($name, $attr))*;
            $($crate::ops::testing::check_row(&$DEF, &attrs, $inputs, $(Ok($expected))? $(Err($error))?);)+
        }
    };
    ($test:ident: $DEF:expr, {$($name:literal : $attr:expr),* $(,)?}, $($inputs:literal => $($expected:literal)? $(error $error:literal)?),+ $(,)?) => {
        #[test]
        fn $test() {
            let attrs = shapeflow_shape_fns::Attrs::new()$(.with($name, $attr))*;
            $($crate::ops::testing::check_row(&$DEF, &attrs, $inputs, $(Ok($expected))? $(Err($error))?);)+
        }
    };
}
pub(crate) use shape_table;

pub(crate) use super::recorded_values::recorded;

/// One operand of a row: `axis=i32[2]`.
struct TestOperand<'a> {
    parameter: Option<&'a str>,
    dtype: DType,
    shape: TensorShape,
}

/// Splits `i32[2]` into the dtype, if the text has one, and the shape.
fn typed(text: &str) -> (Option<DType>, &str) {
    let start = text.find(['[', '?']).unwrap_or_else(|| panic!("no shape in {text:?}"));
    let (dtype, shape) = text.split_at(start);
    ((!dtype.is_empty()).then(|| dtype.parse().unwrap()), shape)
}

fn parse_inputs(text: &str) -> Vec<TestOperand<'_>> {
    text.split(';')
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .map(|part| {
            let (parameter, part) =
                part.split_once('=').map_or((None, part), |(name, rest)| (Some(name), rest));
            let (dtype, shape) = typed(part);
            TestOperand { parameter, dtype: dtype.unwrap_or(DType::F32), shape: shape.parse().unwrap() }
        })
        .collect()
}

/// Applies the op to values; structure operands are given by name.
fn apply<'g>(
    graph: &'g Graph,
    def: &'static OpDef,
    attrs: &Attrs,
    inputs: &[TestOperand<'_>],
    values: &[Value<'g>],
) -> Result<Vec<Value<'g>>> {
    let mut call = graph.op(def);
    for (name, attr) in attrs.iter() {
        call = call.attr(name.to_string().leak(), attr.clone());
    }
    for (input, value) in inputs.iter().zip(values) {
        call = match input.parameter {
            Some(name) => call.structure(name.to_string().leak(), *value),
            None => call.data(*value),
        };
    }
    call.finish_all()
}

/// Checks one row of a [`shape_table!`].
#[track_caller]
pub(crate) fn check_row(def: &'static OpDef, attrs: &Attrs, text: &str, expected: Result<&str, &str>) {
    let inputs = parse_inputs(text);
    let graph = Graph::new();
    let values: Vec<Value<'_>> = inputs
        .iter()
        .enumerate()
        .map(|(i, input)| graph.input(&format!("x{i}"), input.dtype, input.shape.clone()).unwrap())
        .collect();
    let row = format!("{}({text}; {attrs})", def.name());
    let outputs = match (apply(&graph, def, attrs, &inputs, &values), expected) {
        (Ok(outputs), Ok(_)) => outputs,
        (Err(error), Err(part)) => {
            assert!(error.message().contains(part), "{row}: {:?} is not in {:?}", part, error.message());
            return;
        }
        (Ok(outputs), Err(_)) => panic!("{row}: expected an error, got {outputs:?}"),
        (Err(error), Ok(_)) => panic!("{row}: {error}"),
    };
    let expected: Vec<&str> = expected.unwrap().split(';').map(str::trim).collect();
    assert_eq!(expected.len(), outputs.len(), "{row}: the number of outputs");
    for (output, expected) in outputs.iter().zip(expected) {
        check_shape(&row, &graph, &values, *output, expected);
    }
    refine(&row, def, attrs, &inputs, &values, &outputs);
}

/// Compares the text of a shape. An expected `d0_1` is compared by identity instead.
fn check_shape(row: &str, graph: &Graph, inputs: &[Value<'_>], output: Value<'_>, expected: &str) {
    let (dtype, expected) = typed(expected);
    if let Some(dtype) = dtype {
        assert_eq!(output.dtype(), dtype, "{row}");
    }
    let shape = output.shape();
    let expected = if expected == "?" { "[..]" } else { expected };
    let Some(dims) = shape.dims().filter(|_| expected.contains('_')) else {
        assert_eq!(shape.to_string(), expected, "{row}");
        return;
    };
    let parts: Vec<&str> = expected.trim_matches(['[', ']']).split(',').map(str::trim).collect();
    assert_eq!(dims.len(), parts.len(), "{row}: {shape} is not {expected}");
    for (dim, part) in dims.iter().zip(parts) {
        match part.strip_prefix('d').and_then(|rest| rest.split_once('_')) {
            Some((operand, axis)) => {
                let source =
                    inputs[operand.parse::<usize>().unwrap()].dim(axis.parse::<i64>().unwrap()).unwrap();
                assert_eq!(graph.same_dim(dim, &source), Some(true), "{row}: {shape} is not {expected}");
            }
            None => assert_eq!(dim.to_string(), part, "{row}: {shape} is not {expected}"),
        }
    }
}

/// A random number generator with a fixed seed.
struct TestDraws(u64);

impl TestDraws {
    /// Returns a number in `[0, limit)`.
    fn below(&mut self, limit: u64) -> i64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % limit) as i64
    }
}

/// The number of assignments that [`refine`] tries.
const DRAWS: u64 = 48;

/// Checks that shapes inferred from symbols are correct for every size: assigns sizes to the symbols, infers again, and
/// compares the shapes.
///
/// The first assignment gives each symbol a different size, the second gives every symbol the size 3, the third gives
/// every symbol the size 1, and the other assignments are random. Assignments that the op refuses are skipped, but at
/// least one must be accepted.
fn refine(
    row: &str,
    def: &'static OpDef,
    attrs: &Attrs,
    inputs: &[TestOperand<'_>],
    values: &[Value<'_>],
    promised: &[Value<'_>],
) {
    let promised: Vec<TensorShape> = promised.iter().map(|value| value.shape()).collect();
    let mut accepted = 0;
    for number in 0..DRAWS {
        let mut draws = TestDraws(number);
        let mut sizes: BTreeMap<Symbol, i64> = BTreeMap::new();
        let mut draw = |index: usize| match number {
            0 => index as i64 + 2,
            1 => 3,
            2 => 1,
            _ => draws.below(5),
        };
        let graph = Graph::new();
        let mut concrete = Vec::new();
        for (input, value) in inputs.iter().zip(values) {
            let dims: Vec<Dim> = match value.shape().dims() {
                Some(dims) => dims.to_vec(),
                None => (0..number % 4).map(|axis| Dim::known(draw(axis as usize))).collect(),
            };
            for dim in &dims {
                dim.symbols(&mut |symbol| {
                    let index = sizes.len();
                    sizes.entry(symbol).or_insert_with(|| draw(index));
                });
            }
            let known: Option<Vec<i64>> = dims
                .iter()
                .map(|dim| dim.eval(&|symbol| sizes.get(&symbol).copied()).ok().flatten())
                .collect();
            let Some(known) = known.filter(|known| known.iter().all(|size| *size >= 0)) else { break };
            let elements = value.index().ok().and_then(|id| {
                value.graph().read().values[id.index()].elements.as_ref().map(|e| e.elements().to_vec())
            });
            let value = match (input.parameter, elements) {
                (Some(_), elements) => {
                    let count: i64 = known.iter().product();
                    let data: Vec<i64> = (0..count).map(|_| draw(0) - 1).collect();
                    for (element, drawn) in elements.iter().flatten().zip(&data) {
                        if let Some(symbol) = element.as_symbol() {
                            sizes.entry(symbol).or_insert(*drawn);
                        }
                    }
                    let tensor = integers(input.dtype, &known, &data);
                    graph.constant(tensor)
                }
                (None, _) => graph.input(
                    &format!("x{}", concrete.len()),
                    input.dtype,
                    TensorShape::new(known.iter().map(|size| Dim::known(*size))),
                ),
            };
            concrete.push(value.unwrap());
        }
        if concrete.len() < inputs.len() {
            continue;
        }
        let Ok(outputs) = apply(&graph, def, attrs, inputs, &concrete) else { continue };
        accepted += 1;
        for (output, promise) in outputs.iter().zip(&promised) {
            let shape = output.shape();
            let Some(promise_dims) = promise.dims() else { continue };
            let dims = shape
                .dims()
                .unwrap_or_else(|| panic!("{row}: promised {promise}, got {shape} for {sizes:?}"));
            assert_eq!(
                dims.len(),
                promise_dims.len(),
                "{row}: promised {promise}, got {shape} for {sizes:?}"
            );
            for (dim, promise_dim) in dims.iter().zip(promise_dims) {
                let expected = promise_dim.eval(&|symbol| sizes.get(&symbol).copied());
                match (expected, dim.as_known()) {
                    (Ok(Some(expected)), Some(got)) => {
                        assert_eq!(got, expected, "{row}: promised {promise}, got {shape} for {sizes:?}");
                    }
                    (Err(error), _) => {
                        panic!("{row}: promised {promise}, which fails for {sizes:?}: {error}")
                    }
                    _ => {}
                }
            }
        }
    }
    assert!(accepted > 0, "{row}: refused for all sizes");
}

fn integers(dtype: DType, sizes: &[i64], data: &[i64]) -> Tensor {
    let sizes: Vec<usize> = sizes.iter().map(|size| *size as usize).collect();
    match dtype {
        DType::I32 => Tensor::from_vec(&sizes, data.iter().map(|value| *value as i32).collect()),
        DType::I64 => Tensor::from_vec(&sizes, data.to_vec()),
        other => panic!("a structure operand must be i32 or i64, got {other}"),
    }
    .unwrap()
}

/// Runs one op on its data operands, given in order, through the interpreter.
pub(crate) fn run(def: &OpDef, attrs: &Attrs, operands: &[Tensor]) -> Result<Vec<Tensor>> {
    let declared = def.operand_list().unwrap_or_default().iter().enumerate();
    let given = declared.filter(|(_, operand)| !operand.is_parameter()).map(|(entry, _)| entry).collect();
    let operands: Vec<_> = operands.iter().map(Tensor::view).collect();
    def.check_attrs(attrs, true)?;
    evaluate(def, given, &attrs.clone().declared_by(def.attributes()), &operands)
}

/// Runs one op as [`run`] does and returns its only output. The op must not fail.
#[track_caller]
pub(crate) fn run_one(def: &OpDef, attrs: &Attrs, operands: &[Tensor]) -> Tensor {
    run(def, attrs, operands).unwrap().swap_remove(0)
}

/// Makes a tensor of any rank from its elements.
pub(crate) fn tensor<T: crate::tensor::Element>(sizes: &[usize], elements: &[T]) -> Tensor {
    Tensor::from_slice(sizes, elements).unwrap()
}

/// Checks a unary op on f64 against a Rust function.
#[track_caller]
pub(crate) fn check_function(def: &OpDef, x: &[f64], expected: impl Fn(f64) -> f64) {
    let expected: Vec<f64> = x.iter().map(|x| expected(*x)).collect();
    let got = run_one(def, &Attrs::new(), &[tensor(&[x.len()], x)]);
    check_tensor(&got, &tensor(&[x.len()], &expected), def.name());
}

/// Checks that dtypes, sizes, integers and bools are equal and that floats are within a relative tolerance. A NaN
/// equals a NaN, and an infinity only itself.
#[track_caller]
pub(crate) fn check_tensor(got: &Tensor, expected: &Tensor, case: &str) {
    assert_eq!(got.dtype(), expected.dtype(), "{case}");
    assert_eq!(got.sizes(), expected.sizes(), "{case}");
    let tolerance = match expected.dtype() {
        DType::F64 | DType::C128 => 1e-12,
        DType::F32 | DType::C64 => 1e-5,
        DType::F16 => 1e-3,
        DType::BF16 => 1e-2,
        _ => 0.0,
    };
    // The tolerance of an expected infinity is infinite, so an infinite difference needs its own test.
    let is_close = |a: f64, b: f64| {
        a == b || a.is_nan() && b.is_nan() || (a - b).is_finite() && (a - b).abs() <= tolerance * b.abs()
    };
    let is_complex = got.dtype().is_complex();
    for position in (0..got.len()).filter(|_| is_complex) {
        let (a, b) = (complex(got, position), complex(expected, position));
        assert!(
            is_close(a.re, b.re) && is_close(a.im, b.im)
                || b.is_finite() && a.is_finite() && (a - b).norm() <= tolerance * b.norm(),
            "element {position} must be {b}, got {a}\n{case}"
        );
    }
    for position in (0..got.len()).filter(|_| !is_complex) {
        let (a, b) = (scalar(got, position), scalar(expected, position));
        let close = a == b || tolerance > 0.0 && is_close(a.to_f64(), b.to_f64());
        assert!(close, "element {position} must be {b}, got {a}\n{case}");
    }
}

fn complex(tensor: &Tensor, position: usize) -> num_complex::Complex64 {
    let bytes = tensor.view().element(position).unwrap();
    let (real, imaginary) = bytes.split_at(bytes.len() / 2);
    let part = |bytes| Scalar::from_bytes(tensor.dtype().part().unwrap(), bytes).unwrap().to_f64();
    num_complex::Complex64::new(part(real), part(imaginary))
}

fn scalar(tensor: &Tensor, position: usize) -> Scalar {
    tensor.view().element(position).and_then(|bytes| Scalar::from_bytes(tensor.dtype(), bytes)).unwrap()
}
