//! Vector instructions, as the manual of the processor says what they do.

use half::f16;
use iced_x86::{Instruction, Mnemonic as M, OpKind, Register};

use super::Processor;
use super::lanes::{BYTES, Lane, Vector, get, make, map, set, zip};

/// Lanes of 16 bytes, in which shuffles stay.
const LANE: usize = 16;

impl Processor {
    /// Runs a vector instruction; false if it is another.
    pub(super) fn vector(&mut self, i: &Instruction) -> Result<bool, String> {
        if i.is_broadcast() {
            return Ok(false);
        }
        match i.mnemonic() {
            M::Vzeroupper => self.vectors.iter_mut().take(16).for_each(|vector| vector[LANE..].fill(0)),
            M::Vmovups | M::Vmovupd | M::Vmovaps => self.two(i, |a, _| *a)?,
            M::Vmovntps => {
                if self.address(i) % i.memory_size().size() as u64 != 0 {
                    return Err("is not aligned".to_owned());
                }
                self.two(i, |a, _| *a)?;
            }
            M::Vmovd | M::Vmovq if Processor::is_memory(i, 0) => self.two(i, |a, _| *a)?,

            M::Vaddps => self.zip(i, |a: f32, b| a + b)?,
            M::Vaddpd => self.zip(i, |a: f64, b| a + b)?,
            M::Vsubps => self.zip(i, |a: f32, b| a - b)?,
            M::Vsubpd => self.zip(i, |a: f64, b| a - b)?,
            M::Vmulps => self.zip(i, |a: f32, b| a * b)?,
            M::Vmulpd => self.zip(i, |a: f64, b| a * b)?,
            M::Vdivps => self.zip(i, |a: f32, b| a / b)?,
            M::Vdivpd => self.zip(i, |a: f64, b| a / b)?,
            // The second operand where there is a NaN, and of zeros.
            M::Vminps => self.zip(i, |a: f32, b| if a < b { a } else { b })?,
            M::Vminpd => self.zip(i, |a: f64, b| if a < b { a } else { b })?,
            M::Vmaxps => self.zip(i, |a: f32, b| if a > b { a } else { b })?,
            M::Vmaxpd => self.zip(i, |a: f64, b| if a > b { a } else { b })?,
            M::Vsqrtps => self.map(i, f32::sqrt)?,
            M::Vsqrtpd => self.map(i, f64::sqrt)?,
            M::Vroundps | M::Vrndscaleps => {
                let mode = mode(i)?;
                self.map(i, |a: f32| round(f64::from(a), mode) as f32)?;
            }
            M::Vroundpd | M::Vrndscalepd => {
                let mode = mode(i)?;
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

            M::Vandps | M::Vpand | M::Vpandd => self.zip(i, |a: u32, b| a & b)?,
            M::Vorps | M::Vpor | M::Vpord => self.zip(i, |a: u32, b| a | b)?,
            M::Vxorps | M::Vpxor | M::Vpxord => self.zip(i, |a: u32, b| a ^ b)?,
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
                self.three(i, |b, c, bytes| {
                    make(bytes, |k| {
                        (0..8).fold(0, |byte, bit| {
                            let of = |from: &Vector| from[k] >> bit & 1;
                            byte | (table >> (of(&old) << 2 | of(b) << 1 | of(c)) & 1) << bit
                        })
                    })
                })?;
            }
            M::Vblendvps => {
                let signs = self.operand(i, 3)?;
                let pick =
                    |a: &Vector, b: &Vector, k| get::<u32>(if sign::<i32>(&signs, k) { b } else { a }, k);
                self.three(i, |a, b, bytes| make(bytes / 4, |k| pick(a, b, k)))?;
            }

            M::Vcvtdq2ps => self.map(i, |a: i32| a as f32)?,
            M::Vcvttps2dq => {
                let fits = |a: f32| (-2_147_483_648.0..2_147_483_648.0).contains(&a);
                self.map(i, |a: f32| if fits(a) { a as i32 } else { i32::MIN })?;
            }
            M::Vcvtps2pd => self.two(i, |a, bytes| map(bytes / 8, a, |a: f32| f64::from(a)))?,
            M::Vcvtdq2pd => self.two(i, |a, bytes| map(bytes / 8, a, |a: i32| f64::from(a)))?,
            M::Vcvtpd2ps => self.narrow(i, |a: f64| a as f32)?,
            M::Vcvtph2ps => self.two(i, |a, bytes| map(bytes / 4, a, |a| f16::from_bits(a).to_f32()))?,
            M::Vcvtps2ph => {
                if immediate(i) & 7 != 0 {
                    return Err("rounds in a way that is not known here".to_owned());
                }
                self.narrow(i, |a: f32| f16::from_f32(a).to_bits())?;
            }
            M::Vpmovzxbd => self.two(i, |a, bytes| map(bytes / 4, a, |a: u8| u32::from(a)))?,
            M::Vpmovzxwd => self.two(i, |a, bytes| map(bytes / 4, a, |a: u16| u32::from(a)))?,
            M::Vpmovzxdq => self.two(i, |a, bytes| map(bytes / 8, a, |a: u32| u64::from(a)))?,
            M::Vpmovsxbd => self.two(i, |a, bytes| map(bytes / 4, a, |a: i8| i32::from(a)))?,
            M::Vpmovsxwd => self.two(i, |a, bytes| map(bytes / 4, a, |a: i16| i32::from(a)))?,
            M::Vpmovsxdq => self.two(i, |a, bytes| map(bytes / 8, a, |a: i32| i64::from(a)))?,
            M::Vpmovdb => self.narrow(i, |a: u32| a as u8)?,
            M::Vpmovdw => self.narrow(i, |a: u32| a as u16)?,
            M::Vpmovqd => self.narrow(i, |a: u64| a as u32)?,

            M::Vpshufb => self.three(i, |a, b, bytes| {
                make(bytes, |k| if b[k] > 127 { 0 } else { a[k / LANE * LANE + usize::from(b[k] & 15)] })
            })?,
            M::Vpackssdw => self.pack(i, |a: i32| a.clamp(i16::MIN.into(), i16::MAX.into()) as i16)?,
            M::Vpackusdw => self.pack(i, |a: i32| a.clamp(0, u16::MAX.into()) as u16)?,
            M::Vpacksswb => self.pack(i, |a: i16| a.clamp(i8::MIN.into(), i8::MAX.into()) as i8)?,
            M::Vpackuswb => self.pack(i, |a: i16| a.clamp(0, u8::MAX.into()) as u8)?,
            M::Vpunpckldq => self.unpack::<u32>(i, 0)?,
            M::Vpunpckhdq => self.unpack::<u32>(i, 2)?,
            M::Vpermq if i.op_kind(2) == OpKind::Immediate8 => {
                let order = immediate(i);
                let from = |k: usize| k / 4 * 4 + usize::from(order >> (2 * (k % 4)) & 3);
                self.two(i, |a, bytes| make(bytes / 8, |k| get::<u64>(a, from(k))))?;
            }
            M::Vpshufd => {
                let order = immediate(i);
                let from = |k: usize| k / 4 * 4 + usize::from(order >> (2 * (k % 4)) & 3);
                self.two(i, |a, bytes| make(bytes / 4, |k| get::<u32>(a, from(k))))?;
            }
            M::Vshufps => {
                let order = immediate(i);
                let from = |k: usize| k / 4 * 4 + usize::from(order >> (2 * (k % 4)) & 3);
                self.three(i, |a, b, bytes| {
                    make(bytes / 4, |k| get::<u32>(if k % 4 < 2 { a } else { b }, from(k)))
                })?;
            }
            M::Vextracti128 | M::Vextracti32x4 | M::Vextracti64x4 => {
                let at = usize::from(immediate(i));
                self.two(i, |a, bytes| make(bytes, |k| a[at * bytes + k]))?;
            }
            M::Vinserti128 | M::Vinserti32x4 | M::Vinserti64x4 => {
                let bytes = if i.mnemonic() == M::Vinserti64x4 { 2 * LANE } else { LANE };
                let start = usize::from(immediate(i)) * bytes;
                self.insert(i, start, bytes)?;
            }
            M::Vpinsrb | M::Vpinsrw | M::Vpinsrd | M::Vpinsrq => {
                let bytes = i.memory_size().size();
                self.insert(i, usize::from(immediate(i)) * bytes, bytes)?;
            }
            M::Vpextrb | M::Vpextrw => {
                let bytes = i.memory_size().size();
                let at = usize::from(immediate(i)) * bytes;
                self.two(i, |a, _| make(bytes, |k| a[at + k]))?;
            }
            M::Vpbroadcastb => self.splat::<u8>(i)?,
            M::Vpbroadcastw => self.splat::<u16>(i)?,
            M::Vbroadcastss => self.splat::<u32>(i)?,
            M::Vbroadcastsd | M::Vpbroadcastq => self.splat::<u64>(i)?,

            M::Vpmaskmovd => self.load_where_signed::<i32>(i)?,
            M::Vpmaskmovq => self.load_where_signed::<i64>(i)?,
            M::Vmovmskps => {
                let from = self.operand(i, 1)?;
                let bits = bits(i.op_register(1).size() / 4, |k| sign::<i32>(&from, k));
                self.put(i, 0, bits)?;
            }
            M::Vcvtsi2ss => {
                let value = self.value(i, 2)? as i64;
                let mut result = narrowed(&self.operand(i, 1)?, LANE);
                set(&mut result, 0, value as f32);
                self.set_vector(i, &result)?;
            }
            M::Vcvttsd2si => {
                let value: f64 = get(&self.operand(i, 1)?, 0);
                let fits = (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&value);
                self.put(i, 0, if fits { value as i64 } else { i64::MIN } as u64)?;
            }
            M::Vpmovd2m => {
                let from = self.operand(i, 1)?;
                let bits = bits(i.op_register(1).size() / 4, |k| sign::<i32>(&from, k));
                self.masks[i.op_register(0).number()] = bits;
            }
            M::Vpmovm2d => self.spread_mask::<i32>(i, -1)?,
            M::Vpmovm2q => self.spread_mask::<i64>(i, -1)?,
            M::Kmovq if i.op_register(0).is_k() => {
                self.masks[i.op_register(0).number()] = self.value(i, 1)?;
            }
            M::Kmovq => {
                let bits = self.masks[i.op_register(1).number()];
                self.put(i, 0, bits)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// A vector operand: a register, or what memory has, under a mask zeros where it is not read.
    fn operand(&self, i: &Instruction, operand: u32) -> Result<Vector, String> {
        if !Processor::is_memory(i, operand) {
            return Ok(self.vectors[i.op_register(operand).number()]);
        }
        let (size, mut result) = (i.memory_size(), [0; BYTES]);
        for (at, bytes) in self.chosen(i, size.size(), size.element_size()) {
            let from = self.space.read(self.address(i).wrapping_add(at as u64), bytes)?;
            result[at..at + bytes].copy_from_slice(from);
        }
        Ok(result)
    }

    /// The parts of a memory operand that are accessed: all of it, or the elements in the mask.
    fn chosen(&self, i: &Instruction, size: usize, element: usize) -> Vec<(usize, usize)> {
        if i.op_mask() == Register::None {
            return vec![(0, size)];
        }
        let mask = self.masks[i.op_mask().number()];
        let elements = (0..size / element).filter(|k| mask >> k & 1 == 1);
        elements.map(|k| (k * element, element)).collect()
    }

    /// Writes the first operand.
    fn set_vector(&mut self, i: &Instruction, value: &Vector) -> Result<(), String> {
        let masked = i.op_mask() != Register::None;
        if Processor::is_memory(i, 0) {
            let size = i.memory_size();
            let address = self.address(i);
            for (at, bytes) in self.chosen(i, size.size(), size.element_size()) {
                self.space.write(address.wrapping_add(at as u64), &value[at..at + bytes])?;
            }
            return Ok(());
        }
        // Zeros from memory become zeros, whatever the instruction does with them.
        let read = (1..i.op_count()).any(|operand| Processor::is_memory(i, operand));
        if masked && !(i.zeroing_masking() && read && i.op_count() == 2) {
            return Err("under a mask in a way that is not known here".to_owned());
        }
        let register = i.op_register(0);
        self.vectors[register.number()] = narrowed(value, register.size());
        Ok(())
    }

    /// `reg = f(rm)` or the reverse, given the bytes of what is written.
    fn two(&mut self, i: &Instruction, f: impl FnOnce(&Vector, usize) -> Vector) -> Result<(), String> {
        let bytes = written(i);
        let result = f(&self.operand(i, 1)?, bytes);
        self.set_vector(i, &result)
    }

    /// `reg = f(v, rm)`, given the bytes of what is written.
    fn three(
        &mut self,
        i: &Instruction,
        f: impl FnOnce(&Vector, &Vector, usize) -> Vector,
    ) -> Result<(), String> {
        let result = f(&self.operand(i, 1)?, &self.operand(i, 2)?, written(i));
        self.set_vector(i, &result)
    }

    /// Lane by lane.
    fn map<A: Lane, B: Lane>(&mut self, i: &Instruction, f: impl Fn(A) -> B) -> Result<(), String> {
        self.two(i, |a, bytes| map(bytes / A::SIZE, a, f))
    }

    /// Lane by lane, into narrower ones, of which there are as many as the source has.
    fn narrow<A: Lane, B: Lane>(&mut self, i: &Instruction, f: impl Fn(A) -> B) -> Result<(), String> {
        let source = match i.op_kind(1) {
            OpKind::Register => i.op_register(1).size(),
            _ => i.memory_size().size(),
        };
        self.two(i, |a, _| map(source / A::SIZE, a, f))
    }

    /// Two lanes at a time.
    fn zip<A: Lane, B: Lane>(&mut self, i: &Instruction, f: impl Fn(A, A) -> B) -> Result<(), String> {
        self.three(i, |a, b, bytes| zip(bytes / A::SIZE, a, b, f))
    }

    /// By a constant.
    fn shift<A: Lane>(&mut self, i: &Instruction, f: impl Fn(A, u32) -> A) -> Result<(), String> {
        if i.op_kind(2) != OpKind::Immediate8 {
            return Err("by a register".to_owned());
        }
        let by = u32::from(immediate(i));
        self.map(i, |a| f(a, by))
    }

    /// `f(destination, v, rm)`.
    fn fma<A: Lane>(&mut self, i: &Instruction, f: impl Fn(A, A, A) -> A) -> Result<(), String> {
        let old = self.operand(i, 0)?;
        self.three(i, |v, rm, bytes| make(bytes / A::SIZE, |k| f(get(&old, k), get(v, k), get(rm, k))))
    }

    /// Into lanes of ones, or bits of a mask register.
    fn compare<A: Lane>(&mut self, i: &Instruction, f: impl Fn(A, A) -> bool) -> Result<(), String> {
        let (a, b) = (self.operand(i, 1)?, self.operand(i, 2)?);
        let count = i.op_register(1).size() / A::SIZE;
        let bits = bits(count, |k| f(get(&a, k), get(&b, k)));
        let to = i.op_register(0);
        if to.is_k() {
            self.masks[to.number()] = bits;
            return Ok(());
        }
        let result = make(count * A::SIZE, |byte| if bits >> (byte / A::SIZE) & 1 == 1 { 0xffu8 } else { 0 });
        self.set_vector(i, &result)
    }

    /// In each 16 bytes the lanes of the first operand, then those of the second.
    fn pack<A: Lane, B: Lane>(&mut self, i: &Instruction, f: impl Fn(A) -> B) -> Result<(), String> {
        let half = LANE / A::SIZE;
        self.three(i, |a, b, bytes| {
            make(bytes / B::SIZE, |k| {
                let (lane, at) = (k / (2 * half), k % (2 * half));
                f(get(if at < half { a } else { b }, lane * half + at % half))
            })
        })
    }

    /// In each 16 bytes lanes of the operands in turn, from lane `first` on.
    fn unpack<A: Lane>(&mut self, i: &Instruction, first: usize) -> Result<(), String> {
        let each = LANE / A::SIZE;
        self.three(i, |a, b, bytes| {
            make(bytes / A::SIZE, |k| {
                get::<A>(if k % 2 == 0 { a } else { b }, k / each * each + first + k % each / 2)
            })
        })
    }

    /// The second operand with `bytes` bytes of the third at `start`.
    fn insert(&mut self, i: &Instruction, start: usize, bytes: usize) -> Result<(), String> {
        self.three(i, |a, b, _| {
            let mut result = *a;
            result[start..start + bytes].copy_from_slice(&b[..bytes]);
            result
        })
    }

    fn splat<A: Lane>(&mut self, i: &Instruction) -> Result<(), String> {
        self.two(i, |a, bytes| make(bytes / A::SIZE, |_| get::<A>(a, 0)))
    }

    /// Lanes of memory whose sign is set in the second operand, zeros in the others, which are not read.
    fn load_where_signed<A: Lane + PartialOrd + Default>(&mut self, i: &Instruction) -> Result<(), String> {
        let signs = self.operand(i, 1)?;
        let (address, mut result) = (self.address(i), [0; BYTES]);
        for k in (0..i.op_register(0).size() / A::SIZE).filter(|k| sign::<A>(&signs, *k)) {
            let at = k * A::SIZE;
            let bytes = self.space.read(address.wrapping_add(at as u64), A::SIZE)?;
            result[at..at + A::SIZE].copy_from_slice(bytes);
        }
        self.set_vector(i, &result)
    }

    fn spread_mask<A: Lane + Default>(&mut self, i: &Instruction, ones: A) -> Result<(), String> {
        let mask = self.masks[i.op_register(1).number()];
        let result = make(written(i) / A::SIZE, |k| if mask >> k & 1 == 1 { ones } else { A::default() });
        self.set_vector(i, &result)
    }
}

/// Bytes of the first operand.
fn written(i: &Instruction) -> usize {
    match i.op_kind(0) {
        OpKind::Memory => i.memory_size().size(),
        _ => i.op_register(0).size(),
    }
}

/// The first `bytes` bytes, and zeros.
fn narrowed(value: &Vector, bytes: usize) -> Vector {
    let mut result = *value;
    result[bytes..].fill(0);
    result
}

fn immediate(i: &Instruction) -> u8 {
    i.immediate8()
}

fn sign<A: Lane + PartialOrd + Default>(of: &Vector, k: usize) -> bool {
    get::<A>(of, k) < A::default()
}

fn bits(count: usize, f: impl Fn(usize) -> bool) -> u64 {
    (0..count).fold(0, |bits, k| bits | u64::from(f(k)) << k)
}

/// How an instruction rounds to whole numbers.
fn mode(i: &Instruction) -> Result<u8, String> {
    // Above the lowest four bits stands how many binary digits behind the point are kept.
    if immediate(i) & 0xf0 != 0 { Err("keeps a fraction".to_owned()) } else { Ok(immediate(i) & 7) }
}

fn round(a: f64, mode: u8) -> f64 {
    match mode {
        0 | 4 => a.round_ties_even(),
        1 => a.floor(),
        2 => a.ceil(),
        _ => a.trunc(),
    }
}

/// Whether a comparison by this number holds; there is no order with NaNs.
fn holds(test: u8, order: Option<std::cmp::Ordering>) -> bool {
    let is = |test: fn(std::cmp::Ordering) -> bool| order.is_some_and(test);
    // Eight comparisons; then the same, but for whether they hold with NaNs or trap.
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
