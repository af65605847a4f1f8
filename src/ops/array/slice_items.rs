//! `slice!`: the items of a slice in Python's notation.

/// Makes the items of [`Value::slice_with`](crate::Value::slice_with),
/// [`RaggedValue::slice_with`](crate::RaggedValue::slice_with) and
/// [`RaggedTensor::slice_with`](crate::RaggedTensor::slice_with): an array of [`SliceItem`](crate::SliceItem).
///
/// | item | Python | meaning |
/// |---|---|---|
/// | `i` | `i` | one position; the result lacks the axis |
/// | `..` | `:` | the whole axis |
/// | `a..b`, `a..`, `..b` | `a:b`, `a:`, `:b` | a range without its end |
/// | `a..=b`, `..=b` | `a:b+1`, `:b+1` | a range with its end, which is an integer or a `Dim`, not a `Value` |
/// | `a..b; step` | `a:b:step` | every `step`-th position of a range, backwards for a negative step |
/// | `a..=b; -1` | `a:b-1:-1` | the positions from `a` down to `b`, which is an integer |
/// | `newaxis` | `newaxis` | a new axis of size 1 |
/// | `...` | `...` | all axes without another item |
///
/// A position is an integer, a [`Dim`](crate::Dim), a [`Value`](crate::Value), or an expression that gives one of
/// them. A negative position counts from the end. The end of a range with its end is the exception: for a `Value` k,
/// write `..k + 1`. A [`SliceItem`](crate::SliceItem) is an item too.
///
/// ```
/// use shapeflow::{Graph, Tensor, ragged, slice};
///
/// let g = Graph::new();
/// let x = g.constant([[1, 2, 3], [4, 5, 6]])?;
/// let (row, backwards) = (x.slice_with(&slice![-1])?, x.slice_with(&slice![..; -1, 1..3])?);
/// let (inner, column) = (x.slice_with(&slice![.., 1..-1])?, x.slice_with(&slice![..., newaxis, 0])?);
/// let [row, backwards, inner, column] = g.compile([row, backwards, inner, column])?.run(&[])?;
/// assert_eq!(row, Tensor::from([4, 5, 6]));
/// assert_eq!(backwards, Tensor::from([[5, 6], [2, 3]]));
/// assert_eq!(inner, Tensor::from([[2], [5]]));
/// assert_eq!(column, Tensor::from([[1], [4]]));
///
/// let rt = ragged![[1, 2, 3, 4], [], [5, 6]];
/// assert_eq!(rt.slice_with(&slice![.., 1..3])?.to_string(), "[[2, 3], [], [6]]");
/// assert_eq!(rt.slice_with(&slice![0, ..; 2])?.to_string(), "[1, 3]");
/// assert_eq!(rt.slice_with(&slice![.., ..=0; -1])?.to_string(), "[[4, 3, 2, 1], [], [6, 5]]");
/// let rows = g.ragged_constant(&rt)?.slice_with(&slice![1.., ..=0; -1])?;
/// assert_eq!(g.compile(rows)?.run_named(&[])?.ragged_at(0)?.to_string(), "[[], [6, 5]]");
///
/// let k = g.constant(1)?;
/// let [up_to_k] = g.compile(x.slice_with(&slice![0, ..k + 1])?)?.run(&[])?;
/// assert_eq!(up_to_k, Tensor::from([1, 2]));
/// # Ok::<(), shapeflow::Error>(())
/// ```
#[macro_export(local_inner_macros)]
macro_rules! slice {
    ($($item:tt)*) => { __slice_items!(@item [] {} $($item)*) };
}

/// The rules of [`slice!`].
#[doc(hidden)]
#[macro_export(local_inner_macros)]
macro_rules! __slice_items {
    // `@item` reads an item: the finished items, the tokens of a position or of the begin of a range, and the tokens to
    // read.
    (@item [$($items:tt)*] {}) => { [$($items)*] };
    (@item [$($items:tt)*] {} ... $(, $($rest:tt)*)?) => {
        __slice_items!(@item [$($items)* $crate::SliceItem::Rest,] {} $($($rest)*)?)
    };
    (@item [$($items:tt)*] {} newaxis $(, $($rest:tt)*)?) => {
        __slice_items!(@item [$($items)* $crate::SliceItem::NewAxis,] {} $($($rest)*)?)
    };
    (@item $items:tt $begin:tt .. $($rest:tt)*) => { __slice_items!(@end $items $begin {} $($rest)*) };
    (@item $items:tt $begin:tt ..= $($rest:tt)*) => { __slice_items!(@last $items $begin {} $($rest)*) };
    (@item [$($items:tt)*] {$($position:tt)+} $(, $($rest:tt)*)?) => {
        __slice_items!(@item [$($items)* $crate::SliceItem::from($($position)+),] {} $($($rest)*)?)
    };
    (@item $items:tt {$($begin:tt)*} $token:tt $($rest:tt)*) => {
        __slice_items!(@item $items {$($begin)* $token} $($rest)*)
    };
    // `@end` reads the end of a range, and its step.
    (@end [$($items:tt)*] $begin:tt $end:tt ; $step:expr $(, $($rest:tt)*)?) => {
        __slice_items!(@item [$($items)* __slice_items!(@range $begin $end).step($step),] {} $($($rest)*)?)
    };
    (@end [$($items:tt)*] $begin:tt $end:tt $(, $($rest:tt)*)?) => {
        __slice_items!(@item [$($items)* __slice_items!(@range $begin $end),] {} $($($rest)*)?)
    };
    (@end $items:tt $begin:tt {$($end:tt)*} $token:tt $($rest:tt)*) => {
        __slice_items!(@end $items $begin {$($end)* $token} $($rest)*)
    };
    // `@last` reads the last position of a range.
    (@last [$($items:tt)*] {$($begin:tt)*} {$($last:tt)+} ; $step:expr $(, $($rest:tt)*)?) => {
        __slice_items!(@item
            [$($items)* $crate::SliceItem::from($($begin)* ..= $($last)+).step($step),] {} $($($rest)*)?)
    };
    (@last [$($items:tt)*] {$($begin:tt)*} {$($last:tt)+} $(, $($rest:tt)*)?) => {
        __slice_items!(@item [$($items)* $crate::SliceItem::from($($begin)* ..= $($last)+),] {} $($($rest)*)?)
    };
    (@last $items:tt $begin:tt {$($last:tt)*} $token:tt $($rest:tt)*) => {
        __slice_items!(@last $items $begin {$($last)* $token} $($rest)*)
    };
    (@range {} {}) => { $crate::SliceItem::All };
    (@range {} {$($end:tt)+}) => { $crate::SliceItem::from(.. $($end)+) };
    (@range {$($begin:tt)+} {}) => { $crate::SliceItem::from($($begin)+ ..) };
    (@range {$($begin:tt)+} {$($end:tt)+}) => { $crate::SliceItem::span($($begin)+, $($end)+) };
}
