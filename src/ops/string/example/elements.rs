//! [`FeatureElements`]: the values of a feature, gathered from examples.

use shapeflow_shape_fns::DType;

use super::super::wire::{Fields, WireValue, varint};
use crate::error::Result;
use crate::tensor::{StringsBuilder, Tensor, TensorView, reserved_vec};

/// The values that a feature has in one example: a list of strings, floats or integers.
#[derive(Clone, Copy)]
pub(super) struct Values<'a> {
    pub dtype: DType,
    list: &'a [u8],
}

impl<'a> Values<'a> {
    /// Reads a `Feature` message. Returns `Ok(None)` if it has no list.
    ///
    /// # Errors
    /// The message is damaged.
    pub(super) fn of(feature: &'a [u8]) -> Result<Option<Values<'a>>, Damaged> {
        for field in Fields::new(feature) {
            let (number, value) = field.ok_or(Damaged)?;
            let dtype = match number {
                1 => DType::String,
                2 => DType::F32,
                3 => DType::I64,
                _ => continue,
            };
            let WireValue::Bytes(list) = value else { return Err(Damaged) };
            return Ok(Some(Values { dtype, list }));
        }
        Ok(None)
    }

    /// Returns an empty list.
    pub(super) fn none(dtype: DType) -> Values<'a> {
        Values { dtype, list: &[] }
    }
}

/// A message that protobuf cannot read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Damaged;

/// Values of many examples, one after the other.
pub(super) enum FeatureElements {
    Ints(Vec<i64>),
    Floats(Vec<f32>),
    Strings(StringsBuilder),
}

impl FeatureElements {
    pub(super) fn new(dtype: DType) -> FeatureElements {
        match dtype {
            DType::I64 => FeatureElements::Ints(Vec::new()),
            DType::F32 => FeatureElements::Floats(Vec::new()),
            _ => FeatureElements::Strings(StringsBuilder::new()),
        }
    }

    /// Makes an empty list with memory for `count` values.
    ///
    /// # Errors
    /// Memory is refused.
    pub(super) fn with_capacity(dtype: DType, count: usize) -> Result<FeatureElements> {
        Ok(match dtype {
            DType::I64 => FeatureElements::Ints(reserved_vec(count)?),
            DType::F32 => FeatureElements::Floats(reserved_vec(count)?),
            _ => FeatureElements::Strings(StringsBuilder::with_capacity(count, 0)?),
        })
    }

    pub(super) fn dtype(&self) -> DType {
        match self {
            FeatureElements::Ints(_) => DType::I64,
            FeatureElements::Floats(_) => DType::F32,
            FeatureElements::Strings(_) => DType::String,
        }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            FeatureElements::Ints(ints) => ints.len(),
            FeatureElements::Floats(floats) => floats.len(),
            FeatureElements::Strings(strings) => strings.len(),
        }
    }

    /// Appends the values of one example. The values have the dtype of the elements.
    ///
    /// # Errors
    /// The outer error: memory is refused. The inner error: the list is damaged.
    pub(super) fn append(&mut self, values: Values<'_>) -> Result<Result<(), Damaged>> {
        for field in Fields::new(values.list) {
            let read = match (field, &mut *self) {
                (Some((1, WireValue::Bytes(string))), FeatureElements::Strings(strings)) => {
                    strings.push(string)?;
                    Some(())
                }
                (Some((1, WireValue::Bytes(packed))), FeatureElements::Ints(ints)) => {
                    append_ints(packed, ints)
                }
                (Some((1, WireValue::Varint(int))), FeatureElements::Ints(ints)) => {
                    ints.push(int.cast_signed());
                    Some(())
                }
                (Some((1, WireValue::Bytes(packed))), FeatureElements::Floats(floats)) => {
                    append_floats(packed, floats)
                }
                (Some((1, WireValue::Fixed32(bits))), FeatureElements::Floats(floats)) => {
                    floats.push(f32::from_bits(bits));
                    Some(())
                }
                (Some((number, _)), _) if number != 1 => Some(()),
                _ => None,
            };
            if read.is_none() {
                return Ok(Err(Damaged));
            }
        }
        Ok(Ok(()))
    }

    /// Appends element `from` of a row-major tensor of the same dtype `count` times.
    ///
    /// # Errors
    /// Memory is refused.
    pub(super) fn repeat(&mut self, tensor: &TensorView<'_>, from: usize, count: usize) -> Result<()> {
        match self {
            FeatureElements::Ints(ints) => {
                ints.extend(std::iter::repeat_n(tensor.as_slice::<i64>()?[from], count))
            }
            FeatureElements::Floats(floats) => {
                floats.extend(std::iter::repeat_n(tensor.as_slice::<f32>()?[from], count));
            }
            FeatureElements::Strings(strings) => {
                let string = tensor.as_strings()?.at(from);
                for _ in 0..count {
                    strings.push(string)?;
                }
            }
        }
        Ok(())
    }

    /// Appends the elements `range` of a row-major tensor of the same dtype.
    ///
    /// # Errors
    /// Memory is refused.
    pub(super) fn extend(&mut self, tensor: &TensorView<'_>, range: std::ops::Range<usize>) -> Result<()> {
        match self {
            FeatureElements::Ints(ints) => ints.extend(&tensor.as_slice::<i64>()?[range]),
            FeatureElements::Floats(floats) => floats.extend(&tensor.as_slice::<f32>()?[range]),
            FeatureElements::Strings(strings) => {
                for string in tensor.as_strings()?.slice(range).iter() {
                    strings.push(string)?;
                }
            }
        }
        Ok(())
    }

    /// Makes a tensor of the elements.
    ///
    /// # Errors
    /// The number of elements is not the product of `sizes`, or memory is refused.
    pub(super) fn finish(self, sizes: &[usize]) -> Result<Tensor> {
        match self {
            FeatureElements::Ints(ints) => Tensor::from_vec(sizes, ints),
            FeatureElements::Floats(floats) => Tensor::from_vec(sizes, floats),
            FeatureElements::Strings(strings) => strings.finish(sizes),
        }
    }
}

/// Appends packed integers. Returns `None` if one is damaged.
fn append_ints(mut packed: &[u8], ints: &mut Vec<i64>) -> Option<()> {
    while !packed.is_empty() {
        ints.push(varint(&mut packed)?.cast_signed());
    }
    Some(())
}

/// Appends packed floats. Returns `None` if the last one is incomplete.
fn append_floats(packed: &[u8], floats: &mut Vec<f32>) -> Option<()> {
    let (whole, rest) = packed.as_chunks::<4>();
    floats.extend(whole.iter().map(|bytes| f32::from_le_bytes(*bytes)));
    rest.is_empty().then_some(())
}
