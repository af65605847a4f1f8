//! [`StringHandles`]: the integers that stand for strings while an op moves or compares them.

use super::OpDef;

/// What the handles that stand for the strings of a call say about them. A handle is an i64; 0 is the empty string.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum StringHandles {
    /// A handle leads to its string. Enough to move strings.
    Any,
    /// Two strings are equal if and only if their handles are.
    Equality,
    /// Handles ascend as their strings do, byte by byte.
    Order,
}

impl OpDef {
    /// Lets the host kernel see the strings of its operands and results as i64 handles. For a kernel that only moves or
    /// compares elements.
    pub(crate) const fn takes_handles(mut self, handles: StringHandles) -> OpDef {
        self.string_handles = Some(handles);
        self
    }

    /// Returns what the host kernel asks of the handles of strings; `None` for a kernel that reads strings itself.
    pub(crate) fn string_handles(&self) -> Option<StringHandles> {
        self.string_handles
    }
}
