//! The body and the dtype rule that `argmax` and `argmin` share.

use shapeflow_shape_fns::{Attrs, DType, Dim};

use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, FoldOp, Index, LowerCx, Scalar};
use crate::ops::derived;

/// Operands of any scalar dtype; the result has that of attribute `output_type`, i64 without one.
pub(crate) fn dtypes(dtypes: &[DType], attrs: &Attrs) -> Result<Vec<DType>> {
    dtype::common(dtypes, 0, 1, dtype::Class::Scalar)?;
    dtype::indices(dtypes, 1)?;
    let result = dtype::attribute(attrs, "output_type")?.unwrap_or(DType::I64);
    match result {
        DType::I32 | DType::I64 => Ok(vec![result]),
        other => dtype::refuse(format!("output_type must be i32 or i64, got {other}")),
    }
}

/// The first place of the extreme element along parameter `axis`; NaN counts as `worst`, which no element passes.
pub(crate) fn lower(cx: &mut dyn LowerCx, output: usize, index: &[Index], op: FoldOp, worst: f64) -> Expr {
    let axis = derived::axes(cx).first().copied().unwrap_or(0);
    let extent = cx.dims(0).get(axis).cloned().unwrap_or(Dim::known(1));
    let element = |cx: &mut dyn LowerCx, at: &Index| {
        let mut place = index.to_vec();
        place.insert(axis.min(place.len()), at.clone());
        let x = cx.operand(0, &place);
        match x.dtype() {
            DType::Bool => x.cast(DType::U8),
            dtype if dtype.is_float() => {
                let worst = x.like(worst);
                x.clone().equal(x.clone()).select(x, worst)
            }
            _ => x,
        }
    };
    let extents = [extent];
    let extreme = cx.fold(op, &extents, &mut |cx, at| element(cx, &at[0]));
    let dtype = cx.output_dtype(output);
    let nowhere = Expr::constant(Scalar::highest(dtype));
    cx.fold(FoldOp::Min, &extents, &mut |cx, at| {
        let here = Expr::iota(at[0].clone()).cast(dtype);
        element(cx, &at[0]).equal(extreme.clone()).select(here, nowhere.clone())
    })
}
