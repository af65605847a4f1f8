//! `IntoScalar`: the argument type of a scalar operand.

use std::panic::Location;

use crate::error::Result;
use crate::graph::{Graph, Value};
use crate::tensor::{Element, Tensor};

mod sealed {
    pub trait Sealed {}
}

/// A scalar operand: a Rust number or bool, which keeps its type (`1.0` is f64, `1.0f32` is f32), or a value.
pub trait IntoScalar<'g>: sealed::Sealed {
    #[doc(hidden)]
    fn into_scalar(self, graph: &'g Graph, location: &'static Location<'static>) -> Result<Value<'g>>;
}

impl<T: Element> sealed::Sealed for T {}
impl<'g, T: Element> IntoScalar<'g> for T {
    fn into_scalar(self, graph: &'g Graph, location: &'static Location<'static>) -> Result<Value<'g>> {
        Ok(graph.constant_at(Tensor::scalar(self), location))
    }
}

impl sealed::Sealed for Value<'_> {}
impl<'g> IntoScalar<'g> for Value<'g> {
    fn into_scalar(self, _graph: &'g Graph, _location: &'static Location<'static>) -> Result<Value<'g>> {
        Ok(self)
    }
}

impl sealed::Sealed for Result<Value<'_>> {}
impl<'g> IntoScalar<'g> for Result<Value<'g>> {
    fn into_scalar(self, _graph: &'g Graph, _location: &'static Location<'static>) -> Result<Value<'g>> {
        self
    }
}
