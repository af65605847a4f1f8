//! `inplace_update`, `inplace_add` and `inplace_sub`: a tensor with numbered rows replaced or changed.

use std::panic::Location;

use shapeflow_shape_fns::{Attrs, DType, InferenceContext, TensorShape};

use crate::dtype;
use crate::error::Result;
use crate::graph::{IntoOperand, Value};
use crate::op::{HostCx, OpDef, Operand, StringHandles, TfOp};
use crate::ops::integers::ints;
use crate::ops::positions::Positions;
use crate::ops::row_major::RowMajor;
use crate::ops::rows::{Combine, combine, put};
use crate::tensor::Tensor;

macro_rules! updates {
    ($($(#[$doc:meta])* $method:ident, $DEF:ident, $op:literal, $how:expr, $class:ident;)*) => {
        impl<'g> Value<'g> {$(
            $(#[$doc])*
            ///
            /// `[n, d1, …], rows i32[k], values [k, d1, …] -> [n, d1, …]`. A number outside the rows counts modulo `n`,
            /// so -1 is the last row. The op makes a new tensor; a value of a graph never changes.
            #[doc = concat!("As TensorFlow's `", $op, "`. Runs on the host.")]
            ///
            /// # Errors
            /// A rank is 0, shapes differ, `rows` is not i32, or the dtypes differ or are not supported.
            #[track_caller]
            pub fn $method(
                self,
                rows: impl IntoOperand<'g>,
                values: impl IntoOperand<'g>,
            ) -> Result<Value<'g>> {
                let location = Location::caller();
                let (rows, values) = (rows.into_own_operand(self.graph(), location), values.into_operand(self, location));
                self.graph().op(&$DEF).data(self).data(rows).data(values).finish_at(location)
            }
        )*}

        $(pub(crate) static $DEF: OpDef = OpDef::host(stringify!($method), |cx| run(cx, $how))
            .operands(&[Operand::Data("x"), Operand::Data("i"), Operand::Data("v")])
            .shape_fn(shape)
            .dtype_rule(|dtypes, attrs| of_class(dtypes, attrs, dtype::Class::$class))
            .takes_handles(StringHandles::Any)
            .tensorflow(&[TfOp::new($op)]);)*
    };
}
updates! {
    /// Replaces rows: row `rows[j]` of the result is `values[j]`. The last one of several values for a row counts. Any
    /// dtype.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([1, 2, 3])?.inplace_update(g.constant([0, -1])?, g.constant([10, 30])?)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([10, 2, 30]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    inplace_update, UPDATE, "InplaceUpdate", None, Any;
    /// Adds to rows: `values[j]` is added to row `rows[j]`, in the order of the values. Integers (which wrap), floats
    /// and complex numbers; f16 and bf16 are added as f32 and rounded once.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([1, 2, 3])?.inplace_add(g.constant([0, -1, 0])?, g.constant([10, 30, 5])?)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([16, 2, 33]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    inplace_add, ADD, "InplaceAdd", Some(Combine::Add), Numeric;
    /// Subtracts from rows: `values[j]` is subtracted from row `rows[j]`, in the order of the values. Integers (which
    /// wrap), floats and complex numbers; f16 and bf16 are subtracted as f32 and rounded once.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([1, 2, 3])?.inplace_sub(g.constant([0, -1])?, g.constant([10, 30])?)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([-9, 2, -27]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    inplace_sub, SUB, "InplaceSub", Some(Combine::Sub), Numeric;
}

/// Keeps the shape of `x`, and checks the other shapes.
///
/// # Errors
/// A rank is 0, `i` is not a vector, or the shape of `v` differs from that of `x` in more than its first size.
fn shape(cx: &mut InferenceContext<'_>) -> shapeflow_shape_fns::Result<()> {
    let x = cx.with_rank_at_least(0, 1)?;
    let [count] = cx.axes::<1>(1)?;
    if let Some(dims) = x.dims() {
        let rows = TensorShape::new(std::iter::once(count).chain(dims[1..].iter().cloned()));
        let v = cx.input(2).clone();
        cx.merge_shapes(&rows, &v).map_err(|error| error.operand(2))?;
    }
    cx.set_output(0, x);
    Ok(())
}

fn of_class(dtypes: &[DType], _: &Attrs, class: dtype::Class) -> Result<Vec<DType>> {
    if let [x, i, v] = dtypes {
        if *i != DType::I32 {
            return dtype::refuse(format!("the numbers of rows must be i32, got {i}"));
        }
        return Ok(vec![dtype::common(&[*x, *v], 0, 2, class)?]);
    }
    Ok(vec![dtype::common(dtypes, 0, 1, class)?])
}

/// Copies the tensor, then combines its rows with the values by `how`, or replaces rows if `how` is `None`.
fn run(cx: &mut HostCx<'_>, how: Option<Combine>) -> Result<()> {
    let (x, rows, values) = (cx.input(0)?, cx.input(1)?, RowMajor::new(cx.input(2)?)?);
    let mut output = cx.unfilled_output(0, x.sizes())?;
    output.copy_from(&x)?;
    let (Some((&count, row)), false) = (x.sizes().split_first(), x.is_empty()) else { return Ok(()) };
    let numbers: Vec<i64> = ints(&rows).into_iter().map(|number| number.rem_euclid(count as i64)).collect();
    let numbers = Tensor::from_vec(&[numbers.len()], numbers)?;
    let sizes = [count];
    let positions = Positions::new(numbers.view(), None, &sizes)?;
    let row = row.iter().product();
    match how {
        Some(how) => combine(&mut output, values.view(), row, how, &positions),
        None => put(&mut output, values.view(), row, &positions),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{run_one, shape_table, tensor};

    shape_table! { UPDATE, {},
        "string[n, 3]; i32[k]; string[k, 3]" => "string[n, 3]",
        "[n, 3]; i32[?]; [2, ?]" => "[n, 3]",
        "[n]; i64[k]; [k]" => error "the numbers of rows must be i32, got i64",
        "[n]; i32[]; [k]" => error "must have rank 1",
        "[n, 3]; i32[k]; [k, 2]" => error "shapes must agree",
        "[]; i32[k]; [k]" => error "must have rank at least 1",
    }
    shape_table! { added: ADD, {},
        "bool[n]; i32[k]; bool[k]" => error "must be an integer, a float or a complex number",
    }

    #[test]
    fn rows_change_in_the_order_of_the_values() {
        let operands =
            [tensor(&[2, 2], &[1, 2, 3, 4]), tensor(&[3], &[-1, 3, 0]), tensor(&[3, 2], &[1, 1, 5, 6, 7, 8])];
        let run = |def| run_one(def, &Attrs::new(), &operands).to_vec::<i32>().unwrap();
        assert_eq!(run(&UPDATE), [7, 8, 5, 6]);
        assert_eq!(run(&ADD), [8, 10, 9, 11]);
        assert_eq!(run(&SUB), [-6, -6, -3, -3]);
    }

    #[test]
    fn a_tensor_without_rows_stays_empty() {
        let operands = [tensor(&[0, 2], &[0f32; 0]), tensor(&[1], &[0]), tensor(&[1, 2], &[1.0f32, 2.0])];
        assert_eq!(run_one(&UPDATE, &Attrs::new(), &operands).sizes(), [0, 2]);
    }
}
