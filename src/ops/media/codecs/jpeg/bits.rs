//! The bits of a scan, and Huffman codes.

use super::super::damage::damage;
use crate::error::Result;

/// Number of bits that a lookup decodes at once.
const LOOKUP: u32 = 8;

/// The marker at the end of a file.
pub(super) const END: u8 = 0xd9;

/// Reads the bits of a scan. Markers end the bits.
pub(super) struct Bits<'a> {
    data: &'a [u8],
    /// The position after the bytes in `buffer`.
    next: usize,
    buffer: u64,
    count: u32,
    /// The marker that was reached.
    marker: Option<u8>,
    /// Whether bits were needed behind a marker. These bits are zeros.
    pub(super) is_exhausted: bool,
    /// Whether the end of the data counts as the end of the file.
    recovers: bool,
}

impl<'a> Bits<'a> {
    pub(super) fn new(data: &'a [u8], start: usize, recovers: bool) -> Bits<'a> {
        Bits { data, next: start, buffer: 0, count: 0, marker: None, is_exhausted: false, recovers }
    }

    /// Returns the next byte, or `None` at an end that counts as the end of the file.
    fn byte(&mut self) -> Result<Option<u8>> {
        match self.data.get(self.next) {
            Some(byte) => {
                self.next += 1;
                Ok(Some(*byte))
            }
            None if self.recovers => Ok(None),
            None => Err(damage("a JPEG file must be complete, but this one ends inside its pixels")),
        }
    }

    /// Fills the buffer up to the next marker.
    fn fill(&mut self) -> Result<()> {
        while self.count <= 56 && self.marker.is_none() {
            let Some(byte) = self.byte()? else {
                self.marker = Some(END);
                break;
            };
            if byte == 0xff {
                let code = loop {
                    match self.byte()? {
                        Some(0xff) => {}
                        Some(code) => break code,
                        None => break END,
                    }
                };
                if code != 0 {
                    self.marker = Some(code);
                    break;
                }
            }
            self.buffer = self.buffer << 8 | u64::from(byte);
            self.count += 8;
        }
        Ok(())
    }

    /// Makes at least `count` bits available, up to 16. Adds zeros behind a marker.
    fn ensure(&mut self, count: u32) -> Result<()> {
        if self.count < count {
            self.fill()?;
            if self.count < count {
                self.is_exhausted = true;
                self.buffer <<= 32;
                self.count += 32;
            }
        }
        Ok(())
    }

    /// Reads `count` bits, up to 16.
    pub(super) fn take(&mut self, count: u32) -> Result<i32> {
        self.ensure(count)?;
        self.count -= count;
        Ok((self.buffer >> self.count) as i32 & ((1 << count) - 1))
    }

    /// Reads a number of `count` bits, up to 16; the lower half of the codes stands for negative numbers.
    pub(super) fn number(&mut self, count: u32) -> Result<i32> {
        let code = self.take(count)?;
        let is_negative = count > 0 && code < 1 << (count - 1);
        Ok(if is_negative { code - (1 << count) + 1 } else { code })
    }

    /// Reads a symbol. A code that the table does not have stands for 0.
    pub(super) fn symbol(&mut self, table: &HuffmanTable) -> Result<u8> {
        if self.count < LOOKUP {
            self.fill()?;
        }
        let mut len = 1;
        if self.count >= LOOKUP {
            let (symbol, bits) = table.lookup[(self.buffer >> (self.count - LOOKUP)) as usize & 0xff];
            if bits > 0 {
                self.count -= u32::from(bits);
                return Ok(symbol);
            }
            len = LOOKUP + 1;
        }
        let mut code = self.take(len)?;
        while len <= 16 && code > table.max_code[len as usize] {
            code = code << 1 | self.take(1)?;
            len += 1;
        }
        if len > 16 {
            return Ok(0);
        }
        let index = code + table.offset[len as usize];
        Ok(table.symbols.get(index as usize).copied().unwrap_or(0))
    }

    /// Goes to the restart marker of a number from 0 to 7. Follows the rules of libjpeg if another marker stands there.
    pub(super) fn restart(&mut self, number: u8) -> Result<()> {
        (self.buffer, self.count) = (0, 0);
        loop {
            let marker = match self.marker {
                Some(marker) => marker,
                None => self.scan_to_marker()?,
            };
            let ahead = marker.wrapping_sub(0xd0).wrapping_sub(number) & 7;
            let is_restart = (0xd0..=0xd7).contains(&marker);
            if marker < 0xc0 || is_restart && matches!(ahead, 6 | 7) {
                // An invalid marker, or one of the two restarts before: the wanted one may follow.
                self.marker = None;
            } else if !is_restart || matches!(ahead, 1 | 2) {
                // The data of this restart interval are missing.
                self.marker = Some(marker);
                return Ok(());
            } else {
                self.marker = None;
                self.is_exhausted = false;
                return Ok(());
            }
        }
    }

    /// Returns the next marker, and skips other bytes in front of it.
    fn scan_to_marker(&mut self) -> Result<u8> {
        let mut is_after_ff = false;
        loop {
            match self.byte()? {
                None => return Ok(END),
                Some(0xff) => is_after_ff = true,
                Some(code @ 1..) if is_after_ff => return Ok(code),
                Some(_) => is_after_ff = false,
            }
        }
    }

    /// Returns the marker behind the scan, and the position behind it. Fails as [`Bits::byte`] if there is none.
    pub(super) fn end(mut self) -> Result<(u8, usize)> {
        let marker = match self.marker {
            Some(marker) => marker,
            None => self.scan_to_marker()?,
        };
        Ok((marker, self.next))
    }
}

/// A Huffman code: which symbol each bit pattern stands for.
#[derive(Clone)]
pub(super) struct HuffmanTable {
    symbols: Vec<u8>,
    /// For the next 8 bits: the symbol that they start with, and the length of its code; 0 for a longer code.
    lookup: [(u8, u8); 256],
    /// By length: the greatest code, -1 if there is none; and what a code adds to become the index of its symbol.
    max_code: [i32; 17],
    offset: [i32; 17],
}

impl HuffmanTable {
    /// Makes the code that has `counts[i]` codes of `i + 1` bits.
    ///
    /// # Errors
    /// There are more codes than bit patterns.
    pub(super) fn new(counts: &[u8; 16], symbols: &[u8]) -> Result<HuffmanTable> {
        let mut table = HuffmanTable {
            symbols: symbols.to_vec(),
            lookup: [(0, 0); 256],
            max_code: [-1; 17],
            offset: [0; 17],
        };
        let (mut code, mut index) = (0i32, 0usize);
        for (len, count) in (1u32..).zip(counts) {
            let count = usize::from(*count);
            table.offset[len as usize] = index as i32 - code;
            for symbol in symbols.iter().skip(index).take(count) {
                if code >= 1 << len {
                    return Err(damage("a Huffman table of a JPEG file must have one code for each symbol"));
                }
                if len <= LOOKUP {
                    let first = (code << (LOOKUP - len)) as usize;
                    table.lookup[first..first + (1 << (LOOKUP - len))].fill((*symbol, len as u8));
                }
                code += 1;
            }
            if count > 0 {
                table.max_code[len as usize] = code - 1;
            }
            index += count;
            code <<= 1;
        }
        Ok(table)
    }
}
