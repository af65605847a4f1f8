//! Equalities of sizes that a node finds which the outputs do not need. They leave out no check of a run: a run gives
//! the result that it gives without the node, or it fails.

use shapeflow::{
    AnyValue, DType, Executable, Graph, RaggedTensor, RaggedValue, Result, SliceItem, Tensor, TensorView,
    Value, ragged, shape, stack,
};

/// Ragged inputs without known numbers, and a dense vector.
#[derive(Clone, Copy)]
struct Operands<'g> {
    a: RaggedValue<'g>,
    b: RaggedValue<'g>,
    dense: Value<'g>,
}

impl<'g> Operands<'g> {
    fn new(g: &'g Graph) -> Result<Operands<'g>> {
        let rows = |name: &str| {
            let values = g.input(&format!("{name}_values"), DType::I64, shape![?])?;
            RaggedValue::from_row_splits(values, g.input(&format!("{name}_splits"), DType::I64, shape![?])?)
        };
        Ok(Operands { a: rows("a")?, b: rows("b")?, dense: g.input("dense", DType::I64, shape![?])? })
    }
}

/// The tensors of a run.
struct Feed {
    a: RaggedTensor,
    b: RaggedTensor,
    dense: Tensor,
}

impl Feed {
    fn run(&self, exe: &Executable) -> Result<String> {
        let tensors: [(&str, TensorView<'_>); 5] = [
            ("a_values", self.a.flat_values().view()),
            ("a_splits", self.a.row_splits().view()),
            ("b_values", self.b.flat_values().view()),
            ("b_splits", self.b.row_splits().view()),
            ("dense", self.dense.view()),
        ];
        let inputs = exe.inputs();
        let needed = |name: &str| inputs.iter().any(|input| input.name == name && input.needed);
        let fed: Vec<_> = tensors.into_iter().filter(|(name, _)| needed(name)).collect();
        let results = exe.run_named(&fed)?;
        let items = results.items()?;
        Ok(items.iter().map(|(_, item)| item.to_string()).collect::<Vec<_>>().join(" "))
    }
}

fn feeds() -> Vec<Feed> {
    let rows: [RaggedTensor; 4] =
        [ragged![[1i64, 2], [3]], ragged![[4i64], [5, 6]], ragged![[7i64, 8, 9]], ragged![[1i64], [], [0]]];
    let dense = [vec![1i64], vec![1, 0], vec![0, 1, 1]];
    let mut feeds = Vec::new();
    for a in &rows {
        for b in &rows {
            feeds.extend(dense.iter().map(|dense| Feed {
                a: a.clone(),
                b: b.clone(),
                dense: Tensor::from(dense.clone()),
            }));
        }
    }
    feeds
}

/// A node that nothing needs. It makes sizes equal.
type Tie = (&'static str, for<'g> fn(Operands<'g>) -> Result<Value<'g>>, fn(&Feed) -> bool);

const TIES: [Tie; 7] = [
    ("rows of a and b", |x| stack(&[x.a.row_splits(), x.b.row_splits()], 0), |x| x.a.nrows() == x.b.nrows()),
    (
        "values of a and b",
        |x| stack(&[x.a.flat_values(), x.b.flat_values()], 0),
        |x| x.a.flat_values().len() == x.b.flat_values().len(),
    ),
    (
        "values of a and dense",
        |x| stack(&[x.a.flat_values(), x.dense], 0),
        |x| x.a.flat_values().len() == x.dense.len(),
    ),
    ("rows of a and dense", |x| stack(&[x.a.row_lengths()?, x.dense], 0), |x| x.a.nrows() == x.dense.len()),
    ("one row of a", |x| x.a.row_splits().ensure_shape([2]), |x| x.a.nrows() == 1),
    ("two rows of a", |x| x.a.row_splits().ensure_shape([3]), |x| x.a.nrows() == 2),
    ("one element of dense", |x| x.dense.ensure_shape([1]), |x| x.dense.len() == 1),
];

type Op = (&'static str, for<'g> fn(Operands<'g>) -> Result<AnyValue<'g>>);

const OPS: [Op; 39] = [
    ("with_flat_values", |x| Ok(x.a.with_flat_values(x.dense)?.into())),
    ("with_values", |x| Ok(x.a.with_values(x.dense)?.into())),
    ("with ragged values", |x| Ok(x.a.with_values(x.b)?.into())),
    ("add to own values", |x| Ok(x.a.add(x.a.with_values(x.dense)?)?.into())),
    ("map_flat_values", |x| Ok(x.a.map_flat_values(|_| Ok(x.dense))?.into())),
    ("add", |x| Ok(x.a.add(x.b)?.into())),
    ("add a column", |x| Ok(x.a.add(x.dense.expand_dims(1)?)?.into())),
    ("add a row", |x| Ok(x.a.add(x.dense.expand_dims(0)?)?.into())),
    ("select", |x| Ok(x.a.greater(2)?.select(x.a, x.b)?.into())),
    ("concat rows", |x| Ok(RaggedValue::concat(&[x.a, x.b], 0)?.into())),
    ("concat", |x| Ok(RaggedValue::concat(&[x.a, x.b], 1)?.into())),
    ("stack", |x| Ok(RaggedValue::stack(&[x.a, x.b], 1)?.into())),
    ("uniform rows", |x| Ok(RaggedValue::from_uniform_row_length(x.a.flat_values(), 2, None)?.into())),
    ("from_tensor", |x| {
        let dense = RaggedValue::from_tensor(x.dense.expand_dims(1)?, 1)?;
        Ok(dense.with_row_splits_dtype(DType::I32)?.into())
    }),
    ("matmul", |x| {
        let column = x.dense.expand_dims(1)?.expand_dims(1)?;
        x.a.expand_dims(2)?.matmul(column)
    }),
    ("reduce_sum", |x| x.a.reduce_sum(0)),
    ("sort", |x| Ok(x.a.sort(1, true)?.into())),
    ("transpose", |x| Ok(x.a.transpose([1, 0])?.into())),
    ("to_tensor", |x| Ok(x.a.to_tensor()?.into())),
    ("to_sparse", |x| Ok(x.a.to_sparse()?[2].into())),
    ("select_rows", |x| Ok(x.a.select_rows(x.dense.greater(0)?, x.b)?.into())),
    ("row splits", |x| Ok(RaggedValue::from_row_splits(x.dense, x.a.row_splits())?.into())),
    ("row starts", |x| Ok(RaggedValue::from_row_starts(x.dense, x.a.row_starts()?)?.into())),
    ("reverse", |x| Ok(x.a.reverse([0])?.into())),
    ("reverse items", |x| Ok(x.a.reverse([1])?.into())),
    ("tile", |x| Ok(x.a.tile([2, 1])?.into())),
    ("slice", |x| x.a.slice_with(&[SliceItem::from(1..)])),
    ("squeeze", |x| x.a.expand_dims(1)?.squeeze([0])),
    ("squeeze of rows", |x| x.a.squeeze([0])),
    ("expand_dims", |x| Ok(x.a.expand_dims(0)?.into())),
    ("gather", |x| x.a.gather(x.dense.zeros_like()?, 0)),
    ("gather in rows", |x| x.a.gather_batched(x.b.zeros_like()?, 1, 1)),
    ("gather_nd", |x| x.a.gather_nd(x.dense.zeros_like()?.expand_dims(0)?.ensure_shape(shape![1, 1])?)),
    ("boolean_mask", |x| Ok(x.a.boolean_mask(x.dense.greater(0)?)?.into())),
    ("bounding_shape", |x| Ok(x.a.bounding_shape()?.into())),
    ("number of rows", |x| x.a.row_lengths_along(0)),
    ("stack_padded", |x| Ok(RaggedValue::stack_padded(&[x.dense, x.a.flat_values()], 0)?[1].into())),
    ("segments", |x| x.a.unsorted_segment_sum(x.dense, 3)),
    ("cross_rows", |x| Ok(x.a.cross_rows(x.b)?[1].into())),
];

/// Compiles an op after a tie: the whole result, and each part of it alone.
fn compile(op: &Op, tie: Option<&Tie>) -> Result<Vec<Executable>> {
    let g = Graph::new();
    let operands = Operands::new(&g)?;
    if let Some((_, tie, _)) = tie {
        let _ = tie(operands)?;
    }
    let result = (op.1)(operands)?;
    let mut outputs = vec![result, result.flat_values().into()];
    outputs.extend(result.partitions().into_iter().map(|rows| AnyValue::from(rows.row_splits())));
    outputs.into_iter().map(|output| g.compile([("y", output)])).collect()
}

#[test]
fn an_unneeded_equality_changes_no_result() -> Result<()> {
    let feeds = feeds();
    let (mut compared, mut wrong) = (0, Vec::new());
    for op in &OPS {
        let results_of = |exe: &Executable| feeds.iter().map(|feed| feed.run(exe)).collect::<Vec<_>>();
        let free: Vec<Vec<Result<String>>> = compile(op, None)?.iter().map(results_of).collect();
        for tie in &TIES {
            // An op may be refused when sizes are known to differ.
            let Ok(tied) = compile(op, Some(tie)) else { continue };
            for (part, (expected, tied)) in free.iter().zip(&tied).enumerate() {
                for (feed, expected) in feeds.iter().zip(expected) {
                    let got = feed.run(tied);
                    let place = format!(
                        "{}, part {part}, after {}: {} {} {}: {got:?} for {expected:?}",
                        op.0, tie.0, feed.a, feed.b, feed.dense
                    );
                    let is_right = match (expected, &got) {
                        (Ok(expected), Ok(got)) => got == expected,
                        (Ok(_), Err(_)) => !(tie.2)(feed),
                        // A size of 1 is repeated only if it is known.
                        (Err(_), Ok(_)) => (tie.2)(feed) && tie.0.starts_with("one"),
                        (Err(_), Err(_)) => true,
                    };
                    compared += 1;
                    if !is_right {
                        wrong.push(place);
                        break;
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {compared}: {}", wrong.len(), wrong.join("\n"));
    assert!(compared > 10_000, "{compared}");
    Ok(())
}

/// Comparisons that the compiler proves cost nothing: the ops fuse as without the equality.
#[test]
fn an_unneeded_equality_adds_no_step() -> Result<()> {
    let kernels = |is_tied: bool| -> Result<(usize, usize)> {
        let g = Graph::new();
        let x = Operands::new(&g)?;
        if is_tied {
            let _ = stack(&[x.a.flat_values(), x.dense], 0)?;
        }
        let result = ((x.a * 2).ok()?.add(x.a)?.abs()? - x.a).ok()?.map_flat_values(|flat| flat.square())?;
        let exe = g.compile([("y", result)])?;
        let stats = exe.stats();
        Ok((stats.kernels, stats.host_nodes))
    };
    assert_eq!(kernels(true)?, kernels(false)?);
    Ok(())
}

/// A call of several nodes that read a number is not the reason of this number.
#[test]
fn an_error_about_a_number_names_the_call_that_gave_it() -> Result<()> {
    let g = Graph::new();
    let v = g.input("v", DType::F32, shape!["n"])?;
    let lengths = g.input("lengths", DType::I64, shape!["n"])?;
    let _ = v.reshape([1])?;
    let exe = g.compile(RaggedValue::from_row_lengths(v, lengths)?)?;
    let (v, lengths) = (Tensor::from([1.0f32, 2.0]), Tensor::from([1i64, 1]));
    let error = exe.run_named(&[("v", v.view()), ("lengths", lengths.view())]).unwrap_err().to_string();
    assert!(error.contains(&format!("n is 1 since reshape at {}:", file!())), "{error}");
    Ok(())
}
