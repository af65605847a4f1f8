//! `IntoScalar`: the argument type of a scalar operand.

use crate::error::Result;
use crate::graph::{OperandSource, Value};
use crate::tensor::Element;

/// A scalar operand: a Rust number or bool, or a value.
///
/// If no other operand is a tensor, a number keeps its type: `1.0` is f64, `1.0f32` is f32. Scalars of one call take
/// one type, see [`IntoOperand`](crate::IntoOperand).
pub trait IntoScalar<'g>: OperandSource<'g> {}

impl<T: Element> IntoScalar<'_> for T {}
impl<'g> IntoScalar<'g> for Value<'g> {}
impl<'g> IntoScalar<'g> for Result<Value<'g>> {}
