//! `unique_with_counts`: the different elements of a vector and how often each stands there.

use crate::error::Result;
use crate::graph::Value;
use crate::op::{HostCx, OpDef, Operand, TfOp};

use super::distinct::distinct;
use super::unique::element_and_place;
use super::unstack::exactly;

impl<'g> Value<'g> {
    /// As [`Value::unique`], and how often each of the different elements stands there.
    ///
    /// `[n] -> [?], i64[n], i64[?]`. TensorFlow's `UniqueWithCounts`, whose last two outputs are i32.
    ///
    /// # Errors
    /// As [`Value::unique`].
    #[track_caller]
    pub fn unique_with_counts(self) -> Result<[Value<'g>; 3]> {
        exactly(self.graph().op(&DEF).data(self).finish_all()?)
    }
}

pub(crate) static DEF: OpDef = OpDef::host("unique_with_counts", run)
    .operands(&[Operand::Data("x")])
    .outputs(|_, _| 3)
    .shape_fn(shapeflow_shape_fns::array::unique_with_counts)
    .dtype_rule(|dtypes, attrs| {
        let [x, places] = element_and_place(dtypes, attrs)?;
        Ok(vec![x, places, places])
    })
    .tensorflow(&[TfOp::new("UniqueWithCounts")]);

fn run(cx: &mut HostCx<'_>) -> Result<()> {
    let found = distinct(cx.input(0)?, cx.attrs(), true)?;
    cx.set_output(0, found.elements)?;
    cx.set_output(1, found.places)?;
    found.counts.map_or(Ok(()), |counts| cx.set_output(2, counts))
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::DType;

    use super::*;
    use crate::ops::testing::shape_table;

    shape_table! { DEF, {"out_idx": DType::I32},
        "[n]" => "[?]; i32[n]; i32[?]",
    }
}
