//! [`fill`]: the same element many times.

use super::copy::copy_strided;

/// Writes the first `elem` bytes of `pattern` (1, 2, 4, 8 or 16) `n` times.
///
/// # Safety
/// `n·elem` bytes are writable at `dst`. No alignment is needed.
pub(crate) unsafe fn fill(dst: *mut u8, n: usize, elem: usize, pattern: &[u8; 16]) {
    // SAFETY: the destination is the caller's promise; the source is one element, read again and again.
    unsafe { copy_strided(dst, &[elem as isize], pattern.as_ptr(), &[0], &[n], elem) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_but_the_elements_is_written() {
        let pattern: [u8; 16] = std::array::from_fn(|i| i as u8 + 1);
        for elem in [1, 2, 4, 8, 16] {
            for n in [0, 1, 2, 3, 17, 100, 5000] {
                let mut bytes = vec![0u8; n * elem + 66];
                // SAFETY: 33 bytes stand on either side.
                unsafe { fill(bytes.as_mut_ptr().add(33), n, elem, &pattern) };
                let (head, rest) = bytes.split_at(33);
                let (body, tail) = rest.split_at(n * elem);
                assert!(body.chunks_exact(elem).all(|element| *element == pattern[..elem]));
                assert!(head.iter().chain(tail).all(|byte| *byte == 0));
            }
        }
    }
}
