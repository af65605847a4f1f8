//! [`Tensor::allclose`]: comparison of two tensors within a tolerance.

use shapeflow_shape_fns::counted;

use super::datum::Datum;
use super::layout::index_of;
use super::{Tensor, TensorView};

impl Tensor {
    /// Checks that dtype and sizes are equal and that `|self - expected| <= atol + rtol·|expected|` holds for every
    /// element. A NaN equals a NaN; infinities, bools and strings must be equal.
    ///
    /// # Errors
    /// A text with the first differing element and the number of differing elements.
    pub fn allclose(&self, expected: &Tensor, rtol: f64, atol: f64) -> Result<(), String> {
        self.view().allclose(&expected.view(), rtol, atol)
    }
}

impl TensorView<'_> {
    /// Compares as [`Tensor::allclose`] does.
    ///
    /// # Errors
    /// As [`Tensor::allclose`].
    pub fn allclose(&self, expected: &TensorView<'_>, rtol: f64, atol: f64) -> Result<(), String> {
        if self.dtype() != expected.dtype() || self.sizes() != expected.sizes() {
            return Err(format!(
                "expected {}{:?}, got {}{:?}",
                expected.dtype(),
                expected.sizes(),
                self.dtype(),
                self.sizes()
            ));
        }
        let mut first = None;
        let mut differing = 0usize;
        for (linear, (got, wanted)) in self.datums().zip(expected.datums()).enumerate() {
            if !is_close(got, wanted, rtol, atol) {
                differing += 1;
                first.get_or_insert((linear, got, wanted));
            }
        }
        match first {
            None => Ok(()),
            Some((linear, got, wanted)) => Err(format!(
                "expected {wanted} at {:?}, got {got} ({differing} of {} differ)",
                index_of(self.sizes(), linear),
                counted(self.len(), "element")
            )),
        }
    }
}

/// Returns whether one element is within the tolerance.
fn is_close(got: Datum<'_>, wanted: Datum<'_>, rtol: f64, atol: f64) -> bool {
    let close = |got: f64, wanted: f64| {
        got == wanted || (got.is_nan() && wanted.is_nan()) || {
            let allowed = atol + rtol * wanted.abs();
            // The tolerance for an expected infinity is infinite too, so an infinite difference needs its own test.
            (got - wanted).is_finite() && (got - wanted).abs() <= allowed
        }
    };
    match (got, wanted) {
        // Integers are subtracted exactly, because f64 cannot hold all 64-bit integers.
        (Datum::Int(got), Datum::Int(wanted)) => {
            got.abs_diff(wanted) as f64 <= atol + rtol * wanted.unsigned_abs() as f64
        }
        (Datum::F32(got), Datum::F32(wanted)) => close(got.into(), wanted.into()),
        (Datum::F64(got), Datum::F64(wanted)) => close(got, wanted),
        (Datum::Complex(real, imaginary), Datum::Complex(wanted_real, wanted_imaginary)) => {
            close(real.value(), wanted_real.value()) && close(imaginary.value(), wanted_imaginary.value())
        }
        (Datum::Bool(got), Datum::Bool(wanted)) => got == wanted,
        (Datum::Bytes(got), Datum::Bytes(wanted)) => got == wanted,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tolerance_is_relative_and_absolute() {
        let expected = Tensor::from([100.0f32, 0.0, f32::NAN, f32::INFINITY]);
        let got = Tensor::from([100.5f32, 0.005, f32::NAN, f32::INFINITY]);
        assert_eq!(got.allclose(&expected, 0.01, 0.01), Ok(()));
        assert_eq!(
            got.allclose(&expected, 0.0, 0.01),
            Err("expected 100.0 at [0], got 100.5 (1 of 4 elements differ)".into())
        );
        assert!(Tensor::scalar(1.0f64).allclose(&Tensor::scalar(f64::INFINITY), 1.0, 1.0).is_err());
        assert!(Tensor::scalar(f32::NAN).allclose(&Tensor::scalar(0f32), 1.0, 1.0).is_err());
    }

    #[test]
    fn integers_bools_and_strings_compare_exactly() {
        let big = Tensor::from([[u64::MAX, 1], [2, 3]]);
        let near = Tensor::from([[u64::MAX - 1, 1], [2, 3]]);
        assert!(big.allclose(&near, 0.0, 0.0).unwrap_err().contains("at [0, 0]"));
        assert_eq!(big.allclose(&near, 0.0, 1.0), Ok(()));
        assert!(Tensor::from([true]).allclose(&Tensor::from([false]), 9.0, 9.0).is_err());
        let strings = Tensor::from_strings(&[2], &["a", "b"]).unwrap();
        let other = Tensor::from_strings(&[2], &["a", "c"]).unwrap();
        assert!(strings.allclose(&other, 1.0, 1.0).unwrap_err().starts_with("expected \"c\" at [1]"));
        assert_eq!(
            Tensor::from([1i32]).allclose(&Tensor::from([1i64]), 0.0, 0.0),
            Err("expected i64[1], got i32[1]".into())
        );
    }
}
