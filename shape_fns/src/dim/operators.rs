//! The operators `+ - * %` and negation of dimensions, with a number allowed on either side.

use std::ops::Neg;

use crate::dim::quotient::modulo;
use crate::dim::{DimRepr, Invalid};
use crate::{Dim, IntoDim};

/// Turns an error into an invalid dimension, since operators cannot return errors.
fn or_invalid(result: Result<Dim, Invalid>) -> Dim {
    result.unwrap_or_else(|why| Dim(DimRepr::Invalid(why)))
}

macro_rules! operators {
    ($($Op:ident $method:ident |$a:ident, $b:ident| $body:expr;)*) => {$(
        impl<T: IntoDim> std::ops::$Op<T> for Dim {
            type Output = Dim;
            fn $method(self, other: T) -> Dim {
                let ($a, $b) = (&self, &other.into_dim());
                or_invalid($body)
            }
        }
        impl<T: IntoDim> std::ops::$Op<T> for &Dim {
            type Output = Dim;
            fn $method(self, other: T) -> Dim {
                let ($a, $b) = (self, &other.into_dim());
                or_invalid($body)
            }
        }
        impl std::ops::$Op<Dim> for i64 {
            type Output = Dim;
            fn $method(self, other: Dim) -> Dim {
                let ($a, $b) = (&Dim::known(self), &other);
                or_invalid($body)
            }
        }
        impl std::ops::$Op<&Dim> for i64 {
            type Output = Dim;
            fn $method(self, other: &Dim) -> Dim {
                let ($a, $b) = (&Dim::known(self), other);
                or_invalid($body)
            }
        }
    )*};
}
operators! {
    Add add |a, b| a.plus_times(b, 1);
    Sub sub |a, b| a.plus_times(b, -1);
    Mul mul |a, b| a.times(b);
    Rem rem |a, b| modulo(a, b);
}

impl Neg for Dim {
    type Output = Dim;

    fn neg(self) -> Dim {
        or_invalid(self.times(&Dim::known(-1)))
    }
}

impl Neg for &Dim {
    type Output = Dim;

    fn neg(self) -> Dim {
        or_invalid(self.times(&Dim::known(-1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_follow_integer_arithmetic() {
        let n = Dim::symbol("n");
        assert_eq!((2 * &n + 3 - &n) * 2, 2 * &n + 6);
        assert_eq!(-(&n - 1), 1 - &n);
        assert_eq!((Dim::known(-7) % 3, 7 % Dim::known(-3)), (Dim::known(2), Dim::known(-2)));
        assert_eq!((4 * &n + 3) % 2, Dim::known(1));
        assert_eq!((&n % 4).to_string(), "mod(n, 4)");
    }

    #[test]
    fn overflow_and_division_by_zero_are_invalid() {
        assert!((-Dim::known(i64::MIN)).validate().is_err());
        assert!((Dim::symbol("n") % 0).validate().is_err());
        assert!((Dim::known(i64::MAX) * 2).validate().is_err());
    }
}
