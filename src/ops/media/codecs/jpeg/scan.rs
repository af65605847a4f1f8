//! Decodes the scans of a JPEG file: Huffman codes to coefficients, and these to samples.

use super::super::damage::{damage, filled};
use super::bits::{Bits, HuffmanTable};
use super::header::{Declared, Frame, Header, Scan, ScanComponent, ZIGZAG};
use super::idct::{DctMethod, Multipliers};
use crate::error::Result;

/// The greatest number of blocks that all scans together visit. A scan may visit all blocks again with few bytes.
const MAX_VISITS: usize = 1 << 30;

/// The greatest number of coefficients that a progressive image keeps: 2 GiB.
const MAX_COEFFICIENTS: usize = 1 << 30;

/// The sample of a block without coefficients.
const GRAY: u8 = 128;

/// A component with its samples.
pub(super) struct Component {
    pub declared: Declared,
    /// The samples of a block are `size × size`.
    pub size: usize,
    /// The samples of the image, without what fills the last blocks.
    pub height: usize,
    pub width: usize,
    /// The blocks of the image, and all blocks, which fill the last units of several components.
    own_blocks: [usize; 2],
    blocks: [usize; 2],
    /// The samples, in rows of `blocks[1] * size`. Gray, until a scan gives them. Empty if the pixels do not need them.
    pub samples: Vec<u8>,
    /// The coefficients of all blocks of a progressive image; else none.
    coefficients: Vec<[i16; 64]>,
    multipliers: Option<Multipliers>,
}

impl Component {
    /// Returns the number of samples from one row to the next.
    pub(super) fn stride(&self) -> usize {
        self.blocks[1] * self.size
    }

    /// Transforms a block to samples.
    fn store(&mut self, [row, column]: [usize; 2], block: &[i16; 64]) {
        let stride = self.stride();
        let start = row * self.size * stride + column * self.size;
        if let Some(multipliers) = &self.multipliers
            && !self.samples.is_empty()
        {
            multipliers.transform(block, &mut self.samples[start..], stride);
        }
    }
}

/// The components of a frame, and the sizes of their units.
pub(super) struct Planes {
    pub components: Vec<Component>,
    /// The greatest sampling factors.
    pub across: usize,
    pub down: usize,
    /// The rows and columns of units, which have blocks of every component.
    units: [usize; 2],
    is_progressive: bool,
    method: DctMethod,
}

impl Planes {
    /// Makes room for the samples of a frame, where a block of the component with the greatest factors has `size ×
    /// size` samples. The pixels need the first `needed` components.
    ///
    /// # Errors
    /// The image has too many coefficients. `Memory`: an allocation fails.
    pub(super) fn new(frame: &Frame, needed: usize, size: usize, method: DctMethod) -> Result<Planes> {
        let across = frame.components.iter().map(|component| component.across).max().unwrap_or(1);
        let down = frame.components.iter().map(|component| component.down).max().unwrap_or(1);
        let units = [frame.height.div_ceil(8 * down), frame.width.div_ceil(8 * across)];
        let blocks_of = |declared: &Declared| [units[0] * declared.down, units[1] * declared.across];
        let count = |declared: &Declared| blocks_of(declared).iter().product::<usize>();
        if frame.is_progressive && frame.components.iter().map(count).sum::<usize>() > MAX_COEFFICIENTS / 64 {
            return Err(damage("a progressive JPEG file must have at most 2^30 coefficients"));
        }
        let mut components = Vec::new();
        for (index, declared) in frame.components.iter().enumerate() {
            // A component with smaller factors keeps more samples of a block, instead of repeating samples.
            let mut own_size = size;
            let fits = |own_size: usize| {
                (across * size).is_multiple_of(declared.across * own_size * 2)
                    && (down * size).is_multiple_of(declared.down * own_size * 2)
            };
            while own_size < 8 && fits(own_size) {
                own_size *= 2;
            }
            let count = count(declared);
            let samples = if index < needed { count * own_size * own_size } else { 0 };
            components.push(Component {
                declared: *declared,
                size: own_size,
                height: (frame.height * declared.down * own_size).div_ceil(8 * down),
                width: (frame.width * declared.across * own_size).div_ceil(8 * across),
                own_blocks: [
                    (frame.height * declared.down).div_ceil(8 * down),
                    (frame.width * declared.across).div_ceil(8 * across),
                ],
                blocks: blocks_of(declared),
                samples: filled(samples, GRAY)?,
                coefficients: filled(if frame.is_progressive { count } else { 0 }, [0; 64])?,
                multipliers: None,
            });
        }
        Ok(Planes { components, across, down, units, is_progressive: frame.is_progressive, method })
    }

    /// Decodes all scans from `scan` on.
    ///
    /// # Errors
    /// The file is damaged, or ends early and `recovers` is not set.
    pub(super) fn decode(
        &mut self,
        header: &mut Header<'_>,
        scan: Scan,
        data: &[u8],
        recovers: bool,
    ) -> Result<()> {
        let (mut scan, mut seen) = (Some(scan), vec![false; self.components.len()]);
        let mut visits = 0;
        while let Some(current) = scan {
            for component in &current.components {
                seen[component.index] = true;
                self.prepare(header, component.index)?;
                visits += self.components[component.index].blocks.iter().product::<usize>();
            }
            if visits > MAX_VISITS {
                return Err(damage(
                    "a JPEG file must have fewer scans: together they visit more than 2^30 blocks",
                ));
            }
            let mut bits = Bits::new(data, header.next, recovers);
            ScanDecoder::new(header, &current)?.run(self, &current, &mut bits)?;
            let (marker, next) = bits.end()?;
            // A sequential image is whole after one scan of each component.
            if !self.is_progressive && !seen.contains(&false) {
                break;
            }
            header.next = next;
            scan = header.next_scan(Some(marker))?;
        }
        if !recovers && seen.contains(&false) {
            return Err(damage("a JPEG file must have pixels of every component"));
        }
        if self.is_progressive {
            for component in &mut self.components {
                let blocks = std::mem::take(&mut component.coefficients);
                let columns = component.blocks[1];
                for (index, block) in blocks.iter().enumerate() {
                    component.store([index / columns, index % columns], block);
                }
            }
        }
        Ok(())
    }

    /// Takes the quantization table of a component when its first scan starts.
    fn prepare(&mut self, header: &Header<'_>, index: usize) -> Result<()> {
        let component = &mut self.components[index];
        if component.multipliers.is_none() {
            let table = header.quantization[component.declared.quantization]
                .as_ref()
                .ok_or_else(|| damage("a JPEG file must define the quantization tables that it uses"))?;
            component.multipliers = Some(Multipliers::new(table, component.size, self.method));
        }
        Ok(())
    }
}

/// The state of a scan.
struct ScanDecoder<'h> {
    tables: Vec<(Option<&'h HuffmanTable>, Option<&'h HuffmanTable>)>,
    /// The last value of coefficient 0 of each component.
    predictions: Vec<i32>,
    /// The number of blocks that have no more coefficients.
    empty_blocks: u32,
    restart_interval: usize,
}

impl<'h> ScanDecoder<'h> {
    fn new(header: &'h Header<'_>, scan: &Scan) -> Result<ScanDecoder<'h>> {
        let mut tables = Vec::new();
        for ScanComponent { dc, ac, .. } in &scan.components {
            let (dc, ac) = (header.dc[*dc].as_ref(), header.ac[*ac].as_ref());
            let needs_dc = scan.first == 0 && scan.high == 0;
            if needs_dc && dc.is_none() || scan.last > 0 && ac.is_none() {
                return Err(damage("a JPEG file must define the Huffman tables that it uses"));
            }
            tables.push((dc, ac));
        }
        let predictions = vec![0; scan.components.len()];
        Ok(ScanDecoder { tables, predictions, empty_blocks: 0, restart_interval: header.restart_interval })
    }

    /// Decodes every unit of the scan.
    fn run(&mut self, planes: &mut Planes, scan: &Scan, bits: &mut Bits<'_>) -> Result<()> {
        let single = match &scan.components[..] {
            [only] => Some(only.index),
            _ => None,
        };
        let [rows, columns] = match single {
            Some(index) => planes.components[index].own_blocks,
            None => planes.units,
        };
        if single.is_none() {
            let declared =
                scan.components.iter().map(|component| planes.components[component.index].declared);
            if declared.map(|declared| declared.across * declared.down).sum::<usize>() > 10 {
                return Err(damage("a scan of a JPEG file must have at most 10 blocks in a unit"));
            }
        }
        let (mut until_restart, mut restart) = (self.restart_interval, 0);
        for row in 0..rows {
            for column in 0..columns {
                if self.restart_interval > 0 {
                    if until_restart == 0 {
                        bits.restart(restart);
                        restart = (restart + 1) % 8;
                        until_restart = self.restart_interval;
                        self.predictions.fill(0);
                        self.empty_blocks = 0;
                    }
                    until_restart -= 1;
                }
                // The blocks of units after a marker stay as they are.
                if !bits.is_exhausted {
                    self.unit(planes, scan, bits, [row, column], single.is_some());
                }
            }
            bits.check()?;
            if bits.is_over() {
                break;
            }
        }
        Ok(())
    }

    /// Decodes the blocks of a unit, or the only block of a scan of one component.
    fn unit(
        &mut self,
        planes: &mut Planes,
        scan: &Scan,
        bits: &mut Bits<'_>,
        [row, column]: [usize; 2],
        is_single: bool,
    ) {
        for (number, component) in scan.components.iter().enumerate() {
            let component = &mut planes.components[component.index];
            let (down, across) = match is_single {
                true => (1, 1),
                false => (component.declared.down, component.declared.across),
            };
            for index in 0..down * across {
                let place = [row * down + index / across, column * across + index % across];
                if planes.is_progressive {
                    let block = &mut component.coefficients[place[0] * component.blocks[1] + place[1]];
                    self.progressive(bits, scan, number, block);
                } else {
                    let mut block = [0; 64];
                    block[0] = self.dc(bits, number) as i16;
                    if let Some(table) = self.tables[number].1 {
                        band(bits, table, [1, 63], 0, &mut block);
                    }
                    component.store(place, &block);
                }
            }
        }
    }

    /// Reads the difference to the last coefficient 0 of a component. Returns the coefficient.
    fn dc(&mut self, bits: &mut Bits<'_>, number: usize) -> i32 {
        if let Some(table) = self.tables[number].0 {
            let len = bits.symbol(table);
            let difference = bits.number(u32::from(len).min(16));
            self.predictions[number] = self.predictions[number].wrapping_add(difference);
        }
        self.predictions[number]
    }

    fn progressive(&mut self, bits: &mut Bits<'_>, scan: &Scan, number: usize, block: &mut [i16; 64]) {
        match (scan.first, scan.high, self.tables[number].1) {
            (0, 0, _) => block[0] = (self.dc(bits, number) << scan.low) as i16,
            (0, _, _) => block[0] |= (bits.take(1) << scan.low) as i16,
            (_, 0, Some(table)) => self.first_bits(bits, scan, table, block),
            (_, _, Some(table)) => self.refine(bits, scan, table, block),
            // A scan of these coefficients has a table.
            (_, _, None) => {}
        }
    }

    /// Reads how many blocks have no more coefficients, this one included. The number has `len + 1` bits.
    fn read_empty_blocks(&mut self, bits: &mut Bits<'_>, len: u32) {
        self.empty_blocks = (1 << len) + bits.take(len).unsigned_abs();
    }

    /// Reads the upper bits of coefficients.
    fn first_bits(&mut self, bits: &mut Bits<'_>, scan: &Scan, table: &HuffmanTable, block: &mut [i16; 64]) {
        if self.empty_blocks == 0 {
            match band(bits, table, [scan.first, scan.last], scan.low, block) {
                Some(len) => self.read_empty_blocks(bits, len),
                None => return,
            }
        }
        self.empty_blocks -= 1;
    }

    /// Reads one more bit of coefficients.
    fn refine(&mut self, bits: &mut Bits<'_>, scan: &Scan, table: &HuffmanTable, block: &mut [i16; 64]) {
        let bit = 1i16 << scan.low;
        let mut index = scan.first;
        while self.empty_blocks == 0 && index <= scan.last {
            let symbol = bits.symbol(table);
            let (zeros, len) = (u32::from(symbol >> 4), symbol & 15);
            if len == 0 && zeros != 15 {
                self.read_empty_blocks(bits, zeros);
                break;
            }
            let new = match len {
                0 => 0,
                _ if bits.take(1) == 1 => bit,
                _ => -bit,
            };
            // The new coefficient follows `zeros` zeros.
            index = refine_up_to(bits, [index, scan.last], zeros, bit, block);
            if new != 0 {
                block[usize::from(ZIGZAG[index.min(63)])] = new;
            }
            index += 1;
        }
        if self.empty_blocks > 0 {
            refine_up_to(bits, [index, scan.last], u32::MAX, bit, block);
            self.empty_blocks -= 1;
        }
    }
}

/// Reads the coefficients `first ..= last` of a block, without their low bits. If an end stands before the last one,
/// returns its number: the upper half of its symbol.
#[inline(always)]
fn band(
    bits: &mut Bits<'_>,
    table: &HuffmanTable,
    [first, last]: [usize; 2],
    low: u32,
    block: &mut [i16; 64],
) -> Option<u32> {
    let mut index = first;
    while index <= last {
        let symbol = bits.symbol(table);
        let (zeros, len) = (usize::from(symbol >> 4), u32::from(symbol & 15));
        if len > 0 {
            index += zeros;
            block[usize::from(ZIGZAG[index.min(63)])] = (bits.number(len) << low) as i16;
            index += 1;
        } else if zeros == 15 {
            index += 16;
        } else {
            return Some(zeros as u32);
        }
    }
    None
}

/// Adds a bit to the magnitude of every coefficient from `first` on that is not 0, if the file says so. Stops at the
/// zero after `zeros` zeros, or after `last`. Returns the index of the coefficient there.
fn refine_up_to(
    bits: &mut Bits<'_>,
    [first, last]: [usize; 2],
    mut zeros: u32,
    bit: i16,
    block: &mut [i16; 64],
) -> usize {
    for index in first..=last {
        let coefficient = &mut block[usize::from(ZIGZAG[index])];
        if *coefficient != 0 {
            if bits.take(1) == 1 && *coefficient & bit == 0 {
                let change = if *coefficient >= 0 { bit } else { -bit };
                *coefficient = coefficient.wrapping_add(change);
            }
        } else if zeros == 0 {
            return index;
        } else {
            zeros -= 1;
        }
    }
    first.max(last + 1)
}
