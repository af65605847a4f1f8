//! [`Runner`]: runs an executable from one thread.

use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::executable::Executable;
use super::run_state::RunState;
use crate::error::Result;
use crate::op::Cancel;
use crate::tensor::{Tensor, TensorView, TensorViewMut};

/// Runs an executable from one thread. A runner keeps working memory of its own, and the plan of its last run. A run
/// with the same sizes of inputs reuses this plan, unless sizes depend on data.
///
/// The views of a run have the order of [`Executable::inputs`]. A ragged input stands there as several inputs, its
/// parts:
/// [`RaggedTensor::feeds`](crate::RaggedTensor::feeds) makes them in this order.
pub struct Runner {
    executable: Executable,
    state: RunState,
    cancel: Option<Arc<AtomicBool>>,
}

impl Executable {
    /// Creates a runner of this executable, for one thread.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, Tensor, shape};
    ///
    /// let g = Graph::new();
    /// let exe = g.compile(g.input("x", DType::F32, shape!["n"])?.exp()?)?;
    /// std::thread::scope(|scope| {
    ///     for _ in 0..2 {
    ///         let mut runner = exe.runner();
    ///         scope.spawn(move || {
    ///             let result = runner.run(&[Tensor::from([0.0f32]).view()]).unwrap().remove(0);
    ///             assert_eq!(result.to_vec::<f32>().unwrap(), [1.0]);
    ///         });
    ///     }
    /// });
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    pub fn runner(&self) -> Runner {
        Runner { executable: self.clone(), state: RunState::default(), cancel: None }
    }
}

impl Runner {
    /// Ends every run of this runner with an error once the token is true. Another thread sets the token to `true`. The
    /// kind of the error is [`ErrorKind::Cancelled`](crate::ErrorKind::Cancelled). The runner may run again after the
    /// token is `false` again.
    ///
    /// A run reads the token before each kernel, matmul and host op, also inside branches and loops, and before each
    /// iteration of a loop. A run with a token cuts large kernels and matmuls into parts of some milliseconds at most,
    /// and reads the token before each part. The code of a long row, such as a reduction of all elements, reads the
    /// token itself. A host op, and a resize in precompiled loops, run to their end; a user's op can ask
    /// [`HostCx::is_cancelled`](crate::HostCx::is_cancelled). The memory of the caller, see [`Runner::run_into`], may
    /// hold a part of the results of a cancelled run. Results do not depend on the token.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicBool, Ordering};
    /// use std::time::Duration;
    ///
    /// use shapeflow::{ErrorKind, Graph};
    ///
    /// let g = Graph::new();
    /// let endless = g.while_loop(&[g.constant(0i64)?], |s| s[0].greater_equal(0i64), |s| Ok(s[0] * 1i64))?;
    /// let token = Arc::new(AtomicBool::new(false));
    /// let mut runner = g.compile(&endless)?.runner().cancel(token.clone());
    /// let timeout = std::thread::spawn(move || {
    ///     std::thread::sleep(Duration::from_millis(5));
    ///     token.store(true, Ordering::Relaxed);
    /// });
    /// assert_eq!(runner.run(&[]).unwrap_err().kind(), ErrorKind::Cancelled);
    /// timeout.join().unwrap();
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    pub fn cancel(mut self, token: Arc<AtomicBool>) -> Runner {
        self.cancel = Some(token);
        self
    }

    /// Runs as [`Executable::run_all`] does.
    ///
    /// # Errors
    /// As [`Executable::run`].
    #[track_caller]
    pub fn run(&mut self, inputs: &[TensorView<'_>]) -> Result<Vec<Tensor>> {
        let location = Location::caller();
        let cancel = Cancel::new(self.cancel.as_deref());
        self.executable.run_with(inputs, cancel, &mut self.state).map_err(|error| error.or_in_run(location))
    }

    /// Runs, and stores the results in the caller's memory. `outputs` has one view for each output.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, TensorView, TensorViewMut, shape};
    ///
    /// let g = Graph::new();
    /// let x = g.input("x", DType::F32, shape!["n"])?;
    /// let mut runner = g.compile((x * 2.0).ok()?)?.runner();
    /// let mut result = [0.0f32; 2];
    /// runner.run_into(&[TensorView::new(&[2], &[1.0f32, 2.0])?], &mut [TensorViewMut::new(&[2], &mut result)?])?;
    /// assert_eq!(result, [2.0, 4.0]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Executable::run`]; or a view has another dtype or other sizes than its result.
    #[track_caller]
    pub fn run_into(&mut self, inputs: &[TensorView<'_>], outputs: &mut [TensorViewMut<'_>]) -> Result<()> {
        let location = Location::caller();
        let cancel = Cancel::new(self.cancel.as_deref());
        let ran = run_to_views(&self.executable, inputs, outputs, cancel, &mut self.state);
        ran.map_err(|error| error.or_in_run(location))
    }

    /// Runs as [`Runner::run`] does, but with another token.
    ///
    /// # Errors
    /// As [`Executable::run`], or the run is cancelled.
    #[track_caller]
    pub(crate) fn run_until(&mut self, inputs: &[TensorView<'_>], cancel: Cancel<'_>) -> Result<Vec<Tensor>> {
        let location = Location::caller();
        self.executable.run_with(inputs, cancel, &mut self.state).map_err(|error| error.or_in_run(location))
    }

    /// Runs as [`Runner::run_into`] does, but with another token.
    ///
    /// # Errors
    /// As [`Runner::run_into`], or the run is cancelled.
    #[track_caller]
    pub(crate) fn run_into_until(
        &mut self,
        inputs: &[TensorView<'_>],
        outputs: &mut [TensorViewMut<'_>],
        cancel: Cancel<'_>,
    ) -> Result<()> {
        let location = Location::caller();
        let ran = run_to_views(&self.executable, inputs, outputs, cancel, &mut self.state);
        ran.map_err(|error| error.or_in_run(location))
    }

    /// Frees the working memory and the last plan, which the runner keeps between runs.
    pub fn trim(&mut self) {
        self.state.trim();
    }
}

fn run_to_views(
    executable: &Executable,
    inputs: &[TensorView<'_>],
    outputs: &mut [TensorViewMut<'_>],
    cancel: Cancel<'_>,
    state: &mut RunState,
) -> Result<()> {
    executable.check_outputs(outputs.len())?;
    executable.run_to(inputs, Some(outputs), cancel, state).map(|_| ())
}
