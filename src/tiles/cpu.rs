//! What the running processor offers, asked once.

use std::sync::OnceLock;

/// Whether 256-bit integer vectors may be used.
#[inline]
pub(super) fn has_avx2() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        std::arch::is_x86_feature_detected!("avx2")
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        false
    }
}

/// Whether 256-bit vectors and fused multiply-adds may be used.
#[inline]
#[cfg(target_arch = "x86_64")]
pub(super) fn has_fma() -> bool {
    has_avx2() && std::arch::is_x86_feature_detected!("fma")
}

/// Whether 512-bit vectors of floats may be used.
#[inline]
#[cfg(target_arch = "x86_64")]
pub(super) fn has_avx512() -> bool {
    std::arch::is_x86_feature_detected!("avx512f")
}

/// Whether a destination of so many bytes is written past the caches: with as much that is read it fills the last of
/// them, so that lines which are fetched only to be overwritten come from memory, and go there again.
pub(crate) fn is_streamed(bytes: usize) -> bool {
    bytes >= last_level_cache() / 2
}

/// Bytes of the largest cache; 32 MiB where the processor does not say.
fn last_level_cache() -> usize {
    static BYTES: OnceLock<usize> = OnceLock::new();
    *BYTES.get_or_init(|| largest_cache().unwrap_or(32 << 20))
}

/// The largest cache that `cpuid` lists, Intel in leaf 4 and AMD, in the same form, in leaf 0x8000_001d.
#[cfg(all(target_arch = "x86_64", not(miri)))]
fn largest_cache() -> Option<usize> {
    use std::arch::x86_64::{__cpuid, __cpuid_count};

    let mut largest = 0;
    for (base, leaf) in [(0, 4), (0x8000_0000, 0x8000_001d)] {
        if __cpuid(base).eax < leaf {
            continue;
        }
        // A list of caches ends with one of type 0; no processor has as many as 16.
        for number in 0..16 {
            let cache = __cpuid_count(leaf, number);
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
