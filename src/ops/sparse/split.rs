//! `sparse_split`: the parts of a sparse tensor along an axis.

use std::panic::Location;

use shapeflow_shape_fns::{Attribute, Attrs, DType, counted};

use super::operand::{check_i64, out_of_range, parts, pick_values, refuse, rows_of};
use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::{IntoOperand, IntoParam, Param, Value};
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::ops::integers::ints;
use crate::ops::row_major::RowMajor;
use crate::tensor::Tensor;

/// The greatest number of parts.
const MOST_PARTS: i64 = 1 << 16;

impl<'g> Value<'g> {
    /// Splits the sparse tensor of indices `self` into `count` parts along `axis`: indices, values and sizes of each
    /// part. Elements keep their order. If `count` does not divide the size of the axis, the first parts are 1 longer.
    ///
    /// `[n, r], values [n], shape [r] -> ` for each part `[m, r], [m], [r]`. The values have any dtype, the indices and
    /// the shape are i64. An `axis` of -1 is the last one. As TensorFlow's `SparseSplit`. Runs on the host.
    ///
    /// ```
    /// use shapeflow::Graph;
    ///
    /// let g = Graph::new();
    /// let (indices, values) = (g.constant([[0i64, 0], [0, 4], [1, 2]])?, g.constant([5.0f32, 6.0, 7.0])?);
    /// let halves = indices.sparse_split(values, g.constant([2i64, 5])?, 2, 1)?;
    /// let [indices, values, sizes] = g.compile(&halves[1][..])?.run(&[])?;
    /// assert_eq!(indices.to_vec::<i64>()?, [0, 1]);
    /// assert_eq!(values.to_vec::<f32>()?, [6.0]);
    /// assert_eq!(sizes.to_vec::<i64>()?, [2, 2]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// An operand has another dtype or rank, or `count` is not in [1, 65536]. The run fails if there is no such axis,
    /// the axis is shorter than `count`, or an index is outside the axis.
    #[track_caller]
    pub fn sparse_split(
        self,
        values: impl IntoOperand<'g>,
        shape: impl IntoOperand<'g>,
        count: impl IntoParam<'g>,
        axis: impl IntoParam<'g>,
    ) -> Result<Vec<[Value<'g>; 3]>> {
        let location = Location::caller();
        let parts = parts(self, values, shape, location);
        let axis = match axis.into_param() {
            Param::Value(axis) => axis,
            known => {
                let axis = known.known_int("axis").map_err(|error| error.at(location))?;
                self.graph().constant_at(Tensor::from(axis), location)
            }
        };
        let call = self.graph().op(&DEF).data(axis).data_all(&parts).int_attr("num_split", count);
        let outputs = call.finish_all_at(location)?;
        let count = outputs.len() / 3;
        Ok((0..count).map(|part| [0, 1, 2].map(|kind| outputs[kind * count + part])).collect())
    }
}

pub(crate) static DEF: OpDef = OpDef::host("sparse_split", run)
    .attrs(&[Attribute::int("num_split")])
    .operands(&[
        Operand::Data("split_dim"),
        Operand::Data("indices"),
        Operand::Data("values"),
        Operand::Data("shape"),
    ])
    .outputs(|attrs, _| 3 * parts_of(attrs).unwrap_or(0))
    .shape_fn(shapeflow_shape_fns::sparse::split)
    .dtype_rule(|dtypes, attrs| {
        check_i64(dtypes, &[0, 1, 3])?;
        let (count, values) = (parts_of(attrs)?, dtype::common(dtypes, 2, 3, dtype::Class::Stored)?);
        let of_each = |dtype| std::iter::repeat_n(dtype, count);
        Ok(of_each(DType::I64).chain(of_each(values)).chain(of_each(DType::I64)).collect())
    })
    .tensorflow(&[TfOp::new("SparseSplit")]);

/// Returns the number of parts.
fn parts_of(attrs: &Attrs) -> Result<usize> {
    let count = attrs.int("num_split");
    match usize::try_from(count) {
        Ok(parts) if (1..=MOST_PARTS).contains(&count) => Ok(parts),
        _ => {
            let message = format!("num_split must be in [1, {MOST_PARTS}], got {count}");
            Err(Error::new(ErrorKind::Attribute, Phase::Build, message))
        }
    }
}

fn run(cx: &mut HostCx<'_>) -> Result<()> {
    let count = parts_of(cx.attrs())?;
    let [indices, values] = [RowMajor::new(cx.input(1)?)?, RowMajor::new(cx.input(2)?)?];
    let (values, mut shape, given) = (values.view(), ints(&cx.input(3)?), cx.input(0)?.item::<i64>()?);
    let (rows, rank) = rows_of(indices.view(), &shape)?;
    if values.len() != rows.len() {
        return refuse(format!(
            "there must be {}, one for each index, got {}",
            counted(rows.len(), "value"),
            values.len()
        ));
    }
    let from_start = if given < 0 { given.saturating_add(rank as i64) } else { given };
    let Some(axis) = usize::try_from(from_start).ok().filter(|axis| *axis < rank) else {
        return refuse(format!("the axis must be in [-{rank}, {rank}), got {given}"));
    };
    let size = shape[axis];
    if size < count as i64 {
        return refuse(format!(
            "the axis must have at least {count}, one for each part, got {size}",
            count = counted(count, "element")
        ));
    }
    // The first `longer` parts have `length + 1` elements.
    let (length, longer) = (size / count as i64, size % count as i64);
    let start = |part: i64| part * length + part.min(longer);
    let mut members: Vec<Vec<usize>> = vec![Vec::new(); count];
    for (number, row) in rows.iter().enumerate() {
        let index = row[axis];
        if !(0..size).contains(&index) {
            return out_of_range(1, [number, axis], index, size);
        }
        let long = longer * (length + 1);
        let part = if index < long { index / (length + 1) } else { longer + (index - long) / length };
        members[part as usize].push(number);
    }
    for (part, numbers) in members.into_iter().enumerate() {
        let first = start(part as i64);
        let mut moved: Vec<i64> = numbers.iter().flat_map(|number| rows[*number]).copied().collect();
        moved.iter_mut().skip(axis).step_by(rank).for_each(|index| *index -= first);
        shape[axis] = start(part as i64 + 1) - first;
        cx.set_output(part, Tensor::from_vec(&[numbers.len(), rank], moved)?)?;
        pick_values(cx, count + part, values.clone(), numbers)?;
        cx.set_output(2 * count + part, Tensor::from_slice(&[rank], &shape)?)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{run, shape_table, tensor};

    shape_table! { DEF, {"num_split": 2},
        "i64[]; i64[n, 3]; string[n]; i64[3]" => "i64[?, 3]; i64[?, 3]; string[?]; string[?]; i64[3]; i64[3]",
        "i32[]; i64[n, 3]; f32[n]; i64[3]" => error "indices and shapes must be i64, got i32 in operand 0",
    }
    shape_table! { none: DEF, {"num_split": 0},
        "i64[]; i64[n, 3]; f32[n]; i64[3]" => error "num_split must be in [1, 65536], got 0",
    }

    /// Every element is in the part of its index, and the parts cover the axis.
    #[test]
    fn parts_follow_each_other() {
        for size in [1i64, 2, 5, 8, 13] {
            for count in 1..=size {
                let elements: Vec<i64> = (0..size).rev().flat_map(|index| [index % 3, index]).collect();
                let values: Vec<i64> = (0..size).rev().collect();
                let given = [
                    tensor(&[], &[-1i64]),
                    tensor(&[size as usize, 2], &elements),
                    tensor(&[size as usize], &values),
                    tensor(&[2], &[3, size]),
                ];
                let outputs = run_split(count, &given);
                let count = count as usize;
                let mut start = 0;
                for part in 0..count {
                    let [indices, values, sizes] =
                        [0, 1, 2].map(|kind| outputs[kind * count + part].to_vec::<i64>().unwrap());
                    let expected: Vec<i64> = (start..start + sizes[1]).rev().collect();
                    assert_eq!((&values, sizes[0]), (&expected, 3));
                    let moved: Vec<i64> = expected.iter().flat_map(|x| [x % 3, x - start]).collect();
                    assert_eq!(indices, moved);
                    start += sizes[1];
                }
                assert_eq!(start, size);
            }
        }
    }

    fn run_split(count: i64, given: &[Tensor]) -> Vec<Tensor> {
        run(&DEF, &Attrs::new().with("num_split", count), given).unwrap()
    }
}
