//! `mirror_pad_grad`: the gradient of `mirror_pad`.

use shapeflow_shape_fns::{Attribute, DType, counted};

use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::{IntoParam, Value};
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::ops::host_params::param_sizes;
use crate::ops::positions::Positions;
use crate::ops::row_major::RowMajor;
use crate::ops::rows::{Combine, combine, narrow, widened};
use crate::tensor::Tensor;

use super::mirror_pad::Mirror;

impl<'g> Value<'g> {
    /// Adds each element of a mirrored border to the element that it mirrors, and drops the border: the gradient of
    /// [`Value::mirror_pad`], with the same parameters.
    ///
    /// `[paddings[0] + d0 + paddings[1], …] -> [d0, …]`, integers (which wrap), floats and complex numbers; f16 and
    /// bf16 are added as f32 and rounded once. As TensorFlow's `MirrorPadGrad`. Runs on the host.
    ///
    /// ```
    /// use shapeflow::{Graph, Mirror, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([1, 2, 3, 4])?.mirror_pad_grad([[1, 0]], Mirror::Reflect)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([2, 4, 4]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// `paddings` does not have one pair per axis, an entry is negative or longer than the mode allows, or the dtype is
    /// not supported.
    #[track_caller]
    pub fn mirror_pad_grad(self, paddings: impl IntoParam<'g>, mirror: Mirror) -> Result<Value<'g>> {
        self.graph().op(&DEF).data(self).size("paddings", paddings).attr("mode", mirror.name()).finish()
    }
}

pub(crate) static DEF: OpDef = OpDef::host("mirror_pad_grad", run)
    .attrs(&[Attribute::str_or("mode", "REFLECT")])
    .operands(&[Operand::Data("input"), Operand::Size("paddings")])
    .shape_fn(shapeflow_shape_fns::array::mirror_pad_grad)
    .dtype_rule(dtype::unary::numeric)
    .tensorflow(&[TfOp::new("MirrorPadGrad").pairs(&["paddings"])]);

fn run(cx: &mut HostCx<'_>) -> Result<()> {
    let paddings = param_sizes(cx, "paddings", 1)?;
    let skipped = usize::from(cx.attrs().str("mode") != "SYMMETRIC");
    let x = cx.input(0)?;
    let dtype = x.dtype();
    let is_narrow = matches!(dtype, DType::F16 | DType::BF16);
    // The sums of all axes are computed in f32 and rounded once.
    let mut x = if is_narrow { widened(&RowMajor::new(x)?.view())? } else { x.to_tensor()? };
    for (axis, sides) in paddings.as_chunks::<2>().0.iter().enumerate() {
        if *sides != [0, 0] {
            x = folded(&x, axis, *sides, skipped)?;
        }
    }
    if is_narrow {
        return narrow(x.view(), &mut cx.output(0, x.sizes())?);
    }
    cx.set_output(0, x)
}

/// Adds the border along an axis to the elements that it mirrors, and drops it. `skipped` is 1 if the border does not
/// repeat the element at the edge.
fn folded(x: &Tensor, axis: usize, [before, after]: [usize; 2], skipped: usize) -> Result<Tensor> {
    let mut sizes = x.sizes().to_vec();
    let padded = sizes[axis];
    let wrong = || {
        let message = format!(
            "paddings must fit {padded} at axis {axis}, got {before} and {after}",
            padded = counted(padded, "element")
        );
        Error::new(ErrorKind::Shape, Phase::Run, message)
    };
    let size = padded.checked_sub(before).and_then(|rest| rest.checked_sub(after)).ok_or_else(wrong)?;
    if before + skipped > size || after + skipped > size {
        return Err(wrong());
    }
    sizes[axis] = size;
    let source = |position: usize| match position.checked_sub(before) {
        None => before - position - 1 + skipped,
        Some(inside) if inside < size => inside,
        Some(beyond) => 2 * size - beyond - 1 - skipped,
    };
    let outer: usize = sizes[..axis].iter().product();
    let rows = (0..outer).flat_map(|outer| (0..padded).map(move |at| (outer * size + source(at)) as i64));
    let rows = Tensor::from_vec(&[outer * padded], rows.collect())?;
    let mut result = Tensor::zeros(x.dtype(), &sizes)?;
    let count = [outer * size];
    let positions = Positions::new(rows.view(), None, &count)?;
    let inner = sizes[axis + 1..].iter().product();
    combine(&mut result.view_mut()?, x.view(), inner, Combine::Add, &positions)?;
    Ok(result)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Attrs;
    use crate::ops::testing::{run_one, shape_table, tensor};

    shape_table! { DEF, {"paddings": [1, 2], "mode": "REFLECT"},
        "[n+6]" => "[n+3]",
        "[5]" => error "REFLECT padding must be less than the unpadded size 2 of axis 0, got 2",
        "bool[9]" => error "the element type must be an integer, a float or a complex number",
    }
    shape_table! { fed: DEF, {"mode": "SYMMETRIC"},
        "[n]; paddings=i32[1, 2]" => "[n-?-?]",
    }

    #[test]
    fn the_gradient_is_the_transpose_of_padding() {
        // Padding numbers each element by its source; the gradient adds the positions with the same number.
        for mode in ["REFLECT", "SYMMETRIC"] {
            for paddings in [[0, 0, 0, 0], [1, 2, 3, 0], [2, 2, 3, 3], [0, 1, 2, 1]] {
                let attrs = Attrs::new().with("paddings", paddings).with("mode", mode);
                let sources: Vec<i32> = (0..12).collect();
                let padded = run_one(&super::super::mirror_pad::DEF, &attrs, &[tensor(&[3, 4], &sources)]);
                let gradient: Vec<i32> = (0..padded.len() as i32).map(|i| i * i + 1).collect();
                let mut expected = vec![0; 12];
                for (source, gradient) in padded.to_vec::<i32>().unwrap().into_iter().zip(&gradient) {
                    expected[source as usize] += gradient;
                }
                let y = run_one(&DEF, &attrs, &[tensor(padded.sizes(), &gradient)]);
                assert_eq!(y.to_vec::<i32>().unwrap(), expected, "{attrs}");
            }
        }
    }
}
