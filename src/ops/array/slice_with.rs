//! `slice_with`: slices with ranges, positions and new axes, as in Python.

use std::ops::{Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

use shapeflow_shape_fns::{Dim, IntoDim};

use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::Value;

use super::strided_slice::SliceMasks;

/// One entry of [`Value::slice_with`]. Positions, Rust ranges of positions and `..` convert into it. A position is an
/// integer or a [`Dim`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum SliceItem {
    /// One position, as Python's `x[i]`. The result lacks the axis. A negative position counts from the end.
    At(Dim),
    /// `Range(begin, end, step)`, as Python's `begin:end:step`. A `None` is an open end, a negative position counts
    /// from the end, and the range is clamped to the axis.
    Range(Option<Dim>, Option<Dim>, i64),
    /// The whole axis.
    All,
    /// A new axis of size 1.
    NewAxis,
    /// All axes without another entry, as Python's `...`. At most one entry may be this one.
    Rest,
}

impl SliceItem {
    /// Makes the item of one position. A negative position counts from the end.
    pub fn at(position: impl IntoDim) -> SliceItem {
        SliceItem::At(position.into_dim())
    }

    /// Makes the range `begin..end`. Use this function for a negative end, since Clippy reports a literal such as
    /// `1..-1` as empty.
    pub fn span(begin: impl IntoDim, end: impl IntoDim) -> SliceItem {
        SliceItem::Range(Some(begin.into_dim()), Some(end.into_dim()), 1)
    }

    /// Takes every `step`-th element of a range, backwards for a negative step. Positions and new axes are unchanged.
    pub fn step(self, step: i64) -> SliceItem {
        match self {
            SliceItem::Range(begin, end, _) => SliceItem::Range(begin, end, step),
            SliceItem::All => SliceItem::Range(None, None, step),
            other => other,
        }
    }
}

macro_rules! positions {
    ($($position:ty)*) => {$(
        impl From<$position> for SliceItem {
            fn from(position: $position) -> SliceItem {
                SliceItem::at(position)
            }
        }
    )*};
}
positions!(i32 i64 usize Dim &Dim);

impl From<RangeFull> for SliceItem {
    fn from(_: RangeFull) -> SliceItem {
        SliceItem::All
    }
}

/// Returns the exclusive end of a range with an inclusive end. The inclusive end -1, the last element, gives an open
/// end.
fn after(end: &Dim) -> Option<Dim> {
    match end.as_known() {
        Some(end) => end.checked_add(1).filter(|end| *end != 0).map(Dim::known),
        None => Some(end.clone() + 1),
    }
}

macro_rules! ranges {
    ($($Range:ident |$range:ident| $begin:expr, $end:expr;)*) => {$(
        impl<T: IntoDim + Clone> From<$Range<T>> for SliceItem {
            fn from($range: $Range<T>) -> SliceItem {
                SliceItem::Range($begin, $end, 1)
            }
        }
    )*};
}
ranges! {
    Range |range| Some(range.start.into_dim()), Some(range.end.into_dim());
    RangeFrom |range| Some(range.start.into_dim()), None;
    RangeTo |range| None, Some(range.end.into_dim());
    RangeInclusive |range| Some(range.start().into_dim()), after(&range.end().into_dim());
    RangeToInclusive |range| None, after(&range.end.into_dim());
}

impl<'g> Value<'g> {
    /// Slices as Python's `x[1, 2:5, ::-1, None, ...]` does. There is one item per axis; further axes are kept whole.
    ///
    /// Any dtype. As TensorFlow's `StridedSlice`. Fuses into kernels.
    ///
    /// ```
    /// use shapeflow::{shape, DType, Graph, SliceItem};
    ///
    /// let g = Graph::new();
    /// let x = g.input("x", DType::F32, shape!["n", 8, 3])?;
    /// let y = x.slice_with(&[SliceItem::All, (2..5).into(), SliceItem::from(..).step(-1), SliceItem::NewAxis])?;
    /// assert_eq!(y.shape().to_string(), "[n, 3, 3, 1]");
    /// assert_eq!(x.slice_with(&[SliceItem::Rest, SliceItem::at(-1)])?.shape().to_string(), "[n, 8]");
    /// let n = &x.shape().dims().unwrap()[0].clone();
    /// assert_eq!(x.slice_with(&[(..n).into(), SliceItem::span(0, 2)])?.shape().to_string(), "[n, 2, 3]");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Value::strided_slice`]; also if there are more than 32 items.
    #[doc(alias = "getitem")]
    #[track_caller]
    pub fn slice_with(self, items: &[SliceItem]) -> Result<Value<'g>> {
        if items.len() > 32 {
            let message = format!("slice_with takes at most 32 items, got {}", items.len());
            let location = std::panic::Location::caller();
            return Err(Error::new(ErrorKind::Attribute, Phase::Build, message).at(location));
        }
        let (mut begins, mut ends, mut strides) = (Vec::new(), Vec::new(), Vec::new());
        let mut masks = SliceMasks::default();
        for (entry, item) in items.iter().enumerate() {
            let bit = 1u32 << entry;
            let zero = || Dim::known(0);
            let (begin, end, stride) = match item {
                SliceItem::At(position) => {
                    masks.shrink_axis |= bit;
                    (position.clone(), position.clone() + 1, 1)
                }
                SliceItem::Range(begin, end, stride) => {
                    masks.begin |= if begin.is_none() { bit } else { 0 };
                    masks.end |= if end.is_none() { bit } else { 0 };
                    (begin.clone().unwrap_or_else(zero), end.clone().unwrap_or_else(zero), *stride)
                }
                SliceItem::All => {
                    masks.begin |= bit;
                    masks.end |= bit;
                    (zero(), zero(), 1)
                }
                SliceItem::NewAxis => {
                    masks.new_axis |= bit;
                    (zero(), zero(), 1)
                }
                SliceItem::Rest => {
                    masks.ellipsis |= bit;
                    (zero(), zero(), 1)
                }
            };
            begins.push(begin);
            ends.push(end);
            strides.push(stride);
        }
        self.strided_slice(&begins[..], &ends[..], &strides[..], masks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Graph;

    #[test]
    fn items_mean_what_python_means() {
        let g = Graph::new();
        let x = g.constant([[1, 2, 3, 4], [5, 6, 7, 8i32]]).unwrap();
        let values = |items: &[SliceItem]| {
            let y = x.slice_with(items).unwrap();
            let tensor = g.read().const_fold(y.index().unwrap()).unwrap();
            (tensor.sizes().to_vec(), tensor.to_vec::<i32>().unwrap())
        };
        assert_eq!(values(&[(-1).into()]), (vec![4], vec![5, 6, 7, 8]));
        assert_eq!(values(&[(..).into(), (1..3).into()]), (vec![2, 2], vec![2, 3, 6, 7]));
        assert_eq!(values(&[SliceItem::Rest, SliceItem::from(..).step(-2)]), (vec![2, 2], vec![4, 2, 8, 6]));
        assert_eq!(
            values(&[SliceItem::NewAxis, (1..).into(), SliceItem::span(2, -1)]),
            (vec![1, 1, 1], vec![7])
        );
        assert_eq!(values(&[SliceItem::at(0), (..=-2).into()]), (vec![3], vec![1, 2, 3]));
        assert_eq!(values(&[SliceItem::at(0), SliceItem::span(3, 1)]), (vec![0], vec![]));
        assert!(
            x.slice_with(&[SliceItem::at(2)])
                .unwrap_err()
                .message()
                .contains("must lie within axis 0 of size 2")
        );
        assert!(x.slice_with(&vec![SliceItem::NewAxis; 33]).unwrap_err().message().contains("at most 32"));
    }
}
