//! `strided_slice`: slices with strides, single positions and new axes, in TensorFlow's encoding.

use shapeflow_shape_fns::Attribute;

use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx};
use crate::graph::{IntoParam, OpBuilder, Value};
use crate::op::{Absent, OpDef, Operand, TfOp};

/// The masks of a strided slice. Bit `i` of a mask applies to entry `i`. If several of the last three are set for an
/// entry, `ellipsis` wins over `new_axis`, which wins over `shrink_axis`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct SliceMasks {
    /// The range starts at the first element, or at the last one for a negative stride; `begin[i]` is ignored.
    pub begin: u32,
    /// The range ends at the last element, or at the first one for a negative stride; `end[i]` is ignored.
    pub end: u32,
    /// The entry stands for all axes without another entry. At most one bit may be set.
    pub ellipsis: u32,
    /// The entry is a new axis of size 1.
    pub new_axis: u32,
    /// The entry is the single position `begin[i]`, and the result lacks the axis.
    pub shrink_axis: u32,
}

impl SliceMasks {
    /// Sets the attributes of a call for the masks that are not 0.
    pub(super) fn set(self, mut call: OpBuilder<'_>) -> OpBuilder<'_> {
        let named = [
            ("begin_mask", self.begin),
            ("end_mask", self.end),
            ("ellipsis_mask", self.ellipsis),
            ("new_axis_mask", self.new_axis),
            ("shrink_axis_mask", self.shrink_axis),
        ];
        for (name, mask) in named {
            if mask != 0 {
                call = call.attr(name, i64::from(mask));
            }
        }
        call
    }
}

impl<'g> Value<'g> {
    /// Extracts the elements `begin[i]`, `begin[i] + strides[i]`, … before `end[i]` of each axis `i`. The masks change
    /// the meaning of an entry.
    ///
    /// Any dtype. `begin`, `end` and `strides` have the same length; each is integers, dimensions, or a value. Negative
    /// positions count from the end, ranges are clamped to the axis, and axes without an entry are kept whole.
    /// [`Value::slice_with`] is a more readable form. As TensorFlow's `StridedSlice`. Fuses into kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, SliceMasks, Tensor};
    ///
    /// let g = Graph::new();
    /// let t = g.constant([[[1, 1, 1], [2, 2, 2]], [[3, 3, 3], [4, 4, 4]], [[5, 5, 5], [6, 6, 6]]])?;
    /// let none = SliceMasks::default();
    /// let row = t.strided_slice([1, 0, 0], [2, 1, 3], [1, 1, 1], none)?;
    /// let rows = t.strided_slice([1, 0, 0], [2, 2, 3], [1, 1, 1], none)?;
    /// let backward = t.strided_slice([1, -1, 0], [2, -3, 3], [1, -1, 1], none)?;
    /// let [row, rows, backward] = g.compile([row, rows, backward])?.run(&[])?;
    /// assert_eq!(row, Tensor::from([[[3, 3, 3]]]));
    /// assert_eq!(rows, Tensor::from([[[3, 3, 3], [4, 4, 4]]]));
    /// assert_eq!(backward, Tensor::from([[[4, 4, 4], [3, 3, 3]]]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// There are more entries than axes, not counting new axes and the ellipsis; a stride is 0; a single position is
    /// out of range or has a negative stride; or there are two ellipses.
    #[track_caller]
    pub fn strided_slice(
        self,
        begin: impl IntoParam<'g>,
        end: impl IntoParam<'g>,
        strides: impl IntoParam<'g>,
        masks: SliceMasks,
    ) -> Result<Value<'g>> {
        let call = self.graph().op(&DEF).data(self).size("begin", begin).size("end", end);
        masks.set(call.size("strides", strides)).finish()
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("strided_slice", lower)
    .attrs(&[
        Attribute::int_or("begin_mask", 0),
        Attribute::int_or("end_mask", 0),
        Attribute::int_or("ellipsis_mask", 0),
        Attribute::int_or("new_axis_mask", 0),
        Attribute::int_or("shrink_axis_mask", 0),
    ])
    .operands(&[Operand::Data("x"), Operand::Size("begin"), Operand::Size("end"), Operand::Size("strides")])
    .shape_fn(shapeflow_shape_fns::array::strided_slice)
    .dtype_rule(dtype::unary::any)
    .tensorflow(&[TfOp::new("StridedSlice").absent(&[("strides", Absent::Ones)])]);

fn lower(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    // The shape function derives `start` and `stride` for each axis of `x`, and `axes`: the axis of `x` for each axis
    // of the result.
    let stride = cx.derived("stride");
    let mut read: Vec<Index> = cx.derived("start").into_iter().map(Index::constant).collect();
    for (axis, position) in cx.derived("axes").iter().zip(index) {
        // A new axis, encoded as -1, corresponds to no axis of the operand.
        let Some(axis) = axis.as_known().and_then(|axis| usize::try_from(axis).ok()) else { continue };
        read[axis] = read[axis].clone() + position.clone() * stride[axis].clone();
    }
    cx.operand(0, &read)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::shape_table;

    shape_table! { DEF, {"begin": [1, 0], "end": [3, 0], "strides": [1, -1], "begin_mask": 2, "end_mask": 2},
        "[4, 3]" => "[2, 3]",
        "[n, m]" => "[max(0, min(2, n-1)), m]",
        "[4]" => error "must have entries for at most the 1 axis",
    }
    shape_table! { masks: DEF, {"begin": [0, 0, -1], "end": [0, 0, 0], "strides": [1, 1, 1],
        "ellipsis_mask": 1, "new_axis_mask": 2, "shrink_axis_mask": 4},
        "[n, 3]" => "[n, 1]",
        "[n, m, 3]" => "[n, m, 1]",
    }
    shape_table! { fed: DEF, {"end": [9], "strides": [1], "shrink_axis_mask": 1},
        "[4, n]; begin=i32[1]" => "[n]",
    }
}
