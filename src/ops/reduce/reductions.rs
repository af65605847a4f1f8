//! Reductions with a single operation: `reduce_sum`, `reduce_prod`, `reduce_max`, `reduce_min`, `reduce_all`,
//! `reduce_any`.

use shapeflow_shape_fns::{Attribute, DType};

use std::panic::Location;

use super::axes::IntoAxes;
use super::reduction::lower_reduce;
use crate::dtype;
use crate::error::Result;
use crate::expr::ReduceOp;
use crate::graph::Value;
use crate::op::{Absent, OpDef, Operand, TfOp};
use crate::ops::row_docs::{dtype_words, tensorflow_words};
use crate::shape_fns;

macro_rules! reductions {
    ($($(#[$doc:meta])* $method:ident, $DEF:ident: $class:ident, $tensorflow:literal, $reduce:ident, $shape:ident $(, on_complex = $on_complex:path)?;)*) => {
        impl<'g> Value<'g> {$(
            $(#[$doc])*
            ///
            /// `[.., d, ..] -> [.., ..]`, or `[.., 1, ..]` with [`Axes::keep_dims`](crate::Axes::keep_dims);
            #[doc = concat!(dtype_words!(many $class), ".", tensorflow_words!($tensorflow), " Fuses into kernels.")]
            ///
            /// # Errors
            #[doc = concat!("The element type is not ", dtype_words!(one $class), ",")]
            /// or an axis is out of range or given twice.
            #[track_caller]
            pub fn $method(self, axes: impl IntoAxes<'g>) -> Result<Value<'g>> {
                axes.into_axes().reduce(self, &$DEF, Location::caller())
            }
        )*}

        $(pub(crate) static $DEF: OpDef =
            OpDef::compute(stringify!($method), |cx, _output, index| lower_reduce(cx, index, ReduceOp::$reduce))
                .attrs(&[Attribute::bool_or("keep_dims", false)])
            .operands(&[Operand::Data("input"), Operand::Structure("axis")])
                .shape_fn(shape_fns::reduce::$shape)
                .dtype_rule(dtype::unary::$class)
                $(.on_dtypes(DType::is_complex, $on_complex))?
                .tensorflow(&[TfOp::new($tensorflow).absent(&[("axis", Absent::AllAxes)])]);)*

        /// Every op of the file.
        pub(crate) static ALL: &[&OpDef] = &[$(&$DEF),*];
    };
}
reductions! {
    /// Returns the sum over the given axes; 0 for no elements. Integers wrap.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([[1, 2], [3, 4]])?.reduce_sum(0)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([4, 6]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    #[doc(alias = "sum")]
    reduce_sum, SUM: numeric, "Sum", Sum, sum;

    /// Returns the product over the given axes; 1 for no elements. Integers wrap. A product of complex numbers runs on
    /// the host.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([[1, 2], [3, 4]])?.reduce_prod(1)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([2, 12]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    #[doc(alias = "prod")]
    reduce_prod, PROD: numeric, "Prod", Prod, prod, on_complex = super::complex_prod::build;

    /// Returns the largest element over the given axes; NaN if an element is NaN. The result for no elements is the
    /// lowest value of the dtype, which is -inf for floats.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([[1, 5], [3, 4]])?.reduce_max(1)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([5, 4]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    #[doc(alias = "max")]
    #[doc(alias = "amax")]
    reduce_max, MAX: number, "Max", Max, max;

    /// Returns the smallest element over the given axes; NaN if an element is NaN. The result for no elements is the
    /// highest value of the dtype, which is inf for floats.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([[1, 5], [3, 4]])?.reduce_min(0)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([1, 4]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    #[doc(alias = "min")]
    #[doc(alias = "amin")]
    reduce_min, MIN: number, "Min", Min, min;

    /// Returns whether all elements over the given axes are true; true for no elements.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([[true, false], [true, true]])?.reduce_all(1)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([false, true]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    #[doc(alias = "all")]
    reduce_all, EVERY: boolean, "All", All, reduce;

    /// Returns whether any element over the given axes is true; false for no elements.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([[true, false], [false, false]])?.reduce_any(1)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([true, false]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    #[doc(alias = "any")]
    reduce_any, ANY: boolean, "Any", Any, reduce;
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::Attrs;

    use super::*;
    use crate::ops::testing::check_row;

    #[test]
    fn shapes() {
        let two_axes = Attrs::new().with("axis", [0, -1]);
        let kept = Attrs::new().with("axis", [1]).with("keep_dims", true);
        for def in ALL.iter().copied() {
            let is_bool = def.dtypes() == [crate::DType::Bool];
            let (dtype, refused, error) = match is_bool {
                true => ("bool", "i32[2, 3]", "must be bool, got i32"),
                false => ("f32", "bool[2, 3]", ", got bool"),
            };
            let check = |attrs: &Attrs, inputs: &str, expected: &str| {
                check_row(def, attrs, &inputs.replace('T', dtype), Ok(&expected.replace('T', dtype)));
            };
            check(&two_axes, "T[2, n, 3]", "T[d0_1]");
            check(&two_axes, "T?", "T?");
            check_row(def, &two_axes, &format!("{dtype}[n]"), Err("axis"));
            check_row(def, &two_axes, refused, Err(error));
            check(&kept, "T[2, n, 3]", "T[2, 1, 3]");
            check(&Attrs::new(), "T[2, n]", "T[]");
            check(&Attrs::new(), "T?", "T[]");
            check(&Attrs::new(), "T[2, n]; axis=i32[2]", "T[]");
            check(&Attrs::new(), "T[2, n]; axis=i64[]", "T[?]");
        }
    }
}
