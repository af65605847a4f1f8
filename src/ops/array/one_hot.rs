//! `one_hot`: encodes indices along a new axis.

use shapeflow_shape_fns::{Attribute, Attrs, DType};

use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx};
use crate::graph::{IntoParam, Value, one_dtype};
use crate::op::{OpDef, Operand, TfOp};

use super::axis::{body_axis, without};
use super::scalar::IntoScalar;

impl<'g> Value<'g> {
    /// Adds an axis `axis` of size `depth`: `out[.., j, ..] = if self[..] == j { on } else { off }`.
    ///
    /// `[d0, …], on [], off [] -> [.., depth, ..]`. `self` holds integers; an index outside `[0, depth)` gives `off`
    /// everywhere. `on` and `off` are Rust numbers or scalar values of one dtype; the result has their dtype. Rust
    /// numbers take one dtype by the rule of [`IntoOperand`](crate::IntoOperand): `1.0f32` and `0.0` give f32. An
    /// `axis` of -1 is the last axis of the result. As TensorFlow's `OneHot`. Fuses into kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let identity = g.constant([0, 1, 2])?.one_hot(3, 1, 0, -1)?;
    /// let rows = g.constant([0, 2, -1, 1])?.one_hot(3, 5.0, 0.0, -1)?;
    /// let matrices = g.constant([[0, 2], [1, -1]])?.one_hot(3, 1, 0, -1)?;
    /// let [identity, rows, matrices] = g.compile([identity, rows, matrices])?.run(&[])?;
    /// assert_eq!(identity, Tensor::from([[1, 0, 0], [0, 1, 0], [0, 0, 1]]));
    /// assert_eq!(rows, Tensor::from([[5.0, 0.0, 0.0], [0.0, 0.0, 5.0], [0.0, 0.0, 0.0], [0.0, 5.0, 0.0]]));
    /// assert_eq!(matrices, Tensor::from([[[1, 0, 0], [0, 0, 1]], [[0, 1, 0], [0, 0, 0]]]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// `depth` is negative, the axis is out of range, `self` does not hold integers, or values `on` and `off` differ in
    /// dtype.
    #[track_caller]
    pub fn one_hot(
        self,
        depth: impl IntoParam<'g>,
        on: impl IntoScalar<'g>,
        off: impl IntoScalar<'g>,
        axis: impl IntoParam<'g>,
    ) -> Result<Value<'g>> {
        let location = std::panic::Location::caller();
        let graph = self.graph();
        let sources = [on.into_source(graph, location), off.into_source(graph, location)];
        let [on, off] = one_dtype(graph, location, sources);
        graph.op(&DEF).data(self).size("depth", depth).data(on).data(off).int_attr("axis", axis).finish()
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("one_hot", lower)
    .attrs(&[Attribute::int_or("axis", -1)])
    .operands(&[
        Operand::Data("indices"),
        Operand::Size("depth"),
        Operand::Data("on_value"),
        Operand::Data("off_value"),
    ])
    .shape_fn(shapeflow_shape_fns::array::one_hot)
    .dtype_rule(dtypes)
    .tensorflow(&[TfOp::new("OneHot")]);

fn dtypes(operands: &[DType], _: &Attrs) -> Result<Vec<DType>> {
    if let Some(other) = operands.first().filter(|dtype| !dtype.is_integer()) {
        return dtype::refuse_with_help(
            format!("indices must be integers, got {other}"),
            "cast them with .cast(DType::I64)".to_string(),
        );
    }
    let values = operands.len().saturating_sub(2);
    dtype::check_indices(operands.get(1..values).unwrap_or_default(), 0)?;
    Ok(vec![dtype::common(operands, values, operands.len(), dtype::Class::Any)?])
}

fn lower(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    let axis = body_axis(cx);
    let position = &index[axis];
    let read = without(index, axis);
    let given = cx.operand(0, &read).cast(DType::I64);
    let values = cx.operands() - 2;
    let (on, off) = (cx.operand(values, &[]), cx.operand(values + 1, &[]));
    given.equal(Expr::iota(position.clone())).select(on, off)
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::Attr;

    use super::*;
    use crate::expr::{Scalar, eval_cast};
    use crate::ops::testing::{recorded, run, shape_table};
    use crate::tensor::Tensor;

    shape_table! { DEF, {"depth": 4, "axis": -1},
        "i32[n, 3]; []; []" => "[n, 3, 4]",
        "u8[]; bool[]; bool[]" => "bool[4]",
        "[n]; []; []" => error "indices must be integers, got f32",
        "i32[n]; []; f64[]" => error "operands must have one dtype, got f32 and f64",
    }
    shape_table! { first: DEF, {"axis": 0},
        "i64[n]; depth=i32[]; []; []" => "[?, n]",
    }

    #[test]
    fn values_are_those_recorded() {
        // The cases give both values as attributes; the defaults are 1 and 0.
        static NAMED: OpDef = OpDef::host("one_hot", |cx| {
            let Some(Attr::DType(dtype)) = cx.attrs().get("dtype") else { panic!("no dtype") };
            let scalar = |name: &str, default: f64| {
                let value = match cx.attrs().get(name) {
                    Some(Attr::Int(value)) => *value as f64,
                    Some(Attr::Float(value)) => *value,
                    Some(Attr::Bool(value)) => f64::from(u8::from(*value)),
                    _ => default,
                };
                let mut tensor = Tensor::zeros(*dtype, &[]).unwrap();
                eval_cast(Scalar::F64(value), *dtype)
                    .write_bytes(tensor.view_mut().unwrap().bytes_mut())
                    .unwrap();
                tensor
            };
            let operands = [cx.input(0)?.to_tensor()?, scalar("on_value", 1.0), scalar("off_value", 0.0)];
            let output = run(&DEF, cx.attrs(), &operands)?;
            cx.set_output(0, output.into_iter().next().unwrap())
        })
        .operands(&[Operand::Data("indices")])
        .shape_fn(shapeflow_shape_fns::array::one_hot)
        .dtype_rule(|_, attrs| Ok(vec![attrs.dtype("dtype")]));
        recorded(&NAMED);
    }
}
