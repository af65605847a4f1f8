//! General-purpose instructions.

use iced_x86::{ConditionCode, Instruction, Mnemonic, OpKind, Register};

use super::{CALLER, Processor, RSP};

const RAX: usize = 0;
const RDX: usize = 2;

/// The flags after the last instruction. A flag is `None` if the instruction left it undefined. A shift gives no carry
/// and no overflow here: a processor defines them for some counts, but compiled code does not read them.
#[derive(Clone, Copy)]
pub(super) struct Flags {
    zero: Option<bool>,
    sign: Option<bool>,
    carry: Option<bool>,
    overflow: Option<bool>,
}

impl Flags {
    /// Returns the flags for a result of `bits` bits, with carry and overflow clear.
    fn of(value: u64, bits: u32) -> Flags {
        let (zero, sign) = (Some(value == 0), Some(sign_bit(value, bits)));
        Flags { zero, sign, carry: Some(false), overflow: Some(false) }
    }

    /// Returns the flags of a multiplication. It defines only carry and overflow: whether the product lost bits.
    fn of_product(has_lost_bits: bool) -> Flags {
        let lost = Some(has_lost_bits);
        Flags { zero: None, sign: None, carry: lost, overflow: lost }
    }
}

impl Processor {
    /// Runs the instruction if it is a general-purpose instruction. Returns whether it is.
    pub(super) fn general(&mut self, i: &Instruction) -> Result<bool, String> {
        use Mnemonic as M;
        match i.mnemonic() {
            M::Nop | M::Endbr64 => {}
            M::Mov | M::Movzx => {
                let value = self.value(i, 1)?;
                self.put(i, 0, value)?;
            }
            M::Movsx | M::Movsxd => {
                let value = sign_extended(self.value(i, 1)?, bits(i, 1));
                self.put(i, 0, value)?;
            }
            M::Lea => {
                let address = self.address(i);
                self.put(i, 0, address)?;
            }
            M::Xchg => {
                let (a, b) = (self.value(i, 0)?, self.value(i, 1)?);
                self.put(i, 0, b)?;
                self.put(i, 1, a)?;
            }
            M::Add => self.two_numbers(i, sum)?,
            M::Sub => self.two_numbers(i, difference)?,
            M::Inc | M::Dec => {
                let carry = self.flags.and_then(|flags| flags.carry);
                let (a, bits) = (self.value(i, 0)?, bits(i, 0));
                let step = if i.mnemonic() == M::Inc { sum } else { difference };
                let (value, flags) = step(a, 1, bits);
                self.flags = Some(Flags { carry, ..flags });
                self.put(i, 0, value)?;
            }
            M::Cmp => self.flags = Some(difference(self.value(i, 0)?, self.value(i, 1)?, bits(i, 0)).1),
            M::And => self.two_numbers(i, |a, b, bits| (a & b, Flags::of(a & b, bits)))?,
            M::Or => self.two_numbers(i, |a, b, bits| (a | b, Flags::of(a | b, bits)))?,
            M::Xor => self.two_numbers(i, |a, b, bits| (a ^ b, Flags::of(a ^ b, bits)))?,
            M::Test => self.flags = Some(Flags::of(self.value(i, 0)? & self.value(i, 1)?, bits(i, 0))),
            M::Imul if i.op_count() > 1 => {
                let (first, second) = if i.op_count() == 2 { (0, 1) } else { (1, 2) };
                let bits = bits(i, 0);
                let factor = |value| i128::from(sign_extended(value, bits) as i64);
                let product = factor(self.value(i, first)?) * factor(self.value(i, second)?);
                let lost = product != i128::from(sign_extended(product as u64, bits) as i64);
                self.flags = Some(Flags::of_product(lost));
                self.put(i, 0, product as u64 & ones(bits))?;
            }
            M::Mul if bits(i, 0) == 64 => {
                let product = u128::from(self.general[RAX]) * u128::from(self.value(i, 0)?);
                (self.general[RAX], self.general[RDX]) = (product as u64, (product >> 64) as u64);
                self.flags = Some(Flags::of_product(self.general[RDX] != 0));
            }
            M::Neg => {
                let (value, flags) = difference(0, self.value(i, 0)?, bits(i, 0));
                self.flags = Some(flags);
                self.put(i, 0, value)?;
            }
            M::Not => {
                let value = !self.value(i, 0)? & ones(bits(i, 0));
                self.put(i, 0, value)?;
            }
            M::Shl | M::Shr | M::Sar => {
                let (value, bits) = (self.value(i, 0)?, bits(i, 0));
                let count = self.value(i, 1)? as u32 & if bits == 64 { 63 } else { 31 };
                let value = match i.mnemonic() {
                    _ if count >= bits => {
                        return Err(format!("shift counts must be less than {bits}, got {count}"));
                    }
                    M::Shl => value << count & ones(bits),
                    M::Shr => value >> count,
                    _ => (sign_extended(value, bits) as i64 >> count) as u64 & ones(bits),
                };
                if count > 0 {
                    self.flags = Some(Flags { carry: None, overflow: None, ..Flags::of(value, bits) });
                }
                self.put(i, 0, value)?;
            }
            M::Cqo => self.general[RDX] = ((self.general[RAX] as i64) >> 63) as u64,
            M::Idiv | M::Div if bits(i, 0) == 64 => {
                let by = self.value(i, 0)?;
                let whole = u128::from(self.general[RDX]) << 64 | u128::from(self.general[RAX]);
                let (quotient, rest) = if i.mnemonic() == M::Div {
                    let by = u128::from(by);
                    let quotient = whole.checked_div(by).and_then(|quotient| u64::try_from(quotient).ok());
                    (quotient, whole.checked_rem(by).map(|rest| rest as u64))
                } else {
                    let (whole, by) = (whole as i128, i128::from(by as i64));
                    let quotient = whole.checked_div(by).and_then(|quotient| i64::try_from(quotient).ok());
                    (quotient.map(|q| q as u64), whole.checked_rem(by).map(|rest| rest as u64))
                };
                let (Some(quotient), Some(rest)) = (quotient, rest) else {
                    return Err(format!("the quotient must fit in 64 bits, got {whole:#x} / {by:#x}"));
                };
                (self.general[RAX], self.general[RDX], self.flags) = (quotient, rest, None);
            }
            M::Jmp => {
                let target = self.target(i)?;
                self.jump(target)?;
            }
            M::Push => {
                let value = self.value(i, 0)?;
                self.push(value)?;
            }
            M::Pop => {
                let value = self.pop()?;
                self.put(i, 0, value)?;
            }
            M::Call => {
                let target = self.target(i)?;
                self.push(self.ip)?;
                self.callers.push(self.ip);
                self.jump(target)?;
            }
            M::Ret => self.ret()?,
            // A prefetch takes any address and reads nothing.
            M::Prefetcht0 | M::Prefetcht1 | M::Prefetcht2 | M::Prefetchnta => {}
            M::Sfence => {}
            _ if i.condition_code() == ConditionCode::None => return Ok(false),
            _ => {
                let holds = self.holds(i.condition_code())?;
                if i.is_jcc_short_or_near() {
                    self.ip = if holds { i.near_branch_target() } else { self.ip };
                } else if i.op_count() == 1 {
                    self.put(i, 0, u64::from(holds))?;
                } else {
                    // A conditional move reads both operands and clears the upper half even if the condition is false.
                    let (old, value) = (self.value(i, 0)?, self.value(i, 1)?);
                    self.put(i, 0, if holds { value } else { old })?;
                }
            }
        }
        Ok(true)
    }

    /// Writes `f(a, b, bits)` to the first operand, for the operands `a` and `b` of `bits` bits.
    fn two_numbers(
        &mut self,
        i: &Instruction,
        f: impl Fn(u64, u64, u32) -> (u64, Flags),
    ) -> Result<(), String> {
        let (value, flags) = f(self.value(i, 0)?, self.value(i, 1)?, bits(i, 0));
        self.flags = Some(flags);
        self.put(i, 0, value)
    }

    /// Returns whether a condition of the flags holds.
    fn holds(&self, condition: ConditionCode) -> Result<bool, String> {
        const UNDEFINED: &str = "the condition depends on undefined flags";
        let Flags { zero, sign, carry, overflow } = self.flags.ok_or(UNDEFINED)?;
        let [zero, sign, carry, overflow] = [zero, sign, carry, overflow].map(|flag| flag.ok_or(UNDEFINED));
        Ok(match condition {
            ConditionCode::e => zero?,
            ConditionCode::ne => !zero?,
            ConditionCode::b => carry?,
            ConditionCode::ae => !carry?,
            ConditionCode::be => carry? | zero?,
            ConditionCode::a => !(carry? | zero?),
            ConditionCode::l => sign? != overflow?,
            ConditionCode::ge => sign? == overflow?,
            ConditionCode::le => zero? | (sign? != overflow?),
            ConditionCode::g => !zero? & (sign? == overflow?),
            ConditionCode::s => sign?,
            ConditionCode::ns => !sign?,
            ConditionCode::o => overflow?,
            ConditionCode::no => !overflow?,
            other => return Err(format!("condition {other:?} is not supported")),
        })
    }

    /// Returns the target of a jump or a call.
    fn target(&self, i: &Instruction) -> Result<u64, String> {
        match i.op_kind(0) {
            OpKind::NearBranch64 => Ok(i.near_branch_target()),
            _ => self.value(i, 0),
        }
    }

    pub(super) fn push(&mut self, value: u64) -> Result<(), String> {
        self.general[RSP] = self.general[RSP].wrapping_sub(8);
        self.space.write(self.general[RSP], &value.to_le_bytes())
    }

    fn pop(&mut self) -> Result<u64, String> {
        let bytes = self.space.read(self.general[RSP], 8)?;
        let value = u64::from_le_bytes(bytes.try_into().map_err(|_| "the stack must hold 8 bytes")?);
        self.general[RSP] += 8;
        Ok(value)
    }

    /// Returns from a function to its caller.
    pub(super) fn ret(&mut self) -> Result<(), String> {
        self.ip = self.pop()?;
        let caller = self.callers.pop().unwrap_or(CALLER);
        if self.ip == caller {
            Ok(())
        } else {
            Err(format!("the function must return to {caller:#x}, but returns to {:#x}", self.ip))
        }
    }

    /// Returns the value of an operand, zero-extended.
    pub(super) fn value(&self, i: &Instruction, operand: u32) -> Result<u64, String> {
        match i.op_kind(operand) {
            OpKind::Register => {
                let register = i.op_register(operand);
                Ok(self.general[general_number(register)?] & ones(8 * register.size() as u32))
            }
            OpKind::Memory => {
                let bytes = self.space.read(self.address(i), size(i, operand))?;
                Ok(bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
            }
            _ => Ok(i.immediate(operand) & ones(bits(i, 0))),
        }
    }

    /// Writes an operand in a register or in memory.
    pub(super) fn put(&mut self, i: &Instruction, operand: u32, value: u64) -> Result<(), String> {
        if Processor::is_memory(i, operand) {
            let (address, bytes) = (self.address(i), size(i, operand));
            return self.space.write(address, &value.to_le_bytes()[..bytes]);
        }
        let register = i.op_register(operand);
        let general = &mut self.general[general_number(register)?];
        let written = ones(8 * register.size() as u32);
        // A write of fewer than 32 bits keeps the other bits; a write of 32 bits clears the upper half.
        let kept = if register.size() < 4 { *general & !written } else { 0 };
        *general = kept | value & written;
        Ok(())
    }
}

/// Returns the number of the 64-bit general register that contains `register`.
fn general_number(register: Register) -> Result<usize, String> {
    match register {
        Register::AH | Register::BH | Register::CH | Register::DH => {
            Err("the second byte of a register is not supported as an operand".to_owned())
        }
        _ => Ok(register.full_register().number()),
    }
}

/// Returns `a + b` in `bits` bits, and the flags.
fn sum(a: u64, b: u64, bits: u32) -> (u64, Flags) {
    let value = a.wrapping_add(b) & ones(bits);
    let overflow = (a ^ value) & (b ^ value);
    let flags = Flags::of(value, bits);
    (value, Flags { carry: Some(value < a), overflow: Some(sign_bit(overflow, bits)), ..flags })
}

/// Returns `a - b` in `bits` bits, and the flags.
fn difference(a: u64, b: u64, bits: u32) -> (u64, Flags) {
    let value = a.wrapping_sub(b) & ones(bits);
    let overflow = (a ^ b) & (a ^ value);
    let flags = Flags::of(value, bits);
    (value, Flags { carry: Some(a < b), overflow: Some(sign_bit(overflow, bits)), ..flags })
}

/// Returns whether the highest of `bits` bits is set.
fn sign_bit(value: u64, bits: u32) -> bool {
    value >> (bits - 1) & 1 == 1
}

/// Returns a number whose lowest `bits` bits are set.
fn ones(bits: u32) -> u64 {
    u64::MAX >> (64 - bits)
}

/// Sign-extends a number of `bits` bits.
fn sign_extended(value: u64, bits: u32) -> u64 {
    ((value << (64 - bits)) as i64 >> (64 - bits)) as u64
}

/// Returns the number of bits of an operand.
fn bits(i: &Instruction, operand: u32) -> u32 {
    8 * size(i, operand) as u32
}

/// Returns the number of bytes of an operand.
fn size(i: &Instruction, operand: u32) -> usize {
    match i.op_kind(operand) {
        OpKind::Memory => i.memory_size().size(),
        _ => match i.op_register(operand) {
            Register::None => 8,
            register => register.size(),
        },
    }
}
