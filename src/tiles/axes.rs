//! [`CopyLoops`]: the loops of a copy, merged into as few loops as possible.

use smallvec::SmallVec;

/// One loop of a copy: its trip count, and the stride of each side in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct CopyLoop {
    pub n: usize,
    pub dst: isize,
    pub src: isize,
}

/// The loops of a copy, from the outermost to the innermost.
///
/// Destination strides are positive and do not increase inwards. No loop has a single iteration, and no two
/// neighboring loops could be one longer loop.
pub(super) struct CopyLoops {
    pub axes: SmallVec<[CopyLoop; 6]>,
    /// Byte offset of the element that the loops copy first, in the destination and in the source.
    pub dst_first: isize,
    pub src_first: isize,
    /// Bytes of an element. An innermost contiguous run of at most 16 bytes counts as one element if its size is a
    /// power of two.
    pub elem: usize,
}

impl CopyLoops {
    /// Returns the loops over `extents`; `None` if an extent is 0, so that there is nothing to copy.
    pub(super) fn new(
        dst_strides: &[isize],
        src_strides: &[isize],
        extents: &[usize],
        elem: usize,
    ) -> Option<CopyLoops> {
        debug_assert!(extents.len() == dst_strides.len() && extents.len() == src_strides.len());
        let mut axes: SmallVec<[CopyLoop; 6]> = SmallVec::new();
        let (mut dst_first, mut src_first) = (0isize, 0isize);
        for ((n, dst), src) in extents.iter().zip(dst_strides).zip(src_strides) {
            let mut axis = CopyLoop { n: *n, dst: *dst, src: *src };
            match *n {
                0 => return None,
                1 => continue,
                _ if *dst < 0 => {
                    dst_first += dst * (n - 1) as isize;
                    src_first += src * (n - 1) as isize;
                    axis = CopyLoop { n: *n, dst: -dst, src: -src };
                }
                _ => {}
            }
            // The search starts at the end: axes usually come in order already.
            let position = axes.iter().rposition(|outer| outer.dst >= axis.dst).map_or(0, |outer| outer + 1);
            axes.insert(position, axis);
        }
        let mut merged = 0;
        for next in 1..axes.len() {
            let (outer, inner) = (axes[merged], axes[next]);
            let n = inner.n as isize;
            if outer.dst == inner.dst.wrapping_mul(n) && outer.src == inner.src.wrapping_mul(n) {
                axes[merged] = CopyLoop { n: outer.n * inner.n, ..inner };
            } else {
                merged += 1;
                axes[merged] = inner;
            }
        }
        axes.truncate(merged + 1);
        let mut elem = elem;
        while axes.len() > 1
            && let Some(CopyLoop { n, dst, src }) = axes.last().copied()
            && dst == elem as isize
            && src == dst
            && n <= 16 / elem
            && (n * elem).is_power_of_two()
        {
            elem *= n;
            axes.pop();
        }
        Some(CopyLoops { axes, dst_first, src_first, elem })
    }
}

/// Calls `visit(dst_offset, src_offset)`, in bytes, for every iteration of the loops, in order.
#[inline]
pub(super) fn for_each_offset(axes: &[CopyLoop], mut visit: impl FnMut(isize, isize)) {
    if axes.is_empty() {
        return visit(0, 0);
    }
    let mut position: SmallVec<[usize; 6]> = SmallVec::from_elem(0, axes.len());
    let (mut dst, mut src) = (0isize, 0isize);
    loop {
        visit(dst, src);
        let mut axis = axes.len();
        loop {
            let Some(inner) = axis.checked_sub(1) else { return };
            axis = inner;
            let CopyLoop { n, dst: dst_stride, src: src_stride } = axes[axis];
            position[axis] += 1;
            dst += dst_stride;
            src += src_stride;
            if position[axis] < n {
                break;
            }
            position[axis] = 0;
            dst -= dst_stride * n as isize;
            src -= src_stride * n as isize;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axes(
        dst: &[isize],
        src: &[isize],
        extents: &[usize],
        elem: usize,
    ) -> (Vec<(usize, isize, isize)>, usize) {
        let axes = CopyLoops::new(dst, src, extents, elem).unwrap();
        (axes.axes.iter().map(|axis| (axis.n, axis.dst, axis.src)).collect(), axes.elem)
    }

    #[test]
    fn contiguous_axes_are_merged() {
        assert_eq!(axes(&[24, 8, 4], &[24, 8, 4], &[5, 3, 2], 4), (vec![(30, 4, 4)], 4));
        assert_eq!(axes(&[24, 8, 4], &[0, 0, 0], &[5, 3, 2], 4), (vec![(30, 4, 0)], 4));
        assert_eq!(axes(&[4, 4, 4], &[9, 9, 9], &[1, 1, 1], 4), (vec![], 4));
        assert!(CopyLoops::new(&[4], &[4], &[0], 4).is_none());
    }

    #[test]
    fn destination_strides_are_sorted_and_short_runs_become_elements() {
        assert_eq!(axes(&[4, 12], &[4, 20], &[3, 5], 4), (vec![(5, 12, 20), (3, 4, 4)], 4));
        assert_eq!(axes(&[-4], &[4], &[7], 4), (vec![(7, 4, -4)], 4));
        assert_eq!(axes(&[4, 2, 1], &[8, 2, 1], &[9, 2, 2], 1), (vec![(9, 4, 8)], 4));
        assert_eq!(axes(&[3, 1], &[8, 1], &[9, 3], 1), (vec![(9, 3, 8), (3, 1, 1)], 1));
    }

    #[test]
    fn all_offsets_are_visited_in_order() {
        let mut seen = Vec::new();
        let axes = [CopyLoop { n: 2, dst: 10, src: -1 }, CopyLoop { n: 3, dst: 1, src: 0 }];
        for_each_offset(&axes, |dst, src| seen.push((dst, src)));
        assert_eq!(seen, [(0, 0), (1, 0), (2, 0), (10, -1), (11, -1), (12, -1)]);
        seen.clear();
        for_each_offset(&[], |dst, src| seen.push((dst, src)));
        assert_eq!(seen, [(0, 0)]);
    }
}
