//! [`gather_rows`]: rows of a table by index.

use super::run;

/// The indices of rows, of the integer types that ops take.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Rows<'a> {
    /// 32 bits.
    I32(&'a [i32]),
    /// 64 bits.
    I64(&'a [i64]),
}

/// Rows ahead whose first lines are asked for: memory answers after about as many.
const AHEAD: usize = 16;

/// Bytes of a row that are asked for ahead.
const ASKED: usize = 256;

/// Copies rows of `len` bytes, `stride` bytes apart in `src`, to `dst`, one after the other in the order of
/// `rows`.
///
/// # Errors
/// The position of the first index that is not in `0..limit`; the rows before it are copied.
///
/// # Safety
/// `rows × len` bytes are writable at `dst`; `limit` rows are readable at `src`; the two do not overlap.
pub(crate) unsafe fn gather_rows(
    dst: *mut u8,
    src: *const u8,
    stride: usize,
    len: usize,
    rows: Rows<'_>,
    limit: usize,
) -> Result<(), usize> {
    // SAFETY: the caller's promise.
    unsafe {
        match rows {
            Rows::I32(rows) => gather(dst, src, stride, len, rows, limit),
            Rows::I64(rows) => gather(dst, src, stride, len, rows, limit),
        }
    }
}

/// # Safety
/// As [`gather_rows`].
unsafe fn gather<I: Copy + TryInto<usize>>(
    dst: *mut u8,
    src: *const u8,
    stride: usize,
    len: usize,
    rows: &[I],
    limit: usize,
) -> Result<(), usize> {
    let row = |index: I| index.try_into().ok().filter(|row| *row < limit);
    for (position, index) in rows.iter().enumerate() {
        if let Some(row) = rows.get(position + AHEAD).copied().and_then(row) {
            for line in (0..len.min(ASKED)).step_by(64) {
                prefetch(src.wrapping_add(row * stride + line));
            }
        }
        let row = row(*index).ok_or(position)?;
        // SAFETY: `row < limit` and `position < rows.len()`.
        unsafe { run::copy_run(dst.add(position * len), src.add(row * stride), len) };
    }
    Ok(())
}

/// Asks for a line of memory to be read soon; any address will do.
#[inline(always)]
fn prefetch(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch of an address that cannot be read does nothing.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_in_the_order_asked() {
        for (len, stride) in [(0, 4), (1, 1), (4, 4), (12, 20), (100, 100), (300, 301)] {
            let source: Vec<u8> = (0..10 * stride).map(|i| i as u8).collect();
            let rows: Vec<i64> = (0..40).map(|i| i * 7 % 10).collect();
            let mut got = vec![0xa5u8; rows.len() * len + 9];
            // SAFETY: source and destination have the rows.
            let outcome =
                unsafe { gather_rows(got.as_mut_ptr(), source.as_ptr(), stride, len, Rows::I64(&rows), 10) };
            assert_eq!(outcome, Ok(()));
            for (position, row) in rows.iter().enumerate() {
                let row = *row as usize;
                assert_eq!(got[position * len..][..len], source[row * stride..][..len]);
            }
            assert_eq!(got[rows.len() * len..], [0xa5; 9]);
        }
    }

    #[test]
    fn the_first_row_outside_is_named() {
        let source = [1u8, 2, 3];
        for (rows, outcome) in [
            (&[2, 0][..], Ok(())),
            (&[0, 3, -1], Err(1)),
            (&[-1], Err(0)),
            (&[i32::MAX, 0], Err(0)),
            (&[], Ok(())),
        ] {
            let mut got = [0u8; 4];
            // SAFETY: three rows of one byte; as many are writable as there are indices.
            let answer = unsafe { gather_rows(got.as_mut_ptr(), source.as_ptr(), 1, 1, Rows::I32(rows), 3) };
            assert_eq!(answer, outcome);
        }
    }
}
