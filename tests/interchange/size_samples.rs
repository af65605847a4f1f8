//! Sample graphs whose exports compute sizes, and graphs that TensorFlow's ops take in another form: a scalar
//! parameter, one value, a dtype.

use shapeflow::{AnyValue, DType, Dim, Graph, RaggedValue, Result, Tensor, Value, concat, shape};

use crate::samples::{Sample, floats};

/// Returns the parts of a ragged value: the flat values, and the row splits of each partition.
fn parts<'g>(value: impl Into<AnyValue<'g>>) -> Vec<Value<'g>> {
    let value = value.into();
    let splits = value.partitions().into_iter().map(|rows| rows.row_splits());
    std::iter::once(value.flat_values()).chain(splits).collect()
}

/// No input has a size that is a symbol, but `n+1` and `2*m`.
fn compound<'g>(g: &'g Graph) -> Result<Vec<Value<'g>>> {
    let [n, m] = ["n", "m"].map(Dim::symbol);
    let x = g.input("x", DType::F32, [n.clone() + 1])?;
    let y = g.input("y", DType::F32, [m.clone() * 2])?;
    Ok(vec![
        g.fill(vec![n.clone()], 1.0f32)?,
        g.fill(vec![m.clone(), n], 2.0f32)?,
        (x * 2.0).ok()?,
        y.slice(vec![Dim::from(0)], vec![m])?,
    ])
}

fn one_axis<'g>(g: &'g Graph) -> Result<Vec<Value<'g>>> {
    let x = g.ragged_input("x", DType::F32, 1, shape![])?;
    let mut results = vec![x.bounding_shape()?, x.to_tensor()?];
    results.extend(parts(x.reverse(0)?));
    results.extend(parts(x.tile([2, 1])?));
    results.extend(parts(x.expand_dims(0)?));
    results.extend(parts(RaggedValue::concat(&[x, x], 0)?));
    results.extend(parts(RaggedValue::concat(&[x, x], 1)?));
    results.extend(parts(RaggedValue::stack(&[x, x], 0)?));
    Ok(results)
}

fn two_axes<'g>(g: &'g Graph) -> Result<Vec<Value<'g>>> {
    let x = g.ragged_input("x", DType::F32, 2, shape![])?;
    let mut results = vec![x.to_tensor()?];
    results.extend(parts(x.neg()?));
    results.extend(parts(x.reduce_sum(2)?));
    Ok(results)
}

fn scalars<'g>(g: &'g Graph) -> Result<Vec<Value<'g>>> {
    let x = g.input("x", DType::F32, shape!["n"])?;
    Ok(vec![
        x.slice(0, 2)?,
        x.slice(1, -1)?,
        x.tile(2)?,
        x.reverse(0)?,
        x.transpose(0)?,
        g.fill(3, 1.0f32)?,
        x.reshape(-1)?,
        concat(&[x], 0)?,
    ])
}

/// TensorFlow's ops take neither these dtypes nor all of them.
fn dtypes<'g>(g: &'g Graph) -> Result<Vec<Value<'g>>> {
    let x = g.input("x", DType::F32, shape!["n"])?;
    let y = x.reverse([0])?;
    let [a, b] = [x.greater(0.5)?, y.greater(0.0)?];
    let mut results = vec![a.bitwise_and(b)?, a.bitwise_or(b)?, a.bitwise_xor(b)?, a.bitwise_not()?];
    results.extend([x.angle()?, x.cast(DType::F64)?.angle()?, x.cast(DType::F16)?.angle()?]);
    let wide = (x * 60.0).ok()?;
    for dtype in [DType::I8, DType::I16, DType::I32, DType::U8, DType::U16, DType::U32] {
        let wide = if dtype.is_signed() { wide } else { wide.abs()? };
        let [x, y] = [wide.cast(dtype)?, wide.reverse([0])?.cast(dtype)?];
        results.extend([x.squared_difference(y)?, x.diag()?, x.round()?, x.square()?]);
        results.push(x.expand_dims(1)?.matmul(y.expand_dims(0)?)?);
        results.push(x.pow(y.bitwise_and(y.ones_like()?)?)?);
    }
    Ok(results)
}

pub fn size_samples() -> Vec<Sample> {
    let splits = |values: &[i64]| Tensor::from_slice(&[values.len()], values).unwrap();
    let sample = |name, build, feeds| Sample { name, build, feeds, runs_in_tensorflow: true };
    vec![
        sample("compound_sizes", compound, vec![("x", floats(&[4])), ("y", floats(&[6]))]),
        sample(
            "one_ragged_axis",
            one_axis,
            vec![("x/flat_values", floats(&[5])), ("x/row_splits/0", splits(&[0, 2, 2, 5]))],
        ),
        sample(
            "two_ragged_axes",
            two_axes,
            vec![
                ("x/flat_values", floats(&[5])),
                ("x/row_splits/0", splits(&[0, 1, 3])),
                ("x/row_splits/1", splits(&[0, 2, 2, 5])),
            ],
        ),
        sample("scalar_parameters", scalars, vec![("x", floats(&[4]))]),
        sample("dtypes_that_tensorflow_lacks", dtypes, vec![("x", floats(&[6]))]),
    ]
}
