//! `VectorIsa`: the two vector instruction sets of this emitter.

use super::operand::VectorLen;

/// A vector instruction set.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(in crate::codegen) enum VectorIsa {
    /// AVX2, FMA, F16C.
    Avx2,
    /// AVX-512 F, BW, DQ and VL.
    Avx512,
}

impl VectorIsa {
    /// Returns the length of a whole vector register.
    pub fn vector(self) -> VectorLen {
        match self {
            VectorIsa::Avx2 => VectorLen::Y,
            VectorIsa::Avx512 => VectorLen::Z,
        }
    }

    /// Returns the number of vector registers.
    pub fn registers(self) -> u8 {
        match self {
            VectorIsa::Avx2 => 16,
            VectorIsa::Avx512 => 32,
        }
    }

    /// Returns the number of elements that one iteration of the inner loop computes without unrolling: the number of
    /// 4-byte lanes of a vector.
    pub fn step(self) -> u32 {
        self.vector().bytes() / 4
    }

    /// Returns whether this processor can run the instructions.
    #[cfg(target_arch = "x86_64")]
    pub fn is_present(self) -> bool {
        let avx2 = std::is_x86_feature_detected!("avx2")
            && std::is_x86_feature_detected!("fma")
            && std::is_x86_feature_detected!("f16c");
        match self {
            VectorIsa::Avx2 => avx2,
            VectorIsa::Avx512 => {
                avx2 && std::is_x86_feature_detected!("avx512f")
                    && std::is_x86_feature_detected!("avx512bw")
                    && std::is_x86_feature_detected!("avx512dq")
                    && std::is_x86_feature_detected!("avx512vl")
            }
        }
    }

    /// Returns whether this processor can run the instructions.
    #[cfg(not(target_arch = "x86_64"))]
    pub fn is_present(self) -> bool {
        false
    }
}
