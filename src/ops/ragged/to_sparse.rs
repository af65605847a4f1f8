//! `ragged_to_sparse`: the elements of a ragged tensor with their indices.

use shapeflow_shape_fns::{Attrs, DType};

use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::{RaggedValue, Value};
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::ragged::RaggedTensor;
use crate::tensor::Tensor;

impl<'g> RaggedValue<'g> {
    /// Returns every element with its indices, in row-major order: `indices i64[k, rank]`, `values [k]` and
    /// `dense_shape i64[rank]`. As TensorFlow's `RaggedTensorToSparse`. Runs on the host.
    ///
    /// The values have any dtype.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor, ragged};
    ///
    /// let g = Graph::new();
    /// let [indices, values, _] = g.ragged_constant(&ragged![[1, 2], [], [3]])?.to_sparse()?;
    /// let [indices, values] = g.compile([indices, values])?.run(&[])?;
    /// assert_eq!(indices, Tensor::from([[0i64, 0], [0, 1], [2, 0]]));
    /// assert_eq!(values, Tensor::from([1, 2, 3]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The flat values have an unknown rank.
    #[track_caller]
    pub fn to_sparse(self) -> Result<[Value<'g>; 3]> {
        self.in_call("to_sparse", || {
            let call = self.graph().op(&DEF).data_all(&self.nested_row_splits()).data(self.flat_values());
            let parts = call.finish_all()?;
            Ok([parts[0], parts[1], parts[2]])
        })
    }
}

pub(crate) static DEF: OpDef = OpDef::host("ragged_to_sparse", run)
    .operands(&[Operand::Variadic("rt_nested_splits.."), Operand::Data("rt_dense_values")])
    .outputs(|_, _| 3)
    .shape_fn(shapeflow_shape_fns::ragged::ragged_to_sparse)
    .dtype_rule(dtypes)
    .tensorflow(&[TfOp::new("RaggedTensorToSparse")]);

fn dtypes(dtypes: &[DType], _: &Attrs) -> Result<Vec<DType>> {
    let Some((values, splits)) = dtypes.split_last() else {
        return dtype::refuse("there must be row splits and values, got no operands".to_string());
    };
    for &splits in splits {
        dtype::check_indices(&[splits], 0)?;
    }
    Ok(vec![DType::I64, *values, DType::I64])
}

fn run(cx: &mut HostCx<'_>) -> Result<()> {
    let count = cx.inputs() - 1;
    let flat = cx.input(count)?.to_tensor()?;
    let splits = (0..count).map(|operand| cx.input(operand)?.to_tensor()).collect::<Result<Vec<Tensor>>>()?;
    let guard = |error: Error| Error::new(ErrorKind::Guard, Phase::Run, error.message());
    let sparse = RaggedTensor::from_nested_row_splits(flat, &splits).map_err(guard)?.to_sparse()?;
    cx.set_output(0, sparse.indices)?;
    cx.set_output(1, sparse.values)?;
    cx.set_output(2, sparse.dense_shape)
}
