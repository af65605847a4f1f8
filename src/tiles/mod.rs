//! Precompiled tile functions.
