//! [`CALLED_FUNCTIONS`]: machine code calls these functions for large angles and for remainders of floats.

use std::mem::offset_of;

use super::abi::{CalledFn, KernelArgs};
use crate::expr::AngleFunction;

/// A function that machine code calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CalledFunction {
    /// `values[i]` becomes a function of `operands[i]` if this angle is large: [`AngleFunction::where_large`].
    LargeAngle(AngleFunction),
    /// `values[i]` becomes its remainder by `operands[i]`: C's `fmod`.
    Remainder,
}

impl CalledFunction {
    /// The number of functions.
    pub const COUNT: usize = AngleFunction::ALL.len() + 1;

    /// Returns the number of the function.
    pub fn number(self) -> usize {
        match self {
            CalledFunction::LargeAngle(function) => function.number(),
            CalledFunction::Remainder => AngleFunction::ALL.len(),
        }
    }

    /// Returns the offset of the address of the function in the arguments of a kernel.
    pub fn offset(self) -> usize {
        offset_of!(KernelArgs, called_functions) + size_of::<CalledFn>() * self.number()
    }

    /// Computes the new `values[i]` from the two doubles.
    #[inline(always)]
    pub fn compute(self, value: f64, operand: f64) -> f64 {
        match self {
            CalledFunction::LargeAngle(function) => function.where_large(value, operand),
            CalledFunction::Remainder => value % operand,
        }
    }
}

/// Defines functions with the calling convention of kernels.
macro_rules! called_functions {
    ($($name:ident $function:expr,)*) => {
        #[cfg(target_arch = "x86_64")]
        called_functions! { @ "sysv64", $($name $function,)* }
        #[cfg(not(target_arch = "x86_64"))]
        called_functions! { @ "C", $($name $function,)* }
    };
    (@ $abi:literal, $($name:ident $function:expr,)*) => {$(
        unsafe extern $abi fn $name(values: *mut f64, operands: *const f64, count: usize) {
            for k in 0..count {
                // SAFETY: the caller passes the addresses of `count` doubles.
                unsafe { *values.add(k) = $function.compute(*values.add(k), *operands.add(k)) }
            }
        }
    )*};
}
called_functions! {
    sin CalledFunction::LargeAngle(AngleFunction::Sin),
    cos CalledFunction::LargeAngle(AngleFunction::Cos),
    tan CalledFunction::LargeAngle(AngleFunction::Tan),
    remainder CalledFunction::Remainder,
}

/// The functions by their numbers.
pub(crate) const CALLED_FUNCTIONS: [CalledFn; CalledFunction::COUNT] = [sin, cos, tan, remainder];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_have_their_numbers() {
        let angles = AngleFunction::ALL.map(CalledFunction::LargeAngle);
        for (number, function) in angles.into_iter().chain([CalledFunction::Remainder]).enumerate() {
            let (mut values, operands) = ([7.0, -7.5], [1e300, 2.0]);
            let expected = [function.compute(7.0, 1e300), function.compute(-7.5, 2.0)];
            // SAFETY: there are two doubles.
            unsafe { CALLED_FUNCTIONS[number](values.as_mut_ptr(), operands.as_ptr(), 2) };
            assert_eq!(function.number(), number);
            assert_eq!(values, expected);
        }
        assert_eq!(CalledFunction::Remainder.compute(-7.5, 2.0), -1.5);
    }
}
