//! [`Program`]: the instructions of a function.

use std::cell::RefCell;

use iced_x86::{Decoder, DecoderOptions, Instruction};
use rustc_hash::FxHashMap;

use super::space::Space;

/// A function and the functions it calls. Instructions are decoded when they first run.
#[derive(Default)]
pub struct Program {
    bytes: Vec<u8>,
    decoded: RefCell<Decoded>,
}

/// Decoded instructions in the order of their first run. Hence the successor of an instruction is usually the next
/// entry.
#[derive(Default)]
struct Decoded {
    /// Each instruction, and the index of the handler to try first: see `Processor::step`.
    all: Vec<(Instruction, usize)>,
    /// Indices in `all` by address.
    indices: FxHashMap<u64, usize>,
    /// The index of the last instruction that was fetched.
    last: usize,
}

impl Program {
    /// Returns a program of these bytes. `Program::default()` has no bytes: it runs a function that is in the memory
    /// already.
    pub fn new(bytes: Vec<u8>) -> Program {
        Program { bytes, decoded: RefCell::default() }
    }

    /// Returns a memory whose first region is the function, and the function's address. The address is always the same.
    pub fn load(&self) -> (Space, u64) {
        let mut space = Space::default();
        let start = space.place("code", &self.bytes, false);
        (space, start)
    }

    /// Returns the instruction at an address in a memory that holds the program, and the index of its handler: 0 before
    /// [`Program::set_handler`].
    pub(crate) fn instruction(&self, ip: u64, space: &Space) -> Result<(Instruction, usize), String> {
        let decoded = &mut *self.decoded.borrow_mut();
        let next = decoded.last + 1;
        if let Some(known) = decoded.all.get(next).filter(|(instruction, _)| instruction.ip() == ip) {
            decoded.last = next;
            return Ok(*known);
        }
        if let Some(index) = decoded.indices.get(&ip) {
            decoded.last = *index;
            return Ok(decoded.all[*index]);
        }
        let bytes = space.read_at_most(ip, 15)?;
        let instruction = Decoder::with_ip(64, bytes, ip, DecoderOptions::NONE).decode();
        decoded.last = decoded.all.len();
        decoded.indices.insert(ip, decoded.last);
        decoded.all.push((instruction, 0));
        Ok((instruction, 0))
    }

    /// Sets the index of the handler of the instruction that was fetched last.
    pub(crate) fn set_handler(&self, handler: usize) {
        let decoded = &mut *self.decoded.borrow_mut();
        decoded.all[decoded.last].1 = handler;
    }
}
