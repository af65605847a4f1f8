//! Scalars.
