//! Drives ragged tensors with arbitrary bytes, for fuzzing.

use shapeflow::{RaggedTensor, RowPartition, SliceItem, Tensor, Unchecked};

/// Splits bytes into values and row splits. Every constructor and method must return or refuse.
pub fn drive(data: &[u8]) {
    let [count, outer, begin, end, step, rest @ ..] = data else { return };
    let count = usize::from(*count % 16);
    let position = |byte: u8| i64::from(byte as i8);
    let values: Vec<u8> = (0..count as u8).collect();
    let ints: Vec<i64> = rest.iter().map(|byte| position(*byte) / 4).collect();
    let (first, second) = ints.split_at(usize::from(*outer).min(ints.len()));
    let checked = [
        RaggedTensor::from_row_splits(values.clone(), first.to_vec()),
        RaggedTensor::from_row_lengths(values.clone(), first.to_vec()),
        RaggedTensor::from_row_starts(values.clone(), first.to_vec()),
        RaggedTensor::from_row_limits(values.clone(), first.to_vec()),
        RaggedTensor::from_value_rowids(values.clone(), first.to_vec(), None),
        RaggedTensor::from_row_splits(values.clone(), Unchecked(first.to_vec())),
    ];
    for inner in checked.into_iter().flatten() {
        let nested = RaggedTensor::from_row_splits(inner.clone(), Unchecked(second.to_vec()));
        for rt in std::iter::once(inner).chain(nested) {
            let item = SliceItem::span(position(*begin), position(*end)).step(position(*step));
            let sliced = rt.slice_with(&[item.clone(), item]);
            assert_eq!(sliced.is_err(), *step == 0);
            let _ = (rt.to_string(), rt.row_lengths(), rt.value_rowids(), rt.bounding_shape());
            let dense = rt.to_tensor().expect("small tensors fit in memory");
            assert_eq!(dense.sizes(), rt.bounding_shape());
            let _ = rt.to_tensor_with(&Tensor::scalar(7u8), &vec![Some(2); rt.rank()]);
            let _ = (rt.to_sparse(), rt.merge_dims(0, -1), rt.row(position(*begin)));
            for rows in rt.partitions() {
                let _ = RowPartition::from_row_splits(rows.row_splits(), rows.nvals());
            }
        }
    }
}
