//! A dimension as an operand: its size becomes a scalar of the graph.

use std::panic::Location;

use shapeflow_shape_fns::{DType, Dim};

use crate::dtype::type_text;
use crate::error::{Error, ErrorKind, Phase};
use crate::graph::{Graph, IntoOperand, OperandSource, Source, Value};

use super::range::dim_value_at;
use crate::ops::math::cast;

impl<'g> OperandSource<'g> for Dim {
    fn into_source(self, graph: &'g Graph, location: &'static Location<'static>) -> Source<'g> {
        dim_value_at(graph, self, location).map_or_else(Source::Refused, Source::Value)
    }

    /// Converts into a scalar of the dtype of `peer`, a float, a complex number or i64. Another integer dtype might not
    /// hold the size.
    fn into_operand(self, peer: Value<'g>, location: &'static Location<'static>) -> Value<'g> {
        let (graph, dtype) = (peer.graph(), peer.dtype());
        if dtype != DType::I64 && !dtype.is_float() && !dtype.is_complex() {
            let message = format!(
                "a dimension is an i64 scalar, and takes the dtype of a float tensor operand, got {self} with {}",
                type_text(dtype, &peer.shape())
            );
            let help = "cast the tensor to i64 with .cast(DType::I64), or take the size from \
                        .shape_tensor_as(DType::I32)";
            let error = Error::new(ErrorKind::DType, Phase::Build, message).with_help(help).at(location);
            return Value::poisoned(graph, error, dtype);
        }
        let size = dim_value_at(graph, self, location);
        match dtype {
            DType::I64 => peer.or_poison(size),
            _ => {
                peer.or_poison(size.and_then(|size| {
                    graph.op(&cast::DEF).data(size).attr("dtype", dtype).finish_at(location)
                }))
            }
        }
    }
}

impl<'g> OperandSource<'g> for &Dim {
    fn into_source(self, graph: &'g Graph, location: &'static Location<'static>) -> Source<'g> {
        self.clone().into_source(graph, location)
    }

    fn into_operand(self, peer: Value<'g>, location: &'static Location<'static>) -> Value<'g> {
        self.clone().into_operand(peer, location)
    }
}

impl<'g> IntoOperand<'g> for Dim {}
impl<'g> IntoOperand<'g> for &Dim {}
