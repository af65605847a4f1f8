//! `unique`: the different elements of a vector.

use shapeflow_shape_fns::{Attrs, DType};

use crate::dtype;
use crate::error::Result;
use crate::graph::Value;
use crate::op::{HostCx, OpDef, Operand, TfOp};

use super::distinct::distinct;
use super::unstack::exactly;

impl<'g> Value<'g> {
    /// The different elements in the order in which they first stand, and for each element its place among
    /// them.
    ///
    /// `[n] -> [?], i64[n]`: how many there are, only the run decides. Bool, integers, floats and strings.
    /// A NaN equals nothing, `-0.0` equals `0.0`. TensorFlow's `Unique`, whose second output is i32.
    ///
    /// # Errors
    /// No vector, or another dtype.
    #[track_caller]
    pub fn unique(self) -> Result<[Value<'g>; 2]> {
        exactly(self.graph().op(&DEF).data(self).finish_all()?)
    }
}

pub(crate) static DEF: OpDef = OpDef::host("unique", run)
    .operands(&[Operand::Data("x")])
    .outputs(|_, _| 2)
    .shape_fn(shapeflow_shape_fns::array::unique)
    .dtype_rule(|dtypes, attrs| {
        let [x, places] = element_and_place(dtypes, attrs)?;
        Ok(vec![x, places])
    })
    .tensorflow(&[TfOp::new("Unique")]);

/// The dtype of the elements, and that of places and counts: attribute `out_idx`, i32 or i64.
pub(super) fn element_and_place(dtypes: &[DType], attrs: &Attrs) -> Result<[DType; 2]> {
    let x = match dtypes.first() {
        Some(DType::String) => DType::String,
        _ => dtype::common(dtypes, 0, 1, dtype::Class::Scalar)?,
    };
    match dtype::attribute(attrs, "out_idx")?.unwrap_or(DType::I64) {
        places @ (DType::I32 | DType::I64) => Ok([x, places]),
        other => dtype::refuse(format!("places and counts must be i32 or i64, got {other}")),
    }
}

fn run(cx: &mut HostCx<'_>) -> Result<()> {
    let found = distinct(cx.input(0)?, cx.attrs(), false)?;
    cx.set_output(0, found.elements)?;
    cx.set_output(1, found.places)
}
