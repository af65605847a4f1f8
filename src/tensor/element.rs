//! [`Element`]: the Rust types of tensor elements, and their conversion to and from bytes.

use std::fmt;
use std::panic::Location;
use std::slice;

use shapeflow_shape_fns::DType;

use crate::error::{Error, ErrorKind, Phase, Result};

/// A Rust type of tensor elements: `bool`, integers of 8 to 64 bits, `f32`, `f64`.
///
/// Elements of other dtypes are read and written as their bits: see [`Tensor::from_bits`](crate::Tensor::from_bits).
pub trait Element:
    sealed::Sealed + Copy + Default + PartialEq + PartialOrd + fmt::Debug + fmt::Display + Send + Sync + 'static
{
    /// The dtype whose elements have this type.
    const DTYPE: DType;
}

mod sealed {
    /// Implemented only for types without padding for which every bit pattern is a value (`bool`: 0 and 1).
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

/// Returns the dtype of the values that hold the bits of an element of `dtype`, and the number of such values per
/// element; `None` for strings and variants.
pub(crate) fn storage(dtype: DType) -> Option<(DType, usize)> {
    Some(match dtype {
        DType::F16 | DType::BF16 => (DType::U16, 1),
        DType::QI8 | DType::I4 => (DType::I8, 1),
        DType::QU8 | DType::U4 | DType::F8E5M2 | DType::F8E4M3FN => (DType::U8, 1),
        DType::QI16 => (DType::I16, 1),
        DType::QU16 => (DType::U16, 1),
        DType::QI32 => (DType::I32, 1),
        DType::C64 => (DType::F32, 2),
        DType::C128 => (DType::F64, 2),
        DType::String | DType::Variant => return None,
        plain => (plain, 1),
    })
}

/// Returns the function that maps a byte of another program to the byte that a tensor holds, for the dtypes whose
/// elements have fewer values than a byte: a bool is true if its byte is not 0, and an integer of 4 bits is in the low
/// bits of its byte.
pub(crate) fn normalized_byte(dtype: DType) -> Option<fn(u8) -> u8> {
    match dtype {
        DType::Bool => Some(|byte| u8::from(byte != 0)),
        DType::I4 => Some(|byte| (((byte << 4) as i8) >> 4) as u8),
        DType::U4 => Some(|byte| byte & 0xf),
        _ => None,
    }
}

/// Returns the size of one element in bytes.
///
/// # Errors
/// `DType`: `dtype` is string or variant.
pub(crate) fn size_of_element(dtype: DType) -> Result<usize> {
    dtype.size_bytes().ok_or_else(|| {
        Error::new(ErrorKind::DType, Phase::Run, format!("the dtype must have a fixed size, got {dtype}"))
    })
}

/// Checks that elements of `dtype` are values of `T`.
#[track_caller]
pub(crate) fn check_dtype<T: Element>(dtype: DType) -> Result<()> {
    if T::DTYPE == dtype {
        return Ok(());
    }
    let message = format!("the element type must be {dtype}, the tensor's dtype, got {}", T::DTYPE);
    Err(Error::new(ErrorKind::DType, Phase::Run, message).or_at(Location::caller()))
}

/// Checks that the bits of an element of `dtype` are values of `T`. Returns the number of values per element.
#[track_caller]
pub(crate) fn check_bits<T: Element>(dtype: DType) -> Result<usize> {
    let got = T::DTYPE;
    let message = match storage(dtype) {
        Some((bits, count)) if bits == got => return Ok(count),
        Some((bits, _)) => format!("the bits of {dtype} elements must be given as {bits}, got {got}"),
        None => format!("elements given as bits must have a dtype of fixed size, got {dtype}"),
    };
    Err(Error::new(ErrorKind::DType, Phase::Run, message).or_at(Location::caller()))
}

/// Checks that `T` is the unsigned integer that is as wide as the values that hold the bits of an element of `dtype`.
/// Bools have no such integer, because most integers are not a bool.
#[track_caller]
pub(crate) fn check_unsigned<T: Element>(dtype: DType) -> Result<()> {
    let unsigned = match storage(dtype).map(|(bits, _)| (bits, bits.size_bytes())) {
        None | Some((DType::Bool, _)) => None,
        Some((_, Some(1))) => Some(DType::U8),
        Some((_, Some(2))) => Some(DType::U16),
        Some((_, Some(4))) => Some(DType::U32),
        Some(_) => Some(DType::U64),
    };
    if unsigned == Some(T::DTYPE) {
        return Ok(());
    }
    let message = format!("the bits of {dtype} elements must be an unsigned integer, got {}", T::DTYPE);
    Err(Error::new(ErrorKind::DType, Phase::Run, message).or_at(Location::caller()))
}

/// Checks that the address of `bytes` is aligned for the type that holds the bits of an element.
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

/// Returns whether every byte is a valid bool, 0 or 1.
pub(crate) fn are_bools(bytes: &[u8]) -> bool {
    bytes.iter().fold(0, |seen, byte| seen | byte) <= 1
}

/// Returns the bytes of a slice of elements.
pub(crate) fn as_bytes<T: Element>(elements: &[T]) -> &[u8] {
    // SAFETY: an element has no padding, so all its bytes are initialized.
    unsafe { slice::from_raw_parts(elements.as_ptr().cast(), size_of_val(elements)) }
}

/// Returns the bytes of a slice of elements for writing.
///
/// # Safety
/// If `T` is `bool`, the caller writes only 0 and 1.
pub(crate) unsafe fn as_bytes_mut<T: Element>(elements: &mut [T]) -> &mut [u8] {
    // SAFETY: as in `as_bytes`. Any bytes are valid elements; for bools the caller guarantees valid bytes.
    unsafe { slice::from_raw_parts_mut(elements.as_mut_ptr().cast(), size_of_val(elements)) }
}

/// Returns the elements that `bytes` hold.
///
/// # Safety
/// `bytes` starts at an address aligned for `T`; if `T` is `bool`, every byte is 0 or 1.
pub(crate) unsafe fn from_bytes<T: Element>(bytes: &[u8]) -> &[T] {
    debug_assert!(T::DTYPE != DType::Bool || are_bools(bytes), "a bool that is neither 0 nor 1");
    debug_assert!(bytes.as_ptr().cast::<T>().is_aligned() && bytes.len().is_multiple_of(size_of::<T>()));
    // SAFETY: the caller guarantees alignment and validity. The elements take at most `bytes.len()` bytes.
    unsafe { slice::from_raw_parts(bytes.as_ptr().cast(), bytes.len() / size_of::<T>()) }
}

/// Returns the elements that `bytes` hold for writing.
///
/// # Safety
/// As [`from_bytes`].
pub(crate) unsafe fn from_bytes_mut<T: Element>(bytes: &mut [u8]) -> &mut [T] {
    debug_assert!(T::DTYPE != DType::Bool || are_bools(bytes), "a bool that is neither 0 nor 1");
    debug_assert!(bytes.as_ptr().cast::<T>().is_aligned() && bytes.len().is_multiple_of(size_of::<T>()));
    // SAFETY: as in `from_bytes`, and the bytes of any `T` are valid bytes.
    unsafe { slice::from_raw_parts_mut(bytes.as_mut_ptr().cast(), bytes.len() / size_of::<T>()) }
}
