//! A processor in software: it runs emitted functions instruction by instruction, on memory of which every byte is
//! accounted for. Codes run on it in instructions that the processor of the machine lacks, and nothing that they read
//! outside their buffers goes unseen.

mod arithmetic;
mod general;
mod lanes;
mod moves;
mod operands;
mod program;
mod space;

use iced_x86::{Formatter, Instruction, IntelFormatter, OpKind, Register};

use lanes::Vector;
pub(super) use program::Program;
pub(super) use space::Space;

/// What a run may take; whatever takes longer does not end.
const MOST_STEPS: u64 = 200_000_000;
/// Bytes of stack.
const STACK: usize = 1 << 17;
/// The address that the function returns to, which is nowhere.
const CALLER: u64 = 0x0dea_d000_0000_0000;

/// The registers of one thread, and the memory they point to.
pub(super) struct Processor {
    pub space: Space,
    general: [u64; 16],
    vectors: [Vector; 32],
    masks: [u64; 8],
    /// Unless the last instruction left them undefined.
    flags: Option<general::Flags>,
    ip: u64,
}

/// Registers that a function leaves as they were, besides the one of the stack.
const SAVED: [usize; 6] = [3, 5, 12, 13, 14, 15];
const RSP: usize = 4;
const RDI: usize = 7;

impl Processor {
    pub(super) fn new(space: Space) -> Processor {
        // Nothing may depend on what registers hold before.
        let mut general = [0; 16];
        for (number, register) in general.iter_mut().enumerate() {
            *register = 0x5a5a_5a5a_0000_0000 + number as u64;
        }
        Processor {
            space,
            general,
            vectors: [[0xa5; lanes::BYTES]; 32],
            masks: [0x5a5a; 8],
            flags: None,
            ip: 0,
        }
    }

    /// Calls the function `program` at `start` with one argument, until it returns.
    pub(super) fn call(&mut self, program: &Program, start: u64, argument: u64) -> Result<(), String> {
        self.ip = start;
        let stack = self.space.place("stack", &[0xcc; STACK], true);
        let top = stack + STACK as u64 - 64;
        self.general[RDI] = argument;
        self.general[RSP] = top - 8;
        self.space.write(top - 8, &CALLER.to_le_bytes())?;
        let before = self.general;
        for _ in 0..MOST_STEPS {
            self.step(program)?;
            if self.ip == CALLER {
                let kept = SAVED.iter().all(|&number| self.general[number] == before[number]);
                let returned = kept && self.general[RSP] == top;
                return if returned { Ok(()) } else { Err("a register of the caller is changed".to_owned()) };
            }
        }
        Err("does not end".to_owned())
    }

    fn step(&mut self, program: &Program) -> Result<(), String> {
        let instruction = program.instruction(self.ip, &self.space)?;
        self.ip = instruction.next_ip();
        let known = [Processor::general, Processor::arithmetic, Processor::moves];
        let mut reason = "is not an instruction that is known here".to_owned();
        for run in known.into_iter().filter(|_| !instruction.is_broadcast()) {
            match run(self, &instruction) {
                Ok(true) => return Ok(()),
                Ok(false) => {}
                Err(fault) => {
                    reason = fault;
                    break;
                }
            }
        }
        let mut text = String::new();
        IntelFormatter::new().format(&instruction, &mut text);
        Err(format!("{text}: {reason}"))
    }

    /// The address of the memory operand.
    fn address(&self, instruction: &Instruction) -> u64 {
        if instruction.is_ip_rel_memory_operand() {
            return instruction.ip_rel_memory_address();
        }
        let value = |register: Register| match register {
            Register::None => 0,
            register => self.general[register.number()],
        };
        let index =
            value(instruction.memory_index()).wrapping_mul(u64::from(instruction.memory_index_scale()));
        value(instruction.memory_base()).wrapping_add(index).wrapping_add(instruction.memory_displacement64())
    }

    fn is_memory(instruction: &Instruction, operand: u32) -> bool {
        instruction.op_kind(operand) == OpKind::Memory
    }
}
