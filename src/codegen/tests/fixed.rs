//! Codes written by hand: the shapes that kernels have.
