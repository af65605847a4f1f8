//! npz: tensors by name in a zip file, as numpy writes it.

use std::collections::HashMap;
use std::io::{Cursor, Read, Write};
use std::path::Path;

use shapeflow_shape_fns::DType;

use super::npy::{read_npy, write_npy};
use super::raw;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::tensor::Tensor;

/// Strings are three arrays below their name: all bytes, where each starts and the last ends, and the sizes.
const BYTES: &str = "__bytes";
const OFFSETS: &str = "__offs";
const SIZES: &str = "__shape";

/// Bytes of all arrays together, unpacked: a small file may hold the zeros of a huge one.
const MAX_BYTES: u64 = 64 << 30;

/// The tensors of an npz file, by name, in the order of the file.
///
/// Strings are read from `NAME__bytes` (u8), `NAME__offs` (i64, one more than there are strings) and, unless they are
/// a vector, `NAME__shape` (i64). What numpy has no dtype for comes as the integer below it: see [`as_dtype`].
///
/// # Errors
/// `Io`: the file cannot be read. `Parse`: it is no npz file, or damaged.
pub fn read_npz(path: impl AsRef<Path>) -> Result<Vec<(String, Tensor)>> {
    let path = path.as_ref();
    let bytes = std::fs::read(path)
        .map_err(|error| Error::new(ErrorKind::Io, Phase::Run, format!("{}: {error}", path.display())))?;
    read_npz_bytes(&bytes).map_err(|error| {
        Error::new(error.kind(), Phase::Run, format!("{}: {}", path.display(), error.message()))
    })
}

/// As [`read_npz`], from bytes.
///
/// # Errors
/// `Parse`: the bytes are no npz file, or damaged.
pub fn read_npz_bytes(bytes: &[u8]) -> Result<Vec<(String, Tensor)>> {
    let mut archive = zip::ZipArchive::new(Cursor::new(bytes)).map_err(|error| damaged(&error))?;
    let mut arrays: Vec<(String, Tensor)> = Vec::new();
    let mut left = MAX_BYTES;
    for index in 0..archive.len() {
        let mut entry = archive.by_index(index).map_err(|error| damaged(&error))?;
        let name = entry.name().strip_suffix(".npy").unwrap_or(entry.name()).to_string();
        let mut content = Vec::new();
        let read = entry.by_ref().take(left.saturating_add(1)).read_to_end(&mut content);
        read.map_err(|error| damaged(&error).named(&name))?;
        left = left.checked_sub(content.len() as u64).ok_or_else(|| damaged(&"it unpacks to too much"))?;
        let tensor = read_npy(&content).map_err(|error| error.named(&name))?;
        arrays.push((name, tensor));
    }
    join_strings(arrays)
}

/// Writes tensors by name; strings as [`read_npz`] reads them.
///
/// # Errors
/// `Io`: the file cannot be written.
pub fn write_npz<'a>(
    path: impl AsRef<Path>,
    tensors: impl IntoIterator<Item = (&'a str, &'a Tensor)>,
) -> Result<()> {
    let path = path.as_ref();
    let bytes = write_npz_bytes(tensors)?;
    std::fs::write(path, bytes)
        .map_err(|error| Error::new(ErrorKind::Io, Phase::Run, format!("{}: {error}", path.display())))
}

/// As [`write_npz`], to bytes.
///
/// # Errors
/// `Io`: two tensors of one name.
pub fn write_npz_bytes<'a>(tensors: impl IntoIterator<Item = (&'a str, &'a Tensor)>) -> Result<Vec<u8>> {
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let failed = |error: &dyn std::fmt::Display| Error::new(ErrorKind::Io, Phase::Run, error.to_string());
    // Without a clock, so that equal tensors are equal files.
    let options = zip::write::SimpleFileOptions::default()
        .compression_method(zip::CompressionMethod::Deflated)
        .last_modified_time(zip::DateTime::default())
        .large_file(true);
    let mut put = |name: String, tensor: &Tensor| -> Result<()> {
        archive.start_file(name + ".npy", options).map_err(|error| failed(&error))?;
        archive.write_all(&write_npy(tensor)?).map_err(|error| failed(&error))
    };
    for (name, tensor) in tensors {
        if tensor.dtype() != DType::String {
            put(name.to_string(), tensor)?;
            continue;
        }
        let strings = tensor.as_strings()?;
        let mut ends = vec![0i64];
        let mut bytes: Vec<u8> = Vec::new();
        for string in strings {
            bytes.extend_from_slice(string);
            ends.push(bytes.len() as i64);
        }
        let sizes: Vec<i64> = tensor.sizes().iter().map(|size| *size as i64).collect();
        put(format!("{name}{BYTES}"), &Tensor::from_slice(&[bytes.len()], &bytes)?)?;
        put(format!("{name}{OFFSETS}"), &Tensor::from_slice(&[ends.len()], &ends)?)?;
        put(format!("{name}{SIZES}"), &Tensor::from_slice(&[sizes.len()], &sizes)?)?;
    }
    Ok(archive.finish().map_err(|error| failed(&error))?.into_inner())
}

/// The tensor as `dtype`, where a file could only write the integer below it: bf16, f16 and quantized types. One that
/// has the dtype already is the same.
///
/// # Errors
/// `DType`: the tensor's dtype is not what files write for `dtype`.
pub fn as_dtype(tensor: &Tensor, dtype: DType) -> Result<Tensor> {
    let below = match dtype {
        _ if dtype == tensor.dtype() => return Ok(tensor.clone()),
        DType::BF16 | DType::F16 | DType::QU16 => DType::U16,
        DType::QI8 => DType::I8,
        DType::QU8 => DType::U8,
        DType::QI16 => DType::I16,
        DType::QI32 => DType::I32,
        other => other,
    };
    if below != tensor.dtype() {
        return Err(Error::new(
            ErrorKind::DType,
            Phase::Run,
            format!("elements of {dtype} are written as {below}, got {}", tensor.dtype()),
        ));
    }
    raw::from_bytes(dtype, tensor.sizes(), &raw::to_bytes(tensor)?, false)
}

fn damaged(error: &dyn std::fmt::Display) -> Error {
    Error::new(ErrorKind::Parse, Phase::Run, format!("the bytes must be an npz file: {error}"))
}

/// Puts the parts of strings together.
fn join_strings(arrays: Vec<(String, Tensor)>) -> Result<Vec<(String, Tensor)>> {
    let places: HashMap<String, usize> =
        arrays.iter().enumerate().map(|(at, (name, _))| (name.clone(), at)).collect();
    let part = |name: &str, part: &str| places.get(&format!("{name}{part}")).map(|at| &arrays[*at].1);
    let mut out = Vec::with_capacity(arrays.len());
    for (name, tensor) in &arrays {
        let whole =
            [BYTES, OFFSETS, SIZES].into_iter().find_map(|part| Some((name.strip_suffix(part)?, part)));
        let Some((base, own)) = whole else {
            out.push((name.clone(), tensor.clone()));
            continue;
        };
        let (Some(bytes), Some(ends)) = (part(base, BYTES), part(base, OFFSETS)) else {
            out.push((name.clone(), tensor.clone()));
            continue;
        };
        if own == BYTES {
            let strings = strings_of(bytes, ends, part(base, SIZES)).map_err(|error| error.named(base))?;
            out.push((base.to_string(), strings));
        }
    }
    Ok(out)
}

fn strings_of(bytes: &Tensor, ends: &Tensor, sizes: Option<&Tensor>) -> Result<Tensor> {
    let wrong = || damaged(&"the parts of strings do not fit each other");
    let (bytes, ends) = (bytes.as_slice::<u8>()?, ends.as_slice::<i64>()?);
    let mut strings = Vec::new();
    for pair in ends.windows(2) {
        let place = |end: i64| usize::try_from(end).map_err(|_| wrong());
        strings.push(bytes.get(place(pair[0])?..place(pair[1])?).ok_or_else(wrong)?);
    }
    let sizes: Vec<usize> = match sizes {
        Some(sizes) => {
            let sizes = sizes.as_slice::<i64>()?.iter();
            sizes.map(|size| usize::try_from(*size).map_err(|_| wrong())).collect::<Result<_>>()?
        }
        None => vec![strings.len()],
    };
    Tensor::from_strings(&sizes, &strings)
}

impl Error {
    /// The same message, below the name of an array.
    fn named(self, name: &str) -> Error {
        Error::new(self.kind(), self.phase(), format!("{name}: {}", self.message()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_reads_back() {
        let numbers = Tensor::from([[1.5f32, 2.0]]);
        let strings = Tensor::from_strings(&[1, 2], &["a", "béc"]).unwrap();
        let bytes = write_npz_bytes([("x", &numbers), ("s/0", &strings)]).unwrap();
        let read = read_npz_bytes(&bytes).unwrap();
        assert_eq!(read, [("x".to_string(), numbers.clone()), ("s/0".to_string(), strings)]);
        assert_eq!(write_npz_bytes([("x", &numbers)]).unwrap(), write_npz_bytes([("x", &numbers)]).unwrap());
    }

    #[test]
    fn damage_is_an_error() {
        let bytes = write_npz_bytes([("x", &Tensor::from([1i32]))]).unwrap();
        for cut in 0..bytes.len() {
            assert!(read_npz_bytes(&bytes[..cut]).is_err());
        }
        let parts = [("s__bytes", Tensor::from([1u8])), ("s__offs", Tensor::from([0i64, 9]))];
        let bytes = write_npz_bytes(parts.iter().map(|(name, tensor)| (*name, tensor))).unwrap();
        assert!(read_npz_bytes(&bytes).unwrap_err().message().contains("do not fit"));
    }

    #[test]
    fn integers_become_what_they_stand_for() {
        let halves = Tensor::from([0x3f80u16]);
        assert_eq!(as_dtype(&halves, DType::BF16).unwrap().dtype(), DType::BF16);
        assert_eq!(as_dtype(&Tensor::from([-1i8]), DType::QI8).unwrap().to_bits::<i8>().unwrap(), [-1]);
        assert!(as_dtype(&halves, DType::F32).is_err());
    }
}
