//! `Runner`: an executable run from one thread.

use std::panic::Location;

use super::executable::{Executable, row_major};
use super::stage::{BoundStage, RunState, Sink};
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::tensor::{Tensor, TensorView, TensorViewMut};

/// Runs an executable from one thread: it keeps working memory and the last plan, and takes no lock.
pub struct Runner {
    executable: Executable,
    state: RunState,
}

impl Runner {
    pub(super) fn new(executable: Executable) -> Runner {
        Runner { executable, state: RunState::default() }
    }

    /// As [`Executable::run_all`].
    ///
    /// # Errors
    /// As [`Executable::run`].
    #[track_caller]
    pub fn run(&mut self, inputs: &[TensorView<'_>]) -> Result<Vec<Tensor>> {
        let location = Location::caller();
        self.executable.run_with(inputs, &mut self.state).map_err(|error| error.or_at(location))
    }

    /// Runs with results going to memory of the caller, one view for each output.
    ///
    /// # Errors
    /// As [`Executable::run`]; or a view has not the dtype and sizes of its result.
    #[track_caller]
    pub fn run_into(&mut self, inputs: &[TensorView<'_>], outputs: &mut [TensorViewMut<'_>]) -> Result<()> {
        let location = Location::caller();
        self.fill(inputs, outputs).map_err(|error| error.or_at(location))
    }

    fn fill(&mut self, inputs: &[TensorView<'_>], outputs: &mut [TensorViewMut<'_>]) -> Result<()> {
        self.executable.check_outputs(outputs.len())?;
        self.executable.check_count(inputs.len())?;
        let staged = &self.executable.staged();
        let copies;
        let views: Vec<TensorView<'_>>;
        let inputs = if inputs.iter().all(TensorView::is_row_major) {
            inputs
        } else {
            copies = row_major(inputs)?;
            views = copies.iter().map(Tensor::view).collect();
            &views
        };
        let form = staged.form(inputs)?;
        let sinks = outputs.iter_mut().map(Sink::new).collect();
        form.run(inputs, Some(sinks), &mut self.state).map(|_| ())
    }

    /// Ties the runner to these inputs and outputs, so that [`BoundRun::run`] only launches kernels.
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
        self.tie(inputs, outputs).map_err(|error| error.or_at(location))
    }

    fn tie<'r>(
        &'r mut self,
        inputs: &'r [TensorView<'r>],
        outputs: &'r mut [TensorViewMut<'_>],
    ) -> Result<BoundRun<'r>> {
        self.executable.check_outputs(outputs.len())?;
        self.executable.check_count(inputs.len())?;
        let Some(stage) = self.executable.staged().single() else {
            let message = "bind needs sizes that inputs alone determine; use run_into";
            return Err(Error::new(ErrorKind::Feed, Phase::Run, message));
        };
        if let Some(view) = inputs.iter().position(|view| !view.is_row_major()) {
            let message = format!(
                "bind needs row-major inputs, got strides {:?} of input {view}",
                inputs[view].strides()
            );
            return Err(Error::new(ErrorKind::Feed, Phase::Run, message));
        }
        let sinks = outputs.iter_mut().map(Sink::new).collect();
        Ok(BoundRun { bound: stage.bind(inputs, sinks, &mut self.state)? })
    }

    /// Frees working memory.
    pub fn trim(&mut self) {
        self.state.trim();
    }
}

/// A runner tied to its inputs and outputs, see [`Runner::bind`].
pub struct BoundRun<'r> {
    bound: BoundStage<'r>,
}

impl BoundRun<'_> {
    /// Runs on what the inputs hold now, into the outputs.
    ///
    /// # Errors
    /// A check of the data fails, or a host kernel does.
    pub fn run(&mut self) -> Result<()> {
        self.bound.run()
    }
}
