//! `sparse_to_dense`: makes a dense tensor of a sparse tensor.

use shapeflow_shape_fns::{Attribute, Attrs, DType, counted};

use crate::dtype;
use crate::error::{Result, refuse_at_run as refuse};
use crate::graph::{IntoOperand, IntoShapeArg, Value, one_dtype};
use crate::op::{HostCx, OpDef, Operand, StringHandles, TfOp};
use crate::ops::array::IntoScalar;
use crate::ops::host_params::param_sizes;
use crate::ops::integers::ints;
use crate::ops::row_major::RowMajor;
use crate::ops::take::take;
use crate::tensor::{Tensor, filled_vec};

use super::groups::{check_indices, is_validated};

impl<'g> Value<'g> {
    /// Makes a tensor of shape `shape` with `values[i]` at index `self[i]` and `default` elsewhere.
    ///
    /// Indices `[n, r], values [n] -> shape` of rank `r`; the indices may also be a vector `[n]` if `r` is 1, or a
    /// scalar, and one scalar value may stand for all. Any dtype; the indices are i32 or i64. The run fails unless the
    /// indices ascend and lie within the shape. As TensorFlow's `SparseToDense`. Runs on the host.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let (indices, values) = (g.constant([[0i64, 1], [1, 0]])?, g.constant([10, 20])?);
    /// let [dense] = g.compile(indices.sparse_to_dense([2, 2], values, -1)?)?.run(&[])?;
    /// assert_eq!(dense, Tensor::from([[-1, 10], [20, -1]]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// A rank is wrong, the columns of the indices differ from `r`, or the dtypes differ.
    #[track_caller]
    pub fn sparse_to_dense(
        self,
        shape: impl IntoShapeArg<'g>,
        values: impl IntoOperand<'g>,
        default: impl IntoScalar<'g>,
    ) -> Result<Value<'g>> {
        let location = std::panic::Location::caller();
        let graph = self.graph();
        let sources = [values.into_source(graph, location), default.into_source(graph, location)];
        let [values, default] = one_dtype(graph, location, sources);
        let call = graph.op(&DEF).data(self).size("output_shape", shape.into_shape_arg());
        call.data(values).data(default).finish()
    }
}

pub(crate) static DEF: OpDef = OpDef::host("sparse_to_dense", run)
    .takes_handles(StringHandles::Any)
    .attrs(&[Attribute::bool_or("validate_indices", true)])
    .operands(&[
        Operand::Data("sparse_indices"),
        Operand::Size("output_shape"),
        Operand::Data("sparse_values"),
        Operand::Data("default_value"),
    ])
    .shape_fn(shapeflow_shape_fns::sparse::to_dense)
    .dtype_rule(dtypes)
    .tensorflow(&[TfOp::new("SparseToDense")]);

fn dtypes(operands: &[DType], _: &Attrs) -> Result<Vec<DType>> {
    let values = operands.len().saturating_sub(2);
    dtype::check_indices(operands.get(..values).unwrap_or_default(), 0)?;
    Ok(vec![dtype::common(operands, values, operands.len(), dtype::Class::Stored)?])
}

fn run(cx: &mut HostCx<'_>) -> Result<()> {
    let sizes = param_sizes(cx, "output_shape", 1)?;
    let given = cx.input(0)?;
    let indices = ints(&given);
    let (count, depth) = match given.sizes() {
        [rows, columns] => (*rows, *columns),
        [rows] => (*rows, 1),
        _ => (1, 1),
    };
    if depth != sizes.len() {
        return refuse(format!(
            "an index must have {}, one per axis, got {depth}",
            counted(sizes.len(), "number")
        ));
    }
    let values = RowMajor::new(cx.input(cx.inputs() - 2)?)?;
    let (values, default) = (values.view(), cx.input(cx.inputs() - 1)?);
    let is_shared = values.sizes().is_empty();
    if !is_shared && values.len() != count {
        return refuse(format!("there must be one value per index, got {} for {count}", values.len()));
    }
    let rows: Vec<&[i64]> = (0..count).map(|row| &indices[row * depth..(row + 1) * depth]).collect();
    let limits: Vec<i64> = sizes.iter().map(|size| *size as i64).collect();
    check_indices(0, &rows, &limits, is_validated(cx))?;
    // `all` has the values and then the default. `sources` has the position in `all` of each element of the result.
    // `usize::MAX` stands for the default, the last element of `all`.
    let Some(total) = sizes.iter().try_fold(1usize, |total, size| total.checked_mul(*size)) else {
        return refuse(format!("the number of elements must fit 64 bits, got output_shape {sizes:?}"));
    };
    let mut sources = filled_vec(total, usize::MAX)?;
    for (number, row) in rows.iter().enumerate() {
        let at = row.iter().zip(&sizes).fold(0, |at, (index, size)| at * size + *index as usize);
        sources[at] = if is_shared { 0 } else { number };
    }
    let background = default.to_tensor()?;
    let all: Tensor = joined(values.to_tensor()?, background)?;
    let last = all.len() - 1;
    let starts = sources.into_iter().map(|source| source.min(last));
    cx.set_output(0, take(&all.view(), &sizes, 1, starts)?)
}

/// Makes a vector of the elements of two tensors. A string operand arrives as i64 handles: integers that stand for the
/// strings ([`StringHandles`]).
fn joined(a: Tensor, b: Tensor) -> Result<Tensor> {
    let count = a.len() + b.len();
    let mut all = Tensor::allocate(a.dtype(), &[count])?;
    let (first, second) = (a.view().bytes(), b.view().bytes());
    let mut view = all.view_mut()?;
    let (head, tail) = view.bytes_mut().split_at_mut(first.len());
    head.copy_from_slice(first);
    tail.copy_from_slice(second);
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{run, run_one, shape_table, tensor};

    shape_table! { DEF, {"output_shape": [3, 4]},
        "i64[n, 2]; [n]; []" => "[3, 4]",
        "i32[n, 3]; [n]; []" => error "the number of columns of the indices and the number of sizes",
        "i32[n, 2]; [n]; f64[]" => error "operands must have one dtype",
    }
    shape_table! { fed: DEF, {},
        "i32[n, 2]; output_shape=i32[2]; string[n]; string[]" => "string[?, ?]",
    }

    #[test]
    fn values_stand_at_their_indices() {
        let dense = |indices: crate::Tensor, sizes: &[i64], values: crate::Tensor| {
            let attrs = Attrs::new().with("output_shape", sizes);
            run_one(&DEF, &attrs, &[indices, values, tensor(&[], &[9u8])]).to_vec::<u8>().unwrap()
        };
        let two = || tensor(&[2], &[5u8, 6]);
        assert_eq!(dense(tensor(&[2, 2], &[0, 1, 2, 0i64]), &[3, 2], two()), [9, 5, 9, 9, 6, 9]);
        assert_eq!(dense(tensor(&[2], &[0, 2]), &[3], two()), [5, 9, 6]);
        assert_eq!(dense(tensor(&[2], &[0, 2]), &[3], tensor(&[], &[7u8])), [7, 9, 7]);
        assert_eq!(dense(tensor(&[], &[1]), &[3], tensor(&[], &[7u8])), [9, 7, 9]);
        let attrs = Attrs::new().with("output_shape", [3]);
        let operands = [tensor(&[2], &[2, 0]), two(), tensor(&[], &[9u8])];
        let error = run(&DEF, &attrs, &operands).unwrap_err();
        assert_eq!(error.message(), "indices must ascend, got [0] after [2] at [1] in operand 0");
        for (sizes, kind) in
            [([1 << 45, 1], crate::ErrorKind::Memory), ([1 << 45, 1 << 45], crate::ErrorKind::Shape)]
        {
            let attrs = Attrs::new().with("output_shape", sizes);
            let operands = [tensor(&[1, 2], &[0i64, 0]), tensor(&[1], &[5u8]), tensor(&[], &[9u8])];
            assert_eq!(run(&DEF, &attrs, &operands).unwrap_err().kind(), kind);
        }
        let y = run_one(&DEF, &attrs.with("validate_indices", false), &operands);
        assert_eq!(y.to_vec::<u8>().unwrap(), [6, 9, 5]);
    }
}
