//! Legalization: the rules by which both emitters compute values of a narrow dtype in wider lanes.
//!
//! - In: an operation with its dtypes.
//! - Out: a decision as data: wrap or round the result, which NaN rule applies, signed or unsigned, limits.
//! - Callers: `clif` and `simd`. Each emitter turns the decision into its own instructions, so that results have the
//!   same bits.
//! - Absent: instructions of any processor.

use shapeflow_shape_fns::DType;

use super::repr::{bits_of, is_narrow, lane_bits};
use crate::expr::{BinaryOp, ReduceOp, Scalar, UnaryOp, eval_cast};
use crate::lower::kernel_body::{Inst, InstId, InstOp, KernelBody, ReduceStep};

/// The step after arithmetic that makes each lane a value of its dtype again: it wraps integers and rounds halves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Settle {
    /// Every lane is a value of its dtype already.
    Keep,
    /// Shift left by `spare` bits, then arithmetically right: a narrow signed integer.
    SignExtend { spare: u32 },
    /// Keep the bits of `mask`: a narrow unsigned integer.
    ZeroExtend { mask: u32 },
    /// Round an `f32` lane to the nearest `f16`.
    RoundF16,
    /// Round an `f32` lane to the nearest `bf16`.
    RoundBf16,
}

impl Settle {
    /// Returns the step after arithmetic whose result may be no value of `dtype`.
    pub fn of(dtype: DType) -> Settle {
        let spare = || 32 - bits_of(dtype);
        match dtype {
            DType::F16 => Settle::RoundF16,
            DType::BF16 => Settle::RoundBf16,
            _ if !is_narrow(dtype) => Settle::Keep,
            _ if dtype.is_signed() => Settle::SignExtend { spare: spare() },
            _ => Settle::ZeroExtend { mask: u32::MAX >> spare() },
        }
    }

    /// Returns the step after a unary operation. `Neg`, `Abs` and `Not` can leave the range of an integer dtype only.
    /// Of a float's operations, only a square root needs rounding.
    pub fn after_unary(op: UnaryOp, dtype: DType) -> Settle {
        match op {
            UnaryOp::Sqrt => Settle::of(dtype),
            UnaryOp::Neg | UnaryOp::Abs | UnaryOp::Not if !dtype.is_float() => Settle::of(dtype),
            _ => Settle::Keep,
        }
    }

    /// Returns the step after an elementwise binary operation. Each operation without a step gives values of `dtype`
    /// if its operands are such values.
    pub fn after_binary(op: BinaryOp, dtype: DType) -> Settle {
        match op {
            BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div | BinaryOp::Shl => {
                Settle::of(dtype)
            }
            _ => Settle::Keep,
        }
    }
}

/// How to compute the larger or smaller of two floats `x` and `y` by the hardware's `max` or `min`. The result must be
/// NaN if `x` or `y` is NaN, and `x` if `x` and `y` are equal (0.0 and -0.0 are). The variants name `max` for both.
///
/// The hardware's `max(p, q)` is `p > q ? p : q`: it takes `q` if the operands are equal or one is NaN.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum MinMaxRule {
    /// `x` is a constant, neither NaN nor zero, so equal operands have the same bits: `max(x, y)` is right.
    InOrder,
    /// `y` is not NaN: `max(y, x)` is right.
    Swapped,
    /// `y` may be NaN, and `max(y, x)` loses that NaN: or the result with the mask `y is NaN`. A lane of all ones is a
    /// NaN itself.
    SwappedWithNan,
}

impl MinMaxRule {
    /// Returns the cheapest rule for `x` = `a` and `y` = `b`, two values of a body.
    pub fn of(body: &[Inst], a: InstId, b: InstId) -> MinMaxRule {
        if constant(body, a).is_some_and(|c| !c.is_nan() && c.to_f64() != 0.0) {
            return MinMaxRule::InOrder;
        }
        let never_nan = match body[b.0 as usize].op {
            InstOp::Const(scalar) => !scalar.is_nan(),
            InstOp::Cast(from) => !body[from.0 as usize].dtype.is_float(),
            _ => false,
        };
        if never_nan { MinMaxRule::Swapped } else { MinMaxRule::SwappedWithNan }
    }
}

/// A bitwise instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum BitOp {
    And,
    Or,
    Xor,
}

/// A binary operation on bools as bitwise instructions on masks: `op(x, y)`, where `x` and the result may be negated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct MaskOp {
    pub negates_first: bool,
    pub op: BitOp,
    pub negates_result: bool,
}

impl MaskOp {
    /// Returns the bitwise instructions for `op`.
    ///
    /// # Panics
    /// `op` is arithmetic: the verifier refuses it on bools.
    pub fn of(op: BinaryOp) -> MaskOp {
        let (negates_first, op, negates_result) = match op {
            BinaryOp::And | BinaryOp::Min => (false, BitOp::And, false),
            BinaryOp::Or | BinaryOp::Max => (false, BitOp::Or, false),
            BinaryOp::Xor | BinaryOp::Ne => (false, BitOp::Xor, false),
            BinaryOp::Eq => (false, BitOp::Xor, true),
            BinaryOp::Lt => (true, BitOp::And, false),
            BinaryOp::Le => (true, BitOp::Or, false),
            _ => unreachable!("the verifier refuses {op:?} of bools"),
        };
        MaskOp { negates_first, op, negates_result }
    }
}

/// Returns the value of instruction `v`, if it is a constant.
pub(super) fn constant(body: &[Inst], v: InstId) -> Option<Scalar> {
    match body[v.0 as usize].op {
        InstOp::Const(scalar) => Some(scalar),
        _ => None,
    }
}

/// Returns whether integer lanes of `dtype` need unsigned comparisons. A narrow unsigned integer does not: it is
/// nonnegative in its wider lane.
pub(super) fn compares_unsigned(dtype: DType) -> bool {
    matches!(dtype, DType::U32 | DType::U64)
}

/// Returns the mask to apply to a shift count: a shift takes its count modulo the width of its dtype, even if the lanes
/// are wider.
pub(super) fn shift_mask(dtype: DType) -> u64 {
    u64::from(bits_of(dtype)) - 1
}

/// Returns whether `a * b + c` must be one fused instruction, which rounds once. For `f16` and `bf16`, separate `f32`
/// instructions do, as in the interpreter: the product of two such values is exact in `f32`, unless a product of `bf16`
/// leaves the range of `f32`.
pub(super) fn fuses(dtype: DType) -> bool {
    matches!(dtype, DType::F32 | DType::F64)
}

/// 2^52 + 2^51. For an integral `x` of magnitude below 2^51, the low bits of the float `x + INTEGER_BIAS` are `x` in
/// two's complement.
pub(super) const INTEGER_BIAS: f64 = 6_755_399_441_055_744.0;

/// Returns the least and the greatest value of an integer dtype. A conversion from float saturates to them.
pub(super) fn integer_limits(dtype: DType) -> (i128, i128) {
    dtype.integer_range().expect("only a conversion to an integer saturates")
}

/// Returns the lane bits of `true` converted to `dtype`.
pub(super) fn bits_of_true(dtype: DType) -> u64 {
    lane_bits(eval_cast(Scalar::Bool(true), dtype))
}

/// Returns whether a reduction ends by adding 0.0. A float sum starts from -0.0, and an empty sum must be 0.0.
pub(super) fn ends_with_zero(reduce: ReduceStep) -> bool {
    reduce.op == ReduceOp::Sum && reduce.dtype.is_float()
}

/// Returns the reduction that computes result `k` of the kernel.
pub(super) fn reduce_step(code: &KernelBody, k: u32) -> ReduceStep {
    let mut reduces = code.passes.iter().flat_map(|pass| &pass.reduces);
    *reduces.find(|reduce| reduce.into == k).expect("the verifier checks that every result is computed")
}

/// Returns the lane bits from which a reduction starts.
pub(super) fn identity_bits(reduce: ReduceStep) -> u64 {
    lane_bits(reduce.op.identity(reduce.dtype))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::eval_binary;

    #[test]
    fn mask_operations_equal_operations_on_bools() {
        use BinaryOp::{And, Eq, Le, Lt, Max, Min, Ne, Or, Xor};
        for op in [And, Or, Xor, Min, Max, Eq, Ne, Lt, Le] {
            let rule = MaskOp::of(op);
            for (x, y) in [(false, false), (false, true), (true, false), (true, true)] {
                let first = x ^ rule.negates_first;
                let result = match rule.op {
                    BitOp::And => first & y,
                    BitOp::Or => first | y,
                    BitOp::Xor => first ^ y,
                };
                let expected = eval_binary(op, Scalar::Bool(x), Scalar::Bool(y));
                assert_eq!(
                    Some(Scalar::Bool(result ^ rule.negates_result)),
                    expected,
                    "{op:?} of {x} and {y}"
                );
            }
        }
    }

    #[test]
    #[should_panic(expected = "the verifier refuses Add of bools")]
    fn arithmetic_on_bools_is_a_broken_invariant() {
        MaskOp::of(BinaryOp::Add);
    }

    #[test]
    fn settling_brings_every_narrow_integer_into_range() {
        for dtype in [DType::I8, DType::I16, DType::U8, DType::U16] {
            let (low, high) = integer_limits(dtype);
            for lane in [low - 1, low, -1, 0, 1, high, high + 1] {
                let settled = match Settle::of(dtype) {
                    Settle::SignExtend { spare } => i128::from((lane as i32) << spare >> spare),
                    Settle::ZeroExtend { mask } => i128::from(lane as u32 & mask),
                    settle => panic!("{dtype} is settled by {settle:?}"),
                };
                assert!((low..=high).contains(&settled), "{dtype}: {lane} becomes {settled}");
                assert_eq!(
                    (settled - lane).rem_euclid(high - low + 1),
                    0,
                    "{dtype}: {lane} becomes {settled}"
                );
            }
        }
    }
}
