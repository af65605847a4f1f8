//! The expression interpreter over tensors: every element of one output.

use shapeflow_shape_fns::{DType, Dim};
use smallvec::SmallVec;

use super::Template;
use super::handles::handle_dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::expr::{
    Axis, EXPONENT, ElementRead, Env, Evaluator, Expr, ExprProgram, Fault, Interner, SIZE, Scalar,
    StorageForm, StorageForms, is_own_storage_form, scalar_dtype,
};
use crate::tensor::{Tensor, TensorView, place_text};

/// Computes the tensor of `dtype` and `sizes` whose elements the template gives for these operands. A string
/// operand arrives as i64 handles: integers that stand for the strings.
///
/// # Errors
/// An index is outside its axis, an integer is divided by zero, or memory is refused.
pub(super) fn interpret(
    template: &Template,
    dtype: DType,
    sizes: &[usize],
    operands: &[TensorView<'_>],
) -> Result<Tensor> {
    let mut dtypes = template.order.iter().map(Expr::dtype);
    if let Some(dtype) = dtypes.find(|dtype| !is_computed(handle_dtype(*dtype))) {
        return Err(uncomputed(dtype, Phase::Run));
    }
    let mut result = Tensor::zeros(dtype, sizes)?;
    let axes: Vec<Axis> = (0..template.rank as u32).map(Axis).collect();
    // An expression whose elements are stored in another form than they are computed in, such as a complex number, is
    // rewritten to its storage form.
    let program = |expr: &Expr| ExprProgram::new(expr, &axes);
    let programs: SmallVec<[ExprProgram; 2]> =
        if template.order.iter().all(|expr| is_own_storage_form(expr.dtype())) {
            [program(template.root())].into_iter().collect()
        } else {
            match StorageForms::new(&mut Interner::new()).of(template.root()) {
                StorageForm::Whole(expr) => [program(&expr)].into_iter().collect(),
                StorageForm::Parts { parts, .. } => parts.iter().map(program).collect(),
            }
        };
    fill(&mut result, &programs, operands)?;
    Ok(result)
}

/// Returns whether kernels and the interpreter compute elements of `dtype`.
pub(crate) fn is_computed(dtype: DType) -> bool {
    dtype.is_complex() || scalar_dtype(dtype).is_some()
}

/// Returns the error about elements of a dtype that kernels do not support.
pub(crate) fn uncomputed(dtype: DType, phase: Phase) -> Error {
    let message = format!("kernels do not support elements of dtype {dtype}");
    Error::new(ErrorKind::Compile, phase, message)
}

/// Computes every element of `result`. A complex number has a program for each part.
///
/// # Errors
/// An index is outside its axis, or an integer is divided by zero. The error names the element of the operand.
fn fill(result: &mut Tensor, programs: &[ExprProgram], views: &[TensorView<'_>]) -> Result<()> {
    let dtype_of = |source: u32| views.get(source as usize).map_or(DType::F32, |view| view.dtype());
    let scalar = |source: u32, part: i64, bytes: Option<&[u8]>| {
        let dtype = dtype_of(source).part().unwrap_or(dtype_of(source));
        let start = part as usize * dtype.size_bytes().unwrap_or(0);
        let scalar = bytes.and_then(|bytes| Scalar::from_bytes(dtype, bytes.get(start..)?));
        scalar.ok_or(Fault::Outside { source })
    };
    let load = |source: u32, index: &[i64]| {
        let (part, index) = match index {
            [index @ .., part] if dtype_of(source).is_complex() => (*part, index),
            index => (0, index),
        };
        scalar(source, part, views.get(source as usize).and_then(|view| view.element_at(index)))
    };
    let load_flat = |source: u32, at: i64| {
        let (part, at) = if dtype_of(source).is_complex() { (at & 1, at >> 1) } else { (0, at) };
        let view = views.get(source as usize);
        scalar(source, part, usize::try_from(at).ok().and_then(|at| view.and_then(|view| view.element(at))))
    };
    let dim = |dim: &Dim| dim.as_known().expect("every size is known when elements are computed");
    let env = Env { load: &load, load_flat: &load_flat, dim: &dim, fused: crate::expr::fused_mul_add() };
    let mut evaluators: SmallVec<[Evaluator<'_>; 2]> =
        programs.iter().map(|program| Evaluator::new(program, &env)).collect();
    let sizes: SmallVec<[usize; 6]> = result.sizes().iter().copied().collect();
    let count = result.len();
    let mut out = result.view_mut()?;
    let mut position: SmallVec<[i64; 6]> = SmallVec::from_elem(0, sizes.len());
    for linear in 0..count {
        let mut start = 0;
        for evaluator in &mut evaluators {
            let scalar = match evaluator.element(&position) {
                Ok(scalar) => scalar,
                Err(fault) => return Err(fault_error(&fault, evaluator.faulty_read(), views)),
            };
            let bytes = out.element_mut(linear).expect("the position is below the number of elements");
            let size = bytes.len() / programs.len();
            scalar.write_bytes(&mut bytes[start..start + size]);
            start += size;
        }
        for axis in (0..sizes.len()).rev() {
            position[axis] += 1;
            if (position[axis] as usize) < sizes[axis] {
                break;
            }
            position[axis] = 0;
        }
    }
    Ok(())
}

/// Makes the error for `fault`. `read` is the element of an operand that gave the faulty value; for a read outside an
/// operand, it is that read.
fn fault_error(fault: &Fault, read: Option<ElementRead>, views: &[TensorView<'_>]) -> Error {
    let error = match fault {
        Fault::Index { index, axis: EXPONENT, .. } => Error::new(
            ErrorKind::Data,
            Phase::Run,
            format!("the exponent of an integer must not be negative, got {index}"),
        ),
        Fault::Index { index, axis: SIZE, .. } => {
            Error::new(ErrorKind::Shape, Phase::Run, format!("every size must fit i32, got {index}"))
        }
        Fault::Index { index, limit, axis } => Error::new(
            ErrorKind::Index,
            Phase::Run,
            format!("an index into axis {axis} must lie in [0, {limit}), got {index}"),
        ),
        Fault::DivideByZero => {
            Error::new(ErrorKind::DivideByZero, Phase::Run, "an integer must not be divided by zero")
        }
        Fault::Outside { source } => {
            let sizes = views.get(*source as usize).map(|view| view.sizes()).unwrap_or_default();
            let is_outside = |(axis, index): &(usize, &i64)| {
                sizes.get(*axis).is_none_or(|size| !usize::try_from(**index).is_ok_and(|index| index < *size))
            };
            let got = match &read {
                Some(ElementRead::At(_, index)) => match index.iter().enumerate().find(is_outside) {
                    Some((axis, position)) => format!("index {position} at axis {axis}"),
                    None => format!("the index {:?}", &index[..]),
                },
                Some(ElementRead::Flat(_, position)) => format!("position {position}"),
                None => "an index outside".to_string(),
            };
            let message = format!("the body must read inside operand {source} of sizes {sizes:?}, got {got}");
            let origin = (*source as usize, format!("operand {source}"));
            Error::new(ErrorKind::Custom, Phase::Run, message).with_origins(vec![origin])
        }
    };
    match read {
        Some(_) if matches!(fault, Fault::Outside { .. }) => error,
        Some(ElementRead::At(source, index)) if index.is_empty() => error.in_element(source as usize, ""),
        Some(ElementRead::At(source, index)) => {
            error.in_element(source as usize, &format!(" at {:?}", &index[..]))
        }
        Some(ElementRead::Flat(source, position)) => {
            let sizes = views.get(source as usize).map_or(&[][..], |view| view.sizes());
            let position = usize::try_from(position).unwrap_or_default();
            error.in_element(source as usize, &place_text(position, sizes))
        }
        None => error,
    }
}
