//! Strided copies against a naive copy.

use proptest::prelude::*;

use super::*;

/// Checks one copy, and that it leaves the bytes around and between destination elements alone. The destination starts
/// at a cache line, then at another multiple of the element size, then at an address that is not such a multiple.
fn check(extents: &[usize], dst_strides: &[isize], src_strides: &[isize], elem: usize, bypass: bool) {
    let reach = |strides: &[isize]| {
        let ends = extents.iter().zip(strides).map(|(n, stride)| (*n as isize - 1).max(0) * stride);
        ends.fold((0, 0), |(low, high): (isize, isize), end| (low + end.min(0), high + end.max(0)))
    };
    let (dst_low, dst_high) = reach(dst_strides);
    let (src_low, src_high) = reach(src_strides);
    // The source holds only bytes that the copy may read, so an address sanitizer reports reads of other bytes.
    let source: Vec<u8> =
        (0..(src_high - src_low) as usize + elem).map(|i| (i * 7 + i / 251) as u8).collect();
    let mut wanted = vec![KEPT; (dst_high - dst_low) as usize + elem];
    naive(extents, dst_strides, src_strides, &mut |dst, src| {
        let (dst, src) = ((dst - dst_low) as usize, (src - src_low) as usize);
        wanted[dst..dst + elem].copy_from_slice(&source[src..src + elem]);
    });
    let around = [KEPT; 256];
    for misalignment in [0, elem, 1] {
        let mut got = vec![KEPT; wanted.len() + around.len()];
        let margin = 64 + (got.as_ptr() as usize).wrapping_neg() % 64 + misalignment;
        // SAFETY: each buffer spans all elements of its side.
        unsafe {
            let dst = got.as_mut_ptr().add(margin).offset(-dst_low);
            let src = source.as_ptr().offset(-src_low);
            StridedCopy::new(dst_strides, src_strides, extents, elem, bypass).run(dst, src);
        }
        let (before, rest) = got.split_at(margin);
        let (copied, after) = rest.split_at(wanted.len());
        assert!(
            copied == wanted && before == &around[..before.len()] && after == &around[..after.len()],
            "extents {extents:?}, strides {dst_strides:?} from {src_strides:?}, elem {elem}, bypass {bypass}"
        );
    }
}

/// The byte in places that no copy writes.
const KEPT: u8 = 0xa5;

/// Calls `copy(dst_offset, src_offset)` for every element.
fn naive(extents: &[usize], dst: &[isize], src: &[isize], copy: &mut dyn FnMut(isize, isize)) {
    let Some((n, outer)) = extents.split_last() else { return copy(0, 0) };
    let last = outer.len();
    naive(outer, &dst[..last], &src[..last], &mut |to, from| {
        for index in 0..*n as isize {
            copy(to + index * dst[last], from + index * src[last]);
        }
    });
}

/// Returns strides in which no two elements share a byte. The axes are stored in `order`, each with a gap and a sign.
fn strides(extents: &[usize], order: &[usize], gaps: &[usize], signs: u32, elem: usize) -> Vec<isize> {
    let mut strides = vec![0; extents.len()];
    let mut span = elem;
    for (axis, gap) in order.iter().zip(gaps) {
        let stride = span + gap;
        strides[*axis] = if signs >> axis & 1 == 1 { -(stride as isize) } else { stride as isize };
        span += stride * (extents[*axis].max(1) - 1);
    }
    strides
}

fn case() -> impl Strategy<Value = (Vec<usize>, Vec<isize>, Vec<isize>, usize, bool)> {
    (0usize..6)
        .prop_flat_map(|rank| {
            let top = [1usize, 1500, 70, 20, 9, 6][rank];
            let extent = prop_oneof![1 => Just(1usize), 8 => 1..=top, 1 => Just(0)];
            let gap = || prop_oneof![6 => Just(0usize), 2 => Just(4), 1 => 0usize..9];
            (
                proptest::collection::vec(extent, rank),
                Just((0..rank).collect::<Vec<_>>()).prop_shuffle(),
                Just((0..rank).collect::<Vec<_>>()).prop_shuffle(),
                proptest::collection::vec(gap(), rank),
                proptest::collection::vec(gap(), rank),
                (
                    prop_oneof![2 => Just(0u32), 1 => any::<u32>()],
                    prop_oneof![2 => Just(0u32), 1 => any::<u32>()],
                ),
                prop_oneof![3 => Just(0u32), 1 => any::<u32>()],
                (0u32..5, prop::bool::weighted(0.25)),
            )
        })
        .prop_map(|(extents, dst_order, src_order, dst_gaps, src_gaps, signs, repeated, (log, bypass))| {
            let elem = 1 << log;
            let dst = strides(&extents, &dst_order, &dst_gaps, signs.0, elem);
            let mut src = strides(&extents, &src_order, &src_gaps, signs.1, elem);
            for (axis, stride) in src.iter_mut().enumerate() {
                if repeated >> axis & 1 == 1 {
                    *stride = 0;
                }
            }
            (extents, dst, src, elem, bypass)
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_copy_matches_the_naive_one((extents, dst, src, elem, bypass) in case()) {
        check(&extents, &dst, &src, elem, bypass);
    }
}

#[test]
fn every_kind_of_plane_is_copied() {
    for elem in [1usize, 2, 4, 8, 16] {
        let e = elem as isize;
        for bypass in [false, true] {
            for n in [1usize, 2, 3, 4, 7, 8, 16, 17, 33, 65, 513] {
                let s = n as isize * e;
                check(&[n], &[e], &[e], elem, bypass);
                check(&[n], &[e], &[-e], elem, bypass);
                check(&[n], &[e], &[0], elem, bypass);
                check(&[n, 3], &[3 * e, e], &[e, 0], elem, bypass);
                for step in 2..6 {
                    check(&[n], &[e], &[step * e], elem, bypass);
                    check(&[n], &[e], &[-step * e], elem, bypass);
                    check(&[3, n], &[s, e], &[step * s, step * e], elem, bypass);
                    check(&[n], &[step * e], &[e], elem, bypass);
                    check(&[n], &[-e], &[step * e + 1], elem, bypass);
                }
                for m in [2usize, 3, 4, 16, 18, 40] {
                    let t = m as isize * e;
                    check(&[n, m], &[t, e], &[e, s], elem, bypass);
                    check(&[n, m], &[t + 3, e], &[-e, s + 5], elem, bypass);
                    check(&[n, m], &[t, e], &[e, -s], elem, bypass);
                    check(&[n, m], &[t, e], &[2 * e, 2 * s], elem, bypass);
                }
            }
        }
        for step in [-4, -3, -2, -1, 2, 3, 4] {
            check(&[2, 4099], &[4099 * e, e], &[4100 * 4 * e, step * e], elem, true);
            check(&[2, 4096], &[4096 * e, e], &[4100 * 4 * e, step * e], elem, true);
        }
        for len in (1..300).chain([511, 512, 1000, 2047, 2048, 2049, 9000]) {
            let (n, s) = (len as isize * e, (len as isize + 3) * e);
            for bypass in [false, true] {
                check(&[3, 2, len], &[2 * s, s, e], &[s, 3 * s, e], elem, bypass);
                check(&[2, 5, len], &[5 * n, n, e], &[n, 2 * n, e], elem, bypass);
            }
        }
        check(&[3, 50, 7], &[50 * 7 * e, 7 * e, e], &[7 * e, 21 * e, e], elem, false);
    }
}

#[test]
fn many_tiles_are_copied() {
    for elem in [1, 2, 4, 8, 16] {
        let e = elem as isize;
        for bypass in [false, true] {
            check(&[2, 70, 576], &[70 * 576 * e, 576 * e, e], &[e, 2 * e, 140 * e], elem, bypass);
            check(
                &[2, 150, 1025],
                &[150 * 1025 * e, 1025 * e, e],
                &[150 * 1025 * e, e, 150 * e],
                elem,
                bypass,
            );
        }
    }
}

#[test]
fn transposes_to_unaligned_rows_are_copied() {
    for elem in [1, 2, 4, 8, 16] {
        let e = elem as isize;
        let run = 512 / elem;
        for rows in [64 / elem + 1, 256 / elem, 256 / elem + 1, 300] {
            for cols in [4 * run, 4 * run + 1, 5 * run - 1, 8 * run + 3, 2048 / elem + 16 / elem] {
                let (n, m) = (rows as isize, cols as isize);
                check(&[rows, cols], &[m * e + 1, e], &[e, n * e], elem, true);
                check(&[rows, cols], &[m * e + 64, e], &[-e, (n + 1) * e], elem, true);
            }
        }
    }
}

#[test]
fn sixteen_axes_are_copied() {
    let extents = [2usize; 16];
    let dst: Vec<isize> = (0..16).map(|axis| 4 << (15 - axis)).collect();
    let src: Vec<isize> = (0..16).map(|axis| 4 << axis).collect();
    check(&extents, &dst, &src, 4, false);
}
