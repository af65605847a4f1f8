//! The body and the dtype rule that `argmax` and `argmin` share.

use shapeflow_shape_fns::{Attrs, DType};

use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, FoldOp, Index, LowerCx, Scalar};

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
    let dims = cx.dims(0);
    let axis = cx.ints("axis").first().copied().unwrap_or(0);
    let axis = usize::try_from(if axis < 0 { axis.saturating_add(dims.len() as i64) } else { axis }).unwrap_or(0);
    let Some(extent) = dims.get(axis).cloned() else {
        let element = cx.operand(0, index);
        return element.cast(cx.output_dtype(output));
    };
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
