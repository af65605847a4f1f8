//! `fill_empty_rows_grad`: the gradient of an op that fills empty rows.

use shapeflow_shape_fns::DType;

use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::ops::positions::Positions;
use crate::ops::row_major::RowMajor;
use crate::ops::rows::{Combine, combine};
use crate::ops::take::take;
use crate::tensor::Tensor;

/// An op for import only. `positions i64[n], gradients [m] -> [n], []`: the gradients at the positions of the given
/// elements, and the sum of all others, which is the gradient of the default.
pub(crate) static DEF: OpDef = OpDef::host("fill_empty_rows_grad", run)
    .operands(&[Operand::Data("reverse_index_map"), Operand::Data("grad_values")])
    .outputs(|_, _| 2)
    .shape_fn(shapeflow_shape_fns::sparse::fill_empty_rows_grad)
    .dtype_rule(|dtypes, _| match dtypes {
        [DType::I64, ..] => {
            let gradients = dtype::common(dtypes, 1, 2, dtype::Class::Numeric)?;
            Ok(vec![gradients, gradients])
        }
        _ => dtype::refuse(format!("the positions must be i64, got {}", dtype::names(dtypes))),
    })
    .tensorflow(&[TfOp::new("SparseFillEmptyRowsGrad"), TfOp::new("RaggedFillEmptyRowsGrad")]);

fn run(cx: &mut HostCx<'_>) -> Result<()> {
    let (positions, gradients) = (RowMajor::new(cx.input(0)?)?, RowMajor::new(cx.input(1)?)?);
    let (positions, gradients) = (positions.view(), gradients.view());
    let mut rest = vec![true; gradients.len()];
    let mut starts = Vec::with_capacity(positions.len());
    for (number, &position) in positions.as_slice::<i64>()?.iter().enumerate() {
        let Some(position) = usize::try_from(position).ok().filter(|position| *position < rest.len()) else {
            let message = format!("a position must lie in [0, {}), got {position}", rest.len());
            let error = Error::new(ErrorKind::Index, Phase::Run, message);
            return Err(error.in_element(0, &format!(" at [{number}]")));
        };
        rest[position] = false;
        starts.push(position);
    }
    let others: Vec<usize> = (0..rest.len()).filter(|position| rest[*position]).collect();
    let others = take(&gradients, &[others.len()], 1, others.into_iter())?;
    let mut sum = Tensor::zeros(gradients.dtype(), &[1])?;
    // Each other gradient is added to element 0 of the sum.
    let targets = Tensor::zeros(DType::I64, &[others.len()])?;
    combine(
        &mut sum.view_mut()?,
        others.view(),
        1,
        Combine::Add,
        &Positions::new(targets.view(), None, &[1])?,
    )?;
    cx.set_output(0, take(&gradients, &[starts.len()], 1, starts.into_iter())?)?;
    cx.set_output(1, sum.reshape(&[])?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{run, shape_table, tensor};
    use shapeflow_shape_fns::Attrs;

    shape_table! { DEF, {},
        "i64[n]; f16[m]" => "f16[n]; f16[]",
        "i32[n]; [m]" => error "the positions must be i64",
        "i64[n]; bool[m]" => error "the element type must be an integer, a float or a complex number",
    }

    #[test]
    fn gradients_of_filled_rows_add_up() {
        let gradients = tensor(&[4], &[1.0, 2.0, 4.0, 8.0f32]);
        let outputs = run(&DEF, &Attrs::new(), &[tensor(&[2], &[3, 1i64]), gradients.clone()]).unwrap();
        assert_eq!(outputs[0], tensor(&[2], &[8.0, 2.0f32]));
        assert_eq!(outputs[1], tensor(&[], &[5.0f32]));
        assert!(run(&DEF, &Attrs::new(), &[tensor(&[1], &[4i64]), gradients]).is_err());
    }
}
