//! Inverse cosine transforms of blocks of 8 × 8 coefficients, with the integer arithmetic of libjpeg.

/// Which integers compute a transform to 8 × 8 samples.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum DctMethod {
    /// Products of 8 bits, TensorFlow's default.
    Fast,
    /// Products of 13 bits.
    Accurate,
}

/// Bits of the factors of accurate transforms, and of the scale between its two passes.
const BITS: u32 = 13;
const PASS: u32 = 2;

/// The scale factors of the fast transform, times 2¹⁴: `cos(kπ/16) √2` for `k > 0`.
const FAST_SCALES: [i64; 8] = [16384, 22725, 21407, 19266, 16384, 12873, 8867, 4520];

/// What a transform multiplies coefficients with: the quantization table, in row-major order, with the scales of the
/// method.
#[derive(Clone)]
pub(super) struct Multipliers {
    factors: [i32; 64],
    size: usize,
    method: DctMethod,
}

impl Multipliers {
    /// Prepares transforms to `size × size` samples, where `size` is 1, 2, 4 or 8.
    pub(super) fn new(quantization: &[u16; 64], size: usize, method: DctMethod) -> Multipliers {
        let mut factors = quantization.map(i32::from);
        if size == 8 && method == DctMethod::Fast {
            for (index, factor) in factors.iter_mut().enumerate() {
                // The product of two scales has 28 bits; both together round to 14 bits.
                let scale = fast_scale(index);
                *factor = i32::from(((i64::from(*factor) * scale + (1 << 11)) >> 12) as i16);
            }
        }
        Multipliers { factors, size, method }
    }

    /// Transforms a block to `size` rows of `size` samples, which start `stride` apart.
    pub(super) fn transform(&self, block: &[i16; 64], samples: &mut [u8], stride: usize) {
        let product = |index: usize| i32::from(block[index]).wrapping_mul(self.factors[index]);
        match (self.size, self.method) {
            (1, _) => samples[0] = sample(rounded(product(0), 3)),
            (2, _) => transform_2(product, samples, stride),
            (4, _) => transform_4(product, samples, stride),
            (_, DctMethod::Fast) => match used(block) {
                1 => transform_fast::<1>(product, samples, stride),
                4 => transform_fast::<4>(product, samples, stride),
                _ => transform_fast::<8>(product, samples, stride),
            },
            (_, DctMethod::Accurate) => match used(block) {
                1 => transform_accurate::<1>(product, samples, stride),
                4 => transform_accurate::<4>(product, samples, stride),
                _ => transform_accurate::<8>(product, samples, stride),
            },
        }
    }
}

/// Returns 1, 4 or 8: all coefficients outside of that many rows and columns are 0.
fn used(block: &[i16; 64]) -> usize {
    let rows = block.as_chunks::<8>().0;
    let any = |coefficients: &[i16]| coefficients.iter().fold(0, |any, x| any | x);
    let outside = rows.iter().fold(0, |all, row| all | any(&row[4..])) | any(&block[32..]);
    match (outside, any(&block[1..])) {
        (_, 0) => 1,
        (0, _) => 4,
        _ => 8,
    }
}

/// The scale of a coefficient of the fast transform, times 2¹⁴.
fn fast_scale(index: usize) -> i64 {
    let product = FAST_SCALES[index / 8] * FAST_SCALES[index % 8];
    (product + (1 << 13)) >> 14
}

/// Returns a number of the range around 0 as a sample.
fn sample(number: i32) -> u8 {
    number.wrapping_add(128).clamp(0, 255) as u8
}

/// Divides by `2^bits` and rounds half up.
fn rounded(number: i32, bits: u32) -> i32 {
    number.wrapping_add(1 << (bits - 1)) >> bits
}

/// Adds products, wrapping as unsigned arithmetic does.
fn sum(terms: &[(i32, i32)]) -> i32 {
    terms.iter().fold(0, |sum, (x, factor)| sum.wrapping_add(x.wrapping_mul(*factor)))
}

/// Returns the first `N` coefficients of a pass, then zeros. This is a loop, because the compiler leaves the functions
/// that make arrays as calls unless crates are linked with optimization.
#[inline(always)]
fn coefficients<const N: usize>(coefficient: impl Fn(usize) -> i32) -> [i32; 8] {
    let mut all = [0; 8];
    for (number, to) in all.iter_mut().enumerate().take(N) {
        *to = coefficient(number);
    }
    all
}

/// One pass of the fast transform (Arai, Agui and Nakajima).
#[inline(always)]
fn fast_pass(x: [i32; 8]) -> [i32; 8] {
    let times = |x: i32, factor: i32| x.wrapping_mul(factor) >> 8;
    let (add, sub) = (i32::wrapping_add, i32::wrapping_sub);
    let (t10, t11, t13) = (add(x[0], x[4]), sub(x[0], x[4]), add(x[2], x[6]));
    let t12 = sub(times(sub(x[2], x[6]), 362), t13);
    let (t0, t3, t1, t2) = (add(t10, t13), sub(t10, t13), add(t11, t12), sub(t11, t12));
    let (z13, z10, z11, z12) = (add(x[5], x[3]), sub(x[5], x[3]), add(x[1], x[7]), sub(x[1], x[7]));
    let t7 = add(z11, z13);
    let t11 = times(sub(z11, z13), 362);
    let z5 = times(add(z10, z12), 473);
    let t10 = sub(times(z12, 277), z5);
    let t12 = add(times(z10, -669), z5);
    let t6 = sub(t12, t7);
    let t5 = sub(t11, t6);
    let t4 = add(t10, t5);
    [add(t0, t7), add(t1, t6), add(t2, t5), sub(t3, t4), add(t3, t4), sub(t2, t5), sub(t1, t6), sub(t0, t7)]
}

/// Transforms a block. Its coefficients outside of the first `N` rows and columns are zeros.
#[inline(always)]
fn transform_fast<const N: usize>(product: impl Fn(usize) -> i32, samples: &mut [u8], stride: usize) {
    let mut rows = [[0i32; 8]; 8];
    for column in 0..N {
        let pass = fast_pass(coefficients::<N>(|row| product(8 * row + column)));
        for (x, row) in pass.iter().zip(&mut rows) {
            row[column] = *x;
        }
    }
    for (row, x) in rows.iter().enumerate() {
        let pass = fast_pass(coefficients::<N>(|column| x[column]));
        for (to, x) in samples[row * stride..][..8].iter_mut().zip(&pass) {
            *to = sample(*x >> (PASS + 3));
        }
    }
}

/// One pass of the accurate transform (Loeffler, Ligtenberg and Moschytz), whose results have `BITS` more bits.
#[inline(always)]
fn accurate_pass(x: [i32; 8]) -> [i32; 8] {
    let (add, sub) = (i32::wrapping_add, i32::wrapping_sub);
    let t2 = sum(&[(add(x[2], x[6]), 4433), (x[6], -15137)]);
    let t3 = sum(&[(add(x[2], x[6]), 4433), (x[2], 6270)]);
    let (t0, t1) = (add(x[0], x[4]).wrapping_shl(BITS), sub(x[0], x[4]).wrapping_shl(BITS));
    let (t10, t13, t11, t12) = (add(t0, t3), sub(t0, t3), add(t1, t2), sub(t1, t2));
    let (z1, z2, z3, z4) = (add(x[7], x[1]), add(x[5], x[3]), add(x[7], x[3]), add(x[5], x[1]));
    let z5 = add(z3, z4).wrapping_mul(9633);
    let (z1, z2) = (z1.wrapping_mul(-7373), z2.wrapping_mul(-20995));
    let (z3, z4) = (add(z3.wrapping_mul(-16069), z5), add(z4.wrapping_mul(-3196), z5));
    let t0 = add(x[7].wrapping_mul(2446), add(z1, z3));
    let t1 = add(x[5].wrapping_mul(16819), add(z2, z4));
    let t2 = add(x[3].wrapping_mul(25172), add(z2, z3));
    let t3 = add(x[1].wrapping_mul(12299), add(z1, z4));
    let first = [add(t10, t3), add(t11, t2), add(t12, t1), add(t13, t0)];
    let last = [sub(t13, t0), sub(t12, t1), sub(t11, t2), sub(t10, t3)];
    [first[0], first[1], first[2], first[3], last[0], last[1], last[2], last[3]]
}

/// Transforms a block. Its coefficients outside of the first `N` rows and columns are zeros.
#[inline(always)]
fn transform_accurate<const N: usize>(product: impl Fn(usize) -> i32, samples: &mut [u8], stride: usize) {
    let mut rows = [[0i32; 8]; 8];
    for column in 0..N {
        let pass = accurate_pass(coefficients::<N>(|row| product(8 * row + column)));
        for (x, row) in pass.iter().zip(&mut rows) {
            row[column] = rounded(*x, BITS - PASS);
        }
    }
    for (row, x) in rows.iter().enumerate() {
        let pass = accurate_pass(coefficients::<N>(|column| x[column]));
        for (to, x) in samples[row * stride..][..8].iter_mut().zip(&pass) {
            *to = sample(rounded(*x, BITS + PASS + 3));
        }
    }
}

/// One pass of the transform to 4 samples. Coefficient 4 does not count.
fn pass_4(x: [i32; 8]) -> [i32; 4] {
    let t0 = x[0].wrapping_shl(BITS + 1);
    let t2 = sum(&[(x[2], 15137), (x[6], -6270)]);
    let (t10, t12) = (t0.wrapping_add(t2), t0.wrapping_sub(t2));
    let t0 = sum(&[(x[7], -1730), (x[5], 11893), (x[3], -17799), (x[1], 8697)]);
    let t2 = sum(&[(x[7], -4176), (x[5], -4926), (x[3], 7373), (x[1], 20995)]);
    [t10.wrapping_add(t2), t12.wrapping_add(t0), t12.wrapping_sub(t0), t10.wrapping_sub(t2)]
}

fn transform_4(product: impl Fn(usize) -> i32, samples: &mut [u8], stride: usize) {
    let mut rows = [[0i32; 8]; 4];
    for column in [0, 1, 2, 3, 5, 6, 7] {
        let pass = pass_4(coefficients::<8>(|row| product(8 * row + column)));
        for (x, row) in pass.iter().zip(&mut rows) {
            row[column] = rounded(*x, BITS - PASS + 1);
        }
    }
    for (row, x) in rows.iter().enumerate() {
        let to = &mut samples[row * stride..][..4];
        to.iter_mut().zip(pass_4(*x)).for_each(|(to, x)| *to = sample(rounded(x, BITS + PASS + 4)));
    }
}

/// One pass of the transform to 2 samples. Coefficients 2, 4 and 6 do not count.
fn pass_2(x: [i32; 8]) -> [i32; 2] {
    let even = x[0].wrapping_shl(BITS + 2);
    let odd = sum(&[(x[7], -5906), (x[5], 6967), (x[3], -10426), (x[1], 29692)]);
    [even.wrapping_add(odd), even.wrapping_sub(odd)]
}

fn transform_2(product: impl Fn(usize) -> i32, samples: &mut [u8], stride: usize) {
    let mut rows = [[0i32; 8]; 2];
    for column in [0, 1, 3, 5, 7] {
        let pass = pass_2(coefficients::<8>(|row| product(8 * row + column)));
        for (x, row) in pass.iter().zip(&mut rows) {
            row[column] = rounded(*x, BITS - PASS + 2);
        }
    }
    for (row, x) in rows.iter().enumerate() {
        let to = &mut samples[row * stride..][..2];
        to.iter_mut().zip(pass_2(*x)).for_each(|(to, x)| *to = sample(rounded(x, BITS + PASS + 5)));
    }
}
