//! `invert_permutation`: the inverse of a permutation.

use shapeflow_shape_fns::{Attrs, DType};

use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::Value;
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::ops::integers::{int_tensor, ints};

impl<'g> Value<'g> {
    /// Returns the inverse of a permutation of `0..n`: `out[self[i]] = i`.
    ///
    /// `[n] -> [n]`, i32 or i64. The run fails unless every number of `0..n` occurs once. As TensorFlow's
    /// `InvertPermutation`. Runs on the host.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([2, 0, 1])?.invert_permutation()?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([1, 2, 0]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The rank is not 1, the dtype is neither i32 nor i64, or known elements are not a permutation.
    #[track_caller]
    pub fn invert_permutation(self) -> Result<Value<'g>> {
        self.graph().op(&DEF).data(self).finish()
    }
}

pub(crate) static DEF: OpDef = OpDef::host("invert_permutation", run)
    .operands(&[Operand::Data("x")])
    .shape_fn(shapeflow_shape_fns::array::invert_permutation)
    .dtype_rule(|dtypes: &[DType], _: &Attrs| {
        dtype::check_indices(dtypes, 0)?;
        Ok(vec![dtype::common(dtypes, 0, 1, dtype::Class::Integer)?])
    })
    .tensorflow(&[TfOp::new("InvertPermutation")]);

fn run(cx: &mut HostCx<'_>) -> Result<()> {
    let x = cx.input(0)?;
    let mut inverse = vec![None; x.len()];
    for (position, element) in ints(&x).into_iter().enumerate() {
        let slot = usize::try_from(element).ok().and_then(|element| inverse.get_mut(element));
        let Some(slot @ None) = slot else {
            let message = format!("x must hold every number of 0..{} once, got {element}", x.len());
            let error = Error::new(ErrorKind::Index, Phase::Run, message);
            return Err(error.in_element(0, &format!(" at [{position}]")));
        };
        *slot = Some(position);
    }
    cx.set_output(0, int_tensor(x.dtype(), x.sizes(), inverse.into_iter().flatten())?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{run, run_one, shape_table, tensor};

    shape_table! { DEF, {},
        "i32[n]" => "i32[n]",
        "i64?" => "i64[?]",
        "[n]" => error "the element type must be i32 or i64, got f32",
        "i32[]" => error "must have rank 1",
    }

    #[test]
    fn the_inverse_undoes_the_permutation() {
        // More elements than inference tracks.
        let x: Vec<i64> = (0..5000).map(|i| i * 7 % 5000).collect();
        let inverse = run_one(&DEF, &Attrs::new(), &[tensor(&[5000], &x)]).to_vec::<i64>().unwrap();
        assert!(x.iter().enumerate().all(|(i, x)| inverse[*x as usize] == i as i64));
        let mut twice = x;
        twice[3] = twice[4];
        let error = run(&DEF, &Attrs::new(), &[tensor(&[5000], &twice)]).unwrap_err();
        assert_eq!(error.message(), "x must hold every number of 0..5000 once, got 28 at [4] in operand 0");
    }
}
