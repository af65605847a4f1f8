//! [`quicksort`]: sorts keys by vectors.

use super::SortKey;
use super::lanes::{Lanes, sort_all, sort_few, unrolled};

/// The number of vectors from which the pivot of many keys is chosen.
const SAMPLE: usize = 4;

/// The number of vectors from which on keys count as many.
const MANY: usize = 64;

/// The largest number of keys of a vector.
const MAX_COUNT: usize = 16;

/// A range of keys that are not sorted yet.
#[derive(Clone, Copy)]
struct Unsorted {
    begin: usize,
    len: usize,
    /// The number of further splits. Keys that need more had bad pivots, and are sorted otherwise.
    splits: u32,
}

/// Sorts keys. A split reads `BLOCK` vectors together, at most half of [`Lanes::SMALL_SORT_VECTORS`].
///
/// # Safety
/// The processor has the instructions of `V`.
#[inline(always)]
pub(super) unsafe fn quicksort<V: Lanes, const BLOCK: usize>(keys: &mut [V::Key]) {
    let splits = 2 * keys.len().max(1).ilog2();
    let mut part = Unsorted { begin: 0, len: keys.len(), splits };
    // The smaller part of each split comes first, so at most one part waits for each bit of the length.
    let mut waiting = [part; usize::BITS as usize];
    let mut count = 0;
    loop {
        let keys = &mut keys[part.begin..part.begin + part.len];
        if keys.len() > V::SMALL_SORT_VECTORS * V::COUNT && part.splits > 0 {
            // SAFETY: the caller's promise; there are more than `SMALL_SORT_VECTORS` vectors.
            let [low, high] = unsafe { split_at_pivot::<V, BLOCK>(keys) };
            let splits = part.splits - 1;
            let low = Unsorted { len: low, splits, ..part };
            let high = Unsorted { begin: part.begin + part.len - high, len: high, splits };
            let (small, large) = if low.len < high.len { (low, high) } else { (high, low) };
            waiting[count] = large;
            count += 1;
            part = small;
            continue;
        }
        if keys.len() <= V::SMALL_SORT_VECTORS * V::COUNT {
            // SAFETY: the caller's promise; there are at most `SMALL_SORT_VECTORS` vectors.
            unsafe { sort_few::<V>(keys.as_mut_ptr(), keys.len()) };
        } else {
            keys.sort_unstable();
        }
        if count == 0 {
            return;
        }
        count -= 1;
        part = waiting[count];
    }
}

/// Splits keys. Returns how many keys at the beginning and how many keys at the end are not in order yet. The keys at
/// the end are larger than the others.
///
/// # Safety
/// There are more than [`Lanes::SMALL_SORT_VECTORS`] vectors. The processor has the instructions of `V`.
#[inline(always)]
unsafe fn split_at_pivot<V: Lanes, const BLOCK: usize>(keys: &mut [V::Key]) -> [usize; 2] {
    // SAFETY: the caller's promise.
    unsafe {
        let pivot = pivot::<V>(keys);
        let low = split::<V, BLOCK>(keys, pivot);
        if low < keys.len() {
            return [low, keys.len() - low];
        }
        // The pivot is the largest key. The keys that equal it are in order when they are at the end.
        match pivot.before() {
            Some(below) => [split::<V, BLOCK>(keys, below), 0],
            None => [0, 0],
        }
    }
}

/// Returns a key that is near the median.
///
/// # Safety
/// As [`split_at_pivot`].
#[inline(always)]
unsafe fn pivot<V: Lanes>(keys: &[V::Key]) -> V::Key {
    let (from, len) = (keys.as_ptr(), keys.len());
    // SAFETY: the caller's promise. There are more than 8 vectors, so a vector starts at each eighth of the keys. The
    // array has room for the vector with the most keys.
    unsafe {
        if len < MANY * V::COUNT {
            let key = |tenths: usize| *from.add(tenths * (len / 10));
            let [low, middle, high] =
                [[key(1), key(2), key(3)], [key(4), key(5), key(6)], [key(7), key(8), key(9)]];
            return median([median(low), median(middle), median(high)]);
        }
        let mut sorted = [V::Key::default(); MAX_COUNT];
        let eighth = len / 8;
        let mut vectors: [V; SAMPLE] = [
            V::load(from.add(eighth)),
            V::load(from.add(3 * eighth)),
            V::load(from.add(5 * eighth)),
            V::load(from.add(7 * eighth)),
        ];
        sort_all(&mut vectors);
        vectors[SAMPLE / 2 - 1].store(sorted.as_mut_ptr());
        sorted[V::COUNT - 1]
    }
}

/// Returns the second largest of three keys.
#[inline(always)]
fn median<K: Copy + Ord>([a, b, c]: [K; 3]) -> K {
    a.min(b).max(a.max(b).min(c))
}

/// The state of a split: the keys below `low` are at most the pivot, the keys from `high` on are larger. The keys
/// between may change.
struct Stored<V: Lanes> {
    keys: *mut V::Key,
    low: usize,
    high: usize,
}

impl<V: Lanes> Stored<V> {
    /// Stores a key.
    ///
    /// # Safety
    /// There is room for a key between `low` and `high`.
    #[inline(always)]
    unsafe fn store_key(&mut self, key: V::Key, pivot: V::Key) {
        // SAFETY: the caller's promise. The key stays where it belongs; the other copy is overwritten later.
        unsafe {
            self.keys.add(self.low).write(key);
            self.keys.add(self.high - 1).write(key);
        }
        let is_low = usize::from(key <= pivot);
        self.low += is_low;
        self.high -= 1 - is_low;
    }

    /// Stores a vector of keys.
    ///
    /// # Safety
    /// A vector's width after `low` and a vector's width before `high` are free. Both are the same memory, or do not
    /// overlap.
    #[inline(always)]
    unsafe fn store(&mut self, vector: V, pivots: V) {
        // SAFETY: the caller's promise.
        let count = unsafe { vector.split(pivots, self.keys.add(self.low), self.keys.add(self.high)) };
        self.low += count;
        self.high -= V::COUNT - count;
    }
}

/// Loads neighboring vectors.
///
/// # Safety
/// `N` vectors are readable at `from`. The processor has the instructions of `V`.
#[inline(always)]
unsafe fn load_block<V: Lanes, const N: usize>(from: *const V::Key) -> [V; N] {
    // SAFETY: the caller's promise.
    unsafe {
        let mut vectors = [V::load(from); N];
        unrolled!(i < N, { vectors[i] = V::load(from.add(i * V::COUNT)) });
        vectors
    }
}

/// Moves the keys that are at most `pivot` before the larger keys. Returns their number.
///
/// # Safety
/// There are more than [`Lanes::SMALL_SORT_VECTORS`] vectors. The processor has the instructions of `V`.
#[inline(always)]
unsafe fn split<V: Lanes, const BLOCK: usize>(keys: &mut [V::Key], pivot: V::Key) -> usize {
    const { assert!(2 * BLOCK <= V::SMALL_SORT_VECTORS && V::COUNT <= MAX_COUNT) };
    let (len, block) = (keys.len(), BLOCK * V::COUNT);
    let rest_len = len % block;
    let keys = keys.as_mut_ptr();
    // SAFETY: all places are below `len`. The places from `begin` to `end` hold keys that are not read yet. The free
    // places are two gaps: from `low` to `begin` and from `end` to `high`. When the first and the last block and the
    // rest are read, the gaps have `2 * block + rest_len` places, and `block` or more each. When the last keys of the
    // rest are stored, one by one, the gaps have a multiple of `COUNT` places, at least `2 * block`, and keep that sum:
    // a round reads a block and stores it. It reads next to the smaller gap, so both gaps have `block` places or more
    // when its first vector is stored, and `COUNT` or more when its last vector is stored. In the end the gaps are one.
    // It has as many places as vectors are left to store, so the places of a store are the same or do not overlap.
    unsafe {
        let (first, last) = (load_block::<V, BLOCK>(keys), load_block::<V, BLOCK>(keys.add(len - block)));
        let mut rest = [[V::Key::default(); MAX_COUNT]; BLOCK];
        let rest = rest.as_flattened_mut();
        std::ptr::copy_nonoverlapping(keys.add(block), rest.as_mut_ptr(), rest_len);
        let (mut begin, mut end) = (block + rest_len, len - block);
        let (pivots, mut stored) = (V::splat(pivot), Stored::<V> { keys, low: 0, high: len });
        let whole = rest_len / V::COUNT;
        for &key in &rest[whole * V::COUNT..rest_len] {
            stored.store_key(key, pivot);
        }
        while begin < end {
            let vectors = if begin - stored.low <= stored.high - end {
                begin += block;
                load_block::<V, BLOCK>(keys.add(begin - block))
            } else {
                end -= block;
                load_block::<V, BLOCK>(keys.add(end))
            };
            unrolled!(i < BLOCK, { stored.store(vectors[i], pivots) });
        }
        unrolled!(i < BLOCK, { stored.store(first[i], pivots) });
        unrolled!(i < BLOCK, { stored.store(last[i], pivots) });
        for vector in 0..whole {
            stored.store(V::load(rest.as_ptr().add(vector * V::COUNT)), pivots);
        }
        stored.low
    }
}
