//! [`Isa`]: the instruction set of the kernels. It also decides which emitter makes them.

use std::env::VarError;
use std::fmt;
use std::str::FromStr;
use std::sync::OnceLock;

use super::simd;
use crate::error::{Error, ErrorKind, Phase, Result};

/// The instruction set that kernels are compiled for. Kernels compute the same bits with every instruction set, except
/// the bits of a NaN.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Isa {
    /// Vectors of 128 bits, by Cranelift. Every processor that Cranelift supports has them. The build must have the
    /// feature `cranelift`.
    Clif,
    /// AVX2 with FMA and F16C: vectors of 256 bits.
    Avx2,
    /// AVX-512 F, BW, DQ and VL: vectors of 512 bits.
    Avx512,
}

/// The environment variable that overrides the default.
const VARIABLE: &str = "SHAPEFLOW_ISA";

/// The default instruction set, or the reason why the environment variable names none.
static HOST: OnceLock<std::result::Result<Isa, String>> = OnceLock::new();

impl Isa {
    /// Returns the default: the instruction set that the environment variable `SHAPEFLOW_ISA` names (`clif`, `avx2` or
    /// `avx512`), or the widest set that this processor has. The process reads the variable once.
    ///
    /// # Errors
    /// The variable names no instruction set, or the processor or the build lacks the chosen one.
    pub fn of_host() -> Result<Isa> {
        let host = HOST.get_or_init(Isa::named_or_widest);
        let isa = host.clone().map_err(|message| Error::new(ErrorKind::Compile, Phase::Compile, message))?;
        isa.check()?;
        Ok(isa)
    }

    /// Checks that the environment variable, if it is set, names an instruction set.
    ///
    /// # Errors
    /// The variable names no instruction set.
    pub(crate) fn check_variable() -> Result<()> {
        let parsed = HOST.get_or_init(Isa::named_or_widest).clone();
        parsed.map(drop).map_err(|message| Error::new(ErrorKind::Compile, Phase::Compile, message))
    }

    /// Returns the instruction set that the environment variable names, or the widest one of this processor.
    fn named_or_widest() -> std::result::Result<Isa, String> {
        match std::env::var(VARIABLE) {
            Ok(name) => name.parse().map_err(|error: Error| format!("{VARIABLE}: {}", error.message())),
            Err(VarError::NotUnicode(name)) => {
                Err(format!("{VARIABLE}: an instruction set is clif, avx2 or avx512, got {name:?}"))
            }
            Err(VarError::NotPresent) => {
                let widest = [Isa::Avx512, Isa::Avx2].into_iter().find(|isa| isa.is_present());
                Ok(widest.unwrap_or(Isa::Clif))
            }
        }
    }

    /// Returns whether this processor has the instruction set and this build has the emitter for it.
    pub fn is_present(self) -> bool {
        self.wide().map_or(cfg!(feature = "cranelift"), simd::VectorIsa::is_present)
    }

    /// Returns this instruction set as the SIMD emitter names it; `None` for [`Isa::Clif`].
    pub(super) fn wide(self) -> Option<simd::VectorIsa> {
        match self {
            Isa::Clif => None,
            Isa::Avx2 => Some(simd::VectorIsa::Avx2),
            Isa::Avx512 => Some(simd::VectorIsa::Avx512),
        }
    }

    /// Checks that kernels of this instruction set can be compiled and run.
    ///
    /// # Errors
    /// This processor lacks the instruction set, or this build lacks the emitter of the instruction set.
    pub(super) fn check(self) -> Result<()> {
        if self.is_present() {
            return Ok(());
        }
        let message = match self {
            Isa::Clif => {
                "kernels in clif need the feature `cranelift` of shapeflow; this build lacks it".to_string()
            }
            _ => format!("kernels in {self} need a processor that has it; this one lacks it"),
        };
        Err(Error::new(ErrorKind::Compile, Phase::Compile, message))
    }
}

impl fmt::Display for Isa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Isa::Clif => "clif",
            Isa::Avx2 => "avx2",
            Isa::Avx512 => "avx512",
        })
    }
}

impl FromStr for Isa {
    type Err = Error;

    fn from_str(name: &str) -> Result<Isa> {
        let known = [Isa::Clif, Isa::Avx2, Isa::Avx512].into_iter().find(|isa| isa.to_string() == name);
        known.ok_or_else(|| {
            let message = format!("an instruction set is clif, avx2 or avx512, got `{name}`");
            Error::new(ErrorKind::Compile, Phase::Compile, message)
        })
    }
}
