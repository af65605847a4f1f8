//! `strided_slice_grad`: the gradient of `strided_slice`.

use shapeflow_shape_fns::{Attribute, Dim};

use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::expr::{Expr, InRange, Index, LowerCx};
use crate::graph::{IntoParam, IntoShapeArg, Value};
use crate::op::{OpDef, Operand, TfOp};

use super::strided_slice::SliceMasks;

impl<'g> Value<'g> {
    /// Makes a tensor of shape `shape` with the elements of `self` where a strided slice reads, and zeros elsewhere:
    /// the gradient of [`Value::strided_slice`], with the same parameters.
    ///
    /// The shape of the slice `-> shape`; any dtype (the zero of strings is the empty string). As TensorFlow's
    /// `StridedSliceGrad`. Fuses into kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, SliceMasks, Tensor};
    ///
    /// let g = Graph::new();
    /// let gradients = g.constant([1, 2])?;
    /// let y = gradients.strided_slice_grad([5], [1], [5], [2], SliceMasks::default())?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([0, 1, 0, 2, 0]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Value::strided_slice`] for a tensor of shape `shape`; also if `self` does not have the shape of the slice.
    #[track_caller]
    pub fn strided_slice_grad(
        self,
        shape: impl IntoShapeArg<'g>,
        begin: impl IntoParam<'g>,
        end: impl IntoParam<'g>,
        strides: impl IntoParam<'g>,
        masks: SliceMasks,
    ) -> Result<Value<'g>> {
        let call = self.graph().op(&DEF).size("shape", shape.into_shape_arg()).size("begin", begin);
        masks.set(call.size("end", end).structure("strides", strides)).data(self).finish()
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("strided_slice_grad", lower)
    .attrs(&[
        Attribute::int_or("begin_mask", 0),
        Attribute::int_or("end_mask", 0),
        Attribute::int_or("ellipsis_mask", 0),
        Attribute::int_or("new_axis_mask", 0),
        Attribute::int_or("shrink_axis_mask", 0),
    ])
    .operands(&[
        Operand::Size("shape"),
        Operand::Size("begin"),
        Operand::Size("end"),
        Operand::Structure("strides"),
        Operand::Data("dy"),
    ])
    .shape_fn(shapeflow_shape_fns::array::strided_slice_grad)
    .dtype_rule(|dtypes, _| match dtypes.split_last() {
        Some((dy, parameters)) => {
            dtype::check_indices(parameters, 0)?;
            Ok(vec![*dy])
        }
        None => Err(Error::new(ErrorKind::Attribute, Phase::Build, "strided_slice_grad needs dy")),
    })
    .tensorflow(&[TfOp::new("StridedSliceGrad")]);

fn lower(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    let dy = cx.operands() - 1;
    let sizes = cx.dims(dy);
    let (ranges, read) = place_in_slice(cx, &sizes, index);
    Expr::case(vec![(ranges, cx.operand(dy, &read))], Expr::zero(cx.dtype(dy)))
}

/// Returns the conditions under which the element at `index` belongs to a slice, and the index of the element in the
/// slice. `sizes` has the sizes of the slice.
pub(super) fn place_in_slice(
    cx: &mut dyn LowerCx,
    sizes: &[Dim],
    index: &[Index],
) -> (Vec<InRange>, Vec<Index>) {
    let (starts, strides, axes) = (cx.derived("start"), cx.derived("stride"), cx.derived("axes"));
    // A new axis, which corresponds to no axis of the result, has only position 0.
    let mut read = vec![Index::from(0); sizes.len()];
    let mut ranges = Vec::new();
    for (axis, (position, (start, stride))) in index.iter().zip(starts.iter().zip(&strides)).enumerate() {
        let slice_axis = axes.iter().position(|of| of.as_known() == Some(axis as i64));
        let steps = stride.as_known().expect("strides are known when the op is lowered");
        let start = Index::constant(start.clone());
        let ahead = if steps < 0 { start - position.clone() } else { position.clone() - start };
        let steps = Dim::known(steps.saturating_abs());
        let high = match slice_axis {
            Some(axis) => (&sizes[axis] - 1) * steps.clone() + 1,
            None => Dim::known(1),
        };
        ranges.push(InRange { index: ahead.clone(), low: Dim::known(0), high });
        let Some(slice_axis) = slice_axis else { continue };
        if steps != 1 {
            let between = ahead.clone().modulo(steps.clone());
            ranges.push(InRange { index: between, low: Dim::known(0), high: Dim::known(1) });
        }
        read[slice_axis] = ahead.floordiv(steps);
    }
    (ranges, read)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Attrs;
    use crate::ops::testing::{run_one, shape_table, tensor};

    shape_table! { DEF, {"shape": [4, 3], "begin": [1, 0], "end": [4, 1], "strides": [2, 1]},
        "[2, 1]" => "[4, 3]",
        "[2, ?]" => "[4, 3]",
        "string[2, 1]" => "string[4, 3]",
        "[2, 2]" => error "dy must have the shape of the slice, [2, 1], got [2, 2]",
    }
    shape_table! { fed: DEF, {"end": [9], "strides": [1]},
        "shape=i32[1]; begin=i32[1]; [n]" => "[?]",
    }

    /// Begin, end and strides of two entries, and masks.
    type Slice = ([i64; 2], [i64; 2], [i64; 2], &'static [(&'static str, i64)]);

    #[test]
    fn the_gradient_puts_each_element_of_the_slice_back() {
        let x: Vec<i32> = (1..=60).collect();
        let slices: [Slice; 6] = [
            ([0, 0], [3, 4], [1, 1], &[]),
            ([-1, 1], [0, 4], [-2, 2], &[]),
            ([1, 0], [0, 0], [1, -3], &[("shrink_axis_mask", 1), ("begin_mask", 2), ("end_mask", 2)]),
            ([0, 2], [0, 9], [1, 1], &[("ellipsis_mask", 1)]),
            ([0, 2], [0, 3], [1, 2], &[("new_axis_mask", 1)]),
            ([2, 1], [1, 3], [1, 1], &[]),
        ];
        for (begin, end, strides, masks) in slices {
            let mut attrs = Attrs::new().with("begin", begin).with("end", end).with("strides", strides);
            for (name, mask) in masks {
                attrs = attrs.with(*name, *mask);
            }
            let slice = run_one(&super::super::strided_slice::DEF, &attrs, &[tensor(&[3, 4, 5], &x)]);
            let kept = slice.to_vec::<i32>().unwrap();
            let expected: Vec<i32> = x.iter().map(|x| if kept.contains(x) { *x } else { 0 }).collect();
            let y = run_one(&DEF, &attrs.with("shape", [3, 4, 5]), &[slice]);
            assert_eq!((y.sizes(), y.to_vec::<i32>().unwrap()), (&[3, 4, 5][..], expected));
        }
    }
}
