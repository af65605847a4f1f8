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
        let error = error(refused);
        assert!(error.message().ends_with(&format!(": {name} must be i32 or i64, got f32")), "{error}");
    }
    let error = error(RaggedValue::from_tensor_lengths(values, matrix));
    assert_eq!(error.message(), "from_tensor_lengths: lengths must be a vector, got [2, 1]");
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

/// Checks that a refused call leaves the graph as it was, and that its error names `op` and has a line of this file.
#[track_caller]
fn check_refused<T>(g: &Graph, op: &str, call: impl FnOnce() -> Result<T>) {
    let before = g.to_string();
    let error = error(call());
    assert_eq!(error.op(), Some(op), "{error}");
    assert!(error.location().is_some_and(|location| location.file() == file!()), "{error}");
    assert_eq!(g.to_string(), before, "after {error}");
}

#[test]
fn refused_calls_leave_the_graph_as_it_was() -> Result<()> {
    let g = Graph::new();
    let x = g.ragged_input("x", DType::F32, "rows", shape![])?;
    let ints = g.ragged_input("ints", DType::I32, "rows", shape![])?;
    let deep = g.ragged_input("deep", DType::F32, 2, shape![3])?;
    let texts = g.ragged_input("texts", DType::String, 1, shape![])?;
    let v = g.input("v", DType::F32, shape!["n"])?;
    let ids = g.input("ids", DType::I64, shape!["n"])?;
    let table = g.input("table", DType::F32, shape!["n", 4])?;
    let pairs = g.constant([[0i64, 0, 0]])?;
    let none: [RaggedValue<'_>; 0] = [];
    check_refused(&g, "sort", || texts.sort(1, false));
    check_refused(&g, "sort", || texts.sort(0, false));
    check_refused(&g, "sort", || x.sort(4, false));
    check_refused(&g, "argsort", || texts.argsort(1, true));
    check_refused(&g, "cumsum", || texts.cumsum(1));
    check_refused(&g, "cumsum", || texts.cumsum(0));
    check_refused(&g, "top_k", || x.top_k(-1, 1));
    check_refused(&g, "top_k", || texts.top_k(1, 1));
    check_refused(&g, "top_k", || deep.top_k(1, 0));
    check_refused(&g, "softmax", || ints.softmax(1));
    check_refused(&g, "argmax", || texts.argmax(0));
    check_refused(&g, "reduce_any", || x.reduce_any(1));
    check_refused(&g, "reduce_any", || x.reduce_any(0));
    check_refused(&g, "reduce_sum", || texts.reduce_sum(0));
    check_refused(&g, "reduce_sum", || x.reduce_sum([1, 1]));
    check_refused(&g, "concat", || RaggedValue::concat(&[x, ints], 0));
    check_refused(&g, "concat", || RaggedValue::concat(&[x, deep], 0));
    check_refused(&g, "concat", || RaggedValue::concat(&[x, x], 7));
    check_refused(&g, "concat", || RaggedValue::concat(&[v, v], 0));
    check_refused(&g, "concat", || RaggedValue::concat(&none, 0));
    check_refused(&g, "stack", || RaggedValue::stack(&[v, v], 1));
    check_refused(&g, "gather", || x.gather(ids, 9));
    check_refused(&g, "gather", || x.gather(v, 0));
    check_refused(&g, "gather_batched", || x.gather_batched(ids, 1, 3));
    check_refused(&g, "gather_nd", || x.gather_nd(pairs));
    check_refused(&g, "slice_with", || x.slice_with(&[SliceItem::from(..), (..).into(), (..).into()]));
    check_refused(&g, "slice_with", || x.slice_with(&[SliceItem::from(..).step(0)]));
    check_refused(&g, "slice_with", || x.slice_with(&[SliceItem::Rest, SliceItem::Rest]));
    check_refused(&g, "slice_with", || x.slice_with(&[SliceItem::from(..), SliceItem::at(0)]));
    check_refused(&g, "boolean_mask", || x.boolean_mask(x));
    let deep_mask = deep.greater(0.0)?;
    check_refused(&g, "boolean_mask", || x.boolean_mask(deep_mask));
    check_refused(&g, "to_tensor_with", || x.to_tensor_with(0.0, [-1, 2, 3]));
    check_refused(&g, "to_tensor_with", || x.to_tensor_with(0.0, [-1, -2]));
    check_refused(&g, "from_tensor", || RaggedValue::from_tensor(table, 5));
    check_refused(&g, "from_tensor_lengths", || RaggedValue::from_tensor_lengths(table, v));
    check_refused(&g, "from_row_splits", || RaggedValue::from_row_splits(v, table));
    check_refused(&g, "from_row_starts", || RaggedValue::from_row_starts(v, v));
    check_refused(&g, "from_uniform_row_length", || RaggedValue::from_uniform_row_length(v, -1, None));
    check_refused(&g, "merge_dims", || x.merge_dims(1, 0));
    check_refused(&g, "expand_dims", || x.expand_dims(9));
    check_refused(&g, "tile", || x.tile([1]));
    check_refused(&g, "reverse", || x.reverse(3));
    check_refused(&g, "transpose", || x.transpose([1, 1]));
    check_refused(&g, "unsorted_segment_sum", || x.unsorted_segment_sum(v, 3));
    check_refused(&g, "unsorted_segment_sum", || x.unsorted_segment_sum(ids, -3));
    check_refused(&g, "stack_dynamic_partitions", || RaggedValue::stack_dynamic_partitions(x, v, 3));
    check_refused(&g, "one_hot", || x.one_hot(3, 1.0f32, 0.0f32, -1));
    check_refused(&g, "one_hot", || ints.one_hot(3, 1.0f32, 0.0f32, 0));
    check_refused(&g, "range", || RaggedValue::range(v, ids, v));
    check_refused(&g, "select", || x.select(x, x));
    check_refused(&g, "select_rows", || x.select_rows(ids, x));
    check_refused(&g, "pad", || x.pad(&[[0, 1], [0, 0]]));
    check_refused(&g, "add", || x.add(deep));
    check_refused(&g, "add", || x.add(ints));
    check_refused(&g, "with_row_splits_dtype", || x.with_row_splits_dtype(DType::F32));
    check_refused(&g, "bincount", || deep.bincount(3, false));
    check_refused(&g, "fill_empty_rows", || deep.fill_empty_rows(0.0));
    Ok(())
}

#[cfg(feature = "strings")]
#[test]
fn refused_string_calls_leave_the_graph_as_it_was() -> Result<()> {
    let g = Graph::new();
    let texts = g.ragged_input("texts", DType::String, 1, shape![])?;
    let ints = g.ragged_input("ints", DType::I32, 1, shape![])?;
    check_refused(&g, "regex_replace", || texts.regex_replace("(", ""));
    check_refused(&g, "regex_full_match", || texts.regex_full_match("["));
    check_refused(&g, "string_length", || texts.string_length("LINE"));
    check_refused(&g, "substr", || texts.substr(0, 1, "LINE"));
    check_refused(&g, "string_to_number", || texts.string_to_number(DType::Bool));
    check_refused(&g, "hash_bucket", || texts.hash_bucket(0));
    check_refused(&g, "decode_raw", || texts.decode_raw(DType::String));
    check_refused(&g, "unicode_decode", || texts.unicode_decode("LATIN"));
    check_refused(&g, "unicode_transcode", || texts.unicode_transcode("LATIN", "UTF-8"));
    check_refused(&g, "unicode_encode", || texts.unicode_encode("UTF-8"));
    check_refused(&g, "reduce_join", || ints.reduce_join(1, ""));
    check_refused(&g, "string_join", || RaggedValue::string_join(&[texts.into(), ints.into()], ""));
    check_refused(&g, "string_format", || RaggedValue::string_format("{} {}", &[texts.into()]));
    check_refused(&g, "string_split", || ints.string_split("", -1));
    Ok(())
}
