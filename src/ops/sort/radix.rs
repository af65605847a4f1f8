//! [`radix_sort`]: sorts by unsigned keys, without comparisons.

/// Fewer elements than this are sorted by comparisons.
const FEW: usize = 256;

/// From this number of elements on, digits are wide: fewer passes are worth the larger table of counts.
const MANY: usize = 1 << 15;

/// The number of bits of a digit. The first cache has a line for every value of a narrow digit, the second cache for
/// every value of a wide one.
const NARROW: u32 = 8;
const WIDE: u32 = 11;

/// Sorts `items` by the low `bits` bits of their keys. Items of equal keys keep their order. `scratch` is memory, whose
/// content does not matter.
pub(super) fn radix_sort<T: Copy>(
    items: &mut Vec<T>,
    scratch: &mut Vec<T>,
    bits: u32,
    key: impl Fn(&T) -> u64,
) {
    match items.len() {
        ..FEW => items.sort_by_key(key),
        FEW..MANY => sort_by_digits::<T, NARROW>(items, scratch, bits, key),
        MANY.. => sort_by_digits::<T, WIDE>(items, scratch, bits, key),
    }
}

/// Sorts as [`radix_sort`] does, by digits of `BITS` bits, the lowest first.
fn sort_by_digits<T: Copy, const BITS: u32>(
    items: &mut Vec<T>,
    scratch: &mut Vec<T>,
    bits: u32,
    key: impl Fn(&T) -> u64,
) {
    let (passes, digits) = (bits.div_ceil(BITS) as usize, 1 << BITS);
    let digit = |key: u64, pass: usize| (key >> (pass as u32 * BITS)) as usize & (digits - 1);
    let mut counts = vec![0usize; passes * digits];
    for item in &*items {
        let key = key(item);
        for (pass, counts) in counts.chunks_exact_mut(digits).enumerate() {
            counts[digit(key, pass)] += 1;
        }
    }
    scratch.clear();
    scratch.extend_from_slice(items);
    for (pass, counts) in counts.chunks_exact_mut(digits).enumerate() {
        if counts.contains(&items.len()) {
            continue;
        }
        let mut start = 0;
        for count in &mut *counts {
            start += std::mem::replace(count, start);
        }
        for item in &*items {
            let place = &mut counts[digit(key(item), pass)];
            scratch[*place] = *item;
            *place += 1;
        }
        std::mem::swap(items, scratch);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_sorted_by_their_keys_and_keep_their_order() {
        for len in [0, 1, FEW - 1, FEW, 5000, MANY + 3] {
            for (bits, mask) in [(64, u64::MAX), (32, 0xffff_ffff), (32, 0x00ff_0000), (1, 1)] {
                let keys = (0..len as u64)
                    .map(|i| (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(20) & mask);
                let mut items: Vec<(u64, usize)> = keys.zip(0..).collect();
                let mut expected = items.clone();
                expected.sort();
                radix_sort(&mut items, &mut Vec::new(), bits, |item| item.0);
                assert_eq!(items, expected);
            }
        }
    }
}
