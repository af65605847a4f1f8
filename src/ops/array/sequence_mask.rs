//! `sequence_mask`: masks of sequences, given their lengths.

use shapeflow_shape_fns::{Attr, DType};

use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::{IntoParam, Value};
use crate::op::{CompositeCx, OpDef, Operand};

use super::range::Bound;

impl<'g> Value<'g> {
    /// Adds a last axis of size `maxlen`: `out[.., j] = j < self[..]`.
    ///
    /// `[d0, …] -> bool[d0, …, maxlen]`; `self` holds integers. As TensorFlow's `tf.sequence_mask`. The op is composed
    /// of other ops, which fuse into kernels. As a padding mask of [`Value::attention`] with heads, `[batch, time]`
    /// needs two more axes: `.expand_dims(1)?.expand_dims(1)?` makes it `[batch, 1, 1, time]`.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let rows = g.constant([1, 3, 2])?.sequence_mask(5)?;
    /// let matrices = g.constant([[1, 3], [2, 0]])?.sequence_mask(3)?;
    /// let [rows, matrices] = g.compile([rows, matrices])?.run(&[])?;
    /// let (f, t) = (false, true);
    /// assert_eq!(rows, Tensor::from([[t, f, f, f, f], [t, t, t, f, f], [t, t, f, f, f]]));
    /// assert_eq!(matrices, Tensor::from([[[t, f, f], [t, t, t]], [[t, t, f], [f, f, f]]]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The elements are not integers, or `maxlen` is negative or not one integer.
    #[track_caller]
    pub fn sequence_mask(self, maxlen: impl IntoParam<'g>) -> Result<Value<'g>> {
        self.graph().op(&DEF).data(self).size("maxlen", maxlen).finish()
    }
}

pub(crate) static DEF: OpDef =
    OpDef::composite("sequence_mask", build).operands(&[Operand::Data("lengths"), Operand::Size("maxlen")]);

/// Compares the positions along the new axis with the lengths. The positions are a separate vector, because a kernel
/// that reads the positions is faster than a kernel that computes the positions again for every row.
fn build<'g>(cx: &CompositeCx<'_>, values: &[Value<'g>]) -> Result<Vec<Value<'g>>> {
    let Some(&lengths) = values.first() else { return Err(Error::msg("sequence_mask needs lengths")) };
    dtype::common(&[lengths.dtype()], 0, 1, dtype::Class::Integer)?;
    let given = cx.attrs().get("maxlen").and_then(Attr::to_elements);
    let refuse = |requirement: String| Err(Error::new(ErrorKind::Attribute, Phase::Build, requirement));
    if let Some(given) = given.as_ref().filter(|given| given.rank() != 0) {
        return refuse(format!("maxlen must be one integer, got {given}"));
    }
    if let Some(rank) = values.get(1).and_then(|maxlen| maxlen.shape().rank()).filter(|rank| *rank != 0) {
        return refuse(format!("maxlen must be one integer, got rank {rank}"));
    }
    let known = given.as_ref().and_then(|given| given.get(0)?.as_known());
    if let Some(maxlen) = known.filter(|maxlen| *maxlen < 0) {
        return refuse(format!("maxlen must not be negative, got {maxlen}"));
    }
    // Positions that fit i32 are compared as i32, which takes half the memory.
    let small = known.and_then(|maxlen| i32::try_from(maxlen).ok()).filter(|_| lengths.dtype() == DType::I32);
    let maxlen: Bound<'g> = match (given.as_ref().and_then(|given| given.get(0)), values.get(1)) {
        (Some(maxlen), _) => small.map_or_else(|| maxlen.into(), Bound::from),
        (None, Some(&maxlen)) => maxlen.into(),
        (None, None) => return Err(Error::msg("maxlen must be given")),
    };
    let dtype = if small.is_some() { DType::I32 } else { DType::I64 };
    let positions = lengths.graph().range(0, maxlen, 1)?.cast(dtype)?;
    let lengths = match lengths.dtype() {
        // A length above the range of i64 exceeds every axis.
        DType::U64 => lengths.minimum(i64::MAX)?,
        _ => lengths,
    };
    Ok(vec![positions.less(lengths.cast(dtype)?.expand_dims(-1)?)?])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Graph;
    use crate::ops::testing::{recorded, shape_table, tensor};
    use crate::tensor::Tensor;

    shape_table! { DEF, {"maxlen": 4},
        "i32[n, 3]" => "bool[n, 3, 4]",
        "u8[]" => "bool[4]",
        "[n]" => error "the element type must be an integer, got f32",
    }
    shape_table! { fed: DEF, {},
        "i32[n]; maxlen=i64[]" => "bool[n, ?]",
        "i32[n]; maxlen=i64[2]" => error "maxlen must be one integer, got rank 1",
    }
    shape_table! { several: DEF, {"maxlen": [3, 5]},
        "i32[n]" => error "maxlen must be one integer, got [3, 5]",
    }
    shape_table! { negative: DEF, {"maxlen": -1},
        "i32[n]" => error "maxlen must not be negative, got -1",
    }

    #[test]
    fn values_are_those_recorded() {
        // A composite op has no body to interpret, so the test compiles it.
        static COMPILED: OpDef = OpDef::host("sequence_mask", |cx| {
            let lengths = cx.input(0)?.to_tensor()?;
            let output = masked(&lengths, cx.attrs().get("maxlen").unwrap().clone())?;
            cx.set_output(0, output)
        })
        .shape_fn(|_| Ok(()))
        .dtype_rule(|_, _| Ok(vec![DType::Bool]));
        recorded(&COMPILED);
    }

    fn masked(lengths: &Tensor, maxlen: Attr) -> Result<Tensor> {
        let g = Graph::new();
        let mask = g.op(&DEF).data(g.constant(lengths)?).attr("maxlen", maxlen).finish()?;
        let [mask] = g.compile(mask)?.run(&[])?;
        Ok(mask)
    }

    #[test]
    fn lengths_of_every_integer_dtype() {
        let expected = [true, false, true, true];
        for lengths in
            [tensor(&[2], &[1, u64::MAX]), tensor(&[2], &[1, i64::MAX]), tensor(&[2], &[1, i8::MAX])]
        {
            assert_eq!(masked(&lengths, Attr::Int(2)).unwrap().to_vec::<bool>().unwrap(), expected);
        }
    }
}
