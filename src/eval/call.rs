//! `Call`: an op with its attributes and what is known of its operands; inference of dtypes and shapes.

use shapeflow_shape_fns::{
    Attrs, DType, DimTable, InferenceContext, InferenceResult, OperandInfo, ShapeError, ShapeFn, counted,
};
use smallvec::SmallVec;

use crate::error::{Error, ErrorKind, Phase, Result};
use crate::op::{OpDef, Operand, OperandMask, caught};

/// An op applied to operands. The dtype and the shape of each operand are known. The elements may be known too.
pub(crate) struct Call<'a> {
    pub op: &'a OpDef,
    /// The declared operands that are passed as values.
    pub given_operands: OperandMask,
    pub attrs: &'a Attrs,
    pub operands: SmallVec<[OperandInfo<'a>; 4]>,
}

/// The results of the dtype rule and the shape function for a call's outputs.
pub(crate) struct Inference {
    pub dtypes: Vec<DType>,
    pub result: InferenceResult,
}

impl Call<'_> {
    /// Runs the dtype rule and the shape function. On an error the caller rolls `table` back.
    ///
    /// # Errors
    /// A data operand is missing, the op has no shape function, or the dtype rule or the shape function refuses the
    /// call.
    pub fn infer(&self, table: &mut DimTable) -> Result<Inference> {
        let Some(shape_fn) = self.op.shape_function() else {
            return Err(Error::new(ErrorKind::Attribute, Phase::Build, "the op needs a shape function"));
        };
        self.infer_by(shape_fn, table)
    }

    /// Runs the dtype rule and the given shape function. On an error the caller rolls `table` back.
    ///
    /// # Errors
    /// A data operand is missing, or the dtype rule or the shape function refuses the call.
    pub fn infer_by(&self, shape_fn: ShapeFn, table: &mut DimTable) -> Result<Inference> {
        let dtypes = self.infer_dtypes()?;
        let names = self.op.names_of(self.given_operands);
        let mut cx = InferenceContext::new(&names, &self.operands, self.attrs, table, dtypes.len());
        // A panic counts as an error of the shape function.
        let result = caught(self.op.name(), "shape function", || Ok(shape_fn(&mut cx)))
            .unwrap_or_else(|panic| Err(ShapeError::new(panic.message().to_string())))
            .and_then(|()| cx.finish())?;
        Ok(Inference { dtypes, result })
    }

    fn infer_dtypes(&self) -> Result<Vec<DType>> {
        for (entry, operand) in self.op.operand_list().unwrap_or_default().iter().enumerate() {
            if matches!(operand, Operand::Data(_)) && !self.given_operands.contains(entry) {
                let message = format!("operand {} must be given", operand.name());
                return Err(Error::new(ErrorKind::Attribute, Phase::Build, message));
            }
        }
        let operands: SmallVec<[DType; 4]> = self.operands.iter().map(|operand| operand.dtype).collect();
        let (dtypes, count) = caught(self.op.name(), "dtype rule", || {
            let dtypes = self.op.infer_dtypes(&operands, self.attrs);
            Ok((dtypes?, self.op.output_count(self.attrs, operands.len())))
        })?;
        if dtypes.len() != count {
            let message = format!(
                "the dtype rule must give {count}, got {}",
                dtypes.len(),
                count = counted(count, "dtype")
            );
            return Err(Error::new(ErrorKind::DType, Phase::Build, message));
        }
        Ok(dtypes)
    }
}
