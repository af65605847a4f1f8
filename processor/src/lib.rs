//! An x86-64 processor in software: it runs functions instruction by instruction, on memory of which every byte is
//! accounted for. Tests run code on it in instructions that the processor of the machine lacks, and nothing that is read
//! outside of its operands goes unseen.

mod arithmetic;
mod general;
mod lanes;
mod moves;
mod operands;
mod program;
mod scalar;
mod space;

use iced_x86::{Formatter, Instruction, IntelFormatter, OpKind, Register};

use lanes::Vector;
pub use program::Program;
use rustc_hash::FxHashMap;
pub use space::Space;

/// What a run may take; whatever takes longer does not end.
const MOST_STEPS: u64 = 200_000_000;
/// Bytes of stack.
const STACK: usize = 1 << 17;
/// The address that the function returns to, which is nowhere.
const CALLER: u64 = 0x0dea_d000_0000_0000;

/// A function that is served as its documentation says, not as its instructions do.
#[derive(Clone, Copy, Debug)]
pub enum Served {
    /// `memcpy` and `memmove`.
    Copy,
    /// `memset`.
    Fill,
}

/// The registers of one thread, and the memory they point to.
pub struct Processor {
    /// The memory.
    pub space: Space,
    /// Functions by their addresses.
    pub served: FxHashMap<u64, Served>,
    /// How many instructions have been run.
    pub steps: u64,
    general: [u64; 16],
    vectors: [Vector; 32],
    masks: [u64; 8],
    /// Unless the last instruction left them undefined.
    flags: Option<general::Flags>,
    ip: u64,
    /// Where the functions that have been called return to.
    callers: Vec<u64>,
}

/// Registers that a function leaves as they were, besides the one of the stack.
const SAVED: [usize; 6] = [3, 5, 12, 13, 14, 15];
const RSP: usize = 4;
const RAX: usize = 0;
const RDX: usize = 2;
const RSI: usize = 6;
const RDI: usize = 7;

impl Processor {
    /// A processor with a memory.
    pub fn new(space: Space) -> Processor {
        // Nothing may depend on what registers hold before.
        let mut general = [0; 16];
        for (number, register) in general.iter_mut().enumerate() {
            *register = 0x5a5a_5a5a_0000_0000 + number as u64;
        }
        Processor {
            space,
            served: FxHashMap::default(),
            steps: 0,
            general,
            vectors: [[0xa5; lanes::BYTES]; 32],
            masks: [0x5a5a; 8],
            flags: None,
            ip: 0,
            callers: Vec::new(),
        }
    }

    /// Calls the function `program` at `start` with one argument, until it returns.
    ///
    /// # Errors
    /// An instruction is not known, or accesses what is not there; or the function does not keep to the rules of calls.
    pub fn call(&mut self, program: &Program, start: u64, argument: u64) -> Result<(), String> {
        self.ip = start;
        let stack = self.space.place("stack", &[0xcc; STACK], true);
        let top = stack + STACK as u64 - 64;
        self.general[RDI] = argument;
        self.general[RSP] = top;
        self.push(CALLER)?;
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
        self.steps += 1;
        let (instruction, kind) = program.instruction(self.ip, &self.space)?;
        self.ip = instruction.next_ip();
        let kinds = [Processor::general, Processor::arithmetic, Processor::moves, Processor::scalar];
        let mut fault = None;
        for (at, run) in kinds.iter().enumerate().skip(kind) {
            match run(self, &instruction) {
                Ok(true) if at == kind => return Ok(()),
                Ok(true) => {
                    program.note(at);
                    return Ok(());
                }
                Ok(false) => {}
                Err(reason) => {
                    fault = Some(reason);
                    break;
                }
            }
        }
        let reason = fault.as_deref().unwrap_or("is not an instruction that is known here");
        let mut text = String::new();
        IntelFormatter::new().format(&instruction, &mut text);
        Err(format!("{:#x}: {text}: {reason}", instruction.ip()))
    }

    /// Goes to an address; if a function that is served is there, does what it does, and returns from it.
    fn go(&mut self, address: u64) -> Result<(), String> {
        self.ip = address;
        let Some(served) = self.served.get(&address) else { return Ok(()) };
        let [to, second, count] = [RDI, RSI, RDX].map(|number| self.general[number]);
        let bytes = match served {
            Served::Copy => self.space.read(second, count as usize)?.to_vec(),
            Served::Fill => vec![second as u8; count as usize],
        };
        self.space.write(to, &bytes)?;
        (self.general[RAX], self.flags) = (to, None);
        self.ret()
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
