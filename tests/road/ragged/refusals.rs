//! Errors of builder calls on ragged values have the line of the program.

use shapeflow::{
    AnyValue, DType, Dim, Error, Graph, IntoParam, RaggedTensor, RaggedValue, Result, SliceItem, Unchecked,
    Value, ragged, shape,
};

/// Returns the error of a refused call.
fn error<T>(result: Result<T>) -> Error {
    result.err().expect("the call is refused")
}

#[test]
fn refused_calls_have_the_line_of_the_program() -> Result<()> {
    let g = Graph::new();
    let x = g.ragged_constant(&ragged![[1.0f32, 2.0], [], [4.0]])?;
    let deep = g.ragged_constant(&ragged![[[1.0f32], []], []])?;
    let dense = g.constant([1.0f32, 2.0])?;
    let table = g.constant([[1.0f32, 2.0], [3.0, 4.0]])?;
    let unranked = g.input("unranked", DType::F32, shape![..])?;
    let ids = g.constant([0i64, 1])?;
    let none: [RaggedValue<'_>; 0] = [];
    let wrong = RaggedTensor::from_row_splits([1, 2, 3], Unchecked([0i64, 9, 2]))?;
    let start = line!();
    let errors = [
        error(RaggedValue::from_tensor(dense, 0)),
        error(deep.matmul(table)),
        error(x.merge_rows()),
        error(x.with_values(dense)),
        error(x.with_row_splits_dtype(DType::F32)),
        error(x.row_lengths_along(5)),
        error(RaggedValue::from_sparse(ids, dense, ids)),
        error(RaggedValue::from_tensor_lengths(dense, ids)),
        error(RaggedValue::from_nested_value_rowids(dense, &[ids, ids], &[2.into_param()])),
        error(deep.fill_empty_rows(0.0)),
        error(x.gather_batched(g.ragged_constant(&ragged![[0i64]])?, 1, 1)),
        error(x.gather_nd(g.constant(0i64)?)),
        error(RaggedValue::from_uniform_row_length(dense, 0, None)),
        error(x.with_flat_values(dense)),
        error(x.reduce_sum(7)),
        error(x.reduce_sum([1, 1])),
        error(RaggedValue::from_row_splits(unranked, ids)),
        error(x.transpose([1, 1])),
        error(x.pad(&[[0, 0], [1, 0]])),
        error(x.slice(&[0], &[1])),
        error(x.unique()),
        error(x.merge_dims(0, 9)),
        error(x.squeeze([0])),
        error(x.split_n(2, 1)),
        error(RaggedValue::concat(&none, 0)),
        error(RaggedValue::stack(&none, 0)),
        error(RaggedValue::concat(&[x, deep], 0)),
        error(RaggedValue::concat(&[x, x], 4)),
        error(x.tile([0])),
        error(x.slice_with(&[SliceItem::from(..), SliceItem::from(..).step(0)])),
        error(x.top_k(-1, 1)),
        error(deep.bincount(3, false)),
        error(RaggedValue::stack_dynamic_partitions(dense, g.constant([0i64])?, 2)),
        error(x.to_tensor_with(0.0, [1, 2, 3, 4])),
        error(AnyValue::from(x).dense()),
        error(AnyValue::from(dense).ragged()),
        error((x + deep).ok()),
        error(x.pad(&[[0, 0]])),
        error(g.ragged_constant(&wrong)),
        error(g.ragged_input("rows", DType::F32, 0, shape![])),
        error(g.ragged_input("rows", DType::F32, Dim::known(-3), shape![])),
    ];
    let end = line!();
    for (number, error) in errors.iter().enumerate() {
        let location = error.location().unwrap_or_else(|| panic!("{number}: {error}"));
        assert!(location.file() == file!() && (start..end).contains(&location.line()), "{number}: {error}");
    }
    let lines: Vec<u32> = errors.iter().filter_map(Error::location).map(|location| location.line()).collect();
    assert!(lines.is_sorted(), "{lines:?}");
    // A refused call leaves no input behind.
    assert!(g.ragged_input("rows", DType::F32, 1, shape![]).is_ok());
    Ok(())
}

#[test]
fn wrong_encodings_have_their_name_in_the_message() -> Result<()> {
    let g = Graph::new();
    let (values, matrix) = (g.constant([[1, 2], [3, 4]])?, g.constant([[1i64], [1]])?);
    let floats = g.constant([1.0f32, 1.0])?;
    let refused = [
        ("row_splits", RaggedValue::from_row_splits(values, floats)),
        ("row_lengths", RaggedValue::from_row_lengths(values, floats)),
        ("row_starts", RaggedValue::from_row_starts(values, floats)),
        ("row_limits", RaggedValue::from_row_limits(values, floats)),
        ("value_rowids", RaggedValue::from_value_rowids(values, floats, None)),
        ("lengths", RaggedValue::from_tensor_lengths(values, floats)),
        ("lengths", RaggedValue::from_tensor_nested_lengths(values, &[floats])),
    ];
    for (name, refused) in refused {
        assert_eq!(error(refused).message(), format!("{name} must be i32 or i64, got f32"));
    }
    let error = error(RaggedValue::from_tensor_lengths(values, matrix));
    assert_eq!(error.message(), "lengths must be a vector, got [2, 1]");
    Ok(())
}

/// A function of the program that builds with ragged values.
fn first_of_rows<'g>(x: RaggedValue<'g>) -> Result<Value<'g>> {
    x.transpose([1, 1])?.to_tensor()
}

#[test]
fn a_refused_call_in_a_function_has_the_line_of_the_function() -> Result<()> {
    let g = Graph::new();
    let x = g.ragged_input("x", DType::F32, 1, shape![])?;
    let error = first_of_rows(x).unwrap_err();
    assert_eq!(error.location().map(|location| location.line()), Some(line!() - 8), "{error}");
    Ok(())
}
