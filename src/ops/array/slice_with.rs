//! `slice_with`: slices with ranges, positions and new axes, as in Python.

use std::fmt;
use std::ops::{Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

use shapeflow_shape_fns::{DType, Dim, IntoDim, PartialElements, TensorShape};

use crate::dtype::type_text;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::{Graph, Param, Value};

use super::concat::concat;
use super::range::dim_value;
use super::strided_slice::SliceMasks;

/// A position along an axis. A negative position counts from the end of the axis. Integers, [`Dim`]s and [`Value`]s
/// convert into it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Position<'g> {
    /// An integer or a dimension.
    Dim(Dim),
    /// A scalar of any integer dtype, which a run feeds or computes.
    Value(Value<'g>),
}

/// One entry of [`Value::slice_with`]. [`Position`]s, Rust ranges of positions and `..` convert into it.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum SliceItem<'g> {
    /// One position, as Python's `x[i]`. The result lacks the axis.
    At(Position<'g>),
    /// `Range(begin, end, step)`, as Python's `begin:end:step`. A `None` is an open end, and the range is clamped to
    /// the axis.
    Range(Option<Position<'g>>, Option<Position<'g>>, i64),
    /// `Through(begin, last, step)`: the positions from `begin` to `last`, which is included, also backwards. Rust's
    /// `begin..=last` makes it.
    Through(Option<Position<'g>>, Dim, i64),
    /// The whole axis.
    All,
    /// A new axis of size 1.
    NewAxis,
    /// All axes without another entry, as Python's `...`. At most one entry may be this one.
    Rest,
}

impl<'g> SliceItem<'g> {
    /// Makes the item of one position.
    pub fn at(position: impl Into<Position<'g>>) -> SliceItem<'g> {
        SliceItem::At(position.into())
    }

    /// Makes the range `begin..end`. Use this function if the two positions have different types, and for a negative
    /// end, since Clippy reports a literal such as `1..-1` as empty.
    pub fn span(begin: impl Into<Position<'g>>, end: impl Into<Position<'g>>) -> SliceItem<'g> {
        SliceItem::Range(Some(begin.into()), Some(end.into()), 1)
    }

    /// Takes every `step`-th element of a range, backwards for a negative step. Positions and new axes are unchanged.
    pub fn step(self, step: i64) -> SliceItem<'g> {
        match self {
            SliceItem::Range(begin, end, _) => SliceItem::Range(begin, end, step),
            SliceItem::Through(begin, last, _) => SliceItem::Through(begin, last, step),
            SliceItem::All => SliceItem::Range(None, None, step),
            other => other,
        }
    }

    /// Returns the item as it is, and a range with a last position as a range with an end after this position.
    ///
    /// # Errors
    /// The step is negative, and the last position is not a number. The end would be one less, but -1 is the last
    /// element.
    pub(in crate::ops) fn with_end(&self) -> Result<SliceItem<'g>> {
        let SliceItem::Through(begin, last, step) = self else { return Ok(self.clone()) };
        let (next, open) = if *step < 0 { (-1, -1) } else { (1, 0) };
        let end = match last.as_known() {
            Some(last) => last.checked_add(next).filter(|end| *end != open).map(Position::from),
            None if *step >= 0 => Some((last.clone() + 1).into()),
            None => {
                let message =
                    format!("the last position of a range with a negative step must be a number, got {last}");
                return Err(Error::new(ErrorKind::Index, Phase::Build, message));
            }
        };
        Ok(SliceItem::Range(begin.clone(), end, *step))
    }
}

impl<'g> Position<'g> {
    /// Returns the position if it is known when the graph is built.
    pub(crate) fn as_known(&self) -> Option<i64> {
        match self {
            Position::Dim(position) => position.as_known(),
            Position::Value(_) => None,
        }
    }

    /// Returns the position as an i64 scalar of `graph`.
    ///
    /// # Errors
    /// A value is not an integer scalar.
    pub(in crate::ops) fn to_i64(&self, graph: &'g Graph) -> Result<Value<'g>> {
        let value = match self {
            Position::Dim(position) => match position.as_known() {
                Some(known) => return graph.constant(known),
                None => return dim_value(graph, position.clone()),
            },
            Position::Value(value) => *value,
        };
        let (index, dtype, shape) = (value.index()?, value.dtype(), value.shape());
        if !dtype.is_integer() || shape.rank().is_some_and(|rank| rank != 0) {
            let message =
                format!("a position must be an integer scalar, got {index}: {}", type_text(dtype, &shape));
            let mut error = Error::new(ErrorKind::Index, Phase::Build, message);
            if dtype == DType::Bool {
                error = error.with_help("boolean_mask selects the elements where a mask is true");
            }
            return Err(match graph.read().call {
                Some(location) => error.at(location),
                None => error,
            });
        }
        // No axis has a position above the greatest i64.
        let value = if dtype == DType::U64 {
            value.minimum(value.graph().constant(i64::MAX as u64)?)?
        } else {
            value
        };
        value.cast(DType::I64)?.reshape(TensorShape::scalar())
    }
}

impl PartialEq for Position<'_> {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Position::Dim(a), Position::Dim(b)) => a == b,
            (Position::Value(a), Position::Value(b)) => a.id() == b.id(),
            _ => false,
        }
    }
}

impl fmt::Display for Position<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Position::Dim(position) => position.fmt(f),
            Position::Value(value) => write!(f, "{value:?}"),
        }
    }
}

macro_rules! positions {
    ($($type:ty => |$position:ident| $converted:expr;)*) => {$(
        impl<'g> From<$type> for Position<'g> {
            fn from($position: $type) -> Position<'g> {
                $converted
            }
        }

        impl<'g> From<$type> for SliceItem<'g> {
            fn from(position: $type) -> SliceItem<'g> {
                SliceItem::at(position)
            }
        }
    )*};
}
positions! {
    i32 => |position| Position::Dim(position.into_dim());
    i64 => |position| Position::Dim(position.into_dim());
    usize => |position| Position::Dim(position.into_dim());
    Dim => |position| Position::Dim(position);
    &Dim => |position| Position::Dim(position.clone());
    Value<'g> => |position| Position::Value(position);
}

impl From<RangeFull> for SliceItem<'_> {
    fn from(_: RangeFull) -> Self {
        SliceItem::All
    }
}

macro_rules! ranges {
    ($([$($bound:tt)+] $Range:ident |$range:ident| $kind:ident $begin:expr, $end:expr;)*) => {$(
        impl<'g, T: $($bound)+ + Clone> From<$Range<T>> for SliceItem<'g> {
            fn from($range: $Range<T>) -> SliceItem<'g> {
                SliceItem::$kind($begin, $end, 1)
            }
        }
    )*};
}
ranges! {
    [Into<Position<'g>>] Range |range| Range Some(range.start.into()), Some(range.end.into());
    [Into<Position<'g>>] RangeFrom |range| Range Some(range.start.into()), None;
    [Into<Position<'g>>] RangeTo |range| Range None, Some(range.end.into());
    [IntoDim] RangeInclusive |range| Through Some(range.start().into_dim().into()), range.end().into_dim();
    [IntoDim] RangeToInclusive |range| Through None, range.end.into_dim();
}

/// The maximum number of items that an error shows.
const SHOWN_ITEMS: usize = 8;

impl<'g> Value<'g> {
    /// Slices as Python's `x[1, 2:5, ::-1, None, ...]` does. There is one item per axis; further axes are kept whole.
    ///
    /// Any dtype. As TensorFlow's `StridedSlice`. Fuses into kernels. A position may be an integer, a dimension, or a
    /// value; a run computes values before it plans the slice.
    ///
    /// ```
    /// use shapeflow::{shape, slice, DType, Graph, SliceItem, Tensor};
    ///
    /// let g = Graph::new();
    /// let x = g.input("x", DType::F32, shape!["n", 8, 3])?;
    /// let y = x.slice_with(&[SliceItem::All, (2..5).into(), SliceItem::from(..).step(-1), SliceItem::NewAxis])?;
    /// assert_eq!(y.shape().to_string(), "[n, 3, 3, 1]");
    /// assert_eq!(x.slice_with(&[SliceItem::Rest, SliceItem::at(-1)])?.shape().to_string(), "[n, 8]");
    /// let n = &x.dim(0)?;
    /// assert_eq!(x.slice_with(&[(..n).into(), SliceItem::span(0, 2)])?.shape().to_string(), "[n, 2, 3]");
    ///
    /// let row = g.input("row", DType::I32, shape![])?;
    /// let scores = g.constant([[1, 2], [3, 4], [5, 6]])?;
    /// let last = g.compile(scores.slice_with(&slice![row, 1])?)?.run(&[Tensor::scalar(-1i32).view()])?;
    /// assert_eq!(last, [Tensor::scalar(6)]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Value::strided_slice`]; also if there are more than 32 items, or a value is not an integer scalar.
    #[doc(alias = "getitem")]
    #[track_caller]
    pub fn slice_with(self, items: &[SliceItem<'g>]) -> Result<Value<'g>> {
        let location = std::panic::Location::caller();
        let call = self.graph().open_written_call("slice_with", self.slice_text(items), location);
        call.attempt(|| self.sliced(items))
    }

    /// Builds the slice of [`Value::slice_with`].
    fn sliced(self, items: &[SliceItem<'g>]) -> Result<Value<'g>> {
        if items.len() > 32 {
            let message = format!("there may be at most 32 items, got {}", items.len());
            return Err(Error::new(ErrorKind::Attribute, Phase::Build, message));
        }
        let (mut begins, mut ends, mut strides) = (Vec::new(), Vec::new(), Vec::new());
        let mut masks = SliceMasks::default();
        for (entry, item) in items.iter().enumerate() {
            let bit = 1u32 << entry;
            let zero = || Position::from(0);
            let (begin, end, stride) = match &item.with_end()? {
                SliceItem::At(position) => {
                    masks.shrink_axis |= bit;
                    let end = match position {
                        Position::Dim(position) => Position::Dim(position.clone() + 1),
                        // The end of a single position is not read.
                        Position::Value(_) => zero(),
                    };
                    (position.clone(), end, 1)
                }
                SliceItem::Range(begin, end, stride) => {
                    masks.begin |= if begin.is_none() { bit } else { 0 };
                    masks.end |= if end.is_none() { bit } else { 0 };
                    (begin.clone().unwrap_or_else(zero), end.clone().unwrap_or_else(zero), *stride)
                }
                SliceItem::Through(..) => unreachable!("with_end leaves no such item"),
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
        let (begin, end) = (self.position_param(&begins)?, self.position_param(&ends)?);
        self.strided_slice(begin, end, &strides[..], masks)
    }

    /// Returns the text of a slice, such as `slice_with(f32[n, 4], [0, 1..])`.
    fn slice_text(self, items: &[SliceItem<'g>]) -> String {
        let shown = items.iter().take(SHOWN_ITEMS).map(|item| self.item_text(item));
        let more = (items.len() > SHOWN_ITEMS).then(|| format!("and {} more", items.len() - SHOWN_ITEMS));
        let items: Vec<String> = shown.chain(more).collect();
        format!("slice_with({}, [{}])", type_text(self.dtype(), &self.shape()), items.join(", "))
    }

    /// Returns the text of an item, as [`slice!`](crate::slice) spells it.
    fn item_text(self, item: &SliceItem<'g>) -> String {
        let position = |position: &Position<'g>| match position {
            Position::Dim(position) => position.to_string(),
            Position::Value(value) => type_text(value.dtype(), &value.shape()),
        };
        let end = |end: &Option<Position<'g>>| end.as_ref().map(position).unwrap_or_default();
        let (range, step) = match item {
            SliceItem::At(at) => return position(at),
            SliceItem::NewAxis => return "newaxis".to_string(),
            SliceItem::Rest => return "...".to_string(),
            SliceItem::All => return "..".to_string(),
            SliceItem::Range(begin, limit, step) => (format!("{}..{}", end(begin), end(limit)), step),
            SliceItem::Through(begin, last, step) => (format!("{}..={last}", end(begin)), step),
        };
        if *step == 1 { range } else { format!("{range}; {step}") }
    }

    /// Returns positions as one parameter: a value only if some position is a value.
    fn position_param(self, positions: &[Position<'g>]) -> Result<Param<'g>> {
        let dims = positions.iter().map(|position| match position {
            Position::Dim(dim) => Some(dim.clone()),
            Position::Value(_) => None,
        });
        if let Some(dims) = dims.collect::<Option<Vec<Dim>>>() {
            return Ok(Param::Elements(PartialElements::vector(dims)));
        }
        let numbers = positions.iter().map(|position| position.to_i64(self.graph())?.reshape([1]));
        concat(&numbers.collect::<Result<Vec<Value<'g>>>>()?, 0).map(Param::Value)
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
        let through = |begin: i64, last: i64| SliceItem::Through(Some(begin.into()), Dim::known(last), 1);
        for (item, expected) in [
            (through(3, 1), &[4, 3, 2][..]),
            (through(2, 0), &[3, 2, 1]),
            ((..=0).into(), &[4, 3, 2, 1]),
            ((..=-1).into(), &[4]),
            ((..=-4).into(), &[4, 3, 2, 1]),
            ((..=-9).into(), &[4, 3, 2, 1]),
            ((1..=2).into(), &[]),
        ] {
            assert_eq!(values(&[SliceItem::at(0), item.clone().step(-1)]).1, expected, "{item:?}");
        }
        assert_eq!(values(&[SliceItem::at(0), SliceItem::from(0..=2).step(2)]).1, [1, 3]);
        assert_eq!(values(&[SliceItem::at(0), (..=i64::MAX).into()]).1, [1, 2, 3, 4]);
        assert_eq!(values(&[SliceItem::at(0), SliceItem::span(3, 1)]), (vec![0], vec![]));
        assert!(
            x.slice_with(&[SliceItem::at(2)])
                .unwrap_err()
                .message()
                .contains("must lie within axis 0 of size 2")
        );
        assert!(x.slice_with(&vec![SliceItem::NewAxis; 33]).unwrap_err().message().contains("at most 32"));
        for wrong in [g.constant(1.0f32).unwrap(), g.constant([1, 2]).unwrap()] {
            let error = x.slice_with(&[wrong.into()]).unwrap_err();
            assert!(error.message().contains("]): a position must be an integer scalar, got %"), "{error}");
            assert!(error.location().is_some(), "{error}");
        }
    }
}
