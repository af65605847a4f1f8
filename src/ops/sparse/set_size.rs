//! `set_size`: the number of elements of each set of a sparse tensor.

use shapeflow_shape_fns::{Attribute, Attrs, DType};

use crate::dtype;
use crate::error::Result;
use crate::op::{HostCx, OpDef, Operand, StringHandles, TfOp};

use super::groups::Groups;
use super::set_operation::set_dtype;

/// An op for import only. Duplicates in a set count once.
pub(crate) static DEF: OpDef = OpDef::host("set_size", run)
    .takes_handles(StringHandles::Equality)
    .attrs(&[Attribute::bool_or("validate_indices", true)])
    .operands(&[Operand::Data("set_indices"), Operand::Data("set_values"), Operand::Data("set_shape")])
    .shape_fn(shapeflow_shape_fns::sparse::set_size)
    .dtype_rule(|operands: &[DType], _: &Attrs| match operands {
        [DType::I64, values, DType::I64] => set_dtype(&[*values]).map(|_| vec![DType::I32]),
        other => dtype::refuse(format!("indices and sizes must be i64, got {}", dtype::names(other))),
    })
    .tensorflow(&[TfOp::new("SetSize")]);

fn run(cx: &mut HostCx<'_>) -> Result<()> {
    let Groups { sizes, sets } = Groups::of_sparse(cx, 0)?;
    let extents: Vec<usize> = sizes.iter().map(|size| usize::try_from(*size).unwrap_or(0)).collect();
    let mut output = cx.output(0, &extents)?;
    let counts = output.as_mut_slice::<i32>()?;
    for (group, set) in sets {
        let position =
            group.iter().zip(&extents).fold(0, |position, (index, size)| position * size + *index as usize);
        counts[position] = set.len() as i32;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{run_one, shape_table, tensor};

    shape_table! { DEF, {},
        "i64[n, 2]; i32[n]; i64[2]" => "i32[?]",
        "i64[n, 2]; [n]; i64[2]" => error "elements of sets must be",
    }

    #[test]
    fn duplicates_count_once() {
        let operands = [
            tensor(&[4, 2], &[0, 0, 0, 1, 2, 0, 2, 3i64]),
            tensor(&[4], &[7, 7, 1, 2i16]),
            tensor(&[2], &[3, 4i64]),
        ];
        let y = run_one(&DEF, &Attrs::new(), &operands);
        assert_eq!(y.to_vec::<i32>().unwrap(), [1, 0, 2]);
    }
}
