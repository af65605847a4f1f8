//! Ragged values from dense ones: all items, the first items of each row, or the items without padding.

use shapeflow_shape_fns::{DType, Dim, TensorShape, counted};

use super::errors::{check_encoding, refuse};
use super::numbers::{dim_param, dim_value, number, own_dim, own_shape};
use super::partition::uniform_rows;
use super::range::range_parts;
use crate::error::{ErrorKind, Result};
use crate::graph::{AnyValue, IntoOperand, RaggedValue, Value};

impl<'g> RaggedValue<'g> {
    /// Makes a ragged value of all elements of a dense one. The first `ragged_rank` axes after axis 0 get
    /// partitions, whose rows all have one length.
    ///
    /// `[n, k, ..] -> [n, k, ..]`. As TensorFlow's `RaggedTensor.from_tensor`.
    ///
    /// Any dtype. The flat values are a reshape of the dense value; the splits are composed of other ops.
    ///
    /// ```
    /// use shapeflow::{Graph, RaggedValue};
    ///
    /// let g = Graph::new();
    /// let rt = RaggedValue::from_tensor(g.constant([[1, 2], [3, 4]])?, 1)?;
    /// let rt = g.compile(rt)?.run_named(&[])?.ragged_at(0)?;
    /// assert_eq!(rt.to_string(), "[[1, 2], [3, 4]]");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The rank is unknown, or `ragged_rank` is 0 or not less than the rank.
    #[track_caller]
    pub fn from_tensor(dense: Value<'g>, ragged_rank: usize) -> Result<RaggedValue<'g>> {
        dense.graph().in_call("from_tensor", || {
            RaggedValue::from_tensor_with_row_splits_dtype(dense, ragged_rank, DType::I64)
        })
    }

    /// Makes a ragged value of all elements of a dense one, with row splits of `row_splits_dtype`, i32 or i64.
    ///
    /// As [`RaggedValue::from_tensor`], whose row splits are i64. As TensorFlow's `RaggedTensor.from_tensor` with
    /// `row_splits_dtype`.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, RaggedValue};
    ///
    /// let g = Graph::new();
    /// let dense = g.constant([[1, 2], [3, 4]])?;
    /// let rt = RaggedValue::from_tensor_with_row_splits_dtype(dense, 1, DType::I32)?;
    /// assert_eq!(rt.row_splits().dtype(), DType::I32);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// `row_splits_dtype` is neither i32 nor i64; else as [`RaggedValue::from_tensor`].
    #[track_caller]
    pub fn from_tensor_with_row_splits_dtype(
        dense: Value<'g>,
        ragged_rank: usize,
        row_splits_dtype: DType,
    ) -> Result<RaggedValue<'g>> {
        dense.graph().in_call("from_tensor_with_row_splits_dtype", || {
            let shape = own_shape(dense)?;
            if !matches!(row_splits_dtype, DType::I32 | DType::I64) {
                let message = format!("row_splits must be i32 or i64, got {row_splits_dtype}");
                return Err(refuse(dense.graph(), ErrorKind::DType, message));
            }
            let Some(sizes) = shape.dims().filter(|sizes| (1..sizes.len()).contains(&ragged_rank)) else {
                let message = format!(
                    "ragged_rank must be at least 1 and less than the rank, got {ragged_rank} for {shape}"
                );
                return Err(refuse(dense.graph(), ErrorKind::Shape, message));
            };
            let graph = dense.graph();
            let mut rows = Dim::known(1);
            let mut partitions = Vec::with_capacity(ragged_rank);
            for axis in 0..ragged_rank {
                rows = rows * sizes[axis].clone();
                partitions.push(uniform_rows(
                    graph,
                    row_splits_dtype,
                    rows.clone(),
                    sizes[axis + 1].clone(),
                )?);
            }
            let count = rows * sizes[ragged_rank].clone();
            let flat = [&[count], &sizes[ragged_rank + 1..]].concat();
            Ok(RaggedValue::new(dense.reshape(TensorShape::new(flat))?, &partitions))
        })
    }

    /// Makes a ragged value of the first `lengths[i]` items of each row of a dense value:
    /// `[n, k, ..], [n] -> [n, (r), ..]`.
    ///
    /// A negative length counts as 0, and a length of more than `k` as `k`. As TensorFlow's `RaggedTensor.from_tensor`
    /// with `lengths`. To cut rows along a later axis, reshape the value so that this axis becomes axis 1, and restore
    /// the earlier axes with [`from_uniform_row_length`](Self::from_uniform_row_length).
    ///
    /// Any dtype. It is composed of other ops, which fuse into kernels or run on the host.
    ///
    /// ```
    /// use shapeflow::{Graph, RaggedValue};
    ///
    /// let g = Graph::new();
    /// let dense = g.constant([[5, 7, 0], [0, 3, 0], [6, 0, 0]])?;
    /// let rt = RaggedValue::from_tensor_lengths(dense, g.constant([1, 0, 3])?)?;
    /// assert_eq!(g.compile(rt)?.run_named(&[])?.ragged_at(0)?.to_string(), "[[5], [], [6, 0, 0]]");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The rank of the dense value is unknown or less than 2, or the lengths are not a vector of i32 or i64.
    #[track_caller]
    pub fn from_tensor_lengths(dense: Value<'g>, lengths: Value<'g>) -> Result<RaggedValue<'g>> {
        dense.graph().in_call("from_tensor_lengths", || {
            let [rows, width] = two_axes(dense)?;
            let graph = dense.graph();
            check_encoding(graph, "lengths", lengths)?;
            let got = own_dim(lengths, 0)?;
            if graph.same_dim(&rows, &got) == Some(false) {
                let message = format!(
                    "there must be one length for each of {rows}, got {got}",
                    rows = counted(rows, "row")
                );
                return Err(refuse(dense.graph(), ErrorKind::Shape, message));
            }
            let zero = number(graph, lengths.dtype(), 0)?;
            // A width that does not fit i32 bounds no i32 length.
            let most = dim_value(graph, width.clone())?;
            let most = match lengths.dtype() {
                DType::I32 => most.minimum(i64::from(i32::MAX))?.cast(DType::I32)?,
                _ => most,
            };
            let lengths = lengths.maximum(zero)?.minimum(most)?;
            let mask = lengths.sequence_mask(dim_param(width))?;
            RaggedValue::from_row_lengths(dense.boolean_mask(mask, 0)?, lengths)
        })
    }

    /// Makes a ragged value of the first items along several axes of a dense value. The outermost lengths come first:
    /// `lengths[0]` has the length of each row, and `lengths[1]` has the length of each of the kept items of all rows.
    ///
    /// `[n, k, m, ..], [n], [sum of lengths] -> [n, (r), (s), ..]`. As TensorFlow's `RaggedTensor.from_tensor` with a
    /// tuple of lengths, which also demands that the longest rows have the sizes of the dense value.
    ///
    /// Any dtype; lengths are i32 or i64. The positions are computed on the host, and a gather takes the items.
    ///
    /// ```
    /// use shapeflow::{Graph, RaggedValue};
    ///
    /// let g = Graph::new();
    /// let dense = g.constant([[[5, 0], [7, 0]], [[0, 0], [3, 0]], [[6, 0], [0, 0]]])?;
    /// let lengths = [g.constant([2, 0, 1])?, g.constant([1, 1, 2])?];
    /// let rt = RaggedValue::from_tensor_nested_lengths(dense, &lengths)?;
    /// assert_eq!(g.compile(rt)?.run_named(&[])?.ragged_at(0)?.to_string(), "[[[5], [7]], [], [[6, 0]]]");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The rank is unknown, `lengths` is empty or has as many vectors as the dense value has axes, or the vectors
    /// differ in dtype. The run fails if a vector does not have one length for each row, or a length is negative or
    /// more than the size of its axis.
    #[track_caller]
    pub fn from_tensor_nested_lengths(dense: Value<'g>, lengths: &[Value<'g>]) -> Result<RaggedValue<'g>> {
        let graph = dense.graph();
        graph.in_call("from_tensor_nested_lengths", || {
            let (shape, depth) = (own_shape(dense)?, lengths.len());
            let Some(sizes) = shape.dims().filter(|sizes| (1..sizes.len()).contains(&depth)) else {
                let message = format!(
                    "the number of vectors of lengths must be at least 1 and less than the rank, got {depth} for {shape}"
                );
                return Err(refuse(graph, ErrorKind::Shape, message));
            };
            // `kept` are the positions of the kept elements along the first axes, flattened to one axis of size `len`.
            let (mut kept, mut len) = (graph.range(0i64, &sizes[0], 1i64)?, sizes[0].clone());
            let mut checks = Vec::with_capacity(depth);
            for (lengths, size) in lengths.iter().zip(&sizes[1..]) {
                check_encoding(graph, "lengths", *lengths)?;
                let counts = lengths.cast(DType::I64)?.ensure_shape([own_dim(kept, 0)?])?;
                let most = dim_value(graph, size.clone())?;
                let fits = counts.greater_equal(0i64)?.logical_and(counts.less_equal(most)?)?.reduce_all(0)?;
                let starts = (kept * most).ok()?;
                let message = format!("a length must be in [0, {size}]");
                let limits = (starts + counts).ok()?.checked(fits, &message)?;
                checks.push((fits, message));
                (_, kept) = range_parts(starts, limits, number(graph, DType::I64, 1)?)?;
                len = len * size.clone();
            }
            let flat = dense.reshape([&[len], &sizes[depth + 1..]].concat())?.gather(kept, 0)?;
            let ragged = AnyValue::from(RaggedValue::from_nested_row_lengths(flat, lengths)?);
            let checked = checks
                .iter()
                .try_fold(ragged, |value, (fits, message)| value.guarded(&|part| part.checked(*fits, message)));
            checked?.ragged()
        })
    }

    /// Makes a ragged value of each row of a dense value up to its last item that differs from `padding`:
    /// `[n, k, ..] -> [n, (r), ..]`. `padding` is a scalar or has the inner axes. An item with inner axes is padding if
    /// each of its elements is the padding's.
    ///
    /// As TensorFlow's `RaggedTensor.from_tensor` with `padding`.
    ///
    /// Any dtype. It is composed of other ops, which fuse into kernels or run on the host.
    ///
    /// ```
    /// use shapeflow::{Graph, RaggedValue};
    ///
    /// let g = Graph::new();
    /// let rt = RaggedValue::from_tensor_padding(g.constant([[5, 7, 0], [0, 3, 0], [6, 0, 0]])?, 0)?;
    /// assert_eq!(g.compile(rt)?.run_named(&[])?.ragged_at(0)?.to_string(), "[[5, 7], [0, 3], [6]]");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The rank of the dense value is unknown or less than 2, `padding` has another dtype, or `padding` is not a scalar
    /// and its axes differ from the inner axes. A run checks sizes that are unknown when the graph is built.
    #[track_caller]
    pub fn from_tensor_padding(dense: Value<'g>, padding: impl IntoOperand<'g>) -> Result<RaggedValue<'g>> {
        let location = std::panic::Location::caller();
        dense.graph().in_call("from_tensor_padding", || {
            let [_, width] = two_axes(dense)?;
            let graph = dense.graph();
            let padding = padding.into_operand(dense, location).ok()?;
            let padding = with_inner_axes(padding, dense)?;
            let mut differs = dense.not_equal(padding)?;
            while differs.shape().rank().is_some_and(|rank| rank > 2) {
                differs = differs.reduce_any(-1)?;
            }
            let ends = graph.range(1i64, width + 1, 1i64)?;
            let last = (differs.cast(DType::I64)? * ends).ok()?.reduce_max(1)?;
            RaggedValue::from_tensor_lengths(dense, last)
        })
    }
}

/// Returns a padding that is a scalar or has the axes of a dense value after the first two.
fn with_inner_axes<'g>(padding: Value<'g>, dense: Value<'g>) -> Result<Value<'g>> {
    let (graph, given, shape) = (dense.graph(), padding.shape(), own_shape(dense)?);
    let inner = shape.dims().unwrap_or_default().get(2..).unwrap_or_default();
    let fits = |given: &[Dim]| {
        let same = |(a, b)| graph.same_dim(a, b) != Some(false);
        given.len() == inner.len() && given.iter().zip(inner).all(same)
    };
    match given.dims() {
        Some([]) => Ok(padding),
        Some(dims) if fits(dims) => padding.ensure_shape(TensorShape::new(inner.iter().cloned())),
        _ => {
            let message =
                format!("the padding must be a scalar or have the axes after axis 1 of {shape}, got {given}");
            Err(refuse(graph, ErrorKind::Shape, message))
        }
    }
}

/// Returns the sizes of the first two axes of a dense value.
fn two_axes(dense: Value<'_>) -> Result<[Dim; 2]> {
    match own_shape(dense)?.dims() {
        Some([rows, width, ..]) => Ok([rows.clone(), width.clone()]),
        _ => {
            let message = format!("the dense value must have rank at least 2, got {}", dense.shape());
            Err(refuse(dense.graph(), ErrorKind::Shape, message))
        }
    }
}
