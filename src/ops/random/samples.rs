//! Random numbers of a distribution, made of the bits of [`Philox`]. TensorFlow's CPU kernels make the same numbers.

use half::{bf16, f16};

use super::philox::Philox;
use crate::error::Result;
use crate::tensor::{Element, TensorViewMut};

use shapeflow_shape_fns::DType;

/// The lower limit of a uniform sample, so that the method of Box and Muller can take its logarithm.
const EPSILON: f64 = 1e-7;

/// Returns a number in [0, 1) of 23 random bits.
pub(crate) fn unit_f32(bits: u32) -> f32 {
    f32::from_bits(127 << 23 | bits & 0x7f_ffff) - 1.0
}

/// Returns a number in [0, 1) of 10 random bits: the mantissa of a number in [1, 2).
fn unit_f16(bits: u32) -> f16 {
    f16::from_bits(15 << 10 | bits as u16 & 0x3ff) - f16::ONE
}

/// Returns a number in [0, 1) of 52 random bits.
pub(super) fn unit_f64(low: u32, high: u32) -> f64 {
    f64::from_bits(1023 << 52 | u64::from(low & 0xf_ffff) << 32 | u64::from(high)) - 1.0
}

/// Returns two numbers of [`unit_f64`].
pub(crate) fn unit_pair(x: [u32; 4]) -> [f64; 2] {
    [unit_f64(x[0], x[1]), unit_f64(x[2], x[3])]
}

/// Returns two normal numbers by the method of Box and Muller.
fn normal_f32(a: u32, b: u32) -> [f32; 2] {
    let first = unit_f32(a).max(EPSILON as f32);
    // The angle is computed with more bits and rounded once.
    let angle = (2.0 * std::f64::consts::PI * f64::from(unit_f32(b))) as f32;
    let radius = (-2.0 * first.ln()).sqrt();
    [angle.sin() * radius, angle.cos() * radius]
}

/// Returns the four normal numbers of a block.
pub(crate) fn normal_four(x: [u32; 4]) -> [f32; 4] {
    let ([a, b], [c, d]) = (normal_f32(x[0], x[1]), normal_f32(x[2], x[3]));
    [a, b, c, d]
}

/// Does the same as [`normal_f32`] with 52 bits.
pub(super) fn normal_f64(x: [u32; 4]) -> [f64; 2] {
    let first = unit_f64(x[0], x[1]).max(EPSILON);
    let angle = 2.0 * std::f64::consts::PI * unit_f64(x[2], x[3]);
    let radius = (-2.0 * first.ln()).sqrt();
    [angle.sin() * radius, angle.cos() * radius]
}

/// Up to four numbers.
pub(super) struct Reals {
    numbers: [f64; 4],
    count: usize,
}

impl Reals {
    fn new<const N: usize>(made: [f64; N]) -> Reals {
        let mut numbers = [0.0; 4];
        numbers[..N].copy_from_slice(&made);
        Reals { numbers, count: N }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = f64> + '_ {
        self.numbers[..self.count].iter().copied()
    }
}

/// Returns the numbers in [0, 1) that a block makes in `dtype`, which is f16, f32 or f64.
pub(super) fn unit_reals(dtype: DType, x: [u32; 4]) -> Reals {
    match dtype {
        DType::F64 => Reals::new(unit_pair(x)),
        DType::F32 => Reals::new(x.map(|x| f64::from(unit_f32(x)))),
        _ => Reals::new(x.map(|x| unit_f16(x).to_f64())),
    }
}

/// Returns the normal numbers that a block makes in `dtype`, which is f16, f32 or f64.
pub(super) fn normal_reals(dtype: DType, x: [u32; 4]) -> Reals {
    match dtype {
        DType::F64 => Reals::new(normal_f64(x)),
        DType::F32 => Reals::new(normal_four(x).map(f64::from)),
        _ => Reals::new(normal_four(x).map(|x| f16::from_f32(x).to_f64())),
    }
}

/// Fills groups of `N` elements. `group` turns one block of random bits into one group.
fn fill<T: Copy, const N: usize>(to: &mut [T], stream: Philox, group: impl Fn([u32; 4]) -> [T; N]) {
    for (number, to) in to.chunks_mut(N).enumerate() {
        let made = group(stream.block(number as u64));
        to.copy_from_slice(&made[..to.len()]);
    }
}

/// Fills groups of `N` elements. A group draws pairs of normal numbers and keeps the numbers in (-2, 2). The stream
/// reserves 256 random words for each element.
fn fill_truncated<T: Copy, F: PartialOrd + Copy + From<f32>, const N: usize>(
    to: &mut [T],
    stream: Philox,
    pair: impl Fn(&mut dyn FnMut() -> u32) -> [F; 2],
    convert: impl Fn(F) -> T,
) {
    let blocks = (N * 256 / 4) as u64;
    let (low, high) = (F::from(-2.0), F::from(2.0));
    for (number, group) in to.chunks_mut(N).enumerate() {
        let (mut next, mut block) = (0u64, [0; 4]);
        let mut bits = || {
            if next.is_multiple_of(4) {
                block = stream.block(number as u64 * blocks + next / 4);
            }
            next += 1;
            block[((next - 1) % 4) as usize]
        };
        let mut filled = 0;
        while filled < group.len() {
            for x in pair(&mut bits) {
                if low < x && x < high && filled < group.len() {
                    group[filled] = convert(x);
                    filled += 1;
                }
            }
        }
    }
}

/// Returns the function that rounds an f32 to the bits of `dtype`, which is f16 or bf16.
fn rounded(dtype: DType) -> fn(f32) -> u16 {
    match dtype {
        DType::F16 => |x| f16::from_f32(x).to_bits(),
        _ => |x| bf16::from_f32(x).to_bits(),
    }
}

/// Fills floats in [0, 1).
pub(super) fn uniform(to: &mut TensorViewMut<'_>, stream: Philox) -> Result<()> {
    match to.dtype() {
        DType::F64 => fill(to.as_mut_slice::<f64>()?, stream, unit_pair),
        DType::F32 => fill(to.as_mut_slice::<f32>()?, stream, |x| x.map(unit_f32)),
        // The lowest bits become the mantissa of a number in [1, 2).
        DType::F16 => fill(to.as_mut_bits::<u16>()?, stream, |x| x.map(|x| unit_f16(x).to_bits())),
        _ => fill(to.as_mut_bits::<u16>()?, stream, |x| {
            x.map(|x| (bf16::from_bits(127 << 7 | x as u16 & 0x7f) - bf16::ONE).to_bits())
        }),
    }
    Ok(())
}

/// Fills floats of the standard normal distribution.
pub(super) fn normal(to: &mut TensorViewMut<'_>, stream: Philox) -> Result<()> {
    match to.dtype() {
        DType::F64 => fill(to.as_mut_slice::<f64>()?, stream, normal_f64),
        DType::F32 => fill(to.as_mut_slice::<f32>()?, stream, normal_four),
        other => fill(to.as_mut_bits::<u16>()?, stream, |x| normal_four(x).map(rounded(other))),
    }
    Ok(())
}

/// Fills floats of the standard normal distribution, restricted to (-2, 2).
pub(super) fn truncated_normal(to: &mut TensorViewMut<'_>, stream: Philox) -> Result<()> {
    let pair = |bits: &mut dyn FnMut() -> u32| {
        let first = bits();
        normal_f32(first, bits())
    };
    match to.dtype() {
        DType::F64 => {
            let pair = |bits: &mut dyn FnMut() -> u32| normal_f64(std::array::from_fn(|_| bits()));
            fill_truncated::<f64, f64, 2>(to.as_mut_slice()?, stream, pair, |x| x);
        }
        DType::F32 => fill_truncated::<f32, f32, 4>(to.as_mut_slice()?, stream, pair, |x| x),
        other => fill_truncated::<u16, f32, 4>(to.as_mut_bits()?, stream, pair, rounded(other)),
    }
    Ok(())
}

/// A dtype of integers that are made of random bits.
pub(super) trait RandomInt: Element {
    /// Makes an integer of `bits`. The integer lies in `[low, high)` if there are bounds. Narrow integers take the low
    /// bits.
    fn of(bits: u64, bounds: Option<[Self; 2]>) -> Self;
}

macro_rules! random_ints {
    ($($T:ty, $U:ty;)*) => {$(
        impl RandomInt for $T {
            fn of(bits: u64, bounds: Option<[$T; 2]>) -> $T {
                let bits = bits as $U;
                match bounds {
                    // The width of the range fits the unsigned integer, though not the signed one.
                    Some([low, high]) => {
                        let width = (high as $U).wrapping_sub(low as $U);
                        (low as $U).wrapping_add(bits % width) as $T
                    }
                    None => bits as $T,
                }
            }
        }
    )*};
}
random_ints! { i32, u32; u32, u32; i64, u64; u64, u64; }

/// Fills integers. Every bit is random, or the integers lie in `[low, high)` of `bounds`, where `low < high`.
pub(super) fn integers<T: RandomInt>(
    to: &mut TensorViewMut<'_>,
    stream: Philox,
    bounds: Option<[T; 2]>,
) -> Result<()> {
    let to = to.as_mut_slice::<T>()?;
    if size_of::<T>() == 4 {
        fill(to, stream, |x| x.map(|x| T::of(x.into(), bounds)));
    } else {
        let wide = |low: u32, high: u32| u64::from(high) << 32 | u64::from(low);
        fill(to, stream, |x| [wide(x[0], x[1]), wide(x[2], x[3])].map(|bits| T::of(bits, bounds)));
    }
    Ok(())
}
