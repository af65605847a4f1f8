//! `strided_slice(x, begin, end, strides)`: Python's `x[begin:end:stride, …]` with all its masks.

use super::propagate::{element_at, propagate_elements};
use crate::error::bail;
use crate::{Dim, Guard, InferenceContext, List, Result, ShapeError, TensorShape, counted};

/// Extracts strided ranges. Entry `i` of `begin`, `end` and `strides` describes a range along the next axis. Negative
/// positions count from the end of the axis, and ranges are clamped to the axis.
///
/// Bit `i` of a mask changes entry `i`. `begin_mask` and `end_mask`: the range starts or ends at the border of the
/// axis; with a negative stride, it starts at the last element and ends after the first. `ellipsis_mask`: the entry
/// stands for all axes without an entry of their own. `new_axis_mask`: the entry inserts an axis of size 1.
/// `shrink_axis_mask`: the entry selects position `begin` and drops the axis. If several bits are set, the ellipsis
/// wins over the new axis, which wins over the dropped axis.
///
/// `[n, 4], begin=[1, 0], end=[n, 2] -> [max(0, n-1), 2]`.
///
/// Sets the derived parameters `start` and `stride`, one entry per axis of `x`. Output position `k` along a range reads
/// `start + k*stride`; a dropped axis reads `start`. Sets the derived parameter `axes`, one entry per axis of the
/// output: the corresponding axis of `x`, or -1 for a new axis.
///
/// # Errors
/// The lists differ in length or have entries for more axes than `x` has, there are two ellipses, a stride is 0, or a
/// dropped axis has a position that is provably out of bounds or a stride that is not positive.
pub fn strided_slice(cx: &mut InferenceContext<'_>) -> Result<()> {
    let input = cx.input(0).clone();
    let Some(Sliced { output, axes, starts, strides }) = sliced(cx, &input)? else { return Ok(()) };
    cx.set_output(0, TensorShape::from(output));
    propagate_strided(cx, &axes, &starts, &strides);
    cx.set_derived("start", starts);
    cx.set_derived("stride", strides);
    cx.set_derived("axes", axes);
    Ok(())
}

/// A slice of a tensor: the dimensions of the result, and the derived parameters of [`strided_slice`].
pub(super) struct Sliced {
    /// The dimensions of the result.
    pub output: Vec<Dim>,
    /// For each axis of the result: the axis of the input, or -1 for a new axis.
    pub axes: Vec<Dim>,
    /// For each axis of the input: the position of the first element of the range.
    pub starts: Vec<Dim>,
    /// For each axis of the input: the stride of the range.
    pub strides: Vec<Dim>,
}

/// Slices a tensor of shape `input`; `None` if its rank or the number of entries is unknown.
pub(super) fn sliced(cx: &mut InferenceContext<'_>, input: &TensorShape) -> Result<Option<Sliced>> {
    let lists = [cx.param_vector("begin")?, cx.param_vector("end")?, cx.param_vector("strides")?];
    let mut entries = None;
    for (list, name) in lists.iter().zip(["begin", "end", "strides"]) {
        match (entries, list.known_len()) {
            (None, len) => entries = len.map(|len| (len, name)),
            (Some((count, first)), Some(len)) if count != len => {
                return Err(cx.blame_param(
                    name,
                    format_args!("must have the same length as {first}, got {len} and {count}"),
                ));
            }
            _ => {}
        }
    }
    let Some((entries, _)) = entries else { return Ok(None) };
    // TensorFlow's masks have 32 bits.
    if entries > 32 {
        bail!("a strided slice must have at most 32 entries, got {entries}");
    }
    let masks = Masks::read(cx)?;
    let Some(dims) = input.dims() else { return Ok(None) };
    let spans = masks.spans(entries, dims.len(), input)?;
    let (mut output, mut axes) = (Vec::new(), Vec::new());
    let (mut starts, mut strides) = (Vec::new(), Vec::new());
    for span in spans {
        let axis = starts.len();
        let entry = match span {
            Span::New => {
                output.push(Dim::known(1));
                axes.push(Dim::known(-1));
                continue;
            }
            Span::Whole => None,
            Span::Entry(entry) => Some(entry),
        };
        let dim = &dims[axis];
        let part = match entry {
            Some(entry) => {
                let element = |list: &List| match list {
                    List::Elements(elements) => elements.get(entry).cloned(),
                    _ => None,
                };
                let range = Range {
                    begin: element(&lists[0]).filter(|_| !Masks::is_set(masks.begin, entry)),
                    begins_open: Masks::is_set(masks.begin, entry),
                    end: element(&lists[1]).filter(|_| !Masks::is_set(masks.end, entry)),
                    ends_open: Masks::is_set(masks.end, entry),
                    stride: match &lists[2] {
                        List::Absent => Some(Dim::known(1)),
                        list => element(list),
                    },
                };
                if range.stride.as_ref().is_some_and(|stride| *stride == 0) {
                    return Err(
                        cx.blame_param("strides", format_args!("must not be 0, got 0 at entry {entry}"))
                    );
                }
                if Masks::is_set(masks.shrink, entry) {
                    let begin = element(&lists[0]);
                    range.position(cx, dim, axis, begin)?
                } else {
                    range.part(cx, dim)?
                }
            }
            None => Part { start: Dim::known(0), stride: Dim::known(1), length: Some(dim.clone()) },
        };
        if let Some(length) = part.length {
            output.push(length);
            axes.push(Dim::known(axis as i64));
        }
        starts.push(part.start);
        strides.push(part.stride);
    }
    Ok(Some(Sliced { output, axes, starts, strides }))
}

/// Sets the output's elements if all starts and strides are known. `axes` maps each axis of the output to its axis of
/// the input.
fn propagate_strided(cx: &mut InferenceContext<'_>, axes: &[Dim], starts: &[Dim], strides: &[Dim]) {
    let known = |dims: &[Dim]| dims.iter().map(Dim::as_known).collect::<Option<Vec<i64>>>();
    let (Some(value), Some(starts), Some(strides)) =
        (cx.input_value(0).cloned(), known(starts), known(strides))
    else {
        return;
    };
    propagate_elements(cx, 0, |index| {
        let mut source = starts.clone();
        for (step, axis) in index.iter().zip(axes) {
            // A new axis (-1) reads no axis of the input.
            let Some(axis) = axis.as_known().and_then(|axis| usize::try_from(axis).ok()) else { continue };
            let step = strides.get(axis)?.checked_mul(i64::try_from(*step).ok()?)?;
            let position = source.get_mut(axis)?;
            *position = position.checked_add(step)?;
        }
        let source = source.into_iter().map(usize::try_from).collect::<Result<Vec<_>, _>>().ok()?;
        element_at(&value, source)
    });
}

/// The masks. Bit `i` belongs to entry `i` of `begin`, `end` and `strides`.
struct Masks {
    begin: i64,
    end: i64,
    ellipsis: i64,
    new_axis: i64,
    shrink: i64,
}

/// What decides the range of an axis of the input, or a new axis of the output.
enum Span {
    /// The entry at this position of `begin`, `end` and `strides`.
    Entry(usize),
    /// The whole axis: it has no entry, or the ellipsis covers it.
    Whole,
    /// A new axis of size 1.
    New,
}

impl Masks {
    fn read(cx: &InferenceContext<'_>) -> Result<Masks> {
        Ok(Masks {
            begin: cx.int_or("begin_mask", 0)?,
            end: cx.int_or("end_mask", 0)?,
            ellipsis: cx.int_or("ellipsis_mask", 0)?,
            new_axis: cx.int_or("new_axis_mask", 0)?,
            shrink: cx.int_or("shrink_axis_mask", 0)?,
        })
    }

    /// Returns whether the bit of `entry` is set.
    fn is_set(mask: i64, entry: usize) -> bool {
        mask >> entry.min(63) & 1 == 1
    }

    /// Returns one span per axis of the input, including dropped axes, and per new axis, in the order of the output.
    fn spans(&self, entries: usize, rank: usize, input: &TensorShape) -> Result<Vec<Span>> {
        let ellipses = (0..entries).filter(|entry| Masks::is_set(self.ellipsis, *entry)).count();
        if ellipses > 1 {
            bail!("a strided slice must have at most one ellipsis, got {ellipses}");
        }
        let is_new =
            |entry: usize| !Masks::is_set(self.ellipsis, entry) && Masks::is_set(self.new_axis, entry);
        let axis_entries = (0..entries).filter(|entry| !is_new(*entry)).count() - ellipses;
        if axis_entries > rank {
            return Err(ShapeError::new(format_args!(
                "a strided slice must have entries for at most the {rank} of {input}, got {axis_entries}",
                rank = counted(rank, "axis")
            )));
        }
        let mut spans = Vec::with_capacity(rank + entries);
        for entry in 0..entries {
            if Masks::is_set(self.ellipsis, entry) {
                spans.extend((axis_entries..rank).map(|_| Span::Whole));
            } else if is_new(entry) {
                spans.push(Span::New);
            } else {
                spans.push(Span::Entry(entry));
            }
        }
        if ellipses == 0 {
            spans.extend((axis_entries..rank).map(|_| Span::Whole));
        }
        Ok(spans)
    }
}

/// One entry of `begin`, `end` and `strides`. A value is `None` if it is unknown, or if a mask replaces it.
struct Range {
    begin: Option<Dim>,
    /// Whether `begin_mask` makes the range start at the border of the axis.
    begins_open: bool,
    end: Option<Dim>,
    /// Whether `end_mask` makes the range end at the border of the axis.
    ends_open: bool,
    stride: Option<Dim>,
}

/// The extracted part of an axis. A dropped axis has no length.
struct Part {
    start: Dim,
    stride: Dim,
    length: Option<Dim>,
}

impl Range {
    /// Returns the position that an entry with `shrink_axis_mask` selects.
    fn position(
        &self,
        cx: &mut InferenceContext<'_>,
        dim: &Dim,
        axis: usize,
        begin: Option<Dim>,
    ) -> Result<Part> {
        if let Some(stride) = &self.stride {
            cx.require(Guard::Ge(stride.clone(), Dim::known(1))).map_err(|_| {
                ShapeError::new(format_args!(
                    "the stride of a dropped axis must be positive, got {stride} at axis {axis}"
                ))
            })?;
        }
        let start = match begin {
            None => cx.fresh_integer(),
            Some(begin) => {
                let start = count_from_front(cx, &begin, dim)?;
                let outside = |_| {
                    ShapeError::new(format_args!("index {begin} must lie within axis {axis} of size {dim}"))
                };
                cx.require(Guard::Ge(start.clone(), Dim::known(0))).map_err(outside)?;
                let next = cx.add(&start, &Dim::known(1))?;
                cx.require(Guard::Ge(dim.clone(), next)).map_err(outside)?;
                start
            }
        };
        Ok(Part { start, stride: Dim::known(1), length: None })
    }

    /// Returns start, stride and length of a range, clamped to the axis.
    fn part(&self, cx: &mut InferenceContext<'_>, dim: &Dim) -> Result<Part> {
        let known = |end: &Option<Dim>, open: bool| open || end.is_some();
        let stride = self.stride.as_ref().and_then(Dim::as_known);
        let (Some(step), true, true) =
            (stride, known(&self.begin, self.begins_open), known(&self.end, self.ends_open))
        else {
            let start = if stride.is_some_and(|step| step > 0) && self.begins_open {
                Dim::known(0)
            } else {
                cx.fresh_integer()
            };
            let length = if *dim == 0 { Dim::known(0) } else { cx.fresh() };
            let stride = match &self.stride {
                Some(stride) => stride.clone(),
                None => cx.fresh_integer(),
            };
            return Ok(Part { start, stride, length: Some(length) });
        };
        let last = cx.sub(dim, &Dim::known(1))?;
        // Positions from the front, not yet clamped. -1 and `dim` are just outside the axis.
        let begin = match &self.begin {
            Some(begin) => count_from_front(cx, begin, dim)?,
            None if step > 0 => Dim::known(0),
            None => last.clone(),
        };
        let end = match &self.end {
            Some(end) => count_from_front(cx, end, dim)?,
            None if step > 0 => dim.clone(),
            None => Dim::known(-1),
        };
        // For a positive stride, the extent is `min(end, dim) - max(begin, 0)`; for a negative stride, it is
        // `min(begin, last) - max(end, -1)`. Each extent is the least of four differences. Clamping `begin` and `end`
        // at the other border as well would change empty ranges only.
        let (low, floor, high, ceiling) = if step > 0 {
            (&begin, Dim::known(0), &end, dim.clone())
        } else {
            (&end, Dim::known(-1), &begin, last.clone())
        };
        let mut extent = cx.sub(high, low)?;
        for (high, low) in [(high, &floor), (&ceiling, low), (&ceiling, &floor)] {
            let other = cx.sub(high, low)?;
            extent = cx.min(&extent, &other)?;
        }
        let extent = cx.max(&Dim::known(0), &extent)?;
        let length = cx.ceil_div(&extent, &Dim::known(step.checked_abs().unwrap_or(i64::MAX)))?;
        let start = if step > 0 {
            let start = cx.min(&begin, dim)?;
            cx.max(&Dim::known(0), &start)?
        } else {
            let start = cx.min(&begin, &last)?;
            cx.max(&Dim::known(-1), &start)?
        };
        Ok(Part { start, stride: Dim::known(step), length: Some(length) })
    }
}

/// A number greater than the length of any axis. A position beyond this number is outside every axis, and differences
/// of nearer positions do not overflow.
const FARTHEST: i64 = 1 << 61;

/// Returns `position` counted from the front: `position + dim` if it is negative. A position beyond [`FARTHEST`]
/// becomes the nearest position outside the axis.
fn count_from_front(cx: &mut InferenceContext<'_>, position: &Dim, dim: &Dim) -> Result<Dim> {
    match position.as_known() {
        Some(position) if position >= FARTHEST => return Ok(dim.clone()),
        Some(position) if position <= -FARTHEST => return Ok(Dim::known(-1)),
        _ => {}
    }
    let negative = cx.one_if_negative(position)?;
    let shift = cx.mul(dim, &negative)?;
    cx.add(position, &shift)
}

#[cfg(test)]
mod tests {
    use super::strided_slice;
    use crate::testing::shape_table;

    shape_table! { shapes: strided_slice, ["x", "begin", "end", "strides"];
        {begin: [1, -1, 0], end: [2, -3, 3], strides: [1, -1, 1]} "[3, 2, 3]" => "[1, 2, 3]";
        {begin: [1], end: [0], end_mask: 1} "[n]" => "[max(0, n-1)]";
        {begin: [0], end: [-1], strides: [1], begin_mask: 1} "[n]" => "[max(0, n-1)]";
        {begin: [0], end: [3], strides: [1]} "[n, 2]" => "[min(3, n), 2]";
        {begin: [-3], end: [0], strides: [1], end_mask: 1} "[?]" => "[min(3, d0_0)]";
        {begin: [0], end: [0], strides: [2], begin_mask: 1, end_mask: 1} "[2*n]" => "[n]";
        {begin: [0], end: [0], strides: [-1], begin_mask: 1, end_mask: 1} "[n]" => "[n]";
        {begin: [0], end: [0], strides: [-2], begin_mask: 1, end_mask: 1} "[n]" => "[ceildiv(n, 2)]";
        {begin: [2], end: [5], strides: [1]} "[10]" => "[3]";
        {begin: [5], end: [2], strides: [1]} "[10]" => "[0]";
        {begin: [100], end: [-100], strides: [-3]} "[10]" => "[4]";
        {begin: [0, 0], end: [0, 0], strides: [1, 1], shrink_axis_mask: 1, begin_mask: 2, end_mask: 2}
            "[n, m]" => "[m] if n >= 1";
        {begin: [-1], end: [0], strides: [1], shrink_axis_mask: 1} "[3, ?]" => "[d0_1]";
        {begin: [0, 0], end: [0, 1], strides: [1, 1], ellipsis_mask: 1} "[a, b, 3]" => "[a, b, 1]";
        {begin: [0, 0], end: [1, 0], strides: [1, 1], new_axis_mask: 2, shrink_axis_mask: 3} "[4, b]" => "[1, b]";
        {begin: [0], end: [0], strides: [1], ellipsis_mask: 1, new_axis_mask: 1} "[a]" => "[a]";
        {begin: [0, 1], end: [2, 3], strides: [1, 1]} "?" => "?";
        {} "[n]; i32 [1]; i32 [1]; i32 [1]" => "[?]";
        {strides: [1], begin_mask: 1, end_mask: 1} "[n]; i32 [1]; i32 [1]" => "[n]";
        {strides: [1], shrink_axis_mask: 1} "[4, m]; i32 [1]; i32 [1]" => "[m]";
        {strides: [1]} "[n]; [1] = [a]; [1] = [b]" => "[max(0, min(b-a, n-a))]";
        {strides: [1], begin_mask: 1} "[4]; [1] = [0]; [1] = [?]"
            => "[max(0, min(4, 4*min(1, max(-v2_0, 0))+v2_0))]";
        {begin: [i64::MIN], end: [i64::MAX], strides: [1]} "[n]" => "[n]";
        {begin: [i64::MAX], end: [i64::MIN], strides: [i64::MIN]} "[n]" => "[ceildiv(n, 9223372036854775807)]";
        {begin: [1], end: [3], strides: [1]} "i32 [4] = [1, n, ?, 4]" => "[2] = [n, v0_2]";
        {begin: [-1], end: [0], strides: [1], shrink_axis_mask: 1} "i32 [2] = [1, n]" => "[] = n";
        {begin: [0], end: [0], strides: [-1], begin_mask: 1, end_mask: 1} "i32 [3] = [1, n, 5]" => "[3] = [5, n, 1]";
        {begin: [0, 1], end: [0, 2], strides: [1, 1], begin_mask: 1, end_mask: 1, shrink_axis_mask: 2} "i32 [2, 2] = [1, n, 3, m]" => "[2] = [n, m]";
        {begin: [0, 0], end: [0, 0], strides: [1, -1], new_axis_mask: 1, begin_mask: 2, end_mask: 2} "i32 [2] = [1, n]" => "[1, 2] = [n, 1]";
        {begin: [3], end: [0], strides: [1], shrink_axis_mask: 1} "[3]" => "error index 3 must lie within axis 0 of size 3";
        {begin: [-4], end: [0], strides: [1], shrink_axis_mask: 1} "[3]" => "error index -4 must lie within axis 0";
        {begin: [0], end: [0], strides: [0]} "[3]" => "error strides must not be 0, got 0 at entry 0";
        {begin: [0], end: [0], strides: [-1], shrink_axis_mask: 1} "[3]" => "error the stride of a dropped axis must be positive, got -1 at axis 0";
        {begin: [0, 0], end: [0, 0], strides: [1, 1]} "[3]" => "error must have entries for at most the 1 axis of [3], got 2";
        {begin: [0, 0], end: [0], strides: [1, 1]} "[3, 3]" => "error end must have the same length as begin, got 1 and 2";
        {begin: [0, 0], end: [0, 0], strides: [1, 1], ellipsis_mask: 3} "[3]" => "error at most one ellipsis, got 2";
    }
}
