//! [`Element`]: the Rust types that tensor elements are read and written as.

use std::fmt;
use std::panic::Location;
use std::slice;

use shapeflow_shape_fns::DType;

use crate::error::{Error, ErrorKind, Phase, Result};

/// A Rust type whose slices are the elements of a tensor: `bool`, integers of 8 to 64 bits, `f32`, `f64`.
///
/// Other dtypes are reached through the type of their bits: see [`Tensor::from_bits`](crate::Tensor::from_bits).
pub trait Element:
    sealed::Sealed + Copy + Default + PartialEq + PartialOrd + fmt::Debug + fmt::Display + Send + Sync + 'static
{
    /// The dtype whose elements have this type.
    const DTYPE: DType;
}

mod sealed {
    /// Implemented only for types without padding, of which every bit pattern is a value (`bool`: 0 and 1).
    pub trait Sealed {}
}

macro_rules! elements {
    ($($type:ident $dtype:ident)*) => {$(
        impl sealed::Sealed for $type {}
        impl Element for $type {
            const DTYPE: DType = DType::$dtype;
        }
    )*};
}
elements!(bool Bool u8 U8 i8 I8 u16 U16 i16 I16 u32 U32 i32 I32 u64 U64 i64 I64 f32 F32 f64 F64);

/// The dtype whose Rust type holds the bits of an element of `dtype`, and how many of them an element takes;
/// `None` for strings.
pub(crate) fn storage(dtype: DType) -> Option<(DType, usize)> {
    Some(match dtype {
        DType::F16 | DType::BF16 => (DType::U16, 1),
        DType::QI8 => (DType::I8, 1),
        DType::QU8 => (DType::U8, 1),
        DType::QI16 => (DType::I16, 1),
        DType::QU16 => (DType::U16, 1),
        DType::QI32 => (DType::I32, 1),
        DType::C64 => (DType::F32, 2),
        DType::C128 => (DType::F64, 2),
        DType::String => return None,
        plain => (plain, 1),
    })
}

/// Bytes of one element of a dtype that has a fixed size.
///
/// # Errors
/// `DType`: strings.
pub(crate) fn size_of_element(dtype: DType) -> Result<usize> {
    dtype.size_bytes().ok_or_else(|| {
        Error::new(ErrorKind::DType, Phase::Run, format!("a dtype of fixed size is needed, got {dtype}"))
    })
}

/// That elements of `dtype` are values of `T`.
#[track_caller]
pub(crate) fn check_dtype<T: Element>(dtype: DType) -> Result<()> {
    if T::DTYPE == dtype {
        return Ok(());
    }
    let asked = T::DTYPE;
    let message = format!("the elements are {dtype}, asked for as {asked}");
    Err(Error::new(ErrorKind::DType, Phase::Run, message).or_at(Location::caller()))
}

/// That the bits of an element of `dtype` are values of `T`; how many of them.
#[track_caller]
pub(crate) fn check_bits<T: Element>(dtype: DType) -> Result<usize> {
    let asked = T::DTYPE;
    let message = match storage(dtype) {
        Some((bits, count)) if bits == asked => return Ok(count),
        Some((bits, _)) => format!("the bits of {dtype} elements are {bits}, got {asked}"),
        None => format!("{dtype} elements have no bits of fixed size"),
    };
    Err(Error::new(ErrorKind::DType, Phase::Run, message).or_at(Location::caller()))
}

/// That bytes start where the type of an element's bits may.
pub(crate) fn check_aligned(dtype: DType, bytes: &[u8]) -> Result<()> {
    let align = match storage(dtype).and_then(|(bits, _)| bits.size_bytes()) {
        Some(size) if !bytes.is_empty() => size,
        _ => return Ok(()),
    };
    if bytes.as_ptr().addr().is_multiple_of(align) {
        return Ok(());
    }
    let message =
        format!("{dtype} elements must be aligned to {align} bytes, got address {:p}", bytes.as_ptr());
    Err(Error::new(ErrorKind::Feed, Phase::Run, message))
}

/// Whether every byte is a bool.
pub(crate) fn are_bools(bytes: &[u8]) -> bool {
    bytes.iter().fold(0, |seen, byte| seen | byte) <= 1
}

/// The bytes of a slice of elements.
pub(crate) fn as_bytes<T: Element>(elements: &[T]) -> &[u8] {
    // SAFETY: an element has no padding, so all its bytes are initialised.
    unsafe { slice::from_raw_parts(elements.as_ptr().cast(), size_of_val(elements)) }
}

/// The bytes of a slice of elements, to be written with bytes of valid elements.
///
/// # Safety
/// If `T` is `bool`, only 0 and 1 are written.
pub(crate) unsafe fn as_bytes_mut<T: Element>(elements: &mut [T]) -> &mut [u8] {
    // SAFETY: as in `as_bytes`; any bytes are valid elements, those of bools by the caller's promise.
    unsafe { slice::from_raw_parts_mut(elements.as_mut_ptr().cast(), size_of_val(elements)) }
}

/// The elements that `bytes` hold.
///
/// # Safety
/// `bytes` starts at an address aligned for `T`; if `T` is `bool`, every byte is 0 or 1.
pub(crate) unsafe fn from_bytes<T: Element>(bytes: &[u8]) -> &[T] {
    debug_assert!(T::DTYPE != DType::Bool || are_bools(bytes), "a bool that is neither 0 nor 1");
    debug_assert!(bytes.as_ptr().cast::<T>().is_aligned() && bytes.len().is_multiple_of(size_of::<T>()));
    // SAFETY: alignment and validity are the caller's promise; the length is that of `bytes`, rounded down.
    unsafe { slice::from_raw_parts(bytes.as_ptr().cast(), bytes.len() / size_of::<T>()) }
}

/// The elements that `bytes` hold, to be written.
///
/// # Safety
/// As [`from_bytes`].
pub(crate) unsafe fn from_bytes_mut<T: Element>(bytes: &mut [u8]) -> &mut [T] {
    debug_assert!(T::DTYPE != DType::Bool || are_bools(bytes), "a bool that is neither 0 nor 1");
    debug_assert!(bytes.as_ptr().cast::<T>().is_aligned() && bytes.len().is_multiple_of(size_of::<T>()));
    // SAFETY: as in `from_bytes`, and any `T` is valid bytes.
    unsafe { slice::from_raw_parts_mut(bytes.as_mut_ptr().cast(), bytes.len() / size_of::<T>()) }
}
