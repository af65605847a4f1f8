//! `serialize_tensor` and `parse_tensor`: a tensor as a string, in the form of TensorFlow's message `TensorProto`.

use shapeflow_shape_fns::{Attribute, DType};

use super::params::{check_strings, scalar, value_error};
use super::wire::{Fields, WireValue, varint};
use crate::dtype;
use crate::error::Result;
use crate::graph::Value;
use crate::op::dtype_number::{dtype_of, number_of, text_of};
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::ops::row_major::RowMajor;
use crate::shape_fns;
use crate::tensor::{StringsBuilder, TensorView, normalized_byte, reserved_vec, size_of_element};

/// Numbers of fields of the message.
mod field {
    pub(super) const DTYPE: u64 = 1;
    pub(super) const SHAPE: u64 = 2;
    pub(super) const CONTENT: u64 = 4;
    pub(super) const FLOAT: u64 = 5;
    pub(super) const DOUBLE: u64 = 6;
    pub(super) const INT: u64 = 7;
    pub(super) const STRING: u64 = 8;
    pub(super) const COMPLEX: u64 = 9;
    pub(super) const INT64: u64 = 10;
    pub(super) const BOOL: u64 = 11;
    pub(super) const DOUBLE_COMPLEX: u64 = 12;
    pub(super) const HALF: u64 = 13;
    pub(super) const UINT32: u64 = 16;
    pub(super) const UINT64: u64 = 17;
    pub(super) const FLOAT8: u64 = 18;
}

impl<'g> Value<'g> {
    /// Writes the tensor, with its dtype and its shape, to one string: TensorFlow's message `TensorProto`.
    ///
    /// `[..] -> string[]`, bool, integers, floats, complex and strings. As TensorFlow's `SerializeTensor`
    /// (`tf.io.serialize_tensor`). Runs on the host.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let string = g.constant([1i16, 2])?.serialize_tensor()?;
    /// let again = string.parse_tensor(DType::I16)?;
    /// let [string, again] = g.compile([string, again])?.run(&[])?;
    /// assert_eq!(string.as_strings()?.at(0), b"\x08\x05\x12\x04\x12\x02\x08\x02\x22\x04\x01\0\x02\0");
    /// assert_eq!(again, Tensor::from([1i16, 2]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The dtype is not supported.
    #[track_caller]
    pub fn serialize_tensor(self) -> Result<Value<'g>> {
        self.graph().op(&SERIALIZE).data(self).finish()
    }

    /// Reads a tensor from a string: TensorFlow's message `TensorProto`, such as [`Value::serialize_tensor`] writes.
    ///
    /// `string[] -> dtype[..]`; the string holds the shape, which may have any rank. A message with fewer elements than
    /// the shape repeats the last one, or has zeros if there is none. As TensorFlow's `ParseTensor`
    /// (`tf.io.parse_tensor`). Runs on the host.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let string = g.constant([[0.5f32, 1.5]])?.serialize_tensor()?;
    /// let rows = string.parse_tensor(DType::F32)?;
    /// let [rows] = g.compile(rows)?.run(&[])?;
    /// assert_eq!(rows, Tensor::from([[0.5f32, 1.5]]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// `self` is not a scalar string, or `dtype` is variant. The run fails if the string is not such a message, or the
    /// tensor has another dtype.
    #[track_caller]
    pub fn parse_tensor(self, dtype: DType) -> Result<Value<'g>> {
        self.graph().op(&PARSE).data(self).attr("out_type", dtype).finish()
    }
}

pub(crate) static SERIALIZE: OpDef = OpDef::host("serialize_tensor", serialize)
    .operands(&[Operand::Data("tensor")])
    .shape_fn(shape_fns::string::serialize_tensor)
    .dtype_rule(|dtypes, _| match dtypes.first() {
        Some(dtype) if !(matches!(dtype, DType::Bool | DType::String) || dtype.is_numeric()) => {
            dtype::refuse(format!("tensor must be bool, an integer, a float, complex or string, got {dtype}"))
        }
        _ => Ok(vec![DType::String]),
    })
    .tensorflow(&[TfOp::new("SerializeTensor")]);

pub(crate) static PARSE: OpDef = OpDef::host("parse_tensor", parse)
    .attrs(&[Attribute::dtype("out_type")])
    .operands(&[Operand::Data("serialized")])
    .shape_fn(shape_fns::string::parse_tensor)
    .dtype_rule(|dtypes, attrs| {
        check_strings(dtypes, 1)?;
        match attrs.dtype("out_type") {
            DType::Variant => dtype::refuse("out_type must not be variant".to_string()),
            dtype => Ok(vec![dtype]),
        }
    })
    .tensorflow(&[TfOp::new("ParseTensor")]);

/// Every op of the file.
pub(crate) static ALL: &[&OpDef] = &[&PARSE, &SERIALIZE];

fn serialize(cx: &mut HostCx<'_>) -> Result<()> {
    let x = RowMajor::new(cx.input(0)?)?;
    let message = message_of(&x.view())?;
    let mut strings = StringsBuilder::new();
    strings.push(&message)?;
    cx.set_output(0, strings.finish(&[])?)
}

/// Appends an integer of 7 bits a byte.
fn put_varint(message: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        message.push(value as u8 | 0x80);
        value >>= 7;
    }
    message.push(value as u8);
}

/// Appends the head of a field of `length` bytes.
fn put_head(message: &mut Vec<u8>, number: u64, length: usize) {
    put_varint(message, (number << 3) | 2);
    put_varint(message, length as u64);
}

fn put_bytes(message: &mut Vec<u8>, number: u64, bytes: &[u8]) {
    put_head(message, number, bytes.len());
    message.extend_from_slice(bytes);
}

/// Writes a tensor of row-major elements as a message. A message omits a number that is 0 and bytes that are empty.
fn message_of(x: &TensorView<'_>) -> Result<Vec<u8>> {
    let bytes = if x.dtype() == DType::String { x.as_strings()?.byte_len() } else { x.bytes().len() };
    // A size takes at most 14 bytes, and the head of a string at most 11.
    let mut message = reserved_vec(bytes.saturating_add(32 + 14 * x.sizes().len()))?;
    put_varint(&mut message, field::DTYPE << 3);
    put_varint(&mut message, u64::from(number_of(x.dtype()).unsigned_abs()));
    let mut shape = Vec::new();
    for size in x.sizes() {
        let mut dim = Vec::new();
        if *size > 0 {
            put_varint(&mut dim, 1 << 3);
            put_varint(&mut dim, *size as u64);
        }
        put_bytes(&mut shape, 2, &dim);
    }
    put_bytes(&mut message, field::SHAPE, &shape);
    if x.dtype() == DType::String {
        x.as_strings()?.iter().for_each(|string| put_bytes(&mut message, field::STRING, string));
    } else if bytes > 0 {
        put_head(&mut message, field::CONTENT, bytes);
        let start = message.len();
        message.extend_from_slice(x.bytes());
        in_byte_order(&mut message[start..], x.dtype())?;
    }
    Ok(message)
}

/// Turns little-endian elements into elements of this machine, or back.
fn in_byte_order(bytes: &mut [u8], dtype: DType) -> Result<()> {
    if cfg!(target_endian = "big") {
        let size = size_of_element(dtype)?;
        let unit = if dtype.is_complex() { size / 2 } else { size };
        bytes.chunks_exact_mut(unit.max(1)).for_each(<[u8]>::reverse);
    }
    Ok(())
}

/// A message.
#[derive(Default)]
struct Message<'a> {
    dtype: u64,
    sizes: Vec<usize>,
    content: &'a [u8],
    strings: Vec<&'a [u8]>,
    /// The numbers of the field of the wanted dtype, as little-endian bytes.
    numbers: Vec<u8>,
}

/// Returns the field with the numbers of a dtype, and the size of a number in bytes.
fn number_field(dtype: DType) -> Option<(u64, usize)> {
    Some(match dtype {
        DType::F32 => (field::FLOAT, 4),
        DType::F64 => (field::DOUBLE, 8),
        DType::C64 => (field::COMPLEX, 4),
        DType::C128 => (field::DOUBLE_COMPLEX, 8),
        DType::I64 => (field::INT64, 8),
        DType::U32 => (field::UINT32, 4),
        DType::U64 => (field::UINT64, 8),
        DType::Bool => (field::BOOL, 1),
        DType::F16 | DType::BF16 => (field::HALF, 2),
        DType::F8E5M2 | DType::F8E4M3FN => (field::FLOAT8, 1),
        DType::I32 | DType::QI32 => (field::INT, 4),
        DType::I16 | DType::U16 | DType::QI16 | DType::QU16 => (field::INT, 2),
        DType::I8 | DType::U8 | DType::QI8 | DType::QU8 | DType::I4 | DType::U4 => (field::INT, 1),
        _ => return None,
    })
}

/// Reads the sizes of a shape; `None` if it is damaged or a size is negative.
fn sizes_of(shape: &[u8]) -> Option<Vec<usize>> {
    let mut sizes = Vec::new();
    for entry in Fields::new(shape) {
        if let (2, WireValue::Bytes(dim)) = entry? {
            let mut size = 0;
            for entry in Fields::new(dim) {
                if let (1, WireValue::Varint(value)) = entry? {
                    size = value;
                }
            }
            sizes.push(usize::try_from(size.cast_signed()).ok()?);
        }
    }
    Some(sizes)
}

impl<'a> Message<'a> {
    /// Reads a message with numbers for elements of `dtype`; `None` if the message is damaged.
    fn read(bytes: &'a [u8], dtype: DType) -> Option<Message<'a>> {
        let mut message = Message::default();
        let numbers = number_field(dtype);
        for entry in Fields::new(bytes) {
            match entry? {
                (field::DTYPE, WireValue::Varint(number)) => message.dtype = number,
                (field::SHAPE, WireValue::Bytes(shape)) => message.sizes.extend(sizes_of(shape)?),
                (field::CONTENT, WireValue::Bytes(content)) => message.content = content,
                (field::STRING, WireValue::Bytes(string)) => message.strings.push(string),
                (number, value) => {
                    if let Some((_, size)) = numbers.filter(|(wanted, _)| *wanted == number) {
                        message.add_numbers(value, number, size)?;
                    }
                }
            }
        }
        Some(message)
    }

    /// Appends the number, or the packed numbers, of a field; `None` if it is damaged.
    fn add_numbers(&mut self, value: WireValue<'a>, number: u64, size: usize) -> Option<()> {
        let is_fixed = matches!(
            number,
            field::FLOAT | field::DOUBLE | field::COMPLEX | field::DOUBLE_COMPLEX | field::FLOAT8
        );
        match value {
            WireValue::Bytes(packed) if is_fixed => {
                if !packed.len().is_multiple_of(size) {
                    return None;
                }
                self.numbers.extend_from_slice(packed);
            }
            WireValue::Bytes(mut packed) => {
                while !packed.is_empty() {
                    let number = varint(&mut packed)?;
                    self.numbers.extend_from_slice(&number.to_le_bytes()[..size]);
                }
            }
            WireValue::Varint(number) if !is_fixed => {
                self.numbers.extend_from_slice(&number.to_le_bytes()[..size]);
            }
            WireValue::Fixed32(bits) if is_fixed && size == 4 => {
                self.numbers.extend_from_slice(&bits.to_le_bytes());
            }
            WireValue::Fixed64(bits) if is_fixed && size == 8 => {
                self.numbers.extend_from_slice(&bits.to_le_bytes());
            }
            // A field of another kind is an unknown field.
            _ => {}
        }
        Some(())
    }

    /// Returns the strings of the content: their lengths, then their bytes. `None` if the content is damaged.
    fn content_strings(&self, count: usize) -> Option<Vec<&'a [u8]>> {
        let mut rest = self.content;
        // Each length takes at least one byte.
        if count > rest.len() {
            return None;
        }
        let lengths: Option<Vec<u64>> = (0..count).map(|_| varint(&mut rest)).collect();
        let mut strings = Vec::with_capacity(count);
        for length in lengths? {
            let (string, after) = rest.split_at_checked(usize::try_from(length).ok()?)?;
            strings.push(string);
            rest = after;
        }
        rest.is_empty().then_some(strings)
    }
}

fn parse(cx: &mut HostCx<'_>) -> Result<()> {
    let dtype = cx.attrs().dtype("out_type");
    let damaged = || value_error(format!("serialized must be the message of a tensor of {dtype}"));
    let bytes = scalar(cx, 0)?;
    let message = Message::read(bytes, dtype).ok_or_else(damaged)?;
    let number = i32::try_from(message.dtype).unwrap_or(-1);
    if number != number_of(dtype) {
        let got = dtype_of(number).filter(|_| number < 100);
        let got = got.map_or_else(|| text_of(number), |dtype| dtype.to_string());
        return Err(value_error(format!("serialized must be a tensor of {dtype}, got one of {got}")));
    }
    let count = message.sizes.iter().try_fold(1usize, |count, size| count.checked_mul(*size));
    let count = count.ok_or_else(damaged)?;
    if dtype == DType::String {
        let strings = match message.content.is_empty() {
            false => message.content_strings(count).ok_or_else(damaged)?,
            true => message.strings,
        };
        let last = strings.last().copied().unwrap_or_default();
        let mut made = StringsBuilder::new();
        for i in 0..count {
            made.push(strings.get(i).copied().unwrap_or(last))?;
        }
        return cx.set_output(0, made.finish(&message.sizes)?);
    }
    let size = size_of_element(dtype)?;
    let wanted = count.checked_mul(size).ok_or_else(damaged)?;
    let is_content = !message.content.is_empty();
    let given = if is_content { message.content } else { &message.numbers };
    let is_bad_bool = is_content && dtype == DType::Bool && given.iter().any(|byte| *byte > 1);
    if is_bad_bool || is_content && given.len() != wanted {
        return Err(damaged());
    }
    // Bytes of an element without its last part do not count.
    let given = &given[..(given.len() / size * size).min(wanted)];
    let mut output = cx.output(0, &message.sizes)?;
    let target = output.bytes_mut();
    let (start, rest) = target.split_at_mut(given.len());
    start.copy_from_slice(given);
    if let Some(last) = given.len().checked_sub(size) {
        rest.chunks_exact_mut(size).for_each(|to| to.copy_from_slice(&given[last..]));
    }
    if let Some(normalized) = normalized_byte(dtype) {
        target.iter_mut().for_each(|byte| *byte = normalized(*byte));
    }
    in_byte_order(target, dtype)
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::Attrs;

    use super::*;
    use crate::ops::testing::{run, run_one, shape_table};
    use crate::tensor::Tensor;

    shape_table! { SERIALIZE, {},
        "[2, n]" => "string[]",
        "qi8[2]" => error "tensor must be bool, an integer, a float, complex or string, got qi8",
    }
    shape_table! { parsed_shapes: PARSE, {"out_type": DType::I64},
        "string[]" => "i64?",
        "string[1]" => error "serialized must have rank 0",
        "i64[]" => error "string",
    }
    shape_table! { variant: PARSE, {"out_type": DType::Variant},
        "string[]" => error "out_type must not be variant",
    }

    fn parsed(message: &[u8], dtype: DType) -> Result<Tensor> {
        let string = Tensor::from_strings(&[], &[message]).unwrap();
        Ok(run(&PARSE, &Attrs::new().with("out_type", dtype), &[string])?.swap_remove(0))
    }

    #[test]
    fn tensors_of_every_dtype_read_back() {
        for dtype in DType::all().filter(|dtype| matches!(dtype, DType::Bool) || dtype.is_numeric()) {
            for sizes in [&[][..], &[2, 3], &[0, 300]] {
                let mut x = Tensor::zeros(dtype, sizes).unwrap();
                for (i, byte) in x.view_mut().unwrap().bytes_mut().iter_mut().enumerate() {
                    *byte = if dtype == DType::Bool { i as u8 % 2 } else { i as u8 + 1 };
                }
                if normalized_byte(dtype).is_some() && dtype != DType::Bool {
                    continue;
                }
                let message = run_one(&SERIALIZE, &Attrs::new(), std::slice::from_ref(&x));
                let message = message.as_strings().unwrap();
                assert_eq!(parsed(message.at(0), dtype).unwrap(), x, "{dtype}");
            }
        }
        let x = Tensor::from_strings(&[3], &["a", "", "bc"]).unwrap();
        let message = run_one(&SERIALIZE, &Attrs::new(), std::slice::from_ref(&x));
        assert_eq!(parsed(message.as_strings().unwrap().at(0), DType::String).unwrap(), x);
    }

    #[test]
    fn every_damaged_message_is_refused_or_read() {
        let x = Tensor::from([[1.5f32, 2.0], [3.0, 4.0]]);
        let whole = run_one(&SERIALIZE, &Attrs::new(), &[x]);
        let whole = whole.as_strings().unwrap().at(0).to_vec();
        for position in 0..whole.len() {
            if let Ok(read) = parsed(&whole[..position], DType::F32) {
                assert!(read.len() <= 4);
            }
            for byte in [0, 1, 0x7f, 0xff] {
                let mut changed = whole.clone();
                changed[position] = byte;
                if let Ok(read) = parsed(&changed, DType::F32) {
                    assert!(read.len() < 1 << 20);
                }
            }
        }
        let huge = [0x08, 1, 0x12, 11, 0x12, 9, 0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x3f];
        assert!(parsed(&huge, DType::F32).is_err());
    }

    #[test]
    fn packed_and_unpacked_numbers_repeat_their_last_one() {
        // A vector of 3 elements.
        let shape = [0x12, 4, 0x12, 2, 0x08, 3];
        let of = |dtype: u8, fields: &[u8]| [&[0x08, dtype][..], &shape, fields].concat();
        let packed = of(3, &[0x3a, 2, 5, 7]);
        assert_eq!(parsed(&packed, DType::I32).unwrap(), Tensor::from([5, 7, 7]));
        let single = of(3, &[0x38, 5, 0x38, 7]);
        assert_eq!(parsed(&single, DType::I32).unwrap(), Tensor::from([5, 7, 7]));
        let float = of(1, &[0x2d, 0, 0, 0x80, 0x3f]);
        assert_eq!(parsed(&float, DType::F32).unwrap(), Tensor::from([1.0f32; 3]));
        assert_eq!(parsed(&of(9, &[]), DType::I64).unwrap(), Tensor::from([0i64; 3]));
        let long = of(9, &[0x52, 4, 1, 2, 3, 4]);
        assert_eq!(parsed(&long, DType::I64).unwrap(), Tensor::from([1i64, 2, 3]));
        let error = parsed(&long, DType::F32).unwrap_err();
        assert!(error.message().contains("must be a tensor of f32, got one of i64"), "{error}");
    }
}
