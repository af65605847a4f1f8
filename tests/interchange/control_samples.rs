//! Sample graphs with branches and loops.

use shapeflow::{
    Axes, DType, Graph, LookupTable, RaggedValue, Result, Tensor, Value, concat, einsum, ragged, shape,
};

use crate::samples::Sample;

fn x() -> (&'static str, Tensor) {
    ("x", Tensor::from([[0.5f32, -1.0, 2.0], [3.0, 0.25, -0.5]]))
}

fn branches<'g>(g: &'g Graph) -> Result<Vec<Value<'g>>> {
    let x = g.input("x", DType::F32, shape!["n", 3])?;
    let is_large = g.input("is_large", DType::Bool, shape![])?;
    let which = g.input("which", DType::I32, shape![])?;
    let n = x.dim(0)?;
    let twice = x * 2.0;
    let then = || {
        let sum = x.reduce_sum(0)?;
        let inner = g.cond(sum.reduce_sum(0)?.greater(100.0)?, || Ok(sum), || twice.reduce_max(0))?[0];
        Ok([inner, x.reshape([3 * n.clone()])?])
    };
    let results = g.cond(is_large, then, || Ok([x.reduce_min(0)?, (twice + 1.0).reshape([-1])?]))?;
    let (first, second) = (|| Ok(vec![x + 1.0]), || Ok(vec![twice]));
    let last = || Ok(vec![concat(&[x, twice], 0)?]);
    let case = g.case(which, &[&first, &second, &last])?;
    Ok(vec![results[0], results[1], case[0], results[0] + 1.0])
}

fn loops<'g>(g: &'g Graph) -> Result<Vec<Value<'g>>> {
    let x = g.input("x", DType::F32, shape!["n", 3])?;
    let most = g.input("most", DType::I64, shape![])?;
    let step = x.reduce_mean(Axes::all())?;
    let state = [g.constant(0i64)?, x, x.reduce_sum(1)?, step];
    // The third value grows; the last does not change.
    let last = g.while_loop(
        &state,
        |state| state[0].less(most),
        |state| {
            let grown = concat(&[state[2], state[1].reduce_sum(1)?], 0)?;
            Ok([state[0] + 1i64, state[1] * 1.5 + state[3] * step, grown, state[3]])
        },
    )?;
    let inner = g.while_loop(
        &[most, g.constant(0i64)?],
        |state| state[0].greater(0i64),
        |state| {
            let row = state[0];
            let sum =
                g.while_loop(&[row, state[1]], |s| s[0].greater(0i64), |s| Ok([s[0] - 1i64, s[1] + row]))?;
            Ok([row - 1i64, sum[1]])
        },
    )?;
    Ok(vec![last[0], last[1], last[2], last[3], inner[1]])
}

fn rows<'g>(g: &'g Graph) -> Result<Vec<Value<'g>>> {
    let x = g.input("x", DType::F32, shape!["n", 3])?;
    let names = g.input("names", DType::String, shape!["n"])?;
    let bias = x.reduce_max(Axes::all())?;
    let zero = g.constant([0.0f32, 0.0, 0.0])?;
    let (last, stacked) = g.scan(&[zero, bias], &[x, names], |state, row| {
        let next = state[0] * 0.5 + row[0];
        Ok((vec![next, state[1]], vec![next + bias, row[1].string_length("BYTE")?, row[1]]))
    })?;
    let squares = g.map(&[x], |row| Ok(row[0] * row[0].reduce_sum(0)?))?;
    Ok(vec![last[0], last[1], stacked[0], stacked[1], stacked[2], squares[0]])
}

fn doubled_rows(g: &Graph) -> Result<RaggedValue<'_>> {
    let x = g.ragged_constant(&ragged![[3.0f32, 1.0, 2.0], [], [0.5]])?;
    x.map_rows(|row| concat(&[row.dense()?, row.dense()? + 1.0], 0))
}

/// Ranges whose limits are functions of sizes without names.
fn functions_of_sizes<'g>(g: &'g Graph) -> Result<Vec<Value<'g>>> {
    let x = g.input("x", DType::F32, shape![?, ?])?;
    let (n, m) = (x.dim(0)?, x.dim(1)?);
    let ten = n.clone() * 5;
    let limits = [
        ten.floordiv(3)?,
        ten.ceil_div(&m)?,
        ten.modulo(&m)? + 1,
        n.min(&m)? * 2,
        (n - 3).max(1)? * ten.floordiv(m + 1)?,
    ];
    limits.into_iter().map(|limit| g.range(0, limit, 1)).collect()
}

/// Returns graphs with branches and loops, and with computed parameters.
pub fn control_samples() -> Vec<Sample> {
    let given = |is_large: bool, which: i32| {
        vec![x(), ("is_large", Tensor::scalar(is_large)), ("which", Tensor::scalar(which))]
    };
    vec![
        Sample { name: "branches_taken", build: branches, feeds: given(true, 1), runs_in_tensorflow: true },
        Sample {
            name: "branches_not_taken",
            build: branches,
            feeds: given(false, 7),
            runs_in_tensorflow: true,
        },
        Sample {
            name: "loops",
            build: loops,
            feeds: vec![x(), ("most", Tensor::scalar(3i64))],
            runs_in_tensorflow: true,
        },
        Sample {
            name: "loops_without_iterations",
            build: loops,
            feeds: vec![x(), ("most", Tensor::scalar(0i64))],
            runs_in_tensorflow: true,
        },
        Sample {
            name: "loop_over_rows",
            build: rows,
            feeds: vec![x(), ("names", Tensor::from(["a", "bcd"]))],
            runs_in_tensorflow: true,
        },
        Sample {
            name: "loop_over_no_rows",
            build: |g| {
                let x = g.input("x", DType::F32, shape!["n", "m"])?;
                let y = g.input("y", DType::F32, shape!["k", ?])?;
                Ok(vec![g.map(&[x, y], |rows| Ok(concat(&[rows[0], rows[1], rows[0]], 0)? * 2.0))?[0]])
            },
            feeds: vec![
                ("x", Tensor::zeros(DType::F32, &[0, 3]).unwrap()),
                ("y", Tensor::zeros(DType::F32, &[0, 2]).unwrap()),
            ],
            runs_in_tensorflow: true,
        },
        Sample {
            name: "loop_over_rows_of_unequal_sizes",
            build: |g| {
                let x = g.input("x", DType::F32, shape!["n", "m", ?])?;
                let k = g.input("k", DType::I64, shape![])?.as_dim("k")?;
                let doubled = g.map(&[x], |row| (row[0] * 2.0).ok())?[0];
                let (last, rows) = g.scan(&[g.constant(0.5f32)?], &[x], |state, row| {
                    Ok((vec![(state[0] + 1.0).ok()?], vec![(row[0].t()? * state[0]).ok()?]))
                })?;
                Ok(vec![doubled, last[0], rows[0], doubled.shape_tensor()?, g.fill(shape![&k, 2], 1.5f32)?])
            },
            feeds: vec![
                ("x", Tensor::from_vec(&[2, 3, 4], (0..24).map(|number| number as f32).collect()).unwrap()),
                ("k", Tensor::scalar(3i64)),
            ],
            runs_in_tensorflow: true,
        },
        Sample {
            name: "loop_over_ragged_rows",
            build: |g| Ok(vec![doubled_rows(g)?.flat_values()]),
            feeds: Vec::new(),
            runs_in_tensorflow: true,
        },
        Sample {
            name: "functions_of_sizes",
            build: functions_of_sizes,
            feeds: vec![x()],
            runs_in_tensorflow: true,
        },
        // An import names the parts of the composite `einsum` anew.
        Sample {
            name: "sums_of_products",
            build: |g| {
                let x = g.input("x", DType::F32, shape!["n", ?])?;
                let square = g.constant([[1.0f32, 2.0], [3.0, 4.0]])?;
                Ok(vec![einsum("ij,ij,ik->i", &[x, x * 2.0, x])?, einsum("ii->i", &[square])?])
            },
            feeds: vec![x()],
            runs_in_tensorflow: true,
        },
        Sample {
            name: "lookups_in_a_loop",
            build: |g| {
                let x = g.input("x", DType::F32, shape![?, ?])?;
                let next = LookupTable::new(&Tensor::from([0i64, 1, 2]), &Tensor::from([2i64, 0, 1]))?;
                let last = g.while_loop(
                    &[g.constant(0i64)?, g.constant([0i64, 1, 5])?],
                    |state| state[0].less(2i64),
                    |state| Ok([state[0] + 1i64, state[1].lookup(&next, 7i64)?]),
                )?;
                Ok(vec![last[1], x.shape_tensor()?])
            },
            feeds: vec![x()],
            runs_in_tensorflow: true,
        },
        Sample {
            name: "splits_of_ragged_rows",
            build: |g| Ok(vec![doubled_rows(g)?.row_splits()]),
            feeds: Vec::new(),
            runs_in_tensorflow: true,
        },
    ]
}
