//! Values of several ranks and numbers of partitions beside each other: operands, joined values, matrices, and
//! partitions.

use shapeflow::{AnyValue, DType, Graph, RaggedValue, Result, Tensor, ragged, shape};

/// Runs a graph of one result without inputs.
fn text<'g>(value: impl Into<AnyValue<'g>>) -> Result<String> {
    let value = value.into();
    let results = value.graph().compile(value)?.run_named(&[])?;
    Ok(results.items()?[0].1.to_string())
}

fn message<T>(result: Result<T>) -> String {
    result.err().expect("the call is refused").message().to_string()
}

#[test]
fn operands_of_other_ranks_are_refused() -> Result<()> {
    let g = Graph::new();
    let r = g.ragged_constant(&ragged![[1.0, 2.0], [3.0]])?;
    let column = r.expand_dims(2)?;
    let wide = r.map_flat_values(|flat| flat.expand_dims(1)?.tile([1, 3]))?;
    let expected =
        "add(f64[2, (r0)]): ragged operands must have the same rank, got [2, (r0)] and [2, (r0), 1]";
    assert_eq!(message((r + column).ok()), expected);
    assert!(message((r * wide).ok()).contains(": ragged operands must have the same rank"));
    assert!(message((column - r).ok()).contains(": ragged operands must have the same rank"));
    for refused in [
        r.atan2(column),
        r.complex(column),
        r.next_after(column),
        r.betainc(r, column),
        r.greater(0.0)?.select(column, column),
        r.greater(0.0)?.select(r, column),
        RaggedValue::add_n(&[r, column]),
    ] {
        let got = message(refused);
        assert!(got.contains(": ragged operands must have the same rank"), "{got}");
    }
    // Axes of size 1 of one rank broadcast.
    assert_eq!(text((column * wide).ok()?)?, "[[[1.0, 1.0, 1.0], [4.0, 4.0, 4.0]], [[9.0, 9.0, 9.0]]]");
    Ok(())
}

#[test]
fn data_and_partitions_have_the_same_axes() -> Result<()> {
    let g = Graph::new();
    let stacked = |data: AnyValue<'_>, partitions: AnyValue<'_>| -> Result<String> {
        text(RaggedValue::stack_dynamic_partitions(data, partitions, 2)?)
    };
    let (four, three) = (g.constant([1, 2, 3, 4])?, g.constant([0, 1, 0])?);
    let got = message(stacked(four.into(), three.into()));
    assert_eq!(
        got,
        "stack_dynamic_partitions: the number of partitions must be the number of items of data, 4, got 3"
    );
    let rows = g.ragged_constant(&ragged![[1, 2], [3], [], [4]])?;
    assert!(stacked(rows.into(), three.into()).is_err());
    assert_eq!(stacked(rows.into(), g.constant([0, 1, 0, 1])?.into())?, "[[[1, 2], []], [[3], [4]]]");
    // A scalar is the partition of all data.
    assert_eq!(stacked(three.into(), g.constant(1)?.into())?, "[[], [[0, 1, 0]]]");
    assert_eq!(stacked(rows.into(), g.constant(0)?.into())?, "[[[[1, 2], [3], [], [4]]], []]");
    // Dense data beside ragged partitions, and the other way round.
    let (square, pairs) = (g.constant([[1, 2], [3, 4]])?, g.ragged_constant(&ragged![[0, 1], [1, 1]])?);
    assert_eq!(stacked(square.into(), pairs.into())?, "[[1], [2, 3, 4]]");
    assert_eq!(stacked(pairs.into(), square.minimum(1)?.into())?, "[[], [0, 1, 1, 1]]");
    assert!(stacked(square.into(), g.ragged_constant(&ragged![[0], [1, 1, 0]])?.into()).is_err());
    // Only a run knows the sizes.
    let g = Graph::new();
    let data = g.input("data", DType::I64, shape![?, ?])?;
    let partitions = g.input("partitions", DType::I64, shape![?, ?])?;
    let exe = g.compile([("y", RaggedValue::stack_dynamic_partitions(data, partitions, 2)?)])?;
    let run = |partitions: Tensor| {
        let data = Tensor::from([[1i64, 2, 3], [4, 5, 6]]);
        exe.feed("data", &data).feed("partitions", &partitions).run()?.ragged("y")
    };
    assert_eq!(run(Tensor::from([[0i64, 1, 0], [1, 1, 1]]))?.to_string(), "[[1, 3], [2, 4, 5, 6]]");
    assert!(run(Tensor::from([[0i64, 1], [0, 1], [1, 1]])).is_err());
    Ok(())
}

#[test]
fn ragged_rows_are_split_into_parts() -> Result<()> {
    let g = Graph::new();
    let rows = g.ragged_constant(&ragged![[1, 2], [3], [], [4]])?;
    let parts = rows.dynamic_partition(g.constant([1, 0, 1, 0])?, 3)?;
    let got: Vec<String> = parts.into_iter().map(|part| text(part).unwrap()).collect();
    assert_eq!(got, ["[[3], [4]]", "[[1, 2], []]", "[]"]);
    let items = rows.dynamic_partition(rows.floormod(2)?, 2)?;
    assert_eq!([text(items[0])?, text(items[1])?], ["[2, 4]", "[1, 3]"]);
    assert!(rows.dynamic_partition(rows, 0).is_err());
    assert!(rows.dynamic_partition(rows.cast(DType::F32)?, 2).is_err());
    // A partition of no part fails the run.
    assert!(text(rows.dynamic_partition(g.constant([0, 1, 2, 0])?, 2)?[0]).is_err());
    Ok(())
}

#[test]
fn values_of_several_numbers_of_partitions_are_joined() -> Result<()> {
    let g = Graph::new();
    let rows = g.ragged_constant(&ragged![[1, 2], [3]])?;
    let square = g.constant([[7, 8], [9, 10]])?;
    let values = [AnyValue::from(rows), square.into()];
    assert_eq!(text(RaggedValue::concat(&values, 0)?)?, "[[1, 2], [3], [7, 8], [9, 10]]");
    assert_eq!(text(RaggedValue::concat(&values, 1)?)?, "[[1, 2, 7, 8], [3, 9, 10]]");
    assert_eq!(text(RaggedValue::stack(&values, 0)?)?, "[[[1, 2], [3]], [[7, 8], [9, 10]]]");
    let narrow = [AnyValue::from(rows.with_row_splits_dtype(DType::I32)?), square.into()];
    assert_eq!(RaggedValue::concat(&narrow, 0)?.row_splits().dtype(), DType::I32);
    let deep = g.ragged_constant(&ragged![[[1, 2], [3]], [[4, 5]]])?;
    let pairs = RaggedValue::from_row_lengths(g.constant([[6, 7], [8, 9]])?, g.constant([0i64, 2])?)?;
    assert_eq!(text(RaggedValue::concat(&[pairs, deep], 1)?)?, "[[[1, 2], [3]], [[6, 7], [8, 9], [4, 5]]]");
    let vectors = [g.constant([1, 2, 3])?, g.constant([4])?];
    assert_eq!(text(RaggedValue::stack(&vectors, 0)?)?, "[[1, 2, 3], [4]]");
    assert!(RaggedValue::stack(&vectors, 1).is_err() && RaggedValue::concat(&vectors, 0).is_err());
    let got = message(RaggedValue::concat(&[AnyValue::from(rows), vectors[0].into()], 0));
    assert_eq!(got, "concat: joined values must have one known rank, got 2 and 1");
    Ok(())
}

#[test]
fn matrices_of_any_rank_are_multiplied() -> Result<()> {
    let g = Graph::new();
    let x = g.ragged_constant(&ragged![[1.0, 2.0], [3.0, 4.0]])?;
    let column = g.constant([[1.0], [10.0]])?;
    assert_eq!(text(x.matmul(x)?)?, "[[7.0, 10.0], [15.0, 22.0]]");
    assert_eq!(text(x.matmul(column)?)?, "[[21.0], [43.0]]");
    assert_eq!(text(x.matmul_transposed(x, false, true)?)?, "[[5.0, 11.0], [11.0, 25.0]]");
    let uneven = g.ragged_constant(&ragged![[1.0, 2.0], [3.0]])?;
    let got = message(text(uneven.matmul(column)?));
    assert!(got.contains("the rows of a matrix must have one length"), "{got}");
    // Two batch axes, of which the first is ragged.
    let batch = g.ragged_constant(&ragged![[[[1.0, 2.0]], [[3.0, 4.0], [5.0, 6.0]]], [], [[[7.0, 8.0]]]])?;
    let scores = batch.matmul_transposed(batch, false, true)?;
    assert_eq!(text(scores)?, "[[[[5.0]], [[25.0, 39.0], [39.0, 61.0]]], [], [[[113.0]]]]");
    let other = g.ragged_constant(&ragged![[[[1.0], [2.0]]], [], [[[3.0], [4.0]], [[5.0], [6.0]]]])?;
    assert!(text(batch.matmul(other)?).is_err());
    let dense = g.constant(Tensor::from([[[[1.0, 2.0]], [[3.0, 4.0]]]]))?;
    let rows = RaggedValue::from_tensor(dense, 1)?;
    assert_eq!(text(rows.matmul_transposed(dense, false, true)?)?, "[[[[5.0]], [[25.0]]]]");
    assert_eq!(
        message(batch.matmul(x)),
        "matmul(f64[3, (r0), (r1), (r2)]): multiplied matrices must have one rank, got 4 and 2"
    );
    Ok(())
}

/// As TensorFlow.
#[test]
fn axes_of_size_1_are_repeated() -> Result<()> {
    let g = Graph::new();
    let one = g.ragged_constant(&ragged![[1, 2, 3]])?;
    let (uneven, even) =
        (g.ragged_constant(&ragged![[1, 2, 3], [4]])?, g.ragged_constant(&ragged![[1, 2, 3], [4, 5, 6]])?);
    let column = g.constant([[10], [20]])?;
    assert_eq!(text((one + column).ok()?)?, "[[11, 12, 13], [21, 22, 23]]");
    assert_eq!(text((column - one).ok()?)?, "[[9, 8, 7], [19, 18, 17]]");
    assert_eq!(text((one + g.constant([[1, 2, 3], [4, 5, 6]])?).ok()?)?, "[[2, 4, 6], [5, 7, 9]]");
    assert_eq!(text((one + g.constant([1, 2, 3])?).ok()?)?, "[[2, 4, 6]]");
    assert_eq!(text((one + even).ok()?)?, "[[2, 4, 6], [5, 7, 9]]");
    assert_eq!(text((even - one).ok()?)?, "[[0, 0, 0], [3, 3, 3]]");
    assert!(text((one + uneven).ok()?).is_err());
    let uniform = RaggedValue::from_uniform_row_length(g.constant([100, 200])?, 1, None)?;
    assert_eq!(text((uniform + uneven).ok()?)?, "[[101, 102, 103], [204]]");
    assert_eq!(text((uneven - uniform).ok()?)?, "[[-99, -98, -97], [-196]]");
    assert_eq!(text((uniform + g.constant([[1, 2], [3, 4]])?).ok()?)?, "[[101, 102], [203, 204]]");
    assert!((uniform + g.ragged_constant(&ragged![[1], [2], [3]])?).ok().is_err());
    // Both operands are repeated.
    assert_eq!(text((one + uniform).ok()?)?, "[[101, 102, 103], [201, 202, 203]]");
    let deep = g.ragged_constant(&ragged![[[1, 2], [3]]])?;
    let two = g.ragged_constant(&ragged![[[1, 2], [3]], [[5, 6], [7]]])?;
    assert_eq!(text((deep + two).ok()?)?, "[[[2, 4], [6]], [[6, 8], [10]]]");
    assert_eq!(text((deep + g.constant([[[10]], [[20]]])?).ok()?)?, "[[[11, 12], [13]], [[21, 22], [23]]]");
    let middle = RaggedValue::from_row_lengths(uniform, g.constant([1i64, 1])?)?;
    let wide = g.ragged_constant(&ragged![[[1, 2]], [[3, 4, 5]]])?;
    assert_eq!(text((middle + wide).ok()?)?, "[[[101, 102]], [[203, 204, 205]]]");
    // Only a run knows the sizes.
    let g = Graph::new();
    let (rows, dense) =
        (g.ragged_input("rows", DType::I64, "n", shape![])?, g.input("dense", DType::I64, shape!["m", 1])?);
    let one = g.ragged_constant(&ragged![[1i64, 2]])?;
    let exe = g.compile([("rows", (rows * one).ok()?), ("dense", (one * dense).ok()?)])?;
    let dense = Tensor::from([[3i64], [4], [5]]);
    let got = exe.feed("rows", &ragged![[1i64, 1], [2, 2]]).feed("dense", &dense).run()?;
    assert_eq!(got.ragged("rows")?.to_string(), "[[1, 2], [2, 4]]");
    assert_eq!(got.ragged("dense")?.to_string(), "[[3, 6], [4, 8], [5, 10]]");
    assert!(exe.feed("rows", &ragged![[1i64, 1], [2]]).feed("dense", &dense).run().is_err());
    Ok(())
}
