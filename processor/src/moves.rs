//! Vector instructions that move and convert.

use half::f16;
use iced_x86::{Instruction, Mnemonic as M, OpKind, Register};

use super::Processor;
use super::lanes::{get, make, map};
use super::operands::{XMM_BYTES, bits, immediate, is_negative};

impl Processor {
    /// Runs the instruction if it is a vector instruction that moves or converts. Returns whether it is.
    pub(super) fn moves(&mut self, i: &Instruction) -> Result<bool, String> {
        match i.mnemonic() {
            M::Vzeroupper => self.vectors.iter_mut().take(16).for_each(|vector| vector[XMM_BYTES..].fill(0)),
            M::Vmovups | M::Vmovdqu32 if is_masked_register(i) => self.move_lanes(i, 4)?,
            M::Vmovupd | M::Vmovdqu64 if is_masked_register(i) => self.move_lanes(i, 8)?,
            M::Vmovaps | M::Vmovdqa32 if is_masked_register(i) => {
                self.check_alignment(i)?;
                self.move_lanes(i, 4)?;
            }
            M::Vmovapd | M::Vmovdqa64 if is_masked_register(i) => {
                self.check_alignment(i)?;
                self.move_lanes(i, 8)?;
            }
            M::Vmovups | M::Vmovupd | M::Vmovdqu | M::Vmovdqu32 | M::Vmovdqu64 => self.unary(i, |a, _| *a)?,
            M::Vmovaps | M::Vmovapd | M::Vmovdqa | M::Vmovdqa32 | M::Vmovdqa64 | M::Vmovntps => {
                self.check_alignment(i)?;
                self.unary(i, |a, _| *a)?;
            }
            M::Vmovd | M::Vmovq if Processor::is_memory(i, 0) => self.unary(i, |a, _| *a)?,
            M::Vmovd | M::Vmovq if i.op_register(0).is_gpr() => {
                let from = self.operand(i, 1)?;
                self.put(i, 0, get::<u64>(&from, 0))?;
            }
            // With two operands, the instruction is a load or a store. A load sets the lanes after the first to zero.
            M::Vmovss | M::Vmovsd if i.op_count() == 2 => self.unary(i, |a, _| *a)?,

            M::Vcvtdq2ps => self.map(i, |a: i32| a as f32)?,
            M::Vcvttps2dq => {
                let fits = |a: f32| (-2_147_483_648.0..2_147_483_648.0).contains(&a);
                self.map(i, |a: f32| if fits(a) { a as i32 } else { i32::MIN })?;
            }
            M::Vcvtps2pd => self.unary(i, |a, bytes| map(bytes / 8, a, |a: f32| f64::from(a)))?,
            M::Vcvtdq2pd => self.unary(i, |a, bytes| map(bytes / 8, a, |a: i32| f64::from(a)))?,
            M::Vcvtpd2ps => self.narrow(i, |a: f64| a as f32)?,
            M::Vcvtqq2ps => self.narrow(i, |a: i64| a as f32)?,
            M::Vcvtuqq2ps => self.narrow(i, |a: u64| a as f32)?,
            M::Vcvtqq2pd => self.map(i, |a: i64| a as f64)?,
            M::Vcvtuqq2pd => self.map(i, |a: u64| a as f64)?,
            M::Vcvttpd2qq => {
                let fits = |a: f64| (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&a);
                self.map(i, |a: f64| if fits(a) { a as i64 } else { i64::MIN })?;
            }
            M::Vcvtph2ps => self.unary(i, |a, bytes| map(bytes / 4, a, |a| f16::from_bits(a).to_f32()))?,
            M::Vcvtps2ph => {
                if immediate(i) & 7 != 0 {
                    return Err("rounding other than to nearest even is not supported".to_owned());
                }
                self.narrow(i, |a: f32| f16::from_f32(a).to_bits())?;
            }
            M::Vpmovzxbd => self.unary(i, |a, bytes| map(bytes / 4, a, |a: u8| u32::from(a)))?,
            M::Vpmovzxwd => self.unary(i, |a, bytes| map(bytes / 4, a, |a: u16| u32::from(a)))?,
            M::Vpmovzxdq => self.unary(i, |a, bytes| map(bytes / 8, a, |a: u32| u64::from(a)))?,
            M::Vpmovsxbd => self.unary(i, |a, bytes| map(bytes / 4, a, |a: i8| i32::from(a)))?,
            M::Vpmovsxwd => self.unary(i, |a, bytes| map(bytes / 4, a, |a: i16| i32::from(a)))?,
            M::Vpmovsxdq => self.unary(i, |a, bytes| map(bytes / 8, a, |a: i32| i64::from(a)))?,
            M::Vpmovdb => self.narrow(i, |a: u32| a as u8)?,
            M::Vpmovdw => self.narrow(i, |a: u32| a as u16)?,
            M::Vpmovqd => self.narrow(i, |a: u64| a as u32)?,

            M::Vpshufb => self.binary(i, |a, b, bytes| {
                make(bytes, |k| {
                    if b[k] > 127 { 0 } else { a[k / XMM_BYTES * XMM_BYTES + usize::from(b[k] & 15)] }
                })
            })?,
            M::Vpsrldq => {
                let by = usize::from(immediate(i));
                self.unary(i, |a, bytes| {
                    make(bytes, |k| if k % XMM_BYTES + by < XMM_BYTES { a[k + by] } else { 0 })
                })?;
            }
            M::Vpackssdw => self.pack(i, |a: i32| a.clamp(i16::MIN.into(), i16::MAX.into()) as i16)?,
            M::Vpackusdw => self.pack(i, |a: i32| a.clamp(0, u16::MAX.into()) as u16)?,
            M::Vpacksswb => self.pack(i, |a: i16| a.clamp(i8::MIN.into(), i8::MAX.into()) as i8)?,
            M::Vpackuswb => self.pack(i, |a: i16| a.clamp(0, u8::MAX.into()) as u8)?,
            M::Vpunpcklwd => self.unpack::<u16>(i, 0)?,
            M::Vpunpckhwd => self.unpack::<u16>(i, 4)?,
            M::Vpunpckldq => self.unpack::<u32>(i, 0)?,
            M::Vpunpckhdq => self.unpack::<u32>(i, 2)?,
            M::Vpermq if i.op_kind(2) == OpKind::Immediate8 => {
                let order = immediate(i);
                let source_lane = |k: usize| k / 4 * 4 + usize::from(order >> (2 * (k % 4)) & 3);
                self.unary(i, |a, bytes| make(bytes / 8, |k| get::<u64>(a, source_lane(k))))?;
            }
            M::Vpshufd => {
                let order = immediate(i);
                let source_lane = |k: usize| k / 4 * 4 + usize::from(order >> (2 * (k % 4)) & 3);
                self.unary(i, |a, bytes| make(bytes / 4, |k| get::<u32>(a, source_lane(k))))?;
            }
            M::Vshufps => {
                let order = immediate(i);
                let source_lane = |k: usize| k / 4 * 4 + usize::from(order >> (2 * (k % 4)) & 3);
                self.binary(i, |a, b, bytes| {
                    make(bytes / 4, |k| get::<u32>(if k % 4 < 2 { a } else { b }, source_lane(k)))
                })?;
            }
            M::Vblendps => {
                let set = immediate(i);
                self.binary(i, |a, b, bytes| {
                    make(bytes / 4, |k| get::<u32>(if set >> k & 1 == 1 { b } else { a }, k))
                })?;
            }
            M::Vpblendw => {
                let set = immediate(i);
                self.binary(i, |a, b, bytes| {
                    make(bytes / 2, |k| get::<u16>(if set >> (k % 8) & 1 == 1 { b } else { a }, k))
                })?;
            }
            M::Vpermps => self.binary(i, |order, b, bytes| {
                let source_lane = |k: usize| get::<u32>(order, k) as usize % (bytes / 4);
                make(bytes / 4, |k| get::<u32>(b, source_lane(k)))
            })?,
            M::Vextracti128 | M::Vextractf128 | M::Vextracti32x4 | M::Vextracti64x4 => {
                let index = usize::from(immediate(i));
                self.unary(i, |a, bytes| make(bytes, |k| a[index * bytes + k]))?;
            }
            M::Vinserti128 | M::Vinsertf128 | M::Vinserti32x4 | M::Vinserti64x4 => {
                let bytes = if i.mnemonic() == M::Vinserti64x4 { 2 * XMM_BYTES } else { XMM_BYTES };
                let start = usize::from(immediate(i)) * bytes;
                self.insert(i, start, bytes)?;
            }
            M::Vpinsrb | M::Vpinsrw | M::Vpinsrd | M::Vpinsrq => {
                let bytes = i.memory_size().size();
                self.insert(i, usize::from(immediate(i)) * bytes, bytes)?;
            }
            M::Vpextrb | M::Vpextrw => {
                let bytes = i.memory_size().size();
                let start = usize::from(immediate(i)) * bytes;
                self.unary(i, |a, _| make(bytes, |k| a[start + k]))?;
            }
            M::Vpbroadcastb => self.splat::<u8>(i)?,
            M::Vpbroadcastw => self.splat::<u16>(i)?,
            M::Vbroadcastss => self.splat::<u32>(i)?,
            M::Vbroadcastsd | M::Vpbroadcastq => self.splat::<u64>(i)?,

            M::Vmaskmovps | M::Vmaskmovpd if Processor::is_memory(i, 0) => {
                self.store_where_signed(i, if i.mnemonic() == M::Vmaskmovps { 4 } else { 8 })?;
            }
            M::Vmaskmovps => self.load_where_signed::<i32>(i)?,
            M::Vmaskmovpd => self.load_where_signed::<i64>(i)?,
            M::Vpmaskmovd => self.load_where_signed::<i32>(i)?,
            M::Vpmaskmovq => self.load_where_signed::<i64>(i)?,
            M::Vmovmskps => {
                let from = self.operand(i, 1)?;
                let bits = bits(i.op_register(1).size() / 4, |k| is_negative::<i32>(&from, k));
                self.put(i, 0, bits)?;
            }
            M::Vpmovd2m => {
                let from = self.operand(i, 1)?;
                let bits = bits(i.op_register(1).size() / 4, |k| is_negative::<i32>(&from, k));
                self.masks[i.op_register(0).number()] = bits;
            }
            M::Vpmovm2d => self.spread_mask::<i32>(i, -1)?,
            M::Vpmovm2q => self.spread_mask::<i64>(i, -1)?,
            M::Kmovb | M::Kmovw | M::Kmovd | M::Kmovq if i.op_register(0).is_k() => {
                let lanes = match i.mnemonic() {
                    M::Kmovb => 8,
                    M::Kmovw => 16,
                    M::Kmovd => 32,
                    _ => 64,
                };
                self.masks[i.op_register(0).number()] = self.value(i, 1)? & (u64::MAX >> (64 - lanes));
            }
            M::Kmovq => {
                let bits = self.masks[i.op_register(1).number()];
                self.put(i, 0, bits)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Copies the lanes of `size` bytes whose mask bit is set to a register. The other lanes become zero or stay.
    fn move_lanes(&mut self, i: &Instruction, size: usize) -> Result<(), String> {
        let (mask, to, from) = (self.masks[i.op_mask().number()], i.op_register(0), self.operand(i, 1)?);
        let old = self.vectors[to.number()];
        let other = |k: usize| if i.zeroing_masking() { 0 } else { old[k] };
        self.vectors[to.number()] =
            make(to.size(), |k| if mask >> (k / size) & 1 == 1 { from[k] } else { other(k) });
        Ok(())
    }
}

fn is_masked_register(i: &Instruction) -> bool {
    i.op_mask() != Register::None && i.op_kind(0) == OpKind::Register
}
