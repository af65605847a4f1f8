//! `top_k`: the largest elements of each row.

use std::cmp::Reverse;

use shapeflow_shape_fns::{Attribute, Attrs, DType};

use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::{IntoParam, Value};
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::ops::array::unstack::exactly;
use crate::ops::host_params::param_sizes;
use crate::ops::integers::int_tensor;
use crate::ops::row_major::RowMajor;
use crate::ops::take::take;

use super::order::{narrow_keys_of, order_keys};

impl<'g> Value<'g> {
    /// Returns the `k` largest elements along the last axis, in descending order, and their positions.
    ///
    /// `[.., d] -> [.., k], i64[.., k]`, integers and floats. Of equal elements, the one with the lower position comes
    /// first; NaN counts as the largest. As TensorFlow's `TopKV2`, whose positions are i32 by default. Runs on the
    /// host.
    ///
    /// ```
    /// let g = shapeflow::Graph::new();
    /// let [values, positions] = g.constant([1, 4, 2, 4])?.top_k(3)?;
    /// let [values, positions] = g.compile([values, positions])?.run(&[])?;
    /// assert_eq!((values.to_vec::<i32>()?, positions.to_vec::<i64>()?), (vec![4, 4, 2], vec![1, 3, 2]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// `self` is a scalar, `k` is negative or exceeds the last dimension, or the dtype is not supported.
    #[doc(alias = "topk")]
    #[track_caller]
    pub fn top_k(self, k: impl IntoParam<'g>) -> Result<[Value<'g>; 2]> {
        exactly(self.graph().op(&DEF).data(self).size("k", k).finish_all()?)
    }
}

pub(crate) static DEF: OpDef = OpDef::host("top_k", run)
    .attrs(&[Attribute::dtype_or("index_type", DType::I64)])
    .operands(&[Operand::Data("input"), Operand::Size("k")])
    .outputs(|_, _| 2)
    .shape_fn(shapeflow_shape_fns::nn::top_k)
    .dtype_rule(|operands, attrs| {
        let x = dtype::common(operands, 0, 1, dtype::Class::Number)?;
        dtype::check_indices(operands, 1)?;
        Ok(vec![x, index_dtype(attrs)?])
    })
    .tensorflow(&[TfOp::new("TopKV2")]);

fn index_dtype(attrs: &Attrs) -> Result<DType> {
    match attrs.dtype("index_type") {
        index @ (DType::I16 | DType::I32 | DType::I64) => Ok(index),
        other => dtype::refuse(format!("index_type must be i16, i32 or i64, got {other}")),
    }
}

fn run(cx: &mut HostCx<'_>) -> Result<()> {
    let x = RowMajor::new(cx.input(0)?)?;
    let x = x.view();
    let k = param_sizes(cx, "k", 1)?.first().copied().unwrap_or(0);
    let length = x.sizes().last().copied().unwrap_or(0);
    if k > length {
        let message = format!("k must be at most the last dimension, got {k} and {length}");
        return Err(Error::new(ErrorKind::Shape, Phase::Run, message));
    }
    let mut sizes = x.sizes().to_vec();
    if let Some(last) = sizes.last_mut() {
        *last = k;
    }
    let rows = x.sizes().iter().product::<usize>().checked_div(length).unwrap_or(0);
    let mut positions = Vec::with_capacity(rows * k);
    let (mut keys, mut kept) = (Vec::new(), Vec::new());
    // A dtype has either narrow keys, of 32 bits, or none. Without them, the loop ends at row 0.
    for row in 0..rows {
        if !narrow_keys_of(&x, row * length..(row + 1) * length, &mut keys)? {
            break;
        }
        largest(&keys, k, &mut kept, &mut positions);
    }
    if k > 0 && positions.is_empty() {
        let mut kept = Vec::new();
        for row in order_keys(&x)?.chunks_exact(length.max(1)) {
            largest(row, k, &mut kept, &mut positions);
        }
    }
    let starts = positions.iter().enumerate().map(|(at, position)| at / k.max(1) * length + position);
    cx.set_output(0, take(&x, &sizes, 1, starts)?)?;
    cx.set_output(1, int_tensor(index_dtype(cx.attrs())?, &sizes, positions.iter().copied())?)
}

/// A key and its position. Of two equal keys, the first one is larger.
type NumberedKey<K> = (K, Reverse<usize>);

/// Appends the positions of the `k` largest keys of a row, from the largest key to the smallest. Equal keys keep their
/// order. `kept` is scratch memory.
fn largest<K: Copy + Ord>(row: &[K], k: usize, kept: &mut Vec<NumberedKey<K>>, positions: &mut Vec<usize>) {
    /// Keys that are compared with the least kept key at once.
    const BLOCK: usize = 32;
    if k == 0 {
        return;
    }
    // A cut leaves the `k` largest keys so far in `kept`; `least` is the smallest of them. Until the next cut, only
    // keys greater than `least` are appended.
    let room = 2 * k + BLOCK;
    kept.clear();
    let mut least: Option<K> = None;
    for (block, keys) in row.chunks(BLOCK).enumerate() {
        // A later key that equals the least kept key is not among the largest.
        if let Some(least) = least
            && !keys.iter().fold(false, |any, key| any | (*key > least))
        {
            continue;
        }
        let numbered = keys.iter().zip(block * BLOCK..);
        let larger = numbered.filter(|(key, _)| least.is_none_or(|least| **key > least));
        kept.extend(larger.map(|(key, position)| (*key, Reverse(position))));
        if kept.len() >= room {
            let (_, last, _) = kept.select_nth_unstable_by(k - 1, |a, b| b.cmp(a));
            least = Some(last.0);
            kept.truncate(k);
        }
    }
    kept.sort_unstable_by(|a, b| b.cmp(a));
    positions.extend(kept.iter().take(k).map(|(_, Reverse(position))| *position));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{run, shape_table, tensor};

    shape_table! { DEF, {"k": 2},
        "[n, 3]" => "[n, 2]; i64[n, 2]",
        "[1]" => error "must have at least k elements",
        "bool[3]" => error "the element type must be an integer or a float",
    }
    shape_table! { fed: DEF, {"index_type": DType::I64},
        "[n, 3]; k=i32[]" => "[n, ?]; i64[n, ?]",
    }

    #[test]
    fn long_rows_keep_the_order_of_equal_keys() {
        for (length, k, kinds) in [(1000, 7, 5), (1000, 100, 1000), (500, 499, 3), (64, 64, 64), (3000, 1, 9)]
        {
            let keys: Vec<u32> =
                (0..2 * length as u32).map(|i| i.wrapping_mul(2_654_435_761) % kinds).collect();
            let mut expected = Vec::new();
            for row in keys.chunks(length) {
                let mut order: Vec<usize> = (0..length).collect();
                order.sort_by_key(|position| Reverse(row[*position]));
                expected.extend(order.into_iter().take(k));
            }
            let mut positions = Vec::new();
            keys.chunks(length).for_each(|row| largest(row, k, &mut Vec::new(), &mut positions));
            assert_eq!(positions, expected, "{length} {k}");
        }
    }

    #[test]
    fn rows_are_independent() {
        let x: Vec<i32> = (0..60).map(|i| i * 37 % 11).collect();
        for k in [0i64, 1, 7, 20] {
            let [values, positions] =
                &run(&DEF, &Attrs::new().with("k", k), &[tensor(&[3, 20], &x)]).unwrap()[..]
            else {
                panic!()
            };
            let (values, positions) = (values.to_vec::<i32>().unwrap(), positions.to_vec::<i64>().unwrap());
            for (number, row) in x.chunks(20).enumerate() {
                let mut order: Vec<i64> = (0..20).collect();
                order.sort_by_key(|position| -row[*position as usize]);
                let part = number * k as usize..(number + 1) * k as usize;
                assert_eq!(positions[part.clone()], order[..k as usize]);
                let sorted: Vec<i32> = order[..k as usize].iter().map(|at| row[*at as usize]).collect();
                assert_eq!(values[part], sorted);
            }
        }
    }
}
