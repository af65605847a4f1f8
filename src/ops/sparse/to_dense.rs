//! `sparse_to_dense`: makes a dense tensor of a sparse tensor.

use shapeflow_shape_fns::{Attribute, Attrs, DType, counted};

use crate::dtype;
use crate::error::{Result, refuse_at_run as refuse};
use crate::graph::{IntoOperand, IntoShapeArg, Value, one_dtype};
use crate::op::{HostCx, OpDef, Operand, StringHandles, TfOp};
use crate::ops::array::IntoScalar;
use crate::ops::host_params::param_sizes;
use crate::ops::integers::ints;
use crate::ops::positions::{Positions, each_block};
use crate::ops::row_major::RowMajor;
use crate::ops::rows::put;
use crate::ops::take::take;

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
    let indices = RowMajor::new(cx.input(0)?)?;
    let indices = indices.view();
    let (count, depth) = match indices.sizes() {
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
    let fits = sizes.iter().try_fold(1usize, |total, size| total.checked_mul(*size)).is_some();
    let positions = Positions::new(indices.clone(), None, &sizes)?;
    let ascending = is_validated(cx);
    if !fits || !are_valid(&positions, count, ascending) {
        let indices = ints(&indices);
        let rows: Vec<&[i64]> = (0..count).map(|row| &indices[row * depth..(row + 1) * depth]).collect();
        let limits: Vec<i64> = sizes.iter().map(|size| *size as i64).collect();
        check_indices(0, &rows, &limits, ascending)?;
    }
    if !fits {
        return refuse(format!("the number of elements must fit 64 bits, got output_shape {sizes:?}"));
    }
    let default = default.element(0).expect("the shape function accepts scalars");
    let mut output = match default.iter().all(|byte| *byte == 0) {
        true => cx.output(0, &sizes)?,
        false => {
            let mut output = cx.unfilled_output(0, &sizes)?;
            fill(output.bytes_mut(), default);
            output
        }
    };
    if is_shared {
        let values = take(&values, &[count], 1, std::iter::repeat_n(0, count))?;
        return put(&mut output, values.view(), 1, &positions);
    }
    put(&mut output, values, 1, &positions)
}

/// Returns whether `count` positions lie within the shape and, if `ascending`, ascend. Positions ascend in row-major
/// order exactly if their indices do.
fn are_valid(positions: &Positions<'_>, count: usize, ascending: bool) -> bool {
    let (mut ascends, mut least) = (true, 0);
    let are_within = each_block(count, positions, &mut |_, block| {
        for position in block {
            ascends &= *position >= least;
            least = position + 1;
        }
    });
    are_within.is_ok() && (ascends || !ascending)
}

/// Repeats the bytes of one element.
fn fill(to: &mut [u8], element: &[u8]) {
    const CACHED: usize = 1 << 12;
    let mut done = element.len().min(to.len());
    to[..done].copy_from_slice(&element[..done]);
    while done < to.len() {
        let more = done.min(CACHED).min(to.len() - done);
        to.copy_within(..more, done);
        done += more;
    }
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

    #[test]
    fn indices_of_every_depth_are_row_major() {
        for depth in 0..5 {
            let sizes = [3usize, 4, 5, 7][..depth].to_vec();
            let total: usize = sizes.iter().product();
            let places: Vec<usize> = (0..total).filter(|place| place % 3 == 0).collect();
            let mut indices: Vec<i32> = Vec::new();
            for place in &places {
                let index = crate::tensor::index_of(&sizes, *place);
                indices.extend(index.iter().map(|index| *index as i32));
            }
            let values: Vec<f64> = places.iter().map(|place| *place as f64).collect();
            let attrs =
                Attrs::new().with("output_shape", sizes.iter().map(|n| *n as i64).collect::<Vec<i64>>());
            let indices = tensor(&[places.len(), depth], &indices);
            for default in [0.0, -0.0, 0.5] {
                let operands = [indices.clone(), tensor(&[places.len()], &values), tensor(&[], &[default])];
                let y = run_one(&DEF, &attrs, &operands).to_vec::<f64>().unwrap();
                let expected = |place: usize| if place.is_multiple_of(3) { place as f64 } else { default };
                assert!((0..total).all(|place| y[place].to_bits() == expected(place).to_bits()));
            }
        }
    }

    #[test]
    fn the_last_of_equal_indices_wins_unless_they_must_ascend() {
        let attrs = Attrs::new().with("output_shape", [2, 2]);
        let indices = tensor(&[3, 2], &[1, 0, 0, 1, 1, 0]);
        let operands = [indices, tensor(&[3], &[1u8, 2, 3]), tensor(&[], &[0u8])];
        let error = run(&DEF, &attrs, &operands).unwrap_err();
        assert_eq!(error.message(), "indices must ascend, got [0, 1] after [1, 0] at [1] in operand 0");
        let attrs = attrs.with("validate_indices", false);
        assert_eq!(run_one(&DEF, &attrs, &operands).to_vec::<u8>().unwrap(), [0, 2, 3, 0]);
        let outside = [tensor(&[1, 2], &[0, 2]), tensor(&[], &[1u8]), tensor(&[], &[0u8])];
        let error = run(&DEF, &attrs, &outside).unwrap_err();
        assert_eq!(error.message(), "an index must lie within [2, 2], got [0, 2] at [0] in operand 0");
    }
}
