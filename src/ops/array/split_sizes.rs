//! `split_sizes`: splits a tensor into parts of given sizes along an axis.

use std::panic::Location;

use shapeflow_shape_fns::{Attribute, Dim};

use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::expr::{Expr, Index, LowerCx};
use crate::graph::{IntoParam, Param, Value};
use crate::op::{OpDef, Operand, TfOp};

use super::axis::body_axis;
use super::unstack::{count, counted};

impl<'g> Value<'g> {
    /// Splits `self` along `axis` into consecutive parts of the given sizes. One size may be -1, the remainder.
    ///
    /// `[.., Σ sizes, ..] -> [.., sizes[0], ..], [.., sizes[1], ..], …`, any dtype. A negative `axis` counts from the
    /// end. As TensorFlow's `SplitV`. Fuses into kernels.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, shape};
    ///
    /// let g = Graph::new();
    /// let parts = g.input("x", DType::F32, shape![5, 30])?.split_sizes([4, 15, 11], 1)?;
    /// let shapes: Vec<String> = parts.iter().map(|part| part.shape().to_string()).collect();
    /// assert_eq!(shapes, ["[5, 4]", "[5, 15]", "[5, 11]"]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The axis is out of range, the sizes do not add up to its dimension, more than one size is -1, a size is less
    /// than -1, or the sizes are a value of unknown length.
    #[doc(alias = "split_with_sizes")]
    #[track_caller]
    pub fn split_sizes(self, sizes: impl IntoParam<'g>, axis: impl IntoParam<'g>) -> Result<Vec<Value<'g>>> {
        let (location, sizes) = (Location::caller(), sizes.into_param());
        let count = match &sizes {
            Param::Elements(elements) => elements.len() as i64,
            Param::Value(sizes) => {
                let shape = sizes.ok()?.shape();
                shape.dim(0).and_then(Dim::as_known).ok_or_else(|| {
                    let message = format!("the sizes must be a vector of known length, got shape {shape}");
                    let error = Error::new(ErrorKind::Shape, Phase::Build, message);
                    error.with_op("split_sizes", "split_sizes").at(location)
                })?
            }
            Param::Refused(_) => 0,
        };
        let builder = self.graph().op(&DEF).data(self).size("size_splits", sizes).structure("axis", axis);
        builder.attr("num", count).finish_all()
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("split_sizes", lower)
    .attrs(&[Attribute::int("num")])
    .operands(&[Operand::Data("x"), Operand::Size("size_splits"), Operand::Structure("axis")])
    .outputs(count)
    .shape_fn(shapeflow_shape_fns::array::split_v)
    .dtype_rule(|dtypes, attrs| {
        dtype::check_indices(dtypes, 1)?;
        counted(dtype::common(dtypes, 0, 1, dtype::Class::Any)?, attrs, 0)
    })
    .tensorflow(&[TfOp::new("SplitV").attrs(&[("num_split", "num")])]);

fn lower(cx: &mut dyn LowerCx, output: usize, index: &[Index]) -> Expr {
    let axis = body_axis(cx);
    let begin = cx.derived("begin").get(output).cloned().unwrap_or(Dim::known(0));
    let mut read = index.to_vec();
    if let Some(position) = read.get_mut(axis) {
        *position = position.clone() + Index::constant(begin);
    }
    cx.operand(0, &read)
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::{Attrs, DType, shape};

    use super::*;
    use crate::graph::Graph;
    use crate::ops::testing::{run, shape_table, tensor};

    shape_table! { DEF, {"axis": 0, "num": 2, "size_splits": [2, -1]},
        "[5, n]" => "[2, n]; [3, n]",
        "[n]" => "[2]; [n-2]",
        "[1]" => error "size_splits must add up to the dimension",
    }
    shape_table! { fed: DEF, {"axis": 0, "num": 2},
        "[5]; size_splits=i64[2]" => "[?]; [?]",
    }

    #[test]
    fn parts_are_consecutive() {
        let attrs = Attrs::new().with("axis", -1).with("num", 3).with("size_splits", [1, -1, 0]);
        let parts = run(&DEF, &attrs, &[tensor(&[2, 3], &[1, 2, 3, 4, 5, 6i32])]).unwrap();
        assert_eq!([parts[0].sizes(), parts[1].sizes(), parts[2].sizes()], [[2, 1], [2, 2], [2, 0]]);
        assert_eq!(parts[0].to_vec::<i32>().unwrap(), [1, 4]);
        assert_eq!(parts[1].to_vec::<i32>().unwrap(), [2, 3, 5, 6]);
    }

    #[test]
    fn there_is_one_part_per_size() {
        let g = Graph::new();
        let x = g.input("x", DType::F32, shape!["n"]).unwrap();
        assert_eq!(x.split_sizes([1, 2, -1], 0).unwrap().len(), 3);
        let sizes = g.input("sizes", DType::I64, shape![2]).unwrap();
        assert_eq!(x.split_sizes(sizes, 0).unwrap().len(), 2);
        let sizes = g.input("many", DType::I64, shape![?]).unwrap();
        let error = x.split_sizes(sizes, 0).unwrap_err();
        assert_eq!(error.message(), "split_sizes: the sizes must be a vector of known length, got shape [?]");
    }
}
