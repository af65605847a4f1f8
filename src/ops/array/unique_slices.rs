//! `unique_slices`: the distinct slices of a tensor along an axis.

use shapeflow_shape_fns::{Attribute, DType};

use rustc_hash::FxHashMap;

use crate::dtype;
use crate::error::Result;
use crate::graph::{IntoParam, Value};
use crate::op::{HostCx, OpDef, Operand, StringHandles, TfOp};
use crate::ops::host_params::param_ints;
use crate::ops::integers::int_tensor;
use crate::ops::row_major::RowMajor;
use crate::ops::take::take;

use super::keys::keys;
use super::unique::element_and_index_dtypes;
use super::unstack::exactly;

impl<'g> Value<'g> {
    /// Returns the distinct slices along `axis` in the order of their first occurrence, and for each slice its index
    /// among the distinct slices, as [`Value::unique`] does for the elements of a vector.
    ///
    /// `[.., n, ..] -> [.., ?, ..], i64[n]`; bool, integers, floats and strings. `axis` is a list of one axis, or empty
    /// for a vector. A slice with a NaN equals no other slice. As TensorFlow's `UniqueV2`, whose second output is i32
    /// by default. Runs on the host.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let [rows, positions] = g.constant([[1, 2], [3, 4], [1, 2]])?.unique_slices([0])?;
    /// let [rows, positions] = g.compile([rows, positions])?.run(&[])?;
    /// assert_eq!(rows, Tensor::from([[1, 2], [3, 4]]));
    /// assert_eq!(positions, Tensor::from([0i64, 1, 0]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The axis is out of range, or the dtype is not supported.
    #[track_caller]
    pub fn unique_slices(self, axis: impl IntoParam<'g>) -> Result<[Value<'g>; 2]> {
        exactly(self.graph().op(&DEF).data(self).structure("axis", axis).finish_all()?)
    }

    /// Returns the distinct slices and the indices as [`Value::unique_slices`] does, and the number of occurrences of
    /// each distinct slice.
    ///
    /// `[.., n, ..] -> [.., ?, ..], i64[n], i64[?]`. As TensorFlow's `UniqueWithCountsV2`. Runs on the host.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let found = g.constant([[1, 2], [3, 4], [1, 2]])?.unique_slices_with_counts([0])?;
    /// let [_, _, counts] = g.compile(found)?.run(&[])?;
    /// assert_eq!(counts, Tensor::from([2i64, 1]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Value::unique_slices`].
    #[track_caller]
    pub fn unique_slices_with_counts(self, axis: impl IntoParam<'g>) -> Result<[Value<'g>; 3]> {
        exactly(self.graph().op(&COUNTED).data(self).structure("axis", axis).finish_all()?)
    }
}

pub(crate) static DEF: OpDef = OpDef::host("unique_slices", |cx| run(cx, false))
    .takes_handles(StringHandles::Equality)
    .attrs(&[Attribute::dtype_or("out_idx", DType::I64)])
    .operands(&[Operand::Data("x"), Operand::Structure("axis")])
    .outputs(|_, _| 2)
    .shape_fn(shapeflow_shape_fns::array::unique_v2)
    .dtype_rule(|operands, attrs| {
        dtype::check_indices(operands, 1)?;
        Ok(element_and_index_dtypes(operands, attrs)?.to_vec())
    })
    .tensorflow(&[TfOp::new("UniqueV2")]);

pub(crate) static COUNTED: OpDef = OpDef::host("unique_slices_with_counts", |cx| run(cx, true))
    .takes_handles(StringHandles::Equality)
    .attrs(&[Attribute::dtype_or("out_idx", DType::I64)])
    .operands(&[Operand::Data("x"), Operand::Structure("axis")])
    .outputs(|_, _| 3)
    .shape_fn(shapeflow_shape_fns::array::unique_with_counts_v2)
    .dtype_rule(|operands, attrs| {
        dtype::check_indices(operands, 1)?;
        let [x, index] = element_and_index_dtypes(operands, attrs)?;
        Ok(vec![x, index, index])
    })
    .tensorflow(&[TfOp::new("UniqueWithCountsV2")]);

fn run(cx: &mut HostCx<'_>, is_counted: bool) -> Result<()> {
    let x = RowMajor::new(cx.input(0)?)?;
    let x = x.view();
    let given = param_ints(cx, "axis", 1)?.and_then(|axes| axes.first().copied()).unwrap_or(0);
    let axis = shapeflow_shape_fns::normalize_axis(given, x.sizes().len())?;
    let outer: usize = x.sizes()[..axis].iter().product();
    let (length, inner) = (x.sizes()[axis], x.sizes()[axis + 1..].iter().product::<usize>());
    let keys = keys(&x)?;
    let mut numbers: FxHashMap<Vec<u64>, usize> = FxHashMap::default();
    let (mut firsts, mut counts, mut indices) = (Vec::new(), Vec::new(), Vec::with_capacity(length));
    for slice in 0..length {
        let slice_keys: Option<Vec<u64>> = (0..outer)
            .flat_map(|outer| &keys[(outer * length + slice) * inner..][..inner])
            .copied()
            .collect();
        let next = firsts.len();
        let number = slice_keys.map_or(next, |keys| *numbers.entry(keys).or_insert(next));
        if number == next {
            firsts.push(slice);
            counts.push(0);
        }
        counts[number] += 1;
        indices.push(number);
    }
    let mut sizes = x.sizes().to_vec();
    sizes[axis] = firsts.len();
    let starts =
        (0..outer).flat_map(|outer| firsts.iter().map(move |slice| (outer * length + slice) * inner));
    cx.set_output(0, take(&x, &sizes, inner, starts)?)?;
    let [_, index] = element_and_index_dtypes(&[x.dtype()], cx.attrs())?;
    cx.set_output(1, int_tensor(index, &[length], indices.into_iter())?)?;
    match is_counted {
        true => cx.set_output(2, int_tensor(index, &[counts.len()], counts.into_iter())?),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::DType;

    use super::*;
    use crate::Attrs;
    use crate::ops::testing::{run, shape_table, tensor};
    use crate::tensor::Tensor;

    shape_table! { DEF, {"axis": [1]},
        "[m, n]" => "[m, ?]; i64[n]",
        "string[m, 1]" => "string[m, 1]; i64[1]",
        "[n]" => error "axis must be in [-1, 1), got 1",
    }
    shape_table! { counted: COUNTED, {"out_idx": DType::I32},
        "[m, n]; axis=i64[1]" => "[?, ?]; i32[?]; i32[?]",
    }

    #[test]
    fn slices_are_compared_as_a_whole() {
        let x = tensor(&[3, 2], &[1, 2, 3, 4, 1, 2i32]);
        let of = |axis: i64, x: Tensor| run(&COUNTED, &Attrs::new().with("axis", [axis]), &[x]).unwrap();
        let rows = of(0, x.clone());
        assert_eq!(rows[0], tensor(&[2, 2], &[1, 2, 3, 4i32]));
        assert_eq!(rows[1].to_vec::<i64>().unwrap(), [0, 1, 0]);
        assert_eq!(rows[2].to_vec::<i64>().unwrap(), [2, 1]);
        assert_eq!(of(-1, x.clone())[0], x);
        let texts = Tensor::from_strings(&[2, 2], &["a", "a", "b", "b"]).unwrap();
        assert_eq!(of(1, texts)[0].as_strings().unwrap().len(), 2);
        let nan = of(0, tensor(&[2, 1], &[f32::NAN, f32::NAN]));
        assert_eq!(nan[1].to_vec::<i64>().unwrap(), [0, 1]);
        // Empty slices are equal.
        let empty = of(0, tensor::<f32>(&[2, 0], &[]));
        assert_eq!((empty[0].sizes(), empty[1].to_vec::<i64>().unwrap()), (&[1, 0][..], vec![0, 0]));
    }
}
