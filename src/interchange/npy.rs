//! npy files: one tensor with a header, as numpy writes it.

use std::panic::Location;

use shapeflow_shape_fns::{DType, counted};

use super::raw;
use crate::error::{Error, ErrorKind, Phase, Result, at_caller};
use crate::tensor::Tensor;

pub(super) const MAGIC: &[u8] = b"\x93NUMPY";

/// Maximum rank of a tensor that is read. This maximum exceeds the maximum rank of numpy arrays.
const MAX_RANK: usize = 254;

/// Reads the tensor of an npy file from its bytes. To read a file, write `read_npy(&std::fs::read(path)?)`;
/// [`read_npz`](super::read_npz) takes the path of an npz file.
///
/// The elements are bool, integers, floats and complex numbers, in either byte order, row-major or column-major. Texts
/// (`U`) and byte strings (`S`) become strings without the zeros with which numpy pads them.
///
/// ```
/// use shapeflow::Tensor;
/// use shapeflow::interchange::{read_npy, write_npy};
///
/// let x = Tensor::from([[1.0f32, 2.0]]);
/// assert_eq!(read_npy(&write_npy(&x)?)?, x);
/// # Ok::<(), shapeflow::Error>(())
/// ```
///
/// # Errors
/// `Parse`: the bytes are no npy file, the file is damaged, or its dtype is not supported. `Memory`: the allocation is
/// refused.
#[track_caller]
pub fn read_npy(bytes: &[u8]) -> Result<Tensor> {
    let location = Location::caller();
    parse(bytes).map_err(|error| error.or_at(location))
}

/// Reads the tensor of an npy file.
fn parse(bytes: &[u8]) -> Result<Tensor> {
    let Some(rest) = bytes.strip_prefix(MAGIC) else {
        return refuse("an npy file must start with its magic bytes");
    };
    let (length, rest) = match rest {
        [1, _, a, b, rest @ ..] => (usize::from(u16::from_le_bytes([*a, *b])), rest),
        [2 | 3, _, a, b, c, d, rest @ ..] => {
            (usize::try_from(u32::from_le_bytes([*a, *b, *c, *d])).unwrap_or(usize::MAX), rest)
        }
        _ => return refuse("an npy file must be of version 1, 2 or 3"),
    };
    let Some((header, data)) = rest.split_at_checked(length) else {
        return refuse("the header of an npy file must be complete, got a file that ends in it");
    };
    let Some(header) = std::str::from_utf8(header).ok().and_then(Header::parse) else {
        return refuse("the header of an npy file must have descr, fortran_order and shape");
    };
    let shape = match header.shape {
        Ok(sizes) => sizes,
        Err(text) => {
            return refuse(format_args!(
                "the sizes of an npy file must be integers from 0 to {}, got ({text})",
                usize::MAX
            ));
        }
    };
    if shape.len() > MAX_RANK {
        return refuse(format_args!("an npy file may have at most {MAX_RANK} axes, got {}", shape.len()));
    }
    let Some(kind) = ElementKind::parse(&header.descr) else {
        return refuse(format_args!("an npy file of dtype {} is not supported", header.descr));
    };
    let count = shape.iter().try_fold(1usize, |count, size| count.checked_mul(*size));
    let Some(needed) = count.and_then(|count| count.checked_mul(kind.size())) else {
        return refuse(format_args!(
            "an npy file of {} and shape {shape:?} needs more than {} bytes of data",
            header.descr,
            usize::MAX
        ));
    };
    if needed != data.len() {
        return refuse(format_args!(
            "an npy file of {} and shape {:?} must have {} of data, got {}",
            header.descr,
            shape,
            counted(needed, "byte"),
            data.len()
        ));
    }
    let reordered;
    let data = if header.fortran_order && shape.len() > 1 {
        reordered = row_major(data, &shape, kind.size());
        &reordered
    } else {
        data
    };
    match kind {
        ElementKind::Plain { dtype, big_endian } => raw::from_bytes(dtype, &shape, data, big_endian),
        ElementKind::Strings { width, is_text, big_endian } => {
            // No bytes of the file limit the number of strings without bytes.
            if width == 0 && count != Some(0) {
                return refuse(format_args!("an npy file of dtype {} must be empty", header.descr));
            }
            let chunks = data.chunks_exact(width.max(1));
            let strings = chunks.map(|chunk| read_string(chunk, is_text, big_endian));
            Tensor::from_strings(&shape, &strings.collect::<Result<Vec<Vec<u8>>>>()?)
        }
    }
}

/// Returns the bytes of an npy file with the tensor; `std::fs::write` puts them into a file.
///
/// A dtype that numpy lacks is written as the integer of its width: bf16 as u16, floats of 8 bits as u8, quantized
/// types, i4 and u4 as plain integers.
///
/// # Errors
/// `DType`: the tensor has strings, which [`write_npz`](super::write_npz) writes, or tensor lists.
#[track_caller]
pub fn write_npy(tensor: &Tensor) -> Result<Vec<u8>> {
    at_caller(|| {
        let Some(descr) = descr_of(tensor.dtype()) else {
            let message = match tensor.dtype() {
                DType::String => "strings are written to npz files only".to_string(),
                dtype => format!("npy files have no elements of {dtype}"),
            };
            return Err(Error::new(ErrorKind::DType, Phase::Run, message));
        };
        let mut shape: String = tensor.sizes().iter().map(|size| format!("{size}, ")).collect();
        if tensor.sizes().len() > 1 {
            shape.truncate(shape.len() - 2);
        } else {
            shape.truncate(shape.trim_end().len());
        }
        let mut header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({shape}), }}");
        // The data starts at a multiple of 64 bytes in the file.
        let length = (MAGIC.len() + 4 + header.len() + 1).next_multiple_of(64);
        header.push_str(&" ".repeat(length - MAGIC.len() - 4 - header.len() - 1));
        header.push('\n');
        let mut out = MAGIC.to_vec();
        // A header of 254 axes has about 5,600 bytes, so the length fits 16 bits.
        let size = u16::try_from(header.len()).map_err(|_| {
            Error::new(ErrorKind::Shape, Phase::Run, "the shape has too many axes for an npy file")
        })?;
        out.extend_from_slice(&[1, 0]);
        out.extend_from_slice(&size.to_le_bytes());
        out.extend_from_slice(header.as_bytes());
        out.extend_from_slice(&raw::to_bytes(tensor)?);
        Ok(out)
    })
}

/// Returns numpy's type string of a dtype, the value of `descr` in a header; `None` for strings.
fn descr_of(dtype: DType) -> Option<&'static str> {
    Some(match dtype {
        DType::Bool => "|b1",
        DType::I8 | DType::QI8 | DType::I4 => "|i1",
        DType::U8 | DType::QU8 | DType::U4 | DType::F8E5M2 | DType::F8E4M3FN => "|u1",
        DType::I16 | DType::QI16 => "<i2",
        DType::U16 | DType::QU16 | DType::BF16 => "<u2",
        DType::I32 | DType::QI32 => "<i4",
        DType::U32 => "<u4",
        DType::I64 => "<i8",
        DType::U64 => "<u8",
        DType::F16 => "<f2",
        DType::F32 => "<f4",
        DType::F64 => "<f8",
        DType::C64 => "<c8",
        DType::C128 => "<c16",
        _ => return None,
    })
}

fn refuse<T>(message: impl std::fmt::Display) -> Result<T> {
    Err(Error::new(ErrorKind::Parse, Phase::Run, message.to_string()))
}

/// The type of the elements in a file.
#[derive(Clone, Copy)]
enum ElementKind {
    /// Numbers or bools.
    Plain { dtype: DType, big_endian: bool },
    /// Strings of `width` bytes, padded with zeros. A text is UTF-32; other strings are plain bytes.
    Strings { width: usize, is_text: bool, big_endian: bool },
}

impl ElementKind {
    /// Parses numpy's type string, such as `<f4`.
    fn parse(descr: &str) -> Option<ElementKind> {
        let (big_endian, rest) = match descr.as_bytes().first()? {
            b'<' | b'|' | b'=' => (false, descr.get(1..)?),
            b'>' => (true, descr.get(1..)?),
            _ => (false, descr),
        };
        if let Some(width) = rest.strip_prefix('S') {
            return Some(ElementKind::Strings { width: width.parse().ok()?, is_text: false, big_endian });
        }
        if let Some(width) = rest.strip_prefix('U') {
            let width = width.parse::<usize>().ok()?.checked_mul(4)?;
            return Some(ElementKind::Strings { width, is_text: true, big_endian });
        }
        let dtype = match rest {
            "b1" | "?" => DType::Bool,
            "i1" => DType::I8,
            "u1" => DType::U8,
            "i2" => DType::I16,
            "u2" => DType::U16,
            "i4" => DType::I32,
            "u4" => DType::U32,
            "i8" => DType::I64,
            "u8" => DType::U64,
            "f2" => DType::F16,
            "f4" => DType::F32,
            "f8" => DType::F64,
            "c8" => DType::C64,
            "c16" => DType::C128,
            _ => return None,
        };
        Some(ElementKind::Plain { dtype, big_endian })
    }

    /// Returns the number of bytes of an element.
    fn size(self) -> usize {
        match self {
            ElementKind::Plain { dtype, .. } => dtype.size_bytes().unwrap_or(1),
            ElementKind::Strings { width, .. } => width,
        }
    }
}

/// Reads one string of fixed width, without the zeros at its end. A text is UTF-32 in the file and becomes UTF-8.
fn read_string(chunk: &[u8], is_text: bool, big_endian: bool) -> Result<Vec<u8>> {
    if !is_text {
        let end = chunk.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        return Ok(chunk[..end].to_vec());
    }
    let mut text = String::new();
    for unit in chunk.chunks_exact(4) {
        let bytes = [unit[0], unit[1], unit[2], unit[3]];
        let number = if big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) };
        match char::from_u32(number) {
            Some(letter) => text.push(letter),
            None => {
                return refuse(format_args!("a text must consist of characters, got the number {number}"));
            }
        }
    }
    Ok(text.trim_end_matches('\0').as_bytes().to_vec())
}

/// Reorders column-major elements of `width` bytes to row-major order.
fn row_major(data: &[u8], sizes: &[usize], width: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(data.len());
    let mut index = vec![0usize; sizes.len()];
    let count = data.len().checked_div(width).unwrap_or(0);
    for _ in 0..count {
        let source = index.iter().zip(sizes).rev().fold(0, |offset, (index, size)| offset * size + index);
        out.extend_from_slice(data.get(source * width..(source + 1) * width).unwrap_or_default());
        for (index, size) in index.iter_mut().zip(sizes).rev() {
            *index += 1;
            if *index < *size {
                break;
            }
            *index = 0;
        }
    }
    out
}

/// The Python dictionary in the header of the file.
struct Header {
    descr: String,
    fortran_order: bool,
    /// The sizes, or their text if a size is not an integer from 0.
    shape: Result<Vec<usize>, String>,
}

impl Header {
    /// Parses the header; `None` if a key is missing or has a value of another form.
    fn parse(text: &str) -> Option<Header> {
        let after = |key: &str| {
            let start = text.find(&format!("'{key}'")).or_else(|| text.find(&format!("\"{key}\"")))?;
            Some(text.get(start + key.len() + 2..)?.trim_start().strip_prefix(':')?.trim_start())
        };
        let descr = after("descr")?;
        let quote = descr.chars().next().filter(|quote| matches!(quote, '\'' | '"'))?;
        let descr = descr.get(1..)?.split(quote).next()?.to_string();
        let fortran_order = match after("fortran_order")? {
            text if text.starts_with("True") => true,
            text if text.starts_with("False") => false,
            _ => return None,
        };
        let text = after("shape")?.strip_prefix('(')?.split(')').next()?;
        let sizes = text.split(',').map(str::trim).filter(|size| !size.is_empty());
        let sizes = sizes.map(|size| size.trim_end_matches('L').parse().ok()).collect::<Option<_>>();
        let shape = sizes.ok_or_else(|| text.to_string());
        Some(Header { descr, fortran_order, shape })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(header: &str, data: &[u8]) -> Vec<u8> {
        let mut out = b"\x93NUMPY\x01\x00".to_vec();
        out.extend_from_slice(&(header.len() as u16).to_le_bytes());
        out.extend_from_slice(header.as_bytes());
        out.extend_from_slice(data);
        out
    }

    #[test]
    fn written_tensors_read_back() {
        for dtype in DType::all().filter(|dtype| dtype.size_bytes().is_some()) {
            for sizes in [&[][..], &[3], &[2, 0, 4], &[2, 3]] {
                let tensor = Tensor::zeros(dtype, sizes).unwrap();
                let bytes = write_npy(&tensor).unwrap();
                let data = tensor.len() * dtype.size_bytes().unwrap();
                assert_eq!((bytes.len() - data) % 64, 0);
                assert_eq!(read_npy(&bytes).unwrap().sizes(), sizes);
            }
        }
        let tensor = Tensor::from([[1.5f32, f32::NAN], [-0.0, 3.0]]);
        assert_eq!(read_npy(&write_npy(&tensor).unwrap()).unwrap(), tensor);
    }

    #[test]
    fn byte_orders_column_major_and_strings_are_read() {
        let big = file("{'descr': '>i2', 'fortran_order': False, 'shape': (2,), }", &[1, 2, 3, 4]);
        assert_eq!(read_npy(&big).unwrap().to_vec::<i16>().unwrap(), [0x0102, 0x0304]);
        let columns = file("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3)}", &[1, 4, 2, 5, 3, 6]);
        assert_eq!(read_npy(&columns).unwrap(), Tensor::from([[1u8, 2, 3], [4, 5, 6]]));
        let text =
            file("{'descr': '<U2', 'fortran_order': False, 'shape': (1,)}", &[b'a', 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(read_npy(&text).unwrap().as_strings().unwrap().at(0), b"a");
        let bytes = file("{'descr': '|S3', 'fortran_order': False, 'shape': (2,)}", b"a\0\0bcd");
        assert_eq!(read_npy(&bytes).unwrap().as_strings().unwrap().at(1), b"bcd");
    }

    #[test]
    fn damage_is_an_error() {
        let whole = write_npy(&Tensor::from([1i32, 2])).unwrap();
        for cut in 0..whole.len() {
            assert_eq!(read_npy(&whole[..cut]).unwrap_err().kind(), ErrorKind::Parse);
        }
        for header in [
            "{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 16)}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
            "{'descr': '|O', 'fortran_order': False, 'shape': ()}",
            "{'descr': '|S0', 'fortran_order': False, 'shape': (1152921504606846975,)}",
            "{'descr': [('a', '<i4')], 'fortran_order': False, 'shape': ()}",
            "",
        ] {
            assert_eq!(read_npy(&file(header, &[])).unwrap_err().kind(), ErrorKind::Parse);
        }
    }

    #[test]
    fn bad_sizes_are_named() {
        let message = |shape: &str| {
            let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({shape}), }}");
            read_npy(&file(&header, &[])).unwrap_err().message().to_string()
        };
        for shape in ["-4, 3", "99999999999999999999,", "3.5,"] {
            let wanted = "the sizes of an npy file must be integers from 0 to 18446744073709551615, got";
            assert_eq!(message(shape), format!("{wanted} ({shape})"));
        }
        assert_eq!(
            message("4611686018427387904, 3"),
            "an npy file of <f4 and shape [4611686018427387904, 3] needs more than 18446744073709551615 bytes of data"
        );
        assert_eq!(message("1,"), "an npy file of <f4 and shape [1] must have 4 bytes of data, got 0");
    }
}
