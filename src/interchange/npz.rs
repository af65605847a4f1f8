//! npz files: named tensors in a zip file, as numpy writes it.

use std::collections::{HashMap, HashSet};
use std::io::{Cursor, Read, Write};
use std::path::Path;

use shapeflow_shape_fns::{DType, counted};

use super::npy::{MAGIC, read_npy, write_npy};
use super::raw;
use crate::error::{Error, ErrorKind, Phase, Result, at_caller};
use crate::tensor::{Element, Strings, Tensor, TensorMap, TensorView, storage};

/// Suffix of the array that holds the bytes of all strings of a tensor.
const BYTES: &str = "__bytes";
/// Suffix of the array that holds the `n + 1` offsets of `n` strings.
const OFFSETS: &str = "__offs";
/// Suffix of the array that holds the sizes of a tensor of strings.
const SIZES: &str = "__shape";

/// The maximum number of unpacked bytes of all arrays together, because a small file may unpack to huge arrays.
const MAX_BYTES: u64 = 64 << 30;

/// Reads the tensors of the npz file at a path, each with its name, in the order of the file.
///
/// A tensor of strings comes from three arrays: `NAME__bytes` (u8), `NAME__offs` (`n + 1` offsets of `n` strings, from
/// 0 to the number of bytes) and `NAME__shape` (absent for a vector). The offsets and the shape may be integers of any
/// width. A tensor of a dtype that numpy lacks comes back as integers of the same width: see [`as_dtype`]. A file in
/// the archive that is not an array, such as `readme.txt`, is skipped.
///
/// # Errors
/// `Io`: the file cannot be read. `Parse`: the file is not an npz file, is damaged, or has two arrays of one name.
#[track_caller]
pub fn read_npz(path: impl AsRef<Path>) -> Result<TensorMap> {
    let path = path.as_ref();
    at_caller(|| {
        let bytes =
            std::fs::read(path).map_err(|error| Error::new(ErrorKind::Io, Phase::Run, error.to_string()))?;
        unpack(&bytes)
    })
    .map_err(|error| error.about(path.display()))
}

/// Reads the tensors of an npz file that is in memory, from its bytes. [`read_npz`] takes a path instead.
///
/// # Errors
/// `Parse`: the bytes are not an npz file, are damaged, or have two arrays of one name.
#[track_caller]
pub fn read_npz_bytes(bytes: &[u8]) -> Result<TensorMap> {
    at_caller(|| unpack(bytes))
}

/// Reads the tensors of an npz file.
fn unpack(bytes: &[u8]) -> Result<TensorMap> {
    let Ok(mut archive) = zip::ZipArchive::new(Cursor::new(bytes)) else {
        // A safetensors file starts with the length of its header, 8 bytes. The header is JSON.
        let message = match (bytes.starts_with(b"PK"), bytes.get(8)) {
            (true, _) => "the npz file is cut off or damaged",
            (false, Some(b'{')) => "not an npz file, but a safetensors file, which map_safetensors reads",
            (false, _) => "not an npz file; write it with numpy.savez",
        };
        return Err(Error::new(ErrorKind::Parse, Phase::Run, message));
    };
    if let Some(name) = repeated_name(bytes, archive.central_directory_start()) {
        return Err(damaged(&format_args!("it has two arrays named {name}")));
    }
    let mut arrays: Vec<(String, Tensor)> = Vec::new();
    let mut left = MAX_BYTES;
    for index in 0..archive.len() {
        let mut entry = archive.by_index(index).map_err(|error| damaged(&error))?;
        let is_npy = entry.name().ends_with(".npy");
        let name = array_name(entry.name()).to_string();
        let mut content = Vec::new();
        let read = entry.by_ref().take(left.saturating_add(1)).read_to_end(&mut content);
        read.map_err(|error| damaged(&error).named(&name))?;
        let too_large = || damaged(&format_args!("its arrays may have at most {MAX_BYTES} bytes, got more"));
        left = left.checked_sub(content.len() as u64).ok_or_else(too_large)?;
        if !is_npy && !content.starts_with(MAGIC) {
            continue;
        }
        let tensor = read_npy(&content).map_err(|error| error.named(&name))?;
        arrays.push((name, tensor));
    }
    Ok(join_strings(arrays)?.into_iter().collect())
}

/// Returns the name of the array in a file of the archive.
fn array_name(file: &str) -> &str {
    file.strip_suffix(".npy").unwrap_or(file)
}

/// Returns the name of an array that the central directory lists twice. `ZipArchive` keeps only the last file of a
/// name, so it cannot tell.
fn repeated_name(bytes: &[u8], directory_start: u64) -> Option<String> {
    /// The bytes of an entry before the name of its file.
    const FIXED: usize = 46;
    let mut rest = bytes.get(usize::try_from(directory_start).ok()?..)?;
    let mut names = HashSet::new();
    while rest.starts_with(b"PK\x01\x02") && rest.len() >= FIXED {
        let length = |at: usize| usize::from(u16::from_le_bytes([rest[at], rest[at + 1]]));
        // The name comes first, then extra fields and a comment.
        let (name, others) = (length(28), length(30) + length(32));
        let file = String::from_utf8_lossy(rest.get(FIXED..FIXED + name)?);
        let name_of_array = array_name(&file).to_string();
        if names.contains(&name_of_array) {
            return Some(name_of_array);
        }
        names.insert(name_of_array);
        rest = rest.get(FIXED + name + others..)?;
    }
    None
}

/// Writes named tensors to an npz file at a path.
///
/// An npz file has no strings of any bytes, so a tensor `NAME` of strings becomes three arrays, which [`read_npz`]
/// reads: `NAME__bytes`, the bytes of all strings one after the other (u8); `NAME__offs`, the offsets of the `n`
/// strings in these bytes and the end of the last one (i64, `n + 1` elements); and `NAME__shape`, the sizes of the
/// tensor (i64). In Python, these lines give an array of bytes:
///
/// ```text
/// f = numpy.load("out.npz")
/// data, offs, shape = (f[f"NAME__{part}"] for part in ("bytes", "offs", "shape"))
/// strings = numpy.array([data[a:b].tobytes() for a, b in zip(offs, offs[1:])], object).reshape(shape)
/// ```
///
/// # Errors
/// `Io`: the file cannot be written, or two tensors have the same name.
#[track_caller]
pub fn write_npz<'a>(
    path: impl AsRef<Path>,
    tensors: impl IntoIterator<Item = (&'a str, &'a Tensor)>,
) -> Result<()> {
    let path = path.as_ref();
    at_caller(|| {
        let bytes = write_npz_bytes(tensors)?;
        std::fs::write(path, bytes).map_err(|error| Error::new(ErrorKind::Io, Phase::Run, error.to_string()))
    })
    .map_err(|error| error.about(path.display()))
}

/// Returns the bytes of an npz file with named tensors. [`write_npz`] writes them to a path instead.
///
/// ```
/// use shapeflow::Tensor;
/// use shapeflow::interchange::{read_npz_bytes, write_npz_bytes};
///
/// let x = Tensor::from([1.0f32, 2.0]);
/// let bytes = write_npz_bytes([("x", &x)])?;
/// assert_eq!(read_npz_bytes(&bytes)?.tensor("x")?, &x);
/// # Ok::<(), shapeflow::Error>(())
/// ```
///
/// # Errors
/// `Io`: two tensors have the same name.
#[track_caller]
pub fn write_npz_bytes<'a>(tensors: impl IntoIterator<Item = (&'a str, &'a Tensor)>) -> Result<Vec<u8>> {
    at_caller(|| {
        let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
        let failed = |error: &dyn std::fmt::Display| Error::new(ErrorKind::Io, Phase::Run, error.to_string());
        // The time stamp is fixed, so that equal tensors give equal files.
        let options = zip::write::SimpleFileOptions::default()
            .compression_method(zip::CompressionMethod::Deflated)
            .last_modified_time(zip::DateTime::default())
            .large_file(true);
        let mut names = HashSet::new();
        let mut put = |name: String, tensor: &Tensor| -> Result<()> {
            if !names.insert(name.clone()) {
                return Err(failed(&format_args!("two tensors are named {name}")));
            }
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
            let mut bytes: Vec<u8> = Vec::with_capacity(strings.byte_len());
            for string in strings.iter() {
                bytes.extend_from_slice(string);
                ends.push(bytes.len() as i64);
            }
            let sizes: Vec<i64> = tensor.sizes().iter().map(|size| *size as i64).collect();
            put(format!("{name}{BYTES}"), &Tensor::from_slice(&[bytes.len()], &bytes)?)?;
            put(format!("{name}{OFFSETS}"), &Tensor::from_slice(&[ends.len()], &ends)?)?;
            put(format!("{name}{SIZES}"), &Tensor::from_slice(&[sizes.len()], &sizes)?)?;
        }
        Ok(archive.finish().map_err(|error| failed(&error))?.into_inner())
    })
}

/// Converts a tensor from the dtype that an npz file stores for `dtype`: an integer of the same width for bf16, for
/// floats of 8 bits and for quantized types, and a byte for i4 and u4. A tensor that already has `dtype` is returned
/// unchanged.
///
/// # Errors
/// `DType`: the tensor has neither `dtype` nor the dtype that stores it.
#[track_caller]
pub fn as_dtype(tensor: &Tensor, dtype: DType) -> Result<Tensor> {
    at_caller(|| {
        if dtype == tensor.dtype() {
            return Ok(tensor.clone());
        }
        let stored = match storage(dtype) {
            // One integer for each element.
            Some((integer, 1)) => integer,
            _ => dtype,
        };
        if stored != tensor.dtype() {
            let message = format!("the tensor must be {dtype}, got {}", tensor.dtype());
            let error = Error::new(ErrorKind::DType, Phase::Run, message);
            return Err(match stored == dtype {
                true => error,
                false => error.with_help(format!("npz files store {dtype} as {stored}")),
            });
        }
        raw::from_bytes(dtype, tensor.sizes(), &raw::to_bytes(tensor)?, false)
    })
}

fn damaged(error: &dyn std::fmt::Display) -> Error {
    Error::new(ErrorKind::Parse, Phase::Run, format!("the npz file is damaged: {error}"))
}

/// Replaces the three arrays of each tensor of strings by the tensor.
fn join_strings(arrays: Vec<(String, Tensor)>) -> Result<Vec<(String, Tensor)>> {
    let positions: HashMap<String, usize> =
        arrays.iter().enumerate().map(|(index, (name, _))| (name.clone(), index)).collect();
    let part =
        |name: &str, suffix: &str| positions.get(&format!("{name}{suffix}")).map(|index| &arrays[*index].1);
    let mut out = Vec::with_capacity(arrays.len());
    for (name, tensor) in &arrays {
        let split =
            [BYTES, OFFSETS, SIZES].into_iter().find_map(|part| Some((name.strip_suffix(part)?, part)));
        let Some((base, suffix)) = split else {
            out.push((name.clone(), tensor.clone()));
            continue;
        };
        let (Some(bytes), Some(ends)) = (part(base, BYTES), part(base, OFFSETS)) else {
            out.push((name.clone(), tensor.clone()));
            continue;
        };
        if suffix == BYTES {
            let strings = strings_of(base, bytes, ends, part(base, SIZES))?;
            out.push((base.to_string(), strings));
        }
    }
    Ok(out)
}

/// Cuts `bytes` into strings: string `i` is `bytes[ends[i]..ends[i + 1]]`.
fn strings_of(base: &str, bytes: &Tensor, ends: &Tensor, sizes: Option<&Tensor>) -> Result<Tensor> {
    let wrong = |message: String| Error::new(ErrorKind::Parse, Phase::Run, message).named(base);
    let Ok(bytes) = bytes.as_slice::<u8>() else {
        return Err(wrong(format!("the array {base}{BYTES} must be u8, got {}", bytes.dtype())));
    };
    let offsets = lengths(base, OFFSETS, ends)?;
    let is_whole = match (offsets.first(), offsets.last()) {
        (Some(first), Some(last)) => *first == 0 && *last == bytes.len() && offsets.is_sorted(),
        _ => bytes.is_empty(),
    };
    if !is_whole {
        return Err(wrong(format!(
            "the array {base}{OFFSETS} must ascend from 0 to {}, the number of bytes in {base}{BYTES}, got {ends}",
            bytes.len()
        )));
    }
    let strings = if offsets.is_empty() { Strings::new(&[0], &[])? } else { Strings::new(&offsets, bytes)? };
    let sizes = sizes.map_or_else(|| Ok(vec![strings.len()]), |sizes| lengths(base, SIZES, sizes))?;
    if sizes.iter().try_fold(1usize, |count, size| count.checked_mul(*size)) != Some(strings.len()) {
        return Err(wrong(format!(
            "the shape in {base}{SIZES} must have {}, got {sizes:?}",
            counted(strings.len(), "element")
        )));
    }
    TensorView::from_strings(&sizes, strings)?.to_tensor()
}

/// Returns the elements of the array `base` + `suffix`, which are integers of any width from 0.
fn lengths(base: &str, suffix: &str, array: &Tensor) -> Result<Vec<usize>> {
    let wrong = |message: String| Error::new(ErrorKind::Parse, Phase::Run, message).named(base);
    let refused = || wrong(format!("the array {base}{suffix} must have integers from 0, got {array}"));
    fn of<T: Element + TryInto<usize>>(array: &Tensor) -> Result<Option<Vec<usize>>> {
        Ok(array.as_slice::<T>()?.iter().map(|length| (*length).try_into().ok()).collect())
    }
    let lengths = match array.dtype() {
        DType::I8 => of::<i8>(array),
        DType::I16 => of::<i16>(array),
        DType::I32 => of::<i32>(array),
        DType::I64 => of::<i64>(array),
        DType::U8 => of::<u8>(array),
        DType::U16 => of::<u16>(array),
        DType::U32 => of::<u32>(array),
        DType::U64 => of::<u64>(array),
        dtype => Err(wrong(format!("the array {base}{suffix} must have integers, such as i64, got {dtype}"))),
    };
    lengths?.ok_or_else(refused)
}

impl Error {
    /// Prefixes the message with the name of an array.
    fn named(self, name: &str) -> Error {
        Error::new(self.kind(), self.phase(), format!("{name}: {}", self.message()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_tensors_read_back() {
        let numbers = Tensor::from([[1.5f32, 2.0]]);
        let strings = Tensor::from_strings(&[1, 2], &["a", "béc"]).unwrap();
        let bytes = write_npz_bytes([("x", &numbers), ("s/0", &strings)]).unwrap();
        let read = read_npz_bytes(&bytes).unwrap();
        assert_eq!(Vec::from_iter(read), [("x".to_string(), numbers.clone()), ("s/0".to_string(), strings)]);
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
        let error = read_npz_bytes(&bytes).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Parse);
        assert!(
            error
                .message()
                .starts_with("s: the array s__offs must ascend from 0 to 1, the number of bytes in")
        );
        let error = read_npz_bytes(b"x").unwrap_err();
        assert_eq!(error.message(), "not an npz file; write it with numpy.savez");
        let error = read_npz_bytes(b"\x02\0\0\0\0\0\0\0{}").unwrap_err();
        assert_eq!(error.message(), "not an npz file, but a safetensors file, which map_safetensors reads");
    }

    /// Reads the strings `k` of `abc` with these offsets and this shape.
    fn strings(offsets: Tensor, shape: Tensor) -> Result<Tensor> {
        let parts = [("k__bytes", Tensor::from(*b"abc")), ("k__offs", offsets), ("k__shape", shape)];
        let bytes = write_npz_bytes(parts.iter().map(|(name, tensor)| (*name, tensor))).unwrap();
        read_npz_bytes(&bytes)?.tensor("k").cloned()
    }

    #[test]
    fn offsets_of_strings_are_integers_of_any_width() {
        let wanted = Tensor::from_strings(&[2, 1], &["a", "bc"]).unwrap();
        let shape = Tensor::from([2i64, 1]);
        assert_eq!(strings(Tensor::from([0i32, 1, 3]), Tensor::from([2u8, 1])).unwrap(), wanted);
        assert_eq!(strings(Tensor::from([0u64, 1, 3]), shape.clone()).unwrap(), wanted);
        let message = |offsets, shape| strings(offsets, shape).unwrap_err().message().to_string();
        let of_floats = message(Tensor::from([0.0f32, 1.0, 3.0]), shape.clone());
        assert_eq!(of_floats, "k: the array k__offs must have integers, such as i64, got f32");
        let negative = message(Tensor::from([0i64, -1, 3]), shape.clone());
        assert!(negative.starts_with("k: the array k__offs must have integers from 0, got "), "{negative}");
        for offsets in [[1i64, 1, 3], [0, 1, 2], [0, 3, 1]] {
            let text = message(Tensor::from(offsets), shape.clone());
            assert!(text.starts_with("k: the array k__offs must ascend from 0 to 3"), "{text}");
        }
        let text = message(Tensor::from([0i64, 1, 3]), Tensor::from([3i64]));
        assert_eq!(text, "k: the shape in k__shape must have 2 elements, got [3]");
    }

    /// Returns an archive of files with these names and contents.
    fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
        for (name, content) in files {
            archive.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
            archive.write_all(content).unwrap();
        }
        archive.finish().unwrap().into_inner()
    }

    #[test]
    fn other_files_are_skipped() {
        let x = Tensor::from([1i32, 2]);
        let npy = write_npy(&x).unwrap();
        let bytes = archive(&[("readme.txt", b"hello"), ("x.npy", &npy), ("empty", b""), ("y", &npy)]);
        let read = read_npz_bytes(&bytes).unwrap();
        assert_eq!(Vec::from_iter(read), [("x".to_string(), x.clone()), ("y".to_string(), x)]);
        let error = read_npz_bytes(&archive(&[("x.npy", b"hello")])).unwrap_err();
        assert_eq!(error.message(), "x: an npy file must start with its magic bytes");
    }

    #[test]
    fn two_arrays_of_a_name_are_refused() {
        let npy = write_npy(&Tensor::from([1i32, 2])).unwrap();
        let mut twice = archive(&[("ab.npy", &npy), ("cd.npy", &npy)]);
        for at in 0..twice.len() - 2 {
            if &twice[at..at + 2] == b"cd" {
                twice[at..at + 2].copy_from_slice(b"ab");
            }
        }
        let with_prefix = [&b"prefix"[..], &twice].concat();
        for bytes in [twice, with_prefix, archive(&[("ab.npy", &npy), ("ab", &npy)])] {
            let error = read_npz_bytes(&bytes).unwrap_err();
            assert_eq!(error.message(), "the npz file is damaged: it has two arrays named ab");
        }
    }

    #[test]
    fn stored_integers_convert_to_their_dtype() {
        let halves = Tensor::from([0x3f80u16]);
        assert_eq!(as_dtype(&halves, DType::BF16).unwrap().dtype(), DType::BF16);
        assert_eq!(as_dtype(&Tensor::from([-1i8]), DType::QI8).unwrap().to_bits::<i8>().unwrap(), [-1]);
        let error = as_dtype(&halves, DType::F32).unwrap_err();
        assert_eq!((error.message(), error.help()), ("the tensor must be f32, got u16", None));
        let error = as_dtype(&Tensor::from([1.0f32]), DType::BF16).unwrap_err();
        assert_eq!(error.help(), Some("npz files store bf16 as u16"));
    }
}
