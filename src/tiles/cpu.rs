//! Features and caches of the running processor.

use std::sync::OnceLock;

/// Bytes of a cache line.
pub(super) const CACHE_LINE: usize = 64;

/// Returns whether the processor has 256-bit integer vectors.
#[inline]
pub(crate) fn has_avx2() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        std::arch::is_x86_feature_detected!("avx2")
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        false
    }
}

/// Returns whether the processor has 256-bit vectors and fused multiply-adds.
#[inline]
#[cfg(target_arch = "x86_64")]
pub(super) fn has_fma() -> bool {
    has_avx2() && std::arch::is_x86_feature_detected!("fma")
}

/// Returns whether the processor has 512-bit float vectors.
#[inline]
#[cfg(target_arch = "x86_64")]
pub(super) fn has_avx512() -> bool {
    std::arch::is_x86_feature_detected!("avx512f")
}

/// Returns whether a loop that loads `loaded` bytes and stores `stored` bytes stores past the caches.
///
/// It does if both exceed three quarters of the last-level cache, which other programs use too. Ordinary stores would
/// then fetch each line from memory, although every byte of the line is overwritten. A result of less than half of the
/// cache stays in the cache for its reader.
pub(crate) fn is_streamed(loaded: usize, stored: usize) -> bool {
    let cache = last_level_cache();
    stored >= cache / 2 && stored.saturating_add(loaded) >= cache / 4 * 3
}

/// Returns the size in bytes of the largest cache; 32 MiB if the processor does not report its caches.
fn last_level_cache() -> usize {
    static BYTES: OnceLock<usize> = OnceLock::new();
    *BYTES.get_or_init(|| largest_cache().unwrap_or(32 << 20))
}

/// Returns the size in bytes of the largest cache that `cpuid` lists. Intel lists caches in leaf 4, AMD in leaf
/// 0x8000_001d; both use the same format.
#[cfg(all(target_arch = "x86_64", not(miri)))]
fn largest_cache() -> Option<usize> {
    use std::arch::x86_64::{__cpuid, __cpuid_count};

    let mut largest = 0;
    for (base, leaf) in [(0, 4), (0x8000_0000, 0x8000_001d)] {
        if __cpuid(base).eax < leaf {
            continue;
        }
        // A cache of type 0 ends the list. No processor has 16 caches.
        for index in 0..16 {
            let cache = __cpuid_count(leaf, index);
            if cache.eax & 0x1f == 0 {
                break;
            }
            let field = |shift: u32, mask: u32| ((cache.ebx >> shift) & mask) as usize + 1;
            let bytes = field(22, 0x3ff) * field(12, 0x3ff) * field(0, 0xfff) * (cache.ecx as usize + 1);
            largest = largest.max(bytes);
        }
    }
    (largest != 0).then_some(largest)
}

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
fn largest_cache() -> Option<usize> {
    None
}

#[cfg(test)]
mod tests {
    #[test]
    fn caches_have_a_plausible_size() {
        let bytes = super::last_level_cache();
        assert!((1 << 16..1 << 34).contains(&bytes), "{bytes}");
    }
}
