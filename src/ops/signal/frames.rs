//! `frame` and `overlap_and_add`: a signal as overlapping frames, and back.

use std::panic::Location;

use shapeflow_shape_fns::{Dim, TensorShape};

use super::{at_least_1, refuse, samples_of};
use crate::error::{ErrorKind, Result};
use crate::graph::{IntoOperand, Value};
use crate::ops::SliceItem;

impl<'g> Value<'g> {
    /// Cuts the samples of the last axis into frames of `frame_length` samples, which start `frame_step` samples apart.
    /// Samples after the last whole frame are dropped.
    ///
    /// `[.., samples] -> [.., frames, frame_length]`, any dtype. The number `frames` is
    /// `1 + (samples - frame_length) / frame_step`, where the quotient is rounded down, or 0 if
    /// `samples < frame_length`. As TensorFlow's `tf.signal.frame`. Fuses into kernels. See also
    /// [`Value::frame_padded`].
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([1, 2, 3, 4, 5, 6])?.frame(3, 2)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([[1, 2, 3], [3, 4, 5]]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The rank is unknown or 0, or `frame_length` or `frame_step` is less than 1.
    #[track_caller]
    pub fn frame(self, frame_length: i64, frame_step: i64) -> Result<Value<'g>> {
        self.graph().in_call("frame", || {
            let samples = samples_to_cut(self, frame_length, frame_step)?;
            let count = (samples - frame_length).floordiv(frame_step)? + 1;
            framed(self, count.max(0)?, frame_length, frame_step)
        })
    }

    /// Cuts the samples as [`Value::frame`] does, and completes the frames that reach beyond the last sample with
    /// `pad_value`.
    ///
    /// `[.., samples] -> [.., frames, frame_length]`, where `frames` is `samples / frame_step`, rounded up; any dtype.
    /// As TensorFlow's `tf.signal.frame` with `pad_end`. Fuses into kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([1, 2, 3, 4, 5])?.frame_padded(3, 2, -1)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([[1, 2, 3], [3, 4, 5], [5, -1, -1]]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Value::frame`]; also if `pad_value` is not a scalar of the dtype of `self`.
    #[track_caller]
    pub fn frame_padded(
        self,
        frame_length: i64,
        frame_step: i64,
        pad_value: impl IntoOperand<'g>,
    ) -> Result<Value<'g>> {
        let location = Location::caller();
        let pad_value = pad_value.into_operand(self, location);
        self.graph().in_call_at("frame_padded", location, || {
            let samples = samples_to_cut(self, frame_length, frame_step)?;
            let count = samples.ceil_div(frame_step)?;
            let missing = (count.clone() - 1) * frame_step + frame_length - samples;
            let padded = pad_end(self, missing.max(0)?, |paddings| self.pad_with(paddings, pad_value))?;
            framed(padded, count, frame_length, frame_step)
        })
    }

    /// Adds overlapping frames up to a signal: frame `i` starts at sample `i * frame_step`.
    ///
    /// `[.., frames, frame_length] -> [.., samples]`, where `samples` is `(frames - 1) * frame_step + frame_length`, or
    /// 0 if this is negative; any number. As TensorFlow's `tf.signal.overlap_and_add`. Fuses into kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([[1, 2, 3], [10, 20, 30]])?.overlap_and_add(2)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([1, 2, 13, 20, 30]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The rank is unknown or below 2, the elements are not numbers, or `frame_step` is less than 1.
    #[track_caller]
    pub fn overlap_and_add(self, frame_step: i64) -> Result<Value<'g>> {
        self.graph().in_call("overlap_and_add", || overlapped(self, frame_step))
    }
}

/// Checks the arguments of a call that cuts frames. Returns the number of samples.
fn samples_to_cut(x: Value<'_>, frame_length: i64, frame_step: i64) -> Result<Dim> {
    at_least_1("frame_length", frame_length)?;
    at_least_1("frame_step", frame_step)?;
    samples_of(x)
}

/// Pads the end of the last axis by `missing` elements. `pad` gets the paddings of all axes.
pub(super) fn pad_end<'g>(
    x: Value<'g>,
    missing: Dim,
    pad: impl FnOnce(&[[Dim; 2]]) -> Result<Value<'g>>,
) -> Result<Value<'g>> {
    let rank = x.shape().rank().unwrap_or_default();
    let mut paddings = vec![[Dim::known(0), Dim::known(0)]; rank];
    match paddings.last_mut() {
        Some(last) if missing != 0 => {
            last[1] = missing;
            pad(&paddings)
        }
        _ => Ok(x),
    }
}

fn framed(x: Value<'_>, count: Dim, frame_length: i64, frame_step: i64) -> Result<Value<'_>> {
    let graph = x.graph();
    let starts = (graph.range(0i64, count, 1i64)? * frame_step).ok()?;
    let positions = (starts.expand_dims(1)? + graph.range(0i64, frame_length, 1i64)?).ok()?;
    x.gather(positions, -1)
}

fn overlapped(x: Value<'_>, frame_step: i64) -> Result<Value<'_>> {
    let shape = x.shape();
    let Some([leading @ .., frames, length]) = shape.dims() else {
        let message = format!("frames must have a known rank of at least 2, got shape {shape}");
        return refuse(ErrorKind::Shape, message);
    };
    at_least_1("frame_step", frame_step)?;
    // A frame becomes segments of `frame_step` samples. Segment `s` of frame `f` adds to segment `f + s` of the signal:
    // with as many empty frames at the end as there are segments, a reshape shifts each row of segments by one more.
    let segments = length.ceil_div(frame_step)?;
    let axes = leading.len() as i64;
    let mut paddings = vec![[Dim::known(0), Dim::known(0)]; leading.len()];
    paddings.push([Dim::known(0), segments.clone()]);
    paddings.push([Dim::known(0), segments.clone() * frame_step - length.clone()]);
    let shaped = |dims: &[Dim]| TensorShape::new(leading.iter().chain(dims).cloned());
    let step = Dim::known(frame_step);
    let rows = frames.clone() + segments.clone();
    let split = x.pad(&paddings)?.reshape(shaped(&[rows.clone(), segments.clone(), step.clone()]))?;
    let perm: Vec<i64> = (0..axes).chain([axes + 1, axes, axes + 2]).collect();
    let flat = split.transpose(&perm)?.reshape(shaped(&[rows.clone() * segments.clone(), step.clone()]))?;
    let kept = (rows.clone() - 1) * segments.clone();
    let shifted = flat
        .slice_with(&[SliceItem::Rest, SliceItem::from(..kept), SliceItem::All])?
        .reshape(shaped(&[segments, rows.clone() - 1, step]))?;
    let sum = shifted.reduce_sum(axes)?.reshape(shaped(&[(rows - 1) * frame_step]))?;
    let samples = (frames.clone() - 1) * frame_step + length.clone();
    sum.slice_with(&[SliceItem::Rest, SliceItem::from(..samples)])
}
