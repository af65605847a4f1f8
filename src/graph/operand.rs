//! `IntoOperand`, `IntoShapeArg`: types that convert into an operand or a target shape.

use std::fmt;
use std::panic::Location;

use shapeflow_shape_fns::{DType, Dim, IntoDim, PartialElements, TensorShape};

use super::{Param, Value};
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::expr::Scalar;
use crate::tensor::Tensor;

mod sealed {
    pub trait Sealed {}
}

/// An operand beside a value: another value, a `Result` of one, a tensor, or a Rust scalar.
///
/// A scalar is weak: it takes the dtype of the value beside it, and this dtype must hold it exactly (a float may round
/// to a narrower float).
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an operand of a tensor op",
    note = "a scalar on the left must be f64 or i64: write `x * k` instead of `k * x`"
)]
pub trait IntoOperand<'g>: sealed::Sealed {
    #[doc(hidden)]
    fn into_operand(self, peer: Value<'g>, location: &'static Location<'static>) -> Value<'g>;

    /// Returns whether the operand is a Rust scalar, which takes the dtype of `peer`.
    #[doc(hidden)]
    fn takes_dtype_of_peer(&self) -> bool {
        false
    }
}

impl sealed::Sealed for Value<'_> {}
impl<'g> IntoOperand<'g> for Value<'g> {
    fn into_operand(self, _peer: Value<'g>, _location: &'static Location<'static>) -> Value<'g> {
        self
    }
}

impl sealed::Sealed for Result<Value<'_>> {}
impl<'g> IntoOperand<'g> for Result<Value<'g>> {
    fn into_operand(self, peer: Value<'g>, _location: &'static Location<'static>) -> Value<'g> {
        peer.or_poison(self)
    }
}

impl sealed::Sealed for &Tensor {}
impl<'g> IntoOperand<'g> for &Tensor {
    fn into_operand(self, peer: Value<'g>, location: &'static Location<'static>) -> Value<'g> {
        peer.graph().constant_at(self.clone(), location)
    }
}

macro_rules! weak_scalar {
    ($($T:ident $kind:ident),* $(,)?) => {$(
        impl sealed::Sealed for $T {}
        impl<'g> IntoOperand<'g> for $T {
            fn takes_dtype_of_peer(&self) -> bool {
                true
            }

            fn into_operand(self, peer: Value<'g>, location: &'static Location<'static>) -> Value<'g> {
                let dtype = peer.dtype();
                // The scalar is the real part of a complex number.
                match $kind(self.into(), dtype.part().unwrap_or(dtype)) {
                    Some(scalar) => match scalar_tensor(scalar, dtype) {
                        Ok(tensor) => peer.graph().constant_at(tensor, location),
                        Err(error) => Value::poisoned(peer.graph(), error.at(location), dtype),
                    },
                    None => {
                        let error = does_not_fit(&self, peer).at(location);
                        Value::poisoned(peer.graph(), error, dtype)
                    }
                }
            }
        }
    )*};
}
weak_scalar!(bool weak_bool, u8 weak_int, i32 weak_int, i64 weak_int, f32 weak_float, f64 weak_float);

fn does_not_fit(scalar: &dyn fmt::Debug, peer: Value<'_>) -> Error {
    let (dtype, shape) = (peer.dtype(), peer.shape());
    let message = format!(
        "a scalar takes the dtype of the tensor beside it and must fit it, got {scalar:?} beside {dtype}{shape}"
    );
    let mut error = Error::new(ErrorKind::DType, Phase::Build, message);
    if dtype.is_numeric() {
        error = error.with_help("cast the tensor to a dtype that holds the scalar, with .cast(..)");
    }
    let Ok(index) = peer.index() else { return error };
    let data = peer.graph().read();
    let node = data.values[index.at()].node;
    error.note(
        format!("the tensor comes from {}", data.node_label(node)),
        Some(data.nodes[node.at()].location),
    )
}

/// Makes a tensor of rank 0, whose element is `scalar` or the complex number with this real part.
fn scalar_tensor(scalar: Scalar, dtype: DType) -> Result<Tensor> {
    let mut tensor = Tensor::zeros(dtype, &[])?;
    if let Some(bytes) = tensor.view_mut()?.element_mut(0) {
        scalar.write_bytes(bytes);
    }
    Ok(tensor)
}

fn weak_bool(value: bool, dtype: DType) -> Option<Scalar> {
    (dtype == DType::Bool).then_some(Scalar::Bool(value))
}

fn weak_int(value: i64, dtype: DType) -> Option<Scalar> {
    if dtype == DType::Bool || !dtype.is_numeric() {
        return None;
    }
    let scalar = crate::expr::eval_cast(Scalar::I64(value), dtype);
    // A float takes the nearest value; an integer must hold it exactly.
    let is_held =
        (value >= 0 || dtype.is_signed()) && crate::expr::eval_cast(scalar, DType::I64) == Scalar::I64(value);
    (dtype.is_float() || is_held).then_some(scalar)
}

fn weak_float(value: f64, dtype: DType) -> Option<Scalar> {
    if dtype.is_float() {
        return Some(crate::expr::eval_cast(Scalar::F64(value), dtype));
    }
    let whole = value as i64;
    if whole as f64 == value && whole != i64::MAX { weak_int(whole, dtype) } else { None }
}

/// A target shape: an array or slice of sizes (-1 for a size to be inferred), a [`TensorShape`], or a value that holds
/// the sizes.
pub trait IntoShapeArg<'g> {
    #[doc(hidden)]
    fn into_shape_arg(self) -> Param<'g>;
}

impl<'g> IntoShapeArg<'g> for Value<'g> {
    fn into_shape_arg(self) -> Param<'g> {
        Param::Value(self)
    }
}

impl<'g> IntoShapeArg<'g> for TensorShape {
    fn into_shape_arg(self) -> Param<'g> {
        match self.dims() {
            Some(dims) => Param::Elements(PartialElements::vector(dims.iter().cloned())),
            None => Param::Refused("a target shape must have a known rank, got shape ?".to_string()),
        }
    }
}

impl<'g, T: IntoDim, const N: usize> IntoShapeArg<'g> for [T; N] {
    fn into_shape_arg(self) -> Param<'g> {
        Param::Elements(PartialElements::vector(self.map(IntoDim::into_dim)))
    }
}

impl<'g> IntoShapeArg<'g> for &[i64] {
    fn into_shape_arg(self) -> Param<'g> {
        Param::Elements(PartialElements::vector(self.iter().map(|&size| Dim::known(size))))
    }
}

impl<'g> IntoShapeArg<'g> for &[Dim] {
    fn into_shape_arg(self) -> Param<'g> {
        Param::Elements(PartialElements::vector(self.iter().cloned()))
    }
}
