//! `searchsorted`: the positions at which elements would be inserted into sorted rows.

use std::hint::select_unpredictable;
use std::panic::Location;

use shapeflow_shape_fns::{Attribute, Attrs, DType};

use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::{IntoOperand, Value};
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::ops::integers::int_tensor;
use crate::ops::row_major::RowMajor;

use super::order::order_keys;

impl<'g> Value<'g> {
    /// Returns, for each of `values`, the position at which it would be inserted into a row of `self` to keep the row
    /// sorted: before equal elements, or after them if `right`.
    ///
    /// Rows `[b, n], values [b, m] -> i64[b, m]`, or vectors `[n], [m] -> i64[m]`; integers and floats. The rows must
    /// ascend; NaN counts as the largest. As TensorFlow's `LowerBound` and `UpperBound`, whose results are i32 by
    /// default. Runs on the host.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([1, 3, 3, 5])?.searchsorted(g.constant([3, 6])?, false)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([1i64, 4]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The ranks are not both 2 or both 1, the numbers of rows differ, or the dtypes differ or are not supported.
    #[doc(alias = "lower_bound")]
    #[doc(alias = "upper_bound")]
    #[track_caller]
    pub fn searchsorted(self, values: impl IntoOperand<'g>, right: bool) -> Result<Value<'g>> {
        let location = Location::caller();
        let values = values.into_operand(self, location);
        let is_vector = self.shape().rank() == Some(1);
        if let Some(rank) = values.shape().rank().filter(|rank| is_vector && *rank != 1) {
            let message = format!("the values searched for in a vector must be a vector, got rank {rank}");
            let error = Error::new(ErrorKind::Shape, Phase::Build, message);
            return Err(error.with_op("searchsorted", "searchsorted").at(location));
        }
        let (rows, values) =
            if is_vector { (self.expand_dims(0)?, values.expand_dims(0)?) } else { (self, values) };
        let call = self.graph().op(&DEF).data(rows).data(values).attr("out_type", DType::I64);
        let found = call.attr("side", if right { "right" } else { "left" }).finish()?;
        if is_vector { found.squeeze([0]) } else { Ok(found) }
    }
}

pub(crate) static DEF: OpDef = OpDef::host("searchsorted", run)
    .attrs(&[Attribute::str_or("side", "left"), Attribute::dtype_or("out_type", DType::I64)])
    .operands(&[Operand::Data("sorted_inputs"), Operand::Data("values")])
    .shape_fn(shapeflow_shape_fns::array::search_sorted)
    .dtype_rule(|operands, attrs| {
        dtype::common(operands, 0, 2, dtype::Class::Number)?;
        Ok(vec![position_dtype(attrs)?])
    })
    .tensorflow(&[
        TfOp::new("LowerBound").implied(&[("side", "left")]),
        TfOp::new("UpperBound").implied(&[("side", "right")]),
    ]);

fn position_dtype(attrs: &Attrs) -> Result<DType> {
    match attrs.dtype("out_type") {
        position @ (DType::I32 | DType::I64) => Ok(position),
        other => dtype::refuse(format!("out_type must be i32 or i64, got {other}")),
    }
}

fn run(cx: &mut HostCx<'_>) -> Result<()> {
    let (sorted, values) = (RowMajor::new(cx.input(0)?)?, RowMajor::new(cx.input(1)?)?);
    let (sorted, values) = (sorted.view(), values.view());
    let is_right = cx.attrs().str("side") == "right";
    let length = sorted.sizes().last().copied().unwrap_or(0);
    let count = values.sizes().last().copied().unwrap_or(0);
    let (row_keys, keys) = (order_keys(&sorted)?, order_keys(&values)?);
    let mut found = vec![0; keys.len()];
    if count > 0 {
        for (number, (keys, found)) in keys.chunks(count).zip(found.chunks_mut(count)).enumerate() {
            let row = &row_keys[number * length..][..length];
            match is_right {
                true => search(row, keys, found, |other, key| other <= key),
                false => search(row, keys, found, |other, key| other < key),
            }
        }
    }
    cx.set_output(0, int_tensor(position_dtype(cx.attrs())?, values.sizes(), found.into_iter())?)
}

/// The number of keys that are searched together, so that the processor waits for many elements of the row at once.
const TOGETHER: usize = 16;

/// Finds for each key the number of elements of the sorted `row` that are before the key.
fn search(row: &[u64], keys: &[u64], found: &mut [usize], is_before: impl Fn(u64, u64) -> bool) {
    for (keys, found) in keys.chunks(TOGETHER).zip(found.chunks_mut(TOGETHER)) {
        found.fill(0);
        let mut length = row.len();
        // The number that a key looks for is in `found..=found + length`.
        while length > 0 {
            let half = length.div_ceil(2);
            for (key, found) in keys.iter().zip(&mut *found) {
                // The processor would predict a branch wrongly every other time.
                *found += select_unpredictable(is_before(row[*found + half - 1], *key), half, 0);
            }
            length -= half;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{run_one, shape_table, tensor};

    shape_table! { DEF, {},
        "[b, n]; [b, 3]" => "i64[b, 3]",
        "[2, n]; [3, m]" => error "the numbers of rows",
        "[b, n]; f64[b, m]" => error "operands must have one dtype",
    }

    #[test]
    fn both_sides_of_equal_elements_are_found() {
        let rows = tensor(&[2, 4], &[1, 3, 3, 5, 0, 0, 0, 9]);
        let values = tensor(&[2, 3], &[3, 0, 9, 0, 9, 10]);
        let found = |side: &str| {
            let attrs = Attrs::new().with("side", side);
            run_one(&DEF, &attrs, &[rows.clone(), values.clone()]).to_vec::<i64>().unwrap()
        };
        assert_eq!(found("left"), [1, 0, 4, 0, 3, 4]);
        assert_eq!(found("right"), [3, 0, 4, 3, 4, 4]);
    }

    #[test]
    fn vectors_are_rows_of_their_own() {
        let g = crate::Graph::new();
        let sorted = g.constant([1.0, 2.0, 4.0]).unwrap();
        let found = sorted.searchsorted(g.constant([2.0, 5.0]).unwrap(), true).unwrap();
        let [found] = g.compile(found).unwrap().run(&[]).unwrap();
        assert_eq!((found.sizes(), found.to_vec::<i64>().unwrap()), (&[2][..], vec![2, 3]));
        let error = sorted.searchsorted(2.0, true).unwrap_err();
        assert_eq!(
            error.message(),
            "searchsorted: the values searched for in a vector must be a vector, got rank 0"
        );
    }
}
