//! `requantize_channels` and `requantization_range_of_channels`: integers with a range for each channel, for import
//! only. A range reaches from `-r` to `r`, where `r` is the greater magnitude of its ends.

use shapeflow_shape_fns::{Attribute, DType};

use super::options::{all_f32, quantized_and_ranges};
use crate::dtype;
use crate::error::{Error, Result};
use crate::expr::{Expr, Index, LowerCx, UnaryOp};
use crate::graph::Value;
use crate::op::{OpDef, Operand, TfOp};
use crate::ops::nn::window::{dims_of, of_rank, with_shape};
use crate::ops::reduce::Axes;
use crate::shape_fns;

/// The number of integers of qi32 that stand for positive numbers.
const WORDS: f64 = 2_147_483_648.0;

/// `qi32[.., c], f32[c], f32[c], f32[], f32[] -> q[.., c], f32[], f32[]`: the integers of attribute `dtype` (qi8 or
/// qu8) that stand for the same numbers in another range. With `m` the greater magnitude of the last two operands, the
/// range is `-m` to `m` for qi8 and `0` to `m` for qu8. The second and the third result are these operands. One range
/// may be that of all channels. Ties round to even. As TensorFlow's `RequantizePerChannel`, whose kernel refuses a
/// minimum of 0 or more for qi8, and a rank other than 4.
pub(crate) static DEF: OpDef = OpDef::compute("requantize_channels", lower)
    .attrs(&[Attribute::dtype_or("dtype", DType::QU8)])
    .operands(&[
        Operand::Data("input"),
        Operand::Data("input_min"),
        Operand::Data("input_max"),
        Operand::Data("requested_output_min"),
        Operand::Data("requested_output_max"),
    ])
    .outputs(|_, _| 3)
    .shape_fn(|cx| {
        shape_fns::quantize::requantize_per_channel(cx)?;
        // One range broadcasts.
        let (shape, ranges) = (cx.with_rank_at_least(0, 1)?, cx.input(1).clone());
        let shape = cx.broadcast(&shape, &ranges).map_err(|error| error.operand(1))?;
        let input = cx.input(0).clone();
        let shape = cx.merge_shapes(&input, &shape).map_err(|error| error.operand(1))?;
        cx.set_output(0, shape);
        Ok(())
    })
    .dtype_rule(|dtypes, attrs| {
        of_words(dtypes)?;
        match attrs.dtype("dtype") {
            dtype @ (DType::QI8 | DType::QU8) => Ok(vec![dtype, DType::F32, DType::F32]),
            other => dtype::refuse(format!("dtype must be qi8 or qu8, got {other}")),
        }
    })
    .tensorflow(&[TfOp::new("RequantizePerChannel").attrs(&[("out_type", "dtype")])]);

/// `qi32[n, h, w, c], f32[c], f32[c] -> f32[], f32[]`: a range for all numbers. It reaches from the negative to the
/// positive greatest magnitude, or from 0 if no integer is negative, and not beyond attribute `clip_value_max` and its
/// negative. As TensorFlow's `RequantizationRangePerChannel`, whose kernel computes the magnitude of the lowest
/// i32 in i32, where it stays negative.
pub(crate) static RANGE: OpDef = OpDef::composite("requantization_range_of_channels", |cx, values| {
    let &[x, min, max] = values else {
        return Err(Error::msg("requantization_range_of_channels needs a tensor and the ends of its ranges"));
    };
    of_words(&[x.dtype(), min.dtype(), max.dtype()])?;
    let x = of_rank(x, 4, "input")?;
    let channels = &dims_of(x)[3..];
    let fitting = |end: Value<'_>, name: &str| -> Result<()> {
        let end = of_rank(end, 1, name)?;
        with_shape(&format!("{name} and the channels"), end, channels).map(drop)
    };
    fitting(min, "input_min")?;
    fitting(max, "input_max")?;
    let x = x.cast(DType::I64)?;
    let (lowest, highest) = (x.reduce_min([0, 1, 2])?, x.reduce_max([0, 1, 2])?);
    let magnitude = lowest.abs()?.maximum(highest.abs()?)?.cast(DType::F32)?;
    let scale = min.abs()?.maximum(max.abs()?)?;
    let most = magnitude.mul(scale)?.div(WORDS)?.reduce_max(Axes::all())?;
    let limit = cx.attrs().float("clip_value_max");
    let max = most.minimum(limit)?;
    let has_negative = lowest.reduce_min(Axes::all())?.less(0)?;
    Ok(vec![has_negative.select(max.neg()?, 0.0)?, max])
})
.attrs(&[Attribute::float("clip_value_max")])
.operands(&[Operand::Data("input"), Operand::Data("input_min"), Operand::Data("input_max")])
.outputs(|_, _| 2)
.dtype_rule(|dtypes, _| {
    of_words(dtypes)?;
    Ok(vec![DType::F32; 2])
})
.tensorflow(&[TfOp::new("RequantizationRangePerChannel")]);

/// Checks that the first operand is qi32 and the others are f32.
fn of_words(dtypes: &[DType]) -> Result<()> {
    let [x, ends @ ..] = dtypes else { return quantized_and_ranges(dtypes).map(drop) };
    if *x != DType::QI32 {
        return dtype::refuse(format!("the element type must be qi32, got {x}"));
    }
    all_f32(ends)
}

fn lower(cx: &mut dyn LowerCx, output: usize, index: &[Index]) -> Expr {
    if output > 0 {
        return cx.operand(output + 2, &[]);
    }
    let dtype = cx.output_dtype(0);
    let number = |value: f64| Expr::number(DType::F32, value);
    let [min, max] = [1, 2].map(|operand| cx.broadcast_operand(operand, index));
    let [low, high] = [3, 4].map(|operand| cx.operand(operand, &[]));
    let (from, to) = (min.abs().maximum(max.abs()), low.abs().maximum(high.abs()));
    let (least, greatest) = if dtype == DType::QI8 { (-128.0, 127.0) } else { (0.0, 255.0) };
    let x = cx.operand(0, index).cast(DType::F32) * (from / to * number(greatest / WORDS));
    x.unary(UnaryOp::Round).maximum(number(least)).minimum(number(greatest)).cast(dtype)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Graph;
    use crate::ops::testing::shape_table;

    shape_table! { DEF, {},
        "qi32[n, h, w, ?]; [3]; [3]; []; []" => "qu8[n, h, w, 3]; f32[]; f32[]",
        "qi32[n, h, w, 3]; [1]; [1]; []; []" => "qu8[n, h, w, 3]; f32[]; f32[]",
        "qi32[n, h, w, 3]; [2]; [2]; []; []" => error "broadcast",
        "qi8[n, h, w, 3]; [3]; [3]; []; []" => error "the element type must be qi32, got qi8",
    }

    #[test]
    fn the_lowest_integer_has_the_greatest_magnitude() {
        let g = Graph::new();
        let x = g.constant([[[[i32::MIN, 1]]]]).unwrap().cast(DType::QI32).unwrap();
        let end = |ends: [f32; 2]| g.constant(ends).unwrap();
        let call =
            g.op(&RANGE).data(x).data(end([-3.0, 0.0])).data(end([1.0, 1.0])).attr("clip_value_max", 9.0);
        let outputs = call.finish_all().unwrap();
        let [min, max] = g.compile([outputs[0], outputs[1]]).unwrap().run(&[]).unwrap();
        assert_eq!([min, max].map(|end| end.item::<f32>().unwrap()), [-3.0, 3.0]);
    }
}
