//! The bits of a scan, and Huffman codes.

use super::super::damage::damage;
use crate::error::Result;

/// Number of bits that a lookup decodes at once.
const LOOKUP: u32 = 9;

/// The marker at the end of a file.
pub(super) const END: u8 = 0xd9;

/// Reads the bits of a scan. Markers end the bits, and so does the end of the data.
pub(super) struct Bits<'a> {
    data: &'a [u8],
    /// The position after the bytes in `buffer`.
    next: usize,
    /// The low `count` bits are the next bits of the scan.
    buffer: u64,
    count: u32,
    /// The marker that was reached; [`END`] at the end of the data.
    marker: Option<u8>,
    /// Whether bits were needed after a marker. These bits are zeros.
    pub(super) is_exhausted: bool,
    /// Whether the data ended before a marker.
    is_cut: bool,
    /// Whether the end of the data counts as the end of the file.
    recovers: bool,
}

impl<'a> Bits<'a> {
    pub(super) fn new(data: &'a [u8], start: usize, recovers: bool) -> Bits<'a> {
        let (marker, is_exhausted, is_cut) = (None, false, false);
        Bits { data, next: start, buffer: 0, count: 0, marker, is_exhausted, is_cut, recovers }
    }

    /// Refuses a file whose data ended, unless this counts as the end of the file.
    ///
    /// # Errors
    /// The data ended before a marker.
    pub(super) fn check(&self) -> Result<()> {
        match self.is_cut && !self.recovers {
            true => Err(damage("a JPEG file must be complete, but this one ends inside its pixels")),
            false => Ok(()),
        }
    }

    /// Returns whether all further bits are zeros: a marker was reached that is no restart marker.
    pub(super) fn is_over(&self) -> bool {
        self.is_exhausted && self.marker.is_some_and(|marker| !matches!(marker, 0xd0..=0xd7))
    }

    /// Returns the next byte; `None` at the end of the data.
    fn byte(&mut self) -> Option<u8> {
        let byte = self.data.get(self.next).copied();
        match byte {
            Some(_) => self.next += 1,
            None => self.is_cut = true,
        }
        byte
    }

    /// Fills the buffer with more than 48 bits, or up to the next marker.
    fn fill(&mut self) {
        if let Some(bytes) = self.data.get(self.next..).and_then(|rest| rest.first_chunk())
            && self.marker.is_none()
            && self.count < 56
        {
            let word = u64::from_be_bytes(*bytes);
            // A byte 0xff starts a marker or stands before a byte that does not count.
            let has_ff = word & !word.wrapping_add(0x0101_0101_0101_0101) & 0x8080_8080_8080_8080 != 0;
            if !has_ff {
                let bits = (63 - self.count) / 8 * 8;
                self.buffer = self.buffer << bits | word >> (64 - bits);
                self.count += bits;
                self.next += bits as usize / 8;
                return;
            }
        }
        self.fill_by_bytes();
    }

    fn fill_by_bytes(&mut self) {
        while self.count <= 56 && self.marker.is_none() {
            let Some(byte) = self.byte() else {
                self.marker = Some(END);
                break;
            };
            if byte == 0xff {
                let code = loop {
                    match self.byte() {
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
    }

    /// Makes at least `count` bits available, up to 16. Adds zeros after a marker.
    fn ensure(&mut self, count: u32) {
        if self.count < count {
            self.fill();
            if self.count < count {
                self.is_exhausted = true;
                self.buffer <<= 32;
                self.count += 32;
            }
        }
    }

    /// Reads `count` bits, up to 16.
    pub(super) fn take(&mut self, count: u32) -> i32 {
        self.ensure(count);
        self.count -= count;
        (self.buffer >> self.count) as i32 & ((1 << count) - 1)
    }

    /// Reads a number of `count` bits, up to 16; the lower half of the codes stands for negative numbers.
    pub(super) fn number(&mut self, count: u32) -> i32 {
        let code = self.take(count);
        let is_negative = count > 0 && code < 1 << (count - 1);
        if is_negative { code - (1 << count) + 1 } else { code }
    }

    /// Reads a symbol. A code that the table does not have stands for 0.
    pub(super) fn symbol(&mut self, table: &HuffmanTable) -> u8 {
        if self.count < LOOKUP {
            self.fill();
        }
        let mut len = 1;
        if self.count >= LOOKUP {
            let index = (self.buffer >> (self.count - LOOKUP)) as usize % (1 << LOOKUP);
            let (symbol, bits) = table.lookup[index];
            if bits > 0 {
                self.count -= u32::from(bits);
                return symbol;
            }
            len = LOOKUP + 1;
        }
        self.long_symbol(table, len)
    }

    /// Reads a symbol whose code has at least `len` bits.
    fn long_symbol(&mut self, table: &HuffmanTable, mut len: u32) -> u8 {
        let mut code = self.take(len);
        while len <= 16 && code > table.max_code[len as usize] {
            code = code << 1 | self.take(1);
            len += 1;
        }
        if len > 16 {
            return 0;
        }
        let index = code + table.offset[len as usize];
        table.symbols.get(index as usize).copied().unwrap_or(0)
    }

    /// Goes to the restart marker of a number from 0 to 7. Follows the rules of libjpeg if another marker stands there.
    pub(super) fn restart(&mut self, number: u8) {
        (self.buffer, self.count) = (0, 0);
        loop {
            let marker = match self.marker {
                Some(marker) => marker,
                None => self.scan_to_marker(),
            };
            let ahead = marker.wrapping_sub(0xd0).wrapping_sub(number) & 7;
            let is_restart = (0xd0..=0xd7).contains(&marker);
            if marker < 0xc0 || is_restart && matches!(ahead, 6 | 7) {
                // An invalid marker, or one of the two restarts before: the wanted one may follow.
                self.marker = None;
            } else if !is_restart || matches!(ahead, 1 | 2) {
                // The data of this restart interval are missing.
                self.marker = Some(marker);
                return;
            } else {
                self.marker = None;
                self.is_exhausted = false;
                return;
            }
        }
    }

    /// Returns the next marker, and skips other bytes before it.
    fn scan_to_marker(&mut self) -> u8 {
        let mut is_after_ff = false;
        loop {
            match self.byte() {
                None => return END,
                Some(0xff) => is_after_ff = true,
                Some(code @ 1..) if is_after_ff => return code,
                Some(_) => is_after_ff = false,
            }
        }
    }

    /// Returns the marker after the scan, and the position after it.
    ///
    /// # Errors
    /// As [`Bits::check`].
    pub(super) fn end(mut self) -> Result<(u8, usize)> {
        let marker = match self.marker {
            Some(marker) => marker,
            None => self.scan_to_marker(),
        };
        self.check()?;
        Ok((marker, self.next))
    }
}

/// A Huffman code: which symbol each bit pattern stands for.
#[derive(Clone)]
pub(super) struct HuffmanTable {
    symbols: Vec<u8>,
    /// For the next `LOOKUP` bits: the symbol that they start with, and the length of its code; 0 for a longer code.
    lookup: [(u8, u8); 1 << LOOKUP],
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
            lookup: [(0, 0); 1 << LOOKUP],
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
