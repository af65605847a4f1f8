//! [`Lanes`]: a vector of keys; [`sort_few`]: sorts the keys of a few vectors in registers.

use super::SortKeys;

/// A vector of keys.
///
/// # Safety
/// The functions require that the processor has the instructions of the vector.
pub(super) trait Lanes: Copy {
    /// The keys.
    type Key: SortKeys;
    /// The number of keys of a vector: 4, 8 or 16.
    const COUNT: usize;
    /// The largest number of vectors that [`sort_few`] sorts: 8 or 16, half of the registers.
    const FEW: usize;

    /// Returns a vector whose keys are all `key`.
    ///
    /// # Safety
    /// As [`Lanes`].
    unsafe fn splat(key: Self::Key) -> Self;

    /// Loads a vector.
    ///
    /// # Safety
    /// [`Lanes::COUNT`] keys are readable at `from`.
    unsafe fn load(from: *const Self::Key) -> Self;

    /// Loads `count` keys, fewer than a vector has. The other keys are the largest.
    ///
    /// # Safety
    /// `count` keys are readable at `from`.
    unsafe fn load_first(from: *const Self::Key, count: usize) -> Self;

    /// Stores the vector.
    ///
    /// # Safety
    /// [`Lanes::COUNT`] keys are writable at `to`.
    unsafe fn store(self, to: *mut Self::Key);

    /// Stores the first `count` keys, fewer than a vector has.
    ///
    /// # Safety
    /// `count` keys are writable at `to`.
    unsafe fn store_first(self, to: *mut Self::Key, count: usize);

    /// Returns the smaller key of each pair.
    ///
    /// # Safety
    /// As [`Lanes`].
    unsafe fn min(self, other: Self) -> Self;

    /// Returns the larger key of each pair.
    ///
    /// # Safety
    /// As [`Lanes`].
    unsafe fn max(self, other: Self) -> Self;

    /// Compares the keys of lanes `i` and `i ^ DISTANCE`. The lane whose number has the bit `BIT` gets the larger key,
    /// the other lane the smaller key. `BIT` is the highest bit of `DISTANCE`.
    ///
    /// # Safety
    /// As [`Lanes`].
    unsafe fn exchange<const DISTANCE: usize, const BIT: usize>(self) -> Self;

    /// Returns the keys in reverse order.
    ///
    /// # Safety
    /// As [`Lanes`].
    unsafe fn reversed(self) -> Self;

    /// Stores the keys that are at most `pivot` from `low` on, and the larger keys before `high`. Returns the number of
    /// keys that are at most `pivot`. Other keys between `low` and `high` may change.
    ///
    /// # Safety
    /// The keys between `low` and `high` are writable and at least [`Lanes::COUNT`].
    unsafe fn split(self, pivot: Self, low: *mut Self::Key, high: *mut Self::Key) -> usize;
}

/// Returns the numbers `lane ^ distance`, in the order of the lanes.
pub(super) const fn partners<const N: usize>(distance: usize) -> [u8; N] {
    let (mut lane, mut partners) = (0, [0; N]);
    while lane < N {
        partners[lane] = (lane ^ distance) as u8;
        lane += 1;
    }
    partners
}

/// Sorts `count` keys, at most [`Lanes::FEW`] vectors.
///
/// # Safety
/// The keys are readable and writable at `keys`. The processor has the instructions of `V`.
#[inline(always)]
pub(super) unsafe fn sort_few<V: Lanes>(keys: *mut V::Key, count: usize) {
    // SAFETY: the caller's promise; each call has room for all keys.
    unsafe {
        match count.div_ceil(V::COUNT) {
            0 => {}
            1 => sort_vectors::<V, 1>(keys, count),
            2 => sort_vectors::<V, 2>(keys, count),
            3..=4 => sort_vectors::<V, 4>(keys, count),
            5..=6 => sort_vectors::<V, 6>(keys, count),
            7..=8 => sort_vectors::<V, 8>(keys, count),
            9..=12 if V::FEW > 8 => sort_vectors::<V, 12>(keys, count),
            _ if V::FEW > 8 => sort_vectors::<V, 16>(keys, count),
            _ => unreachable!("there are at most {} vectors", V::FEW),
        }
    }
}

/// Does what [`sort_few`] does, for at most `N` vectors.
///
/// # Safety
/// As [`sort_few`].
#[inline(always)]
unsafe fn sort_vectors<V: Lanes, const N: usize>(keys: *mut V::Key, count: usize) {
    // SAFETY: the caller's promise: vector `i` has keys from `i * COUNT` on, as far as there are `count`.
    unsafe {
        let mut vectors: [V; N] = std::array::from_fn(|i| {
            let begin = i * V::COUNT;
            match count.saturating_sub(begin) {
                rest if rest >= V::COUNT => V::load(keys.add(begin)),
                // No key is read, so the address does not matter.
                0 => V::load_first(keys, 0),
                rest => V::load_first(keys.add(begin), rest),
            }
        });
        sort_all(&mut vectors);
        for (i, vector) in vectors.into_iter().enumerate() {
            let begin = i * V::COUNT;
            match count.saturating_sub(begin) {
                rest if rest >= V::COUNT => vector.store(keys.add(begin)),
                0 => {}
                rest => vector.store_first(keys.add(begin), rest),
            }
        }
    }
}

/// Sorts the keys of 1, 2, 4, 6, 8, 12 or 16 vectors.
///
/// # Safety
/// As [`Lanes`].
#[inline(always)]
pub(super) unsafe fn sort_all<V: Lanes, const N: usize>(vectors: &mut [V; N]) {
    // SAFETY: the caller's promise.
    unsafe {
        for vector in &mut *vectors {
            *vector = sort_lanes(*vector);
        }
        for first in (0..N / 2).map(|group| 2 * group) {
            merge::<V, 1, 1>(&mut vectors[first..]);
        }
        for first in (0..N / 4).map(|group| 4 * group) {
            merge::<V, 2, 2>(&mut vectors[first..]);
        }
        for first in (0..N / 8).map(|group| 8 * group) {
            merge::<V, 4, 4>(&mut vectors[first..]);
        }
        match N {
            6 => merge::<V, 4, 2>(vectors),
            12 => merge::<V, 8, 4>(vectors),
            16 => merge::<V, 8, 8>(vectors),
            _ => {}
        }
    }
}

/// Sorts the keys of a vector, by a bitonic network.
///
/// # Safety
/// As [`Lanes`].
#[inline(always)]
unsafe fn sort_lanes<V: Lanes>(vector: V) -> V {
    // SAFETY: the caller's promise.
    unsafe {
        let vector = vector.exchange::<1, 1>();
        let vector = vector.exchange::<3, 2>().exchange::<1, 1>();
        if V::COUNT == 4 {
            return vector;
        }
        let vector = vector.exchange::<7, 4>().exchange::<2, 2>().exchange::<1, 1>();
        if V::COUNT == 8 {
            return vector;
        }
        vector.exchange::<15, 8>().exchange::<4, 4>().exchange::<2, 2>().exchange::<1, 1>()
    }
}

/// Sorts the keys of a vector. The keys must be bitonic: some rotation of them ascends and then descends.
///
/// # Safety
/// As [`Lanes`].
#[inline(always)]
unsafe fn merge_lanes<V: Lanes>(mut vector: V) -> V {
    // SAFETY: the caller's promise.
    unsafe {
        if V::COUNT >= 16 {
            vector = vector.exchange::<8, 8>();
        }
        if V::COUNT >= 8 {
            vector = vector.exchange::<4, 4>();
        }
        vector.exchange::<2, 2>().exchange::<1, 1>()
    }
}

/// Merges the keys of the first `LOW` vectors, which are sorted, and of the `HIGH` vectors after them, which are sorted
/// too. `HIGH` is at most `LOW`.
///
/// # Safety
/// As [`Lanes`].
#[inline(always)]
unsafe fn merge<V: Lanes, const LOW: usize, const HIGH: usize>(vectors: &mut [V]) {
    // SAFETY: the caller's promise.
    unsafe {
        let mut low: [V; LOW] = std::array::from_fn(|i| vectors[i]);
        let mut high: [V; HIGH] = std::array::from_fn(|i| vectors[LOW + HIGH - 1 - i].reversed());
        // The first vectors would meet vectors of the largest keys, which change nothing.
        for (low, high) in low[LOW - HIGH..].iter_mut().zip(&mut high) {
            (*low, *high) = (low.min(*high), low.max(*high));
        }
        merge_bitonic(&mut low);
        merge_bitonic(&mut high);
        vectors[..LOW].copy_from_slice(&low);
        vectors[LOW..LOW + HIGH].copy_from_slice(&high);
    }
}

/// Sorts the keys of 1, 2, 4 or 8 vectors. All the keys together must be bitonic.
///
/// # Safety
/// As [`Lanes`].
#[inline(always)]
unsafe fn merge_bitonic<V: Lanes, const N: usize>(vectors: &mut [V; N]) {
    // SAFETY: the caller's promise.
    unsafe {
        for distance in [4, 2, 1] {
            for i in (0..N).filter(|i| 2 * distance <= N && i & distance == 0) {
                let (a, b) = (vectors[i], vectors[i + distance]);
                (vectors[i], vectors[i + distance]) = (a.min(b), a.max(b));
            }
        }
        for vector in vectors {
            *vector = merge_lanes(*vector);
        }
    }
}
