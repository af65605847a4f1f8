//! The segments of a JPEG file: the frame, the tables and the notes of applications.

use super::super::damage::damage;
use super::bits::{END, HuffmanTable};
use crate::error::Result;

/// For each coefficient in the order of the file: its row-major index in the block.
pub(super) const ZIGZAG: [u8; 64] = [
    0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4, 5, 12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6, 7,
    14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39,
    46, 53, 60, 61, 54, 47, 55, 62, 63,
];

/// What three or four components mean.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ColorModel {
    Gray,
    Rgb,
    Ycc,
    Cmyk,
    Ycck,
}

/// A component of a frame, as the file declares it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Declared {
    pub id: u8,
    /// Sampling factors from 1 to 4.
    pub across: usize,
    pub down: usize,
    pub quantization: usize,
}

/// The image that a file declares.
#[derive(Clone, Debug)]
pub(super) struct Frame {
    pub height: usize,
    pub width: usize,
    pub is_progressive: bool,
    pub components: Vec<Declared>,
}

/// One component of a scan, and its Huffman tables.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScanComponent {
    pub index: usize,
    pub dc: usize,
    pub ac: usize,
}

/// What a scan codes: components, coefficients `first ..= last`, and bits `low..high` of these (up to the top if `high`
/// is 0).
#[derive(Clone, Debug)]
pub(super) struct Scan {
    pub components: Vec<ScanComponent>,
    pub first: usize,
    pub last: usize,
    pub high: u32,
    pub low: u32,
}

/// What the segments up to some position of a file say.
pub(super) struct Header<'a> {
    data: &'a [u8],
    /// The position of the next segment or of the pixels of a scan.
    pub next: usize,
    recovers: bool,
    pub quantization: [Option<[u16; 64]>; 4],
    pub dc: [Option<HuffmanTable>; 4],
    pub ac: [Option<HuffmanTable>; 4],
    /// The number of units between restart markers; 0 if there are none.
    pub restart_interval: usize,
    has_jfif: bool,
    /// The transform that a segment of Adobe declares.
    adobe: Option<u8>,
    frame: Option<Frame>,
}

impl<'a> Header<'a> {
    /// Starts to read a file.
    ///
    /// # Errors
    /// The file does not start as a JPEG file.
    pub(super) fn new(data: &'a [u8], recovers: bool) -> Result<Header<'a>> {
        if !data.starts_with(&[0xff, 0xd8]) {
            return Err(damage("the bytes must be a JPEG file"));
        }
        Ok(Header {
            data,
            next: 2,
            recovers,
            quantization: [None; 4],
            dc: [const { None }; 4],
            ac: [const { None }; 4],
            restart_interval: 0,
            has_jfif: false,
            adobe: None,
            frame: None,
        })
    }

    /// Returns the frame.
    ///
    /// # Errors
    /// The file has declared none.
    pub(super) fn frame(&self) -> Result<&Frame> {
        self.frame.as_ref().ok_or_else(|| damage("a JPEG file must declare its sizes before its pixels"))
    }

    /// Returns whether a segment of Adobe was read.
    pub(super) fn is_adobe(&self) -> bool {
        self.adobe.is_some()
    }

    /// Returns what the components mean, by the rules of libjpeg.
    ///
    /// # Errors
    /// There is no meaning for this number of components.
    pub(super) fn color_model(&self) -> Result<ColorModel> {
        let components = &self.frame()?.components;
        let ids: Vec<u8> = components.iter().map(|component| component.id).collect();
        match (components.len(), self.adobe) {
            (1, _) => Ok(ColorModel::Gray),
            (3, _) if self.has_jfif => Ok(ColorModel::Ycc),
            (3, Some(0)) => Ok(ColorModel::Rgb),
            (3, None) if ids == *b"RGB" => Ok(ColorModel::Rgb),
            (3, _) => Ok(ColorModel::Ycc),
            (4, Some(2)) => Ok(ColorModel::Ycck),
            (4, _) => Ok(ColorModel::Cmyk),
            (count, _) => Err(damage(format!("a JPEG file must have 1, 3 or 4 components, got {count}"))),
        }
    }

    /// Returns the next byte, and `None` at the end.
    fn byte(&mut self) -> Option<u8> {
        let byte = *self.data.get(self.next)?;
        self.next += 1;
        Some(byte)
    }

    /// Returns the next marker.
    fn marker(&mut self) -> Result<u8> {
        let mut is_after_ff = false;
        loop {
            match self.byte() {
                None if self.recovers => return Ok(END),
                None => {
                    return Err(damage(
                        "a JPEG file must be complete, but this one ends between its segments",
                    ));
                }
                Some(0xff) => is_after_ff = true,
                Some(code @ 1..) if is_after_ff => return Ok(code),
                Some(_) => is_after_ff = false,
            }
        }
    }

    /// Reads segments up to the next scan. Returns `None` at the end of the file. `given` is a marker that was read
    /// already.
    ///
    /// # Errors
    /// A segment is damaged, or of a kind that is not supported.
    pub(super) fn next_scan(&mut self, mut given: Option<u8>) -> Result<Option<Scan>> {
        loop {
            let marker = match given.take() {
                Some(marker) => marker,
                None => self.marker()?,
            };
            match marker {
                END => return Ok(None),
                0x01 | 0xd0..=0xd8 => continue,
                _ => {}
            }
            let segment = self.segment()?;
            match marker {
                0xc0..=0xc2 => self.read_frame(segment, marker == 0xc2)?,
                0xc4 => self.read_huffman(segment)?,
                0xc3 | 0xc5..=0xcb | 0xcd..=0xcf => {
                    return Err(damage(format!(
                        "a JPEG file must be baseline or progressive with Huffman codes, got the process {marker:#x}"
                    )));
                }
                0xda => return self.read_scan(segment).map(Some),
                0xdb => self.read_quantization(segment)?,
                0xdd => {
                    self.restart_interval = match *segment {
                        [high, low] => usize::from(u16::from_be_bytes([high, low])),
                        _ => return Err(damage("the restart interval of a JPEG file must have 2 bytes")),
                    };
                }
                0xe0 => self.has_jfif |= segment.starts_with(b"JFIF\0") && segment.len() >= 14,
                0xee if segment.starts_with(b"Adobe") && segment.len() >= 12 => {
                    self.adobe = Some(segment[11])
                }
                _ => {}
            }
        }
    }

    /// Returns the content of the next segment.
    fn segment(&mut self) -> Result<&'a [u8]> {
        let rest = &self.data[self.next..];
        let len = rest.first_chunk().map(|len| usize::from(u16::from_be_bytes(*len)));
        match len.filter(|len| *len >= 2).and_then(|len| rest.get(2..len)) {
            Some(segment) => {
                self.next += segment.len() + 2;
                Ok(segment)
            }
            None => Err(damage("a JPEG file must be complete, but this one ends inside a segment")),
        }
    }

    fn read_frame(&mut self, segment: &[u8], is_progressive: bool) -> Result<()> {
        let wrong = |what: &str| Err(damage(format!("the frame of a JPEG file must {what}")));
        if self.frame.is_some() {
            return wrong("be the only one");
        }
        let &[bits, y1, y0, x1, x0, count, ref components @ ..] = segment else {
            return wrong("have at least 6 bytes");
        };
        let (height, width) = (u16::from_be_bytes([y1, y0]), u16::from_be_bytes([x1, x0]));
        if bits != 8 {
            return wrong(&format!("have samples of 8 bits, got {bits}"));
        }
        if height == 0 || width == 0 || components.len() != 3 * usize::from(count) {
            return wrong(&format!(
                "have pixels and components, got {height} x {width} pixels, {count} components"
            ));
        }
        let declared = components.as_chunks::<3>().0.iter().map(|[id, factors, quantization]| Declared {
            id: *id,
            across: usize::from(factors >> 4),
            down: usize::from(factors & 15),
            quantization: usize::from(*quantization),
        });
        let components: Vec<Declared> = declared.collect();
        for component in &components {
            let is_factor = |factor: usize| (1..=4).contains(&factor);
            if !is_factor(component.across) || !is_factor(component.down) || component.quantization > 3 {
                return wrong("have sampling factors from 1 to 4 and quantization tables from 0 to 3");
            }
        }
        let (height, width) = (usize::from(height), usize::from(width));
        self.frame = Some(Frame { height, width, is_progressive, components });
        Ok(())
    }

    fn read_quantization(&mut self, mut segment: &[u8]) -> Result<()> {
        while let [kind, rest @ ..] = segment {
            let (size, index) = (if kind >> 4 == 0 { 1 } else { 2 }, usize::from(kind & 15));
            let (Some((bytes, after)), true) = (rest.split_at_checked(64 * size), index < 4) else {
                return Err(damage(
                    "a quantization table of a JPEG file must have 64 factors and a number below 4",
                ));
            };
            let mut table = [0; 64];
            for (place, factor) in ZIGZAG.iter().zip(bytes.chunks_exact(size)) {
                table[usize::from(*place)] = factor.iter().fold(0, |all, byte| all << 8 | u16::from(*byte));
            }
            self.quantization[index] = Some(table);
            segment = after;
        }
        Ok(())
    }

    fn read_huffman(&mut self, mut segment: &[u8]) -> Result<()> {
        while let [kind, rest @ ..] = segment {
            let wrong =
                || damage("a Huffman table of a JPEG file must have 16 counts, symbols and a number below 4");
            let (counts, rest) = rest.split_first_chunk::<16>().ok_or_else(wrong)?;
            let count = counts.iter().map(|count| usize::from(*count)).sum();
            let (symbols, after) = rest.split_at_checked(count).filter(|_| count <= 256).ok_or_else(wrong)?;
            let is_dc = kind & 0x10 == 0;
            if is_dc && symbols.iter().any(|symbol| *symbol > 15) {
                return Err(damage("a Huffman table of a JPEG file must have lengths up to 15 bits"));
            }
            let tables = if is_dc { &mut self.dc } else { &mut self.ac };
            let table = tables.get_mut(usize::from(kind & !0x10)).ok_or_else(wrong)?;
            *table = Some(HuffmanTable::new(counts, symbols)?);
            segment = after;
        }
        Ok(())
    }

    fn read_scan(&mut self, segment: &[u8]) -> Result<Scan> {
        let wrong = |what: &str| Err(damage(format!("a scan of a JPEG file must {what}")));
        let frame = self.frame()?;
        let Some((count, rest)) = segment.split_first() else { return wrong("name its components") };
        let count = usize::from(*count);
        if !(1..=4).contains(&count) || rest.len() != 2 * count + 3 {
            return wrong("have 1 to 4 components");
        }
        let mut components = Vec::new();
        for [id, tables] in rest[..2 * count].as_chunks::<2>().0 {
            let (dc, ac) = (usize::from(tables >> 4), usize::from(tables & 15));
            let index = frame.components.iter().position(|component| component.id == *id);
            let is_new = |index: &usize| components.iter().all(|known: &ScanComponent| known.index != *index);
            match index.filter(is_new) {
                Some(index) if dc < 4 && ac < 4 => components.push(ScanComponent { index, dc, ac }),
                _ => return wrong("name components of the frame, each once, and tables from 0 to 3"),
            }
        }
        let [first, last, bits] = [0, 1, 2].map(|index| usize::from(rest[2 * count + index]));
        let (high, low) = (bits as u32 >> 4, bits as u32 & 15);
        if !frame.is_progressive {
            return Ok(Scan { components, first: 0, last: 63, high: 0, low: 0 });
        }
        let is_band = if first == 0 { last == 0 } else { first <= last && last < 64 && count == 1 };
        if !is_band || low > 13 || high != 0 && high != low + 1 {
            return wrong("be a step of a progression");
        }
        Ok(Scan { components, first, last, high, low })
    }
}
