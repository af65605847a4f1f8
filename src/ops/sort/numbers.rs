//! [`sort_columns`]: sorts numbers by keys. A key determines its number, so only keys are sorted.

use shapeflow_shape_fns::DType;

use super::columns::Columns;
use super::radix::radix_sort;
use crate::error::Result;
use crate::tensor::{Element, TensorView, TensorViewMut};
use crate::tiles::{SortKey, with_wide_vectors};

/// Sorts each column of bools or numbers. NaN counts as the largest, and equal elements keep their order.
///
/// # Errors
/// The views are not row-major.
pub(super) fn sort_columns(
    x: &TensorView<'_>,
    results: &mut TensorViewMut<'_>,
    columns: &Columns,
    descending: bool,
) -> Result<()> {
    macro_rules! same {
        ($T:ident, $order:expr) => {{
            let (order, bits, results) = ($order, x.as_unsigned::<$T>()?, results.as_mut_unsigned::<$T>()?);
            columns_of(bits, results, columns, descending, &order)
        }};
    }
    macro_rules! wide {
        ($T:ident, $order:expr) => {{
            let (bits, results) = (x.as_unsigned::<$T>()?, results.as_mut_unsigned::<$T>()?);
            gathered_columns(bits, results, columns, descending, &$order, u32::from, |bits| bits as $T)
        }};
    }
    match x.dtype() {
        DType::F32 => same!(u32, FloatOrder { sign: 1 << 31, infinity: 0x7f80_0000 }),
        DType::F64 => same!(u64, FloatOrder { sign: 1 << 63, infinity: 0x7ff0_0000_0000_0000 }),
        DType::F16 => wide!(u16, FloatOrder { sign: 1 << 15, infinity: 0x7c00u32 }),
        DType::BF16 => wide!(u16, FloatOrder { sign: 1 << 15, infinity: 0x7f80u32 }),
        DType::I32 => same!(u32, Integer { sign: 1 << 31 }),
        DType::I64 => same!(u64, Integer { sign: 1 << 63 }),
        DType::I16 => wide!(u16, Integer { sign: 1u32 << 15 }),
        DType::I8 => wide!(u8, Integer { sign: 1u32 << 7 }),
        DType::U32 => same!(u32, Integer { sign: 0 }),
        DType::U64 => same!(u64, Integer { sign: 0 }),
        DType::U16 => wide!(u16, Integer { sign: 0u32 }),
        DType::U8 => wide!(u8, Integer { sign: 0u32 }),
        _ => {
            let (bools, results) = (x.as_slice::<bool>()?, results.as_mut_slice::<bool>()?);
            let order = Integer { sign: 0u32 };
            gathered_columns(bools, results, columns, descending, &order, u32::from, |bits| bits != 0)
        }
    }
    Ok(())
}

/// The order of elements, given by their bits.
trait Order<K>: Copy {
    /// Returns the key of an element. Keys have the order of the elements, and there is one element for each key.
    fn key(&self, bits: K) -> K;
    /// Returns the element of a key.
    fn bits(&self, key: K) -> K;
    /// Returns whether an element is NaN or `-0.0`. Elements with other bits may equal it in the order.
    fn is_special(&self, bits: K) -> bool;
    /// Returns whether an element is NaN.
    fn is_nan(&self, bits: K) -> bool;
    /// Returns whether an element is 0.
    fn is_zero(&self, bits: K) -> bool;
}

/// The order of integers, whose keys have another sign bit. `sign` is 0 for unsigned integers.
#[derive(Clone, Copy)]
struct Integer<K> {
    sign: K,
}

/// The order of floats: the sign bit, and the bits of infinity.
#[derive(Clone, Copy)]
struct FloatOrder<K> {
    sign: K,
    infinity: K,
}

macro_rules! orders {
    ($($K:ident)*) => {$(
        impl Order<$K> for Integer<$K> {
            fn key(&self, bits: $K) -> $K {
                bits ^ self.sign
            }
            fn bits(&self, key: $K) -> $K {
                key ^ self.sign
            }
            fn is_special(&self, _: $K) -> bool {
                false
            }
            fn is_nan(&self, _: $K) -> bool {
                false
            }
            fn is_zero(&self, bits: $K) -> bool {
                bits == 0
            }
        }

        impl Order<$K> for FloatOrder<$K> {
            fn key(&self, bits: $K) -> $K {
                // The bits of negative numbers descend as the numbers ascend.
                if bits & self.sign == 0 { bits | self.sign } else { bits ^ (self.sign | (self.sign - 1)) }
            }
            fn bits(&self, key: $K) -> $K {
                if key & self.sign == 0 { key ^ (self.sign | (self.sign - 1)) } else { key ^ self.sign }
            }
            fn is_special(&self, bits: $K) -> bool {
                self.is_nan(bits) | (bits == self.sign)
            }
            fn is_nan(&self, bits: $K) -> bool {
                bits & (self.sign - 1) > self.infinity
            }
            fn is_zero(&self, bits: $K) -> bool {
                bits & (self.sign - 1) == 0
            }
        }
    )*};
}
orders!(u32 u64);

/// Sorts columns of elements as wide as their keys.
fn columns_of<K: Radix, O: Order<K>>(
    bits: &[K],
    results: &mut [K],
    columns: &Columns,
    descending: bool,
    order: &O,
) {
    if columns.inner > 1 {
        return gathered_columns(bits, results, columns, descending, order, |bits| bits, |bits| bits);
    }
    for first in columns.firsts() {
        let range = first..first + columns.length;
        sort_column(&bits[range.clone()], &mut results[range], descending, order);
    }
}

/// Sorts columns of elements that are not contiguous, or narrower than their keys. `widen` returns the bits of an
/// element, and `narrow` the element of these bits.
fn gathered_columns<T: Copy, K: Radix, O: Order<K>>(
    elements: &[T],
    results: &mut [T],
    columns: &Columns,
    descending: bool,
    order: &O,
    widen: impl Fn(T) -> K,
    narrow: impl Fn(K) -> T,
) {
    // Columns of an empty tensor may be longer than any memory.
    if elements.is_empty() {
        return;
    }
    let (mut bits, mut sorted) = (Vec::with_capacity(columns.length), vec![K::default(); columns.length]);
    for first in columns.firsts() {
        bits.clear();
        let column = elements[first..].iter().step_by(columns.inner).take(columns.length);
        bits.extend(column.map(|element| widen(*element)));
        sort_column(&bits, &mut sorted, descending, order);
        for (result, bits) in results[first..].iter_mut().step_by(columns.inner).zip(&sorted) {
            *result = narrow(*bits);
        }
    }
}

/// Writes the keys of elements to `to`. Returns whether an element is special.
#[inline(always)]
fn make_keys<K: Radix, O: Order<K>>(elements: &[K], to: &mut [K], order: O) -> bool {
    let mut is_special = false;
    for (to, bits) in to.iter_mut().zip(elements) {
        *to = order.key(*bits);
        is_special |= order.is_special(*bits);
    }
    is_special
}

/// Replaces keys by their elements.
#[inline(always)]
fn make_bits<K: Radix, O: Order<K>>(keys: &mut [K], order: O) {
    keys.iter_mut().for_each(|key| *key = order.bits(*key));
}

/// Sorts elements into `to`.
fn sort_column<K: Radix, O: Order<K>>(elements: &[K], to: &mut [K], descending: bool, order: &O) {
    let is_special = with_wide_vectors(|| make_keys(elements, to, *order));
    if is_special {
        return sort_special(elements, to, descending, order);
    }
    sort_keys(to);
    with_wide_vectors(|| make_bits(to, *order));
    if descending {
        to.reverse();
    }
}

/// Sorts elements into `to` if some of them are NaN or `-0.0`. Zeros keep their order, and NaNs keep theirs.
#[cold]
fn sort_special<K: Radix, O: Order<K>>(elements: &[K], to: &mut [K], descending: bool, order: &O) {
    let (mut nans, mut zeros, mut keys) = (Vec::new(), Vec::new(), Vec::with_capacity(to.len()));
    for &bits in elements {
        match bits {
            bits if order.is_nan(bits) => nans.push(bits),
            bits if order.is_zero(bits) => zeros.push(bits),
            bits => keys.push(order.key(bits)),
        }
    }
    sort_keys(&mut keys);
    let negative = keys.partition_point(|key| *key < order.key(K::default()));
    let numbers = |keys: &[K]| -> Vec<K> { keys.iter().map(|key| order.bits(*key)).collect() };
    let (mut below, mut above) = (numbers(&keys[..negative]), numbers(&keys[negative..]));
    let parts = if descending {
        below.reverse();
        above.reverse();
        [nans, above, zeros, below]
    } else {
        [below, zeros, above, nans]
    };
    to.iter_mut().zip(parts.into_iter().flatten()).for_each(|(to, bits)| *to = bits);
}

/// Keys that can be sorted by digits.
trait Radix: Element + SortKey + Into<u64> {}
impl Radix for u32 {}
impl Radix for u64 {}

/// Sorts keys, by vectors if the processor has suitable ones, else by digits.
fn sort_keys<K: Radix>(keys: &mut [K]) {
    if K::sort_keys(keys) {
        return;
    }
    let mut sorted = keys.to_vec();
    radix_sort(&mut sorted, &mut Vec::new(), 8 * size_of::<K>() as u32, |key| (*key).into());
    keys.copy_from_slice(&sorted);
}

#[cfg(test)]
mod tests {
    use crate::Attrs;
    use crate::ops::sort::sorted::{ARGSORT, SORT};
    use crate::ops::testing::{run_one, tensor};

    /// Bits of floats with zeros of both signs, NaNs of several bits, infinities, and equal numbers.
    fn floats(len: usize) -> Vec<u32> {
        let special = [0x8000_0000, 0, 0x7fc0_0001, 0xffc0_0002, 0x7f80_0000, 0xff80_0000, 0x3f80_0000];
        let bits = |i: usize| match (i as u32).wrapping_mul(0x9e37_79b9).rotate_left(9) {
            bits if i.is_multiple_of(3) => special[bits as usize % 7],
            bits => bits & 0xbfff_ffff,
        };
        (0..len).map(bits).collect()
    }

    /// The sorted elements are those at the positions of `argsort`, bit by bit, also of columns that are not
    /// contiguous.
    #[test]
    fn sorted_elements_are_those_at_the_sorted_positions() {
        for len in (0..=300).chain([2000]) {
            let bits = floats(3 * len);
            let numbers: Vec<f32> = bits.iter().map(|bits| f32::from_bits(*bits)).collect();
            for (sizes, axis) in [([3, len], 1i64), ([len, 3], 0)] {
                for descending in [false, true] {
                    let attrs = Attrs::new().with("axis", axis).with("descending", descending);
                    let x = [tensor(&sizes, &numbers)];
                    let order = run_one(&ARGSORT, &attrs, &x).to_vec::<i64>().unwrap();
                    let sorted = run_one(&SORT, &attrs, &x).to_vec::<f32>().unwrap();
                    for (at, (sorted, position)) in sorted.iter().zip(order).enumerate() {
                        let from = match axis {
                            1 => at / len * len + position as usize,
                            _ => position as usize * 3 + at % 3,
                        };
                        assert_eq!(sorted.to_bits(), bits[from], "{sizes:?} at {at}");
                    }
                }
            }
        }
    }

    #[test]
    fn every_dtype_is_sorted() {
        macro_rules! check {
            ($($T:ident)*) => {$(
                let x: Vec<$T> = (0..500u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) as $T).collect();
                let mut expected = x.clone();
                expected.sort_by(|a, b| a.partial_cmp(b).unwrap());
                let attrs = Attrs::new().with("axis", 0);
                assert_eq!(run_one(&SORT, &attrs, &[tensor(&[500], &x)]).to_vec::<$T>().unwrap(), expected);
                expected.reverse();
                let attrs = attrs.with("descending", true);
                assert_eq!(run_one(&SORT, &attrs, &[tensor(&[500], &x)]).to_vec::<$T>().unwrap(), expected);
            )*};
        }
        check!(i8 i16 i32 i64 u8 u16 u32 u64 f32 f64);
        let x = tensor(&[4], &[true, false, true, false]);
        let y = run_one(&SORT, &Attrs::new().with("axis", 0), &[x]);
        assert_eq!(y.to_vec::<bool>().unwrap(), [false, false, true, true]);
    }
}
