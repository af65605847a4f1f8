//! `distinct`: the host implementation of `unique` and `unique_with_counts`, a hash table with 64-bit keys. A string
//! operand arrives as i64 handles: integers that stand for the strings (`StringHandles`).

use shapeflow_shape_fns::{Attrs, DType};

use crate::error::{Error, ErrorKind, Phase, Result};
use crate::tensor::{Tensor, TensorView, size_of_element};

use super::keys::{by_key, half_key};
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
    let (dtype, limit) = match attrs.dtype("out_idx") {
        DType::I32 => (DType::I32, i32::MAX as usize),
        _ => (DType::I64, NONE as usize - 1),
    };
    if x.len() > limit {
        let message = format!("unique takes at most {limit} elements with {dtype} indices, got {}", x.len());
        return Err(Error::new(ErrorKind::Memory, Phase::Run, message));
    }
    let x = RowMajor::new(x)?;
    let x = x.view();
    let mut indices = Tensor::allocate(dtype, &[x.len()])?;
    macro_rules! keyed {
        ($T:ty, $elements:expr, $key:expr) => {{
            let elements: &[$T] = $elements;
            match dtype {
                DType::I32 => number_all(elements, $key, indices.as_mut_slice()?, |number| number as i32),
                _ => number_all(elements, $key, indices.as_mut_slice()?, i64::from),
            }
        }};
    }
    let (firsts, counts) = by_key!(
        x,
        keyed,
        unreachable!("the dtype rule refuses {}, and handles stand for strings", x.dtype())
    );
    let size = size_of_element(x.dtype())?;
    let mut elements = Tensor::allocate(x.dtype(), &[firsts.len()])?;
    for (slot, first) in elements.view_mut()?.bytes_mut().chunks_exact_mut(size).zip(&firsts) {
        slot.copy_from_slice(&x.bytes()[*first as usize * size..][..size]);
    }
    let counts = if counted { Some(integers(dtype, counts)?) } else { None };
    Ok(Distinct { elements, indices, counts })
}

/// Returns a vector of `dtype`, i32 or i64.
fn integers(dtype: DType, numbers: Vec<u32>) -> Result<Tensor> {
    let sizes = [numbers.len()];
    match dtype {
        DType::I32 => Tensor::from_vec(&sizes, numbers.into_iter().map(|number| number as i32).collect()),
        _ => Tensor::from_vec(&sizes, numbers.into_iter().map(i64::from).collect()),
    }
}

/// The number in an empty slot.
const NONE: u32 = u32::MAX;

/// A hash table from keys to numbers, with open addressing. The table is at most half full.
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

/// Numbers the distinct elements. An element without a key equals no other. `indices` gets for each element the number
/// of its distinct element, which `index` makes from a u32.
///
/// Returns for each distinct element the position of its first occurrence, and the number of its occurrences.
fn number_all<T: Copy, I>(
    elements: &[T],
    key: impl Fn(T) -> Option<u64>,
    indices: &mut [I],
    index: fn(u32) -> I,
) -> (Vec<u32>, Vec<u32>) {
    let (mut firsts, mut counts): (Vec<u32>, Vec<u32>) = Default::default();
    let mut table = Table::new();
    for (position, (&element, slot)) in elements.iter().zip(indices).enumerate() {
        let next = firsts.len() as u32;
        let number = key(element).map_or(next, |key| table.number(key, next));
        if number == next {
            firsts.push(position as u32);
            counts.push(0);
        }
        counts[number as usize] += 1;
        *slot = index(number);
    }
    (firsts, counts)
}
