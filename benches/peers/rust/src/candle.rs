//! Runs cases in candle, which computes op by op and allocates its results in every call.

use std::rc::Rc;

use candle_core::{DType, Device, Tensor};

use crate::file::{Array, Data};
use crate::{Call, Result};

type Formula = fn(&[Tensor]) -> candle_core::Result<Tensor>;

pub fn make(case: &str, inputs: &Rc<Vec<Array>>, _: Option<&str>) -> Option<Result<Call>> {
    let formula: Formula = match case {
        "relu(a*x+b) 4 KiB" | "relu(a*x+b) 256 KiB" | "relu(a*x+b) 4 MiB" | "relu(a*x+b) 256 MiB" => {
            |x| x[0].affine(1.5, -0.25)?.relu()
        }
        "10 ops, scalar" | "10 ops, 8 elements" | "10 ops, 256 MiB" => |x| {
            let mut y = x[0].clone();
            for k in 0..5 {
                y = y.affine(0.5, 0.0)?.affine(1.0, f64::from(k))?;
            }
            Ok(y)
        },
        "gelu erf 1M" => |x| x[0].gelu_erf(),
        "gelu tanh 1M" => |x| x[0].gelu(),
        "sum axis 0 of 4096²" => |x| x[0].sum(0),
        "sum axis 1 of 4096²" => |x| x[0].sum(1),
        "sum all of 4096²" => |x| x[0].sum_all(),
        "transpose 4096² f32" => |x| x[0].t()?.contiguous(),
        "concat 8 × [1024,512] axis 1" => |x| Tensor::cat(x, 1),
        "tile [1024,256] × [4,4]" => |x| x[0].repeat((4, 4)),
        "pad [32,224,224,3] by 3" => |x| x[0].pad_with_zeros(1, 3, 3)?.pad_with_zeros(2, 3, 3),
        "space_to_depth [8,256,256,16] by 2" => |x| {
            let split = x[0].reshape(&[8, 128, 2, 128, 2, 16])?.permute([0, 1, 3, 2, 4, 5])?;
            split.contiguous()?.reshape(&[8, 128, 128, 64])
        },
        "gather 100k rows of 64 from 1M" => |x| x[0].index_select(&x[1], 0),
        "embedding lookup + mean [1024,32] from 50k × 64" => {
            |x| x[1].index_select(&x[0].flatten_all()?, 0)?.reshape(&[1024, 32, 64])?.mean(1)
        }
        "matmul 512³" | "matmul 2048³" | "[1,784]×[784,512]" => |x| x[0].matmul(&x[1]),
        _ => return None,
    };
    Some(call(inputs, formula))
}

fn call(inputs: &[Array], formula: Formula) -> Result<Call> {
    let mut tensors = Vec::new();
    for input in inputs {
        let sizes = input.sizes.as_slice();
        tensors.push(match &input.data {
            Data::F32(data) => Tensor::from_slice(data, sizes, &Device::Cpu)?,
            Data::I32(data) => {
                let data: Vec<u32> = data.iter().map(|x| *x as u32).collect();
                Tensor::from_vec(data, sizes, &Device::Cpu)?
            }
            _ => return Err("candle takes f32 and i32 inputs only".into()),
        });
    }
    Ok(Box::new(move |wanted| {
        let result = formula(&tensors)?;
        if !wanted {
            return Ok(Vec::new());
        }
        let data = result.to_dtype(DType::F32)?.flatten_all()?.to_vec1()?;
        Ok(vec![Array::new(Data::F32(data), result.dims())])
    }))
}
