//! `scatter_nd`: adds slices into a tensor of zeros by multi-dimensional index.

use std::panic::Location;

use shapeflow_shape_fns::{Attribute, Attrs, DType, InferenceContext};

use super::tensor_scatter::split_sizes;
use crate::dtype;
use crate::error::Result;
use crate::graph::{IntoOperand, IntoParam, Value};
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::ops::host_params::param_sizes;
use crate::ops::positions::{NOWHERE, Positions, check_policy, each_block};
use crate::ops::row_major::RowMajor;
use crate::ops::rows::{Combine, combine};
use crate::tensor::{Strings, StringsBuilder, Tensor};

impl<'g> Value<'g> {
    /// Adds slices into a tensor of zeros of shape `shape`: `out[self[i, 0], …, self[i, k-1], ..] += updates[i, ..]`,
    /// in the order of the updates.
    ///
    /// `[i.., k], updates [i.., dk, …, dn], shape [d0, …, dn] -> [d0, …, dn]`. `self` is i32 or i64; `updates` holds
    /// integers (which wrap), floats, complex numbers, bools (whose sum is their logical or), or strings (which are
    /// joined). f16 and bf16 are added as f32 and rounded once. An index outside its axis fails the run. As
    /// TensorFlow's `ScatterNd`; an imported graph may ask that updates out of range are ignored. Runs on the host.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let elements = g.constant([[4], [3], [1], [7]])?.scatter_nd(g.constant([9, 10, 11, 12])?, [8])?;
    /// let matrix = [[5; 4], [6; 4], [7; 4], [8; 4]];
    /// let matrices = g.constant([[0], [2]])?.scatter_nd(g.constant([matrix, matrix])?, [4, 4, 4])?;
    /// // Elements for one position add up.
    /// let counts = g.constant([[3], [1], [3]])?.scatter_nd(g.constant([1, 1, 1])?, [5])?;
    /// let [elements, matrices, counts] = g.compile([elements, matrices, counts])?.run(&[])?;
    /// assert_eq!(elements, Tensor::from([0, 11, 0, 10, 9, 0, 0, 12]));
    /// assert_eq!(matrices, Tensor::from([matrix, [[0; 4]; 4], matrix, [[0; 4]; 4]]));
    /// assert_eq!(counts, Tensor::from([0, 1, 0, 2, 0]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The leading axes of `updates` differ from the leading axes of `self`, the trailing axes of `updates` differ from
    /// the trailing axes of `shape`, or a dtype is not supported. The result has no elements, but `self` or `updates`
    /// has some.
    #[doc(alias = "scatter")]
    #[track_caller]
    pub fn scatter_nd(self, updates: impl IntoOperand<'g>, shape: impl IntoParam<'g>) -> Result<Value<'g>> {
        let updates = updates.into_own_operand(self.graph(), Location::caller());
        self.graph().op(&DEF).data(self).data(updates).size("shape", shape).finish()
    }
}

pub(crate) static DEF: OpDef = OpDef::host("scatter_nd", run)
    .attrs(&[Attribute::str_or("bad_indices_policy", "")])
    .operands(&[Operand::Data("indices"), Operand::Data("updates"), Operand::Size("shape")])
    .shape_fn(shape)
    .dtype_rule(dtypes)
    .tensorflow(&[TfOp::new("ScatterNd")]);

fn shape(cx: &mut InferenceContext<'_>) -> shapeflow_shape_fns::Result<()> {
    check_policy(cx)?;
    shapeflow_shape_fns::array::scatter_nd(cx)
}

fn dtypes(operands: &[DType], _: &Attrs) -> Result<Vec<DType>> {
    dtype::check_indices(operands.get(..1).unwrap_or_default(), 0)?;
    dtype::check_indices(operands, 2)?;
    match operands.get(1) {
        Some(summed @ (DType::Bool | DType::C64 | DType::C128 | DType::String)) => Ok(vec![*summed]),
        _ => Ok(vec![dtype::common(operands, 1, 2, dtype::Class::Number)?]),
    }
}

fn run(cx: &mut HostCx<'_>) -> Result<()> {
    let (indices, updates) = (RowMajor::new(cx.input(0)?)?, RowMajor::new(cx.input(1)?)?);
    let sizes = param_sizes(cx, "shape", 2)?;
    let (outer, row) = split_sizes(indices.view(), &sizes);
    let positions = Positions::new(indices.view(), Some(0), outer)?.with_policy(cx.attrs());
    if updates.view().dtype() == DType::String {
        let joined = join_rows(updates.view().as_strings()?, row, &sizes, &positions)?;
        return cx.set_output(0, joined);
    }
    combine(&mut cx.output(0, &sizes)?, updates.view(), row, Combine::Add, &positions)
}

/// Joins the strings of one destination in the order of the updates. Other elements are empty.
fn join_rows(updates: Strings<'_>, row: usize, sizes: &[usize], positions: &Positions<'_>) -> Result<Tensor> {
    let mut moves: Vec<(usize, usize)> = Vec::new();
    if !updates.is_empty() {
        each_block(updates.len() / row, positions, &mut |first, destinations| {
            for (update, destination) in (first..).zip(destinations).filter(|(_, to)| **to != NOWHERE) {
                moves.extend((0..row).map(|inner| (destination * row + inner, update * row + inner)));
            }
        })?;
    }
    moves.sort_unstable();
    let mut moves = moves.into_iter().peekable();
    let count = sizes.iter().fold(1, |count: usize, size| count.saturating_mul(*size));
    let mut joined = StringsBuilder::with_capacity(count, updates.byte_len())?;
    for element in 0..count {
        while let Some((_, update)) = moves.next_if(|(destination, _)| *destination == element) {
            joined.append(updates.at(update))?;
        }
        joined.end()?;
    }
    joined.finish(sizes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use crate::ops::testing::{recorded, run, run_one, shape_table, tensor};

    shape_table! { DEF, {"shape": [4, 3]},
        "i32[i, 1]; f64[i, 3]" => "f64[4, 3]",
        "i64[2]; []" => error "updates must have rank at least 1",
        "i32[i, 1]; [i, 2]" => error "updates must end with the axes of the result",
        "[i, 1]; [i, 3]" => error "the element type must be i32 or i64, got f32",
        "i32[i, 1]; string[i, 3]" => "string[4, 3]",
        "i32[i, 1]; qi8[i, 3]" => error "the element type must be an integer or a float",
    }
    #[test]
    fn values_are_those_recorded() {
        recorded(&DEF);
    }

    #[test]
    fn halves_are_rounded_once_and_complex_parts_add() {
        let attrs = Attrs::new().with("shape", [1]);
        let indices = tensor(&[3, 1], &[0, 0, 0i32]);
        let halves = Tensor::from_bits(DType::F16, &[3], &[0x6800u16, 0x3c00, 0x3c00]).unwrap();
        // 2048 + 1 + 1: the partial sum 2049 is not representable in f16.
        assert_eq!(run_one(&DEF, &attrs, &[indices.clone(), halves]).to_bits::<u16>().unwrap(), [0x6801]);
        let z = Tensor::from_bits(DType::C64, &[3], &[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
        assert_eq!(run_one(&DEF, &attrs, &[indices, z]).to_bits::<f32>().unwrap(), [9.0, 12.0]);
    }

    #[test]
    fn an_index_out_of_range_is_an_error_with_axis_and_limit() {
        let attrs = Attrs::new().with("shape", [2, 3]);
        let error = run(&DEF, &attrs, &[tensor(&[1, 2], &[1, 3i64]), tensor(&[1], &[1.0f32])]).unwrap_err();
        assert_eq!(error.message(), "an index into axis 1 must lie in [0, 3), got 3 at [0, 1] in operand 0");
        for wrong in [-1, 2, i64::MIN] {
            let attrs = Attrs::new().with("shape", [2]);
            let error = run(&DEF, &attrs, &[tensor(&[1, 1], &[wrong]), tensor(&[1], &[1.0f32])]).unwrap_err();
            let expected =
                format!("an index into axis 0 must lie in [0, 2), got {wrong} at [0, 0] in operand 0");
            assert_eq!(error.message(), expected);
        }
        assert_eq!(error.kind(), ErrorKind::Index);
    }
}
