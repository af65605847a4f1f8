//! `reduce_join`: joins the strings along axes.

use super::params::{check_strings, strings};
use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::{IntoParam, Value};
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::ops::host_params::param_ints;
use crate::tensor::StringsBuilder;
use shapeflow_shape_fns::{Attribute, DType};

impl<'g> Value<'g> {
    /// Joins the strings along `axes`, with `separator` between them. The first of `axes` varies fastest: axes `[0, 1]`
    /// join column by column, and `[1, 0]` row by row.
    ///
    /// `string[..] -> string[..]`; the result lacks `axes`. Without axes, the result is the operand. A negative axis
    /// counts from the end. As TensorFlow's `ReduceJoin`. Runs on the host.
    ///
    /// ```
    /// use shapeflow::Graph;
    ///
    /// let g = Graph::new();
    /// let x = g.constant(["a", "b", "c", "d"])?.reshape([2, 2])?;
    /// let [rows, all] = g.compile(&[x.reduce_join([1], "-")?, x.reduce_join([1, 0], "")?][..])?.run(&[])?;
    /// assert_eq!(rows.to_string(), "string[2] [\"a-b\", \"c-d\"]");
    /// assert_eq!(all.to_string(), "string[] \"abcd\"");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The elements are not strings, or an axis is out of range. An axis that is given twice fails the run.
    #[track_caller]
    pub fn reduce_join(self, axes: impl IntoParam<'g>, separator: &str) -> Result<Value<'g>> {
        self.graph()
            .op(&DEF)
            .data(self)
            .structure("reduction_indices", axes)
            .attr("separator", separator)
            .finish()
    }
}

pub(crate) static DEF: OpDef = OpDef::host("reduce_join", run)
    .attrs(&[Attribute::bool_or("keep_dims", false), Attribute::bytes_or("separator", "")])
    .operands(&[Operand::Data("inputs"), Operand::Structure("reduction_indices")])
    .shape_fn(shapeflow_shape_fns::string::reduce_join)
    .dtype_rule(|operands, _| {
        check_strings(operands, 1)?;
        dtype::check_indices(operands, 1)?;
        Ok(vec![DType::String])
    })
    .tensorflow(&[TfOp::new("ReduceJoin")]);

fn run(cx: &mut HostCx<'_>) -> Result<()> {
    let (x, view) = (strings(cx, 0)?, cx.input(0)?);
    let sizes = view.sizes();
    let separator = cx.attrs().bytes("separator");
    let keeps = cx.attrs().bool("keep_dims");
    let rank = sizes.len() as i64;
    let given = param_ints(cx, "reduction_indices", 1)?.unwrap_or_default();
    let axis = |axis: &i64| {
        let from_front = if *axis < 0 { axis + rank } else { *axis };
        usize::try_from(from_front).ok().filter(|axis| *axis < sizes.len()).ok_or_else(|| {
            let message = format!("reduction_indices must be in [-{rank}, {rank}), got {axis}");
            Error::new(ErrorKind::Attribute, Phase::Run, message)
        })
    };
    let joined: Vec<usize> = given.iter().map(axis).collect::<Result<_>>()?;
    if let Some(twice) = (1..joined.len()).find(|i| joined[..*i].contains(&joined[*i])) {
        let message = format!("reduction_indices must differ from each other, got {} twice", given[twice]);
        return Err(Error::new(ErrorKind::Attribute, Phase::Run, message));
    }
    let kept: Vec<usize> = (0..sizes.len()).filter(|axis| !joined.contains(axis)).collect();
    let result: Vec<usize> = match keeps {
        true => (0..sizes.len()).map(|axis| if joined.contains(&axis) { 1 } else { sizes[axis] }).collect(),
        false => kept.iter().map(|axis| sizes[*axis]).collect(),
    };
    let count = result.iter().product();
    let mut made = StringsBuilder::with_capacity(count, x.byte_len())?;
    if x.is_empty() {
        // Each result joins no strings.
        (0..count).try_for_each(|_| made.end())?;
        return cx.set_output(0, made.finish(&result)?);
    }
    let inner = positions(joined.iter().rev().copied(), sizes);
    for start in positions(kept.iter().copied(), sizes) {
        for (number, offset) in inner.iter().enumerate() {
            if number > 0 {
                made.append(separator)?;
            }
            made.append(x.at(start + offset))?;
        }
        made.end()?;
    }
    cx.set_output(0, made.finish(&result)?)
}

/// Returns the row-major positions of the elements along `axes`, at index 0 of all other axes. The last of `axes`
/// varies fastest.
fn positions(axes: impl Iterator<Item = usize>, sizes: &[usize]) -> Vec<usize> {
    let mut found = vec![0];
    for axis in axes {
        let stride: usize = sizes[axis + 1..].iter().product();
        found = found.iter().flat_map(|start| (0..sizes[axis]).map(move |i| start + i * stride)).collect();
    }
    found
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::Attrs;

    use super::*;
    use crate::ops::testing::run_one;
    use crate::tensor::Tensor;

    #[test]
    fn axes_without_elements_take_no_time() {
        let joined = |sizes: &[usize], axis: i64| {
            let x = Tensor::zeros(DType::String, sizes).unwrap();
            run_one(&DEF, &Attrs::new().with("reduction_indices", [axis]), &[x])
        };
        assert_eq!(joined(&[0, 1 << 50], 1).sizes(), [0]);
        assert_eq!(joined(&[2, 0], 1), Tensor::from_strings(&[2], &["", ""]).unwrap());
    }
}
