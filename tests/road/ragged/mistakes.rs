//! Mistakes with ragged tensors give errors that name the requirement and what was got.

use shapeflow::{
    DType, ErrorKind, RaggedItem, RaggedTensor, RowPartition, SliceItem, SparseParts, Tensor, Unchecked,
    ragged,
};

#[track_caller]
fn refused<T: std::fmt::Debug>(result: shapeflow::Result<T>, message: &str) {
    assert_eq!(result.unwrap_err().message(), message);
}

#[test]
fn bad_partitions_name_the_first_bad_position() {
    let values = || [1, 2, 3];
    let splits = |splits: &[i64]| RaggedTensor::from_row_splits(values(), splits.to_vec());
    refused(splits(&[]), "row_splits must have at least one element, got none");
    refused(splits(&[1, 3]), "row_splits must start at 0, got 1");
    refused(splits(&[0, 2, 1, 0, 3]), "row_splits must not decrease, got 1 after 2 at position 2");
    refused(splits(&[0, 2]), "row_splits must end at the number of values, 3, got 2 at position 1");
    refused(
        splits(&[0, i64::MAX]),
        "row_splits must end at the number of values, 3, got 9223372036854775807 at position 1",
    );
    refused(
        RaggedTensor::from_row_starts(values(), [0i64, 4]),
        "row_starts must not exceed the number of values, 3, got 4 at position 1",
    );
    refused(
        RaggedTensor::from_row_lengths(values(), [1i64, -1]),
        "row_lengths must not be negative, got -1 at position 1",
    );
    refused(
        RaggedTensor::from_row_lengths(values(), [1i64, i64::MAX, i64::MAX]),
        "the sum of row_lengths must be the number of values, 3, got 18446744073709551615",
    );
    refused(
        RaggedTensor::from_row_lengths(values(), [1i64]),
        "the sum of row_lengths must be the number of values, 3, got 1",
    );
    refused(
        RaggedTensor::from_value_rowids(values(), [0i64, 2, 1], None),
        "value_rowids must be ascending and not negative, got 1 after 2 at position 2",
    );
    refused(
        RaggedTensor::from_value_rowids(values(), [0i64, 2, 5], Some(4)),
        "value_rowids must be less than nrows, 4, got 5 at position 2",
    );
    refused(
        RaggedTensor::from_value_rowids(values(), [0i64], None),
        "value_rowids must have one id for each of 3 values, got 1",
    );
    refused(
        RaggedTensor::from_uniform_row_length(values(), 2, None),
        "the number of values must be a multiple of the row length 2, got 3",
    );
    refused(
        RaggedTensor::from_uniform_row_length(values(), 2, Some(2)),
        "there must be 4 values for 2 rows of 2 values, got 3",
    );
}

#[test]
fn wrong_dtypes_and_ranks_are_refused() {
    let error = RaggedTensor::from_row_splits(ragged![[1], [2]], [0i32, 2]).unwrap_err();
    assert_eq!(error.message(), "all row_splits must have one dtype, got i32 and i64");
    assert_eq!(error.kind(), ErrorKind::DType);
    refused(RaggedTensor::from_row_splits([1], [0.0f32]), "row_splits must be i32 or i64, got f32");
    refused(RaggedTensor::from_row_splits([1], [[0i64]]), "row_splits must be a vector, got sizes [1, 1]");
    refused(
        RaggedTensor::from_row_splits(Tensor::scalar(1), [0i64]),
        "values must have rank at least 1, got a scalar",
    );
    refused(
        RowPartition::uniform(1 << 31, 1, DType::I32),
        "a position of a row partition must fit i32, got 2147483648",
    );
    refused(RowPartition::uniform(2, 3, DType::F32), "row_splits must be i32 or i64, got f32");
    refused(
        RowPartition::from_row_splits(Unchecked([0i32, -1]), 1 << 40),
        "a position of a row partition must fit i32, got 1099511627776",
    );
    refused(
        RowPartition::uniform(usize::MAX, 2, DType::I64),
        &format!("2 rows of {} values are too many values", usize::MAX),
    );
    refused(RaggedTensor::from_nested(vec![1]), "a ragged tensor must have at least 2 axes, got 1");
    refused(ragged![[1]].with_row_splits_dtype(DType::F32), "row_splits must be i32 or i64, got f32");
    refused(ragged![[1]].with_values([1, 2]), "there must be 1 value, got 2");
    refused(ragged![[1]].merge_dims(1, 0), "the outer axis must not be after the inner axis, got 1 and 0");
    refused(ragged![[1]].row_lengths_along(2), "an axis must be in [-2, 2), got 2");
}

#[test]
fn an_error_names_the_wrong_partition() {
    let splits = [[0i64, 2, 1, 3], [0, 1, 2, 3]].map(Tensor::from);
    let nested = |flat: &[i32]| RaggedTensor::from_nested_row_splits(flat.to_vec(), &splits);
    refused(nested(&[1, 2, 3]), "partition 0: row_splits must not decrease, got 1 after 2 at position 2");
    let message = "partition 1: row_splits must end at the number of values, 4, got 3 at position 3";
    refused(nested(&[1, 2, 3, 4]), message);
}

#[test]
fn uniform_rows_of_any_length_may_have_no_rows() {
    let long = |values: RaggedItem| RaggedTensor::from_uniform_row_length(values, 1 << 40, Some(0)).unwrap();
    let x = long(long(Tensor::from([0i32; 0]).into()).into());
    refused(x.merge_dims(1, 2), "the length of merged rows must fit a usize");
    let third = x.slice_with(&[SliceItem::All, SliceItem::from(..).step(3)]).unwrap();
    assert_eq!(third.ragged().unwrap().uniform_row_length(), Some((1usize << 40).div_ceil(3)));
    let longest = RaggedTensor::from_uniform_row_length([0i32; 0], usize::MAX, Some(0)).unwrap();
    assert!(longest.slice_with(&[SliceItem::All, SliceItem::at(-1)]).is_ok());
    assert!(longest.slice_with(&[SliceItem::All, SliceItem::from(1..)]).is_ok());
}

#[test]
fn gaps_in_sparse_rows_are_refused() {
    let sparse = |indices: [[i64; 2]; 2]| SparseParts {
        indices: Tensor::from(indices),
        values: Tensor::from([1, 2]),
        dense_shape: Tensor::from([2i64, 3]),
    };
    refused(
        RaggedTensor::from_sparse(&sparse([[0, 0], [0, 2]])),
        "the elements of a row must start at column 0 and follow each other, got [0, 2] at position 1",
    );
    refused(
        RaggedTensor::from_sparse(&sparse([[0, 0], [2, 0]])),
        "an index must lie within [2, 3], got [2, 0] at position 1",
    );
}
