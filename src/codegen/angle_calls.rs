//! [`ANGLE_CALLS`]: the functions of large angles, which machine code calls.

use std::mem::offset_of;

use super::abi::{AngleCall, KernelArgs};
use crate::expr::AngleFunction;

/// Defines the functions with the calling convention of kernels.
macro_rules! angle_calls {
    ($abi:literal, $($name:ident $function:ident,)*) => {$(
        unsafe extern $abi fn $name(values: *mut f64, angles: *const f64, count: usize) {
            for k in 0..count {
                // SAFETY: the caller passes the addresses of `count` doubles.
                unsafe { *values.add(k) = AngleFunction::$function.where_large(*values.add(k), *angles.add(k)) }
            }
        }
    )*};
}
#[cfg(target_arch = "x86_64")]
angle_calls! { "sysv64", sin Sin, cos Cos, tan Tan, }
#[cfg(not(target_arch = "x86_64"))]
angle_calls! { "C", sin Sin, cos Cos, tan Tan, }

/// The functions by their numbers.
pub(crate) const ANGLE_CALLS: [AngleCall; AngleFunction::ALL.len()] = [sin, cos, tan];

/// Returns the offset of the address of a function in the arguments of a kernel.
pub(super) fn angle_call_offset(function: AngleFunction) -> usize {
    offset_of!(KernelArgs, angle_calls) + size_of::<AngleCall>() * function.number()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_have_their_numbers() {
        for (number, function) in AngleFunction::ALL.into_iter().enumerate() {
            let (mut values, angles) = ([7.0, 7.0], [1e300, 1.0]);
            // SAFETY: there are two doubles.
            unsafe { ANGLE_CALLS[number](values.as_mut_ptr(), angles.as_ptr(), 2) };
            assert_eq!(function.number(), number);
            assert_eq!(values, angles.map(|x| function.where_large(7.0, x)));
        }
    }
}
