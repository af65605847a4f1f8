//! Ops that round numbers to integers of few bits, and their gradients.

use shapeflow::{Attr, DType, Graph, Quantization, QuantizeOptions, Registry, Result, Tensor, Value};

use super::numeric::{Numbers, Row, check_rows, row};
use super::{Build, Element, difference_within, report, run_both};
use crate::op_call::Call;
use crate::rng::Rng;
use crate::tensor_compare::{Number, numbers, tensor_of};

/// The quantization that all rows use: 4 bits, so that steps are much wider than errors.
const FEW: Quantization = Quantization { bits: 4, narrow_range: false };
/// The greatest integer of 4 bits.
const MOST: f64 = 15.0;

/// A range that is moved so that 0 is one of its numbers: the range, and the distance of its numbers.
fn moved(min: f64, max: f64) -> [f64; 3] {
    let step = (max - min) / MOST;
    let zero = (-min / step).clamp(0.0, MOST).round();
    [-zero * step, (MOST - zero) * step, step]
}

/// Returns the number of the moved range that is nearest to `x`.
fn nearest(x: f64, min: f64, max: f64) -> f64 {
    let [min, max, step] = moved(min, max);
    (x.clamp(min, max) / step).round() * step
}

/// Returns whether a number lies in the moved range.
fn is_inside(x: f64, min: f64, max: f64) -> bool {
    let [min, max, _] = moved(min, max);
    (min..=max).contains(&x)
}

/// Returns the multiple of 1.6875 / 7 from -8 to 7 times this step that is nearest to `x`.
fn snapped(x: f64) -> f64 {
    let step = 1.6875 / 7.0;
    (x / step).clamp(-8.0, 7.0).round_ties_even() * step
}

/// Maps the second operand to -1.5 and the third one to 1.6875.
const ENDS: fn(usize, f64) -> f64 = |operand, x| match operand {
    1 => -1.5,
    2 => 1.6875,
    _ => x,
};
/// Does the same for the operands after the first two.
const LATE_ENDS: fn(usize, f64) -> f64 = |operand, x| match operand {
    2 => -1.5,
    3 => 1.6875,
    _ => x,
};

fn with_bits<'g>(g: &'g Graph, op: &'static str, x: &[Value<'g>]) -> Result<Value<'g>> {
    Build::Call(&Call::new(op).attr("range_given", Attr::Bool(true))).apply(g, x)
}

#[rustfmt::skip]
pub const ROWS: &[Row] = &[
    row("fake_quant", &["[n, 3]"], |_, x| x[0].fake_quant(-1.5, 1.6875, FEW), |x| Numbers::reals(&x[0].sizes, |i| nearest(x[0].real(i), -1.5, 1.6875))).slack(4.0),
    row("fake_quant_channels", &["[n, 3]", "[3]", "[3]"], |_, x| x[0].fake_quant_channels(x[1], x[2], FEW), |x| {
        Numbers::reals(&x[0].sizes, |i| nearest(x[0].real(i), x[1].real(&i[1..]), x[2].real(&i[1..])))
    }).domain(ENDS).slack(4.0),
    row("fake_quant_channels_grad", &["[n, 3]", "[n, 3]", "[3]", "[3]"], |_, x| Ok(x[0].fake_quant_channels_grad(x[1], x[2], x[3], FEW)?[0]), |x| {
        Numbers::reals(&x[0].sizes, |i| if is_inside(x[1].real(i), -1.5, 1.6875) { x[0].real(i) } else { 0.0 })
    }).domain(LATE_ENDS),
    row("fake_quant_grad", &["[n, 3]", "[n, 3]"], |_, x| x[0].fake_quant_grad(x[1], -1.5, 1.6875, FEW), |x| {
        Numbers::reals(&x[0].sizes, |i| if is_inside(x[1].real(i), -1.5, 1.6875) { x[0].real(i) } else { 0.0 })
    }),
    row("fake_quant_vars", &["[n, 3]", "[]", "[]"], |_, x| x[0].fake_quant_vars(x[1], x[2], FEW), |x| {
        Numbers::reals(&x[0].sizes, |i| nearest(x[0].real(i), x[1].real(&[]), x[2].real(&[])))
    }).domain(ENDS).slack(4.0),
    row("fake_quant_vars_grad", &["[n, 3]", "[n, 3]", "[]", "[]"], |_, x| Ok(x[0].fake_quant_vars_grad(x[1], x[2], x[3], FEW)?[1]), |x| {
        let [least, ..] = moved(-1.5, 1.6875);
        let parts = x[0].all().into_iter().zip(x[1].all());
        Numbers::reals(&[], |_| parts.clone().filter(|(_, x)| *x < least).map(|(dy, _)| dy).sum())
    }).domain(LATE_ENDS),
    row("quantize_and_dequantize_grad", &["[n]", "[n]", "[]", "[]"], |g, x| Build::Call(&Call::new("quantize_and_dequantize_grad")).apply(g, x), |x| {
        Numbers::reals(&x[0].sizes, |i| if (-1.5..=1.6875).contains(&x[1].real(i)) { x[0].real(i) } else { 0.0 })
    }).domain(LATE_ENDS),
    row("snap_to_quantized", &["[n, 3]", "[]", "[]", "i32[]"], |g, x| {
        let four = g.constant(4i32)?;
        with_bits(g, "snap_to_quantized", &[x[0], x[1], x[2], x[3].mul(0)?.add(four)?])
    }, |x| Numbers::reals(&x[0].sizes, |i| snapped(x[0].real(i)))).domain(ENDS).slack(4.0),
];

#[test]
fn ops_of_quantization_give_what_loops_give() {
    check_rows(ROWS, 167);
}

/// The least and the greatest integer of a dtype stand for -1.5 and 2.5.
#[test]
fn quantized_integers_stand_for_evenly_spaced_numbers() {
    let (mut rng, mut faults) = (Rng::new(168), Vec::new());
    for dtype in Registry::builtin().get("dequantize").unwrap().dtypes() {
        let bits = 8 * dtype.size_bytes().unwrap() as i32;
        let is_signed = matches!(dtype, DType::QI8 | DType::QI16 | DType::QI32);
        let least = if is_signed { -f64::powi(2.0, bits - 1) } else { 0.0 };
        let steps = f64::powi(2.0, bits) - 1.0;
        let feeds: Vec<Vec<Tensor>> = [0, 1, 7]
            .map(|count| {
                let elements: Vec<f64> =
                    (0..count).map(|_| (least + steps * rng.below(17) as f64 / 16.0).round()).collect();
                vec![tensor_of(dtype, &[count], &elements)]
            })
            .into();
        let check = |operands: &[Tensor], result: &Tensor| {
            let expected = numbers(&operands[0]).into_iter().map(|x| match x {
                Number::Int(x) => Element::Real(-1.5 + (x as f64 - least) * 4.0 / steps),
                Number::Float(x) => panic!("{x} must be an integer"),
            });
            difference_within(result, operands[0].sizes(), &expected.collect::<Vec<_>>(), 16.0)
        };
        let name = format!("dequantize of {dtype}");
        let build = Build::Function(|_, x| x[0].dequantize(-1.5, 2.5, QuantizeOptions::default()));
        run_both(&name, &[(dtype, "[n]".to_string())], build, &feeds, &check, &mut faults);
    }
    report(&faults);
}
