//! `ragged_sort` and `ragged_argsort`: sort the elements of each row; host ops over row splits.

use shapeflow_shape_fns::{Attribute, DType, InferenceContext};

use super::along::Along;
use super::counts::with_size_of;
use super::errors::{check_graphs, known_int, refuse};
use super::in_tensorflow;
use super::reduce_rows::offsets;
use super::select::{axis_of, take as take_values};
use super::slice_value::cut;
use crate::dtype;
use crate::error::{ErrorKind, Result};
use crate::graph::{AnyValue, Graph, IntoParam, Param, RaggedValue};
use crate::op::{HostCx, OpDef, Operand, TfFunction};
use crate::ops::integers::int_tensor;
use crate::ops::row_major::RowMajor;
use crate::ops::sort::order::order_keys;
use crate::ops::take::take;
use crate::ops::{Position, SliceItem};

impl<'g> RaggedValue<'g> {
    /// Sorts the elements along `axis`, in ascending or in descending order. A negative `axis` counts from the end.
    ///
    /// `[n, (r), ..] -> [n, (r), ..]`; bool, integers and floats. Equal elements keep their order. NaN counts as the
    /// largest. Along an axis before the last partitioned one, the elements at one index in all rows that are long
    /// enough are sorted. TensorFlow's `tf.sort` refuses ragged values. Runs on the host.
    ///
    /// As [`Value::sort`](crate::Value::sort) of every row.
    ///
    /// ```
    /// use shapeflow::{AnyValue, Graph, ragged};
    ///
    /// let g = Graph::new();
    /// let rt = g.ragged_constant(&ragged![[3, 1, 2], [], [5, 0, 2, 6]])?;
    /// let sorted = [rt.sort(1, false)?, rt.argsort(1, true)?, rt.sort(0, false)?].map(AnyValue::from);
    /// let results = g.compile(&sorted)?.run_named(&[])?;
    /// assert_eq!(results.ragged_at(0)?.to_string(), "[[1, 2, 3], [], [0, 2, 5, 6]]");
    /// assert_eq!(results.ragged_at(1)?.to_string(), "[[0, 2, 1], [], [3, 0, 2, 1]]");
    /// assert_eq!(results.ragged_at(2)?.to_string(), "[[3, 0, 2], [], [5, 1, 2, 6]]");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The axis does not exist, or the elements are neither bool nor real numbers.
    #[track_caller]
    pub fn sort(self, axis: impl IntoParam<'g>, descending: bool) -> Result<RaggedValue<'g>> {
        self.in_call("sort", || {
            let flat = self.flat_values();
            let sorted = match Along::of(self, axis)? {
                Along::Inner(axis) => flat.sort(axis, descending)?,
                Along::Lines(lines) => lines.scan(&SORT, flat, |call| call.attr("descending", descending))?,
            };
            self.with_flat_values(with_size_of(sorted, flat)?)
        })
    }

    /// Returns the indices along `axis` of the elements that [`RaggedValue::sort`] returns: i64.
    ///
    /// As [`Value::argsort`](crate::Value::argsort) of every row.
    ///
    /// # Errors
    /// As [`RaggedValue::sort`].
    #[track_caller]
    pub fn argsort(self, axis: impl IntoParam<'g>, descending: bool) -> Result<RaggedValue<'g>> {
        self.in_call("argsort", || {
            let flat = self.flat_values();
            let order = match Along::of(self, axis)? {
                Along::Inner(axis) => flat.argsort(axis, descending)?,
                Along::Lines(lines) => {
                    lines.scan_positions(&ARGSORT, flat, |call| call.attr("descending", descending))?
                }
            };
            self.with_flat_values(with_size_of(order, flat)?)
        })
    }

    /// Returns the `k` largest elements along `axis`, in descending order, and their indices along the axis. A row of
    /// fewer elements gives all its elements. A negative `axis` counts from the end.
    ///
    /// `[n, (r), ..] -> [n, (min(r, k)), ..], i64[n, (min(r, k)), ..]`. Of equal elements, the one with the lower index
    /// comes first; NaN counts as the largest. TensorFlow's `tf.math.top_k` refuses ragged values. Runs on the host.
    ///
    /// As [`Value::top_k`](crate::Value::top_k) of every row. `k` is an integer, a dimension, or an integer scalar that
    /// a run feeds or computes.
    ///
    /// ```
    /// use shapeflow::{AnyValue, Graph, ragged};
    ///
    /// let g = Graph::new();
    /// let rt = g.ragged_constant(&ragged![[3, 1, 2], [], [5, 9, 2, 6]])?;
    /// let results = g.compile(&rt.top_k(2, 1)?.map(AnyValue::from))?.run_named(&[])?;
    /// assert_eq!(results.ragged_at(0)?.to_string(), "[[3, 2], [], [9, 6]]");
    /// assert_eq!(results.ragged_at(1)?.to_string(), "[[0, 2], [], [1, 3]]");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// `k` is negative or not an integer scalar, or the axis is before the last partitioned one; else as
    /// [`RaggedValue::sort`]. The run fails if a `k` that it feeds or computes is negative.
    #[track_caller]
    pub fn top_k(self, k: impl IntoParam<'g>, axis: impl IntoParam<'g>) -> Result<[RaggedValue<'g>; 2]> {
        self.in_call("top_k", || {
            let k = count_of(self.graph(), k.into_param())?;
            let axis = known_int(self.graph(), axis, "axis")?;
            let (index, depth) = (axis_of(self, axis, 0)?, self.ragged_rank());
            if index < depth {
                let message = format!("the axis of top_k must be at least {depth}, got {index}");
                return Err(refuse(
                    self.graph(),
                    ErrorKind::Shape,
                    format!("{message} of {}", self.shape_text()),
                )
                .with_help("use transpose to make the axis the last partitioned one"));
            }
            let (sorted, order) = (self.sort(axis, true)?, self.argsort(axis, true)?);
            if index > depth {
                let kept = SliceItem::Range(None, Some(k), 1);
                let first: Vec<SliceItem> =
                    std::iter::repeat_n(SliceItem::All, index - depth).chain([kept]).collect();
                let first = |x: RaggedValue<'g>| x.map_flat_values(|flat| flat.slice_with(&first));
                return Ok([first(sorted)?, first(order)?]);
            }
            let partitions = self.partitions();
            let (outer, last) = partitions.split_at(partitions.len() - 1);
            let (rows, positions) = cut(RaggedValue::new(self.flat_values(), last), None, Some(&k), 1)?;
            let first = |x: RaggedValue<'g>| -> Result<RaggedValue<'g>> {
                let kept = take_values(x.flat_values().into(), positions)?.split_by(rows);
                Ok(outer.iter().rev().fold(kept, |value, rows| AnyValue::Ragged(value).split_by(*rows)))
            };
            Ok([first(sorted)?, first(order)?])
        })
    }
}

/// Returns `k` as the end of a range of positions. The run fails if a `k` that is not known now is negative.
///
/// # Errors
/// `k` is not an integer scalar, is negative, or belongs to another graph.
fn count_of<'g>(graph: &'g Graph, k: Param<'g>) -> Result<Position<'g>> {
    let position = match &k {
        Param::Value(value) => {
            check_graphs(graph, value.ok()?)?;
            let (dtype, shape) = (value.dtype(), value.shape());
            if !dtype.is_integer() || shape.rank().is_some_and(|rank| rank != 0) {
                let message =
                    format!("k must be an integer scalar, got {dtype}{}", graph.dim_names().shape(&shape));
                return Err(refuse(graph, ErrorKind::Attribute, message));
            }
            Position::Value(*value)
        }
        Param::Elements(elements) if elements.rank() == 0 => Position::Dim(elements.elements()[0].clone()),
        _ => Position::from(known_int(graph, k, "k")?),
    };
    match &position {
        Position::Dim(k) if k.lower_bound().is_some_and(|least| least >= 0) => return Ok(position),
        _ => {}
    }
    if let Some(k) = position.as_known() {
        return Err(refuse(graph, ErrorKind::Attribute, format!("k must not be negative, got {k}")));
    }
    let k = position.to_i64(graph)?;
    k.checked_with(k.greater_equal(0i64)?, "k must not be negative, got ", &[(k, "")]).map(Position::Value)
}

pub(crate) static SORT: OpDef = OpDef::host("ragged_sort", run_sort)
    .attrs(&[Attribute::bool_or("descending", false)])
    .in_tensorflow(TfFunction::Composed(in_tensorflow::row_sort))
    .operands(&[Operand::Data("values"), Operand::Data("row_splits")])
    .shape_fn(shape)
    .dtype_rule(|dtypes, _| {
        dtype::check_indices(dtypes, 1)?;
        Ok(vec![dtype::common(dtypes, 0, 1, dtype::Class::Scalar)?])
    });

pub(crate) static ARGSORT: OpDef = OpDef::host("ragged_argsort", run_argsort)
    .attrs(&[Attribute::bool_or("descending", false)])
    .in_tensorflow(TfFunction::Composed(in_tensorflow::row_argsort))
    .operands(&[Operand::Data("values"), Operand::Data("row_splits")])
    .shape_fn(shape)
    .dtype_rule(|dtypes, _| {
        dtype::check_indices(dtypes, 1)?;
        dtype::common(dtypes, 0, 1, dtype::Class::Scalar)?;
        Ok(vec![DType::I64])
    });

fn shape(cx: &mut InferenceContext<'_>) -> shapeflow_shape_fns::Result<()> {
    let values = cx.with_rank_at_least(0, 1)?;
    cx.with_rank(1, 1)?;
    cx.set_output(0, values);
    Ok(())
}

/// Calls `set(element, row_start, position)` for each element: the element of the result comes from this position of
/// the row. An element outside all rows is not visited.
fn each_sorted(cx: &HostCx<'_>, mut set: impl FnMut(usize, usize, usize)) -> Result<()> {
    let (x, splits) = (RowMajor::new(cx.input(0)?)?, RowMajor::new(cx.input(1)?)?);
    let x = x.view();
    let offsets = offsets(splits.view(), x.sizes()[0])?;
    let width: usize = x.sizes()[1..].iter().product();
    let keys = order_keys(&x)?;
    let flip = if cx.attrs().bool("descending") { u64::MAX } else { 0 };
    let mut column: Vec<(u64, usize)> = Vec::new();
    for pair in offsets.windows(2) {
        for inner in 0..width {
            column.clear();
            // Inverted keys ascend where the elements descend, and leave equal elements in their order.
            let key = |position: usize| keys[(pair[0] + position) * width + inner] ^ flip;
            column.extend((0..pair[1] - pair[0]).map(|position| (key(position), position)));
            column.sort_unstable();
            for (place, (_, position)) in column.iter().enumerate() {
                set((pair[0] + place) * width + inner, pair[0] * width + inner, *position);
            }
        }
    }
    Ok(())
}

fn run_sort(cx: &mut HostCx<'_>) -> Result<()> {
    let x = RowMajor::new(cx.input(0)?)?;
    let x = x.view();
    let width: usize = x.sizes()[1..].iter().product();
    let mut sources: Vec<usize> = (0..x.len()).collect();
    each_sorted(cx, |element, start, position| sources[element] = start + position * width)?;
    cx.set_output(0, take(&x, x.sizes(), 1, sources.into_iter())?)
}

fn run_argsort(cx: &mut HostCx<'_>) -> Result<()> {
    let x = cx.input(0)?;
    let mut positions = vec![0; x.len()];
    each_sorted(cx, |element, _, position| positions[element] = position)?;
    cx.set_output(0, int_tensor(DType::I64, x.sizes(), positions.into_iter())?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{run_one, shape_table, tensor};
    use shapeflow_shape_fns::Attrs;

    shape_table! { SORT, {},
        "f16[n, 3]; i64[m]" => "f16[n, 3]",
        "bool[n]; i32[m]" => "bool[n]",
        "c64[n]; i64[m]" => error "the element type must be bool, an integer or a float",
        "[n]; f32[m]" => error "i32 or i64",
    }
    shape_table! { positions: ARGSORT, {},
        "u8[n]; i32[m]" => "i64[n]",
    }

    #[test]
    fn each_inner_element_is_sorted_along_its_row() {
        let x = tensor(&[4, 2], &[3.0, f32::NAN, 1.0, 2.0, -0.0, 5.0, 0.0, -5.0]);
        let splits = tensor(&[4], &[0, 2, 2, 4]);
        let of = |def, descending: bool| {
            run_one(def, &Attrs::new().with("descending", descending), &[x.clone(), splits.clone()])
        };
        let order = of(&ARGSORT, false).to_vec::<i64>().unwrap();
        assert_eq!(order, [1, 1, 0, 0, 0, 1, 1, 0]);
        let sorted = of(&SORT, true).to_vec::<f32>().unwrap();
        assert!(sorted[1].is_nan());
        assert_eq!([&sorted[..1], &sorted[2..]].concat(), [3.0, 1.0, 2.0, 0.0, 5.0, 0.0, -5.0]);
    }
}
