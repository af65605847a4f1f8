//! [`Program`]: a function as instructions.

use std::cell::RefCell;

use iced_x86::{Decoder, DecoderOptions, Instruction};
use rustc_hash::FxHashMap;

use super::space::Space;

/// A function with those it calls, decoded as far as they have been run.
#[derive(Default)]
pub struct Program {
    bytes: Vec<u8>,
    decoded: RefCell<FxHashMap<u64, Instruction>>,
}

impl Program {
    /// A function of its own; the default is one that lies in the memory it is run on.
    pub fn new(bytes: Vec<u8>) -> Program {
        Program { bytes, decoded: RefCell::default() }
    }

    /// A memory with the function as its first region, where it always is; and its address.
    pub fn load(&self) -> (Space, u64) {
        let mut space = Space::default();
        let start = space.place("code", &self.bytes, false);
        (space, start)
    }

    /// The instruction at an address of a memory with the program.
    pub(crate) fn instruction(&self, ip: u64, space: &Space) -> Result<Instruction, String> {
        if let Some(known) = self.decoded.borrow().get(&ip) {
            return Ok(*known);
        }
        let bytes = space.read_at_most(ip, 15)?;
        let instruction = Decoder::with_ip(64, bytes, ip, DecoderOptions::NONE).decode();
        self.decoded.borrow_mut().insert(ip, instruction);
        Ok(instruction)
    }
}
