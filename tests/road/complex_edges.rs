//! Functions of complex numbers whose parts are zeros, ones, large, infinite or NaN, held against numpy's results
//! (`tests/reference/complex_edges.txt`).

use shapeflow::{Backend, CompileOptions, DType, Graph, Result, Tensor, Value, shape};

use crate::tensor_compare::Bound;

/// The name of a function, the arguments and the results as pairs of parts.
type Rows = (&'static str, Vec<f64>, Vec<f64>);

/// Reads the rows of every function.
fn functions() -> Vec<Rows> {
    let mut functions: Vec<Rows> = Vec::new();
    for line in include_str!("../reference/complex_edges.txt").lines() {
        let (name, numbers) = line.split_once(' ').unwrap();
        let numbers: Vec<f64> = numbers.split(' ').map(|number| number.parse().unwrap()).collect();
        if functions.last().is_none_or(|(last, ..)| *last != name) {
            functions.push((name, Vec::new(), Vec::new()));
        }
        let (_, arguments, results) = functions.last_mut().unwrap();
        arguments.extend(&numbers[..2]);
        results.extend(&numbers[2..]);
    }
    functions
}

fn call<'g>(name: &str, z: Value<'g>) -> Result<Value<'g>> {
    match name {
        "acos" => z.acos(),
        "acosh" => z.acosh(),
        "asin" => z.asin(),
        "asinh" => z.asinh(),
        "atan" => z.atan(),
        "atanh" => z.atanh(),
        "cos" => z.cos(),
        "cosh" => z.cosh(),
        "exp" => z.exp(),
        "log" => z.log(),
        "sin" => z.sin(),
        "sinh" => z.sinh(),
        "sqrt" => z.sqrt(),
        "tan" => z.tan(),
        "tanh" => z.tanh(),
        _ => panic!("no function {name}"),
    }
}

/// Checks a part of a result. A zero has the sign of the expected zero. C leaves the sign of an infinity or a zero open
/// if the other part is NaN.
fn is_close(got: f64, expected: f64, other: f64, tolerance: f64) -> bool {
    if expected.is_nan() {
        return got.is_nan();
    }
    if expected.is_infinite() && other.is_nan() {
        return got.is_infinite();
    }
    let zero_sign_agrees =
        expected != 0.0 || other.is_nan() || got.is_sign_negative() == expected.is_sign_negative();
    zero_sign_agrees && Bound { relative: tolerance, absolute: 0.0 }.allows(got, expected)
}

#[test]
fn complex_functions_agree_with_numpy_at_edges() -> Result<()> {
    for (dtype, tolerance) in [(DType::C128, 1e-14), (DType::C64, 1e-6)] {
        for (name, arguments, results) in functions() {
            let count = arguments.len() / 2;
            let narrow: Vec<f32> = arguments.iter().map(|part| *part as f32).collect();
            let z = match dtype {
                DType::C64 => Tensor::from_bits(dtype, &[count], &narrow)?,
                _ => Tensor::from_bits(dtype, &[count], &arguments)?,
            };
            for backend in [Backend::Interpreter, Backend::Jit] {
                let g = Graph::new();
                let y = call(name, g.input("z", dtype, shape!["n"])?)?;
                let [y] = g.compile_with(&CompileOptions::new().backend(backend), y)?.run(&[z.view()])?;
                let got: Vec<f64> = match dtype {
                    DType::C64 => y.view().as_bits::<f32>()?.iter().map(|part| f64::from(*part)).collect(),
                    _ => y.view().as_bits::<f64>()?.to_vec(),
                };
                for (i, pair) in got.chunks(2).enumerate() {
                    let (z, expected) = (&arguments[2 * i..][..2], &results[2 * i..][..2]);
                    let holds =
                        |part: usize| is_close(pair[part], expected[part], expected[1 - part], tolerance);
                    assert!(
                        holds(0) && holds(1),
                        "{name}({z:?}) in {dtype}, {backend:?}: {pair:?}, {expected:?}"
                    );
                }
            }
        }
    }
    Ok(())
}
