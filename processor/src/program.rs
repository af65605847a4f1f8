//! [`Program`]: a function as instructions.

use std::cell::RefCell;

use iced_x86::{Decoder, DecoderOptions, Instruction};
use rustc_hash::FxHashMap;

use super::space::Space;

/// A function with those it calls, decoded as far as they have been run.
#[derive(Default)]
pub struct Program {
    bytes: Vec<u8>,
    decoded: RefCell<Decoded>,
}

/// Instructions in the order in which they were run first, so that what follows one mostly stands right after it.
#[derive(Default)]
struct Decoded {
    all: Vec<(Instruction, usize)>,
    places: FxHashMap<u64, usize>,
    /// The place of the last one that was asked for.
    last: usize,
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

    /// The instruction at an address of a memory with the program, and its kind, which is 0 where none was noted.
    pub(crate) fn instruction(&self, ip: u64, space: &Space) -> Result<(Instruction, usize), String> {
        let decoded = &mut *self.decoded.borrow_mut();
        let next = decoded.last + 1;
        if let Some(known) = decoded.all.get(next).filter(|(instruction, _)| instruction.ip() == ip) {
            decoded.last = next;
            return Ok(*known);
        }
        if let Some(place) = decoded.places.get(&ip) {
            decoded.last = *place;
            return Ok(decoded.all[*place]);
        }
        let bytes = space.read_at_most(ip, 15)?;
        let instruction = Decoder::with_ip(64, bytes, ip, DecoderOptions::NONE).decode();
        decoded.last = decoded.all.len();
        decoded.places.insert(ip, decoded.last);
        decoded.all.push((instruction, 0));
        Ok((instruction, 0))
    }

    /// Notes the kind of the last instruction that was asked for.
    pub(crate) fn note(&self, kind: usize) {
        let decoded = &mut *self.decoded.borrow_mut();
        decoded.all[decoded.last].1 = kind;
    }
}
