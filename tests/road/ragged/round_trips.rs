//! Conversions of ragged tensors to another form and back, for every ragged rank up to 3, inner axes, and both dtypes
//! of row splits.

use proptest::prelude::*;
use shapeflow::{
    AnyValue, DType, Graph, IntoParam, Nested, RaggedItem, RaggedTensor, RaggedValue, SliceItem, Tensor,
    shape,
};

/// Makes a tensor of random row lengths: `seeds` gives the number of rows, then the lengths, and the flat values count
/// up.
fn tensor(ragged_rank: usize, inner: &[usize], seeds: &[u8], dtype: DType) -> RaggedTensor {
    let mut seeds = seeds.iter().map(|seed| i64::from(seed % 4));
    let mut rows = seeds.next().unwrap_or(0);
    let mut partitions = Vec::new();
    for _ in 0..ragged_rank {
        let lengths: Vec<i64> = (0..rows).map(|_| seeds.next().unwrap_or(1)).collect();
        rows = lengths.iter().sum();
        partitions.push(Tensor::from(lengths));
    }
    let sizes = [&[rows as usize], inner].concat();
    let flat: Vec<i32> = (0..sizes.iter().product::<usize>() as i32).collect();
    let flat = Tensor::from_vec(&sizes, flat).unwrap();
    RaggedTensor::from_nested_row_lengths(flat, &partitions).unwrap().with_row_splits_dtype(dtype).unwrap()
}

fn tensors() -> impl Strategy<Value = RaggedTensor> {
    let inner = prop_oneof![Just(vec![]), Just(vec![2usize]), Just(vec![1, 3]), Just(vec![0])];
    let dtype = prop_oneof![Just(DType::I32), Just(DType::I64)];
    (1..4usize, inner, prop::collection::vec(any::<u8>(), 0..40), dtype)
        .prop_map(|(ragged_rank, inner, seeds, dtype)| tensor(ragged_rank, &inner, &seeds, dtype))
}

fn owned(tensors: Vec<&Tensor>) -> Vec<Tensor> {
    tensors.into_iter().cloned().collect()
}

/// Slices nested lists along the first axes, as Python does for these begins, ends and steps.
fn sliced(nested: &Nested<i32>, ranges: &[(usize, usize, bool)]) -> Nested<i32> {
    let (Nested::List(items), Some(((begin, end, is_reversed), rest))) = (nested, ranges.split_first())
    else {
        return nested.clone();
    };
    let end = (*end).min(items.len());
    let mut taken: Vec<Nested<i32>> =
        items[(*begin).min(end)..end].iter().map(|item| sliced(item, rest)).collect();
    if *is_reversed {
        taken.reverse();
    }
    Nested::List(taken)
}

/// Collects the coordinates of all elements of nested lists.
fn coordinates(nested: &Nested<i32>, prefix: &[i64], all: &mut Vec<i64>) {
    match nested {
        Nested::Item(_) => all.extend(prefix),
        Nested::List(items) => {
            for (index, item) in items.iter().enumerate() {
                coordinates(item, &[prefix, &[index as i64]].concat(), all);
            }
        }
    }
}

proptest! {
    #[test]
    fn every_encoding_gives_the_partition_back(rt in tensors()) {
        let mut splits = RaggedItem::Ragged(rt.clone());
        while let RaggedItem::Ragged(x) = splits {
            let values = x.values();
            prop_assert_eq!(&RaggedTensor::from_row_splits(values.clone(), x.row_splits()).unwrap(), &x);
            prop_assert_eq!(&RaggedTensor::from_row_lengths(values.clone(), x.row_lengths()).unwrap(), &x);
            prop_assert_eq!(&RaggedTensor::from_row_starts(values.clone(), x.row_starts()).unwrap(), &x);
            prop_assert_eq!(&RaggedTensor::from_row_limits(values.clone(), x.row_limits()).unwrap(), &x);
            let nrows = Some(x.nrows());
            prop_assert_eq!(&RaggedTensor::from_value_rowids(values.clone(), x.value_rowids(), nrows).unwrap(), &x);
            splits = values;
        }
    }

    #[test]
    fn nested_encodings_equal_one_encoding_after_the_other(rt in tensors()) {
        let flat = rt.flat_values();
        let (splits, lengths) = (owned(rt.nested_row_splits()), owned(rt.nested_row_lengths()));
        let rowids = owned(rt.nested_value_rowids());
        let nrows: Vec<usize> = lengths.iter().map(Tensor::len).collect();
        let unrolled = splits.iter().rev().fold(RaggedItem::from(flat), |values, splits| {
            RaggedTensor::from_row_splits(values, splits).unwrap().into()
        });
        prop_assert_eq!(&unrolled, &RaggedItem::Ragged(rt.clone()));
        prop_assert_eq!(&RaggedTensor::from_nested_row_splits(flat, &splits).unwrap(), &rt);
        prop_assert_eq!(&RaggedTensor::from_nested_row_lengths(flat, &lengths).unwrap(), &rt);
        prop_assert_eq!(&RaggedTensor::from_nested_value_rowids(flat, &rowids, &nrows).unwrap(), &rt);
    }

    #[test]
    fn padded_tensors_cut_to_their_lengths_come_back(rt in tensors()) {
        let dense = rt.to_tensor_with(&Tensor::scalar(-1), &[]).unwrap();
        prop_assert_eq!(dense.sizes(), rt.bounding_shape());
        let back = RaggedTensor::from_tensor_nested_lengths(&dense, &owned(rt.nested_row_lengths()));
        prop_assert_eq!(back.unwrap(), rt);
    }

    #[test]
    fn sparse_tensors_have_the_coordinates_of_the_lists(rt in tensors()) {
        let sparse = rt.to_sparse().unwrap();
        let mut all = Vec::new();
        coordinates(&rt.to_nested::<i32>().unwrap(), &[], &mut all);
        prop_assert_eq!(sparse.indices.to_vec::<i64>().unwrap(), all);
        prop_assert_eq!(sparse.values.to_vec::<i32>().unwrap(), rt.flat_values().to_vec::<i32>().unwrap());
        if rt.rank() == 2 {
            let back = RaggedTensor::from_sparse(&sparse).unwrap();
            prop_assert_eq!(back.with_row_splits_dtype(rt.row_splits_dtype()).unwrap(), rt);
        }
    }

    #[test]
    fn slices_equal_slices_of_lists(
        rt in tensors(), ranges in prop::collection::vec((0..3usize, 0..4usize, any::<bool>()), 6)
    ) {
        let ranges = &ranges[..rt.rank()];
        // A reversed range starts at the last element before the end of the range that it reverses.
        let items: Vec<SliceItem> =
            ranges.iter().map(|(begin, end, _)| SliceItem::span(*begin as i64, *end as i64)).collect();
        let reversed: Vec<SliceItem> =
            ranges.iter().map(|range| SliceItem::from(..).step(if range.2 { -1 } else { 1 })).collect();
        let got = rt.slice_with(&items).unwrap().ragged().unwrap().slice_with(&reversed).unwrap();
        prop_assert_eq!(got.to_nested::<i32>().unwrap(), sliced(&rt.to_nested().unwrap(), ranges));
    }
}

/// Graphs convert encodings as data do.
#[test]
fn encodings_of_a_graph_give_the_value_back() {
    let mut rng = crate::rng::Rng::new(5);
    for ragged_rank in 1..4 {
        for dtype in [DType::I32, DType::I64] {
            let g = Graph::new();
            let x =
                g.ragged_input_with_row_splits_dtype("x", DType::I32, ragged_rank, shape![2], dtype).unwrap();
            let (flat, values) = (x.flat_values(), x.values());
            let (lengths, rowids) = (x.nested_row_lengths().unwrap(), x.nested_value_rowids().unwrap());
            let nrows = lengths.iter().map(|lengths| lengths.dim(0).unwrap().into_param());
            let padded = x.to_tensor_with(-1, -1).unwrap();
            let same: [RaggedValue<'_>; 7] = [
                RaggedValue::from_nested_row_splits(flat, &x.nested_row_splits()).unwrap(),
                RaggedValue::from_nested_row_lengths(flat, &lengths).unwrap(),
                RaggedValue::from_nested_value_rowids(flat, &rowids, &nrows.collect::<Vec<_>>()).unwrap(),
                RaggedValue::from_row_starts(values, x.row_starts().unwrap()).unwrap(),
                RaggedValue::from_row_limits(values, x.row_limits().unwrap()).unwrap(),
                RaggedValue::from_tensor_nested_lengths(padded, &lengths).unwrap(),
                RaggedValue::from_value_rowids(values, rowids[0], Some(x.nrows().into_param())).unwrap(),
            ];
            let exe = g.compile(same.map(AnyValue::from)).unwrap();
            for case in 0..12 {
                let seeds: Vec<u8> = (0..case * 3).map(|_| rng.below(4) as u8).collect();
                let rt = tensor(ragged_rank, &[2], &seeds, dtype);
                let results = exe.feed("x", &rt).run().unwrap();
                for number in 0..same.len() {
                    assert_eq!(results.ragged_at(number).unwrap(), rt, "{number}");
                }
            }
        }
    }
}
