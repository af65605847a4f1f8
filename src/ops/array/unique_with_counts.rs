//! `unique_with_counts`: returns the distinct elements of a vector and their counts.

use shapeflow_shape_fns::{Attribute, DType};

use crate::error::Result;
use crate::graph::Value;
use crate::op::{HostCx, OpDef, Operand, StringHandles, TfOp};

use super::distinct::distinct;
use super::unique::element_and_index_dtypes;
use super::unstack::exactly;

impl<'g> Value<'g> {
    /// Returns the distinct elements and the indices as [`Value::unique`] does, and the number of occurrences of each
    /// distinct element.
    ///
    /// `[n] -> [?], i64[n], i64[?]`; bool, integers, floats and strings. As TensorFlow's `UniqueWithCounts`, whose last
    /// two outputs are i32 by default. Runs on the host.
    ///
    /// ```
    /// let g = shapeflow::Graph::new();
    /// let unique = g.constant([1, 1, 2, 4, 4, 4, 7, 8, 8])?.unique_with_counts()?;
    /// let [elements, indices, counts] = g.compile(unique)?.run(&[])?;
    /// assert_eq!(elements.to_vec::<i32>()?, [1, 2, 4, 7, 8]);
    /// assert_eq!(indices.to_vec::<i64>()?, [0, 0, 1, 2, 2, 2, 3, 4, 4]);
    /// assert_eq!(counts.to_vec::<i64>()?, [2, 1, 3, 1, 2]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Value::unique`].
    #[track_caller]
    pub fn unique_with_counts(self) -> Result<[Value<'g>; 3]> {
        exactly(self.graph().op(&DEF).data(self).finish_all()?)
    }
}

pub(crate) static DEF: OpDef = OpDef::host("unique_with_counts", run)
    .attrs(&[Attribute::dtype_or("out_idx", DType::I64)])
    .operands(&[Operand::Data("x")])
    .outputs(|_, _| 3)
    .shape_fn(shapeflow_shape_fns::array::unique_with_counts)
    .dtype_rule(|dtypes, attrs| {
        let [x, indices] = element_and_index_dtypes(dtypes, attrs)?;
        Ok(vec![x, indices, indices])
    })
    .takes_handles(StringHandles::Equality)
    .tensorflow(&[TfOp::new("UniqueWithCounts")]);

fn run(cx: &mut HostCx<'_>) -> Result<()> {
    let found = distinct(cx.input(0)?, cx.attrs(), true)?;
    cx.set_output(0, found.elements)?;
    cx.set_output(1, found.indices)?;
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
