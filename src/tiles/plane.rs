//! [`Plane`]: the two innermost loops of a copy.

use super::axes::CopyLoop;
#[cfg(target_arch = "x86_64")]
use super::cpu::has_avx2;

/// Two nested loops of at least one iteration each. The body of the loops copies a contiguous run or a single element.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plane {
    pub rows: CopyLoop,
    pub cols: CopyLoop,
    pub kind: PlaneKind,
    /// Bytes that the body copies: one element, or for runs the whole run.
    pub elem: usize,
    /// Whether stores to the destination bypass the caches.
    pub stream: bool,
}

impl Plane {
    /// Returns the source stride of the columns in elements; 0 if the destination is not contiguous along the columns,
    /// or the stride is not a multiple of the element size.
    #[cfg(target_arch = "x86_64")]
    pub fn step(&self) -> isize {
        let elem = self.elem as isize;
        if self.cols.dst == elem && self.cols.src % elem == 0 { self.cols.src / elem } else { 0 }
    }

    /// Returns whether rows are gathered by byte shuffles of source vectors. These rows can bypass the caches.
    pub fn is_shuffled(&self) -> bool {
        #[cfg(target_arch = "x86_64")]
        {
            let most = if self.elem < 8 { 4 } else { 2 };
            let step = self.step();
            has_avx2()
                && self.kind == PlaneKind::Strided
                && self.elem <= 8
                && step != 1
                && (1..=most).contains(&step.abs())
        }
        #[cfg(not(target_arch = "x86_64"))]
        {
            false
        }
    }
}

/// How the columns of a plane are copied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum PlaneKind {
    /// Each column is a run of bytes.
    Runs,
    /// The destination is contiguous along the columns; the source stride of the columns is 0.
    Splat,
    /// Any strides.
    Strided,
    /// Two to four columns, contiguous in the destination. Each column is a contiguous run of the source. The copy
    /// interleaves these runs. If their stride is 0, it repeats each element.
    Interleave,
}

/// A function that copies one plane.
///
/// # Safety
/// Every element that the plane names is writable at the first pointer and readable at the second; the two sides
/// do not overlap.
pub(super) type PlaneFn = unsafe fn(&Plane, *mut u8, *const u8);
