//! Elementwise ops of one operand with attributes, of pairs, and of several operands, on ragged values.

use std::panic::Location;

use shapeflow_shape_fns::DType;

use super::counts::with_size_of;
use super::select::no_values;
use crate::error::Result;
use crate::graph::{IntoOperand, RaggedValue, Value};
use crate::ops::{IntoRaggedOperand, LookupTable, add_n};

impl<'g> RaggedValue<'g> {
    /// The real part of every element. Fuses into kernels.
    ///
    /// As [`Value::real`] on the flat values.
    ///
    /// # Errors
    /// As [`Value::real`](crate::Value::real).
    #[track_caller]
    pub fn real(self) -> Result<RaggedValue<'g>> {
        self.in_call("real", || self.map_flat_values(Value::real))
    }

    /// The imaginary part of every element. Fuses into kernels.
    ///
    /// As [`Value::imag`] on the flat values.
    ///
    /// # Errors
    /// As [`Value::imag`](crate::Value::imag).
    #[track_caller]
    pub fn imag(self) -> Result<RaggedValue<'g>> {
        self.in_call("imag", || self.map_flat_values(Value::imag))
    }

    /// The complex conjugate of every element. Fuses into kernels.
    ///
    /// As [`Value::conj`] on the flat values.
    ///
    /// # Errors
    /// As [`Value::conj`](crate::Value::conj).
    #[doc(alias = "conjugate")]
    #[track_caller]
    pub fn conj(self) -> Result<RaggedValue<'g>> {
        self.in_call("conj", || self.map_flat_values(Value::conj))
    }

    /// The angle of every element in `[-π, π]` radians. Fuses into kernels.
    ///
    /// As [`Value::angle`] on the flat values.
    ///
    /// # Errors
    /// As [`Value::angle`](crate::Value::angle).
    #[track_caller]
    pub fn angle(self) -> Result<RaggedValue<'g>> {
        self.in_call("angle", || self.map_flat_values(Value::angle))
    }

    /// The number of bits that are 1 in every element. Fuses into kernels.
    ///
    /// As [`Value::population_count`] on the flat values.
    ///
    /// # Errors
    /// As [`Value::population_count`](crate::Value::population_count).
    #[track_caller]
    pub fn population_count(self) -> Result<RaggedValue<'g>> {
        self.in_call("population_count", || self.map_flat_values(Value::population_count))
    }

    /// The Gaussian error linear unit of every element. Fuses into kernels.
    ///
    /// As [`Value::gelu`] on the flat values.
    ///
    /// # Errors
    /// As [`Value::gelu`](crate::Value::gelu).
    #[track_caller]
    pub fn gelu(self, approximate: bool) -> Result<RaggedValue<'g>> {
        self.in_call("gelu", || self.map_flat_values(|flat| flat.gelu(approximate)))
    }

    /// `x` where it is positive, and `alpha * x` elsewhere. Fuses into kernels.
    ///
    /// As [`Value::leaky_relu`] on the flat values.
    ///
    /// # Errors
    /// As [`Value::leaky_relu`](crate::Value::leaky_relu).
    #[track_caller]
    pub fn leaky_relu(self, alpha: f64) -> Result<RaggedValue<'g>> {
        self.in_call("leaky_relu", || self.map_flat_values(|flat| flat.leaky_relu(alpha)))
    }

    /// Returns the same rows. The run fails with `message` if an element is NaN or infinite. Runs on the host.
    ///
    /// As [`Value::check_numerics`] on the flat values.
    ///
    /// # Errors
    /// As [`Value::check_numerics`](crate::Value::check_numerics).
    #[track_caller]
    pub fn check_numerics(self, message: &str) -> Result<RaggedValue<'g>> {
        self.in_call("check_numerics", || self.map_flat_values(|flat| flat.check_numerics(message)))
    }

    /// Reads the bits of the elements as another dtype, within their rows. Fuses into kernels.
    ///
    /// `[n, (r), ..] -> [n, (r), .., k]` for a dtype `k` times smaller, and `[n, (r), .., k] -> [n, (r), ..]` for a
    /// dtype `k` times larger. As [`Value::bitcast`] on the flat values.
    ///
    /// # Errors
    /// As [`Value::bitcast`](crate::Value::bitcast); also if a larger dtype has no inner axis to drop.
    #[doc(alias = "view")]
    #[track_caller]
    pub fn bitcast(self, dtype: DType) -> Result<RaggedValue<'g>> {
        self.in_call("bitcast", || self.map_flat_values(|flat| flat.bitcast(dtype)))
    }

    /// For every element, the number of `boundaries` that are not greater than the element. Fuses into kernels; with more
    /// than 32 boundaries, the op runs on the host.
    ///
    /// As [`Value::bucketize`] on the flat values.
    ///
    /// # Errors
    /// As [`Value::bucketize`](crate::Value::bucketize).
    #[doc(alias = "digitize")]
    #[track_caller]
    pub fn bucketize(self, boundaries: &[f64]) -> Result<RaggedValue<'g>> {
        self.in_call("bucketize", || self.map_flat_values(|flat| flat.bucketize(boundaries)))
    }

    /// For every element, its value in `table`, or `default` if the element is not a key. Runs on the host.
    ///
    /// `[n, (r), ..] -> [n, (r), .., v, ..]` for values `[v, ..]`. As [`Value::lookup`] on the flat values.
    ///
    /// # Errors
    /// As [`Value::lookup`](crate::Value::lookup).
    #[track_caller]
    pub fn lookup(self, table: &LookupTable, default: impl IntoOperand<'g>) -> Result<RaggedValue<'g>> {
        self.in_call("lookup", || self.map_flat_values(|flat| flat.lookup(table, default)))
    }

    /// The angle of every point `(x, y) = (other, self)` in `[-π, π]` radians. Fuses into kernels.
    ///
    /// As [`Value::atan2`] on the flat values.
    ///
    /// # Errors
    /// As [`Value::atan2`](crate::Value::atan2); also if the partitions cannot be equal.
    #[doc(alias = "arctan2")]
    #[track_caller]
    pub fn atan2(self, other: impl IntoRaggedOperand<'g>) -> Result<RaggedValue<'g>> {
        let location = Location::caller();
        self.in_call("atan2", || self.pair(other, location, |flat, other| flat.atan2(other)))
    }

    /// The number next to every element of `self` toward the element of `other`. Fuses into kernels.
    ///
    /// As [`Value::next_after`] on the flat values.
    ///
    /// # Errors
    /// As [`Value::next_after`](crate::Value::next_after); also if the partitions cannot be equal.
    #[track_caller]
    pub fn next_after(self, other: impl IntoRaggedOperand<'g>) -> Result<RaggedValue<'g>> {
        let location = Location::caller();
        self.in_call("next_after", || self.pair(other, location, |flat, other| flat.next_after(other)))
    }

    /// The complex numbers with the real parts `self` and the imaginary parts `imaginary`. Fuses into kernels.
    ///
    /// As [`Value::complex`] on the flat values.
    ///
    /// # Errors
    /// As [`Value::complex`](crate::Value::complex); also if the partitions cannot be equal.
    #[track_caller]
    pub fn complex(self, imaginary: impl IntoRaggedOperand<'g>) -> Result<RaggedValue<'g>> {
        let location = Location::caller();
        self.in_call("complex", || self.pair(imaginary, location, |flat, imaginary| flat.complex(imaginary)))
    }

    /// `|self - other| <= tolerance`, element by element. Fuses into kernels.
    ///
    /// As [`Value::approximate_equal`] on the flat values.
    ///
    /// # Errors
    /// As [`Value::approximate_equal`](crate::Value::approximate_equal); also if the partitions cannot be equal.
    #[doc(alias = "isclose")]
    #[track_caller]
    pub fn approximate_equal(
        self,
        other: impl IntoRaggedOperand<'g>,
        tolerance: f64,
    ) -> Result<RaggedValue<'g>> {
        let location = Location::caller();
        self.in_call("approximate_equal", || {
            self.pair(other, location, |flat, other| flat.approximate_equal(other, tolerance))
        })
    }

    /// The lower regularized incomplete gamma function of every pair of elements. Runs on the host.
    ///
    /// As [`Value::igamma`] on the flat values.
    ///
    /// # Errors
    /// As [`Value::igamma`](crate::Value::igamma); also if the partitions cannot be equal.
    #[track_caller]
    pub fn igamma(self, other: impl IntoRaggedOperand<'g>) -> Result<RaggedValue<'g>> {
        let location = Location::caller();
        self.in_call("igamma", || self.pair(other, location, |flat, other| flat.igamma(other)))
    }

    /// The upper regularized incomplete gamma function of every pair of elements. Runs on the host.
    ///
    /// As [`Value::igammac`] on the flat values.
    ///
    /// # Errors
    /// As [`Value::igammac`](crate::Value::igammac); also if the partitions cannot be equal.
    #[track_caller]
    pub fn igammac(self, other: impl IntoRaggedOperand<'g>) -> Result<RaggedValue<'g>> {
        let location = Location::caller();
        self.in_call("igammac", || self.pair(other, location, |flat, other| flat.igammac(other)))
    }

    /// The Hurwitz zeta function of every pair of elements. Runs on the host.
    ///
    /// As [`Value::zeta`] on the flat values.
    ///
    /// # Errors
    /// As [`Value::zeta`](crate::Value::zeta); also if the partitions cannot be equal.
    #[track_caller]
    pub fn zeta(self, other: impl IntoRaggedOperand<'g>) -> Result<RaggedValue<'g>> {
        let location = Location::caller();
        self.in_call("zeta", || self.pair(other, location, |flat, other| flat.zeta(other)))
    }

    /// Derivative number `self` of the digamma function at `other`, element by element. Runs on the host.
    ///
    /// As [`Value::polygamma`] on the flat values.
    ///
    /// # Errors
    /// As [`Value::polygamma`](crate::Value::polygamma); also if the partitions cannot be equal.
    #[track_caller]
    pub fn polygamma(self, other: impl IntoRaggedOperand<'g>) -> Result<RaggedValue<'g>> {
        let location = Location::caller();
        self.in_call("polygamma", || self.pair(other, location, |flat, other| flat.polygamma(other)))
    }

    /// The regularized incomplete beta function of every triple of elements. Runs on the host.
    ///
    /// As [`Value::betainc`] on the flat values.
    ///
    /// # Errors
    /// As [`Value::betainc`](crate::Value::betainc); also if the partitions cannot be equal.
    #[track_caller]
    pub fn betainc(
        self,
        b: impl IntoRaggedOperand<'g>,
        x: impl IntoRaggedOperand<'g>,
    ) -> Result<RaggedValue<'g>> {
        let location = Location::caller();
        self.in_call("betainc", || {
            // Each of the other operands adds its check of the partitions to the first one.
            let (checked, b) = b.beside(self, location)?.with_rows(self, location)?;
            let (checked, x) = x.beside(checked, location)?.with_rows(checked, location)?;
            checked.with_flat_values(checked.flat_values().betainc(b, x)?)
        })
    }

    /// Adds ragged values of the same partitions, element by element, in their order. Fuses into kernels.
    ///
    /// `[n, (r), ..], [n, (r), ..], … -> [n, (r), ..]`. As [`add_n`](fn@crate::add_n) on the flat values.
    /// Integers (which wrap) and floats. As TensorFlow's `tf.add_n`.
    ///
    /// ```
    /// use shapeflow::{Graph, RaggedValue, ragged};
    ///
    /// let g = Graph::new();
    /// let x = g.ragged_constant(&ragged![[1, 2], [], [3]])?;
    /// let sum = RaggedValue::add_n(&[x, x, (x * 10).ok()?])?;
    /// let sum = g.compile(sum)?.run_named(&[])?.ragged_at(0)?;
    /// assert_eq!(sum, ragged![[12, 24], [], [36]]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// There are no values, their dtypes or inner shapes differ, or the partitions cannot be equal.
    #[doc(alias = "accumulate_n")]
    #[track_caller]
    pub fn add_n(values: &[RaggedValue<'g>]) -> Result<RaggedValue<'g>> {
        let location = Location::caller();
        let Some((&first, others)) = values.split_first() else {
            return Err(no_values("add_n", location));
        };
        first.graph().in_call("add_n", || {
            let mut checked = first;
            for other in others {
                checked = checked.matched(*other, location)?;
            }
            let peer = checked.flat_values();
            let others = others.iter().map(|other| with_size_of(other.flat_values(), peer));
            let flats: Vec<Value<'g>> = std::iter::once(Ok(peer)).chain(others).collect::<Result<_>>()?;
            checked.with_flat_values(add_n(&flats)?)
        })
    }

    /// Applies a function to the flat values of two operands.
    fn pair(
        self,
        other: impl IntoRaggedOperand<'g>,
        location: &'static Location<'static>,
        f: impl FnOnce(Value<'g>, Value<'g>) -> Result<Value<'g>>,
    ) -> Result<RaggedValue<'g>> {
        other.beside(self, location)?.apply(f)
    }
}
