//! The recorded cases of each dtype that TensorFlow takes.

use serde_json::Value as Json;
use shapeflow::{AnyValue, DType, RaggedValue, Result, Value};

/// Returns the dtype that TensorFlow calls `name`.
pub fn dtype_named(name: &str) -> DType {
    match name {
        "bool" => DType::Bool,
        "int8" => DType::I8,
        "int16" => DType::I16,
        "int32" => DType::I32,
        "int64" => DType::I64,
        "uint8" => DType::U8,
        "uint16" => DType::U16,
        "uint32" => DType::U32,
        "uint64" => DType::U64,
        "float16" => DType::F16,
        "bfloat16" => DType::BF16,
        "float32" => DType::F32,
        "float64" => DType::F64,
        "complex64" => DType::C64,
        "complex128" => DType::C128,
        other => panic!("no dtype is named {other}"),
    }
}

/// Applies the op of a case to a value of a graph. `arguments` has the names of the dtype of the elements, of the
/// function, and of the dtype that TensorFlow gives. The result is cast to f64; a complex number `a + bi` becomes
/// `a + 3 b`.
pub fn in_graph<'g>(op: &str, arguments: &[Json], x: RaggedValue<'g>) -> Option<Result<AnyValue<'g>>> {
    if op != "of_dtype" {
        return None;
    }
    let [dtype, function, given] = arguments else { panic!("a case has three arguments") };
    let name = |json: &'_ Json| json.as_str().unwrap().to_string();
    let result = elements(x, dtype_named(&name(dtype))).and_then(|x| apply(&name(function), x));
    Some(result.and_then(|result| {
        assert_eq!(result.flat_values().dtype(), dtype_named(&name(given)), "{arguments:?}");
        match result {
            AnyValue::Dense(result) => Ok(to_f64(result)?.into()),
            AnyValue::Ragged(result) => Ok(result.map_flat_values(to_f64)?.into()),
        }
    }))
}

/// Returns elements of a dtype.
fn elements<'g>(x: RaggedValue<'g>, dtype: DType) -> Result<RaggedValue<'g>> {
    let part = match dtype {
        DType::Bool => return x.greater(0.0),
        DType::C64 => DType::F32,
        DType::C128 => DType::F64,
        dtype => return x.abs()?.cast(dtype),
    };
    let x = x.abs()?.cast(part)?;
    x.complex((x * -2.0).ok()?)
}

fn to_f64(value: Value<'_>) -> Result<Value<'_>> {
    if !value.dtype().is_complex() {
        return value.cast(DType::F64);
    }
    (value.real()? + value.imag()? * 3.0).ok()?.cast(DType::F64)
}

fn apply<'g>(function: &str, x: RaggedValue<'g>) -> Result<AnyValue<'g>> {
    let (graph, same) = (x.graph(), x);
    let ids = || {
        let rows = x.nrows().as_known().expect("the input is a constant");
        graph.constant((0..rows).map(|row| row % 2).collect::<Vec<i64>>())
    };
    let one = || graph.constant(1)?.cast(x.dtype());
    let axis = function.split_once(' ').map(|(_, axis)| axis.parse::<i64>().unwrap());
    Ok(match function {
        "reduce_sum 0" | "reduce_sum 1" => x.reduce_sum(axis.unwrap())?,
        "reduce_prod 0" | "reduce_prod 1" => x.reduce_prod(axis.unwrap())?,
        "reduce_max 0" | "reduce_max 1" => x.reduce_max(axis.unwrap())?,
        "reduce_min 0" | "reduce_min 1" => x.reduce_min(axis.unwrap())?,
        "reduce_mean 0" | "reduce_mean 1" => x.reduce_mean(axis.unwrap())?,
        "reduce_variance 0" | "reduce_variance 1" => x.reduce_variance(axis.unwrap())?,
        "reduce_std 0" | "reduce_std 1" => x.reduce_std(axis.unwrap())?,
        "reduce_any 1" => x.reduce_any(1)?,
        "reduce_all 1" => x.reduce_all(1)?,
        "segment_sum" => x.unsorted_segment_sum(ids()?, 2)?,
        "segment_prod" => x.unsorted_segment_prod(ids()?, 2)?,
        "segment_max" => x.unsorted_segment_max(ids()?, 2)?,
        "segment_min" => x.unsorted_segment_min(ids()?, 2)?,
        "segment_mean" => x.unsorted_segment_mean(ids()?, 2)?,
        "segment_sqrt_n" => x.unsorted_segment_sqrt_n(ids()?, 2)?,
        "cumsum 0" | "cumsum 1" => x.cumsum(axis.unwrap())?.into(),
        "softmax" => x.softmax(-1)?.into(),
        "to_tensor" => x.to_tensor()?.into(),
        "to_sparse" => x.to_sparse()?[1].into(),
        "concat" => RaggedValue::concat(&[x, x], 1)?.into(),
        "stack" => RaggedValue::stack(&[x, x], 1)?.into(),
        "tile" => {
            let mut multiples = vec![1i64; x.rank().unwrap()];
            multiples[1] = 2;
            x.tile(&multiples)?.into()
        }
        "reverse" => x.reverse(1)?.into(),
        "gather" => x.gather(graph.constant([1i64, 0])?, 0)?,
        "where" => x.where_indices()?.into(),
        "one_hot" => x.one_hot(3, 1.0f32, 0.0f32, -1)?.into(),
        "bincount" => x.bincount(5, false)?.into(),
        "matmul" => x.matmul_transposed(x, false, true)?,
        "div" => (x / (x + x)).ok()?.into(),
        "square" => x.square()?.into(),
        "neg" => x.neg()?.into(),
        "abs" => x.abs()?.into(),
        "zeros_like" => x.zeros_like()?.into(),
        "ones_like" => x.ones_like()?.into(),
        "add" => (x + x).ok()?.into(),
        "sub" => (x - same).ok()?.into(),
        "mul" => (x * x).ok()?.into(),
        "add_n" => RaggedValue::add_n(&[x, x, x])?.into(),
        "floordiv" => x.floordiv(x.ones_like()?)?.into(),
        "mod" => (x % x.ones_like()?).ok()?.into(),
        "less" => x.less(x)?.into(),
        "equal" => x.equal(x)?.into(),
        "maximum" => x.maximum(x)?.into(),
        "and" => (x & same).ok()?.into(),
        "not" => (!x).ok()?.into(),
        "clip" => x.clip_by_value(one()?, (one()? + one()?).ok()?)?.into(),
        other => panic!("no function is named {other}"),
    })
}

/// Returns by how much a result may differ from the recorded one. TensorFlow computes a variance as a difference of
/// squares, and rounds each step.
pub fn slack(arguments: &[Json]) -> f64 {
    let name = |index: usize| arguments[index].as_str().unwrap();
    let steps = match name(1).split(' ').next().unwrap() {
        "reduce_variance" => 16.0,
        "reduce_std" => 64.0,
        "softmax" | "segment_sqrt_n" => 1.0,
        _ => return 0.0,
    };
    steps
        * match name(2) {
            "bfloat16" => 0.008,
            "float16" => 0.001,
            "float32" | "complex64" => 1e-6,
            _ => 1e-14,
        }
}
