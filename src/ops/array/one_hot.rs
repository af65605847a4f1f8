//! `one_hot`: a new axis with one element on.

use shapeflow_shape_fns::{Attrs, DType};

use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx};
use crate::graph::{IntoParam, Value};
use crate::op::{OpDef, Operand, TfOp};

use super::axis::{body_axis, without};

impl<'g> Value<'g> {
    /// A new axis `axis` of size `depth`, on which the element that `self` numbers is `on` and the others
    /// are `off`; an index outside `[0, depth)` turns none on.
    ///
    /// `[d0, …] -> [.., depth, ..]`; `self` is u8, i32 or i64; `on` and `off` are scalars of the result's
    /// dtype. `axis` is -1 for the last of the result. TensorFlow's `OneHot`.
    ///
    /// # Errors
    /// `depth` is negative, the axis out of range, or a dtype is unsuitable.
    #[track_caller]
    pub fn one_hot(self, depth: impl IntoParam<'g>, on: Value<'g>, off: Value<'g>, axis: i64) -> Result<Value<'g>> {
        self.graph().op(&DEF).data(self).size("depth", depth).data(on).data(off).attr("axis", axis).finish()
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("one_hot", lower)
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
        return dtype::refuse(format!("indices must be integers, got {other}; cast them with .cast(DType::I64)"));
    }
    let values = operands.len().saturating_sub(2);
    Ok(vec![dtype::common(operands, values, operands.len(), dtype::Class::Any)?])
}

fn lower(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    let axis = body_axis(cx);
    let Some(place) = index.get(axis) else { return cx.operand(0, index) };
    let read = without(index, axis);
    let given = cx.operand(0, &read).cast(DType::I64);
    let values = cx.operands() - 2;
    let (on, off) = (cx.operand(values, &[]), cx.operand(values + 1, &[]));
    given.equal(Expr::iota(place.clone())).select(on, off)
}
