//! Drives ragged values of graphs with arbitrary bytes, for fuzzing: constructors of checked and unchecked encodings,
//! and ops on wrong partitions.

use std::sync::LazyLock;

use shapeflow::{
    AnyValue, DType, Encoding, Executable, Graph, IntoParam, RaggedItem, RaggedTensor, RaggedValue, Result,
    SliceItem, Tensor, Unchecked, Value, shape,
};

type Constructor = for<'g> fn(Value<'g>, Encoding<Value<'g>>) -> Result<RaggedValue<'g>>;
type OnData = fn(Tensor, Tensor) -> Result<RaggedTensor>;
type Op = for<'g> fn(RaggedValue<'g>) -> Result<AnyValue<'g>>;

/// The number of rows that is passed to some constructors.
const ROWS: usize = 5;

/// Constructors of graphs, with the same constructors of data.
const CONSTRUCTORS: &[(Constructor, OnData)] = &[
    (|x, e| RaggedValue::from_row_splits(x, e), |x, e| RaggedTensor::from_row_splits(x, e)),
    (|x, e| RaggedValue::from_row_lengths(x, e), |x, e| RaggedTensor::from_row_lengths(x, e)),
    (|x, e| RaggedValue::from_row_starts(x, e), |x, e| RaggedTensor::from_row_starts(x, e)),
    (|x, e| RaggedValue::from_row_limits(x, e), |x, e| RaggedTensor::from_row_limits(x, e)),
    (|x, e| RaggedValue::from_value_rowids(x, e, None), |x, e| RaggedTensor::from_value_rowids(x, e, None)),
    (
        |x, e| RaggedValue::from_value_rowids(x, e, Some(ROWS.into_param())),
        |x, e| RaggedTensor::from_value_rowids(x, e, Some(ROWS)),
    ),
];

/// Ops on a ragged value of rank 2 or 3.
const OPS: &[Op] = &[
    |x| Ok(x.into()),
    |x| Ok((x + x.neg()?).into()),
    |x| Ok((x * again(x)?).into()),
    |x| Ok((x - rows(x)?).into()),
    |x| x.reduce_sum(1),
    |x| x.reduce_max(0),
    |x| x.reduce_mean(-1),
    |x| x.reduce_prod(..),
    |x| x.reduce_variance(1),
    |x| x.greater(0.0)?.reduce_any(-1),
    |x| x.argmax(1),
    |x| x.argmin(-1),
    |x| Ok(x.cumsum(1)?.into()),
    |x| Ok(x.softmax(1)?.into()),
    |x| Ok(x.log_softmax(1)?.into()),
    |x| Ok(x.sort(1, true)?.into()),
    |x| Ok(x.argsort(-1, false)?.into()),
    |x| Ok(x.top_k(2, 1)?[0].into()),
    |x| Ok(RaggedValue::concat(&[x, x], 0)?.into()),
    |x| Ok(RaggedValue::concat(&[x, again(x)?], 1)?.into()),
    |x| Ok(RaggedValue::concat(&[x, again(x)?], -1)?.into()),
    |x| Ok(RaggedValue::stack(&[x, again(x)?], 0)?.into()),
    |x| Ok(RaggedValue::stack(&[x, again(x)?], -1)?.into()),
    |x| Ok(x.expand_dims(0)?.into()),
    |x| Ok(x.expand_dims(1)?.into()),
    |x| x.squeeze([1]),
    |x| x.merge_dims(0, 1),
    |x| x.merge_dims(1, -1),
    |x| Ok(x.reshape(&[-1][..])?.into()),
    |x| Ok(x.reverse(0)?.into()),
    |x| Ok(x.reverse(-1)?.into()),
    |x| Ok(x.tile([1, 2])?.into()),
    |x| Ok(x.split_n(2, 0)?[1].into()),
    |x| Ok(x.boolean_mask(x.greater(3.0)?)?.into()),
    |x| Ok(x.boolean_mask(x.graph().constant([true, false, true])?)?.into()),
    |x| x.gather(x.graph().constant([0i64, 2, 1])?, 0),
    |x| x.gather_batched(x.cast(DType::I64)?, 1, 1),
    |x| x.gather_nd(x.graph().constant([[0i64, 1], [2, 0]])?),
    |x| Ok(x.greater(2.0)?.where_indices()?.into()),
    |x| Ok(x.greater(2.0)?.select(x, again(x)?)?.into()),
    |x| Ok(x.select_rows(x.row_lengths()?.greater(1)?, again(x)?)?.into()),
    |x| x.slice_with(&[SliceItem::at(1)]),
    |x| x.slice_with(&[SliceItem::from(1..), SliceItem::from(..).step(-1)]),
    |x| Ok(x.slice_rows(-2, None)?.into()),
    |x| Ok(x.to_tensor()?.into()),
    |x| Ok(x.to_tensor_with(7.0, vec![2; x.rank()?])?.into()),
    |x| Ok(x.to_sparse()?[0].into()),
    |x| Ok(x.row_lengths()?.into()),
    |x| Ok(x.row_starts()?.into()),
    |x| Ok(x.row_limits()?.into()),
    |x| Ok(x.value_rowids()?.into()),
    |x| x.row_lengths_along(1),
    |x| Ok(x.bounding_shape()?.into()),
    |x| Ok(x.with_row_splits_dtype(DType::I64)?.into()),
    |x| Ok(x.with_row_splits_dtype(DType::I32)?.into()),
    |x| Ok(x.fill_empty_rows(9.0)?.0.into()),
    |x| Ok(x.map(|row| row.flat_values().reduce_sum(0))?.into()),
    |x| Ok(x.cast(DType::I32)?.abs()?.bincount(9, false)?.into()),
    |x| {
        let ids = x.map_flat_values(|flat| flat.abs()?.cast(DType::I32))?;
        Ok(RaggedValue::stack_dynamic_partitions(x, ids, 4)?.into())
    },
];

/// Returns the value with other flat values and other row splits with the same elements, so that a run compares the
/// splits.
fn again<'g>(x: RaggedValue<'g>) -> Result<RaggedValue<'g>> {
    let splits = x.nested_row_splits();
    let splits = splits.into_iter().map(|splits| Ok(Unchecked((splits + splits.zeros_like()?).ok()?)));
    RaggedValue::from_nested_row_splits(x.flat_values().square()?, &splits.collect::<Result<Vec<_>>>()?)
}

/// Returns a dense value with one element for each row.
fn rows<'g>(x: RaggedValue<'g>) -> Result<Value<'g>> {
    let rows = x.row_lengths()?.cast(x.dtype())?;
    (1..x.rank()?).try_fold(rows, |rows, _| rows.expand_dims(-1))
}

fn compile(
    dtype: DType,
    build: impl for<'g> Fn(&[Value<'g>; 3]) -> Result<AnyValue<'g>>,
) -> Option<Executable> {
    let g = Graph::new();
    let input = |name: &str, dtype| g.input(name, dtype, shape![?]).unwrap();
    let inputs = [input("values", DType::F32), input("first", dtype), input("second", dtype)];
    build(&inputs).ok().map(|value| g.compile([("y", value)]).unwrap())
}

/// A compiled graph for each constructor.
static CHECKED: LazyLock<Vec<Executable>> = LazyLock::new(|| {
    let checked = CONSTRUCTORS.iter().flat_map(|(constructor, _)| {
        [DType::I32, DType::I64].map(|dtype| {
            compile(dtype, |[x, first, _]| Ok(constructor(*x, (*first).into())?.into())).unwrap()
        })
    });
    checked.collect()
});

/// Compiled graphs of every op on results of unchecked constructors. An op that refuses a rank has no graph for it.
pub static UNCHECKED: LazyLock<Vec<Executable>> = LazyLock::new(|| {
    let ops = OPS.iter().enumerate().flat_map(|(number, op)| {
        let (constructor, _) = CONSTRUCTORS[number % CONSTRUCTORS.len()];
        let dtype = if number % 3 == 0 { DType::I32 } else { DType::I64 };
        let flat = compile(dtype, |[x, first, _]| op(RaggedValue::from_row_splits(*x, Unchecked(*first))?));
        let other = compile(dtype, |[x, first, _]| op(constructor(*x, Unchecked(*first).into())?));
        let deep = compile(dtype, |[x, first, second]| {
            let inner = constructor(*x, Unchecked(*first).into())?;
            op(RaggedValue::from_row_splits(inner, Unchecked(*second))?)
        });
        assert!(flat.is_some() || deep.is_some(), "op {number} refuses every rank");
        [flat, other, deep]
    });
    ops.flatten().collect()
});

/// Runs a graph of one or two encodings, and returns its result.
pub fn run(exe: &Executable, values: &Tensor, first: &[i64], second: &[i64]) -> Result<RaggedItem> {
    let encoding = |name: &str, ints: &[i64]| {
        let dtype = exe.inputs().iter().find(|port| port.name == name).map(|port| port.dtype);
        match dtype {
            Some(DType::I32) => Tensor::from(ints.iter().map(|int| *int as i32).collect::<Vec<_>>()),
            _ => Tensor::from(ints.to_vec()),
        }
    };
    let (first, second) = (encoding("first", first), encoding("second", second));
    let results = exe.feed("values", values).feed("first", &first).feed("second", &second).run()?;
    Ok(results.items()?.remove(0).1)
}

/// Runs graphs that the first bytes choose. A checked constructor gives the same result as the constructor of
/// data; an unchecked constructor gives a result or an error.
pub fn drive(data: &[u8]) {
    let [count, outer, choice, rest @ ..] = data else { return };
    let values = Tensor::from((0..count % 16).map(f32::from).collect::<Vec<_>>());
    let ints: Vec<i64> = rest.iter().map(|byte| i64::from(*byte as i8) / 4).collect();
    let (first, second) = ints.split_at(usize::from(*outer).min(ints.len()));
    let number = usize::from(*choice) % CHECKED.len();
    let got = run(&CHECKED[number], &values, first, second);
    let expected = CONSTRUCTORS[number / 2].1(values.clone(), Tensor::from(first.to_vec()));
    match (got, expected) {
        (Ok(got), Ok(expected)) => assert_eq!(got.to_string(), expected.to_string()),
        (Err(_), Err(_)) => {}
        (got, expected) => {
            panic!("constructor {number} of {first:?}: {got:?} in a graph, {expected:?} on data")
        }
    }
    let _ = run(&UNCHECKED[usize::from(*choice) % UNCHECKED.len()], &values, first, second);
}
