//! Window functions: `hann_window`, `hamming_window`, `kaiser_window`, `kaiser_bessel_derived_window`, `vorbis_window`.

use std::f64::consts::PI;

use shapeflow_shape_fns::{DType, Dim, IntoDim};

use super::{check_float, number, positions};
use crate::error::Result;
use crate::graph::{Graph, Value};
use crate::ops::array::range::dim_value;
use crate::ops::{SliceItem, concat};

impl Graph {
    /// Makes a Hann window: element `i` is `0.5 - 0.5 cos(2π i / n)`, where `n` is `length` if `periodic` is set and
    /// `length` is even, and `length - 1` otherwise. A window of length 1 is `[1]`.
    ///
    /// `-> [length]`, a float, computed in f64 and rounded once. As TensorFlow's `tf.signal.hann_window`, whose default
    /// is `periodic`. Fuses into kernels.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let [window] = g.compile(g.hann_window(4, true, DType::F32)?)?.run(&[])?;
    /// window.allclose(&Tensor::from([0.0f32, 0.5, 1.0, 0.5]), 0.0, 1e-6).unwrap();
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// `dtype` is not a float, or `length` is negative.
    #[track_caller]
    pub fn hann_window(&self, length: impl IntoDim, periodic: bool, dtype: DType) -> Result<Value<'_>> {
        self.in_call("hann_window", || raised_cosine(self, length.into_dim(), periodic, dtype, 0.5))
    }

    /// Makes a Hamming window: element `i` is `0.54 - 0.46 cos(2π i / n)`, where `n` is as for [`Graph::hann_window`].
    ///
    /// `-> [length]`, a float, computed in f64 and rounded once. As TensorFlow's `tf.signal.hamming_window`, whose
    /// default is `periodic`. Fuses into kernels.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let [window] = g.compile(g.hamming_window(4, true, DType::F32)?)?.run(&[])?;
    /// window.allclose(&Tensor::from([0.08f32, 0.54, 1.0, 0.54]), 0.0, 1e-6).unwrap();
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Graph::hann_window`].
    #[track_caller]
    pub fn hamming_window(&self, length: impl IntoDim, periodic: bool, dtype: DType) -> Result<Value<'_>> {
        self.in_call("hamming_window", || raised_cosine(self, length.into_dim(), periodic, dtype, 0.54))
    }

    /// Makes a Kaiser window: element `i` is `I0(beta √(1 - (i / h - 1)²)) / I0(beta)`, where `h` is
    /// `(length - 1) / 2`. A window of length 1 is `[1]`. A larger `beta` gives a narrower window; TensorFlow's default
    /// is 12.
    ///
    /// `-> [length]`, a float, computed in f64 and rounded once. As TensorFlow's `tf.signal.kaiser_window`, but a
    /// negative `beta` counts as `-beta`; TensorFlow's result for it is not a window. The Bessel function runs on the
    /// host.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let [window] = g.compile(g.kaiser_window(3, 0.0, DType::F32)?)?.run(&[])?;
    /// assert_eq!(window, Tensor::from([1.0f32, 1.0, 1.0]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Graph::hann_window`].
    #[track_caller]
    pub fn kaiser_window(&self, length: impl IntoDim, beta: f64, dtype: DType) -> Result<Value<'_>> {
        self.in_call("kaiser_window", || {
            check_float(dtype)?;
            kaiser(self, &length.into_dim(), beta)?.cast(dtype)
        })
    }

    /// Makes a window from the running sums `s` of a Kaiser window of length `h + 1`, where `h` is `length / 2`:
    /// element `i` of the first half is `√(s[i] / s[h])`, and the second half is its mirror image. The squares of two
    /// such windows that overlap by half add up to 1.
    ///
    /// `-> [2 * (length / 2)]`, a float, computed in f64 and rounded once. As TensorFlow's
    /// `tf.signal.kaiser_bessel_derived_window`, whose default `beta` is 12. The Bessel function runs on the host.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let [window] = g.compile(g.kaiser_bessel_derived_window(4, 0.0, DType::F64)?)?.run(&[])?;
    /// let thirds = [(1.0f64 / 3.0).sqrt(), (2.0f64 / 3.0).sqrt()];
    /// let expected = Tensor::from([thirds[0], thirds[1], thirds[1], thirds[0]]);
    /// window.allclose(&expected, 0.0, 1e-12).unwrap();
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Graph::hann_window`].
    #[track_caller]
    pub fn kaiser_bessel_derived_window(
        &self,
        length: impl IntoDim,
        beta: f64,
        dtype: DType,
    ) -> Result<Value<'_>> {
        self.in_call("kaiser_bessel_derived_window", || {
            check_float(dtype)?;
            let half = length.into_dim().floordiv(2)?;
            let sums = kaiser(self, &(half + 1), beta)?.cumsum(0)?;
            let rising = (sums.slice_with(&[SliceItem::from(..-1i64)])?
                / sums.slice_with(&[SliceItem::at(-1)])?)
            .sqrt()?;
            concat(&[rising, rising.reverse([0])?], 0)?.cast(dtype)
        })
    }

    /// Makes the window of the Vorbis codec: element `i` is `sin(π / 2 · sin²(π (i + 0.5) / length))`. The squares of
    /// two such windows that overlap by half add up to 1.
    ///
    /// `-> [length]`, a float, computed in f64 and rounded once. As TensorFlow's `tf.signal.vorbis_window`. Fuses into
    /// kernels.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let [window] = g.compile(g.vorbis_window(2, DType::F64)?)?.run(&[])?;
    /// window.allclose(&Tensor::from([0.5f64.sqrt(), 0.5f64.sqrt()]), 0.0, 1e-12).unwrap();
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Graph::hann_window`].
    #[track_caller]
    pub fn vorbis_window(&self, length: impl IntoDim, dtype: DType) -> Result<Value<'_>> {
        self.in_call("vorbis_window", || {
            check_float(dtype)?;
            let length = length.into_dim();
            let angle = ((positions(self, &length)? + 0.5) * PI / number(self, &length, DType::F64)?).ok()?;
            (angle.sin()?.square()? * (PI / 2.0)).sin()?.cast(dtype)
        })
    }
}

/// Returns the window `share - (1 - share) cos(2π i / n)`.
fn raised_cosine(graph: &Graph, length: Dim, periodic: bool, dtype: DType, share: f64) -> Result<Value<'_>> {
    check_float(dtype)?;
    let n = if periodic { length.floordiv(2)? * 2 } else { length.clone() - 1 };
    let angle = (positions(graph, &length)? * (2.0 * PI) / number(graph, &n, DType::F64)?).ok()?;
    let window = (share - angle.cos()? * (1.0 - share)).ok()?;
    one_at_length_one(window, &length)?.cast(dtype)
}

/// Returns the Kaiser window in f64.
fn kaiser<'g>(graph: &'g Graph, length: &Dim, beta: f64) -> Result<Value<'g>> {
    let half = (number(graph, &(length.clone() - 1), DType::F64)? / 2.0).ok()?;
    let distance = (positions(graph, length)? / half - 1.0).ok()?;
    // A length of 1 divides 0 by 0.
    let root = (1.0 - distance.square()?).ok()?.maximum(0.0)?.sqrt()?;
    // `I0` itself exceeds f64 if `beta` is large.
    let beta = beta.abs();
    let exponential = (root * beta - beta).ok()?.exp()?;
    let quotient = (root * beta).bessel_i0e()? / graph.constant(beta)?.bessel_i0e()?;
    let window = (exponential * quotient).ok()?;
    one_at_length_one(window, length)
}

/// Returns `window`, or ones if its length is 1.
fn one_at_length_one<'g>(window: Value<'g>, length: &Dim) -> Result<Value<'g>> {
    match length.as_known() {
        Some(1) => window.ones_like(),
        Some(_) => Ok(window),
        None => dim_value(window.graph(), length.clone())?.equal(1i64)?.select(window.ones_like()?, window),
    }
}
