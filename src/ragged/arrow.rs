//! Arrow list arrays as ragged tensors, and ragged tensors as list arrays (feature `arrow`).

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, GenericListArray, OffsetSizeTrait};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field};
use shapeflow_shape_fns::DType;

use super::encoding::{ints, with_ints};
use super::mistake::bad_splits;
use super::{RaggedItem, RaggedTensor, RowPartition, Unchecked, shape_error};
use crate::error::{Error, ErrorKind, Phase, Result, at_caller};
use crate::tensor::Tensor;
use crate::tensor::arrow::{check_no_nulls, fixed_size_lists, lent_elements};

impl RaggedTensor {
    /// Makes a ragged tensor of an Arrow list array (feature `arrow`), nested to any depth. The tensor shares the
    /// numbers and the offsets, which are its row splits: i32 for `List`, i64 for `LargeList`. A fixed-size list is a
    /// uniform axis if it holds lists of variable length at any depth, and otherwise an inner axis.
    ///
    /// ```
    /// use arrow_array::{ListArray, types::Int32Type};
    /// use shapeflow::{DType, RaggedTensor};
    ///
    /// let rows = [vec![Some(3), Some(1)], vec![], vec![Some(4)]].map(Some);
    /// let lists = ListArray::from_iter_primitive::<Int32Type, _, _>(rows);
    /// let rt = RaggedTensor::from_arrow(&lists)?;
    /// assert_eq!(rt.to_string(), "[[3, 1], [], [4]]");
    /// assert_eq!(rt.row_splits().as_slice::<i32>()?.as_ptr(), lists.value_offsets().as_ptr());
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// The offsets are copied if the array is a slice whose first offset is not 0. If `List` and `LargeList` are nested
    /// in each other, all splits become i64.
    ///
    /// # Errors
    /// `Shape`: a list or an element is null. `DType`: the array is not a list of variable length, or its elements are
    /// neither bools, numbers nor strings.
    #[track_caller]
    pub fn from_arrow(array: &dyn Array) -> Result<RaggedTensor> {
        at_caller(|| match RaggedItem::from_arrow(array)? {
            RaggedItem::Ragged(ragged) => Ok(ragged),
            RaggedItem::Dense(_) => {
                let got = array.data_type();
                let message = format!("an Arrow array must be a list of variable length, got {got}");
                let error = Error::new(ErrorKind::DType, Phase::Run, message);
                Err(error.with_help("make a tensor with `Tensor::from_arrow`"))
            }
        })
    }

    /// Returns an Arrow array of lists (feature `arrow`), which shares the numbers and the row splits: `ListArray` for
    /// splits of i32, `LargeListArray` for splits of i64, `FixedSizeListArray` for uniform axes and inner axes.
    ///
    /// ```
    /// use arrow_array::{Array, cast::AsArray, types::Float32Type};
    /// use shapeflow::{RaggedTensor, ragged};
    ///
    /// let rt = ragged![[0.5f32, 1.5], [], [2.5]];
    /// let lists = rt.to_arrow()?;
    /// assert_eq!(lists.as_list::<i64>().value(0).as_primitive::<Float32Type>().values(), &[0.5, 1.5]);
    /// assert_eq!(RaggedTensor::from_arrow(&lists)?, rt);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// `DType`: Arrow has no type for the elements. `Shape`: unchecked row splits are wrong, or a fixed row length
    /// exceeds `i32::MAX`.
    #[track_caller]
    pub fn to_arrow(&self) -> Result<ArrayRef> {
        at_caller(|| {
            let mut array = self.flat.to_arrow()?;
            for partition in self.partitions.iter().rev() {
                let splits = partition.row_splits();
                array = match (partition.uniform_row_length(), splits.dtype()) {
                    (Some(length), _) => fixed_size_lists(array, length, partition.nrows())?,
                    (None, DType::I32) => lists::<i32>(array, partition)?,
                    (None, _) => lists::<i64>(array, partition)?,
                };
            }
            Ok(array)
        })
    }
}

impl RaggedItem {
    /// Makes a dense or a ragged tensor of an Arrow array (feature `arrow`): ragged if the array has a list of variable
    /// length. See [`RaggedTensor::from_arrow`] and [`Tensor::from_arrow`].
    ///
    /// # Errors
    /// `Shape`: a list or an element is null. `DType`: the elements are neither bools, numbers nor strings.
    #[track_caller]
    pub fn from_arrow(array: &dyn Array) -> Result<RaggedItem> {
        at_caller(|| {
            // An axis around the values. The loop collects the axes, outermost first.
            enum ListAxis {
                // Lists of variable length.
                Ragged(RowPartition),
                // Lists of one fixed length; `rows` is their number.
                Fixed { length: usize, rows: usize },
            }
            let (mut axes, mut array) = (Vec::new(), array.slice(0, array.len()));
            loop {
                let (axis, values) = match array.data_type() {
                    DataType::List(_) => {
                        let (partition, values) = partition(array.as_list::<i32>())?;
                        (ListAxis::Ragged(partition), values)
                    }
                    DataType::LargeList(_) => {
                        let (partition, values) = partition(array.as_list::<i64>())?;
                        (ListAxis::Ragged(partition), values)
                    }
                    DataType::FixedSizeList(_, length) => {
                        check_no_nulls(&array)?;
                        let axis = ListAxis::Fixed { length: *length as usize, rows: array.len() };
                        (axis, array.as_fixed_size_list().values().clone())
                    }
                    _ => break,
                };
                axes.push(axis);
                array = values;
            }
            let mut item = RaggedItem::Dense(Tensor::from_arrow(&array)?);
            let is_large = |axis: &ListAxis| matches!(axis, ListAxis::Ragged(rows) if rows.row_splits().dtype() == DType::I64);
            let dtype = if axes.iter().any(is_large) { DType::I64 } else { DType::I32 };
            for axis in axes.into_iter().rev() {
                item = match (axis, item) {
                    (ListAxis::Fixed { length, rows }, RaggedItem::Dense(values)) => {
                        values.reshape(&[&[rows, length], &values.sizes()[1..]].concat())?.into()
                    }
                    (ListAxis::Fixed { length, rows }, values) => {
                        let partition = RowPartition::uniform(length, rows, dtype)?;
                        RaggedTensor::partitioned(partition, values)?.into()
                    }
                    (ListAxis::Ragged(partition), values) => {
                        RaggedTensor::partitioned(partition.with_dtype(dtype)?, values)?.into()
                    }
                };
            }
            Ok(item)
        })
    }
}

/// Returns the partition of an array of lists, and the values of these lists.
fn partition<O: OffsetSizeTrait>(array: &GenericListArray<O>) -> Result<(RowPartition, ArrayRef)> {
    check_no_nulls(array)?;
    let offsets = array.offsets();
    let (first, last) = (offsets[0].as_usize(), offsets[array.len()].as_usize());
    let dtype = if O::IS_LARGE { DType::I64 } else { DType::I32 };
    let splits = match first {
        0 => Tensor::from_owner(dtype, &[offsets.len()], Arc::new(offsets.inner().inner().clone()))?,
        _ => ints(dtype, offsets.iter().map(|offset| offset.as_usize() - first))?,
    };
    // The array has checked its offsets.
    let partition = RowPartition::from_row_splits(Unchecked(splits), last - first)?;
    Ok((partition, array.values().slice(first, last - first)))
}

/// Returns an array of the rows of a partition.
fn lists<O: OffsetSizeTrait>(values: ArrayRef, partition: &RowPartition) -> Result<ArrayRef> {
    let splits = partition.row_splits();
    if let Some(message) = with_ints!(splits, |ints| bad_splits(ints, partition.nvals())) {
        return Err(shape_error(message));
    }
    let field = Arc::new(Field::new_list_field(values.data_type().clone(), false));
    let offsets = OffsetBuffer::<O>::new(lent_elements(splits));
    let lists = GenericListArray::try_new(field, offsets, values, None);
    Ok(Arc::new(lists.expect("the splits end at the number of values")))
}

#[cfg(test)]
mod tests {
    use arrow_array::{Int32Array, ListArray, types::Int32Type};

    use super::*;
    use crate::ragged;

    #[test]
    fn lists_of_any_depth_go_out_and_come_back() {
        let pairs = RaggedTensor::from_row_splits([[1, 2], [3, 4], [5, 6]], [0i32, 0, 2, 3]).unwrap();
        let uniform = RaggedTensor::from_uniform_row_length(ragged![[1], [], [2, 3], [4]], 2, None).unwrap();
        for rt in [
            ragged![[3, 1, 4, 1], [], [5, 9, 2], [6], []],
            ragged![[[1.5, 2.5], []], [[3.5]], []],
            ragged![[true, false], [true]],
            RaggedTensor::from_row_splits([0u8; 0], [0i64]).unwrap(),
            pairs,
            uniform,
        ] {
            let array = rt.to_arrow().unwrap();
            assert_eq!(RaggedTensor::from_arrow(&array).unwrap(), rt, "{rt}");
            let rest = array.slice(1.min(rt.nrows()), rt.nrows().saturating_sub(1));
            let expected: Vec<String> =
                (1..rt.nrows()).map(|row| rt.row(row as i64).unwrap().to_string()).collect();
            let got = RaggedTensor::from_arrow(&rest).unwrap();
            let got: Vec<String> =
                (0..got.nrows()).map(|row| got.row(row as i64).unwrap().to_string()).collect();
            assert_eq!(got, expected);
        }
    }

    #[test]
    fn lists_with_both_kinds_of_offsets_have_splits_of_i64() {
        let inner = ragged![[1], [2, 3], []];
        let field = Arc::new(Field::new_list_field(inner.to_arrow().unwrap().data_type().clone(), false));
        let offsets = OffsetBuffer::<i32>::from_lengths([2, 1]);
        let lists = ListArray::new(field, offsets, inner.to_arrow().unwrap(), None);
        let rt = RaggedTensor::from_arrow(&lists).unwrap();
        assert_eq!((rt.row_splits_dtype(), rt.to_string().as_str()), (DType::I64, "[[[1], [2, 3]], [[]]]"));
    }

    #[test]
    fn nulls_wrong_types_and_wrong_splits_are_refused() {
        let refused = |array: &dyn Array| RaggedTensor::from_arrow(array).unwrap_err().message().to_string();
        let null = "an Arrow array must have no nulls, got a null at position 1";
        let rows = [Some(vec![Some(1)]), None];
        assert_eq!(refused(&ListArray::from_iter_primitive::<Int32Type, _, _>(rows)), null);
        let rows = [Some(vec![Some(1), None])];
        assert_eq!(refused(&ListArray::from_iter_primitive::<Int32Type, _, _>(rows)), null);
        assert_eq!(
            refused(&Int32Array::from(vec![1])),
            "an Arrow array must be a list of variable length, got Int32"
        );
        let wrong = RaggedTensor::from_row_splits([1, 2, 3], Unchecked([0, 2, 1])).unwrap();
        assert_eq!(
            wrong.to_arrow().unwrap_err().message(),
            "row_splits must not decrease, got 1 after 2 at position 2"
        );
    }
}
