//! Laws of ragged tensors with the data of a run, on random nested lists.

use proptest::prelude::*;
use shapeflow::{Nested, RaggedItem, RaggedTensor, RowPartition, SliceItem, Tensor};

type Rows = Vec<Vec<i32>>;

fn rows() -> impl Strategy<Value = Rows> {
    prop::collection::vec(prop::collection::vec(-9..10i32, 0..5), 0..6)
}

fn deep_rows() -> impl Strategy<Value = Vec<Rows>> {
    prop::collection::vec(rows(), 0..4)
}

/// Makes a ragged tensor without `RaggedTensor::from_nested`.
fn ragged(rows: &Rows) -> RaggedTensor {
    let lengths: Vec<i64> = rows.iter().map(|row| row.len() as i64).collect();
    RaggedTensor::from_row_lengths(rows.concat(), lengths).unwrap()
}

fn ragged3(deep: &[Rows]) -> RaggedTensor {
    let outer: Vec<i64> = deep.iter().map(|rows| rows.len() as i64).collect();
    RaggedTensor::from_row_lengths(ragged(&deep.concat()), outer).unwrap()
}

fn text(value: &impl std::fmt::Debug) -> String {
    format!("{value:?}")
}

/// Returns the indices of a Python range, by the definition in Python's manual.
fn python_range(length: i64, begin: Option<i64>, end: Option<i64>, step: i64) -> Vec<usize> {
    let wrap = |position: i64| if position < 0 { position + length } else { position };
    let begin = begin.map_or(if step > 0 { 0 } else { length - 1 }, wrap);
    let end = end.map(wrap).unwrap_or(if step > 0 { length } else { -1 });
    let (low, high) = if step > 0 { (0, length) } else { (-1, length - 1) };
    let (mut position, end) = (begin.clamp(low, high), end.clamp(low, high));
    let mut taken = Vec::new();
    while if step > 0 { position < end } else { position > end } {
        taken.push(position as usize);
        position += step;
    }
    taken
}

fn range() -> impl Strategy<Value = (Option<i64>, Option<i64>, i64)> {
    let step = prop_oneof![Just(1i64), Just(2), Just(-1), Just(-2)];
    (prop::option::of(-6..7i64), prop::option::of(-6..7i64), step)
}

proptest! {
    #[test]
    fn encodings_of_a_partition_agree(rows in rows()) {
        let flat = rows.concat();
        let rt = ragged(&rows);
        prop_assert_eq!(rt.to_string(), text(&rows));
        let splits = rt.row_splits().clone();
        prop_assert_eq!(&RaggedTensor::from_row_splits(flat.clone(), &splits).unwrap(), &rt);
        prop_assert_eq!(&RaggedTensor::from_row_starts(flat.clone(), rt.row_starts()).unwrap(), &rt);
        prop_assert_eq!(&RaggedTensor::from_row_limits(flat.clone(), rt.row_limits()).unwrap(), &rt);
        let nrows = Some(rows.len());
        prop_assert_eq!(&RaggedTensor::from_value_rowids(flat.clone(), rt.value_rowids(), nrows).unwrap(), &rt);
        let narrow = rt.with_row_splits_dtype(shapeflow::DType::I32).unwrap();
        prop_assert_eq!(narrow.to_string(), rt.to_string());
        prop_assert_eq!(&narrow.with_row_splits_dtype(shapeflow::DType::I64).unwrap(), &rt);
        let ids: Vec<i64> =
            rows.iter().enumerate().flat_map(|(id, row)| vec![id as i64; row.len()]).collect();
        prop_assert_eq!(rt.value_rowids().to_vec::<i64>().unwrap(), ids);
    }

    #[test]
    fn nested_constructors_equal_their_unrolled_form(deep in deep_rows()) {
        let rt = ragged3(&deep);
        prop_assert_eq!(rt.to_string(), text(&deep));
        let flat = deep.concat().concat();
        let owned = |tensors: Vec<&Tensor>| tensors.into_iter().cloned().collect::<Vec<Tensor>>();
        let splits = owned(rt.nested_row_splits());
        let lengths = owned(rt.nested_row_lengths());
        let rowids = owned(rt.nested_value_rowids());
        let nrows = [deep.len(), deep.concat().len()];
        prop_assert_eq!(&RaggedTensor::from_nested_row_splits(flat.clone(), &splits).unwrap(), &rt);
        prop_assert_eq!(&RaggedTensor::from_nested_row_lengths(flat.clone(), &lengths).unwrap(), &rt);
        prop_assert_eq!(&RaggedTensor::from_nested_value_rowids(flat, &rowids, &nrows).unwrap(), &rt);
        if !deep.concat().concat().is_empty() {
            prop_assert_eq!(&RaggedTensor::from_nested(deep).unwrap(), &rt);
        }
    }

    #[test]
    fn dense_tensors_hold_every_row_and_its_padding(rows in rows()) {
        let rt = ragged(&rows);
        let dense = rt.to_tensor_with(&Tensor::scalar(77), &[]).unwrap();
        let width = rows.iter().map(Vec::len).max().unwrap_or(0);
        let mut expected = Vec::new();
        for row in &rows {
            expected.extend(row);
            expected.extend(vec![77; width - row.len()]);
        }
        prop_assert_eq!(dense.sizes(), &[rows.len(), width]);
        prop_assert_eq!(dense.to_vec::<i32>().unwrap(), expected);
        prop_assert_eq!(&RaggedTensor::from_tensor_lengths(&dense, rt.row_lengths()).unwrap(), &rt);
        prop_assert_eq!(&RaggedTensor::from_tensor_padding(&dense, &Tensor::scalar(77)).unwrap(), &rt);
    }

    #[test]
    fn deep_dense_tensors_hold_every_element(deep in deep_rows()) {
        let dense = ragged3(&deep).to_tensor_with(&Tensor::scalar(77), &[None, Some(2), Some(3)]).unwrap();
        prop_assert_eq!(dense.sizes(), &[deep.len(), 2, 3]);
        let elements = dense.to_vec::<i32>().unwrap();
        for (place, element) in elements.into_iter().enumerate() {
            let item = deep[place / 6].get(place / 3 % 2).and_then(|row| row.get(place % 3));
            prop_assert_eq!(element, item.copied().unwrap_or(77));
        }
    }

    #[test]
    fn nested_lengths_cut_dense_tensors_back(deep in deep_rows(), narrow in any::<bool>()) {
        let dtype = if narrow { shapeflow::DType::I32 } else { shapeflow::DType::I64 };
        let rt = ragged3(&deep).with_row_splits_dtype(dtype).unwrap();
        let sizes = [None, Some(6), Some(7)];
        let dense = rt.to_tensor_with(&Tensor::scalar(77), &sizes).unwrap();
        let lengths: Vec<Tensor> = rt.nested_row_lengths().into_iter().cloned().collect();
        prop_assert_eq!(&RaggedTensor::from_tensor_nested_lengths(&dense, &lengths).unwrap(), &rt);
        let outer = RaggedTensor::from_tensor_nested_lengths(&dense, &lengths[..1]).unwrap();
        prop_assert_eq!(outer.row_lengths(), rt.row_lengths());
    }

    #[test]
    fn sparse_tensors_round_trip(rows in rows()) {
        let rt = ragged(&rows);
        let sparse = rt.to_sparse().unwrap();
        prop_assert_eq!(sparse.indices.sizes(), &[rows.concat().len(), 2]);
        prop_assert_eq!(RaggedTensor::from_sparse(&sparse).unwrap(), rt);
    }

    #[test]
    fn slices_equal_slices_of_nested_lists(deep in deep_rows(), a in range(), b in range(), c in range()) {
        let rt = ragged3(&deep);
        let item = |(begin, end, step): (Option<i64>, Option<i64>, i64)| {
            SliceItem::Range(begin.map(Into::into), end.map(Into::into), step)
        };
        let pick = |length: usize, (begin, end, step)| python_range(length as i64, begin, end, step);
        let expected: Vec<Rows> = pick(deep.len(), a)
            .into_iter()
            .map(|i| {
                let rows = &deep[i];
                let row = |j: usize| pick(rows[j].len(), c).into_iter().map(|k| rows[j][k]).collect();
                pick(rows.len(), b).into_iter().map(row).collect()
            })
            .collect();
        let got = rt.slice_with(&[item(a), item(b), item(c)]).unwrap();
        prop_assert_eq!(got.to_string(), text(&expected));
        for (i, rows) in deep.iter().enumerate() {
            prop_assert_eq!(rt.row(i as i64).unwrap().to_string(), text(rows));
            let got = rt.slice_with(&[SliceItem::at(i as i64), item(b)]).unwrap();
            let picked: Rows = pick(rows.len(), b).into_iter().map(|j| rows[j].clone()).collect();
            prop_assert_eq!(got.to_string(), text(&picked));
            for (j, row) in rows.iter().enumerate() {
                prop_assert_eq!(rt.at(i as i64, j as i64).unwrap().to_string(), text(row));
            }
        }
    }

    #[test]
    fn merged_axes_are_concatenated_lists(deep in deep_rows()) {
        let rt = ragged3(&deep);
        prop_assert_eq!(rt.merge_dims(0, 1).unwrap().to_string(), text(&deep.concat()));
        let joined: Rows = deep.iter().map(|rows| rows.concat()).collect();
        prop_assert_eq!(rt.merge_dims(1, -1).unwrap().to_string(), text(&joined));
        prop_assert_eq!(rt.merge_dims(0, 2).unwrap().to_string(), text(&deep.concat().concat()));
        let split = RaggedTensor::from_uniform_row_length(rt.clone(), 1, None).unwrap();
        prop_assert_eq!(split.merge_dims(0, 1).unwrap(), RaggedItem::Ragged(rt));
    }

    #[test]
    fn unchecked_splits_never_leave_the_values(
        splits in prop::collection::vec(-5..9i64, 1..6), narrow in any::<bool>()
    ) {
        let tensor = match narrow {
            true => Tensor::from(splits.iter().map(|&split| split as i32).collect::<Vec<_>>()),
            false => Tensor::from(splits.clone()),
        };
        let partition = RowPartition::from_row_splits(shapeflow::Unchecked(&tensor), 4).unwrap();
        partition.row_lengths();
        partition.value_rowids();
        let unchecked = shapeflow::Unchecked(tensor);
        let rt = RaggedTensor::from_row_splits([1, 2, 3, 4], unchecked).unwrap();
        prop_assert!(rt.to_string().starts_with('['));
        rt.to_tensor().unwrap();
        rt.slice_with(&[SliceItem::All, (1..).into()]).unwrap();
        let is_right = splits[0] == 0
            && splits.windows(2).all(|pair| pair[0] <= pair[1])
            && splits.last() == Some(&4);
        prop_assert_eq!(RowPartition::from_row_splits(splits, 4).is_ok(), is_right);
    }
}

#[test]
fn new_axes_are_uniform() {
    let rt = shapeflow::ragged![[1, 2], [], [3]];
    let new = SliceItem::NewAxis;
    for (items, shape, elements) in [
        (vec![new.clone()], "[1, 3, ?]", "[[[1, 2], [], [3]]]"),
        (vec![SliceItem::All, new.clone()], "[3, 1, ?]", "[[[1, 2]], [[]], [[3]]]"),
        (vec![SliceItem::Rest, new.clone()], "[3, ?, 1]", "[[[1], [2]], [], [[3]]]"),
    ] {
        let got = rt.slice_with(&items).unwrap().ragged().unwrap();
        assert_eq!((got.shape().to_string().as_str(), got.to_string().as_str()), (shape, elements));
    }
}

/// Variants, whose elements are lists of tensors, have no ragged form.
#[test]
fn every_dtype_moves_rows() {
    for dtype in shapeflow::DType::all().filter(|dtype| *dtype != shapeflow::DType::Variant) {
        let flat = Tensor::zeros(dtype, &[5, 2]).unwrap();
        let rt = RaggedTensor::from_row_lengths(&flat, [2i64, 0, 3]).unwrap();
        assert_eq!(rt.shape().to_string(), "[3, ?, 2]");
        assert_eq!(rt.to_tensor().unwrap().sizes(), [3, 3, 2]);
        assert_eq!(rt.slice_with(&[SliceItem::from(..).step(-1)]).unwrap().ragged().unwrap().nrows(), 3);
        assert_eq!(rt.to_sparse().unwrap().indices.sizes(), [10, 3]);
        assert_eq!(
            rt.merge_dims(1, 2).unwrap().ragged().unwrap().row_lengths().to_vec::<i64>().unwrap(),
            [4, 0, 6]
        );
    }
}

#[test]
fn strings_are_padded() {
    let words = Tensor::from_strings(&[3], &["a", "bc", "d"]).unwrap();
    let rt = RaggedTensor::from_row_lengths(&words, [1i64, 2]).unwrap();
    let dense = rt.to_tensor_with(&Tensor::from_strings(&[], &["-"]).unwrap(), &[]).unwrap();
    assert_eq!(dense, Tensor::from_strings(&[2, 2], &["a", "-", "bc", "d"]).unwrap());
    assert_eq!(rt.to_string(), "[[\"a\"], [\"bc\", \"d\"]]");
}

#[test]
fn nested_lists_round_trip() {
    let rt = shapeflow::ragged![[[1, 2], []], [], [[3]]];
    let nested: Nested<i32> = rt.to_nested().unwrap();
    assert_eq!(RaggedTensor::from_nested(nested).unwrap(), rt);
    let pairs = RaggedTensor::from_row_lengths([[1, 2], [3, 4]], [0i64, 2]).unwrap();
    assert_eq!(format!("{:?}", pairs.to_nested::<i32>().unwrap()).matches("Item").count(), 4);
}
