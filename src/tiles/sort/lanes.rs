//! [`Lanes`]: a vector of keys; [`sort_few`]: sorts the keys of a few vectors in registers.
//!
//! Every function is inlined into a caller with `#[target_feature]` for the vector instructions. In debug builds, the
//! functions that sort several vectors are not inlined: without optimization, each vector of each step takes stack
//! memory of its own.

use super::SortKey;

/// A vector of keys.
///
/// # Safety
/// The functions require that the processor has the instructions of the vector.
pub(super) trait Lanes: Copy {
    /// The keys.
    type Key: SortKey;
    /// The number of keys of a vector: 4, 8 or 16.
    const COUNT: usize;
    /// The largest number of vectors that [`sort_few`] sorts: 8 or 16, half of the registers.
    const SMALL_SORT_VECTORS: usize;

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

    /// Loads `count` keys, fewer than a vector has. The other lanes get the largest value of the key type.
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

    /// Compares the key of lane `i` with the key of lane `i ^ DISTANCE` of `other`. The lanes whose number has the bit
    /// `BIT` get the larger key, the other lanes the smaller key. `BIT` is the highest bit of `DISTANCE`.
    ///
    /// # Safety
    /// As [`Lanes`].
    unsafe fn exchange_with<const DISTANCE: usize, const BIT: usize>(self, other: Self) -> Self;

    /// Compares the keys of lanes `i` and `i ^ DISTANCE`, as [`Lanes::exchange_with`] does.
    ///
    /// # Safety
    /// As [`Lanes`].
    #[inline(always)]
    unsafe fn exchange<const DISTANCE: usize, const BIT: usize>(self) -> Self {
        // SAFETY: the caller's promise.
        unsafe { self.exchange_with::<DISTANCE, BIT>(self) }
    }

    /// Returns the keys of both vectors in turn: `[a0, b0, a1, b1, ..]`.
    ///
    /// # Safety
    /// As [`Lanes`].
    unsafe fn interleaved(self, other: Self) -> [Self; 2];

    /// Returns the keys in reverse order.
    ///
    /// # Safety
    /// As [`Lanes`].
    unsafe fn reversed(self) -> Self;

    /// Stores the keys <= `pivot` upward from `low`, and the keys > `pivot` downward from `high`. Every lane of `pivot`
    /// holds the pivot. Returns the number of keys <= `pivot`. Other keys between `low` and `high` may change.
    ///
    /// # Safety
    /// The keys between `low` and `high` are writable and at least [`Lanes::COUNT`].
    unsafe fn split(self, pivot: Self, low: *mut Self::Key, high: *mut Self::Key) -> usize;
}

/// Runs a block for every number below `$count`, which is at most 16. Each number is a constant in its copy of the
/// block, so the elements of an array of vectors stay in registers. In a loop that the compiler does not unroll, they
/// would be in memory; and it may not inline closures around vector instructions. The conditions are `const` blocks, so
/// that the compiler makes no code for the copies that do not run.
macro_rules! unrolled {
    ($number:ident < $count:expr, $body:block) => {
        unrolled!(@ $number < $count, $body, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15)
    };
    (@ $number:ident < $count:expr, $body:block, $($each:literal)*) => {
        $(if const { $each < $count } {
            let $number: usize = $each;
            $body
        })*
    };
}

pub(super) use unrolled;

/// Sorts pairs of vectors lane by lane: the smaller keys go to the vector of the first index of a pair.
macro_rules! compare {
    ($rows:ident: $($low:literal $high:literal,)*) => {{
        $(($rows[$low], $rows[$high]) = ($rows[$low].min($rows[$high]), $rows[$low].max($rows[$high]));)*
    }};
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

/// Sorts `count` keys, at most [`Lanes::SMALL_SORT_VECTORS`] vectors.
///
/// # Safety
/// The keys are readable and writable at `keys`. The processor has the instructions of `V`.
#[cfg_attr(not(debug_assertions), inline(always))]
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
            9..=12 if V::SMALL_SORT_VECTORS > 8 => sort_vectors::<V, 12>(keys, count),
            _ if V::SMALL_SORT_VECTORS > 8 => sort_vectors::<V, 16>(keys, count),
            _ => unreachable!("there are at most {} vectors", V::SMALL_SORT_VECTORS),
        }
    }
}

/// Does what [`sort_few`] does, for at most `N` vectors.
///
/// # Safety
/// As [`sort_few`].
#[cfg_attr(not(debug_assertions), inline(always))]
unsafe fn sort_vectors<V: Lanes, const N: usize>(keys: *mut V::Key, count: usize) {
    // SAFETY: the caller's promise: vector `i` has keys from `i * COUNT` on, as far as there are `count`.
    unsafe {
        // No key is read, so the address does not matter.
        let mut vectors = [V::load_first(keys, 0); N];
        unrolled!(i < N, {
            let begin = i * V::COUNT;
            match count.saturating_sub(begin) {
                0 => {}
                rest if rest >= V::COUNT => vectors[i] = V::load(keys.add(begin)),
                rest => vectors[i] = V::load_first(keys.add(begin), rest),
            }
        });
        sort_all(&mut vectors);
        unrolled!(i < N, {
            let begin = i * V::COUNT;
            match count.saturating_sub(begin) {
                0 => {}
                rest if rest >= V::COUNT => vectors[i].store(keys.add(begin)),
                rest => vectors[i].store_first(keys.add(begin), rest),
            }
        });
    }
}

/// Sorts the keys of 1, 2, 4, 6, 8, 12 or 16 vectors.
///
/// # Safety
/// As [`Lanes`].
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) unsafe fn sort_all<V: Lanes, const N: usize>(vectors: &mut [V; N]) {
    // SAFETY: the caller's promise.
    unsafe {
        match N {
            6 => {
                sort_matrix::<V, N, 4>(vectors, 0);
                sort_matrix::<V, N, 2>(vectors, 4);
                merge::<V, N, 4, 2>(vectors);
            }
            12 => {
                sort_matrix::<V, N, 8>(vectors, 0);
                sort_matrix::<V, N, 4>(vectors, 8);
                merge::<V, N, 8, 4>(vectors);
            }
            _ => sort_matrix::<V, N, N>(vectors, 0),
        }
    }
}

/// Sorts the keys of `ROWS` vectors from vector `first` on. There are 1, 2, 4, 8 or 16 of them.
///
/// The vectors are the rows of a matrix. Its columns are sorted first, all at once, because the comparison of two rows
/// needs no permutation. Then each column is merged with its neighbor, each pair of columns with the next pair, and so
/// on. The keys of merged columns ascend down the first column, then down the second column. In the end the matrix is
/// transposed.
///
/// # Safety
/// As [`Lanes`].
#[cfg_attr(not(debug_assertions), inline(always))]
unsafe fn sort_matrix<V: Lanes, const N: usize, const ROWS: usize>(vectors: &mut [V; N], first: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        let mut rows = [vectors[first]; ROWS];
        unrolled!(i < ROWS, { rows[i] = vectors[first + i] });
        sort_columns(&mut rows);
        merge_columns::<V, ROWS, 1, 1>(&mut rows);
        merge_columns::<V, ROWS, 3, 2>(&mut rows);
        if const { V::COUNT > 4 } {
            merge_columns::<V, ROWS, 7, 4>(&mut rows);
        }
        if const { V::COUNT > 8 } {
            merge_columns::<V, ROWS, 15, 8>(&mut rows);
        }
        // The index of a key has the bits of its row, then the bits of its column. Each round moves the highest row bit
        // to the end.
        unrolled!(round < ROWS.ilog2() as usize, {
            let _ = round;
            let before = rows;
            unrolled!(i < ROWS / 2, {
                [rows[2 * i], rows[2 * i + 1]] = before[i].interleaved(before[i + ROWS / 2]);
            });
        });
        unrolled!(i < ROWS, { vectors[first + i] = rows[i] });
    }
}

/// Sorts each column of 1, 2, 4, 8 or 16 rows by a network with the least known number of comparisons.
///
/// # Safety
/// As [`Lanes`].
#[cfg_attr(not(debug_assertions), inline(always))]
unsafe fn sort_columns<V: Lanes, const N: usize>(rows: &mut [V; N]) {
    // SAFETY: the caller's promise.
    unsafe {
        match N {
            2 => compare!(rows: 0 1,),
            4 => compare!(rows: 0 1, 2 3, 0 2, 1 3, 1 2,),
            8 => compare! { rows:
                0 2, 1 3, 4 6, 5 7, 0 4, 1 5, 2 6, 3 7, 0 1, 2 3, 4 5, 6 7, 2 4, 3 5, 1 4, 3 6, 1 2, 3 4, 5 6,
            },
            16 => compare! { rows:
                0 1, 2 3, 4 5, 6 7, 8 9, 10 11, 12 13, 14 15, 0 2, 1 3, 4 6, 5 7, 8 10, 9 11, 12 14, 13 15,
                0 4, 1 5, 2 6, 3 7, 8 12, 9 13, 10 14, 11 15, 0 8, 1 9, 2 10, 3 11, 4 12, 5 13, 6 14, 7 15,
                5 10, 6 9, 3 12, 13 14, 4 8, 7 11, 1 2, 1 4, 7 13, 2 8, 11 14, 2 4, 5 6, 9 10, 11 13, 3 8, 7 12,
                6 8, 10 12, 3 5, 7 9, 3 4, 5 6, 7 8, 9 10, 11 12, 6 7, 8 9,
            },
            _ => {}
        }
    }
}

/// Merges each group of `COLUMNS` columns with the next group. The keys of a group are sorted already. `DISTANCE` is
/// `2 * COLUMNS - 1`.
///
/// # Safety
/// As [`Lanes`].
#[cfg_attr(not(debug_assertions), inline(always))]
unsafe fn merge_columns<V: Lanes, const N: usize, const DISTANCE: usize, const COLUMNS: usize>(
    rows: &mut [V; N],
) {
    // SAFETY: the caller's promise.
    unsafe {
        // The first key of a group meets the last key of the other group, the second key meets the last but one, and
        // so on. Then the keys of each group are bitonic.
        let before = *rows;
        unrolled!(i < N, {
            rows[i] = before[i].exchange_with::<DISTANCE, COLUMNS>(before[N - 1 - i]);
        });
        if const { COLUMNS > 4 } {
            unrolled!(i < N, { rows[i] = rows[i].exchange::<4, 4>() });
        }
        if const { COLUMNS > 2 } {
            unrolled!(i < N, { rows[i] = rows[i].exchange::<2, 2>() });
        }
        if const { COLUMNS > 1 } {
            unrolled!(i < N, { rows[i] = rows[i].exchange::<1, 1>() });
        }
        merge_rows(rows);
    }
}

/// Sorts each column of 1, 2, 4, 8 or 16 rows. The columns must be bitonic: some rotation of the keys ascends and then
/// descends.
///
/// # Safety
/// As [`Lanes`].
#[cfg_attr(not(debug_assertions), inline(always))]
unsafe fn merge_rows<V: Lanes, const N: usize>(rows: &mut [V; N]) {
    // SAFETY: the caller's promise.
    unsafe {
        unrolled!(round < N.ilog2() as usize, {
            let distance = N >> (round + 1);
            unrolled!(i < N, {
                if i & distance == 0 {
                    let (a, b) = (rows[i], rows[i + distance]);
                    (rows[i], rows[i + distance]) = (a.min(b), a.max(b));
                }
            });
        });
    }
}

/// Sorts the keys of a vector. The keys must be bitonic.
///
/// # Safety
/// As [`Lanes`].
#[inline(always)]
unsafe fn merge_lanes<V: Lanes>(mut vector: V) -> V {
    // SAFETY: the caller's promise.
    unsafe {
        if const { V::COUNT >= 16 } {
            vector = vector.exchange::<8, 8>();
        }
        if const { V::COUNT >= 8 } {
            vector = vector.exchange::<4, 4>();
        }
        vector.exchange::<2, 2>().exchange::<1, 1>()
    }
}

/// Merges the keys of the first `LOW` vectors, which are sorted, and of the `HIGH` vectors after them, which are sorted
/// too. `HIGH` is at most `LOW`, and `N` is the sum of both.
///
/// # Safety
/// As [`Lanes`].
#[cfg_attr(not(debug_assertions), inline(always))]
unsafe fn merge<V: Lanes, const N: usize, const LOW: usize, const HIGH: usize>(vectors: &mut [V; N]) {
    // SAFETY: the caller's promise.
    unsafe {
        let (mut low, mut high) = ([vectors[0]; LOW], [vectors[0]; HIGH]);
        unrolled!(i < LOW, { low[i] = vectors[i] });
        unrolled!(i < HIGH, { high[i] = vectors[N - 1 - i].reversed() });
        // Think of LOW - HIGH vectors of the largest key in front of the reversed `high`. They would be compared with
        // the first vectors of `low` and change nothing, so these comparisons are left out.
        unrolled!(i < HIGH, {
            let (a, b) = (low[LOW - HIGH + i], high[i]);
            (low[LOW - HIGH + i], high[i]) = (a.min(b), a.max(b));
        });
        merge_rows(&mut low);
        merge_rows(&mut high);
        unrolled!(i < LOW, { vectors[i] = merge_lanes(low[i]) });
        unrolled!(i < HIGH, { vectors[LOW + i] = merge_lanes(high[i]) });
    }
}
