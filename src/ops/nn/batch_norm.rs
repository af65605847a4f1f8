//! `batch_norm`: normalizes each channel by a known mean and variance.

use std::panic::Location;

use shapeflow_shape_fns::{Attribute, Attrs, DType, Dim, InferenceContext, TensorShape};

use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::expr::{Expr, Index, LowerCx, math};
use crate::graph::{IntoOperand, Value};
use crate::op::{OpDef, Operand, TfOp};
use crate::ops::widen::widen;
use crate::shape_fns;

impl<'g> Value<'g> {
    /// `(x - mean[c]) / sqrt(variance[c] + epsilon) * scale[c] + offset[c]` for every element of channel `c`.
    ///
    /// `[n, h, w, c], 4 × [c] -> [n, h, w, c]`, floats. The channels are the last axis. f16 and bf16 are computed as
    /// f32 and rounded once. The four parameters are f32 for f16 and bf16; for f32 and f64 they have the element type.
    /// As TensorFlow's `FusedBatchNormV3` outside of training; imported graphs may use its other formats. Fuses into
    /// kernels.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, TensorView, shape};
    ///
    /// let g = Graph::new();
    /// let x = g.input("x", DType::F32, shape!["n", 1, 1, 2])?;
    /// let [scale, offset] = [g.constant([2.0f32, 1.0])?, g.constant([0.0f32, 5.0])?];
    /// let [mean, variance] = [g.constant([1.0f32, 0.0])?, g.constant([4.0f32, 1.0])?];
    /// let exe = g.compile(x.batch_norm(scale, offset, mean, variance, 0.0)?)?;
    /// let [y] = exe.run(&[TensorView::new(&[1, 1, 1, 2], &[3.0f32, -1.0])?])?;
    /// assert_eq!(y.to_vec::<f32>()?, [2.0, 4.0]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The rank is not 4, a parameter does not have one element per channel, or a dtype is not supported.
    #[doc(alias = "batch_normalization")]
    #[track_caller]
    pub fn batch_norm(
        self,
        scale: impl IntoOperand<'g>,
        offset: impl IntoOperand<'g>,
        mean: impl IntoOperand<'g>,
        variance: impl IntoOperand<'g>,
        epsilon: f64,
    ) -> Result<Value<'g>> {
        let location = Location::caller();
        let [scale, offset] = [scale.into_operand(self, location), offset.into_operand(self, location)];
        let [mean, variance] = [mean.into_operand(self, location), variance.into_operand(self, location)];
        let call = self.graph().op(&DEF).data(self).data(scale).data(offset).data(mean).data(variance);
        let outputs = call.attr("epsilon", epsilon).attr("is_training", false).finish_all_at(location)?;
        Ok(outputs[0])
    }
}

pub(super) const OPERANDS: &[Operand] = &[
    Operand::Data("x"),
    Operand::Data("scale"),
    Operand::Data("offset"),
    Operand::Data("mean"),
    Operand::Data("variance"),
];

/// Output 0 is the normalized `x`. Outputs 1 to 4 are the operands `mean`, `variance`, `mean`, `variance`. Outside of
/// training, TensorFlow leaves outputs 3 and 4 unset. In training, `batch_norm_training` computes all outputs.
pub(crate) static DEF: OpDef = OpDef::compute("batch_norm", lower)
    .attrs(&[
        Attribute::float_or("epsilon", 1e-4f32 as f64),
        Attribute::bool_or("is_training", true),
        Attribute::str_or("data_format", "NHWC"),
    ])
    .operands(OPERANDS)
    .outputs(|_, _| 5)
    .shape_fn(shape_fns::nn::fused_batch_norm)
    .dtype_rule(|dtypes, attrs| output_dtypes(dtypes, attrs, 5))
    .tensorflow(&[TfOp::new("FusedBatchNorm"), TfOp::new("FusedBatchNormV2")]);

/// Has one more output than [`DEF`]: an empty vector. TensorFlow's kernel for the CPU does not use this output.
pub(crate) static WITH_RESERVE: OpDef = OpDef::compute("batch_norm_with_reserve", lower)
    .attrs(&[
        Attribute::float_or("epsilon", 1e-4f32 as f64),
        Attribute::bool_or("is_training", true),
        Attribute::str_or("data_format", "NHWC"),
    ])
    .operands(OPERANDS)
    .outputs(|_, _| 6)
    .shape_fn(shape_with_reserve)
    .dtype_rule(|dtypes, attrs| output_dtypes(dtypes, attrs, 6))
    .tensorflow(&[TfOp::new("FusedBatchNormV3")]);

fn shape_with_reserve(cx: &mut InferenceContext<'_>) -> shapeflow_shape_fns::Result<()> {
    shape_fns::nn::fused_batch_norm(cx)?;
    cx.set_output(5, TensorShape::new([Dim::known(0)]));
    Ok(())
}

/// Returns the dtypes of `x`, the first of the operands, and of its parameters, the operands before number `end`.
pub(super) fn parameter_dtypes(dtypes: &[DType], end: usize) -> Result<[DType; 2]> {
    let x = dtype::common(dtypes, 0, 1, dtype::Class::Float)?;
    let parameter = dtype::common(dtypes, 1, end, dtype::Class::Float)?;
    let expected = if matches!(x, DType::F16 | DType::BF16) { DType::F32 } else { x };
    if parameter != expected {
        return dtype::refuse(format!("the parameters of {x} must be {expected}, got {parameter}"));
    }
    Ok([x, parameter])
}

fn output_dtypes(dtypes: &[DType], attrs: &Attrs, outputs: usize) -> Result<Vec<DType>> {
    let [x, parameter] = parameter_dtypes(dtypes, 5)?;
    // TensorFlow's default is training.
    if attrs.bool("is_training") {
        let message = "is_training must be false: batch_norm_training computes the moments";
        return Err(Error::new(ErrorKind::Attribute, Phase::Build, message));
    }
    let mut outputs = vec![parameter; outputs];
    outputs[0] = x;
    Ok(outputs)
}

fn lower(cx: &mut dyn LowerCx, output: usize, index: &[Index]) -> Expr {
    match output {
        0 => {}
        // Output 5 has no elements, so its expression never runs.
        1 | 3 | 5 => return cx.operand(3, index),
        _ => return cx.operand(4, index),
    }
    let channels_first = cx.attrs().str("data_format").starts_with("NC");
    let channel = [index[if channels_first { 1 } else { index.len() - 1 }].clone()];
    let epsilon = cx.attrs().float("epsilon");
    let [scale, offset, mean, variance] = [1, 2, 3, 4].map(|operand| cx.operand(operand, &channel));
    let epsilon = variance.like(epsilon);
    let factor = math::rsqrt(variance + epsilon) * scale;
    let x = cx.operand(0, index);
    let dtype = x.dtype();
    ((widen(x) - mean) * factor + offset).cast(dtype)
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::Attrs;

    use super::*;
    use crate::ops::testing::{check_tensor, run_one, shape_table, tensor};

    shape_table! { DEF, {"is_training": false},
        "[n, h, w, ?]; [c]; [3]; [c]; [c]" => "[d0_0, d0_1, d0_2, 3]; [3]; [3]; [3]; [3]",
        "[n, 4, 4, 2]; [3]; [2]; [2]; [2]" => error "scale must have one element per channel, got 3 for 2 channels",
        "[n, 4]; [2]; [2]; [2]; [2]" => error "rank",
    }
    shape_table! { training: DEF, {},
        "[n, 4, 4, 2]; [2]; [2]; [2]; [2]" => error "is_training must be false",
    }
    shape_table! { with_reserve: WITH_RESERVE, {"is_training": false, "data_format": "NCHW"},
        "[n, 2, 4, 4]; [2]; [2]; [2]; [2]" => "[d0_0, 2, 4, 4]; [2]; [2]; [2]; [2]; [0]",
    }

    /// Compares with the definition, computed in f64 element by element.
    #[test]
    fn channels_are_normalized_one_by_one() {
        let x: Vec<f64> = (0..24).map(|x| f64::from(x) * 0.7 - 5.0).collect();
        let parameters = [[2.0, -1.0, 0.5], [1.0, 0.0, -3.0], [0.25, -2.0, 4.0], [1.5, 0.1, 9.0]];
        let normalized = |x: f64, c: usize| {
            let [scale, offset, mean, variance] = parameters.map(|parameter| parameter[c]);
            (x - mean) / (variance + 1e-3f64).sqrt() * scale + offset
        };
        let attrs = Attrs::new().with("is_training", false).with("epsilon", 1e-3);
        let operands = |sizes: &[usize]| {
            let mut operands = vec![tensor(sizes, &x)];
            operands.extend(parameters.map(|parameter| tensor(&[3], &parameter)));
            operands
        };
        let last: Vec<f64> = x.iter().enumerate().map(|(i, x)| normalized(*x, i % 3)).collect();
        let y = run_one(&DEF, &attrs, &operands(&[2, 2, 2, 3]));
        check_tensor(&y, &tensor(&[2, 2, 2, 3], &last), "channels last");
        let first: Vec<f64> = x.iter().enumerate().map(|(i, x)| normalized(*x, i / 4 % 3)).collect();
        let y = run_one(&DEF, &attrs.with("data_format", "NCHW"), &operands(&[2, 3, 2, 2]));
        check_tensor(&y, &tensor(&[2, 3, 2, 2], &first), "channels first");
    }
}
