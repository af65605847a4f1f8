//! Every op gives the same result for a constant as for an input that is fed the same value. The values have no rows,
//! or only empty rows.

use shapeflow::{
    AnyValue, Axes, DType, Dim, ErrorKind, Graph, IntoParam, RaggedItem, RaggedTensor, RaggedValue, Result,
    SliceItem, Tensor, TensorShape, Unchecked,
};

/// The values that an op gives.
type Outcome = Result<Vec<RaggedItem>>;

type Op = Box<dyn for<'g> Fn(RaggedValue<'g>) -> Result<Vec<AnyValue<'g>>>>;

/// Makes an op of a function that gives one value.
fn one<F>(f: F) -> Op
where
    F: for<'g> Fn(RaggedValue<'g>) -> Result<AnyValue<'g>> + 'static,
{
    Box::new(move |x| Ok(vec![f(x)?]))
}

/// Makes an op of a function that gives several values.
fn all<F>(f: F) -> Op
where
    F: for<'g> Fn(RaggedValue<'g>) -> Result<Vec<AnyValue<'g>>> + 'static,
{
    Box::new(f)
}

/// Returns the values as dense or ragged ones.
fn any<'g, T: Into<AnyValue<'g>>>(values: impl IntoIterator<Item = T>) -> Vec<AnyValue<'g>> {
    values.into_iter().map(Into::into).collect()
}

/// Returns other flat values whose row splits a run must compare.
fn again<'g>(x: RaggedValue<'g>) -> Result<RaggedValue<'g>> {
    let splits = x.nested_row_splits();
    let splits = splits.into_iter().map(|splits| Ok(Unchecked((splits + splits.zeros_like()?).ok()?)));
    RaggedValue::from_nested_row_splits(x.flat_values().square()?, &splits.collect::<Result<Vec<_>>>()?)
}

/// Ops along one axis of a value of this rank.
fn along(rank: usize, axis: i64) -> Vec<(&'static str, Op)> {
    let at = axis as usize;
    let mut multiples = vec![1i64; rank];
    multiples[at] = 2;
    let mut sizes = vec![-1i64; rank];
    sizes[at] = 3;
    vec![
        ("reduce_sum", one(move |x| x.reduce_sum(axis))),
        ("reduce_prod", one(move |x| x.reduce_prod(axis))),
        ("reduce_max", one(move |x| x.reduce_max(Axes::of(&[axis][..]).keep_dims()))),
        ("reduce_mean", one(move |x| x.reduce_mean(axis))),
        ("reduce_variance", one(move |x| x.reduce_variance(Axes::of(&[axis][..]).keep_dims()))),
        ("reduce_std", one(move |x| x.reduce_std(axis))),
        ("reduce_any", one(move |x| x.greater(0.0)?.reduce_any(axis))),
        ("argmax", one(move |x| x.argmax(axis))),
        ("sort", one(move |x| Ok(x.sort(axis, true)?.into()))),
        ("argsort", one(move |x| Ok(x.argsort(axis, false)?.into()))),
        ("top_k", all(move |x| Ok(any(x.top_k(2, axis)?)))),
        ("cumsum", one(move |x| Ok(x.cumsum_with(axis, true, true)?.into()))),
        ("softmax", one(move |x| Ok(x.softmax(axis)?.into()))),
        ("log_softmax", one(move |x| Ok(x.log_softmax(axis)?.into()))),
        ("concat", one(move |x| Ok(RaggedValue::concat(&[x, again(x)?, x], axis)?.into()))),
        ("stack", one(move |x| Ok(RaggedValue::stack(&[x, again(x)?], axis)?.into()))),
        ("expand_dims", one(move |x| Ok(x.expand_dims(axis)?.into()))),
        ("squeeze", one(move |x| x.squeeze([axis]))),
        ("expand_dims_squeeze", one(move |x| x.expand_dims(axis)?.squeeze([axis]))),
        ("merge_dims", one(move |x| x.merge_dims(axis, -1))),
        ("merge_outer_dims", one(move |x| x.merge_dims(0, axis))),
        ("reverse", one(move |x| Ok(x.reverse(axis)?.into()))),
        ("tile", one(move |x| Ok(x.tile(&multiples)?.into()))),
        ("split_n", all(move |x| Ok(any(x.split_n(2, axis)?)))),
        ("split_sizes", all(move |x| Ok(any(x.split_sizes([0i64, 0], axis)?)))),
        ("gather", one(move |x| x.gather(x.graph().constant([0i64; 0])?, axis))),
        ("gather_first", one(move |x| x.gather(x.graph().constant([0i64, 0])?, axis))),
        ("bounding_shape", one(move |x| Ok(x.bounding_shape_along(axis)?.into()))),
        ("row_lengths", one(move |x| x.row_lengths_along(axis))),
        ("to_tensor", one(move |x| Ok(x.to_tensor_with(7.0, &sizes)?.into()))),
        ("one_hot", one(move |x| Ok(x.cast(DType::I32)?.one_hot(3, 1.0, 0.0, axis)?.into()))),
        (
            "slice",
            one(move |x| {
                let mut items = vec![SliceItem::All; at];
                items.push(SliceItem::from(1..).step(-1));
                x.slice_with(&items)
            }),
        ),
        (
            "new_axis",
            one(move |x| {
                let mut items = vec![SliceItem::from(..).step(-1); at];
                items.push(SliceItem::NewAxis);
                x.slice_with(&items)
            }),
        ),
        (
            "transpose",
            one(move |x| {
                let mut order: Vec<i64> = (0..rank as i64).collect();
                order.swap(at, (at + 1) % rank);
                Ok(x.transpose(&order)?.into())
            }),
        ),
    ]
}

/// Ops that take no axis.
fn whole(rank: usize) -> Vec<(&'static str, Op)> {
    vec![
        ("elementwise", one(|x| Ok((x * 2.0 + again(x)?.neg()?).ok()?.into()))),
        ("reduce_all", one(|x| x.reduce_mean(..))),
        ("tile_all", one(move |x| Ok(x.tile(vec![2; rank])?.into()))),
        ("tile_none", one(move |x| Ok(x.tile(vec![0; rank])?.into()))),
        ("reverse_all", one(|x| Ok(x.reverse(..)?.into()))),
        ("reshape", one(|x| Ok(x.reshape(&[-1][..])?.into()))),
        ("to_tensor", one(|x| Ok(x.to_tensor()?.into()))),
        ("to_sparse", all(|x| Ok(any(x.to_sparse()?)))),
        ("bounding_shape", one(|x| Ok(x.bounding_shape()?.into()))),
        ("row_starts", all(|x| Ok(any([x.row_starts()?, x.row_limits()?, x.row_lengths()?])))),
        ("value_rowids", all(|x| Ok(any(x.nested_value_rowids()?)))),
        ("size", one(|x| Ok(x.size()?.into()))),
        ("splits_dtype", one(|x| Ok(x.with_row_splits_dtype(DType::I32)?.into()))),
        ("boolean_mask", one(|x| Ok(x.boolean_mask(x.greater(0.0)?)?.into()))),
        ("where_indices", one(|x| Ok(x.greater(0.0)?.where_indices()?.into()))),
        ("select", one(|x| Ok(x.greater(0.0)?.select(x, again(x)?)?.into()))),
        ("select_rows", one(|x| Ok(x.select_rows(x.row_lengths()?.greater(0)?, again(x)?)?.into()))),
        ("gather_ragged", one(|x| x.gather(x.cast(DType::I64)?, 0))),
        ("gather_batched", one(|x| x.gather_batched(x.cast(DType::I64)?, 1, 1))),
        ("gather_nd", one(|x| x.gather_nd(x.graph().constant(Tensor::zeros(DType::I64, &[0, 1])?)?))),
        ("slice_first", one(|x| x.slice_with(&[SliceItem::at(0)]))),
        ("fill_empty_rows", one(|x| Ok(x.fill_empty_rows(9.0)?.0.into()))),
        ("map", one(|x| Ok(x.map(|row| row.flat_values().reduce_sum(0))?.into()))),
        ("bincount", one(|x| Ok(x.cast(DType::I32)?.abs()?.bincount(4, false)?.into()))),
        (
            "from_tensor",
            all(|x| {
                let dense = x.to_tensor()?;
                let lengths = RaggedValue::from_tensor_nested_lengths(dense, &x.nested_row_lengths()?)?;
                Ok(any([RaggedValue::from_tensor(dense, 1)?, lengths]))
            }),
        ),
        (
            "nested_lengths",
            one(|x| {
                Ok(RaggedValue::from_nested_row_lengths(x.flat_values(), &x.nested_row_lengths()?)?.into())
            }),
        ),
        (
            "nested_rowids",
            one(|x| {
                let rows = x.nested_row_lengths()?.into_iter().map(|lengths| lengths.dim(0));
                let rows = rows.map(|rows| Ok(rows?.into_param())).collect::<Result<Vec<_>>>()?;
                Ok(RaggedValue::from_nested_value_rowids(x.flat_values(), &x.nested_value_rowids()?, &rows)?
                    .into())
            }),
        ),
        ("uniform", one(|x| Ok(RaggedValue::from_uniform_row_length(x, 1, None)?.into()))),
        (
            "stack_padded",
            all(|x| Ok(any(RaggedValue::stack_padded(&[x.flat_values(), x.flat_values()], 0.0)?))),
        ),
        (
            "stack_partitions",
            one(|x| {
                let ids = x.map_flat_values(|flat| flat.cast(DType::I32)?.zeros_like())?;
                Ok(RaggedValue::stack_dynamic_partitions(x, ids, 2)?.into())
            }),
        ),
        ("matmul", one(|x| x.matmul_transposed(again(x)?, false, true))),
    ]
}

/// A partition: row lengths, or a number of rows of one length.
enum Rows {
    Of(&'static [i64]),
    Uniform(usize, usize),
}

use Rows::{Of, Uniform};

/// Values without rows, and with only empty rows.
fn values() -> Vec<RaggedTensor> {
    let structures: [&[Rows]; 15] = [
        &[Of(&[])],
        &[Of(&[0, 0])],
        &[Of(&[]), Of(&[])],
        &[Of(&[0, 0]), Of(&[])],
        &[Of(&[2, 0]), Of(&[0, 0])],
        &[Of(&[]), Of(&[]), Of(&[])],
        &[Of(&[1]), Of(&[2]), Of(&[0, 0])],
        &[Of(&[0]), Of(&[]), Of(&[])],
        &[Uniform(0, 2)],
        &[Uniform(2, 0)],
        &[Uniform(3, 0), Of(&[])],
        &[Of(&[]), Uniform(0, 2)],
        &[Of(&[2]), Uniform(2, 0)],
        &[Of(&[]), Uniform(0, 2), Of(&[])],
        &[Uniform(2, 2), Uniform(4, 0), Of(&[])],
    ];
    let with = |(number, partitions): (usize, &&[Rows])| {
        let sizes: &[usize] = if number % 2 == 0 { &[0] } else { &[0, 2] };
        let mut x = RaggedItem::Dense(Tensor::zeros(DType::F32, sizes).unwrap());
        for rows in partitions.iter().rev() {
            x = RaggedItem::Ragged(match rows {
                Of(lengths) => RaggedTensor::from_row_lengths(x, lengths.to_vec()).unwrap(),
                Uniform(rows, length) => {
                    RaggedTensor::from_uniform_row_length(x, *length, Some(*rows)).unwrap()
                }
            });
        }
        let dtype = if number % 3 == 0 { DType::I32 } else { DType::I64 };
        x.ragged().unwrap().with_row_splits_dtype(dtype).unwrap()
    };
    structures.iter().enumerate().map(with).collect()
}

/// Adds a value to a graph, as a constant or as an input.
fn value<'g>(g: &'g Graph, x: &RaggedTensor, is_fed: bool) -> RaggedValue<'g> {
    if !is_fed {
        return g.ragged_constant(x).unwrap();
    }
    let inner = x.flat_values().sizes()[1..].iter().map(|size| Dim::known(*size as i64));
    let (inner, rows) = (TensorShape::new(inner), x.ragged_rank());
    g.ragged_input_with_row_splits_dtype("x", x.dtype(), rows, inner, x.row_splits_dtype()).unwrap()
}

/// An op with its name.
type Named = (String, Op);

/// Compiles and runs the values of several ops.
fn run_values<'g>(
    g: &'g Graph,
    ops: &[Vec<AnyValue<'g>>],
    x: &RaggedTensor,
    is_fed: bool,
) -> Result<Vec<Vec<RaggedItem>>> {
    let exe = g.compile(&ops.concat()[..])?;
    let results = if is_fed { exe.feed("x", x).run()? } else { exe.run_named(&[])? };
    let mut items = results.items()?.into_iter().map(|(_, item)| item);
    Ok(ops.iter().map(|values| items.by_ref().take(values.len()).collect()).collect())
}

/// Runs ops together in a graph of their own. If one of them fails, each half runs alone.
fn run(ops: &[&Named], x: &RaggedTensor, is_fed: bool) -> Vec<Outcome> {
    let together = || {
        let g = Graph::new();
        let value = value(&g, x, is_fed);
        let outputs = ops.iter().map(|op| op.1(value)).collect::<Result<Vec<_>>>()?;
        run_values(&g, &outputs, x, is_fed)
    };
    match together() {
        Ok(results) => results.into_iter().map(Ok).collect(),
        Err(error) if ops.len() == 1 => vec![Err(error)],
        Err(error) if error.message().contains("nothing determines") => panic!("{error}"),
        Err(_) => {
            let (first, second) = ops.split_at(ops.len() / 2);
            [run(first, x, is_fed), run(second, x, is_fed)].into_iter().flatten().collect()
        }
    }
}

/// Runs ops on a constant and on an input, and returns both outcomes of each op. An op that refuses a value when the
/// graph is built has none.
fn outcomes<'o>(ops: &'o [Named], x: &RaggedTensor) -> Vec<(&'o str, Outcome, Outcome)> {
    let kinds = [false, true];
    let graphs = kinds.map(|_| Graph::new());
    let values = kinds.map(|is_fed| value(&graphs[usize::from(is_fed)], x, is_fed));
    let mut outputs = kinds.map(|_| Vec::new());
    let (mut together, mut alone) = (Vec::new(), Vec::new());
    for op in ops {
        match values.map(|value| op.1(value)) {
            [Ok(constant), Ok(fed)] if !is_likely_to_fail(&op.0, x) => {
                outputs[0].push(constant);
                outputs[1].push(fed);
                together.push(op);
            }
            [Ok(_), Ok(_)] => alone.push(op),
            // An op that is refused beside other ops is tried in its own graph.
            _ if kinds.iter().all(|is_fed| op.1(value(&Graph::new(), x, *is_fed)).is_ok()) => alone.push(op),
            _ => {}
        }
    }
    let [constants, fed] = kinds.map(|is_fed| {
        let kind = usize::from(is_fed);
        let all = run_values(&graphs[kind], &outputs[kind], x, is_fed);
        let all = all.map(|all| all.into_iter().map(Ok).collect::<Vec<_>>());
        let mut all = all.unwrap_or_else(|_| run(&together, x, is_fed));
        all.extend(alone.iter().flat_map(|op| run(&[*op], x, is_fed)));
        all
    });
    let names = together.iter().chain(&alone).map(|op| op.0.as_str());
    names.zip(constants).zip(fed).map(|((name, constant), fed)| (name, constant, fed)).collect()
}

/// Returns whether an op is likely to fail for `x`. Such an op runs alone, so that no run of several ops must be
/// repeated.
fn is_likely_to_fail(op: &str, x: &RaggedTensor) -> bool {
    match op.split_once(' ') {
        // An empty row has no first item, and its length is not 1.
        Some(("gather_first" | "squeeze", axis)) => x.nrows() > 0 && axis != "0",
        _ => op == "matmul" && x.nrows() == 0,
    }
}

#[test]
fn constants_without_values_give_the_results_of_inputs() {
    let mut wrong = Vec::new();
    for x in values() {
        let rank = x.rank();
        let mut ops: Vec<Named> = Vec::new();
        ops.extend(whole(rank).into_iter().map(|(name, op)| (name.to_string(), op)));
        for axis in 0..rank as i64 {
            ops.extend(along(rank, axis).into_iter().map(|(name, op)| (format!("{name} {axis}"), op)));
        }
        // The axes of an input are ragged where axes of the constant are uniform.
        let has_uniform = x.partitions().iter().any(|rows| rows.uniform_row_length().is_some());
        for (name, constant, fed) in outcomes(&ops, &x) {
            let pair = (constant, fed);
            let is_compiled = |error: &shapeflow::Error| error.kind() != ErrorKind::Compile;
            match &pair {
                (Ok(constant), Ok(fed)) if constant == fed => {}
                // A uniform axis keeps its size where there are no rows.
                (Ok(_), Ok(_)) if has_uniform && keeps_sizes(name) => {}
                (Err(error), Ok(_)) if has_uniform && name == "matmul" && is_compiled(error) => {}
                (Ok(constant), Ok(fed)) if has_uniform && is_same_text(constant, fed) => {}
                (Ok(_), Err(fed)) if has_uniform && is_compiled(fed) => {}
                (Err(constant), Err(fed)) if is_compiled(constant) && is_compiled(fed) => {}
                (constant, fed) => wrong.push(format!(
                    "{name} of {x} {} {:?}:\n  constant {constant:?}\n  fed {fed:?}",
                    x.shape(),
                    x.nested_row_splits()
                )),
            }
        }
    }
    assert!(wrong.is_empty(), "{} cases\n{}", wrong.len(), wrong[..wrong.len().min(40)].join("\n"));
}

fn keeps_sizes(op: &str) -> bool {
    ["transpose", "to_tensor", "bounding_shape"].iter().any(|name| op.starts_with(name))
}

fn is_same_text(a: &[RaggedItem], b: &[RaggedItem]) -> bool {
    a.iter().map(ToString::to_string).eq(b.iter().map(ToString::to_string))
}
