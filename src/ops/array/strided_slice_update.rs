//! `strided_slice_update`: a tensor with other elements in a strided slice.

use std::panic::Location;

use shapeflow_shape_fns::{Attribute, Attrs, DType};

use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx, broadcast_dims};
use crate::graph::{IntoOperand, IntoParam, Value};
use crate::op::{OpDef, Operand, TfOp};

use super::strided_slice::SliceMasks;
use super::strided_slice_grad::place_in_slice;

impl<'g> Value<'g> {
    /// Returns the tensor with the elements of `value` where [`Value::strided_slice`] with the same parameters reads.
    ///
    /// `[d0, …], value -> [d0, …]`; `value` broadcasts to the shape of the slice, and may have more leading axes of
    /// size 1. Any dtype. As TensorFlow's `TensorStridedSliceUpdate`. Fuses into kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, SliceMasks, Tensor};
    ///
    /// let g = Graph::new();
    /// let x = g.constant([1, 2, 3, 4, 5])?;
    /// let y = x.strided_slice_update([1], [5], [2], g.constant([20, 40])?, SliceMasks::default())?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([1, 20, 3, 40, 5]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Value::strided_slice`]; also if `value` has another dtype, or does not broadcast to the shape of the slice.
    #[track_caller]
    pub fn strided_slice_update(
        self,
        begin: impl IntoParam<'g>,
        end: impl IntoParam<'g>,
        strides: impl IntoParam<'g>,
        value: impl IntoOperand<'g>,
        masks: SliceMasks,
    ) -> Result<Value<'g>> {
        let location = Location::caller();
        let value = value.into_operand(self, location);
        let call = self.graph().op(&DEF).data(self).size("begin", begin).size("end", end);
        masks.set(call.structure("strides", strides)).data(value).finish_at(location)
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("strided_slice_update", lower)
    .attrs(&[
        Attribute::int_or("begin_mask", 0),
        Attribute::int_or("end_mask", 0),
        Attribute::int_or("ellipsis_mask", 0),
        Attribute::int_or("new_axis_mask", 0),
        Attribute::int_or("shrink_axis_mask", 0),
    ])
    .operands(&[
        Operand::Data("input"),
        Operand::Size("begin"),
        Operand::Size("end"),
        Operand::Structure("strides"),
        Operand::Data("value"),
    ])
    .shape_fn(shapeflow_shape_fns::array::strided_slice_update)
    .dtype_rule(output_dtype)
    .tensorflow(&[TfOp::new("TensorStridedSliceUpdate")]);

fn output_dtype(dtypes: &[DType], _: &Attrs) -> Result<Vec<DType>> {
    let [x, parameters @ .., value] = dtypes else {
        return dtype::common(dtypes, 0, 1, dtype::Class::Any).map(|x| vec![x]);
    };
    dtype::check_indices(parameters, 0)?;
    Ok(vec![dtype::common(&[*x, *value], 0, 2, dtype::Class::Any)?])
}

fn lower(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    let value = cx.operands() - 1;
    let sizes = cx.derived("sizes");
    let (ranges, place) = place_in_slice(cx, &sizes, index);
    let dims = cx.dims(value);
    // More leading axes than the slice has are of size 1.
    let extra = dims.len().saturating_sub(sizes.len());
    let mut read = vec![Index::from(0); extra];
    read.extend(broadcast_dims(&dims[extra..], &sizes, &place));
    let inside = cx.operand(value, &read);
    Expr::case(vec![(ranges, inside)], cx.operand(0, index))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{run_one, shape_table, tensor};

    shape_table! { DEF, {"begin": [1, 0], "end": [4, 1], "strides": [2, 1]},
        "[n, 3]; []" => "[n, 3]",
        "[4, 3]; [2, 1]" => "[4, 3]",
        "string[4, 3]; string[1]" => "string[4, 3]",
        "[4, 3]; [2, 2]" => error "value must broadcast to the shape of the slice, [2, 1], got [2, 2]",
        "[4, 3]; i32[]" => error "one dtype, got f32 and i32",
    }

    #[test]
    fn the_slice_of_the_result_is_the_value() {
        let x: Vec<i32> = (1..=60).collect();
        for (begin, end, strides, masks) in [
            ([0, 0], [3, 4], [1, 1], &[][..]),
            ([-1, 1], [0, 4], [-2, 2], &[]),
            ([1, 0], [0, 0], [1, -3], &[("shrink_axis_mask", 1), ("begin_mask", 2), ("end_mask", 2)]),
            ([0, 2], [0, 9], [1, 1], &[("ellipsis_mask", 1)]),
            ([0, 2], [0, 3], [1, 2], &[("new_axis_mask", 1)]),
            ([2, 1], [1, 3], [1, 1], &[]),
        ] {
            let mut attrs = Attrs::new().with("begin", begin).with("end", end).with("strides", strides);
            for (name, mask) in masks {
                attrs = attrs.with(*name, *mask);
            }
            let x = tensor(&[3, 4, 5], &x);
            let slice = |x: &crate::Tensor| {
                run_one(&super::super::strided_slice::DEF, &attrs, std::slice::from_ref(x))
            };
            let kept = slice(&x);
            let values: Vec<i32> = kept.to_vec::<i32>().unwrap().iter().map(|x| -x).collect();
            let y = run_one(&DEF, &attrs, &[x.clone(), tensor(kept.sizes(), &values)]);
            assert_eq!(slice(&y).to_vec::<i32>().unwrap(), values);
            let changed = y.to_vec::<i32>().unwrap().iter().filter(|y| **y < 0).count();
            assert_eq!(changed, values.len());
            let one = run_one(&DEF, &attrs, &[x, tensor(&[1, 1, 1, 1], &[-9])]);
            assert!(slice(&one).to_vec::<i32>().unwrap().iter().all(|x| *x == -9));
        }
    }
}
