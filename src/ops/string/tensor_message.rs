//! [`TensorMessage`]: a tensor in the form of TensorFlow's message `TensorProto`, read and written.

use shapeflow_shape_fns::{DType, counted};

use super::params::value_error;
use super::wire::{Fields, WireValue, varint};
use crate::error::Result;
use crate::op::dtype_number::{dtype_of, number_of, text_of};
use crate::tensor::{StringsBuilder, Tensor, TensorView, normalized_byte, reserved_vec, size_of_element};

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

/// Where a message has the strings of a tensor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum StringForm {
    /// Each string is a field.
    Fields,
    /// The content has all lengths, then all bytes.
    Content,
}

/// Returns an upper limit of the length of the message of a tensor. `bytes` is the length of its elements or strings.
fn max_len(bytes: usize, strings: usize, rank: usize) -> usize {
    // The dtype and the heads of the shape and of the content take fewer than 32 bytes. A size takes at most 14 bytes.
    // The head of a string takes at most 11 bytes, and its length in the content at most 10.
    bytes.saturating_add(strings.saturating_mul(11)).saturating_add(32 + 14 * rank)
}

/// Writes a tensor of row-major elements as a message. A message omits a number that is 0 and bytes that are empty.
///
/// # Errors
/// Memory is refused.
pub(super) fn message_of(x: &TensorView<'_>, form: StringForm) -> Result<Vec<u8>> {
    let (bytes, strings) = match x.dtype() {
        DType::String => (x.as_strings()?.byte_len(), x.len()),
        _ => (x.bytes().len(), 0),
    };
    let mut message = reserved_vec(max_len(bytes, strings, x.sizes().len()))?;
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
        let strings = x.as_strings()?;
        match form {
            StringForm::Fields => {
                strings.iter().for_each(|string| put_bytes(&mut message, field::STRING, string))
            }
            StringForm::Content if strings.is_empty() => {}
            StringForm::Content => {
                let mut lengths = Vec::new();
                strings.lengths().for_each(|length| put_varint(&mut lengths, length as u64));
                put_head(&mut message, field::CONTENT, lengths.len() + strings.byte_len());
                message.extend_from_slice(&lengths);
                strings.iter().for_each(|string| message.extend_from_slice(string));
            }
        }
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

/// The fields of a message.
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
    fn of(bytes: &'a [u8], dtype: DType) -> Option<Message<'a>> {
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

/// A message that holds a tensor of `dtype`.
pub(super) struct TensorMessage<'a> {
    pub dtype: DType,
    pub sizes: Vec<usize>,
    /// The number of elements.
    count: usize,
    fields: Message<'a>,
}

impl<'a> TensorMessage<'a> {
    /// Reads a message. `name` names the message in errors.
    ///
    /// # Errors
    /// The bytes are not a message, or the tensor has another dtype.
    pub(super) fn read(bytes: &'a [u8], dtype: DType, name: &str) -> Result<TensorMessage<'a>> {
        let damaged = || {
            let got = counted(bytes.len(), "byte");
            value_error(format!("{name} must be the message of a tensor of {dtype}, got {got} that are none"))
        };
        let mut fields = Message::of(bytes, dtype).ok_or_else(damaged)?;
        let number = i32::try_from(fields.dtype).unwrap_or(-1);
        if number != number_of(dtype) {
            let got = match dtype_of(number) {
                Some(dtype) if number == number_of(dtype) => dtype.to_string(),
                _ => text_of(number),
            };
            return Err(value_error(format!("{name} must be a tensor of {dtype}, got one of {got}")));
        }
        let sizes = std::mem::take(&mut fields.sizes);
        // As in TensorFlow, `[2^40, 2^40, 0]` is damaged, because the product of the first sizes overflows.
        let count = sizes.iter().try_fold(1usize, |count, size| count.checked_mul(*size));
        let count = count.ok_or_else(damaged)?;
        let is_content = !fields.content.is_empty();
        if dtype == DType::String {
            if is_content {
                fields.strings = fields.content_strings(count).ok_or_else(damaged)?;
            }
        } else {
            let wanted = count.checked_mul(size_of_element(dtype)?).ok_or_else(damaged)?;
            let is_bad_bool =
                is_content && dtype == DType::Bool && fields.content.iter().any(|byte| *byte > 1);
            if is_bad_bool || is_content && fields.content.len() != wanted {
                return Err(damaged());
            }
        }
        Ok(TensorMessage { dtype, sizes, count, fields })
    }

    /// Returns the tensor.
    ///
    /// # Errors
    /// Memory is refused.
    pub(super) fn tensor(&self) -> Result<Tensor> {
        if self.dtype == DType::String {
            return self.strings();
        }
        let mut tensor = Tensor::zeros(self.dtype, &self.sizes)?;
        self.write_numbers(tensor.view_mut()?.bytes_mut())?;
        Ok(tensor)
    }

    /// Returns the tensor of strings. A message with fewer strings than elements repeats the last string.
    ///
    /// # Errors
    /// Memory is refused.
    pub(super) fn strings(&self) -> Result<Tensor> {
        let strings = &self.fields.strings;
        let last = strings.last().copied().unwrap_or_default();
        let mut made = StringsBuilder::new();
        for i in 0..self.count {
            made.push(strings.get(i).copied().unwrap_or(last))?;
        }
        made.finish(&self.sizes)
    }

    /// Writes the numbers to the zeroed elements of a tensor. A message with fewer numbers repeats the last number.
    ///
    /// # Errors
    /// The elements are strings.
    pub(super) fn write_numbers(&self, target: &mut [u8]) -> Result<()> {
        let size = size_of_element(self.dtype)?;
        let content = self.fields.content;
        let given = if content.is_empty() { &self.fields.numbers[..] } else { content };
        // An incomplete last element, such as a real part without its imaginary part, is ignored.
        let given = &given[..(given.len() / size * size).min(target.len())];
        let (start, rest) = target.split_at_mut(given.len());
        start.copy_from_slice(given);
        if let Some(last) = given.len().checked_sub(size) {
            rest.chunks_exact_mut(size).for_each(|to| to.copy_from_slice(&given[last..]));
        }
        // A message may have any byte for a bool or an integer of 4 bits.
        if let Some(normalized) = normalized_byte(self.dtype) {
            target.iter_mut().for_each(|byte| *byte = normalized(*byte));
        }
        in_byte_order(target, self.dtype)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_of_a_message_has_a_limit() -> Result<()> {
        let words = vec![""; 1000];
        let tensors = [
            Tensor::from_strings(&[1000], &words)?,
            Tensor::from_strings(&[2], &["a".repeat(300), "b".repeat(20_000)])?,
            Tensor::from([1.0f32, 2.0]),
            Tensor::zeros(DType::I8, &[1, 0, 1 << 40, 3])?,
        ];
        for tensor in &tensors {
            let (bytes, strings) = match tensor.dtype() {
                DType::String => (tensor.view().as_strings()?.byte_len(), tensor.len()),
                _ => (tensor.view().bytes().len(), 0),
            };
            for form in [StringForm::Fields, StringForm::Content] {
                let message = message_of(&tensor.view(), form)?;
                assert!(message.len() <= max_len(bytes, strings, tensor.sizes().len()));
                let read = TensorMessage::read(&message, tensor.dtype(), "x")?.tensor()?;
                assert_eq!(&read, tensor);
            }
        }
        Ok(())
    }

    #[test]
    fn sizes_overflow_from_the_front_as_in_tensorflow() -> Result<()> {
        let message = |sizes: [u64; 3]| {
            let mut shape = Vec::new();
            for size in sizes {
                let mut dim = vec![1 << 3];
                put_varint(&mut dim, size);
                put_bytes(&mut shape, 2, &dim);
            }
            let mut message = vec![1 << 3, 1];
            put_bytes(&mut message, field::SHAPE, &shape);
            message
        };
        let large = 1 << 40;
        assert!(TensorMessage::read(&message([large, large, 0]), DType::F32, "x").is_err());
        assert_eq!(TensorMessage::read(&message([0, large, large]), DType::F32, "x")?.count, 0);
        // The strides of a tensor must fit too.
        assert!(TensorMessage::read(&message([0, large, large]), DType::F32, "x")?.tensor().is_err());
        Ok(())
    }
}
