//! Constructors of ragged tensors and values: unchecked encodings, dtypes of row splits, strings, and joins of values
//! whose row splits only a run can compare.

use shapeflow::{
    AnyValue, DType, Dim, Error, ErrorKind, Graph, IntoNested, RaggedTensor, RaggedValue, Result, Tensor,
    Unchecked, ragged, shape,
};

/// Runs a graph of one ragged result without inputs.
fn result(rt: RaggedValue<'_>) -> Result<RaggedTensor> {
    rt.graph().compile([("y", rt)])?.run_named(&[])?.ragged("y")
}

fn error<T>(result: Result<T>) -> Error {
    result.err().expect("the call is refused")
}

#[test]
fn unchecked_encodings_give_the_rows_of_checked_ones() -> Result<()> {
    let rows = ragged![[1, 2], [], [3, 4, 5]];
    let flat = rows.flat_values();
    let (splits, lengths) = (rows.row_splits(), rows.row_lengths());
    let (starts, limits, rowids) = (rows.row_starts(), rows.row_limits(), rows.value_rowids());
    for made in [
        RaggedTensor::from_row_splits(flat, Unchecked(splits))?,
        RaggedTensor::from_row_lengths(flat, Unchecked(lengths))?,
        RaggedTensor::from_row_starts(flat, Unchecked(starts))?,
        RaggedTensor::from_row_limits(flat, Unchecked(limits))?,
        RaggedTensor::from_value_rowids(flat, Unchecked(rowids), None)?,
        RaggedTensor::from_nested_row_splits(flat, &[Unchecked(splits)])?,
        RaggedTensor::from_nested_row_lengths(flat, &[Unchecked(lengths)])?,
        RaggedTensor::from_nested_value_rowids(flat, &[Unchecked(rowids)], &[3])?,
    ] {
        assert_eq!(made, rows);
    }
    let g = Graph::new();
    let constant = |tensor: &Tensor| g.constant(tensor).unwrap();
    let x = constant(flat);
    let [splits, lengths, starts, limits, rowids] = [splits, lengths, starts, limits, rowids].map(constant);
    for made in [
        RaggedValue::from_row_splits(x, Unchecked(splits))?,
        RaggedValue::from_row_lengths(x, Unchecked(lengths))?,
        RaggedValue::from_row_starts(x, Unchecked(starts))?,
        RaggedValue::from_row_limits(x, Unchecked(limits))?,
        RaggedValue::from_value_rowids(x, Unchecked(rowids), None)?,
        RaggedValue::from_nested_row_splits(x, &[Unchecked(splits)])?,
        RaggedValue::from_nested_row_lengths(x, &[Unchecked(lengths)])?,
        RaggedValue::from_nested_value_rowids(x, &[Unchecked(rowids)], &[])?,
        RaggedValue::from_row_starts(x, starts)?,
        RaggedValue::from_row_limits(x, limits)?,
        RaggedValue::from_nested_row_lengths(x, &[lengths])?,
        RaggedValue::from_nested_value_rowids(x, &[rowids], &[])?,
    ] {
        assert_eq!(result(made)?, rows);
    }
    Ok(())
}

/// TensorFlow 2.21 gives these results with `validate=False`.
#[test]
fn wrong_unchecked_encodings_give_results_as_in_tensorflow() -> Result<()> {
    let unordered = RaggedTensor::from_value_rowids([1, 2, 3], Unchecked([2i64, 0, 1]), Some(3))?;
    assert_eq!(unordered.to_string(), "[[1], [2], [3]]");
    let negative = RaggedTensor::from_row_lengths([1, 2, 3], Unchecked([2i64, -1, 2]))?;
    assert_eq!(negative.row_splits(), &Tensor::from([0i64, 2, 1, 3]));
    let g = Graph::new();
    let (x, rowids) = (g.constant([1, 2, 3])?, g.constant([2i64, 0, 1])?);
    assert_eq!(result(RaggedValue::from_value_rowids(x, Unchecked(rowids), None)?)?, unordered);
    let empty = g.constant(Vec::<i64>::new())?;
    let refused = error(result(RaggedValue::from_row_splits(x, Unchecked(empty))?));
    assert!(refused.message().contains("row_splits must have at least one element, got none"), "{refused}");
    Ok(())
}

#[test]
fn rows_of_uniform_length_must_hold_all_values() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n"])?;
    let pairs = RaggedValue::from_uniform_row_length(x, 2, None)?;
    let rows = RaggedValue::from_uniform_row_length(x, Dim::symbol("k"), Some(Dim::known(2)))?;
    let _ = g.input("k", DType::F32, shape!["k"])?;
    let none = RaggedValue::from_uniform_row_length(x, 0, None)?;
    let exe = g.compile((("pairs", pairs), ("rows", rows)))?;
    let run = |count: usize, length: usize| -> Result<[String; 2]> {
        let (x, k) = (Tensor::zeros(DType::F32, &[count])?, Tensor::zeros(DType::F32, &[length])?);
        let results = exe.feed("x", &x).feed("k", &k).run()?;
        Ok([results.ragged("pairs")?.shape().to_string(), results.ragged("rows")?.shape().to_string()])
    };
    assert_eq!(run(6, 3)?, ["[3, 2]", "[2, 3]"]);
    assert_eq!(run(0, 0)?, ["[0, 2]", "[2, 0]"]);
    assert!(error(run(3, 1)).message().contains("the number of values in"), "{:?}", run(3, 1));
    let refused = error(run(4, 3));
    assert!(refused.message().contains("the number of values in 2 rows of k must be"), "{refused}");
    let none = g.compile([("none", none)])?;
    let (x, one) = (Tensor::zeros(DType::F32, &[0])?, Tensor::zeros(DType::F32, &[1])?);
    assert_eq!(none.feed("x", &x).run()?.ragged("none")?.nrows(), 0);
    assert!(
        error(none.feed("x", &one).run()).message().contains("the number of values in 0 rows of 0 must be")
    );
    Ok(())
}

#[test]
fn dtypes_of_row_splits_do_not_mix() -> Result<()> {
    let g = Graph::new();
    let wide = g.ragged_input("wide", DType::I32, 1, shape![])?;
    let narrow = g.ragged_input_with_row_splits_dtype("narrow", DType::I32, 1, shape![], DType::I32)?;
    let i32_splits = g.constant([0, 2])?;
    let errors = [
        error((wide + narrow).ok()),
        error(RaggedValue::concat(&[wide, narrow], 0)),
        error(RaggedValue::concat(&[wide, narrow], 1)),
        error(wide.gather(narrow, 0)),
        error(RaggedValue::from_row_splits(wide, i32_splits)),
        error(wide.boolean_mask(narrow.greater(0)?)),
    ];
    for (number, error) in errors.iter().enumerate() {
        let message = "all row_splits must have one dtype, got i";
        assert!(error.message().contains(message), "{number}: {error}");
        assert_eq!(error.help(), Some("use with_row_splits_dtype to convert one of them"), "{number}");
    }
    Ok(())
}

#[test]
fn feeds_have_the_dtype_of_the_row_splits_of_their_input() -> Result<()> {
    let g = Graph::new();
    let x = g.ragged_input_with_row_splits_dtype("x", DType::F32, 2, shape![], DType::I32)?;
    let exe = g.compile([("y", (x * 2.0).ok()?)])?;
    let rows = ragged![[[1.0f32], []], [[2.0, 3.0]]];
    let narrow = rows.with_row_splits_dtype(DType::I32)?;
    for fed in [&rows, &narrow] {
        let y = exe.feed("x", fed).run()?.ragged("y")?;
        assert_eq!(
            (y.to_string().as_str(), y.row_splits_dtype()),
            ("[[[2.0], []], [[4.0, 6.0]]]", DType::I32)
        );
    }
    let parts = narrow.feeds("x");
    let views: Vec<_> = parts.iter().map(|(name, tensor)| (name.as_str(), tensor.view())).collect();
    assert_eq!(exe.run_named(&views)?.ragged("y")?.ragged_rank(), 2);
    let parts = rows.feeds("x");
    let views: Vec<_> = parts.iter().map(|(name, tensor)| (name.as_str(), tensor.view())).collect();
    let refused = error(exe.run_named(&views));
    assert!(refused.message().contains("i32") && refused.message().contains("i64"), "{refused}");
    let refused = error(g.ragged_input_with_row_splits_dtype("z", DType::F32, 1, shape![], DType::F32));
    assert!(refused.message().ends_with(": row_splits must be i32 or i64, got f32"), "{refused}");
    Ok(())
}

#[test]
fn a_run_compares_the_row_splits_of_values_that_are_joined_along_an_inner_axis() -> Result<()> {
    let g = Graph::new();
    let [a, b] = ["a", "b"].map(|name| g.ragged_input(name, DType::I32, 2, shape![]).unwrap());
    let joined = RaggedValue::concat(&[a, b], 2)?;
    let stacked = RaggedValue::stack(&[a, b], 3)?;
    let exe = g.compile((("joined", joined), ("stacked", stacked)))?;
    let rows = ragged![[[1], []], [[2, 3]]];
    let refused = error(exe.feed("a", &rows).feed("b", &ragged![[[4], [5]], [[6]]]).run());
    assert!(refused.message().contains("got 0 and 1 at row 1"), "{refused}");
    let exe_joined = g.compile([("joined", joined)])?;
    let got = exe_joined.feed("a", &rows).feed("b", &ragged![[[4], [5]], [[6]]]).run()?;
    assert_eq!(got.ragged("joined")?.to_string(), "[[[1, 4], [5]], [[2, 3, 6]]]");
    let got = exe.feed("a", &rows).feed("b", &(rows.with_flat_values([4, 5, 6])?)).run()?;
    assert_eq!(got.ragged("stacked")?.to_string(), "[[[[1, 4]], []], [[[2, 5], [3, 6]]]]");
    let refused = error(exe_joined.feed("a", &rows).feed("b", &ragged![[[4]], [[5], [6]]]).run());
    assert!(refused.message().contains("got 2 and 1 at row 0"), "{refused}");
    Ok(())
}

#[test]
fn rows_of_strings_are_elements_like_others() -> Result<()> {
    let g = Graph::new();
    let words = ragged![["a", "bc"], [], ["déf"]];
    assert_eq!(
        words,
        RaggedTensor::from_nested(vec![vec!["a".to_string(), "bc".into()], vec![], vec!["déf".into()]])?
    );
    let both = RaggedValue::concat(
        &[g.ragged_constant(&words)?, g.ragged_constant(&ragged![["x"], ["y"], []])?],
        1,
    )?;
    let got = result(both)?;
    assert_eq!(got.to_string(), "[[\"a\", \"bc\", \"x\"], [\"y\"], [\"déf\"]]");
    let nested = vec![vec!["a", "bc", "x"], vec!["y"], vec!["déf"]].into_nested();
    assert_eq!(got.to_nested::<String>()?, nested);
    assert_eq!(RaggedTensor::from_nested(nested)?, got);
    assert_eq!(error(words.to_nested::<i32>()).kind(), ErrorKind::DType);
    let bytes = RaggedTensor::from_row_lengths(&Tensor::from_strings(&[1], &[[255u8]])?, [1i64])?;
    let refused = error(bytes.to_nested::<String>());
    assert_eq!(refused.message(), "the strings of a nested list must be UTF-8, got [255] at position 0");
    let deep = g.compile([("deep", g.ragged_constant(&ragged![[["a"], []], []])?)])?;
    assert_eq!(deep.run_named(&[])?.ragged("deep")?.to_string(), "[[[\"a\"], []], []]");
    Ok(())
}

#[test]
fn lengths_of_dense_rows_must_fit() -> Result<()> {
    let g = Graph::new();
    let dense = Tensor::from([[[1, 2], [3, 4]], [[5, 6], [7, 8]]]);
    let x = g.constant(&dense)?;
    for (lengths, message) in [
        (vec![vec![1i64]], "there must be one length for each of 2 rows, got 1"),
        (vec![vec![1, 3]], "a length must be in [0, 2], got 3 at position 1"),
        (vec![vec![2, -1]], "a length must be in [0, 2], got -1 at position 1"),
        (vec![vec![1, 1], vec![1]], "there must be one length for each of 2 rows, got 1"),
        (vec![], "the number of vectors of lengths must be at least 1 and less than the rank 3, got 0"),
    ] {
        let lengths: Vec<Tensor> = lengths.into_iter().map(Tensor::from).collect();
        assert_eq!(error(RaggedTensor::from_tensor_nested_lengths(&dense, &lengths)).message(), message);
        let lengths = lengths.iter().map(|lengths| g.constant(lengths)).collect::<Result<Vec<_>>>()?;
        assert!(RaggedValue::from_tensor_nested_lengths(x, &lengths).and_then(result).is_err(), "{message}");
    }
    // TensorFlow refuses rows that are all shorter than an axis.
    let lengths = [Tensor::from([1, 1]), Tensor::from([2, 1])];
    let made = RaggedTensor::from_tensor_nested_lengths(&dense, &lengths)?;
    assert_eq!((made.to_string().as_str(), made.row_splits_dtype()), ("[[[1, 2]], [[5]]]", DType::I32));
    let lengths = [g.constant([1, 1])?, g.constant([2, 1])?];
    assert_eq!(result(RaggedValue::from_tensor_nested_lengths(x, &lengths)?)?, made);
    Ok(())
}

#[test]
fn a_mask_must_be_bool_and_have_the_first_axes_of_the_values() -> Result<()> {
    let g = Graph::new();
    let x = g.ragged_constant(&ragged![[1, 2], [3]])?;
    let refused = |mask: AnyValue<'_>| error(x.boolean_mask(mask)).message().to_string();
    assert_eq!(refused(x.into()), "boolean_mask: the mask must be bool, got i32");
    assert!(
        refused(g.constant(true)?.into())
            .starts_with("boolean_mask: the mask must have a known rank from 1 to")
    );
    assert!(
        refused(g.constant([[[true]]])?.into())
            .starts_with("boolean_mask: the mask must have a known rank from 1 to")
    );
    assert!(x.boolean_mask(g.constant([true])?).is_err());
    let other = g.ragged_input("other", DType::Bool, 1, shape![])?;
    let exe = g.compile([("y", x.boolean_mask(other)?)])?;
    let refused = error(exe.feed("other", &ragged![[true], [false, true]]).run());
    assert!(refused.message().contains("got 2 and 1 at row 0"), "{refused}");
    assert!(x.boolean_mask(g.constant([[true, false], [true, true]])?).is_err());
    Ok(())
}
