//! Math.
