//! safetensors files: named tensors, as Hugging Face's crate writes them.

use std::panic::Location;
use std::path::Path;

use safetensors::{Dtype, SafeTensorError, SafeTensors};
use shapeflow_shape_fns::{DType, counted};

use super::raw;
use crate::error::{Error, ErrorKind, Phase, Result, at_caller};
use crate::tensor::{SharedBytes, Tensor, TensorMap};

/// Maps a safetensors file into memory and returns its tensors in the order of their data.
///
/// The tensors share the file's memory: a page of the file is read when an element on it is first used, and several
/// processes share the pages. A tensor whose data is not aligned for its elements is copied, and so are bools.
///
/// Nothing may change or shorten the file while tensors use it: that would change their elements, or end the process.
/// [`read_safetensors_bytes`] copies.
///
/// # Errors
/// `Io`: the file cannot be opened or mapped. `Parse`: the file is not a safetensors file, or is damaged. `DType`: a
/// tensor has elements that this crate lacks.
#[track_caller]
pub fn map_safetensors(path: impl AsRef<Path>) -> Result<TensorMap> {
    let (path, location) = (path.as_ref(), Location::caller());
    let file = SharedBytes::map_file(path).map_err(|error| error.or_at(location))?;
    read_tensors(file.bytes(), |dtype, sizes, range| {
        let data = file.slice(range).expect("the file was checked");
        if cfg!(target_endian = "big") {
            return raw::from_bytes(dtype, sizes, data.bytes(), false);
        }
        Tensor::from_shared(dtype, sizes, &data)
    })
    .map_err(|error| {
        let message = format!("{}: {}", path.display(), error.message());
        Error::new(error.kind(), Phase::Run, message).or_at(location)
    })
}

/// Copies the tensors of a safetensors file from its bytes.
///
/// # Errors
/// As [`map_safetensors`], without `Io`.
#[track_caller]
pub fn read_safetensors_bytes(bytes: &[u8]) -> Result<TensorMap> {
    let location = Location::caller();
    read_tensors(bytes, |dtype, sizes, range| raw::from_bytes(dtype, sizes, &bytes[range], false))
        .map_err(|error| error.or_at(location))
}

/// Writes named tensors to a safetensors file.
///
/// # Errors
/// `Io`: the file cannot be written. `DType`: the format lacks the dtype of a tensor.
#[track_caller]
pub fn write_safetensors<'a>(
    path: impl AsRef<Path>,
    tensors: impl IntoIterator<Item = (&'a str, &'a Tensor)>,
) -> Result<()> {
    let path = path.as_ref();
    at_caller(|| {
        let bytes = write_safetensors_bytes(tensors)?;
        std::fs::write(path, bytes).map_err(|error| Error::new(ErrorKind::Io, Phase::Run, error.to_string()))
    })
    .map_err(|error| error.about(path.display()))
}

/// Returns the bytes of the safetensors file that [`write_safetensors`] writes.
///
/// ```
/// use shapeflow::Tensor;
/// use shapeflow::interchange::{read_safetensors_bytes, write_safetensors_bytes};
///
/// let x = Tensor::from([1.0f32, 2.0]);
/// let bytes = write_safetensors_bytes([("layer.weight", &x)])?;
/// assert_eq!(read_safetensors_bytes(&bytes)?.tensor("layer.weight")?, &x);
/// # Ok::<(), shapeflow::Error>(())
/// ```
///
/// # Errors
/// `DType`: the format lacks the dtype of a tensor. `Io`: two tensors have the same name, or a tensor has the name
/// `__metadata__`, which the format reserves.
#[track_caller]
pub fn write_safetensors_bytes<'a>(
    tensors: impl IntoIterator<Item = (&'a str, &'a Tensor)>,
) -> Result<Vec<u8>> {
    at_caller(|| {
        let mut data = std::collections::BTreeMap::new();
        for (name, tensor) in tensors {
            let Some((file_dtype, _)) = DTYPES.iter().find(|(_, dtype)| *dtype == tensor.dtype()) else {
                let message =
                    format!("safetensors files have no elements of {}, got tensor {name}", tensor.dtype());
                return Err(Error::new(ErrorKind::DType, Phase::Run, message));
            };
            if name == "__metadata__" {
                let message =
                    "the format reserves the name __metadata__, got a tensor of this name".to_string();
                return Err(Error::new(ErrorKind::Io, Phase::Run, message));
            }
            if data.insert(name, (*file_dtype, tensor.sizes(), raw::to_bytes(tensor)?)).is_some() {
                let message = format!("two tensors are named {name}");
                return Err(Error::new(ErrorKind::Io, Phase::Run, message));
            }
        }
        let views = data.iter().map(|(name, (dtype, sizes, bytes))| {
            safetensors::tensor::TensorView::new(*dtype, sizes.to_vec(), bytes).map(|view| (*name, view))
        });
        let views =
            views.collect::<Result<Vec<_>, _>>().expect("a tensor has as many bytes as its sizes need");
        safetensors::serialize(views, None)
            .map_err(|error| Error::new(ErrorKind::Io, Phase::Run, error.to_string()))
    })
}

/// Dtypes of the format and of this crate.
const DTYPES: [(Dtype, DType); 16] = [
    (Dtype::BOOL, DType::Bool),
    (Dtype::I8, DType::I8),
    (Dtype::I16, DType::I16),
    (Dtype::I32, DType::I32),
    (Dtype::I64, DType::I64),
    (Dtype::U8, DType::U8),
    (Dtype::U16, DType::U16),
    (Dtype::U32, DType::U32),
    (Dtype::U64, DType::U64),
    (Dtype::F8_E5M2, DType::F8E5M2),
    (Dtype::F8_E4M3, DType::F8E4M3FN),
    (Dtype::F16, DType::F16),
    (Dtype::BF16, DType::BF16),
    (Dtype::F32, DType::F32),
    (Dtype::F64, DType::F64),
    (Dtype::C64, DType::C64),
];

/// Says what is wrong with a file that does not parse.
fn defect(file: &[u8], error: &SafeTensorError) -> String {
    if file.starts_with(b"PK") {
        return "not a safetensors file, but an archive such as an npz file, which read_npz reads"
            .to_string();
    }
    let Some((length, rest)) = file.split_first_chunk() else {
        let got = file.len();
        return format!(
            "a safetensors file must start with 8 bytes, the length of its header, got {got}",
            got = counted(got, "byte")
        );
    };
    let length = u64::from_le_bytes(*length);
    match error {
        SafeTensorError::HeaderTooLarge | SafeTensorError::InvalidHeaderLength => format!(
            "not a safetensors file, or cut off: its first 8 bytes say that its header has {length}, \
             and {} follow",
            counted(rest.len(), "byte"),
            length = counted(length, "byte")
        ),
        SafeTensorError::MetadataIncompleteBuffer => format!(
            "the tensors of a safetensors file must take all bytes after its header, got {}: the file is cut \
             off, or has other bytes at its end",
            counted((rest.len() as u64).saturating_sub(length), "byte")
        ),
        _ => format!("not a safetensors file, or damaged: {error}"),
    }
}

/// Calls `read` with the dtype, the sizes and the range of bytes of each tensor.
fn read_tensors(
    file: &[u8],
    read: impl Fn(DType, &[usize], std::ops::Range<usize>) -> Result<Tensor>,
) -> Result<TensorMap> {
    let parsed = SafeTensors::deserialize(file)
        .map_err(|error| Error::new(ErrorKind::Parse, Phase::Run, defect(file, &error)))?;
    let mut tensors = Vec::with_capacity(parsed.len());
    for (name, view) in parsed.iter() {
        let Some((_, dtype)) = DTYPES.iter().find(|(dtype, _)| *dtype == view.dtype()) else {
            let message =
                format!("tensor {name} has elements of {:?}, which are not supported", view.dtype());
            return Err(Error::new(ErrorKind::DType, Phase::Run, message));
        };
        let start = view.data().as_ptr().addr() - file.as_ptr().addr();
        let range = if view.data().is_empty() { 0..0 } else { start..start + view.data().len() };
        tensors.push((start, name.to_string(), read(*dtype, view.shape(), range)?));
    }
    tensors.sort_by(|left, right| (left.0, &left.1).cmp(&(right.0, &right.1)));
    Ok(tensors.into_iter().map(|(_, name, tensor)| (name, tensor)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_tensors_are_read_back() {
        let tensors: Vec<(&str, Tensor)> = DTYPES
            .iter()
            .map(|(_, dtype)| {
                let size = crate::tensor::size_of_element(*dtype).unwrap();
                let bytes: Vec<u8> = (0..6 * size as u8).map(|byte| byte % 2).collect();
                (dtype.name(), raw::from_bytes(*dtype, &[2, 3], &bytes, false).unwrap())
            })
            .chain([
                ("empty", Tensor::zeros(DType::F32, &[0, 4]).unwrap()),
                ("scalar", Tensor::scalar(1.5f64)),
            ])
            .collect();
        let bytes = write_safetensors_bytes(tensors.iter().map(|(name, tensor)| (*name, tensor))).unwrap();
        let path = std::env::temp_dir().join(format!("shapeflow_{}.safetensors", std::process::id()));
        std::fs::write(&path, &bytes).unwrap();
        for map in [read_safetensors_bytes(&bytes).unwrap(), map_safetensors(&path).unwrap()] {
            assert_eq!(map.len(), tensors.len());
            for (name, tensor) in &tensors {
                assert_eq!(map.tensor(name).unwrap(), tensor, "{name}");
            }
        }
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn mapped_tensors_lie_in_the_file() {
        let [first, second] = [Tensor::from([1.0f32, 2.0]), Tensor::from([3.0f32, 4.0, 5.0])];
        let path = std::env::temp_dir().join(format!("shapeflow-mapped-{}.safetensors", std::process::id()));
        write_safetensors(&path, [("first", &first), ("second", &second)]).unwrap();
        let tensors = map_safetensors(&path).unwrap();
        let address = |name: &str| tensors.get(name).unwrap().as_slice::<f32>().unwrap().as_ptr() as usize;
        // Both tensors have one dtype, so the file has them in the order of their names, without a gap.
        assert_eq!(address("second") - address("first"), 2 * size_of::<f32>());
        assert_eq!((tensors.get("first"), tensors.get("second")), (Some(&first), Some(&second)));
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn damaged_files_are_refused() {
        let tensor = Tensor::scalar(1.0f32);
        let bytes = write_safetensors_bytes([("x", &tensor)]).unwrap();
        for end in 0..bytes.len() {
            assert_eq!(read_safetensors_bytes(&bytes[..end]).unwrap_err().kind(), ErrorKind::Parse);
        }
        let strings = Tensor::from_strings(&[1], &["a"]).unwrap();
        assert_eq!(write_safetensors_bytes([("s", &strings)]).unwrap_err().kind(), ErrorKind::DType);
        assert_eq!(
            write_safetensors_bytes([("x", &tensor), ("x", &tensor)]).unwrap_err().kind(),
            ErrorKind::Io
        );
    }
}
