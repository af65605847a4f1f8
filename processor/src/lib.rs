//! An x86-64 processor in software.
//!
//! A [`Processor`] runs a function instruction by instruction on a [`Space`], a memory of separate regions. Tests use
//! the processor for code with instructions that the processor of the machine may lack. Every access outside a region
//! is an error, so a read beyond an operand cannot go unnoticed.

mod arithmetic;
mod general;
mod lanes;
mod moves;
mod operands;
mod program;
mod space;
mod sse;

use iced_x86::{Formatter, Instruction, IntelFormatter, OpKind, Register};

use lanes::Vector;
pub use program::Program;
use rustc_hash::FxHashMap;
pub use space::Space;

/// The maximum number of instructions in a run. A longer run counts as endless.
const MAX_STEPS: u64 = 200_000_000;
/// The number of bytes of the stack.
const STACK: usize = 1 << 17;
/// The address that the function returns to. No region contains it.
const CALLER: u64 = 0x0dea_d000_0000_0000;

/// A function of the C library or of the host. The processor computes its effect directly and does not run its
/// instructions.
#[derive(Clone, Copy, Debug)]
pub enum LibraryFunction {
    /// `memcpy` and `memmove`.
    Copy,
    /// `memset`.
    Fill,
    /// A function of two arrays `a` and `b` of doubles and their length, which sets each `a[i]` to `f(a[i], b[i])`. It
    /// overwrites the registers that a function need not preserve.
    Combine(fn(f64, f64) -> f64),
}

/// The registers of one thread, and its memory.
pub struct Processor {
    /// The memory.
    pub space: Space,
    /// The library functions by their addresses. The processor computes their effects directly.
    pub library_functions: FxHashMap<u64, LibraryFunction>,
    /// The number of instructions that were run.
    pub steps: u64,
    /// The general registers by number, such as [`RAX`].
    general: [u64; 16],
    vectors: [Vector; 32],
    masks: [u64; 8],
    /// The flags, unless the last instruction left them undefined.
    flags: Option<general::Flags>,
    /// The address of the next instruction.
    ip: u64,
    /// The return addresses of the calls in progress.
    callers: Vec<u64>,
}

/// General registers that a function must preserve, besides the stack pointer.
const CALLEE_SAVED: [usize; 6] = [3, 5, 12, 13, 14, 15];
/// General registers that a function may change.
const CALLER_SAVED: [usize; 9] = [0, 1, 2, 6, 7, 8, 9, 10, 11];
/// Numbers of general registers.
const RSP: usize = 4;
const RAX: usize = 0;
const RDX: usize = 2;
const RSI: usize = 6;
const RDI: usize = 7;

impl Processor {
    /// Returns a processor with this memory.
    pub fn new(space: Space) -> Processor {
        // The initial values of registers are arbitrary; no result may depend on them.
        let mut general = [0; 16];
        for (number, register) in general.iter_mut().enumerate() {
            *register = 0x5a5a_5a5a_0000_0000 + number as u64;
        }
        Processor {
            space,
            library_functions: FxHashMap::default(),
            steps: 0,
            general,
            vectors: [[0xa5; lanes::BYTES]; 32],
            masks: [0x5a5a; 8],
            flags: None,
            ip: 0,
            callers: Vec::new(),
        }
    }

    /// Calls the function of `program` at address `start` with one argument, and runs it until it returns.
    ///
    /// # Errors
    /// An instruction is unknown or accesses memory outside the regions, the function violates the calling convention,
    /// or the function does not return.
    pub fn call(&mut self, program: &Program, start: u64, argument: u64) -> Result<(), String> {
        self.ip = start;
        let stack = self.space.place("stack", &[0xcc; STACK], true);
        let top = stack + STACK as u64 - 64;
        self.general[RDI] = argument;
        self.general[RSP] = top;
        self.push(CALLER)?;
        let before = self.general;
        for _ in 0..MAX_STEPS {
            self.step(program)?;
            if self.ip == CALLER {
                let kept = CALLEE_SAVED.iter().all(|&number| self.general[number] == before[number]);
                let returned = kept && self.general[RSP] == top;
                return if returned {
                    Ok(())
                } else {
                    Err("the function must preserve callee-saved registers, but changed one".to_owned())
                };
            }
        }
        Err(format!("the function must return within {MAX_STEPS} instructions, but did not"))
    }

    fn step(&mut self, program: &Program) -> Result<(), String> {
        self.steps += 1;
        let (instruction, first) = program.instruction(self.ip, &self.space)?;
        self.ip = instruction.next_ip();
        // Each handler runs its own instructions and returns `false` for all others. The program remembers which
        // handler ran an instruction, so that later runs of the instruction start with this handler.
        let handlers = [Processor::general, Processor::arithmetic, Processor::moves, Processor::sse];
        let mut fault = None;
        for (index, run) in handlers.iter().enumerate().skip(first) {
            match run(self, &instruction) {
                Ok(true) if index == first => return Ok(()),
                Ok(true) => {
                    program.set_handler(index);
                    return Ok(());
                }
                Ok(false) => {}
                Err(reason) => {
                    fault = Some(reason);
                    break;
                }
            }
        }
        let reason = fault.as_deref().unwrap_or("the instruction is not supported");
        let mut text = String::new();
        IntelFormatter::new().format(&instruction, &mut text);
        Err(format!("{:#x}: {text}: {reason}", instruction.ip()))
    }

    /// Jumps to an address. If a [`LibraryFunction`] starts there, computes its effect and returns from it.
    fn jump(&mut self, address: u64) -> Result<(), String> {
        self.ip = address;
        let Some(function) = self.library_functions.get(&address) else { return Ok(()) };
        let [to, second, count] = [RDI, RSI, RDX].map(|number| self.general[number]);
        let bytes = match function {
            LibraryFunction::Copy => self.space.read(second, count as usize)?.to_vec(),
            LibraryFunction::Fill => vec![second as u8; count as usize],
            LibraryFunction::Combine(f) => {
                let (first, second) =
                    (self.space.read(to, 8 * count as usize)?, self.space.read(second, 8 * count as usize)?);
                let double =
                    |bytes: &[u8]| f64::from_le_bytes(bytes.try_into().expect("a chunk has 8 bytes"));
                let pairs = first.chunks_exact(8).zip(second.chunks_exact(8));
                let combined: Vec<u8> =
                    pairs.flat_map(|(a, b)| f(double(a), double(b)).to_le_bytes()).collect();
                self.vectors = [[0x3c; lanes::BYTES]; 32];
                self.masks = [0x3c3c; 8];
                for number in CALLER_SAVED {
                    self.general[number] = 0x3c3c_3c3c_3c3c_0000 + number as u64;
                }
                combined
            }
        };
        self.space.write(to, &bytes)?;
        (self.general[RAX], self.flags) = (to, None);
        self.ret()
    }

    /// Returns the address of the memory operand.
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

    /// Returns whether an operand is in memory.
    fn is_memory(instruction: &Instruction, operand: u32) -> bool {
        instruction.op_kind(operand) == OpKind::Memory
    }
}
