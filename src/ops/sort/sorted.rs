//! `sort` and `argsort`: sort elements along an axis.

use shapeflow_shape_fns::{Attr, DType};

use crate::dtype;
use crate::error::Result;
use crate::graph::{IntoParam, Value};
use crate::op::{HostCx, OpDef, Operand};
use crate::ops::host_params::param_ints;
use crate::ops::integers::int_tensor;
use crate::ops::row_major::RowMajor;
use crate::ops::take::take;

use super::order::order_keys;

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
            .operands(&[Operand::Data("x"), Operand::Structure("axis")])
            .shape_fn(shapeflow_shape_fns::array::cumsum)
            .dtype_rule(|operands, _| {
                dtype::indices(operands, 1)?;
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

/// The sorted order of each column: for every element of the result, the position of its source along the axis.
struct Order {
    length: usize,
    inner: usize,
    positions: Vec<usize>,
}

fn order(cx: &HostCx<'_>, keys: &[u64], sizes: &[usize]) -> Result<Order> {
    let given = param_ints(cx, "axis", 1)?.and_then(|axes| axes.first().copied()).unwrap_or(0);
    let axis = shapeflow_shape_fns::normalize_axis(given, sizes.len())?;
    let is_descending = matches!(cx.attrs().get("descending"), Some(Attr::Bool(true)));
    let (length, inner) = (sizes[axis], sizes[axis + 1..].iter().product::<usize>());
    let mut positions = vec![0; keys.len()];
    let mut column: Vec<(u64, usize)> = Vec::with_capacity(length);
    for group in 0..keys.len().checked_div(length * inner).unwrap_or(0) {
        for first in (group * length * inner..).take(inner) {
            column.clear();
            // Inverted keys ascend where the elements descend, and leave equal elements in their order.
            let key = |at: usize| keys[first + at * inner] ^ if is_descending { u64::MAX } else { 0 };
            column.extend((0..length).map(|at| (key(at), at)));
            column.sort_unstable();
            for (at, (_, position)) in column.iter().enumerate() {
                positions[first + at * inner] = *position;
            }
        }
    }
    Ok(Order { length, inner, positions })
}

fn run_sort(cx: &mut HostCx<'_>) -> Result<()> {
    let x = RowMajor::new(cx.input(0)?)?;
    let x = x.view();
    let Order { length, inner, positions } = order(cx, &order_keys(&x)?, x.sizes())?;
    let group = (length * inner).max(1);
    let starts = positions
        .iter()
        .enumerate()
        .map(|(at, position)| at / group * group + position * inner + at % inner.max(1));
    cx.set_output(0, take(&x, x.sizes(), 1, starts)?)
}

fn run_argsort(cx: &mut HostCx<'_>) -> Result<()> {
    let x = RowMajor::new(cx.input(0)?)?;
    let x = x.view();
    let order = order(cx, &order_keys(&x)?, x.sizes())?;
    cx.set_output(0, int_tensor(DType::I64, x.sizes(), order.positions.into_iter())?)
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
        for sizes in [[0, 3], [3, 0]] {
            let y = run_one(&SORT, &Attrs::new().with("axis", 0), &[tensor::<f32>(&sizes, &[])]);
            assert_eq!(y.sizes(), sizes);
        }
    }
}
