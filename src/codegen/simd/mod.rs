//! Whole kernel functions in AVX2 or AVX-512, emitted without Cranelift: every instruction for all unrolled vectors before the next.
//!
//! [`select`] makes vector instructions of a body, [`allocate`] gives them registers and emits them,
//! [`function`], [`inner`] and [`folds`] put loops around; [`encode`] and [`op`] know the machine. Bodies read and
//! write only the elements of their slots: what is left of a row is moved under masks or piecewise.

mod accumulate;
mod allocate;
mod arith;
mod block;
mod columns;
mod convert;
mod encode;
mod folds;
mod frame;
mod function;
mod gather;
mod index;
mod inner;
mod integer;
mod list;
mod loops;
mod machine;
mod memory;
mod op;
mod prefetch;
mod regs;
mod scalar;
mod schedule;
mod select;
mod spread;
mod streams;
mod strided;
#[cfg(test)]
mod tests;
mod tied;
mod values;

use self::encode::Len;
use crate::lower::code::Code;

/// Alignment that functions need.
pub(super) const ALIGN: usize = encode::ALIGN;

/// The vector instructions of a function.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Isa {
    /// AVX2, FMA, F16C.
    Avx2,
    /// AVX-512 F, BW, DQ and VL.
    Avx512,
}

impl Isa {
    fn vector(self) -> Len {
        match self {
            Isa::Avx2 => Len::Y,
            Isa::Avx512 => Len::Z,
        }
    }

    fn registers(self) -> u8 {
        match self {
            Isa::Avx2 => 16,
            Isa::Avx512 => 32,
        }
    }

    /// Elements of a step that is not unrolled: one vector of 4-byte lanes.
    fn step(self) -> u32 {
        self.vector().bytes() / 4
    }

    /// Whether this process may run such functions.
    #[cfg(target_arch = "x86_64")]
    pub fn is_present(self) -> bool {
        let avx2 = std::is_x86_feature_detected!("avx2")
            && std::is_x86_feature_detected!("fma")
            && std::is_x86_feature_detected!("f16c");
        match self {
            Isa::Avx2 => avx2,
            Isa::Avx512 => {
                avx2 && std::is_x86_feature_detected!("avx512f")
                    && std::is_x86_feature_detected!("avx512bw")
                    && std::is_x86_feature_detected!("avx512dq")
                    && std::is_x86_feature_detected!("avx512vl")
            }
        }
    }

    /// Whether this process may run such functions.
    #[cfg(not(target_arch = "x86_64"))]
    pub fn is_present(self) -> bool {
        false
    }
}

/// `code`, which must have passed its verifier, as a function of the signature of every kernel: its bytes
/// with the constants behind them, to be placed at a multiple of [`ALIGN`].
///
/// # Errors
/// What it does that this emitter leaves to the portable one.
pub(super) fn emit(code: &Code, isa: Isa) -> Result<Vec<u8>, &'static str> {
    function::emit(code, isa)
}
