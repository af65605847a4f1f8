//! `approx_top_k`: the largest elements of each row, under the attributes of TensorFlow's `ApproxTopK`.

use shapeflow_shape_fns::{Attribute, DType};

use super::top_k;
use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::Value;
use crate::op::{CompositeCx, OpDef, Operand, TfOp};

/// An op for import only: `[.., d] -> [.., k], i32[.., k]`, f16, bf16 or f32. As TensorFlow's `ApproxTopK`, which finds
/// exactly the largest elements on a CPU: `recall_target` and `reduction_input_size_override` have no effect. As there,
/// the axis must be the last one, given as -1, and smallest elements are not supported.
pub(crate) static DEF: OpDef = OpDef::composite("approx_top_k", build)
    .attrs(&[
        Attribute::int("k"),
        Attribute::int_or("reduction_dimension", -1),
        Attribute::float_or("recall_target", 0.95),
        Attribute::bool_or("is_max_k", true),
        Attribute::int_or("reduction_input_size_override", -1),
        Attribute::bool_or("aggregate_to_topk", true),
    ])
    .operands(&[Operand::Data("input")])
    .outputs(|_, _| 2)
    .dtype_rule(|dtypes, _| Ok(vec![dtype::common(dtypes, 0, 1, dtype::Class::Float)?, DType::I32]))
    .tensorflow(&[TfOp::new("ApproxTopK")]);

fn build<'g>(cx: &CompositeCx<'_>, values: &[Value<'g>]) -> Result<Vec<Value<'g>>> {
    let (x, attrs) = (values[0], cx.attrs());
    if !matches!(x.dtype(), DType::F16 | DType::BF16 | DType::F32) {
        return dtype::refuse(format!("input must be f16, bf16 or f32, got {}", x.dtype()));
    }
    let refuse = |message: String| Err(Error::new(ErrorKind::Attribute, Phase::Build, message));
    if attrs.int("reduction_dimension") != -1 {
        return refuse(format!("reduction_dimension must be -1, got {}", attrs.int("reduction_dimension")));
    }
    for name in ["is_max_k", "aggregate_to_topk"] {
        if !attrs.bool(name) {
            return refuse(format!("{name} must be true, got false"));
        }
    }
    let call = x.graph().op(&top_k::DEF).data(x).size("k", attrs.int("k"));
    call.attr("index_type", DType::I32).finish_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Graph;
    use crate::tensor::Tensor;

    #[test]
    fn the_result_is_exact() -> Result<()> {
        let g = Graph::new();
        let x = g.constant([[1.0f32, 5.0, 3.0, 5.0], [4.0, 0.0, -1.0, 2.0]])?;
        let call = |axis: i64, is_max: bool| {
            let call = g.op(&DEF).data(x).attr("k", 2).attr("reduction_dimension", axis);
            call.attr("is_max_k", is_max).finish_all()
        };
        let [values, positions] = g.compile(&call(-1, true)?[..])?.run(&[])?;
        assert_eq!(values, Tensor::from([[5.0f32, 5.0], [4.0, 2.0]]));
        assert_eq!(positions, Tensor::from([[1i32, 3], [0, 3]]));
        for (axis, is_max, message) in
            [(0, true, "reduction_dimension must be -1, got 0"), (-1, false, "is_max_k must be true")]
        {
            let error = call(axis, is_max).unwrap_err();
            assert!(error.message().contains(message), "{error}");
        }
        let whole = g.op(&DEF).data(g.constant([1, 2])?).attr("k", 1).finish_all().unwrap_err();
        assert!(whole.message().contains("input must be f16, bf16 or f32"), "{whole}");
        Ok(())
    }
}
