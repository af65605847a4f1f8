//! `random_shuffle`: the rows of a tensor in random order.

use std::panic::Location;

use super::philox::Philox;
use super::state::{STATE_AND_ALGORITHM, stream_of_state};
use super::stateless::check_state;
use crate::dtype::{self, Class};
use crate::error::Result;
use crate::graph::{IntoOperand, Value};
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::ops::pick_rows::pick_rows;
use crate::ops::row_major::RowMajor;
use crate::tensor::Tensor;

impl<'g> Value<'g> {
    /// Returns the rows of `x` in random order. `self` is the seed.
    ///
    /// `seed [2], x [n, ..] -> [n, ..]`, any dtype; the seed is i32 or i64. The same seed gives the same order in every
    /// run. As TensorFlow's `StatelessShuffle`, bit for bit. Runs on the host.
    ///
    /// ```
    /// use shapeflow::Graph;
    ///
    /// let g = Graph::new();
    /// let cards = g.constant([1i64, 2])?.random_shuffle(g.constant([1, 2, 3, 4, 5])?)?;
    /// let [cards] = g.compile(cards)?.run(&[])?;
    /// let mut cards = cards.to_vec::<i32>()?;
    /// cards.sort();
    /// assert_eq!(cards, [1, 2, 3, 4, 5]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The seed does not hold two integers.
    #[doc(alias = "permutation")]
    #[doc(alias = "shuffle")]
    #[doc(alias = "randperm")]
    #[doc(alias = "stateless_shuffle")]
    #[track_caller]
    pub fn random_shuffle(self, x: impl IntoOperand<'g>) -> Result<Value<'g>> {
        let location = Location::caller();
        let x = x.into_own_operand(self.graph(), location);
        let state = self.graph().op(&STATE_AND_ALGORITHM).data(self).finish_all_at(location)?;
        Ok(self.graph().op(&WITH_STATE).data(x).data_all(&state).finish_all_at(location)?[0])
    }
}

pub(crate) static ALL: &[&OpDef] = &[&WITH_STATE];

pub(crate) static WITH_STATE: OpDef = OpDef::host("random_shuffle_with_state", |cx| {
    let stream = stream_of_state(cx, 1)?;
    run(cx, stream)
})
.operands(&[Operand::Data("value"), Operand::Data("key"), Operand::Data("counter"), Operand::Data("alg")])
.shape_fn(shapeflow_shape_fns::random::shuffle)
.dtype_rule(|operands, _| {
    check_state(operands, 0)?;
    Ok(vec![dtype::common(operands, 0, 1, Class::Any)?])
})
.tensorflow(&[TfOp::new("StatelessShuffle")]);

fn run(cx: &mut HostCx<'_>, stream: Philox) -> Result<()> {
    let x = RowMajor::new(cx.input(0)?)?;
    let x = x.view();
    let Some((&count, row)) = x.sizes().split_first().filter(|_| !x.is_empty()) else {
        return cx.set_output(0, x.to_tensor()?);
    };
    let rows: Vec<Option<usize>> = shuffled(count, stream).into_iter().map(Some).collect();
    let default = Tensor::zeros(x.dtype(), row)?;
    let sizes = x.sizes().to_vec();
    pick_rows(cx, 0, x, default.view(), &rows, &sizes)
}

/// Returns the numbers below `count` in random order: swaps each number with itself or a later one.
pub(crate) fn shuffled(count: usize, stream: Philox) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    for number in 0..count.saturating_sub(1) {
        let bits = stream.block(number as u64 / 4)[number % 4];
        order.swap(number, number + bits as usize % (count - number));
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Attrs;
    use crate::ops::testing::{run_one, shape_table, tensor};

    shape_table! { WITH_STATE, {},
        "string[n, 2]; u64[1]; u64[2]; i32[]" => "string[n, 2]",
        "bool[]; u64[1]; u64[2]; i32[]" => "bool[]",
        "f32[n]; i64[1]; u64[2]; i32[]" => error "a key and a counter must be u64",
    }

    #[test]
    fn rows_without_elements_need_no_memory() {
        let state = [tensor(&[1], &[1u64]), tensor(&[2], &[2u64, 3]), tensor(&[], &[1i32])];
        for sizes in [[1 << 60, 0], [0, 1 << 60]] {
            let operands = [&[tensor::<u8>(&sizes, &[])][..], &state].concat();
            assert_eq!(run_one(&WITH_STATE, &Attrs::new(), &operands).sizes(), sizes);
        }
    }

    /// Every order of three rows is equally likely.
    #[test]
    fn orders_are_equally_likely() {
        let mut counts = std::collections::HashMap::new();
        for seed in 0..12_000 {
            *counts.entry(shuffled(3, Philox::of_seeds([seed, 1]))).or_insert(0) += 1;
        }
        assert_eq!(counts.len(), 6);
        assert!(counts.values().all(|count| (1_800..2_200).contains(count)), "{counts:?}");
        for count in [0, 1, 2, 9, 100] {
            let mut order = shuffled(count, Philox::of_seeds([count as u64, 2]));
            order.sort_unstable();
            assert!(order.into_iter().eq(0..count));
        }
    }
}
