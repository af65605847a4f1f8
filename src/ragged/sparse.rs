//! `to_sparse` and `from_sparse`: the elements of a ragged tensor with their indices.

use shapeflow_shape_fns::counted;

use super::{RaggedTensor, shape_error};
use crate::error::{Result, at_caller};
use crate::tensor::Tensor;

/// A sparse tensor: `values[i]` is the element at `indices[i, ..]` of a tensor of `dense_shape`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SparseParts {
    /// `i64[n, rank]`.
    pub indices: Tensor,
    /// `[n]`.
    pub values: Tensor,
    /// `i64[rank]`.
    pub dense_shape: Tensor,
}

impl RaggedTensor {
    /// Returns every element with its indices, in row-major order. As TensorFlow's `RaggedTensorToSparse`.
    ///
    /// ```
    /// use shapeflow::{Tensor, ragged};
    ///
    /// let sparse = ragged![[1, 2, 3], [4], [], [5, 6]].to_sparse()?;
    /// assert_eq!(sparse.indices, Tensor::from([[0i64, 0], [0, 1], [0, 2], [1, 0], [3, 0], [3, 1]]));
    /// assert_eq!(sparse.values, Tensor::from([1, 2, 3, 4, 5, 6]));
    /// assert_eq!(sparse.dense_shape, Tensor::from([4i64, 3]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// Memory is refused.
    #[track_caller]
    pub fn to_sparse(&self) -> Result<SparseParts> {
        at_caller(|| {
            let inner = &self.flat.sizes()[1..];
            let (rank, row) = (self.rank(), inner.iter().product::<usize>());
            let mut out: Vec<i64> = Vec::with_capacity(self.flat.len() * rank);
            // Splits that were not validated may cover a value several times, or not at all.
            let mut covered = Vec::with_capacity(self.flat.sizes()[0]);
            let mut index = vec![0; self.partitions.len() + 1];
            self.each_value(0, 0..self.nrows(), &mut index, &mut |index, value| {
                covered.push(value..value + 1);
                for element in 0..row {
                    out.extend(index);
                    let mut rest = element;
                    let first = out.len();
                    out.resize(first + inner.len(), 0);
                    for (slot, size) in out[first..].iter_mut().zip(inner).rev() {
                        *slot = (rest % size) as i64;
                        rest /= size;
                    }
                }
            });
            let shape: Vec<i64> = self.bounding_shape().iter().map(|&size| size as i64).collect();
            let count = covered.len() * row;
            let values = super::take_rows(self.flat.view(), &covered)?.reshape(&[count])?;
            let indices = Tensor::from_vec(&[count, rank], out)?;
            Ok(SparseParts { indices, values, dense_shape: Tensor::from(shape) })
        })
    }

    /// Calls `f` for each flat value in `rows` of partition number `level`. The arguments are the value's indices along
    /// axis 0 and the partitioned axes, and its number among all flat values. `index` holds the indices of the outer
    /// axes.
    fn each_value(
        &self,
        level: usize,
        rows: std::ops::Range<usize>,
        index: &mut [i64],
        f: &mut dyn FnMut(&[i64], usize),
    ) {
        for (number, row) in rows.enumerate() {
            index[level] = number as i64;
            match self.partitions.get(level) {
                Some(partition) => self.each_value(level + 1, partition.range(row), index, f),
                None => f(index, row),
            }
        }
    }

    /// Makes a ragged tensor of a sparse matrix whose rows have elements from column 0 on without a gap. As
    /// TensorFlow's `RaggedTensor.from_sparse`, which refuses other ranks than 2 too.
    ///
    /// ```
    /// use shapeflow::{RaggedTensor, SparseParts, Tensor};
    ///
    /// let sparse = SparseParts {
    ///     indices: Tensor::from([[0i64, 0], [0, 1], [0, 2], [1, 0], [3, 0]]),
    ///     values: Tensor::from([1, 2, 3, 4, 5]),
    ///     dense_shape: Tensor::from([4i64, 3]),
    /// };
    /// assert_eq!(RaggedTensor::from_sparse(&sparse)?.to_string(), "[[1, 2, 3], [4], [], [5]]");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The rank is not 2, `indices` or `dense_shape` is not i64, there is not one index for each value, an index is out
    /// of range or out of order, or a row has a gap.
    #[track_caller]
    pub fn from_sparse(sparse: &SparseParts) -> Result<RaggedTensor> {
        at_caller(|| {
            let indices = sparse.indices.as_slice::<i64>()?;
            let &[rows, columns] = sparse.dense_shape.as_slice::<i64>()? else {
                let rank = sparse.dense_shape.len();
                return Err(shape_error(format!("the sparse tensor must have rank 2, got rank {rank}")));
            };
            let count = sparse.values.len();
            if sparse.indices.sizes() != [count, 2] || sparse.values.sizes().len() != 1 {
                return Err(shape_error(format!(
                    "there must be an index of 2 numbers for each of {count}, got sizes {:?}",
                    sparse.indices.sizes(),
                    count = counted(count, "value")
                )));
            }
            let mut before = [-1, -1];
            for (position, index) in indices.as_chunks::<2>().0.iter().enumerate() {
                let [row, column] = *index;
                if !(0..rows).contains(&row) || !(0..columns).contains(&column) {
                    return Err(shape_error(format!(
                        "an index must lie within {:?}, got {index:?} at position {position}",
                        [rows, columns]
                    )));
                }
                let is_next =
                    if row == before[0] { column == before[1] + 1 } else { row > before[0] && column == 0 };
                if !is_next {
                    return Err(shape_error(format!(
                        "the elements of a row must start at column 0 and follow each other, got {index:?} at position \
                     {position}"
                    )));
                }
                before = *index;
            }
            let rowids: Vec<i64> = indices.iter().step_by(2).copied().collect();
            let rows = usize::try_from(rows)
                .map_err(|_| shape_error(format!("a size must not be negative, got {rows}")))?;
            RaggedTensor::from_value_rowids(&sparse.values, rowids, Some(rows))
        })
    }
}
