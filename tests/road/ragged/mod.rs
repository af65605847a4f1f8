//! Ragged tensors: laws, errors, and values recorded from TensorFlow.
//!
//! `SHAPEFLOW_CASES` sets the number of byte strings that drive ragged tensors, and `SHAPEFLOW_SEED` the seed.

mod axes;
mod bytes;
mod combined;
mod constructions;
mod constructors;
mod dtypes;
mod empty;
mod flat_functions;
mod graph_bytes;
mod graphs;
mod items;
mod laws;
mod maps;
mod matmul;
mod members;
mod mistakes;
mod moves;
mod operands;
mod part_checks;
mod ranks;
mod recorded;
mod refusals;
mod round_trips;
mod row_counts;
mod selections;
#[cfg(feature = "strings")]
mod text_functions;
mod top_k;
mod two_graphs;
mod uniform_axes;
mod unneeded_equalities;

/// Calls `drive` with random bytes.
fn drive_random_bytes(cases: usize, drive: fn(&[u8])) {
    let mut rng = crate::rng::Rng::new(crate::env_vars::number("SHAPEFLOW_SEED").unwrap_or(23));
    for _ in 0..crate::env_vars::number("SHAPEFLOW_CASES").unwrap_or(cases) {
        let length = rng.below(24);
        let bytes: Vec<u8> = (0..length).map(|_| (rng.next_u64() >> 56) as u8).collect();
        drive(&bytes);
        // Small numbers make ascending splits likelier.
        let small = |byte: &u8| byte % 24;
        drive(&bytes.iter().take(3).copied().chain(bytes.iter().skip(3).map(small)).collect::<Vec<u8>>());
        drive(&bytes.iter().map(small).collect::<Vec<u8>>());
    }
}

#[test]
fn arbitrary_bytes_never_panic() {
    drive_random_bytes(15_000, bytes::drive);
}

#[test]
fn graphs_on_arbitrary_bytes_never_panic() {
    drive_random_bytes(400, graph_bytes::drive);
}

/// Runs every op on partitions that break each rule. Sizes that memory cannot hold are refused.
#[test]
fn ops_on_wrong_partitions_never_panic() {
    let values = shapeflow::Tensor::from([1.0f32, 2.0, 3.0, 4.0]);
    let wrong: [&[i64]; 9] = [
        &[],
        &[0],
        &[3, 1],
        &[-1, 5],
        &[0, 9, 2, 9],
        &[0, 4, 0, 4, 0, 4],
        &[2, 2, 2],
        &[0, 1 << 60],
        &[i64::MIN, i64::MAX, 0],
    ];
    for exe in graph_bytes::UNCHECKED.iter() {
        for first in wrong {
            for second in [&[0, 1], first] {
                let _ = graph_bytes::run(exe, &values, first, second);
            }
        }
    }
}

/// A split far behind the values is refused, or rows end at the values. No op allocates memory for rows of this length.
#[test]
fn rows_past_the_last_value_need_no_memory() {
    use shapeflow::{
        AnyValue, DType, Graph, RaggedValue, Result, SliceItem, Tensor, Unchecked, Value, shape,
    };

    const FAR: i64 = i32::MAX as i64;
    type Constructor = for<'g> fn(Value<'g>, Unchecked<Value<'g>>) -> Result<RaggedValue<'g>>;
    /// A constructor, two encodings, and whether their rows end at the last value.
    type Kind = (Constructor, [&'static [i64]; 2], [bool; 2]);
    let kinds: [Kind; 4] = [
        (|x, e| RaggedValue::from_row_splits(x, e), [&[0, FAR], &[0, FAR, 4]], [false, true]),
        (|x, e| RaggedValue::from_row_lengths(x, e), [&[4, FAR - 4], &[FAR, 4 - FAR]], [false, true]),
        (|x, e| RaggedValue::from_row_limits(x, e), [&[4, FAR], &[FAR, 4]], [false, true]),
        (|x, e| RaggedValue::from_row_starts(x, e), [&[FAR, FAR], &[0, FAR]], [true, true]),
    ];
    for dtype in [DType::I32, DType::I64] {
        for (constructor, encodings, end_at_values) in &kinds {
            let g = Graph::new();
            let x = g.input("x", DType::F32, shape![?]).unwrap();
            let rows = constructor(x, Unchecked(g.input("rows", dtype, shape![?]).unwrap())).unwrap();
            let first = g.constant([0i64]).unwrap();
            let outputs: [AnyValue<'_>; 8] = [
                rows.row_lengths().unwrap().into(),
                rows.reduce_max(0).unwrap(),
                rows.gather(first, 0).unwrap(),
                rows.slice_with(&[SliceItem::All, SliceItem::from(1..)]).unwrap(),
                rows.reverse(1).unwrap().into(),
                rows.tile([2, 2]).unwrap().into(),
                RaggedValue::concat(&[rows, rows], 1).unwrap().into(),
                rows.sort(1, false).unwrap().into(),
            ];
            for output in outputs {
                let exe = g.compile([("y", output)]).unwrap();
                for (encoding, ends) in encodings.iter().zip(end_at_values) {
                    let encoding = match dtype {
                        DType::I32 => {
                            Tensor::from(encoding.iter().map(|int| *int as i32).collect::<Vec<_>>())
                        }
                        _ => Tensor::from(encoding.to_vec()),
                    };
                    let values = Tensor::from([1.0f32, 2.0, 3.0, 4.0]);
                    let result = exe.feed("x", &values).feed("rows", &encoding).run();
                    if !ends {
                        let error = result.unwrap_err();
                        assert!(error.message().contains("the number of values, 4, got"), "{error}");
                    }
                }
            }
        }
    }
}
