//! Arithmetic on two operands. The file `src/ops/elementwise.rs` describes the columns of the table.

use crate::dtype;
use crate::error::Result;
use crate::expr::{BinaryOp, UnaryOp, math};
use crate::ops::elementwise::binary_ops;
use shapeflow_shape_fns::{Attrs, DType};

/// Returns the dtype of a sum. Strings have an op of their own.
fn sum_dtypes(dtypes: &[DType], attrs: &Attrs) -> Result<Vec<DType>> {
    dtype::binary::numeric(dtypes, attrs).map_err(|error| match dtypes {
        [DType::String, DType::String] => error.with_first_choice("use .string_add(..)"),
        _ => error,
    })
}

binary_ops! { rules = binary, result = "":
    /// `self + other`, the same as the operator `+`. Integers wrap.
    #[expect(clippy::should_implement_trait, reason = "the operator cannot return a `Result`")]
    add, ADD: numeric, ["AddV2", "Add"],
        [1, 2], [10, 20] = [11, 22],
        |a, b| a.binary(BinaryOp::Add, b), shape = crate::shape_fns::math::add, dtypes = sum_dtypes;

    /// `self - other`, the same as the operator `-`. Integers wrap.
    #[doc(alias = "subtract")]
    #[expect(clippy::should_implement_trait, reason = "the operator cannot return a `Result`")]
    sub, SUB: numeric, ["Sub"],
        [1, 2], [10, 20] = [-9, -18],
        |a, b| a.binary(BinaryOp::Sub, b), shape = crate::shape_fns::math::sub;

    /// `self * other`, the same as the operator `*`. Integers wrap.
    #[doc(alias = "multiply")]
    #[expect(clippy::should_implement_trait, reason = "the operator cannot return a `Result`")]
    mul, MUL: numeric, ["Mul"],
        [1, 2], [10, 20] = [10, 40],
        |a, b| a.binary(BinaryOp::Mul, b), shape = crate::shape_fns::math::mul;

    /// The quotient rounded toward minus infinity, `floor(self / other)`. For integers, `MIN / -1` wraps to `MIN`, and
    /// a division by zero fails the run.
    #[doc(alias = "floor_divide")]
    #[doc(alias = "floor_div")]
    floordiv, FLOORDIV: number, ["FloorDiv"] divides,
        [7, -7], [2, 2] = [3, -4], math::floordiv, shape = crate::shape_fns::math::floordiv;

    /// The remainder of [`Value::floordiv`](crate::Value::floordiv), which has the sign of `other`. The same as
    /// the operator `%`. An integer division by zero fails the run.
    #[doc(alias = "mod")]
    #[doc(alias = "remainder")]
    #[doc(alias = "floor_mod")]
    floormod, FLOORMOD: number, ["FloorMod"] divides,
        [7, -7], [2, 2] = [1, 1], math::floormod, shape = crate::shape_fns::math::floormod;

    /// The quotient rounded toward zero. For integers, `MIN / -1` wraps to `MIN`, and a division by zero fails the run.
    #[doc(alias = "truncate_div")]
    truncatediv, TRUNCATEDIV: number, ["TruncateDiv" own_shape_fn] divides, [7, -7], [2, 2] = [3, -3], |a, b| {
        let quotient = a.binary(BinaryOp::Div, b);
        if quotient.dtype().is_float() { quotient.unary(UnaryOp::Trunc) } else { quotient }
    };

    /// The remainder of [`Value::truncatediv`](crate::Value::truncatediv), which has the sign of `self`; C's `fmod` for
    /// floats. An integer division by zero fails the run.
    #[doc(alias = "fmod")]
    truncatemod, TRUNCATEMOD: number, ["TruncateMod" own_shape_fn, "Mod" own_shape_fn] divides,
        [7, -7], [2, 2] = [1, -1], |a, b| a.binary(BinaryOp::Rem, b);

    /// `self` to the power of `other`. Floats follow C's `pow`. Integers wrap, and a negative integer exponent fails
    /// the run.
    ///
    /// The error is at most 0.6 ulp in f32, 1 ulp in f64, and 1.5 ulp for a constant exponent of -0.5.
    #[doc(alias = "power")]
    pow, POW: numeric, ["Pow"], [2, 3], [10, 2] = [1024, 9], math::pow;

    /// `(self - other)²`. Integers wrap.
    #[doc(alias = "squared_error")]
    squared_difference, SQUARED_DIFFERENCE: numeric, ["SquaredDifference"],
        [1.0, 5.0], [4.0, 3.0] = [9.0, 4.0], math::squared_difference;

    /// The larger of two elements; NaN if either is NaN. `-0.0` and `0.0` compare equal: the result is then `self`.
    #[doc(alias = "clamp_min")]
    maximum, MAXIMUM: number, ["Maximum"],
        [1, 5], [4, 3] = [4, 5],
        |a, b| a.binary(BinaryOp::Max, b), shape = crate::shape_fns::math::maximum;

    /// The smaller of two elements; NaN if either is NaN. `-0.0` and `0.0` compare equal: the result is then `self`.
    #[doc(alias = "clamp_max")]
    minimum, MINIMUM: number, ["Minimum"],
        [1, 5], [4, 3] = [1, 3],
        |a, b| a.binary(BinaryOp::Min, b), shape = crate::shape_fns::math::minimum;
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::Attrs;

    use super::*;
    use crate::error::ErrorKind;
    use crate::ops::testing::{check_tensor, run, run_one, tensor};

    #[test]
    fn an_integer_division_by_zero_fails_the_run() {
        let operands = [tensor(&[2], &[1i32, 2]), tensor(&[2], &[1i32, 0])];
        for def in [&FLOORDIV, &FLOORMOD, &TRUNCATEDIV, &TRUNCATEMOD] {
            let error = run(def, &Attrs::new(), &operands).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::DivideByZero, "{}", def.name());
        }
    }

    #[test]
    fn truncated_quotients_are_rounded_toward_zero() {
        let operands = [tensor(&[4], &[7i64, -7, 7, -7]), tensor(&[4], &[2i64, 2, -2, -2])];
        let expected = tensor(&[4], &[3i64, -3, -3, 3]);
        check_tensor(&run_one(&TRUNCATEDIV, &Attrs::new(), &operands), &expected, "truncatediv");
        let operands = [tensor(&[3], &[7.5f32, -7.5, 1.0]), tensor(&[3], &[2.0f32, 2.0, 0.0])];
        let expected = tensor(&[3], &[3.0f32, -3.0, f32::INFINITY]);
        check_tensor(&run_one(&TRUNCATEDIV, &Attrs::new(), &operands), &expected, "truncatediv");
    }

    #[test]
    fn truncated_remainders_have_the_sign_of_the_dividend() {
        let operands = [tensor(&[4], &[7.5f32, -7.5, 7.5, -7.5]), tensor(&[4], &[2.0f32, 2.0, -2.0, -2.0])];
        let expected = tensor(&[4], &[1.5f32, -1.5, 1.5, -1.5]);
        check_tensor(&run_one(&TRUNCATEMOD, &Attrs::new(), &operands), &expected, "truncatemod");
    }
}
