//! [`StringHandles`]: the integers that stand for strings while an op moves or compares them.

use super::OpDef;

/// The guarantee that the handles of a call give about its strings. A handle is an i64 that stands for a string; handle
/// 0 is the empty string.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum StringHandles {
    /// A handle identifies a string; equal strings may have several handles. Such handles are enough to move strings.
    Any,
    /// Two strings are equal if and only if their handles are equal.
    Equality,
    /// Handles are ordered as their strings are. Strings are compared byte by byte.
    Order,
}

impl OpDef {
    /// Lets the host kernel see the strings of its operands and results as i64 handles. This suits a kernel that only
    /// moves or compares elements.
    pub(crate) const fn takes_handles(mut self, handles: StringHandles) -> OpDef {
        self.string_handles = Some(handles);
        self
    }

    /// Returns the guarantee that the host kernel needs from handles; `None` for a kernel that reads strings itself.
    pub(crate) fn string_handles(&self) -> Option<StringHandles> {
        self.string_handles
    }
}
