//! [`Runner`]: runs an executable from one thread.

use std::panic::Location;

use super::executable::Executable;
use super::run_state::RunState;
use crate::error::Result;
use crate::tensor::{Tensor, TensorView, TensorViewMut};

/// Runs an executable from one thread. A runner keeps working memory and the last plan, so that it takes no lock.
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
        self.executable.run_to(inputs, Some(outputs), &mut self.state).map(|_| ())
    }

    /// Frees the working memory and the last plan, which the runner keeps between runs.
    pub fn trim(&mut self) {
        self.state.trim();
    }
}
