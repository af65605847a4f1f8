//! Rows: the parts of a tensor along its first axis.

use smallvec::SmallVec;

use crate::error::{Error, ErrorKind, Phase, Result};
use crate::tensor::{Tensor, TensorView, TensorViewMut};

/// Tensors whose rows the iterations of a loop write one after the other.
pub(super) struct StackedRows {
    tensors: Vec<Tensor>,
    /// The sizes of a row of each tensor.
    sizes: Vec<Vec<usize>>,
}

impl StackedRows {
    /// Makes a tensor of `count` rows for each tensor of `first`, and stores the tensor of `first` as row 0.
    ///
    /// # Errors
    /// Memory is refused.
    pub(super) fn new(count: usize, first: &[Tensor]) -> Result<StackedRows> {
        let mut tensors = Vec::with_capacity(first.len());
        for row in first {
            let sizes: Vec<usize> = [count].into_iter().chain(row.sizes().iter().copied()).collect();
            tensors.push(Tensor::allocate(row.dtype(), &sizes)?);
        }
        let sizes = first.iter().map(|row| row.sizes().to_vec()).collect();
        let mut rows = StackedRows { tensors, sizes };
        rows.store(0, first)?;
        Ok(rows)
    }

    /// Calls `write` with views of row `number` of each tensor.
    ///
    /// # Errors
    /// `write` fails.
    pub(super) fn with_row<T>(
        &mut self,
        number: usize,
        write: impl FnOnce(&mut [TensorViewMut<'_>]) -> Result<T>,
    ) -> Result<T> {
        let mut whole: SmallVec<[TensorViewMut<'_>; 4]> = SmallVec::new();
        let mut counts: SmallVec<[usize; 4]> = SmallVec::new();
        for tensor in &mut self.tensors {
            counts.push(tensor.sizes()[0]);
            whole.push(tensor.view_mut()?);
        }
        let mut views: SmallVec<[TensorViewMut<'_>; 4]> = SmallVec::new();
        for ((view, sizes), count) in whole.iter_mut().zip(&self.sizes).zip(counts) {
            let dtype = view.dtype();
            let all = view.bytes_mut();
            let bytes = all.len() / count;
            views.push(TensorViewMut::of_row(dtype, sizes, &mut all[number * bytes..][..bytes]));
        }
        write(&mut views)
    }

    /// Stores row `number` of each tensor.
    ///
    /// # Errors
    /// A row has other sizes than row 0.
    pub(super) fn store(&mut self, number: usize, rows: &[Tensor]) -> Result<()> {
        if let Some((first, row)) = self.sizes.iter().zip(rows).find(|(first, row)| *first != row.sizes()) {
            return Err(uneven("sizes", first, row.sizes()));
        }
        self.with_row(number, |views| {
            views.iter_mut().zip(rows).try_for_each(|(view, row)| view.copy_from(row.view()))
        })
    }

    /// Returns the error of an iteration that wrote its outputs in place. If the sizes of an output differ from those
    /// of row 0, the error says so. `states` is the number of results before the first output.
    pub(super) fn explain(&self, error: Error, states: usize) -> Error {
        let first = |number: usize| self.sizes.get(number.checked_sub(states)?);
        match error.misfit().and_then(|(number, sizes)| Some((first(number)?, sizes))) {
            Some((first, sizes)) => uneven("sizes", first, sizes),
            None => error,
        }
    }

    pub(super) fn into_tensors(self) -> Vec<Tensor> {
        self.tensors
    }
}

/// The outputs of the iterations of a loop, until the last iteration has run.
#[derive(Default)]
pub(super) struct CollectedRows {
    /// By output: the tensor of each iteration.
    outputs: Vec<Vec<Tensor>>,
}

impl CollectedRows {
    pub(super) fn is_empty(&self) -> bool {
        self.outputs.is_empty()
    }

    /// Takes the outputs of one iteration. The sizes of an output from axis `inner` on are the same in all iterations.
    ///
    /// # Errors
    /// An output has other sizes than in the first iteration.
    pub(super) fn push(&mut self, outputs: Vec<Tensor>, inner: usize) -> Result<()> {
        self.outputs.resize_with(outputs.len(), Vec::new);
        for (rows, row) in self.outputs.iter_mut().zip(outputs) {
            if let Some(first) = rows.first()
                && first.sizes()[inner..] != row.sizes()[inner..]
            {
                let (expected, got) = (&first.sizes()[inner..], &row.sizes()[inner..]);
                let which = if inner == 0 { "sizes" } else { "inner sizes" };
                return Err(uneven(which, expected, got));
            }
            rows.push(row);
        }
        Ok(())
    }

    /// Returns each output with its rows stacked along a new axis 0. At least one iteration has run.
    ///
    /// # Errors
    /// Memory is refused.
    pub(super) fn stacked(&self) -> Result<Vec<Tensor>> {
        let stack = |rows: &Vec<Tensor>| {
            let sizes: Vec<usize> = [rows.len()].into_iter().chain(rows[0].sizes().iter().copied()).collect();
            joined(rows, &sizes)
        };
        self.outputs.iter().map(stack).collect()
    }

    /// Returns each output with its rows joined along axis 0, followed by its row splits. At least one iteration has
    /// run.
    ///
    /// # Errors
    /// Memory is refused.
    pub(super) fn concatenated(&self) -> Result<Vec<Tensor>> {
        let mut tensors = Vec::with_capacity(2 * self.outputs.len());
        for rows in &self.outputs {
            let mut splits = vec![0i64];
            for row in rows {
                splits.push(splits[splits.len() - 1] + row.sizes()[0] as i64);
            }
            let mut sizes = rows[0].sizes().to_vec();
            sizes[0] = rows.iter().map(|row| row.sizes()[0]).sum();
            tensors.extend([joined(rows, &sizes)?, Tensor::from(splits)]);
        }
        Ok(tensors)
    }
}

/// Returns the error of a row whose sizes differ from the sizes of the first row.
fn uneven(which: &str, first: &[usize], row: &[usize]) -> Error {
    let message = format!("all rows must have the same {which}, got {first:?} and {row:?}");
    Error::new(ErrorKind::Shape, Phase::Run, message)
}

/// Joins the elements of all rows to a tensor of these sizes.
fn joined(rows: &[Tensor], sizes: &[usize]) -> Result<Tensor> {
    let parts: Vec<TensorView<'_>> = rows.iter().map(Tensor::view).collect();
    Tensor::joined(rows[0].dtype(), sizes, &parts)
}
