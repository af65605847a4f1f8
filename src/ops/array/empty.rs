//! `empty`: a tensor of zeros.

use shapeflow_shape_fns::{Attribute, DType};

use crate::dtype;
use crate::error::Result;
use crate::graph::{Graph, IntoShapeArg, Value};
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::ops::host_params::param_sizes;
use crate::tensor::Tensor;

impl Graph {
    /// Makes a tensor of shape `shape` whose elements are zero, `false` or empty strings. [`Graph::fill`] with a zero
    /// fuses into kernels.
    ///
    /// `shape [n] -> shape`; bool, integers, floats, complex numbers and strings. As TensorFlow's `Empty`, which with
    /// `init=false` leaves the elements undefined; here they are zeros. Runs on the host.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.empty([2, 3], DType::I32)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([[0, 0, 0], [0, 0, 0]]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// A size is negative, or `dtype` is not supported.
    #[track_caller]
    pub fn empty<'g>(&'g self, shape: impl IntoShapeArg<'g>, dtype: DType) -> Result<Value<'g>> {
        self.op(&DEF).size("shape", shape.into_shape_arg()).attr("dtype", dtype).finish()
    }
}

pub(crate) static DEF: OpDef = OpDef::host("empty", run)
    .attrs(&[Attribute::dtype("dtype"), Attribute::bool_or("init", false)])
    .operands(&[Operand::Size("shape")])
    .shape_fn(shapeflow_shape_fns::array::with_shape)
    .dtype_rule(|operands, attrs| {
        dtype::check_indices(operands, 0)?;
        let dtype = attrs.dtype("dtype");
        match dtype == DType::Bool || dtype == DType::String || dtype.is_numeric() {
            true => Ok(vec![dtype]),
            false => dtype::refuse(format!("dtype must be bool, a number or string, got {dtype}")),
        }
    })
    .tensorflow(&[TfOp::new("Empty")]);

fn run(cx: &mut HostCx<'_>) -> Result<()> {
    let (dtype, sizes) = (cx.attrs().dtype("dtype"), param_sizes(cx, "shape", 0)?);
    match dtype {
        DType::String => cx.set_output(0, Tensor::zeros(dtype, &sizes)?),
        _ => cx.output(0, &sizes).map(|_| ()),
    }
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::shape;

    use super::*;
    use crate::ops::testing::shape_table;

    shape_table! { DEF, {"shape": shape!["n", 3], "dtype": DType::String},
        "" => "string[n, 3]",
    }
    shape_table! { fed: DEF, {"dtype": DType::C64},
        "shape=i32[2]" => "c64[?, ?]",
    }
    shape_table! { quantized: DEF, {"shape": [2], "dtype": DType::QI8},
        "" => error "dtype must be bool, a number or string, got qi8",
    }
}
