//! `unstack`: splits a tensor into its slices along an axis.

use std::panic::Location;

use shapeflow_shape_fns::{Attr, Attribute, Attrs, DType};

use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::expr::{Expr, Index, LowerCx};
use crate::graph::{IntoParam, Value};
use crate::op::{OpDef, Operand, TfOp};

use super::axis::body_axis;

impl<'g> Value<'g> {
    /// Returns the slices along `axis`, which lack that axis: the inverse of [`stack`](fn@crate::stack).
    ///
    /// `[.., k, ..] -> k × [..]`, any dtype. A negative `axis` counts from the end. For an unknown dimension, use
    /// [`Value::unstack_into`]. As TensorFlow's `Unpack`. Fuses into kernels.
    ///
    /// ```
    /// use shapeflow::Graph;
    ///
    /// let g = Graph::new();
    /// let columns = g.constant([[1, 2, 3], [4, 5, 6]])?.unstack(1)?;
    /// let [first, _, last] = g.compile(&columns)?.run(&[])?;
    /// assert_eq!((first.to_vec::<i32>()?, last.to_vec::<i32>()?), (vec![1, 4], vec![3, 6]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The axis is out of range, or its dimension is not known.
    #[doc(alias = "unbind")]
    #[doc(alias = "unpack")]
    #[track_caller]
    pub fn unstack(self, axis: impl IntoParam<'g>) -> Result<Vec<Value<'g>>> {
        let axis = axis.into_param().known_int("axis");
        let count = axis.as_ref().map_or(Ok(0), |axis| self.slices_along(*axis));
        let call = self.graph().op(&DEF).data(self).known_attr("axis", axis.map(Attr::from));
        call.known_attr("num", count.map(Attr::from)).finish_all()
    }

    /// Returns the `N` slices along `axis` as [`Value::unstack`] does. The dimension must be `N`; the run checks an
    /// unknown one.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let [first, second] = g.constant([[1, 2], [3, 4]])?.unstack_into(0)?;
    /// let y = first.add(second)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([4, 6]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The axis is out of range, or its dimension cannot be `N`.
    #[track_caller]
    pub fn unstack_into<const N: usize>(self, axis: impl IntoParam<'g>) -> Result<[Value<'g>; N]> {
        let values =
            self.graph().op(&DEF).data(self).int_attr("axis", axis).attr("num", N as i64).finish_all()?;
        exactly(values)
    }
}

impl Value<'_> {
    /// Returns the number of slices along an axis; 0 for an axis that is out of range.
    ///
    /// # Errors
    /// The rank or the dimension is not known.
    fn slices_along(self, axis: i64) -> Result<i64> {
        let shape = self.shape();
        let message = match (shape.dim(axis), shape.rank()) {
            (Some(dim), _) => match dim.as_known() {
                Some(count) => return Ok(count),
                None => {
                    format!("the dimension must be known when the graph is built, got {dim} at axis {axis}")
                }
            },
            (None, Some(_)) => return Ok(0),
            (None, None) => "the rank must be known when the graph is built".to_string(),
        };
        let error = Error::new(ErrorKind::Shape, Phase::Build, message);
        Err(error.with_help("use unstack_into, which takes the number of slices"))
    }
}

/// Converts the outputs of an op into an array of `N`.
///
/// # Errors
/// The op does not have `N` outputs.
#[track_caller]
pub(crate) fn exactly<'g, const N: usize>(values: Vec<Value<'g>>) -> Result<[Value<'g>; N]> {
    let location = Location::caller();
    values.try_into().map_err(|values: Vec<_>| {
        let message = format!("the op must have {N} outputs, got {}", values.len());
        Error::new(ErrorKind::Attribute, Phase::Build, message).at(location)
    })
}

/// The greatest number of outputs of a node.
pub(super) const MAX_OUTPUTS: i64 = 1 << 16;

/// Returns attribute `num`, the number of outputs; 0 if it is invalid.
pub(super) fn count(attrs: &Attrs, _operands: usize) -> usize {
    match attrs.int("num") {
        count @ 0..=MAX_OUTPUTS => count as usize,
        _ => 0,
    }
}

/// Returns the dtypes of `num` outputs of `dtype`, where `num` is an attribute. There must be at least `least` outputs.
pub(super) fn counted(dtype: DType, attrs: &Attrs, least: i64) -> Result<Vec<DType>> {
    match attrs.int("num") {
        count if (least..=MAX_OUTPUTS).contains(&count) => Ok(vec![dtype; count as usize]),
        other => {
            let message = format!("num must be between {least} and {MAX_OUTPUTS}, got {other}");
            Err(Error::new(ErrorKind::Attribute, Phase::Build, message))
        }
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("unstack", lower)
    .attrs(&[Attribute::int_or("axis", 0), Attribute::int("num")])
    .operands(&[Operand::Data("x")])
    .outputs(count)
    .shape_fn(shapeflow_shape_fns::array::unstack)
    .dtype_rule(|dtypes, attrs| counted(dtype::common(dtypes, 0, 1, dtype::Class::Any)?, attrs, 0))
    .tensorflow(&[TfOp::new("Unpack")]);

fn lower(cx: &mut dyn LowerCx, output: usize, index: &[Index]) -> Expr {
    let mut read = index.to_vec();
    read.insert(body_axis(cx).min(index.len()), Index::from(output as i64));
    cx.operand(0, &read)
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::shape;

    use super::*;
    use crate::graph::Graph;
    use crate::ops::testing::{run, shape_table, tensor};

    shape_table! { DEF, {"axis": -1, "num": 2},
        "[n, 2]" => "[n]; [n]",
        "[n, ?]" => "[n]; [n]",
        "[n, 3]" => error "must have size 2 along axis 1, got 3",
    }
    shape_table! { too_many: DEF, {"axis": 0, "num": 1_000_000_000_000i64},
        "[n]" => error "num must be between 0 and 65536",
    }

    #[test]
    fn slices_lack_the_axis() {
        let attrs = Attrs::new().with("axis", 1).with("num", 3);
        let parts = run(&DEF, &attrs, &[tensor(&[2, 3], &[1, 2, 3, 4, 5, 6i32])]).unwrap();
        let parts: Vec<Vec<i32>> = parts.iter().map(|part| part.to_vec().unwrap()).collect();
        assert_eq!(parts, [[1, 4], [2, 5], [3, 6]]);
    }

    #[test]
    fn the_count_comes_from_the_shape() {
        let g = Graph::new();
        let x = g.input("x", DType::F32, shape!["n", 2]).unwrap();
        assert_eq!(x.unstack(1).unwrap().len(), 2);
        assert!(
            x.unstack(0)
                .unwrap_err()
                .message()
                .contains("must be known when the graph is built, got n at axis 0")
        );
        let [a, b, c] = x.unstack_into(0).unwrap();
        assert_eq!([a, b, c].map(|part| part.shape().to_string()), ["[2]", "[2]", "[2]"]);
    }
}
