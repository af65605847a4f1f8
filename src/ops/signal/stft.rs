//! `stft` and `inverse_stft`: Fourier transforms of the frames of a signal, and back.

use shapeflow_shape_fns::{Dim, TensorShape};

use super::frames::pad_end;
use super::{at_least_1, refuse};
use crate::error::{ErrorKind, Result};
use crate::graph::Value;
use crate::ops::SliceItem;

/// The window that multiplies each frame of [`Value::stft`] and [`Value::inverse_stft`].
#[derive(Clone, Copy, Debug, Default)]
pub enum StftWindow<'g> {
    /// The periodic [`hann_window`](crate::Graph::hann_window) of the length of a frame.
    #[default]
    Hann,
    /// No window: the frames stay as they are.
    Rectangular,
    /// A vector of the length of a frame, such as [`Graph::kaiser_window`](crate::Graph::kaiser_window).
    Values(Value<'g>),
}

/// How [`Value::stft`] and [`Value::inverse_stft`] transform frames. The default is TensorFlow's.
///
/// ```
/// let options = shapeflow::StftOptions { fft_length: Some(512), ..shapeflow::StftOptions::default() };
/// assert!(!options.pad_end);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct StftOptions<'g> {
    /// The length of each transform; by default the least power of 2 that is at least the length of a frame.
    pub fft_length: Option<i64>,
    /// The window.
    pub window: StftWindow<'g>,
    /// Whether zeros complete the frames that reach beyond the last sample. [`Value::inverse_stft`] ignores this.
    pub pad_end: bool,
}

impl<'g> Value<'g> {
    /// Computes the short-time Fourier transform: cuts the signal into frames as [`Value::frame`] does, multiplies each
    /// frame by the window, and transforms it as [`Value::rfft`] does.
    ///
    /// `[.., samples] -> [.., frames, fft_length / 2 + 1]`, f32 to c64 and f64 to c128. As TensorFlow's
    /// `tf.signal.stft`. Frames and window fuse into a kernel; the transform runs on the host, with the feature `fft`.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, StftOptions, shape};
    ///
    /// let g = Graph::new();
    /// let sound = g.input("sound", DType::F32, shape!["clips", "samples"])?;
    /// let spectrum = sound.stft(400, 160, StftOptions::default())?;
    /// assert_eq!(spectrum.dtype(), DType::C64);
    /// assert_eq!(spectrum.shape().dim(2).unwrap().as_known(), Some(257));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Value::frame`]; also if the elements are not f32 or f64, `fft_length` is less than 1, or the window is not
    /// a vector of `frame_length` elements of the dtype.
    #[track_caller]
    pub fn stft(self, frame_length: i64, frame_step: i64, options: StftOptions<'g>) -> Result<Value<'g>> {
        self.graph().in_call("stft", || {
            let frames = match options.pad_end {
                true => self.frame_padded(frame_length, frame_step, 0.0)?,
                false => self.frame(frame_length, frame_step)?,
            };
            let frames = options.window.times(frames, &Dim::known(frame_length))?;
            frames.rfft([fft_length(options.fft_length, frame_length)?])
        })
    }

    /// Computes the inverse of [`Value::stft`]: transforms each spectrum back as [`Value::irfft`] does, takes
    /// `frame_length` samples of it, multiplies them by the window, and adds the frames up as
    /// [`Value::overlap_and_add`] does.
    ///
    /// The result is the signal, except near its ends, if the window is the [`inverse_stft_window`] of the window of
    /// the transform.
    ///
    /// `[.., frames, fft_length / 2 + 1] -> [.., samples]`, where `samples` is
    /// `(frames - 1) * frame_step + frame_length`, or 0 if this is negative; c64 to f32 and c128 to f64. As
    /// TensorFlow's `tf.signal.inverse_stft`. The transform runs on the host, with the feature `fft`; the rest fuses
    /// into kernels.
    ///
    /// [`inverse_stft_window`]: Value::inverse_stft_window
    ///
    /// ```
    /// # #[cfg(feature = "fft")] {
    /// use shapeflow::{DType, Graph, StftOptions, StftWindow, Tensor};
    ///
    /// let g = Graph::new();
    /// let sound = g.constant([1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0])?;
    /// let window = g.hann_window(4, true, DType::F32)?;
    /// let spectrum = sound.stft(4, 2, StftOptions::default())?;
    /// let inverse = StftWindow::Values(window.inverse_stft_window(2)?);
    /// let back = spectrum.inverse_stft(4, 2, StftOptions { window: inverse, ..StftOptions::default() })?;
    /// let [back] = g.compile(back)?.run(&[])?;
    /// assert!((back.to_vec::<f32>()?[3] - 4.0).abs() < 1e-5);
    /// # }
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The elements are not c64 or c128, the rank is unknown or below 2, `frame_length`, `frame_step` or `fft_length`
    /// is less than 1, or the window is not a vector of `frame_length` elements of the dtype of the result.
    #[doc(alias = "istft")]
    #[track_caller]
    pub fn inverse_stft(
        self,
        frame_length: i64,
        frame_step: i64,
        options: StftOptions<'g>,
    ) -> Result<Value<'g>> {
        self.graph().in_call("inverse_stft", || {
            at_least_1("frame_length", frame_length)?;
            let fft_length = fft_length(options.fft_length, frame_length)?;
            let frames = self.irfft([fft_length])?;
            let missing = Dim::known((frame_length - fft_length).max(0));
            let frames = pad_end(frames, missing, |paddings| frames.pad(paddings))?;
            let frames = frames.slice_with(&[SliceItem::Rest, SliceItem::from(..frame_length)])?;
            options.window.times(frames, &Dim::known(frame_length))?.overlap_and_add(frame_step)
        })
    }

    /// Returns the window for [`Value::inverse_stft`] that undoes this window of [`Value::stft`]: divides each element
    /// by the sum of the squares of all elements that overlap it; an element whose sum is 0 becomes 0.
    ///
    /// `[frame_length] -> [frame_length]`, a float. As TensorFlow's `tf.signal.inverse_stft_window_fn`, which returns
    /// the window as a function. Fuses into kernels.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let window = g.constant([1.0f32, 2.0, 3.0, 4.0])?.inverse_stft_window(2)?;
    /// let [window] = g.compile(window)?.run(&[])?;
    /// window.allclose(&Tensor::from([0.1f32, 0.1, 0.3, 0.2]), 1e-6, 1e-6).unwrap();
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// `self` is not a vector of floats, or `frame_step` is less than 1.
    #[doc(alias = "inverse_stft_window_fn")]
    #[track_caller]
    pub fn inverse_stft_window(self, frame_step: i64) -> Result<Value<'g>> {
        self.graph().in_call("inverse_stft_window", || inverse_window(self, frame_step))
    }
}

impl<'g> StftWindow<'g> {
    /// Multiplies frames of `length` samples by the window.
    fn times(self, frames: Value<'g>, length: &Dim) -> Result<Value<'g>> {
        let window = match self {
            StftWindow::Rectangular => return Ok(frames),
            StftWindow::Hann => frames.graph().hann_window(length, true, frames.dtype())?,
            StftWindow::Values(window) => {
                let (shape, wanted) = (window.shape(), TensorShape::new([length.clone()]));
                if !shape.is_compatible_with(&wanted) {
                    let message = format!(
                        "the window must have shape {wanted}, one element per sample of a frame, got {shape}"
                    );
                    return refuse(ErrorKind::Shape, message);
                }
                window.ensure_shape(wanted)?
            }
        };
        (frames * window).ok()
    }
}

/// Returns the length of a transform: the given one, or the least power of 2 that is at least `frame_length`.
fn fft_length(given: Option<i64>, frame_length: i64) -> Result<i64> {
    if let Some(given) = given {
        return at_least_1("fft_length", given).map(|()| given);
    }
    at_least_1("frame_length", frame_length)?;
    match frame_length.unsigned_abs().checked_next_power_of_two().map(i64::try_from) {
        Some(Ok(length)) => Ok(length),
        _ => refuse(
            ErrorKind::Attribute,
            format!("frame_length must be at most 2^62 without fft_length, got {frame_length}"),
        ),
    }
}

fn inverse_window(window: Value<'_>, frame_step: i64) -> Result<Value<'_>> {
    super::check_float(window.dtype())?;
    let shape = window.shape();
    let Some([length]) = shape.dims() else {
        return refuse(ErrorKind::Shape, format!("a window must be a vector, got shape {shape}"));
    };
    at_least_1("frame_step", frame_step)?;
    let overlaps = length.ceil_div(frame_step)?;
    let missing = overlaps.clone() * frame_step - length.clone();
    let squares = window.square()?;
    let squares = pad_end(squares, missing, |paddings| squares.pad(paddings))?;
    let rows = TensorShape::new([overlaps.clone(), Dim::known(frame_step)]);
    let sums = squares.reshape(&rows)?.reduce_sum(0)?;
    let sums = sums.broadcast_to(&rows)?.reshape(TensorShape::new([overlaps * frame_step]))?;
    window.div_no_nan(sums.slice_with(&[SliceItem::from(..length.clone())])?)
}
