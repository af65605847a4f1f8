//! `verify`: checks that every node of an expression is well typed.

use shapeflow_shape_fns::DType;

use super::scalar::{EMPTY_STRING, Scalar, scalar_dtype};
use super::{BinaryOp, Expr, ExprKind, ReduceOp, UnaryOp};

/// Checks the dtypes of every node of a [`post_order`](super::post_order): the arguments of an operation agree,
/// conditions are bool, and every operation is defined on the dtypes of its arguments.
///
/// Loads, `Select` and `Case` accept elements of every dtype, also strings; comparisons accept strings, and a sum
/// accepts complex numbers. `Complex` joins two parts into a complex number, and `Part` takes a part out. The other
/// nodes refuse strings and complex numbers, because no `Scalar` holds them; only the empty string may be a constant.
/// The message of a violation gives the requirement, then the expression, shortened.
pub(crate) fn verify<'a>(order: impl IntoIterator<Item = &'a Expr>) -> Result<(), String> {
    order.into_iter().try_for_each(|expr| check(expr).map_err(|what| format!("{what}, in {}", expr.brief())))
}

/// Checks the dtypes of one node and of its children.
fn check(expr: &Expr) -> Result<(), String> {
    let dtype = expr.dtype();
    let is_bits = |dtype: DType| dtype == DType::Bool || dtype.is_integer();
    match expr.kind() {
        ExprKind::Const(value) => {
            let is_empty_string = dtype == DType::String && *value == EMPTY_STRING;
            require(is_empty_string || scalar_dtype(dtype) == Some(value.dtype()), || match value {
                Scalar::F64(value) if dtype.is_integer() => {
                    format!("a constant of {dtype} must be an integer of this dtype, got {value}")
                }
                _ => format!("a constant must have the dtype of its value {}, got {dtype}", value.dtype()),
            })
        }
        ExprKind::Size(_) => require(dtype == DType::I64, || format!("a size must be an i64, got {dtype}")),
        ExprKind::Iota(index) => {
            require(dtype == DType::I64, || format!("an index must be an i64, got {dtype}"))?;
            check_values(index)
        }
        ExprKind::Load { index, .. } => index.iter().try_for_each(check_values),
        ExprKind::LoadFlat { position, .. } => check_values(position),
        ExprKind::Unary(op, x) => {
            same("the result", dtype, x.dtype())?;
            let fits = match op {
                UnaryOp::Neg | UnaryOp::Abs => dtype.is_float() || dtype.is_integer(),
                UnaryOp::Not => is_bits(dtype),
                UnaryOp::Sqrt | UnaryOp::Floor | UnaryOp::Ceil | UnaryOp::Trunc | UnaryOp::Round => {
                    dtype.is_float()
                }
            };
            require(fits, || format!("{op:?} is not defined on {dtype}"))
        }
        ExprKind::Binary(op, a, b) => {
            require(a.dtype() == b.dtype(), || {
                format!("{op:?} needs two values of one dtype, got {} and {}", a.dtype(), b.dtype())
            })?;
            same("the result", dtype, if op.is_comparison() { DType::Bool } else { a.dtype() })?;
            let of = a.dtype();
            let fits = match op {
                BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => is_bits(of),
                BinaryOp::Shl | BinaryOp::Shr => of.is_integer(),
                // Quantized and 4-bit elements compare as integers. `Eq` and `Ne` are not defined on floats of 8 bits.
                BinaryOp::Eq | BinaryOp::Ne => {
                    is_bits(of) || of.is_float() || of.is_quantized() || of.is_int4() || of == DType::String
                }
                BinaryOp::Lt | BinaryOp::Le if of == DType::String => true,
                BinaryOp::LargeAngle(_) => of == DType::F64,
                _ => of.is_float() || of.is_integer(),
            };
            require(fits, || format!("{op:?} is not defined on {of}"))
        }
        ExprKind::MulAdd(a, b, c) => {
            same("the second argument", a.dtype(), b.dtype())?;
            same("the third argument", a.dtype(), c.dtype())?;
            same("the result", dtype, a.dtype())?;
            require(dtype.is_float(), || format!("MulAdd is not defined on {dtype}"))
        }
        ExprKind::Select(condition, yes, no) => {
            same("the condition", condition.dtype(), DType::Bool)?;
            same("the second choice", yes.dtype(), no.dtype())?;
            same("the result", dtype, yes.dtype())
        }
        ExprKind::Cast(x) => {
            let converts = |dtype: DType| is_bits(dtype) || dtype.is_float();
            require(converts(dtype) && converts(x.dtype()), || {
                format!("cast is not defined from {} to {dtype}", x.dtype())
            })
        }
        ExprKind::Bitcast(x) => {
            let size = |dtype: DType| scalar_dtype(dtype).and_then(DType::size_bytes);
            let fits = dtype != DType::Bool && size(dtype).is_some() && size(dtype) == size(x.dtype());
            require(fits, || {
                format!(
                    "bitcast needs two dtypes of equal size other than bool, got {} and {dtype}",
                    x.dtype()
                )
            })
        }
        ExprKind::Case(arms, otherwise) => {
            for (ranges, value) in arms {
                same("an arm", value.dtype(), dtype)?;
                ranges.iter().try_for_each(|range| check_values(&range.index))?;
            }
            same("the last arm", otherwise.dtype(), dtype)
        }
        ExprKind::Reduce { op, axes, body } => {
            same("the result", dtype, body.dtype())?;
            let fits = match op {
                ReduceOp::All | ReduceOp::Any => dtype == DType::Bool,
                ReduceOp::Sum if dtype.is_complex() => true,
                ReduceOp::Sum | ReduceOp::Prod | ReduceOp::Max | ReduceOp::Min => {
                    dtype.is_float() || dtype.is_integer()
                }
            };
            require(fits, || format!("a reduction by {op:?} is not defined on {dtype}"))?;
            let repeated =
                axes.iter().enumerate().any(|(k, (axis, _))| axes[..k].iter().any(|(a, _)| a == axis));
            require(!repeated, || "a reduction must not bind an axis twice".to_owned())
        }
        ExprKind::Complex(real, imaginary) => {
            same("the imaginary part", imaginary.dtype(), real.dtype())?;
            require(dtype.part() == Some(real.dtype()), || {
                format!("the parts of a {dtype} must be floats of half its size, got {}", real.dtype())
            })
        }
        ExprKind::Part(_, x) => require(x.dtype().part() == Some(dtype), || {
            format!("a part must be taken from a complex number, got {}", x.dtype())
        }),
        ExprKind::CheckIndex { value, .. } => {
            require(dtype == DType::I64, || format!("a checked index must be an i64, got {dtype}"))?;
            let fits = matches!(value.dtype(), DType::I32 | DType::I64);
            require(fits, || format!("a run-time index must be i32 or i64, got {}", value.dtype()))
        }
    }
}

/// Checks that the run-time values in an index are i64.
fn check_values(index: &super::Index) -> Result<(), String> {
    let mut result = Ok(());
    index.for_each_value(&mut |value| {
        if value.dtype() != DType::I64 {
            result = Err(format!("a value in an index must be an i64, got {}", value.dtype()));
        }
    });
    result
}

/// Returns the error `what` unless a requirement holds.
fn require(holds: bool, what: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(what()) }
}

/// Checks that `what`, such as an argument, has the dtype that it must have.
fn same(what: &str, got: DType, wanted: DType) -> Result<(), String> {
    require(got == wanted, || format!("{what} must agree in dtype, got {got} and {wanted}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::{Index, post_order};

    fn verify(root: &Expr) -> Result<(), String> {
        super::verify(post_order([root]))
    }

    #[test]
    fn ill_typed_nodes_are_found_below_the_root() {
        let (x, n, flag) = (Expr::constant(1.0f32), Expr::constant(1i32), Expr::constant(true));
        let string =
            Expr::new(DType::String, ExprKind::LoadFlat { source: 0, position: Box::new(0i64.into()) });
        for (bad, message) in [
            (x.clone() + n.clone(), "Add needs two values of one dtype, got f32 and i32, in 1 + 1"),
            (n.clone().sqrt(), "Sqrt is not defined on i32"),
            (flag.clone() + flag.clone(), "Add is not defined on bool"),
            (x.clone() & x.clone(), "And is not defined on f32"),
            (n.clone().mul_add(n.clone(), n.clone()), "MulAdd is not defined on i32"),
            (n.clone().select(x.clone(), x.clone()), "the condition must agree in dtype, got i32 and bool"),
            (flag.clone().select(x.clone(), n.clone()), "the second choice must agree in dtype"),
            (
                x.clone().bitcast(DType::I64),
                "bitcast needs two dtypes of equal size other than bool, got f32 and i64",
            ),
            (string.clone().cast(DType::F32), "cast is not defined from string to f32"),
            (x.like(2.0).cast(DType::String), "cast is not defined from f32 to string"),
            (
                // No constant is a string: `like` gives a bool.
                string.like(2.0) + string.clone(),
                "Add needs two values of one dtype, got bool and string",
            ),
            (Expr::iota(Index::value(n.clone())), "a value in an index must be an i64, got i32"),
            (x.clone().reduce(ReduceOp::All, Default::default()), "a reduction by All is not defined on f32"),
            (Expr::case(vec![(vec![], n.clone())], x.clone()), "an arm must agree in dtype, got i32 and f32"),
        ] {
            let error = verify(&bad).unwrap_err();
            assert!(error.starts_with(message), "{error}");
            assert!(verify(&bad.clone().equal(bad)).is_err());
        }
        verify(&flag.select(string.clone(), Expr::zero(DType::String)).less(string)).unwrap();
        verify(&x.equal(n.cast(DType::F32))).unwrap();
    }
}
