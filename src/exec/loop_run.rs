//! [`LoopRun`]: repetitions of a program. Results of one repetition are inputs of the next repetition.

use super::executable::Executable;
use super::fixed_run::{FixedRun, GivenInput};
use crate::error::Result;
use crate::lower::kernel::BufferIx;
use crate::op::Cancel;
use crate::tensor::{Tensor, TensorView, TensorViewMut};

/// The source of an input in all repetitions.
pub(crate) enum LoopInput<'m> {
    /// The given tensor in the first repetition, then this result of the previous repetition. The tensor shares its
    /// elements with no other tensor.
    Result(usize, Tensor),
    /// The given view.
    Fixed(TensorView<'m>),
    /// The given view in the first repetition, then the elements that [`LoopRun::input_mut`] stores.
    Changing(TensorView<'m>),
}

/// Repetitions of a program in memory that never moves. A repetition plans and allocates nothing: it runs the kernels,
/// whose arguments are complete, and copies the results that are inputs of the next repetition.
pub(crate) struct LoopRun<'m> {
    fixed: FixedRun<'m>,
    /// The copies after each repetition: pairs of source and target.
    copies: Vec<(BufferIx, BufferIx)>,
}

impl Executable {
    /// Binds repetitions to these inputs, which are all inputs of the program. Returns `None` for a program whose
    /// repetitions plan or allocate something, see [`FixedRun::is_possible`].
    ///
    /// # Errors
    /// The inputs do not fit their declarations, or memory is refused.
    pub(crate) fn bind_loop<'m>(&self, inputs: Vec<LoopInput<'m>>) -> Result<Option<LoopRun<'m>>> {
        let Some(single) =
            self.specializations().single().filter(|single| FixedRun::is_possible(&single.program))
        else {
            return Ok(None);
        };
        let mut results = Vec::new();
        let mut given = Vec::with_capacity(inputs.len());
        for (number, input) in inputs.into_iter().enumerate() {
            given.push(match input {
                LoopInput::Result(result, tensor) => {
                    results.push((result, number));
                    GivenInput::Owned(tensor)
                }
                LoopInput::Changing(view) => GivenInput::Owned(view.to_tensor()?),
                LoopInput::Fixed(view) if view.is_row_major() => GivenInput::Lent(view),
                LoopInput::Fixed(view) => GivenInput::Owned(view.to_tensor()?),
            });
        }
        let fixed = FixedRun::bind(single.clone(), given)?;
        let buffers = |(result, input)| fixed.feed_back_buffers(result, input);
        let copies = results.into_iter().filter_map(buffers).collect();
        Ok(Some(LoopRun { fixed, copies }))
    }
}

impl LoopRun<'_> {
    /// Runs the next repetition.
    ///
    /// # Errors
    /// A check of the data fails, memory is refused, or the run is cancelled.
    pub(crate) fn run(&mut self, cancel: Cancel<'_>) -> Result<()> {
        self.fixed.run(cancel)?;
        for &(source, target) in &self.copies {
            self.fixed.copy(source, target);
        }
        Ok(())
    }

    /// Returns a result of the last repetition.
    ///
    /// # Errors
    /// The bytes of the result do not fit its sizes.
    pub(crate) fn output(&self, number: usize) -> Result<TensorView<'_>> {
        self.fixed.output(number)
    }

    /// Returns a [`LoopInput::Changing`] input, to store its elements for the next repetition.
    pub(crate) fn input_mut(&mut self, number: usize) -> TensorViewMut<'_> {
        self.fixed.input_mut(number)
    }
}
