//! `Isa`: the instruction set of kernels, which decides the emitter.

use std::fmt;
use std::str::FromStr;
use std::sync::OnceLock;

use super::simd;
use crate::error::{Error, ErrorKind, Phase, Result};

/// The instruction set of kernels. Results have the same bits in each.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Isa {
    /// The instructions of every supported processor, by Cranelift: vectors of 128 bits.
    Clif,
    /// AVX2 with FMA and F16C: vectors of 256 bits.
    Avx2,
    /// AVX-512 F, BW, DQ and VL: vectors of 512 bits.
    Avx512,
}

/// The environment variable that names the default.
const VARIABLE: &str = "SHAPEFLOW_ISA";

impl Isa {
    /// The widest instruction set of this processor, or the one that the environment variable `SHAPEFLOW_ISA` (`clif`,
    /// `avx2` or `avx512`) names. The variable is read once.
    ///
    /// # Errors
    /// The variable names no instruction set, or one that this processor lacks.
    pub fn of_host() -> Result<Isa> {
        static HOST: OnceLock<std::result::Result<Isa, String>> = OnceLock::new();
        let host = HOST.get_or_init(|| match std::env::var(VARIABLE) {
            Ok(name) => name.parse().map_err(|error: Error| format!("{VARIABLE}: {}", error.message())),
            Err(_) => {
                let widest = [Isa::Avx512, Isa::Avx2].into_iter().find(|isa| isa.is_present());
                Ok(widest.unwrap_or(Isa::Clif))
            }
        });
        let isa = host.clone().map_err(|message| Error::new(ErrorKind::Compile, Phase::Compile, message))?;
        isa.check()?;
        Ok(isa)
    }

    /// Whether this processor has the instruction set.
    pub fn is_present(self) -> bool {
        self.wide().is_none_or(simd::VectorIsa::is_present)
    }

    /// The instruction set of the wide emitter. `None` for Cranelift.
    pub(super) fn wide(self) -> Option<simd::VectorIsa> {
        match self {
            Isa::Clif => None,
            Isa::Avx2 => Some(simd::VectorIsa::Avx2),
            Isa::Avx512 => Some(simd::VectorIsa::Avx512),
        }
    }

    pub(super) fn check(self) -> Result<()> {
        if self.is_present() {
            return Ok(());
        }
        let message = format!("kernels in {self} need a processor that has it; this one lacks it");
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
