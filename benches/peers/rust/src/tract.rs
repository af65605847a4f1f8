//! Runs the ONNX model of a case in tract, which optimizes the model and allocates its results in every call.

use std::rc::Rc;

use tract_onnx::prelude::*;

use crate::file::{Array, Data};
use crate::{Call, Result};

pub fn make(_: &str, inputs: &Rc<Vec<Array>>, model: Option<&str>) -> Option<Result<Call>> {
    Some(call(inputs, model?))
}

fn call(inputs: &[Array], path: &str) -> Result<Call> {
    let model = tract_onnx::onnx().model_for_path(path)?.into_optimized()?.into_runnable()?;
    let fed: TVec<TValue> =
        inputs.iter().filter(|input| !input.is_constant).map(tensor).collect::<Result<_>>()?;
    Ok(Box::new(move |wanted| {
        let outputs = model.run(fed.clone())?;
        if wanted { outputs.iter().map(|output| array(output)).collect() } else { Ok(Vec::new()) }
    }))
}

fn tensor(array: &Array) -> Result<TValue> {
    let sizes = &array.sizes;
    Ok(match &array.data {
        Data::F32(data) => Tensor::from_shape(sizes, data),
        Data::F64(data) => Tensor::from_shape(sizes, data),
        Data::C64(_) => return Err("the models have no complex inputs".into()),
        Data::I32(data) => Tensor::from_shape(sizes, data),
        Data::I64(data) => Tensor::from_shape(sizes, data),
        Data::U8(data) => Tensor::from_shape(sizes, data),
        Data::Bool(data) => Tensor::from_shape(sizes, data),
    }?
    .into_tvalue())
}

fn array(tensor: &Tensor) -> Result<Array> {
    let bytes = tensor.as_bytes();
    let dtype = tensor.datum_type();
    let data = if dtype == DatumType::F32 {
        Data::F32(elements(bytes, f32::from_ne_bytes))
    } else if dtype == DatumType::F64 {
        Data::F64(elements(bytes, f64::from_ne_bytes))
    } else if dtype == DatumType::I64 {
        Data::I64(elements(bytes, i64::from_ne_bytes))
    } else if dtype == DatumType::I32 {
        Data::I32(elements(bytes, i32::from_ne_bytes))
    } else if dtype == DatumType::Bool {
        Data::Bool(elements(bytes, |[byte]| byte != 0))
    } else if dtype.unquantized() == DatumType::U8 {
        Data::U8(bytes.to_vec())
    } else {
        return Err(format!("elements must be f32, f64, i64, i32, bool or u8, got {dtype:?}").into());
    };
    Ok(Array::new(data, tensor.shape()))
}

fn elements<T, const N: usize>(bytes: &[u8], element: fn([u8; N]) -> T) -> Vec<T> {
    let (chunks, _) = bytes.as_chunks::<N>();
    chunks.iter().map(|chunk| element(*chunk)).collect()
}
