//! [`Runner`]: runs an executable from one thread.

use std::panic::Location;

use super::bound_run::BoundRun;
use super::executable::{Executable, row_major};
use super::output_buffer::OutputBuffer;
use super::run_state::RunState;
use super::specialized_run::run_specialized;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::tensor::{Tensor, TensorView, TensorViewMut};

/// Runs an executable from one thread. It keeps working memory and the last plan, so that it takes no lock.
pub struct Runner {
    executable: Executable,
    state: RunState,
}

impl Executable {
    /// Creates a runner of this executable, for one thread.
    pub fn runner(&self) -> Runner {
        Runner { executable: self.clone(), state: RunState::default() }
    }
}

impl Runner {
    /// Runs as [`Executable::run_all`] does.
    ///
    /// # Errors
    /// As [`Executable::run`].
    #[track_caller]
    pub fn run(&mut self, inputs: &[TensorView<'_>]) -> Result<Vec<Tensor>> {
        let location = Location::caller();
        self.executable.run_with(inputs, &mut self.state).map_err(|error| error.or_at(location))
    }

    /// Runs, and stores the results in the caller's memory. `outputs` has one view for each output.
    ///
    /// # Errors
    /// As [`Executable::run`]; or a view has another dtype or other sizes than its result.
    #[track_caller]
    pub fn run_into(&mut self, inputs: &[TensorView<'_>], outputs: &mut [TensorViewMut<'_>]) -> Result<()> {
        let location = Location::caller();
        self.run_to_views(inputs, outputs).map_err(|error| error.or_at(location))
    }

    fn run_to_views(&mut self, inputs: &[TensorView<'_>], outputs: &mut [TensorViewMut<'_>]) -> Result<()> {
        self.executable.check_outputs(outputs.len())?;
        self.executable.check_count(inputs.len())?;
        let copies;
        let views: Vec<TensorView<'_>>;
        let inputs = if inputs.iter().all(TensorView::is_row_major) {
            inputs
        } else {
            copies = row_major(inputs)?;
            views = copies.iter().map(Tensor::view).collect();
            &views
        };
        run_specialized(self.executable.specializations(), inputs, Some(outputs), &mut self.state).map(|_| ())
    }

    /// Binds the runner to these inputs and outputs, so that [`BoundRun::run`] only launches kernels.
    ///
    /// # Errors
    /// As [`Runner::run_into`].
    #[track_caller]
    pub fn bind<'r>(
        &'r mut self,
        inputs: &'r [TensorView<'r>],
        outputs: &'r mut [TensorViewMut<'_>],
    ) -> Result<BoundRun<'r>> {
        let location = Location::caller();
        self.bind_views(inputs, outputs).map_err(|error| error.or_at(location))
    }

    fn bind_views<'r>(
        &'r mut self,
        inputs: &'r [TensorView<'r>],
        outputs: &'r mut [TensorViewMut<'_>],
    ) -> Result<BoundRun<'r>> {
        self.executable.check_outputs(outputs.len())?;
        self.executable.check_count(inputs.len())?;
        let Some(single) = self.executable.specializations().single() else {
            let message = "bind needs sizes that inputs alone determine; use run_into";
            return Err(Error::new(ErrorKind::Feed, Phase::Run, message));
        };
        if let Some(number) = inputs.iter().position(|view| !view.is_row_major()) {
            let message = format!(
                "bind needs row-major inputs, got strides {:?} of input {number}",
                inputs[number].strides()
            );
            return Err(Error::new(ErrorKind::Feed, Phase::Run, message));
        }
        let outputs = outputs.iter_mut().map(OutputBuffer::new).collect();
        BoundRun::bind(single, inputs, outputs, &mut self.state)
    }

    /// Frees the working memory and the last plan, which the runner keeps between runs.
    pub fn trim(&mut self) {
        self.state.trim();
    }
}
