//! `sparse_fill_empty_rows`: an element in each empty row of a sparse tensor.

use std::panic::Location;

use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::{IntoOperand, Value, one_dtype};
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::ops::pick_rows::pick_rows;
use crate::ops::row_major::RowMajor;
use crate::tensor::{Tensor, TensorView, filled_vec, reserved_vec};
use shapeflow_shape_fns::{DType, counted};

use super::operand::{check_i64, index_matrix, parts, refuse};

impl<'g> Value<'g> {
    /// Adds an element `default` in column 0 of each empty row of a sparse tensor. `self` has the indices of the sparse
    /// tensor. Returns the indices and the values sorted by row, whether each row was empty, and the new position of
    /// each element.
    ///
    /// `[count, r], values [count], shape [r], default [] -> [m, r], [m], [shape[0]], [count]`. The values have any
    /// dtype, which is also the dtype of `default`; the indices, the shape and the positions are i64, the third output
    /// is bool. The number `m` depends on the data. As TensorFlow's `SparseFillEmptyRows`. Runs on the host.
    ///
    /// ```
    /// use shapeflow::Graph;
    ///
    /// let g = Graph::new();
    /// let (indices, shape) = (g.constant([[2i64, 1], [0, 0]])?, g.constant([3i64, 2])?);
    /// let filled = indices.sparse_fill_empty_rows(g.constant([20, 10])?, shape, g.constant(-1)?)?;
    /// let [indices, values, was_empty, positions] = g.compile(&filled[..])?.run(&[])?;
    /// assert_eq!(indices.to_vec::<i64>()?, [0, 0, 1, 0, 2, 1]);
    /// assert_eq!(values.to_vec::<i32>()?, [10, -1, 20]);
    /// assert_eq!(was_empty.to_vec::<bool>()?, [false, true, false]);
    /// assert_eq!(positions.to_vec::<i64>()?, [2, 0]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// An operand has another dtype or rank. The run fails if the row of an element is out of range.
    #[track_caller]
    pub fn sparse_fill_empty_rows(
        self,
        values: impl IntoOperand<'g>,
        shape: impl IntoOperand<'g>,
        default: impl IntoOperand<'g>,
    ) -> Result<[Value<'g>; 4]> {
        let location = Location::caller();
        let graph = self.graph();
        let sources = [values.into_source(graph, location), default.into_source(graph, location)];
        let [values, default] = one_dtype(graph, location, sources);
        let parts = parts(self, values, shape, location);
        let call = self.graph().op(&DEF).data_all(&parts).data(default);
        let outputs = call.finish_all_at(location)?;
        Ok([outputs[0], outputs[1], outputs[2], outputs[3]])
    }
}

pub(crate) static DEF: OpDef = OpDef::host("sparse_fill_empty_rows", run)
    .operands(&[
        Operand::Data("indices"),
        Operand::Data("values"),
        Operand::Data("dense_shape"),
        Operand::Data("default_value"),
    ])
    .outputs(|_, _| 4)
    .shape_fn(shapeflow_shape_fns::sparse::fill_empty_rows)
    .dtype_rule(|dtypes, _| {
        check_i64(dtypes, &[0, 2])?;
        let values = dtype::common(dtypes, 1, 2, dtype::Class::Stored)?;
        match dtypes.get(3) {
            Some(default) if *default != values => {
                dtype::refuse(format!("the default must be {values}, the dtype of the values, got {default}"))
            }
            _ => Ok(vec![DType::I64, values, DType::Bool, DType::I64]),
        }
    })
    .tensorflow(&[TfOp::new("SparseFillEmptyRows")]);

fn run(cx: &mut HostCx<'_>) -> Result<()> {
    let [indices, values] = [RowMajor::new(cx.input(0)?)?, RowMajor::new(cx.input(1)?)?];
    let [shape, default] = [RowMajor::new(cx.input(2)?)?, RowMajor::new(cx.input(3)?)?];
    let shape = shape.view().as_slice::<i64>()?;
    let (elements, [count, rank]) = index_matrix(indices.view(), shape)?;
    if values.view().len() != count {
        let given = values.view().len();
        return refuse(format!(
            "there must be {count}, one for each index, got {given}",
            count = counted(count, "value")
        ));
    }
    if !default.view().sizes().is_empty() {
        return refuse(format!("the default must be a scalar, got sizes {:?}", default.view().sizes()));
    }
    let Some(size) = shape.first().and_then(|size| usize::try_from(*size).ok()) else {
        return refuse(format!("a sparse tensor must have rows, got sizes {shape:?}"));
    };
    let first: Vec<i64> = elements.chunks_exact(rank).map(|row| row[0]).collect();
    if all_filled(&first, size) {
        cx.unfilled_output(0, &[count, rank])?.as_mut_slice::<i64>()?.copy_from_slice(elements);
        cx.set_output(1, values.view().to_tensor()?)?;
        cx.set_output(2, Tensor::from(vec![false; size]))?;
        return cx.set_output(3, Tensor::from((0..count as i64).collect::<Vec<_>>()));
    }
    let filled = FilledRows::new(&first, size, |number| format!(" at [{number}, 0]"))?;
    let mut indices = Tensor::zeros(DType::I64, &[filled.sources.len(), rank])?;
    let made = indices.as_mut_slice::<i64>()?;
    for (position, (source, row)) in filled.sources.iter().zip(&filled.rows).enumerate() {
        let index = &mut made[position * rank..(position + 1) * rank];
        match source {
            Some(source) => index.copy_from_slice(&elements[source * rank..(source + 1) * rank]),
            None => index[0] = *row,
        }
    }
    cx.set_output(0, indices)?;
    filled.set_outputs(cx, values.view(), default.view())
}

/// Returns whether filling changes nothing: the elements are sorted by row, and each of `size` rows has an element.
fn all_filled(rows: &[i64], size: usize) -> bool {
    let mut next = 0;
    rows.iter().all(|&row| {
        let fits = row == next || row == next - 1;
        next = row.wrapping_add(1);
        fits
    }) && next == size as i64
        && rows.first().is_none_or(|&row| row == 0)
}

/// The elements of a sparse tensor, sorted by row, after each empty row got an element.
pub(crate) struct FilledRows {
    /// The row of each element.
    pub rows: Vec<i64>,
    /// For each element, its position in the input; `None` for an element of an empty row.
    sources: Vec<Option<usize>>,
    /// Whether each row was empty.
    empty: Vec<bool>,
    /// For each element of the input, its new position.
    positions: Vec<i64>,
}

impl FilledRows {
    /// Fills `size` rows. `rows` has the row of each element of the input; `place` is the text of its place in
    /// operand 0.
    ///
    /// # Errors
    /// A row is out of range, or memory is refused.
    pub(crate) fn new(rows: &[i64], size: usize, place: fn(usize) -> String) -> Result<FilledRows> {
        // At first, the number of elements of each row. After the loop below, the output position of the next element
        // of each row.
        let mut next = filled_vec(size, 0usize)?;
        for (number, row) in rows.iter().enumerate() {
            match usize::try_from(*row).ok().and_then(|row| next.get_mut(row)) {
                Some(count) => *count += 1,
                None => {
                    let message = format!("an index must lie in [0, {size}), got {row}");
                    let error = Error::new(ErrorKind::Index, Phase::Run, message);
                    return Err(error.in_element(0, &place(number)));
                }
            }
        }
        let mut empty: Vec<bool> = reserved_vec(size)?;
        empty.extend(next.iter().map(|count| *count == 0));
        let empty_rows = empty.iter().filter(|is_empty| **is_empty).count();
        let mut filled = reserved_vec(rows.len() + empty_rows)?;
        for (row, count) in next.iter_mut().enumerate() {
            let start = filled.len();
            filled.resize(start + (*count).max(1), row as i64);
            *count = start;
        }
        let mut sources = filled_vec(filled.len(), None)?;
        let mut positions = Vec::with_capacity(rows.len());
        for (number, row) in rows.iter().enumerate() {
            // Every row has been compared with the number of rows.
            let next = &mut next[*row as usize];
            sources[*next] = Some(number);
            positions.push(*next as i64);
            *next += 1;
        }
        Ok(FilledRows { rows: filled, sources, empty, positions })
    }

    /// Sets outputs 1 to 3: the values, whether each row was empty, and the new positions.
    pub(crate) fn set_outputs(
        self,
        cx: &mut HostCx<'_>,
        values: TensorView<'_>,
        default: TensorView<'_>,
    ) -> Result<()> {
        pick_rows(cx, 1, values, default, &self.sources, &[self.sources.len()])?;
        cx.set_output(2, Tensor::from_vec(&[self.empty.len()], self.empty)?)?;
        cx.set_output(3, Tensor::from_vec(&[self.positions.len()], self.positions)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{run, shape_table, tensor};
    use shapeflow_shape_fns::Attrs;

    shape_table! { DEF, {},
        "i64[n, 2]; string[n]; i64[2]; string[]" => "[?, 2]; [?]; [?]; [d0_0]",
        "i64[n, 2]; f32[n]; i64[2]; i32[]" => error "the default must be f32, the dtype of the values, got i32",
        "i64[n, 2]; f32[n]; i64[2]; f32[1]" => error "default_value must have rank 0",
    }

    #[test]
    fn empty_rows_get_the_default_and_others_are_sorted() {
        let indices = tensor(&[3, 2], &[3i64, 1, 1, 0, 3, 0]);
        let words = Tensor::from_strings(&[3], &["a", "b", "c"]).unwrap();
        let default = Tensor::from_strings(&[], &["-"]).unwrap();
        let outputs = run(&DEF, &Attrs::new(), &[indices, words, tensor(&[2], &[4i64, 2]), default]).unwrap();
        assert_eq!(outputs[0], tensor(&[5, 2], &[0i64, 0, 1, 0, 2, 0, 3, 1, 3, 0]));
        assert_eq!(outputs[1], Tensor::from_strings(&[5], &["-", "b", "-", "a", "c"]).unwrap());
        assert_eq!(outputs[2].to_vec::<bool>().unwrap(), [true, false, true, false]);
        assert_eq!(outputs[3].to_vec::<i64>().unwrap(), [3, 1, 4]);
    }

    #[test]
    fn rows_out_of_range_are_refused() {
        let run = |row: i64, rows: i64| {
            let operands = [
                tensor(&[1, 1], &[row]),
                tensor(&[1], &[2.0f32]),
                tensor(&[1], &[rows]),
                tensor(&[], &[0.0f32]),
            ];
            run(&DEF, &Attrs::new(), &operands)
        };
        assert_eq!(run(1, 2).unwrap()[1].to_vec::<f32>().unwrap(), [0.0, 2.0]);
        for (row, rows) in [(2, 2), (-1, 2), (0, 0), (i64::MAX, 2)] {
            assert!(run(row, rows).unwrap_err().message().contains("an index must lie in [0, "));
        }
        assert!(run(0, -1).is_err());
        // More rows than any memory holds.
        assert_eq!(run(0, 1 << 45).unwrap_err().kind(), crate::ErrorKind::Memory);
    }
}
