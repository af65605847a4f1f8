//! Rust scalars and dimensions as operands: the dtype that each takes.

use insta::assert_snapshot;
use shapeflow::{DType, DiagonalAlign, Graph, Result, Tensor, Value, shape};

use crate::error_snapshots::error_text;

fn computed(value: Result<Value<'_>>) -> Tensor {
    let value = value.unwrap();
    value.graph().compile(value).unwrap().run::<1>(&[]).unwrap()[0].clone()
}

#[test]
fn a_scalar_beside_indices_keeps_its_type() -> Result<()> {
    let g = Graph::new();
    let index = g.constant([[0i64, 1]])?;
    let dense = computed(index.sparse_to_dense([2, 2], 1.5f32, 0.0f32));
    assert_eq!(dense, Tensor::from([[0.0f32, 1.5], [0.0, 0.0]]));
    assert_eq!(computed(index.sparse_to_dense([1, 2], 1.5, 0.0)), Tensor::from([[0.0, 1.5]]));
    assert_eq!(computed(index.sparse_to_dense([1, 2], 2, 0)), Tensor::from([[0, 2]]));
    // The values are a tensor: the default takes their dtype.
    let values = g.constant([1.5f32])?;
    assert_eq!(computed(index.sparse_to_dense([1, 2], values, 0.0)), Tensor::from([[0.0f32, 1.5]]));
    assert_eq!(computed(index.sparse_to_dense([1, 2], 7, g.constant(1u8)?)), Tensor::from([[1u8, 7]]));
    let dtype = |value: Result<Value<'_>>| value.unwrap().dtype();
    let sizes = g.constant([3i64, 2])?;
    let rows = index.sparse_fill_empty_rows(values, sizes, -1)?;
    assert_eq!(rows[1].dtype(), DType::F32);
    let error = error_text(index.scatter_nd(1.0f32, [3, 3]));
    assert!(error.contains("scatter_nd(i64[1, 2], f32[], shape=[3, 3])"), "{error}");
    let x = g.constant([1.0f32, 2.0, 3.0])?;
    assert_eq!(computed(x.gather(2, 0)), Tensor::from(3.0f32));
    assert_eq!(
        computed(x.tensor_scatter_nd_update(g.constant([[1]])?, g.constant([5.0f32])?)),
        Tensor::from([1.0f32, 5.0, 3.0])
    );
    assert_eq!(computed(g.constant([1u8, 2])?.gather(1, 0)), Tensor::from(2u8));
    assert_eq!(dtype(x.gather(1i64, 0)), DType::F32);
    Ok(())
}

#[test]
fn a_scalar_beside_a_seed_keeps_its_type() -> Result<()> {
    let g = Graph::new();
    let seed = g.constant([1i64, 2])?;
    assert_eq!(seed.random_int([9], 0i32, 6i32)?.dtype(), DType::I32);
    assert_eq!(seed.random_int([9], 0, 6i64)?.dtype(), DType::I64);
    assert_eq!(seed.random_gamma([9], 0.5f32)?.dtype(), DType::F32);
    let waits = computed(seed.random_poisson([2000], 2.5, DType::F64)?.reduce_mean(0));
    assert!((waits.item::<f64>()? - 2.5).abs() < 0.3);
    let heads = computed(seed.random_binomial([2000], 8, 0.25, DType::F64)?.reduce_mean(0));
    assert!((heads.item::<f64>()? - 2.0).abs() < 0.3);
    let normal = seed.random_parameterized_truncated_normal([9], 0.5f32, 1, -1.0, 1.0)?;
    assert_eq!(normal.dtype(), DType::F32);
    let order = g.constant([1, 2, 3])?.random_index_shuffle(5i64, 9)?;
    assert_eq!(order.dtype(), DType::I64);
    Ok(())
}

#[test]
fn scalars_of_one_call_agree() -> Result<()> {
    let g = Graph::new();
    assert_eq!(g.linspace(-1.0f32, 1.0, 5)?.dtype(), DType::F32);
    assert_eq!(g.linspace(-1, 1.0, 5)?.dtype(), DType::F64);
    assert_eq!(g.linspace(0.0, g.constant(1.0f32)?, 5)?.dtype(), DType::F32);
    assert_eq!(g.range(0.0f32, 1.0, 0.25)?.dtype(), DType::F32);
    let index = g.constant([1])?;
    assert_eq!(computed(index.one_hot(3, 1.0f32, 0.0, -1)), Tensor::from([[0.0f32, 1.0, 0.0]]));
    assert_eq!(index.one_hot(3, 1, 0u8, -1)?.dtype(), DType::U8);
    let x = g.constant([[1.0f32, 2.0]])?;
    let diagonal = x.matrix_diag_with(0, -1, -1, 9, DiagonalAlign::RightLeft)?;
    assert_eq!(diagonal.dtype(), DType::F32);
    assert_snapshot!(error_text(index.one_hot(3, 300, 0u8, -1)), @r#"
    error: one_hot: the scalar must fit u8, got 300
      --> `error_text(index.one_hot(3, 300, 0u8, -1))`
    "#);
    let error = index.sparse_to_dense([3], g.constant([1i64])?, 0.5).unwrap_err();
    assert_eq!(error.op(), Some("sparse_to_dense"));
    assert!(error.message().ends_with("must hold the scalar, got 0.5 with i64[1]"), "{error}");
    Ok(())
}

#[test]
fn a_dimension_is_an_operand() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n"])?;
    let shape = x.shape();
    let n = shape.dim(0).unwrap();
    let mean = (x.reduce_sum(0)? / n).ok()?;
    let left = (g.constant(10i64)? - n.clone()).ok()?;
    let last = x.gather(n.clone() - 1, 0)?;
    let exe = g.compile([mean, left, last])?;
    for count in [2usize, 5] {
        let data = Tensor::from_vec(&[count], (0..count).map(|k| k as f32).collect())?;
        let [mean, left, last] = exe.run(&[data.view()])?;
        assert_eq!(mean.item::<f32>()?, (count - 1) as f32 / 2.0);
        assert_eq!((left.item::<i64>()?, last.item::<f32>()?), (10 - count as i64, (count - 1) as f32));
    }
    assert_snapshot!(error_text((g.constant([1i32])? + n).ok()), @r#"
    error: add: a dimension is an i64 scalar, and takes the dtype of a float tensor operand, got n with i32[1]
      --> `error_text((g.constant([1i32])? + n).ok())`
      help: cast the tensor to i64 with .cast(DType::I64), or take the size from .shape_tensor_as(DType::I32)
    "#);
    Ok(())
}
