//! Prints machine code as text.

use super::module::{CodeModule, FuncIndex};
use crate::error::Result;

impl CodeModule {
    /// Whether this build prints machine code.
    pub(crate) const PRINTS_ASM: bool = cfg!(all(feature = "disasm", target_arch = "x86_64"));

    /// Returns the instructions of a function, each after its offset.
    ///
    /// # Errors
    /// The crate is built without the feature `disasm`, or for another processor than x86-64.
    #[cfg(all(feature = "disasm", target_arch = "x86_64"))]
    pub(crate) fn asm_text(&self, f: FuncIndex) -> Result<String> {
        Ok(disassembled(self.bytes(f)))
    }

    /// Returns the instructions of a function, each after its offset.
    ///
    /// # Errors
    /// The crate is built without the feature `disasm`, or for another processor than x86-64.
    #[cfg(not(all(feature = "disasm", target_arch = "x86_64")))]
    pub(crate) fn asm_text(&self, f: FuncIndex) -> Result<String> {
        use crate::error::{Error, ErrorKind, Phase};

        let message =
            format!("function {} cannot be printed: that needs x86-64 and the feature `disasm`", f.0);
        Err(Error::new(ErrorKind::Compile, Phase::Compile, message))
    }
}

/// Prints instructions in Intel syntax. Addresses are offsets from the start of the function, so that the text does
/// not depend on the function's address.
#[cfg(all(feature = "disasm", target_arch = "x86_64"))]
fn disassembled(bytes: &[u8]) -> String {
    use iced_x86::{Decoder, DecoderOptions, Formatter, IntelFormatter};

    let mut formatter = IntelFormatter::new();
    formatter.options_mut().set_space_after_operand_separator(true);
    formatter.options_mut().set_branch_leading_zeros(false);
    let (mut text, mut line) = (String::new(), String::new());
    for instruction in Decoder::with_ip(64, bytes, 0, DecoderOptions::NONE).iter() {
        line.clear();
        formatter.format(&instruction, &mut line);
        text.push_str(&format!("  {:4x}  {line}\n", instruction.ip()));
    }
    text
}
