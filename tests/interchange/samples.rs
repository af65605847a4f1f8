//! Sample graphs, each about one family of ops.

use crate::string_samples;
use shapeflow::{
    Axes, DType, Dim, Graph, IntoAxes, Result, SliceMasks, Tensor, Value, WindowPadding, concat,
    dynamic_stitch, shape, stack,
};

/// A graph about one family of ops, with its feeds.
pub struct Sample {
    pub name: &'static str,
    pub build: for<'g> fn(&'g Graph) -> Result<Vec<Value<'g>>>,
    pub feeds: Vec<(&'static str, Tensor)>,
    /// Whether TensorFlow has all ops of the graph.
    pub runs_in_tensorflow: bool,
}

pub fn floats(sizes: &[usize]) -> Tensor {
    let count: usize = sizes.iter().product();
    let values: Vec<f32> = (0..count).map(|index| ((index * 37 + 11) % 64) as f32 / 16.0 - 2.0).collect();
    Tensor::from_slice(sizes, &values).unwrap()
}

fn ints(values: &[i32]) -> Tensor {
    Tensor::from_slice(&[values.len()], values).unwrap()
}

#[expect(clippy::too_many_lines, reason = "a list")]
pub fn samples() -> Vec<Sample> {
    let x = || ("x", floats(&[3, 4]));
    let numeric = vec![
        Sample {
            name: "mlp",
            build: |g| {
                let x = g.input("x", DType::F32, shape!["batch", 4])?;
                let w = g.constant(floats(&[4, 5]))?.named("w");
                let scope = g.scope("layer");
                let y = (x.matmul(w)? + 0.5).relu()?.named("activation");
                drop(scope);
                Ok(vec![y.softmax(-1)?.named("probabilities")])
            },
            feeds: vec![x()],
            runs_in_tensorflow: true,
        },
        Sample {
            name: "elementwise",
            build: |g| {
                let x = g.input("x", DType::F32, shape![?, ?])?;
                let y = (x.tanh()? * x.exp()? - x.square()?) / (x.abs()? + 1.5);
                Ok(vec![y, x.maximum(y)?.sigmoid()?, x.floormod(0.75)?, x.floor()?.sign()?])
            },
            feeds: vec![x()],
            runs_in_tensorflow: true,
        },
        Sample {
            name: "reductions",
            build: |g| {
                let x = g.input("x", DType::F32, shape![?, 4])?;
                Ok(vec![
                    x.reduce_sum(Axes::all())?,
                    x.reduce_mean([1])?,
                    x.reduce_max([0].into_axes().keep_dims())?,
                    x.reduce_min([-1])?,
                    x.greater(0.0)?.reduce_any([0])?,
                    x.argmax(-1)?,
                    x.argmin_as(0, DType::I32)?,
                ])
            },
            feeds: vec![x()],
            runs_in_tensorflow: true,
        },
        Sample {
            name: "unknown_rank",
            build: |g| {
                let x = g.input("x", DType::F32, shape![..])?;
                Ok(vec![x.reduce_sum(Axes::all())?, (x + 1.0).rsqrt()?.neg()?.relu()?, x.shape_tensor()?])
            },
            feeds: vec![("x", Tensor::from([[[0.5f32, 1.0], [2.0, 3.0]]]))],
            runs_in_tensorflow: true,
        },
        Sample {
            name: "symbolic_reshape",
            build: |g| {
                let x = g.input("x", DType::F32, shape!["n", 4])?;
                let n = x.dim(0)?;
                let halves = x.reshape(&[n.clone(), Dim::from(2), Dim::from(2)][..])?;
                Ok(vec![halves, x.reshape([-1, 2])?, x.reshape(&[n * 2, Dim::from(-1)][..])?])
            },
            feeds: vec![x()],
            runs_in_tensorflow: true,
        },
        Sample {
            name: "views",
            build: |g| {
                let x = g.input("x", DType::F32, shape!["n", 4])?;
                Ok(vec![
                    x.transpose([1, 0])?,
                    x.t()?,
                    x.slice([1, 0], [-1, 3])?,
                    x.reverse([1])?,
                    x.expand_dims(1)?,
                    x.expand_dims(1)?.squeeze([1])?,
                    x.tile([2, 1])?,
                    x.broadcast_to([2, 3, 4])?,
                ])
            },
            feeds: vec![x()],
            runs_in_tensorflow: true,
        },
        Sample {
            name: "strided_slices",
            build: |g| {
                let x = g.input("x", DType::F32, shape![?, 4])?;
                let masks = SliceMasks { shrink_axis: 1, end: 2, ..SliceMasks::default() };
                Ok(vec![
                    x.strided_slice([-1, 0], [0, 0], [1, 2], masks)?,
                    x.strided_slice([2, 3], [0, 0], [-1, -2], SliceMasks::default())?,
                ])
            },
            feeds: vec![x()],
            runs_in_tensorflow: true,
        },
        Sample {
            name: "joins",
            build: |g| {
                let x = g.input("x", DType::F32, shape!["a", 4])?;
                let y = g.input("y", DType::F32, shape!["b", 4])?;
                let joined = concat(&[x, y, x], 0)?;
                let [low, high] = joined.split::<2>(1)?;
                Ok(vec![joined, low, high, stack(&[x, x], 1)?])
            },
            feeds: vec![x(), ("y", floats(&[2, 4]))],
            runs_in_tensorflow: true,
        },
        Sample {
            name: "parts",
            build: |g| {
                let x = g.input("x", DType::F32, [3, 4])?;
                let mut parts = x.split_sizes(&[1, 3][..], 1)?;
                parts.extend(x.unstack(0)?);
                Ok(parts)
            },
            feeds: vec![x()],
            runs_in_tensorflow: true,
        },
        Sample {
            name: "pads",
            build: |g| {
                let x = g.input("x", DType::F32, shape!["n", 4])?;
                Ok(vec![
                    x.pad([1, 0, 0, 2])?,
                    x.pad_with([0, 1, 1, 1], 7.5)?,
                    x.mirror_pad([1, 1, 0, 2], shapeflow::Mirror::Reflect)?,
                ])
            },
            feeds: vec![x()],
            runs_in_tensorflow: true,
        },
        Sample {
            name: "gathers",
            build: |g| {
                let x = g.input("x", DType::F32, shape![?, 4])?;
                let at = g.input("at", DType::I32, shape!["k"])?;
                Ok(vec![x.gather(at, 1)?, x.gather(at, 0)?.cumsum(0)?, at.one_hot(4, 1.0f32, 0.0f32, -1)?])
            },
            feeds: vec![x(), ("at", ints(&[2, 0, 1]))],
            runs_in_tensorflow: true,
        },
        Sample {
            name: "indexed_ops",
            build: |g| {
                let x = g.input("x", DType::F32, shape![3, 4])?;
                let at = g.input("at", DType::I32, shape!["k", 1])?;
                let [first, second, _] = x.unstack_into(0)?;
                let parts = x.dynamic_partition(g.constant([1, 0, 1])?, 2)?;
                let stitched = dynamic_stitch(
                    &[g.constant([0, 2, 4, 6])?, g.constant([1, 3, 5, 7])?],
                    &[first, second],
                )?;
                let rows = x.gather_nd(at)?;
                Ok(vec![
                    rows,
                    at.scatter_nd(rows, [3, 4])?,
                    x.tensor_scatter_nd_update(at, rows)?,
                    x.tensor_scatter_nd_add(at, rows)?,
                    x.tensor_scatter_nd_max(at, rows)?,
                    parts[0],
                    parts[1],
                    stitched,
                    x.reverse_sequence(g.constant([2, 0, 4])?, 1, 0)?,
                    x.segment_mean(g.constant([0, 0, 2])?)?,
                    x.unsorted_segment_min(g.constant([1, -1, 0])?, 3)?,
                ])
            },
            feeds: vec![x(), ("at", Tensor::from([[2], [0], [2]]))],
            runs_in_tensorflow: true,
        },
        Sample {
            name: "blocks",
            build: |g| {
                let x = g.input("x", DType::F32, shape!["n", 2, 4, 4])?;
                Ok(vec![
                    x.space_to_depth(2)?,
                    x.depth_to_space(2)?,
                    x.space_to_batch_nd([2, 2], [0, 0, 1, 1])?,
                    x.space_to_batch_nd([2], [0, 0])?.batch_to_space_nd([2], [0, 1])?,
                    x.extract_image_patches([2, 3], [1, 2], [1, 1], WindowPadding::Same)?,
                ])
            },
            feeds: vec![("x", floats(&[2, 2, 4, 4]))],
            runs_in_tensorflow: true,
        },
        Sample {
            name: "selects",
            build: |g| {
                let x = g.input("x", DType::F32, shape![?, 4])?;
                let positive = x.greater_equal(0.25)?;
                let small = x.less(1.0)?;
                Ok(vec![
                    positive.select(x, x * -1.0)?,
                    positive.logical_and(small)?.logical_not()?,
                    x.clip_by_value(-1.0, 1.0)?,
                ])
            },
            feeds: vec![x()],
            runs_in_tensorflow: true,
        },
        Sample {
            name: "integers",
            build: |g| {
                let x = g.input("x", DType::I32, shape!["n"])?;
                Ok(vec![
                    x.floordiv(3)?,
                    x % 3,
                    (x & 6) | 1,
                    x.cast(DType::F64)?.sqrt()?,
                    x.cast(DType::U8)?,
                    x.pow(2)?,
                ])
            },
            feeds: vec![("x", ints(&[7, 4, 9, 0]))],
            runs_in_tensorflow: true,
        },
        Sample {
            name: "shape_arithmetic",
            build: |g| {
                let x = g.input("x", DType::F32, shape!["n", ?, 2])?;
                let sizes = x.shape_tensor_as(DType::I32)?;
                let flat = x.reshape(sizes.slice([0], [1])?)?;
                let _ = flat;
                Ok(vec![sizes, x.size_tensor_as(DType::I32)?])
            },
            feeds: vec![("x", floats(&[1, 1, 2]))],
            runs_in_tensorflow: true,
        },
        Sample {
            name: "batched_matmuls",
            build: |g| {
                let x = g.input("x", DType::F32, shape!["b", 3, 4])?;
                let y = g.input("y", DType::F32, shape![5, 4])?;
                Ok(vec![x.matmul_transposed(y, false, true)?])
            },
            feeds: vec![("x", floats(&[2, 3, 4])), ("y", floats(&[5, 4]))],
            runs_in_tensorflow: true,
        },
        Sample {
            name: "transposed_matmuls",
            build: |g| {
                let x = g.input("x", DType::F32, shape![3, 4])?;
                Ok(vec![x.matmul_transposed(x, true, false)?, x.matmul_transposed(x, false, true)?])
            },
            feeds: vec![x()],
            runs_in_tensorflow: true,
        },
        Sample {
            name: "ranges_and_fills",
            build: |g| {
                let n = g.input("n", DType::I32, shape![])?;
                let x = g.input("x", DType::F32, shape!["rows", 4])?;
                let filled = g.fill([2, 3], 1.5f32)?;
                Ok(vec![g.range(0, n, 2)?, g.range(0.0, 1.0, 0.25)?, filled, x.zeros_like()?, x.ones_like()?])
            },
            feeds: vec![("n", Tensor::scalar(7i32)), x()],
            runs_in_tensorflow: true,
        },
        Sample {
            name: "data_dependent",
            build: |g| {
                let x = g.input("x", DType::I32, shape!["n"])?;
                let [values, places] = x.unique()?;
                Ok(vec![values, places, x.greater(3)?.where_indices()?])
            },
            feeds: vec![("x", ints(&[7, 4, 7, 0, 4]))],
            runs_in_tensorflow: true,
        },
        Sample {
            name: "activations",
            build: |g| {
                let x = g.input("x", DType::F32, shape![?, 4])?;
                Ok(vec![
                    x.elu()?,
                    x.selu()?,
                    x.softplus()?,
                    x.softsign()?,
                    x.relu6()?,
                    x.leaky_relu(0.3)?,
                    x.log_softmax(-1)?,
                ])
            },
            feeds: vec![x()],
            runs_in_tensorflow: true,
        },
        Sample {
            name: "layer_norm",
            build: |g| {
                let x = g.input("x", DType::F32, shape!["n", 4])?;
                let last = || [-1].into_axes().keep_dims();
                let mean = x.reduce_mean(last())?;
                let variance = x.squared_difference(mean)?.reduce_mean(last())?;
                Ok(vec![(x - mean) * (variance + 1e-5).rsqrt()?])
            },
            feeds: vec![x()],
            runs_in_tensorflow: true,
        },
        Sample {
            name: "many_dtypes",
            build: |g| {
                let x = g.input("x", DType::F64, shape![?])?;
                let h = x.cast(DType::F16)?;
                Ok(vec![h.cast(DType::F32)?, x.cast(DType::I64)? + 3, x.cast(DType::Bool)?])
            },
            feeds: vec![("x", Tensor::from([1.5f64, -2.0, 0.0]))],
            runs_in_tensorflow: true,
        },
        Sample {
            name: "checks",
            build: |g| {
                let x = g.input("x", DType::F32, shape![?])?;
                Ok(vec![x.check_numerics("x")?])
            },
            feeds: vec![("x", Tensor::from([1.5f32, -2.0]))],
            runs_in_tensorflow: true,
        },
        Sample {
            name: "ops_without_tensorflow_spelling",
            build: |g| {
                let x = g.input("x", DType::F32, shape!["n", ?])?;
                let mask = x.greater(0.0)?;
                Ok(vec![x.gelu(true)?, x.silu()?, x.boolean_mask(mask, 0)?, x.rank_tensor_as(DType::I64)?])
            },
            feeds: vec![x()],
            runs_in_tensorflow: true,
        },
    ];
    numeric.into_iter().chain(string_samples::samples()).collect()
}
