//! Runs matmuls in the crate gemm, which writes its results to the same memory in every call.

use std::rc::Rc;

use crate::file::{Array, Data};
use crate::{Call, Result};

pub fn make(case: &str, inputs: &Rc<Vec<Array>>, _: Option<&str>) -> Option<Result<Call>> {
    if !matches!(case, "matmul 512³" | "matmul 2048³" | "[1,784]×[784,512]") {
        return None;
    }
    let inputs = Rc::clone(inputs);
    let [a, b] = inputs.as_slice() else { return Some(Err("a matmul must have two operands".into())) };
    let (m, k, n) = (a.sizes[0], a.sizes[1], b.sizes[1]);
    if a.f32().len() != m * k || b.f32().len() != k * n {
        return Some(Err("the operands must be f32 and have the sizes of their matrices".into()));
    }
    let mut result = vec![0.0f32; m * n];
    Some(Ok(Box::new(move |wanted| {
        let (a, b) = (inputs[0].f32(), inputs[1].f32());
        // SAFETY: the operands have m × k and k × n elements and the result m × n, all in row-major order.
        unsafe {
            gemm::gemm(
                m,
                n,
                k,
                result.as_mut_ptr(),
                1,
                n as isize,
                false,
                a.as_ptr(),
                1,
                k as isize,
                b.as_ptr(),
                1,
                n as isize,
                0.0,
                1.0,
                false,
                false,
                false,
                gemm::Parallelism::None,
            );
        }
        Ok(if wanted { vec![Array::new(Data::F32(result.clone()), &[m, n])] } else { Vec::new() })
    })))
}
