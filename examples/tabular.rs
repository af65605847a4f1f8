//! Features of a table: missing numbers, standardized numbers, ranges and categories, and a linear model of them.

use shapeflow::{DType, Graph, Result, Tensor, Value, concat, shape};

/// Standardizes a column; a missing number (NaN) becomes the mean, which is 0.
fn standardized(column: Value<'_>) -> Result<Value<'_>> {
    let missing = column.is_nan()?;
    let count = missing.logical_not()?.cast(DType::F32)?.reduce_sum(0)?;
    let zeros = column.zeros_like()?;
    let mean = missing.select(zeros, column)?.reduce_sum(0)? / count;
    let offsets = missing.select(zeros, column - mean)?;
    let variance = offsets.square()?.reduce_sum(0)? / count;
    offsets.div((variance + 1e-6).sqrt()?)
}

pub(crate) fn main() -> Result<()> {
    let g = Graph::new();
    let age = g.input("age", DType::F32, shape!["rows"])?;
    let income = g.input("income", DType::F32, shape!["rows"])?;
    let city = g.input("city", DType::I64, shape!["rows"])?;

    let features = concat(
        &[
            standardized(age)?.expand_dims(1)?,
            standardized(income)?.expand_dims(1)?,
            age.bucketize(&[18.0, 40.0, 65.0])?.one_hot(4, 1.0f32, 0.0f32, -1)?,
            city.one_hot(3, 1.0f32, 0.0f32, -1)?,
        ],
        1,
    )?;
    assert_eq!(features.shape().to_string(), "[rows, 9]");
    let weights = g.constant([[0.3f32], [0.8], [-0.5], [0.1], [0.4], [0.2], [0.0], [0.6], [-0.1]])?;
    let chance = (features.matmul(weights)? - 0.2).sigmoid()?;
    let exe = g.compile([("features", features), ("chance", chance)])?;

    let results = exe.run_named(&[
        ("age", Tensor::from([17.0f32, f32::NAN, 70.0, 33.0]).view()),
        ("income", Tensor::from([0.0f32, 30.0, 20.0, f32::NAN]).view()),
        ("city", Tensor::from([0i64, 2, 1, 2]).view()),
    ])?;
    println!("features: {}\nchance: {}", results.tensor("features")?, results.tensor("chance")?);

    let features = results.tensor("features")?.to_vec::<f32>()?;
    let column = |number: usize| -> Vec<f32> { features.iter().skip(number).step_by(9).copied().collect() };
    // 17, 70 and 33 have the mean 40 and the variance 500.67. A missing age counts as an age above every limit.
    let std = (((23.0f32 * 23.0) + 30.0 * 30.0 + 7.0 * 7.0) / 3.0).sqrt();
    for (got, expected) in column(0).iter().zip([-23.0 / std, 0.0, 30.0 / std, -7.0 / std]) {
        assert!((got - expected).abs() < 1e-5, "{got} {expected}");
    }
    assert_eq!([column(2), column(3)], [[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]]);
    assert_eq!([column(5), column(8)], [[0.0, 1.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0]]);
    Ok(())
}
