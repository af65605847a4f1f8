//! Products of ragged matrices: padded, multiplied by the dense kernels, and cut.

use shapeflow_shape_fns::{Attr, DType, Dim, TensorShape};

use super::gather_along::same_count;
use super::partition::{dim_param, dim_value, number, refuse, splits_of_lengths, uniform_partition};
use super::range::range_parts;
use super::to_tensor;
use crate::error::{ErrorKind, Result};
use crate::graph::{AnyValue, Param, RaggedValue, RowPartitionValue, Value};
use crate::ops::{SliceItem, concat};

impl<'g> RaggedValue<'g> {
    /// Multiplies matrices: `out[b, i, j] = Σ_k self[b, i, k] · other[b, k, j]`. The sizes of the matrices may differ from row to
    /// row. A dense matrix multiplies every item.
    ///
    /// `[.., (r), k], [k, m] -> [.., (r), m]`, and of rank 3: `[n, (r), k], [n, k, m] -> [n, (r), m]`,
    /// `[n, (r), (k)], [n, (k), m] -> [n, (r), m]`. Integers, floats and complex numbers of one dtype. As TensorFlow's `tf.matmul`,
    /// which runs row by row. It is composed of padded matrices, their [`Value::matmul`], and a gather of the elements that are no
    /// padding; the padding is zero and changes no sum.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor, ragged};
    ///
    /// let g = Graph::new();
    /// let weights = g.ragged_constant(&ragged![[[1.0, 2.0]], [[3.0], [4.0]]])?; // 1 by 2, and 2 by 1
    /// let x = g.ragged_constant(&ragged![[[5.0], [6.0]], [[7.0]]])?; // 2 by 1, and 1 by 1
    /// let y = g.compile(weights.matmul(x)?)?.run_named(&[])?.ragged_at(0)?;
    /// assert_eq!(y, ragged![[[17.0]], [[21.0], [28.0]]]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The dtypes differ, the operands have other ranks, or inner sizes or numbers of matrices are known to differ. The run fails if
    /// the numbers of matrices or inner sizes differ, or if the rows of a matrix have different lengths.
    #[doc(alias = "bmm")]
    #[track_caller]
    pub fn matmul(self, other: impl Into<AnyValue<'g>>) -> Result<AnyValue<'g>> {
        self.matmul_transposed(other, false, false)
    }

    /// Multiplies as [`RaggedValue::matmul`] does, after transposing the matrices of each operand whose flag is set. The scores of an
    /// attention are `queries.matmul_transposed(keys, false, true)`: `[n, (q), d], [n, (k), d] -> [n, (q), (k)]`.
    /// A matrix whose columns are ragged has no columns where it has no rows.
    ///
    /// # Errors
    /// As [`RaggedValue::matmul`]; also if a dense matrix multiplies a transposed ragged operand.
    #[track_caller]
    pub fn matmul_transposed(
        self,
        other: impl Into<AnyValue<'g>>,
        transpose_a: bool,
        transpose_b: bool,
    ) -> Result<AnyValue<'g>> {
        let _call = self.graph().open_call();
        let other = other.into();
        if let AnyValue::Dense(dense) = other
            && dense.shape().rank() == Some(2)
        {
            if self.flat_values().shape().rank() != Some(2) || transpose_a {
                let message = format!(
                    "a dense matrix must multiply the uniform last axis of items, got {}",
                    self.shape_text()
                );
                return Err(refuse(self.graph(), ErrorKind::Shape, message)
                    .with_help("use transpose, or matrices of rank 3 on both sides"));
            }
            let product = self.map_flat_values(|flat| flat.matmul_transposed(dense, false, transpose_b))?;
            return Ok(product.into());
        }
        let dtype = self.row_splits().dtype();
        let other = same_count(self, other)?;
        let (a, b) =
            (Matrices::of(self.into(), transpose_a, dtype)?, Matrices::of(other, transpose_b, dtype)?);
        a.multiply(b, dtype)
    }
}

/// An axis of matrices.
#[derive(Clone)]
enum Extent<'g> {
    /// All matrices have this size.
    Uniform(Dim),
    /// The size of each matrix.
    Ragged(Value<'g>),
}

impl<'g> Extent<'g> {
    /// Returns the size of each matrix, `[n]`.
    fn sizes(&self, count: &Dim, like: Value<'g>, dtype: DType) -> Result<Value<'g>> {
        match self {
            Extent::Ragged(sizes) => Ok(*sizes),
            Extent::Uniform(size) => {
                dim_value(like.graph(), size.clone())?.cast(dtype)?.broadcast_to([count.clone()])
            }
        }
    }
}

/// One matrix for each row: `[n, rows, columns]`.
struct Matrices<'g> {
    value: AnyValue<'g>,
    count: Dim,
    /// The sizes of the axes as they are stored.
    axes: [Extent<'g>; 2],
    is_transposed: bool,
    /// Passes a value on if every matrix has rows of one length.
    rows_agree: Option<Value<'g>>,
}

impl<'g> Matrices<'g> {
    fn of(value: AnyValue<'g>, is_transposed: bool, dtype: DType) -> Result<Matrices<'g>> {
        let graph = value.graph();
        let shape = match value {
            AnyValue::Dense(value) => value.shape(),
            AnyValue::Ragged(value) => value.shape(),
        };
        let Some([count, first, second]) = shape.dims() else {
            let message = format!("matrices with a ragged operand must have rank 3, got {shape}");
            return Err(refuse(graph, ErrorKind::Shape, message)
                .with_help("use from_tensor for a dense operand, and expand_dims for a vector"));
        };
        let uniform = |dim: &Dim| Extent::Uniform(dim.clone());
        let mut matrices = Matrices {
            value,
            count: count.clone(),
            axes: [uniform(first), uniform(second)],
            is_transposed,
            rows_agree: None,
        };
        let partitions = value.partitions();
        if let Some(rows) = partitions.first() {
            if rows.row_splits().dtype() != dtype {
                let got = rows.row_splits().dtype();
                let message = format!("all row_splits must have one dtype, got {dtype} and {got}");
                return Err(refuse(graph, ErrorKind::DType, message)
                    .with_help("use with_row_splits_dtype to convert one of them"));
            }
            if rows.uniform_row_length().is_none() {
                matrices.axes[0] = Extent::Ragged(rows.row_lengths()?);
            }
        }
        if let Some(columns) = partitions.get(1)
            && columns.uniform_row_length().is_none()
        {
            let lengths = columns.row_lengths()?;
            let ids = value.ragged()?.value_rowids()?;
            let longest = lengths
                .unsorted_segment_max(ids, dim_param(count.clone()))?
                .maximum(number(graph, dtype, 0)?)?;
            matrices.rows_agree = Some(lengths.equal(longest.gather(ids, 0)?)?.reduce_all(0)?);
            matrices.axes[1] = Extent::Ragged(longest);
        }
        Ok(matrices)
    }

    /// Returns the axis of the rows (0) or of the columns (1), after the transpose.
    fn axis(&self, axis: usize) -> Extent<'g> {
        self.axes[if self.is_transposed { 1 - axis } else { axis }].clone()
    }

    /// Returns the matrices padded with zeros. `inner` is the padded size along the axis of columns (1) or rows (0), if another
    /// operand determines it.
    fn padded(&self, inner: Option<(usize, Value<'g>)>) -> Result<Value<'g>> {
        let ragged = match self.value {
            AnyValue::Dense(dense) => return Ok(dense),
            AnyValue::Ragged(ragged) => ragged,
        };
        let graph = ragged.graph();
        let natural = graph.constant([-1i64])?;
        let mut sizes = [natural; 3];
        for (axis, extent) in self.axes.iter().enumerate().take(ragged.ragged_rank()) {
            if let Extent::Uniform(size) = extent {
                // A value without rows has no row of this size.
                sizes[axis + 1] = dim_value(graph, size.clone())?.reshape([1i64])?;
            }
        }
        if let Some((axis, size)) = inner {
            let stored = if self.is_transposed { 1 - axis } else { axis };
            sizes[stored + 1] = size.cast(DType::I64)?.reshape([1i64])?;
        }
        let zero = graph.constant(crate::tensor::Tensor::zeros(ragged.dtype(), &[])?)?;
        let splits = ragged.nested_row_splits();
        let types = vec![std::sync::Arc::from("ROW_SPLITS"); splits.len()];
        let call = graph.op(&to_tensor::DEF).data(concat(&sizes, 0)?).data(ragged.flat_values()).data(zero);
        let call = call.data_all(&splits).attr("row_partition_types", Attr::Strs(types.into()));
        let padded = call.finish()?;
        match self.rows_agree {
            Some(agree) => padded.checked(agree, "the rows of a matrix must have one length"),
            None => Ok(padded),
        }
    }

    fn multiply(self, other: Matrices<'g>, dtype: DType) -> Result<AnyValue<'g>> {
        let (ours, theirs) = (self.axis(1), other.axis(0));
        let size = |padded: Value<'g>, transposed: bool, axis: usize| -> Result<Value<'g>> {
            let stored = if transposed { 1 - axis } else { axis };
            dim_value(padded.graph(), padded.dim(stored as i64 + 1)?)
        };
        // An operand whose inner axis is ragged is padded to the inner size of the other one.
        let (a, b) = match (&ours, &theirs) {
            (Extent::Ragged(_), _) => {
                let b = other.padded(None)?;
                (self.padded(Some((1, size(b, other.is_transposed, 0)?)))?, b)
            }
            (_, Extent::Ragged(_)) => {
                let a = self.padded(None)?;
                (a, other.padded(Some((0, size(a, self.is_transposed, 1)?)))?)
            }
            _ => (self.padded(None)?, other.padded(None)?),
        };
        let a = match (&ours, &theirs) {
            (Extent::Uniform(_), Extent::Uniform(_)) => a,
            _ => {
                let inner = [ours.sizes(&self.count, a, dtype)?, theirs.sizes(&self.count, a, dtype)?];
                // A matrix without rows or columns has no inner size.
                let zero = number(a.graph(), dtype, 0)?;
                let [rows, columns] =
                    [self.axis(0).sizes(&self.count, a, dtype)?, other.axis(1).sizes(&self.count, a, dtype)?];
                let is_empty = rows.minimum(columns)?.equal(zero)?;
                let agree = inner[0].equal(inner[1])?.logical_or(is_empty)?.reduce_all(0)?;
                a.checked(agree, "the inner sizes of a product must agree in every row")?
            }
        };
        let product = a.matmul_transposed(b, self.is_transposed, other.is_transposed)?;
        cut(product, self.axis(0), other.axis(1), &self, dtype)
    }
}

/// Removes the padding of matrices.
fn cut<'g>(
    padded: Value<'g>,
    rows: Extent<'g>,
    columns: Extent<'g>,
    of: &Matrices<'g>,
    dtype: DType,
) -> Result<AnyValue<'g>> {
    let graph = padded.graph();
    let (height, width) = (padded.dim(1)?, padded.dim(2)?);
    let (partition, ids) = match (&rows, &columns) {
        (Extent::Uniform(_), Extent::Uniform(_)) => return Ok(padded.into()),
        _ if !of.is_transposed => {
            let of = of.value.ragged()?;
            (of.partition(), of.value_rowids()?)
        }
        _ => {
            let partition = match &rows {
                Extent::Ragged(lengths) => {
                    let splits = splits_of_lengths(*lengths)?;
                    RowPartitionValue::new("splits", splits, splits, None)?
                }
                Extent::Uniform(length) => {
                    let numbers = graph.range(0i64, of.count.clone() * length.clone(), 1i64)?;
                    let rows = uniform_partition(numbers.into(), of.count.clone(), length.clone())?;
                    AnyValue::Dense(numbers).split_by(rows).with_row_splits_dtype(dtype)?.partition()
                }
            };
            let splits = partition.row_splits();
            let count = Param::Value(splits.slice_with(&[SliceItem::at(-1)])?);
            (partition, splits.row_splits_to_segment_ids(count)?)
        }
    };
    // Positions in padded matrices may exceed i32.
    let wide = |value: Value<'g>| value.cast(DType::I64);
    let starts = wide(partition.row_splits())?.gather(ids, 0)?;
    let inside = (graph.range(0i64, ids.dim(0)?, 1i64)? - starts).ok()?;
    let places = (wide(ids)? * dim_value(graph, height.clone())? + inside).ok()?;
    let Extent::Ragged(lengths) = columns else {
        let flat = padded.reshape(TensorShape::new([of.count.clone() * height, width]))?;
        return Ok(AnyValue::Dense(flat.gather(places, 0)?).split_by(partition).into());
    };
    let starts = (places * dim_value(graph, width.clone())?).ok()?;
    let limits = (starts + wide(lengths)?.gather(ids, 0)?).ok()?;
    let (splits, positions) = range_parts(starts, limits, number(graph, DType::I64, 1)?)?;
    let splits = splits.cast(dtype)?;
    let inner = RowPartitionValue::new("splits", splits, splits, None)?;
    let flat = padded.reshape(TensorShape::new([of.count.clone() * height * width]))?;
    let product = AnyValue::Dense(flat.gather(positions, 0)?).split_by(inner);
    Ok(AnyValue::Ragged(product).split_by(partition).into())
}
