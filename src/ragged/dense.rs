//! `to_tensor` and `from_tensor`: rows move between ragged and dense tensors by bulk copies.

use std::ops::Range;

use shapeflow_shape_fns::{DType, counted};

use super::encoding::{check_vector, wide, with_ints};
use super::{RaggedItem, RaggedTensor, RowPartition, shape_error, take_rows};
use crate::error::{Error, ErrorKind, Phase, Result, at_caller};
use crate::tensor::{Tensor, TensorView, reserved_vec, size_of_element};

/// The copy of the rows of a ragged tensor into a padded dense one.
pub(crate) struct PaddedCopy<'a> {
    pub(crate) flat: TensorView<'a>,
    pub(crate) partitions: &'a [RowPartition],
    /// The sizes of the dense tensor.
    pub(crate) sizes: &'a [usize],
}

impl PaddedCopy<'_> {
    /// Calls `f(from, to, count)` for each run of consecutive flat values that stay consecutive in the dense tensor.
    /// `from` is the number of the first flat value of the run, and `to` is the number of its position in the dense
    /// tensor.
    pub(crate) fn each_run(&self, f: &mut dyn FnMut(usize, usize, usize)) {
        let rows = self.partitions[0].nrows().min(self.sizes[0]);
        self.rows(0, 0..rows, 0, f);
    }

    /// Calls `f` for `rows` of partition number `level`, as [`each_run`](Self::each_run) does. The first of these rows
    /// becomes row number `place` of the dense tensor, whose rows are counted along axis `level + 1`.
    fn rows(&self, level: usize, rows: Range<usize>, place: usize, f: &mut dyn FnMut(usize, usize, usize)) {
        let width = self.sizes[level + 1];
        for (index, row) in rows.enumerate() {
            let range = self.partitions[level].range(row);
            let kept = range.start..range.start + range.len().min(width);
            let first = (place + index) * width;
            if level + 1 == self.partitions.len() {
                f(kept.start, first, kept.len());
            } else {
                self.rows(level + 1, kept, first, f);
            }
        }
    }

    /// Makes the dense tensor. `default` has one element, or the inner sizes of the flat values.
    ///
    /// # Errors
    /// An allocation fails.
    pub(crate) fn run(&self, default: TensorView<'_>) -> Result<Tensor> {
        let row: usize = self.flat.sizes()[1..].iter().product();
        let dtype = self.flat.dtype();
        if self.sizes.contains(&0) {
            return Tensor::zeros(dtype, self.sizes);
        }
        if dtype == DType::String {
            let places = self.sizes.iter().try_fold(1usize, |places, size| places.checked_mul(*size));
            let places = places.unwrap_or(usize::MAX);
            let mut elements: Vec<&[u8]> = reserved_vec(places)?;
            elements.extend((0..places).filter_map(|place| default.element(place % default.len().max(1))));
            self.each_run(&mut |from, to, count| {
                for offset in 0..count * row {
                    elements[to * row + offset] = self.flat.element(from * row + offset).unwrap_or_default();
                }
            });
            return Tensor::from_strings(self.sizes, &elements);
        }
        let size = size_of_element(dtype)?;
        let pattern = default.bytes();
        let mut dense = match pattern.iter().all(|byte| *byte == 0) {
            true => Tensor::zeros(dtype, self.sizes)?,
            false => {
                let mut dense = Tensor::allocate(dtype, self.sizes)?;
                for place in dense.view_mut()?.bytes_mut().chunks_exact_mut(pattern.len()) {
                    place.copy_from_slice(pattern);
                }
                dense
            }
        };
        let (from, mut view) = (self.flat.bytes(), dense.view_mut()?);
        let (to, size) = (view.bytes_mut(), row * size);
        self.each_run(&mut |source, place, count| {
            to[place * size..(place + count) * size]
                .copy_from_slice(&from[source * size..(source + count) * size]);
        });
        Ok(dense)
    }
}

/// Repeats a default value to the inner sizes of the flat values. A default value with one element is returned as it
/// is.
///
/// # Errors
/// The dtypes differ, or the sizes do not broadcast.
pub(crate) fn broadcast_default(default: TensorView<'_>, flat: TensorView<'_>) -> Result<Tensor> {
    let inner = &flat.sizes()[1..];
    if default.dtype() != flat.dtype() {
        let message = format!(
            "the default value must be {}, the dtype of the values, got {}",
            flat.dtype(),
            default.dtype()
        );
        return Err(Error::new(ErrorKind::DType, Phase::Run, message));
    }
    let offset = inner.len().checked_sub(default.sizes().len());
    let fits = offset.is_some_and(|offset| {
        inner[offset..].iter().zip(default.sizes()).all(|(size, given)| given == size || *given == 1)
    });
    if !fits {
        return Err(shape_error(format!(
            "the default value must broadcast to a row of the values, got sizes {:?} for {inner:?}",
            default.sizes()
        )));
    }
    if default.len() == 1 {
        return default.to_tensor();
    }
    let mut elements = Vec::new();
    let offset = offset.unwrap_or(0);
    for linear in 0..inner.iter().product::<usize>() {
        let (mut rest, mut source, mut step) = (linear, 0, 1);
        for axis in (0..inner.len()).rev() {
            let index = rest % inner[axis];
            rest /= inner[axis];
            if axis >= offset && default.sizes()[axis - offset] > 1 {
                source += index * step;
                step *= inner[axis];
            }
        }
        elements.push(source..source + 1);
    }
    let line = default.to_tensor()?.reshape(&[default.len()])?;
    take_rows(line.view(), &elements)?.reshape(inner)
}

impl RaggedTensor {
    /// Returns a dense tensor. Short rows end with zeros, `false` or empty strings.
    ///
    /// ```
    /// use shapeflow::{Tensor, ragged};
    ///
    /// let rt = ragged![[9, 8, 7], [], [6, 5], [4]];
    /// assert_eq!(rt.to_tensor()?, Tensor::from([[9, 8, 7], [0, 0, 0], [6, 5, 0], [4, 0, 0]]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The dense tensor needs too much memory.
    #[track_caller]
    pub fn to_tensor(&self) -> Result<Tensor> {
        at_caller(|| self.to_tensor_with(&Tensor::zeros(self.dtype(), &[])?, &[]))
    }

    /// Returns a dense tensor. Short rows end with `default`, which broadcasts to the inner axes of the values. `sizes`
    /// has a size for each axis, or `None` for the natural size; longer rows are cut. An empty `sizes` stands for
    /// natural sizes.
    ///
    /// ```
    /// use shapeflow::{Tensor, ragged};
    ///
    /// let rt = ragged![[1, 2, 3], [4]];
    /// let dense = rt.to_tensor_with(&Tensor::scalar(-1), &[None, Some(2)])?;
    /// assert_eq!(dense, Tensor::from([[1, 2], [4, -1]]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// `default` has another dtype or does not broadcast, `sizes` is not empty and has another length than the rank, a
    /// size of an inner axis differs from the size of the values, or the dense tensor needs too much memory.
    #[track_caller]
    pub fn to_tensor_with(&self, default: &Tensor, sizes: &[Option<usize>]) -> Result<Tensor> {
        at_caller(|| {
            let mut natural = self.bounding_shape();
            if !sizes.is_empty() && sizes.len() != natural.len() {
                return Err(shape_error(format!(
                    "there must be one size for each of {}, got {}",
                    counted(natural.len(), "axis"),
                    sizes.len()
                )));
            }
            for (axis, (natural, size)) in natural.iter_mut().zip(sizes).enumerate() {
                let Some(size) = *size else { continue };
                if axis > self.partitions.len() && size != *natural {
                    return Err(shape_error(format!(
                        "the size of inner axis {axis} must be the values' size, {natural}, got {size}"
                    )));
                }
                *natural = size;
            }
            let default = broadcast_default(default.view(), self.flat.view())?;
            PaddedCopy { flat: self.flat.view(), partitions: &self.partitions, sizes: &natural }
                .run(default.view())
        })
    }

    /// Makes a ragged tensor of all elements of a dense tensor. Each of the axes 1 to `ragged_rank` gets a uniform
    /// partition.
    ///
    /// ```
    /// use shapeflow::{RaggedTensor, Tensor};
    ///
    /// let dense = Tensor::from([[5, 7, 0], [0, 3, 0], [6, 0, 0]]);
    /// let rt = RaggedTensor::from_tensor(&dense, 1)?;
    /// assert_eq!(rt.to_string(), "[[5, 7, 0], [0, 3, 0], [6, 0, 0]]");
    /// assert_eq!(rt.uniform_row_length(), Some(3));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// `ragged_rank` is 0, or not less than the rank.
    #[track_caller]
    pub fn from_tensor(dense: &Tensor, ragged_rank: usize) -> Result<RaggedTensor> {
        at_caller(|| {
            let sizes = dense.sizes();
            if ragged_rank == 0 || ragged_rank >= sizes.len() {
                return Err(shape_error(format!(
                    "ragged_rank must be at least 1 and less than the rank {}, got {ragged_rank}",
                    sizes.len()
                )));
            }
            let mut rows = 1;
            let mut partitions = Vec::with_capacity(ragged_rank);
            for axis in 0..ragged_rank {
                rows *= sizes[axis];
                partitions.push(RowPartition::uniform(sizes[axis + 1], rows, DType::I64)?);
            }
            let flat = [&[rows * sizes[ragged_rank]], &sizes[ragged_rank + 1..]].concat();
            Ok(RaggedTensor { flat: dense.reshape(&flat)?, partitions })
        })
    }

    /// Makes a ragged tensor of the first `lengths[i]` elements of each row `i` of a dense tensor. As in TensorFlow, a
    /// negative length counts as 0, and a length above the size of axis 1 counts as this size.
    ///
    /// To cut rows along a later axis, reshape the tensor so that this axis becomes axis 1, and restore the earlier
    /// axes with [`from_uniform_row_length`](Self::from_uniform_row_length).
    ///
    /// ```
    /// use shapeflow::{RaggedTensor, Tensor};
    ///
    /// let dense = Tensor::from([[5, 7, 0], [0, 3, 0], [6, 0, 0]]);
    /// let rt = RaggedTensor::from_tensor_lengths(&dense, [1i64, 0, 3])?;
    /// assert_eq!(rt.to_string(), "[[5], [], [6, 0, 0]]");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// There is not one length for each row.
    #[track_caller]
    pub fn from_tensor_lengths(dense: &Tensor, lengths: impl Into<Tensor>) -> Result<RaggedTensor> {
        at_caller(|| {
            let lengths = lengths.into();
            check_vector("lengths", &lengths.view())?;
            let &[rows, width, ..] = dense.sizes() else {
                return Err(shape_error(format!(
                    "the rank must be at least 2, got sizes {:?}",
                    dense.sizes()
                )));
            };
            if lengths.len() != rows {
                return Err(shape_error(format!(
                    "there must be one length for each of {rows}, got {}",
                    lengths.len(),
                    rows = counted(rows, "row")
                )));
            }
            let kept: Vec<usize> = with_ints!(lengths, |lengths| {
                lengths.iter().map(|length| wide(*length).clamp(0, width as i64) as usize).collect()
            });
            rows_of(dense, &kept, lengths.dtype())
        })
    }

    /// Makes a ragged tensor of the first elements along several axes of a dense tensor. The outermost lengths come
    /// first: `lengths[0]` has the length of each row, and `lengths[1]` has the length of each of the kept items of all
    /// rows.
    ///
    /// As TensorFlow's `from_tensor` with a tuple of lengths. TensorFlow also demands that the longest rows have the
    /// sizes of the dense tensor.
    ///
    /// ```
    /// use shapeflow::{RaggedTensor, Tensor};
    ///
    /// let dense = Tensor::from([[[5, 0], [7, 0], [0, 0]], [[0, 0], [3, 0], [0, 0]], [[6, 0], [0, 0], [0, 0]]]);
    /// let lengths = [Tensor::from([2i64, 0, 3]), Tensor::from([1i64, 1, 2, 0, 1])];
    /// let rt = RaggedTensor::from_tensor_nested_lengths(&dense, &lengths)?;
    /// assert_eq!(rt.to_string(), "[[[5], [7]], [], [[6, 0], [], [0]]]");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// `lengths` is empty, or has at least as many vectors as there are axes; a vector does not have one length for
    /// each row; a length is negative or more than the size of its axis; or dtypes of lengths differ.
    #[track_caller]
    pub fn from_tensor_nested_lengths(dense: &Tensor, lengths: &[Tensor]) -> Result<RaggedTensor> {
        at_caller(|| {
            let (sizes, depth) = (dense.sizes(), lengths.len());
            if depth == 0 || depth >= sizes.len() {
                return Err(shape_error(format!(
                    "the number of vectors of lengths must be at least 1 and less than the rank {}, got {depth}",
                    sizes.len()
                )));
            }
            // The positions that are kept, as ranges of positions along the joined first axes.
            let mut kept: Vec<Range<usize>> = std::iter::once(0..sizes[0]).collect();
            for (lengths, &size) in lengths.iter().zip(&sizes[1..]) {
                check_vector("lengths", &lengths.view())?;
                let rows: usize = kept.iter().map(ExactSizeIterator::len).sum();
                if lengths.len() != rows {
                    let got = lengths.len();
                    return Err(shape_error(format!(
                        "there must be one length for each of {rows}, got {got}",
                        rows = counted(rows, "row")
                    )));
                }
                let cut = |(position, (place, length)): (usize, (usize, i64))| {
                    let fits = usize::try_from(length).ok().filter(|length| *length <= size);
                    let length = fits.ok_or_else(|| {
                        shape_error(format!(
                            "a length must be in [0, {size}], got {length} at position {position}"
                        ))
                    })?;
                    Ok(place * size..place * size + length)
                };
                let places = kept.into_iter().flatten();
                kept = with_ints!(lengths, |lengths| {
                    let lengths = lengths.iter().map(|length| wide(*length));
                    places.zip(lengths).enumerate().map(cut).collect::<Result<_>>()?
                });
            }
            let places = sizes[..=depth].iter().product();
            let flat = dense.reshape(&[&[places], &sizes[depth + 1..]].concat())?;
            RaggedTensor::from_nested_row_lengths(take_rows(flat.view(), &kept)?, lengths)
        })
    }

    /// Makes a ragged tensor of the rows of a dense tensor without the padding at their ends. `padding` is a scalar, or
    /// has the sizes of the axes after axis 1. Elements are compared as numbers: NaN equals no padding, and -0 equals
    /// 0.
    ///
    /// ```
    /// use shapeflow::{RaggedTensor, Tensor};
    ///
    /// let dense = Tensor::from([[5, 7, 0], [0, 3, 0], [6, 0, 0]]);
    /// let rt = RaggedTensor::from_tensor_padding(&dense, &Tensor::scalar(0))?;
    /// assert_eq!(rt.to_string(), "[[5, 7], [0, 3], [6]]");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The rank is less than 2, or `padding` has another dtype or other sizes.
    #[track_caller]
    pub fn from_tensor_padding(dense: &Tensor, padding: &Tensor) -> Result<RaggedTensor> {
        at_caller(|| {
            let &[rows, width, ref inner @ ..] = dense.sizes() else {
                return Err(shape_error(format!(
                    "the rank must be at least 2, got sizes {:?}",
                    dense.sizes()
                )));
            };
            if padding.dtype() != dense.dtype() || !(padding.sizes().is_empty() || padding.sizes() == inner) {
                return Err(shape_error(format!(
                    "the padding must be a scalar or {}{inner:?}, got {}{:?}",
                    dense.dtype(),
                    padding.dtype(),
                    padding.sizes()
                )));
            }
            let (x, padding, count) = (dense.view(), padding.view(), inner.iter().product::<usize>());
            let is_scalar = padding.sizes().is_empty();
            let is_padding = |place: usize| {
                (0..count).all(|offset| {
                    x.equals_at(place * count + offset, &padding, if is_scalar { 0 } else { offset })
                })
            };
            let length = |row: usize| {
                (0..width).rev().find(|column| !is_padding(row * width + column)).map_or(0, |last| last + 1)
            };
            let kept: Vec<usize> = (0..rows).map(length).collect();
            rows_of(dense, &kept, DType::I64)
        })
    }
}

/// Makes a ragged tensor of the first elements of each row.
fn rows_of(dense: &Tensor, lengths: &[usize], dtype: DType) -> Result<RaggedTensor> {
    let width = dense.sizes()[1];
    let places = [&[dense.sizes()[0] * width], &dense.sizes()[2..]].concat();
    let flat = dense.reshape(&places)?;
    let ranges: Vec<Range<usize>> =
        lengths.iter().enumerate().map(|(row, length)| row * width..row * width + length).collect();
    let flat = take_rows(flat.view(), &ranges)?;
    let mut end = 0;
    let ends = lengths.iter().map(|length| {
        end += length;
        end
    });
    let partition = RowPartition::of_offsets(dtype, std::iter::once(0).chain(ends))?;
    RaggedTensor::partitioned(partition, RaggedItem::Dense(flat))
}
