//! `ConstantPool`: the constants of a function, each a whole vector.

use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::codegen::simd::asm::VectorIsa;

/// The constants of a function, which follow its code in memory. Equal constants share an offset.
pub(crate) struct ConstantPool {
    pub bytes: Vec<u8>,
    /// Offsets of vectors that repeat 16 bytes, keyed by these bytes.
    repeated: FxHashMap<u128, u32>,
    /// Offsets of all other vectors.
    others: Vec<u32>,
    vector_bytes: usize,
}

impl ConstantPool {
    pub fn new(isa: VectorIsa) -> ConstantPool {
        ConstantPool {
            bytes: Vec::with_capacity(2048),
            repeated: FxHashMap::with_capacity_and_hasher(32, FxBuildHasher),
            others: Vec::new(),
            vector_bytes: isa.vector().bytes() as usize,
        }
    }

    /// Returns the offset of a vector with `bits` in every lane. Lanes have `bytes` bytes, 4 or 8.
    pub fn splat(&mut self, bits: u64, bytes: u32) -> u32 {
        let wide = if bytes == 8 { bits } else { bits << 32 | bits & 0xffff_ffff };
        self.pattern(u128::from(wide) << 64 | u128::from(wide))
    }

    /// Returns the offset of a vector that repeats 16 bytes.
    pub fn pattern(&mut self, pattern: u128) -> u32 {
        let ConstantPool { bytes, vector_bytes, .. } = self;
        *self.repeated.entry(pattern).or_insert_with(|| {
            let offset = bytes.len();
            for _ in 0..*vector_bytes / 16 {
                bytes.extend(pattern.to_le_bytes());
            }
            offset as u32
        })
    }

    /// Returns the offset of a vector with these 4-byte lanes, as many as a vector has.
    pub fn lanes(&mut self, lanes: impl Iterator<Item = u32>) -> u32 {
        let wanted: Vec<u8> = lanes.flat_map(u32::to_le_bytes).collect();
        debug_assert_eq!(wanted.len(), self.vector_bytes);
        let holds = |offset: &u32| self.bytes[*offset as usize..].starts_with(&wanted);
        if let Some(known) = self.others.iter().copied().find(holds) {
            return known;
        }
        let offset = self.bytes.len() as u32;
        self.bytes.extend(wanted);
        self.others.push(offset);
        offset
    }

    /// Returns the offset of a table of 4-byte lanes: `step` lanes with all bits set, then `step` lanes of zeros. A
    /// vector that is loaded from lane `step - n` of the table on is the mask of the first `n` lanes.
    pub fn mask_table(&mut self, step: u32) -> u32 {
        let offset = self.bytes.len();
        self.bytes.extend(std::iter::repeat_n(0xff, 4 * step as usize));
        self.bytes.extend(std::iter::repeat_n(0, 4 * step as usize));
        offset as u32
    }
}
