//! `dct` and `idct`: discrete cosine transforms.

use std::f64::consts::PI;

use shapeflow_shape_fns::{DType, Dim};

use super::{number, positions, refuse, samples_of};
use crate::error::{ErrorKind, Result};
use crate::graph::Value;
use crate::ops::{SliceItem, concat};

impl<'g> Value<'g> {
    /// Computes the discrete cosine transform of type 1, 2, 3 or 4 along the last axis.
    ///
    /// With `N` samples `x`, element `k` of the result is
    ///
    /// | `kind` | element `k` |
    /// |---|---|
    /// | 1 | `x[0] + (-1)^k x[N-1] + 2 Σ x[n] cos(π k n / (N-1))`, for `n` from 1 to `N-2` |
    /// | 2 | `2 Σ x[n] cos(π k (2n+1) / (2N))` |
    /// | 3 | `x[0] + 2 Σ x[n] cos(π (2k+1) n / (2N))`, for `n` from 1 |
    /// | 4 | `2 Σ x[n] cos(π (2k+1) (2n+1) / (4N))` |
    ///
    /// With `orthonormal`, the rows of the transform's matrix are orthonormal: the transforms of types 2 and 3 are then
    /// inverse to each other, and type 4 to itself.
    ///
    /// `[.., n] -> [.., n]`, f32 and f64. As TensorFlow's `tf.signal.dct`, whose `norm="ortho"` is `orthonormal`; to
    /// transform another number of samples, crop or pad the axis first. The Fourier transform inside runs on the host,
    /// with the feature `fft`; the rest fuses into kernels.
    ///
    /// ```
    /// # #[cfg(feature = "fft")] {
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([1.0f64, 2.0, 3.0])?.dct(2, false)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// y.allclose(&Tensor::from([12.0, -2.0 * 3.0f64.sqrt(), 0.0]), 0.0, 1e-9).unwrap();
    /// # }
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The elements are not f32 or f64, the rank is unknown or 0, or `kind` is not 1, 2, 3 or 4. Type 1 needs at least
    /// 2 samples, and has no orthonormal form.
    #[doc(alias = "discrete_cosine_transform")]
    #[track_caller]
    pub fn dct(self, kind: i64, orthonormal: bool) -> Result<Value<'g>> {
        self.graph().in_call("dct", || transformed(self, kind, orthonormal))
    }

    /// Computes the inverse of [`Value::dct`] of type `kind`, except for a factor: the transform of type 3 for `kind`
    /// 2, of type 2 for 3, and of the same type for 1 and 4.
    ///
    /// With `orthonormal`, the result is the inverse. Otherwise it is `2N` times the inverse, and for type 1 it is
    /// `2 (N - 1)` times the inverse.
    ///
    /// `[.., n] -> [.., n]`, f32 and f64. As TensorFlow's `tf.signal.idct`. The Fourier transform inside runs on the
    /// host, with the feature `fft`.
    ///
    /// ```
    /// # #[cfg(feature = "fft")] {
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([1.0f64, 2.0, 3.0])?.dct(2, true)?.idct(2, true)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// y.allclose(&Tensor::from([1.0, 2.0, 3.0]), 0.0, 1e-9).unwrap();
    /// # }
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Value::dct`].
    #[doc(alias = "inverse_discrete_cosine_transform")]
    #[track_caller]
    pub fn idct(self, kind: i64, orthonormal: bool) -> Result<Value<'g>> {
        let inverse = match kind {
            2 => 3,
            3 => 2,
            kind => kind,
        };
        self.graph().in_call("idct", || transformed(self, inverse, orthonormal))
    }

    /// Computes mel-frequency cepstral coefficients of the logarithms of mel bands: the [`dct`](Value::dct) of type 2,
    /// divided by `√(2 bands)`.
    ///
    /// `[.., bands] -> [.., bands]`; the dtypes are f32 and f64. Usually only the first 13 coefficients are kept. As
    /// TensorFlow's `tf.signal.mfccs_from_log_mel_spectrograms`. The Fourier transform inside runs on the host, with
    /// the feature `fft`.
    ///
    /// ```
    /// # #[cfg(feature = "fft")] {
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([1.0f64, 3.0])?.mfccs_from_log_mel_spectrograms()?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// y.allclose(&Tensor::from([4.0, -2.0f64.sqrt()]), 0.0, 1e-9).unwrap();
    /// # }
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The elements are not f32 or f64, or the rank is unknown or 0.
    #[track_caller]
    pub fn mfccs_from_log_mel_spectrograms(self) -> Result<Value<'g>> {
        self.graph().in_call("mfccs_from_log_mel_spectrograms", || {
            let bands = samples_of(self)?;
            let factor = (number(self.graph(), &bands, self.dtype())? * 2.0).ok()?.rsqrt()?;
            (transformed(self, 2, false)? * factor).ok()
        })
    }
}

fn transformed(x: Value<'_>, kind: i64, orthonormal: bool) -> Result<Value<'_>> {
    let count = samples_of(x)?;
    if !matches!(x.dtype(), DType::F32 | DType::F64) {
        let message = format!("the element type must be f32 or f64, got {}", x.dtype());
        return refuse(ErrorKind::DType, message);
    }
    match kind {
        1 if orthonormal => refuse(
            ErrorKind::Attribute,
            "orthonormal must be false for a transform of type 1, got true".to_string(),
        ),
        1 => first(x, &count),
        2 => {
            let result = second(x, &count)?;
            if orthonormal { scaled(result, &count, [0.5, 0.5f64.sqrt()], true) } else { Ok(result) }
        }
        3 => {
            let x = match orthonormal {
                true => scaled(x, &count, [1.0, 0.5f64.sqrt()], false)?,
                false => (x * number(x.graph(), &count, x.dtype())?).ok()?,
            };
            third(x, &count)
        }
        4 => {
            let result = second(x, &(count.clone() * 2))?
                .slice_with(&[SliceItem::Rest, SliceItem::from(1i64..).step(2)])?;
            if orthonormal { scaled(result, &count, [0.5f64.sqrt(); 2], true) } else { Ok(result) }
        }
        _ => refuse(ErrorKind::Attribute, format!("kind must be 1, 2, 3 or 4, got {kind}")),
    }
}

/// Type 1: the Fourier transform of the samples and their mirror image.
fn first<'g>(x: Value<'g>, count: &Dim) -> Result<Value<'g>> {
    if count.as_known().is_some_and(|count| count < 2) {
        let message = format!("a transform of type 1 must have at least 2 samples, got {count}");
        return refuse(ErrorKind::Shape, message);
    }
    let mirrored = concat(&[x, x.slice_with(&[SliceItem::Rest, SliceItem::span(-2, 0).step(-1)])?], -1)?;
    // A run with 1 sample has an empty spectrum, which ensure_shape refuses.
    mirrored.rfft([count.clone() * 2 - 2])?.real()?.ensure_shape(x.shape())
}

/// Type 2 of the samples and zeros after them, `padded` numbers together.
fn second<'g>(x: Value<'g>, padded: &Dim) -> Result<Value<'g>> {
    let spectrum =
        x.rfft([padded.clone() * 2])?.slice_with(&[SliceItem::Rest, SliceItem::from(..padded.clone())])?;
    let [cos, sin] = quarter_turns(x, padded)?;
    ((spectrum.real()? * cos + spectrum.imag()? * sin).ok()? * 2.0).ok()
}

/// Type 3, divided by the number of samples.
fn third<'g>(x: Value<'g>, count: &Dim) -> Result<Value<'g>> {
    let [cos, sin] = quarter_turns(x, count)?;
    let spectrum = (x * cos * 2.0).ok()?.complex((x * sin * 2.0).ok()?)?;
    spectrum.irfft([count.clone() * 2])?.slice_with(&[SliceItem::Rest, SliceItem::from(..count.clone())])
}

/// Returns `cos(π k / (2 count))` and `sin(π k / (2 count))` for each `k` below `count`, in the dtype of `x`.
fn quarter_turns<'g>(x: Value<'g>, count: &Dim) -> Result<[Value<'g>; 2]> {
    let size = number(x.graph(), count, DType::F64)?;
    let angle = (positions(x.graph(), count)? * (PI / 2.0) / size).ok()?;
    Ok([angle.cos()?.cast(x.dtype())?, angle.sin()?.cast(x.dtype())?])
}

/// Multiplies element 0 of the last axis by `factors[0]` and the others by `factors[1]`, and all by the square root of
/// `count`, or by its inverse.
fn scaled<'g>(x: Value<'g>, count: &Dim, factors: [f64; 2], is_inverse: bool) -> Result<Value<'g>> {
    let graph = x.graph();
    let size = number(graph, count, DType::F64)?;
    let root = if is_inverse { size.rsqrt()? } else { size.sqrt()? };
    let is_first = graph.range(0i64, count, 1i64)?.equal(0i64)?;
    let [head, rest] = [graph.constant(factors[0])?, graph.constant(factors[1])?];
    (x * (is_first.select(head, rest)? * root).ok()?.cast(x.dtype())?).ok()
}
