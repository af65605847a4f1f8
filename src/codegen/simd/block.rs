//! `Block`: straight-line vector code over as many values as it takes, before registers are chosen.

use rustc_hash::{FxBuildHasher, FxHashMap};

use super::Isa;
use super::encode::{Len, Reg};
use super::gather::Group;
use super::index::IndexInst;
use super::list::List;
use super::op::Vop;

/// A vector value of a block.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub(super) struct V(pub u32);

/// Where a value is before the block starts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Home {
    /// Nowhere: an instruction of the block makes it.
    Made,
    /// A constant behind the code.
    Pool(u32),
    /// Memory of the frame.
    Frame(u32),
    /// A register of its own, also after the block.
    Pinned(Reg),
}

/// A memory operand of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
    /// So many bytes past the current element of a slot, or past its only one.
    Slot(u32, i32),
    /// An offset into the frame.
    Frame(u32),
    /// An offset into the frame, moved to the accumulator lanes of the current element (of so many bytes).
    Lanes(u32, u8),
    /// The accumulators of the current element in the tile: fold, bytes of an accumulator, offset.
    Tile(u32, u8, i32),
}

/// What is done lane by lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum LaneOp {
    /// i64 to f32; twice as many bytes in as out.
    I64ToF32,
    /// f64 to i64 toward zero; the least value if it does not fit.
    F64ToI64,
    /// Quotient (or, if `rem`, remainder) of 64-bit integers; a zero divisor acts as 1.
    Divide { signed: bool, rem: bool },
}

/// How a load or store treats lanes past the end of a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Tail {
    /// There are none.
    Whole,
    /// AVX-512: mask register.
    Mask(u8),
}

/// What an instruction does.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Kind {
    /// `dst = op(srcs)`.
    Op {
        op: Vop,
        len: Len,
        imm: Option<u8>,
    },
    /// `dst = srcs[0] * srcs[1] + srcs[2]`, rounded once.
    Fma {
        double: bool,
    },
    /// `dst = srcs[1]` where the mask `srcs[0]` is set, else `srcs[2]`.
    Select,
    /// AVX-512: a comparison by way of a mask register, as lanes of 4 or (`wide`) 8 bytes.
    Compare {
        op: Vop,
        imm: u8,
        wide: bool,
    },
    /// `dst = op(place)`.
    Load {
        op: Vop,
        len: Len,
        place: Place,
        tail: Tail,
    },
    /// AVX2: `dst` = the lanes of `place` where the mask `srcs[0]` is set.
    LoadMasked {
        wide: bool,
        place: Place,
    },
    /// `place = op(srcs[0])`.
    Store {
        op: Vop,
        len: Len,
        imm: Option<u8>,
        place: Place,
        tail: Tail,
    },
    /// The elements that are left of a slot, between its memory and the staging area of the frame.
    Stage {
        slot: u32,
        out: bool,
    },
    /// One element of a slot from the last of the staging area: of a step, or (`masked`) of what is left.
    StoreLast {
        slot: u32,
        masked: bool,
    },
    /// One element of a slot from the lowest bytes of `srcs[0]`.
    StoreOne {
        bytes: u8,
        slot: u32,
    },
    /// Run-time scalar `k` in every lane of 8 bytes.
    Scalar(u32),
    /// The value of an iota slot so many elements past the current one, in every lane of 8 bytes.
    Iota {
        slot: u32,
        ahead: i32,
    },
    /// Moves a gather slot by its offset number `offset`: the lowest lane of `srcs[0]` times its stride.
    Displace {
        slot: u32,
        offset: u32,
    },
    /// The same by a word of the frame.
    DisplaceBy {
        slot: u32,
        offset: u32,
        word: u32,
        /// Whether rax holds that too.
        passed: bool,
    },
    Index(IndexInst),
    /// Elements of a gather slot, brought together one by one.
    Gather {
        slot: u32,
        group: Group,
    },
    /// Reports failure if any lane of the mask is set.
    Fail,
    Lanes(LaneOp),
}

/// One instruction.
#[derive(Clone, Copy, Debug)]
pub(super) struct VInst {
    pub kind: Kind,
    pub dst: Option<V>,
    pub srcs: List<V, 3>,
}

/// The constants of a function, each a whole vector.
pub(super) struct Pool {
    pub bytes: Vec<u8>,
    known: FxHashMap<u128, u32>,
    /// Vectors that are not 16 bytes again and again.
    others: Vec<u32>,
    vector: usize,
}

impl Pool {
    pub fn new(isa: Isa) -> Pool {
        Pool {
            bytes: Vec::new(),
            known: FxHashMap::default(),
            others: Vec::new(),
            vector: isa.vector().bytes() as usize,
        }
    }

    /// Equal lanes of 4 or 8 bytes.
    pub fn splat(&mut self, bits: u64, bytes: u32) -> u32 {
        let wide = if bytes == 8 { bits } else { bits << 32 | bits & 0xffff_ffff };
        self.pattern(u128::from(wide) << 64 | u128::from(wide))
    }

    /// A vector made of 16 bytes again and again.
    pub fn pattern(&mut self, pattern: u128) -> u32 {
        let Pool { bytes, vector, .. } = self;
        *self.known.entry(pattern).or_insert_with(|| {
            let at = bytes.len();
            for _ in 0..*vector / 16 {
                bytes.extend(pattern.to_le_bytes());
            }
            at as u32
        })
    }

    /// Lanes of 4 bytes, as many as a vector has.
    pub fn lanes(&mut self, lanes: impl Iterator<Item = u32>) -> u32 {
        let wanted: Vec<u8> = lanes.flat_map(u32::to_le_bytes).collect();
        debug_assert_eq!(wanted.len(), self.vector);
        let holds = |at: &u32| self.bytes[*at as usize..].starts_with(&wanted);
        if let Some(known) = self.others.iter().copied().find(holds) {
            return known;
        }
        let at = self.bytes.len() as u32;
        self.bytes.extend(wanted);
        self.others.push(at);
        at
    }

    /// Set lanes of 4 bytes, as many as a step has elements, then as many unset ones.
    pub fn mask_table(&mut self, step: u32) -> u32 {
        let at = self.bytes.len();
        self.bytes.extend(std::iter::repeat_n(0xff, 4 * step as usize));
        self.bytes.extend(std::iter::repeat_n(0, 4 * step as usize));
        at as u32
    }
}

/// Straight-line code.
#[derive(Default)]
pub(super) struct Block {
    pub insts: Vec<VInst>,
    pub values: Vec<Home>,
    homes: FxHashMap<Home, V>,
}

impl Block {
    /// A block with room for so many instructions.
    pub fn with_capacity(insts: usize) -> Block {
        Block {
            insts: Vec::with_capacity(insts),
            values: Vec::with_capacity(insts),
            homes: FxHashMap::with_capacity_and_hasher(insts / 2, FxBuildHasher),
        }
    }

    fn value(&mut self, home: Home) -> V {
        self.values.push(home);
        V(self.values.len() as u32 - 1)
    }

    /// The value that is at `home`.
    pub fn at(&mut self, home: Home) -> V {
        if let Some(v) = self.homes.get(&home) {
            return *v;
        }
        let v = self.value(home);
        self.homes.insert(home, v);
        v
    }

    /// Adds an instruction with a result.
    pub fn push(&mut self, kind: Kind, srcs: &[V]) -> V {
        let dst = self.value(Home::Made);
        self.insts.push(VInst { kind, dst: Some(dst), srcs: srcs.into() });
        dst
    }

    /// Lets the last instruction write a pinned value instead of its own.
    pub fn redirect(&mut self, dst: V) {
        if let Some(inst) = self.insts.last_mut() {
            inst.dst = Some(dst);
        }
    }

    /// Adds an instruction without a result.
    pub fn effect(&mut self, kind: Kind, srcs: &[V]) {
        self.insts.push(VInst { kind, dst: None, srcs: srcs.into() });
    }

    /// Drops instructions whose results nothing uses.
    pub fn prune(&mut self) {
        let mut used = vec![false; self.values.len()];
        let mut kept = vec![true; self.insts.len()];
        for (inst, kept) in self.insts.iter().zip(&mut kept).rev() {
            let idle = |dst: V| !used[dst.0 as usize] && self.values[dst.0 as usize] == Home::Made;
            if inst.dst.is_some_and(idle) {
                *kept = false;
                continue;
            }
            inst.srcs.iter().for_each(|src| used[src.0 as usize] = true);
        }
        let mut kept = kept.into_iter();
        self.insts.retain(|_| kept.next().unwrap_or(true));
    }

    /// The most registers that values made in the block take at once.
    pub fn pressure(&self) -> u32 {
        let mut used = vec![false; self.values.len()];
        let (mut live, mut most) = (0u32, 0u32);
        for inst in self.insts.iter().rev() {
            if let Some(dst) = inst.dst
                && std::mem::replace(&mut used[dst.0 as usize], false)
            {
                live -= 1;
            }
            for src in inst.srcs.iter() {
                let at = src.0 as usize;
                if self.values[at] == Home::Made && !std::mem::replace(&mut used[at], true) {
                    live += 1;
                }
            }
            most = most.max(live);
        }
        most
    }
}
