//! [`CodeModule::asm_text`]: the machine code of a function as text.

use super::module::{CodeModule, FuncIndex};
use crate::error::Result;

impl CodeModule {
    /// Whether this build can print machine code.
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

/// Prints the instructions in Intel syntax, then the constants after the instructions as words of 32 bits. Addresses
/// are offsets from the start of the function, so that the text does not depend on the function's address.
#[cfg(all(feature = "disasm", target_arch = "x86_64"))]
fn disassembled(bytes: &[u8]) -> String {
    use iced_x86::{Code, Decoder, DecoderOptions, Formatter, IntelFormatter};

    let mut formatter = IntelFormatter::new();
    formatter.options_mut().set_space_after_operand_separator(true);
    formatter.options_mut().set_branch_leading_zeros(false);
    let (mut text, mut line) = (String::new(), String::new());
    // Constants follow the code, and instructions read them relative to their own address.
    let mut constants = bytes.len();
    // `ip` is an offset here: the decoder takes the function to start at address 0.
    for instruction in Decoder::with_ip(64, bytes, 0, DecoderOptions::NONE).iter() {
        if instruction.ip() as usize >= constants {
            break;
        }
        if instruction.is_ip_rel_memory_operand() {
            let target = instruction.ip_rel_memory_address();
            if target > instruction.ip() && target < constants as u64 {
                constants = target as usize;
            }
        }
        // The space between the code and the constants is filled with `int3`.
        if instruction.code() == Code::Int3 {
            continue;
        }
        line.clear();
        formatter.format(&instruction, &mut line);
        text.push_str(&format!("  {:4x}  {line}\n", instruction.ip()));
    }
    if constants < bytes.len() {
        text.push_str("; constants\n");
        text.push_str(&words_text(&bytes[constants..], constants));
    }
    text
}

/// Prints words of 32 bits. Equal neighboring words share a line. A line starts with the offset of its first word
/// from the start of the function. `start` is the offset of `bytes`.
#[cfg(all(feature = "disasm", target_arch = "x86_64"))]
fn words_text(bytes: &[u8], start: usize) -> String {
    let words: Vec<u32> = bytes
        .chunks(4)
        .map(|chunk| chunk.iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte)))
        .collect();
    let mut text = String::new();
    let mut offset = start;
    for run in words.chunk_by(|a, b| a == b) {
        let count = if run.len() > 1 { format!(" × {}", run.len()) } else { String::new() };
        text.push_str(&format!("  {offset:4x}  dd {:08X}h{count}\n", run[0]));
        offset += 4 * run.len();
    }
    text
}

#[cfg(all(test, feature = "disasm", target_arch = "x86_64"))]
mod tests {
    use super::disassembled;

    #[test]
    fn constants_are_no_instructions() {
        // movss xmm0, [rip + 4]; ret; int3 ×3; two equal words and one other.
        let mut bytes = vec![0xf3, 0x0f, 0x10, 0x05, 4, 0, 0, 0, 0xc3, 0xcc, 0xcc, 0xcc];
        bytes.extend([0, 0, 0x80, 0x3f, 0, 0, 0x80, 0x3f, 1, 0, 0, 0]);
        let text = disassembled(&bytes);
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        assert!(lines[0].starts_with("0  movss xmm0"), "{text}");
        assert_eq!(lines[1..], ["8  ret", "; constants", "c  dd 3F800000h × 2", "14  dd 00000001h"]);
    }
}
