//! A check of several values stands before each part of a result: a run fails whichever part it returns.

use shapeflow::{AnyValue, DType, Graph, RaggedTensor, RaggedValue, Result, Tensor, Value, ragged, shape};

/// Makes a ragged input whose rows have no known number.
fn unknown_rows<'g>(g: &'g Graph, name: &str) -> Result<RaggedValue<'g>> {
    let values = g.input(&format!("{name}_values"), DType::I64, shape![?])?;
    RaggedValue::from_row_splits(values, g.input(&format!("{name}_splits"), DType::I64, shape![?])?)
}

/// Returns each part of a value: its flat values, and the row splits, starts, limits, lengths and row ids of its
/// partitions.
fn parts<'g>(value: AnyValue<'g>) -> Result<Vec<Value<'g>>> {
    let mut parts = vec![value.flat_values()];
    let partitions = value.partitions();
    for (level, rows) in partitions.iter().enumerate() {
        parts.extend([rows.row_splits(), rows.row_starts()?, rows.row_limits()?, rows.row_lengths()?]);
        let inner = value.ragged()?.nested_value_rowids()?;
        parts.push(inner[level]);
    }
    Ok(parts)
}

type Op = for<'g> fn(RaggedValue<'g>, RaggedValue<'g>) -> Result<Vec<AnyValue<'g>>>;

/// Compiles each part of each result alone. The run must succeed for the first rows and fail for the second ones.
fn check(name: &str, op: Op, [a, b]: [&RaggedTensor; 2], wrong: &RaggedTensor) -> Result<()> {
    let g = Graph::new();
    let [x, y] = ["a", "b"].map(|name| unknown_rows(&g, name).unwrap());
    let results = op(x, y)?;
    for (number, result) in results.into_iter().enumerate() {
        for (part, value) in parts(result)?.into_iter().enumerate() {
            let exe = g.compile([("y", value)])?;
            let run = |b: &RaggedTensor| {
                let inputs: Vec<&str> = exe.inputs().iter().map(|input| input.name.as_str()).collect();
                let feeds = [
                    ("a_values", a.flat_values()),
                    ("a_splits", a.row_splits()),
                    ("b_values", b.flat_values()),
                    ("b_splits", b.row_splits()),
                ];
                let fed: Vec<_> = feeds
                    .into_iter()
                    .filter(|(name, _)| inputs.contains(name))
                    .map(|(name, tensor)| (name, tensor.view()))
                    .collect();
                exe.run_named(&fed)
            };
            assert!(run(b).is_ok(), "{name}, result {number}, part {part}: {:?}", run(b).err());
            assert!(run(wrong).is_err(), "{name}, result {number}, part {part}: {:?}", run(wrong).ok());
        }
    }
    Ok(())
}

#[test]
fn numbers_of_rows_are_compared_for_each_part() -> Result<()> {
    let (two, three) = (ragged![[0i64, 1], [1]], ragged![[0i64], [1], [0, 1]]);
    let ops: [(&str, Op); 6] = [
        ("cross_rows", |a, b| Ok(a.cross_rows(b)?.map(AnyValue::from).to_vec())),
        ("gather_batched", |a, b| Ok(vec![a.gather_batched(b.zeros_like()?, 1, 1)?])),
        ("concat", |a, b| Ok(vec![RaggedValue::concat(&[a, b], 1)?.into()])),
        ("stack", |a, b| Ok(vec![RaggedValue::stack(&[a, b], 1)?.into()])),
        ("unsorted_segment_sum", |a, b| Ok(vec![a.unsorted_segment_sum(b.row_lengths()?, 4)?])),
        ("matmul", |a, b| {
            let column = b.reduce_sum(1)?.dense()?.expand_dims(1)?.expand_dims(1)?;
            Ok(vec![a.expand_dims(2)?.matmul(column)?])
        }),
    ];
    for (name, op) in ops {
        check(name, op, [&two, &two], &three)?;
    }
    Ok(())
}

#[test]
fn row_splits_are_compared_for_each_part() -> Result<()> {
    let (rows, other) = (ragged![[0i64, 1], [1]], ragged![[0i64], [1, 1]]);
    let ops: [(&str, Op); 10] = [
        ("add", |a, b| Ok(vec![(a + b).ok()?.into()])),
        ("atan2", |a, b| Ok(vec![a.cast(DType::F64)?.atan2(b.cast(DType::F64)?)?.into()])),
        ("add_n", |a, b| Ok(vec![RaggedValue::add_n(&[a, a, b])?.into()])),
        ("select", |a, b| Ok(vec![a.greater(0)?.select(b, 1)?.into(), a.greater(0)?.select(a, b)?.into()])),
        ("shallow", |a, b| {
            let deep = a.expand_dims(2)?;
            let deep = RaggedValue::from_row_splits(
                RaggedValue::from_uniform_row_length(deep.flat_values().reshape([-1])?, 1, None)?,
                a.row_splits(),
            )?;
            Ok(vec![(deep + b.expand_dims(2)?).ok()?.into()])
        }),
        ("boolean_mask", |a, b| Ok(vec![a.boolean_mask(b.greater_equal(0)?)?.into()])),
        ("stack_dynamic_partitions", |a, b| Ok(vec![RaggedValue::stack_dynamic_partitions(a, b, 2)?.into()])),
        ("unsorted_segment_max", |a, b| Ok(vec![a.unsorted_segment_max(b, 2)?])),
        ("concat", |a, b| {
            let [a, b] = [a, b].map(|x| x.expand_dims(2).unwrap());
            Ok(vec![RaggedValue::concat(&[a, b], 2)?.into()])
        }),
        ("gather_batched", |a, b| {
            let zeros = b.zeros_like()?.expand_dims(2)?;
            Ok(vec![a.expand_dims(2)?.gather_batched(zeros, 2, 2)?])
        }),
    ];
    for (name, op) in ops {
        check(name, op, [&rows, &rows], &other)?;
    }
    Ok(())
}

#[test]
fn sizes_of_one_value_are_checked_for_each_part() -> Result<()> {
    let (two, three) = (ragged![[0i64], [1]], ragged![[0i64, 1], [1]]);
    let ops: [(&str, Op); 6] = [
        ("from_tensor_lengths", |a, b| {
            let dense = a.flat_values().reshape([-1, 1])?;
            Ok(vec![RaggedValue::from_tensor_lengths(dense, b.flat_values())?.into()])
        }),
        ("from_tensor_nested_lengths", |_, b| {
            let dense = b.graph().constant([[[5i64]], [[7]]])?;
            let [inner, one] = [b.flat_values(), b.row_lengths()?];
            Ok(vec![RaggedValue::from_tensor_nested_lengths(dense, &[one, inner])?.into()])
        }),
        ("from_sparse", |_, b| {
            let columns = b.row_lengths()? - 1;
            let rows = columns.ok()?.zeros_like()?;
            let rows = (rows + b.graph().constant([0i64, 1])?).ok()?;
            let indices = shapeflow::stack(&[rows, columns], 1)?;
            let shape = b.graph().constant([2i64, 2])?;
            Ok(vec![RaggedValue::from_sparse(indices, b.row_lengths()?, shape)?.into()])
        }),
        ("squeeze", |_, b| Ok(vec![b.expand_dims(0)?.squeeze([2])?])),
        ("from_uniform_row_length", |_, b| {
            Ok(vec![RaggedValue::from_uniform_row_length(b.flat_values(), 2, None)?.into()])
        }),
        ("dense", |a, b| Ok(vec![(a * b.flat_values().expand_dims(1)?).ok()?.into()])),
    ];
    for (name, op) in ops {
        check(name, op, [&two, &two], &three)?;
    }
    Ok(())
}

/// Encodings that a partition was made from are used again, after the run has checked them.
#[test]
fn kept_encodings_are_checked() -> Result<()> {
    type Constructor = for<'g> fn(Value<'g>, Value<'g>) -> Result<RaggedValue<'g>>;
    type Encoding = for<'g> fn(RaggedValue<'g>) -> Result<Value<'g>>;
    let cases: [(Constructor, Encoding, [i64; 2], [i64; 2]); 4] = [
        (|x, e| RaggedValue::from_row_lengths(x, e), |x| x.row_lengths(), [1, 2], [-1, 4]),
        (|x, e| RaggedValue::from_row_starts(x, e), |x| x.row_starts(), [0, 2], [1, 2]),
        (|x, e| RaggedValue::from_row_limits(x, e), |x| x.row_limits(), [1, 3], [1, 2]),
        (|x, e| RaggedValue::from_value_rowids(x, e, None), |x| x.value_rowids(), [0, 1], [1, 0]),
    ];
    for (number, (constructor, encoding, right, wrong)) in cases.into_iter().enumerate() {
        let g = Graph::new();
        let (x, e) = (g.input("x", DType::F32, shape![?])?, g.input("e", DType::I64, shape![?])?);
        let rows = constructor(x, e)?;
        let exe = g.compile([("y", encoding(rows)?)])?;
        let count = if number == 3 { 2 } else { 3 };
        let x = Tensor::zeros(DType::F32, &[count])?;
        let run =
            |ints: [i64; 2]| exe.feed("x", &x).feed("e", &Tensor::from(ints)).run()?.tensor("y").cloned();
        assert_eq!(run(right)?, Tensor::from(right), "{number}");
        assert!(run(wrong).is_err(), "{number}: {:?}", run(wrong));
        assert!(!g.to_string().contains("ragged_value_rowids"), "{g}");
    }
    Ok(())
}
