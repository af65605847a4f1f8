//! Ops on rows, columns and vectors: softmax and its losses, norms, products, casts.

use num_complex::Complex64;
use shapeflow::{Attr, DType, DataFormat, Graph, Registry, Tensor, TensorShape};

use super::Element::{Complex, Int, Real};
use super::array::Array;
use super::numeric::{Numbers, Row, check_rows, row};
use super::row::Elements;
use super::{Build, Element, difference, report, run_both};
use crate::op_call::Call;
use crate::rng::Rng;
use crate::tensor_compare::{Number, numbers, tensor_of};

/// The ops that have a test of their own in this file.
pub const TESTED: [&str; 3] = ["cast", "next_after", "range"];

/// Returns the exponentials of row `row`, and their sum.
fn exponentials(x: &Numbers, row: usize) -> (Vec<f64>, f64) {
    let all: Vec<f64> = (0..x.sizes[1]).map(|column| x.real(&[row, column]).exp()).collect();
    let sum = all.iter().sum();
    (all, sum)
}

fn softmax(x: &Numbers, row: usize, column: usize) -> f64 {
    let (all, sum) = exponentials(x, row);
    all[column] / sum
}

fn log_softmax(x: &Numbers, row: usize, column: usize) -> f64 {
    x.real(&[row, column]) - exponentials(x, row).1.ln()
}

/// Returns the sum of `f` over the numbers below `count`.
fn sum(count: usize, f: impl Fn(usize) -> Complex64) -> Complex64 {
    (0..count).map(f).sum()
}

/// `(x - mean) / √(variance + 0.25) * scale + offset`.
fn normalized(x: &[Numbers]) -> Numbers {
    Numbers::reals(&x[0].sizes, |i| {
        let [scale, offset, mean, variance] = [1, 2, 3, 4].map(|operand| x[operand].real(&i[3..]));
        (x[0].real(i) - mean) / (variance + 0.25).sqrt() * scale + offset
    })
}

/// Maps numbers of the fifth operand, variances, to positive numbers.
const VARIANCE: fn(usize, f64) -> f64 = |operand, x| if operand == 4 { x.abs() } else { x };
const NORM_OPERANDS: &[&str] = &["[n, 2, 1, 3]", "wide[3]", "wide[3]", "wide[3]", "wide[3]"];

#[rustfmt::skip]
pub const ROWS: &[Row] = &[
    row("batch_norm", NORM_OPERANDS, |_, x| x[0].batch_norm(x[1], x[2], x[3], x[4], 0.25), normalized).domain(VARIANCE).slack(4.0),
    row("batch_norm_with_reserve", NORM_OPERANDS, |g, x| {
        Build::Call(&Call::new("batch_norm_with_reserve").attr("epsilon", 0.25).attr("is_training", false)).apply(g, x)
    }, normalized).domain(VARIANCE).slack(4.0),
    row("batch_norm_global", &["[n, 2, 1, 3]", "[3]", "[3]", "[3]", "[3]"], |g, x| {
        Build::Call(&Call::new("batch_norm_global").attr("variance_epsilon", 0.25).attr("scale_after_normalization", true)).apply(g, x)
    }, |x| {
        Numbers::reals(&x[0].sizes, |i| {
            let [mean, variance, beta, gamma] = [1, 2, 3, 4].map(|operand| x[operand].real(&i[3..]));
            (x[0].real(i) - mean) / (variance + 0.25).sqrt() * gamma + beta
        })
    }).domain(|operand, x| if operand == 2 { x.abs() } else { x }).slack(4.0),
    row("bias_add", &["[n, 2, 3]", "[3]"], |_, x| x[0].bias_add(x[1], DataFormat::ChannelsLast),
        |x| Numbers::build(&x[0].sizes, |i| x[0].at(i) + x[1].at(&i[2..]))),
    row("bias_add", &["[n, 3, 2, 1]", "[3]"], |_, x| x[0].bias_add(x[1], DataFormat::ChannelsFirst),
        |x| Numbers::build(&x[0].sizes, |i| x[0].at(i) + x[1].at(&i[1..2]))),
    row("bias_add_grad", &["[n, 2, 3]"], |_, x| x[0].bias_add_grad(DataFormat::ChannelsLast), |x| {
        Numbers::build(&[3], |i| sum(2 * x[0].sizes[0], |at| x[0].at(&[at / 2, at % 2, i[0]])))
    }),
    row("bucketize_few", &["[n, 3]"], |_, x| x[0].bucketize(&[-1.0, 0.25, 0.5, 2.0]), |x| {
        Numbers::reals(&x[0].sizes, |i| [-1.0, 0.25, 0.5, 2.0].iter().filter(|limit| **limit <= x[0].real(i)).count() as f64)
    }),
    row("conjugate_transpose", &["[n, 2, 3]"], |_, x| x[0].conjugate_transpose([2, 0, 1]),
        |x| Numbers::build(&[3, x[0].sizes[0], 2], |i| x[0].at(&[i[1], i[2], i[0]]).conj())),
    row("cross", &["[n, 3]", "[n, 3]"], |_, x| x[0].cross(x[1]), |x| {
        let element = |operand: usize, row: usize, component: usize| x[operand].at(&[row, component % 3]);
        Numbers::build(&x[0].sizes, |i| {
            element(0, i[0], i[1] + 1) * element(1, i[0], i[1] + 2) - element(0, i[0], i[1] + 2) * element(1, i[0], i[1] + 1)
        })
    }).slack(16.0),
    row("euclidean_norm", &["[n, 3]"], |_, x| x[0].euclidean_norm(1), |x| {
        Numbers::reals(&x[0].sizes[..1], |i| sum(3, |column| x[0].at(&[i[0], column]).norm_sqr().into()).re.sqrt())
    }),
    row("l2_loss", &["[n, 3]"], |_, x| x[0].l2_loss(), |x| Numbers::reals(&[], |_| x[0].all().iter().map(|x| x * x).sum::<f64>() / 2.0)),
    row("linspace", &["[]", "[]"], |g, x| g.linspace(x[0], x[1], 5), |x| {
        Numbers::reals(&[5], |i| x[0].real(&[]) + (x[1].real(&[]) - x[0].real(&[])) * i[0] as f64 / 4.0)
    }),
    row("log_softmax", &["[n, 3]"], |_, x| x[0].log_softmax(1), |x| Numbers::reals(&x[0].sizes, |i| log_softmax(&x[0], i[0], i[1]))).slack(2.0),
    row("parallel_concat", &["[1, 3]", "[1, 3]"], |g, x| {
        Build::Call(&Call::new("parallel_concat").attr("shape", Attr::from(TensorShape::from([2i64, 3])))).apply(g, x)
    }, |x| Numbers::build(&[2, 3], |i| x[i[0]].at(&[0, i[1]]))),
    row("softmax", &["[n, 3]"], |_, x| x[0].softmax(1), |x| Numbers::reals(&x[0].sizes, |i| softmax(&x[0], i[0], i[1]))).slack(2.0),
    row("softmax_cross_entropy", &["[n, 3]", "[n, 3]"], |_, x| Ok(x[0].softmax_cross_entropy(x[1])?[0]), |x| {
        Numbers::reals(&x[0].sizes[..1], |i| -(0..3).map(|class| x[1].real(&[i[0], class]) * log_softmax(&x[0], i[0], class)).sum::<f64>())
    }).slack(16.0),
    row("softmax_cross_entropy", &["[n, 3]", "[n, 3]"], |_, x| Ok(x[0].softmax_cross_entropy(x[1])?[1]),
        |x| Numbers::reals(&x[0].sizes, |i| softmax(&x[0], i[0], i[1]) - x[1].real(i))).slack(4.0),
    row("sparse_softmax_cross_entropy", &["[n, 3]", "i32[n]"], |_, x| Ok(x[0].sparse_softmax_cross_entropy(x[1])?[0]),
        |x| Numbers::reals(&x[0].sizes[..1], |i| -log_softmax(&x[0], i[0], x[1].real(i) as usize))).slack(4.0),
    row("sparse_softmax_cross_entropy", &["[n, 3]", "i64[n]"], |_, x| Ok(x[0].sparse_softmax_cross_entropy(x[1])?[1]), |x| {
        Numbers::reals(&x[0].sizes, |i| softmax(&x[0], i[0], i[1]) - if x[1].real(&i[..1]) == i[1] as f64 { 1.0 } else { 0.0 })
    }).slack(4.0),
    row("sum_of_products", &["[n, 3]", "[3, 2]"], |g, x| {
        Build::Call(&Call::new("sum_of_products").attr("equation", "ij,jk->ki")).apply(g, x)
    }, |x| Numbers::build(&[2, x[0].sizes[0]], |i| sum(3, |j| x[0].at(&[i[1], j]) * x[1].at(&[j, i[0]])))).slack(16.0),
];

#[test]
fn ops_on_rows_give_what_loops_give() {
    check_rows(ROWS, 164);
}

/// Returns an element of dtype `from`, cast to dtype `to`.
fn cast(x: &[Number], from: DType, to: DType) -> Element {
    let real = match x[0] {
        Number::Float(x) => x,
        Number::Int(x) => x as f64,
    };
    let bits = 8 * to.size_bytes().unwrap() as u32;
    let (least, most) = match () {
        () if to.is_signed() || matches!(to, DType::QI8 | DType::QI16 | DType::QI32) => {
            (-(1i128 << (bits.min(64) - 1)), (1i128 << (bits.min(64) - 1)) - 1)
        }
        () => (0, (1i128 << bits.min(64)) - 1),
    };
    match to {
        DType::Bool => Int(i128::from(
            x.iter().any(|part| !matches!(part, Number::Int(0)) && !matches!(part, Number::Float(0.0))),
        )),
        DType::C64 | DType::C128 => {
            let imaginary = if from.is_complex() { x[1] } else { Number::Float(0.0) };
            let Number::Float(imaginary) = imaginary else { panic!("an imaginary part is a float") };
            Complex(Complex64::new(real, imaginary))
        }
        _ if to.is_float() || to.is_float8() => Real(real),
        _ => match x[0] {
            Number::Int(whole) => Int(whole),
            Number::Float(real) => Int((real.trunc() as i128).clamp(least, most)),
        },
    }
}

/// Numbers that every dtype holds, or to which the nearest number of the dtype is taken.
const CASTS: [f64; 10] = [0.0, 1.0, 2.0, -3.0, 2.5, -1.75, 100.0, 300.0, -70000.0, 5e9];

#[test]
fn casts_give_what_conversions_of_numbers_give() {
    let registry = Registry::builtin();
    let dtypes: Vec<DType> = registry.get("cast").unwrap().dtypes().into_iter().collect();
    let mut faults = Vec::new();
    let mut pairs = 0;
    for (from, to) in dtypes.iter().flat_map(|from| dtypes.iter().map(move |to| (*from, *to))) {
        let call = Call::new("cast").attr("dtype", to);
        let g = Graph::new();
        let is_refused = || call.apply(&g, &[g.input("x", from, [1])?], &[]).map(drop);
        if is_refused().is_err() {
            continue;
        }
        pairs += 1;
        // A number beyond the range of a float of 8 bits has no finite neighbor.
        let fits = |x: &f64| !to.is_float8() || x.abs() <= 100.0;
        let casts: Vec<f64> = CASTS.into_iter().filter(fits).collect();
        let parts = if from.is_complex() { 2 } else { 1 };
        let feeds: Vec<Vec<Tensor>> = [0, 1, casts.len()]
            .map(|count| {
                let element = |number: usize| casts[number / parts] * (1 + number % parts) as f64;
                let elements: Vec<f64> = (0..parts * count).map(element).collect();
                vec![tensor_of(from, &[count], &elements)]
            })
            .into();
        let check = |operands: &[Tensor], result: &Tensor| {
            let elements = numbers(&operands[0]);
            let expected: Vec<Element> = elements.chunks_exact(parts).map(|x| cast(x, from, to)).collect();
            difference(result, operands[0].sizes(), &expected)
        };
        let name = format!("cast of {from} to {to}");
        run_both(&name, &[(from, "[n]".to_string())], Build::Call(&call), &feeds, &check, &mut faults);
    }
    assert!(pairs > 300, "{pairs} pairs of dtypes");
    report(&faults);
}

#[test]
fn next_after_gives_the_next_bits() {
    let mut faults = Vec::new();
    let mut rng = Rng::new(165);
    for dtype in [DType::F32, DType::F64] {
        let feeds: Vec<Vec<Tensor>> = [0, 1, 7]
            .map(|count| {
                let mut operand = || {
                    let elements: Vec<f64> =
                        (0..count).map(|_| rng.range_inclusive(-2, 2) as f64 / 2.0).collect();
                    tensor_of(dtype, &[count], &elements)
                };
                vec![operand(), operand()]
            })
            .into();
        // The distance of neighbors, as an integer of the bits: away from 0 if the numbers have one sign.
        macro_rules! next {
            ($T:ty, $x:expr, $y:expr) => {{
                let (x, y): ($T, $T) = ($x, $y);
                match () {
                    () if x == y => y,
                    () if x == 0.0 => <$T>::from_bits(1).copysign(y),
                    () if (y > x) == (x > 0.0) => <$T>::from_bits(x.to_bits() + 1),
                    () => <$T>::from_bits(x.to_bits() - 1),
                }
            }};
        }
        let check = |operands: &[Tensor], result: &Tensor| {
            let expected = match dtype {
                DType::F32 => {
                    let [x, y] = [0, 1].map(|operand: usize| operands[operand].to_vec::<f32>().unwrap());
                    Tensor::from_vec(&[x.len()], x.iter().zip(&y).map(|(x, y)| next!(f32, *x, *y)).collect())
                }
                _ => {
                    let [x, y] = [0, 1].map(|operand: usize| operands[operand].to_vec::<f64>().unwrap());
                    Tensor::from_vec(&[x.len()], x.iter().zip(&y).map(|(x, y)| next!(f64, *x, *y)).collect())
                }
            };
            let expected = expected.unwrap();
            (*result != expected).then(|| format!("expected {expected:?}, got {result:?}"))
        };
        let call = Call::new("next_after");
        let inputs = vec![(dtype, "[n]".to_string()); 2];
        run_both(&format!("next_after of {dtype}"), &inputs, Build::Call(&call), &feeds, &check, &mut faults);
    }
    report(&faults);
}

#[test]
fn ranges_count_from_their_start() {
    let mut faults = Vec::new();
    for (start, step) in [(0i64, 1i64), (-3, 2), (5, -2)] {
        for dtype in [DType::I32, DType::I64] {
            let limits = [0, 1, 7]
                .map(|count| start + step * count - i64::from(count > 0) * step.signum() * (step.abs() - 1));
            let feeds: Vec<Vec<Tensor>> = limits
                .map(|limit| vec![Array { sizes: vec![], data: vec![limit as f64] }.tensor(dtype)])
                .into();
            let check = |operands: &[Tensor], result: &Tensor| {
                let Number::Int(limit) = numbers(&operands[0])[0] else { panic!("a limit is an integer") };
                let (mut expected, mut number) = (Vec::new(), i128::from(start));
                while if step > 0 { number < limit } else { number > limit } {
                    expected.push(Int(number));
                    number += i128::from(step);
                }
                difference(result, &[expected.len()], &expected)
            };
            let build: for<'g> fn(
                &'g Graph,
                &[shapeflow::Value<'g>],
            ) -> shapeflow::Result<shapeflow::Value<'g>> = match (start, step) {
                (0, 1) => |g, x| g.range(0, x[0], 1),
                (-3, 2) => |g, x| g.range(-3, x[0], 2),
                _ => |g, x| g.range(5, x[0], -2),
            };
            let name = format!("range of {dtype} from {start} by {step}");
            run_both(
                &name,
                &[(dtype, "[]".to_string())],
                Build::Function(build),
                &feeds,
                &check,
                &mut faults,
            );
        }
    }
    report(&faults);
}

/// `Elements` reads what `Numbers` reads.
#[test]
fn parts_of_complex_elements_are_one_number() {
    let z = tensor_of(DType::C64, &[2], &[1.0, 2.0, 3.0, -4.0]);
    assert_eq!(Elements::of(&z).number(1, DType::C64), Complex64::new(3.0, -4.0));
}
