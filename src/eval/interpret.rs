//! The expression interpreter over tensors: every element of one output.

use shapeflow_shape_fns::{DType, Dim};
use smallvec::SmallVec;

use super::Template;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::expr::{Axis, Env, Evaluator, Expr, Fault, Program, Scalar, scalar_dtype};
use crate::tensor::{Tensor, TensorView};

/// Computes the tensor of `dtype` and `sizes` whose elements the template gives for these operands.
///
/// # Errors
/// An index is outside its axis, an integer is divided by zero, or memory is refused.
pub(super) fn interpret(
    template: &Template,
    dtype: DType,
    sizes: &[usize],
    operands: &[TensorView<'_>],
) -> Result<Tensor> {
    // An expression of a dtype without scalars would give zeros.
    let mut dtypes = template.order.iter().map(Expr::dtype);
    if let Some(dtype) = dtypes.find(|dtype| scalar_dtype(*dtype).is_none()) {
        return Err(uncomputed(dtype, Phase::Run));
    }
    let mut result = Tensor::zeros(dtype, sizes)?;
    let axes: Vec<Axis> = (0..template.rank as u32).map(Axis).collect();
    let program = Program::new(template.root(), &axes);
    fill(&mut result, &program, operands).map_err(|fault| fault_error(&fault))?;
    Ok(result)
}

/// Returns the error about elements that no kernel computes.
pub(crate) fn uncomputed(dtype: DType, phase: Phase) -> Error {
    let message = format!("no kernel computes {dtype}: kernels take bool, integers and floats");
    Error::new(ErrorKind::Compile, phase, message)
}

/// Computes every element of `result`.
fn fill(result: &mut Tensor, program: &Program, views: &[TensorView<'_>]) -> Result<(), Fault> {
    let scalar = |source: u32, bytes: Option<&[u8]>| {
        let dtype = views.get(source as usize).map_or(DType::F32, |view| view.dtype());
        // A load outside its operand reads a zero.
        Ok(bytes.and_then(|bytes| Scalar::from_bytes(dtype, bytes)).unwrap_or_else(|| Scalar::zero(dtype)))
    };
    let load = |source: u32, index: &[i64]| {
        scalar(source, views.get(source as usize).and_then(|view| view.element_at(index)))
    };
    let load_flat = |source: u32, at: i64| {
        let view = views.get(source as usize);
        scalar(source, usize::try_from(at).ok().and_then(|at| view.and_then(|view| view.element(at))))
    };
    let dim = |dim: &Dim| dim.as_known().unwrap_or(0);
    let env = Env { load: &load, load_flat: &load_flat, dim: &dim, fused: crate::expr::fused_mul_add() };
    let mut evaluator = Evaluator::new(program, &env);
    let sizes: SmallVec<[usize; 6]> = result.sizes().iter().copied().collect();
    let count = result.len();
    let Ok(mut out) = result.view_mut() else { return Ok(()) };
    let mut position: SmallVec<[i64; 6]> = SmallVec::from_elem(0, sizes.len());
    for linear in 0..count {
        let scalar = evaluator.element(&position)?;
        if let Some(bytes) = out.element_mut(linear) {
            scalar.write_bytes(bytes);
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

/// Makes the error for a failed check.
fn fault_error(fault: &Fault) -> Error {
    match fault {
        Fault::Index { index, limit, axis } => Error::new(
            ErrorKind::Index,
            Phase::Run,
            format!("an index into axis {axis} must lie in [0, {limit}), got {index}"),
        ),
        Fault::DivideByZero => {
            Error::new(ErrorKind::DivideByZero, Phase::Run, "an integer must not be divided by zero")
        }
    }
}
