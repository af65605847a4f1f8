//! `distinct`: the host implementation of `unique` and `unique_with_counts`, a hash table with 64-bit keys. Handles stand
//! for strings.

use shapeflow_shape_fns::{Attr, Attrs, DType};

use crate::error::{Error, ErrorKind, Phase, Result};
use crate::tensor::{Element, Tensor, TensorView};

use crate::ops::row_major::RowMajor;

/// The distinct elements of a vector.
pub(super) struct Distinct {
    /// The distinct elements, in the order of their first occurrence.
    pub elements: Tensor,
    /// For each element of the vector, its index in `elements`.
    pub indices: Tensor,
    /// For each of `elements`, the number of its occurrences.
    pub counts: Option<Tensor>,
}

/// Finds the distinct elements of `x`, and counts them if `counted`. Attribute `out_idx` is the dtype of indices and
/// counts.
pub(super) fn distinct(x: TensorView<'_>, attrs: &Attrs, counted: bool) -> Result<Distinct> {
    match attrs.get("out_idx") {
        Some(Attr::DType(DType::I32)) => of_dtype::<i32>(x, counted, |number| number as i32),
        _ => of_dtype::<i64>(x, counted, i64::from),
    }
}

/// Finds the distinct elements; indices and counts have type `I`.
fn of_dtype<I: Element>(x: TensorView<'_>, counted: bool, number: fn(u32) -> I) -> Result<Distinct> {
    let limit = if I::DTYPE == DType::I32 { i32::MAX as usize } else { NONE as usize - 1 };
    if x.len() > limit {
        let message =
            format!("unique takes at most {limit} elements with {} indices, got {}", I::DTYPE, x.len());
        return Err(Error::new(ErrorKind::Memory, Phase::Run, message));
    }
    let x = RowMajor::new(x)?;
    let x = x.view();
    macro_rules! keyed {
        ($T:ty, $elements:expr, $key:expr) => {{
            let elements: &[$T] = $elements;
            let (firsts, indices, counts) = number_all(elements, $key, counted, number)?;
            let mut found = Tensor::allocate(x.dtype(), &[firsts.len()])?;
            for (slot, first) in found.view_mut()?.as_mut_bits::<$T>()?.iter_mut().zip(&firsts) {
                *slot = elements[*first as usize];
            }
            (found, indices, counts)
        }};
    }
    let (elements, indices, counts) = match x.dtype() {
        DType::Bool => keyed!(bool, x.as_slice()?, |x| Some(u64::from(x))),
        DType::I8 => keyed!(i8, x.as_slice()?, |x| Some(x as u8 as u64)),
        DType::I16 => keyed!(i16, x.as_slice()?, |x| Some(x as u64)),
        DType::I32 => keyed!(i32, x.as_slice()?, |x| Some(x as u64)),
        DType::I64 => keyed!(i64, x.as_slice()?, |x| Some(x as u64)),
        DType::U8 => keyed!(u8, x.as_slice()?, |x| Some(u64::from(x))),
        DType::U16 => keyed!(u16, x.as_slice()?, |x| Some(u64::from(x))),
        DType::U32 => keyed!(u32, x.as_slice()?, |x| Some(u64::from(x))),
        DType::U64 => keyed!(u64, x.as_slice()?, Some),
        // Adding 0.0 turns -0.0 into 0.0 and changes no other number.
        DType::F32 => keyed!(f32, x.as_slice()?, |x| (!x.is_nan()).then(|| u64::from((x + 0.0).to_bits()))),
        DType::F64 => keyed!(f64, x.as_slice()?, |x| (!x.is_nan()).then(|| (x + 0.0).to_bits())),
        DType::F16 => keyed!(u16, x.as_bits()?, |bits| half_key(bits, 0x7c00)),
        DType::BF16 => keyed!(u16, x.as_bits()?, |bits| half_key(bits, 0x7f80)),
        other => unreachable!("the dtype rule refuses {other}, and handles stand for strings"),
    };
    Ok(Distinct { elements, indices, counts })
}

/// Returns the key of an f16 or bf16, `None` for NaN. `infinity` is the bits of the dtype's infinity.
fn half_key(bits: u16, infinity: u16) -> Option<u64> {
    let size = bits & 0x7fff;
    (size <= infinity).then_some(if size == 0 { 0 } else { u64::from(bits) })
}

/// The number in an empty slot.
const NONE: u32 = u32::MAX;

/// A hash table from keys to numbers, with open addressing. It is at most half full.
struct Table {
    slots: Vec<(u64, u32)>,
    shift: u32,
    used: usize,
}

impl Table {
    fn new() -> Table {
        Table { slots: vec![(0, NONE); 1024], shift: 64 - 10, used: 0 }
    }

    /// Returns the number of `key`. A new key gets the number `next`.
    #[inline]
    fn number(&mut self, key: u64, next: u32) -> u32 {
        let mask = self.slots.len() - 1;
        let mut probe = self.start(key);
        loop {
            let (other, number) = self.slots[probe & mask];
            if number == NONE {
                self.slots[probe & mask] = (key, next);
                self.used += 1;
                if self.used * 2 > self.slots.len() {
                    self.grow();
                }
                return next;
            }
            if other == key {
                return number;
            }
            probe += 1;
        }
    }

    /// Returns the first slot to probe for `key`.
    fn start(&self, key: u64) -> usize {
        // Mixing in the high half separates keys whose low bits are all zero, such as the keys of round floats.
        ((key ^ key >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize
    }

    #[cold]
    fn grow(&mut self) {
        let old = std::mem::take(&mut self.slots);
        self.slots = vec![(0, NONE); old.len() * 2];
        self.shift -= 1;
        let mask = self.slots.len() - 1;
        for (key, number) in old.into_iter().filter(|(_, number)| *number != NONE) {
            let mut probe = self.start(key);
            while self.slots[probe & mask].1 != NONE {
                probe += 1;
            }
            self.slots[probe & mask] = (key, number);
        }
    }
}

/// The result of [`number_all`].
type Numbered = (Vec<u32>, Tensor, Option<Tensor>);

/// Returns the position of each distinct element's first occurrence, the index of every element, and the counts. An
/// element without a key equals no other.
fn number_all<T: Copy, I: Element>(
    elements: &[T],
    key: impl Fn(T) -> Option<u64>,
    counted: bool,
    number: fn(u32) -> I,
) -> Result<Numbered> {
    let mut indices = Tensor::allocate(I::DTYPE, &[elements.len()])?;
    let mut firsts: Vec<u32> = Vec::new();
    let mut counts: Vec<u32> = Vec::new();
    let mut table = Table::new();
    let slots = indices.as_mut_slice::<I>()?;
    for (position, (&element, slot)) in elements.iter().zip(slots).enumerate() {
        let next = firsts.len() as u32;
        let index = key(element).map_or(next, |key| table.number(key, next));
        if index == next {
            firsts.push(position as u32);
            counts.push(0);
        }
        counts[index as usize] += 1;
        *slot = number(index);
    }
    Ok((firsts, indices, counts_of(&counts, counted, number)?))
}

fn counts_of<I: Element>(counts: &[u32], counted: bool, number: fn(u32) -> I) -> Result<Option<Tensor>> {
    let tensor = || Tensor::from_vec(&[counts.len()], counts.iter().map(|&count| number(count)).collect());
    counted.then(tensor).transpose()
}
