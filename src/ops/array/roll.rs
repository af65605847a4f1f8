//! `roll`: shifts elements along axes; elements that leave one end enter at the other.

use shapeflow_shape_fns::Dim;

use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, InRange, Index, LowerCx};
use crate::graph::{IntoParam, Value};
use crate::op::{OpDef, Operand, TfOp};

impl<'g> Value<'g> {
    /// Shifts the elements along each of `axes` by the entry of `shifts`. Elements that leave one end enter at the
    /// other: along an axis of `n` elements, `out[(i + shift) mod n] = self[i]`.
    ///
    /// `[..] -> [..]`, any dtype. Both parameters are one integer or lists of the same length; the shifts of a repeated
    /// axis add up. Negative axes count from the end. As TensorFlow's `Roll`. Fuses into kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([1, 2, 3, 4])?.roll(1, 0)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([4, 1, 2, 3]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// `self` is a scalar, an axis is out of range, or the parameters differ in length.
    #[track_caller]
    pub fn roll(self, shifts: impl IntoParam<'g>, axes: impl IntoParam<'g>) -> Result<Value<'g>> {
        self.graph().op(&DEF).data(self).size("shift", shifts).structure("axis", axes).finish()
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("roll", lower)
    .operands(&[Operand::Data("input"), Operand::Size("shift"), Operand::Structure("axis")])
    .shape_fn(shapeflow_shape_fns::array::roll)
    .dtype_rule(dtype::unary::any)
    .tensorflow(&[TfOp::new("Roll")]);

fn lower(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    let shifts: Vec<(usize, Dim)> = cx
        .derived("shift")
        .into_iter()
        .enumerate()
        .filter(|(_, shift)| shift.as_known() != Some(0))
        .collect();
    shifted(cx, &mut index.to_vec(), &shifts)
}

/// Loads the element that shifts along these axes move to `index`. Each shift is less than the size of its axis.
fn shifted(cx: &mut dyn LowerCx, index: &mut Vec<Index>, shifts: &[(usize, Dim)]) -> Expr {
    let Some(((axis, shift), rest)) = shifts.split_first() else { return cx.operand(0, index) };
    let size = cx.dims(0)[*axis].clone();
    let position = index[*axis].clone();
    index[*axis] = position.clone() - Index::constant(shift.clone());
    let moved = shifted(cx, index, rest);
    index[*axis] = index[*axis].clone() + Index::constant(size);
    let wrapped = shifted(cx, index, rest);
    index[*axis] = position.clone();
    let start = InRange { index: position, low: Dim::known(0), high: shift.clone() };
    Expr::case(vec![(vec![start], wrapped)], moved)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Attrs;
    use crate::ops::testing::{run_one, shape_table, tensor};

    shape_table! { DEF, {"shift": [1, -2], "axis": [0, -1]},
        "[m, n]" => "[m, n]",
        "[0, 3]" => "[0, 3]",
        "[]" => error "must have rank at least 1",
    }
    shape_table! { fed: DEF, {"axis": 0},
        "[m, n]; shift=i32[]" => "[m, n]",
    }
    shape_table! { fed_axis: DEF, {"shift": [1, 2]},
        "[m, n]; axis=i64[2]" => "[m, n]",
        "[m, n]; axis=i64[3]" => error "shift and axis must have the same length",
    }

    #[test]
    fn elements_wrap_around() {
        let x = tensor(&[2, 3], &[1, 2, 3, 4, 5, 6i64]);
        let rolled = |shift: &[i64], axis: &[i64]| {
            let attrs = Attrs::new().with("shift", shift.to_vec()).with("axis", axis.to_vec());
            run_one(&DEF, &attrs, std::slice::from_ref(&x)).to_vec::<i64>().unwrap()
        };
        assert_eq!(rolled(&[1], &[1]), [3, 1, 2, 6, 4, 5]);
        assert_eq!(rolled(&[-1], &[-1]), [2, 3, 1, 5, 6, 4]);
        assert_eq!(rolled(&[3, 7], &[0, 1]), [6, 4, 5, 3, 1, 2]);
        assert_eq!(rolled(&[2, 2, 2], &[1, 1, 1]), [1, 2, 3, 4, 5, 6]);
    }
}
