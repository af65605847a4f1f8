//! Sample graphs with ops that TensorFlow lacks: an export writes functions that compute them.

use shapeflow::{
    AnyValue, DType, DataFormat, Graph, IntoParam, Padding, RaggedValue, Result, Tensor, Value, ragged, shape,
};

use crate::samples::{Sample, floats};

/// Returns the parts of a ragged value: the flat values, and the row splits of each partition.
fn parts<'g>(value: impl Into<AnyValue<'g>>) -> Vec<Value<'g>> {
    let value = value.into();
    let splits = value.partitions().into_iter().map(|rows| rows.row_splits());
    std::iter::once(value.flat_values()).chain(splits).collect()
}

fn sorts<'g>(g: &'g Graph) -> Result<Vec<Value<'g>>> {
    let x = g.input("x", DType::F32, shape!["n", ?])?;
    let mut results = Vec::new();
    for descending in [false, true] {
        for axis in [0, 1, -1] {
            results.extend([x.sort(axis, descending)?, x.argsort(axis, descending)?]);
        }
        for dtype in [DType::F16, DType::BF16, DType::F64, DType::Bool] {
            let y = x.cast(dtype)?;
            // TensorFlow's arrays of bf16 are no arrays of numpy.
            let sorted = y.sort(0, descending)?;
            results.push(if dtype == DType::BF16 { sorted.cast(DType::F32)? } else { sorted });
            results.push(y.argsort(-1, descending)?);
        }
        for (name, dtype) in [("i8", DType::I8), ("u8", DType::U8), ("i64", DType::I64), ("u64", DType::U64)]
        {
            let name = format!("{name}_{descending}");
            let y = g.input(&name, dtype, shape![2, ?, 2])?;
            results.extend([y.sort(1, descending)?, y.argsort(0, descending)?, y.sort(-1, descending)?]);
        }
    }
    Ok(results)
}

fn partitions<'g>(g: &'g Graph) -> Result<Vec<Value<'g>>> {
    let values = g.input("values", DType::F32, shape!["n"])?;
    let splits = g.input("splits", DType::I64, shape!["s"])?;
    let ids = g.input("ids", DType::I32, shape!["k"])?;
    let x = RaggedValue::from_row_splits(values, splits)?;
    let mut results = parts(x);
    results.extend([x.value_rowids()?, x.row_lengths()?, x.bounding_shape_along(1)?]);
    let y = RaggedValue::from_value_rowids(values, ids, None)?;
    results.extend(parts(y));
    let count = g.input("count", DType::I64, shape![])?;
    results.extend(parts(RaggedValue::from_value_rowids(values, ids, Some(count.into_param()))?));
    results.extend(parts(RaggedValue::from_row_lengths(values, x.row_lengths()?)?));
    results.extend(parts((x + RaggedValue::from_row_splits(values * 2.0, splits + 0i64)?).ok()?));
    for descending in [false, true] {
        results.extend(parts(x.sort(1, descending)?));
        results.extend(parts(x.argsort(1, descending)?));
    }
    Ok(results)
}

fn reductions<'g>(g: &'g Graph) -> Result<Vec<Value<'g>>> {
    let splits = g.input("splits", DType::I32, shape!["s"])?;
    let mut results = Vec::new();
    for dtype in [DType::F32, DType::F16, DType::F64, DType::I32, DType::U8, DType::I64] {
        let values = g.input(&dtype.to_string(), dtype, shape!["m", 2])?;
        let x = RaggedValue::from_row_splits(values, splits)?;
        for reduced in [x.reduce_max(1)?, x.reduce_min(1)?, x.argmax(1)?, x.argmin(1)?, x.reduce_prod(1)?] {
            results.extend(parts(reduced));
        }
        let small =
            if dtype.is_float() { x.with_flat_values(values.maximum(-9.0)?.minimum(9.0)?)? } else { x };
        for reduced in [small.reduce_sum(1)?, small.reduce_mean(1)?] {
            results.extend(parts(reduced));
        }
        results.extend(parts(small.cumsum(1)?));
        results.extend(parts(small.cumsum_with(1, true, true)?));
        let flags = x.with_flat_values(values.greater(1)?)?;
        results.extend(parts(flags.reduce_any(1)?));
        results.extend(parts(flags.reduce_all(1)?));
    }
    Ok(results)
}

fn others<'g>(g: &'g Graph) -> Result<Vec<Value<'g>>> {
    let x = g.input("x", DType::F32, shape!["n", ?])?;
    let length = g.input("length", DType::I32, shape![])?.as_dim("length")?;
    let checked = x.checked(x.less(9.0)?.reduce_all([0, 1])?, "x must be less than 9")?;
    Ok(vec![
        checked,
        x.boolean_mask(x.greater(0.0)?, 0)?,
        x.boolean_mask(x.greater(0.0)?.reduce_any(0)?, 1)?,
        x.gelu(true)?,
        x.gelu(false)?,
        x.rank_tensor_as(DType::I64)?,
        x.reduce_logsumexp(1)?,
        x.reduce_variance(0)?,
        x.reduce_std(1)?,
        x.triu(1)?,
        x.tril(-1)?,
        g.range(0, length, 1)?,
    ])
}

/// Pools of images in both formats, of volumes, and along channels.
fn pools<'g>(g: &'g Graph) -> Result<Vec<Value<'g>>> {
    let (last, first) = (DataFormat::ChannelsLast, DataFormat::ChannelsFirst);
    let x = g.input("images", DType::F32, shape!["n", "h", "w", 3])?;
    let volumes = g.input("volumes", DType::F32, shape!["n", "d", 5, 6, 2])?;
    let fixed = g.input("fixed", DType::F32, [2, 5, 4, 3])?;
    let mut results = Vec::new();
    for padding in [Padding::Same, Padding::Valid, Padding::Explicit([[1, 0], [0, 2]])] {
        let is_explicit = matches!(padding, Padding::Explicit(_));
        for (sizes, strides) in [([2, 3], [2, 1]), ([3, 3], [1, 3])] {
            for format in [last, first] {
                let x = if format == last { x } else { x.transpose([0, 3, 1, 2])? };
                results.push(x.max_pool(sizes, strides, padding.clone(), format)?);
                results.push(x.avg_pool(sizes, strides, padding.clone(), format)?);
            }
        }
        if is_explicit {
            continue;
        }
        results.push(x.max_pool([1, 1], [2, 3], padding.clone(), last)?);
        results.push(volumes.max_pool([2, 2, 3], [1, 2, 2], padding.clone(), last)?);
        results.push(volumes.avg_pool([2, 2, 3], [1, 2, 2], padding.clone(), last)?);
        for dtype in [DType::F16, DType::F64] {
            results.push(fixed.cast(dtype)?.max_pool([2, 2], [2, 2], padding.clone(), last)?);
            results.push(fixed.cast(dtype)?.avg_pool([2, 2], [2, 2], padding.clone(), last)?);
        }
        results.push((x * 9.0).ok()?.cast(DType::I32)?.max_pool([2, 2], [1, 1], padding, last)?);
    }
    Ok(results)
}

fn softmaxes<'g>(g: &'g Graph) -> Result<Vec<Value<'g>>> {
    let x = g.input("x", DType::F32, shape!["n", ?, 4])?;
    let mut results = Vec::new();
    for dtype in [DType::F32, DType::F64] {
        let x = x.cast(dtype)?;
        for axis in [0, 1, -2, 2] {
            results.extend([x.softmax(axis)?, x.log_softmax(axis)?]);
        }
    }
    results.push(x.cast(DType::F16)?.softmax(0)?);
    Ok(results)
}

/// Exponentials of small and large matrices, of a rotation, of a matrix with an infinity, and of no matrices.
fn exponentials<'g>(g: &'g Graph) -> Result<Vec<Value<'g>>> {
    let x = g.input("x", DType::F64, shape!["n", 2, ?])?;
    let all = x.matrix_exponential()?;
    let complex = x.slice([0, 0, 0], [3, -1, -1])?;
    let complex = complex.complex((complex * 0.5).ok()?)?.matrix_exponential()?;
    let one = x.slice([0, 0, 0], [1, -1, -1])?.squeeze([0])?;
    let none = x.slice([0, 0, 0], [0, -1, -1])?;
    Ok(vec![
        all,
        x.cast(DType::F32)?.matrix_exponential()?,
        complex.real()?,
        complex.imag()?,
        one.matrix_exponential()?,
        none.matrix_exponential()?,
        one.cast(DType::F16)?.matrix_exponential()?,
    ])
}

/// Values of five rows, two of which are empty, in several dtypes.
fn rows_to_reduce() -> Vec<(&'static str, Tensor)> {
    let (nan, infinity) = (f32::NAN, f32::INFINITY);
    let floats = Tensor::from([
        [0.5f32, nan],
        [0.5, -2.0],
        [-0.25, 3.0],
        [-infinity, infinity],
        [-infinity, 2.0],
        [1.5, 1.0],
        [1.0, 1.5],
    ]);
    let ints = [[3i64, -4], [3, 9], [-5, 9], [1, 1], [0, 7], [7, 0], [100, 12]];
    let cast = |dtype: DType, x: &Tensor| {
        let g = Graph::new();
        let y = g.constant(x.clone()).and_then(|x| x.cast(dtype));
        let [y] = y.and_then(|y| g.compile(y)).and_then(|exe| exe.run(&[])).unwrap();
        y
    };
    let ints = Tensor::from(ints);
    let names = [("f32", DType::F32), ("f16", DType::F16), ("f64", DType::F64)];
    let floats = names.map(|(name, dtype)| (name, cast(dtype, &floats)));
    let names = [("i32", DType::I32), ("u8", DType::U8), ("i64", DType::I64)];
    let ints = names.map(|(name, dtype)| (name, cast(dtype, &ints)));
    let splits = ("splits", Tensor::from([0, 3, 3, 5, 7, 7]));
    std::iter::once(splits).chain(floats).chain(ints).collect()
}

fn elementwise<'g>(g: &'g Graph) -> Result<Vec<Value<'g>>> {
    let x = g.input("x", DType::F32, shape!["n", ?])?;
    let mut results = Vec::new();
    for dtype in [DType::F32, DType::F64, DType::F16] {
        let x = x.cast(dtype)?;
        results.extend([x.silu()?, x.log_sigmoid()?, x.hard_sigmoid()?, x.hard_swish()?, x.mish()?]);
        results.extend([x.cbrt()?, x.exp2()?, x.abs()?.log2()?]);
    }
    results.push(x.less(0.5)?.logical_xor(x.greater(-1.0)?)?);
    Ok(results)
}

/// Numbers with ties, zeros of both signs, infinities and NaN.
fn unordered() -> Tensor {
    let (nan, infinity) = (f32::NAN, f32::INFINITY);
    Tensor::from([
        [0.5f32, -0.0, nan, 2.0, -infinity],
        [0.0, -0.0, 0.5, -nan, 3.0],
        [-1.5, 0.0, 0.5, infinity, -1.5],
        [2.0, -3.0, nan, -nan, 0.0],
    ])
}

pub fn own_op_samples() -> Vec<Sample> {
    let mut given = vec![("x", unordered())];
    for [i8, u8, i64, u64] in
        [["i8_false", "u8_false", "i64_false", "u64_false"], ["i8_true", "u8_true", "i64_true", "u64_true"]]
    {
        given.push((i8, Tensor::from([[[-128i8, 127], [0, -128], [3, 3]], [[-1, 0], [127, 0], [-128, 5]]])));
        given.push((u8, Tensor::from([[[0u8, 255], [7, 0], [3, 3]], [[1, 0], [255, 0], [128, 5]]])));
        let (least, most) = (i64::MIN, i64::MAX);
        given.push((
            i64,
            Tensor::from([[[least, most], [0, least], [3, 3]], [[-1, 0], [most, 0], [least, 5]]]),
        ));
        let most = u64::MAX;
        given.push((
            u64,
            Tensor::from([[[0, most], [7, 1 << 63], [3, 3]], [[1, 0], [most, 0], [1 << 63, 5]]]),
        ));
    }
    let rows = |splits: &[i64], ids: &[i32], count: i64| {
        let values: Vec<f32> = ids.iter().enumerate().map(|(i, _)| ((i * 5) % 7) as f32 - 2.5).collect();
        vec![
            ("values", Tensor::from_slice(&[values.len()], &values).unwrap()),
            ("splits", Tensor::from_slice(&[splits.len()], splits).unwrap()),
            ("ids", Tensor::from_slice(&[ids.len()], ids).unwrap()),
            ("count", Tensor::scalar(count)),
        ]
    };
    let x = Tensor::from([[0.5f32, -1.0, 2.0], [3.0, 0.25, -0.5], [-1.0, -2.0, -3.0]]);
    vec![
        Sample { name: "sorts", build: sorts, feeds: given, runs_in_tensorflow: true },
        Sample {
            name: "partitions",
            build: partitions,
            feeds: rows(&[0, 3, 3, 4, 9], &[0, 0, 1, 3, 3, 3, 4, 5, 5], 8),
            runs_in_tensorflow: true,
        },
        Sample {
            name: "partitions_without_rows",
            build: partitions,
            feeds: rows(&[0], &[], 0),
            runs_in_tensorflow: true,
        },
        Sample {
            name: "reductions_of_rows",
            build: reductions,
            feeds: rows_to_reduce(),
            runs_in_tensorflow: true,
        },
        Sample {
            name: "sort_of_ragged_matrices",
            build: |g| {
                let x = g.ragged_constant(&ragged![[3.0f32, 1.0, 2.0], [], [0.5, f32::NAN, -0.0, 0.0]])?;
                let flat = x.flat_values();
                let x = x.with_flat_values(shapeflow::stack(&[flat, (flat * -1.0).ok()?], 1)?)?;
                let mut results = parts(x.sort(1, false)?);
                results.extend(parts(x.argsort(1, true)?));
                Ok(results)
            },
            feeds: Vec::new(),
            runs_in_tensorflow: true,
        },
        Sample {
            name: "elementwise_in_functions",
            build: elementwise,
            feeds: vec![("x", Tensor::from([[0.5f32, -1.0, 2.5], [3.0, 0.25, -0.5], [-6.0, -2.0, 0.125]]))],
            runs_in_tensorflow: true,
        },
        Sample {
            name: "pools_in_functions",
            build: pools,
            feeds: vec![
                ("images", floats(&[2, 5, 4, 3])),
                ("volumes", floats(&[2, 4, 5, 6, 2])),
                ("fixed", floats(&[2, 5, 4, 3])),
            ],
            runs_in_tensorflow: true,
        },
        Sample {
            name: "softmaxes_in_functions",
            build: softmaxes,
            feeds: vec![("x", floats(&[3, 2, 4]))],
            runs_in_tensorflow: true,
        },
        Sample {
            name: "matrix_exponentials_in_functions",
            build: exponentials,
            feeds: vec![(
                "x",
                Tensor::from([
                    [[0.5f64, -0.25], [1.0, 0.125]],
                    [[0.0, -30.0], [30.0, 0.0]],
                    [[3.0, 7.0], [-8.0, 1.5]],
                    [[f64::INFINITY, 0.0], [0.0, 1.0]],
                    [[0.0, 0.0], [0.0, 0.0]],
                ]),
            )],
            runs_in_tensorflow: true,
        },
        Sample {
            name: "ops_in_functions",
            build: others,
            feeds: vec![("x", x), ("length", Tensor::scalar(3i32))],
            runs_in_tensorflow: true,
        },
    ]
}
