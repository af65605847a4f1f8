//! `reverse_sequence`: reverses the start of each row, up to a length given per row.

use std::panic::Location;

use shapeflow_shape_fns::{Attribute, Attrs, DType, Dim, InferenceContext, ShapeError};

use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx};
use crate::graph::{IntoOperand, IntoParam, Value};
use crate::op::{OpDef, Operand, TfOp};

impl<'g> Value<'g> {
    /// Reverses the first `lengths[i]` elements along `seq_axis`, for each index `i` of axis `batch_axis`. The other
    /// elements keep their positions.
    ///
    /// `[.., b, .., s, ..], lengths [b] -> [.., b, .., s, ..]`, any dtype; `lengths` is i32 or i64. A length outside
    /// `[0, s]` fails the run, unless the result has no elements. As TensorFlow's `ReverseSequence`; equal axes are
    /// refused when the graph is built, where TensorFlow fails at run time. Fuses into kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let x = g.constant([
    ///     [1, 2, 3, 4, 5, 0, 0, 0],
    ///     [1, 2, 0, 0, 0, 0, 0, 0],
    ///     [1, 2, 3, 4, 0, 0, 0, 0],
    ///     [1, 2, 3, 4, 5, 6, 7, 8],
    /// ])?;
    /// let y = x.reverse_sequence(g.constant([7, 2, 3, 5])?, 1, 0)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// let expected = [
    ///     [0, 0, 5, 4, 3, 2, 1, 0],
    ///     [2, 1, 0, 0, 0, 0, 0, 0],
    ///     [3, 2, 1, 4, 0, 0, 0, 0],
    ///     [5, 4, 3, 2, 1, 6, 7, 8],
    /// ];
    /// assert_eq!(y, Tensor::from(expected));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// An axis is negative or out of range, the axes are equal, or the number of lengths is not the size of
    /// `batch_axis`.
    #[track_caller]
    pub fn reverse_sequence(
        self,
        lengths: impl IntoOperand<'g>,
        seq_axis: impl IntoParam<'g>,
        batch_axis: impl IntoParam<'g>,
    ) -> Result<Value<'g>> {
        let lengths = lengths.into_own_operand(self.graph(), Location::caller());
        let call = self.graph().op(&DEF).data(self).data(lengths);
        call.int_attr("seq_dim", seq_axis).int_attr("batch_dim", batch_axis).finish()
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("reverse_sequence", lower)
    .attrs(&[Attribute::int("seq_dim"), Attribute::int_or("batch_dim", 0)])
    .operands(&[Operand::Data("input"), Operand::Data("seq_lengths")])
    .shape_fn(shape)
    .dtype_rule(dtypes)
    .tensorflow(&[TfOp::new("ReverseSequence")]);

fn shape(cx: &mut InferenceContext<'_>) -> shapeflow_shape_fns::Result<()> {
    shapeflow_shape_fns::array::reverse_sequence(cx)?;
    let (along, batch) = (cx.int("seq_dim")?, cx.int_or("batch_dim", 0)?);
    if along == batch {
        return Err(ShapeError::new(format_args!("seq_dim must not be batch_dim, got {along} for both")));
    }
    Ok(())
}

fn dtypes(operands: &[DType], _: &Attrs) -> Result<Vec<DType>> {
    dtype::check_indices(operands, 1)?;
    Ok(vec![dtype::common(operands, 0, 1, dtype::Class::Any)?])
}

fn lower(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    let axis = |name: &str| {
        usize::try_from(cx.attrs().int(name)).expect("the shape function refuses a negative axis")
    };
    let (along, batch) = (axis("seq_dim"), axis("batch_dim"));
    let (Some(size), Some(row), Some(index_along)) =
        (cx.dims(0).get(along).cloned(), index.get(batch), index.get(along))
    else {
        return cx.operand(0, index);
    };
    let length = cx.operand(1, std::slice::from_ref(row));
    let length = Expr::iota(cx.checked_index(length, &size + &Dim::known(1), along));
    let (position, last) = (Expr::iota(index_along.clone()), length.clone() - Expr::constant(1i64));
    let from = position.clone().less(length).select(last - position.clone(), position);
    let mut read = index.to_vec();
    read[along] = cx.checked_index(from, size, along);
    cx.operand(0, &read)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use crate::ops::testing::{recorded, run, shape_table, tensor};

    shape_table! { DEF, {"seq_dim": 1, "batch_dim": 0},
        "[?, s, c]; i32[b]" => "[d1_0, s, c]",
        "[n, s]; [n]" => error "the element type must be i32 or i64, got f32",
    }
    shape_table! { one_axis: DEF, {"seq_dim": 0},
        "[n, s]; i32[n]" => error "seq_dim must not be batch_dim, got 0 for both",
    }

    #[test]
    fn values_are_those_recorded() {
        recorded(&DEF);
    }

    #[test]
    fn a_length_out_of_range_is_an_error() {
        for length in [-1, 4] {
            let operands = [tensor(&[1, 3], &[1, 2, 3i32]), tensor(&[1], &[length])];
            let error = run(&DEF, &Attrs::new().with("seq_dim", 1), &operands).unwrap_err();
            let expected =
                format!("an index into axis 1 must lie in [0, 4), got {length} at [0] in operand 1");
            assert_eq!(error.message(), expected);
            assert_eq!(error.kind(), ErrorKind::Index);
        }
    }
}
