//! Converts shapes to protobuf messages and back.

use shapeflow_shape_fns::{Dim, IntoDim, TensorShape, Unknown};

use super::limits::Budget;
use super::proto::{DimProto, TensorShapeProto};
use crate::error::{Error, ErrorKind, Phase, Result};

/// Reads a shape from a message. The name of an unknown dimension is read as a symbol or an expression.
///
/// # Errors
/// A size below -1, or more axes than the limit.
pub(super) fn from_proto(proto: &TensorShapeProto, budget: &Budget) -> Result<TensorShape> {
    if proto.unknown_rank {
        return Ok(TensorShape::unranked());
    }
    budget.rank(proto.dim.len())?;
    let dims: Vec<Dim> = proto.dim.iter().map(dim_from_proto).collect::<Result<_>>()?;
    Ok(TensorShape::new(dims))
}

fn dim_from_proto(proto: &DimProto) -> Result<Dim> {
    match proto.size {
        -1 => {
            let named = proto.name.parse::<Dim>().ok();
            // Inputs accept only dimensions that are linear in one symbol.
            let named = named.filter(|dim| dim.as_known().is_none() && dim.as_linear().is_some());
            Ok(named.unwrap_or_else(|| IntoDim::into_dim(Unknown)))
        }
        size if size >= 0 => Ok(Dim::known(size)),
        size => {
            let message = format!("a size must be at least -1, got {size}");
            Err(Error::new(ErrorKind::Shape, Phase::Build, message))
        }
    }
}

/// Writes a shape as a message. An unknown dimension gets the size -1, and its expression becomes its name.
pub(super) fn to_proto(shape: &TensorShape) -> TensorShapeProto {
    match shape.dims() {
        None => TensorShapeProto { dim: Vec::new(), unknown_rank: true },
        Some(dims) => TensorShapeProto {
            unknown_rank: false,
            dim: dims
                .iter()
                .map(|dim| match dim.as_known() {
                    Some(size) => DimProto { size, name: String::new() },
                    None => {
                        let text = dim.to_string();
                        // An anonymous symbol has no name outside its graph.
                        let name = if text.contains('?') { String::new() } else { text };
                        DimProto { size: -1, name }
                    }
                })
                .collect(),
        },
    }
}
