//! Pseudo-random numbers and elements for tests.

use shapeflow_shape_fns::DType;

use crate::expr::{Scalar, eval_cast};

/// A small generator of pseudo-random numbers. The same seed gives the same test.
pub(in crate::codegen) struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    /// Returns a number in `[0, n)`, or 0 if `n` is 0.
    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }

    /// Returns true in one of `one_in` cases.
    pub fn chance(&mut self, one_in: usize) -> bool {
        self.below(one_in) == 0
    }

    /// Returns one of the values.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

/// Returns a random element of `dtype`: often a special value, often a small one, sometimes any bits.
pub(super) fn element(random: &mut Random, dtype: DType) -> Scalar {
    let bits = random.next();
    let any_bits = Scalar::from_bits(dtype, bits).unwrap();
    if dtype.is_float() {
        let special = [
            0.0,
            -0.0,
            1.0,
            -1.0,
            0.5,
            1.5,
            -2.5,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::NAN,
            65504.0,
            65520.0,
            65519.0,
            6.0e-8,
            3.0e-8,
            6.1e-5,
            2_147_483_648.0,
            -2_147_483_649.0,
            4_294_967_295.0,
            1.0e19,
            -1.0e19,
            4_294_967_296.5,
            -4_294_967_296.5,
            9_007_199_254_740_993.0,
            9_223_372_036_854_774_784.0,
            9_223_372_036_854_775_808.0,
            -9_223_372_036_854_775_808.0,
            -9_223_372_036_854_777_856.0,
            18_446_744_073_709_549_568.0,
            18_446_744_073_709_551_616.0,
            1.0e-40,
            3.0e38,
        ];
        return match random.below(4) {
            0 => eval_cast(Scalar::F64(random.pick(&special)), dtype),
            1 => eval_cast(Scalar::F64((bits % 64) as f64 - 31.0), dtype),
            2 => eval_cast(Scalar::F64((bits as i32) as f64 / 1e6), dtype),
            // The bits may be a signalling NaN. The conversion of an f16 NaN to f32 makes the NaN quiet, so the tests
            // take any two NaNs as equal.
            _ => any_bits,
        };
    }
    match random.below(5) {
        0 => random.pick(&[
            Scalar::zero(dtype),
            Scalar::one(dtype),
            Scalar::lowest(dtype),
            Scalar::highest(dtype),
            eval_cast(Scalar::I64(-1), dtype),
        ]),
        // The sum of two powers of two and of -1, 0 or 1. Such a number often lies half-way between two adjacent
        // floats, or next to the half-way point.
        3 => {
            let power = |random: &mut Random| 1u64 << random.below(64);
            let sum = power(random).wrapping_add(power(random)).wrapping_add(bits % 3).wrapping_sub(1);
            Scalar::from_bits(dtype, if random.chance(2) { sum } else { sum.wrapping_neg() }).unwrap()
        }
        1 | 2 => eval_cast(Scalar::I64(bits as i64 % 16), dtype),
        _ => any_bits,
    }
}
