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

/// The largest number of axes whose two parts are separate loads: `n` axes have `2^n` parts. The index along any
/// further axis is a remainder.
const MAX_SPLIT_AXES: usize = 4;

fn lower(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    let shifts: Vec<(usize, Dim)> = cx
        .derived("shift")
        .into_iter()
        .enumerate()
        .filter(|(_, shift)| shift.as_known() != Some(0))
        .collect();
    let mut read = index.to_vec();
    // The last axes are split, because the innermost loop needs an index without a remainder.
    let (outer, inner) = shifts.split_at(shifts.len().saturating_sub(MAX_SPLIT_AXES));
    for (axis, shift) in outer {
        let size = cx.dims(0)[*axis].clone();
        let moved = read[*axis].clone() + Index::constant(size.clone()) - Index::constant(shift.clone());
        read[*axis] = moved.modulo(size);
    }
    shifted(cx, &mut read, inner)
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
    use shapeflow_shape_fns::{IntoDim, Unknown};

    use super::*;
    use crate::ops::testing::{run_one, shape_table, tensor};
    use crate::{Attrs, DType, Graph, TensorShape};

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

    #[test]
    fn many_axes_of_unknown_sizes_compile() {
        let axes: Vec<i64> = (0..15).collect();
        let g = Graph::new();
        let x = g.input("x", DType::I32, TensorShape::new((0..15).map(|_| Unknown.into_dim()))).unwrap();
        let shift = g.input("shift", DType::I64, [15]).unwrap();
        let exe = g.compile(x.roll(shift, &axes[..]).unwrap()).unwrap();
        let sizes: Vec<usize> = (0..15).map(|axis| if axis % 4 == 0 { 3 } else { 1 + axis % 2 }).collect();
        let count: usize = sizes.iter().product();
        let x = tensor(&sizes, &(0..count as i32).collect::<Vec<_>>());
        let shifts: Vec<i64> = (0..15).map(|axis| axis - 6).collect();
        let [y] = exe.run(&[x.view(), tensor(&[15], &shifts).view()]).unwrap();
        // Element `i` moves to the position that each of its coordinates, shifted, gives.
        let mut expected = vec![0; count];
        for i in 0..count {
            let (mut rest, mut target, mut stride) = (i, 0, 1);
            for axis in (0..15).rev() {
                let size = sizes[axis];
                let moved = (rest % size) as i64 + shifts[axis];
                target += moved.rem_euclid(size as i64) as usize * stride;
                (rest, stride) = (rest / size, stride * size);
            }
            expected[target] = i as i32;
        }
        assert_eq!(y.to_vec::<i32>().unwrap(), expected);
    }
}
