//! Normalizations of quantized images, for import only. Every tensor comes with the ends of its range, two scalars.

use shapeflow_shape_fns::{Attribute, DType};

use super::options::{all_f32, quantized_and_ranges};
use super::quantized_concat::check_range;
use super::quantized_range::QuantizedRange;
use super::quantized_sums::{OUT_TYPE, not_empty};
use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::expr::{BinaryOp, Expr, Index, LowerCx};
use crate::op::{OpDef, Operand, TfOp};
use crate::ops::nn::window::of_rank;
use crate::ops::reduce::Axes;
use crate::{QuantizeMode, QuantizeOptions, shape_fns};

/// `qu8[n, h, w, c], f32[], f32[] -> qu8[n, h, w, c], f32[], f32[]`: `(x - mean) / sqrt(variance + epsilon)`, where
/// mean and variance are those of a channel of an image. The range of the result is given, or reaches from the least to
/// the greatest number, and has at least the width `min_separation`. As TensorFlow's `QuantizedInstanceNorm`, which
/// adds in another order, so an integer may differ by 1.
pub(crate) static INSTANCE: OpDef = OpDef::composite("quantized_instance_norm", |cx, values| {
    let &[x, min, max] = values else { return Err(Error::msg("an image and its range must be given")) };
    bytes(&[x.dtype(), min.dtype(), max.dtype()])?;
    check_range(x.dtype(), &[min, max])?;
    let x = of_rank(x, 4, "x")?;
    let max = not_empty([min, max])?;
    let options = QuantizeOptions { mode: QuantizeMode::MinFirst, ..QuantizeOptions::default() };
    let numbers = x.dequantize(min, max, options)?;
    let of_channel = || Axes::of([1, 2]).keep_dims();
    let centered = numbers.sub(numbers.reduce_mean(of_channel())?)?;
    let variance = centered.mul(centered)?.reduce_mean(of_channel())?;
    let deviation = variance.add(cx.attrs().float("variance_epsilon"))?.sqrt()?;
    let y = centered.div(deviation)?;
    let (low, high) = if cx.attrs().bool("output_range_given") {
        let [low, high] = ["given_y_min", "given_y_max"].map(|name| cx.attrs().float(name) as f32);
        if low >= high {
            let message = format!("given_y_min must be less than given_y_max, got {low} and {high}");
            return Err(Error::new(ErrorKind::Attribute, Phase::Build, message));
        }
        (x.graph().constant(low)?, x.graph().constant(high)?)
    } else {
        let low = y.reduce_min(Axes::all())?;
        let least = low.add(cx.attrs().float("min_separation"))?;
        (low, y.reduce_max(Axes::all())?.maximum(least)?)
    };
    let bytes = x.graph().op(&BYTES).data(y).data(low).data(high).finish()?;
    Ok(vec![bytes, low, high])
})
.attrs(&[
    Attribute::bool_or("output_range_given", false),
    Attribute::float_or("given_y_min", 0.0),
    Attribute::float_or("given_y_max", 0.0),
    Attribute::float_or("variance_epsilon", 1e-5f32 as f64),
    Attribute::float_or("min_separation", 1e-3f32 as f64),
])
.operands(&[Operand::Data("x"), Operand::Data("x_min"), Operand::Data("x_max")])
.outputs(|_, _| 3)
.dtype_rule(|dtypes, _| {
    bytes(dtypes)?;
    Ok(vec![DType::QU8, DType::F32, DType::F32])
})
.tensorflow(&[TfOp::new("QuantizedInstanceNorm")]);

/// A part of `quantized_instance_norm`: `f32[..], f32[], f32[] -> qu8[..]`, the integers that stand for numbers in a
/// range.
pub(crate) static BYTES: OpDef = OpDef::compute("quantized_bytes", |cx, _, index| {
    let range = QuantizedRange::new(DType::QU8, cx.operand(1, &[]), cx.operand(2, &[]));
    range.quantize_exactly(cx.operand(0, index)).cast(DType::QU8)
})
.operands(&[Operand::Data("x"), Operand::Data("min"), Operand::Data("max")])
.shape_fn(|cx| {
    cx.scalar(1)?;
    cx.scalar(2)?;
    let shape = cx.input(0).clone();
    cx.set_output(0, shape);
    Ok(())
})
.dtype_rule(|dtypes, _| {
    all_f32(dtypes)?;
    Ok(vec![DType::QU8])
});

/// Checks that the first operand is qu8 and the others are f32.
fn bytes(dtypes: &[DType]) -> Result<()> {
    match quantized_and_ranges(dtypes)? {
        DType::QU8 => Ok(()),
        other => dtype::refuse(format!("the element type must be qu8, got {other}")),
    }
}

/// The magnitude of the ends of the range of the result.
const LIMIT: f64 = 1_048_576.0;
/// The number of bits of the integer that stands for 1 in the range of the result: `2^32 / (2 * LIMIT)` is `2^11`.
const ONE_BITS: i64 = 11;

/// `t qu8[n, h, w, c], m qu8[c], v qu8[c], beta qu8[c], gamma qu8[c]`, each followed by the ends of its range,
/// `-> qi32[n, h, w, c], f32[], f32[]`: `(t - m) / sqrt(v + epsilon) * gamma + beta`, or the same without `gamma`, in
/// the range from `-2^20` to `2^20`. As TensorFlow's `QuantizedBatchNormWithGlobalNormalization`, bit for bit, unless a
/// factor or an offset exceeds i64.
pub(crate) static BATCH: OpDef = OpDef::compute("quantized_batch_norm_global", lower_batch)
    .internal()
    .attrs(&[
        Attribute::dtype_or("dtype", DType::QI32),
        Attribute::float("variance_epsilon"),
        Attribute::bool("scale_after_normalization"),
    ])
    .operands(&[
        Operand::Data("t"),
        Operand::Data("t_min"),
        Operand::Data("t_max"),
        Operand::Data("m"),
        Operand::Data("m_min"),
        Operand::Data("m_max"),
        Operand::Data("v"),
        Operand::Data("v_min"),
        Operand::Data("v_max"),
        Operand::Data("beta"),
        Operand::Data("beta_min"),
        Operand::Data("beta_max"),
        Operand::Data("gamma"),
        Operand::Data("gamma_min"),
        Operand::Data("gamma_max"),
    ])
    .outputs(|_, _| 3)
    .shape_fn(shape_fns::nn::quantized_batch_norm)
    .dtype_rule(|dtypes, attrs| {
        dtypes.chunks(3).try_for_each(bytes)?;
        match attrs.dtype("dtype") {
            DType::QI32 => Ok(vec![DType::QI32, DType::F32, DType::F32]),
            other => dtype::refuse(format!("dtype must be qi32, got {other}")),
        }
    })
    .tensorflow(&[TfOp::new("QuantizedBatchNormWithGlobalNormalization").attrs(OUT_TYPE)]);

fn lower_batch(cx: &mut dyn LowerCx, output: usize, index: &[Index]) -> Expr {
    let single = |value: f64| Expr::number(DType::F32, value);
    let to = QuantizedRange::new(DType::QI32, single(-LIMIT), single(LIMIT));
    match output {
        0 => {}
        1 => return to.min,
        _ => return to.max,
    }
    let channel = &index[index.len() - 1..];
    let mut number = |operand: usize, index: &[Index]| {
        let [min, max] = [operand + 1, operand + 2].map(|end| cx.operand(end, &[]));
        QuantizedRange::new(DType::QU8, min, max)
            .dequantize_exactly(cx.operand(operand, index).cast(DType::I64))
    };
    let x = number(0, index);
    let [mean, variance, beta, gamma] = [3, 6, 9, 12].map(|operand| number(operand, channel));
    let deviation = (variance + single(cx.attrs().float("variance_epsilon"))).sqrt();
    let factor = single(1.0) / deviation;
    let factor = if cx.attrs().bool("scale_after_normalization") { factor * gamma } else { factor };
    let offset = beta - mean * &factor;
    let [x, factor, offset] = [x, factor, offset].map(|number| to.quantize_exactly(number));
    // The quotient of the product and the integer that stands for 1, rounded toward 0.
    let product = x * factor;
    let integer = |value: i64| Expr::constant(value);
    let is_negative = product.clone().less(integer(0));
    let rest = is_negative.select(integer((1 << ONE_BITS) - 1), integer(0));
    let scaled = (product + rest).binary(BinaryOp::Shr, integer(ONE_BITS));
    let sum = scaled + offset;
    sum.maximum(integer(i64::from(i32::MIN))).minimum(integer(i64::from(i32::MAX))).cast(DType::QI32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Graph;
    use crate::ops::testing::shape_table;

    shape_table! { BATCH, {"variance_epsilon": 0.1, "scale_after_normalization": true},
        "qu8[n, h, w, ?]; []; []; qu8[3]; []; []; qu8[3]; []; []; qu8[3]; []; []; qu8[3]; []; []" => "qi32[n, h, w, 3]; f32[]; f32[]",
        "qu8[n, h, w, 3]; []; []; qi8[3]; []; []; qu8[3]; []; []; qu8[3]; []; []; qu8[3]; []; []" => error "the element type must be qu8, got qi8",
    }
    shape_table! { bytes_of: BYTES, {},
        "[n, 3]; []; []" => "qu8[n, 3]",
        "[n, 3]; [2]; []" => error "must have rank 0",
    }

    #[test]
    fn numbers_beyond_i64_become_the_nearest_integer() {
        let g = Graph::new();
        let normalized = |integer: i32, limit: f32| {
            let call = g.op(&BATCH).attr("variance_epsilon", 0.0).attr("scale_after_normalization", true);
            let call = call.data(g.constant([[[[integer]]]]).unwrap().cast(DType::QU8).unwrap());
            let call = call.data(g.constant(-limit).unwrap()).data(g.constant(limit).unwrap());
            // The mean and beta are 0, the variance and gamma 1.
            let call = [0, 255, 0, 255].into_iter().fold(call, |call, byte: i32| {
                let call = call.data(g.constant([byte]).unwrap().cast(DType::QU8).unwrap());
                call.data(g.constant(0.0f32).unwrap()).data(g.constant(1.0f32).unwrap())
            });
            let y = call.finish_all().unwrap()[0].cast(DType::I32).unwrap();
            let [y] = g.compile(y).unwrap().run(&[]).unwrap();
            y.to_vec::<i32>().unwrap()[0]
        };
        let [least, greatest] = [0, 255].map(|integer| normalized(integer, 2_097_152.0));
        assert!(least < -1_000_000_000 && greatest > 1_000_000_000, "{least} {greatest}");
        for limit in [1e18, 1e20, 1e30] {
            assert_eq!([0, 255].map(|integer| normalized(integer, limit)), [least, greatest]);
        }
    }
}
