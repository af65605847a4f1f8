//! `select`: selects between the elements of two tensors by a condition.

use std::panic::Location;

use shapeflow_shape_fns::{Attrs, DType};

use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::expr::{Expr, Index, LowerCx};
use crate::graph::{IntoOperand, Source, Value, one_dtype};
use crate::op::{OpDef, Operand, TfOp};
use crate::ops::broadcast::broadcast_operand;
use crate::shape_fns;

impl<'g> Value<'g> {
    /// Computes `if self { yes } else { no }` for every element.
    ///
    /// `bool[..], yes [..], no [..] -> broadcast`, any dtype, the same for `yes` and `no`. One of `yes` and `no` may be
    /// a Rust scalar, which takes the dtype of the other choice. As TensorFlow's `SelectV2` (`tf.where` with three
    /// arguments). Fuses into kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([true, false])?.select(g.constant([1, 2])?, 0)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([1, 0]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// `self` is not bool, the dtypes of `yes` and `no` differ, the shapes do not broadcast, or both are
    /// scalars.
    #[doc(alias = "where")]
    #[doc(alias = "masked_fill")]
    #[track_caller]
    pub fn select(self, yes: impl IntoOperand<'g>, no: impl IntoOperand<'g>) -> Result<Value<'g>> {
        let location = Location::caller();
        let graph = self.graph();
        let choices = [yes.into_source(graph, location), no.into_source(graph, location)];
        if choices.iter().all(Source::is_scalar) {
            let message = "one of the two must be a tensor, got two scalars; make a constant of one";
            let error = Error::new(ErrorKind::DType, Phase::Build, message);
            return Err(error.with_op("select", "select(bool, scalar, scalar)").at(location));
        }
        let [yes, no] = one_dtype(graph, location, choices);
        graph.op(&DEF).data(self).data(yes).data(no).finish_at(location)
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("select", lower)
    .operands(&[Operand::Data("condition"), Operand::Data("x"), Operand::Data("y")])
    .shape_fn(shape_fns::math::select)
    .dtype_rule(dtypes)
    .tensorflow(&[TfOp::new("SelectV2")]);

fn dtypes(dtypes: &[DType], _: &Attrs) -> Result<Vec<DType>> {
    dtype::common(dtypes, 0, 1, dtype::Class::Bool)?;
    Ok(vec![dtype::common(dtypes, 1, 3, dtype::Class::Any)?])
}

fn lower(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    let condition = broadcast_operand(cx, 0, index);
    let yes = broadcast_operand(cx, 1, index);
    let no = broadcast_operand(cx, 2, index);
    condition.select(yes, no)
}

#[cfg(test)]
mod tests {
    use super::DEF;
    use crate::ops::testing::shape_table;
    use crate::{DType, Graph};

    shape_table! { DEF, {},
        "bool[2, n]; [n]; []" => "[2, d0_1]",
        "bool[]; i64[a, 1]; i64[1, b]" => "i64[a, b]",
        "bool?; []; [3]" => "?",
        "[2]; [2]; [2]" => error "must be bool, got f32",
        "bool[2]; [2]; f64[2]" => error "one dtype, got f32 and f64",
        "bool[2]; [3]; [3]" => error "2",
    }

    #[test]
    fn a_scalar_takes_the_dtype_of_the_other_side() {
        let graph = Graph::new();
        let x = graph.input("x", DType::F64, [2]).unwrap();
        let mask = x.less(0.0).unwrap();
        assert_eq!(mask.select(0.0, x).unwrap().dtype(), DType::F64);
        assert_eq!(mask.select(x, 1).unwrap().dtype(), DType::F64);
        let error = mask.select(1.0, 2.0).unwrap_err();
        assert!(error.message().contains("got two scalars"), "{error}");
    }
}
