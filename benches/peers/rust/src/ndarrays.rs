//! Runs cases in ndarray, which writes its results to the same memory in every call.

use std::rc::Rc;

use ndarray::linalg::general_mat_mul;
use ndarray::{ArrayD, ArrayViewD, Axis, Ix2, IxDyn, Slice, Zip, s};

use crate::file::{Array, Data};
use crate::{Call, Result};

/// A function that computes a case from its inputs, and writes the result to an array.
type Formula = fn(&[ArrayViewD<'_, f32>], &mut ArrayD<f32>) -> Result<()>;

pub fn make(case: &str, inputs: &Rc<Vec<Array>>, _: Option<&str>) -> Option<Result<Call>> {
    let (sizes, formula): (&[usize], Formula) = match case {
        "relu(a*x+b) 4 KiB" => (&[1 << 10], relu),
        "relu(a*x+b) 256 KiB" => (&[1 << 16], relu),
        "relu(a*x+b) 4 MiB" => (&[1 << 20], relu),
        "relu(a*x+b) 256 MiB" => (&[1 << 26], relu),
        "10 ops, scalar" => (&[], ten),
        "10 ops, 8 elements" => (&[8], ten),
        "10 ops, 256 MiB" => (&[1 << 26], ten),
        "sum axis 0 of 4096²" => (&[4096], |x, y| {
            y.assign(&x[0].sum_axis(Axis(0)));
            Ok(())
        }),
        "sum axis 1 of 4096²" => (&[4096], |x, y| {
            y.assign(&x[0].sum_axis(Axis(1)));
            Ok(())
        }),
        "sum all of 4096²" => (&[], |x, y| {
            y.fill(x[0].sum());
            Ok(())
        }),
        "transpose 4096² f32" => (&[4096, 4096], |x, y| {
            y.assign(&x[0].t());
            Ok(())
        }),
        "x[::-1, ::-2] of 4096²" => (&[4096, 2048], |x, y| {
            let x = x[0].view().into_dimensionality::<Ix2>()?;
            y.assign(&x.slice(s![..;-1, ..;-2]));
            Ok(())
        }),
        "reverse axis 1 of 4096²" => (&[4096, 4096], |x, y| {
            let x = x[0].view().into_dimensionality::<Ix2>()?;
            y.assign(&x.slice(s![.., ..;-1]));
            Ok(())
        }),
        "concat 8 × [1024,512] axis 1" => (&[1024, 4096], |x, y| {
            for (index, part) in x.iter().enumerate() {
                y.slice_axis_mut(Axis(1), Slice::from(index * 512..(index + 1) * 512)).assign(part);
            }
            Ok(())
        }),
        "pad [32,224,224,3] by 3" => (&[32, 230, 230, 3], |x, y| {
            y.fill(0.0);
            y.slice_mut(s![.., 3..227, 3..227, ..]).assign(&x[0]);
            Ok(())
        }),
        "matmul 512³" => (&[512, 512], matmul),
        "matmul 2048³" => (&[2048, 2048], matmul),
        "[1,784]×[784,512]" => (&[1, 512], matmul),
        _ => return None,
    };
    let (inputs, mut result) = (Rc::clone(inputs), ArrayD::zeros(IxDyn(sizes)));
    let check = |array: &Array| ArrayViewD::from_shape(IxDyn(&array.sizes), array.f32()).map(drop);
    if let Err(error) = inputs.iter().try_for_each(check) {
        return Some(Err(error.into()));
    }
    Some(Ok(Box::new(move |wanted| {
        let mut views = Vec::with_capacity(inputs.len());
        for input in inputs.iter() {
            views.push(ArrayViewD::from_shape(IxDyn(&input.sizes), input.f32())?);
        }
        formula(&views, &mut result)?;
        if !wanted {
            return Ok(Vec::new());
        }
        let data = result.iter().copied().collect();
        Ok(vec![Array::new(Data::F32(data), result.shape())])
    })))
}

fn relu(x: &[ArrayViewD<'_, f32>], y: &mut ArrayD<f32>) -> Result<()> {
    let (a, b) = (x[1].sum(), x[2].sum());
    Zip::from(y).and(&x[0]).for_each(|y, x| *y = (a * x + b).max(0.0));
    Ok(())
}

/// Computes ten ops. Each op passes over all elements, as in a program without a graph.
fn ten(x: &[ArrayViewD<'_, f32>], y: &mut ArrayD<f32>) -> Result<()> {
    y.assign(&x[0]);
    for k in 0..5 {
        *y *= 0.5;
        *y += k as f32;
    }
    Ok(())
}

fn matmul(x: &[ArrayViewD<'_, f32>], y: &mut ArrayD<f32>) -> Result<()> {
    let a = x[0].view().into_dimensionality::<Ix2>()?;
    let b = x[1].view().into_dimensionality::<Ix2>()?;
    let mut y = y.view_mut().into_dimensionality::<Ix2>()?;
    general_mat_mul(1.0, &a, &b, 0.0, &mut y);
    Ok(())
}
