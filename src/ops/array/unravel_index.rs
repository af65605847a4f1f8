//! `unravel_index`: the coordinates of row-major positions.

use std::panic::Location;

use shapeflow_shape_fns::DType;

use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::{IntoOperand, Value};
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::ops::integers::ints;
use crate::tensor::Tensor;

impl<'g> Value<'g> {
    /// Returns the coordinates of row-major positions in a tensor of sizes `dims`: column `i` of the result has the
    /// index of the element at position `self[i]`.
    ///
    /// `[n], dims [r] -> [r, n]`, or `[], dims [r] -> [r]` for one position; i32 or i64. As TensorFlow's
    /// `UnravelIndex`, whose division rounds towards 0: a negative position has negative or zero coordinates. Runs on
    /// the host.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([5, 1])?.unravel_index(g.constant([2, 3])?)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([[1, 0], [2, 1]]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// `dims` has not rank 1, or the operands are not both i32 or both i64. The run fails if a position is not less
    /// than the product of `dims`, a size is less than 1, or `self` has no elements or a rank above 1.
    #[track_caller]
    pub fn unravel_index(self, dims: impl IntoOperand<'g>) -> Result<Value<'g>> {
        let location = Location::caller();
        let dims = dims.into_operand(self, location);
        self.graph().op(&DEF).data(self).data(dims).finish_at(location)
    }
}

pub(crate) static DEF: OpDef = OpDef::host("unravel_index", run)
    .operands(&[Operand::Data("indices"), Operand::Data("dims")])
    .shape_fn(shapeflow_shape_fns::array::unravel_index)
    .dtype_rule(|dtypes, _| {
        dtype::check_indices(dtypes, 0)?;
        Ok(vec![dtype::common(dtypes, 0, 2, dtype::Class::Integer)?])
    })
    .tensorflow(&[TfOp::new("UnravelIndex")]);

fn run(cx: &mut HostCx<'_>) -> Result<()> {
    let (indices, dims) = (cx.input(0)?, ints(&cx.input(1)?));
    let refuse = |message: String| Err(Error::new(ErrorKind::Index, Phase::Run, message));
    if indices.sizes().len() > 1 || indices.is_empty() {
        let sizes = indices.sizes();
        return refuse(format!("indices must be one position or a vector of positions, got sizes {sizes:?}"));
    }
    if let Some(size) = dims.iter().find(|size| **size < 1) {
        return refuse(format!("dims must be positive, got {size}"));
    }
    let Some(count) = dims.iter().try_fold(1i64, |count, size| count.checked_mul(*size)) else {
        return refuse(format!("the product of dims must fit i64, got {dims:?}"));
    };
    let positions = ints(&indices);
    if let Some(position) = positions.iter().find(|position| **position >= count) {
        return refuse(format!("an index must be less than {count}, the product of dims, got {position}"));
    }
    let mut coordinates = Vec::with_capacity(dims.len() * positions.len());
    let mut block = count;
    for size in &dims {
        let inner = block / size;
        coordinates.extend(positions.iter().map(|position| position % block / inner));
        block = inner;
    }
    let mut sizes = vec![dims.len()];
    sizes.extend(indices.sizes());
    let output = match indices.dtype() {
        DType::I32 => Tensor::from_vec(&sizes, coordinates.into_iter().map(|x| x as i32).collect()),
        _ => Tensor::from_vec(&sizes, coordinates),
    };
    cx.set_output(0, output?)
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::Attrs;

    use super::*;
    use crate::ops::testing::{run, run_one, shape_table, tensor};

    shape_table! { DEF, {},
        "i32[n]; i32[3]" => "i32[3, n]",
        "i64[]; i64[r]" => "i64[d1_0]",
        "i32[n]; i64[3]" => error "operands must have one dtype, got i32 and i64",
        "[n]; [3]" => error "must be i32 or i64, got f32",
    }

    #[test]
    fn coordinates_are_those_of_nested_loops() {
        let dims = tensor(&[3], &[2i64, 3, 4]);
        let all: Vec<i64> = (0..24).collect();
        let y = run_one(&DEF, &Attrs::new(), &[tensor(&[24], &all), dims.clone()]).to_vec::<i64>().unwrap();
        for (i, position) in all.iter().enumerate() {
            assert_eq!((y[i] * 3 + y[24 + i]) * 4 + y[48 + i], *position);
        }
        for wrong in [tensor(&[1], &[24i64]), tensor(&[0], &[0i64; 0]), tensor(&[1, 1], &[0i64])] {
            assert!(run(&DEF, &Attrs::new(), &[wrong, dims.clone()]).is_err());
        }
    }
}
