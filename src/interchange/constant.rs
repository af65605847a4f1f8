//! Converts the tensors of constants to protobuf messages and back.

use prost::bytes::Bytes;
use prost::encoding::decode_varint;
use shapeflow_shape_fns::{DType, counted};

use super::limits::Budget;
use super::proto::{DimProto, TensorProto, TensorShapeProto};
use super::raw;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::op::dtype_number::{dtype_of, number_of, text_of};
use crate::tensor::{Element, Tensor};

/// Reads a tensor from a message. The message holds the elements as bytes (`tensor_content`) or as values of the field
/// of their dtype, such as `float_val`. If this field has fewer values than the shape has elements, its last value
/// repeats; if the field is empty, all elements are zero.
///
/// # Errors
/// The dtype is unsupported, a size is unknown or too large, or the elements do not fit the shape.
pub(super) fn from_proto(proto: &TensorProto, budget: &mut Budget) -> Result<Tensor> {
    let Some(dtype) = dtype_of(proto.dtype).filter(|dtype| *dtype != DType::Variant) else {
        return refuse(ErrorKind::DType, format!("a constant of {} is not supported", text_of(proto.dtype)));
    };
    let sizes = sizes_of(proto.tensor_shape.as_ref(), budget)?;
    let count = sizes.iter().try_fold(1u64, |count, &size| count.checked_mul(size as u64));
    let element = dtype.size_bytes().unwrap_or(size_of::<usize>()) as u64;
    let bytes = count.and_then(|count| count.checked_mul(element));
    let (Some(count), Some(bytes)) = (count, bytes) else {
        return refuse(ErrorKind::Memory, format!("a constant of sizes {sizes:?} has too many elements"));
    };
    budget.constant(bytes)?;
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    if dtype == DType::String {
        return strings_from_proto(proto, &sizes, count, budget);
    }
    if !proto.tensor_content.is_empty() {
        if proto.tensor_content.len() as u64 != bytes {
            let got = proto.tensor_content.len();
            return refuse(
                ErrorKind::Parse,
                format!(
                    "the content of a constant {dtype}{sizes:?} must have {bytes}, got {got}",
                    bytes = counted(bytes, "byte")
                ),
            );
        }
        return raw::from_bytes(dtype, &sizes, &proto.tensor_content, false);
    }
    let ints = || proto.int_val.iter();
    match dtype {
        DType::F32 => from_values(dtype, &sizes, count, 1, &proto.float_val),
        DType::F64 => from_values(dtype, &sizes, count, 1, &proto.double_val),
        DType::C64 => from_values(dtype, &sizes, count, 2, &proto.scomplex_val),
        DType::C128 => from_values(dtype, &sizes, count, 2, &proto.dcomplex_val),
        DType::I64 => from_values(dtype, &sizes, count, 1, &proto.int64_val),
        DType::U32 => from_values(dtype, &sizes, count, 1, &proto.uint32_val),
        DType::U64 => from_values(dtype, &sizes, count, 1, &proto.uint64_val),
        DType::Bool => from_values(dtype, &sizes, count, 1, &proto.bool_val),
        DType::I32 | DType::QI32 => from_values(dtype, &sizes, count, 1, &proto.int_val),
        DType::F8E5M2 | DType::F8E4M3FN => from_values(dtype, &sizes, count, 1, &proto.float8_val),
        DType::I4 | DType::U4 => {
            let bytes: Vec<u8> = ints().map(|value| *value as u8).collect();
            let whole = from_values(DType::U8, &sizes, count, 1, &bytes)?;
            raw::from_bytes(dtype, &sizes, whole.view().bytes(), false)
        }
        DType::I8 | DType::QI8 => {
            from_values(dtype, &sizes, count, 1, &ints().map(|value| *value as i8).collect::<Vec<_>>())
        }
        DType::U8 | DType::QU8 => {
            from_values(dtype, &sizes, count, 1, &ints().map(|value| *value as u8).collect::<Vec<_>>())
        }
        DType::I16 | DType::QI16 => {
            from_values(dtype, &sizes, count, 1, &ints().map(|value| *value as i16).collect::<Vec<_>>())
        }
        DType::U16 | DType::QU16 => {
            from_values(dtype, &sizes, count, 1, &ints().map(|value| *value as u16).collect::<Vec<_>>())
        }
        _ => {
            let halves: Vec<u16> = proto.half_val.iter().map(|value| *value as u16).collect();
            from_values(dtype, &sizes, count, 1, &halves)
        }
    }
}

fn refuse<T>(kind: ErrorKind, message: String) -> Result<T> {
    Err(Error::new(kind, Phase::Build, message))
}

fn sizes_of(shape: Option<&TensorShapeProto>, budget: &Budget) -> Result<Vec<usize>> {
    let Some(shape) = shape else { return Ok(Vec::new()) };
    if shape.unknown_rank {
        return refuse(ErrorKind::Shape, "the shape of a constant must be known, got ?".to_string());
    }
    budget.rank(shape.dim.len())?;
    let size = |dim: &DimProto| match usize::try_from(dim.size) {
        Ok(size) => Ok(size),
        Err(_) => refuse(ErrorKind::Shape, format!("a constant's size must be known, got {}", dim.size)),
    };
    shape.dim.iter().map(size).collect()
}

/// Builds a tensor of `count` elements from the values of the field of its dtype. An element takes `values_per_element`
/// values: 2 for complex dtypes, else 1.
fn from_values<T: Element>(
    dtype: DType,
    sizes: &[usize],
    count: usize,
    values_per_element: usize,
    values: &[T],
) -> Result<Tensor> {
    let wanted = count.saturating_mul(values_per_element);
    let got = values.len();
    if got > wanted {
        let message = format!(
            "a constant {dtype}{sizes:?} must have at most {wanted}, got {got}",
            wanted = counted(wanted, "value")
        );
        return refuse(ErrorKind::Parse, message);
    }
    if !got.is_multiple_of(values_per_element) {
        let message = format!(
            "a constant {dtype}{sizes:?} must have {values_per_element} an element, got {got}",
            values_per_element = counted(values_per_element, "value")
        );
        return refuse(ErrorKind::Parse, message);
    }
    if values.len() == wanted {
        return Tensor::from_bits(dtype, sizes, values);
    }
    let last = values.len().checked_sub(values_per_element).and_then(|start| values.get(start..));
    let Some(last) = last else { return Tensor::zeros(dtype, sizes) };
    let mut all: Vec<T> = Vec::new();
    if all.try_reserve_exact(wanted).is_err() {
        return refuse(ErrorKind::Memory, format!("memory for a constant {dtype}{sizes:?} was refused"));
    }
    all.extend_from_slice(values);
    while all.len() < wanted {
        all.extend_from_slice(last);
    }
    Tensor::from_bits(dtype, sizes, &all)
}

/// Builds a tensor of `count` strings from a message.
fn strings_from_proto(
    proto: &TensorProto,
    sizes: &[usize],
    count: usize,
    budget: &mut Budget,
) -> Result<Tensor> {
    let mut strings: Vec<Bytes> = Vec::new();
    if proto.tensor_content.is_empty() {
        if proto.string_val.len() > count {
            let got = proto.string_val.len();
            let message = format!(
                "a constant string{sizes:?} must have at most {count}, got {got}",
                count = counted(count, "value")
            );
            return refuse(ErrorKind::Parse, message);
        }
        let last = proto.string_val.last().cloned().unwrap_or_default();
        let repeated = (count - proto.string_val.len()) as u64;
        budget.constant(repeated.saturating_mul(last.len() as u64))?;
        if strings.try_reserve_exact(count).is_err() {
            return refuse(ErrorKind::Memory, format!("memory for a constant string{sizes:?} was refused"));
        }
        strings.extend_from_slice(&proto.string_val);
        strings.resize(count, last);
        return Tensor::from_strings(sizes, &strings);
    }
    // The content is the lengths of all strings, followed by the bytes of all strings.
    let whole = proto.tensor_content.clone();
    let mut rest = &whole[..];
    let damaged = || {
        let message = format!("the content of a constant string{sizes:?} is damaged");
        Error::new(ErrorKind::Parse, Phase::Build, message)
    };
    let mut lengths = Vec::new();
    for _ in 0..count {
        let length = decode_varint(&mut rest).ok().and_then(|length| usize::try_from(length).ok());
        lengths.push(length.ok_or_else(damaged)?);
    }
    for length in lengths {
        let (string, after) = rest.split_at_checked(length).ok_or_else(damaged)?;
        strings.push(whole.slice_ref(string));
        rest = after;
    }
    if !rest.is_empty() {
        return Err(damaged());
    }
    Tensor::from_strings(sizes, &strings)
}

/// Writes a tensor as a message.
///
/// # Errors
/// `DType`: the elements are tensor lists.
pub(super) fn to_proto(tensor: &Tensor) -> Result<TensorProto> {
    let dim = |size: &usize| DimProto { size: *size as i64, name: String::new() };
    let mut proto = TensorProto {
        dtype: number_of(tensor.dtype()),
        tensor_shape: Some(TensorShapeProto {
            dim: tensor.sizes().iter().map(dim).collect(),
            unknown_rank: false,
        }),
        ..TensorProto::default()
    };
    if tensor.dtype() == DType::String {
        proto.string_val = tensor.as_strings()?.iter().map(Bytes::copy_from_slice).collect();
        return Ok(proto);
    }
    // A scalar goes to the field of its dtype, where people can read it in protobuf text.
    match (tensor.dtype(), tensor.sizes()) {
        (DType::F32, []) => proto.float_val = tensor.to_vec()?,
        (DType::F64, []) => proto.double_val = tensor.to_vec()?,
        (DType::I32, []) => proto.int_val = tensor.to_vec()?,
        (DType::I64, []) => proto.int64_val = tensor.to_vec()?,
        (DType::Bool, []) => proto.bool_val = tensor.to_vec()?,
        _ => proto.tensor_content = raw::to_bytes(tensor)?.into(),
    }
    Ok(proto)
}

#[cfg(test)]
mod tests {
    use super::super::limits::Limits;
    use super::*;

    fn shaped(dtype: DType, sizes: &[i64]) -> TensorProto {
        let dim = sizes.iter().map(|&size| DimProto { size, name: String::new() }).collect();
        TensorProto {
            dtype: number_of(dtype),
            tensor_shape: Some(TensorShapeProto { dim, unknown_rank: false }),
            ..TensorProto::default()
        }
    }

    fn read(proto: &TensorProto) -> Result<Tensor> {
        from_proto(proto, &mut Budget::new(&Limits { constant_bytes: 1 << 20, ..Limits::default() }))
    }

    #[test]
    fn tensors_of_every_dtype_read_back() {
        for dtype in DType::all().filter(|dtype| *dtype != DType::Variant) {
            for sizes in [&[][..], &[2, 3], &[0, 4]] {
                let tensor = match dtype {
                    DType::String => {
                        let count = sizes.iter().product();
                        let strings: Vec<String> = (0..count).map(|index| format!("s{index}")).collect();
                        Tensor::from_strings(sizes, &strings).unwrap()
                    }
                    _ => {
                        let count: usize = sizes.iter().product::<usize>() * size_of_element(dtype);
                        let bytes: Vec<u8> = (0..count).map(|index| index as u8).collect();
                        raw::from_bytes(dtype, sizes, &bytes, false).unwrap()
                    }
                };
                assert_eq!(read(&to_proto(&tensor).unwrap()).unwrap(), tensor, "{dtype}");
            }
        }
    }

    fn size_of_element(dtype: DType) -> usize {
        dtype.size_bytes().unwrap()
    }

    #[test]
    fn short_typed_fields_repeat_their_last_element() {
        let floats = TensorProto { float_val: vec![1.0, 2.0], ..shaped(DType::F32, &[4]) };
        assert_eq!(read(&floats).unwrap().to_vec::<f32>().unwrap(), [1.0, 2.0, 2.0, 2.0]);
        let complex = TensorProto { scomplex_val: vec![1.0, 2.0], ..shaped(DType::C64, &[2]) };
        assert_eq!(read(&complex).unwrap().to_bits::<f32>().unwrap(), [1.0, 2.0, 1.0, 2.0]);
        let halves = TensorProto { half_val: vec![0x3c00], ..shaped(DType::F16, &[2]) };
        assert_eq!(read(&halves).unwrap().to_bits::<u16>().unwrap(), [0x3c00, 0x3c00]);
        let quantized = TensorProto { int_val: vec![-3], ..shaped(DType::QI8, &[]) };
        assert_eq!(read(&quantized).unwrap().to_bits::<i8>().unwrap(), [-3]);
        assert_eq!(read(&shaped(DType::I64, &[2])).unwrap().to_vec::<i64>().unwrap(), [0, 0]);
        let strings = TensorProto { string_val: vec!["a".into()], ..shaped(DType::String, &[2]) };
        assert_eq!(read(&strings).unwrap().as_strings().unwrap().at(1), b"a");
        let content =
            TensorProto { tensor_content: Bytes::from_static(b"\x01\x02abc"), ..shaped(DType::String, &[2]) };
        assert_eq!(read(&content).unwrap().as_strings().unwrap().at(1), b"bc");
    }

    #[test]
    fn invalid_constants_are_refused() {
        for (proto, message) in [
            (shaped(DType::F32, &[1 << 62]), "too many elements"),
            (shaped(DType::F32, &[1 << 40]), "at most 1048576 bytes"),
            (shaped(DType::F32, &[-1]), "must be known, got -1"),
            (TensorProto { dtype: 20, ..TensorProto::default() }, "DT_RESOURCE"),
            (TensorProto { float_val: vec![1.0; 3], ..shaped(DType::F32, &[2]) }, "at most 2 values, got 3"),
            (
                TensorProto { tensor_content: Bytes::from_static(b"abc"), ..shaped(DType::F32, &[1]) },
                "must have 4 bytes, got 3",
            ),
            (
                TensorProto { tensor_content: Bytes::from_static(b"\x7fa"), ..shaped(DType::String, &[1]) },
                "damaged",
            ),
            (
                TensorProto { tensor_content: Bytes::from_static(b"\x01ab"), ..shaped(DType::String, &[1]) },
                "damaged",
            ),
        ] {
            let error = read(&proto).unwrap_err();
            assert!(error.message().contains(message), "{}", error.message());
        }
    }
}
