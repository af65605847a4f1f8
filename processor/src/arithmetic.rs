//! Vector instructions that compute.

use iced_x86::{Instruction, Mnemonic as M};

use super::Processor;
use super::lanes::{Vector, get, make};
use super::operands::{immediate, is_negative};

impl Processor {
    /// Runs the instruction if it is a vector instruction that computes. Returns whether it is.
    pub(super) fn arithmetic(&mut self, i: &Instruction) -> Result<bool, String> {
        match i.mnemonic() {
            M::Vaddps => self.zip(i, |a: f32, b| a + b)?,
            M::Vaddpd => self.zip(i, |a: f64, b| a + b)?,
            M::Vsubps => self.zip(i, |a: f32, b| a - b)?,
            M::Vsubpd => self.zip(i, |a: f64, b| a - b)?,
            M::Vmulps => self.zip(i, |a: f32, b| a * b)?,
            M::Vmulpd => self.zip(i, |a: f64, b| a * b)?,
            M::Vdivps => self.zip(i, |a: f32, b| a / b)?,
            M::Vdivpd => self.zip(i, |a: f64, b| a / b)?,
            // The result is `b` if `a` or `b` is NaN or both are zeros.
            M::Vminps => self.zip(i, |a: f32, b| if a < b { a } else { b })?,
            M::Vminpd => self.zip(i, |a: f64, b| if a < b { a } else { b })?,
            M::Vmaxps => self.zip(i, |a: f32, b| if a > b { a } else { b })?,
            M::Vmaxpd => self.zip(i, |a: f64, b| if a > b { a } else { b })?,
            M::Vsqrtps => self.map(i, f32::sqrt)?,
            M::Vsqrtpd => self.map(i, f64::sqrt)?,
            M::Vroundps | M::Vrndscaleps => {
                let mode = rounding_mode(i)?;
                self.map(i, |a: f32| round(f64::from(a), mode) as f32)?;
            }
            M::Vroundpd | M::Vrndscalepd => {
                let mode = rounding_mode(i)?;
                self.map(i, |a| round(a, mode))?;
            }
            M::Vcmpps => {
                let test = immediate(i);
                self.compare(i, |a: f32, b| holds(test, a.partial_cmp(&b)))?;
            }
            M::Vcmppd => {
                let test = immediate(i);
                self.compare(i, |a: f64, b| holds(test, a.partial_cmp(&b)))?;
            }

            M::Vfmadd132ps => self.fma(i, |d: f32, v, rm| d.mul_add(rm, v))?,
            M::Vfmadd213ps => self.fma(i, |d: f32, v, rm| v.mul_add(d, rm))?,
            M::Vfmadd231ps => self.fma(i, |d: f32, v, rm| v.mul_add(rm, d))?,
            M::Vfmadd132pd => self.fma(i, |d: f64, v, rm| d.mul_add(rm, v))?,
            M::Vfmadd213pd => self.fma(i, |d: f64, v, rm| v.mul_add(d, rm))?,
            M::Vfmadd231pd => self.fma(i, |d: f64, v, rm| v.mul_add(rm, d))?,

            M::Vandps | M::Vandpd | M::Vpand | M::Vpandd | M::Vpandq => self.zip(i, |a: u32, b| a & b)?,
            M::Vorps | M::Vorpd | M::Vpor | M::Vpord | M::Vporq => self.zip(i, |a: u32, b| a | b)?,
            M::Vxorps | M::Vxorpd | M::Vpxor | M::Vpxord | M::Vpxorq => self.zip(i, |a: u32, b| a ^ b)?,
            M::Vpaddd => self.zip(i, u32::wrapping_add)?,
            M::Vpaddq => self.zip(i, u64::wrapping_add)?,
            M::Vpsubd => self.zip(i, u32::wrapping_sub)?,
            M::Vpsubq => self.zip(i, u64::wrapping_sub)?,
            M::Vpmulld => self.zip(i, u32::wrapping_mul)?,
            M::Vpmullq => self.zip(i, u64::wrapping_mul)?,
            M::Vpmuludq => self.zip(i, |a: u64, b| (a & 0xffff_ffff) * (b & 0xffff_ffff))?,
            M::Vpminsd => self.zip(i, i32::min)?,
            M::Vpmaxsd => self.zip(i, i32::max)?,
            M::Vpminud => self.zip(i, u32::min)?,
            M::Vpmaxud => self.zip(i, u32::max)?,
            M::Vpminsq => self.zip(i, i64::min)?,
            M::Vpmaxsq => self.zip(i, i64::max)?,
            M::Vpminuq => self.zip(i, u64::min)?,
            M::Vpmaxuq => self.zip(i, u64::max)?,
            M::Vpabsd => self.map(i, i32::wrapping_abs)?,
            M::Vpabsq => self.map(i, i64::wrapping_abs)?,
            M::Vptestmd => self.compare(i, |a: u32, b| a & b != 0)?,
            M::Vptestmq => self.compare(i, |a: u64, b| a & b != 0)?,
            M::Vpcmpeqd => self.compare(i, |a: i32, b| a == b)?,
            M::Vpcmpgtd => self.compare(i, |a: i32, b| a > b)?,
            M::Vpcmpeqq => self.compare(i, |a: i64, b| a == b)?,
            M::Vpcmpgtq => self.compare(i, |a: i64, b| a > b)?,
            M::Vpcmpd | M::Vpcmpud | M::Vpcmpq | M::Vpcmpuq => {
                let test = immediate(i) & 7;
                match i.mnemonic() {
                    M::Vpcmpd => self.compare(i, |a: i32, b| holds(test, Some(a.cmp(&b))))?,
                    M::Vpcmpud => self.compare(i, |a: u32, b| holds(test, Some(a.cmp(&b))))?,
                    M::Vpcmpq => self.compare(i, |a: i64, b| holds(test, Some(a.cmp(&b))))?,
                    _ => self.compare(i, |a: u64, b| holds(test, Some(a.cmp(&b))))?,
                }
            }

            M::Vpslld => self.shift(i, |a: u32, by| a.checked_shl(by).unwrap_or(0))?,
            M::Vpsrld => self.shift(i, |a: u32, by| a.checked_shr(by).unwrap_or(0))?,
            M::Vpsrad => self.shift(i, |a: i32, by| a >> by.min(31))?,
            M::Vpsllq => self.shift(i, |a: u64, by| a.checked_shl(by).unwrap_or(0))?,
            M::Vpsrlq => self.shift(i, |a: u64, by| a.checked_shr(by).unwrap_or(0))?,
            M::Vpsraq => self.shift(i, |a: i64, by| a >> by.min(63))?,
            M::Vpsllvd => self.zip(i, |a: u32, by| a.checked_shl(by).unwrap_or(0))?,
            M::Vpsrlvd => self.zip(i, |a: u32, by| a.checked_shr(by).unwrap_or(0))?,
            M::Vpsravd => self.zip(i, |a: i32, by| a >> (by as u32).min(31))?,
            M::Vpsllvq => self.zip(i, |a: u64, by| if by < 64 { a << by } else { 0 })?,
            M::Vpsrlvq => self.zip(i, |a: u64, by| if by < 64 { a >> by } else { 0 })?,
            M::Vpsravq => self.zip(i, |a: i64, by| a >> (by as u64).min(63))?,
            M::Vpternlogd => {
                let (old, table) = (self.operand(i, 0)?, immediate(i));
                self.binary(i, |b, c, bytes| {
                    make(bytes, |k| {
                        (0..8).fold(0, |byte, bit| {
                            let bit_of = |vector: &Vector| vector[k] >> bit & 1;
                            byte | (table >> (bit_of(&old) << 2 | bit_of(b) << 1 | bit_of(c)) & 1) << bit
                        })
                    })
                })?;
            }
            M::Vblendvps => {
                let signs = self.operand(i, 3)?;
                let pick = |a: &Vector, b: &Vector, k| {
                    get::<u32>(if is_negative::<i32>(&signs, k) { b } else { a }, k)
                };
                self.binary(i, |a, b, bytes| make(bytes / 4, |k| pick(a, b, k)))?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// Returns the rounding mode of an instruction that rounds to integers.
fn rounding_mode(i: &Instruction) -> Result<u8, String> {
    // The upper four bits are the number of fraction bits to keep.
    if immediate(i) & 0xf0 != 0 {
        Err("rounding that keeps fraction bits is not supported".to_owned())
    } else {
        Ok(immediate(i) & 7)
    }
}

/// Rounds to an integer. Modes: 0 to nearest even, 1 down, 2 up, 3 toward zero. Modes 4 to 7 are the mode of the
/// control register, whose default is to nearest even.
fn round(a: f64, mode: u8) -> f64 {
    match mode {
        1 => a.floor(),
        2 => a.ceil(),
        3 => a.trunc(),
        _ => a.round_ties_even(),
    }
}

/// Returns whether comparison predicate `test` holds. `order` is `None` if an operand is NaN.
fn holds(test: u8, order: Option<std::cmp::Ordering>) -> bool {
    let is = |matches: fn(std::cmp::Ordering) -> bool| order.is_some_and(matches);
    // Bits 0 to 2 select the comparison, and bit 3 the result for NaN. Bit 4 selects whether NaN traps, which does not
    // change the result.
    match test & 15 {
        0 => is(|order| order.is_eq()),
        1 => is(|order| order.is_lt()),
        2 => is(|order| order.is_le()),
        3 => order.is_none(),
        4 => !is(|order| order.is_eq()),
        5 => !is(|order| order.is_lt()),
        6 => !is(|order| order.is_le()),
        7 => order.is_some(),
        8 => order.is_none_or(|order| order.is_eq()),
        9 => !is(|order| order.is_ge()),
        10 => !is(|order| order.is_gt()),
        11 => false,
        12 => is(|order| order.is_ne()),
        13 => is(|order| order.is_ge()),
        14 => is(|order| order.is_gt()),
        _ => true,
    }
}
