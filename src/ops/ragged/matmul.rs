//! Products of ragged matrices: one host op multiplies the matrices of all rows in place.

use shapeflow_shape_fns::{DType, Dim, TensorShape};

use super::counts::with_size_of;
use super::errors::refuse;
use super::gather_along::same_count;
use super::numbers::{dim_param, dim_value, number};
use super::partition::{splits_of_lengths, uniform_rows};
use super::reduce::rank_of;
use super::row_matmul;
use super::select::any_rank;
use crate::error::{ErrorKind, Result};
use crate::graph::{AnyValue, Graph, Param, RaggedValue, RowPartitionValue, Value};
use crate::ops::SliceItem;

impl<'g> RaggedValue<'g> {
    /// Multiplies matrices: `out[b, i, j] = Σ_k self[b, i, k] · other[b, k, j]`. The sizes of the matrices may differ
    /// from row to row. A dense matrix multiplies every item.
    ///
    /// `[.., (r), k], [k, m] -> [.., (r), m]`, and of rank 3: `[n, (r), k], [n, k, m] -> [n, (r), m]`,
    /// `[n, (r), (k)], [n, (k), m] -> [n, (r), m]`. Each axis before the last two is a batch axis. Matrices of rank 2
    /// have rows of one length and give a dense product: `[n, (r)], [m, (s)] -> [n, s]`. Integers, floats and complex
    /// numbers of one dtype. As TensorFlow's `tf.matmul`, which runs row by row. Runs on the host, which multiplies the
    /// matrices where they are, without padding. The product of the flat values with one dense matrix, and a dense
    /// product of rank 2, run as [`Value::matmul`] does.
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
    /// The dtypes or ranks differ, or inner sizes or numbers of matrices are known to differ. The run fails if the
    /// batch axes or inner sizes differ, or if the rows of a matrix have different lengths.
    #[doc(alias = "bmm")]
    #[track_caller]
    pub fn matmul(self, other: impl Into<AnyValue<'g>>) -> Result<AnyValue<'g>> {
        self.in_call("matmul", || self.matmul_transposed(other, false, false))
    }

    /// Multiplies as [`RaggedValue::matmul`] does, after transposing the matrices of each operand whose flag is set.
    /// The scores of an attention are `queries.matmul_transposed(keys, false, true)`:
    /// `[n, (q), d], [n, (k), d] -> [n, (q), (k)]`. A matrix whose columns are ragged has no columns where it has no
    /// rows.
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
        self.in_call("matmul_transposed", || {
            let other = other.into();
            if let AnyValue::Dense(dense) = other
                && dense.shape().rank() == Some(2)
                && rank_of(self)? > 2
            {
                if self.flat_values().shape().rank() != Some(2) || transpose_a {
                    let message = format!(
                        "a dense matrix must multiply the uniform last axis of items, got {}",
                        self.shape_text()
                    );
                    return Err(refuse(self.graph(), ErrorKind::Shape, message)
                        .with_help("use transpose, or matrices of rank 3 on both sides"));
                }
                let product =
                    self.map_flat_values(|flat| flat.matmul_transposed(dense, false, transpose_b))?;
                return Ok(product.into());
            }
            multiplied([self.into(), other], [transpose_a, transpose_b], self.row_splits().dtype())
        })
    }

    /// Returns a matrix whose rows have one length as a dense value. A run that needs the value fails if the rows have
    /// different lengths.
    fn as_matrix(self) -> Result<Value<'g>> {
        let dense = self.to_tensor()?;
        if self.uniform_row_length().is_some() {
            return Ok(dense);
        }
        let is_full = dense.size_tensor()?.equal(self.flat_values().size_tensor()?)?;
        dense.checked(is_full, ONE_LENGTH)
    }
}

/// Multiplies matrices of one rank. Each axis before the last two is a batch axis. `flags` say which matrices are
/// transposed.
fn multiplied<'g>([a, b]: [AnyValue<'g>; 2], flags: [bool; 2], dtype: DType) -> Result<AnyValue<'g>> {
    let ranks = [a, b].map(any_rank);
    if ranks[0] != ranks[1] {
        let text = |rank: Option<usize>| rank.map_or("an unknown rank".to_string(), |rank| rank.to_string());
        let [ours, theirs] = ranks.map(text);
        let message = format!("multiplied matrices must have one rank, got {ours} and {theirs}");
        return Err(refuse(a.graph(), ErrorKind::Shape, message)
            .with_help("use from_tensor for a dense operand, and expand_dims for a vector"));
    }
    match (a, b) {
        (AnyValue::Dense(a), AnyValue::Dense(b)) => {
            a.matmul_transposed(b, flags[0], flags[1]).map(AnyValue::Dense)
        }
        _ if ranks[0] == Some(2) => {
            let matrix = |value: AnyValue<'g>| match value {
                AnyValue::Dense(value) => Ok(value),
                AnyValue::Ragged(value) => value.as_matrix(),
            };
            matrix(a)?.matmul_transposed(matrix(b)?, flags[0], flags[1]).map(AnyValue::Dense)
        }
        _ if ranks[0].is_some_and(|rank| rank > 3) => {
            let [a, b] = a.rows(dtype)?.with_equal_rows(b.rows(dtype)?)?;
            let inner = match (a.values(), b.values()) {
                (AnyValue::Dense(a), AnyValue::Dense(b)) => [a.into(), with_size_of(b, a)?.into()],
                (a, b) => [a, b],
            };
            Ok(a.with_values_unchecked(multiplied(inner, flags, dtype)?).into())
        }
        (AnyValue::Ragged(a), b) => {
            let (a, b) = same_count(a, b, "the right matrices")?;
            Matrices::of(a.into(), flags[0], dtype)?.multiply(Matrices::of(b, flags[1], dtype)?, dtype)
        }
        (a, AnyValue::Ragged(b)) => {
            let (b, a) = same_count(b, a, "the left matrices")?;
            Matrices::of(a, flags[0], dtype)?.multiply(Matrices::of(b.into(), flags[1], dtype)?, dtype)
        }
    }
}

/// An axis of matrices.
#[derive(Clone)]
enum MatrixAxis<'g> {
    /// All matrices have this size.
    Uniform(Dim),
    /// The size of each matrix.
    Ragged(Value<'g>),
}

impl<'g> MatrixAxis<'g> {
    /// Returns the size of each of `count` matrices, `i64[count]`.
    fn sizes(&self, count: &Dim, graph: &'g Graph) -> Result<Value<'g>> {
        match self {
            MatrixAxis::Ragged(sizes) => sizes.cast(DType::I64),
            MatrixAxis::Uniform(size) => dim_value(graph, size.clone())?.broadcast_to([count.clone()]),
        }
    }
}

/// One matrix for each row: `[n, rows, columns]`.
struct Matrices<'g> {
    value: AnyValue<'g>,
    count: Dim,
    /// The sizes of the axes as they are stored.
    axes: [MatrixAxis<'g>; 2],
    is_transposed: bool,
    /// A bool scalar: whether every matrix has rows of one length. `None` if this is known.
    rows_agree: Option<Value<'g>>,
}

impl<'g> Matrices<'g> {
    fn of(value: AnyValue<'g>, is_transposed: bool, dtype: DType) -> Result<Matrices<'g>> {
        let graph = value.graph();
        let shape = value.own_shape()?;
        let Some([count, first, second]) = shape.dims() else {
            let message = format!("matrices with a ragged operand must have rank 3, got {shape}");
            return Err(refuse(graph, ErrorKind::Shape, message)
                .with_help("use from_tensor for a dense operand, and expand_dims for a vector"));
        };
        let uniform = |dim: &Dim| MatrixAxis::Uniform(dim.clone());
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
                matrices.axes[0] = MatrixAxis::Ragged(rows.row_lengths()?);
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
            matrices.axes[1] = MatrixAxis::Ragged(longest);
        }
        Ok(matrices)
    }

    /// Returns the axis of the rows (0) or of the columns (1), after the transpose.
    fn axis(&self, axis: usize) -> MatrixAxis<'g> {
        self.axes[if self.is_transposed { 1 - axis } else { axis }].clone()
    }

    /// Returns the elements of all matrices, which follow one another.
    fn elements(&self) -> Result<Value<'g>> {
        let flat = self.value.flat_values().reshape([-1i64])?;
        match self.rows_agree {
            Some(agree) => flat.checked(agree, ONE_LENGTH),
            None => Ok(flat),
        }
    }

    fn multiply(self, other: Matrices<'g>, dtype: DType) -> Result<AnyValue<'g>> {
        let graph = self.value.graph();
        let (inner, other_inner) = (self.axis(1), other.axis(0));
        if let (MatrixAxis::Uniform(ours), MatrixAxis::Uniform(theirs)) = (&inner, &other_inner)
            && graph.same_dim(ours, theirs) == Some(false)
        {
            let message = format!("the inner sizes of a product must agree, got {ours} and {theirs}");
            return Err(refuse(graph, ErrorKind::Shape, message));
        }
        let (rows, columns) = (self.axis(0), other.axis(1));
        let mut sizes = Vec::with_capacity(4);
        for extent in [&rows, &inner, &other_inner, &columns] {
            sizes.push(extent.sizes(&self.count, graph)?);
        }
        let (a, b) = (self.elements()?, other.elements()?);
        let product = |a: Value<'g>, b: Value<'g>| {
            let call = graph.op(&row_matmul::DEF).data(a).data(b).data_all(&sizes);
            let call = call.attr("transpose_a", self.is_transposed);
            call.attr("transpose_b", other.is_transposed).finish()
        };
        let elements = if a.dtype().is_complex() && a.dtype() == b.dtype() {
            let ([a_real, b_real], [a_imag, b_imag]) = ([a.real()?, b.real()?], [a.imag()?, b.imag()?]);
            let real = product(a_real, b_real)?.sub(product(a_imag, b_imag)?)?;
            real.complex(product(a_real, b_imag)?.add(product(a_imag, b_real)?)?)?
        } else {
            product(a, b)?
        };
        let product = split(elements, rows, columns, &self, dtype)?;
        // The elements have these checks too.
        let agree = [self.rows_agree, other.rows_agree];
        let partitions = product.partitions().into_iter().map(|rows| {
            let checks = agree.iter().flatten();
            checks
                .copied()
                .try_fold(rows, |rows, agree| rows.guarded(&|part| part.checked(agree, ONE_LENGTH)))
        });
        Ok(AnyValue::of(product.flat_values(), &partitions.collect::<Result<Vec<_>>>()?))
    }
}

/// What a run requires of the rows of each matrix.
const ONE_LENGTH: &str = "the rows of a matrix must have one length";

/// Splits the elements of products into matrices.
fn split<'g>(
    elements: Value<'g>,
    rows: MatrixAxis<'g>,
    columns: MatrixAxis<'g>,
    of: &Matrices<'g>,
    dtype: DType,
) -> Result<AnyValue<'g>> {
    let graph = elements.graph();
    if let (MatrixAxis::Uniform(rows), MatrixAxis::Uniform(columns)) = (&rows, &columns) {
        let shape = TensorShape::new([of.count.clone(), rows.clone(), columns.clone()]);
        return elements.reshape(shape).map(AnyValue::Dense);
    }
    let partition = match (of.value, of.is_transposed, &rows) {
        (AnyValue::Ragged(value), false, _) => value.partition(),
        (_, _, MatrixAxis::Ragged(lengths)) => {
            let splits = splits_of_lengths(*lengths)?;
            RowPartitionValue::new("splits", splits, splits, None)?
        }
        (_, _, MatrixAxis::Uniform(length)) => uniform_rows(graph, dtype, of.count.clone(), length.clone())?,
    };
    let count = match (of.value, of.is_transposed, &rows) {
        (AnyValue::Ragged(value), false, _) => value.values().count()?,
        (_, _, MatrixAxis::Uniform(length)) => of.count.clone() * length.clone(),
        (_, _, MatrixAxis::Ragged(_)) => {
            let last = Param::Value(partition.row_splits().slice_with(&[SliceItem::at(-1)])?);
            partition.row_splits().rowids(last)?.dim(0)?
        }
    };
    match columns {
        MatrixAxis::Uniform(columns) => {
            let flat = elements.reshape(TensorShape::new([count, columns]))?;
            Ok(AnyValue::Dense(flat).split_by(partition).into())
        }
        MatrixAxis::Ragged(lengths) => {
            let ids = partition.row_splits().rowids(dim_param(count))?;
            let product = RaggedValue::from_row_lengths(elements, lengths.gather(ids, 0)?)?;
            Ok(AnyValue::Ragged(product).split_by(partition).into())
        }
    }
}
