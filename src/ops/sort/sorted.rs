//! `sort` and `argsort`: sort elements along an axis.

use shapeflow_shape_fns::{Attribute, DType};

use crate::dtype;
use crate::error::Result;
use crate::graph::{IntoParam, Value};
use crate::op::{HostCx, OpDef, Operand, TfFunction};
use crate::ops::row_major::RowMajor;
use crate::tensor::{Tensor, TensorView};

use super::columns::Columns;
use super::in_tensorflow;
use super::numbers::sort_columns;
use super::order::{narrow_keys, order_keys};
use super::radix::radix_sort;

macro_rules! sorts {
    ($($(#[$doc:meta])* $method:ident, $DEF:ident, $run:ident, $result:expr;)*) => {
        impl<'g> Value<'g> {$(
            $(#[$doc])*
            ///
            /// Equal elements keep their order. NaN counts as the largest. A negative `axis` counts from the end. Runs
            /// on the host.
            ///
            /// # Errors
            /// The axis is out of range, or the dtype is neither bool nor a number.
            #[track_caller]
            pub fn $method(self, axis: impl IntoParam<'g>, descending: bool) -> Result<Value<'g>> {
                let call = self.graph().op(&$DEF).data(self).structure("axis", axis);
                call.attr("descending", descending).finish()
            }
        )*}

        $(pub(crate) static $DEF: OpDef = OpDef::host(stringify!($method), $run)
            .in_tensorflow(TfFunction::Composed(in_tensorflow::$method))
            .attrs(&[Attribute::bool_or("descending", false)])
            .operands(&[Operand::Data("x"), Operand::Structure("axis")])
            .shape_fn(shapeflow_shape_fns::array::cumsum)
            .dtype_rule(|operands, _| {
                dtype::check_indices(operands, 1)?;
                let result: fn(DType) -> DType = $result;
                Ok(vec![result(dtype::common(operands, 0, 1, dtype::Class::Scalar)?)])
            });)*
    };
}
sorts! {
    /// Sorts the elements along `axis`, in ascending order or in descending order.
    ///
    /// `[..] -> [..]`; bool, integers and floats. As TensorFlow's `tf.sort`.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([[3, 1, 2], [4, 6, 5]])?.sort(1, false)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([[1, 2, 3], [4, 5, 6]]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    sort, SORT, run_sort, |x| x;
    /// Returns the positions along `axis` of the elements that [`Value::sort`] returns.
    ///
    /// `[..] -> i64[..]`; bool, integers and floats. As TensorFlow's `tf.argsort` with `stable=True`, whose result is
    /// i32.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([30, 10, 20])?.argsort(0, true)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([0i64, 2, 1]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    argsort, ARGSORT, run_argsort, |_| DType::I64;
}

impl Columns {
    /// Sorts each column, whose elements are `inner` apart in the tensor. `item` makes an item from the index of an
    /// element in the tensor and its index in the column. `key` gives the sort key of an item, of `bits` bits. `result`
    /// makes the element that is written from an item.
    fn sort<I: Copy, T>(
        &self,
        bits: u32,
        item: impl Fn(usize, usize) -> I,
        key: impl Fn(&I) -> u64,
        result: impl Fn(I) -> T,
        results: &mut [T],
    ) {
        let (mut column, mut scratch) = (Vec::new(), Vec::new());
        for first in self.firsts() {
            column.clear();
            column.extend((0..self.length).map(|at| item(first + at * self.inner, at)));
            radix_sort(&mut column, &mut scratch, bits, &key);
            for (at, sorted) in column.iter().enumerate() {
                results[first + at * self.inner] = result(*sorted);
            }
        }
    }
}

fn is_descending(cx: &HostCx<'_>) -> bool {
    cx.attrs().bool("descending")
}

/// Returns for each element of the sorted tensor its position along the axis before the sort. Equal elements keep their
/// order.
fn positions(cx: &HostCx<'_>, x: &TensorView<'_>, columns: &Columns) -> Result<Vec<i64>> {
    let mut positions = vec![0i64; columns.elements];
    // Inverted keys ascend where the elements descend, and leave equal elements in their order.
    let inverted = is_descending(cx);
    match narrow_keys(x)?.filter(|_| u32::try_from(columns.length).is_ok()) {
        Some(keys) => {
            let mask = if inverted { u32::MAX } else { 0 };
            let item = |element: usize, at: usize| (keys[element] ^ mask, at as u32);
            columns.sort(32, item, |item| item.0.into(), |item| item.1.into(), &mut positions);
        }
        None => {
            let (keys, mask) = (order_keys(x)?, if inverted { u64::MAX } else { 0 });
            let item = |element: usize, at: usize| (keys[element] ^ mask, at);
            columns.sort(64, item, |item| item.0, |item| item.1 as i64, &mut positions);
        }
    }
    Ok(positions)
}

fn run_sort(cx: &mut HostCx<'_>) -> Result<()> {
    let x = RowMajor::new(cx.input(0)?)?;
    let x = x.view();
    let (columns, descending) = (Columns::new(cx, x.sizes())?, is_descending(cx));
    sort_columns(&x, &mut cx.unfilled_output(0, x.sizes())?, &columns, descending)
}

fn run_argsort(cx: &mut HostCx<'_>) -> Result<()> {
    let x = RowMajor::new(cx.input(0)?)?;
    let x = x.view();
    let positions = positions(cx, &x, &Columns::new(cx, x.sizes())?)?;
    cx.set_output(0, Tensor::from_vec(x.sizes(), positions)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Attrs;
    use crate::ops::testing::{run_one, shape_table, tensor};

    shape_table! { SORT, {"axis": -1},
        "[n, 3]" => "[n, 3]",
        "bool[n]" => "bool[n]",
        "[]" => error "axis",
        "string[n]" => error "the element type must be bool, an integer or a float",
    }
    shape_table! { positions: ARGSORT, {},
        "[n, 3]; axis=i32[]" => "i64[n, 3]",
    }

    #[test]
    fn columns_are_sorted_and_equal_elements_keep_their_order() {
        let x: Vec<i16> = (0..60).map(|i| (i * 17 % 7) as i16).collect();
        for (axis, stride) in [(0usize, 20usize), (1, 5), (2, 1)] {
            for descending in [false, true] {
                let attrs = Attrs::new().with("axis", axis as i64).with("descending", descending);
                let of = |def| run_one(def, &attrs, &[tensor(&[3, 4, 5], &x)]);
                let (sorted, order) =
                    (of(&SORT).to_vec::<i16>().unwrap(), of(&ARGSORT).to_vec::<i64>().unwrap());
                let length = [3, 4, 5][axis];
                for at in 0..60 {
                    let place = at / stride % length;
                    let first = at - place * stride;
                    assert_eq!(sorted[at], x[first + order[at] as usize * stride]);
                    if place > 0 {
                        let before = (sorted[at - stride], order[at - stride]);
                        let is_ordered =
                            if descending { before.0 >= sorted[at] } else { before.0 <= sorted[at] };
                        assert!(is_ordered && (before.0 != sorted[at] || before.1 < order[at]));
                    }
                }
            }
        }
    }

    #[test]
    fn empty_axes_stay_empty() {
        // The last columns are longer than any memory.
        for sizes in [[0, 3], [3, 0], [1 << 60, 0]] {
            for def in [&SORT, &ARGSORT] {
                let y = run_one(def, &Attrs::new().with("axis", 0), &[tensor::<u8>(&sizes, &[])]);
                assert_eq!(y.sizes(), sizes);
            }
        }
    }
}
