//! `argmax` and `argmin`: the position of the largest or smallest element along an axis.

use std::panic::Location;

use shapeflow_shape_fns::{Attribute, Attrs, DType, Dim};

use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx, ReduceOp, Scalar};
use crate::graph::{IntoParam, Value};
use crate::op::{OpDef, Operand, TfOp};
use crate::ops::derived;
use crate::shape_fns;

macro_rules! arg_ops {
    ($($(#[$meta:meta])* $method:ident, $method_as:ident, $DEF:ident: $worst_word:literal, $tensorflow:literal, $reduce:ident, $worst:expr;)*) => {
        impl<'g> Value<'g> {$(
            $(#[$meta])*
            ///
            /// `[.., d, ..] -> i64[.., ..]`; bool, integers and floats.
            #[doc = concat!("NaN counts as ", $worst_word, ", so it is ignored; a row of only NaN gives 0.")]
            #[doc = concat!("As TensorFlow's `", $tensorflow, "`. Fuses into kernels.")]
            ///
            /// # Errors
            /// The axis is out of range or has size 0, or the dtype is not supported.
            #[track_caller]
            pub fn $method(self, axis: impl IntoParam<'g>) -> Result<Value<'g>> {
                self.graph().op(&$DEF).data(self).structure("axis", axis).finish_at(Location::caller())
            }

            #[doc = concat!("Does the same as [`Value::", stringify!($method), "`] with positions of `dtype`: i16, u16, i32 or i64. Positions")]
            /// that the dtype does not hold wrap.
            ///
            /// # Errors
            #[doc = concat!("As [`Value::", stringify!($method), "`]; also if `dtype` is not one of these.")]
            #[track_caller]
            pub fn $method_as(self, axis: impl IntoParam<'g>, dtype: DType) -> Result<Value<'g>> {
                let call = self.graph().op(&$DEF).data(self).structure("axis", axis);
                call.attr("output_type", dtype).finish_at(Location::caller())
            }
        )*}

        $(pub(crate) static $DEF: OpDef = OpDef::compute(stringify!($method), |cx, output, index| {
                lower(cx, output, index, ReduceOp::$reduce, $worst)
            })
            .attrs(&[Attribute::dtype_or("output_type", DType::I64)])
            .operands(&[Operand::Data("input"), Operand::Structure("axis")])
            .shape_fn(shape_fns::reduce::$method)
            .dtype_rule(dtypes)
            .tensorflow(&[TfOp::new($tensorflow)]);)*

        /// Every op of the file.
        pub(crate) static ALL: &[&OpDef] = &[$(&$DEF),*];
    };
}
arg_ops! {
    /// Returns the position of the largest element along `axis`; the first one wins a tie.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([[1, 5, 5], [7, 2, 3]])?.argmax(1)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([1i64, 0]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    argmax, argmax_as, ARGMAX: "-inf", "ArgMax", Max, f64::NEG_INFINITY;
    /// Returns the position of the smallest element along `axis`; the first one wins a tie.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([[1, 5, 1], [7, 2, 3]])?.argmin(1)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([0i64, 1]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    argmin, argmin_as, ARGMIN: "inf", "ArgMin", Min, f64::INFINITY;
}

/// The dtype rule: the operand has a scalar dtype, and the result has the dtype of attribute `output_type`, by default
/// i64.
fn dtypes(dtypes: &[DType], attrs: &Attrs) -> Result<Vec<DType>> {
    dtype::common(dtypes, 0, 1, dtype::Class::Scalar)?;
    dtype::check_indices(dtypes, 1)?;
    let result = attrs.dtype("output_type");
    match result {
        DType::I16 | DType::U16 | DType::I32 | DType::I64 => Ok(vec![result]),
        other => dtype::refuse(format!("output_type must be i16, u16, i32 or i64, got {other}")),
    }
}

/// Builds the position of the first extreme element along parameter `axis`. NaN counts as `worst`, the initial value of
/// `op`.
fn lower(cx: &mut dyn LowerCx, output: usize, index: &[Index], op: ReduceOp, worst: f64) -> Expr {
    let axis = derived::axes(cx).first().copied().unwrap_or(0);
    let extent = cx.dims(0).get(axis).cloned().unwrap_or(Dim::known(1));
    let element = |cx: &mut dyn LowerCx, along: &Index| {
        let mut read = index.to_vec();
        read.insert(axis.min(read.len()), along.clone());
        let x = cx.operand(0, &read);
        match x.dtype() {
            DType::Bool => x.cast(DType::U8),
            dtype if dtype.is_float() => {
                let worst = x.like(worst);
                x.clone().equal(x.clone()).select(x, worst)
            }
            _ => x,
        }
    };
    let extents = [extent];
    let extreme = cx.reduce(op, &extents, &mut |cx, inner| element(cx, &inner[0]));
    let result = cx.output_dtype(output);
    // Positions of 16 bits would wrap before they are compared.
    let dtype = if result == DType::I64 { DType::I64 } else { DType::I32 };
    let nowhere = Expr::constant(Scalar::highest(dtype));
    let first = cx.reduce(ReduceOp::Min, &extents, &mut |cx, inner| {
        let position = Expr::iota(inner[0].clone()).cast(dtype);
        element(cx, &inner[0]).equal(extreme.clone()).select(position, nowhere.clone())
    });
    first.cast(result)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{check_row, run_one, tensor};

    #[test]
    fn shapes() {
        let last = Attrs::new().with("axis", -1);
        let narrow = Attrs::new().with("axis", 0).with("output_type", DType::I32);
        let short = Attrs::new().with("axis", 0).with("output_type", DType::U16);
        for def in ALL.iter().copied() {
            check_row(def, &last, "[2, n]", Ok("i64[2]"));
            check_row(def, &last, "i32[a, b, 3]", Ok("i64[d0_0, d0_1]"));
            check_row(def, &last, "?", Ok("i64?"));
            check_row(def, &last, "[]", Err("axis"));
            check_row(def, &last, "[2, 0]", Err("0"));
            check_row(def, &last, "string[2]", Err("must be bool, an integer or a float, got string"));
            check_row(def, &narrow, "[2, n]", Ok("i32[d0_1]"));
            check_row(def, &short, "[2, n]", Ok("u16[d0_1]"));
            check_row(def, &Attrs::new(), "[2, n]; axis=i32[]", Ok("i64[?]"));
            let refusal = "the element type must be i32 or i64, got f32";
            check_row(def, &Attrs::new(), "[2, n]; axis=f32[]", Err(refusal));
        }
    }

    #[test]
    fn positions_of_16_bits_wrap_after_the_comparison() {
        let mut x = vec![0.0f32; 70_000];
        x[66_000] = 1.0;
        let attrs = Attrs::new().with("axis", 0).with("output_type", DType::U16);
        let y = run_one(&ARGMAX, &attrs, &[tensor(&[70_000], &x)]);
        assert_eq!(y.to_vec::<u16>().unwrap(), [(66_000 - 65_536) as u16]);
    }
}
