//! General-purpose instructions of 64 bits, and loads and stores of fewer.

use iced_x86::{ConditionCode, Instruction, Mnemonic, OpKind, Register};

use super::{CALLER, Processor, RSP};

const RAX: usize = 0;
const RDX: usize = 2;

#[derive(Clone, Copy)]
pub(super) struct Flags {
    zero: bool,
    sign: bool,
    carry: bool,
    overflow: bool,
}

impl Flags {
    fn of(value: u64) -> Flags {
        Flags { zero: value == 0, sign: (value as i64) < 0, carry: false, overflow: false }
    }
}

impl Processor {
    /// Runs a general-purpose instruction; false if it is another.
    pub(super) fn general(&mut self, i: &Instruction) -> Result<bool, String> {
        match i.mnemonic() {
            Mnemonic::Mov | Mnemonic::Movzx => {
                let value = self.value(i, 1)?;
                self.put(i, 0, value)?;
            }
            Mnemonic::Movsx | Mnemonic::Movsxd => {
                let shift = 64 - 8 * size(i, 1) as u32;
                let value = ((self.value(i, 1)? << shift) as i64 >> shift) as u64;
                self.put(i, 0, value)?;
            }
            Mnemonic::Lea => {
                let address = self.address(i);
                self.put(i, 0, address)?;
            }
            Mnemonic::Add => {
                let (a, b) = (self.wide(i, 0)?, self.wide(i, 1)?);
                let (sum, carry) = a.overflowing_add(b);
                let overflow = (a as i64).overflowing_add(b as i64).1;
                self.flags = Some(Flags { carry, overflow, ..Flags::of(sum) });
                self.put(i, 0, sum)?;
            }
            Mnemonic::Sub | Mnemonic::Cmp => {
                let (a, b) = (self.wide(i, 0)?, self.wide(i, 1)?);
                let (difference, carry) = a.overflowing_sub(b);
                let overflow = (a as i64).overflowing_sub(b as i64).1;
                self.flags = Some(Flags { carry, overflow, ..Flags::of(difference) });
                if i.mnemonic() == Mnemonic::Sub {
                    self.put(i, 0, difference)?;
                }
            }
            Mnemonic::And | Mnemonic::Or | Mnemonic::Test => {
                let (a, b) = (self.wide(i, 0)?, self.wide(i, 1)?);
                let value = if i.mnemonic() == Mnemonic::Or { a | b } else { a & b };
                self.flags = Some(Flags::of(value));
                if i.mnemonic() != Mnemonic::Test {
                    self.put(i, 0, value)?;
                }
            }
            Mnemonic::Imul if i.op_count() == 2 => {
                let product = self.wide(i, 0)?.wrapping_mul(self.wide(i, 1)?);
                self.flags = None;
                self.put(i, 0, product)?;
            }
            Mnemonic::Neg => {
                let value = self.wide(i, 0)?.wrapping_neg();
                self.flags = None;
                self.put(i, 0, value)?;
            }
            Mnemonic::Shl | Mnemonic::Shr => {
                let (value, count) = (self.wide(i, 0)?, self.value(i, 1)? & 63);
                self.flags = None;
                self.put(i, 0, if i.mnemonic() == Mnemonic::Shl { value << count } else { value >> count })?;
            }
            Mnemonic::Cqo => self.general[RDX] = ((self.general[RAX] as i64) >> 63) as u64,
            Mnemonic::Idiv | Mnemonic::Div => {
                let by = self.wide(i, 0)?;
                let whole = u128::from(self.general[RDX]) << 64 | u128::from(self.general[RAX]);
                let (quotient, rest) = if i.mnemonic() == Mnemonic::Div {
                    let by = u128::from(by);
                    let quotient = whole.checked_div(by).and_then(|quotient| u64::try_from(quotient).ok());
                    (quotient, whole.checked_rem(by).map(|rest| rest as u64))
                } else {
                    let (whole, by) = (whole as i128, i128::from(by as i64));
                    let quotient = whole.checked_div(by).and_then(|quotient| i64::try_from(quotient).ok());
                    (quotient.map(|q| q as u64), whole.checked_rem(by).map(|rest| rest as u64))
                };
                let (Some(quotient), Some(rest)) = (quotient, rest) else {
                    return Err(format!("{whole:#x} by {by:#x}"));
                };
                (self.general[RAX], self.general[RDX], self.flags) = (quotient, rest, None);
            }
            Mnemonic::Jmp => self.ip = i.near_branch_target(),
            Mnemonic::Push => {
                let value = self.wide(i, 0)?;
                self.general[RSP] -= 8;
                self.space.write(self.general[RSP], &value.to_le_bytes())?;
            }
            Mnemonic::Pop => {
                let value = self.pop()?;
                self.put(i, 0, value)?;
            }
            Mnemonic::Ret => {
                self.ip = self.pop()?;
                if self.ip != CALLER {
                    return Err(format!("returns to {:#x}", self.ip));
                }
            }
            // Of any address; nothing is read.
            Mnemonic::Prefetcht0 | Mnemonic::Prefetcht1 | Mnemonic::Prefetcht2 | Mnemonic::Prefetchnta => {}
            Mnemonic::Sfence => {}
            _ if i.condition_code() == ConditionCode::None => return Ok(false),
            _ => {
                let holds = self.holds(i.condition_code())?;
                if i.is_jcc_short_or_near() {
                    self.ip = if holds { i.near_branch_target() } else { self.ip };
                } else {
                    // A conditional move: it reads in either case.
                    let value = self.wide(i, 1)?;
                    if holds {
                        self.put(i, 0, value)?;
                    }
                }
            }
        }
        Ok(true)
    }

    fn holds(&self, condition: ConditionCode) -> Result<bool, String> {
        let Some(Flags { zero, sign, carry, overflow }) = self.flags else {
            return Err("depends on flags that are undefined".to_owned());
        };
        Ok(match condition {
            ConditionCode::e => zero,
            ConditionCode::ne => !zero,
            ConditionCode::b => carry,
            ConditionCode::ae => !carry,
            ConditionCode::be => carry || zero,
            ConditionCode::a => !(carry || zero),
            ConditionCode::l => sign != overflow,
            ConditionCode::ge => sign == overflow,
            ConditionCode::le => zero || sign != overflow,
            ConditionCode::g => !zero && sign == overflow,
            ConditionCode::s => sign,
            ConditionCode::ns => !sign,
            other => return Err(format!("condition {other:?}")),
        })
    }

    fn pop(&mut self) -> Result<u64, String> {
        let bytes = self.space.read(self.general[RSP], 8)?;
        let value = u64::from_le_bytes(bytes.try_into().map_err(|_| "no word")?);
        self.general[RSP] += 8;
        Ok(value)
    }

    /// An operand, extended with zeros.
    pub(super) fn value(&self, i: &Instruction, operand: u32) -> Result<u64, String> {
        match i.op_kind(operand) {
            OpKind::Register => {
                let register = i.op_register(operand);
                let value = self.general[register.number()];
                Ok(if register.size() == 8 { value } else { value & ((1 << (8 * register.size())) - 1) })
            }
            OpKind::Memory => {
                let bytes = self.space.read(self.address(i), size(i, operand))?;
                Ok(bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
            }
            _ => Ok(i.immediate(operand)),
        }
    }

    /// As [`Processor::value`], of 64 bits.
    fn wide(&self, i: &Instruction, operand: u32) -> Result<u64, String> {
        let register = i.op_kind(operand) == OpKind::Register;
        let memory = Processor::is_memory(i, operand);
        if (register || memory) && size(i, operand) != 8 {
            return Err("of fewer than 64 bits".to_owned());
        }
        self.value(i, operand)
    }

    /// Writes a register of 32 or 64 bits, or memory.
    pub(super) fn put(&mut self, i: &Instruction, operand: u32, value: u64) -> Result<(), String> {
        if Processor::is_memory(i, operand) {
            let (address, bytes) = (self.address(i), size(i, operand));
            return self.space.write(address, &value.to_le_bytes()[..bytes]);
        }
        let register = i.op_register(operand);
        self.general[register.number()] = match register.size() {
            8 => value,
            4 => value & u64::from(u32::MAX),
            _ => return Err("writes a part of a register".to_owned()),
        };
        Ok(())
    }
}

/// Bytes of an operand.
fn size(i: &Instruction, operand: u32) -> usize {
    match i.op_kind(operand) {
        OpKind::Memory => i.memory_size().size(),
        _ => match i.op_register(operand) {
            Register::None => 8,
            register => register.size(),
        },
    }
}
