//! Machine code from kernels.
